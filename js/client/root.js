// An answer that is no object, put into one: loaded for the first such schema.
//
// Decides how the object looks that providers are asked for. Promises: a reference in the schema still leads to what it led to.
// Leaves to others: taking the answer out again (`src/run/output.rs`), and whether there is something to put in.

/** What values lie in, which are no schemas. */
const VALUES = ["enum", "const", "default", "examples"];
const KEPT = ["$defs", "definitions"];

const moved = (ref) => (/^#(\/|$)/.test(ref) && !KEPT.some((name) => ref.startsWith(`#/${name}/`)) ? ref.replace("#", "#/properties/value") : ref);

function within(schema) {
  if (Array.isArray(schema)) return schema.map(within);
  if (schema === null || typeof schema !== "object") return schema;
  return Object.fromEntries(Object.entries(schema).map(([name, of]) => [name, name === "$ref" && typeof of === "string" ? moved(of) : VALUES.includes(name) ? of : within(of)]));
}

/** The schema of an object with one member, `value`, which is this. */
export function wrapped({ $schema, $id, ...schema }) {
  const kept = Object.fromEntries(KEPT.filter((name) => schema[name]).map((name) => [name, within(schema[name])]));
  for (const name of KEPT) delete schema[name];
  return { type: "object", properties: { value: within(schema) }, required: ["value"], additionalProperties: false, ...kept };
}
