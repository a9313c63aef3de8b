// The test servers themselves: what they send is a real stream (the official SDKs read it), what they record is whole,
// and the checkers refuse what the APIs refuse. What the pool counts, because `cargo xtask test` reads it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { check } from "../servers/anthropic-rules.mjs";
import { drop, gate, plain, stream } from "../servers/raw.mjs";
import { errorBody, event, message } from "../servers/sse.mjs";
import { WIRES } from "../servers/wires/index.mjs";

const client = (baseURL) => new Anthropic({ apiKey: "sk-test", baseURL, maxRetries: 0 });
const hello = { model: "claude-sonnet-4-6", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
const tools = [{ name: "get_weather", description: "Weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }];

export default function (test) {
  test("pool: a test that is skipped is counted apart from those that passed, and fails nothing", () => {
    assert.deepEqual(pooled("ok", "skip", "ok"), [["two: 2 passed, 1 skipped, 0 failed", "skipped: 1", "2 passed, 1 skipped, 0 failed"], 0]);
    assert.deepEqual(pooled("ok", "fail"), [["two: 1 passed, 1 failed", "1 passed, 1 failed"], 1]);
    assert.deepEqual(pooled("skip"), [["two: 0 passed, 1 skipped, 0 failed", "skipped: 1", "0 passed, 1 skipped, 0 failed"], 0]);
    assert.deepEqual(pooled(), [["0 passed, 0 failed"], 1], "there was none");
  });

  test("raw: the Anthropic SDK reads a stream of every kind of block", async (t) => {
    const route = await t.raw(message([{ thinking: "Let me see.", signature: "c2ln" }, "Hello there", { tool: "get_weather", args: { city: "Paris" }, id: "toolu_w" }]));
    route.checked = false; // the SDK sends x-stainless headers
    const answer = await client(route.base).messages.stream({ ...hello, tools }).finalMessage();
    assert.deepEqual(answer.content.map((b) => b.type), ["thinking", "text", "tool_use"]);
    assert.equal(answer.content[0].signature, "c2ln");
    assert.equal(answer.content[1].text, "Hello there");
    assert.deepEqual(answer.content[2].input, { city: "Paris" });
    assert.equal(answer.stop_reason, "tool_use");
    assert.equal(route.requests.length, 1);
    assert.equal(route.requests[0].json.messages[0].content, "Hello");
    assert.deepEqual(route.sent.map((b) => b.thinking), ["Let me see."]);
  });

  test("raw: answers come in a row and the last one stays; a function is asked", async (t) => {
    const route = await t.raw(plain(529, errorBody("overloaded_error", "Overloaded")), (body, n) => message(`${body.messages.length} ${n}`));
    const ask = async () => (await fetch(`${route.base}/v1/messages`, { method: "POST", headers: headers(), body: JSON.stringify(hello) })).text();
    assert.match(await ask(), /overloaded_error/);
    assert.match(await ask(), /"text":"1 "[^]*"text":"2"/);
    assert.match(await ask(), /"text":"3"/);
  });

  test("raw: bytes go out exactly as they are, gates hold, drops cut", async (t) => {
    const hold = gate();
    const cut = gate();
    const route = await t.raw(stream(Buffer.from([0xff, 0xfe]), hold, "after", cut, drop));
    const response = await fetch(`${route.base}/v1/messages`, { method: "POST", headers: headers(), body: JSON.stringify(hello) });
    const reader = response.body.getReader();
    assert.deepEqual([...(await reader.read()).value], [0xff, 0xfe]);
    await hold.reached;
    hold.open();
    assert.equal(Buffer.from((await reader.read()).value).toString(), "after");
    cut.open();
    await assert.rejects(reader.read());
    await route.requests[0].closed;
    assert.equal(route.requests[0].aborted, true);
  });

  test("raw: a client that goes away is noticed", async (t) => {
    const hold = gate();
    const route = await t.raw(stream(event({ type: "ping" }), hold));
    const controller = new AbortController();
    await fetch(`${route.base}/v1/messages`, { method: "POST", headers: headers(), body: JSON.stringify(hello), signal: controller.signal });
    controller.abort();
    await route.requests[0].closed;
    assert.equal(route.requests[0].aborted, true);
    hold.open();
  });

  test("raw: a browser may call it, and is refused where the script says so", async (t) => {
    const route = await t.raw(message("Hi"));
    const closed = await t.raw(message("Hi"));
    closed.cors = false;
    const page = await (await t.context()).newPage();
    await page.goto(`${t.env.site.url}/missing`);
    const post = (base) => page.evaluate(([url, h, body]) => fetch(url, { method: "POST", headers: h, body }).then((r) => r.status, (e) => e.name),
      [`${base}/v1/messages`, headers(), JSON.stringify(hello)]);
    assert.equal(await post(route.base), 200);
    assert.deepEqual(route.violations, []);
    assert.ok(route.preflights >= 1, "no preflight was sent");
    assert.equal(await post(closed.base), "TypeError");
    assert.equal(closed.requests.length, 0);
  });

  test("aimock: the Anthropic SDK reads its turns", async (t) => {
    const mock = await t.mock([{ tool: "get_weather", args: { city: "Oslo" } }, "It rains."]);
    const first = await client(mock.base).messages.stream({ ...hello, tools }).finalMessage();
    const call = first.content.find((b) => b.type === "tool_use");
    assert.deepEqual(call.input, { city: "Oslo" });
    const second = await client(mock.base).messages.stream({ ...hello, tools, messages: [...hello.messages, { role: "assistant", content: first.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "rain" }] }] }).finalMessage();
    assert.equal(second.content[0].text, "It rains.");
    assert.equal(mock.requests.length, 2);
  });

  test("rules: what the API accepts is accepted", () => {
    for (const [name, messages] of Object.entries(GOOD)) assert.deepEqual(broken(messages), [], name);
    assert.deepEqual(check({ headers: headers(), json: { ...hello, messages: GOOD["thinking and a tool"] } }, { sent: [{ thinking: "Hm", signature: "s1" }] }), []);
  });

  for (const [name, [messages, pattern]] of Object.entries(BAD)) {
    test(`rules: refused: ${name}`, () => {
      const found = broken(messages);
      assert.ok(found.some((v) => pattern.test(v)), `${pattern} is not among ${JSON.stringify(found)}`);
    });
  }

  test("rules: refused: bad frames and headers", () => {
    const frame = (change) => check({ headers: headers(), json: { ...hello, ...change } }).join("; ");
    assert.match(frame({ max_tokens: 0 }), /max_tokens/);
    assert.match(frame({ model: "" }), /model/);
    assert.match(frame({ system: "" }), /system/);
    assert.match(frame({ system: [{ type: "text", text: "" }] }), /system/);
    assert.match(frame({ tools: [tools[0], tools[0]] }), /unique/);
    assert.match(frame({ tools: [{ name: "has space", input_schema: { type: "object" } }] }), /bad name/);
    assert.match(frame({ tools: [{ name: "x", input_schema: {} }] }), /input_schema/);
    assert.match(frame({ system: Array.from({ length: 5 }, () => ({ type: "text", text: "x", cache_control: { type: "ephemeral" } })) }), /maximum of 4/);
    assert.match(check({ headers: { ...headers(), origin: "http://a" , "anthropic-dangerous-direct-browser-access": undefined }, json: hello }).join(), /CORS/);
    assert.match(check({ headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" }, json: hello }).join(), /x-api-key/);
    assert.match(check({ headers: headers(), text: "{" }).join(), /not JSON/);
  });

  test("rules: how much a model thinks is a budget for some, an effort for others", () => {
    const ask = (model, thinking, effort) => check({ headers: headers(), json: { ...hello, max_tokens: 4096, model, thinking, output_config: effort && { effort } } }).join("; ");
    const adaptive = { type: "adaptive", display: "summarized" };
    const budget = (budget_tokens) => ({ type: "enabled", budget_tokens });
    for (const model of ["claude-haiku-4-5-20251001", "claude-sonnet-4-5", "claude-opus-4-5"]) {
      for (const tokens of [1024, 4095]) assert.equal(ask(model, budget(tokens)), "");
      for (const tokens of [undefined, 1023, 4096]) assert.match(ask(model, budget(tokens)), /at least 1024/);
      assert.match(ask(model, adaptive), /adaptive thinking is not supported/);
      assert.match(ask(model, budget(1024), "low"), /effort/);
    }
    for (const model of ["claude-sonnet-5", "claude-haiku-5-5", "claude-opus-4-8"]) {
      assert.equal(ask(model, adaptive, "high"), "");
      assert.match(ask(model, budget(1024)), /enabled" is not supported/);
      assert.match(ask(model, { ...adaptive, budget_tokens: 1024 }), /not permitted/);
    }
    assert.equal(ask("claude-sonnet-4-6", budget(1024)), "");
  });

  test("rules: refused: a thinking block that was never sent or was changed", () => {
    const sent = [{ thinking: "Hm", signature: "s1" }, { data: "AAA" }];
    const ask = (block) => check({ headers: headers(), json: { ...hello, messages: [user("a"), assistant([block, text("b")]), user("c")] } }, { sent }).join();
    assert.equal(ask({ type: "thinking", thinking: "Hm", signature: "s1" }), "");
    assert.match(ask({ type: "thinking", thinking: "Hmm", signature: "s1" }), /cannot be modified/);
    assert.match(ask({ type: "thinking", thinking: "Hm", signature: "" }), /signature/);
    assert.equal(ask({ type: "redacted_thinking", data: "AAA" }), "");
    assert.match(ask({ type: "redacted_thinking", data: "AAB" }), /cannot be modified/);
  });

  theWires(test);
}

// ------------------------------------------------------------------ the servers of the other wires

function theWires(test) {
  for (const row of WIRES.filter((row) => row.base.startsWith("/v1") && row.name !== "openai-compatible/mistral")) {
    test(`${row.name}: the OpenAI SDK reads its streams`, async (t) => {
      const route = await t.wire(row, row.wire.answer([{ thinking: "Let me see." }, "Hello there", { tool: "get_weather", args: { city: "Paris" }, id: "call_w" }, { tool: "get_time" }], { cost: { input: 1, cached: 2, output: 3, reasoning: 1 } }));
      route.checked = false; // the SDK sends more than a page may
      const openai = new OpenAI({ apiKey: "sk-test", baseURL: route.base + row.base, maxRetries: 0 });
      if (row.wire.path === "/responses") {
        const { output, output_text, usage } = await openai.responses.stream({ model: "m", input: "x" }).finalResponse();
        assert.deepEqual(output.map((item) => item.type), ["reasoning", "message", "function_call", "function_call"]);
        assert.deepEqual([output_text, output[0].summary[0].text, output[2].call_id, output[2].arguments, output[3].arguments], ["Hello there", "Let me see.", "call_w", '{"city":"Paris"}', "{}"]);
        assert.deepEqual([usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens], [3, 2, 3]);
        assert.equal(route.sent[0].encrypted_content, output[0].encrypted_content, "what it has sealed is remembered");
      } else {
        const { choices: [{ message, finish_reason }], usage } = await openai.chat.completions.stream({ model: "m", messages: [{ role: "user", content: "x" }] }).finalChatCompletion();
        assert.deepEqual([message.content, message.tool_calls.map((call) => [call.function.name, call.function.arguments]), finish_reason], ["Hello there", [["get_weather", '{"city":"Paris"}'], ["get_time", ""]], "tool_calls"]);
        assert.deepEqual([usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens], [3, 2, 3]);
        assert.deepEqual(route.sent.flatMap(({ text }) => text ?? []), ["Let me see."]);
      }
    });
  }

  test("rules: each wire accepts a conversation in its own form", () => {
    for (const [name, { body, sent }] of Object.entries(FORMS)) {
      assert.deepEqual(refused(name, body, sent), "", name);
    }
  });

  for (const [name, { body, sent }] of Object.entries(FORMS)) {
    for (const [what, [change, pattern]] of Object.entries(BROKEN[name])) {
      test(`rules: ${name}: refused: ${what}`, () => {
        const broken = structuredClone(body);
        change(broken);
        assert.match(refused(name, broken, sent), pattern);
      });
    }
  }

  test("rules: Azure wants an address, a version and a key as it has them", () => {
    for (const [name, like, path, version] of [
      ["openai-compatible/azure", "openai", "/r1/openai/deployments/test-model/chat/completions", "2025-04-01-preview"],
      ["openai-responses/azure", "openai-responses", "/r1/openai/v1/responses", "v1"],
    ]) {
      const { wire } = WIRES.find((row) => row.name === name);
      const headers = { "content-type": "application/json", "api-key": "k" };
      const ask = (more) => wire.check({ headers, path, query: { "api-version": version }, json: FORMS[like].body, ...more }, FORMS[like].sent).join("; ");
      assert.equal(ask({}), "", name);
      assert.match(ask({ headers: keyOf(like) }), /invalid subscription key.*authorization is another provider's/);
      assert.match(ask({ path: "/r1/v1/chat/completions" }), /Resource not found/);
      for (const query of [{}, { "api-version": "2024-10-21" }]) assert.match(ask({ query }), /version not supported/);
    }
  });

  test("rules: refused: another provider's headers, and no key", () => {
    for (const name of Object.keys(FORMS)) {
      const { wire } = WIRES.find((row) => row.name === name);
      const ask = (headers) => wire.check({ headers, json: FORMS[name].body }, FORMS[name].sent).join("; ");
      const keyed = keyOf(name);
      assert.match(ask({ ...keyed, "anthropic-version": "2023-06-01" }), /another provider's/);
      assert.match(ask({ ...keyed, "content-type": "text/plain" }), /content-type/);
      if (name !== "ollama") assert.match(ask({ "content-type": "application/json" }), name === "gemini" ? /x-goog-api-key/ : /authorization/);
      assert.match(wire.check({ headers: keyed, text: "{" }, []).join("; "), /no JSON object/);
    }
  });
}

const keyOf = (name) => ({ "content-type": "application/json", ...(name === "gemini" ? { "x-goog-api-key": "k" } : { authorization: "Bearer sk-test" }) });
const refused = (name, body, sent) => WIRES.find((row) => row.name === name).wire.check({ headers: keyOf(name), json: body }, sent).join("; ");

/** A conversation with a tool in the form of each wire, as it must be, and what its server has sent. */
const parameters = { type: "object", properties: {} };
const wrapped = [{ type: "function", function: { name: "get_time", description: "Time", parameters } }];
const chatForm = (id, more = {}) => ({ model: "m", stream: true, tools: wrapped, messages: [
  { role: "user", content: "Hello" }, { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "get_time", arguments: "{}" } }], ...more }, { role: "tool", tool_call_id: id, content: "noon" }] });
const googleForm = () => {
  const body = chatForm("function-call-1");
  body.messages[1].tool_calls[0].extra_content = signature("s1");
  return body;
};
const signature = (thought_signature) => ({ google: { thought_signature } });
const FORMS = {
  openai: { body: chatForm("call_1"), sent: [{ text: "Hm" }] },
  "openai-compatible/google": { body: googleForm(), sent: [{ call: "function-call-1", signature: "s1" }] },
  "openai-compatible/deepseek": { body: chatForm("call_1", { reasoning_content: "Hm" }), sent: [{ text: "Hm" }] },
  "openai-compatible/mistral": { body: chatForm("call00001", { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] }), sent: [{ text: "Hm" }] },
  "openai-responses": { body: { model: "m", stream: true, store: false, tools: [{ type: "function", name: "get_time", description: "Time", parameters, strict: false }], input: [
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] }, { type: "reasoning", summary: [], encrypted_content: "gAAA" },
    { type: "function_call", call_id: "call_1", name: "get_time", arguments: "{}" }, { type: "function_call_output", call_id: "call_1", output: "noon" }] }, sent: [{ encrypted_content: "gAAA" }] },
  gemini: { body: { model: "m", stream: true, store: false, tools: [{ type: "function", name: "get_time", description: "Time", parameters }], input: [
    { type: "user_input", content: [{ type: "text", text: "Hello" }] }, { type: "thought", signature: "c2ln", summary: [{ type: "text", text: "Hm" }] },
    { type: "function_call", id: "k1", name: "get_time", arguments: {} }, { type: "function_result", call_id: "k1", name: "get_time", result: "noon" }] }, sent: [{ text: "Hm", signature: "c2ln" }] },
  ollama: { body: { model: "m", stream: true, truncate: false, shift: false, options: { num_ctx: 4096 }, tools: wrapped, messages: [
    { role: "user", content: "Hello" }, { role: "assistant", content: "", thinking: "Hm", tool_calls: [{ id: "1", type: "function", function: { name: "get_time", arguments: {} } }] },
    { role: "tool", tool_call_id: "1", tool_name: "get_time", content: "noon" }] }, sent: [{ text: "Hm" }] },
};

/** What breaks such a conversation: a change, and what the server then says. */
const both = {
  "no result": [(b) => b.messages.pop(), /no result/],
  "a result of nothing": [(b) => { b.messages[2].tool_call_id = "zzzzzzzzz"; }, /was not called/],
  "an empty result": [(b) => { b.messages[2].content = ""; }, /empty result/],
  "an empty message": [(b) => { b.messages[0].content = " "; }, /empty/],
  "the assistant first": [(b) => b.messages.shift(), /first message/],
  "the assistant last": [(b) => b.messages.push({ role: "assistant", content: "Noon." }), /ends with the assistant/],
  "an unknown role": [(b) => { b.messages[0].role = "human"; }, /unknown role/],
  "a call without arguments": [(b) => { delete b.messages[1].tool_calls[0].function.arguments; }, /arguments/],
  "a call by no name": [(b) => { b.messages[1].tool_calls[0].function.name = "functions.get time"; }, /name|a call of/],
  "two tools of one name": [(b) => b.tools.push(b.tools[0]), /two/],
  "an unknown member": [(b) => { b.store = false; }, /store/],
  "no tools in a list": [(b) => { b.tools = []; }, /leave it out/],
};
const chatOnly = {
  ...both,
  "arguments that are an object": [(b) => { b.messages[1].tool_calls[0].function.arguments = {}; }, /no JSON object in a text/],
  "an id that is too long": [(b) => { b.messages[1].tool_calls[0].id = b.messages[2].tool_call_id = "x".repeat(41); }, /id is not allowed/],
};
const BROKEN = {
  openai: { ...chatOnly, "thinking": [(b) => { b.messages[1].reasoning_content = "Hm"; }, /Additional properties/], "the old limit": [(b) => { b.max_tokens = 9; }, /max_tokens/],
    "the old role": [(b) => b.messages.unshift({ role: "system", content: "Be brief." }), /unknown role/] },
  "openai-compatible/google": { ...chatOnly, "a call without its signature": [(b) => { delete b.messages[1].tool_calls[0].extra_content; }, /missing a thought_signature/],
    "another's signature": [(b) => { b.messages[1].tool_calls[0].extra_content = signature("s2"); }, /other than s1/], "what stands for a signature": [(b) => { b.messages[1].tool_calls[0].extra_content = signature("skip_thought_signature_validator"); }, /other than s1/],
    "another's call without what stands for a signature": [(b) => { b.messages[1].tool_calls[0] = { ...b.messages[1].tool_calls[0], id: "call_1", extra_content: undefined }; b.messages[2].tool_call_id = "call_1"; }, /other than skip_thought/] },
  "openai-compatible/deepseek": { ...chatOnly, "no thinking beside a call": [(b) => { delete b.messages[1].reasoning_content; }, /must be passed back/], "another's thinking": [(b) => { b.messages[1].reasoning_content = "Hmm"; }, /did not send/] },
  "openai-compatible/mistral": { ...chatOnly, "an id of ten": [(b) => { b.messages[1].tool_calls[0].id = b.messages[2].tool_call_id = "0123456789"; }, /id is not allowed/],
    "another's thinking": [(b) => { b.messages[1].content[0].thinking[0].text = "Hmm"; }, /did not send/], "the person right after a result": [(b) => b.messages.push({ role: "user", content: "And?" }), /after role 'tool'/], "stream_options": [(b) => { b.stream_options = {}; }, /stream_options/] },
  ollama: { ...both, "arguments that are a text": [(b) => { b.messages[1].tool_calls[0].function.arguments = "{}"; }, /must be an object/], "no content": [(b) => { b.messages[1].content = null; }, /must be a text/],
    "a result without its tool's name": [(b) => { delete b.messages[2].tool_name; }, /names undefined/], "another's thinking": [(b) => { b.messages[1].thinking = "Hmm"; }, /did not send/],
    "what may be taken away": [(b) => { delete b.truncate; }, /take away/], "no window": [(b) => { delete b.options; }, /num_ctx/] },
  gemini: {
    "no result": [(b) => b.input.pop(), /no result/], "a result of nothing": [(b) => { b.input[3].call_id = "k2"; }, /was not called/], "an empty result": [(b) => { b.input[3].result = ""; }, /empty result/],
    "a result by another name": [(b) => { b.input[3].name = "get_date"; }, /names get_date/], "thinking that led to nothing": [(b) => b.input.splice(2, 2, b.input[0]), /led to nothing/],
    "another's signature": [(b) => { b.input[1].signature = "YW5v"; }, /Corrupted thought/], "another's thinking": [(b) => { b.input[1].summary[0].text = "Hmm"; }, /Corrupted thought/],
    "a call without a signature": [(b) => b.input.splice(1, 1), /missing a thought_signature/], "what it stands for in words": [(b) => { b.input[1].signature = "skip_thought_signature_validator"; }, /Corrupted thought/],
    "arguments that are a text": [(b) => { b.input[2].arguments = "{}"; }, /must be an object/], "something kept": [(b) => { b.store = true; }, /kept/], "a wrapped tool": [(b) => { b.tools = wrapped; }, /flat/],
    "a form beside tools": [(b) => { b.response_format = []; }, /unsupported/], "the model last": [(b) => b.input.push({ type: "model_output", content: [{ type: "text", text: "Noon." }] }), /ends with the model/],
    "the model first": [(b) => b.input.shift(), /first step/], "no tools in a list": [(b) => { b.tools = []; }, /leave it out/], "an unknown member": [(b) => { b.messages = []; }, /Unknown parameter/],
  },
  "openai-responses": {
    "no result": [(b) => b.input.pop(), /No tool output/], "a result of nothing": [(b) => { b.input[3].call_id = "call_2"; }, /No tool call found/], "an empty result": [(b) => { b.input[3].output = ""; }, /empty result/],
    "thinking that led to nothing": [(b) => b.input.splice(2, 2), /without its required following item/], "another's thinking": [(b) => { b.input[1].encrypted_content = "gBBB"; }, /could not be verified/],
    "an item's id": [(b) => { b.input[1].id = "rs_1"; }, /not persisted/], "something kept": [(b) => { b.store = true; }, /kept/], "a wrapped tool": [(b) => { b.tools = wrapped; }, /flat/],
    "a strict tool": [(b) => { delete b.tools[0].strict; }, /strict/], "the chat's messages": [(b) => { b.messages = []; }, /Unknown parameter/], "a text of the wrong side": [(b) => { b.input[0].content[0].type = "output_text"; }, /output_text/],
    "an id that is too long": [(b) => { b.input[2].call_id = b.input[3].call_id = "x".repeat(65); }, /id is not allowed/], "the assistant last": [(b) => b.input.push({ type: "message", role: "assistant", content: [{ type: "output_text", text: "Noon." }] }), /ends with the assistant/],
  },
};

/** The sums that the pool prints for tests that end so, without how long they took; and its exit code. */
function pooled(...ends) {
  const open = { ok: "{ run() {} }", skip: '{ notes: ["skipped: there is none"], run() {} }', fail: '{ run() { throw new Error("no"); } }' };
  const tests = ends.map((end, n) => `{ title: "${n}", open: () => ({ cleanup: [], ...${open[end]} }) }`);
  const code = `import { pool } from "${new URL("../lib/pool.mjs", import.meta.url)}"; await pool([{ name: "two", longest: 1, tests: [${tests}] }], { launch: () => ({ close() {} }) });`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });
  return [stdout.split("\n").filter((line) => / passed|^skipped/.test(line)).map((line) => line.replace(/, \d+ s, the longest.*/, "")), status];
}

