// Seed 003 on the packed package: what goes on, bench and play, one and all, over reloads. Journals that are followed,
// and the output of runs.
import assert from "node:assert/strict";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const ANN = { subject: "ann", issuer: "https://login.example" };

export default function (test) {
  activity(test);
  bench(test);
  all(test);
  followed(test);
  output(test);
}

/** A tab with a workspace, `s` for its sessions, and an agent. */
async function tab(t, base, { start = true } = {}) {
  const page = await t.tab();
  await begin(page, base, start);
  return page;
}

async function begin(page, base, start = true) {
  await page.evaluate(async ([operator, base, start]) => {
    globalThis.clock = { now: Date.now() };
    globalThis.ws = await lodger.openWorkspace("desk", { operator, now: () => globalThis.clock.now++ });
    globalThis.s = ws.sessions;
    globalThis.code = (promise) => promise.then(() => null, ({ code, message }) => ({ code, message }));
    globalThis.kinds = async (id) => (await s.events(id)).map((event) => event.event_type);
    globalThis.shown = (text) => new Promise((resolve) => ws.addEventListener("agent:message-chunk", ({ detail }) => detail.text.includes(text) && resolve()));
    globalThis.tool = (name, more, execute) => ws.tools.register({ name, description: "A tool.", inputSchema: { type: "object" }, ...more, execute }, { replace: true });
    if (start) await ws.startAgent({ provider: T.anthropic(base) });
  }, [ANN, base, start]);
}

/** The page goes away without a word, and comes back. */
async function again(t, page, base, start) {
  await page.reload();
  await t.ready(page);
  await begin(page, base, start);
}

/** An answer that stops in the middle until the gate opens. */
function halting(text) {
  const whole = message(text);
  const hold = gate();
  return { hold, answer: stream(whole.slice(0, 4), hold, whole.slice(4)) };
}

function activity(test) {
  test("each word: streaming, waiting without a run, by silence, by a prompt and for a person, broken by its end and by a stop", async (t) => {
    const { hold, answer } = halting("One two three.");
    const prompt = halting("user@host > what?");
    const route = await t.raw(answer, message({ tool: "wipe", args: {} }), message("Wiped."), prompt.answer);
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const seen = { idle: await s.activity("a") };
      const said = shown("two");
      globalThis.first = await s.prompt("a", "Count.");
      await said;
      seen.streams = [await s.activity("a"), await s.activity(first.runId)];
      clock.now += 31_000;
      seen.silent = [await s.activity("a"), await s.activity(first.runId)];
      return seen;
    });
    assert.deepEqual(seen, { idle: "waiting", streams: ["streaming", "streaming"], silent: ["waiting", "waiting"] });
    hold.open();
    const more = await page.evaluate(async () => {
      await ws.wait(first.runId);
      const seen = { ended: [await s.activity("a"), await s.activity(first.runId)] };
      tool("wipe", { destructive: true }, () => "wiped");
      const asked = new Promise((resolve) => ws.addEventListener("agent:permission-required", ({ detail }) => resolve(detail), { once: true }));
      const { runId } = await s.prompt("a", "Wipe it.");
      const question = await asked;
      seen.asks = [await s.activity("a"), await s.activity(runId)];
      await question.respond("allow_once");
      await ws.wait(runId);
      const said = shown("> ");
      await s.prompt("a", "Be a shell.");
      await said;
      seen.prompt = await s.activity("a");
      await s.stop("a");
      seen.stopped = await s.activity("a");
      seen.unknown = (await code(s.activity("nobody"))).code;
      return seen;
    });
    prompt.hold.open();
    assert.deepEqual(more, { ended: ["waiting", "broken"], asks: ["waiting", "waiting"], prompt: "waiting", stopped: "broken", unknown: "session_not_found" });
  });

  test("a run that is lost with its page is broken, and play takes it up", async (t) => {
    const { hold, answer } = halting("One two three.");
    const route = await t.raw(answer, message("All of it."));
    const page = await tab(t, route.base);
    const runId = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const said = shown("two");
      const { runId } = await s.prompt("a", "Count.");
      await said;
      return runId;
    });
    await again(t, page, route.base, false);
    hold.open();
    const before = await page.evaluate(async (runId) => [await s.activity("a"), await s.activity(runId)], runId);
    assert.deepEqual(before, ["broken", "broken"]);
    const seen = await page.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base) });
      const lost = await s.activity("a");
      const played = (await s.play("all")).map(({ id, status }) => [id, status]);
      const runId = (await s.status("a")).session.active_run_id;
      return T.plain({ lost, played, outcome: (await ws.wait(runId)).outcome, kinds: await kinds("a"), runId });
    }, route.base);
    assert.deepEqual(seen, { lost: "broken", played: [["a", "running"]], outcome: "completed", kinds: ["launched", "prompt_received", "failed", "recovered", "run_resumed", "run_completed"], runId });
  });
}

