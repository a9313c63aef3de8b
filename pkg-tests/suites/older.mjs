// Two versions of the package on one workspace: this one, and an earlier one (`data/packages/`). Of two tabs the newer one gets
// the agent when the older one is idle, and the older one is told to reload. What the earlier one has left in the database and
// in files is verified, shown as it was, and gone on with.
import assert from "node:assert/strict";
import * as exported from "../lib/exports.mjs";
import { OLDER, olderTab, unpack } from "../lib/older.mjs";
import { epochs, onHosts, open, openIn, start } from "../lib/tabs.mjs";
import { gate, plain, stream } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

export default function (test) {
  for (const version of OLDER) {
    unpack(version);
    // What differs between hosts differs in both versions alike.
    const hosts = version === OLDER.at(-1) || process.env.LODGER_CAMPAIGN ? ["page", "worker"] : ["page"];
    onHosts(hosts, (title, body, options) => test(`${version}: ${title}`, (t) => body(Object.assign(t, { version, own: OWN[version], olderTab: () => olderTab(t, version), older: async (host) => openIn(await t.olderTab(), host) })), options), beside, since, later, left);
  }
  stays(test);
}

/**
 * What is each version's own, as it behaved. `format` is that of its rows, `end` a signed row of the end of a run and the same
 * changed, `checkpoint` whether a cleared session has one. `newer` is what a start says where a newer version has worked;
 * `here` is what a tab does in its own host in front of a newer holder.
 */
const OWN = {
  // It looks at no format once it has opened, and finds heads that it would have signed otherwise.
  "0.1.0-1": {
    format: 1, end: ["run_completed", "run_comqleted"], checkpoint: false, newer: "corrupt",
    here: { 'sessions.export("default")': "corrupt", 'keys.set("anthropic", "sk-ant-0123456789")': "newer_version", 'keys.remove("anthropic")': "newer_version" },
  },
  // No key goes from tab to tab any more. A file is read from the rows, whose heads it knows.
  "0.1.0-2": {
    format: 2, end: ['"turns":1},"what":"end"', '"turns":2},"what":"end"'], checkpoint: true, newer: "newer_version",
    here: { 'sessions.export("default")': "done", 'keys.set("anthropic", "sk-ant-0123456789")': "done", 'keys.remove("anthropic")': "done" },
  },
  "0.1.0-4": {
    format: 4, end: ['"turns":1,"v":3},"what":"end"', '"turns":2,"v":3},"what":"end"'], checkpoint: true, newer: "newer_version",
    here: { 'sessions.export("default")': "done", 'keys.set("anthropic", "sk-ant-0123456789")': "done", 'keys.remove("anthropic")': "done" },
  },
};

const JOIN = { ifRunning: "join" };
const codes = (page) => page.evaluate(() => rec.events.filter(({ type }) => type === "agent:error").map(({ detail }) => detail.code));
const held = (page) => page.evaluate(() => until(() => view.getSnapshot().holder));
const refused = (page, what) => page.evaluate((what) => Function("ws", `return ${what}`)(ws).then(() => "done", ({ code }) => code), what);

/** The run that a tab begins, when its first words have come. */
const counting = (page) => page.evaluate(async () => { const run = await ws.sendMessage("Count."); await rec.chunk(); return run.runId; });

/** An older tab in the middle of an answer that never ends. */
async function olderAtWork(t, host) {
  const route = await t.raw(stream(message("One two three.").slice(0, 4), gate(), []), message("Again from the start."));
  const a = await t.older(host);
  await start(a, route.base);
  return { route, a, run: await counting(a) };
}

/** An older tab whose first answer waits for `hold` in its middle. */
async function olderThatWaits(t, host) {
  const hold = gate();
  const first = message("One two three.");
  const route = await t.raw(stream(first.slice(0, 4), hold, first.slice(4)), message("Second."));
  const a = await t.older(host);
  await start(a, route.base);
  return { route, a, hold };
}

