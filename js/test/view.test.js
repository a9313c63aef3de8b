import assert from "node:assert/strict";
import { test } from "node:test";
import { share } from "../client/view.js";
import { open, turns } from "./fake-host.js";

const USER = { id: "m1", role: "user", parts: [{ type: "text", text: "hi" }], createdAt: 1, status: "complete" };
const assistant = (parts, more) => ({ id: "m2", role: "assistant", parts, createdAt: 2, runId: "run1", status: "partial", ...more });
const call = (more) => ({ type: "tool-call", toolCallId: "c1", tool: "add", arguments: { a: { b: 1 } }, status: "started", ...more });

for (const mode of ["direct", "port"]) {
  const viewed = (title, body) =>
    test(`${title} [${mode}]`, async (t) => {
      const o = await open(mode);
      t.after(() => o.end());
      const view = o.workspace.view();
      await turns();
      const seen = [];
      const stop = view.subscribe((snapshot) => seen.push(snapshot));
      await body({ o, host: o.host, view, seen, stop, now: async () => (await turns(), view.getSnapshot()) });
    });

  viewed("the same view each time, its functions bound, its snapshot stable", async ({ o, view, seen }) => {
    assert.equal(o.workspace.view(), view);
    assert.equal(o.workspace.view("default"), view);
    const { subscribe, getSnapshot } = view;
    assert.equal(getSnapshot(), getSnapshot());
    assert.deepEqual(getSnapshot(), { status: "ready", messages: [], permissions: [], queue: [], holder: false });
    assert.deepEqual(seen, [getSnapshot()], "subscribe calls at once");
    subscribe(() => {})();
    assert.equal(o.host.commandsSent("watch").length, 1);
  });

  viewed("what waits is in the snapshot, and keeps its identity", async ({ host, now }) => {
    const waits = { id: "m9", text: "and then?", mode: "queue" };
    host.tell("view", { status: "streaming", queue: [waits] });
    const first = await now();
    assert.deepEqual(first.queue, [waits]);
    host.tell("view", { status: "ready", queue: [{ ...waits }] });
    assert.equal((await now()).queue, first.queue);
    host.tell("view", { status: "ready" });
    assert.deepEqual((await now()).queue, []);
  });

  viewed("arguments grow while they come, and an old snapshot stays as it was", async ({ host, now }) => {
    const receiving = (more) => ({ type: "tool-call", toolCallId: "receiving-1", tool: "write", arguments: {}, status: "receiving", ...more });
    const piece = (text, offset) => host.event("message-chunk", { runId: "run1", messageId: "m2", part: 1, offset, text, kind: "arguments" });
    host.tell("history", [USER, assistant([{ type: "text", text: "I write." }, receiving()])]);
    piece('{"title":"Dra', 0);
    const came = async () => (await now()).messages[1].parts[1];
    // What reads it is loaded first.
    while (!(await came()).arguments.title) await new Promise((done) => setTimeout(done, 5));
    const first = await came();
    assert.deepEqual([first.arguments, first.argumentsText, first.status], [{ title: "Dra" }, '{"title":"Dra', "receiving"]);
    piece('gons","list":[1,', 13);
    const second = (await now()).messages[1].parts[1];
    piece("2]", 29);
    const third = (await now()).messages[1].parts[1];
    assert.deepEqual([first.arguments, second.arguments, third.arguments], [{ title: "Dra" }, { title: "Dragons", list: [1] }, { title: "Dragons", list: [1, 2] }]);
    // A message that comes in between has the text, and not the value.
    host.tell("message", assistant([{ type: "text", text: "I write." }, receiving({ argumentsText: '{"title":"Dragons","list":[1,2]' }), { type: "text", text: "And" }]));
    assert.deepEqual((await now()).messages[1].parts[1].arguments, { title: "Dragons", list: [1, 2] });
    host.tell("message", assistant([{ type: "text", text: "I write." }, call({ tool: "write", arguments: { title: "Dragons", list: [1, 2] } })]));
    const whole = (await now()).messages[1].parts[1];
    assert.deepEqual([whole.arguments, whole.argumentsText, whole.status], [{ title: "Dragons", list: [1, 2] }, undefined, "started"]);
    piece("}", 31);
    assert.equal((await now()).messages[1].parts[1], whole, "what comes too late changes nothing");
  });

  viewed("what did not change keeps its identity", async ({ host, now }) => {
    host.tell("history", [USER, assistant([{ type: "text", text: "I look." }, call()])]);
    const first = await now();
    host.tell("history", [USER, assistant([{ type: "text", text: "I look." }, call()])]);
    assert.equal(await now(), first, "nothing changed");
    host.tell("message", assistant([{ type: "text", text: "I look." }, call({ status: "completed", result: "3" })]));
    const second = await now();
    assert.notEqual(second, first);
    assert.equal(second.messages[0], first.messages[0]);
    assert.notEqual(second.messages[1], first.messages[1]);
    assert.equal(second.messages[1].parts[0], first.messages[1].parts[0]);
    assert.notEqual(second.messages[1].parts[1], first.messages[1].parts[1]);
    assert.equal(second.messages[1].parts[1].arguments, first.messages[1].parts[1].arguments);
    assert.equal(first.messages[1].parts[1].status, "started", "an old snapshot stays as it was");
    host.tell("view", { status: "streaming" });
    const third = await now();
    assert.equal(third.messages, second.messages);
    host.tell("history", [assistant([]), USER]);
    assert.equal((await now()).messages[1], first.messages[0], "found by its id");
  });

  viewed("what left the conversation is gone with all that followed, and what comes in its place is new", async ({ host, now }) => {
    const later = [{ ...USER, id: "m3" }, { ...assistant([call()]), id: "m4" }];
    host.tell("history", [USER, assistant([]), ...later]);
    const before = await now();
    host.gone("m2");
    host.tell("message", { ...USER, runId: "run2" });
    host.tell("message", { ...assistant([]), id: "m5" });
    const after = await now();
    assert.deepEqual(after.messages.map(({ id }) => id), ["m1", "m5"]);
    assert.equal(after.messages[0].parts, before.messages[0].parts);
    assert.equal(before.messages.length, 4, "an old snapshot stays as it was");
    host.event("tool-call", { toolCallId: "c1", tool: "add", status: "completed", arguments: {} });
    assert.equal(await now(), after, "a call of what is gone is nobody's");
    host.gone("m9");
    assert.equal(await now(), after);
  });

  viewed("streaming text: parts on demand, offsets, identity of the rest", async ({ host, now }) => {
    host.tell("history", [USER]);
    host.chunk("Hel", 0);
    const a = await now();
    assert.deepEqual(a.messages[1], { id: "m2", role: "assistant", parts: [{ type: "text", text: "Hel" }], createdAt: a.messages[1].createdAt, runId: "run1", status: "partial" });
    host.chunk("lo", 3);
    host.chunk("because", 0, { part: 1, kind: "thinking" });
    const b = await now();
    assert.deepEqual(b.messages[1].parts, [{ type: "text", text: "Hello" }, { type: "thinking", text: "because" }]);
    assert.deepEqual(a.messages[1].parts, [{ type: "text", text: "Hel" }], "an old snapshot stays as it was");
    assert.equal(b.messages[0], a.messages[0]);
    host.chunk("Howdy", 0);
    host.chunk("y", 5);
    const c = await now();
    assert.deepEqual(c.messages[1].parts.map(({ text }) => text), ["Howdyy", "because"]);
    assert.equal(c.messages[1].parts[1], b.messages[1].parts[1]);
    host.tell("message", assistant([{ type: "text", text: "Howdyy" }, { type: "thinking", text: "because" }], { status: "complete", createdAt: a.messages[1].createdAt }));
    const d = await now();
    assert.equal(d.messages[1].status, "complete");
    assert.equal(d.messages[1].parts, c.messages[1].parts);
  });

  viewed("tool calls follow their events, and a settled one is not overruled", async ({ host, now }) => {
    host.tell("history", [USER, assistant([{ type: "text", text: "" }, call({ status: "waiting" })])]);
    host.event("tool-call", { runId: "run1", toolCallId: "c1", tool: "add", status: "started", arguments: { a: { b: 1 } }, progress: { done: 1 } });
    const a = await now();
    assert.deepEqual(a.messages[1].parts[1], call({ progress: { done: 1 } }));
    host.event("tool-call", { runId: "run1", toolCallId: "c1", tool: "add", status: "completed", arguments: { a: { b: 1 } }, result: "3" });
    const b = await now();
    assert.deepEqual(b.messages[1].parts[1], call({ status: "completed", result: "3" }));
    assert.equal(b.messages[1].parts[0], a.messages[1].parts[0]);
    const unknown = call({ status: "unknown", error: { code: "unknown_outcome", message: "no", retryable: false } });
    host.tell("message", assistant([{ type: "text", text: "" }, unknown]));
    host.event("tool-call", { runId: "run1", toolCallId: "c1", tool: "add", status: "failed", arguments: { a: { b: 1 } }, error: unknown.error });
    assert.deepEqual((await now()).messages[1].parts[1], unknown);
    host.event("tool-call", { runId: "run1", toolCallId: "other", tool: "add", status: "started", arguments: {} });
    assert.equal((await now()).messages.length, 2, "a call of no message is left to the message");
  });

  viewed("listeners are told once for all that comes together, until they unsubscribe", async ({ host, seen, stop, view, now }) => {
    const bad = [];
    const report = globalThis.reportError;
    globalThis.reportError = (error) => bad.push(error.message);
    const quiet = view.subscribe(() => { throw new Error("bad view listener"); });
    const others = [];
    const unsubscribe = view.subscribe((snapshot) => others.push(snapshot));
    let before = seen.length;
    host.chunk("a", 0);
    host.chunk("b", 1);
    host.tell("view", { status: "streaming" });
    const snapshot = await now();
    globalThis.reportError = report;
    assert.equal(seen.length, before + 1);
    assert.equal(seen.at(-1), snapshot);
    assert.equal(others.at(-1), snapshot);
    assert.deepEqual(bad, ["bad view listener", "bad view listener"]);
    let told = 0;
    host.chunk("!", 2);
    const again = view.subscribe(() => told++);
    await turns();
    assert.equal(told, mode === "direct" ? 1 : 2, "the same snapshot is told once");
    again();
    before += 1;
    quiet();
    stop();
    unsubscribe();
    host.chunk("c", 2);
    await turns();
    assert.equal(seen.length, before + 1);
  });

  viewed("the snapshot is already new while its event is dispatched", async ({ o, host, view }) => {
    const shown = [];
    o.workspace.addEventListener("agent:message-chunk", () => shown.push(view.getSnapshot().messages[0].parts[0].text));
    host.chunk("a", 0);
    host.chunk("b", 1);
    await turns();
    assert.deepEqual(shown, ["a", "ab"]);
  });
}

