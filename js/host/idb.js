// IndexedDB: one short transaction a commit, all of its requests issued at once.
//
// Promises: a commit counts when the transaction is complete, not when a request succeeded. A failed expectation aborts
// it whole. A connection that was lost is opened again and the transaction tried once more. Opening and writing give up in
// bounded time. A database that was there and is not any more is not made anew. What fails throws `[kind, why]`: `quota`, `newer`,
// `blocked`, `unavailable`, `gone`, `failed`, or `lost`, which has failed as well. A module that does not come throws as `late`
// does. Leaves to others: which rows (`src/browser/idb.rs`), what is in them, and the keys (`vault.js`).

import { inBytes, whole } from "./bytes.js";
import { adopt, after, cancel, createScope, disown, inOneTask, inWebKit, now } from "./env.js";
import { look, unmarked } from "./marker.js";
import { late } from "../protocol/error.js";
import { pressed, unpressed } from "./press.js";
import { STORE, bytes, vaultKey } from "./vault.js";

// The database's version. It changes only when a table is added; the format of rows is in `meta`.
const VERSION = 3;
// How long another tab may keep the database from being opened or deleted, in milliseconds.
const BLOCKED_MS = 5_000;
// The same where no `blocked` event tells of it: who opens behind a deletion that waits hears nothing. A browser that is
// busy may need many seconds for its first look at the disk.
const SILENT_MS = 30_000;
// How long it may take to end a write, in milliseconds. On a full disk Chromium may never end one: neither event comes.
const ENDLESS_MS = 60_000;
const WAKING_MS = 5_000;
const TASKS = 1_000;
const ENDLESS = "the browser does not end it; the disk may be full";
// How often, and after how long, a database is opened again that a browser is about to close or to delete.
const CLOSING_TRIES = 8;
const CLOSING_MS = 250;

/** Why a connection has to go: `Gone` of `src/browser/idb.rs`. */
const NEWER = 0;
const DELETED = 1;
const LOST = 2;
// Where a database keeps what tells it from another of its name: beside its keys, where no row of `Store` is.
const BORN = "born";
// What is in no text that is stored: those are JSON, and hashes.
const BETWEEN = "\0";
// How Chromium says that the disk is full: by errors of other names.
const NO_ROOM = /NO_SPACE|to write blobs/;
// And that the bytes of a large value are not all there, by the name that a lost connection has too.
const CUT = /read large/;

/**
 * A connection, which opens when it is used. `gone` is called when another connection wants to upgrade the database or deletes it,
 * and when it is not there any more though nobody has said so.
 * @param {string[]} tables
 * @param {(why: number) => void} gone
 */
export const createConnection = (scope, name, tables, gone) => ({
  scope,
  name,
  tables,
  gone,
  database: undefined, // IDBDatabase, while it is open
  opening: undefined, // the promise of one: never two at a time
  known: false, // it was open before, so the database was there
  born: undefined, // a promise of what tells this database from one that is made in its place
  full: false, // since a write found no room: the browser may close the database then, and not open it until there is some
  closed: false, // for good: nothing may open it again, a deleted database least of all
});

export function close(connection) {
  connection.closed = true;
  letGo(connection);
}

/**
 * Does all of it, or nothing. Resolves to the place of the first row that is not as expected, if there is one.
 * @param {[table: string, key: unknown[], value?: string][]} expected without a value: there is no such row
 * @param {Write[]} writes
 * @typedef {[table: string, key: unknown[], value?: string | Blob, how?: "first" | "pack" | number, until?: number]} Write
 * Without a value: all below the key goes, with numbers what goes on with those. `first`: only where there is no such row;
 * `pack`: it may be pressed.
 */