/** A newer tab. In it `looked(n)` resolves when it has looked so often whether the older one is idle, or has the agent. */
async function newer(t, host, options) {
  const page = await t.tab();
  await page.evaluate(() => {
    let over = 0;
    new BroadcastChannel("looks").onmessage = () => over++;
    // Tabs speak with each other where the host is. Each look ends with this timer; the first may be that of something else.
    const counts = () => {
      const [{ setTimeout }, channel] = [globalThis, new BroadcastChannel("looks")];
      globalThis.setTimeout = (then, ms, ...more) => setTimeout(ms === 1_000 ? () => { channel.postMessage(ms); then(); } : then, ms, ...more);
    };
    counts();
    const module = (...lines) => URL.createObjectURL(new Blob([lines.join("\n")], { type: "text/javascript" }));
    globalThis.Worker = class extends Worker {
      constructor(url, options) { super(module(`import ${JSON.stringify(module(`(${counts})()`))};`, `import ${JSON.stringify(String(url))};`), options); }
    };
    globalThis.looked = (n) => until(() => over > n || view.getSnapshot().holder);
  });
  return openIn(page, host, options);
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

  on("the newer tab waits for a task of the older one, which has its answer before the agent comes over", async (t, host) => {
    const { route, a, hold } = await olderThatWaits(t, host);
    await a.evaluate(() => { globalThis.task = T.settle(() => ws.sessions.runOnce("Count.")); });
    await hold.reached;
    const b = await newer(t, host);
    await start(b, route.base, JOIN);
    await b.evaluate(() => looked(3));
    assert.equal(await a.evaluate(() => view.getSnapshot().holder), true);
    hold.open();
    const { value, error } = await a.evaluate(async () => T.plain(await task));
    assert.deepEqual([error, value?.text, value?.run.status], [undefined, "One two three.", "completed"]);
    await held(b);
    assert.equal(await b.evaluate(async () => (await ws.run("And now?")).text), "Second.");
    assert.deepEqual([await b.evaluate(() => texts()), route.violations], [["And now?", "Second."], []]);
  });

  for (const [who, operator] of [["in which nobody works", null], ["whose operator's time is over", { subject: "local", expiresAt: 1 }]]) {
    on(`a newer tab ${who} gets the agent when the older one is idle, and not before`, async (t, host) => {
      const { route, a, hold } = await olderThatWaits(t, host);
      const run = await counting(a);
      const b = await newer(t, host, { operator });
      await start(b, route.base, JOIN);
      await b.evaluate(() => looked(3));
      assert.equal(await a.evaluate(() => view.getSnapshot().holder), true);
      hold.open();
      assert.equal((await a.evaluate((run) => ws.wait(run), run)).outcome, "completed");
      await held(b);
      await b.evaluate(() => ws.setOperator({ subject: "local" }));
      assert.equal(await b.evaluate(async () => (await ws.run("And now?")).text), "Second.");
      assert.deepEqual([await b.evaluate(() => texts()), route.violations], [["Count.", "One two three.", "And now?", "Second."], []]);
    });
  }

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
}

// ------------------------------------------------------------------ an older tab that is open since before

/** What its holder answers: all of it says `newer_version`. */
const OF_THE_HOLDER = [
  "history()", 'sendMessage("Hello?")', 'sendMessage("Hello?", { whenBusy: "queue" })', "regenerate()", "resume()", "clearConversation()", "configureAgent({ instructions: \"Be kind.\" })", "stopAgent()",
  'tools.execute("read_page", { slug: "soup" })', "tools.grants()", "queue.release()",
  'sessions.launch({ id: "more" })', "sessions.list()", "sessions.list({ withVerification: true })", 'sessions.status("default")', 'sessions.prompt("default", "Hello?")', 'sessions.stop("default")', 'sessions.restart("default")',
  'sessions.recover("default", { action: "resume" })', 'sessions.bench("default")', 'sessions.play("default")', 'sessions.rename("default", "Other")', 'sessions.remove("default")', 'sessions.undoRemove("default")', 'sessions.journal("default")',
  'sessions.events("default")', 'sessions.receipts("default")', 'sessions.handoffs("default")', 'sessions.task("task_of_nobody")', 'sessions.runOnce("Hello?")', 'sessions.fork("default")', 'sessions.activity("default")', 'sessions.output("default")',
];