test("sharing keeps equal values and nothing else", () => {
  const last = { a: [1, { b: 2 }], c: { d: null }, e: 1 };
  assert.equal(share(last, structuredClone(last)), last);
  const next = share(last, { a: [1, { b: 2 }], c: { d: undefined }, e: 1 });
  assert.equal(next.a, last.a);
  assert.notEqual(next.c, last.c);
  assert.notEqual(share(last, { a: last.a, c: last.c }), last, "a member less");
  assert.notEqual(share([1], { 0: 1 }).length, 1);
  assert.deepEqual(share([1, 2], [1]), [1]);
});

test("streaming is linear: ten times the chunks touch ten times the objects", async () => {
  // Counted by what is made, not by a clock: every part and message object that appears in a snapshot.
  const made = async (chunks) => {
    const o = await open("direct");
    const view = o.workspace.view();
    o.host.tell("history", Array.from({ length: 200 }, (_, i) => ({ ...USER, id: `u${i}` })));
    const objects = new Set();
    view.subscribe(({ messages }) => messages.forEach((message) => objects.add(message).add(message.parts)));
    let offset = 0;
    for (let i = 0; i < chunks; i++) {
      o.host.chunk("word ", offset);
      offset += 5;
      await null;
    }
    await turns();
    assert.equal(view.getSnapshot().messages.at(-1).parts[0].text.length, chunks * 5);
    return objects.size;
  };
  const [small, large] = [await made(50), await made(500)];
  assert.ok(large - 400 <= (small - 400) * 11, `${small} and ${large}`);
});

test("each piece begins a new part: what snapshots copy grows with the pieces, not with their square", async () => {
  const copied = async (parts) => {
    const o = await open("direct");
    const view = o.workspace.view();
    const lists = new Set();
    view.subscribe(({ messages }) => messages.forEach((message) => lists.add(message.parts)));
    for (let part = 0; part < parts; part++) {
      o.host.chunk("x", 0, { part, kind: part % 2 ? "text" : "thinking" });
      await null;
    }
    await turns();
    const shown = view.getSnapshot().messages.at(-1).parts;
    assert.deepEqual([shown.length, shown[0], shown.at(-1)], [parts, { type: "thinking", text: "x" }, { type: "text", text: "x" }]);
    assert.ok(lists.has(shown), "the last one is told");
    return [...lists].reduce((sum, list) => sum + list.length, 0);
  };
  const [half, whole] = [await copied(4_000), await copied(8_000)];
  assert.ok(half > 4_000 && whole <= half * 2.2, `${half} and ${whole}`);
});
