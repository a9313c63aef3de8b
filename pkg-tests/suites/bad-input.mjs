// What tools are given wrongly: schemas that are none, that loop or explode, arguments that no tool should see, answers
// to what nobody asked. Each is a clear error with its code. Nothing panics, hangs or reaches a tool.
import assert from "node:assert/strict";
import path from "node:path";
import { build } from "esbuild";
import { ROOT, WORK } from "../lib/package.mjs";

export default function (test) {
  schemas(test);
  args(test);
  strays(test);
  standard(test);
}

// ------------------------------------------------------------------ schemas

function schemas(test) {
  /** Registers tools with these schemas, by their JavaScript; tells how each went. */
  const register = async (t, sources) => {
    const page = await t.tab();
    const requests = [];
    page.on("request", (r) => requests.push(r.url()));
    const seen = await page.evaluate(async (sources) => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      // A schema that few have is looked at when its part of the module has come: what is wrong with it is told then.
      const told = new Map();
      document.addEventListener("agent:error", ({ detail: { code, message } }) => told.set(/\bt\d+\b/.exec(message)?.[0], { code, name: "LodgerError", message }));
      return Promise.all(sources.map(async (source, i) => {
        const inputSchema = (0, eval)(`(${source})`);
        const begin = performance.now();
        try { ws.tools.register({ name: `t${i}`, description: "d", inputSchema, execute: () => "ran" }); } catch (error) { return { code: error.code, name: error.name, message: error.message, ms: performance.now() - begin }; }
        const called = await T.settle(() => ws.tools.execute(`t${i}`, {}));
        return told.get(`t${i}`) ?? { called: called.error?.code ?? called.value.result, ms: performance.now() - begin };
      }));
    }, sources);
    assert.deepEqual(requests.filter((url) => url.includes("example")), [], "nothing is fetched");
    return seen;
  };

  for (const [title, source, message] of [
    ["a text", '"object"', /schema/i],
    ["a number", "7", /schema/i],
    ["null", "null", /schema/i],
    ["a list", "[]", /schema/i],
    ["true", "true", /schema/i],
    ["absent", "undefined", /inputSchema|schema/i],
    ["of another type than object", '{ type: "array" }', /object/],
    ["with a type that there is not", '{ type: "object", properties: { a: { type: "text" } } }', /text|type/],
    ["with an invalid pattern", '{ type: "object", properties: { a: { type: "string", pattern: "([" } } }', /pattern/],
    ["with an invalid pattern of names", '{ type: "object", patternProperties: { "*": {} } }', /pattern/i],
    ["that refers to itself and nothing else", '{ $ref: "#" }', /\$ref|loop|itself/],
    ["that refers in a circle", '{ type: "object", properties: { a: { $ref: "#/$defs/x" } }, $defs: { x: { $ref: "#/$defs/y" }, y: { allOf: [{ $ref: "#/$defs/x" }] } } }', /\$ref|loop|itself/],
    ["that refers to nowhere", '{ type: "object", properties: { a: { $ref: "#/$defs/none" } } }', /\$defs\/none/],
    ["that refers to the network", '{ type: "object", properties: { a: { $ref: "https://example.com/schema.json" } } }', /example\.com/],
    ["nested deeper than anyone writes", '(() => { let s = {}; for (let i = 0; i < 90; i++) s = { type: "object", properties: { a: s } }; return s; })()', /deep|nested/],
    ["that explodes", '(() => { const $defs = { d0: { type: "string" } }; for (let i = 1; i < 40; i++) $defs[`d${i}`] = { anyOf: [{ $ref: `#/$defs/d${i - 1}` }, { $ref: `#/$defs/d${i - 1}` }] }; return { type: "object", properties: { a: { $ref: "#/$defs/d39" } }, $defs }; })()', /work|large|many|much/],
    ["that holds a function", '{ type: "object", properties: { a: () => 1 } }', /function/],
    ["that holds itself", '(() => { const s = { type: "object" }; s.properties = { s }; return s; })()', /refers back/],
    ["with numbers where keywords want none", '{ type: "object", required: "a" }', /required/],
    ["with a negative length", '{ type: "object", properties: { a: { minLength: -1 } } }', /minLength/],
  ]) {
    test(`a schema ${title} is refused when it is registered`, async (t) => {
      const [seen] = await register(t, [source]);
      assert.ok(["invalid_schema", "invalid_tool"].includes(seen.code), JSON.stringify(seen));
      assert.equal(seen.name, "LodgerError");
      assert.match(seen.message, message);
      assert.match(seen.message, /t0|inputSchema/, "it says which tool");
      assert.ok(seen.message.length < 2000, `${seen.message.length} characters`);
    });
  }

  test("schemas that are large, recursive or strange, but right, work", async (t) => {
    const seen = await register(t, [
      // 1 MB: ten thousand members, each with its description.
      '{ type: "object", properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`member_${i}`, { type: "string", description: "a word about it ".repeat(4) + i }])) }',
      '{ type: "object", properties: { a: { enum: Array.from({ length: 50_000 }, (_, i) => `value number ${i}`) } } }',
      '{ type: "object", properties: { node: { $ref: "#/$defs/node" } }, $defs: { node: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } } } } }',
      '{}',
      '{ type: "object", $schema: "https://json-schema.org/draft/2020-12/schema", "x-vendor": { anything: [1, null] }, title: "T" }',
      '{ type: "object", properties: JSON.parse(\'{"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "toString": {"type": "string"}}\') }',
    ]);
    for (const [i, { code, called }] of seen.entries()) assert.deepEqual([i, code, called], [i, undefined, "ran"]);
    t.note(`1 MB in ${seen[0].ms.toFixed(0)} ms`);
  });

  test("schemas and arguments that would make validation run away end in time", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      const results = {};
      const attempt = async (name, inputSchema, args) => {
        try { ws.tools.register({ name, description: "d", inputSchema, coerce: false, execute: () => "ran" }); } catch (error) { results[name] = error.code; return; }
        const { value, error } = await T.settle(() => ws.tools.execute(name, args));
        results[name] = error?.code ?? value.result;
      };
      // Each level looks at the one below it twice: 2^25 looks at a value of 25 levels.
      const twice = { type: "object", properties: { v: { $ref: "#/$defs/n" } }, $defs: { n: { anyOf: [{ type: "object", required: ["no"], properties: { c: { $ref: "#/$defs/n" } } }, { type: "object", required: ["nor"], properties: { c: { $ref: "#/$defs/n" } } }] } } };
      let v = {};
      for (let i = 0; i < 60; i++) v = { c: v };
      await attempt("twice", twice, { v });
      await attempt("unique", { type: "object", properties: { a: { type: "array", uniqueItems: true } } }, { a: Array.from({ length: 20_000 }, (_, i) => ({ i })) });
      await attempt("contains", { type: "object", properties: { a: { type: "array", contains: { type: "array", contains: { const: 1 } } } } }, { a: Array.from({ length: 300 }, () => Array(300).fill(0)) });
      return results;
    });
    for (const [name, outcome] of Object.entries(seen)) assert.ok(["ran", "invalid_schema", "invalid_arguments"].includes(outcome), `${name}: ${outcome}`);
    assert.equal(seen.twice, "invalid_arguments");
    t.note(JSON.stringify(seen));
  });

  for (const [what, pattern, message] of [
    ["a backreference", "(a)\\1", /'\/properties\/a\/pattern' has a backreference at character 4, which is not supported/],
    ["a named backreference", "(?<n>a)\\k<n>", /has a backreference at character 8/],
    ["a lookahead", "^(?=a)", /has a lookahead at character 2/],
    ["a lookbehind", "(?<!a)b", /has a lookbehind at character 1/],
    ["repeats without end", "(?:a{1000}){1000}", /is too large/],
  ]) {
    test(`a pattern with ${what} is refused when it is registered, with what to do`, async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (pattern) => {
        const ws = await lodger.openWorkspace("w", { storage: "memory" });
        // The part of the module is there, so it is thrown.
        ws.tools.register({ name: "first", description: "d", inputSchema: { type: "object", properties: { a: { pattern: "a" } } }, execute: () => "ran" });
        await ws.tools.execute("first", {});
        const { code, message, hint } = await T.refused(() => ws.tools.register({ name: "t", description: "d", inputSchema: { type: "object", properties: { a: { type: "string", pattern } } }, execute: () => "ran" }));
        return { code, message, hint };
      }, pattern);
      assert.equal(seen.code, "invalid_schema");
      assert.match(seen.message, message);
      assert.match(seen.hint, /linear|minLength/);
    });
  }
}

