// The test servers themselves: what they send is a real stream (the official SDK reads it), what they record is whole,
// and the checker refuses what the API refuses.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { check } from "../servers/anthropic-rules.mjs";
import { drop, gate, plain, stream } from "../servers/raw.mjs";
import { errorBody, event, message } from "../servers/sse.mjs";

const client = (baseURL) => new Anthropic({ apiKey: "sk-test", baseURL, maxRetries: 0 });
const hello = { model: "claude-sonnet-4-6", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
const tools = [{ name: "get_weather", description: "Weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }];

export default function (test) {
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

  test("rules: refused: a thinking block that was never sent or was changed", () => {
    const sent = [{ thinking: "Hm", signature: "s1" }, { data: "AAA" }];
    const ask = (block) => check({ headers: headers(), json: { ...hello, messages: [user("a"), assistant([block, text("b")]), user("c")] } }, { sent }).join();
    assert.equal(ask({ type: "thinking", thinking: "Hm", signature: "s1" }), "");
    assert.match(ask({ type: "thinking", thinking: "Hmm", signature: "s1" }), /cannot be modified/);
    assert.match(ask({ type: "thinking", thinking: "Hm", signature: "" }), /signature/);
    assert.equal(ask({ type: "redacted_thinking", data: "AAA" }), "");
    assert.match(ask({ type: "redacted_thinking", data: "AAB" }), /cannot be modified/);
  });
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
