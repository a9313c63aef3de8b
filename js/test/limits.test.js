import assert from "node:assert/strict";
import { test } from "node:test";
import { open, rejection, turns } from "./fake-host.js";
import { LIMITS, plain, toJson } from "../protocol/json.js";

const SMALL = { answerBytes: 100, argumentBytes: 50, callsPerAnswer: 2, messageBytes: 1_000, resultBytes: 500 };

/** One test over each channel, with small limits. */
function both(title, body) {
  for (const mode of ["direct", "port"]) {
    test(`${title} [${mode}]`, async (t) => {
      const opened = await open(mode, { "tools.resolve": () => {}, "sessions.import": () => {}, "pages.create": () => ({}) }, { limits: SMALL });
      t.after(() => opened.end());
      await opened.workspace.startAgent({});
      await body(opened);
    });
  }
}

const small = (value, bytes, options) => plain(value, "it", { ...options, limit: ["messageBytes", bytes] });
const refused = (value, bytes, options) => assert.throws(() => small(value, bytes, options), { name: "LodgerError", code: "too_large", message: `it has more than ${bytes} bytes.`, hint: /limits\.messageBytes/ });

test("what is counted is the JSON of a value, in UTF-8", () => {
  for (const [text, bytes] of [["x".repeat(100), 100], ["é".repeat(100), 200], ["東".repeat(100), 300], ["📦".repeat(100), 400], ["\ud83d".repeat(100), 200]]) {
    assert.equal(small(text, bytes + 2).length, text.length);
    refused(text, bytes + 1);
  }
  for (const value of [[1, 22, 333, -4.5], { a: "b", c: [true, false, null] }, [[], {}, [[]]], { "ключ": "значение" }]) {
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
    assert.deepEqual(small(value, bytes + 3), value);
    refused(value, Math.floor(bytes / 3));
  }
  refused({ ["k".repeat(1_000)]: 1 }, 900);
});

test("what cannot fit is refused without a look at it", () => {
  let looked = 0;
  const item = { toJSON: () => ++looked };
  refused(Array(10_000).fill(item), 10_000);
  refused(new Array(2 ** 32 - 1), 2 ** 24);
  refused(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [i, item])), 10_000);
  refused(Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`a member number ${i}`, item])), 20_000);
  refused(new Set(Array.from({ length: 10_000 }, () => ({ toJSON: () => ++looked }))), 10_000, { lenient: true });
  refused(new Map(Array.from({ length: 10_000 }, (_, i) => [i, item])), 10_000, { lenient: true });
  assert.equal(looked, 0);
  // A view of numbers is no list of them before it is known that it fits.
  const bytes = new Uint8Array(50_000_000);
  assert.throws(() => toJson(bytes, "result", ["resultBytes", 2 ** 24]), { code: "too_large" });
  assert.throws(() => toJson(bytes.buffer, "result", ["resultBytes", 2 ** 24]), { code: "too_large" });
  // What is too much at its end is looked at until then.
  refused(Array.from({ length: 400 }, () => ({ toJSON: () => (++looked, "x".repeat(100)) })), 1_000);
  assert.ok(looked < 20, `${looked}`);
});

test("a place deep inside is still named", () => {
  assert.throws(() => plain({ a: [{ "b c": 1n }] }, "it"), { message: 'it.a[0]["b c"] is a BigInt, which JSON cannot hold' });
  assert.throws(() => plain({ a: [1, { b: [{}, { c: NaN }] }] }, "it"), { message: "it.a[1].b[1].c is NaN, which JSON cannot hold" });
  const seen = [];
  plain({ a: { b: () => 1 }, c: [() => 2] }, "config", { onFunction: (fn, path) => seen.push(path) });
  assert.deepEqual(seen, ["config.a.b", "config.c[0]"]);
});

both("a message that is too large is refused before it crosses", async ({ workspace, host }) => {
  const before = host.received.length;
  for (const [input, options] of [["x".repeat(2_000)], [{ text: "hi", metadata: { a: "x".repeat(2_000) } }], ["hi", { context: "é".repeat(600) }], ["hi", { schema: { description: "x".repeat(2_000) } }]]) {
    const error = await rejection(workspace.sendMessage(input, options));
    assert.deepEqual([error.name, error.code, error.retryable], ["LodgerError", "too_large", false], JSON.stringify(options));
    assert.match(error.message, /^(sendMessage|schema) has more than 1000 bytes\.$/);
    assert.match(error.hint, /limits\.messageBytes of openWorkspace/);
  }
  assert.equal((await rejection(workspace.sessions.prompt("s", "x".repeat(2_000)))).code, "too_large");
  assert.equal((await rejection(workspace.pages.create({ title: "t", content: "x".repeat(2_000) }))).code, "too_large");
  assert.equal((await rejection(workspace.configureAgent({ instructions: "x".repeat(2_000) }))).code, "too_large");
  assert.throws(() => workspace.tools.register({ name: "t", description: "x".repeat(2_000), inputSchema: { type: "object" } }), { code: "too_large" });
  await turns();
  assert.equal(host.received.length, before, "nothing of it was sent");
  assert.match((await workspace.sendMessage("x".repeat(900))).runId, /run/);
});