// ------------------------------------------------------------------ arguments

/** In the page: the model calls `t` with these texts as its arguments, one after the other. */
async function callAll({ inputSchema, coerce, texts }) {
  const ws = await lodger.openWorkspace("w", { storage: "memory" });
  const got = [];
  // As code, because what is looked at is what `execute` sees.
  ws.tools.register({ name: "t", description: "d", coerce, inputSchema: typeof inputSchema === "string" ? JSON.parse(inputSchema) : inputSchema, execute: (args) => { got.push({ own: Object.keys(args), json: JSON.stringify(args), inherited: args.polluted ?? null }); return "ran"; } });
  let n = 0;
  const provider = { kind: "custom", async *stream({ messages }) {
    if (messages.at(-1).role === "tool") { yield "Next."; return; }
    yield { choices: [{ delta: { tool_calls: [{ index: 0, id: `c${++n}`, type: "function", function: { name: "t", arguments: texts[n - 1] } }] } }] };
    yield { choices: [{ delta: {}, finish_reason: "tool_calls" }] };
  } };
  await ws.startAgent({ provider });
  const results = [];
  for (const _ of texts) {
    const before = got.length;
    await ws.run("Go");
    const [call] = T.callsOf((await ws.history()).at(-1));
    results.push({ status: call.status, code: call.error?.code, message: call.error?.message, got: got[before] });
  }
  return { results, polluted: ({}).polluted ?? null };
}

