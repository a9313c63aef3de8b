// All sessions as a page lists them: the store in each tab, with an agent and without, over reloads. Words that are searched.
import assert from "node:assert/strict";
import { follows, onBothHosts, open, openIn, start } from "../lib/tabs.mjs";
import { gate, plain, stream } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

export default function (test) {
  onBothHosts(test, stores, unseen, unlisted, taken, titles, lateTitles, untitled);
  searched(test);
}

/** The store in this page, and what of it is looked at. */
async function listed(page) {
  await page.evaluate(async () => {
    globalThis.list = ws.sessions.view();
    globalThis.changes = [];
    ws.addEventListener("agent:session-changed", ({ detail }) => changes.push(`${detail.sessionId} ${detail.change}`));
    list.subscribe(() => {});
    globalThis.rows = () => Object.fromEntries(list.getSnapshot().sessions.map(({ id, title, activity, needsYou, unread }) => [id, [title, activity, ...(needsYou ? ["needs you"] : []), ...(unread ? ["unread"] : [])].join(", ")]));
    await until(() => list.getSnapshot().status === "ready");
  });
  return page;
}

/** Looks until the store of each page has these rows. */
async function shows(pages, wanted) {
  for (const page of pages) {
    let seen;
    for (let n = 0; n < 250; n++) {
      seen = await page.evaluate(() => rows());
      if (JSON.stringify(Object.entries(seen).toSorted()) === JSON.stringify(Object.entries(wanted).toSorted())) break;
      await page.waitForTimeout(20);
    }
    assert.deepEqual(seen, wanted);
  }
}

function titles(on) {
  on("a session's own provider is asked for its title once, after the first answer, and each tab shows it", async (t, host) => {
    const route = await t.raw(message("Here you are."), message('"A kettle for tea."\n\nIt is about a kettle.'), message("More."), message("Hello."), message("Greetings"));
    const a = await open(t, host, { pageTools: false });
    await start(a, route.base, { title: "auto" });
    const b = await open(t, host, { pageTools: false });
    await follows(b);
    const pages = [await listed(a), await listed(b)];
    await b.evaluate(async () => { await ws.sessions.launch({ id: "one", model: "model-one" }); await ws.run("Find me a kettle", { sessionId: "one" }); });
    await shows(pages, { default: "default, idle", one: "A kettle for tea, idle, unread" });
    await b.evaluate(() => ws.run("And more", { sessionId: "one" }));
    await a.evaluate(async () => { await ws.sessions.launch({ id: "two", displayName: "Mine" }); await ws.run("Hi", { sessionId: "two" }); });
    await shows(pages, { default: "default, idle", one: "A kettle for tea, idle, unread", two: "Mine, idle, unread" });
    const models = route.requests.map(({ json }) => [json.model, JSON.stringify(json.system ?? "").includes("titles"), json.tools?.length ?? 0]);
    assert.deepEqual(models.slice(0, 3), [["model-one", false, 0], ["model-one", true, 0], ["model-one", false, 0]]);
    assert.equal(models.length, 4, "who has a name is not asked about");
    await a.evaluate(() => ws.configureAgent({ title: "words" }));
    await a.evaluate(async () => { await ws.sessions.launch({ id: "three" }); await ws.run("Three words here", { sessionId: "three" }); });
    await shows(pages, { default: "default, idle", one: "A kettle for tea, idle, unread", two: "Mine, idle, unread", three: "Three words here, idle, unread" });
    assert.equal(route.requests.length, 5);
    assert.equal(await a.evaluate(async () => (await T.refused(() => ws.configureAgent({ title: "mine" }))).code), "invalid_config");
  });
}

