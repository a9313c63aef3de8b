import assert from "node:assert/strict";
import { test } from "node:test";
import { after } from "../host/env.js";
import { createPackage } from "../package.js";
import { FakeHost, LATER, refuse, rejection, turns } from "./fake-host.js";

const STOPPED = { lifecycle: "Stopped", is_streaming: false };

/** `fail`: what the next load throws. */
function fakeGlue(commands = {}) {
  return {
    loads: 0, resets: 0, hosts: [], deleted: [], fail: null, loaded: [],
    async default({ module_or_path }) {
      this.loads++;
      this.loaded.push(module_or_path);
      const { fail } = this;
      this.fail = null;
      if (fail) throw fail;
      return {};
    },
    imports: () => ({}),
    reset() { this.resets++; },
    async open_host(name, options, deliver) {
      if (options.storage === "indexeddb" && name === "nodb") throw { code: "storage_unavailable", message: "no", retryable: false, hint: "memory" };
      const host = Object.assign(new FakeHost(deliver, commands), { name, options });
      this.hosts.push(host);
      host.mirror(STOPPED);
      return host;
    },
    async delete_workspace(name, storage) { this.deleted.push([name, storage]); },
  };
}

/** A package over fake glue. */
function fake(commands = {}) {
  const glue = fakeGlue(commands);
  return { glue, ...createPackage(glue, (room) => (room ? NOTHING : new Uint8Array([0]))) };
}

test("nothing is loaded before it is needed, then once", async () => {
  const p = fake();
  assert.equal(p.glue.loads, 0);
  await Promise.all([p.openWorkspace("a"), p.openWorkspace("b"), p.init()]);
  assert.equal(p.glue.loads, 1);
  assert.deepEqual(p.glue.hosts.map(({ name }) => name), ["a", "b"]);
  const { storage, pageTools, scope } = p.glue.hosts[0].options;
  assert.deepEqual([storage, pageTools, typeof scope.now()], ["indexeddb", true, "number"]);
  await p.openWorkspace("c", { storage: "memory", pageTools: false, now: () => 7 });
  const options = p.glue.hosts[2].options;
  assert.deepEqual([options.storage, options.pageTools, options.scope.now()], ["memory", false, 7]);
});

test("whether a loss is rejected is of the moment in which a workspace is opened", async () => {
  const p = fake();
  const a = await p.openWorkspace("a");
  assert.equal(p.glue.hosts[0].options.onStorageLost, "open");
  assert.equal(await p.openWorkspace("a", { onStorageLost: "reject" }), a, "it is open already");
  await p.openWorkspace("b", { onStorageLost: "reject" });
  assert.equal(p.glue.hosts[1].options.onStorageLost, "reject");
  assert.equal(p.glue.hosts.length, 2);
});

test("a failed load is told and can be tried again", async () => {
  const p = fake();
  const failing = async (fail) => { p.glue.fail = fail; return rejection(p.openWorkspace("a")); };
  const html = await failing(new WebAssembly.CompileError("WebAssembly.instantiate(): expected magic word 00 61 73 6d, found 3c 21 64 6f @+0"));
  assert.deepEqual([html.name, html.code], ["LodgerError", "wasm_unavailable"]);
  assert.match(html.hint, /optimizeDeps: \{ exclude: \["lodger"\] \}/);
  const csp = await failing(new WebAssembly.CompileError("Wasm code generation disallowed by embedder"));
  assert.match(csp.hint, /wasm-unsafe-eval/);
  assert.equal((await failing(new Error("odd"))).code, "wasm_unavailable");
  await p.openWorkspace("a");
  assert.equal(p.glue.loads, 4);

  const page = fake();
  const response = (body, init) => Promise.resolve(new Response(body, init));
  const asHtml = await rejection(page.init({ module_or_path: response("<!doctype html>", { headers: { "content-type": "text/html; charset=utf-8" } }) }));
  assert.match(asHtml.hint, /optimizeDeps/);
  assert.match((await rejection(page.init({ module_or_path: response("", { status: 404 }) }))).message, /answered 404/);
  assert.equal((await rejection(page.init({ module: 1 }))).code, "invalid_arguments");
  assert.equal(page.glue.loads, 0);
  const bytes = new Uint8Array(8);
  await page.init({ module_or_path: bytes });
  assert.equal(page.glue.loaded[0], bytes);
});

/** A module of WebAssembly that does nothing. */
const NOTHING = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

