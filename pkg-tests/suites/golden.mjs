// Databases that earlier versions of the package have written (`data/golden/`): this one opens each of them, loses nothing, and
// goes on with all that was under way. `LODGER_GOLDEN=NAME` writes eight, as this package leaves them in this browser.
// `NAME-over` has weeks that are over, `NAME-tools` tools and people, `NAME-trouble` failures, queue and bench. `NAME-kept` has
// what was cleared, archived or lost. `NAME-turned` has settings of sessions and messages, versions that are the conversation again,
// and messages that were removed. `NAME-long` is longer than its model's window. In `NAME-served` a provider has searched. `NAME-memories` has those of an account too. `NAME-open` is of a page that died at work.
//
// Whatever a page was at when it died is raw rows in the file: another page reads them, and opens them only then. A key that
// signs cannot be taken out of a browser, so what it has signed is `unverifiable` afterwards.
import assert from "node:assert/strict";
import { crasher } from "../lib/crash.mjs";
import { dump, goldens, read, restore, write } from "../lib/golden.mjs";

/** Who writes the databases, and with the page tools or without. */
const WRITERS = { over: [over, true], tools: [tools, false], trouble: [trouble, false], kept: [kept, true], turned: [turned, false], long: [long, false], served: [served, false], memories: [memories, false], open: [open, false] };
const DATABASE = "lodger:golden";
/** What all workspaces of an origin share. A file has it where there was one. */
const ACCOUNT = "lodger-account";

export default function (test) {
  const name = process.env.LODGER_GOLDEN;
  if (name) {
    for (const [what, [work, pageTools]] of Object.entries(WRITERS)) {
      test(`writing ${name}-${what}`, async (t) => {
        const under = await written(t, work, pageTools);
        const page = await tab(t);
        const database = await page.evaluate(dump, DATABASE);
        const account = await page.evaluate(async (name) => (await indexedDB.databases()).some((one) => one.name === name), ACCOUNT) ? await page.evaluate(dump, ACCOUNT) : undefined;
        const first = await page.evaluate(([pageTools]) => opened(pageTools).then(show), [pageTools]);
        await page.evaluate((then) => until(() => Date.now() > then), Date.now());
        const shown = alike(first, await page.evaluate(() => show()));
        write(`${name}-${what}`, { pageTools, under, shown, ...(account && { account }), ...database });
      });
    }
    return;
  }
  for (const { name } of goldens()) {
    test(`${name} opens, shows what it showed, replays and goes on`, async (t) => {
      const { shown, under = {}, pageTools = true, account, ...database } = read(name);
      const page = await tab(t);
      await page.evaluate(restore, [DATABASE, database]);
      if (account) await page.evaluate(restore, [ACCOUNT, account]);
      await page.evaluate(([pageTools]) => opened(pageTools), [pageTools]);
      if (under.hers) await page.evaluate(() => swept());
      // Members may be added; what was there stays.
      includes(await page.evaluate(() => show()), shown, "shown");
      for (const [id, status] of Object.entries(await page.evaluate(() => statuses()))) assert.equal(status, "unverifiable", id);
      await holds(page, database);
      await replays(page);
      const went = await page.evaluate((under) => goOn(under), under);
      for (const [what, outcome] of Object.entries(went.outcomes)) assert.equal(outcome, "completed", what);
      assert.deepEqual(went.refused, under.hers ? { hers: "permission_denied", gone: "session_not_found" } : {});
      assert.equal(went.task, under.task && "interrupted", "a page that goes away takes its task along");
      includes(went.pages, shown.pages, "pages");
      for (const [id, history] of Object.entries(shown.histories)) {
        const ids = went.histories[id].map((message) => message.id);
        assert.deepEqual(history.map((message) => message.id).filter((id) => !ids.includes(id)), [], `messages of ${id}`);
        assert.equal(went.histories[id].at(-1).status, "complete", id);
      }
      await replays(page);
      await comesIn(page);
    });
  }
}

/** A tab in which everything below is at hand. */
const tab = (t) => t.tab({ init: `Object.assign(globalThis, { patient: true }, { ${[opened, begin, equip, model, wire, run, held, denyUnknown, until, show, statuses, swept, goOn].map((part) => `${part.name}: ${part}`)} });` });

