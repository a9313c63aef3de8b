// Conversations that are longer than their model's window: they go on, on every wire, over reloads and in two tabs. Each server judges
// each request by its own strict rules, and none is longer than the window at 16 bytes a token. Servers that count what they read are in
// `tests/host/cases/window.rs`.
import assert from "node:assert/strict";
import { onBothHosts, open, openIn } from "../lib/tabs.mjs";
import { plain } from "../servers/raw.mjs";
import { sumsUp, WIRES } from "../servers/wires/index.mjs";

export default function (test) {
  onBothHosts(test, (on) => { for (const row of WIRES) goesOn(on, row); byHand(on); tooLong(on); goesFar(on); });
}

/** What the models here take, and how many bytes their servers count for a token at the most. */
const WINDOW = 2_500;
const BYTES = 16;
const TURNS = 9;

const models = (row) => ({ [row.kind]: { [row.model]: { context: WINDOW, output: 400 } } });
const words = (what, bytes) => `${what} `.repeat(Math.ceil(bytes / (what.length + 1)));

/** A server that reads a long result by a tool, says much, and sums up when it is asked to. */
async function server(t, row, { answer = () => words("answer", 2_500) } = {}) {
  let calls = 0;
  const route = await t.wire(row, (body) => {
    if (sumsUp(body)) return row.wire.answer(["The story so far."]);
    const last = (body.messages ?? body.input).at(-1);
    const isResult = JSON.stringify(last).includes("number ");
    return row.wire.answer(isResult ? [answer()] : [{ tool: "read", args: {}, id: row.id(++calls) }]);
  });
  return route;
}

const tool = (page) => page.evaluate(() => { ws.tools.register({ name: "read", description: "Reads.", inputSchema: { type: "object" }, readOnly: true, execute: () => `number ${"words ".repeat(300)}` }); });
const start = (page, row, route, more = {}) => page.evaluate((config) => {
  globalThis.notices = [];
  ws.addEventListener("agent:notice", ({ detail }) => { if (detail.kind === "compaction") notices.push([detail.phase, detail.by, detail.reason]); });
  return ws.startAgent(config);
}, { provider: row.provider(route.base), models: models(row), ...more });
const say = (page, text) => page.evaluate(async (text) => T.plain(await (await ws.sendMessage(text)).result), text);

export const onAnthropic = (on) => goesOn(on, WIRES[0]);

function goesOn(on, row) {
  on(`a conversation longer than its window goes on, ${row.name}`, async (t, host) => {
    const route = await server(t, row);
    const page = await open(t, host, { pageTools: false });
    await tool(page);
    await start(page, row, route);
    for (let turn = 1; turn <= TURNS; turn++) {
      if (turn === TURNS - 1) {
        await page.reload();
        await t.ready(page);
        await openIn(page, host, { pageTools: false });
        await tool(page);
        await start(page, row, route);
      }
      const { outcome, error } = await say(page, `Message ${turn}. ${words("word", 900)}`);
      assert.deepEqual([outcome, error], ["completed", undefined], `turn ${turn}`);
    }
    assert.deepEqual(route.violations, []);
    const sizes = route.requests.map(({ text }) => text.length);
    assert.ok(Math.max(...sizes) <= WINDOW * BYTES, `a request of ${Math.max(...sizes)} bytes`);
    const summaries = route.requests.filter(({ json }) => sumsUp(json));
    assert.ok(summaries.length > 0, "nothing was summed up");
    assert.match(route.requests.at(-1).text, /The story so far\./);
    const { history, context } = await page.evaluate(async () => T.plain({ history: await ws.history(), context: ws.view().getSnapshot().context }));
    assert.equal(history.length, 2 * TURNS, "what is shown stays whole");
    const marks = history.flatMap(({ compactions = [] }) => compactions);
    const said = marks.filter(({ kind }) => kind === "summary");
    assert.deepEqual(said.map(({ reason, summary }) => [reason, summary]), summaries.map(() => ["window", "The story so far."]));
    for (const { kind, until, summary } of marks) assert.ok(until && (kind === "summary" || summary === undefined), JSON.stringify(marks));
    assert.ok(context.used > 0 && context.window === WINDOW && context.compactions >= summaries.length, JSON.stringify(context));
    const proof = await page.evaluate(async () => T.plain(await ws.sessions.replay(await ws.sessions.export("default"))));
    assert.equal(proof.same, true, JSON.stringify(proof.firstDifference));
  });
}

