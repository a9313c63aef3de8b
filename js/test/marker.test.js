import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { look, mark, unmarked } from "../host/marker.js";
import { turns } from "./fake-host.js";

// Timers of signals keep no program running in Node, and a page runs on.
const runs = setInterval(() => {}, 1_000);
after(() => clearInterval(runs));

const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
afterEach(() => (before ? Object.defineProperty(globalThis, "navigator", before) : delete globalThis.navigator));
const browser = (navigator) => Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });

/** The locks of an origin: one holder at a time, the others wait or are told. */
function fakeLocks() {
  const held = new Map();
  return {
    held,
    async request(name, options, act) {
      const given = act ?? options;
      if (held.has(name) && options.ifAvailable) return given(null);
      while (held.has(name)) {
        await Promise.race([held.get(name), new Promise((_, reject) => options.signal?.addEventListener("abort", () => reject(options.signal.reason)))]);
      }
      let free;
      held.set(name, new Promise((resolve) => (free = resolve)));
      try {
        return await given({ name });
      } finally {
        held.delete(name);
        free();
      }
    },
  };
}

/** The private file system of an origin: folders of empty files, each with when it was made. */
function fakeFiles(now = () => 5_000) {
  const folders = new Map();
  const missing = () => Object.assign(new Error("not there"), { name: "NotFoundError" });
  const entry = (map, name, create, make) => {
    if (!map.has(name) && !create) throw missing();
    if (!map.has(name)) map.set(name, make());
    return map.get(name);
  };
  const folder = (files) => ({
    getFileHandle: async (name, { create } = {}) => {
      const lastModified = entry(files, name, create, now);
      return { getFile: async () => ({ lastModified }) };
    },
    removeEntry: async (name) => {
      if (!files.delete(name)) throw missing();
    },
  });
  const getDirectory = async () => ({ getDirectoryHandle: async (name, { create } = {}) => folder(entry(folders, name, create, () => new Map())) });
  return { getDirectory, files: () => [...(folders.get("lodger")?.keys() ?? [])] };
}

function origin() {
  const storage = fakeFiles();
  const locks = fakeLocks();
  browser({ storage, locks });
  return { storage, locks };
}

const SHOP = { name: "lodger:shop" };

/** Sets it and waits until it is. */
async function marked(database, { storage }) {
  const had = storage.files().length;
  mark(database);
  while (storage.files().length === had) await turns(1);
}

test("nothing is known before anybody has set a marker; then each workspace has its own", async () => {
  const here = origin();
  assert.equal(await look(SHOP), undefined);
  await marked(SHOP, here);
  assert.equal(await look(SHOP), 5_000);
  assert.equal(await look({ name: "lodger:Shop" }), 0);
  await marked({ name: "lodger:Shop" }, here);
  assert.equal(here.storage.files().length, 2);
  for (const file of here.storage.files()) assert.match(file, /^[0-9a-f]{64}$/, "a name that every file system takes");
});

test("setting it again changes nothing", async () => {
  let time = 1;
  const storage = fakeFiles(() => time++);
  const locks = fakeLocks();
  browser({ storage, locks });
  await marked(SHOP, { storage });
  mark(SHOP);
  while (locks.held.size) await turns(1);
  assert.equal(await look(SHOP), 1);
});

test("who deletes takes it away before the rest, and nobody sets it meanwhile", async () => {
  const here = origin();
  await marked(SHOP, here);
  let deleted;
  const over = unmarked(SHOP.name, () => new Promise((resolve) => (deleted = resolve)));
  while (!deleted) await turns(1);
  assert.deepEqual(here.storage.files(), []);
  mark(SHOP);
  await turns();
  assert.deepEqual(here.storage.files(), [], "another tab that has just stored something");
  deleted("done");
  assert.equal(await over, "done");
  assert.equal(await look(SHOP), 0);
  await marked(SHOP, here);
});

test("what goes wrong with the deletion is told, once", async () => {
  for (const setUp of [origin, () => browser({}), () => browser(undefined)]) {
    setUp();
    let times = 0;
    await assert.rejects(unmarked(SHOP.name, async () => { times++; throw ["blocked"]; }), (error) => Array.isArray(error) && error[0] === "blocked");
    assert.equal(times, 1);
  }
});

test("a page that stands still with the lock does not keep others from deleting", async () => {
  const { locks, storage } = origin();
  await marked(SHOP, { storage });
  void locks.request(`${SHOP.name}:marker`, {}, () => new Promise(() => {}));
  assert.equal(await unmarked(SHOP.name, async () => "done"), "done");
  assert.deepEqual(storage.files(), []);
});

test("where there are no files nothing is known, and nothing fails", async () => {
  const refused = { getDirectory: async () => { throw new DOMException("private window", "SecurityError"); } };
  const broken = { getDirectory: async () => ({ getDirectoryHandle: async () => ({ getFileHandle: async () => { throw new DOMException("odd", "InvalidStateError"); } }) }) };
  const silent = { getDirectory: () => new Promise(() => {}) };
  for (const navigator of [undefined, {}, { locks: fakeLocks() }, ...[{}, refused, broken, silent].map((storage) => ({ storage, locks: fakeLocks() }))]) {
    browser(navigator);
    mark(SHOP);
    assert.equal(await look(SHOP), undefined);
    assert.equal(await unmarked(SHOP.name, async () => "done"), "done");
  }
});
