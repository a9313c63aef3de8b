// Answers that have to fit a schema, in Chromium over real HTTP: by each wire's own member, by a tool, by a model of
// the page's own. What does not fit, a Standard Schema, reloads, bad schemas.
import assert from "node:assert/strict";
import path from "node:path";
import { build } from "esbuild";
import { checkRun } from "../lib/events.mjs";
import { ROOT, WORK } from "../lib/package.mjs";
import { onBothHosts, open } from "../lib/tabs.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

/** Which every subset can say; `unit` may be absent. */
const SCHEMA = { type: "object", properties: { n: { type: "integer", minimum: 1 }, unit: { enum: ["cm", "in"] } }, required: ["n"] };
const VALUE = { n: 3, unit: "cm" };
/** Which none can: `any` may be anything. */
const FREE = { type: "object", properties: { n: { type: "integer" }, any: {} }, required: ["n"] };

const data = (value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;

/** What a server of each wire says: a text, or a call. */
const SAYS = {
  anthropic: (said) => message(said.tool ? said : { text: said }),
  chat: (said) => stream(
    data({ id: "c", model: "m", choices: [{ index: 0, delta: said.tool ? { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: said.tool, arguments: JSON.stringify(said.args) } }] } : { content: said }, finish_reason: null }] }),
    data({ choices: [{ index: 0, delta: {}, finish_reason: said.tool ? "tool_calls" : "stop" }] }), data("[DONE]"),
  ),
  responses: (said) => stream(...[
    { type: "response.created", response: { id: "resp_1", model: "m" } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1", role: "assistant", content: [] } },
    { type: "response.content_part.added", output_index: 0, content_index: 0, part: { type: "output_text", text: "" } },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: said },
    { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: said }] } },
    { type: "response.completed", response: { id: "resp_1", model: "m", status: "completed", usage: { input_tokens: 3, output_tokens: 5 } } },
  ].map(data)),
  gemini: (said) => stream(...[
    { event_type: "interaction.created", interaction: { id: "", model: "m", status: "in_progress" } },
    { event_type: "step.start", index: 0, step: { type: "model_output" } },
    { event_type: "step.delta", index: 0, delta: { type: "text", text: said } },
    { event_type: "step.stop", index: 0 },
    { event_type: "interaction.completed", interaction: { id: "", model: "m", status: "completed", usage: { total_input_tokens: 3, total_output_tokens: 5 } } },
  ].map(data)),
  ollama: (said) => stream(...[
    { model: "m", message: { role: "assistant", content: said }, done: false },
    { model: "m", message: { role: "assistant", content: "" }, done: true, done_reason: "stop", eval_count: 5 },
  ].map((line) => `${JSON.stringify(line)}\n`)),
};

/** A provider of each wire, what its server says, and where its request says what the answer has to be. */
const WIRES = {
  anthropic: [{ kind: "anthropic" }, SAYS.anthropic, (body) => body.output_config?.format],
  openai: [{ kind: "openai", model: "m" }, SAYS.chat, (body) => body.response_format?.json_schema],
  "openai-responses": [{ kind: "openai-responses", model: "m" }, SAYS.responses, (body) => body.text?.format],
  xai: [{ kind: "xai", model: "m" }, SAYS.responses, (body) => body.text?.format],
  mistral: [{ kind: "openai-compatible", preset: "mistral", model: "m" }, SAYS.chat, (body) => body.response_format?.json_schema],
  gemini: [{ kind: "gemini", model: "m" }, SAYS.gemini, (body) => body.response_format?.[0]],
  ollama: [{ kind: "ollama", model: "m" }, SAYS.ollama, (body) => body.format && { schema: body.format }],
};

