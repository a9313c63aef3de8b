// Every wire over real HTTP, the same tests for all of them. `servers/wires/` has their servers, which refuse what the
// real ones refuse and let a browser send only what those let it send. A test asks all of them at once, each from a
// workspace of its own, and says whose answer was wrong.
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { drop, gate, hang, pause, plain, reset, stream, trickle } from "../servers/raw.mjs";
import { WIRES } from "../servers/wires/index.mjs";
import { COST } from "../servers/wires/words.mjs";

export default function (test) {
  roundTrips(test);
  preflights(test);
  faults(test);
  interrupts(test);
  independent(test);
}

const RUNNING = { lifecycle: "Running", is_streaming: false };

/** Does this for every row at once, and says which one it was that failed. */
const each = (work, rows = WIRES) => Promise.all(rows.map(async (row) => {
  try { return await work(row); } catch (error) { error.message = `${row.name}: ${error.message}`; throw error; }
}));

// ------------------------------------------------------------------ round trips

/** One question that takes two tools, on a page where that workspace is new. */
const weather = (page, name, provider, config = {}) => page.evaluate(async ([name, provider, config]) => {
  const ws = await lodger.openWorkspace(name);
  const asked = T.weather(ws);
  await ws.startAgent({ provider, instructions: "You know the weather.", ...config });
  const rec = T.record(ws, ws);
  rec.chunk(1).then(() => T.tell(`shown ${name}`), () => {});
  const run = await ws.sendMessage("How is the weather?");
  await rec.ended(run.runId);
  return { runId: run.runId, events: rec.events, asked, result: T.plain(await run.result), history: T.plain(await ws.history()), status: ws.status() };
}, [name, provider, config]);

export function roundTrips(test) {
  test("thinking, text, parallel tools, one of them without arguments; what it cost", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const { answer, usage } = row.wire;
      const calls = [{ tool: "get_weather", args: { city: "Zürich" }, id: row.id(1) }, { tool: "get_time", id: row.id(2) }];
      const route = await t.wire(row, answer([{ thinking: "They want the weather.", seal: "c2VhbA" }, "Let me look.", ...calls]), answer("It is 18 °C at noon."));
      const seen = await weather(page, row.name, row.provider(route.base));
      assert.deepEqual(route.violations, []);
      const shape = checkRun(seen.events, seen.runId);
      assert.deepEqual(shape.calls.map((c) => [c.tool, c.arguments, c.status]), [["get_weather", { city: "Zürich" }, "completed"], ["get_time", {}, "completed"]]);
      assert.deepEqual(seen.asked.toSorted(), [["get_time", {}], ["get_weather", { city: "Zürich" }]]);
      assert.deepEqual([seen.result.outcome, seen.result.turns, seen.result.text], ["completed", 2, "Let me look.It is 18 °C at noon."]);
      assert.deepEqual(seen.history[1].parts.map((p) => p.text ?? p.tool), ["They want the weather.", "Let me look.", "get_weather", "get_time", "It is 18 °C at noon."]);
      const { cost, ...tokens } = seen.result.usage;
      assert.deepEqual(tokens, Object.fromEntries(Object.entries(usage(COST)).map(([name, n]) => [name, 2 * n])), "of both answers together");
      if (row.kind === "anthropic") assert.ok(cost > 0);
      else assert.equal(cost, row.kind === "ollama" ? 0 : undefined, "a server of one's own costs nothing, the others' model has no known price");
      assert.match(route.requests[1].text, /18 °C in Zürich[^]*noon/, "the results are told");
      assert.deepEqual(seen.status, RUNNING);
    });
  });

  test("an answer at its limit is an answer; a call at its limit is not run", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const seen = await fault(t, page, row, [stream(row.wire.answer("As far as I", { stop: "length" }))]);
      assert.deepEqual([seen.result.outcome, seen.result.text], ["completed", "As far as I"]);
      const cut = await t.wire(row, row.wire.answer({ tool: "get_weather", args: { city: "Zürich" }, id: row.id(1) }, { stop: "length" }), row.wire.answer("Shorter then."));
      const { asked, result } = await weather(page, `${row.name} cut`, row.provider(cut.base));
      assert.deepEqual([asked, result.outcome, result.text], [[], "completed", "Shorter then."]);
      assert.deepEqual(cut.violations, []);
    });
  });

  test("slow bytes: one at a time, for longer than the silence that is allowed", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const slow = row.wire.answer([{ thinking: "Schön langsam." }, "Ein Wort — noch eins. 🦉"]).flatMap((piece) => [trickle(piece), pause(250)]);
      const seen = await fault(t, page, row, [stream(slow)], { timeouts: { silenceMs: 1_500 } });
      assert.equal(seen.result.outcome, "completed", JSON.stringify(seen.result.error));
      assert.equal(seen.result.text, "Ein Wort — noch eins. 🦉");
    });
  });
}