/** The database is written: its page dies at work, or has come to an end. What is under way in it. */
async function written(t, work, pageTools) {
  const page = await tab(t);
  const crash = await crasher(t, page);
  const under = await page.evaluate(`(async () => { await opened(${pageTools}); await begin(); return (${work})(); })()`);
  await crash();
  if (work !== trouble) return under;
  const next = await tab(t);
  const again = await crasher(t, next);
  await next.evaluate(afterwards);
  await again();
  return under;
}

/** All rows of each session are what its head says, and what its checkpoint says: nothing is missing but the key that has signed. */
async function holds(page, { stores: { heads } }) {
  const verdicts = await page.evaluate(async () => T.plain(await Promise.all(Object.keys(await statuses()).map(async (id) => [id, await ws.sessions.verify(id)]))));
  const ends = Object.fromEntries(heads.map(([[id], head]) => [id, JSON.parse(head.split("\n")[0]).seq]));
  for (const [id, verdict] of verdicts) assert.deepEqual(verdict, { hmac_status: "unverifiable", entries: ends[id] }, id);
}

/** Each journal replays: rows of an older format only have to be read, and what today's machine adds to them is the same again. */
async function replays(page) {
  const replayed = await page.evaluate(async () => {
    const ids = (await ws.sessions.list({ withVerification: true })).map(({ session }) => session.id);
    return T.plain(Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await ws.sessions.replay(await ws.sessions.export(id))]))));
  });
  for (const [id, { same, firstDifference }] of Object.entries(replayed)) {
    assert.ok(same, `${id}: ${JSON.stringify(firstDifference)}`);
  }
}

/** Each session goes out in a file, and comes in beside itself as what it was. */
async function comesIn(page) {
  const came = await page.evaluate(async () => {
    const ids = (await ws.sessions.list()).map(({ id }) => id);
    const came = {};
    for (const id of ids) {
      const { id: copy } = await ws.sessions.import(await ws.sessions.export(id));
      const [before, after] = await Promise.all([id, copy].map(async (sessionId) => ({ history: await ws.history({ sessionId }), receipts: await ws.sessions.receipts(sessionId), handoffs: await ws.sessions.handoffs(sessionId) })));
      const judged = await Promise.all([id, copy].map(async (id) => (await ws.sessions.verify(id)).hmac_status));
      came[id] = { copy, before, after, judged };
    }
    return T.plain(came);
  });
  for (const [id, { copy, before, after, judged }] of Object.entries(came)) {
    assert.deepEqual([copy.startsWith(`${id}-`), judged], [true, ["unverifiable", "unverifiable"]], id);
    assert.deepEqual(after, before, id);
  }
}

/** What is the same in both: when a lost page was found out depends on the moment of looking. */
function alike(one, other) {
  if (one === null || typeof one !== "object") return one === other ? one : undefined;
  if (Array.isArray(one)) return one.map((item, n) => alike(item, other[n]));
  return Object.fromEntries(Object.entries(one).map(([name, value]) => [name, alike(value, other[name])]));
}

/** Lists of a record of which only the newest are named now. */
const SHORTER = ["supervision_notes", "receipt_ids", "handoff_ids"];

/** Every member of `part` is in `whole`, as it is there. */
function includes(whole, part, where) {
  if (SHORTER.includes(where.split(".").at(-1))) part = part.slice(-8);
  if (part === null || typeof part !== "object") return assert.deepEqual(whole, part, where);
  if (Array.isArray(part)) assert.equal(whole.length, part.length, where);
  for (const [name, value] of Object.entries(part)) includes(whole?.[name], value, `${where}.${name}`);
}

// ------------------------------------------------------------ in the page: what each has

async function opened(pageTools) {
  globalThis.ws ??= await lodger.openWorkspace("golden", { pageTools });
}

/**
 * The agent runs. A message says itself what its model does, call after call: `Do: [["call", "charge", { … }], ["say", "Done."]]`.
 * While the page is patient, `hold` and the tools that hold last until `go()`; the page that goes on waits for nothing.
 */
