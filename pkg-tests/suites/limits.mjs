// What is larger than a workspace takes: answers, arguments, calls, messages and results, with the usual limits and with small ones.
// Each ends with a typed error, the page goes on, and the next message is answered.
import assert from "node:assert/strict";
import { follows, onBothHosts, open, openIn, start } from "../lib/tabs.mjs";
import { hang, stream } from "../servers/raw.mjs";
import { event } from "../servers/sse.mjs";
import { WIRES } from "../servers/wires/index.mjs";

export default function (test) {
  onBothHosts(test, usual, small, tabs);
}

const MB = 2 ** 20;

/** Asks a model of the page's own; `source` is the JavaScript of its `stream`. Its next answer is a short one. */
const asked = (page, source) => page.evaluate(async (source) => {
  const attack = (0, eval)(`(${source})`);
  let times = 0;
  await ws.startAgent({ ifRunning: "join", provider: { kind: "custom", stream: (request, options) => (times++ ? ["Here."] : attack(request, options)) } });
  const { error } = await T.settle(() => ws.run("go"));
  const [, answer] = await ws.history();
  const next = await ws.run("again");
  return { error, times, next: next.text, kept: answer ? T.textOf(answer).length : 0, ran: globalThis.ran ?? 0, status: ws.status() };
}, source);

