import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptedModel } from "../providers/testing.js";
import { rejection } from "./fake-host.js";

const { signal } = new AbortController();
async function ask(model, request = {}) {
  const chunks = [];
  for await (const chunk of model.stream(request, { signal })) chunks.push(chunk.choices[0]);
  return chunks;
}

test("turn after turn: words, then a tool call; what was asked is kept", async () => {
  const model = scriptedModel([" Hi  there\nyou ", { tool: "add", args: { a: 1 } }, { tool: "stop" }]);
  assert.deepEqual([model.kind, Object.keys(model)], ["custom", ["kind", "model", "stream"]]);
  const words = await ask(model, { messages: ["one"] });
  assert.deepEqual(words.map(({ delta }) => delta.content), [" ", "Hi  ", "there\n", "you ", undefined]);
  assert.equal(words.at(-1).finish_reason, "stop");
  const [call, end] = await ask(model, { messages: ["two"] });
  assert.deepEqual(call.delta.tool_calls, [{ index: 0, id: "scripted_2", type: "function", function: { name: "add", arguments: '{"a":1}' } }]);
  assert.equal(end.finish_reason, "tool_calls");
  assert.equal((await ask(model))[0].delta.tool_calls[0].function.arguments, "{}");
  assert.deepEqual(model.requests.slice(0, 2), [{ messages: ["one"] }, { messages: ["two"] }]);
});

test("thinking, calls beside each other, errors and streams that break, in the order of the script", async () => {
  const own = new TypeError("mine");
  const model = scriptedModel([[{ thinking: "Well, hm." }, "Look:", { tool: "a" }, { tool: "b", args: { n: 1 } }], ["half", { error: "rate_limit" }], ["half", { error: own }], ["half", { broken: true }, "never"], { error: "quota", message: "none left" }]);
  const chunks = await ask(model);
  assert.deepEqual(chunks.map(({ delta }) => delta.reasoning_content ?? delta.content ?? delta.tool_calls?.[0]).slice(0, 3), ["Well, ", "hm.", "Look:"]);
  assert.deepEqual(chunks.slice(3, 5).map(({ delta }) => delta.tool_calls[0]).map(({ index, id, function: { name, arguments: args } }) => [index, id, name, args]), [[0, "scripted_1", "a", "{}"], [1, "scripted_1_1", "b", '{"n":1}']]);
  assert.equal(chunks.at(-1).finish_reason, "tool_calls");
  const limited = await rejection(ask(model));
  assert.deepEqual([limited.code, limited.message], ["rate_limit", "the script says rate_limit"]);
  assert.equal(await rejection(ask(model)), own);
  assert.equal((await rejection(ask(model))).code, "stream_broken");
  const spent = await rejection(ask(model));
  assert.deepEqual([spent.code, spent.message], ["quota", "none left"]);
});

test("a pause ends by itself, and with the run", async () => {
  const model = scriptedModel([["a", { delay: 1 }, "b"], ["a", { delay: 1e6 }, "b"]]);
  assert.equal((await ask(model)).length, 3);
  const stop = new AbortController();
  const answer = model.stream({}, { signal: stop.signal })[Symbol.asyncIterator]();
  await answer.next();
  const next = answer.next();
  stop.abort();
  assert.equal((await next).value.choices[0].delta.content, "b");
});

test("when it is asked too often it says so, and what is no turn is refused at once", async () => {
  const model = scriptedModel(["Hi"]);
  await ask(model);
  assert.match((await rejection(ask(model))).message, /asked 2 times and has 1 turns/);
  for (const turn of [{ args: {} }, null, 5, [[]], { tool: 5 }, { delay: -1 }, { broken: false }, { tool: "a", thinking: "b" }]) assert.throws(() => scriptedModel(["Hi", turn]), /turn 2 must be a text, \{ thinking \}/);
  for (const [turn, name] of [[{ tool: "t", arguments: {} }, "arguments"], [{ delay: 5, text: "x" }, "text"], [{ error: "server", code: 5 }, "code"]]) {
    assert.throws(() => scriptedModel(["Hi", turn]), new RegExp(`turn 2 has "${name}" in a part of the kind`));
  }
  assert.throws(() => scriptedModel("Hi"), /takes a list of turns/);
});