export function byHand(on) {
  on("it is summed up by hand, and another tab sees the mark", async (t, host) => {
    const [row] = WIRES;
    const route = await t.wire(row, (body) => row.wire.answer([sumsUp(body) ? "In short." : "Fine."]));
    const a = await open(t, host, { pageTools: false });
    await start(a, row, route, { models: undefined });
    const empty = await a.evaluate(() => ws.compact().then(() => null, ({ code }) => code));
    assert.equal(empty, "message_not_found");
    await say(a, "Remember blue.");
    const b = await open(t, host, { pageTools: false });
    const outcome = await b.evaluate(async () => {
      globalThis.view = ws.view();
      view.subscribe(() => {});
      return (await (await ws.compact({ instructions: "Colours." })).result).outcome;
    });
    assert.equal(outcome, "completed");
    assert.match(route.requests.at(-1).text, /What matters most: Colours\./);
    for (const page of [a, b]) {
      const last = await page.evaluate(async () => T.plain((await ws.history()).at(-1)));
      assert.deepEqual([last.parts, last.compactions.map(({ summary, reason }) => [summary, reason])], [[], [["In short.", "asked"]]]);
    }
    const seen = await b.evaluate(() => T.plain(view.getSnapshot().context));
    assert.equal(seen.compactions, 1);
    await say(a, "Go on.");
    assert.match(route.requests.at(-1).text, /In short\./);
    assert.match(route.requests.at(-1).text, /Remember blue\./, "the person's words stay");
    const stored = await a.evaluate(async () => {
      const all = async () => JSON.stringify(await T.dump("shared"));
      const before = await all();
      await ws.clearConversation();
      return [before, await all()];
    });
    const has = stored.map((rows) => ["In short.", "Colours.", "Remember blue."].filter((words) => rows.includes(words)));
    assert.deepEqual(has, [["In short.", "Colours.", "Remember blue."], []], "clearing erases what was summed up");
  });
}