// ------------------------------------------------------------------ preflights

export function preflights(test) {
  test("a preflight asks for what the provider allows, and for nothing else", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const route = await t.wire(row, row.wire.answer("Hello."));
      const text = await page.evaluate(async ([name, provider]) => {
        const ws = await lodger.openWorkspace(name);
        await ws.startAgent({ provider });
        return (await ws.run("Hello")).text;
      }, [row.name, row.provider(route.base)]);
      assert.equal(text, "Hello.");
      assert.deepEqual(route.violations, []);
      assert.ok(route.preflights >= 1);
      for (const asked of route.asked) assert.deepEqual(asked.toSorted(), row.wire.asks);
    });
  });

  test("one header more than is allowed: network or CORS, nothing is sent", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const seen = await fault(t, page, row, [row.wire.answer("never")], { headers: { "x-of-our-own": "1" }, sent: 0 });
      const { end } = failed(seen, "network");
      assert.match(`${end.message} ${end.hint}`, /CORS[^]*origin/);
      assert.ok(seen.asked.slice(0, 3).every((asked) => asked.includes("x-of-our-own")), "the preflight asks for it");
    });
  });
}

// ------------------------------------------------------------------ faults

/**
 * Sends a message that the first `answers` spoil; then the provider is well again, the broken run is gone on with, and
 * another message is sent. Gives all that was seen. `sent`: how many requests reach the server before it is well; `null`: nobody knows.
 */
async function fault(t, page, row, answers, { timeouts, headers, retry, sent = answers.length } = {}) {
  const route = await t.wire(row, ...answers);
  let well = false;
  const take = route.take;
  route.take = function (record) { if (well) this.answers = [row.wire.answer("Still here.")]; return take.call(this, record); };
  t.signal(`well ${row.name}`, () => { well = true; return route.requests.length; });
  t.signal(`shown ${row.name}`, () => { for (const piece of answers.flatMap((answer) => answer.body ?? [])) piece.open?.(); });
  const seen = await page.evaluate(async ([name, spoiled, provider, retry]) => {
    const ws = await lodger.openWorkspace(name);
    await ws.startAgent({ provider: spoiled, ...(retry && { retry }) });
    const rec = T.record(ws, ws);
    rec.chunk(1).then(() => T.tell(`shown ${name}`), () => {});
    const run = await ws.sendMessage("First question");
    await rec.ended(run.runId);
    const out = { runId: run.runId, events: [...rec.events], result: T.plain(await run.result), history: T.plain(await ws.history()), status: ws.status() };
    out.sent = await T.tell(`well ${name}`);
    await ws.configureAgent({ provider });
    if (out.result.outcome === "failed") out.resumed = T.plain(await (await ws.resume(run.runId)).result);
    out.next = (await ws.run("Are you still there?")).text;
    return out;
  }, [row.name, row.provider(route.base, { timeouts, headers }), row.provider(route.base), retry]);
  assert.deepEqual(route.violations, [], "every request was valid");
  if (sent !== null) assert.equal(seen.sent, sent, `requests, of which none too many and none too few: ${JSON.stringify(seen.result)}`);
  assert.deepEqual(seen.status, RUNNING);
  assert.equal(seen.resumed?.text ?? "Still here.", "Still here.", "the broken run is gone on with");
  assert.equal(seen.next, "Still here.");
  assert.match(route.requests.at(-1).text, /First question[^]*Are you still there\?/);
  return { ...seen, asked: route.asked, notices: seen.events.filter((e) => e.type === "agent:notice").map((e) => e.detail) };
}