/** What each library gives for `{ n: 1 to 9 }`, and for a list of such: where it can, its own rules decide too. */
const LIBRARIES = `
  import * as v from "valibot";
  import { toStandardJsonSchema } from "@valibot/to-json-schema";
  import { type } from "arktype";
  import { Schema } from "effect";
  import * as z from "zod";
  import * as mini from "zod/mini";
  import * as z41 from "zod41";
  import * as z3 from "zod/v3";
  const effect = Schema.Struct({ n: Schema.Finite });
  const both = (schema) => Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema));
  const of = (s) => ({ valibot: toStandardJsonSchema(s.v), ark: s.ark, effect: both(s.effect), "effect, its JSON Schema": Schema.toStandardJSONSchemaV1(s.effect), zod: s.z, "zod/mini": z.toJSONSchema(s.mini), "zod 4.1": z41.toJSONSchema(s.z41) });
  const one = { v: v.object({ n: v.number() }), ark: type({ n: "number" }), effect, z: z.object({ n: z.number() }), mini: mini.object({ n: mini.number() }), z41: z41.object({ n: z41.number() }) };
  export const objects = of(one);
  objects["zod, with a name"] = z.object({ n: z.number() }).meta({ id: "One" });
  objects["effect, with a name"] = both(effect.annotate({ identifier: "One" }));
  export const lists = of({ v: v.array(one.v), ark: one.ark.array(), effect: Schema.Array(effect), z: z.array(one.z), mini: mini.array(one.mini), z41: z41.array(one.z41) });
  lists["effect, with a name"] = both(Schema.Array(effect).annotate({ identifier: "Many" }));
  lists["zod, with a name"] = z.array(one.z).meta({ id: "Many" });
  export const none = { valibot: one.v, effect: Schema.toStandardSchemaV1(Schema.Struct({ n: Schema.Finite })), zod: one.mini, "zod, version 3": z3.object({ n: z3.number() }), "effect, as it is": effect, other: { "~standard": { version: 1, vendor: "other", validate: (value) => ({ value }) } } };
`;

