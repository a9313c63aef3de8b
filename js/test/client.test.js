import assert from "node:assert/strict";
import { test } from "node:test";
// So that it is there at once when it is needed.
import "../client/lost.js";
import { FakeHost, LATER, open, refuse, rejection, turns } from "./fake-host.js";
import { revive, Workspace } from "../client/workspace.js";
import { direct } from "../tabs/channel.js";

const TOOL = { name: "add", description: "adds", inputSchema: { type: "object" } };
const RUNNING = { lifecycle: "Running", is_streaming: false };

/** One test over each channel. */
function both(title, body) {
  for (const mode of ["direct", "port"]) {
    test(`${title} [${mode}]`, async (t) => {
      let opened;
      t.after(() => opened?.end());
      await body(async (...args) => (opened = await open(mode, ...args)), mode);
    });
  }
}

// ---------------------------------------------------------------- commands and mirrors

both("a command is answered by its value or by a LodgerError", async (open) => {
  const { workspace } = await open({ history: () => [{ id: "m1" }], wait: ({ runId }) => refuse("run_not_found", `no run ${runId}`) });
  assert.deepEqual(await workspace.history({ limit: 2 }), [{ id: "m1" }]);
  const error = await rejection(workspace.wait("x"));
  assert.ok(error instanceof Error);
  assert.deepEqual([error.name, error.code, error.message, error.retryable], ["LodgerError", "run_not_found", "no run x", false]);
  assert.equal(error.docs, "lodger/docs/errors.md#run_not_found");
});

both("the members and their arguments cross by name", async (open) => {
  const sent = [];
  const names = ["history", "clearConversation", "wait", "resolvePermission", "tools.execute", "tools.resolve", "tools.grants", "tools.revoke", "persist", "keys.set", "keys.remove", "keys.list", "queue.edit", "queue.remove", "queue.release", "memory.list", "memory.search", "memory.add", "memory.update", "memory.remove", ...["create", "read", "tree", "search", "update", "rename", "move", "delete", "trash", "restore", "backlinks", "outgoingLinks", "versions"].map((name) => `pages.${name}`)];
  const commands = Object.fromEntries(names.map((name) => [name, (args) => void sent.push([name, args])]));
  const { workspace: w } = await open({ ...commands, storage: () => ({ kind: "memory", bytes: 1, quota: 2, persisted: false }) });
  await w.history({ limit: 3, before: "m1" });
  await w.clearConversation();
  await w.wait("r", { timeoutMs: 5 });
  await w.resolvePermission("ask_1", "deny", { reason: "not now" });
  await w.tools.execute("add", { a: 1 });
  await w.tools.resolve("call_1", { result: 3 });
  await w.tools.grants();
  await w.tools.revoke("add", "default");
  await w.pages.create({ title: "T", parentSlug: null });
  await w.pages.read("s");
  await w.pages.tree();
  await w.pages.search("q", { limit: 2 });
  await w.pages.update("s", { content: "c" }, { expectedVersion: 3 });
  await w.pages.rename("s", "T");
  await w.pages.move("s", { parentSlug: null, position: 1 });
  await w.pages.delete("s");
  await w.pages.trash();
  await w.pages.restore("s");
  await w.pages.backlinks("s");
  await w.pages.outgoingLinks("s");
  await w.pages.versions("s", { limit: 1 });
  await w.pages.move("s", "t");
  await w.memory.list({ limit: 1 });
  await w.memory.search("q", { scope: "account" });
  await w.memory.add({ text: "t" });
  await w.memory.update("mem_1", { importance: 1 });
  await w.memory.remove("mem_1");
  await w.keys.set("anthropic", "sk-1");
  await w.keys.remove("anthropic");
  await w.keys.list();
  await w.queue.edit("m1", "t");
  await w.queue.remove("m1");
  await w.queue.release();
  const { kind, persist } = await w.storage();
  assert.equal(kind, "memory");
  await persist();
  assert.deepEqual(sent, [
    ["history", { limit: 3, before: "m1" }],
    ["clearConversation", {}],
    ["wait", { timeoutMs: 5, runId: "r" }],
    ["resolvePermission", { reason: "not now", requestId: "ask_1", answer: "deny" }],
    ["tools.execute", { name: "add", args: { a: 1 } }],
    ["tools.resolve", { toolCallId: "call_1", answer: { result: 3 } }],
    ["tools.grants", {}],
    ["tools.revoke", { tool: "add", sessionId: "default" }],
    ["pages.create", { title: "T", parentSlug: null }],
    ["pages.read", { slug: "s" }],
    ["pages.tree", {}],
    ["pages.search", { limit: 2, query: "q" }],
    ["pages.update", { content: "c", expectedVersion: 3, slug: "s" }],
    ["pages.rename", { slug: "s", title: "T" }],
    ["pages.move", { parentSlug: null, position: 1, slug: "s" }],
    ["pages.delete", { slug: "s" }],
    ["pages.trash", {}],
    ["pages.restore", { slug: "s" }],
    ["pages.backlinks", { slug: "s" }],
    ["pages.outgoingLinks", { slug: "s" }],
    ["pages.versions", { limit: 1, slug: "s" }],
    ["pages.move", "t"],
    ["memory.list", { limit: 1 }],
    ["memory.search", { scope: "account", query: "q" }],
    ["memory.add", { text: "t" }],
    ["memory.update", { importance: 1, id: "mem_1" }],
    ["memory.remove", { id: "mem_1" }],
    ["keys.set", { provider: "anthropic", key: "sk-1" }],
    ["keys.remove", { provider: "anthropic" }],
    ["keys.list", {}],
    ["queue.edit", { id: "m1", text: "t" }],
    ["queue.remove", { id: "m1" }],
    ["queue.release", {}],
    ["persist", {}],
  ]);
});

both("a loss is told to who listens as soon as the workspace is open, whatever else is told meanwhile", async (open, mode) => {
  const heard = [];
  const target = new EventTarget();
  target.addEventListener("agent:notice", ({ detail }) => heard.push(["target", detail]));
  const lost = { at: 5, since: 3 };
  const workspace = new Workspace("w", {
    target,
    operator: { subject: "ann" },
    connect: async (deliver) => {
      const openHost = async (deliver) => {
        const host = new FakeHost(deliver, { setOperator() {} });
        deliver({ t: "lost", json: JSON.stringify(lost) });
        await turns();
        return host;
      };
      if (mode === "direct") return direct(openHost, deliver);
      // As a worker does: all that its host says comes in one go with the first answer.
      const early = [];
      const later = (message) => {
        early.push(message);
        if (message.t === "reply") for (const one of early.splice(0)) deliver(one);
      };
      return direct(openHost, later);
    },
  });
  await revive(workspace);
  // What lies between that and the page: `openWorkspace`, and promises of its own.
  for (let n = 0; n < 10; n++) await null;
  assert.deepEqual(heard, [], "nobody could listen yet");
  const own = new Promise((resolve) => workspace.addEventListener("agent:notice", ({ detail }) => resolve(detail)));
  const detail = await own;
  assert.deepEqual([detail.workspace, detail.kind, detail.lost, detail.error.code], ["w", "storage_lost", lost, "storage_lost"]);
  await turns();
  assert.deepEqual(heard, [["target", detail]], "once");
  await workspace.close();
});

both("storage() has a loss, which can be acknowledged", async (open) => {
  const lost = { at: 5, since: 3 };
  let known = 0;
  const info = { kind: "indexeddb", bytes: 1, quota: 2, persisted: false };
  const { workspace } = await open({ storage: () => (known ? info : { ...info, lost }), acknowledgeLoss: () => ((known += 1), info) });
  const { acknowledge, ...told } = (await workspace.storage()).lost;
  assert.deepEqual(told, lost);
  assert.equal(await acknowledge(), undefined);
  assert.equal(known, 1);
  assert.ok(!("lost" in (await workspace.storage())));
});