test("a part is brought once into each instance, and again when it did not come", async () => {
  const asked = [];
  let part = async () => { throw new Error("offline"); };
  const glue = fakeGlue();
  const { openWorkspace, deleteWorkspace } = createPackage(glue, (room) => {
    asked.push(room);
    return room ? part() : NOTHING;
  });
  await Promise.all([openWorkspace("a", { pageTools: false }), openWorkspace("b", { pageTools: false })]);
  assert.deepEqual(asked, [undefined], "no part before it is needed");
  const [a, b] = glue.hosts.map(({ options }) => options.scope);
  const offline = await rejection(a.room("chat"));
  assert.deepEqual([offline.code, offline.retryable], ["wasm_unavailable", true]);
  assert.match(offline.message, /offline/);
  part = async () => new Response("", { status: 404 });
  assert.match((await rejection(a.room("chat"))).message, /answered 404/);
  // Of another build: it wants what this one has not.
  part = async () => new Uint8Array([...NOTHING, 2, 7, 1, 0, 1, 0x78, 2, 0, 1]);
  assert.match((await rejection(a.room("chat"))).message, /"chat" does not fit/);
  part = async () => new Response(NOTHING, { headers: { "content-type": "application/octet-stream" } });
  await Promise.all([a.room("chat"), b.room("chat")]);
  await a.room("chat");
  assert.deepEqual(asked, [undefined, "chat", "chat", "chat", "chat"]);
  await openWorkspace("c", { pageTools: true });
  assert.deepEqual(asked.splice(0).slice(5), ["pages"], "page tools are needed at once");
  await openWorkspace("d", { pageTools: false, storage: "memory" });
  assert.deepEqual(asked.splice(0), ["volatile"], "so is what a workspace in memory has in place of a database");
  await deleteWorkspace("e");
  assert.deepEqual([asked, glue.deleted], [["more"], [["e", "indexeddb"]]]);
});

/** The bytes of what each load was given. */
const bodies = (glue) => Promise.all(glue.loaded.map(async (it) => new Uint8Array(it instanceof Response ? await it.arrayBuffer() : it)));

test("what a page gave for the module holds for a fresh instance; what could not be loaded does not", async () => {
  const glue = fakeGlue();
  const p = createPackage(glue, (room) => (room ? NOTHING : "nowhere"));
  await p.init({ module_or_path: new Response(NOTHING) });
  await p.openWorkspace("a");
  await p.init({ module_or_path: "another" });
  glue.hosts[0].deliver({ t: "closed", error: { code: "panicked", message: "test" } });
  await p.deleteWorkspace("b");
  assert.deepEqual([glue.resets, await bodies(glue)], [1, [NOTHING, NOTHING]]);
  const q = createPackage(fakeGlue(), () => NOTHING);
  const refused = await rejection(q.init({ module_or_path: Promise.reject(new Error("offline")) }));
  assert.deepEqual([refused.code, refused.retryable], ["wasm_unavailable", true]);
  await q.init();
  // Twice at once, as React's StrictMode does; neither stays.
  const twice = fakeGlue();
  const r = createPackage(twice, () => NOTHING);
  const bad = () => rejection(r.init({ module_or_path: Promise.reject(new Error("offline")) }));
  await Promise.all([bad(), bad()]);
  await r.init();
  assert.deepEqual(await bodies(twice), [NOTHING]);
});

test("an early load whose connection is gone is asked for again by the call that needs it", async () => {
  const glue = fakeGlue();
  let located = 0;
  const answers = () => (located++, new Response(NOTHING));
  globalThis.document = { baseURI: "http://page/" };
  try {
    const p = createPackage(glue, answers, () => ({ postMessage() {} }));
    while (!located) await new Promise(setImmediate);
    glue.fail = new TypeError("network error");
    await p.init();
    assert.deepEqual([located, glue.loads], [2, 2]);
    // A second fault is the caller's to know of, and may pass.
    const q = createPackage(glue, answers);
    glue.fail = new TypeError("network error");
    const broken = await rejection(q.init());
    assert.deepEqual([broken.code, broken.retryable, located], ["wasm_unavailable", true, 3]);
  } finally {
    delete globalThis.document;
  }
});