function lateTitles(on) {
  on("a title that a page has not waited for, or that has failed, is asked for once by the next page", async (t, host) => {
    const hold = gate();
    const slow = message("Too late");
    const route = await t.raw(message("Here you are."), stream(slow.slice(0, 4), hold, slow.slice(4)), message("More of it."), plain(400, errorBody("invalid_request_error", "no titles today")), message("A kettle for tea"), message("Well."));
    const a = await open(t, host, { pageTools: false });
    const asked = () => route.requests.filter(({ json }) => JSON.stringify(json.system ?? "").includes("titles")).length;
    const again = async () => {
      await a.reload();
      await t.ready(a);
      await openIn(a, host, { pageTools: false });
      await start(a, route.base, { title: "auto" });
      await listed(a);
    };
    const usage = () => a.evaluate(async () => (await ws.sessions.status("one")).session.usage);
    const until = async (wanted) => { for (let n = 0; n < 250 && asked() < wanted; n++) await a.waitForTimeout(20); };
    await start(a, route.base, { title: "auto" });
    await listed(a);
    await a.evaluate(async () => { await ws.sessions.launch({ id: "one" }); await ws.run("Find me a kettle", { sessionId: "one" }); });
    const first = await usage();
    await until(1);
    // The second message comes before the title, and the page goes away before it too.
    await a.evaluate(() => ws.run("And more", { sessionId: "one" }));
    await again();
    await until(2);
    await shows([a], { default: "default, idle", one: "Find me a kettle, idle, unread" });
    // It has failed: this page does not ask again, the next one does.
    await a.waitForTimeout(300);
    assert.equal(asked(), 2);
    await again();
    await shows([a], { default: "default, idle", one: "A kettle for tea, idle, unread" });
    await again();
    await a.evaluate(() => ws.run("And now?", { sessionId: "one" }));
    assert.equal(asked(), 3, "what has a name is not asked about");
    assert.equal((await usage()).inputTokens, 3 * first.inputTokens, "what titles take is nobody's");
  });
}

/** Which of these words stand in the rows of the page's workspace. */
const inRows = (page, words) => page.evaluate(async (words) => {
  const database = await T.database("shared");
  const rows = JSON.stringify(await Promise.all([...database.objectStoreNames].filter((name) => name !== "keys").map((name) => new Promise((done) => {
    const store = database.transaction(name).objectStore(name);
    store.getAllKeys().onsuccess = ({ target: { result: keys } }) => (store.getAll().onsuccess = ({ target }) => done([keys, target.result]));
  }))));
  database.close();
  return words.filter((word) => rows.includes(word));
}, words);

/** Looks until none of these words stands in a row any more. */
async function vanish(page, words, what, seconds = 5) {
  let left;
  for (let n = 0; n < seconds * 20; n++) {
    left = await inRows(page, words);
    if (!left.length) return;
    await page.waitForTimeout(50);
  }
  assert.deepEqual(left, [], what);
}