function since(on) {
  for (const was of ["it was idle", "it held the agent", "it followed another tab of its version"]) {
    on(`an older tab that is open since before is told so by all that it asks for: ${was}`, async (t, host) => {
      const route = await t.raw(message("Zero."), message("First."), message("Second."));
      const a = await t.older(host);
      if (was !== "it was idle") await start(a, route.base);
      const viewer = was === "it followed another tab of its version" && await t.older(host);
      if (viewer) await start(viewer, route.base, JOIN);
      await a.evaluate(() => ws.pages.create({ title: "Soup", content: "of the older" }));
      const b = await open(t, host);
      await start(b, route.base, { ifRunning: "takeover" });
      assert.equal(await b.evaluate(async () => (await ws.run("One")).text), "Zero.");
      for (const tab of [a, viewer].filter(Boolean)) {
        for (const what of OF_THE_HOLDER) assert.equal(await refused(tab, `ws.${what}`), "newer_version", what);
        for (const [what, code] of Object.entries(t.own.here)) assert.equal(await refused(tab, `ws.${what}`), code, what);
        const told = [...new Set(await codes(tab))];
        // The lock may be gone before the word of the newer tab comes: the first version then tells that first.
        if (was === "it held the agent" && told[0] === "ownership_lost") told.shift();
        assert.deepEqual(told, ["newer_version"], "and once by itself");
      }
      assert.equal(await b.evaluate(async () => (await ws.run("Two")).text), "First.");
      assert.deepEqual(await b.evaluate(() => texts()), ["One", "Zero.", "Two", "First."]);
      assert.deepEqual([await b.evaluate(async () => (await ws.sessions.verify("default")).hmac_status), await codes(b), route.violations], ["verified", [], []]);
    });
  }

  for (const end of ["stopAgent", "close"]) {
    on(`an older tab that is open since before takes nothing of what a newer one has left by ${end}()`, async (t, host) => {
      const route = await t.raw(message("First."), message("Second."));
      const a = await t.older(host);
      const b = await open(t, host);
      await start(b, route.base);
      await b.evaluate(() => ws.run("One"));
      await b.evaluate((end) => ws[end](), end);
      const c = await open(t, host);
      const entries = () => c.evaluate(async () => (await T.dump("shared")).entries);
      const before = await entries();
      for (const how of ["reject", "join", "takeover"]) assert.equal(await refused(a, `ws.startAgent({ ifRunning: "${how}", provider: T.anthropic("${route.base}") })`), t.own.newer, how);
      assert.notEqual(await refused(a, 'ws.sendMessage("Hello?")'), "done");
      assert.deepEqual(await entries(), before);
      await start(c, route.base, { ifRunning: "takeover" });
      assert.equal(await c.evaluate(async () => (await ws.run("Two")).text), "Second.");
      assert.deepEqual([await c.evaluate(async () => (await ws.sessions.verify("default")).hmac_status), route.violations], ["verified", []]);
    });
  }

  on("pages of an older tab that is open since before and of a newer one are the same pages, in both directions", async (t, host) => {
    const a = await t.older(host);
    await a.evaluate(async () => { for (const title of ["Soup", "Bread", "Cake"]) await ws.pages.create({ title, content: `${title}, older` }); });
    const b = await open(t, host);
    const pages = () => ws.pages.tree().then((tree) => Promise.all(tree.map(({ slug }) => ws.pages.read(slug)))).then((pages) => T.plain(pages.map(({ slug, title, content, version }) => [slug, title, content, version])));
    const both = async (expected, why) => { for (const [who, tab] of [["older", a], ["newer", b]]) assert.deepEqual(await tab.evaluate(pages), expected, `${why}, in the ${who} tab`); };
    await both([["soup", "Soup", "Soup, older", 1], ["bread", "Bread", "Bread, older", 1], ["cake", "Cake", "Cake, older", 1]], "what the older one has made");
    await b.evaluate(async () => {
      await ws.pages.update("soup", { content: "Soup, newer" });
      await ws.pages.rename("bread", "Rolls");
      await ws.pages.delete("cake");
      await ws.pages.create({ title: "Tea", content: "Tea, newer" });
    });
    await both([["soup", "Soup", "Soup, newer", 2], ["bread", "Rolls", "Bread, older", 1], ["tea", "Tea", "Tea, newer", 1]], "what the newer one has changed");
    await a.evaluate(async () => {
      await ws.pages.update("tea", { content: "Tea, older" });
      await ws.pages.update("soup", { content: "Soup, older again" });
      await ws.pages.restore("cake");
      await ws.pages.move("cake", { parentSlug: null, position: 3 });
      await ws.pages.move("bread", { parentSlug: null, position: 0 });
      await ws.pages.create({ title: "Milk", content: "Milk, older" });
      await ws.pages.delete("milk");
    });
    const after = [["bread", "Rolls", "Bread, older", 1], ["soup", "Soup", "Soup, older again", 3], ["tea", "Tea", "Tea, older", 2], ["cake", "Cake", "Cake, older", 1]];
    await both(after, "what the older one has changed since");
    await b.evaluate(() => ws.pages.update("tea", { content: "Tea, newer again" }));
    after[2] = ["tea", "Tea", "Tea, newer again", 3];
    await both(after, "what the newer one has changed last");
    // Nothing of that is damage, also for tabs that read all of it anew: pages alone do not keep an older package out.
    const fresh = [await open(t, host), await t.older(host)];
    for (const tab of fresh) assert.deepEqual(await tab.evaluate(pages), after);
    const seen = await fresh[0].evaluate(async () => T.plain({ tree: await ws.pages.tree(), versions: (await ws.pages.versions("soup")).map(({ content }) => content), trash: (await ws.pages.trash()).map(({ slug }) => slug), told: rec.events }));
    assert.deepEqual([seen.tree.filter(({ damaged }) => damaged), seen.told, seen.trash], [[], [], ["milk"]]);
    assert.deepEqual(seen.versions, ["Soup, older again", "Soup, newer", "Soup, older"]);
  });
}