test("a worker is told where the page has put the module, also after a workspace was deleted", async () => {
  const told = [];
  const worker = () => ({ postMessage: (message) => told.push(message), addEventListener() {}, terminate() {} });
  const { fetch } = globalThis;
  Object.assign(globalThis, { document: { baseURI: "http://page/app/" }, fetch: async () => new Response(NOTHING) });
  try {
    const { init, openWorkspace, deleteWorkspace } = createPackage(fakeGlue(), () => NOTHING, worker);
    await init({ module_or_path: "mine/lodger.wasm" });
    const source = async (name) => {
      openWorkspace(name, { host: "worker", target: null }).catch(() => {});
      for (let n = 0; n < 50 && !told.some((message) => message.name === name); n++) await turns();
      return told.find((message) => message.name === name).source;
    };
    assert.equal(await source("a"), "http://page/app/mine/lodger.wasm");
    await deleteWorkspace("z");
    assert.equal(await source("b"), "http://page/app/mine/lodger.wasm");
  } finally {
    globalThis.fetch = fetch;
    delete globalThis.document;
  }
});

test("a page begins to load a task after the import, once; a server does not, nor who says where the module is", async () => {
  const page = (document) => {
    const found = { located: 0, ...fakeGlue() };
    globalThis.document = document;
    try {
      return Object.assign(found, createPackage(found, () => { found.located++; return new Response(NOTHING); }, () => {}));
    } finally {
      delete globalThis.document;
    }
  };
  const task = () => new Promise((resolve) => setTimeout(resolve, 20));
  const first = page({});
  assert.equal(first.located, 0);
  await task();
  assert.equal(first.located, 1);
  await first.init();
  assert.equal(first.located, 1, "what was begun is used");
  const server = page(undefined);
  await task();
  assert.equal(server.located, 0);
  const elsewhere = page({});
  await elsewhere.init({ module_or_path: NOTHING });
  await task();
  assert.equal(elsewhere.located, 0);
  const fast = page({});
  await fast.init();
  await task();
  assert.equal(fast.located, 1);
});

test("a bad name or option is refused by name, a host's refusal is a LodgerError", async () => {
  const p = fake();
  for (const name of ["", 5, undefined]) assert.equal((await rejection(p.openWorkspace(name))).code, "invalid_arguments");
  for (const [options, word] of [[{ host: "worker" }, "host"], [{ storage: "disk" }, "storage"], [{ pageTools: 1 }, "pageTools"], [{ target: {} }, "target"], [{ now: 5 }, "now"], [{ now: () => NaN }, "now must be a function that gives milliseconds"], [{ now: () => "5" }, "now"], [{ now() { throw new Error("no clock"); } }, "now must be"], [{ onStorageLost: "ask" }, "onStorageLost"], ["x", "options"], [null, "options"]]) {
    const error = await rejection(p.openWorkspace("a", options));
    assert.equal(error.code, "invalid_config");
    assert.match(error.message, new RegExp(word));
  }
  for (const [limits, word] of [[{ messageBytes: 0 }, "messageBytes"], [{ answerBytes: -1 }, "answerBytes"], [{ resultBytes: 1.5 }, "resultBytes"], [{ callsPerAnswer: "9" }, "callsPerAnswer"], [{ argumentBytes: Infinity }, "argumentBytes"], [{ messageBytes: null }, "messageBytes"], [{ messageBytes: 2 ** 31 }, "messageBytes"], [{ bytes: 1 }, "bytes"], [5, "limits"], [null, "limits"]]) {
    const error = await rejection(p.openWorkspace("a", { limits }));
    assert.equal(error.code, "invalid_config", JSON.stringify(limits));
    assert.match(error.message, new RegExp(`limits.*${word}|limits`));
  }
  await p.openWorkspace("limited", { limits: { messageBytes: 2 ** 31 - 1, callsPerAnswer: 1, resultBytes: undefined } });
  await p.openWorkspace("limited", { limits: { callsPerAnswer: 1, messageBytes: 2 ** 31 - 1 } });
  await p.openWorkspace("limited");
  assert.match((await rejection(p.openWorkspace("limited", { limits: { callsPerAnswer: 1 } }))).message, /another limits/);
  const now = () => 5;
  await p.openWorkspace("timed", { now });
  await p.openWorkspace("timed", { now });
  await p.openWorkspace("timed");
  assert.match((await rejection(p.openWorkspace("timed", { now: () => 5 }))).message, /another now/);
  const error = await rejection(p.openWorkspace("nodb"));
  assert.deepEqual([error.name, error.code, error.hint], ["LodgerError", "storage_unavailable", "memory"]);
  await p.openWorkspace("nodb", { storage: "memory" });
});

