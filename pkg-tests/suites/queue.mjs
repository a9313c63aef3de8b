// The queue in a browser: messages that wait while a run works, or enter it, over reloads. Waits that give a run
// that failed time to be gone on with. The model server sees what was sent, and when.
import assert from "node:assert/strict";
import { gate, plain, stream } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

export default function (test) {
  turns(test);
  steering(test);
  held(test);
  grace(test);
}

async function started(t, ...answers) {
  const route = await t.raw(...answers);
  const page = await t.tab();
  await begin(page, route.base);
  return { page, route };
}

const begin = (page, base) => page.evaluate(async (base) => {
  globalThis.ws = await lodger.openWorkspace("queue");
  globalThis.code = (promise) => promise.then(() => null, ({ code }) => code);
  globalThis.queue = () => ws.view().getSnapshot().queue;
  globalThis.waiting = async (test) => { while (!test(ws.view().getSnapshot())) await new Promise((r) => setTimeout(r, 5)); };
  globalThis.started = [];
  ws.addEventListener("agent:session-started", ({ detail }) => started.push(detail.runId));
  await ws.startAgent({ provider: T.anthropic(base) });
  await waiting((s) => s.status !== "loading" && s.status !== "stopped");
}, base);

const slow = (text, hold) => stream(message(text).slice(0, 3), hold, message(text).slice(3));
const sent = (request) => request.json.messages.map(({ role, content }) => [role, typeof content === "string" ? content : content.map(({ type, text, content }) => text ?? content ?? type).join("+")]);

function turns(test) {
  test("queue: each message begins a run of its own, in order, with the id that it was given; edited and removed until then", async (t) => {
    const hold = gate();
    const { page, route } = await started(t, slow("One.", hold), message("Two."));
    const before = await page.evaluate(async () => {
      const first = await ws.sendMessage("one");
      const refused = [await code(ws.sendMessage("x")), await code(ws.sendMessage("x", { whenBusy: "wait" })), await code(ws.regenerate(undefined, { whenBusy: "queue" }))];
      const second = await ws.sendMessage("two", { whenBusy: "queue" });
      const third = await ws.sendMessage("three", { whenBusy: "queue" });
      await waiting((s) => s.queue.length === 2);
      const [two, three] = queue();
      await ws.queue.edit(two.id, "two, edited");
      await ws.queue.remove(three.id);
      await waiting((s) => s.queue.length === 1);
      globalThis.runs = [first, second, third];
      return T.plain({ refused, two, now: queue(), gone: await ws.wait(third.runId), result: await third.result, again: await code(ws.queue.remove(three.id)), ids: runs.map((r) => r.runId), text: await (async () => { let all = ""; for await (const text of third.textStream) all += text; return all; })() });
    });
    assert.deepEqual(before.refused, ["busy", "invalid_config", "invalid_config"]);
    assert.deepEqual([before.two.text, before.two.mode], ["two", "queue"]);
    assert.deepEqual(before.now, [{ ...before.two, text: "two, edited" }]);
    assert.deepEqual([before.gone.status, before.gone.outcome, "startedAt" in before.gone, before.result.outcome], ["ok", "interrupted", false, "interrupted"]);
    assert.deepEqual([before.again, before.text], ["message_not_found", ""]);
    hold.open();
    const after = await page.evaluate(async () => {
      const told = await ws.wait(runs[1].runId);
      let text = "";
      for await (const piece of runs[1].textStream) text += piece;
      return T.plain({ told, text, started, queue: queue(), taken: await code(ws.queue.edit((await ws.history())[2].id, "x")), history: (await ws.history()).map((m) => [m.role, m.parts[0].text, m.runId]) });
    });
    assert.deepEqual([after.told.outcome, after.text, after.queue, after.taken], ["completed", "Two.", [], "message_not_found"]);
    const [one, two] = before.ids;
    assert.deepEqual(after.started, [one, two]);
    assert.deepEqual(after.history, [["user", "one", one], ["assistant", "One.", one], ["user", "two, edited", two], ["assistant", "Two.", two]]);
    assert.equal(route.requests.length, 2);
  });
}

