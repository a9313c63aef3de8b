// Rows that somebody damages in IndexedDB before a page opens: the agent starts, everybody else works, what is whole is
// shown, and there is a way out. Each damage to each row is tried on the host (`tests/host/cases/damage.rs`, `page.rs`).
import assert from "node:assert/strict";
import fs from "node:fs";
import { profile } from "../lib/profile.mjs";
import { onBothHosts } from "../lib/tabs.mjs";

const TEXTS = ["one", "two", "three"];

export default function (test) {
  for (const [what, harm] of [["changed", change], ["gone", drop], ["empty", empty]]) {
    test(`a row that is ${what}: the others work, the rest is shown, and it is salvaged`, async (t) => {
      const page = await t.tab();
      await page.evaluate(begin);
      const whole = await page.evaluate(talk, TEXTS);
      await page.evaluate(() => ws.close());
      // The answer in the middle of the first session, and of another.
      for (const id of ["default", "notes"]) await page.evaluate(harm, id);
      await page.reload();
      await t.ready(page);
      await page.evaluate(begin);
      const seen = await page.evaluate(look);
      assert.deepEqual(seen.told, ["default"]);
      assert.equal(typeof seen.damaged.seq, "number");
      assert.deepEqual(seen.refused, ["corrupt", true]);
      assert.equal(seen.other, "You said Still there?.");
      for (const id of ["default", "notes"]) {
        const { history, journal } = seen.shown[id];
        assert.equal(history.filter(({ status }) => status === "damaged").length, 1, id);
        assert.equal(journal.filter(({ type }) => type === "damaged").length, 1, id);
        const said = history.flatMap(({ parts }) => parts.map(({ text }) => text));
        for (const text of ["one", "You said one.", "three", "You said three."]) assert.ok(said.includes(text), `${id}: ${text} in ${said}`);
        assert.ok(!said.includes("You said twX."), id);
        assert.ok(journal.length >= whole[id].journal - 2, `${journal.length} of ${whole[id].journal}`);
      }
      assert.match(seen.file, /^\{"damaged":/m);
      assert.match(seen.transcript, /## Gap/);
      assert.deepEqual(seen.taken, ["corrupt", true]);
      const went = await page.evaluate(salvage);
      assert.deepEqual(went.ids, ["default", "notes-2"]);
      for (const texts of went.texts) for (const text of ["You said one.", "You said three.", "You said And now?."]) assert.ok(texts.includes(text), `${text} in ${texts}`);
      await page.evaluate(() => ws.close());
      await page.reload();
      await t.ready(page);
      await page.evaluate(begin);
      assert.deepEqual(await page.evaluate(() => told), []);
      assert.deepEqual(await page.evaluate(async () => [(await ws.run("Again?")).text, (await ws.sessions.status("notes-2")).session.status]), ["You said Again?.", "idle"]);
    });
  }

  test("a last row in the place of the next: nothing is written over it, and it is named", async (t) => {
    const page = await t.tab();
    await page.evaluate(begin);
    await page.evaluate(talk, TEXTS);
    await page.evaluate(async () => {
      await ws.close();
      const rows = (await T.dump("damage")).entries.filter(([[id, seq]]) => id === "notes" && typeof seq === "number");
      const [key, text] = rows.at(-1);
      const db = await T.database("damage");
      const tx = db.transaction("entries", "readwrite");
      tx.objectStore("entries").delete(key);
      tx.objectStore("entries").put(text, [key[0], key[1] + 1]);
      await T.done(tx);
      db.close();
    });
    const before = await page.evaluate(async () => T.plain((await T.dump("damage")).entries.filter(([[id]]) => id === "notes")));
    await page.reload();
    await t.ready(page);
    await page.evaluate(begin);
    const seen = await page.evaluate(async () => {
      const codes = [];
      for (const write of [() => ws.sessions.rename("notes", "Other"), () => ws.run("And now?", { sessionId: "notes" })]) codes.push((await T.refused(write)).code);
      const { text } = await ws.run("Still there?");
      const { damaged, hmac_status } = await ws.sessions.verify("notes");
      return T.plain([codes, text, typeof damaged?.seq, hmac_status, (await T.dump("damage")).entries.filter(([[id]]) => id === "notes")]);
    });
    assert.deepEqual(seen, [["corrupt", "corrupt"], "You said Still there?.", "number", "tampered", before]);
  });

  onBothHosts(test, heads);

  for (const kind of ["changed", "gone", "empty", "cut", "older", "swapped", "moved"]) {
    test(`a row of a page that is ${kind}: the others work, it is marked, told of, and restored`, async (t) => {
      const page = await t.tab();
      await page.evaluate(writePages);
      await page.evaluate(harmPage, kind);
      await page.reload();
      await t.ready(page);
      const seen = await page.evaluate(lookAtPages);
      const marked = kind === "swapped" ? ["dough", "soup"] : ["soup"];
      assert.deepEqual(seen.marked.sort(), marked);
      assert.deepEqual(seen.told.sort(), marked);
      assert.deepEqual(seen.refused, ["corrupt", true]);
      assert.deepEqual(seen.found, ["bread"]);
      assert.equal(seen.bread, "Bake the bread.");
      assert.equal(seen.versions.at(-1), "Cold soup.");
      assert.match(seen.tool, /damaged/);
      const after = await page.evaluate(restorePages);
      assert.deepEqual(after.marked, []);
      assert.equal(after.dough, "Knead.");
      // The whole row, where there is one; else the newest text that is whole.
      assert.equal(after.soup, ["swapped", "moved"].includes(kind) ? "Hot soup." : "Warm soup.");
      await page.reload();
      await t.ready(page);
      const again = await page.evaluate(lookAtPages);
      assert.deepEqual([again.marked, again.told, again.refused], [[], [], "no refusal"]);
    });
  }

  test("of a damaged session each run that is whole is told as before, and the other is refused", async (t) => {
    const page = await t.tab();
    await page.evaluate(begin);
    await page.evaluate(talk, TEXTS);
    const tell = async () => {
      const of = async (runId) => {
        const { data } = await ws.sessions.output(runId);
        return T.plain([(await ws.wait(runId)).status, await ws.sessions.activity(runId), new TextDecoder().decode(data), await ws.sessions.task(runId), await ws.sessions.receipts("notes").then(() => "told", ({ code }) => code)]);
      };
      const runs = [...new Set((await ws.history({ sessionId: "notes" })).map(({ runId }) => runId).filter(Boolean))];
      return Promise.all(runs.map((run) => of(run).catch(({ code }) => code)));
    };
    const whole = await page.evaluate(tell);
    await page.evaluate(() => ws.close());
    await page.evaluate(change, "notes");
    await page.reload();
    await t.ready(page);
    await page.evaluate(begin);
    const seen = await page.evaluate(tell);
    const told = (of) => of.map((one) => (Array.isArray(one) ? one.slice(0, 4) : one));
    assert.deepEqual(told(seen), [told(whole)[0], "corrupt", told(whole)[2]]);
    // What is evidence is told whole or not at all.
    assert.deepEqual([whole[0].at(-1), seen[0].at(-1)], ["told", "corrupt"]);
  });

  test("a draft that is damaged gives no words: the answer says that it ends early, until it is made anew", async (t) => {
    const lost = await t.tab();
    await lost.evaluate(stream, ["The path ", "is half swept."]);
    await lost.close();
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const drafts = (await T.dump("drafts")).drafts;
      const db = await T.database("drafts");
      const tx = db.transaction("drafts", "readwrite");
      for (const [key, text] of drafts) tx.objectStore("drafts").put(text.replace("swept", "wept"), key);
      await T.done(tx);
      db.close();
      globalThis.ws = await lodger.openWorkspace("drafts");
      const answer = async () => { const { parts, status, damaged } = (await ws.history()).at(-1); return T.plain([parts.map(({ text }) => text).join(""), status, typeof damaged?.why]); };
      const looked = await answer();
      await ws.startAgent({ provider: { kind: "custom", async *stream() { yield "It is swept."; } } });
      const taken = await answer();
      const { hmac_status } = await ws.sessions.verify("default");
      const transcript = await (await ws.sessions.export("default", { format: "markdown" })).text();
      const { runId } = await ws.resume();
      await ws.wait(runId);
      return T.plain({ drafts: drafts.length, looked, taken, hmac_status, transcript, after: await answer() });
    });
    assert.ok(seen.drafts > 1, `${seen.drafts} drafts`);
    // What its page wrote at once when it went says all of it again, and is damaged too.
    assert.deepEqual([seen.looked, seen.taken], [["The path ", "partial", "string"], ["The path ", "partial", "string"]]);
    assert.match(seen.transcript, /It ends early/);
    assert.deepEqual([seen.hmac_status, seen.after], ["verified", ["It is swept.", "complete", "undefined"]]);
  });

  test("a damaged page without an earlier text goes to the trash; a version that is damaged is marked", async (t) => {
    const page = await t.tab();
    await page.evaluate(writePages);
    const seen = await page.evaluate(async () => {
      const change = (text) => text.replace(/[a-z]/, "X");
      await T.harm("pages", "bread", "Bake", change, "pages");
      await T.harm("pages", "soup", "Warm", change, "versions");
      const ws = await lodger.openWorkspace("pages");
      const nothing = await T.refused(() => ws.pages.restore("bread"));
      await ws.pages.delete("bread");
      const [trashed] = await ws.pages.trash();
      const restored = await ws.pages.restore("bread");
      await ws.pages.update("bread", { content: "Anew." });
      const versions = await ws.pages.versions("soup");
      return T.plain({ nothing: nothing.code, trashed: [trashed.slug, trashed.content], restored: restored.slug, tree: await ws.pages.tree(), versions });
    });
    assert.deepEqual([seen.nothing, seen.trashed[0], seen.restored], ["corrupt", "bread", "bread"]);
    // What was stored is not thrown away.
    assert.match(seen.trashed[1], /^This page was damaged[^]*X/);
    assert.ok(seen.tree.every(({ damaged }) => !damaged));
    assert.deepEqual(seen.versions.map(({ content, damaged }) => damaged?.code ?? content), ["Hot soup.", "corrupt", "Cold soup."]);
  });

  for (const [what, value] of [["a number", 5], ["a list", []], ["null", null], ["an object", {}], ["bytes", new Uint8Array([1, 2, 3])]]) {
    test(`${what} in the place of a text of the workspace is no text, and stops nothing`, async (t) => {
      const page = await t.tab();
      await page.evaluate(begin);
      await page.evaluate(async () => {
        await ws.pages.create({ title: "Soup", content: "Cold soup." });
        await ws.run("one");
        await ws.close();
      });
      const keys = await page.evaluate(async () => (await T.dump("damage")).meta.map(([key]) => key));
      assert.ok(keys.length >= 4, JSON.stringify(keys));
      for (const [at, key] of keys.entries()) {
        await page.evaluate(async ([key, value]) => {
          const db = await T.database("damage");
          const tx = db.transaction("meta", "readwrite");
          tx.objectStore("meta").put(value, key);
          await T.done(tx);
          db.close();
        }, [key, value]);
        await page.reload();
        await t.ready(page);
        await page.evaluate(begin);
        const view = await page.evaluate(async (at) => {
          const { text } = await ws.run("Still there?");
          const { slug } = await ws.pages.create({ title: `Bread ${at}`, content: "Bake." });
          const view = [text, slug, (await ws.pages.read("soup")).content];
          await ws.close();
          return view;
        }, at);
        assert.deepEqual(view, ["You said Still there?.", `bread-${at}`, "Cold soup."], JSON.stringify(key));
      }
    });
  }

  for (const [what, left] of [["a text", "pressed?"], ["other bytes", [1, 2, 3]]]) {
    test(`a pack in whose place is ${what}: the other packs are read`, async (t) => {
      const page = await t.tab();
      await page.evaluate(begin);
      await page.evaluate(talk, TEXTS);
      const whole = await page.evaluate(async () => {
        for (let cleared = 1; cleared <= 2; cleared++) {
          await ws.clearConversation("notes");
          await ws.run(`After ${cleared}`, { sessionId: "notes" });
        }
        const journal = T.plain(await ws.sessions.journal("notes"));
        await ws.close();
        return journal;
      });
      const packs = await page.evaluate(async (left) => {
        const packs = (await T.dump("damage")).entries.filter(([[id, part], value]) => id === "notes" && part === "packs" && value instanceof Uint8Array).map(([key]) => key);
        await T.put("damage", "entries", packs.at(-1), typeof left === "string" ? left : new Uint8Array(left));
        return packs.map(([, , last]) => last);
      }, left);
      assert.equal(packs.length, 2);
      await page.reload();
      await t.ready(page);
      await page.evaluate(begin);
      const journal = await page.evaluate(async () => T.plain(await ws.sessions.journal("notes")));
      const [first, last] = packs;
      // The checkpoint proves the row behind what is missing.
      const isWhole = ({ seq }) => seq <= first || seq > last;
      assert.deepEqual(journal.filter(isWhole), whole.filter(isWhole));
      assert.deepEqual(journal.filter((entry) => !isWhole(entry)).map(({ type }) => type), ["damaged"]);
      assert.equal(await page.evaluate(async () => (await ws.sessions.verify("notes")).hmac_status), "tampered");
    });
  }

  test("a cleared session of which a row is damaged keeps the rows before it, and what was said since", async (t) => {
    const page = await t.tab();
    await page.evaluate(begin);
    const whole = await page.evaluate(async (texts) => {
      await ws.sessions.launch({ id: "notes" });
      for (let n = 1; n <= 22; n++) await ws.run(`Before ${n}`, { sessionId: "notes" });
      await ws.clearConversation("notes");
      for (const text of texts) await ws.run(text, { sessionId: "notes" });
      const whole = T.plain([await ws.sessions.journal("notes"), await ws.sessions.receipts("notes")]);
      await ws.close();
      const [key, pack] = (await T.dump("damage")).entries.findLast(([[id, part]]) => id === "notes" && part === "packs");
      pack[pack.length >> 1] ^= 1;
      await T.put("damage", "entries", key, pack);
      return whole;
    }, TEXTS);
    await page.reload();
    await t.ready(page);
    await page.evaluate(begin);
    const seen = await page.evaluate(async () => {
      const shown = await ws.history({ sessionId: "notes" });
      const { damaged } = await ws.sessions.verify("notes");
      const { id } = await ws.sessions.salvage("notes", { replace: true });
      const made = [await ws.sessions.journal(id), await ws.sessions.receipts(id)];
      await ws.run("And now?", { sessionId: id });
      const texts = (messages) => messages.flatMap(({ parts }) => parts.map(({ text }) => text));
      return T.plain({ kept: damaged.seq - 1, shown: texts(shown), made, texts: texts(await ws.history({ sessionId: id })), verified: await ws.sessions.verify(id) });
    });
    const said = (texts) => texts.flatMap((text) => [text, `You said ${text}.`]);
    assert.ok(seen.kept >= 2 * 64, `${seen.kept} rows before the damage`);
    assert.deepEqual(seen.made[0].slice(0, seen.kept), whole[0].slice(0, seen.kept));
    // Each run has left one.
    assert.ok(seen.made[1].length >= 20, `${seen.made[1].length} receipts`);
    assert.deepEqual(seen.made[1], whole[1].slice(0, seen.made[1].length));
    assert.deepEqual([seen.shown, seen.texts], [said(TEXTS), said([...TEXTS, "And now?"])]);
    assert.equal(seen.verified.damaged, undefined);
  });

  // Chromium keeps a value of more than 64 KB in a file of its own. Without that, it gives no row of all that are read with it.
  for (const [what, lose] of [["lost", (file) => fs.rmSync(file)], ["lost a part of", (file) => fs.truncateSync(file, fs.statSync(file).size >> 1)]]) test(`large rows whose bytes the browser has ${what}: the rest is shown, and the others work`, async (t) => {
    const browser = profile(t);
    await browser.life(async (page) => {
      await page.evaluate(begin);
      await page.evaluate(talk, TEXTS);
      await page.evaluate(async () => {
        const large = Array.from({ length: 30_000 }, () => Math.random().toString(36)).join(" ");
        const file = new Blob([large], { type: "text/plain" });
        for (const sessionId of ["default", "notes"]) await ws.run(sessionId === "notes" ? large : { text: "A file", files: [file] }, { sessionId });
        await ws.sessions.launch({ id: "cleared" });
        await ws.run(large, { sessionId: "cleared" });
        await ws.run(large, { sessionId: "default" });
        await ws.close();
      });
    });
    const large = browser.files().filter((file) => file.includes(".blob"));
    assert.ok(large.length >= 4, `${large}`);
    for (const file of large) lose(file);
    await browser.life(async (page) => {
      await page.evaluate(begin);
      const seen = await page.evaluate(look);
      assert.deepEqual(seen.told, ["default"]);
      assert.deepEqual(seen.refused, ["corrupt", true]);
      assert.equal(seen.other, "You said Still there?.");
      for (const id of ["default", "notes"]) {
        const said = seen.shown[id].history.flatMap(({ parts }) => parts.map(({ text }) => text));
        for (const text of TEXTS) assert.ok(said.includes(text) && said.includes(`You said ${text}.`), `${id}: ${text} in ${said}`);
        assert.ok(seen.shown[id].history.some(({ status }) => status === "damaged"), id);
      }
      assert.ok((await page.evaluate(async () => (await ws.storage({ sessions: true })).sessions.map(({ id }) => id))).includes("notes"));
      const went = await page.evaluate(salvage);
      for (const texts of went.texts) for (const text of ["You said one.", "You said three.", "You said And now?."]) assert.ok(texts.includes(text), text);
    });
  }, { hangMs: 180_000 });

  test("the first session is begun anew by clearing it", async (t) => {
    const page = await t.tab();
    await page.evaluate(begin);
    await page.evaluate(talk, TEXTS);
    await page.evaluate(() => ws.close());
    await page.evaluate(change, "default");
    await page.reload();
    await t.ready(page);
    await page.evaluate(begin);
    const view = await page.evaluate(async () => {
      await ws.clearConversation();
      const { text } = await ws.run("Anew.");
      return T.plain([text, (await ws.history()).length, (await ws.sessions.list()).map(({ id, damaged }) => [id, !!damaged]).sort()]);
    });
    assert.deepEqual(view, ["You said Anew..", 2, [["default", false], ["notes", false]]]);
  });
}

