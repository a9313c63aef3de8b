import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, replied, Reply, turns, unlessAborted } from "../providers/constrained.js";
import { rejection } from "./fake-host.js";

const tool = (name, description, parameters) => ({ type: "function", function: { name, description, parameters } });
const WEATHER = tool("get_weather", "Weather of a city. More of this.", { type: "object", properties: { city: { type: "string" }, unit: { enum: ["C", "F"] }, days: { type: "integer" } }, required: ["city"] });
const user = (content) => ({ role: "user", content });

test("without tools a model is asked in plain words and held to nothing", () => {
  const messages = [{ role: "developer", content: "Be brief." }, user([{ type: "text", text: "Hi" }, { type: "text", text: "there" }]), { role: "assistant", content: "Yes?" }];
  assert.deepEqual(asked({ messages, tools: [] }), {
    messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi\n\nthere" }, { role: "assistant", content: "Yes?" }],
  });
});

test("a model that reads only text is told of files", () => {
  const parts = [{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }, { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" } }, { type: "text", text: "Hi" }];
  assert.deepEqual(asked({ messages: [user(parts)], tools: [] }).messages, [user('[An image was attached here; you cannot see it.]\n\n[The file "a.pdf" was attached here; you cannot read it.]\n\nHi')]);
});

test("tools become a line each after the instructions, and the schema has one form for each and one for the answer", () => {
  const gone = tool("send_mail", "Sends. [UNAVAILABLE: Requires Mail capability]", {});
  const { messages, schema } = asked({ messages: [{ role: "system", content: "Be brief." }, user("Paris?")], tools: [WEATHER, gone, tool("now", "")] });
  assert.equal(messages.length, 2);
  assert.match(messages[0].content, /^Be brief\.\n\n[^]*\nget_weather\(city, unit\?: "C"\|"F", days\?: integer\): Weather of a city\.\nnow\(\)/);
  assert.doesNotMatch(messages[0].content, /send_mail|More of this/);
  assert.deepEqual(schema.anyOf.map(({ properties }) => properties.tool?.const ?? Object.keys(properties)), ["get_weather", "now", ["answer"]]);
  assert.deepEqual(schema.anyOf[0], {
    type: "object",
    properties: {
      tool: { const: "get_weather" },
      arguments: { type: "object", properties: { city: { type: "string" }, unit: { enum: ["C", "F"] }, days: { type: "integer" } }, required: ["city"], additionalProperties: false },
    },
    required: ["tool", "arguments"],
    additionalProperties: false,
  });
  assert.equal(asked({ messages: [user("Hi")], tools: [WEATHER] }).messages[0].role, "system");
});

test("the schema keeps the shape of arguments and nothing that only some understand", () => {
  const parameters = {
    type: "object",
    $defs: { "a/b": { type: "array", items: { $ref: "#/$defs/node" } }, node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    properties: {
      list: { $ref: "#/$defs/a~1b" },
      mail: { type: "string", format: "email", pattern: "@", minLength: 3, description: "Where to." },
      many: { type: ["array", "null"], items: { const: 1 }, minItems: 2 },
      either: { oneOf: [{ type: "string", maxLength: 1 }, false] },
      far: { $ref: "https://example.org/schema" },
      any: true,
    },
    required: ["list", "absent"],
  };
  const { properties, required } = asked({ tools: [tool("t", "", parameters)] }).schema.anyOf[0].properties.arguments;
  assert.deepEqual(required, ["list"]);
  assert.deepEqual({ ...properties, list: 0 }, { list: 0, mail: { type: "string" }, many: { type: ["array", "null"], items: { const: 1 } }, either: { anyOf: [{ type: "string" }, {}] }, far: {}, any: {} });
  assert.equal(properties.list.items.properties.next.type, "object");
  assert.ok(JSON.stringify(properties.list).length < 500, "a schema that holds itself ends");
});

test("what the answer has to be stands alone without tools, and in the place of the answer beside them", () => {
  const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] };
  const form = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
  const request = { messages: [user("Hi"), { role: "assistant", content: '{"n":0}' }, user("Again")], response_format: { type: "json_schema", json_schema: { name: "answer", schema } } };
  const alone = asked(request);
  assert.deepEqual([alone.form, alone.schema, alone.messages[1].content], [form, undefined, '{"n":0}']);
  const beside = asked({ ...request, tools: [WEATHER] });
  assert.deepEqual([beside.form, beside.schema.anyOf[1], beside.answer.properties.answer], [form, beside.answer, form]);
  assert.match(beside.messages[0].content, /\{"answer": \{…\}\} when no tool helps/);
  assert.equal(beside.messages[2].content, '{"answer":{"n":0}}', "what was said is in the form that is asked for");
  for (const size of [1, 3, 99]) assert.equal(read('{"answer": {"n": 1, "t": "\\u00e9"}}', size).text, '{"n":1,"t":"é"}');
});

test("calls and results become turns that alternate", () => {
  const call = (id, name, args) => ({ id, type: "function", function: { name, arguments: args } });
  const messages = [
    user("Weather?"),
    { role: "assistant", content: "I look.", tool_calls: [call("1", "get_weather", '{"city":"Paris"}'), call("2", "now", "")] },
    { role: "tool", tool_call_id: "1", content: "18 °C" },
    { role: "tool", tool_call_id: "2", content: "noon" },
    { role: "assistant", content: "18 °C." },
    user("Thanks"),
    { role: "system", content: "Late." },
  ];
  const told = asked({ messages, tools: [WEATHER] }).messages.slice(1);
  assert.deepEqual(told, [
    { role: "user", content: "Weather?" },
    { role: "assistant", content: 'I look.\n{"tool": "get_weather", "arguments": {"city":"Paris"}}\n{"tool": "now", "arguments": {}}' },
    { role: "user", content: told[2].content },
    { role: "assistant", content: '{"answer":"18 °C."}' },
    { role: "user", content: "Thanks\n\nLate." },
  ]);
  assert.match(told[2].content, /get_weather gave:\n18 °C[^]*now gave:\nnoon$/);
});

/** Everything that is told of a text, cut into pieces of `size`. */
function read(json, size) {
  const reply = new Reply();
  const told = [];
  for (let at = 0; at < json.length; at += size) told.push(reply.text(json.slice(at, at + size)));
  const { text = "", call } = reply.end();
  return { text: told.join("") + text, call, pieces: told.filter(Boolean).length };
}

test("after a result the model is told that it may answer now", () => {
  const messages = [user("?"), { role: "tool", tool_call_id: "1", content: "noon" }];
  assert.match(asked({ messages, tools: [WEATHER] }).messages.at(-1).content, /noon\n\nIf that is enough, reply \{"answer"/);
  assert.match(asked({ messages }).messages.at(-1).content, /noon$/, "and in plain words not");
});

test("an answer streams, whatever its pieces are cut into", () => {
  const answer = 'He said "no".\n\tPath C:\\x / é 😀 \u2028 end';
  const escaped = JSON.stringify({ answer }).replace("é", "\\u00e9").replace("😀", "\\ud83D\\uDE00").replace(" / ", " \\/ ");
  for (const json of [JSON.stringify({ answer }), escaped, `\n { "answer" :\t${JSON.stringify(answer)} }\n`]) {
    for (const size of [1, 2, 3, 5, 7, 11, json.length]) assert.equal(read(json, size).text, answer, `${json} by ${size}`);
    assert.ok(read(json, 1).pieces > 20);
  }
  for (const json of ['{"answer":""}', '{"answer": "']) assert.deepEqual(read(json, 1), { text: "", call: undefined, pieces: 0 });
  const reply = new Reply();
  for (const piece of '{"answer":"\\ud83d\\ude00"}'.match(/./g)) assert.doesNotMatch(reply.text(piece), /^[\ud800-\udfff]$/, "half a pair");
  assert.equal(read('{"answer":"a\\u26', 1).text, "a", "half an escape at the end");
  assert.equal(read('{"answer":"a\\uzz b\\q"}', 1).text, "a\\uzz bq");
});

test("a call is told at its end, and one that was cut not at all", () => {
  const json = '{ "tool": "get_weather", "arguments": {"city": "Pa\\"ris"} }';
  for (const size of [1, 4, json.length]) assert.deepEqual(read(json, size), { text: "", call: { name: "get_weather", arguments: '{"city":"Pa\\"ris"}' }, pieces: 0 });
  assert.deepEqual(read('{"tool":"now"}', 3).call, { name: "now", arguments: "{}" });
  assert.deepEqual(read('{"arguments":{},"tool":"now"}', 3).call, { name: "now", arguments: "{}" });
  for (const cut of ['{"tool": "get_wea', '{"tool":"x","arguments":{"a":']) assert.deepEqual(read(cut, 2), { text: "", call: undefined, pieces: 0 });
});

test("a model that keeps to no form is understood in its own words", () => {
  for (const text of ["Hello there", " {x}", "[1]", "{}", '{"other": 1}', '{"answer": 5}', "{"]) {
    for (const size of [1, 3]) assert.deepEqual(read(text, size).text, text);
    assert.equal(read(text, 1).call, undefined);
  }
  assert.ok(read("Hello there", 1).pieces > 5, "it streams");
});

/** What comes of answers, each a list of pieces; and how often the model was asked. */
async function told(answers, { ended, done = [] } = {}) {
  const found = [];
  const schemas = [];
  const ask = (schema) => answers[schemas.push(schema) - 1];
  for await (const { choices } of replied(ask, { schema: "both", done }, ended)) found.push([choices[0].delta, choices[0].finish_reason]);
  return { found, schemas };
}

test("as chat chunks: text and the reason of the end, or one call", async () => {
  assert.deepEqual(await told([['{"answer":"a', "b", '"}']]), { found: [[{ content: "a" }, null], [{ content: "b" }, null], [{}, "stop"]], schemas: ["both"] });
  assert.deepEqual((await told([['{"answer":"a']], { ended: () => "length" })).found, [[{ content: "a" }, null], [{}, "length"]]);
  const { found: [[{ tool_calls }], end] } = await told([['{"tool":"now","argum', 'ents":{}}']], { ended: () => "length" });
  assert.deepEqual([tool_calls, end], [[{ index: 0, id: "call", type: "function", function: { name: "now", arguments: "{}" } }], [{}, "tool_calls"]]);
});

test("a model that asks for what it has just been told is held to an answer", async () => {
  const call = (id, args) => ({ role: "assistant", tool_calls: [{ id, type: "function", function: { name: "get_weather", arguments: args } }] });
  const result = (id) => ({ role: "tool", tool_call_id: id, content: "18 °C" });
  const { done } = asked({ messages: [user("?"), call("1", '{"city":"Rome"}'), result("1"), call("2", '{"city": "Paris"}'), result("2")], tools: [WEATHER] });
  assert.deepEqual(done, [{ name: "get_weather", arguments: '{"city": "Paris"}' }]);
  assert.deepEqual(asked({ messages: [user("?"), call("1", "{}"), result("1"), user("Again")], tools: [WEATHER] }).done, []);
  const asks = (city) => [`{"tool":"get_weather","arguments":{"city":"${city}"}}`];
  const { found, schemas } = await told([asks("Paris"), ['{"answer":"18 °C."}']], { done });
  assert.deepEqual(found, [[{ content: "18 °C." }, null], [{}, "stop"]]);
  assert.deepEqual(schemas[1].required, ["answer"]);
  assert.equal((await told([asks("Rome")], { done })).schemas.length, 1, "another call is one");
  assert.equal((await told([asks("Paris"), asks("Paris")], { done })).found.at(-1)[1], "tool_calls", "a model that cannot be held calls again");
});

test("a queue: in order, and who is aborted while waiting takes no turn and holds none up", async () => {
  const turn = turns();
  const order = [];
  const first = await turn();
  const aborted = new AbortController();
  const second = turn(aborted.signal);
  const third = turn().then((end) => { order.push("third"); return end; });
  aborted.abort();
  assert.equal((await rejection(second)).name, "AbortError");
  assert.equal((await rejection(turn(AbortSignal.abort()))).name, "AbortError");
  assert.deepEqual(order, []);
  first();
  (await third)();
  (await turn())();
  assert.equal(await unlessAborted(Promise.resolve(1), undefined), 1);
  assert.equal((await rejection(unlessAborted(Promise.reject(new Error("x")), new AbortController().signal))).message, "x");
});