both("a workspace that has to be sure is open when its host is", async (open) => {
  const { host } = await open({}, { sure: true });
  assert.deepEqual(host.commandsSent("draft"), [{}]);
  const error = { code: "storage_lost", message: "gone", retryable: false, hint: "open it" };
  const workspace = new Workspace("w", { target: null, sure: true, connect: async (deliver) => (setImmediate(() => deliver({ t: "closed", error })), { send() {}, close() {} }) });
  const refused = await rejection(revive(workspace));
  assert.deepEqual([refused.code, refused.hint], ["storage_lost", "open it"]);
});

both("what cannot cross is refused, naming where", async (open) => {
  const { workspace } = await open({ history: () => [] });
  const cyclic = {};
  cyclic.self = cyclic;
  for (const [args, where] of [[{ n: 1n }, /tools\.execute\.args\.n is a BigInt/], [{ a: [cyclic] }, /args\.a\[0\]\.self refers back/], [{ m: new Map() }, /args\.m is a Map, not a plain object/], [{ f: () => 1 }, /args\.f is a function/], [{ x: NaN }, /args\.x is NaN/]]) {
    const error = await rejection(workspace.tools.execute("add", args));
    assert.equal(error.code, "invalid_arguments");
    assert.match(error.message, where);
  }
  const error = await rejection(workspace.startAgent({ instructions: Symbol("x") }));
  assert.deepEqual([error.code, /config\.instructions is a symbol/.test(error.message)], ["invalid_config", true]);
  assert.equal((await rejection(workspace.sendMessage("hi", { signal: "no" }))).code, "invalid_arguments");
});

both("the mirror answers at once, and its answers are copies", async (open) => {
  const { workspace } = await open();
  assert.deepEqual(workspace.status(), { lifecycle: "Stopped", is_streaming: false });
  await workspace.startAgent();
  assert.deepEqual(workspace.status(), RUNNING);
  workspace.status().lifecycle = "x";
  assert.deepEqual(workspace.status(), RUNNING);
  workspace.tools.register({ ...TOOL, execute() {} });
  await turns();
  workspace.tools.definitions().pop();
  assert.deepEqual(workspace.tools.definitions().map(({ name }) => name), ["add"]);
});

both("functions cross as numbers where a configuration may hold them, elsewhere the host is told there is none", async (open) => {
  const o = await open();
  const stream = async function* () {};
  await o.workspace.startAgent({ instructions: () => "i", model: () => "m", provider: { kind: "custom", stream } });
  const { instructions, model, provider } = o.host.config;
  assert.equal(typeof instructions.$fn, "number");
  assert.notEqual(instructions.$fn, provider.stream.$fn);
  assert.deepEqual(model, { $fn: 0 });
});

// ---------------------------------------------------------------- events

both("an event goes to the workspace, then to its target, with one detail", async (open) => {
  const target = new EventTarget();
  const { workspace, host } = await open({}, { target });
  const seen = [];
  workspace.addEventListener("agent:error", (event) => seen.push(["workspace", event.detail]));
  target.addEventListener("agent:error", (event) => seen.push(["target", event.detail]));
  host.event("error", { kind: "retry" });
  await turns();
  assert.deepEqual(seen.map(([where]) => where), ["workspace", "target"]);
  assert.equal(seen[0][1], seen[1][1]);
  assert.equal(seen[0][1].kind, "retry");
});

both("a throwing listener breaks no other, and a listener may call any method", async (open) => {
  const target = new EventTarget();
  const o = await open({ stopAgent() { this.mirror({ lifecycle: "Stopped" }); this.event("status-changed", this.status); } }, { target });
  const reported = [];
  const onUncaught = (error) => reported.push(error.message);
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", onUncaught);
  const seen = [];
  o.workspace.addEventListener("agent:error", () => { throw new Error("bad listener"); });
  o.workspace.addEventListener("agent:error", () => { seen.push("workspace notice"); void o.workspace.stopAgent(); });
  target.addEventListener("agent:error", () => seen.push("target notice"));
  o.workspace.addEventListener("agent:status-changed", () => seen.push(`workspace ${o.workspace.status().lifecycle}`));
  target.addEventListener("agent:status-changed", () => seen.push("target status"));
  await o.workspace.startAgent();
  o.host.event("error", {});
  await turns(6);
  process.removeListener("uncaughtException", onUncaught);
  before.forEach((listener) => process.on("uncaughtException", listener));
  assert.deepEqual(reported, ["bad listener"]);
  assert.deepEqual(seen, ["workspace notice", "target notice", "workspace Stopped", "target status"], "each event has been everywhere before the next");
});

// ---------------------------------------------------------------- calls to the page

/** Registers a tool and has the host call it; gives what the host heard. */
async function callTool(o, execute, value = { args: { a: 1 }, toolCallId: "c1", runId: "r1" }) {
  const undo = o.workspace.tools.register({ ...TOOL, execute });
  await turns();
  const id = o.host.call(o.host.tools.get("add").execute.$fn, "tool", value);
  await turns(6);
  undo();
  await turns();
  return { id, heard: o.host.answers(id) };
}

both("a tool gets its arguments and context, and its value goes back as JSON", async (open) => {
  const o = await open();
  let got;
  const { id, heard } = await callTool(o, async (args, context) => {
    got = { args, ...context };
    context.onProgress({ half: true });
    return { done: [1, "two"] };
  });
  assert.deepEqual([got.args, got.toolCallId, got.runId, got.signal.aborted], [{ a: 1 }, "c1", "r1", false]);
  assert.deepEqual(heard, [{ t: "progress", json: '{"half":true}', id }, { t: "answer", json: '{"done":[1,"two"]}', id }]);
});

both("what a tool gives becomes JSON sensibly", async (open) => {
  const o = await open();
  for (const [value, json] of [
    [undefined, undefined], ["", '""'], [null, "null"], [{ mean: NaN }, '{"mean":null}'], [{}, "{}"], [Object.create(null), "{}"],
    [new (class Item { id = 1; })(), '{"id":1}'], [new URL("https://a.b/"), '"https://a.b/"'], [new Map(), "{}"],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'], [new Map([["a", 1]]), '{"a":1}'], [new Map([[1, 2]]), "[[1,2]]"],
    [new Set([1, 2]), "[1,2]"], [new Uint8Array([1, 2]), "[1,2]"], [{ f() {}, u: undefined, a: [undefined, () => 1] }, '{"a":[null,null]}'],
    [new TypeError("no"), '{"name":"TypeError","message":"no"}'], ["a\ud800b", JSON.stringify("a\ufffdb")],
    [JSON.parse('{"__proto__":{"x":1}}'), '{"__proto__":{"x":1}}'],
  ]) {
    const { heard } = await callTool(o, () => value);
    assert.deepEqual(heard.map(({ t, json, error }) => ({ t, json, error })), [{ t: "answer", json, error: undefined }]);
  }
});

both("what a tool throws, or what JSON cannot hold, is an error that says where", async (open) => {
  const o = await open();
  const cyclic = { list: [{}] };
  cyclic.list[0].up = cyclic;
  for (const [execute, expected] of [
    [() => { throw "just text"; }, { name: "Error", message: "just text" }],
    [() => { throw new RangeError("far"); }, { name: "RangeError", message: "far" }],
    [async () => { throw Object.assign(new Error("x"), { code: "E1" }); }, { name: "Error", message: "x", code: "E1" }],
    [() => { throw undefined; }, { name: "Error", message: "undefined" }],
    [() => { throw { why: "so" }; }, { name: "Error", message: '{"why":"so"}' }],
    [() => cyclic, { name: "TypeError", message: "result.list[0].up refers back to what contains it", code: "tool_failed" }],
    [() => ({ "a b": [1n] }), { name: "TypeError", message: 'result["a b"][0] is a BigInt, which JSON cannot hold', code: "tool_failed" }],
    [() => () => 1, { name: "TypeError", message: "result is a function, which JSON cannot hold", code: "tool_failed" }],
    [() => NaN, { name: "TypeError", message: "result is NaN, which JSON cannot hold", code: "tool_failed" }],
    [() => new Response("x"), { name: "TypeError", message: "result is a Response, which JSON cannot hold", code: "tool_failed" }],
    [() => ({ file: [new FormData()] }), { name: "TypeError", message: "result.file[0] is a FormData, which JSON cannot hold", code: "tool_failed" }],
    [() => ({ later: Promise.resolve(1) }), { name: "TypeError", message: "result.later is a Promise, which JSON cannot hold", code: "tool_failed" }],
  ]) {
    const { heard } = await callTool(o, execute);
    assert.deepEqual(heard.map(({ error }) => error), [expected]);
  }
});