async function begin() {
  if (ws.status().lifecycle === "Running" || ws.status().lifecycle === "Suspended") return;
  globalThis.rec = T.record();
  equip();
  await ws.startAgent({
    provider: model("golden"), providers: { spare: model("spare"), wire: wire(), closed: wire(403), slow: wire(429), small: model("small"), search: wire(200, true) }, fallback: ["spare"],
    models: { custom: { golden: { price: [1, 2] }, small: { context: 2_600, output: 300 } } }, processType: "Orchestrator", permissions: { tools: { charge: "ask", wipe: "deny" } },
  });
}

function model(name) {
  const thrown = new Set();
  return { kind: "custom", model: name, async *stream({ messages }, { signal }) {
    const text = ({ content }) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n"));
    const steps = ({ role, content }) => role === "user" && content && /Do: (\[\[.*\]\])/.exec(text({ content }))?.[1];
    if (text(messages[0]).startsWith("You sum up")) return yield "It was about ünïcödé and long lists.";
    const from = messages.findLastIndex(steps);
    const at = messages.slice(from + 1).filter(({ role }) => role === "assistant").length;
    const [what, ...said] = (from < 0 ? [] : JSON.parse(steps(messages[from])))[at] ?? ["say", "Done, with ünïcödé 🙂."];
    const usage = { choices: [], usage: { prompt_tokens: 12, completion_tokens: 7 } };
    if (what === "throw" && patient && !thrown.has(said[0])) { thrown.add(said[0]); throw Object.assign(new Error("it broke"), { code: said[0] }); }
    if (what === "hold") { yield said[0]; await held(signal); }
    if (what === "cite") return yield* [{ choices: [{ delta: { content: said[0], annotations: [{ type: "url_citation", url_citation: { url: "https://news.example/" } }] } }] }, usage];
    if (what !== "call") return yield* [what === "say" ? said[0] : "At last.", usage];
    const calls = said.flatMap((name, n) => (n % 2 ? [] : [{ index: n / 2, id: `call_${n / 2}`, type: "function", function: { name, arguments: JSON.stringify(said[n + 1]) } }]));
    yield* ["I see to it. ", { choices: [{ delta: { tool_calls: calls }, finish_reason: "tool_calls" }] }, usage];
  } };
}

/** Until `go()`, or it is aborted. */
function held(signal) {
  if (!patient) return;
  return new Promise((resolve) => { signal.addEventListener("abort", resolve); (globalThis.holds ??= []).push(resolve); globalThis.go = () => { for (const hold of holds.splice(0)) hold(); }; });
}

/** A provider over HTTP, which refuses the first key that it is given, and answers the second with this status. */
function wire(status = 200, searches = false) {
  const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const block = (index, content_block, ...deltas) => [{ type: "content_block_start", index, content_block }, ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })), { type: "content_block_stop", index }];
  const answer = [
    { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-6", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 12, output_tokens: 1 } } },
    ...block(0, { type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: "A wire." }, { type: "signature_delta", signature: "c2lnbmVk" }),
    ...(searches
      ? [
          ...block(1, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }, { type: "input_json_delta", partial_json: '{"query":"hours of the shop"}' }),
          ...block(2, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://shop.example/", title: "The shop, ünïcödé", encrypted_content: "c2VhbGVk" }] }),
          ...block(3, { type: "text", text: "" }, { type: "citations_delta", citation: { type: "web_search_result_location", url: "https://shop.example/", title: "The shop, ünïcödé", cited_text: "till six", encrypted_index: "c2VhbGVk" } }, { type: "text_delta", text: "Till six." }),
        ]
      : block(1, { type: "text", text: "" }, { type: "text_delta", text: "By the wire." })),
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 7, ...(searches && { server_tool_use: { web_search_requests: 1 } }) } }, { type: "message_stop" },
  ];
  const refusal = (status, type) => new Response(JSON.stringify({ type: "error", error: { type, message: "not now" } }), { status, headers: { "content-type": "application/json", "retry-after": "100" } });
  return {
    kind: "anthropic", apiKey: ({ refused }) => (refused ? "sk-new-0123456789" : "sk-old-0123456789"),
    async fetch(url, { headers }) {
      if (!navigator.onLine) throw new TypeError("Failed to fetch");
      if (new Headers(headers).get("x-api-key") === "sk-old-0123456789") return refusal(401, "authentication_error");
      if (status === 200 || !patient) return new Response(answer.map(event).join(""), { headers: { "content-type": "text/event-stream" } });
      return refusal(status, status === 403 ? "permission_error" : "rate_limit_error");
    },
  };
}