test("the same name is the same counted workspace, let go a task after the last close", async () => {
  const p = fake();
  const [first, second] = await Promise.all([p.openWorkspace("a"), p.openWorkspace("a")]);
  assert.equal(first, second);
  assert.equal((await rejection(p.openWorkspace("a", { storage: "memory" }))).code, "invalid_config");
  await first.close();
  await turns();
  assert.equal(p.glue.hosts[0].commandsSent("close").length, 0, "one handle is left");
  // React under StrictMode: open, close, open.
  const closing = second.close();
  const third = await p.openWorkspace("a");
  await closing;
  await turns();
  assert.equal(third, first);
  assert.equal(p.glue.hosts.length, 1);
  assert.deepEqual(p.glue.hosts[0].commandsSent(), []);
  await third.close();
  assert.deepEqual([p.glue.hosts[0].commandsSent("close").length, p.glue.hosts[0].freed], [1, true]);
  assert.equal((await rejection(third.history())).code, "workspace_closed");
  const fourth = await p.openWorkspace("a");
  assert.notEqual(fourth, first);
  await third.close();
  await turns();
  assert.equal(p.glue.hosts[1].freed, false, "an old handle does not close the new workspace");
});

test("a workspace that is opened while it closes waits for the end and is a new one", async () => {
  const p = fake({ close: () => LATER });
  const first = await p.openWorkspace("a");
  const closing = first.close();
  await turns();
  const [host] = p.glue.hosts;
  const { id } = host.received.find(({ name }) => name === "close");
  const opening = p.openWorkspace("a");
  await turns();
  assert.equal(p.glue.hosts.length, 1, "it waits");
  host.deliver({ t: "reply", id });
  host.deliver({ t: "closed" });
  await closing;
  assert.notEqual(await opening, first);
  assert.deepEqual(p.glue.hosts.map(({ freed }) => freed), [true, false]);
});

test("closing works under fake timers", async (t) => {
  t.mock.timers.enable();
  const p = fake();
  const workspace = await p.openWorkspace("a");
  await workspace.close();
  assert.equal(p.glue.hosts[0].freed, true);
});

test("a panic ends every host of the instance; open and start go on with a fresh one", async () => {
  const p = fake({ history: () => [] });
  const [a, b] = [await p.openWorkspace("a"), await p.openWorkspace("b")];
  await a.startAgent();
  const [hostA, hostB] = p.glue.hosts;
  let released = false;
  hostB.options.scope.closables.add({ close: () => { released = true; } });
  const timer = () => assert.fail("a timer of a dead host");
  after(hostA.options.scope, 1, timer);
  hostA.deliver({ t: "closed", error: { code: "panicked", message: "boom", retryable: true } });
  await turns();
  assert.equal(released, true);
  assert.equal(p.glue.resets, 0, "the dead instance is dropped when the next is wanted");
  assert.deepEqual([a.status().lifecycle, b.status().lifecycle], [{ Error: "boom" }, { Error: "boom" }]);
  assert.equal(await p.openWorkspace("b"), b);
  await a.startAgent();
  assert.deepEqual(a.status(), { lifecycle: "Running", is_streaming: false });
  assert.deepEqual([p.glue.loads, p.glue.resets, p.glue.hosts.length], [2, 1, 4]);
  assert.deepEqual([hostA.freed, hostB.freed], [false, false], "a dead module is not called again");
  assert.deepEqual(await b.history(), []);
});

test("delete reaches the store and closes what is open here", async () => {
  const p = fake();
  await p.deleteWorkspace("never");
  const a = await p.openWorkspace("a", { storage: "memory" });
  await p.deleteWorkspace("a");
  assert.deepEqual(p.glue.deleted, [["never", "indexeddb"], ["a", "memory"]]);
  assert.equal((await rejection(a.startAgent())).code, "workspace_deleted");
  const again = await p.openWorkspace("a");
  assert.notEqual(again, a);
  assert.equal((await rejection(p.deleteWorkspace(""))).code, "invalid_arguments");
});

// ---------------------------------------------------------------- invoke

const NO_WORKSPACE = "Agent manager not initialized for current workspace";

test("without a workspace every command is refused in the fixed words, but the status", async () => {
  const { invoke, glue } = fake();
  for (const [command, args] of [["start_agent"], ["stop_agent"], ["send_agent_message", { message: "x" }], ["interrupt_agent"], ["clear_conversation"], ["get_conversation_history"], ["get_agent_settings"], ["execute_tool", { tool: "x" }], ["list_tools"], ["agent.wait", { runId: "r" }]]) {
    const error = await rejection(invoke(command, args));
    assert.deepEqual([error.name, error.code, error.message], ["LodgerError", "no_workspace", NO_WORKSPACE], command);
  }
  assert.deepEqual(await invoke("get_agent_status"), STOPPED);
  assert.equal(glue.loads, 0);
});