const headers = () => ({ "content-type": "application/json", "x-api-key": "sk-test", "anthropic-version": "2023-06-01", "anthropic-dangerous-direct-browser-access": "true" });
const broken = (messages) => check({ headers: headers(), json: { ...hello, messages } });
const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });
const text = (t) => ({ type: "text", text: t });
const use = (id, input = {}) => ({ type: "tool_use", id, name: "get_weather", input });
const result = (id, content = "ok") => ({ type: "tool_result", tool_use_id: id, content });

const GOOD = {
  "a question": [user("Hello")],
  "a dialogue": [user("Hello"), assistant([text("Hi")]), user("And?")],
  "a tool": [user("Hello"), assistant([text("Look"), use("t1")]), user([result("t1")]), assistant([text("Done")]), user("Thanks")],
  "two tools at once": [user("Hello"), assistant([use("t1"), use("t2")]), user([result("t2"), result("t1"), text("go on")])],
  "an empty result": [user("Hello"), assistant([use("t1")]), user([result("t1", "")])],
  "thinking and a tool": [user("Hello"), assistant([{ type: "thinking", thinking: "Hm", signature: "s1" }, use("t1")]), user([result("t1")])],
  "neighbours of one role": [user("Hello"), user("Are you there?")],
  "a paused turn": [user("Find"), assistant([{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }])],
};