export default function (test) {
  onBothHosts(test, argumentsCome);
  valueComes(test);

  test("schemas of each library: an object, a list in an object, the arguments of a tool; what has none says how to get one", async (t) => {
    await build({ stdin: { contents: LIBRARIES, resolveDir: ROOT, loader: "js" }, outfile: path.join(WORK, "schemas.js"), bundle: true, format: "esm", logLevel: "error" });
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const { objects, lists, none } = await import("/work/schemas.js");
      const { scriptedModel } = await import("lodger/testing");
      const ws = await lodger.openWorkspace("libraries", { pageTools: false, storage: "memory" });
      const seen = {};
      const got = [];
      for (const [name, schema] of Object.entries(objects)) {
        ws.tools.register({ name: "take", description: "Takes it.", inputSchema: schema, execute: (args) => { got.push(args); return "taken"; } }, { replace: true });
        const model = scriptedModel([{ tool: "take", args: { n: 2 } }, '{"n":3}', '{"value":[{"n":4}]}', '{"value":[{"n":"x"}]}', '{"value":[{"n":5}]}']);
        await ws.stopAgent().catch(() => {});
        await ws.startAgent({ provider: model });
        const one = (await ws.run("One.", { schema })).value;
        const list = (await ws.run("All.", { schema: lists[name] })).value;
        const mended = (await ws.run("All again.", { schema: lists[name] })).value;
        seen[name] = [got.pop(), one, list, mended];
      }
      const refused = Object.fromEntries(Object.entries(none).map(([name, inputSchema]) => {
        try { ws.tools.register({ name: "x", description: "x", inputSchema, execute: () => 1 }); } catch ({ code, message, hint }) { return [name, [code, message, hint]]; }
        return [name, "taken"];
      }));
      const tree = { $defs: { node: { type: "object", properties: { kids: { $ref: "#" } }, required: ["kids"] } }, type: "array", items: { $ref: "#/$defs/node" } };
      await ws.stopAgent();
      await ws.startAgent({ provider: scriptedModel(['{"value":[{"kids":[]}]}', '{"value":"red"}']) });
      return T.plain({ seen, refused, tree: (await ws.run("A tree.", { schema: tree })).value, word: (await ws.run("A word.", { schema: { enum: ["red", "blue"] } })).value });
    });
    for (const [name, values] of Object.entries(seen.seen)) assert.deepEqual(values, [{ n: 2 }, { n: 3 }, [{ n: 4 }], [{ n: 5 }]], name);
    assert.equal(Object.keys(seen.seen).length, 9);
    for (const [name, [code, message, hint]] of Object.entries(seen.refused)) {
      assert.equal(code, "invalid_schema", name);
      assert.match(message, new RegExp(`\\(${name.split(",")[0]}\\) has no JSON Schema`));
      assert.match(hint, { valibot: /toStandardJsonSchema/, effect: /toStandardJSONSchemaV1/, zod: /z\.toJSONSchema/, "zod, version 3": /zod-to-json-schema/, "effect, as it is": /toStandardJSONSchemaV1/, other: /its library/ }[name]);
    }
    assert.deepEqual([seen.tree, seen.word], [[{ kids: [] }], "red"]);
  });

  for (const [name, [provider, says, formOf]] of Object.entries(WIRES)) {
    test(`${name}: by the wire's own member, and once more where it does not fit`, async (t) => {
      const route = await t.raw(says('{"n":0}'), says(JSON.stringify({ n: 3, unit: null })));
      route.everything = true;
      const page = await t.tab();
      const seen = await page.evaluate(async ([provider, schema]) => {
        const ws = await lodger.openWorkspace("w", { pageTools: !["ollama", "gemini"].includes(provider.kind) });
        await ws.startAgent({ provider });
        const rec = T.record();
        const result = await ws.run("Count.", { schema });
        await rec.ended(result.runId);
        return { result: T.plain(result), waited: await ws.wait(result.runId), events: rec.events, history: T.plain(await ws.history()) };
      }, [{ ...provider, apiKey: "k0123456789", baseUrl: route.base, ...(name === "openai" && { headers: { "x-page": "1" } }) }, SCHEMA]);
      // What may be absent and is `null` is absent.
      assert.deepEqual(seen.result.value, { n: 3 });
      assert.equal(seen.result.turns, 2);
      assert.deepEqual(seen.waited.value, { n: 3 });
      const done = seen.events.find(({ type }) => type === "agent:session-completed");
      assert.deepEqual(done.detail.value, { n: 3 });
      checkRun(seen.events, seen.result.runId);
      assert.deepEqual(seen.history[1].parts.map(({ text }) => text), ['{"n":0}', '{"n":3,"unit":null}']);
      const [first, second] = route.requests.map(({ json }) => json);
      const form = formOf(first);
      assert.deepEqual(Object.keys(form.schema.properties), ["n", "unit"]);
      assert.equal(form.schema.additionalProperties, false);
      assert.equal(form.schema.properties.n.minimum, undefined);
      assert.equal(form.schema.properties.n.description, '{"minimum":1}');
      assert.deepEqual(form.schema.required, form.strict ? ["n", "unit"] : ["n"]);
      assert.equal(form.strict, ["anthropic", "gemini", "ollama"].includes(name) ? undefined : true);
      assert.match(JSON.stringify(second), /the answer does not fit: 'n' must be a whole number of at least 1; you sent 0\. Give the whole answer again/);
      assert.deepEqual(formOf(second), form);
    });
  }

  test("anthropic: what its subset cannot say goes by a tool; what is said so is the answer's text", async (t) => {
    const route = await t.raw(message({ tool: "final_answer", args: { n: "x" } }), message(["It is:", { tool: "final_answer", args: { n: 3, any: [1] } }]), message("You are welcome."));
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, schema]) => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record();
      const result = await ws.run("Count.", { schema });
      await ws.run("Thanks.");
      return { result: T.plain(result), events: rec.events, history: T.plain(await ws.history()) };
    }, [route.base, FREE]);
    assert.deepEqual(route.violations, []);
    assert.deepEqual(seen.result.value, { n: 3, any: [1] });
    assert.equal(seen.events.some(({ type }) => type === "agent:tool-call" || type === "agent:permission-required"), false);
    checkRun(seen.events.filter(({ detail }) => !detail.runId || detail.runId === seen.result.runId), seen.result.runId);
    assert.deepEqual(seen.history[1].parts.map(({ type, text }) => [type, text]), [["text", '{"n":"x"}'], ["text", "It is:"], ["text", '{"n":3,"any":[1]}']]);
    const [first, , last] = route.requests.map(({ json }) => json);
    assert.deepEqual(first.tool_choice, { type: "tool", name: "final_answer" });
    assert.deepEqual(first.tools.map(({ name }) => name), ["final_answer"]);
    assert.deepEqual(first.tools[0].input_schema, FREE);
    assert.equal(last.tools, undefined);
    assert.equal(last.tool_choice, undefined);
  });

  test("groq has no member that streams: the tool beside the page's, which are called first", async (t) => {
    const says = SAYS.chat;
    const route = await t.raw(says({ tool: "get_length", args: {} }), says({ tool: "final_answer", args: VALUE }));
    route.everything = true;
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, schema]) => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      ws.tools.register({ name: "get_length", description: "Measures.", inputSchema: {}, execute: () => 3 });
      await ws.startAgent({ provider: { kind: "openai-compatible", preset: "groq", model: "m", apiKey: "k0123456789", baseUrl: base } });
      const run = await ws.sendMessage("Measure.", { schema });
      let text = "";
      for await (const piece of run.textStream) text += piece;
      return { result: T.plain(await run.result), text, history: T.plain(await ws.history()) };
    }, [route.base, SCHEMA]);
    assert.deepEqual(seen.result.value, VALUE);
    assert.equal(seen.text, JSON.stringify(VALUE));
    assert.deepEqual(seen.history[1].parts.map(({ tool, text }) => tool ?? text), ["get_length", JSON.stringify(VALUE)]);
    const [first] = route.requests.map(({ json }) => json);
    assert.deepEqual(first.tools.map((tool) => tool.function.name), ["get_length", "final_answer"]);
    assert.equal(first.tool_choice, undefined);
    assert.equal(first.response_format, undefined);
    assert.match(first.messages[0].content, /by calling the tool final_answer, and by nothing else\.$/);
  });

  test("a model of the page's own gets an OpenAI-shaped response_format, and the schema in words", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async (schema) => {
      const ws = await lodger.openWorkspace("w");
      const model = scriptedModel([{ tool: "search_pages", args: { query: "x" } }, 'Here:\n```json\n{ "n": "3" }\n```', "Sure!"]);
      await ws.startAgent({ provider: model });
      const { value } = await ws.run("Count.", { schema });
      await ws.run("And now?");
      return { value, requests: T.plain(model.requests) };
    }, SCHEMA);
    assert.deepEqual(seen.value, { n: 3 });
    const [first, second, third] = seen.requests;
    assert.deepEqual(first.response_format, { type: "json_schema", json_schema: { name: "answer", schema: SCHEMA, strict: false } });
    assert.ok(first.tools.length > 0 && first.messages[0].content.endsWith(JSON.stringify(SCHEMA)));
    assert.deepEqual(second.response_format, first.response_format);
    assert.equal(third.response_format, undefined);
  });

  test("what does not fit either: the run fails with what is wrong, the text stays, resume() asks once more", async (t) => {
    const route = await t.raw(message("Three."), message('{"n":0}'), message('{"n":1}'));
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, schema]) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record();
      const run = await ws.sendMessage("Count.", { schema });
      const failed = T.plain(await run.result);
      const refused = await T.refused(async () => { const again = await run.result; if (again.outcome !== "completed") throw Object.assign(new Error(again.error.message), again.error); });
      await rec.ended(run.runId);
      const waited = await ws.wait(run.runId);
      const resumed = T.plain(await (await ws.resume()).result);
      return { failed, refused, waited, resumed, events: rec.events, history: T.plain(await ws.history()) };
    }, [route.base, SCHEMA]);
    assert.deepEqual(route.violations, []);
    assert.equal(seen.failed.outcome, "failed");
    assert.equal(seen.failed.error.code, "invalid_output");
    assert.match(seen.failed.error.message, /'n' must be a whole number of at least 1; you sent 0/);
    assert.equal(seen.failed.error.retryable, false);
    assert.ok(seen.failed.error.hint);
    assert.equal("value" in seen.failed, false);
    assert.equal(seen.waited.error.code, "invalid_output");
    assert.deepEqual(seen.history[1].parts.map(({ text }) => text), ["Three.", '{"n":0}']);
    assert.equal(seen.events.find(({ type }) => type === "agent:error").detail.code, "invalid_output");
    assert.deepEqual(seen.resumed.value, { n: 1 });
  });

  test("a Standard Schema: its JSON Schema goes to the model, its own validate decides, its output is the value", async (t) => {
    const route = await t.raw(message('{"day":"2026-02-30"}'), message('{"day":"2026-02-28"}'), message('{"day":"2026-02-28"}'));
    const page = await t.tab();
    const seen = await page.evaluate(async (base) => {
      globalThis.dayOf = () => {
        const validate = (value) => {
          validate.calls++;
          const date = new Date(`${value.day}T00:00:00Z`);
          return date.toISOString().startsWith(value.day) ? { value: { at: date } } : { issues: [{ message: "no such day", path: ["day"] }] };
        };
        validate.calls = 0;
        const json = { type: "object", properties: { day: { type: "string" } }, required: ["day"] };
        return { "~standard": { version: 1, vendor: "acme", validate, jsonSchema: { input: () => json } } };
      };
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record();
      const schema = dayOf();
      const { value, runId } = await ws.run("When?", { schema });
      await rec.ended(runId);
      const told = rec.events.find(({ type }) => type === "agent:session-completed").detail.value;
      const calls = schema["~standard"].validate.calls;
      const again = await (await ws.sendMessage("When?", { schema, idempotencyKey: "k" })).result;
      const same = await (await ws.sendMessage("When?", { schema: dayOf(), idempotencyKey: "k" })).result;
      return { isDate: value.at instanceof Date, at: value.at.toISOString(), told, calls, same: [again, same].map(({ runId, value }) => [runId, value.at.getTime()]) };
    }, route.base);
    assert.deepEqual(route.violations, []);
    assert.equal(seen.isDate, true);
    assert.equal(seen.at, "2026-02-28T00:00:00.000Z");
    // Events and the journal have what the model has said.
    assert.deepEqual(seen.told, { day: "2026-02-28" });
    assert.deepEqual(seen.same[0], seen.same[1]);
    assert.deepEqual(route.requests[0].json.output_config.format.schema, { type: "object", properties: { day: { type: "string" } }, required: ["day"], additionalProperties: false });
    assert.match(JSON.stringify(route.requests[1].json.messages.at(-1)), /the answer does not fit: day: no such day\. Give/);
  });

  test("a reload in mid-answer: the JSON Schema goes on, and the value is there after another", async (t) => {
    const whole = message('{"day":"2026-02-28"}');
    const hold = gate();
    const route = await t.raw(stream(whole.slice(0, 3), hold, whole.slice(3)), message('{"day":7}'), whole);
    const page = await t.tab();
    const runId = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record();
      const json = { type: "object", properties: { day: { type: "string" } }, required: ["day"] };
      const schema = { "~standard": { version: 1, vendor: "acme", validate: () => ({ issues: [{ message: "never" }] }), jsonSchema: { input: () => json } } };
      const { runId } = await ws.sendMessage("When?", { schema, idempotencyKey: "k" });
      await rec.chunk();
      return runId;
    }, route.base);
    await page.reload();
    await t.ready(page);
    const seen = await page.evaluate(async ([base, runId]) => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      await ws.startAgent({ provider: T.anthropic(base) });
      const run = await ws.resume(runId);
      return { result: T.plain(await run.result), same: run.runId === runId };
    }, [route.base, runId]);
    assert.equal(seen.same, true);
    assert.deepEqual(seen.result.value, { day: "2026-02-28" });
    assert.equal(seen.result.turns, 2);
    assert.deepEqual(route.violations, []);
    assert.ok(route.requests[1].json.output_config.format.schema);
    assert.match(JSON.stringify(route.requests[2].json.messages.at(-1)), /'day' must be a text|'day' must be a string/);
    await page.reload();
    await t.ready(page);
    const later = await page.evaluate(async (runId) => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      const waited = await ws.wait(runId);
      await ws.startAgent({ provider: offline() });
      const { result } = await ws.sendMessage("When?", { idempotencyKey: "k" });
      return { waited, result: T.plain(await result) };
    }, runId);
    assert.deepEqual(later.waited.value, { day: "2026-02-28" });
    assert.deepEqual(later.result.value, { day: "2026-02-28" });
    hold.open();
  });

  test("bad schemas: a typed error, and nothing is sent or stored", async (t) => {
    const route = await t.raw(message("Hi."));
    const page = await t.tab();
    const seen = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      const before = (await T.dump("w")).entries.length;
      const loop = { type: "object" };
      loop.properties = { loop };
      const standard = (more) => ({ "~standard": { version: 1, vendor: "acme", validate: (value) => ({ value }), ...more } });
      const errors = {};
      for (const [name, schema] of Object.entries({
        null: null, text: "{}", number: 7, list: [], array: { type: "array", items: 7 }, keyword: { type: "object", required: "n" }, pattern: { properties: { a: { pattern: "(" } } },
        ref: { $ref: "https://example.org/schema" }, loop, fn: () => true, class: new (class Schema {})(),
        silent: standard({}), throws: standard({ jsonSchema: { input() { throw new Error("a transform"); } } }), inside: standard({ jsonSchema: { input: () => ({ type: "string", minLength: "x" }) } }),
      })) {
        errors[name] = await T.refused(() => ws.sendMessage("x", { schema }));
        errors[`run ${name}`] = await T.refused(() => ws.run("x", { schema }));
      }
      const option = await T.refused(() => ws.sendMessage("x", { schemas: {} }));
      const message = await T.refused(() => ws.sendMessage({ text: "x", schema: {} }));
      return { errors, option, message, before, after: (await T.dump("w")).entries.length, history: await ws.history(), busy: T.plain(await ws.run("x")) };
    }, route.base);
    for (const [name, error] of Object.entries(seen.errors)) {
      assert.equal(error.code, "invalid_schema", `${name}: ${JSON.stringify(error)}`);
      assert.equal(error.name, "LodgerError");
      assert.ok(error.message.length > 10 && !/undefined|\[object|NaN/.test(error.message), error.message);
    }
    assert.equal(seen.option.code, "invalid_config");
    assert.equal(seen.message.code, "invalid_arguments");
    assert.equal(seen.before, seen.after);
    assert.deepEqual(seen.history, []);
    assert.equal(seen.busy.text, "Hi.");
    assert.equal(route.requests.length, 1);
  });

  test("interrupted while the page's own schema thinks: no value, and the next message is answered", async (t) => {
    const route = await t.raw(message('{"n":1}'), message("Hi."));
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, json]) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      let asked;
      const reached = new Promise((resolve) => (asked = resolve));
      const schema = { "~standard": { version: 1, vendor: "acme", validate: () => (asked(), new Promise(() => {})), jsonSchema: { input: () => json } } };
      const run = await ws.sendMessage("x", { schema });
      await reached;
      ws.interrupt();
      const result = T.plain(await run.result);
      return { result, next: T.plain(await ws.run("y")), status: ws.status() };
    }, [route.base, SCHEMA]);
    assert.equal(seen.result.outcome, "interrupted");
    assert.equal("value" in seen.result, false);
    assert.equal(seen.next.text, "Hi.");
    assert.equal("value" in seen.next, false);
    assert.equal(seen.status.is_streaming, false);
  });
}

