// What the wires' writers and rules have in common: a model's answer in words, and how texts are cut into pieces.
//
// An answer is a list of blocks: `"text"`, `{ thinking, seal? }`, `{ tool, args?, id? }` and `{ searched, found, says }`. `seal` is what only
// its provider can read, or the proof that it is its own. Without `args` the tool takes none, and with `id: null` the
// server gives none. `searched` is what the server itself has searched for. It has `found` `{ url, title, cited }`, and says something of
// it. What an answer cost is `{ input, cached, output, reasoning }`: tokens that were not in the cache, that
// were, written, and thought.

/** What an answer costs where a test does not care. */
export const COST = { input: 100, cached: 40, output: 20, reasoning: 5 };

/** A text in the pieces in which models send it. */
export const pieces = (text) => text.match(/\S*\s*/g).filter(Boolean);

/** A block with its kind: `[kind, block]`. */
export function kind(block) {
  if (typeof block === "string") return ["text", { text: block }];
  if (block.searched) return ["searched", block];
  return [block.tool ? "tool" : block.thinking !== undefined ? "thinking" : "text", block];
}

let count = 0;
/** A number that no other answer has. */
export const next = () => ++count;

/** What JSON a tool's arguments are. */
export const json = (args) => (args === undefined ? "" : JSON.stringify(args));

/** An event without a name. */
export const data = (value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;

/** Collects what is broken: `need(condition, why)`. */
export function complaints() {
  const bad = [];
  return { bad, need(condition, why) { if (!condition) bad.push(why); return condition; } };
}

export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
export const said = (text) => typeof text === "string" && text.trim() !== "";
export const object = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Each member of an object that is not among the known ones. */
export const unknown = (value, known) => Object.keys(value).filter((name) => !known.includes(name));

/** Arguments as text: the JSON of an object. */
export const isArguments = (text) => typeof text === "string" && object(parse(text));

/** JSON, or `undefined` where it is none: a script may send half an event. */
export function parse(text) { try { return JSON.parse(text); } catch { return undefined; } }

/** What every API with a bearer's key asks of the headers. */
export function bearer({ headers = {} }, need) {
  need(/^Bearer \S+$/.test(headers.authorization ?? ""), "header authorization must be a bearer's key");
  common(headers, /^(x-api-key|api-key|anthropic-)/, need);
}

/** What every API of OpenAI's asks of the headers; `others`: the names of those that are none of its own. */
function common(headers, others, need) {
  need(/^application\/json\b/.test(headers["content-type"] ?? ""), "header content-type must be application/json");
  for (const name of Object.keys(headers)) need(!others.test(name), `header ${name} is another provider's`);
}

/** What Azure asks of a request at this path: its key in a header of its own, and a version that it has. */
export const azure = (path, versions) => ({ headers = {}, path: asked = "", query = {} }, need) => {
  need(/^\S+$/.test(headers["api-key"] ?? ""), "Access denied due to invalid subscription key or wrong API endpoint.");
  common(headers, /^(x-api-key|authorization|anthropic-)/, need);
  need(asked.endsWith(path), `Resource not found: ${asked}`);
  need(versions.test(query["api-version"] ?? ""), `API version not supported: ${query["api-version"]}`);
};