both("files of a result cross beside its JSON, in their order", async (open) => {
  // It comes late, and later than the turns that a call is given here.
  await import("../client/content.js");
  const o = await open();
  const [text, named] = [new Blob(["x"], { type: "text/plain" }), new File(["yz"], "a.png", { type: "image/png" })];
  const stand = [{ file: 0, name: "a.png", mediaType: "image/png", size: 2 }, { file: 1, mediaType: "text/plain", size: 1 }];
  for (const [execute, json, files] of [
    [() => text, undefined, [text]],
    [async () => ({ first: named, rest: [{ second: text }] }), { first: stand[0], rest: [{ second: stand[1] }] }, [named, text]],
    [() => ({ content: [{ type: "image", data: "eXo=", mimeType: "image/png" }, { type: "text", text: "a" }] }), "a", [named]],
    [() => ({ content: [{ type: "image" }] }), { content: [{ type: "image" }] }, undefined],
  ]) {
    const { heard: [answer] } = await callTool(o, execute);
    assert.deepEqual(answer.json && JSON.parse(answer.json), json);
    assert.deepEqual(answer.files && (await Promise.all(answer.files.map((file) => file.text()))), files && (await Promise.all(files.map((file) => file.text()))));
  }
});

both("an aborted call sees its signal and is not answered; its late end is told", async (open) => {
  const o = await open();
  let signal;
  o.workspace.tools.register({ ...TOOL, execute: (_, context) => new Promise((resolve) => {
    signal = context.signal;
    signal.addEventListener("abort", () => { context.onProgress("late"); resolve("late"); });
  }) });
  await turns();
  const id = o.host.call(o.host.tools.get("add").execute.$fn, "tool", { args: {}, toolCallId: "c" });
  await turns();
  assert.equal(signal.aborted, false);
  o.host.deliver({ t: "abort", id });
  await turns();
  assert.equal(signal.aborted, true);
  assert.deepEqual(o.host.answers(id), [{ t: "late", id }]);
});

both("what a custom model says after an abort is told as late, once, and it is asked for no more", async (open) => {
  const o = await open();
  let say, asked = 0, stopped = 0;
  const stream = () => ({ [Symbol.asyncIterator]: () => ({
    next: () => (asked++, new Promise((resolve) => (say = (value, done = false) => resolve({ done, value })))),
    return: async () => (stopped++, { done: true }),
  }) });
  await o.workspace.startAgent({ provider: { kind: "custom", model: "m", stream } });
  const begin = async () => {
    const id = o.host.call(o.host.config.provider.stream.$fn, "stream", {});
    await turns(6);
    return id;
  };
  const id = await begin();
  say("one");
  await turns(6);
  o.host.deliver({ t: "abort", id });
  await turns(6);
  say("two");
  await turns(6);
  assert.deepEqual(o.host.answers(id), [{ t: "feed", text: "one", id }, { t: "late", id }]);
  assert.deepEqual([asked, stopped], [2, 1]);
  // An iterator that ends when it is stopped has said nothing.
  const other = await begin();
  o.host.deliver({ t: "abort", id: other });
  await turns(6);
  say(undefined, true);
  await turns(6);
  assert.deepEqual(o.host.answers(other), []);
});

both("a tool may call the workspace while it runs, and keeps its object", async (open) => {
  const o = await open({ "pages.read": ({ slug }) => ({ slug }) });
  const tool = { ...TOOL, factor: "f", async execute() { return [this.factor, (await o.workspace.pages.read("s")).slug]; } };
  delete tool.factor;
  Object.defineProperty(tool, "factor", { value: "f" });
  o.workspace.tools.register(tool);
  await turns();
  const id = o.host.call(o.host.tools.get("add").execute.$fn, "tool", { args: {}, toolCallId: "c" });
  await turns(8);
  assert.deepEqual(o.host.answers(id).map(({ json }) => json), ['["f","s"]']);
});

both("instructions and apiKey must give strings", async (open) => {
  const o = await open();
  let key = "k1";
  await o.workspace.startAgent({ instructions: async () => "be kind", provider: { kind: "anthropic", apiKey: ({ refused }) => (refused ? 7 : key) } });
  const { instructions, provider } = o.host.config;
  const ids = [o.host.call(instructions.$fn, "instructions"), o.host.call(provider.apiKey.$fn, "apiKey", { refused: false }), o.host.call(provider.apiKey.$fn, "apiKey", { refused: true }), o.host.call(99, "apiKey", {})];
  await turns(6);
  const [a, b, c, d] = ids.map((id) => o.host.answers(id)[0]);
  assert.deepEqual([a.json, b.json], ['"be kind"', '"k1"']);
  assert.deepEqual(c.error, { name: "TypeError", message: "apiKey() must give a string, it gave number", code: "auth" });
  assert.match(d.error.message, /no function 99/);
});

both("files cross beside a message, and come back as they are", async (open) => {
  const o = await open({ file: ({ fileId }) => new Blob([`bytes of ${fileId}`], { type: "text/plain" }) });
  await o.workspace.startAgent();
  const { Blob: Other } = await import("node:buffer");
  const files = [new File(["a"], "a.txt", { type: "text/plain" }), new Other(["b"])];
  await o.workspace.sendMessage({ text: "", files, metadata: { a: 1 } }).catch(() => {});
  const [sent] = o.host.received.filter(({ name }) => name === "sendMessage");
  assert.deepEqual(sent.args, { text: "", metadata: { a: 1 } });
  assert.deepEqual(await Promise.all(sent.files.map((file) => file.text())), ["a", "b"]);
  const file = await o.workspace.file("f1");
  assert.deepEqual([file.type, await file.text()], ["text/plain", "bytes of f1"]);

  for (const [wrong, said] of [["x", /files must be an array/], [{ 0: files[0] }, /files must be an array/], [[files[0], "b"], /files\[1\] must be a Blob/], [[null], /files\[0\]/], [[, files[0]], /files\[0\]/], [[{ size: 1, arrayBuffer() {} }], /files\[0\]/]]) {
    const error = await rejection(o.workspace.sendMessage({ text: "x", files: wrong }));
    assert.equal(error.code, "invalid_arguments");
    assert.match(error.message, said);
  }
  for (const none of [undefined, null, []]) {
    await o.workspace.sendMessage({ text: "x", files: none });
    assert.equal("files" in o.host.received.at(-1), false);
  }
});

both("the page's fetch: head, bytes, end; an abort lets the body go", async (open) => {
  const o = await open();
  let canceled;
  const seen = [];
  const fetch = async function (url, init) {
    assert.equal(this, undefined);
    seen.push([url, init.method, init.headers, init.body, init.credentials, init.redirect]);
    if (url === "bad") throw new TypeError("Failed to fetch");
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(url === "whole" ? "one" : new TextEncoder().encode("one"));
        if (url === "whole") controller.close();
      },
      cancel: () => { canceled = true; },
    });
    return new Response(body, { status: 201, headers: { "x-a": "b" } });
  };
  await o.workspace.startAgent({ provider: { kind: "anthropic", fetch } });
  const call = (url) => o.host.call(o.host.config.provider.fetch.$fn, "fetch", { url, method: "POST", headers: [["a", "b"]], credentials: "include" }, "{}");
  const whole = call("whole");
  await turns(8);
  assert.deepEqual(seen[0], ["whole", "POST", [["a", "b"]], "{}", "include", "manual"]);
  const [head, bytes, end] = o.host.answers(whole);
  assert.deepEqual(head.head, { status: 201, headers: [["x-a", "b"]] });
  assert.equal(new TextDecoder().decode(bytes.bytes), "one");
  assert.deepEqual(end, { t: "answer", id: whole });

  const bad = call("bad");
  await turns(6);
  assert.deepEqual(o.host.answers(bad).map(({ error }) => error), [{ name: "TypeError", message: "Failed to fetch" }]);

  const open_ = call("open");
  await turns(6);
  o.host.deliver({ t: "abort", id: open_ });
  await turns(6);
  assert.equal(canceled, true);
  assert.deepEqual(o.host.answers(open_).map(({ t }) => t), ["feed", "feed"]);
});