export async function commit(connection, expected, writes, strict) {
  // A transaction waits for nothing else.
  for (const write of writes) {
    if (write[3] === "pack") write[2] = await pressed(write[2]);
    // WebKit stores no Blob in a private window. Such a transaction never ends there, and those after it wait, so none is tried.
    if (write[2] instanceof Blob && inWebKit()) write[2] = await inBytes(write[2]);
  }
  return attempt(connection, async (database) => {
    const transaction = begin(database, [...expected, ...writes], "readwrite", strict);
    const ended = end(transaction, connection.scope);
    let wrong;
    try {
      expected.forEach(([table, key, value], place) => {
        transaction.objectStore(table).get(key).onsuccess = ({ target: { result } }) => {
          // As it is read: bytes that are no pressed text are an empty one, and what is neither is no row.
          const read = result instanceof Uint8Array ? "" : result;
          if (wrong !== undefined || (typeof read === "string" ? read : undefined) === value) return;
          // The writes are on their way already; this takes them all back.
          wrong = place;
          attemptTo(() => transaction.abort());
        };
      });
      issue(transaction, writes);
    } catch {
      attemptTo(() => transaction.abort());
      await ended.catch(() => {});
      throw ["failed", "a request could not be made"];
    }
    // Drafts are committed at once, because they must outlive a page that goes away meanwhile.
    if (writes.every(([table]) => table === "drafts")) attemptTo(() => transaction.commit());
    await ended.catch((error) => {
      if (wrong === undefined) throw error;
    });
    return wrong;
  });
}

/** Hands the writes over, so that the browser finishes them without this page. */
export function commitAtOnce({ database }, writes) {
  attemptTo(() => {
    const transaction = begin(database, writes, "readwrite", false);
    issue(transaction, writes);
    transaction.commit();
  });
}

/**
 * The keys of each list of rows as JSON, and their texts with `BETWEEN` between them, in UTF-8, all as they were at one moment; of
 * files the keys will do. What the browser cannot read any more is an empty text; what is no text is no row.
 * @param {[table: string, prefix: unknown[], from?: number | string, until?: number | string][]} reads
 */
export async function read(connection, reads) {
  // A start may have nothing to read, and there is no transaction over no table.
  if (!reads.length) return [];
  const lists = await withApart(connection, reads, (transaction, all) =>
    reads.flatMap(([table, prefix, from, until]) => {
      // A range with nothing in it is none.
      if (from >= until) return [[], []];
      const store = transaction.objectStore(table);
      const range = prefix.length || from !== undefined ? below(prefix, from, until) : undefined;
      const keys = result(store.getAllKeys(range));
      if (table === "files") return [keys, keys.then((keys) => keys.map(() => ""))];
      const unpress = (rows) => (rows.some((row) => typeof row === "object") ? Promise.all(rows.map(unpressed)) : rows);
      return [keys, all(store, range).then(unpress)];
    }),
  );
  // Row by row a thousand of them would take longer into the module than out of the database.
  return reads.flatMap((_, n) => {
    const rows = lists[2 * n + 1];
    const isText = (_, at) => typeof rows[at] === "string";
    const text = (row) => (row.includes(BETWEEN) ? "" : row);
    return [JSON.stringify(lists[2 * n].filter(isText)), rows.filter(isText).map(text).join(BETWEEN)].map(inUtf8);
  });
}

/** The bytes of a text. The glue of the module would copy it letter by letter, and `encode` takes twice as long. */
function inUtf8(text) {
  const all = new Uint8Array(text.length);
  const { read, written } = new TextEncoder().encodeInto(text, all);
  return read < text.length ? bytes(text) : all.subarray(0, written);
}

/**
 * What `ask` asks of a transaction, with `all` for the rows of a range. One that the browser cannot read fails all of them:
 * then each is read apart.
 */
function withApart(connection, uses, ask) {
  const reading = (all) =>
    attempt(connection, (database) => {
      const anew = () => begin(database, uses, "readonly", false);
      return Promise.all(ask(anew(), all(anew)));
    });
  return reading(() => (store, ...range) => result(store.getAll(...range))).catch(async (error) => {
    if (error[0] !== "failed") throw error;
    const { apart } = await late(import("./apart.js"));
    return reading((anew) => apart(anew, trouble));
  });
}

/**
 * What tells whether anything was ever stored: the rows of `meta` with these keys, and since when the marker is there. That
 * is looked for meanwhile, and waited for only where neither of the first two rows is. Beside sessions or pages it tells of
 * no loss: then those two rows alone are gone.
 * @param {string[]} keys
 */
export async function found(connection, keys) {
  const since = look(connection);
  const asked = (tables, ask) => attempt(connection, (database) => Promise.all(ask(begin(database, tables.map((table) => [table]), "readonly", false)).map(result)));
  const rows = await asked(["meta"], (transaction) => keys.map((key) => transaction.objectStore("meta").get([key])));
  if ((rows[0] ?? rows[1]) !== undefined) return rows;
  const marker = await since;
  const used = ["heads", "pages"];
  const counts = marker ? await asked(used, (transaction) => used.map((table) => transaction.objectStore(table).count())) : [];
  return [...rows, counts.some(Boolean) ? 0 : marker];
}

