// What may cross the border: plain JSON-like data, and nothing that a structured clone or a JSON parser refuses.
//
// Promises: a value that cannot cross is named by its path. Lone surrogates become U+FFFD, because no UTF-8 text can
// hold them. What is too large is refused while it is looked at, so that no copy or text of it is made. Leaves to
// others: which error the rest becomes.

import { failure } from "./error.js";

// The parser in the module stops at 128 levels; this leaves room for what a value is wrapped in.
const MAX_DEPTH = 100;

const wellFormed = (text) =>
  text.toWellFormed ? text.toWellFormed() : text.replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (s) => (s.length === 2 ? s : "\ufffd"));

/** Thrown with a sentence that begins with the path. */
export class NotJson extends TypeError {}

/** Whether it is an object of no class, be it of another realm (an iframe's), which has its own Object.prototype. */
export const isPlain = (value) => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

const kind = (value) => {
  const name = Object.getPrototypeOf(value)?.constructor?.name;
  return name ? `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}` : "an object of unknown kind";
};

/** Whether it is a Blob or a File, be it of another realm. */
export const isFile = (value) => /^\[object (Blob|File)\]$/.test(Object.prototype.toString.call(value));

/** How much is taken, where `openWorkspace` does not say otherwise. The module has the first three as well. */
export const LIMITS = { answerBytes: 2 ** 24, argumentBytes: 2 ** 22, callsPerAnswer: 128, messageBytes: 2 ** 23, resultBytes: 2 ** 24 };

/** @param {[option: string, bytes: number]} limit */
export const tooLarge = (what, [option, bytes]) =>
  failure("too_large", `${what} has more than ${bytes} bytes.`, `Less at a time fits; limits.${option} of openWorkspace allows more.`);

/** How many bytes a text has in UTF-8 beyond its length. */
function beyond(text) {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1;
  }
  return bytes;
}

/**
 * A copy of plain data. `onFunction(fn, path)` gives what stands for a function; without it, functions are refused. The same
 * goes for `onFile(file)`, a Blob or a File.
 * In `lenient` mode (results of the page's functions) what JSON leaves out is left out, and the usual containers
 * become what a reader would expect; else (arguments, configuration) they are refused, so that nothing is lost silently.
 * What has more bytes than the `limit` is refused as soon as that is known: its JSON, without the signs that escape others.
 */
export function plain(value, path, { lenient = false, onFunction, onFile, limit = [] } = {}) {
  const above = [];
  const names = []; // from the whole to where it is now
  let [, left = Infinity] = limit;
  const at = () => path + names.map((name) => (typeof name === "string" && /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)).join("");
  const wrong = (what) => new NotJson(`${at()} ${what}`);
  const take = (bytes) => {
    if ((left -= bytes) < 0) throw tooLarge(path, limit);
  };
  /** Refuses at once what has so many members that they cannot fit: they take at least so many bytes, an item two. */
  const holds = (bytes) => bytes > left && take(Infinity);
  const string = (text) => {
    take(text.length);
    take(beyond(text));
    return wellFormed(text);
  };
  const visit = (value) => {
    take(2);
    switch (typeof value) {
      case "string":
        return string(value);
      case "boolean":
        return value;
      case "number":
        if (Number.isFinite(value)) return take(`${value}`.length - 1), value;
        if (lenient) return null;
        throw wrong(`is ${value}, which JSON cannot hold`);
      case "bigint":
        throw wrong("is a BigInt, which JSON cannot hold");
      case "function":
        if (onFunction) return onFunction(value, at());
      // falls through
      case "symbol":
        if (lenient) return undefined;
        throw wrong(`is a ${typeof value}, which cannot stand here`);
      case "undefined":
        return undefined;
    }
    if (value === null) return null;
    if (above.includes(value)) throw wrong("refers back to what contains it");
    if (above.length >= MAX_DEPTH) throw wrong("is nested too deeply");
    above.push(value);
    const copy = inside(value);
    above.pop();
    return copy;
  };
  const member = (name, item) => {
    names.push(name);
    const copy = visit(item);
    names.pop();
    return copy;
  };
  const list = (items) => {
    holds(2 * (items.length ?? items.size));
    return Array.from(items, (item, i) => member(i, item) ?? null);
  };
  const record = (entries) => {
    const out = [];
    for (const [key, item] of entries) {
      const copy = member(key, item);
      if (copy !== undefined) out.push([string(key), copy]);
    }
    return Object.fromEntries(out); // own members, also one called `__proto__`
  };
  const entriesOf = (value) => {
    const names = Object.keys(value);
    // Beside a name two quotes, a colon and a value.
    holds(names.reduce((bytes, name) => bytes + name.length + 4, 0));
    return names.map((name) => [name, value[name]]);
  };
  const inside = (value) => {
    if (Array.isArray(value)) return list(value);
    if (onFile && isFile(value)) return onFile(value);
    if (typeof value.toJSON === "function") return visit(value.toJSON());
    if (isPlain(value)) return record(entriesOf(value));
    if (!lenient) throw wrong(`is ${kind(value)}, not a plain object`);
    if (value instanceof Map) {
      holds(2 * value.size);
      return [...value.keys()].every((key) => typeof key === "string") ? record(value) : list(value);
    }
    if (value instanceof Set || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return list(value);
    if (value instanceof ArrayBuffer) return list(new Uint8Array(value));
    if (value instanceof Error) return record([["name", value.name], ["message", value.message], ...Object.entries(value)]);
    const entries = entriesOf(value);
    // A Response, a Blob, an element: `{}` would pass for what it holds.
    if (!entries.length) throw wrong(`is ${kind(value)}, which JSON cannot hold`);
    return record(entries);
  };
  return visit(value);
}

/** The JSON text of a value that one of the page's functions gave; `undefined` for `undefined`. */
export function toJson(value, path, limit, onFile) {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new NotJson(`${path} is a ${typeof value}, which JSON cannot hold`);
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new NotJson(`${path} is ${value}, which JSON cannot hold`);
  if (typeof value?.then === "function") throw new NotJson(`${path} is a promise inside a promise`);
  return JSON.stringify(plain(value, path, { lenient: true, limit, onFile }));
}

/** `plain`, with an error of ours. */
export function checked(value, path, code, options) {
  try {
    return plain(value, path, options);
  } catch (error) {
    if (error instanceof NotJson) throw failure(code, `${error.message}.`);
    throw error;
  }
}