function tooLong(on) {
  on("a request that is refused as too long is asked again with less", async (t, host) => {
    const [row] = WIRES;
    const MOST = 9_000;
    const refusal = plain(400, JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" } }));
    const route = await t.wire(row, (body) => {
      const text = JSON.stringify(body);
      if (text.length > MOST) return refusal;
      return row.wire.answer([sumsUp(body) ? "In short." : words("answer", 1_500)]);
    });
    const page = await open(t, host, { pageTools: false });
    // Nobody knows this model's window.
    await start(page, row, route, { provider: { ...row.provider(route.base), model: "unknown-model" }, models: undefined });
    for (let turn = 1; turn <= 9; turn++) {
      const { outcome, error } = await say(page, `Message ${turn}.`);
      assert.deepEqual([outcome, error], ["completed", undefined], `turn ${turn}: ${route.requests.slice(-6).map(({ text }) => text.length)}`);
    }
    const notices = await page.evaluate(() => T.plain(notices));
    assert.deepEqual(notices.slice(0, 1), [["start", "summary", "context_length"]]);
    assert.ok(notices.some(([phase]) => phase === "end"), JSON.stringify(notices));
    assert.match(route.requests.at(-1).text, /In short\./);
    const off = await page.evaluate(async () => {
      await ws.configureAgent({ compaction: false });
      const { outcome, error } = await (await ws.sendMessage("x".repeat(10_000))).result;
      return [outcome, error.code];
    });
    assert.deepEqual(off, ["failed", "context_length"]);
  });
}

/** How many messages a person has sent whose conversation goes far, and the window of the model that answers. */
const FAR = 240;
const FAR_WINDOW = 8_000;

export function goesFar(on) {
  on("a start shows the end of a long conversation, and the rest when it has come", async (t, host) => {
    let page = await open(t, host, { pageTools: false });
    const begin = () => page.evaluate(([context]) => {
      const text = (what) => `${what} ${"so it goes ".repeat(30)}`;
      async function* stream({ messages }) { yield text(`answer to ${messages.length}`); }
      globalThis.start = () => ws.startAgent({ provider: { kind: "custom", model: "far", stream }, models: { custom: { far: { context, output: 500 } } } });
      globalThis.tell = async (n, more) => T.plain(await (await ws.sendMessage(text(`message ${n}`), more)).result).outcome;
    }, [FAR_WINDOW]);
    const anew = async () => { await page.reload(); await t.ready(page); await openIn(page, host, { pageTools: false }); await begin(); };
    await begin();
    await page.evaluate(async (count) => { await start(); for (let n = 0; n < count; n++) if ((await tell(n)) !== "completed") throw new Error(`message ${n}`); }, FAR);
    const whole = await page.evaluate(async () => T.plain(await ws.history()));
    assert.equal(whole.length, 2 * FAR);
    // The first start reads all of it, and keeps what the next one goes on from.
    await anew();
    await page.evaluate(async () => { await start(); await ws.stopAgent(); });
    await anew();
    const shown = () => page.evaluate(async () => {
      const seen = [];
      const view = ws.view();
      await new Promise((resolve) => {
        view.subscribe(({ messages, earlier, status }) => { if (messages.length) seen.push([messages.length, earlier ?? false]); if (messages.length && !earlier && status === "ready") resolve(); });
        start();
      });
      return T.plain({ seen, messages: view.getSnapshot().messages });
    });
    const { seen, messages } = await shown();
    assert.ok(seen[0][0] < FAR && seen[0][1], `it begins with what is behind the window: ${JSON.stringify(seen)}`);
    const lengths = [...new Set(seen.map(([length]) => length))];
    assert.ok(lengths.length < 8, `it is not drawn for each page: ${lengths}`);
    assert.deepEqual(messages, whole);
    const other = await open(t, host, { pageTools: false });
    /** What another tab shows once it is this many messages. */
    const there = (length) => other.evaluate(async (length) => {
      await until(() => { const { messages, earlier } = view.getSnapshot(); return messages.length === length && !earlier && messages.at(-1).status !== "partial"; });
      return T.plain(view.getSnapshot().messages);
    }, length);
    assert.deepEqual(await there(whole.length), whole, "in another tab");
    // What is about the beginning finds all of it, and the view says what the history says.
    const both = () => page.evaluate(async () => T.plain([ws.view().getSnapshot(), await ws.history()]));
    assert.equal(await page.evaluate(() => tell("now")), "completed");
    assert.equal(await page.evaluate((replaces) => tell("instead", { replaces }), whole[2 * FAR - 4].id), "completed");
    const [late, lateHistory] = await both();
    assert.deepEqual([late.messages, late.earlier], [lateHistory, undefined]);
    assert.deepEqual(lateHistory.slice(0, -2), whole.slice(0, -4));
    assert.equal(await page.evaluate((replaces) => tell("at the beginning", { replaces }), whole[4].id), "completed");
    const [early, earlyHistory] = await both();
    assert.deepEqual([early.messages.length, early.messages, early.earlier], [6, earlyHistory, undefined]);
    assert.deepEqual(await there(6), earlyHistory, "in another tab");
    const { same, hmac } = await page.evaluate(async () => ({ ...await ws.sessions.replay(await ws.sessions.export("default")), hmac: (await ws.sessions.verify("default")).hmac_status }));
    assert.deepEqual([same, hmac], [true, "verified"]);
  });
}