function untitled(on) {
  on("what was said goes with its message, its conversation and its session, with titles on", async (t, host) => {
    const answers = ["The answer of gold.", "A title of gold"];
    const hold = gate();
    const slow = message("Too late");
    const route = await t.raw(...Array(4).fill(answers.map((text) => message(text))).flat(), message("The answer of gold."), stream(slow.slice(0, 4), hold, slow.slice(4)), message("The answer of gold."), message("A title of silver"));
    const a = await open(t, host, { pageTools: false });
    await start(a, route.base, { title: "auto" });
    await listed(a);
    const words = ["question of gold", "answer of gold"];
    const title = (id) => a.evaluate((id) => list.getSnapshot().sessions.find((item) => item.id === id)?.title, id);
    const becomes = (id, wanted) => a.evaluate(([id, wanted]) => until(() => list.getSnapshot().sessions.find((item) => item.id === id)?.title === wanted), [id, wanted]);
    const say = (id) => a.evaluate((id) => ws.run("The question of gold?", { sessionId: id }), id);
    // The task is gone as soon as its title is there, while the conversation stands.
    await a.evaluate(() => ws.sessions.launch({ id: "kept" }));
    await say("kept");
    await becomes("kept", "A title of gold");
    await vanish(a, ["once_"], "the task of a title");
    assert.deepEqual(await inRows(a, words), words);
    await a.evaluate(async () => { await ws.sessions.rename("kept", "Mine"); await ws.clearConversation("kept"); });
    await becomes("kept", "Mine");
    await vanish(a, [...words, "once_"], "cleared");
    assert.equal(await title("kept"), "Mine", "a name that a person gave stays");
    for (const way of ["clear", "withdraw", "remove"]) {
      await a.evaluate((id) => ws.sessions.launch({ id }), way);
      await say(way);
      await becomes(way, "A title of gold");
      await a.evaluate(async (way) => {
        if (way === "clear") await ws.clearConversation(way);
        else if (way === "withdraw") await ws.removeMessage((await ws.history({ sessionId: way }))[0].id, { sessionId: way });
        else await ws.sessions.remove(way);
      }, way);
      // Nobody has named it.
      if (way !== "remove") await becomes(way, way);
      // A removal can be undone for ten seconds.
      await vanish(a, [...words, "once_"], way, way === "remove" ? 15 : 5);
    }
    // What is cleared while it is asked for is not asked for any more.
    await a.evaluate(() => ws.sessions.launch({ id: "late" }));
    await say("late");
    await a.evaluate(() => until(() => rec.events.some(({ type, detail }) => type === "agent:message-chunk" && detail.sessionId.startsWith("once_") && detail.text.startsWith("Too"))));
    await a.evaluate(() => ws.clearConversation("late"));
    await vanish(a, [...words, "once_"], "cleared while it is asked for");
    hold.open();
    assert.equal(await title("late"), "late");
    // The next conversation in it is asked about again.
    await say("late");
    await becomes("late", "A title of silver");
  });

  on("a first session that begins anew is asked about again, and only the tab with the agent says how", async (t, host) => {
    const route = await t.raw(message("One."), message("First title"), message("Two."), message("Second title"));
    const a = await open(t, host, { pageTools: false });
    await start(a, route.base, { title: "auto" });
    const b = await open(t, host, { pageTools: false });
    await follows(b);
    await listed(a);
    for (const wanted of ["First title", "Second title"]) {
      await a.evaluate(() => ws.run("Hello?"));
      await a.evaluate((wanted) => until(() => list.getSnapshot().sessions.find((item) => item.id === "default")?.title === wanted), wanted);
      await a.evaluate(() => ws.sessions.remove("default"));
    }
    const refused = await b.evaluate(async () => { const { code, message, hint } = await T.refused(() => ws.configureAgent({ title: "words" })); return { code, message, hint }; });
    assert.deepEqual([refused.code, /title/.test(refused.message), /tab/.test(refused.hint)], ["invalid_config", true, true]);
    await b.evaluate(() => ws.configureAgent({ maxTurns: 5 }));
  });
}

function unlisted(on) {
  on("what is read in a page without a list is read in the next that has one, and goes with its session", async (t, host) => {
    const route = await t.raw(message("One."), message("Two."), message("Three."), message("Four."));
    const a = await open(t, host);
    // From here on it is noted what is read.
    const b = await listed(await open(t, host));
    await start(a, route.base);
    await a.evaluate(async () => {
      for (const id of ["marked", "shown", "unread", "gone"]) await ws.sessions.launch({ id });
      await ws.run("One?", { sessionId: "marked" });
      ws.sessions.markRead("marked");
      ws.view("shown").subscribe(() => {});
      await ws.run("Two?", { sessionId: "shown" });
      await ws.run("Three?", { sessionId: "unread" });
      await ws.run("Four?", { sessionId: "gone" });
      ws.sessions.markRead("gone");
    });
    await shows([b], { default: "default, idle", marked: "One?, idle", shown: "Two?, idle", unread: "Three?, idle, unread", gone: "Four?, idle" });
    await a.evaluate(() => ws.sessions.remove("gone"));
    assert.deepEqual(await a.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("lodger:seen:shared:")).map((key) => key.split(":").at(-1)).toSorted()), ["", "default", "marked", "shown"]);
    await b.reload();
    await t.ready(b);
    await openIn(b, host);
    await listed(b);
    await shows([b], { default: "default, idle", marked: "One?, idle", shown: "Two?, idle", unread: "Three?, idle, unread" });
  });
}