// ------------------------------------------------------------------ an older tab that comes later

/** An older package does not open the workspace; where its host is a worker, all that is asked for says so. */
async function isRefused(t, host) {
  const page = await t.olderTab();
  const refusals = await page.evaluate(async (host) => {
    const open = () => lodger.openWorkspace("shared", { host });
    if (host === "page") return [await T.refused(open)];
    const ws = await open();
    const asks = [() => ws.pages.tree(), () => ws.pages.create({ title: "More" }), () => ws.history(), () => ws.sessions.list(), () => ws.sendMessage("Hello?"), () => ws.startAgent({ ifRunning: "join" }), () => ws.startAgent({ ifRunning: "takeover" }), () => ws.keys.list()];
    return Promise.all(asks.map(T.refused));
  }, host);
  for (const { code, message } of refusals) {
    assert.equal(code, "newer_version");
    assert.match(message, /written by a newer version of lodger/);
  }
  await page.close();
}

function later(on) {
  on("an older package that opens what a newer one works in is refused, and disturbs nothing", async (t, host) => {
    const hold = gate();
    const first = message("One two three.");
    const route = await t.raw(stream(first.slice(0, 4), hold, first.slice(4)), message("Second."), message("Third."));
    const a = await open(t, host);
    await start(a, route.base);
    const run = await counting(a);
    await isRefused(t, host);
    hold.open();
    assert.equal((await a.evaluate((run) => ws.wait(run), run)).outcome, "completed");
    assert.equal(await a.evaluate(async () => (await ws.run("And now?")).text), "Second.");
    assert.deepEqual(await codes(a), []);
    await a.close();
    await isRefused(t, host);
    const c = await open(t, host);
    await start(c, route.base);
    assert.equal(await c.evaluate(async () => (await ws.run("And then?")).text), "Third.");
    assert.deepEqual(await c.evaluate(() => texts()), ["Count.", "One two three.", "And now?", "Second.", "And then?", "Third."]);
    assert.deepEqual([await epochs(c), await codes(c), route.violations], [[1, 2], [], []]);
  });

  on("an older package that opens a workspace of which only pages are there, of a newer one, is refused", async (t, host) => {
    const b = await open(t, host);
    await b.evaluate(() => ws.pages.create({ title: "Soup", content: "newer" }));
    await isRefused(t, host);
    assert.deepEqual(await b.evaluate(async () => [(await ws.pages.read("soup")).content, (await ws.pages.tree()).length]), ["newer", 1]);
  });
}

// ------------------------------------------------------------------ what it has left

