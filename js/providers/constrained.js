// Tool calls for models that have no form of their own for them. The model is told the tools in a few lines and held to
// JSON that is either an answer or one call. What `lodger/wllama` and `lodger/prompt-api` have in common.
//
// Decides: what such a model is told, to which JSON Schema it is held, what its JSON means. Promises: the words of an
// answer come out as they come in. A model that answers in plain words is understood as well. All that a chat request
// holds becomes messages that take turns, the system's first. Leaves to others: running the model, checking arguments
// (the schema only gives them their shape).

/** How much of a tool's description the model is told: a small model reads slowly. Characters. */
const ABOUT = 160;
/** How deep a tool's schema is followed; below, anything goes. */
const DEPTH = 8;

/** An error with a code of the package. */
export const failure = (code, message) => Object.assign(new Error(message), { name: "LodgerError", code, retryable: false });

/** A chat chunk. */
export const chunk = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });

/**
 * What to ask: messages of plain text; and if there are tools, the `schema` of all that may be replied, and the calls that
 * the model has just had answered (`done`). Where the request says what the answer has to be, that is the `form`, and
 * `answer` what of the schema holds it.
 * @param {{ messages?: object[], tools?: object[], response_format?: object }} request
 */
export function asked({ messages = [], tools = [], response_format: { json_schema: wanted } = {} }) {
  const form = wanted && shape(wanted.schema, wanted.schema, DEPTH);
  const usable = tools.map((tool) => tool.function ?? tool).filter(({ description = "" }) => !description.includes("[UNAVAILABLE:"));
  const told = [];
  const say = (role, content) => {
    if (told.at(-1)?.role === role) told.at(-1).content += `\n\n${content}`;
    else told.push({ role, content });
  };
  const names = new Map(); // id of a call -> its tool
  let done = [];
  for (const message of messages) {
    const text = textOf(message);
    const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => {
      names.set(id, name);
      return `{"tool": ${JSON.stringify(name)}, "arguments": ${args || "{}"}}`;
    });
    if (message.role !== "tool") done = (message.tool_calls ?? []).map((call) => call.function);
    if (message.role === "tool") say("user", `The tool ${names.get(message.tool_call_id) ?? ""} gave:\n${text}`);
    else if (calls.length) say("assistant", [text, ...calls].filter(Boolean).join("\n"));
    else if (message.role === "assistant") say("assistant", usable.length ? JSON.stringify({ answer: (form && parsed(text)) ?? text }) : text);
    else say(message.role === "user" || told.length ? "user" : "system", text);
  }
  if (!usable.length) return form ? { messages: told, form } : { messages: told };
  const rules = `Reply with JSON: {"tool": "name", "arguments": {…}} to use a tool, {"answer": ${form ? "{…}" : '"text"'}} when no tool helps.\nTools:\n${usable.map(line).join("\n")}`;
  // Else a small model asks the same again.
  if (messages.at(-1)?.role === "tool") told.at(-1).content += '\n\nIf that is enough, reply {"answer": ' + (form ? "{…}}." : '"…"} in your own words.');
  if (told[0]?.role === "system") told[0].content += `\n\n${rules}`;
  else told.unshift({ role: "system", content: rules });
  const answer = form && object({ answer: form });
  return { messages: told, schema: { anyOf: [...usable.map(callOf), answer ?? ANSWER] }, done, ...(form && { form, answer }) };
}

/** The text of a message. A model that reads only text is told of what else there was. */
export const textOf = ({ content }) => (typeof content === "string" ? content : Array.isArray(content) ? content.map(partOf).join("\n\n") : "");

function partOf({ type, text = "", file }) {
  if (type === "image_url") return "[An image was attached here; you cannot see it.]";
  if (type === "file") return `[The file ${JSON.stringify(file?.filename ?? "")} was attached here; you cannot read it.]`;
  return text;
}

// ---------------------------------------------------------------- tools

/** `search_pages(query, limit?: integer): Finds pages.` */
function line({ name, description = "", parameters = {} }) {
  const args = Object.entries(parameters.properties ?? {}).map(([key, schema]) => {
    const kind = schema?.enum?.map((value) => JSON.stringify(value)).join("|") ?? schema?.type ?? "string";
    return `${key}${parameters.required?.includes(key) ? "" : "?"}${kind === "string" ? "" : `: ${kind}`}`;
  });
  const [first] = description.trim().split(/(?<=[.!?])\s/, 1);
  return `${name}(${args.join(", ")}): ${first.length > ABOUT ? `${first.slice(0, ABOUT)}…` : first}`;
}

const object = (properties, required = Object.keys(properties)) => ({ type: "object", properties, required, additionalProperties: false });

const ANSWER = object({ answer: { type: "string" } });

const callOf = ({ name, parameters }) => object({ tool: { const: name }, arguments: { type: "object", ...shape(parameters ?? {}, parameters, DEPTH) } });

/**
 * The part of a schema that those who hold a model to it understand alike. What else it asks for is checked when the
 * call comes.
 */