function stores(on) {
  on("what happens to sessions is in the store of every tab", async (t, host) => {
    const hold = gate();
    const whole = message("Here you are.");
    const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)));
    const a = await open(t, host);
    await start(a, route.base);
    const b = await open(t, host);
    await follows(b);
    const pages = [await listed(a), await listed(b)];
    await shows(pages, { default: "default, idle" });
    assert.equal(await a.evaluate(() => ws.sessions.view() === list), true);
    await a.evaluate(() => ws.sessions.launch({ id: "one" }));
    await b.evaluate(() => ws.sessions.launch({ id: "two", displayName: "Zweite – 第二" }));
    await shows(pages, { default: "default, idle", one: "one, idle", two: "Zweite – 第二, idle" });
    const before = await a.evaluate(() => { globalThis.before = list.getSnapshot().sessions; return before.length; });
    assert.equal(before, 3);
    const run = await b.evaluate(async () => (await ws.sendMessage("Find me a kettle\n\nplease", { sessionId: "one" })).runId);
    await shows(pages, { default: "default, idle", one: "Find me a kettle please, working", two: "Zweite – 第二, idle" });
    hold.open();
    assert.equal(await a.evaluate(async (run) => (await ws.wait(run)).outcome, run), "completed");
    await shows(pages, { default: "default, idle", one: "Find me a kettle please, idle, unread", two: "Zweite – 第二, idle" });
    // What has not changed is the same object: a list draws one row.
    assert.deepEqual(await a.evaluate(() => ["one", "two"].map((id) => before.find((item) => item.id === id) === list.getSnapshot().sessions.find((item) => item.id === id))), [false, true]);
    assert.deepEqual(await a.evaluate(() => [before.find(({ id }) => id === "one").activity, list.getSnapshot().sessions[0].id]), ["idle", "one"], "the last changed first");
    await a.evaluate(async () => { await ws.sessions.rename("two", "Second"); await ws.sessions.remove("one"); await ws.sessions.bench("two"); });
    await shows(pages, { default: "default, idle", two: "Second, benched" });
    await b.evaluate(async () => { await ws.sessions.undoRemove("one"); await ws.sessions.stop("two"); await ws.sessions.archive("one"); });
    await shows(pages, { default: "default, idle", one: "Find me a kettle please, archived, unread", two: "Second, stopped" });
    await b.evaluate(async () => { await ws.sessions.fork("one"); });
    await shows(pages, { default: "default, idle", one: "Find me a kettle please, archived, unread", "one-2": "Find me a kettle please, idle, unread", two: "Second, stopped" });
    assert.deepEqual(await b.evaluate(() => changes.filter((told) => told.startsWith("one-2"))), ["one-2 forked"]);
    // Nobody runs an agent any more.
    await a.evaluate(() => ws.stopAgent());
    await b.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    await a.evaluate(() => ws.sessions.rename("two", "Third"));
    await b.evaluate(() => ws.sessions.remove("one-2"));
    await shows(pages, { default: "default, idle", one: "Find me a kettle please, archived, unread", two: "Third, stopped" });
    assert.deepEqual(route.violations, []);
  });
}