const HEADS = [["changed", (text) => text.replace('"turns":', '"turns":1')], ["gone", () => undefined], ["empty", () => ""]];

function heads(on, edits = HEADS) {
  for (const [what, edit] of edits) {
    on(`a head that is ${what}: all rows are read and exported, and it is made anew of them`, async (t, host) => {
      const page = await t.tab();
      await page.evaluate(begin, host);
      const whole = await page.evaluate(talk, TEXTS);
      await page.evaluate(async () => {
        await ws.sessions.rename("notes", "My notes");
        await ws.close();
      });
      for (const id of ["default", "notes"]) await page.evaluate(`T.harm("damage", "${id}", "", ${edit}, "heads")`);
      await page.reload();
      await t.ready(page);
      // A page that only lists names both, and so does an app that launches what it always has.
      const first = await page.evaluate(async (host) => {
        const other = await lodger.openWorkspace("damage", { host });
        const listed = (await other.sessions.list()).map(({ id, damaged }) => [id, damaged?.seq]).sort();
        await other.startAgent({ provider: { kind: "custom", async *stream() { yield "Here."; } } });
        const launched = (await T.settle(() => other.sessions.launch({ id: "notes" }))).error?.code;
        await other.close();
        return { listed, launched };
      }, host);
      assert.deepEqual(first, { listed: [["default", 0], ["notes", 0]], launched: "session_exists" });
      await page.evaluate(begin, host);
      const seen = await page.evaluate(look);
      assert.deepEqual(seen.told, ["default"]);
      assert.equal(seen.damaged.seq, 0);
      assert.deepEqual(seen.refused, ["corrupt", true]);
      assert.equal(seen.other, "You said Still there?.");
      for (const id of ["default", "notes"]) {
        const { history, journal } = seen.shown[id];
        assert.deepEqual(history.map(({ status }) => status), [...Array(2 * TEXTS.length).fill("complete"), "damaged"], id);
        assert.deepEqual(history.flatMap(({ parts }) => parts.map(({ text }) => text)), TEXTS.flatMap((text) => [text, `You said ${text}.`]), id);
        assert.equal(journal.at(-1).type, "damaged", id);
        assert.ok(journal.length > whole[id].journal, id);
      }
      const lines = seen.file.trimEnd().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual([lines[0].head, lines.at(-2).stored.length], [null, what === "gone" ? 0 : 1]);
      assert.deepEqual(seen.taken, ["corrupt", true]);
      const went = await page.evaluate(salvage);
      assert.deepEqual(went.ids, ["default", "notes-2"]);
      for (const texts of went.texts) assert.deepEqual(texts, [...TEXTS, "And now?"].flatMap((text) => [text, `You said ${text}.`]));
      const after = await page.evaluate(async () => {
        const named = (await ws.sessions.list()).map(({ id, damaged, display_name }) => [id, display_name, damaged?.seq ?? null]);
        await ws.sessions.remove("notes");
        return T.plain({ named: named.sort(), left: (await ws.sessions.list()).map(({ id }) => id).sort() });
      });
      assert.deepEqual(after.named.slice(0, 3), [["default", null, null], ["notes", what === "changed" ? "My notes" : null, 0], ["notes-2", "My notes", null]]);
      assert.deepEqual(after.left.slice(0, 2), ["default", "notes-2"]);
      await page.evaluate(() => ws.close());
      await page.reload();
      await t.ready(page);
      await page.evaluate(begin, host);
      assert.deepEqual(await page.evaluate(() => told), []);
    });
  }
}