/** In a page: the tools that the model uses there. */
const equip = (page) => page.evaluate(() => {
  T.weather(ws);
  ws.tools.register({ name: "charge", description: "Charges.", inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] }, execute: ({ amount }) => `charged ${amount}` });
});

/** In a page: all that is told of its sessions and pages, and how each session is judged. */
const told = (page) => page.evaluate(async () => {
  const states = (await ws.sessions.list({ withVerification: true })).map(({ session, hmac_status }) => [session.id, hmac_status]);
  const ids = states.map(([id]) => id).sort();
  const of = async (read) => Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await read(id)])));
  const pages = await ws.pages.tree();
  return T.plain({
    judged: Object.fromEntries(states),
    histories: await of((sessionId) => ws.history({ sessionId })), events: await of((id) => ws.sessions.events(id)),
    receipts: await of((id) => ws.sessions.receipts(id)), handoffs: await of((id) => ws.sessions.handoffs(id)),
    tree: pages, pages: await Promise.all(pages.map(({ slug }) => ws.pages.read(slug))), versions: await Promise.all(pages.map(({ slug }) => ws.pages.versions(slug))),
    trash: await ws.pages.trash(), keys: await ws.keys.list(),
  });
});

/** In a page: what reading all rows of each of these sessions says. */
const verified = (page, ids) => page.evaluate(async (ids) => T.plain(Object.fromEntries(await Promise.all(ids.map(async (id) => [id, (await ws.sessions.verify(id)).hmac_status])))), ids);
const all = (ids, verdict) => Object.fromEntries(ids.map((id) => [id, verdict]));
const IDS = ["broken", "default", "notes", "shop"];

/** An older tab has worked: with tools, a file, pages, a key, what was cleared, a run that failed. Its page, and a file of each session. */
async function worked(t, host) {
  const route = await t.raw(
    message({ tool: "charge", id: "toolu_a", args: { amount: 3 } }), message("Charged."), message("Another."), message("A line of text."), message({ tool: "get_weather", id: "toolu_b", args: { city: "Bern" } }), message("18 degrees."), message("In other words."), plain(400, errorBody("invalid_request_error", "bad")),
    message("From the default."), message("From the shop."), message("From the notes."), message("From a copy."), message("Opened again."), message("After all."),
  );
  const page = await t.older(host);
  await equip(page);
  const files = await page.evaluate(async (base) => {
    const { apiKey, ...anthropic } = T.anthropic(base);
    await ws.keys.set("anthropic", apiKey);
    await ws.startAgent({ provider: anthropic });
    const says = async (sessionId, input) => (await (await ws.sendMessage(input, { sessionId })).result).outcome;
    await says("default", "Charge three.");
    await ws.clearConversation();
    await says("default", "Another?");
    for (const id of ["notes", "shop", "broken"]) await ws.sessions.launch({ id, displayName: `The ${id}` });
    await says("notes", { text: "Read this.", files: [new File(["a line of a file"], "a.txt", { type: "text/plain" })] });
    await says("shop", "The weather?");
    await ws.sessions.prompt("shop", "The weather, please?", { replaces: (await ws.history({ sessionId: "shop" }))[0].id }).then(({ runId }) => ws.wait(runId));
    await says("broken", "It will not work.");
    await ws.pages.create({ title: "Soup", content: "Of [[Bread]]." });
    await ws.pages.update("soup", { content: "Of old [[Bread]]." });
    await ws.pages.create({ title: "Bread", content: "Flour.", parentSlug: "soup" });
    await ws.pages.create({ title: "Cake", content: "Sugar." });
    await ws.pages.delete("cake");
    const files = {};
    for (const { id } of await ws.sessions.list()) files[id] = await (await ws.sessions.export(id)).text();
    await ws.stopAgent();
    return files;
  }, route.base);
  return { route, page, files, before: await told(page) };
}

/** In a page: the text of a file that was sent in this session. */
const fileOf = (page, sessionId) => page.evaluate(async (sessionId) => {
  const { fileId } = (await ws.history({ sessionId }))[0].parts.find(({ type }) => type === "file");
  return (await ws.file(fileId)).text();
}, sessionId);

