// Databases that earlier versions of the package have written (`data/golden/`): this one opens each of them and loses
// nothing. `LODGER_GOLDEN=NAME` writes one: a database as this package, in this browser, has left it.
//
// A key that signs cannot be taken out of a browser, so what it has signed is `unverifiable` afterwards.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const DIR = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "data", "golden");

export default function (test) {
  const name = process.env.LODGER_GOLDEN;
  if (name) {
    test(`writing ${name}`, async (t) => {
      const page = await t.tab();
      await page.evaluate(begin);
      await page.evaluate(weeks);
      const shown = await page.evaluate(show);
      await page.evaluate(() => ws.close());
      const database = await page.evaluate(dump);
      fs.mkdirSync(DIR, { recursive: true });
      fs.writeFileSync(path.join(DIR, `${name}.json`), `${JSON.stringify({ shown, ...database })}\n`);
    });
  }
  for (const file of fs.readdirSync(DIR).filter((file) => file.endsWith(".json"))) {
    test(`${file} opens, shows what it showed, replays and goes on`, async (t) => {
      const { shown, ...database } = JSON.parse(fs.readFileSync(path.join(DIR, file), "utf8"));
      const page = await t.tab();
      await page.evaluate(restore, database);
      await page.evaluate(open);
      const seen = await page.evaluate(show);
      // Members may be added; what was there stays.
      includes(seen, shown, "shown");
      for (const { session, hmac_status } of await page.evaluate(async () => T.plain(await ws.sessions.list({ withVerification: true })))) assert.equal(hmac_status, "unverifiable", session.id);
      const replayed = await page.evaluate(async () => T.plain(await Promise.all(["default", "notes", "broken"].map(async (id) => ws.sessions.replay(await ws.sessions.export(id))))));
      // Another version may decide otherwise; it has to be the same where it is the same machine.
      for (const one of replayed) assert.ok(one.same || one.package !== t.env.pkg.manifest.version, JSON.stringify(one));
      await page.evaluate(begin);
      const went = await page.evaluate(async () => {
        await ws.sessions.recover("broken", { action: "resume" }).catch(() => {});
        const outcomes = [];
        for (const id of ["default", "notes", "broken"]) outcomes.push((await ws.wait((await ws.sessions.prompt(id, "And now?")).runId)).outcome);
        return T.plain({ outcomes, pages: await ws.pages.tree(), history: await Promise.all(["default", "notes"].map((sessionId) => ws.history({ sessionId }))), statuses: (await ws.sessions.list({ withVerification: true })).map((one) => one.hmac_status) });
      });
      assert.deepEqual(went.outcomes, ["completed", "completed", "completed"]);
      includes(went.pages, shown.pages, "pages");
      assert.ok(went.history[1].length >= shown.histories.notes.length + 2);
    });
  }
}

/** Every member of `part` is in `whole`, as it is there. */
function includes(whole, part, where) {
  if (part === null || typeof part !== "object") return assert.deepEqual(whole, part, where);
  if (Array.isArray(part)) assert.equal(whole.length, part.length, where);
  for (const [name, value] of Object.entries(part)) includes(whole?.[name], value, `${where}.${name}`);
}

async function open() {
  globalThis.ws ??= await lodger.openWorkspace("golden");
}