/** The tools. `pay` and `ship` hold, with an effect that nobody knows of when their page dies. */
function equip() {
  const amount = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };
  const standard = { version: 1, vendor: "acme", validate: (value) => (value.amount > 0 ? { value } : { issues: [{ message: "more than that", path: ["amount"] }] }), jsonSchema: { input: () => amount } };
  const effect = async (args, { signal }) => { await held(signal); return "sent"; };
  for (const [name, more] of Object.entries({
    get_weather: { readOnly: true, inputSchema: { type: "object", properties: { city: { type: "string" } } }, execute: ({ city }) => `18 °C in ${city}` },
    list_all: { readOnly: true, execute: () => "word ".repeat(1_800) },
    charge: { execute: () => ({ charged: true }), title: "Charge it", explanation: ({ amount }) => `Charge ${amount} €?` },
    wipe: { destructive: true, execute: () => "gone" },
    send: { destination: ["amount"], execute: () => "sent" },
    ask_colleague: { openWorld: false },
    fill_form: { inputSchema: { "~standard": standard }, execute: () => "filled in" },
    pay: { concurrency: "parallel", onResume: "fail", execute: effect, lookup: () => null },
    ship: { concurrency: "parallel", execute: effect },
  })) ws.tools.register({ name, description: "A tool of the shop.", inputSchema: amount, ...more });
}

const run = async (id, input, options) => ws.wait((await ws.sessions.prompt(id, input, options)).runId);

/** A person does not want done again what may have been done. */
const denyUnknown = () => ws.addEventListener("agent:permission-required", ({ detail }) => detail.reason === "unknown_outcome" && detail.respond("deny"));

/** Looks until it is so. */
async function until(what) {
  for (let n = 0; !(await what()); n++) { if (n > 3_000) throw new Error(`never: ${what}`); await new Promise((done) => setTimeout(done, 20)); }
}

/** Everything that a person could see. */
async function show() {
  const s = ws.sessions;
  const ids = (await s.list({ withVerification: true })).map(({ session }) => session.id).sort();
  const each = async (read) => Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await read(id)])));
  const [file] = (await ws.history()).flatMap((message) => message.parts).filter((part) => part.type === "file");
  return T.plain({
    sessions: (await s.list({ withVerification: true })).map((one) => one.session),
    histories: await each((sessionId) => ws.history({ sessionId })),
    journals: await each(async (id) => (await s.journal(id, { limit: 1_000 })).map(({ seq, type, hash }) => [seq, type, hash].join(" "))),
    events: await each((id) => s.events(id)),
    receipts: await each((id) => s.receipts(id)),
    handoffs: await each((id) => s.handoffs(id)),
    pages: await ws.pages.tree(),
    trash: await ws.pages.trash(),
    memories: [...await ws.memory.list(), ...await ws.memory.list({ scope: "account" })],
    keys: await ws.keys.list(),
    ...((await ws.pages.tree()).length && { versions: await ws.pages.versions("stock") }),
    ...(file && !file.gone && { file: await (await ws.file(file.fileId)).text() }),
  });
}

async function statuses() {
  return Object.fromEntries((await ws.sessions.list({ withVerification: true })).map(({ session, hmac_status }) => [session.id, hmac_status]));
}

/** The time of the removed session is over: nothing is left of it, and the workspace that was borrowed for this is free. */
async function swept() {
  await statuses();
  await until(async () => !(await T.dump("golden")).heads.some(([[id]]) => id === "gone"));
  await until(async () => !(await navigator.locks.query()).held.some(({ name }) => name === "lodger:golden"));
}

// ------------------------------------------------------------ in the page: what is written