/** One of them, for another browser. */
export const headGone = (on) => heads(on, HEADS.filter(([what]) => what === "gone"));

/** An answer that streams these pieces, each in a draft of its own, and goes no further. */
async function stream(pieces) {
  const ws = await lodger.openWorkspace("drafts");
  const written = async (count) => { while ((await T.dump("drafts")).drafts.length < count) await T.turn(); };
  await ws.startAgent({ provider: { kind: "custom", async *stream() {
    for (const [n, piece] of pieces.entries()) { yield piece; await written(n + 1); }
    await new Promise(() => {});
  } } });
  await ws.sendMessage("Sweep the path.");
  await written(pieces.length);
}

/** Pages, with earlier texts; then the workspace is closed. */
async function writePages() {
  const ws = await lodger.openWorkspace("pages");
  await ws.pages.create({ title: "Soup", content: "Cold soup." });
  await ws.pages.create({ title: "Bread", content: "Bake the bread." });
  await ws.pages.create({ title: "Dough", content: "Knead.", parentSlug: "bread" });
  await ws.pages.update("soup", { content: "Warm soup." });
  globalThis.before = (await T.dump("pages")).pages;
  await ws.pages.update("soup", { content: "Hot soup." });
  await ws.close();
}

/** Harms the row of a page. */
async function harmPage(kind) {
  const put = (slug, edit) => T.harm("pages", slug, "", edit, "pages");
  const texts = Object.fromEntries((await T.dump("pages")).pages.map(([[slug], text]) => [slug, text]));
  if (kind === "changed") await put("soup", (text) => text.replace("Hot", "Hat"));
  if (kind === "gone") await put("soup", () => undefined);
  if (kind === "empty") await put("soup", () => "");
  if (kind === "cut") await put("soup", (text) => text.slice(0, text.length / 2));
  if (kind === "older") await put("soup", () => before.find(([[slug]]) => slug === "soup")[1]);
  if (kind === "swapped") {
    await put("soup", () => texts.dough);
    await put("dough", () => texts.soup);
  }
  if (kind === "moved") {
    await put("soup", () => undefined);
    const db = await T.database("pages");
    const tx = db.transaction("pages", "readwrite");
    tx.objectStore("pages").put(texts.soup, ["elsewhere"]);
    await T.done(tx);
    db.close();
  }
}