function left(on) {
  on("what an older package has left is verified, shown as it was, and goes on", async (t, host) => {
    const { route, page, before } = await worked(t, host);
    assert.deepEqual(before.judged, all(IDS, "verified"));
    const rows = await page.evaluate(() => T.dump("shared"));
    const formats = rows.entries.filter(([[, place]]) => Number.isInteger(place)).map(([, row]) => JSON.parse(row.slice(0, row.indexOf("\n"))).v);
    const checkpoint = rows.entries.some(([[, place]]) => place === "checkpoint");
    assert.deepEqual([[...new Set(formats)], checkpoint], [[t.own.format], t.own.checkpoint], "they are of its format");
    await page.evaluate(() => ws.close());
    await page.close();
    const b = await open(t, host);
    const { judged, ...shown } = await told(b);
    assert.deepEqual([judged, await verified(b, IDS)], [all(IDS, "verified"), all(IDS, "verified")], "as it lies there");
    for (const [what, value] of Object.entries(shown)) assert.deepEqual(value, before[what], what);
    assert.equal(await fileOf(b, "notes"), "a line of a file");
    await equip(b);
    await b.evaluate(({ baseUrl }) => ws.startAgent({ provider: { kind: "anthropic", baseUrl } }), { baseUrl: route.base });
    for (const [id, text] of [["default", "From the default."], ["shop", "From the shop."], ["notes", "From the notes."]]) {
      assert.equal(await b.evaluate(async (sessionId) => (await ws.run("And now?", { sessionId })).text, id), text);
      assert.equal(await b.evaluate(async (id) => (await ws.sessions.replay(await ws.sessions.export(id))).same, id), true, id);
    }
    assert.deepEqual(await verified(b, IDS), all(IDS, "verified"), "rows of two formats");
    await b.evaluate(async () => {
      await ws.pages.update("soup", { content: "Of new bread." });
      await ws.pages.restore("cake");
      await ws.clearConversation();
      await ws.sessions.archive("notes");
    });
    assert.deepEqual([(await told(b)).judged, await verified(b, IDS)], [all(IDS, "verified"), all(IDS, "verified")], "cleared and packed");
    assert.deepEqual(await b.evaluate(() => ws.sessions.fork("shop").then(({ id }) => ws.run("And a copy?", { sessionId: id })).then(({ text }) => text)), "From a copy.");
    await b.close();
    const c = await open(t, host);
    const after = await told(c);
    const ids = [...IDS, "shop-2"].sort();
    assert.deepEqual([after.judged, await verified(c, ids)], [all(ids, "verified"), all(ids, "verified")], "read again");
    assert.deepEqual([after.histories.default, after.histories.notes.slice(0, 2)], [[], before.histories.notes]);
    assert.deepEqual([after.pages.map(({ content }) => content), after.trash], [["Of new bread.", "Sugar."], []]);
    await c.evaluate(({ baseUrl }) => ws.startAgent({ provider: { kind: "anthropic", baseUrl } }), { baseUrl: route.base });
    assert.equal(await c.evaluate(async () => (await ws.run("Once more?", { sessionId: "notes" })).text), "Opened again.");
    assert.equal(await fileOf(c, "notes"), "a line of a file");
    assert.deepEqual([await verified(c, ids), route.violations], [all(ids, "verified"), []]);
  });

  on("a row of an older package that was changed is noticed", async (t, host) => {
    const { page } = await worked(t, host);
    await page.evaluate(() => ws.close());
    await page.evaluate(async ([end, changed]) => {
      await T.harm("shared", "notes", end, (row) => row.replace(end, changed));
      await T.harm("shared", "shop", '"hash"', (head) => head.replace('"at":1', '"at":2'), "heads");
    }, t.own.end);
    await page.close();
    const b = await open(t, host);
    assert.deepEqual(await verified(b, IDS), { ...all(IDS, "verified"), notes: "tampered", shop: "tampered" });
    const seen = await b.evaluate(async () => {
      const damaged = (await ws.sessions.list()).filter(({ damaged }) => damaged).map(({ id }) => id).sort();
      const { id } = await ws.sessions.salvage("notes", { replace: true });
      return T.plain([damaged, id, (await ws.sessions.verify(id)).hmac_status, (await ws.history({ sessionId: id })).map(T.textOf).slice(0, 2)]);
    });
    assert.deepEqual(seen, [["notes", "shop"], "notes", "verified", ["Read this.", "A line of text."]]);
  });

  on("files of an older package come in, and are what they were", async (t, host) => {
    const { page, files, before } = await worked(t, host);
    if (process.env.LODGER_EXPORTS) for (const id of IDS) exported.write(`${t.version}-${id}`, files[id], { history: before.histories[id], events: before.events[id], receipts: before.receipts[id], handoffs: before.handoffs[id] });
    await page.evaluate(() => ws.close());
    await page.close();
    const takes = (page) => page.evaluate(async (files) => {
      const states = {};
      for (const [id, text] of Object.entries(files)) {
        const file = new Blob([text]);
        const state = await ws.sessions.import(file);
        states[id] = [state.id, (await ws.sessions.status(state.id)).hmac_status, (await ws.sessions.verify(state.id)).hmac_status, (await ws.sessions.replay(file)).same];
      }
      return T.plain(states);
    }, files);
    // Where it was written its signatures count; anywhere else nobody can judge them.
    const b = await open(t, host);
    const here = await takes(b);
    for (const id of IDS) assert.deepEqual(here[id], [`${id}-2`, "verified", "verified", true]);
    const there = await openIn(await t.tab(), host, { name: "elsewhere" });
    const elsewhere = await takes(there);
    for (const id of IDS.filter((id) => id !== "default")) assert.deepEqual(elsewhere[id], [id, "unverifiable", "unverifiable", true]);
    for (const [page, as] of [[b, (id) => `${id}-2`], [there, (id) => elsewhere[id][0]]]) {
      const seen = await told(page);
      for (const id of IDS) {
        assert.deepEqual(seen.histories[as(id)], before.histories[id], id);
        assert.deepEqual(seen.receipts[as(id)], before.receipts[id], id);
        assert.deepEqual(seen.handoffs[as(id)], before.handoffs[id], id);
        assert.deepEqual(seen.events[as(id)].slice(0, before.events[id].length), before.events[id], id);
      }
      assert.equal(await fileOf(page, as("notes")), "a line of a file");
    }
  });
}