/** Weeks that are over: pages, files, versions, copies, a failure, a stop. */
async function over() {
  const s = ws.sessions;
  await ws.pages.create({ title: "Stock", content: "What there is." });
  await ws.pages.create({ title: "Cellar", content: "Below the [[Stock]].", parentSlug: "stock" });
  await ws.pages.create({ title: "Attic" });
  await run("default", `Make a page of the shelves. Do: [["call","create_page",{"title":"Shelves","content":"Sorted, see [[Stock]]."}]]`);
  await run("default", { text: "What does it say?", files: [new File(["a line of text"], "a.txt", { type: "text/plain" })], metadata: { shelf: 3 } }, { context: "The shop is closed.", idempotencyKey: "once" });
  await ws.pages.update("stock", { content: "What there was." });
  await ws.pages.rename("shelves", "Racks");
  await ws.pages.delete("attic");
  await s.launch({ id: "notes", displayName: "Notes" });
  await run("notes", "First.");
  await ws.clearConversation("notes");
  await run("notes", "Second.");
  const [asked] = await ws.history({ sessionId: "notes" });
  await run("notes", "Second, but better.", { replaces: asked.id });
  await (await ws.regenerate(undefined, { sessionId: "notes" })).result;
  await s.stop("notes", "a pause");
  await s.restart("notes");
  const { runId } = await s.prompt("notes", `For ever. Do: [["hold","Let me see. "]]`);
  await rec.seen(({ type, detail }) => type === "agent:message-chunk" && detail.runId === runId);
  ws.interrupt({ runId });
  await ws.wait(runId);
  await s.rename("notes", "Old notes");
  await s.launch({ id: "broken" });
  await run("broken", `Do: [["throw","context_length"]]`);
  await s.recover("broken", { reason: "sandbox_failed", detail: "the page said so" });
  const text = (text) => [{ type: "text", text }];
  await s.launch({ id: "old", messages: [{ role: "user", parts: text("What do dragons breathe?") }, { role: "assistant", parts: text("Fire.") }] });
  await s.fork("old");
  await s.import(await s.export("old"));
  await s.runOnce("One task.");
  await ws.keys.set("anthropic", "sk-ant-golden-0123456789");
  await ws.stopAgent();
  return {};
}

/** What tools, people, limits and schemas do to runs. */
async function tools() {
  const s = ws.sessions;
  const answers = [["allow_once", { pageVersion: 1 }], ["deny", { reason: "too dear" }], ["always_allow"]];
  ws.addEventListener("agent:permission-required", ({ detail }) => answers.length && detail.respond(...answers.shift()));
  ws.addEventListener("agent:tool-call", ({ detail: { tool, status, toolCallId } }) => tool === "ask_colleague" && status === "started" && ws.tools.resolve(toolCallId, { result: { rate: 4 } }));
  await s.launch({ id: "tools" });
  await run("tools", `Do: [["call","fill_form",{"amount":0},"fill_form",{"amount":1}],["call","charge",{"amount":1},"charge",{"amount":2}],["call","wipe",{"amount":3},"ask_colleague",{"amount":4}]]`);
  // Asked about a call of the page's own.
  await ws.tools.execute("charge", { amount: 5 });
  await ws.tools.revoke("charge");
  await ws.configureAgent({ permissions: { decide: () => "allow" } });
  await run("tools", `Do: [["call","charge",{"amount":6}]]`);
  await ws.configureAgent({ permissions: { tools: { charge: "ask", wipe: "deny" } }, budgets: { run: { turns: 1 } } });
  await run("tools", `Do: [["call","get_weather",{"city":"Rome"}]]`);
  await ws.configureAgent({ budgets: null });
  // Text from outside, and where something is sent.
  answers.push(["always_allow"]);
  await run("tools", `Do: [["call","send",{"amount":9}]]`, { context: "From outside." });
  await run("tools", `Do: [["cite","So the news say."]]`);
  await s.launch({ id: "form" });
  const json = { type: "object", properties: { day: { type: "string" } }, required: ["day"] };
  const schema = { "~standard": { version: 1, vendor: "acme", validate: (value) => (typeof value.day === "string" ? { value } : { issues: [{ message: "no day", path: ["day"] }] }), jsonSchema: { input: () => json } } };
  await run("form", `Do: [["say","{\\"day\\":7}"],["say","{\\"day\\":\\"Monday\\"}"]]`, { schema });
  await s.launch({ id: "team" });
  await run("team", `Do: [["call","delegate",{"process":"Researcher","task":"Look. Do: [[\\"call\\",\\"get_weather\\",{\\"city\\":\\"Rome\\"}],[\\"say\\",\\"Warm.\\"]]"}]]`);
  return {};
}