async function lookAtPages() {
  globalThis.ws = await lodger.openWorkspace("pages");
  const told = [];
  ws.addEventListener("agent:notice", ({ detail }) => detail.kind === "damaged" && told.push(...detail.pages.map(({ slug }) => slug)));
  const tree = await ws.pages.tree();
  const all = (nodes) => nodes.flatMap((node) => [node, ...all(node.children)]);
  globalThis.marks = async () => all(await ws.pages.tree()).filter(({ damaged }) => damaged).map(({ slug }) => slug);
  const read = await ws.pages.read("soup").then(() => undefined, (error) => error);
  const tool = await ws.tools.execute("search_pages", { query: "soup" });
  return T.plain({
    told, tool: JSON.stringify(tool), marked: all(tree).filter(({ damaged }) => damaged).map(({ slug }) => slug),
    refused: read ? [read.code, read.hint.includes("pages.restore")] : "no refusal",
    found: (await ws.pages.search("bake")).map(({ slug }) => slug),
    bread: (await ws.pages.read("bread")).content,
    versions: (await ws.pages.versions("soup")).map(({ content }) => content),
  });
}

async function restorePages() {
  await ws.pages.restore("soup");
  return T.plain({ marked: await marks(), soup: (await ws.pages.read("soup")).content, dough: (await ws.pages.read("dough")).content });
}