/** How many bytes each session takes, as `[id, bytes]`. */
export const sizes = async (connection) =>
  (await late(import("./sizes.js"))).sizes((table, ...range) =>
    withApart(connection, [[table]], (transaction, all) => {
      const store = transaction.objectStore(table);
      return [result(store.getAllKeys(...range)), all(store, ...range)];
    }),
  );

/** The bytes of a file, if there is one of this id, and it is what was put there. */
export const file = async (connection, id) =>
  whole(await attempt(connection, (database) => result(begin(database, [["files"]], "readonly", false).objectStore("files").get([id]))), id);

/** The key in this place of the vault, as `vaultKey` gives it. */
export const keptKey = (connection, made, place) =>
  attempt(connection, (database) =>
    vaultKey(database, made, place).catch((error) => {
      throw trouble(error);
    }),
  );

/** Deletes a database, its marker first. */
export const deleteDatabase = (name) => unmarked(name, () => bounded(createScope(), (factory) => factory.deleteDatabase(name)));

/** Does something with the database, and once more with a new connection where this one was lost. */
async function attempt(connection, act) {
  for (let last = false; ; last = true) {
    const database = await opened(connection);
    try {
      return await act(database);
    } catch (error) {
      if (!Array.isArray(error)) throw ["failed", error?.message];
      if (error[0] === "quota") connection.full = true;
      if (last || error[0] !== "lost") throw error;
      letGo(connection);
    }
  }
}

/** For what may throw because it is over already. */
function attemptTo(act) {
  try {
    act();
  } catch {
    // It is.
  }
}

async function opened(connection) {
  const check = (database) => {
    if (!connection.closed) return;
    database?.close();
    throw ["failed", "the workspace is closed"];
  };
  check();
  if (connection.database) return connection.database;
  connection.opening ??= open(connection).finally(() => (connection.opening = undefined));
  const database = await connection.opening.catch((error) => {
    throw connection.full && error[0] === "unavailable" ? ["quota"] : error;
  });
  connection.full = false;
  check(database);
  if (!connection.database) keep(connection, database);
  return database;
}

async function open(connection) {
  const { scope, name, tables, known, gone } = connection;
  let [emptied, full] = [false, false];
  const once = () => bounded(scope, (factory) => {
    const request = factory.open(name, VERSION);
    request.onupgradeneeded = ({ dataLoss, oldVersion }) => {
      // The request itself says no more than that it was aborted.
      const { transaction } = request;
      transaction.onabort = () => (full = transaction.error?.name === "QuotaExceededError");
      // The browser, or a person by its settings, has deleted it. Nothing is made in its place before somebody opens it anew.
      if (known && !oldVersion) {
        emptied = true;
        return transaction.abort();
      }
      // What an earlier version has made already stays.
      for (const table of [...tables, STORE]) attemptTo(() => request.result.createObjectStore(table));
      if (!oldVersion) transaction.objectStore(STORE).put(Math.random(), BORN);
      // Chromium says so once: that this one comes in place of one that was damaged.
      if (dataLoss === "total") transaction.objectStore("meta").put(String(now(scope)), ["emptied"]);
    };
    return request;
  });
  for (let tries = 1; ; tries++) {
    try {
      const database = await once();
      // Another tab may have made it anew, before this one has heard that it was deleted.
      const [was, is] = known ? [await connection.born, await born(database)] : [];
      if (was && is && was !== is) {
        database.close();
        gone(LOST);
        throw ["gone"];
      }
      return database;
    } catch (error) {
      if (emptied) {
        gone(LOST);
        throw ["gone"];
      }
      if (full) throw ["quota"];
      if (error[2] !== "AbortError" || tries === CLOSING_TRIES) throw error;
      await new Promise((resolve) => after(scope, CLOSING_MS, resolve));
    }
  }
}