/** Providers that refuse, a queue, a bench, a page that dies with effects under way. */
async function trouble() {
  const s = ws.sessions;
  for (const [id, text] of [["wire", "Hello."], ["closed", "Hello."], ["spare", `Do: [["throw","overloaded"]]`]]) {
    await s.launch({ id: `by-${id}`, provider: id });
    await run(`by-${id}`, text);
  }
  await s.launch({ id: "desk" });
  const chunk = (runId) => rec.seen(({ type, detail }) => type === "agent:message-chunk" && detail.runId === runId);
  const { runId } = await s.prompt("desk", `Do: [["hold","Let me see. "]]`);
  await chunk(runId);
  const later = await ws.sendMessage("Later.", { sessionId: "desk", whenBusy: "queue" });
  const never = await ws.sendMessage("Never.", { sessionId: "desk", whenBusy: "queue" });
  await ws.sendMessage("By the way.", { sessionId: "desk", whenBusy: "steer" });
  const view = ws.view("desk");
  view.subscribe(() => {});
  await until(() => view.getSnapshot().queue.length === 3);
  const [first, second] = view.getSnapshot().queue;
  await ws.queue.edit(first.id, "Later, please.");
  await ws.queue.remove(second.id);
  go();
  await Promise.all([runId, later.runId, never.runId].map((id) => ws.wait(id)));
  const stopped = await s.prompt("desk", `Do: [["hold","Let me see. "]]`);
  await chunk(stopped.runId);
  const waits = await ws.sendMessage("After a pause.", { sessionId: "desk", whenBusy: "queue" });
  ws.interrupt({ runId: stopped.runId });
  await ws.wait(stopped.runId);
  await ws.queue.release("desk");
  await ws.wait(waits.runId);
  const benched = await s.prompt("desk", `Do: [["hold","Let me see. "]]`);
  await chunk(benched.runId);
  await s.bench("desk");
  await s.play("desk");
  await rec.seen(({ type, detail }) => type === "agent:message-chunk" && detail.runId === benched.runId && detail.epoch);
  await until(() => globalThis.holds?.length);
  go();
  await ws.wait(benched.runId);
  await s.launch({ id: "lost" });
  await s.prompt("lost", `Do: [["call","pay",{"amount":7},"ship",{"amount":8}]]`);
  await until(async () => (await s.journal("lost")).filter(({ type }) => type === "ordered").length === 2 && holds.length === 2);
  return {};
}

/** The same workspace after its page has died, and with it the key that signs: what is found is of nobody known. */
async function afterwards() {
  const database = await T.database("golden");
  const transaction = database.transaction("vault", "readwrite");
  transaction.objectStore("vault").delete(1);
  await T.done(transaction);
  database.close();
  await opened(false);
  patient = false;
  await begin();
  // Nobody can be asked any more what became of its call.
  ws.tools.unregister("ship");
  await ws.sessions.recover("lost", { action: "reconnect" });
  const [{ runId }] = await ws.history({ sessionId: "lost" });
  await ws.wait(runId);
}

/** What was cleared and lies in packs, an archived session, a lost file, a time without network. */
async function kept() {
  const s = ws.sessions;
  await s.launch({ id: "cleared" });
  for (let n = 0; n < 30; n++) await run("cleared", `Question ${n}.`);
  await ws.clearConversation("cleared");
  await run("cleared", "Anew.");
  await s.launch({ id: "put-away", displayName: "Put away" });
  await run("put-away", "Keep this.");
  await s.archive("put-away");
  await s.launch({ id: "network", provider: "wire" });
  const online = (is) => { Object.defineProperty(navigator, "onLine", { configurable: true, get: () => is }); dispatchEvent(new Event(is ? "online" : "offline")); };
  online(false);
  const { runId } = await s.prompt("network", "Is there a network?");
  await until(async () => (await s.journal("network")).some(({ type }) => type === "offline"));
  online(true);
  await ws.wait(runId);
  const file = new File(["a line that is lost"], "c.txt", { type: "text/plain" });
  await run("default", { text: "Read this.", files: [file] });
  const database = await T.database("golden");
  const transaction = database.transaction("files", "readwrite");
  transaction.objectStore("files").clear();
  await T.done(transaction);
  database.close();
  await run("default", "And again?");
  await ws.pages.create({ title: "Stock", content: "What there is." });
  await ws.pages.update("stock", { content: "What there was." });
  return {};
}