function args(test) {
  test("arguments of a model, as text: what is no JSON object never reaches the tool", async (t) => {
    const page = await t.tab();
    const deep = (open, close) => open.repeat(10_000) + close.repeat(10_000);
    const texts = ["{", "[]", "null", "1", '"{"', "{'a': 1}", '{"a": 1,}', '{"a": 01}', '{"a": NaN}', '{"a": 1} {"a": 2}', "\u0000{}", deep("[", "]"), deep('{"a":', "}").replace(":}", ":1}"), '{"a":' + deep("[", "]") + "}", '{"a": "\\x"}', '{"a": "\n"}', "﻿{}x"];
    const { results } = await page.evaluate(callAll, { inputSchema: { type: "object" }, coerce: false, texts });
    for (const [i, { code, got, message }] of results.entries()) {
      assert.deepEqual([i, code, got], [i, "invalid_arguments", undefined], texts[i].slice(0, 40));
      assert.ok(message.length < 400);
    }
  });

  test("prototype names are members like any other: asked for, checked, and they change no prototype", async (t) => {
    const page = await t.tab();
    const inputSchema = '{"type": "object", "properties": {"__proto__": {"type": "object", "properties": {"polluted": {"type": "boolean"}}}, "constructor": {"type": "string"}, "toString": {"type": "string"}, "hasOwnProperty": {"type": "integer"}}, "required": ["constructor", "__proto__"], "additionalProperties": false}';
    const texts = ["{}", '{"constructor": "c"}', '{"constructor": "c", "__proto__": {"polluted": true}}', '{"constructor": {}, "__proto__": {}}', '{"constructor": "c", "__proto__": {"polluted": "yes"}}', '{"constructor": "c", "__proto__": {}, "valueOf": 1}', '{"constructor": "c", "__proto__": {}, "hasOwnProperty": 5}'];
    const { results, polluted } = await page.evaluate(callAll, { inputSchema, coerce: true, texts });
    assert.deepEqual(results.map((r) => r.code), ["invalid_arguments", "invalid_arguments", undefined, "invalid_arguments", "invalid_arguments", "invalid_arguments", undefined]);
    for (const name of ["constructor", "__proto__"]) assert.ok(results[0].message.includes(`'${name}'`), results[0].message);
    assert.deepEqual(results[2].got, { own: ["__proto__", "constructor"], json: '{"__proto__":{"polluted":true},"constructor":"c"}', inherited: null }, "members come in the order of their names");
    assert.equal(polluted, null);
    const direct = await page.evaluate(async (schema) => {
      const ws = await lodger.openWorkspace("d", { storage: "memory" });
      ws.tools.register({ name: "t", description: "d", inputSchema: JSON.parse(schema), execute: (args) => JSON.stringify(args) });
      return [(await T.refused(() => ws.tools.execute("t", {}))).code, (await ws.tools.execute("t", JSON.parse('{"constructor": "c", "__proto__": {"polluted": true}}'))).result, ({}).polluted ?? null];
    }, inputSchema);
    assert.deepEqual(direct, ["invalid_arguments", '{"__proto__":{"polluted":true},"constructor":"c"}', null]);
  });

  test("duplicate members: the one that is checked is the one that the tool gets", async (t) => {
    const page = await t.tab();
    const inputSchema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
    const { results } = await page.evaluate(callAll, { inputSchema, coerce: false, texts: ['{"a": "bad", "a": 1}', '{"a": 1, "a": "bad"}', '{"a": 1, "\\u0061": 2}'] });
    assert.deepEqual(results.map((r) => r.got?.json ?? r.code), ['{"a":1}', "invalid_arguments", '{"a":2}']);
  });

  test("numbers beyond what a float holds: a clear error, or the number that the tool gets", async (t) => {
    const page = await t.tab();
    const inputSchema = { type: "object", properties: { n: { type: "number", maximum: 1e300 }, i: { type: "integer" } } };
    const texts = ['{"n": 1e400}', '{"n": -1e400}', '{"i": 123456789012345678901234567890}', '{"i": 9007199254740993}', '{"n": 1e-400}', '{"i": 1.0}', '{"i": 1e2}', '{"i": 1.5}', '{"n": 1e301}', `{"i": ${"9".repeat(5_000)}}`];
    const { results } = await page.evaluate(callAll, { inputSchema, coerce: false, texts });
    const outcome = results.map((r) => r.got?.json ?? r.code);
    assert.deepEqual([outcome[0], outcome[1], outcome[7], outcome[8], outcome[9]], Array(5).fill("invalid_arguments"));
    for (const [i, expected] of [[2, 123456789012345678901234567890], [3, 9007199254740993], [4, 0], [5, 1], [6, 100]]) assert.equal(Object.values(JSON.parse(outcome[i]))[0], expected, texts[i]);
  });

  test("lone surrogates: refused in a model's JSON, U+FFFD from the page", async (t) => {
    const page = await t.tab();
    const inputSchema = { type: "object", properties: { s: { type: "string", maxLength: 1 } } };
    const { results } = await page.evaluate(callAll, { inputSchema, coerce: false, texts: ['{"s": "\\ud800"}', '{"s": "\\udc00"}', '{"s": "\\ud83d\\ude00"}', '{"s": "\\ude00\\ud83d"}'] });
    assert.deepEqual(results.map((r) => r.got?.json ?? r.code), ["invalid_arguments", "invalid_arguments", '{"s":"😀"}', "invalid_arguments"]);
    const direct = await page.evaluate(async (inputSchema) => {
      const ws = await lodger.openWorkspace("d", { storage: "memory" });
      ws.tools.register({ name: "t", description: "d", inputSchema, execute: ({ s }) => s });
      return (await ws.tools.execute("t", { s: "\ud800" })).result;
    }, inputSchema);
    assert.equal(direct, "\ufffd");
  });

  test("arguments of the page's own code: too deep, of no JSON, cyclic", async (t) => {
    const page = await t.tab();
    const codes = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      ws.tools.register({ name: "t", description: "d", inputSchema: { type: "object" }, execute: () => "ran" });
      let deep = {};
      for (let i = 0; i < 10_000; i++) deep = { deep };
      const cyclic = {};
      cyclic.self = cyclic;
      const found = [];
      for (const args of [deep, cyclic, { n: 1n }, { f() {} }, { n: NaN }, { d: new Map() }, [], "text", 5]) found.push((await T.refused(() => ws.tools.execute("t", args))).code);
      return found;
    });
    assert.deepEqual(codes, Array(9).fill("invalid_arguments"));
  });

  test("what a model really sends is mended, where that cannot change the meaning; off by coerce: false", async (t) => {
    const page = await t.tab();
    const inputSchema = { type: "object", properties: { tags: { type: "array", items: { type: "string" } }, n: { type: "integer" }, note: { type: "string" }, deep: { type: "object", properties: { on: { type: "boolean" } } } }, required: ["n"] };
    const texts = ['"{\\"n\\": 1}"', '{"n": "42"}', '{"n": 1, "tags": "one"}', '{"n": 1, "note": null}', '{"n": 1, "deep": "{\\"on\\": true}"}', '{"n": "4.5"}', '{"n": "x"}'];
    const mended = (await page.evaluate(callAll, { inputSchema, texts })).results.map((r) => r.got?.json ?? r.code);
    assert.deepEqual(mended, ['{"n":1}', '{"n":42}', '{"n":1,"tags":["one"]}', '{"n":1}', '{"deep":{"on":true},"n":1}', "invalid_arguments", "invalid_arguments"]);
    const other = await t.tab();
    const strict = (await other.evaluate(callAll, { inputSchema, coerce: false, texts })).results.map((r) => r.got?.json ?? r.code);
    assert.deepEqual(strict, Array(7).fill("invalid_arguments"));
  });
}