both("a provider that is tried: its functions can be called until it is over, and those of the agent after that too", async (open) => {
  const tried = [];
  let id;
  const o = await open({ "keys.validate": ({ provider }, command) => ((id = command), tried.push(provider), LATER), "keys.models": ({ provider }) => (tried.push(provider), [{ id: "m" }]) });
  const apiKey = () => "sk-1";
  const provider = { kind: "anthropic", apiKey, fetch: () => {} };
  await o.workspace.startAgent({ provider });
  const trying = o.workspace.keys.validate(provider);
  await turns(4);
  const asks = (fn) => o.host.call(fn.$fn, "apiKey", { refused: false });
  const during = asks(tried[0].apiKey);
  await turns(4);
  assert.equal(o.host.answers(during)[0].json, '"sk-1"');
  o.host.deliver({ t: "reply", id, json: '{"ok":true}' });
  assert.deepEqual(await trying, { ok: true });
  const [after, ofAgent] = [asks(tried[0].apiKey), asks(o.host.config.provider.apiKey)];
  await turns(4);
  assert.match(o.host.answers(after)[0].error.message, /no function/);
  assert.equal(o.host.answers(ofAgent)[0].json, '"sk-1"');

  // A model of a class keeps its object, and another kind of option has no function.
  class Model { kind = "custom"; model = "mine"; async *stream() {} }
  assert.deepEqual(await o.workspace.keys.models(new Model()), [{ id: "m" }]);
  assert.deepEqual(Object.keys(tried[1]), ["kind", "model", "stream"]);
  await o.workspace.keys.models({ kind: "anthropic", baseUrl: () => "x" });
  assert.deepEqual(tried[2].baseUrl, { $fn: 0 });
  const error = await rejection(o.workspace.keys.models({ kind: "anthropic", headers: new Map() }));
  assert.equal(error.code, "invalid_config");
});

both("a custom model: chunks as JSON, strings as text, return() on abort", async (open) => {
  const o = await open();
  let returned = false;
  let mode = "whole";
  const provider = {
    kind: "custom",
    async *stream(request, { signal }) {
      assert.equal(this, provider);
      try {
        yield "Hi ";
        yield { choices: [{ delta: { content: request.model } }] };
        if (mode === "throw") throw new Error("model broke");
        if (mode === "wait") await new Promise((resolve) => signal.addEventListener("abort", resolve));
        if (mode === "odd") yield 5;
      } finally {
        returned = true;
      }
    },
  };
  await o.workspace.startAgent({ provider });
  const call = () => o.host.call(o.host.config.provider.stream.$fn, "stream", { model: "m" });
  const id = call();
  await turns(8);
  const chunks = [{ t: "feed", text: "Hi ", id }, { t: "feed", json: '{"choices":[{"delta":{"content":"m"}}]}', id }];
  assert.deepEqual(o.host.answers(id), [...chunks, { t: "answer", id }]);
  mode = "throw";
  const broken = call();
  await turns(8);
  assert.deepEqual(o.host.answers(broken).at(-1).error, { name: "Error", message: "model broke" });
  mode = "odd";
  const odd = call();
  await turns(8);
  assert.match(o.host.answers(odd).at(-1).error.message, /chunk 3 is number/);
  mode = "wait";
  returned = false;
  const waits = call();
  await turns(6);
  assert.equal(returned, false);
  o.host.deliver({ t: "abort", id: waits });
  await turns(6);
  assert.equal(returned, true);
  assert.equal(o.host.answers(waits).length, 2);
});

both("a custom model may be an object of a class", async (open) => {
  const o = await open();
  class Model {
    kind = "custom";
    #words = ["mine"];
    calls = 0;
    get model() { return "own"; }
    async *stream() { this.calls++; yield* this.#words; }
  }
  const provider = new Model();
  await o.workspace.startAgent({ provider });
  await o.workspace.configureAgent({ provider });
  const { stream, ...rest } = o.host.config.provider;
  assert.deepEqual(rest, { kind: "custom", model: "own" });
  const id = o.host.call(stream.$fn, "stream", {});
  await turns(8);
  assert.deepEqual([o.host.answers(id)[0].text, provider.calls], ["mine", 1]);
  assert.match((await rejection(o.workspace.startAgent({ provider: new (class Shop { kind = "anthropic"; })() }))).message, /config\.provider is a Shop, not a plain object/);
});

both("what a method does not know is refused, not ignored", async (open) => {
  const o = await open();
  await o.workspace.startAgent();
  for (const patch of [undefined, null]) assert.equal((await rejection(o.workspace.configureAgent(patch))).code, "invalid_config");
  for (const [input, word] of [[{ text: "a", context: "c" }, /"context"/], [{ text: "a", idempotencyKey: "k" }, /"idempotencyKey"/], [null, /message/], [42, /message/], [["a"], /message/]]) {
    const error = await rejection(o.workspace.sendMessage(input));
    assert.deepEqual([error.code, word.test(error.message)], ["invalid_arguments", true], error.message);
  }
  assert.equal(o.host.commandsSent("sendMessage").length, 0);
  await o.workspace.sendMessage({ text: "a", metadata: { from: "button" } });
  assert.deepEqual(o.host.commandsSent("sendMessage"), [{ text: "a", metadata: { from: "button" } }]);
  assert.throws(() => o.workspace.tools.register({ ...TOOL, execute() {} }, { replce: true }), ({ code, message }) => code === "invalid_arguments" && /"replce"/.test(message));
  assert.deepEqual(o.workspace.tools.definitions(), []);
});

both("a custom model that waits for ever is told to return", async (open) => {
  const o = await open();
  let returned = 0;
  const endless = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => { returned++; throw new Error("so what"); } }) };
  await o.workspace.startAgent({ provider: { kind: "custom", stream: () => endless } });
  const id = o.host.call(o.host.config.provider.stream.$fn, "stream", { model: "m" });
  await turns();
  o.host.deliver({ t: "abort", id });
  await turns();
  assert.deepEqual([returned, o.host.answers(id)], [1, []]);
});

// ---------------------------------------------------------------- tools

both("the undo function undoes its own registration only", async (open) => {
  const o = await open();
  const names = () => o.workspace.tools.definitions().map(({ name }) => name);
  const undo = o.workspace.tools.register({ ...TOOL, execute() {} });
  await turns();
  assert.deepEqual(names(), ["add"]);
  const undoSecond = o.workspace.tools.register({ ...TOOL, execute() {} }, { replace: true });
  await turns();
  undo();
  await turns();
  assert.deepEqual(names(), ["add"], "the later registration stands");
  undoSecond();
  undoSecond();
  await turns();
  assert.deepEqual(names(), []);
  assert.equal(o.host.commandsSent("tools.unregister").length, 1);

  const controller = new AbortController();
  o.workspace.tools.register({ ...TOOL, execute() {} }, { signal: controller.signal });
  await turns();
  assert.deepEqual(names(), ["add"]);
  controller.abort();
  await turns();
  assert.deepEqual(names(), []);
  o.workspace.tools.register({ ...TOOL, execute() {} }, { signal: controller.signal });
  await turns();
  assert.deepEqual(names(), [], "an aborted signal registers nothing");
});

