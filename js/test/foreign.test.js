import assert from "node:assert/strict";
import { test } from "node:test";
import { fromForeign } from "../client/foreign.js";

const taken = (messages) => fromForeign(messages).messages;

const text = (text) => ({ type: "text", text });
const user = (...parts) => ({ role: "user", parts });
const assistant = (...parts) => ({ role: "assistant", parts });
const call = (more) => ({ type: "tool-call", toolCallId: "c1", tool: "weather", arguments: { city: "Bern" }, ...more });
/** What each of the shapes below says. */
const WEATHER = [user(text("How warm?")), assistant({ type: "thinking", text: "I look." }, text("One moment."), call({ status: "completed", result: "21" }), text("21 degrees.")), user(text("Thanks"))];

test("the AI SDK's messages of a user interface", () => {
  const tool = { type: "tool-weather", toolCallId: "c1", state: "output-available", input: { city: "Bern" }, output: "21" };
  assert.deepEqual(taken([
    { id: "1", role: "user", parts: [{ type: "text", text: "How warm?", state: "done" }], metadata: { a: 1 } },
    { id: "2", role: "assistant", parts: [{ type: "step-start" }, { type: "reasoning", text: "I look.", state: "done" }, text("One moment."), tool, { type: "step-start" }, text("21 degrees.")] },
    { id: "3", role: "user", parts: [text("Thanks")], createdAt: new Date(5) },
  ]), [{ ...WEATHER[0], metadata: { a: 1 } }, WEATHER[1], { id: "3", ...WEATHER[2], createdAt: 5 }]);
  const states = (state, more) => taken([{ role: "user", content: "x" }, { role: "assistant", parts: [{ type: "dynamic-tool", toolName: "weather", toolCallId: "c1", state, input: { city: "Bern" }, ...more }] }])[1].parts[0];
  assert.deepEqual(states("output-error", { errorText: "no" }), call({ status: "failed", error: { code: "tool_failed", message: "no", retryable: false } }));
  assert.deepEqual(states("output-denied"), call({ status: "denied" }));
  assert.deepEqual(states("input-available"), call({ status: "started" }));
  assert.deepEqual(states("constructor"), call({ status: "started" }));
});

test("the AI SDK's messages of a model, also of earlier versions", () => {
  const answer = (of) => ({ role: "assistant", content: [{ type: "reasoning", text: "I look." }, text("One moment."), { type: "tool-call", toolCallId: "c1", toolName: "weather", [of]: { city: "Bern" } }] });
  const rest = [{ role: "assistant", content: [text("21 degrees.")] }, { role: "user", content: [text("Thanks")] }];
  for (const [args, result] of [["input", { output: { type: "text", value: "21" } }], ["args", { result: "21" }]]) {
    assert.deepEqual(taken([{ role: "user", content: "How warm?" }, answer(args), { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "weather", ...result }] }, ...rest]), WEATHER);
  }
  const [, failed] = taken([{ role: "user", content: "x" }, answer("input"), { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", output: { type: "error-json", value: { why: 1 } } }] }]);
  assert.deepEqual([failed.parts[2].status, failed.parts[2].error.message], ["failed", '{"why":1}']);
});

test("OpenAI's chat messages, and the items of Responses", () => {
  const fn = { name: "weather", arguments: '{"city":"Bern"}' };
  const without = [WEATHER[0], assistant(...WEATHER[1].parts.slice(1)), WEATHER[2]];
  assert.deepEqual(taken([
    { role: "user", content: [text("How warm?")] },
    { role: "assistant", content: "One moment.", tool_calls: [{ id: "c1", type: "function", function: fn }] },
    { role: "tool", tool_call_id: "c1", content: "21" },
    { role: "assistant", content: "21 degrees.", refusal: null },
    { role: "user", content: "Thanks" },
  ]), without);
  assert.deepEqual(taken([
    { role: "user", content: "How warm?" },
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "I look." }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "One moment." }] },
    { type: "function_call", call_id: "c1", ...fn },
    { type: "function_call_output", call_id: "c1", output: "21" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "21 degrees." }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Thanks" }] },
  ]), WEATHER);
  const [, broken] = taken([{ role: "user", content: "x" }, { role: "assistant", content: null, tool_calls: [{ id: "c1", function: { name: "a", arguments: "{" } }] }]);
  assert.deepEqual(broken.parts[0], { type: "tool-call", toolCallId: "c1", tool: "a", arguments: "{", status: "started" });
});

test("Anthropic's messages", () => {
  assert.deepEqual(taken([
    { role: "user", content: "How warm?" },
    { role: "assistant", content: [{ type: "thinking", thinking: "I look.", signature: "s" }, { type: "redacted_thinking", data: "d" }, text("One moment."), { type: "tool_use", id: "c1", name: "weather", input: { city: "Bern" } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: [text("21")] }] },
    { role: "assistant", content: "21 degrees." },
    { role: "user", content: [text("Thanks")] },
  ]), WEATHER);
  const [, failed, more] = taken([{ role: "user", content: "x" }, { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "a", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "no", is_error: true }, text("And now?")] }]);
  assert.deepEqual([failed.parts[0].status, failed.parts[0].error.message, more.parts], ["failed", "no", [text("And now?")]]);
});