function bench(test) {
  for (const reload of [false, true]) {
    test(`bench in mid-answer: what was shown stays, nothing is asked, prompts are refused; play asks anew${reload ? " (over a reload)" : ""}`, async (t) => {
      const { hold, answer } = halting("One two three.");
      const route = await t.raw(answer, message("All of it."));
      const page = await tab(t, route.base);
      const seen = await page.evaluate(async () => {
        await s.launch({ id: "a" });
        const said = shown("two");
        const { runId } = await s.prompt("a", "Count.");
        await said;
        const benched = await s.bench("a");
        const { session } = await s.status("a");
        const refused = await Promise.all([s.prompt("a", "Hm."), ws.sendMessage("Hm.", { sessionId: "a" }), ws.regenerate(undefined, { sessionId: "a" }), ws.resume(runId)].map(code));
        return T.plain({ runId, benched, twice: await s.bench("a"), session, refused, status: ws.status(), activity: await s.activity("a"), text: (await ws.history({ sessionId: "a" }))[1] });
      });
      assert.deepEqual([seen.benched, seen.twice], [{ suspended: ["a"] }, { suspended: [] }]);
      assert.deepEqual([seen.session.suspended, typeof seen.session.suspendedAt, seen.session.pid], [true, "number", null]);
      assert.deepEqual(seen.refused.map((error) => error?.code), Array(4).fill("benched"));
      assert.equal(seen.refused[0].message, "agent session a is benched; it accepts no prompts");
      assert.deepEqual([seen.status, seen.activity], [{ lifecycle: "Suspended", is_streaming: false }, "waiting"]);
      assert.deepEqual([seen.text.status, seen.text.parts[0].text], ["partial", "One two "]);
      assert.equal(route.requests.length, 1);
      if (reload) await again(t, page, route.base);
      hold.open();
      const after = await page.evaluate(async (runId) => {
        const { lifecycle } = ws.status();
        const played = await ws.invoke("session_play", { target: "a" });
        const outcome = (await ws.wait(runId)).outcome;
        const texts = (await ws.history({ sessionId: "a" })).map((m) => m.parts.map((p) => p.text).join("|"));
        return T.plain({ lifecycle, played: played.map(({ id, suspended }) => [id, suspended ?? null]), outcome, texts, twice: await code(s.play("a")), kinds: await kinds("a"), verified: (await s.status("a")).hmac_status });
      }, seen.runId);
      assert.deepEqual(after, {
        lifecycle: "Suspended", played: [["a", null]], outcome: "completed", texts: ["Count.", "All of it."],
        twice: { code: "invalid_transition", message: "agent is not suspended" },
        kinds: ["launched", "prompt_received", "benched", "played", "run_resumed", "run_completed"], verified: "verified",
      });
      assert.ok(!JSON.stringify(route.requests[1].json).includes("One two"), "the call is made again");
    });
  }

  test("bench during a tool with an effect waits for it and keeps its result; one that reads is aborted and run again", async (t) => {
    const route = await t.raw(message({ tool: "post", args: {} }), message({ tool: "look", args: {} }), message("Done."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      const runs = { post: 0, look: 0, aborted: 0 };
      let finish;
      const posting = new Promise((began) => tool("post", {}, () => new Promise((resolve) => { runs.post++; finish = resolve; began(); })));
      await s.launch({ id: "a" });
      const { runId } = await s.prompt("a", "Post it.");
      await posting;
      await s.bench("a");
      const kept = new Promise((resolve) => ws.addEventListener("agent:tool-call", ({ detail }) => detail.status === "completed" && resolve(detail.result), { once: true }));
      finish("posted");
      const result = await kept;
      const receipts = (await s.receipts("a")).length;
      const looking = new Promise((began) => tool("look", { readOnly: true }, (args, { signal }) => {
        if (++runs.look > 1) return "seen";
        began();
        return new Promise((resolve, reject) => signal.addEventListener("abort", () => { runs.aborted++; reject(signal.reason); }));
      }));
      await s.play("a");
      await looking;
      await s.bench("a");
      await s.play("a");
      return T.plain({ result, receipts, outcome: (await ws.wait(runId)).outcome, runs, all: (await s.receipts("a")).filter(({ result }) => result.metadata.tool_call_id).length });
    });
    assert.deepEqual(seen, { result: "posted", receipts: 1, outcome: "completed", runs: { post: 1, look: 2, aborted: 1 }, all: 1 });
    assert.equal(route.requests.length, 3);
  });
}