const BAD = {
  "no message": [[], /at least one/],
  "assistant first": [[assistant([text("Hi")]), user("Hello")], /first message/],
  "unknown role": [[user("Hello"), { role: "tool", content: "x" }], /unknown role/],
  "empty text message": [[user("")], /non-whitespace/],
  "blank text block": [[user([text("  \n")])], /non-whitespace/],
  "empty content list": [[user("Hello"), assistant([]), user("And?")], /must not be empty/],
  "content of the wrong type": [[user("Hello"), { role: "assistant", content: null }, user("x")], /must not be empty/],
  "call without result": [[user("Hello"), assistant([use("t1")]), user("And?")], /without `tool_result`/],
  "call without result at the end": [[user("Hello"), assistant([use("t1")])], /without `tool_result`/],
  "one of two results missing": [[user("Hello"), assistant([use("t1"), use("t2")]), user([result("t1")])], /without `tool_result`.*t2/],
  "result given twice": [[user("Hello"), assistant([use("t1")]), user([result("t1"), result("t1")])], /multiple/],
  "result without call": [[user("Hello"), assistant([text("Hi")]), user([result("t9")])], /unexpected `tool_use_id`/],
  "result for an older call": [[user("a"), assistant([use("t1")]), user([result("t1")]), assistant([text("b")]), user([result("t1")])], /unexpected `tool_use_id`/],
  "result after text": [[user("Hello"), assistant([use("t1")]), user([text("x"), result("t1")])], /must come first/],
  "result one message late": [[user("Hello"), assistant([use("t1")]), assistant([text("x")]), user([result("t1")])], /without `tool_result`/],
  "same call id twice": [[user("a"), assistant([use("t1")]), user([result("t1")]), assistant([use("t1")]), user([result("t1")])], /must be unique/],
  "call by the user": [[user([use("t1")])], /belong to assistant/],
  "result by the assistant": [[user("a"), assistant([result("t1")]), user("b")], /belong to user/],
  "arguments that are no object": [[user("a"), assistant([use("t1", "x")]), user([result("t1")])], /must be an object/],
  "a bad call id": [[user("a"), assistant([use("t 1")]), user([result("t 1")])], /bad tool_use id/],
  "an unfinished answer at the end": [[user("a"), assistant([text("partial")])], /prefill/],
  "an empty text part in a result": [[user("a"), assistant([use("t1")]), user([result("t1", [text("")])])], /non-empty/],
  "thinking by the user": [[user([{ type: "thinking", thinking: "x", signature: "s" }])], /belong to assistant/],
};
