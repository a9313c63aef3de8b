// The gate beside what a page would do by hand, in one page: from the UTF-8 bytes of a model's arguments to yes or no.
// Ours is the wasm module with an export for this benchmark; theirs decodes, calls `JSON.parse` and a compiled ajv.
import Ajv from "ajv/dist/2020.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let cases = [];
let gate;
const validators = new Map();

/** `base`: where the module is. `tools`: `[{ name, inputSchema, args }]`, where `args` fit. Gives how many cases there are. */
globalThis.setUpGate = async (base, tools) => {
  const glue = await import(`${base}lodger_glue.js`);
  await glue.default({ module_or_path: `${base}lodger.wasm` });
  gate = new glue.Gate(JSON.stringify(tools.map(({ name, inputSchema }) => ({ name, description: "d", inputSchema }))));
  for (const { name, inputSchema } of tools) {
    const { $schema, ...schema } = inputSchema;
    validators.set(name, new Ajv({ strict: false, validateFormats: false }).compile(schema));
  }
  // Models are mostly right: of five calls one lacks a member, or has it of the wrong kind.
  cases = tools.flatMap(({ name, inputSchema, args }) => {
    const [first] = inputSchema.required ?? Object.keys(inputSchema.properties ?? {});
    const { [first]: _, ...rest } = args;
    const wrong = first === undefined ? { unknown: 1 } : inputSchema.required ? rest : { ...rest, [first]: { wrong: [true] } };
    return [args, args, args, args, wrong].map((value) => ({ name, bytes: encoder.encode(JSON.stringify(value)) }));
  });
  for (const { name, bytes } of cases) {
    if (contenders.ours(name, bytes) !== contenders.ajv(name, bytes)) throw new Error(`not of one mind about ${name}: ${decoder.decode(bytes)}`);
  }
  return cases.length;
};

const contenders = {
  ours: (name, bytes) => gate.verdict(name, bytes),
  ajv(name, bytes) {
    let value;
    try { value = JSON.parse(decoder.decode(bytes)); } catch { return false; }
    return validators.get(name)(value);
  },
};

/** Microseconds a verdict, over so many passes over the cases of these tools (none named: all). */
globalThis.timeGate = (contender, passes, name) => {
  const judge = contenders[contender];
  const mine = name === undefined ? cases : cases.filter((one) => one.name === name);
  let valid = 0;
  const begin = performance.now();
  for (let pass = 0; pass < passes; pass++) for (const { name, bytes } of mine) if (judge(name, bytes)) valid++;
  const ms = performance.now() - begin;
  if (valid % passes) throw new Error("a verdict has changed");
  return (ms * 1000) / (passes * mine.length);
};
globalThis.ready = true;