both("a tool that is no tool is refused at once, also a second one of its name", async (open) => {
  const { workspace } = await open();
  const code = (work) => { try { work(); } catch (error) { return error.code; } };
  assert.equal(code(() => workspace.tools.register({ ...TOOL, execute: "add" })), "invalid_tool");
  assert.equal(code(() => workspace.tools.register({ ...TOOL, execute() {}, lookup: true })), "invalid_tool");
  assert.equal(code(() => workspace.tools.register(null)), "invalid_tool");
  for (const parameters of [TOOL.inputSchema, 5]) {
    assert.throws(() => workspace.tools.register({ ...TOOL, execute() {}, parameters }), { code: "invalid_tool", message: 'The tool "add" has an unknown member "parameters".', hint: 'Write "inputSchema".' });
  }
  assert.throws(() => workspace.tools.register({ ...TOOL, execute() {}, lookUp() {} }), { code: "invalid_tool", message: 'The tool "add" has an unknown member "lookUp".', hint: 'Write "lookup". Its functions are execute, lookup, explanation.' });
  for (const [member, value, hint] of [["schema", {}, 'Write "inputSchema".'], ["run", () => {}, 'Write "execute".'], ["exectue", () => {}, 'Write "execute".']]) {
    const { inputSchema, ...rest } = TOOL;
    assert.throws(() => workspace.tools.register({ ...rest, ...(member !== "schema" && { inputSchema }), [member]: value }), (error) => error.code === "invalid_tool" && error.hint.startsWith(hint), member);
  }
  for (const target of [{ session: "a" }, { runid: "a" }, "run_1"]) {
    assert.throws(() => workspace.interrupt(target), ({ code, message, hint = "" }) => code === "invalid_arguments" && !/command/.test(message + hint) && (typeof target === "string" || /^Write "(sessionId|runId)"/.test(hint)), JSON.stringify(target));
  }
  assert.equal(code(() => workspace.tools.register({ ...TOOL, inputSchema: { "~standard": {} }, execute() {} })), "invalid_schema");
  workspace.tools.register({ ...TOOL, execute() {} });
  assert.equal(code(() => workspace.tools.register({ ...TOOL, execute() {} })), "duplicate_tool");
  assert.equal(workspace.tools.unregister("add"), true);
  await turns();
  assert.equal(workspace.tools.unregister("add"), false);
  workspace.tools.register({ ...TOOL, execute() {} });
});

both("a tool without a function is told as one, so that its calls wait for an answer", async (open) => {
  const o = await open();
  const undo = o.workspace.tools.register(TOOL);
  await turns();
  assert.deepEqual(o.host.commandsSent("tools.register"), [{ ...TOOL, inputSchema: JSON.stringify(TOOL.inputSchema) }]);
  undo();
  await turns();
  assert.deepEqual(o.host.commandsSent("tools.unregister"), [{ name: "add" }]);
});