/** The outcome of an open or delete request, if it comes in time. A connection that comes after that is closed. */
const bounded = (scope, make) =>
  new Promise((resolve, reject) => {
    let request;
    try {
      if (!globalThis.indexedDB) throw new Error("this browser or context has no IndexedDB");
      request = make(indexedDB);
    } catch (error) {
      return reject(openError(error));
    }
    let late = false;
    const giveUp = () => {
      late = true;
      reject(["blocked"]);
    };
    const timer = after(scope, SILENT_MS, giveUp);
    request.onblocked = () => after(scope, BLOCKED_MS, giveUp);
    request.onsuccess = () => {
      cancel(scope, timer);
      if (late) request.result?.close();
      else resolve(request.result);
    };
    request.onerror = () => {
      cancel(scope, timer);
      reject(openError(request.error));
    };
  });

function openError(error) {
  if (error?.name === "VersionError") return ["newer"];
  if (error?.name === "QuotaExceededError" || NO_ROOM.test(error?.message)) return ["quota"];
  return ["unavailable", error?.message || "for an unknown reason", error?.name];
}

function keep(connection, database) {
  connection.database = database;
  connection.known = true;
  connection.born ??= born(database);
  database.onversionchange = ({ newVersion }) => connection.gone(newVersion === null ? DELETED : NEWER);
  database.onclose = () => {
    letGo(connection);
    // A browser closes it to delete it, or because it has troubles of its own: the next one tells.
    opened(connection).catch(() => {});
  };
  adopt(connection.scope, database);
}

/** What tells a database from one that is made in its place; nothing: it cannot be read, or is older than that. */
const born = async (database) => {
  try {
    return await result(database.transaction(STORE).objectStore(STORE).get(BORN));
  } catch {
    return undefined;
  }
};

/** Forgets the database; the next request opens it anew. */
function letGo(connection) {
  const { scope, database } = connection;
  if (!database) return;
  connection.database = undefined;
  database.onversionchange = database.onclose = null;
  database.close();
  disown(scope, database);
}

function begin(database, uses, mode, strict) {
  try {
    return database.transaction(uses.map(([table]) => table), mode, { durability: strict ? "strict" : "relaxed" });
  } catch (error) {
    throw trouble(error);
  }
}

function issue(transaction, writes) {
  for (const [table, key, value, how, until] of writes) {
    const store = transaction.objectStore(table);
    // The row that is there stays, and the transaction goes on.
    if (how === "first") store.add(value, key).onerror = (event) => event.target.error.name === "ConstraintError" && event.preventDefault();
    else if (value !== undefined) store.put(value, key);
    else if (key.length) store.delete(below(key, how, until));
    else store.clear();
  }
}

/** Resolves when the transaction is complete. Somebody listens from the start: nobody may wait for it any more when it fails. */
function end(transaction, scope) {
  const ended = new Promise((resolve, reject) => {
    const giveUp = async () => {
      // Where a test fakes the time, none has passed.
      for (let n = 0; n < TASKS; n++) await new Promise(inOneTask);
      reject(["failed", ENDLESS]);
      attemptTo(() => transaction.abort());
    };
    // A computer that wakes up tells of the end as well, and perhaps of the time first.
    let timer = after(scope, ENDLESS_MS, () => (timer = after(scope, WAKING_MS, giveUp)));
    transaction.oncomplete = () => resolve(cancel(scope, timer));
    transaction.onabort = () => {
      cancel(scope, timer);
      reject(trouble(transaction.error));
    };
  });
  ended.catch(() => {});
  return ended;
}

const result = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(trouble(request.error));
  });

/** What an aborted transaction, or one that could not begin, means. */
function trouble(error) {
  if (!(error instanceof DOMException)) return ["lost", "the connection is closing"];
  const { name, message } = error;
  if (name === "QuotaExceededError" || NO_ROOM.test(message)) return ["quota"];
  // Safari loses its storage process in the background; a connection closes when its tab freezes.
  if (["InvalidStateError", "UnknownError", "AbortError"].includes(name) && !CUT.test(message)) return ["lost", message];
  return ["failed", `${name}: ${message}`];
}

/**
 * All keys that begin with these parts, and go on with a number or a text of at least `from` and below `until`. A text sorts
 * after every number, an array after every text.
 */
const below = (prefix, from, until = typeof from === "number" ? "" : []) =>
  IDBKeyRange.bound(from === undefined ? prefix : [...prefix, from], [...prefix, until], false, true);