// ------------------------------------------------------------------ files that it has exported once

/** The same of files that were written once and for all, in a workspace that has nothing else. */
function stays(test) {
  test("every file that an older package has exported is there, of each package", () => {
    const names = exported.names();
    assert.deepEqual(exported.lying().toSorted(), names.toSorted());
    for (const version of OLDER) assert.ok(names.some((name) => name.startsWith(`${version}-`)), version);
  });

  for (const name of exported.names()) {
    test(`the file ${name} comes in, is what it was, and goes on`, async (t) => {
      const { file, shown } = exported.read(name);
      const route = await t.raw(message("And on."));
      const page = await open(t, "page");
      const id = await page.evaluate(async (text) => {
        globalThis.file = new Blob([text]);
        return (await ws.sessions.import(file)).id;
      }, file);
      const seen = await page.evaluate(async (id) => T.plain({
        history: await ws.history({ sessionId: id }), events: await ws.sessions.events(id), receipts: await ws.sessions.receipts(id), handoffs: await ws.sessions.handoffs(id),
        verdict: (await ws.sessions.verify(id)).hmac_status, same: (await ws.sessions.replay(file)).same,
      }), id);
      // Its key stayed in its browser.
      assert.deepEqual([seen.verdict, seen.same], ["unverifiable", true]);
      for (const what of ["history", "receipts", "handoffs"]) assert.deepEqual(seen[what], shown[what], what);
      assert.deepEqual(seen.events.slice(0, shown.events.length), shown.events, "events");
      const attached = shown.history.flatMap(({ parts }) => parts).filter(({ type }) => type === "file");
      if (attached.length) assert.equal(await fileOf(page, id), "a line of a file");
      await start(page, route.base);
      const said = await page.evaluate(async (id) => {
        const { session } = await ws.sessions.status(id);
        if (session.status === "failed") await ws.sessions.recover(id, { action: "resume" });
        return (await ws.run("And now?", { sessionId: id })).text;
      }, id);
      assert.deepEqual([said, await page.evaluate(async (id) => (await ws.history({ sessionId: id })).length, id), route.violations], ["And on.", shown.history.length + 2, []]);
    });
  }
}