// ------------------------------------------------------------------ answers to what nobody asked

function strays(test) {
  test("names of other libraries, and names that are almost right, are answered with ours", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { storage: "memory", pageTools: false });
      const provider = offline();
      const hints = {};
      const refused = async (what, work) => { const { code, hint = "" } = await T.refused(work); hints[what] = [code, hint.split(". ")[0].replace(/\.$/, "")]; };
      const tool = { name: "t", description: "d", inputSchema: { type: "object" }, execute: () => "ran" };
      await refused("system", () => ws.startAgent({ provider, system: "x" }));
      await refused("maxSteps", () => ws.startAgent({ provider, maxSteps: 5 }));
      await refused("baseURL", () => ws.startAgent({ provider: { kind: "anthropic", baseURL: "https://example.com" } }));
      await refused("parameters", async () => ws.tools.register({ ...tool, inputSchema: undefined, parameters: tool.inputSchema }));
      await refused("both", async () => ws.tools.register({ ...tool, parameters: tool.inputSchema }));
      await refused("delay", async () => offline({ delay: 3 }));
      await refused("fallback", () => ws.startAgent({ provider, providers: { spare: provider }, fallback: ["nope"] }));
      await refused("fallback near", () => ws.startAgent({ provider, providers: { spare: provider }, fallback: ["spar"] }));
      await ws.startAgent({ provider });
      await ws.run("Hello.");
      await refused("system of a message", () => ws.sendMessage("x", { system: "y" }));
      await refused("maxSteps of a message", () => ws.sendMessage("x", { maxSteps: 5 }));
      await refused("function of a message", () => ws.sendMessage("x", { stopWhen: () => true }));
      await refused("tools of a message", () => ws.sendMessage("x", { tools: { a: { execute() {} } } }));
      await refused("function of a session", () => ws.sessions.launch({ instructions: () => "x" }));
      await refused("compact", () => ws.compact({ sesionId: "default" }));
      await refused("operator", () => lodger.openWorkspace("o", { storage: "memory", operator: { subjct: "ann" } }));
      await refused("models", () => ws.configureAgent({ models: { anthropic: { x: { contxt: 1 } } } }));
      await refused("command", () => ws.invoke("send_agent_mesage", { message: "x" }));
      await refused("command of the package", () => lodger.invoke("send_agent_mesage", { message: "x" }));
      await refused("export", () => ws.sessions.export("default", { fromat: "html" }));
      await refused("fork", () => ws.sessions.fork("default", { provider: "none" }));
      return hints;
    });
    assert.deepEqual(seen, {
      system: ["invalid_config", 'Write "instructions"'], maxSteps: ["invalid_config", 'Write "maxTurns"'], baseURL: ["invalid_config", 'Write "baseUrl"'],
      parameters: ["invalid_tool", 'Write "inputSchema"'], both: ["invalid_tool", 'Write "inputSchema"'], delay: ["invalid_config", "It knows: delayMs"],
      fallback: ["invalid_config", "startAgent's providers are: spare"], "fallback near": ["invalid_config", 'Write "spare"'],
      "system of a message": ["invalid_config", 'Write "instructions"'], "maxSteps of a message": ["invalid_config", "It is a member of startAgent's configuration: maxTurns"],
      "function of a message": ["invalid_arguments", "It is a member of startAgent's configuration: maxTurns"], "tools of a message": ["invalid_arguments", "tools.register gives the agent its tools"],
      "function of a session": ["invalid_arguments", "Give instructions as plain data: a function cannot be stored"], compact: ["invalid_arguments", 'Write "sessionId"'],
      operator: ["invalid_arguments", 'Write "subject"'], models: ["invalid_config", 'Write "context"'],
      command: ["unknown_command", 'Write "send_agent_message"'], "command of the package": ["unknown_command", 'Write "send_agent_message"'],
      export: ["invalid_arguments", 'Write "format"'], fork: ["invalid_config", "startAgent was given no providers by names"],
    });
  });

  test("answers to what nobody asked: a request, a call, a grant", async (t) => {
    const page = await t.tab();
    const codes = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      const found = [];
      for (const started of [false, true]) {
        if (started) { await ws.startAgent({ provider: scriptedModel([{ tool: "get_page_tree" }, "Done."]) }); await ws.run("Go"); }
        const done = started ? T.callsOf((await ws.history())[1])[0].toolCallId : "call_1";
        found.push((await T.refused(() => ws.resolvePermission("ask_1", "deny"))).code, (await T.refused(() => ws.tools.resolve(done, { result: 1 }))).code);
        for (const bad of [{}, { result: 1, error: "x" }, { error: 5 }, null, "x"]) found.push((await T.refused(() => ws.tools.resolve(done, bad))).code);
        found.push(started ? await ws.tools.revoke("nobody") : (await T.refused(() => ws.tools.revoke("nobody"))).code);
        found.push((await ws.tools.grants()).length);
      }
      return found;
    });
    // Before a start nobody knows what waits.
    assert.deepEqual(codes.slice(0, 9), [...Array(8).fill("not_running"), 0]);
    const [request, call, ...rest] = codes.slice(9);
    assert.deepEqual([request, call, rest.pop(), rest.pop()], ["request_not_found", "request_not_found", 0, undefined]);
    for (const code of rest) assert.ok(["invalid_arguments", "request_not_found"].includes(code), code);
  });

  for (const [title, permissions] of [["an unknown word", { default: "maybe" }], ["an unknown member", { policy: "allow" }], ["a rule that is none", { tools: { t: true } }], ["rules in a list", { capabilities: ["Mail"] }], ["a decide that is no function", { decide: "allow" }], ["a timeout that is none", { timeoutMs: -1 }], ["no object", "allow"]]) {
    test(`permissions with ${title} are refused, naming it`, async (t) => {
      const page = await t.tab();
      const error = await page.evaluate(async (permissions) => {
        const ws = await lodger.openWorkspace("w", { storage: "memory" });
        const first = await T.refused(() => ws.startAgent({ permissions }));
        await ws.startAgent();
        const second = await T.refused(() => ws.configureAgent({ permissions }));
        return [first.code, second.code, first.message];
      }, permissions);
      assert.deepEqual(error.slice(0, 2), ["invalid_config", "invalid_config"]);
      assert.match(error[2], /permissions/);
    });
  }
}