function unseen(on) {
  on("an answer that nobody has seen is unread in every tab and after a reload, until a tab shows it", async (t, host) => {
    const route = await t.raw(message("One."), message("Two."), message("Three."));
    const a = await open(t, host);
    await start(a, route.base);
    await listed(a);
    const b = await listed(await open(t, host));
    const say = (text) => a.evaluate(async (text) => (await ws.run(text, { sessionId: "s" })).text, text);
    await a.evaluate(() => ws.sessions.launch({ id: "s" }));
    assert.equal(await say("First?"), "One.");
    await shows([a, b], { default: "default, idle", s: "First?, idle, unread" });
    await b.reload();
    await t.ready(b);
    await openIn(b, host);
    await listed(b);
    await shows([b], { default: "default, idle", s: "First?, idle, unread" });
    await b.evaluate(() => { globalThis.close = ws.view("s").subscribe(() => {}); });
    await shows([a, b], { default: "default, idle", s: "First?, idle" });
    // What is shown is seen as it comes.
    assert.equal(await say("Second?"), "Two.");
    await shows([a, b], { default: "default, idle", s: "First?, idle" });
    await b.evaluate(() => close());
    await new Promise((go) => setTimeout(go, 1100)); // times of records are in seconds
    assert.equal(await say("Third?"), "Three.");
    await shows([a, b], { default: "default, idle", s: "First?, idle, unread" });
    await a.evaluate(() => ws.sessions.markRead("s"));
    await shows([a, b], { default: "default, idle", s: "First?, idle" });
    await a.evaluate(async () => { await ws.close(); await lodger.deleteWorkspace("shared"); });
    // Another process hears of it a moment later.
    await b.evaluate(() => until(() => !Object.keys(localStorage).some((key) => key.startsWith("lodger:"))));
  });
}

function taken(on) {
  on("a tab that comes later sees what waits for a person, and what a page has left", async (t, host) => {
    const route = await t.raw(message({ tool: "send", args: {} }), stream(message("Slow.").slice(0, 4), gate(), []));
    const a = await open(t, host);
    const equip = (page) => page.evaluate(() => void ws.tools.register({ name: "send", description: "Sends.", destructive: true, inputSchema: { type: "object" }, execute: () => "sent" }));
    await equip(a);
    await start(a, route.base);
    await a.evaluate(async () => {
      await ws.sessions.launch({ id: "asks" });
      await ws.sendMessage("Send it.", { sessionId: "asks" });
      await until(() => ws.status().lifecycle === "Suspended");
      await ws.sessions.launch({ id: "works" });
      await ws.sendMessage("Work.", { sessionId: "works" });
      await rec.chunk();
    });
    const b = await open(t, host);
    await follows(b);
    await listed(b);
    await shows([b], { default: "default, idle", asks: "Send it., waiting, needs you", works: "Work., working" });
    await a.close();
    await b.evaluate(() => until(() => ws.status().lifecycle === "Stopped"));
    await b.evaluate(() => ws.sessions.rename("works", "Work"));
    await shows([b], { default: "default, idle", asks: "Send it., held", works: "Work, held" });
  });
}

function searched(test) {
  test("words are found in all conversations, also by a tab that only looks", async (t) => {
    const route = await t.raw(message("The red kettle stands in the kitchen."), message("It costs 30 euro."), message("Nothing of that."));
    const a = await open(t, "page");
    await start(a, route.base);
    await a.evaluate(async () => {
      await ws.run("Where is it?");
      await ws.sessions.launch({ id: "price" });
      await ws.run("What does a KETTLE cost?", { sessionId: "price" });
      await ws.sessions.launch({ id: "put-away" });
      await ws.run("Another thing.", { sessionId: "put-away" });
      await ws.sessions.archive("put-away");
    });
    const b = await open(t, "page");
    await follows(b);
    const find = (page, words) => page.evaluate(async (words) => (await ws.sessions.search(words)).map(({ session: { id }, messageId, excerpt }) => [id, messageId !== undefined, excerpt ?? ""]), words);
    for (const page of [a, b]) {
      assert.deepEqual(await find(page, "kettle"), [["price", true, "What does a KETTLE cost?"], ["default", true, "The red kettle stands in the kitchen."]], "its place, also where the title has the word");
      assert.deepEqual(await find(page, "kitchen red"), [["default", true, "The red kettle stands in the kitchen."]]);
      assert.deepEqual(await find(page, "euro"), [["price", true, "It costs 30 euro."]]);
      assert.deepEqual(await find(page, "another"), [["put-away", false, ""]]);
      assert.deepEqual(await find(page, "nothing"), [], "what is archived is found by its title alone");
    }
    await a.evaluate(() => ws.stopAgent());
    assert.deepEqual(await find(a, "euro"), [["price", true, "It costs 30 euro."]], "without an agent too");
  });
}