/** The run failed with this code, everything that tells of it agrees, and it was tried again as often as `tries` says. */
function failed(seen, code, tries) {
  const shape = checkRun(seen.events, seen.runId, "agent:error");
  assert.deepEqual([shape.end.code, shape.lifecycle.error.code, seen.result.outcome, seen.result.error.code], [code, code, "failed", code], shape.end.message);
  assert.ok(shape.end.message.length > 5 && !/undefined|\[object/.test(shape.end.message), shape.end.message);
  if (tries) assert.deepEqual(seen.notices.map((n) => [n.kind, n.attempt, n.error.code]), Array.from({ length: tries - 1 }, (_, i) => ["retry", i + 2, code]));
  return shape;
}

/** The pieces of an answer, up to where its text has begun. */
function begun(row) {
  const whole = row.wire.answer("Half of what I wanted to say.");
  return whole.slice(0, whole.findIndex((piece) => piece.includes("Half")) + 2);
}

/** Our own waits, with up to a quarter drawn off. */
function ownWaits(notices) {
  notices.forEach(({ delayMs }, i) => assert.ok(delayMs > 375 << i && delayMs <= 500 << i, `wait ${i + 1}: ${delayMs} ms`));
}

export function faults(test) {
  /** A failure before anything came, three times; then it is given up. */
  const before = (title, code, answer, options, look) => test(`${title}: asked three times`, async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const one = answer(row);
      const seen = await fault(t, page, row, [one, one, one, one], { sent: 3, ...options });
      const { end } = failed(seen, code, 3);
      ownWaits(seen.notices);
      assert.deepEqual(seen.history.map((m) => m.role), ["user", "assistant"]);
      assert.equal(end.retryable, true);
      look?.(end, row);
    });
  });
  const http = (code, headers = {}) => (row) => { const [status, body] = row.wire.failures[code]; return plain(status, body, { "content-type": "application/json", ...headers }); };

  before("429 without retry-after", "rate_limit", http("rate_limit"), {}, (end) => assert.equal(end.status, 429));
  before("500", "server", http("server"), {}, (end) => assert.equal(end.status, 500));
  before("529", "overloaded", http("overloaded"), {}, (end, row) => assert.equal(end.status, row.wire.failures.overloaded[0]));
  before("HTML with 502", "server", () => plain(502, "<html><title>Bad gateway</title></html>", { "content-type": "text/html" }), {}, (end) => assert.match(end.message, /Bad gateway/));
  before("no head of an answer", "timeout", () => hang, { timeouts: { connectMs: 3000 } }); // long enough that a slow machine sends each request
  before("no first byte", "timeout", () => stream(hang), { timeouts: { firstByteMs: 400 } });
  before("reset before the head", "network", () => reset, { sent: null }); // a browser itself tries again where it had used the connection before
  before("nothing at all, with 200", "stream_broken", () => stream());
  before("a chunk that is cut before any text", "stream_broken", (row) => stream(row.wire.answer("never")[0].slice(0, 20), drop));

  test("an error in the stream before any text: asked three times", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const one = stream(row.wire.breaks.event);
      failed(await fault(t, page, row, [one, one, one]), row.wire.breaks.code, 3);
    });
  });

  test("429 with retry-after: asked again after as long as it says, where a browser may see it", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const seen = await fault(t, page, row, [http("rate_limit", { "retry-after": "1" })(row), row.wire.answer("At last.")]);
      checkRun(seen.events, seen.runId);
      assert.equal(seen.result.text, "At last.");
      assert.deepEqual(seen.notices.map((n) => [n.kind, n.attempt, n.error.code]), [["retry", 2, "rate_limit"]]);
      const [{ delayMs, error }] = seen.notices;
      if (!row.wire.cors.expose.includes("retry-after")) return ownWaits(seen.notices);
      assert.deepEqual([delayMs, error.retryAfterMs], [1000, 1000]);
    });
  });

  for (const code of ["quota", "auth", "not_found", "context_length", "refused"]) {
    test(`${code}: not asked again`, async (t) => {
      const page = await t.tab();
      await each(async (row) => {
        if (!row.wire.failures[code]) return; // Ollama sells nothing, and only Azure filters before it answers
        failed(await fault(t, page, row, [http(code)(row)]), code, 1);
      });
    });
  }

  test("HTML with 200: not asked again", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const seen = await fault(t, page, row, [plain(200, "<!doctype html><title>Sign in</title>", { "content-type": "text/html" })]);
      const { end } = failed(seen, "protocol", 1);
      assert.match(`${end.message} ${end.hint}`, /Sign in[^]*base URL/);
    });
  });

  /** A failure after text was shown, where a cut answer is not wanted again: what came stays. */
  const after = (title, code, rest, options) => test(`${title}: what had come stays`, async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const seen = await fault(t, page, row, [stream(begun(row), ...rest(row))], { retry: { cut: false }, ...options });
      const { text, end } = failed(seen, typeof code === "string" ? code : code(row), 1);
      assert.match(text, /^Half of/);
      assert.equal(seen.history[1].status, "failed");
      assert.equal(seen.history[1].error.code, end.code);
      assert.match(seen.history[1].parts[0].text, /^Half of/);
    });
  });
  after("silence in mid-stream", "timeout", () => [hang], { timeouts: { silenceMs: 500 } });
  // A browser throws away what it has not read yet when a connection is reset: it waits until the text is shown.
  after("reset in mid-stream", "stream_broken", () => [gate(), reset]);
  after("a chunk that is cut in mid-stream", "stream_broken", (row) => [row.wire.answer("and more")[0].slice(0, 25), gate(), drop]);
  after("the end of the body in mid-stream", "stream_broken", () => []);
  after("an error in the stream", (row) => row.wire.breaks.code, (row) => [row.wire.breaks.event]);

  /** A browser throws away what it has not read yet when a connection is reset: the first answer waits until its text is shown. */
  const cut = (title, rest) => test(`${title}: the run itself asks again, and shows that`, async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const seen = await fault(t, page, row, [stream(begun(row), ...rest(row)), row.wire.answer("Whole at last.")]);
      checkRun(seen.events, seen.runId);
      assert.deepEqual([seen.result.outcome, seen.result.text], ["completed", "Whole at last."]);
      assert.deepEqual(seen.notices.map((n) => [n.kind, n.attempt, n.error.code]), [["retry", 2, "stream_broken"]]);
      ownWaits(seen.notices);
      assert.deepEqual(seen.history.map((m) => [m.role, m.status, m.parts[0].text]), [["user", "complete", "First question"], ["assistant", "complete", "Whole at last."]]);
      const chunks = seen.events.filter((e) => e.type === "agent:message-chunk").map((e) => e.detail);
      const second = chunks.findLastIndex(({ offset }) => offset === 0);
      assert.ok(second > 0 && chunks[0].text.startsWith("Half"), "what was shown is replaced from its beginning");
    });
  });
  cut("reset in mid-stream", () => [gate(), reset]);
  cut("a chunk that is cut in mid-stream", (row) => [row.wire.answer("and more")[0].slice(0, 25), gate(), drop]);
  cut("the end of the body in mid-stream", () => []);

  test("an answer that is cut each time: three tries, then it fails", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const one = stream(begun(row));
      const seen = await fault(t, page, row, [one, one, one]);
      assert.match(failed(seen, "stream_broken", 3).text, /^Half of/);
    });
  });

  test("cut inside a tool's arguments, or right after them: the tool is not run", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const whole = row.wire.answer([{ tool: "get_weather", args: { city: "Zürich" }, id: row.id(1) }]);
      const end = whole.findLastIndex((piece) => piece.includes("rich"));
      for (const [i, pieces] of [whole.slice(0, end), [...whole.slice(0, end), whole[end].slice(0, -8)]].entries()) {
        const route = await t.wire(row, stream(pieces));
        const seen = await page.evaluate(async ([name, provider]) => {
          const ws = await lodger.openWorkspace(name);
          const asked = T.weather(ws);
          await ws.startAgent({ provider });
          const { result } = await ws.sendMessage("How is the weather?");
          return { asked, result: T.plain(await result) };
        }, [`${row.name} ${i}`, row.provider(route.base)]);
        assert.deepEqual([seen.asked, seen.result.outcome, seen.result.error.code], [[], "failed", "stream_broken"]);
        assert.deepEqual(route.violations, []);
      }
    });
  });
}

