// One conversation that changes its provider on every turn, over real HTTP: each server judges each request by its own
// strict rules. And thinking with what proves or seals it goes back only to whom it came from.
import assert from "node:assert/strict";
import { sumsUp, WIRES } from "../servers/wires/index.mjs";

export default function (test) {
  test("two rounds of all providers, with thinking and tools, and a reload in the middle", async (t) => {
    const page = await t.tab();
    const { servers, play, requests, said } = await conversation(t);
    const order = [...WIRES, ...WIRES.toReversed()]; // the one in the middle twice in a row
    for (const [turn, row] of order.entries()) {
      if (turn === WIRES.length - 2) { await page.reload(); await t.ready(page); }
      play.turn = turn;
      const result = await ask(page, row.provider(servers.get(row).base), `Question ${turn}.`);
      assert.deepEqual([result.outcome, result.error], ["completed", undefined], `turn ${turn}, ${row.name}`);
      assert.match(result.text, new RegExp(`Answer ${turn} by ${row.name}\\.$`));
    }
    for (const [row, { violations, requests }] of servers) {
      assert.deepEqual(violations, [], row.name);
      assert.equal(requests.length, 4, `${row.name}: two turns of two calls each`);
    }
    assert.ok(order.length >= 12);

    for (const { row, text, turn, call } of requests) {
      const at = `the request of turn ${turn}, call ${call}, to ${row.name}`;
      for (const mark of said) {
        const before = mark.turn < turn || (mark.turn === turn && mark.call < call);
        const own = mark.row === row && row.wire.replays.includes(mark.kind);
        assert.equal(text.includes(mark.text), before && (mark.kind === "text" || own), `${at}: ${mark.kind} "${mark.text}" by ${mark.row.name}`);
      }
      for (let j = 0; j <= turn; j++) {
        assert.ok(text.includes(`Question ${j}.`), `${at}: question ${j}`);
        assert.equal(text.includes(`18 °C in City ${j}`), j < turn || call === 2, `${at}: the result of turn ${j}`);
      }
    }

    const { history, asked } = await page.evaluate(async () => ({ history: T.plain(await ws.history()), asked }));
    assert.deepEqual(history.map((m) => m.role), order.flatMap(() => ["user", "assistant"]));
    order.forEach((row, turn) => {
      const parts = history[2 * turn + 1].parts;
      assert.deepEqual(parts.map((p) => (p.type === "tool-call" ? [p.tool, p.arguments, p.status] : p.text)), [
        `Thought ${turn} by ${row.name}`, `Looking ${turn} for ${row.name}.`, ["get_weather", { city: `City ${turn}` }, "completed"], ["get_time", {}, "completed"],
        ...(odd(turn) ? [["functions.web search", {}, "failed"]] : []), `Afterthought ${turn} by ${row.name}`, `Answer ${turn} by ${row.name}.`,
      ], `turn ${turn}`);
    });
    assert.ok(asked.length >= 2 * WIRES.length, "the tools were run after the reload too");
  });

  test("summed up after every third turn, each time by another provider, with a reload in the middle", async (t) => {
    const page = await t.tab();
    const { servers, play, requests, said, summaries } = await conversation(t);
    const order = [...WIRES, ...WIRES];
    // In the second round by other providers than in the first.
    const isSummedUp = (turn) => (turn + Math.floor(turn / WIRES.length)) % 3 === 2;
    for (const [turn, row] of order.entries()) {
      if (turn === WIRES.length) { await page.reload(); await t.ready(page); }
      play.turn = turn;
      const result = await ask(page, row.provider(servers.get(row).base), `Question ${turn}.`, { compaction: { keep: 1 } });
      assert.deepEqual([result.outcome, result.error], ["completed", undefined], `turn ${turn}, ${row.name}`);
      if (isSummedUp(turn)) assert.equal(await page.evaluate(async () => (await (await ws.compact()).result).outcome), "completed", `summed up after turn ${turn}, by ${row.name}`);
    }
    for (const [row, { violations }] of servers) assert.deepEqual(violations, [], row.name);
    const marks = order.map((_, turn) => turn).filter(isSummedUp);
    assert.deepEqual(summaries.map(({ turn }) => turn), marks);
    assert.ok(marks.length >= 4);

    /** The turn after which a conversation was summed up last, before this one. */
    const markBefore = (turn) => marks.findLast((mark) => mark < turn) ?? -1;
    for (const { row, text, turn, call } of requests) {
      const at = `the request of turn ${turn}, call ${call}, to ${row.name}`;
      const mark = markBefore(turn);
      for (const other of marks) assert.equal(text.includes(`Summary ${other} by `), other === mark, `${at}: the summary of turn ${other}`);
      assert.ok(!/Summing \d+ up|sealsof\d/.test(text), `${at}: what a summary was thought with`);
      for (let j = 0; j <= turn; j++) assert.ok(text.includes(`Question ${j}.`), `${at}: what the person said in turn ${j}`);
      for (const { row: by, turn: when, call: n, kind, text: word } of said) {
        const before = when < turn || (when === turn && n < call);
        const own = by === row && row.wire.replays.includes(kind);
        assert.equal(text.includes(word), before && when > mark && (kind === "text" || own), `${at}: ${kind} "${word}" by ${by.name}`);
      }
    }
    for (const { turn, text } of summaries) {
      const mark = markBefore(turn);
      if (mark >= 0) assert.ok(text.includes(`Summary ${mark} by `), `the summary of turn ${turn} is made of the one before`);
      for (const { turn: when, kind, text: word } of said) assert.equal(text.includes(word), when > mark && when <= turn && kind === "text", `the summary of turn ${turn}: ${kind} "${word}"`);
    }

    const proof = await page.evaluate(async () => T.plain(await ws.sessions.replay(await ws.sessions.export("default"))));
    assert.equal(proof.same, true, JSON.stringify(proof.firstDifference));
  });

  test("what one provider cannot say to the other: interrupted in its middle, the next one goes on", async (t) => {
    const page = await t.tab();
    const last = new Map();
    for (const row of WIRES) {
      const { answer } = row.wire;
      const whole = answer([{ thinking: `Thought of ${row.name}`, seal: "aaaa" }, `Half of ${row.name} and the rest.`]);
      const until = whole.findIndex((piece) => piece.includes("Half")) + 1;
      last.set(row, await t.wire(row, [...whole.slice(0, until), { hang: true }], answer("Whole.")));
    }
    for (const row of WIRES) {
      const outcome = await page.evaluate(async (provider) => {
        globalThis.ws ??= await lodger.openWorkspace("w");
        await (globalThis.begun ? ws.configureAgent({ provider }) : ws.startAgent({ provider }));
        globalThis.begun = true;
        const rec = T.record(ws, ws);
        const run = await ws.sendMessage("Begin.");
        await rec.seen((e) => e.type === "agent:message-chunk" && e.detail.kind === "text");
        ws.interrupt();
        return (await run.result).outcome;
      }, row.provider(last.get(row).base));
      assert.equal(outcome, "interrupted", row.name);
    }
    for (const row of WIRES) {
      const text = await page.evaluate(async (provider) => { await ws.configureAgent({ provider }); return (await ws.run("And now?")).text; }, row.provider(last.get(row).base));
      assert.equal(text, "Whole.", row.name);
      assert.deepEqual(last.get(row).violations, [], row.name);
    }
  });
}