/** With the usual limits. */
export function usual(on) {
  const tool = (page) => page.evaluate(() => void ws.tools.register({ name: "note", description: "d", readOnly: true, inputSchema: { type: "object" }, execute: () => { globalThis.ran = (globalThis.ran ?? 0) + 1; return 1; } }));

  for (const [title, source, message] of [
    ["text without end", 'async function* () { const text = "x".repeat(2 ** 20); for (;;) yield text; }', /^the model's answer has more than 16777216 bytes$/],
    ["a text of 300 MB in one piece", 'async function* () { yield "x".repeat(300_000_000); }', /^the answer has more than 67108864 bytes/],
    ["arguments of 60 MB", 'async function* () { const call = (fn, more) => ({ choices: [{ delta: { tool_calls: [{ index: 0, ...more, function: fn }] } }] }); yield call({ name: "note", arguments: "{\\"a\\":\\"" }, { id: "c" }); const piece = "x".repeat(2 ** 18); for (let n = 0; n < 240; n++) yield call({ arguments: piece }); yield call({ arguments: "\\"}" }); }', /^a tool call of the model has more than 4194304 bytes$/],
    ["50,000 calls", 'async function* () { for (let n = 0; n < 50_000; n++) yield { choices: [{ delta: { tool_calls: [{ index: n, id: `c${n}`, function: { name: "note", arguments: "{}" } }] } }] }; }', /^the model's answer has more than 128 tool calls$/],
    ["50,000 calls in one piece", 'async function* () { yield { choices: [{ delta: { tool_calls: Array.from({ length: 50_000 }, (_, n) => ({ index: n, id: `c${n}`, function: { name: "note", arguments: "{}" } })) } }] }; }', /^the model's answer has more than 128 tool calls$/],
  ]) {
    on(`a model of the page's own that gives ${title} ends with too_large`, async (t, host) => {
      const page = await open(t, host);
      await tool(page);
      const seen = await asked(page, source);
      assert.equal(seen.error.code, "too_large", JSON.stringify(seen.error));
      assert.match(seen.error.message, message);
      assert.deepEqual([seen.times, seen.next, seen.ran], [2, "Here.", 0], "it is not asked again, and no call is run");
      assert.ok(seen.kept <= 16 * MB);
    });
  }

  on("a model of the page's own that gives empty texts without end leaves the page its turn, and is stopped", async (t, host) => {
    const page = await open(t, host);
    const seen = await page.evaluate(async () => {
      let times = 0;
      await ws.startAgent({ provider: { kind: "custom", stream: (_, { signal }) => (times++ ? ["Here."] : (async function* () { while (!signal.aborted) yield ""; })()) } });
      const run = await ws.sendMessage("go");
      await T.turn();
      ws.interrupt();
      return [(await run.result).outcome, (await ws.run("again")).text];
    });
    assert.deepEqual(seen, ["interrupted", "Here."]);
  });

  // Work that grows with the parts that are there takes longer than a test may hang.
  on("an answer each piece of which begins a new part is told whole", async (t, host) => {
    const page = await open(t, host);
    const seen = await page.evaluate(async (pieces) => {
      async function* stream() { for (let n = 0; n < pieces; n++) yield { choices: [{ delta: n % 2 ? { content: "y" } : { reasoning_content: "x" } }] }; }
      await ws.startAgent({ provider: { kind: "custom", model: "m", stream } });
      await ws.run("go");
      const shown = view.getSnapshot().messages.at(-1).parts;
      const kept = (await ws.history()).at(-1).parts;
      return { shown: shown.length, first: shown[0], last: shown.at(-1), same: kept.length === shown.length && kept.every(({ type, text }, n) => type === shown[n].type && text === shown[n].text) };
    }, 64_000);
    assert.deepEqual(seen, { shown: 64_000, first: { type: "thinking", text: "x" }, last: { type: "text", text: "y" }, same: true });
  });

  on("a server that sends 300 MB is cut off", async (t, host) => {
    const page = await open(t, host);
    const begin = [event({ type: "message_start", message: { id: "m", content: [] } }), event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } })];
    const piece = Buffer.from(event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x".repeat(MB / 2) } }));
    const route = await t.raw(stream(...begin, Array(600).fill(piece)));
    await start(page, route.base);
    const seen = await page.evaluate(() => T.settle(() => ws.run("go")));
    assert.deepEqual([seen.error.code, seen.error.message], ["too_large", "the model's answer has more than 16777216 bytes"]);
    await route.requests[0].closed;
    assert.deepEqual([route.requests[0].aborted, route.requests.length], [true, 1]);
  });

  on("a message of 100 MB, and a result that is a Uint8Array of 50 MB", async (t, host) => {
    const page = await open(t, host);
    const seen = await page.evaluate(async () => {
      const told = [];
      async function* stream({ messages }) {
        const result = messages.findLast(({ role }) => role === "tool");
        if (result) { told.push(result.content); return void (yield "I see."); }
        yield { choices: [{ delta: { tool_calls: [{ index: 0, id: "c", function: { name: "read", arguments: "{}" } }] } }] };
      }
      const big = new Uint8Array(50_000_000);
      ws.tools.register({ name: "read", description: "d", readOnly: true, inputSchema: { type: "object" }, execute: () => big });
      ws.tools.register({ name: "list", description: "d", readOnly: true, inputSchema: { type: "object" }, execute: () => Array.from({ length: 3_000_000 }, (_, n) => ({ n })) });
      await ws.startAgent({ provider: { kind: "custom", stream } });
      const refused = [];
      for (const input of ["x".repeat(100_000_000), { text: "hi", metadata: { all: Array(20_000_000).fill(1) } }, "東".repeat(3_000_000)]) refused.push(await T.refused(() => ws.sendMessage(input)));
      const run = await ws.run("read it");
      const failed = rec.events.filter(({ type, detail }) => type === "agent:tool-call" && detail.status === "failed").map(({ detail }) => detail.error);
      return { refused, told, text: run.text, failed, own: [await T.refused(() => ws.tools.execute("read")), await T.refused(() => ws.tools.execute("list"))], messages: (await ws.history()).length };
    });
    for (const error of seen.refused) {
      assert.deepEqual([error.name, error.code, error.message], ["LodgerError", "too_large", "sendMessage has more than 8388608 bytes."]);
      assert.match(error.hint, /limits\.messageBytes/);
    }
    assert.deepEqual([seen.text, seen.messages], ["I see.", 2]);
    assert.match(seen.told[0], /result has more than 16777216 bytes\. \(Less at a time fits; limits\.resultBytes/, "the model is told what to do");
    for (const error of [...seen.failed, ...seen.own]) assert.deepEqual([error.code, error.message], ["too_large", "result has more than 16777216 bytes."]);
    assert.equal(seen.failed.length, 1);
  });
}

const SMALL = { answerBytes: 4_000, argumentBytes: 500, callsPerAnswer: 3, messageBytes: 3_000, resultBytes: 2_000 };

export function small(on) {
  for (const [title, blocks, message] of [
    ["text", () => [`${"x".repeat(1_000)} `.repeat(6)], "the model's answer has more than 4000 bytes"],
    ["arguments", (row) => [{ tool: "note", args: { a: "x".repeat(600) }, id: row.id(1) }], "a tool call of the model has more than 500 bytes"],
    ["calls", (row) => [1, 2, 3, 4].map((n) => ({ tool: "note", args: {}, id: row.id(n) })), "the model's answer has more than 3 tool calls"],
  ]) {
    on(`on each wire too much ${title} ends the answer, and its connection`, async (t, host) => {
      const page = await t.tab();
      await Promise.all(WIRES.map(async (row) => {
        // It would go on.
        const route = await t.wire(row, stream(row.wire.answer(blocks(row)).slice(0, -1), hang), row.wire.answer("Here."));
        const seen = await page.evaluate(async ([name, host, provider, limits]) => {
          const ws = await lodger.openWorkspace(name, { host, limits });
          let ran = 0;
          ws.tools.register({ name: "note", description: "d", readOnly: true, inputSchema: { type: "object" }, execute: () => ++ran });
          await ws.startAgent({ provider });
          const { error } = await T.settle(() => ws.run("go"));
          return { error, ran, next: (await ws.run("again")).text };
        }, [row.name, host, row.provider(route.base), SMALL]);
        assert.deepEqual([seen.error?.code, seen.error?.message, seen.ran, seen.next], ["too_large", message, 0, "Here."], row.name);
        await route.requests[0].closed;
        assert.deepEqual([route.requests[0].aborted, route.requests.length], [true, 2], row.name);
        assert.deepEqual(route.violations, [], row.name);
      }));
    });
  }

  on("what just fits is taken", async (t, host) => {
    const page = await t.tab();
    const { seen, again } = await page.evaluate(async ([host, limits]) => {
      const ws = await lodger.openWorkspace("fits", { host, limits });
      ws.tools.register({ name: "note", description: "d", readOnly: true, inputSchema: { type: "object" }, execute: () => "r".repeat(1_990) });
      const call = (index) => ({ index, id: `c${index}`, function: { name: "note", arguments: JSON.stringify({ a: "x".repeat(492) }) } });
      const stream = ({ messages }) => (messages.at(-1).role === "tool" ? ["y".repeat(4_000)] : [{ choices: [{ delta: { tool_calls: [0, 1, 2].map(call) } }] }]);
      await ws.startAgent({ provider: { kind: "custom", stream } });
      const { text, outcome } = await ws.run("m".repeat(2_900));
      const again = await T.refused(() => lodger.openWorkspace("fits", { host, limits: { ...limits, resultBytes: 1 } }));
      return { seen: { length: text.length, outcome }, again };
    }, [host, SMALL]);
    assert.deepEqual(seen, { length: 4_000, outcome: "completed" });
    assert.deepEqual([again.code, /another limits/.test(again.message)], ["invalid_config", true]);
  });

  on("limits that are none are refused", async (t, host) => {
    const page = await t.tab();
    const codes = await page.evaluate(async (host) => {
      const codes = [];
      for (const limits of [{ answerBytes: 0 }, { argumentBytes: "4 MB" }, { callsPerAnswer: 1.5 }, { messageBytes: NaN }, { resultBytes: null }, { bytes: 5 }, []]) codes.push((await T.settle(() => lodger.openWorkspace("none", { host, limits }))).error?.code);
      return codes;
    }, host);
    assert.deepEqual(codes, Array(7).fill("invalid_config"));
  });
}

export function tabs(on) {
  on("a following tab refuses its own, and posts nothing of it", async (t, host) => {
    const a = await open(t, host, { limits: SMALL });
    await a.evaluate(() => ws.startAgent({ provider: { kind: "custom", stream: () => ["Here."] } }));
    const b = await openIn(await t.tab(), host, { limits: { ...SMALL, messageBytes: 500 } });
    await follows(b);
    const c = await t.tab();
    await c.evaluate(() => { globalThis.heard = []; new BroadcastChannel("lodger:shared").onmessage = ({ data }) => heard.push(JSON.stringify(data)); });
    const error = await b.evaluate(() => T.refused(() => ws.sendMessage("big".repeat(1_000))));
    assert.deepEqual([error.code, error.message], ["too_large", "sendMessage has more than 500 bytes."]);
    assert.equal(await b.evaluate(async () => (await ws.run("little")).text), "Here.");
    await c.evaluate(async () => { while (!heard.some((text) => text.includes("little"))) await T.turn(); });
    assert.deepEqual(await c.evaluate(() => heard.filter((text) => text.includes("bigbig"))), []);
  });
}
