// A stand-in for IndexedDB in the page that fills a year: rows lie in the page, and are put down in the browser's own database at
// the end. Half of what a run costs there is the browser's storage, and nobody waits for a year of that.
//
// Promises: what `js/host/idb.js` uses of IndexedDB, in the same order, for one page. Does not take a transaction back: a year has
// none that fails, and the page ends with an error if there is one.

/** Before a page's scripts. `standInDown()` puts everything down. */
export function standIn() {
  const own = globalThis.indexedDB;
  const databases = new Map(); // name -> { version, stores: Map of name -> groups }
  // A store's rows by the first part of their keys and, where that is a text, by the second: a session is found at once, and so is a run.
  const inside = (map, part) => map.get(part) ?? map.set(part, new Map()).get(part);
  const second = (key) => (typeof key[1] === "string" ? key[1] : undefined);
  const group = (groups, key) => inside(inside(groups, key[0] ?? key), second(key));

  const within = ({ lower, upper, lowerOpen, upperOpen }) => {
    const [from, until] = [lower?.[1], upper?.[1]];
    // A session has many rows, and these are faster.
    if (typeof from === "number" && typeof until === "number" && !lowerOpen && upperOpen) return (key) => key[1] >= from && key[1] < until;
    return (key) => {
      const [low, high] = [lower === undefined ? 1 : own.cmp(key, lower), upper === undefined ? -1 : own.cmp(key, upper)];
      return (lowerOpen ? low > 0 : low >= 0) && (upperOpen ? high < 0 : high <= 0);
    };
  };
  const near = (groups, { lower, upper }) => {
    if (!Array.isArray(lower) || lower[0] !== upper?.[0]) return [...groups.values()].flatMap((of) => [...of.values()]);
    const of = inside(groups, lower[0]);
    return second(lower) !== undefined && second(lower) === second(upper) ? [inside(of, second(lower))] : [...of.values()];
  };
  const rows = (groups, range = {}) => {
    if (Array.isArray(range) || typeof range !== "object") {
      const row = group(groups, range).get(JSON.stringify(range));
      return row ? [row] : [];
    }
    const is = within(range);
    return near(groups, range).flatMap((of) => [...of.values()]).filter(([key]) => is(key)).sort(([a], [b]) => own.cmp(a, b));
  };

  const made = (act) => ({ act, result: undefined, error: null, onsuccess: null, onerror: null });
  function objectStore(groups, transaction) {
    const ask = (act) => {
      const request = made(act);
      request.transaction = transaction;
      transaction.waiting.push(request);
      return request;
    };
    const put = (value, key) => void group(groups, key).set(JSON.stringify(key), [key, value]);
    return {
      get: (key) => ask(() => rows(groups, key)[0]?.[1]),
      getAll: (range) => ask(() => rows(groups, range).map(([, value]) => value)),
      getAllKeys: (range) => ask(() => rows(groups, range).map(([key]) => key)),
      put: (value, key) => ask(() => put(value, key)),
      add: (value, key) => ask(() => { if (rows(groups, key).length) throw new DOMException("it is there", "ConstraintError"); put(value, key); }),
      delete: (range) => ask(() => { for (const [key] of rows(groups, range)) group(groups, key).delete(JSON.stringify(key)); }),
      clear: () => ask(() => groups.clear()),
    };
  }

  const tasks = new MessageChannel();
  const due = [];
  tasks.port1.onmessage = () => due.shift()();
  const soon = (work) => { due.push(work); tasks.port2.postMessage(0); };
  const fails = (request, error) => {
    request.error = error;
    let taken = false;
    request.onerror?.({ target: request, preventDefault: () => { taken = true; } });
    if (!taken) throw error;
  };

  function transaction({ stores }) {
    const self = { waiting: [], error: null, oncomplete: null, onabort: null, commit() {}, abort() { throw new Error("the stand-in takes nothing back"); } };
    self.objectStore = (name) => objectStore(stores.get(name), self);
    const work = () => {
      if (!self.waiting.length) return self.oncomplete?.();
      for (const request of self.waiting.splice(0)) {
        try {
          request.result = request.act();
        } catch (error) {
          fails(request, error);
          continue;
        }
        request.onsuccess?.({ target: request });
      }
      soon(work);
    };
    soon(work);
    return self;
  }

  const database = (held) => ({ transaction: () => transaction(held), close() {}, createObjectStore: (name) => { if (held.stores.has(name)) throw new DOMException("it is there", "ConstraintError"); held.stores.set(name, new Map()); } });
  const open = (name, version) => {
    const request = made();
    soon(() => {
      const held = databases.get(name) ?? { version: 0, stores: new Map() };
      databases.set(name, held);
      request.result = database(held);
      const oldVersion = held.version;
      if (oldVersion < version) {
        held.version = version;
        request.transaction = transaction(held);
        request.onupgradeneeded?.({ target: request, dataLoss: "none", oldVersion });
      }
      request.onsuccess?.({ target: request });
    });
    return request;
  };
  Object.defineProperty(globalThis, "indexedDB", { value: { open, cmp: (a, b) => own.cmp(a, b), databases: async () => [...databases].map(([name, { version }]) => ({ name, version })) } });

  globalThis.standInDown = async () => {
    const done = (it, event) => new Promise((resolve, reject) => { it[event] = () => resolve(it.result); it.onerror = it.onabort = () => reject(it.error); });
    for (const [name, { version, stores }] of databases) {
      const request = own.open(name, version);
      request.onupgradeneeded = () => { for (const table of stores.keys()) request.result.createObjectStore(table); };
      const opened = await done(request, "onsuccess");
      for (const [table, groups] of stores) {
        const all = rows(groups);
        for (let at = 0; at < all.length; at += 5000) {
          const writing = opened.transaction(table, "readwrite", { durability: "relaxed" });
          for (const [key, value] of all.slice(at, at + 5000)) writing.objectStore(table).put(value, key);
          await done(writing, "oncomplete");
        }
      }
      opened.close();
    }
  };
}