/** The agent runs, on a model that repeats; what the page is told of damage is kept. */
async function begin(host = "page") {
  globalThis.told = [];
  globalThis.ws = await lodger.openWorkspace("damage", { host });
  ws.addEventListener("agent:notice", ({ detail }) => detail.kind === "damaged" && told.push(detail.sessionId));
  async function* stream({ messages }) {
    yield `You said ${messages.at(-1).content}.`;
  }
  await ws.startAgent({ provider: { kind: "custom", model: "damage", stream } });
}

/** What is said in two sessions, and how long their journals are then. */
async function talk(texts) {
  await ws.sessions.launch({ id: "notes" });
  const seen = {};
  for (const id of ["default", "notes"]) {
    for (const text of texts) await ws.run(text, { sessionId: id });
    seen[id] = { journal: (await ws.sessions.journal(id)).length };
  }
  return seen;
}

/** Harms the row that has the second answer. */
async function change(id) {
  await T.harm("damage", id, "You said two.", (text) => text.replace("You said two.", "You said twX."));
}
async function drop(id) {
  await T.harm("damage", id, "You said two.", () => undefined);
}
async function empty(id) {
  await T.harm("damage", id, "You said two.", () => "");
}

async function look() {
  const other = await ws.sessions.launch({ id: "other" });
  const refused = await T.refused(() => ws.sendMessage("Still there?"));
  const shown = {};
  for (const id of ["default", "notes"]) shown[id] = { history: await ws.history({ sessionId: id }), journal: await ws.sessions.journal(id) };
  const file = await ws.sessions.export("notes");
  const taken = await T.refused(() => ws.sessions.import(file));
  const list = await ws.sessions.list();
  return T.plain({
    told, shown, damaged: list.find(({ id }) => id === "default").damaged,
    refused: [refused.code, refused.hint.includes("sessions.salvage")],
    other: (await ws.run("Still there?", { sessionId: other.id })).text,
    file: await file.text(),
    transcript: await (await ws.sessions.export("notes", { format: "markdown" })).text(),
    taken: [taken.code, taken.hint.includes("sessions.salvage")],
  });
}

async function salvage() {
  const made = [await ws.sessions.salvage("default", { replace: true }), await ws.sessions.salvage("notes")];
  const texts = [];
  for (const { id } of made) {
    await ws.run("And now?", { sessionId: id });
    texts.push((await ws.history({ sessionId: id })).flatMap(({ parts }) => parts.map(({ text }) => text)));
  }
  return T.plain({ ids: made.map(({ id }) => id), texts });
}
