// Tabs of two versions of the package on one workspace: this one, and one that somebody has still open
// (`data/packages/`). The newer one gets the agent when the older one is idle, and the older one is told to reload.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { ROOT, WORK } from "../lib/package.mjs";
import { epochs, onBothHosts, open, openIn, start } from "../lib/tabs.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const OLDER = fs.readdirSync(path.join(ROOT, "data", "packages")).filter((file) => file.endsWith(".tgz")).map((file) => file.slice(0, -4));

export default function (test) {
  for (const version of OLDER) {
    const dir = path.join(WORK, "older", version);
    fs.mkdirSync(dir, { recursive: true });
    execFileSync("tar", ["xzf", path.join(ROOT, "data", "packages", `${version}.tgz`), "-C", dir, "--strip-components=1"]);
    onBothHosts((title, body, options) => test(`${version}: ${title}`, (t) => body(Object.assign(t, { older: (host) => openOlder(t, version, host) })), options), beside);
  }
}

/** A tab with that version of the package, and the workspace open in it. */
async function openOlder(t, version, host) {
  const imports = Object.fromEntries(["index", "offline", "testing"].map((name) => [name === "index" ? "lodger" : `lodger/${name}`, `/work/older/${version}/${name}.js`]));
  const at = t.env.site.serve(`/older-${version}.html`, `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>older</title><script type="importmap">${JSON.stringify({ imports })}</script>\n<script type="module" src="/helpers.js"></script>`);
  return openIn(await t.tab({ path: at }), host);
}

const JOIN = { ifRunning: "join" };
const codes = (page) => page.evaluate(() => rec.events.filter(({ type }) => type === "agent:error").map(({ detail }) => detail.code));
const held = (page) => page.evaluate(() => until(() => view.getSnapshot().holder));
const refused = (page, what) => page.evaluate((what) => Function("ws", `return ${what}`)(ws).then(() => "done", ({ code }) => code), what);

/** An older tab opens what a newer one has written, and is told so by all that it asks for: where it opens, or later. */
async function isRefused(t, host, base) {
  const failed = (error) => assert.match(error.message, /written by a newer version of lodger/);
  const b = await t.older(host).catch(failed);
  if (!b) return;
  await start(b, base, JOIN).then(() => assert.fail("it follows"), failed);
  for (const what of ['ws.pages.create({ title: "Stock" })', "ws.history()"]) assert.equal(await refused(b, what), "newer_version", what);
  assert.ok(!(await codes(b)).includes("holder_unreachable"));
}

/** The run that a tab begins, when its first words have come. */
const counting = (page) => page.evaluate(async () => { const run = await ws.sendMessage("Count."); await rec.chunk(); return run.runId; });

/** An older tab in the middle of an answer that never ends. */
async function olderAtWork(t, host) {
  const route = await t.raw(stream(message("One two three.").slice(0, 4), gate(), []), message("Again from the start."));
  const a = await t.older(host);
  await start(a, route.base);
  return { route, a, run: await counting(a) };
}

function beside(on) {
  on("the newer tab waits for the run of the older one, then goes on with what was asked meanwhile", async (t, host) => {
    const hold = gate();
    const first = message("One two three.");
    const route = await t.raw(stream(first.slice(0, 4), hold, first.slice(4)), message("Second."), message("Third."));
    const a = await t.older(host);
    await start(a, route.base);
    const run = await counting(a);
    const b = await open(t, host);
    await start(b, route.base, JOIN);
    assert.equal(await b.evaluate(async () => (await texts())[0]), "Count.", "what is stored is read");
    assert.equal(await refused(b, "ws.stopAgent()"), "holder_unreachable", "it is told what it cannot do from there");
    await b.evaluate(() => { globalThis.next = ws.run("And now?"); });
    assert.equal(await a.evaluate(() => view.getSnapshot().holder), true);
    hold.open();
    assert.equal((await a.evaluate((run) => ws.wait(run), run)).outcome, "completed");
    await held(b);
    assert.equal(await b.evaluate(async () => (await next).text), "Second.");
    assert.deepEqual(await b.evaluate(() => texts()), ["Count.", "One two three.", "And now?", "Second."]);
    // What was open before is told to reload, whatever it asks for.
    await a.evaluate(() => rec.seen(({ type, detail }) => type === "agent:error" && detail.code === "newer_version"));
    for (const what of ['ws.sendMessage("Hello?")', "ws.history()", "ws.stopAgent()"]) assert.equal(await refused(a, what), "newer_version", what);
    assert.equal(await b.evaluate(async () => (await ws.run("Still there?")).text), "Third.");
    assert.deepEqual([await epochs(b), route.violations], [[1, 2], []]);
  });

  on("an older tab beside a newer one that works is told so, and disturbs nothing", async (t, host) => {
    const hold = gate();
    const first = message("One two three.");
    const route = await t.raw(stream(first.slice(0, 4), hold, first.slice(4)), message("Second."));
    const a = await open(t, host);
    await start(a, route.base);
    const run = await counting(a);
    await isRefused(t, host, route.base);
    hold.open();
    assert.equal((await a.evaluate((run) => ws.wait(run), run)).outcome, "completed");
    assert.equal(await a.evaluate(async () => (await ws.run("And now?")).text), "Second.");
    assert.deepEqual([await epochs(a), await codes(a), route.violations], [[1], [], []]);
  });

  on("an older holder that dies in the middle of a run leaves it to the newer tab", async (t, host) => {
    const { route, a, run } = await olderAtWork(t, host);
    const b = await open(t, host);
    await start(b, route.base, JOIN);
    await a.close();
    await held(b);
    assert.equal((await b.evaluate((run) => ws.wait(run), run)).outcome, "completed");
    assert.deepEqual(await b.evaluate(() => texts()), ["Count.", "Again from the start."]);
    assert.deepEqual(await epochs(b), [1, 2]);
  });

  on("a person takes the agent over from an older tab that works", async (t, host) => {
    const { route, a, run } = await olderAtWork(t, host);
    const b = await open(t, host);
    await start(b, route.base, { ifRunning: "takeover" });
    assert.equal(await b.evaluate(() => view.getSnapshot().holder), true);
    assert.equal((await b.evaluate((run) => ws.wait(run), run)).outcome, "completed");
    await a.evaluate(() => until(() => rec.events.some(({ type, detail }) => type === "agent:error" && detail.code === "newer_version")));
    assert.ok(!(await codes(a)).includes("holder_unreachable"));
  });

  on("what a newer tab has written an older one leaves alone, and says why", async (t, host) => {
    const route = await t.raw(message("First."), message("Second."));
    const a = await open(t, host);
    await start(a, route.base);
    await a.evaluate(() => ws.run("One"));
    await a.close();
    await isRefused(t, host, route.base);
    const c = await open(t, host);
    await start(c, route.base);
    assert.equal(await c.evaluate(async () => (await ws.run("Two")).text), "Second.");
    assert.deepEqual(await c.evaluate(() => texts()), ["One", "First.", "Two", "Second."]);
  });
}