export function argumentsCome(on) {
  on("arguments are shown while they come, in the tab that has the agent and in another; only of a tool that wants it", async (t, host) => {
    const [half, other] = [gate(), gate()];
    const letter = message({ tool: "write_letter", args: { to: "Ann", text: "Dear Ann" } });
    const note = message({ tool: "write_note", args: { to: "Ann", text: "Dear Ann" } });
    const route = await t.raw(stream(...letter.slice(0, 4), half, ...letter.slice(4)), stream(...note.slice(0, 4), other, ...note.slice(4)), message("Done."));
    const letters = async (host) => {
      const page = await open(t, host, { pageTools: false });
      await page.evaluate(() => {
        globalThis.chunks = [];
        globalThis.part = (tool) => view.getSnapshot().messages.flatMap(({ parts }) => parts).find((part) => part.tool === tool);
        ws.addEventListener("agent:message-chunk", ({ detail: { kind, text } }) => chunks.push([kind, text]));
      });
      return page;
    };
    const page = await letters(host);
    await page.evaluate(async (base) => {
      globalThis.given = [];
      const inputSchema = { type: "object", properties: { to: { type: "string" }, text: { type: "string" } }, required: ["to", "text"] };
      for (const [name, streamArguments] of [["write_letter", true], ["write_note", false]]) ws.tools.register({ name, description: "Writes.", openWorld: false, streamArguments, inputSchema, execute: (args) => { given.push(args); return "written"; } });
      await ws.startAgent({ provider: { kind: "anthropic", apiKey: "k0123456789", baseUrl: base } });
    }, route.base);
    const viewer = await letters("page");
    await page.evaluate(() => { globalThis.run = ws.run("Write."); });
    await half.reached;
    for (const tab of [page, viewer]) {
      const seen = await tab.evaluate(async () => {
        await until(() => part("write_letter")?.arguments.to === "Ann");
        return T.plain([part("write_letter"), chunks]);
      });
      // Half of `{"to":"Ann","text":"Dear Ann"}` has come.
      assert.deepEqual([seen[0].status, seen[0].arguments, seen[0].argumentsText], ["receiving", { to: "Ann" }, '{"to":"Ann","te']);
      assert.ok(seen[1].length && seen[1].every(([kind]) => kind === "arguments"), JSON.stringify(seen[1]));
    }
    assert.deepEqual(await page.evaluate(() => given), [], "nothing runs before all is there");
    half.open();
    await other.reached;
    for (const tab of [page, viewer]) {
      const seen = await tab.evaluate(async () => {
        await until(() => part("write_note")?.status === "receiving" && part("write_letter").status === "completed");
        return T.plain(["write_note", "write_letter"].flatMap((tool) => [part(tool).arguments, part(tool).argumentsText ?? null]));
      });
      assert.deepEqual(seen, [{}, null, { to: "Ann", text: "Dear Ann" }, null]);
    }
    other.open();
    assert.equal(await page.evaluate(async () => (await run).text), "Done.");
    assert.deepEqual(await page.evaluate(() => given), [{ to: "Ann", text: "Dear Ann" }, { to: "Ann", text: "Dear Ann" }]);
    assert.equal(await viewer.evaluate(() => chunks.filter(([kind]) => kind === "arguments").map(([, text]) => text).join("")), '{"to":"Ann","text":"Dear Ann"}');
  });
}