test("our own pass as they are, whatever is in them", () => {
  const own = [{ id: "m1", role: "user", parts: [text("a"), { type: "file", fileId: "f" }], status: "complete", createdAt: 5 }, { role: "assistant", parts: [{ type: "thinking", text: "hm" }, call({ status: "completed", result: { a: 1 } })] }, { role: "assistant", parts: [text("b")] }];
  assert.deepEqual(taken(own), own);
  assert.equal(taken(undefined), undefined);
  assert.deepEqual(taken([]), []);
});

test("what version 4 of the AI SDK has beside the content, and once more in its parts", () => {
  const toolInvocations = [{ state: "result", toolCallId: "c1", toolName: "weather", args: { city: "Bern" }, result: 21 }];
  const wanted = [{ type: "thinking", text: "I look." }, call({ toolCallId: "c1", tool: "weather", arguments: { city: "Bern" }, status: "completed", result: 21 }), text("21 degrees.")];
  const beside = { role: "assistant", content: "21 degrees.", reasoning: "I look.", toolInvocations };
  assert.deepEqual(taken([beside])[0].parts, wanted);
  const parts = [{ type: "reasoning", reasoning: "I look." }, { type: "tool-invocation", toolInvocation: toolInvocations[0] }, text("21 degrees.")];
  assert.deepEqual(taken([{ ...beside, parts }])[0].parts, wanted);
});

test("what a model has said in another place than its content", () => {
  assert.deepEqual(taken([{ role: "assistant", content: null, refusal: "No." }])[0].parts, [text("No.")]);
  assert.deepEqual(taken([{ role: "assistant", content: null, audio: { id: "a", transcript: "Spoken." }, tool_calls: null }])[0].parts, [text("Spoken.")]);
});

test("what cannot be taken is named with its place", () => {
  const refused = (messages, place, hint) => assert.throws(() => taken(messages), (error) => {
    assert.deepEqual([error.code, error.message.slice(0, place.length)], ["invalid_arguments", place], error.message);
    return hint ? hint.test(error.hint) : Boolean(error.hint);
  });
  const hello = { role: "user", content: "Hello" };
  refused([{ role: "system", content: "You help." }], 'messages[0] is of the role "system".', /instructions/);
  refused([hello, { role: "user", content: [text("a"), { type: "image_url", image_url: { url: "data:" } }] }], 'messages[1].content[1] is of a kind that cannot be taken: "image_url".');
  refused([{ role: "user", parts: [{ type: "file", url: "data:", mediaType: "image/png" }] }], 'messages[0].parts[0] is of a kind that cannot be taken: "file".');
  refused([hello, { role: "assistant", content: [{ type: "source", url: "https://a" }] }], 'messages[1].content[0] is of a kind that cannot be taken: "source".');
  refused([hello, { role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "1" }] }], 'messages[1].content[0] is the result of a call that is not before it: "x".');
  refused([hello, { role: "tool", tool_call_id: "x", content: "1" }], "messages[1] is the result of a call");
  refused([hello, { role: "assistant", content: [{ type: "tool_use", id: "x", name: "a", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: [{ type: "image" }] }] }], 'messages[2].content[0].content[0] is of a kind that cannot be taken: "image".');
  refused([hello, { type: "web_search_call" }], 'messages[1] is of a kind that cannot be taken: "web_search_call".');
  refused([hello, { role: "user", content: "See this.", experimental_attachments: [{ url: "data:" }] }], "messages[1].experimental_attachments cannot be taken.");
  refused([{ role: "assistant", content: null, function_call: { name: "a", arguments: "{}" } }], "messages[0].function_call cannot be taken.");
  refused([{ role: "assistant", content: "", toolInvocations: [{}] }], "messages[0].toolInvocations[0] is no call of a tool.");
  refused([null], "messages[0] is no object.");
  refused([{ role: "critic", content: "x" }], 'messages[0] is of a role that cannot be taken: "critic".');
  refused([{ content: "x" }], "messages[0] has no role.");
  refused([hello, { role: "user", content: [{ type: "text" }] }], "messages[1].content[0] has no text.");
  refused([hello, { role: "assistant", content: [{ type: "text", text: 5 }] }], "messages[1].content[0] has no text.");
  refused([hello, { role: "assistant", content: [{ type: "tool_use", id: "x", name: "", input: {} }] }], "messages[1].content[0] is a call without an id or a name.");
  refused([hello, { role: "assistant", content: null, tool_calls: [{ id: "x", function: { name: "a", arguments: "{}" } }, { function: { name: "a", arguments: "{}" } }] }], "messages[1].tool_calls[1] is a call without");
  refused([{ role: "user", content: 5 }], "messages[0] has neither a text nor a list of parts.");
});

test("each message has the place of the first that it is made of", () => {
  const messages = [
    { role: "user", content: "How warm?" }, { role: "assistant", content: null, tool_calls: [{ id: "c1", function: { name: "a", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "c1", content: "20" }, { role: "assistant", content: "Warm." }, { role: "user", content: "" },
  ];
  assert.deepEqual(fromForeign(messages).places, [0, 1, 4]);
  assert.deepEqual(fromForeign(taken(messages)).places, [0, 1, 2]);
  assert.deepEqual(fromForeign("x"), { messages: "x", places: [] });
});
