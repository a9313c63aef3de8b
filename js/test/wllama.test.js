import assert from "node:assert/strict";
import { test } from "node:test";
import { wllama } from "../providers/wllama.js";
import { FakeWllama } from "./fake-wllama.js";
import { rejection } from "./fake-host.js";

const TOOLS = [{ type: "function", function: { name: "now", description: "The time.", parameters: { type: "object" } } }];
const MODEL = "https://models.test/a.gguf";
const request = (more) => ({ model: "wllama", messages: [{ role: "user", content: "Hi" }], tools: [], ...more });

async function ask(provider, more, signal = new AbortController().signal) {
  const found = { text: "", calls: [], reason: null, usage: undefined };
  for await (const { choices: [choice], usage } of provider.stream(request(more), { signal })) {
    found.text += choice?.delta.content ?? "";
    found.calls.push(...(choice?.delta.tool_calls ?? []).map((call) => call.function));
    found.reason = choice?.finish_reason ?? found.reason;
    found.usage = usage ?? found.usage;
  }
  return found;
}

test("nothing is made before it is needed; then the engine is made and loaded once, and tells how far it is", async () => {
  const engine = new FakeWllama({ answers: [["a"], ["b"]] });
  let made = 0;
  const told = [];
  const provider = wllama({ engine: async () => (made++, engine), model: MODEL, contextTokens: 512, loadOptions: { n_gpu_layers: 0 }, onProgress: (p) => told.push(p) });
  assert.deepEqual([made, Object.keys(provider), provider.kind], [0, ["kind", "model", "stream"], "custom"]);
  await Promise.all([provider.load(), provider.load()]);
  assert.deepEqual([(await ask(provider)).text, (await ask(provider)).text, made], ["a", "b", 1]);
  assert.equal(engine.loads.length, 1);
  const { url, options: { progressCallback: _, ...options } } = engine.loads[0];
  assert.deepEqual([url, options], [MODEL, { n_ctx: 512, n_parallel: 1, jinja: true, n_gpu_layers: 0 }]);
  assert.deepEqual(told, [{ loaded: 1, total: 2 }, { loaded: 2, total: 2 }]);
});

test("files are loaded as they are, and an engine that has its model keeps it", async () => {
  const blob = new Blob(["GGUF"]);
  const engine = new FakeWllama({ answers: [["a"], ["b"]] });
  await wllama({ engine, model: blob }).load();
  assert.deepEqual(engine.loads[0].blobs, [blob]);
  assert.equal((await ask(wllama({ engine }))).text, "a");
  assert.equal(engine.loads.length, 1);
  await engine.exit();
  assert.equal((await ask(wllama({ engine, model: [blob] }))).text, "b", "one that was let go is loaded again");
});

test("without tools: the messages, the settings, a limit; the usage from the engine's times", async () => {
  const engine = new FakeWllama({ answers: [["Hel", "lo"], ["x"]] });
  const provider = wllama({ engine, model: MODEL });
  assert.deepEqual(await ask(provider, { temperature: 0, top_k: 3 }), {
    text: "Hello", calls: [], reason: "stop", usage: { prompt_tokens: 7, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 3 } },
  });
  const { abortSignal, ...asked } = engine.asked[0];
  assert.ok(abortSignal instanceof AbortSignal);
  assert.deepEqual(asked, { max_tokens: 1024, temperature: 0, top_k: 3, stream: true, messages: [{ role: "user", content: "Hi" }] });
  await ask(provider, { max_tokens: 9 });
  assert.equal(engine.asked[1].max_tokens, 9);
});

test("a template without tools: held to JSON, which becomes a call or text that streams", async () => {
  const answers = [['{"tool":"n', 'ow","arguments":{}}'], ['{"answer":"It is ', 'noon."}'], Object.assign(['{"answer":"It'], { reason: "length" })];
  const engine = new FakeWllama({ template: "{{ messages }}", answers });
  const provider = wllama({ engine, model: MODEL });
  const call = await ask(provider, { tools: TOOLS });
  assert.deepEqual([call.text, call.calls, call.reason, call.usage.completion_tokens], ["", [{ name: "now", arguments: "{}" }], "tool_calls", 5]);
  const { tools, response_format, messages } = engine.asked[0];
  assert.equal(tools, undefined);
  assert.deepEqual([response_format.type, response_format.json_schema.schema.anyOf.length], ["json_schema", 2]);
  assert.match(messages[0].content, /now\(\): The time\./);
  const said = await ask(provider, { tools: TOOLS });
  assert.deepEqual([said.text, said.calls, said.reason], ["It is noon.", [], "stop"]);
  const cut = await ask(provider, { tools: TOOLS });
  assert.deepEqual([cut.text, cut.reason], ["It", "length"]);
});

test("an answer of a given form: held to it by the engine, beside tools to JSON of ours, whatever the template has", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const response_format = { type: "json_schema", json_schema: { name: "answer", schema, strict: false } };
  for (const template of ["{{ messages }}", "{{ messages }} {{ tools }}"]) {
    const engine = new FakeWllama({ template, answers: [['{"n":', "1}"], ['{"answer":{"n":2}}']] });
    const provider = wllama({ engine, model: MODEL });
    assert.equal((await ask(provider, { response_format })).text, '{"n":1}');
    assert.deepEqual(engine.asked[0].response_format.json_schema.schema, { ...schema, additionalProperties: false });
    assert.equal((await ask(provider, { response_format, tools: TOOLS })).text, '{"n":2}');
    assert.deepEqual([engine.asked[1].tools, engine.asked[1].response_format.json_schema.schema.anyOf.length], [undefined, 2]);
  }
});