/** Sessions and messages with settings of their own, older versions that are the conversation again, and messages that are gone. */
async function turned() {
  const s = ws.sessions;
  await s.launch({ id: "own", provider: "wire", instructions: "Be brief.", tools: [] });
  await run("own", "Hello.");
  await s.configure("own", { instructions: null, temperature: 0.5, tools: null });
  await ws.wait((await ws.sendMessage("And now?", { sessionId: "own", maxOutputTokens: 100 })).runId);
  for (const text of ["One.", "Two.", "Three."]) await run("default", text);
  const [, , two] = await ws.history();
  await ws.wait((await ws.sendMessage("Another two.", { replaces: two.id })).runId);
  await ws.switchTo(two.id);
  await run("default", "Four.");
  const [, , , , three] = await ws.history();
  await ws.removeMessage(three.id);
  return {};
}

/** A conversation longer than the window: old results are left out of what is sent, then what was said first is summed up. */
async function long() {
  await ws.sessions.launch({ id: "long", provider: "small" });
  for (let n = 1; n <= 3; n++) await run("long", `List ${n}. Do: [["call","list_all",{"amount":${n}}]]`);
  for (let n = 1; n <= 5; n++) await run("long", `Tell ${n}. Do: [["say","${"so it goes ".repeat(550)}"]]`);
  await ws.wait((await ws.compact({ sessionId: "long", instructions: "Numbers." })).runId);
  await run("long", "And now?");
  const kinds = (await ws.sessions.journal("long", { limit: 1_000 })).map(({ type }) => type);
  for (const kind of ["shortened", "compacting"]) if (!kinds.includes(kind)) throw new Error(`nothing was ${kind}`);
  return {};
}

/** A provider has searched, after a person has always allowed it. */
async function served() {
  ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("always_allow"));
  await ws.sessions.launch({ id: "served", provider: "search", serverTools: ["web_search"] });
  await run("served", "When do they close?", { context: "The page of the shop." });
  const kinds = (await ws.sessions.journal("served", { limit: 1_000 })).map(({ type }) => type);
  for (const kind of ["offer_asked", "offer_answered"]) if (!kinds.includes(kind)) throw new Error(`nothing is ${kind}`);
  return {};
}

/** A run was told what is remembered. */
async function memories() {
  await ws.configureAgent({ memory: true });
  await ws.memory.add({ text: "Lives in Oslo.", tags: ["place"], importance: 0.9 });
  await ws.memory.add({ text: "Is called Ada.", scope: "account" });
  await run("default", "Where do I live?");
  const kinds = (await ws.sessions.journal("default", { limit: 1_000 })).map(({ type }) => type);
  if (!kinds.includes("reminded")) throw new Error("nothing was reminded");
  return {};
}

