import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { availability, promptApi } from "../providers/prompt-api.js";
import { fakeLanguageModel } from "./fake-language-model.js";
import { rejection } from "./fake-host.js";

const TOOLS = [{ type: "function", function: { name: "now", description: "The time.", parameters: { type: "object" } } }];
const user = (content) => ({ role: "user", content });

/** Puts a fake in the place of the browser's. */
function browser(options) {
  const { LanguageModel, log } = fakeLanguageModel(options);
  globalThis.LanguageModel = LanguageModel;
  return log;
}
const press = (isActive) => Object.defineProperty(globalThis.navigator ?? (globalThis.navigator = {}), "userActivation", { value: { isActive }, configurable: true });
afterEach(() => {
  delete globalThis.LanguageModel;
  delete globalThis.navigator?.userActivation;
});

async function ask(provider, { messages = [user("Hi")], tools = [], response_format, signal = new AbortController().signal } = {}) {
  const found = { pieces: [], calls: [], reason: null };
  for await (const piece of provider.stream({ model: "browser", messages, tools, ...(response_format && { response_format }) }, { signal })) {
    if (typeof piece === "string") found.pieces.push(piece);
    else {
      const [{ delta, finish_reason }] = piece.choices;
      if (delta.content) found.pieces.push(delta.content);
      found.calls.push(...(delta.tool_calls ?? []).map((call) => call.function));
      found.reason = finish_reason;
    }
  }
  return found;
}

test("whether there is a model, and for which languages", async () => {
  assert.equal(await availability(), "unavailable");
  for (const state of ["downloadable", "downloading", "available", "unavailable"]) {
    browser({ state });
    assert.equal(await availability(), state);
  }
  browser();
  assert.deepEqual([await availability({ languages: ["en"] }), await availability({ languages: ["tlh"] })], ["available", "unavailable"]);
});

test("the conversation begins the session, what is asked last is asked; in words, and the session ends", async () => {
  const log = browser({ answers: [["Hel", "lo"], ["x"]] });
  const provider = promptApi();
  assert.deepEqual([provider.kind, Object.keys(provider)], ["custom", ["kind", "model", "stream"]]);
  const { pieces } = await ask(provider, { messages: [{ role: "system", content: "Be brief." }, user("Hi"), { role: "assistant", content: "Yes?" }, user("You?")] });
  assert.deepEqual(pieces, ["Hel", "lo"]);
  assert.deepEqual(log.created[0].initialPrompts, [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }, { role: "assistant", content: "Yes?" }]);
  assert.deepEqual([log.prompts[0].input, log.prompts[0].responseConstraint, log.live], ["You?", undefined, 0]);
  await ask(promptApi({ languages: ["en"] }), { messages: [user("Hi"), { role: "assistant", content: "Cut" }] });
  assert.deepEqual(log.created[1].expectedOutputs, [{ type: "text", languages: ["en"] }]);
  assert.equal(log.prompts[1].input, "Go on.");
});

test("an answer of a given form: the browser holds its model to it", async () => {
  const log = browser({ answers: [['{"n":', "1}"], ['{"answer":{"n":2}}']] });
  const response_format = { type: "json_schema", json_schema: { schema: { type: "object", properties: { n: { type: "integer" } } } } };
  assert.equal((await ask(promptApi(), { response_format })).pieces.join(""), '{"n":1}');
  assert.deepEqual(Object.keys(log.prompts[0].responseConstraint.properties), ["n"]);
  assert.equal((await ask(promptApi(), { response_format, tools: TOOLS })).pieces.join(""), '{"n":2}');
  assert.equal(log.prompts[1].responseConstraint.anyOf.length, 2);
});

test("tools: held to JSON, never the browser's own", async () => {
  const log = browser({ answers: [['{"tool":"now",', '"arguments":{}}'], ['{"answer":"It is ', "noon", '."}']] });
  const provider = promptApi();
  const call = await ask(provider, { tools: TOOLS });
  assert.deepEqual([call.pieces, call.calls, call.reason], [[], [{ name: "now", arguments: "{}" }], "tool_calls"]);
  assert.equal(log.prompts[0].responseConstraint.anyOf.length, 2);
  assert.equal(log.prompts[0].omitResponseConstraintInput, true);
  assert.match(log.created[0].initialPrompts[0].content, /now\(\): The time\./);
  assert.ok(log.created.every((options) => !("tools" in options)));
  const said = await ask(provider, { tools: TOOLS });
  assert.deepEqual([said.pieces, said.reason, log.live], [["It is ", "noon", "."], "stop", 0]);
});