// ------------------------------------------------------------------ interrupts

function interrupts(test) {
  /** Interrupts at a moment; then the next message is answered. */
  const moment = (title, script, { when, aborts = true }, look) => test(`interrupted ${title}`, async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const first = script(row);
      const route = await t.wire(row, first, row.wire.answer("Still here."));
      t.signal(`asked ${row.name}`, async () => { await route.request(1); return null; });
      const seen = await page.evaluate(async ([name, provider, when]) => {
        const ws = await lodger.openWorkspace(name);
        await ws.startAgent({ provider });
        const rec = T.record(ws, ws);
        const run = await ws.sendMessage("First question");
        await (when ? rec.seen((e) => e.type === when) : T.tell(`asked ${name}`));
        ws.interrupt();
        await rec.ended(run.runId);
        const out = { runId: run.runId, events: [...rec.events], result: T.plain(await run.result), history: T.plain(await ws.history()) };
        return { ...out, next: (await ws.run("Are you still there?")).text };
      }, [row.name, row.provider(route.base), when]);
      const shape = checkRun(seen.events, seen.runId, "agent:session-interrupted");
      assert.equal(seen.result.outcome, "interrupted");
      assert.equal(seen.next, "Still here.");
      assert.deepEqual(route.violations, []);
      assert.equal(route.requests.length, 2, "nothing was asked in between");
      await route.requests[0].closed;
      assert.equal(route.requests[0].aborted, aborts, "the server is told");
      look?.(shape, seen);
    });
  });
  moment("before the head of the answer", () => hang, {});
  moment("in mid-stream", (row) => stream(begun(row), hang), { when: "agent:message-chunk" }, (shape, seen) => {
    assert.match(shape.text, /^Half /);
    assert.match(seen.history[1].parts[0].text, /^Half /);
    assert.equal(seen.history[1].status, "interrupted");
  });
  test("interrupted after its tools have run: their results stay, and the person goes on", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const route = await t.wire(row, row.wire.answer({ tool: "get_weather", args: { city: "Zürich" }, id: row.id(1) }), hang, row.wire.answer("Still here."));
      t.signal(`asked ${row.name}`, async () => { await route.request(2); return null; });
      const seen = await page.evaluate(async ([name, provider]) => {
        const ws = await lodger.openWorkspace(name);
        const asked = T.weather(ws);
        await ws.startAgent({ provider });
        const run = await ws.sendMessage("How is the weather?");
        await T.tell(`asked ${name}`);
        ws.interrupt();
        return { asked, outcome: (await run.result).outcome, next: (await ws.run("Are you still there?")).text };
      }, [row.name, row.provider(route.base)]);
      assert.deepEqual([seen.asked.length, seen.outcome, seen.next], [1, "interrupted", "Still here."]);
      assert.deepEqual(route.violations, []);
      assert.match(route.requests[2].text, /18 °C in Zürich[^]*Are you still there\?/);
    });
  });
  moment("while it waits to ask again", (row) => plain(...row.wire.failures.rate_limit, { "content-type": "application/json", "retry-after": "60" }), { when: "agent:notice", aborts: false });
}