both("compact says that it takes one object", async (open) => {
  const o = await open({ compact: () => ({ runId: "run1" }) });
  for (const given of ["default", null, 7]) {
    const { code, message, hint } = await rejection(o.workspace.compact(given));
    assert.deepEqual([code, message], ["invalid_arguments", "compact takes one object."]);
    assert.match(hint, /compact\(\{ sessionId/);
  }
  assert.deepEqual(o.host.commandsSent("compact"), []);
  await o.workspace.compact();
  await o.workspace.compact({ sessionId: "side" });
  assert.deepEqual(o.host.commandsSent("compact"), [{}, { sessionId: "side" }]);
});

both("decide and lookup are called with what they are told, and what they say goes back", async (open) => {
  const o = await open();
  const asked = [];
  const decide = (request) => { asked.push(request); return "ask"; };
  await o.workspace.startAgent({ permissions: { default: "ask", decide } });
  const { decide: { $fn }, ...rules } = o.host.config.permissions;
  assert.deepEqual(rules, { default: "ask" });
  const decided = o.host.call($fn, "decide", { tool: "add", arguments: { a: 1 } });
  o.workspace.tools.register({ ...TOOL, execute() {}, lookup({ a }, { toolCallId }) { return { result: `${this.name} ${a} ${toolCallId}` }; } });
  await turns();
  const looked = o.host.call(o.host.tools.get("add").lookup.$fn, "lookup", { args: { a: 1 }, toolCallId: "c1" });
  await turns();
  assert.deepEqual(asked, [{ tool: "add", arguments: { a: 1 } }]);
  assert.deepEqual([o.host.answers(decided), o.host.answers(looked)].map(([{ json }]) => JSON.parse(json)), ["ask", { result: "add 1 c1" }]);
  // Any other option stays none of a function's.
  await o.workspace.configureAgent({ permissions: { tools: { add: () => "allow" } } });
  assert.deepEqual(o.host.config.permissions, { tools: { add: { $fn: 0 } } });
});

both("a Standard Schema: its JSON Schema crosses, it says what is wrong, and execute and lookup get what it makes", async (open) => {
  const o = await open();
  const validate = async ({ n }) => (Number.isInteger(Number(n)) ? { value: { n: Number(n) } } : { issues: [{ message: "no number", path: ["n", { key: 0 }] }, { message: "and sad" }] });
  const schema = { "~standard": { version: 1, vendor: "acme", validate, jsonSchema: { input: ({ target }) => ({ type: "object", $comment: target }) } } };
  const got = [];
  const undo = o.workspace.tools.register({ ...TOOL, inputSchema: schema, execute(args, { toolCallId }) { got.push(this.name, args, toolCallId); }, lookup: (args) => { got.push(args); return null; } });
  await turns();
  const [{ inputSchema, execute, lookup, validate: given }] = o.host.commandsSent("tools.register");
  assert.deepEqual(JSON.parse(inputSchema), { type: "object", $comment: "draft-2020-12" });
  const asked = [o.host.call(given.$fn, "validate", { args: { n: "5" } }), o.host.call(given.$fn, "validate", { args: { n: "x" } }), o.host.call(execute.$fn, "tool", { args: { n: "5" }, toolCallId: "c" }), o.host.call(execute.$fn, "tool", { args: { n: "x" }, toolCallId: "c" }), o.host.call(lookup.$fn, "lookup", { args: { n: "6" }, toolCallId: "c" })];
  await turns();
  const [fine, wrong, ran, refused, looked] = asked.map((id) => o.host.answers(id)[0]);
  assert.deepEqual([fine.json, fine.error, JSON.parse(wrong.json)], [undefined, undefined, "invalid arguments for add: n.0: no number; arguments: and sad"]);
  assert.deepEqual([ran.error, refused.error.code, looked.json], [undefined, "invalid_arguments", "null"]);
  assert.deepEqual(got, ["add", { n: 5 }, "c", { n: 6 }]);
  undo();
  await turns();
  const gone = o.host.call(given.$fn, "validate", { args: {} });
  await turns();
  assert.match(o.host.answers(gone)[0].error.message, /no function/);
});

both("what an answer has to be crosses as text; a Standard Schema is asked, and makes the value", async (open) => {
  const o = await open({ sendMessage: () => ({ runId: "r", status: "accepted", acceptedAt: 1 }), result: () => ({ runId: "r", outcome: "completed", text: "{}", turns: 1, value: { n: "5" } }) });
  const validate = ({ n }) => (Number(n) > 1 ? { value: { n: Number(n) } } : { issues: [{ message: "too few", path: ["n"] }, { message: "sad" }] });
  const schema = { "~standard": { version: 1, vendor: "acme", validate, jsonSchema: { input: () => ({ type: "object" }) } } };
  const run = await o.workspace.sendMessage("hi", { schema });
  const plain = await o.workspace.sendMessage("hi", { schema: { z: 1, a: { b: 2 } } });
  const [first, second] = o.host.commandsSent("sendMessage").map(({ schema }) => schema);
  assert.deepEqual([first.json, second], ['{"type":"object"}', { json: '{"z":1,"a":{"b":2}}' }]);
  assert.deepEqual([(await run.result).value, (await plain.result).value], [{ n: 5 }, { n: "5" }]);
  // It is asked as long as the run is there.
  await turns();
  const gone = o.host.call(first.validate.$fn, "validate", { args: { n: 0 } });
  await turns();
  assert.match(o.host.answers(gone)[0].error.message, /no function/);
  for (const schema of [() => {}, 7n, Symbol("s"), { a: 1n }, { "~standard": { vendor: "acme" } }]) {
    assert.equal((await rejection(o.workspace.sendMessage("hi", { schema }))).code, "invalid_schema");
  }
});

both("a Standard Schema is asked what is wrong with an answer", async (open) => {
  const o = await open({ sendMessage: () => ({ runId: "r", status: "accepted", acceptedAt: 1 }), result: () => new Promise(() => {}) });
  const validate = () => ({ issues: [{ message: "too few", path: ["n"] }, { message: "sad" }] });
  await o.workspace.sendMessage("hi", { schema: { "~standard": { version: 1, vendor: "acme", validate, jsonSchema: { input: () => ({}) } } } });
  const [{ schema }] = o.host.commandsSent("sendMessage");
  const asked = o.host.call(schema.validate.$fn, "validate", { args: {} });
  await turns();
  assert.equal(JSON.parse(o.host.answers(asked)[0].json), "the answer does not fit: n: too few; answer: sad");
});

both("a Standard Schema that says nothing is no yes", async (open) => {
  const o = await open();
  for (const [i, result] of [undefined, null, "fine", {}, true].entries()) {
    o.workspace.tools.register({ ...TOOL, name: `t${i}`, inputSchema: { "~standard": { version: 1, vendor: "acme", validate: () => result, jsonSchema: { input: () => ({ type: "object" }) } } }, execute() {} });
  }
  await turns();
  const asked = o.host.commandsSent("tools.register").map(({ validate }) => o.host.call(validate.$fn, "validate", { args: {} }));
  await turns();
  for (const id of asked) assert.match(o.host.answers(id)[0].error.message, /neither a value nor issues/);
});

both("a question can be answered in place, by the one who got the event", async (open) => {
  const target = new EventTarget();
  const answers = [];
  const o = await open({ resolvePermission: (args) => { answers.push(args); if (answers.length > 1) refuse("request_not_found"); } }, { target });
  const details = [];
  for (const at of [o.workspace, target]) at.addEventListener("agent:permission-required", ({ detail }) => details.push(detail));
  o.host.event("permission-required", { requestId: "ask_1", tool: "add" });
  await turns();
  assert.equal(details.length, 2);
  await details[0].respond("allow_once", { reason: "fine" });
  assert.equal((await rejection(details[1].respond("deny"))).code, "request_not_found");
  assert.deepEqual(answers, [{ requestId: "ask_1", answer: "allow_once", reason: "fine" }, { requestId: "ask_1", answer: "deny" }]);
});

test("what the host refuses is thrown by register in direct mode, and told by an event over a port", async () => {
  for (const mode of ["direct", "port"]) {
    const o = await open(mode);
    const events = [];
    o.workspace.addEventListener("agent:error", ({ detail }) => events.push(detail.code));
    let thrown;
    try {
      o.workspace.tools.register({ ...TOOL, inputSchema: {}, execute() {} });
    } catch (error) {
      thrown = error.code;
    }
    await turns();
    assert.deepEqual([thrown, events], mode === "direct" ? ["invalid_schema", []] : [undefined, ["invalid_schema"]]);
    o.workspace.tools.register({ ...TOOL, execute() {} }); // its name is free again
    o.end();
  }
});

// ---------------------------------------------------------------- runs

const RESULT = { runId: "run1", outcome: "completed", text: "Hello you", turns: 1 };
async function collect(stream) {
  const texts = [];
  for await (const text of stream) texts.push(text);
  return texts;
}

both("a run: text as it comes, complete for late and for many readers, and its result", async (open) => {
  const o = await open({ result: () => LATER });
  await o.workspace.startAgent();
  const run = await o.workspace.sendMessage("hi");
  assert.deepEqual({ ...run }, { runId: "run1", status: "accepted", acceptedAt: 1 });
  const early = collect(run.textStream);
  o.host.chunk("Hel", 0);
  o.host.chunk("thinking", 0, { part: 1, kind: "thinking" });
  await turns();
  o.host.chunk("lo ", 3);
  o.host.chunk("you", 0, { part: 2 });
  await turns();
  const late = collect(run.textStream);
  o.host.event("lifecycle", { runId: "run1", phase: "end", startedAt: 0, endedAt: 1 });
  await turns();
  assert.deepEqual(await early, ["Hel", "lo ", "you"]);
  assert.deepEqual(await late, ["Hel", "lo ", "you"]);
  assert.deepEqual(await collect(run.textStream), ["Hel", "lo ", "you"]);
  assert.equal(o.host.commandsSent("result").length, 1, "asked once, because somebody read");
  const { id } = o.host.received.find(({ name }) => name === "result");
  o.host.deliver({ t: "reply", id, json: JSON.stringify(RESULT) });
  assert.deepEqual(await run.result, RESULT);
});

both("a retried answer: what was given stays given, late readers get the new text", async (open) => {
  const o = await open({ result: () => LATER });
  await o.workspace.startAgent();
  const run = await o.workspace.sendMessage("hi");
  const early = collect(run.textStream);
  o.host.chunk("Hello", 0);
  o.host.chunk("more", 0, { part: 1 });
  await turns();
  o.host.chunk("Howdy", 0);
  o.host.chunk(", you there", 5);
  await turns();
  o.host.event("lifecycle", { runId: "run1", phase: "end" });
  await turns();
  assert.deepEqual(await collect(run.textStream), ["Howdy", ", you there"]);
  assert.deepEqual(await early, ["Hello", "more", "Howdy, you there".slice(9)]);
});

both("a run that this page hears from its middle on is given whole, and so is one whose host has changed", async (open) => {
  let parts = [{ type: "thinking", text: "Hm." }, { type: "text", text: "One two " }, { type: "tool-call" }, { type: "text", text: "three " }];
  const history = () => [{ role: "user", runId: "run1", parts: [{ type: "text", text: "Count." }] }, { role: "assistant", runId: "run1", parts }];
  const o = await open({ result: () => LATER, history });
  await o.workspace.startAgent();
  const run = await o.workspace.sendMessage("Count.", { idempotencyKey: "k" });
  o.host.chunk("ee ", 3, { part: 3 });
  await turns();
  const read = collect(run.textStream);
  await turns();
  o.host.chunk("four ", 6, { part: 3 });
  await turns();
  assert.deepEqual(o.host.commandsSent("history"), [{ sessionId: "default", limit: 10 }]);
  parts = [...parts.slice(0, 3), { type: "text", text: "three four five six" }];
  o.host.deliver({ t: "again" });
  o.host.chunk("six", 16, { part: 3 });
  await turns();
  o.host.event("lifecycle", { runId: "run1", phase: "end" });
  assert.deepEqual((await read).join(""), "One two three four five six");
  assert.deepEqual((await collect(run.textStream)).join(""), "One two three four five six");
});

both("a run of which nothing is known any more gives what was heard", async (open) => {
  const o = await open({ result: () => LATER, history: () => [] });
  await o.workspace.startAgent();
  const run = await o.workspace.sendMessage("Count.", { idempotencyKey: "k" });
  o.host.chunk("three", 8);
  o.host.event("lifecycle", { runId: "run1", phase: "end" });
  await turns();
  assert.deepEqual(await collect(run.textStream), ["three"]);
});

both("a run that ended before it was asked for gives its text from its result", async (open) => {
  const o = await open({ result: () => RESULT });
  await o.workspace.startAgent();
  const run = await o.workspace.sendMessage("hi", { idempotencyKey: "k" });
  assert.deepEqual(o.host.commandsSent("sendMessage"), [{ idempotencyKey: "k", text: "hi" }]);
  assert.deepEqual(await collect(run.textStream), ["Hello you"]);
});

both("text that comes before the reply belongs to the run", async (open) => {
  const o = await open({ result: () => RESULT, sendMessage() { this.chunk("Hello you", 0); this.event("lifecycle", { runId: "run1", phase: "end" }); return { runId: "run1", status: "accepted", acceptedAt: 1 }; } });
  const run = await o.workspace.sendMessage("hi");
  assert.deepEqual(await collect(run.textStream), ["Hello you"]);
});

both("a status that another host brings is told by an event, unless it is the same", async (open) => {
  const o = await open();
  await o.workspace.startAgent();
  o.host.event("status-changed", o.host.status);
  await turns();
  const told = [];
  o.workspace.addEventListener("agent:status-changed", ({ detail }) => told.push(detail));
  o.host.deliver({ t: "again" });
  o.host.mirror({ lifecycle: "Stopped" });
  o.host.deliver({ t: "again" });
  await turns();
  assert.deepEqual(told, [{ workspace: "w", lifecycle: "Stopped", is_streaming: false }]);
});

both("a run begins once and ends once, by all who tell of it; an end that nobody has told is asked for", async (open) => {
  let over = false;
  const o = await open({ result: () => (over ? RESULT : LATER), wait: () => ({ runId: "run1", status: "ok", startedAt: 3, endedAt: 9 }) });
  await o.workspace.startAgent();
  const told = [];
  for (const type of ["lifecycle", "session-started", "session-completed", "message-chunk"]) o.workspace.addEventListener(`agent:${type}`, ({ detail }) => told.push([type, detail.phase ?? detail.text, detail.endedAt]));
  const begins = (epoch) => {
    o.host.event("lifecycle", { runId: "run1", epoch, phase: "start", startedAt: 3 });
    o.host.event("session-started", { runId: "run1", epoch, startedAt: 3 });
    o.host.chunk("Hel", 0, { epoch });
  };
  begins(1);
  o.host.deliver({ t: "again" });
  begins(2);
  await turns();
  assert.deepEqual(told.splice(0), [["lifecycle", "start", undefined], ["session-started", undefined, undefined], ["message-chunk", "Hel", undefined], ["message-chunk", "Hel", undefined]]);
  assert.equal(o.host.commandsSent("result").length, 1);
  o.host.deliver({ t: "again" });
  await turns();
  assert.equal(o.host.commandsSent("result").length, 1, "it waits for the answer of the first");
  over = true;
  o.host.deliver({ t: "reply", id: o.host.received.find(({ name }) => name === "result").id, json: JSON.stringify(RESULT) });
  await turns();
  assert.deepEqual(told.splice(0), [["session-completed", RESULT.text, 9], ["lifecycle", "end", 9]]);
  o.host.deliver({ t: "again" });
  await turns();
  assert.equal(o.host.commandsSent("result").length, 1, "and then it is over");

  begins(2);
  o.host.deliver({ t: "again" });
  o.host.event("lifecycle", { runId: "run1", epoch: 2, phase: "end", startedAt: 3, endedAt: 5 });
  await turns();
  assert.deepEqual(told.map(([type, phase]) => `${type} ${phase}`), ["lifecycle start", "session-started undefined", "message-chunk Hel", "lifecycle end"], "what was told is not told again");
});

both("run() resolves for a completed run and rejects for every other", async (open) => {
  let result = RESULT;
  const o = await open({ result: () => result });
  await o.workspace.startAgent();
  assert.deepEqual(await o.workspace.run("hi"), RESULT);
  result = { ...RESULT, outcome: "failed", error: { code: "overloaded", message: "too busy", retryable: true, hint: "wait" } };
  const error = await rejection(o.workspace.run("hi"));
  assert.deepEqual([error.code, error.message, error.retryable, error.hint], ["overloaded", "too busy", true, "wait"]);
  result = { ...RESULT, outcome: "interrupted" };
  assert.equal((await rejection(o.workspace.run("hi"))).code, "aborted");
  assert.equal((await rejection(o.workspace.run(""))).code, "empty_message");
});

both("a signal interrupts its run and is left alone when the run has ended", async (open) => {
  const o = await open({ result: () => LATER });
  await o.workspace.startAgent();
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args) => { listeners++; add(...args); };
  signal.removeEventListener = (...args) => { listeners--; remove(...args); };
  await o.workspace.sendMessage("one", { signal });
  await turns();
  assert.equal(listeners, 1);
  const { id } = o.host.received.findLast(({ name }) => name === "result");
  o.host.deliver({ t: "reply", id, json: JSON.stringify(RESULT) });
  await turns();
  assert.equal(listeners, 0);

  await o.workspace.sendMessage("two", { signal });
  controller.abort();
  await turns();
  assert.deepEqual(o.host.commandsSent("interrupt"), [{ runId: "run2" }]);
  const error = await rejection(o.workspace.sendMessage("three", { signal }));
  assert.equal(error.code, "aborted");
  assert.equal(o.host.commandsSent("sendMessage").length, 2, "nothing was sent");
});

// ---------------------------------------------------------------- the end of a host

const PANIC = { code: "panicked", message: "The module panicked: at here", retryable: true, hint: "start again" };

both("a panic settles everything, and the next start opens a fresh host with the page's tools and views", async (open) => {
  const o = await open({ history: () => LATER, result: () => LATER });
  const { workspace } = o;
  const events = [];
  for (const type of ["agent:error", "agent:status-changed"]) workspace.addEventListener(type, ({ detail }) => events.push([type, detail.code ?? detail.lifecycle, workspace.status().is_streaming]));
  workspace.tools.register({ ...TOOL, execute: () => "first" });
  const view = workspace.view();
  await workspace.startAgent({ instructions: () => "x" });
  const run = await workspace.sendMessage("hi");
  const unread = await workspace.sendMessage("two");
  o.host.chunk("Half", 0, { runId: run.runId });
  const [history, texts] = [workspace.history(), collect(run.textStream)].map((promise) => rejection(promise));
  const result = run.result;
  let aborted = false;
  workspace.tools.register({ ...TOOL, name: "slow", execute: (_, { signal }) => new Promise(() => signal.addEventListener("abort", () => { aborted = true; })) });
  await turns();
  o.host.call(o.host.tools.get("slow").execute.$fn, "tool", { args: {}, toolCallId: "c" });
  await turns();
  const first = o.host;
  first.close_(PANIC);
  await turns();
  for (const error of [await history, await texts]) assert.equal(error.code, "panicked");
  const { error, ...unknown } = await result;
  assert.deepEqual(unknown, { runId: run.runId, outcome: "unknown", text: "Half", turns: 0 });
  assert.deepEqual(error, PANIC);
  assert.equal(aborted, true);
  assert.deepEqual(workspace.status(), { lifecycle: { Error: PANIC.message }, is_streaming: false });
  assert.deepEqual(events, [["agent:error", "panicked", false], ["agent:status-changed", { Error: PANIC.message }, false]]);
  assert.deepEqual([view.getSnapshot().status, view.getSnapshot().error.code, view.getSnapshot().holder], ["error", "panicked", false]);

  await workspace.startAgent();
  await turns();
  assert.equal(o.hosts.length, 2);
  assert.notEqual(o.host, first);
  assert.deepEqual([...o.host.tools.keys()], ["add", "slow"]);
  assert.deepEqual(workspace.status(), RUNNING);
  assert.deepEqual([view.getSnapshot().status, view.getSnapshot().error, view.getSnapshot().holder], ["ready", undefined, true]);
  const id = o.host.call(o.host.tools.get("add").execute.$fn, "tool", { args: {}, toolCallId: "c" });
  await turns();
  assert.equal(o.host.answers(id)[0].json, '"first"');
  let late = 0;
  workspace.addEventListener("agent:error", () => late++);
  first.event("error", {});
  await turns();
  assert.equal(late, 0, "a dead host is not heard any more");
  const asked = o.host.commandsSent("result").length;
  assert.equal((await rejection(collect(unread.textStream))).code, "panicked", "nobody knows how that text went on");
  assert.equal(o.host.commandsSent("result").length, asked);
});

test("a host that throws out of a call has panicked", async () => {
  let calls = 0;
  const hosts = [];
  const connect = (deliver) => direct(async (deliver) => {
    const host = new FakeHost(deliver, { history() { if (calls++ === 0) throw new Error("unused"); return []; } });
    const receive = host.receive.bind(host);
    host.receive = (message) => {
      if (message.name === "history" && hosts.length === 1) throw new WebAssembly.RuntimeError("unreachable");
      calls = 1;
      receive(message);
    };
    hosts.push(host);
    return host;
  }, deliver);
  const workspace = new Workspace("w", { connect, target: null });
  const error = await rejection(workspace.history());
  assert.deepEqual([error.code, error.retryable], ["panicked", true]);
  assert.match(error.message, /unreachable/);
  assert.equal(hosts[0].freed, false, "a dead module is not called again");
  assert.deepEqual(await workspace.history(), []);
  assert.equal(hosts.length, 2);
});

test("a host that panics while it opens settles the call that opened it", async () => {
  let opened = 0;
  const workspace = new Workspace("w", {
    target: null,
    connect: (deliver) => direct((deliver) => {
      if (opened++) return Promise.resolve(new FakeHost(deliver, { history: () => [] }));
      Promise.resolve().then(() => deliver({ t: "closed", error: PANIC }));
      return new Promise(() => {});
    }, deliver),
  });
  assert.equal((await rejection(workspace.history())).code, "panicked");
  assert.deepEqual(await workspace.history(), []);
});

test("a question waits 10 seconds for what a tool says of its call", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const o = await open("direct");
  let says;
  const explanations = [() => new Promise(() => {}), () => new Promise((resolve) => (says = resolve)), () => "At once?", () => { throw new Error("no words"); }];
  for (const [n, explanation] of explanations.entries()) o.workspace.tools.register({ ...TOOL, name: `t${n}`, explanation, execute() {} });
  const asked = o.host.commandsSent("tools.register").map(({ explanation }) => o.host.call(explanation.$fn, "explain", { args: {} }));
  const answered = async () => (await turns(), asked.map((id) => o.host.answers(id).map(({ json, error }) => json ?? error.message)));
  assert.deepEqual(await answered(), [[], [], ['"At once?"'], ["no words"]]);
  t.mock.timers.tick(9_999);
  says("Later?");
  assert.deepEqual((await answered()).slice(0, 2), [[], ['"Later?"']]);
  t.mock.timers.tick(1);
  assert.deepEqual(await answered(), [["it takes too long"], ['"Later?"'], ['"At once?"'], ["no words"]]);
});