test("a model that calls again what it has just been told is asked twice, and both count", async () => {
  const engine = new FakeWllama({ answers: [['{"tool":"now","arguments":{}}'], ['{"answer":"Noon."}']] });
  const messages = [{ role: "user", content: "?" }, { role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "now", arguments: "{}" } }] }, { role: "tool", tool_call_id: "1", content: "noon" }];
  const { text, calls, reason, usage } = await ask(wllama({ engine, model: MODEL }), { tools: TOOLS, messages });
  assert.deepEqual([text, calls, reason, usage.prompt_tokens, usage.completion_tokens, engine.running], ["Noon.", [], "stop", 14, 10, 0]);
});

test("a template with tools: the model's own form, as it comes", async () => {
  const chunk = { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "1", type: "function", function: { name: "now", arguments: "{}" } }] }, finish_reason: null }] };
  const engine = new FakeWllama({ template: "{% if tools %}", answers: [Object.assign([chunk], { reason: "tool_calls" }), ["x"]] });
  const provider = wllama({ engine, model: MODEL });
  const history = { messages: [{ role: "user", content: "?" }, { role: "tool", tool_call_id: "1", content: "noon" }] };
  const { calls, reason } = await ask(provider, { tools: TOOLS, ...history });
  assert.deepEqual([calls, reason], [[{ name: "now", arguments: "{}" }], "tool_calls"]);
  const { tools, tool_choice, messages, response_format } = engine.asked[0];
  assert.deepEqual({ tools, tool_choice, messages, response_format }, { tools: TOOLS, tool_choice: "auto", messages: history.messages, response_format: undefined });
  await ask(provider);
  assert.ok(!("tools" in engine.asked[1]) && !("tool_choice" in engine.asked[1]));
});

test("one answer at a time; an abort ends its answer, and the next one begins when the engine has let go", async () => {
  const never = new Promise(() => {});
  const engine = new FakeWllama({ answers: [["a", never, "b"], ["c"]] });
  const provider = wllama({ engine, model: MODEL });
  const controller = new AbortController();
  const first = provider.stream(request(), { signal: controller.signal });
  const { value } = await first.next().then(() => first.next());
  assert.equal(value.choices[0].delta.content, "a");
  const second = ask(provider);
  const waiting = new AbortController();
  const third = ask(provider, {}, waiting.signal);
  const pending = first.next();
  waiting.abort();
  assert.deepEqual((await third).text, "", "who waits and is aborted leaves at once");
  assert.equal(engine.asked.length, 1);
  controller.abort();
  assert.equal((await pending).done, true);
  assert.equal((await second).text, "c");
  assert.deepEqual([engine.asked.length, engine.running], [2, 0]);
});

test("an answer that is left in the middle is aborted before the next one begins", async () => {
  const engine = new FakeWllama({ answers: [["a", "b", "c"], ["d"]] });
  const provider = wllama({ engine, model: MODEL });
  for await (const _ of provider.stream(request(), { signal: new AbortController().signal })) break;
  assert.deepEqual([engine.asked[0].abortSignal.aborted, engine.running], [true, 0]);
  assert.equal((await ask(provider)).text, "d");
});

test("who is aborted while the model loads leaves; the load goes on", async () => {
  let loaded;
  const engine = new FakeWllama({ answers: [["a"]], loading: () => new Promise((done) => (loaded = done)) });
  const provider = wllama({ engine, model: MODEL });
  const controller = new AbortController();
  const left = ask(provider, {}, controller.signal);
  await new Promise(setImmediate);
  controller.abort();
  assert.equal((await left).text, "");
  loaded();
  assert.equal((await ask(provider)).text, "a");
  assert.deepEqual([engine.loads.length, engine.asked.length, engine.exits], [1, 1, 0]);
});

test("what fails has a code and says what to do, and the next call tries again", async () => {
  assert.equal((await rejection(Promise.resolve().then(() => wllama({})))).code, "invalid_config");
  const unmade = wllama({ engine: () => { throw new Error("no wasm"); } });
  const made = await rejection(ask(unmade));
  assert.deepEqual([made.name, made.code, /no wasm.*must give a Wllama/.test(made.message)], ["LodgerError", "not_configured", true]);
  assert.match((await rejection(wllama({ engine: new FakeWllama() }).load())).message, /needs `model`/);
  const kinds = [
    [new Error(`Failed to fetch ${MODEL}: HTTP 404`), "not_found", /Look at the address/],
    [new TypeError("Failed to fetch"), "network", /CORS/],
    [new Error("memory access out of bounds"), "server", /smaller model/],
    [new Error("Invalid typed array"), "invalid_config", /GGUF/],
  ];
  for (const [error, code, message] of kinds) {
    let tries = 0;
    const engine = new FakeWllama({ answers: [["a"]], loading: async () => { if (tries++ === 0) throw error; } });
    const provider = wllama({ engine, model: MODEL });
    const told = await rejection(ask(provider));
    assert.deepEqual([told.name, told.code], ["LodgerError", code]);
    assert.match(told.message, message);
    assert.equal((await ask(provider)).text, "a");
    assert.equal(engine.exits, 1, "what is half loaded is thrown away first");
  }
  const engine = new FakeWllama({ answers: [[new Error("the request exceeds the available context size")], ["a", new Error("wasm trap")], ["b"]] });
  const provider = wllama({ engine, model: MODEL });
  assert.deepEqual([(await rejection(ask(provider))).code, (await rejection(ask(provider))).code, (await ask(provider)).text], ["context_length", "server", "b"]);
});