// ------------------------------------------------------------------ an independent server

function independent(test) {
  test("aimock: a tool and its result, then an answer", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const mock = await t.mock([[{ tool: "get_weather", args: { city: "Oslo" } }, { tool: "get_time" }], "It rains at noon."]);
      const seen = await weather(page, row.name, row.provider(mock.base));
      checkRun(seen.events, seen.runId);
      assert.deepEqual([seen.result.outcome, seen.result.text], ["completed", "It rains at noon."]);
      assert.deepEqual(seen.asked.toSorted(), [["get_time", {}], ["get_weather", { city: "Oslo" }]]);
      assert.equal(mock.requests.length, 2);
    });
  });

  test("aimock: its errors, and a stream that it cuts", async (t) => {
    const page = await t.tab();
    await each(async (row) => {
      const text = "A long answer that is never said to its end, because the connection is cut. ".repeat(20);
      const mock = await t.mock([{ status: 500, error: { message: "aimock broke", type: "server_error" } }, text], { slow: { ttft: 1, tps: 20 } });
      t.signal(`shown ${row.name}`, () => { mock.cut(); return null; });
      const seen = await weather(page, row.name, row.provider(mock.base), { retry: { cut: false } });
      const { end, text: shown } = checkRun(seen.events, seen.runId, "agent:error");
      assert.equal(end.code, "stream_broken", end.message);
      assert.deepEqual(seen.events.filter((e) => e.type === "agent:notice").map((e) => e.detail.error.status), [500]);
      assert.ok(shown && text.startsWith(shown), shown);
    });
  });
}