function steering(test) {
  test("steer: the message enters the run; calls that have not begun are skipped", async (t) => {
    const { page, route } = await started(t, message([{ tool: "first", args: {}, id: "t1" }, { tool: "second", args: {}, id: "t2" }]), message("Done."));
    const seen = await page.evaluate(async () => {
      globalThis.ran = [];
      const tool = (name, execute) => ws.tools.register({ name, description: name, inputSchema: { type: "object" }, execute });
      let finish;
      const begun = new Promise((resolve) => tool("first", () => { ran.push("first"); resolve(); return new Promise((r) => (finish = r)); }));
      tool("second", () => ran.push("second"));
      const run = await ws.sendMessage("go");
      await begun;
      const steer = await ws.sendMessage("stop that", { whenBusy: "steer" });
      await waiting((s) => s.queue.length === 1);
      const shown = queue().map(({ mode, text }) => [mode, text]);
      finish("1");
      const result = await run.result;
      await waiting((s) => s.status === "ready");
      return T.plain({ same: steer.runId === run.runId, shown, outcome: result.outcome, ran, view: ws.view().getSnapshot().messages, history: await ws.history() });
    });
    assert.deepEqual([seen.same, seen.shown, seen.outcome, seen.ran], [true, [["steer", "stop that"]], "completed", ["first"]]);
    assert.deepEqual(seen.view, seen.history);
    assert.deepEqual(seen.history.map((m) => m.role), ["user", "user", "assistant"]);
    assert.equal(seen.history[2].parts[1].error.message, "Skipped due to queued user message");
    assert.match(JSON.stringify(sent(route.requests[1])), /Skipped due to queued user message.*stop that/);
  });
}

function held(test) {
  test("held: after an interrupt, and over a reload, until it is released", async (t) => {
    const hold = gate();
    const { page, route } = await started(t, stream(message("One.").slice(0, 3), hold), message("Two."));
    const run = await page.evaluate(async () => {
      await ws.sendMessage("one");
      const { runId } = await ws.sendMessage("two", { whenBusy: "queue" });
      await waiting((s) => s.status === "streaming");
      ws.interrupt();
      await waiting((s) => s.status === "ready" && s.queue.length === 1);
      return runId;
    });
    await page.reload();
    await t.ready(page);
    await begin(page, route.base);
    assert.equal(route.requests.length, 1, "nothing begins by itself");
    const seen = await page.evaluate(async (runId) => {
      await waiting((s) => s.queue.length === 1);
      const shown = queue().map(({ mode, text }) => [mode, text]);
      const waits = ws.wait(runId);
      await ws.queue.release();
      return T.plain({ shown, told: await waits, queue: queue(), last: (await ws.history()).at(-1).parts[0].text });
    }, run);
    assert.deepEqual([seen.shown, seen.told.outcome, seen.queue, seen.last], [[["queue", "two"]], "completed", [], "Two."]);
  });

  test("held: a new message goes before, and what is held follows when it completes", async (t) => {
    const hold = gate();
    const { page, route } = await started(t, stream(message("One.").slice(0, 3), hold), message("New."), message("Two."));
    const seen = await page.evaluate(async () => {
      await ws.sendMessage("one");
      const { runId } = await ws.sendMessage("two", { whenBusy: "queue" });
      await waiting((s) => s.status === "streaming");
      ws.interrupt();
      await waiting((s) => s.status === "ready");
      await ws.sendMessage("new", { whenBusy: "queue" });
      return T.plain(await ws.wait(runId));
    });
    assert.equal(seen.outcome, "completed");
    assert.deepEqual(route.requests.map((request) => sent(request).at(-1)[1]), ["one", "new", "two"]);
  });
}

function grace(test) {
  test("errorGraceMs: a run that goes on with the failed one answers for it; else the error, when the time is over", async (t) => {
    const bad = () => plain(401, errorBody("authentication_error", "invalid x-api-key"));
    const { page } = await started(t, bad(), message("Better."), bad());
    const seen = await page.evaluate(async () => {
      const { runId } = await ws.sendMessage("one");
      const waits = ws.invoke("agent.wait", { runId, timeoutMs: 60_000, errorGraceMs: 60_000 });
      const at_once = await ws.wait(runId);
      const short = await ws.wait(runId, { timeoutMs: 20, errorGraceMs: 60_000 });
      const next = await ws.resume();
      const told = await waits;
      const second = await ws.sendMessage("two");
      const error = await ws.wait(second.runId, { errorGraceMs: 50 });
      const refused = [await code(ws.wait(runId, { afterMs: 1 })), await code(ws.wait(runId, { errorGraceMs: -1 })), await code(ws.invoke("agent.wait", { runId, afterMs: 1 })), await code(ws.wait("run_none", { errorGraceMs: 1 }))];
      return T.plain({ runId, at_once, short, next: next.runId, told, error, refused });
    });
    assert.deepEqual([seen.at_once.status, seen.short.status, seen.told.status, seen.told.outcome], ["error", "timeout", "ok", "completed"]);
    assert.equal(seen.told.runId, seen.runId);
    assert.notEqual(seen.next, seen.runId);
    assert.ok(seen.told.startedAt >= seen.at_once.endedAt);
    assert.deepEqual([seen.error.status, seen.error.error.code], ["error", "auth"]);
    assert.deepEqual(seen.refused, ["invalid_arguments", "invalid_arguments", "invalid_arguments", "run_not_found"]);
  });
}