both("each command goes by its own limit", async ({ workspace }) => {
  await workspace.tools.resolve("c", { result: "x".repeat(400) });
  const error = await rejection(workspace.tools.resolve("c", { result: "x".repeat(600) }));
  assert.deepEqual([error.code, error.message], ["too_large", "tools.resolve has more than 500 bytes."]);
  assert.match(error.hint, /limits\.resultBytes/);
  // A file has lines as long as they are.
  const line = JSON.stringify({ row: "x".repeat(5_000) });
  await assert.rejects(workspace.sessions.import(new Blob([`${line}\n`])), (error) => error.code !== "too_large");
});

both("a result that is too large is a failed one, and so is what else a function gives", async ({ workspace, host }) => {
  const give = { tool: new Uint8Array(1_000), progress: 1 };
  workspace.tools.register({ name: "t", description: "d", inputSchema: { type: "object" }, execute: (_, { onProgress }) => (onProgress(give.progress), give.tool) });
  await turns();
  const { execute } = [...host.tools.values()][0];
  const called = async () => {
    const id = host.call(execute.$fn, "tool", { args: {}, toolCallId: "c" });
    await turns();
    return host.answers(id).at(-1);
  };
  const { error } = await called();
  assert.deepEqual([error.code, error.message], ["too_large", "result has more than 500 bytes."]);
  assert.match(error.hint, /Less at a time fits; limits\.resultBytes/);
  give.tool = "x".repeat(400);
  assert.equal(JSON.parse((await called()).json).length, 400);
  give.progress = "x".repeat(600);
  assert.equal((await called()).error.message, "progress has more than 500 bytes.");
  await workspace.configureAgent({ instructions: () => "x".repeat(600) });
  const [{ instructions }] = host.commandsSent("configureAgent");
  const id = host.call(instructions.$fn, "instructions", null);
  await turns();
  assert.equal(host.answers(id).at(-1).error.code, "too_large");
});

both("what is thrown is cut, and keeps its hint", async ({ workspace, host }) => {
  let thrown;
  workspace.tools.register({ name: "t", description: "d", inputSchema: { type: "object" }, execute: () => { throw thrown; } });
  await turns();
  const { execute } = [...host.tools.values()][0];
  const error = async (what) => {
    thrown = what;
    const id = host.call(execute.$fn, "tool", { args: {}, toolCallId: "c" });
    await turns();
    return host.answers(id).at(-1).error;
  };
  assert.equal((await error("x".repeat(2 ** 20))).message.length, 2 ** 17);
  assert.equal((await error(new Error("x".repeat(2 ** 20)))).message.length, 2 ** 17);
  assert.equal((await error({ a: "x".repeat(2 ** 20) })).message, "it threw something that cannot be shown");
  assert.equal((await error({ a: 1 })).message, '{"a":1}');
  assert.equal((await error(null)).message, "null");
  assert.equal((await error(Object.assign(new Error("no"), { hint: "do that" }))).hint, "do that");
});

both("a model of the page's own that does not end is ended", async ({ workspace, host }) => {
  for (const [chunk, size] of [["x".repeat(10), 10], [{ choices: [{ delta: { content: "x" } }] }, 39], ["x".repeat(10_000), 10_000]]) {
    let ended = false;
    // It never waits, so no abort can reach it.
    async function* stream() { try { for (;;) yield chunk; } finally { ended = true; } }
    await workspace.configureAgent({ provider: { kind: "custom", stream } });
    const { provider } = host.commandsSent("configureAgent").at(-1);
    const id = host.call(provider.stream.$fn, "stream", {});
    await turns(20);
    const said = host.answers(id);
    const { error } = said.at(-1);
    assert.deepEqual([error.code, error.message], ["too_large", "the answer has more than 400 bytes."]);
    assert.match(error.hint, /limits\.answerBytes/);
    assert.equal(said.length - 1, Math.floor(400 / size));
    assert.ok(ended, "it was told to end");
  }
});

both("a fetch of the page's own that does not end is ended", async ({ workspace, host }) => {
  for (const size of [64, 100_000]) {
    let cancelled = false;
    const body = () => new ReadableStream({ pull: (it) => it.enqueue(new Uint8Array(size)), cancel: () => (cancelled = true) });
    await workspace.configureAgent({ provider: { kind: "anthropic", apiKey: "k", fetch: async () => new Response(body()) } });
    const { provider } = host.commandsSent("configureAgent").at(-1);
    const id = host.call(provider.fetch.$fn, "fetch", { url: "x", method: "POST", headers: [] }, "");
    await turns(20);
    const said = host.answers(id);
    assert.deepEqual([said.at(-1).error?.code, cancelled], ["too_large", true]);
    assert.ok(said.filter(({ bytes }) => bytes).length * size <= 400);
  }
});

test("the module has the same limits of an answer", async () => {
  const { readFileSync } = await import("node:fs");
  const rust = readFileSync(new URL("../../src/model/assembler.rs", import.meta.url), "utf8").match(/Limits \{ answer: (.*), arguments: (.*), calls: (.*) \}/);
  const [answer, args, calls] = rust.slice(1).map((product) => product.split(" * ").reduce((all, number) => all * Number(number), 1));
  assert.deepEqual([answer, args, calls], [LIMITS.answerBytes, LIMITS.argumentBytes, LIMITS.callsPerAnswer]);
});