/** Whether the model calls something by a name that is no tool's, and that no other provider would take back. */
const odd = (turn) => turn % 3 === 1;

/** A server for each row, each of which thinks, looks and answers; what they were asked and what they said. */
async function conversation(t) {
  const play = { turn: 0 };
  const requests = [];
  const said = [];
  const summaries = [];
  const servers = new Map();
  for (const row of WIRES) {
    const say = (turn, call, marks) => said.push(...Object.entries(marks).map(([kind, text]) => ({ row, turn, call, kind, text })));
    let n = 0;
    servers.set(row, await t.wire(row, (body, _, record) => {
      const { turn } = play;
      if (sumsUp(body)) {
        summaries.push({ turn, text: record.text });
        return row.wire.answer([{ thinking: `Summing ${turn} up`, seal: `sealsof${turn}` }, `Summary ${turn} by ${row.name}.`]);
      }
      const call = ++n % 2 ? 1 : 2;
      requests.push({ row, turn, call, text: record.text });
      const word = call === 1 ? "Thought" : "Afterthought";
      const marks = { thinking: `${word} ${turn} by ${row.name}`, seal: `seal${call}of${turn}by${row.kind}`, text: call === 1 ? `Looking ${turn} for ${row.name}.` : `Answer ${turn} by ${row.name}.` };
      say(turn, call, marks);
      const blocks = [{ thinking: marks.thinking, seal: marks.seal }, marks.text];
      if (call === 1) {
        blocks.push({ tool: "get_weather", args: { city: `City ${turn}` }, id: row.id(2 * turn) }, { tool: "get_time", id: row.id(2 * turn + 1) });
        if (odd(turn)) blocks.push({ tool: "functions.web search", args: {}, id: row.id(100 + turn) });
      }
      return row.wire.answer(blocks);
    }));
  }
  return { servers, play, requests, said, summaries };
}

/** Asks by the agent that the page has, or a new one. */
async function ask(page, provider, question, more = {}) {
  return page.evaluate(async ([provider, question, more]) => {
    const config = { ...more, provider, reasoning: "low", instructions: "You know the weather.", maxOutputTokens: 4000 };
    if (globalThis.ws) await ws.configureAgent(config);
    else {
      globalThis.ws = await lodger.openWorkspace("w");
      globalThis.asked = T.weather(ws);
      await ws.startAgent(config);
    }
    const run = await ws.sendMessage(question);
    return T.plain(await run.result);
  }, [provider, question, more]);
}