function shape(schema, root, depth) {
  if (schema === null || typeof schema !== "object" || depth === 0) return {};
  if (typeof schema.$ref === "string") return shape(pointed(root, schema.$ref), root, depth - 1);
  const inner = (value) => shape(value, root, depth - 1);
  if ("const" in schema) return { const: schema.const };
  if (Array.isArray(schema.enum)) return { enum: schema.enum };
  const either = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(either)) return { anyOf: either.map(inner) };
  const is = (type) => schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type));
  const kept = schema.type === undefined ? {} : { type: schema.type };
  if (is("object") && schema.properties) {
    const properties = Object.fromEntries(Object.entries(schema.properties).map(([key, value]) => [key, inner(value)]));
    Object.assign(kept, object(properties, (schema.required ?? []).filter((key) => Object.hasOwn(properties, key))), { type: schema.type });
  }
  if (is("array") && schema.items) kept.items = inner(schema.items);
  return kept;
}

/** What a `#/$defs/…` stands for. */
const pointed = (root, ref) =>
  ref.split("/").slice(1).reduce((at, key) => at?.[decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~")], ref.startsWith("#") ? root : undefined);

// ---------------------------------------------------------------- answers

/** A piece of the inside of a JSON string: plain, an escape by number, another escape, or one that is none. */
const TOKEN = /[^"\\]+|\\u([0-9a-fA-F]{4})|\\([^u])|\\u(?=[0-9a-fA-F]{0,3}[^0-9a-fA-F])/gy;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Reads the model's JSON while it comes. */
export class Reply {
  #json = "";
  #at = 0; // up to here it has been told
  #held = ""; // half of a pair
  #kind = ""; // "", "plain", "answer", "answered" or "call"

  /** What can be told of the answer after this piece. */
  text(piece) {
    this.#json += piece;
    if (this.#kind === "") this.#decide();
    if (this.#kind === "plain") return this.#rest();
    return this.#kind === "answer" ? this.#said() : "";
  }

  /** What there is to tell at the end: `{ call }`, or `{ text }`, which may be empty. */
  end() {
    if (this.#kind !== "call") return { text: this.#kind === "" ? this.#rest() : "" };
    try {
      const { tool, arguments: args, answer } = JSON.parse(this.#json);
      if (typeof tool === "string") return { call: { name: tool, arguments: JSON.stringify(args ?? {}) } };
      if (answer !== null && typeof answer === "object") return { text: JSON.stringify(answer) };
    } catch {
      // A call that was cut is none.
      if (/^\s*\{\s*"(?:tool|arguments)"/.test(this.#json)) return { text: "" };
    }
    return { text: this.#rest() };
  }

  #decide() {
    const [begun] = this.#json.match(/^\s*\{\s*"answer"\s*:\s*"/) ?? [];
    if (begun) [this.#kind, this.#at] = ["answer", begun.length];
    else if (/^\s*[^\s{]|^\s*\{\s*[^\s"]/.test(this.#json)) this.#kind = "plain";
    else if (/^\s*\{\s*"(?!answer")[^"]*"|^\s*\{\s*"answer"\s*:\s*[^\s"]/.test(this.#json)) this.#kind = "call";
  }

  #rest() {
    const rest = this.#json.slice(this.#at);
    this.#at = this.#json.length;
    return rest;
  }

  /** What has come of the JSON text, its escapes undone. Half an escape waits, and so does half of a surrogate pair. */
  #said() {
    let text = this.#held;
    this.#held = "";
    TOKEN.lastIndex = this.#at;
    for (let token; (token = TOKEN.exec(this.#json)); this.#at = TOKEN.lastIndex) {
      const [whole, unit, escaped] = token;
      text += unit ? String.fromCharCode(parseInt(unit, 16)) : escaped ? (ESCAPES[escaped] ?? escaped) : whole;
    }
    if (this.#json[this.#at] === '"') this.#kind = "answered";
    else if (/[\ud800-\udbff]$/.test(text)) [text, this.#held] = [text.slice(0, -1), text.slice(-1)];
    return text;
  }
}

/**
 * The model's JSON as chat chunks. `ask` gives the pieces of an answer that is held to a schema, `ended` the reason of its
 * end. A model that asks for what it has just been told is asked again, for its answer: small models would never end.
 */
export async function* replied(ask, { schema, answer = ANSWER, done }, ended = () => "stop") {
  const again = (call) => done.some(({ name, arguments: args }) => name === call.name && same(args, call.arguments));
  for (const held of [schema, answer]) {
    const reply = new Reply();
    for await (const piece of ask(held)) {
      const content = reply.text(piece);
      if (content) yield chunk({ content });
    }
    const { text, call } = reply.end();
    if (call && held !== answer && again(call)) continue;
    if (text) yield chunk({ content: text });
    if (call) yield chunk({ tool_calls: [{ index: 0, id: "call", type: "function", function: call }] });
    return yield chunk({}, call ? "tool_calls" : ended());
  }
}

/** The object that a text is; `undefined`: it is none. */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether two texts are the same JSON but for blanks. */
function same(one, other) {
  try {
    return JSON.stringify(JSON.parse(one || "{}")) === JSON.stringify(JSON.parse(other));
  } catch {
    return false;
  }
}

// ---------------------------------------------------------------- one after the other

/** A queue: gives a function that waits for its turn and gives what ends it. A wait that is aborted takes no turn. */
export function turns() {
  let last = Promise.resolve();
  return async (signal) => {
    const before = last;
    let end;
    last = new Promise((resolve) => (end = resolve));
    try {
      await unlessAborted(before, signal);
    } catch (error) {
      void before.then(end);
      throw error;
    }
    return end;
  };
}

/** The promise, or the signal's reason if it fires first. What was promised goes on. */
export function unlessAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    const over = () => signal?.removeEventListener("abort", abort);
    promise.then(resolve, reject).finally(over);
  });
}