test("unknown commands and bad arguments are refused, naming them", async () => {
  const p = fake();
  const workspace = await p.openWorkspace("a");
  for (const invoke of [p.invoke, (...args) => workspace.invoke(...args)]) {
    for (const [command, args, code, words] of [
      ["fly", {}, "unknown_command", /"fly"/], ["toString", {}, "unknown_command", /"toString"/],
      ["send_agent_message", {}, "invalid_arguments", /missing 'message'/], ["send_agent_message", { message: 5 }, "invalid_arguments", /'message' must be a string/],
      ["send_agent_message", { message: "x", to: "y" }, "invalid_arguments", /unknown 'to'/], ["stop_agent", { now: true }, "invalid_arguments", /unknown 'now'/],
      ["execute_tool", { tool: "x", arguments: [] }, "invalid_arguments", /'arguments' must be an object/], ["agent.wait", { runId: "x", timeoutMs: "5" }, "invalid_arguments", /'timeoutMs' must be a number/],
      ["list_tools", [], "invalid_arguments", /must be an object/], ["initialize_workspace", {}, "invalid_arguments", /missing 'name'/],
    ]) {
      const error = await rejection(invoke(command, args));
      assert.equal(error.code, code, `${command} ${JSON.stringify(args)}`);
      assert.match(error.message, words);
    }
  }
  assert.equal((await rejection(workspace.invoke("initialize_workspace", { name: "b" }))).code, "invalid_arguments");
  assert.equal(await workspace.invoke("initialize_workspace", { name: "a" }), undefined);
});

test("the commands do what their methods do", async () => {
  const sent = [];
  const p = fake({
    settings: () => ({ api_key_configured: false, provider: null, model: "m" }),
    history: () => [], clearConversation: () => {},
    "tools.execute": (args) => (args.name === "destroy_all_data" ? refuse("tool_not_found", `no tool ${args.name}`) : { result: args.args }),
    wait: (args) => ({ ...args, status: "ok" }),
    interrupt: () => void sent.push("interrupt"),
  });
  const { invoke } = p;
  assert.equal(await invoke("initialize_workspace", { name: "a" }), undefined);
  assert.equal((await rejection(invoke("send_agent_message", { message: "x" }))).message, "Agent harness is not running");
  await invoke("start_agent", { model: "m" });
  assert.deepEqual(p.glue.hosts[0].config, { ifRunning: "reject", model: "m" });
  assert.equal((await rejection(invoke("start_agent"))).code, "already_running");
  assert.deepEqual(await invoke("get_agent_status"), { lifecycle: "Running", is_streaming: false });
  assert.deepEqual(await invoke("send_agent_message", { message: "hi" }), { runId: "run1", status: "accepted", acceptedAt: 1 });
  await invoke("interrupt_agent");
  assert.deepEqual(sent, ["interrupt"]);
  await invoke("clear_conversation");
  assert.deepEqual(await invoke("get_conversation_history"), []);
  assert.deepEqual(await invoke("get_agent_settings"), { api_key_configured: false, provider: null, model: "m" });
  assert.deepEqual(await invoke("execute_tool", { tool: "t", arguments: { a: 1 } }), { result: { a: 1 } });
  assert.deepEqual(await invoke("execute_tool", { tool: "t" }), { result: {} });
  assert.match((await rejection(invoke("execute_tool", { tool: "destroy_all_data" }))).message, /destroy_all_data/);
  assert.deepEqual(await invoke("list_tools"), []);
  assert.deepEqual(await invoke("agent.wait", { runId: "r", timeoutMs: 5 }), { runId: "r", timeoutMs: 5, status: "ok" });
  await invoke("stop_agent");
  assert.deepEqual(await invoke("get_agent_status"), STOPPED);
});

test("invoke acts on the workspace that was opened last and is still open", async () => {
  const p = fake();
  await p.invoke("initialize_workspace", { name: "a" });
  const b = await p.openWorkspace("b");
  await p.invoke("start_agent");
  assert.deepEqual(p.glue.hosts.map(({ name, config }) => [name, config !== undefined]), [["a", false], ["b", true]]);
  await b.close();
  await p.invoke("start_agent");
  assert.notEqual(p.glue.hosts[0].config, undefined);
  await p.invoke("initialize_workspace", { name: "a" });
  await turns();
  assert.equal(p.glue.hosts[0].freed, false, "the same name again keeps it");
  await p.invoke("initialize_workspace", { name: "c" });
  assert.equal(p.glue.hosts[0].freed, true, "another name lets go of it");
  assert.deepEqual(await p.invoke("get_agent_status"), STOPPED);
});