// ------------------------------------------------------------------ Standard Schema

function standard(test) {
  test("a Standard Schema without a JSON Schema is refused, naming what to do", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      const found = [];
      for (const inputSchema of [{ "~standard": { version: 1, vendor: "acme", validate: (value) => ({ value }) } }, { "~standard": { version: 1, vendor: "acme", validate: (value) => ({ value }), jsonSchema: {} } }]) {
        try { ws.tools.register({ name: "t", description: "d", inputSchema, execute() {} }); } catch (error) { found.push([error.code, error.message, error.hint]); }
      }
      return { found, left: ws.tools.definitions().some((d) => d.name === "t") };
    });
    assert.equal(seen.found.length, 2);
    for (const [code, message, hint] of seen.found) {
      assert.equal(code, "invalid_schema");
      assert.match(message, /"t".*acme/);
      assert.match(hint, /its library/);
    }
    assert.equal(seen.left, false);
  });

  test("zod: its JSON Schema goes to the model, its own rules decide, execute gets its output, the history the model's arguments", async (t) => {
    await build({ stdin: { contents: 'export { z } from "zod";', resolveDir: ROOT }, outfile: path.join(WORK, "zod.js"), bundle: true, format: "esm", logLevel: "error" });
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const { z } = await import("/work/zod.js");
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      const got = [];
      const inputSchema = z.object({ to: z.string().trim().refine(async (to) => to.endsWith("@example.com"), "only to our own"), at: z.string().transform((text) => new Date(text)), times: z.number().int().default(1) });
      ws.tools.register({ name: "mail", description: "Mails.", inputSchema, execute: ({ to, at, times }) => { got.push([to, at instanceof Date, at.getUTCFullYear(), times]); return "sent"; } });
      const model = scriptedModel([{ tool: "mail", args: { to: " a@example.com ", at: "2026-11-22T00:00:00Z" } }, { tool: "mail", args: { to: "a@evil.example", at: "2026-11-22" } }, { tool: "mail", args: { at: 5 } }, "Done."]);
      await ws.startAgent({ provider: model });
      await ws.run("Go");
      const direct = [(await ws.tools.execute("mail", { to: "b@example.com", at: "2020-01-01", times: 3 })).result, (await T.refused(() => ws.tools.execute("mail", { to: "b@evil.example", at: "2020-01-01" }))).code];
      return { schema: T.plain(model.requests[0].tools.find((tool) => tool.function.name === "mail").function.parameters), calls: T.callsOf((await ws.history())[1]), got, direct, told: model.requests.at(-1).messages.filter((m) => m.role === "tool").map((m) => m.content) };
    });
    assert.equal(seen.schema.type, "object");
    assert.deepEqual(Object.keys(seen.schema.properties), ["to", "at", "times"]);
    assert.deepEqual(seen.calls.map((c) => [c.status, c.error?.code]), [["completed", undefined], ["failed", "invalid_arguments"], ["failed", "invalid_arguments"]]);
    assert.deepEqual(seen.calls[0].arguments, { to: " a@example.com ", at: "2026-11-22T00:00:00Z" }, "as the model wrote them");
    assert.match(seen.told[1], /only to our own/);
    assert.deepEqual(seen.got, [["a@example.com", true, 2026, 1], ["b@example.com", true, 2020, 3]]);
    assert.deepEqual(seen.direct, ["sent", "invalid_arguments"]);
  });

  test("a validate that throws or gives nonsense: the tool is not run, the run goes on", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      let ran = 0;
      const jsonSchema = { input: () => ({ type: "object" }) };
      const found = {};
      const validators = { throws: () => { throw new Error("broken"); }, rejects: async () => { throw new Error("broken"); }, nothing: () => undefined, text: () => "fine", empty: () => ({}), issues: () => ({ issues: [{ message: "no", path: ["a", { key: "b" }] }] }) };
      for (const [name, validate] of Object.entries(validators)) ws.tools.register({ name, description: "d", inputSchema: { "~standard": { version: 1, vendor: "acme", validate, jsonSchema } }, execute: () => { ran++; } });
      await ws.startAgent({ provider: scriptedModel(Object.keys(validators).flatMap((tool) => [{ tool, args: { a: 1 } }, "Next."])) });
      for (const name of Object.keys(validators)) {
        await ws.run("Go");
        const [call] = T.callsOf((await ws.history()).at(-1));
        found[name] = [call.status, (await T.refused(() => ws.tools.execute(name, {}))).code];
        if (name === "issues") found.message = call.error.message;
      }
      return { ran, found };
    });
    assert.equal(seen.ran, 0);
    const { message, ...outcomes } = seen.found;
    for (const [name, [status]] of Object.entries(outcomes)) assert.equal(status, "failed", name);
    assert.deepEqual(outcomes.issues, ["failed", "invalid_arguments"]);
    assert.match(message, /a.*b.*no/);
  });
}