test("an operator whose time is over sees nothing any more, also where the timer comes early", async (t) => {
  let now = 1_000;
  t.mock.method(Date, "now", () => now);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const watch = () => void (now >= 2_000 && refuse("operator_required"));
  const o = await open("direct", { watch, setOperator: () => {} });
  const view = o.workspace.view();
  await o.workspace.setOperator({ subject: "ann", expiresAt: 2_000 });
  o.host.tell("history", [{ id: "m1", role: "user", parts: [] }]);
  assert.equal(view.getSnapshot().messages.length, 1);
  now = 1_999;
  t.mock.timers.tick(1_000);
  await turns();
  now = 2_000;
  t.mock.timers.tick(1);
  await turns();
  const { messages, status, error } = view.getSnapshot();
  assert.deepEqual([messages, status, error?.code], [[], "error", "operator_required"]);
});

both("a deleted workspace stays closed, with its code", async (open) => {
  const o = await open({ history: () => LATER });
  const waiting = rejection(o.workspace.history());
  await turns();
  let ended = 0;
  o.workspace.addEventListener("agent:error", () => ended++);
  o.host.close_({ code: "workspace_deleted", message: "gone", retryable: false });
  await turns();
  assert.equal((await waiting).code, "workspace_deleted");
  assert.equal((await rejection(o.workspace.startAgent())).code, "workspace_deleted");
  assert.throws(() => o.workspace.tools.register({ ...TOOL, execute() {} }), { code: "workspace_deleted" });
  assert.equal(ended, 1);
  assert.deepEqual([o.hosts.length, o.workspace.status().lifecycle], [1, "Stopped"]);
});

