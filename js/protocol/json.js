// What may cross the border: plain JSON-like data, and nothing that a structured clone or a JSON parser refuses.
//
// Promises: a value that cannot cross is named by its path. Lone surrogates become U+FFFD, because no UTF-8 text can
// hold them. Leaves to others: which error that becomes.

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

/**
 * A copy of plain data. `onFunction(fn, path)` gives what stands for a function; without it, functions are refused.
 * In `lenient` mode (results of the page's functions) what JSON leaves out is left out, and the usual containers
 * become what a reader would expect; else (arguments, configuration) they are refused, so that nothing is lost silently.
 */
export function plain(value, path, { lenient = false, onFunction } = {}) {
  const above = [];
  const visit = (value, path) => {
    switch (typeof value) {
      case "string":
        return wellFormed(value);
      case "boolean":
        return value;
      case "number":
        if (Number.isFinite(value)) return value;
        if (lenient) return null;
        throw new NotJson(`${path} is ${value}, which JSON cannot hold`);
      case "bigint":
        throw new NotJson(`${path} is a BigInt, which JSON cannot hold`);
      case "function":
        if (onFunction) return onFunction(value, path);
      // falls through
      case "symbol":
        if (lenient) return undefined;
        throw new NotJson(`${path} is a ${typeof value}, which cannot stand here`);
      case "undefined":
        return undefined;
    }
    if (value === null) return null;
    if (above.includes(value)) throw new NotJson(`${path} refers back to what contains it`);
    if (above.length >= MAX_DEPTH) throw new NotJson(`${path} is nested too deeply`);
    above.push(value);
    try {
      return inside(value, path);
    } finally {
      above.pop();
    }
  };
  const list = (items, path) => Array.from(items, (item, i) => visit(item, `${path}[${i}]`) ?? null);
  const record = (entries, path) => {
    const out = [];
    for (const [key, item] of entries) {
      const copy = visit(item, /^[\w$]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`);
      if (copy !== undefined) out.push([wellFormed(key), copy]);
    }
    return Object.fromEntries(out); // own members, also one called `__proto__`
  };
  const inside = (value, path) => {
    if (Array.isArray(value)) return list(value, path);
    if (typeof value.toJSON === "function") return visit(value.toJSON(), path);
    if (isPlain(value)) return record(Object.entries(value), path);
    if (!lenient) throw new NotJson(`${path} is ${kind(value)}, not a plain object`);
    if (value instanceof Map) {
      return [...value.keys()].every((key) => typeof key === "string") ? record(value, path) : list(value, path);
    }
    if (value instanceof Set || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return list(value, path);
    if (value instanceof ArrayBuffer) return list(new Uint8Array(value), path);
    if (value instanceof Error) return record([["name", value.name], ["message", value.message], ...Object.entries(value)], path);
    const entries = Object.entries(value);
    // A Response, a Blob, an element: `{}` would pass for what it holds.
    if (!entries.length) throw new NotJson(`${path} is ${kind(value)}, which JSON cannot hold`);
    return record(entries, path);
  };
  return visit(value, path);
}

/** The JSON text of a value that one of the page's functions gave; `undefined` for `undefined`. */
export function toJson(value, path) {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new NotJson(`${path} is a ${typeof value}, which JSON cannot hold`);
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new NotJson(`${path} is ${value}, which JSON cannot hold`);
  if (typeof value?.then === "function") throw new NotJson(`${path} is a promise inside a promise`);
  return JSON.stringify(plain(value, path, { lenient: true }));
}

/** `plain`, with an error of ours. */
export function checked(value, path, code, onFunction) {
  try {
    return plain(value, path, { onFunction });
  } catch (error) {
    if (error instanceof NotJson) throw failure(code, `${error.message}.`);
    throw error;
  }
}