export function valueComes(on) {
  on("a value is there while it comes, also behind a word and in what was put around it", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      const words = (text) => text.match(/.{1,4}/gs);
      const pieces = async function* (request) { const said = request.messages.at(-1).content; for (const text of words(said.startsWith("list") ? '{"value":["red","blue"]}' : 'Here:\n```json\n{"name":"Ann \\u00e9","sizes":[1,23],"ok":true}\n```')) { yield text; await new Promise((resolve) => setTimeout(resolve)); } };
      await ws.startAgent({ provider: { kind: "custom", stream: pieces } });
      const all = async (text, schema) => {
        const run = await ws.sendMessage(text, { schema });
        const values = [];
        for await (const value of run.valueStream) values.push(structuredClone(value));
        return T.plain({ values, result: await run.result });
      };
      const object = await all("object", { type: "object", properties: { name: { type: "string" }, sizes: { type: "array" }, ok: { type: "boolean" } }, required: ["name"] });
      const list = await all("list", { type: "array", items: { type: "string" } });
      // The schema was not given to this call.
      const again = [];
      for await (const value of (await ws.regenerate()).valueStream) again.push(structuredClone(value));
      return { object, list, again };
    });
    const { object, list, again } = seen;
    assert.deepEqual(object.values.at(-1), { name: "Ann é", sizes: [1, 23], ok: true });
    assert.deepEqual(object.values.at(-1), object.result.value);
    assert.ok(object.values.some(({ name }) => name === "Ann" || name === "An" || name === "A"), JSON.stringify(object.values));
    assert.ok(object.values.length > 5);
    assert.deepEqual([list.values.at(-1), list.result.value, again.at(-1)], Array(3).fill(["red", "blue"]));
  });

  on("a value is there while it comes, where a tool stands for the answer", async (t) => {
    const page = await t.tab();
    const { values, result } = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { pageTools: false });
      const chunk = (delta, finish_reason = null) => `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      const call = (more) => chunk({ tool_calls: [{ index: 0, ...more }] });
      const pieces = JSON.stringify({ name: "Ann", sizes: [1, 23] }).match(/.{1,4}/gs).map((text) => call({ function: { arguments: text } }));
      const all = [call({ id: "c1", type: "function", function: { name: "final_answer", arguments: "" } }), ...pieces, chunk({}, "tool_calls"), "data: [DONE]\n\n"];
      const comes = async (controller) => {
        for (const piece of all) {
          controller.enqueue(new TextEncoder().encode(piece));
          await new Promise((resolve) => setTimeout(resolve));
        }
        controller.close();
      };
      const fetch = async () => new Response(new ReadableStream({ start: (controller) => void comes(controller) }), { headers: { "content-type": "text/event-stream" } });
      await ws.startAgent({ provider: { kind: "openai-compatible", preset: "groq", model: "m", apiKey: "gsk_0123456789", fetch } });
      const run = await ws.sendMessage("Go.", { schema: { type: "object", properties: { name: { type: "string" }, sizes: { type: "array" } }, required: ["name"] } });
      const values = [];
      for await (const value of run.valueStream) values.push(structuredClone(value));
      return T.plain({ values, result: await run.result });
    });
    assert.ok(values.length > 3, JSON.stringify(values));
    assert.deepEqual([values.at(-1), result.value], Array(2).fill({ name: "Ann", sizes: [1, 23] }));
  });
}