/** A page at work, in all that it can be at; it dies with this. */
async function open() {
  const s = ws.sessions;
  const launched = async (id, input, options) => { await s.launch({ id, ...options }); return (await s.prompt(id, input)).runId; };
  const hold = `Do: [["hold","Let me see. "]]`;
  await ws.setOperator({ subject: "ada", issuer: "https://id.example" });
  await ws.wait(await launched("hers", { text: "Hers.", files: [new File(["a line of hers"], "b.txt", { type: "text/plain" })] }));
  await ws.setOperator({ subject: "local" });
  await s.launch({ id: "gone" });
  const runs = { default: (await ws.sendMessage(hold)).runId };
  const queued = [];
  for (const [text, whenBusy] of [["Then this.", "queue"], ["By the way.", "steer"], ["Then that.", "queue"]]) queued.push((await ws.sendMessage(text, { whenBusy })).runId);
  runs.asks = await launched("asks", `Do: [["call","charge",{"amount":1}]]`);
  runs.hands = await launched("hands", `Do: [["call","ask_colleague",{"amount":1}]]`);
  runs.effect = await launched("effect", `Do: [["call","ship",{"amount":1},"pay",{"amount":2}]]`);
  runs.team = await launched("team", `Do: [["call","delegate",{"process":"Worker","task":"Look. Do: [[\\"hold\\",\\"I look. \\"]]"}]]`);
  runs.benched = await launched("benched", hold);
  runs.slow = await launched("slow", "Hello.", { provider: "slow" });
  const pause = await launched("pause", hold);
  const after = (await ws.sendMessage("After a pause.", { sessionId: "pause", whenBusy: "queue" })).runId;
  ws.interrupt({ runId: pause });
  await ws.wait(pause);
  await rec.seen(({ type, detail }) => type === "agent:message-chunk" && detail.runId === runs.benched);
  await s.bench("benched");
  const { detail: { requestId } } = await rec.seen(({ type }) => type === "agent:permission-required");
  const { detail: { toolCallId } } = await rec.seen(({ type, detail }) => type === "agent:tool-call" && detail.tool === "ask_colleague");
  const entries = async (id, kind) => (await s.journal(id)).filter(({ type }) => type === kind).length;
  await until(async () => await entries("effect", "ordered") === 2 && await entries("slow", "retrying") === 1 && await entries("team", "delegated") === 1);
  // Drafts are written past the commits.
  await until(async () => { const drafts = (await T.dump("golden")).drafts.map(([[session]]) => session); return ["default", "team"].every((id) => drafts.includes(id)); });
  await s.remove("gone");
  T.settle(() => s.runOnce(hold));
  const { detail: { runId: task } } = await rec.seen(({ type, detail }) => type === "agent:message-chunk" && detail.sessionId.startsWith("once_"));
  return { task, runs, queued, after, requestId, toolCallId, hers: { subject: "ada", issuer: "https://id.example" } };
}

// ------------------------------------------------------------ in the page: going on

/** Goes on with all that was under way, and then with each session. */
async function goOn({ task, runs = {}, queued = [], after, requestId, toolCallId, hers }) {
  const s = ws.sessions;
  patient = false;
  await begin();
  denyUnknown();
  const outcomes = {};
  const ends = async (what, runId) => { const { outcome, error } = await ws.wait(runId); outcomes[what] = error ? `${outcome}: ${error.message}` : outcome; };
  const refused = {};
  if (hers) {
    for (const id of ["hers", "gone"]) refused[id] = (await T.refused(() => s.prompt(id, "And now?"))).code;
    await ws.setOperator(hers);
    await ends("hers", (await s.prompt("hers", "And now?")).runId);
    await ws.setOperator({ subject: "local" });
  }
  // What waits for a person waits again by itself.
  for (const id of Object.keys(runs)) {
    if (id === "default") await ws.resume();
    else if (id === "benched") await s.play(id);
    else if (!["asks", "hands"].includes(id)) await s.recover(id, { action: "reconnect" });
  }
  if (requestId) await ws.resolvePermission(requestId, "allow_once");
  if (toolCallId) await ws.tools.resolve(toolCallId, { result: { rate: 4 } });
  if (after) await ws.queue.release("pause");
  for (const [id, runId] of Object.entries({ ...runs, ...queued, ...(after && { after }) })) await ends(id, runId);
  for (const { session } of await s.list({ withVerification: true })) {
    const { id, status } = session;
    if (id === "hers") continue;
    if (["failed", "sandbox_failed"].includes(status)) await s.recover(id, { action: "resume" });
    if (status === "stopped") await s.restart(id);
    await ends(`${id}, once more`, (await s.prompt(id, "And now?")).runId);
  }
  const ids = (await s.list({ withVerification: true })).map(({ session }) => session.id);
  return T.plain({ outcomes, refused, task: task && (await ws.wait(task)).outcome, pages: await ws.pages.tree(), histories: Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await ws.history({ sessionId: id })]))) });
}
