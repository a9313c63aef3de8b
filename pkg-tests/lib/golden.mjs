// The databases that earlier versions of the package have written (`data/golden/`): how one is taken out of a browser, put
// down in a file, and given back to another browser.
//
// A file is never written again: `table.json` has its SHA-256, and says what of it today's machine decides otherwise. The tests on
// the host (`tests/host/cases/golden.rs`) hold every file against that table. They say which sum of its checkpoints is added there.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { ROOT } from "./package.mjs";

const DIR = path.join(ROOT, "data", "golden");
const TABLE = path.join(DIR, "table.json");

export const table = () => JSON.parse(fs.readFileSync(TABLE, "utf8"));
/** Every database there is. */
export const goldens = () => Object.keys(table()).map((name) => ({ name }));
export const read = (name) => JSON.parse(fs.readFileSync(path.join(DIR, `${name}.json`), "utf8"));

/** Puts a database down under a name that nothing has, and adds it to the table. */
export function write(name, golden) {
  const file = path.join(DIR, `${name}.json`);
  const known = table();
  if (fs.existsSync(file) || name in known) throw new Error(`${file} exists, and is never written again: take another name`);
  const text = `${lines(golden, 3)}\n`;
  const size = Buffer.byteLength(text);
  if (size > 400_000) throw new Error(`${name} has ${size} bytes, and may have 400,000: divide it`);
  fs.writeFileSync(file, text);
  known[name] = { sha256: crypto.createHash("sha256").update(text).digest("hex") };
  fs.writeFileSync(TABLE, `${JSON.stringify(known, null, 2)}\n`);
}

/** JSON in which the members down to this depth have a line each: a row of a store has one. */
function lines(value, depth) {
  if (depth === 0 || value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return value.length ? `[\n${value.map((item) => lines(item, depth - 1)).join(",\n")}\n]` : "[]";
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${lines(member, depth - 1)}`);
  return `{\n${members.join(",\n")}\n}`;
}

/**
 * In a page: the database as it lies there, its stores, keys and rows. Bytes are base64. A key that no script reads is
 * `{ absent }`: it stays in its browser.
 */
export async function dump(database) {
  const wait = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = reject; });
  const opened = await wait(indexedDB.open(database));
  const stores = {};
  const plain = async (value) => {
    if (typeof value === "string") return value;
    const [blob] = Array.isArray(value) ? value : [value];
    if (blob instanceof Blob) return { blob: btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer()))), type: blob.type, list: Array.isArray(value) };
    if (value instanceof Uint8Array) return { pressed: btoa(String.fromCharCode(...value)) };
    if (blob instanceof ArrayBuffer || ArrayBuffer.isView(blob)) return { bytes: btoa(String.fromCharCode(...new Uint8Array(blob.buffer ?? blob))), rest: value.slice?.(1) };
    return { absent: value.constructor.name };
  };
  for (const name of opened.objectStoreNames) {
    const store = () => opened.transaction(name).objectStore(name);
    const [keys, values] = [await wait(store().getAllKeys()), await wait(store().getAll())];
    stores[name] = await Promise.all(keys.map(async (key, at) => [key, await plain(values[at])]));
  }
  const { version } = opened;
  opened.close();
  return { version, stores };
}

/** In a page: the same database, made again. */
export async function restore([database, { version, stores }]) {
  const request = indexedDB.open(database, version);
  request.onupgradeneeded = () => { for (const name of Object.keys(stores)) request.result.createObjectStore(name); };
  const opened = await new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = reject; });
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const value = (row) => {
    if (typeof row === "string") return row;
    if ("pressed" in row) return bytes(row.pressed);
    if ("blob" in row) { const blob = new Blob([bytes(row.blob)], { type: row.type }); return row.list ? [blob] : blob; }
    return [bytes(row.bytes).buffer, ...(row.rest ?? [])];
  };
  const transaction = opened.transaction(Object.keys(stores), "readwrite");
  for (const [name, rows] of Object.entries(stores)) for (const [key, row] of rows) if (!row.absent) transaction.objectStore(name).put(value(row), key);
  await new Promise((resolve, reject) => { transaction.oncomplete = resolve; transaction.onabort = reject; });
  opened.close();
}
