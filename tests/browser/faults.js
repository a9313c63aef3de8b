// What happens to a page from outside: other connections, other tabs, a broken disk, a slow network. The tests change
// the platform's own functions and put them back, so that the crate under test needs no seam for it.

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** One task later. */
export const task = () => new Promise((resolve) => setTimeout(resolve));

export const hide = () => dispatchEvent(new Event("pagehide"));

// ---------------------------------------------------------------- IndexedDB

/** Another connection to a database, one that closes when it is asked to or one that does not. */
export async function connect(name, version, stubborn) {
  const database = await done(indexedDB.open(name, version));
  if (!stubborn) database.onversionchange = () => database.close();
  return database;
}

export const close = (database) => database.close();

export const databases = async () => (await indexedDB.databases()).map(({ name }) => name);

/** The database of version 1, with one row in it. */
export async function early(name) {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => ["meta", "entries", "heads", "drafts", "pages", "versions", "changes"].forEach((table) => request.result.createObjectStore(table));
  const database = await done(request);
  await done(database.transaction("meta", "readwrite").objectStore("meta").put("1", ["a"]));
  database.close();
}

/** What a database has of the vault: its rows, by name, and its key. */
export async function vault(name) {
  const database = await connect(name, undefined, false);
  const rows = database.transaction("keys").objectStore("keys");
  const [names, values] = await Promise.all([done(rows.getAllKeys()), done(rows.getAll())]);
  const stored = await done(database.transaction("vault").objectStore("vault").getAll());
  const keys = stored.filter((item) => item instanceof CryptoKey);
  database.close();
  return { rows: Object.fromEntries(names.map(([of], n) => [of, values[n]])), keys };
}
export const vaultRow = ({ rows }, name) => rows[name];

/** What a row says for a name, by the vault's key; `undefined`: it cannot be decrypted. */
export async function vaultText({ rows, keys: [key] }, of, name) {
  const bytes = Uint8Array.from(atob(rows[of]), (sign) => sign.charCodeAt(0));
  const algorithm = { name: "AES-GCM", iv: bytes.slice(0, 12), additionalData: new TextEncoder().encode(name) };
  const text = await crypto.subtle.decrypt(algorithm, key, bytes.slice(12)).catch(() => undefined);
  return text && new TextDecoder().decode(text);
}

/** Puts a row where the vault has one. */
export async function putVaultRow(name, of, value) {
  const database = await connect(name, undefined, false);
  await done(database.transaction("keys", "readwrite").objectStore("keys").put(value, [of]));
  database.close();
}

/** What the vault's keys are worth to a script that takes them away: how often `exportKey` gave something. */
export async function exportable({ keys }) {
  const tries = keys.flatMap((key) => ["raw", "jwk"].map((format) => crypto.subtle.exportKey(format, key)));
  return (await Promise.allSettled(tries)).filter(({ status }) => status === "fulfilled").length;
}
export const vaultKeys = ({ keys }) => keys.length;

/** The bytes of a row, as a text of one character each. */
export const decoded = (row) => atob(row);

/** Closes the connections of a scope behind the back of their users. */
export const cut = (scope) => scope.closables.forEach((connection) => connection.close());

/** How many connections a scope has. */
export const connections = (scope) => scope.closables.size;

/** Keeps every write of a database waiting until `release`. */
export async function stall(name) {
  const database = await connect(name, undefined, false);
  const transaction = database.transaction(database.objectStoreNames, "readwrite");
  const store = transaction.objectStore(database.objectStoreNames[0]);
  let stalled = true;
  const again = () => stalled && (store.get([""]).onsuccess = again);
  await new Promise((resolve) => {
    store.get([""]).onsuccess = () => {
      resolve();
      again();
    };
  });
  return () => {
    stalled = false;
    database.close();
  };
}

/**
 * Aborts the next `count` transactions that write, without a reason or with an error of this name. Gives the durabilities
 * of all that began, and `restore`.
 */
export function watchWrites(count, error) {
  const [name, ...message] = (error ?? "").split(": ");
  const { transaction } = IDBDatabase.prototype;
  const seen = [];
  IDBDatabase.prototype.transaction = function (...args) {
    const begun = transaction.apply(this, args);
    if (begun.mode === "readwrite") {
      seen.push(begun.durability);
      if (count-- > 0) queueMicrotask(() => begun.abort());
      if (error) Object.defineProperty(begun, "error", { value: new DOMException(message.join(": "), name) });
    }
    return begun;
  };
  return { seen, restore: () => (IDBDatabase.prototype.transaction = transaction) };
}

/** Rejections that nobody handled, from now on until `restore`. */
export function watchRejections() {
  const seen = [];
  const listener = (event) => seen.push(String(event.reason));
  addEventListener("unhandledrejection", listener);
  return { seen, restore: () => removeEventListener("unhandledrejection", listener) };
}

/** Replaces a member of an object. Gives what puts it back. */
export function replace(object, name, value) {
  const own = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  return () => (own ? Object.defineProperty(object, name, own) : delete object[name]);
}
export const withoutIndexedDb = () => replace(globalThis, "indexedDB", undefined);
export const withoutCipher = () => replace(crypto, "subtle", undefined);
export const withoutLocks = () => replace(navigator, "locks", undefined);

/** Puts a disk of so many bytes under IndexedDB. `undefined` where the browser has no storage buckets. */
export async function smallDisk(quota) {
  if (!navigator.storageBuckets) return undefined;
  await navigator.storageBuckets.delete("small-disk").catch(() => {});
  const bucket = await navigator.storageBuckets.open("small-disk", { quota });
  return replace(globalThis, "indexedDB", bucket.indexedDB);
}

/** For timers that are set from now on, time passes a hundred times as fast, or not at all. */
export function hurry() {
  const { setTimeout } = globalThis;
  return replace(globalThis, "setTimeout", (callback, ms) => setTimeout(callback, ms / 100));
}
export function freeze() {
  const { setTimeout } = globalThis;
  return replace(globalThis, "setTimeout", (callback, ms) => (ms ? 0 : setTimeout(callback)));
}

// ---------------------------------------------------------------- locks

export const held = async () => (await navigator.locks.query()).held.map(({ name }) => name);

/** Takes a lock away from its holder. Gives what releases it. */
export const steal = (name) =>
  new Promise((resolve) => {
    navigator.locks.request(name, { steal: true }, () => new Promise((release) => resolve(release)));
  });

// ---------------------------------------------------------------- fetch

/**
 * A model server in place of the network. It keeps `fetch`'s promise about signals: an abort ends the answer's body
 * with an error, and cancels it. What the network itself does with an abort is for the tests of the package.
 */
export function server() {
  const seen = [];
  const fetch = async (...asked) => {
    const request = new Request(...asked);
    const { signal } = asked[1] ?? request;
    const entry = { url: request.url, headers: [...request.headers], text: await request.text(), aborted: false };
    signal.addEventListener("abort", () => {
      entry.aborted = true;
      entry.fail?.(signal.reason);
    });
    seen.push(entry);
    return new Promise((resolve, reject) => {
      entry.fail = reject;
      entry.answer = (status) => {
        const body = new ReadableStream({
          start(controller) {
            entry.fail = (reason) => controller.error(reason);
            entry.write = (text) => controller.enqueue(new TextEncoder().encode(text));
            entry.end = () => controller.close();
          },
        });
        resolve(new Response(body, { status, headers: { "content-type": "text/event-stream" } }));
      };
    });
  };
  return { seen, restore: replace(globalThis, "fetch", fetch) };
}
export const answer = (request, status) => request.answer(status);
export const write = (request, text) => request.write(text);
export const end = (request) => request.end();