test("an old browser's chunks, which repeat what came before", async () => {
  for (const cumulative of [false, true]) {
    browser({ answers: [["a", " b", " c"], ["ha", "ha", "ha"]], cumulative });
    assert.equal((await ask(promptApi())).pieces.join(""), "a b c");
    if (!cumulative) assert.equal((await ask(promptApi())).pieces.join(""), "hahaha");
  }
});

test("no such model: says so, as a page can show it", async () => {
  const none = await rejection(ask(promptApi()));
  assert.deepEqual([none.name, none.code, none.retryable], ["LodgerError", "not_found", false]);
  assert.match(none.message, /Chrome and Edge.*Take another provider/);
  browser({ state: "unavailable" });
  assert.equal((await rejection(promptApi().load())).code, "not_found");
  browser();
  assert.match((await rejection(ask(promptApi({ languages: ["tlh"] })))).message, /unknown language \(tlh\)/);
});

test("a download needs a press, and says so; with one it tells how far it is", async () => {
  const log = browser({ state: "downloadable", answers: [["Hi"]] });
  const told = [];
  const provider = promptApi({ onProgress: (progress) => told.push(progress) });
  for (const active of [false, undefined]) {
    if (active === false) press(false);
    else delete globalThis.navigator.userActivation;
    const error = await rejection(ask(provider));
    assert.equal(error.code, "permission");
    assert.match(error.message, /load\(\) in a button's handler/);
  }
  press(true);
  await provider.load();
  assert.deepEqual(told, [{ loaded: 0, total: 1 }, { loaded: 0.5, total: 1 }, { loaded: 1, total: 1 }]);
  press(false);
  assert.deepEqual((await ask(provider)).pieces, ["Hi"]);
  assert.equal(log.live, 0);
});

test("what does not fit is an error: at the beginning, in the question, and where the browser drops turns", async () => {
  const words = (n) => Array(n).fill("w").join(" ");
  for (const messages of [[user(words(60)), { role: "assistant", content: "a" }, user("b")], [user(words(60))], [user(words(40)), { role: "assistant", content: "a" }, user(words(30))]]) {
    const log = browser({ window: 50, answers: [["never told"]] });
    const error = await rejection(ask(promptApi(), { messages }));
    assert.deepEqual([error.code, log.live], ["context_length", 0]);
  }
});

test("an abort stops an answer and destroys its session, and the next one begins", async () => {
  const never = new Promise(() => {});
  const log = browser({ answers: [["a", never], ["b"], ["c", "d"], ["e"]] });
  const provider = promptApi();
  const controller = new AbortController();
  const first = ask(provider, { signal: controller.signal });
  const second = ask(provider);
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  assert.deepEqual([log.prompts.length, log.live], [1, 1], "one at a time");
  controller.abort();
  assert.deepEqual([(await first).pieces, (await second).pieces, log.live], [["a"], ["b"], 0]);
  for await (const _ of provider.stream({ messages: [user("Hi")] }, { signal: new AbortController().signal })) break;
  assert.deepEqual([log.live, (await ask(provider)).pieces], [0, ["e"]]);
});

test("the browser's errors have codes", async () => {
  for (const [name, code] of [["NotReadableError", "refused"], ["NotSupportedError", "invalid_request"], ["SyntaxError", "protocol"], ["NetworkError", "network"], ["QuotaExceededError", "context_length"], ["NotAllowedError", "permission"], ["UnknownError", "server"]]) {
    const log = browser({ answers: [["a", new DOMException("Says why.", name)]] });
    const error = await rejection(ask(promptApi()));
    assert.deepEqual([error.name, error.code, log.live], ["LodgerError", code, 0]);
    assert.ok(error.message.length > 30);
  }
});