function all(test) {
  test("bench all and play all: one's own that are alive, also those that are not at hand, over stop, reload and start", async (t) => {
    const { hold, answer } = halting("One two three.");
    const route = await t.raw(answer, message("All of it."));
    const page = await tab(t, route.base);
    await page.evaluate(async () => {
      for (const id of ["idle", "works", "over"]) await s.launch({ id });
      await s.stop("over");
      await ws.setOperator({ subject: "bob" });
      await s.launch({ id: "bobs" });
      await ws.setOperator({ subject: "ann", issuer: "https://login.example" });
    });
    await again(t, page, route.base);
    const seen = await page.evaluate(async () => {
      const said = shown("two");
      const { runId } = await s.prompt("works", "Count.");
      await said;
      const benched = (await ws.invoke("session_bench", { target: "all" })).suspended.sort();
      await ws.stopAgent();
      return { runId, benched, none: await s.bench("all") };
    });
    hold.open();
    assert.deepEqual([seen.benched, seen.none], [["default", "idle", "works"], { suspended: [] }]);
    await again(t, page, route.base);
    const after = await page.evaluate(async (runId) => {
      const benched = (await s.list()).filter(({ suspended }) => suspended).map(({ id }) => id).sort();
      const played = (await s.play("all")).map(({ id }) => id).sort();
      return T.plain({ benched, played, outcome: (await ws.wait(runId)).outcome, none: await s.play("all"), unknown: (await code(s.bench("nobody"))).code, statuses: Object.fromEntries((await s.list()).map(({ id, status, suspended }) => [id, suspended ? "benched" : status])) });
    }, seen.runId);
    assert.deepEqual([after.benched, after.played], [["default", "idle", "works"], ["default", "idle", "works"]]);
    assert.deepEqual([after.outcome, after.none, after.unknown], ["completed", [], "session_not_found"]);
    assert.deepEqual(after.statuses, { works: "idle", idle: "running", default: "running", over: "stopped", bobs: "running" });
  });
}

function followed(test) {
  test("two readers in different places have the whole journal from there on, live, once and in order", async (t) => {
    const route = await t.raw(message("One."), message("Two."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await ws.wait((await s.prompt("a", "First.")).runId);
      const from = (await s.journal("a")).at(-1).seq - 1;
      const readers = [s.attach("a"), s.attach("a", { from })];
      const seen = [[], []];
      let wanted = Infinity;
      const reads = readers.map(async (entries, i) => {
        for await (const entry of entries) {
          seen[i].push(entry);
          if (entry.seq >= wanted) break;
        }
      });
      await ws.wait((await s.prompt("a", "Second.")).runId);
      wanted = (await s.journal("a")).at(-1).seq + 1;
      await s.rename("a", "Another");
      await Promise.all(reads);
      const whole = await s.journal("a", { limit: wanted });
      return T.plain({ from, same: seen.map((entries, i) => JSON.stringify(entries) === JSON.stringify(i ? whole.slice(from - 1) : whole)), lengths: seen.map((entries) => entries.length), wanted });
    });
    assert.deepEqual(seen.same, [true, true]);
    assert.deepEqual(seen.lengths, [seen.wanted, seen.wanted - seen.from + 1]);
  });

  test("a reader leaves at once by its signal; is told when the session is removed, and when the workspace is closed or deleted", async (t) => {
    const route = await t.raw();
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      for (const id of ["a", "b"]) await s.launch({ id });
      /** Reads what there is, and gives the end of the next read. */
      const waits = async (id, options) => {
        const entries = s.attach(id, options);
        const { length } = await s.journal(id);
        for (let i = 0; i < length; i++) await entries.next();
        return { end: entries.next().then(({ done }) => ({ done }), ({ code, message }) => ({ code, message })) };
      };
      const leave = new AbortController();
      const [left, removed, closed] = await Promise.all([waits("a", { signal: leave.signal }), waits("a"), waits("b")]);
      leave.abort();
      const seen = { left: await left.end };
      await s.remove("a");
      seen.removed = await removed.end;
      seen.unknown = (await code(s.attach("nobody").next())).code;
      await lodger.deleteWorkspace("desk");
      seen.deleted = (await closed.end).code;
      return seen;
    });
    assert.deepEqual(seen, { left: { done: true }, removed: { code: "session_not_found", message: "agent a was removed during attach" }, unknown: "session_not_found", deleted: "workspace_deleted" });
  });
}

function output(test) {
  test("output: all of it, its tail and what is new, while it streams, afterwards and after a reload", async (t) => {
    const { hold, answer } = halting("One twö three.");
    const route = await t.raw(answer);
    const page = await tab(t, route.base);
    const read = (args) => page.evaluate(async ([id, options]) => {
      const { data, offset } = await s.output(id, options);
      return { text: new TextDecoder().decode(data), bytes: data.length, whole: data instanceof Uint8Array, offset };
    }, args);
    const runId = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const said = shown("tw");
      const { runId } = await s.prompt("a", "Count.");
      await said;
      return runId;
    });
    const early = await read([runId]);
    assert.ok(early.whole && early.text.startsWith("One tw") && early.offset === early.bytes);
    hold.open();
    await page.evaluate((runId) => ws.wait(runId), runId);
    const late = await read([runId, { from: early.offset }]);
    assert.equal(early.text + late.text, "One twö three.");
    const tail = await read(["a", { tail: 6 }]);
    assert.deepEqual(tail, { text: "three.", bytes: 6, whole: true, offset: 15 });
    const middle = await read([runId, { from: 7 }]);
    assert.deepEqual([middle.bytes, middle.offset], [8, 15], "from the middle of a letter");
    assert.deepEqual(await read([runId, { from: 99 }]), { text: "", bytes: 0, whole: true, offset: 15 });
    await again(t, page, route.base, false);
    assert.deepEqual(await read(["a", { from: early.offset }]), late);
  });
}