/** The agent runs, on a model that does what it is told. */
async function begin() {
  globalThis.ws ??= await lodger.openWorkspace("golden");
  async function* stream({ messages }, { signal }) {
    const last = messages.at(-1);
    const text = typeof last.content === "string" ? last.content : JSON.stringify(last.content);
    yield "Let me see. ";
    if (text.includes("for ever")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (text.includes("break")) throw new Error("it broke");
    if (last.role !== "tool" && text.includes("page")) return void (yield { choices: [{ delta: { tool_calls: [{ index: 0, id: "call", function: { name: "create_page", arguments: JSON.stringify({ title: "Shelves", content: "Sorted, see [[Stock]]." }) } }] }, finish_reason: "tool_calls" }] });
    yield "Done, with ünïcödé 🙂.";
  }
  if (ws.status().lifecycle !== "Running") await ws.startAgent({ provider: { kind: "custom", model: "golden", stream }, permissions: { default: "allow" } });
}

/** What a database of a few weeks has in it. */
async function weeks() {
  const s = ws.sessions;
  const run = async (id, text, options) => ws.wait((await s.prompt(id, text, options)).runId);
  await ws.pages.create({ title: "Stock", content: "What there is." });
  await run("default", "Make a page of the shelves.");
  await run("default", { text: "What does it say?", files: [new File(["a line of text"], "a.txt", { type: "text/plain" })] });
  await ws.pages.update("stock", { content: "What there was." });
  await s.launch({ id: "notes", displayName: "Notes" });
  await run("notes", "First.");
  await ws.clearConversation("notes");
  await run("notes", "Second.");
  const [asked] = await ws.history({ sessionId: "notes" });
  await run("notes", "Second, but better.", { replaces: asked.id });
  await s.stop("notes", "a pause");
  await s.restart("notes");
  const { runId } = await s.prompt("notes", "for ever");
  ws.interrupt({ runId });
  await ws.wait(runId);
  await s.launch({ id: "broken" });
  await run("broken", "break now");
  await s.recover("broken", { reason: "sandbox_failed", detail: "the page said so" });
  await s.runOnce("One task.");
}

/** Everything that a person could see. */
async function show() {
  const s = ws.sessions;
  const ids = ["default", "notes", "broken"];
  const each = async (read) => Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await read(id)])));
  return T.plain({
    sessions: (await s.list({ withVerification: true })).map((one) => one.session),
    histories: await each((sessionId) => ws.history({ sessionId })),
    journals: await each(async (id) => (await s.journal(id)).map(({ seq, type, hash }) => [seq, type, hash].join(" "))),
    events: await each((id) => s.events(id)),
    receipts: await each((id) => s.receipts(id)),
    handoffs: await each((id) => s.handoffs(id)),
    pages: await ws.pages.tree(),
    versions: await ws.pages.versions("stock"),
    file: await (await ws.file((await ws.history()).flatMap((message) => message.parts).find((part) => part.type === "file").fileId)).text(),
  });
}

/** The database as it lies there: stores, keys and rows; bytes as base64. */
async function dump() {
  const wait = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = reject; });
  const database = await wait(indexedDB.open("lodger:golden"));
  const stores = {};
  const plain = async (value) => {
    if (typeof value === "string") return value;
    const [blob] = Array.isArray(value) ? value : [value];
    if (blob instanceof Blob) return { blob: btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer()))), type: blob.type, list: Array.isArray(value) };
    if (blob instanceof ArrayBuffer || ArrayBuffer.isView(blob)) return { bytes: btoa(String.fromCharCode(...new Uint8Array(blob.buffer ?? blob))), rest: value.slice?.(1) };
    return null; // a key that no script reads
  };
  for (const name of database.objectStoreNames) {
    const store = () => database.transaction(name).objectStore(name);
    const [keys, values] = [await wait(store().getAllKeys()), await wait(store().getAll())];
    const rows = [];
    for (const [at, key] of keys.entries()) {
      const value = await plain(values[at]);
      if (value !== null) rows.push([key, value]);
    }
    stores[name] = rows;
  }
  const { version } = database;
  database.close();
  return { version, stores };
}

async function restore({ version, stores }) {
  const request = indexedDB.open("lodger:golden", version);
  request.onupgradeneeded = () => { for (const name of Object.keys(stores)) request.result.createObjectStore(name); };
  const database = await new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = reject; });
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const value = (row) => {
    if (typeof row === "string") return row;
    if ("blob" in row) { const blob = new Blob([bytes(row.blob)], { type: row.type }); return row.list ? [blob] : blob; }
    return [bytes(row.bytes).buffer, ...(row.rest ?? [])];
  };
  const transaction = database.transaction(Object.keys(stores), "readwrite");
  for (const [name, rows] of Object.entries(stores)) for (const [key, row] of rows) transaction.objectStore(name).put(value(row), key);
  await new Promise((resolve, reject) => { transaction.oncomplete = resolve; transaction.onabort = reject; });
  database.close();
}