both("close tells the host, then every call is refused", async (open, mode) => {
  const o = await open();
  await o.workspace.startAgent();
  const view = o.workspace.view();
  await o.workspace.close();
  assert.equal(o.host.commandsSent("close").length, 1);
  if (mode === "direct") assert.equal(o.host.freed, true);
  assert.equal((await rejection(o.workspace.sendMessage("hi"))).code, "workspace_closed");
  assert.deepEqual(o.workspace.status(), { lifecycle: "Stopped", is_streaming: false });
  assert.equal(view.getSnapshot().status, "stopped");
  await o.workspace.close();
});

both("a message that waits at the host is given up when its signal is aborted", async (open) => {
  const o = await open({ "sessions.prompt": () => LATER });
  const abort = new AbortController();
  const waits = rejection(o.workspace.sessions.prompt("docs", "hi", { signal: abort.signal }));
  await turns();
  assert.deepEqual(o.host.commandsSent("interrupt"), []);
  abort.abort();
  await turns();
  const { id } = o.host.received.find(({ name }) => name === "sessions.prompt");
  assert.deepEqual(o.host.commandsSent("interrupt"), [{ command: id }]);
  o.host.deliver({ t: "reply", id, error: { code: "aborted", message: "no", retryable: false } });
  assert.equal((await waits).code, "aborted");
});

test("what is read in a page without a list is noted for the next that has one, and goes with its session", async () => {
  const kept = new Map();
  globalThis.localStorage = { setItem: (key, value) => void kept.set(key, String(value)), removeItem: (key) => void kept.delete(key) };
  try {
    const { workspace, host } = await open("direct", { "sessions.remove": () => {}, "sessions.status": () => refuse("session_not_found") }, { lasts: true });
    const keys = () => [...kept.keys()].toSorted();
    workspace.sessions.markRead("a");
    assert.deepEqual(keys(), ["lodger:seen:w:a"]);
    assert.ok(Math.abs(Number(kept.get("lodger:seen:w:a")) - Date.now()) < 5_000);
    const close = workspace.view("b").subscribe(() => {});
    assert.deepEqual(keys(), ["lodger:seen:w:a", "lodger:seen:w:b"]);
    // What is shown is seen as it comes, and what is not shown any more is not.
    for (const shown of [true, false]) {
      kept.clear();
      if (!shown) close();
      host.event("lifecycle", { sessionId: "b", runId: `run_${shown}`, phase: "start" });
      host.event("lifecycle", { sessionId: "b", runId: `run_${shown}`, phase: "end" });
      assert.deepEqual(keys(), shown ? ["lodger:seen:w:b"] : []);
    }
    workspace.sessions.markRead("b");
    await workspace.sessions.remove("b");
    assert.deepEqual(keys(), []);
    const { workspace: passing } = await open("direct");
    passing.sessions.markRead("a");
    assert.deepEqual(keys(), [], "this one keeps nothing");
  } finally {
    delete globalThis.localStorage;
  }
});

both("how sessions are called is said in the tab that runs the agent", async (open) => {
  const o = await open();
  o.host.mirror(); // another tab runs it
  await turns();
  for (const title of ["auto", "words", null]) {
    const error = await rejection(o.workspace.configureAgent({ title, maxTurns: 3 }));
    assert.deepEqual([error.code, /title/.test(error.message), /tab/.test(error.hint)], ["invalid_config", true, true]);
  }
  assert.deepEqual(o.host.commandsSent("configureAgent"), []);
  o.host.mirror({ lifecycle: "Stopped" });
  await o.workspace.startAgent();
  await o.workspace.configureAgent({ title: "words" });
  assert.equal(o.host.commandsSent("configureAgent").length, 1);
});
