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

test("when it is asked too often, or a turn is none, it says so", async () => {
  const model = scriptedModel(["Hi", { args: {} }]);
  await ask(model);
  assert.match((await rejection(ask(model))).message, /turn 2 must be a text or \{ tool, args\? \}/);
  assert.match((await rejection(ask(model))).message, /asked 3 times and has 2 turns/);
});
