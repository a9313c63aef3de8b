// The contract member by member, as `index.d.ts` names it for this version. Each test runs with the host in the page, or in a
// worker, where nothing but cloneable messages can pass; in the campaign in both.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { checkRun, ofRun } from "../lib/events.mjs";
import { onBothHosts } from "../lib/tabs.mjs";
import { drop, gate, plain, stream } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

const STOPPED = { lifecycle: "Stopped", is_streaming: false };
const RUNNING = { lifecycle: "Running", is_streaming: false };

export default function (test) {
  module(test);
  clock(test);
  onBothHosts(test, partial);
  for (const host of ["page", "worker"]) {
    const both = (title, body) => test(`${title} [${host}]`, async (t) => {
      const page = await t.tab();
      await page.evaluate((host) => { T.host = host; }, host);
      await body(t, page);
    });
    harness(both);
    runs(both);
    views(both);
    tools(both);
    pages(both);
    rest(both);
  }
}

// ------------------------------------------------------------------ the module

function module(test) {
  test("exports: what this version has, and nothing of a later one", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const names = (o) => { const found = new Set(); for (let p = o; p && p !== Object.prototype && p !== EventTarget.prototype; p = Object.getPrototypeOf(p)) Object.getOwnPropertyNames(p).forEach((n) => found.add(n)); found.delete("constructor"); return [...found].sort(); };
      const error = await ws.history({ limit: "x" }).catch((e) => e);
      return { module: Object.keys(lodger).sort(), same: lodger.default === lodger.init, workspace: names(ws), tools: names(ws.tools), pages: names(ws.pages), keys: names(ws.keys), memory: names(ws.memory), sessions: names(ws.sessions), queue: names(ws.queue), view: names(ws.view()), isTarget: ws instanceof EventTarget,
        error: [error instanceof lodger.LodgerError, error instanceof Error, error.name] };
    });
    assert.deepEqual(seen.module, ["LodgerError", "default", "deleteWorkspace", "init", "invoke", "openWorkspace"]);
    assert.equal(seen.same, true);
    assert.equal(seen.isTarget, true);
    assert.deepEqual(seen.workspace.filter((n) => n !== "addEventListener" && n !== "removeEventListener"), ["clearConversation", "close", "compact", "configureAgent", "file", "history", "interrupt", "invoke", "keys", "memory", "name", "pages", "queue", "regenerate", "removeMessage", "resolvePermission", "resume", "run", "sendMessage",
      "sessions", "setOperator", "startAgent", "status", "stopAgent", "storage", "switchTo", "tools", "view", "wait"]);
    assert.deepEqual(seen.tools, ["definitions", "execute", "grants", "register", "resolve", "revoke", "unregister"]);
    assert.deepEqual(seen.pages, ["backlinks", "create", "delete", "move", "outgoingLinks", "read", "rename", "restore", "search", "trash", "tree", "update", "versions"]);
    assert.deepEqual(seen.memory, ["add", "list", "remove", "search", "update"]);
    assert.deepEqual(seen.keys, ["list", "models", "remove", "set", "validate"]);
    assert.deepEqual(seen.sessions, ["activity", "archive", "attach", "bench", "configure", "events", "export", "fork", "handoffs", "import", "journal", "launch", "list", "markRead", "output", "play", "prompt", "receipts", "recover", "remove", "rename", "replay", "restart", "runOnce", "salvage", "search", "status", "stop", "task", "undoRemove", "verify", "view"]);
    assert.deepEqual(seen.queue, ["edit", "release", "remove"]);
    assert.deepEqual(seen.view, ["getSnapshot", "subscribe"]);
    assert.deepEqual(seen.error, [true, true, "LodgerError"]);
  });

  test("importing loads the module, a task later, and does no other work: no storage, no listener on the page", async (t) => {
    const requests = [];
    const page = await (await t.context()).newPage();
    page.on("request", (r) => requests.push(new URL(r.url()).pathname));
    await page.goto(`${t.env.site.url}/blank.html`);
    await t.ready(page);
    await page.evaluate(() => T.turn());
    assert.deepEqual(requests.filter((p) => p.endsWith(".wasm")), ["/lodger/lodger.wasm"]);
    assert.deepEqual(await page.evaluate(async () => (await indexedDB.databases()).map((d) => d.name)), []);
    await page.evaluate(() => Promise.all([lodger.init(), lodger.init(), lodger.openWorkspace("a")]));
    const loaded = requests.filter((p) => p.endsWith(".wasm")).map((p) => p.replace(/\.[0-9a-f]{8}\./, "."));
    assert.deepEqual(loaded, ["/lodger/lodger.wasm", "/lodger/rooms/pages.wasm"], "each is loaded once");
  });

  test("a first answer loads the module and the parts that it needs, each once", async (t) => {
    for (const [pageTools, kinds, parts] of [[false, ["anthropic"], ["anthropic"]], [true, ["anthropic"], ["anthropic", "pages"]], [false, ["anthropic", "scripted"], ["anthropic", "chat"]]]) {
      const requests = [];
      const route = await t.raw(message("Here."));
      const page = await t.tab();
      page.on("request", (r) => requests.push(new URL(r.url()).pathname));
      await page.evaluate(async ([base, pageTools, kinds]) => {
        const ws = await lodger.openWorkspace(`first-${pageTools}-${kinds.length}`, { pageTools });
        ws.tools.register({ name: "add", description: "Adds.", inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] }, execute: () => "added" });
        await ws.startAgent({ provider: T.anthropic(base) });
        if ((await ws.run("Hello")).text !== "Here.") throw new Error("no answer");
        await ws.history();
        if (kinds.includes("scripted")) await ws.configureAgent({ provider: scriptedModel(["There."]) });
        await ws.close();
      }, [route.base, pageTools, kinds]);
      const loaded = requests.filter((p) => p.startsWith("/lodger/rooms/")).map((p) => p.replace(/^\/lodger\/rooms\/(\w+)\.[0-9a-f]{8}\.wasm$/, "$1"));
      assert.deepEqual(loaded.sort(), parts);
    }
  });

  test("a schema that few have brings its part, once; any other does not; and a journal with one brings it again", async (t) => {
    const requests = [];
    const route = await t.raw(message("Here."), message("Here."));
    const page = await t.tab();
    page.on("request", (r) => requests.push(new URL(r.url()).pathname));
    const asked = () => requests.splice(0).filter((p) => p.startsWith("/lodger/rooms/schema.")).length;
    await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("schemas");
      globalThis.add = (name, properties, more) => ws.tools.register({ name, description: "Adds.", inputSchema: { type: "object", properties, additionalProperties: false, ...more }, execute: () => "added" });
      await add("plain", { to: { type: ["string", "null"], minLength: 1, format: "email" }, of: { type: "array", items: { enum: [1, 2] } } }, { $schema: "https://json-schema.org/draft/2020-12/schema" });
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("Hello");
      await ws.tools.execute("plain", { of: [1] });
    }, route.base);
    assert.equal(asked(), 0);
    const refused = await page.evaluate(async () => {
      await add("rare", { to: { anyOf: [{ type: "string", pattern: "^a+$" }, { $ref: "#/$defs/n" }] } }, { $defs: { n: { type: "integer" } } });
      await add("unique", { of: { uniqueItems: true } });
      for (const to of ["aa", 1]) await ws.tools.execute("rare", { to });
      await ws.run("Hello");
      return [await T.refused(() => ws.tools.execute("rare", { to: "b" })), await T.refused(() => ws.tools.execute("unique", { of: [{ a: 1 }, { a: 1 }] }))].map((error) => error.message);
    });
    assert.match(refused[0], /'to' must match the pattern \^a\+\$; you sent "b"/);
    assert.match(refused[1], /'of' must have no item twice/);
    assert.equal(asked(), 1);
    await page.reload();
    await t.ready(page);
    asked();
    const said = await page.evaluate(async () => (await (await lodger.openWorkspace("schemas")).history()).map((message) => message.role));
    assert.deepEqual([said, asked()], [["user", "assistant", "user", "assistant"], 1]);
  });

  test("a part that does not come rejects the command that needs it, ends nothing, and the next one asks again", async (t) => {
    const route = await t.raw(message("Here."));
    const page = await t.tab();
    t.allowError(/./);
    const seen = [];
    for (const answer of [(r) => r.abort(), (r) => r.fulfill({ status: 404 }), (r) => r.fulfill({ contentType: "text/html", body: "<!doctype html>" }), (r) => r.fulfill({ contentType: "application/wasm", body: Buffer.from("0061736d01000000020701000178020001", "hex") })]) {
      await page.route("**/rooms/anthropic.*", answer);
      seen.push(await page.evaluate(async (base) => {
        globalThis.ws ??= await lodger.openWorkspace("parts");
        const { code, retryable } = await T.refused(() => ws.startAgent({ provider: T.anthropic(base) }));
        return [code, retryable, ws.status().lifecycle];
      }, route.base));
      await page.unroute("**/rooms/anthropic.*");
    }
    assert.deepEqual(seen, Array(4).fill(["wasm_unavailable", true, "Stopped"]));
    const text = await page.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base) });
      return (await ws.run("Hello")).text;
    }, route.base);
    assert.equal(text, "Here.");
  });

  test("each of the parts that does not come rejects what needs it, ends no run, and comes the next time", async (t) => {
    const needs = {
      anthropic: (ws, base) => ws.startAgent({ provider: T.anthropic(base) }),
      chat: (ws) => ws.configureAgent({ providers: { spare: { kind: "openai", apiKey: "sk-test", model: "m" } } }),
      ollama: (ws) => ws.configureAgent({ providers: { spare: { kind: "ollama", model: "m" } } }),
      responses: (ws) => ws.configureAgent({ providers: { spare: { kind: "openai-responses", apiKey: "sk-test", model: "m" } } }),
      gemini: (ws) => ws.configureAgent({ providers: { spare: { kind: "gemini", apiKey: "test", model: "m" } } }),
      pages: (ws) => ws.pages.tree(),
      upkeep: (ws) => ws.pages.trash(),
      more: (ws) => ws.tools.execute("look", {}),
      // What becomes of a tool that is registered is told by an event.
      schema: (ws) => new Promise((called, refused) => {
        ws.addEventListener("agent:error", ({ detail }) => refused(detail), { once: true });
        ws.tools.register({ name: "rare", description: "Adds.", readOnly: true, inputSchema: { type: "object", properties: { to: { anyOf: [{ type: "string" }, { type: "integer" }] } } }, execute: () => "added" });
        ws.tools.execute("rare", { to: 1 }).then(called, () => {});
      }),
      past: (ws) => ws.sessions.journal("default"),
      carry: async (ws) => (await ws.sessions.export("default")).size > 0,
      // A run is at work, so nothing is summed up.
      memory: (ws) => ws.memory.list(),
      compaction: (ws) => ws.compact().catch((error) => { if (error.code !== "busy") throw error; }),
      volatile: async () => (await lodger.openWorkspace("beside", { storage: "memory", pageTools: false })).close(),
    };
    const there = (await fs.readdir(path.join(t.env.pkg.dir, "rooms"))).map((file) => file.split(".")[0]);
    assert.deepEqual(Object.keys(needs).sort(), there.sort());
    const hold = gate();
    const whole = message("Here you are.");
    const route = await t.raw(stream(whole.slice(0, 4), hold, whole.slice(4)));
    const page = await t.tab();
    t.allowError(/./);
    await page.evaluate(async () => {
      globalThis.ws = await lodger.openWorkspace("parts", { pageTools: false });
      ws.tools.register({ name: "look", description: "Looks.", readOnly: true, inputSchema: { type: "object" }, execute: () => "seen" });
    });
    const asked = (work) => page.evaluate(async ([work, base]) => T.settle(() => (0, eval)(`(${work})`)(ws, base)), [String(work), route.base]);
    for (const [part, work] of Object.entries(needs)) {
      const answers = { offline: (r) => r.abort("internetdisconnected"), "not found": (r) => r.fulfill({ status: 404 }) };
      for (const [how, answer] of Object.entries(answers)) {
        await page.route(`**/rooms/${part}.*`, answer);
        const { code, retryable } = await page.evaluate(async ([work, base]) => T.refused(() => (0, eval)(`(${work})`)(ws, base)), [String(work), route.base]).catch((error) => { throw new Error(`${part}, ${how}: ${error.message}`); });
        assert.deepEqual([code, retryable], ["wasm_unavailable", true], `${part}, ${how}`);
        await page.unroute(`**/rooms/${part}.*`);
      }
      if (part !== "anthropic") assert.deepEqual(await page.evaluate(() => ws.status()), { lifecycle: "Running", is_streaming: true }, part);
      assert.equal((await asked(work)).error, undefined, `${part} comes`);
      // From here on a run is at work.
      if (part === "anthropic") await page.evaluate(async () => { const rec = T.record(); globalThis.run = await ws.sendMessage("Hello"); await rec.chunk(); });
    }
    hold.open();
    assert.deepEqual(await page.evaluate(async () => { const { outcome, text } = await run.result; return [outcome, text]; }), ["completed", "Here you are."]);
    assert.equal(route.requests.length, 1);
    assert.deepEqual(route.violations, []);
  });

  test("what a page names to be loaded sooner is loaded once", async (t) => {
    const entry = t.env.site.imports.lodger;
    t.env.site.serve("/preload.html", `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<link rel="modulepreload" href="${entry}"><link rel="preload" href="/lodger/lodger.wasm" as="fetch" type="application/wasm" crossorigin>
<script type="module">import { init } from "${entry}"; await init(); document.body.dataset.ready = "yes";</script><body>`);
    const page = await (await t.context()).newPage();
    await page.goto(`${t.env.site.url}/preload.html`);
    await page.waitForFunction(() => document.body?.dataset.ready);
    const entries = await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.name.endsWith(".wasm") && e.transferSize > 0).length);
    assert.equal(entries, 1);
  });

  test("init: a module that cannot be loaded is told, and a later call tries again", async (t) => {
    const page = await t.tab();
    t.env.site.serve("/html.wasm", "<!doctype html>", {}, "text/html");
    const seen = await page.evaluate(async () => [await T.refused(() => lodger.init({ module_or_path: "/nowhere.wasm" })), await T.refused(() => lodger.init({ module_or_path: "/html.wasm" })), (await lodger.openWorkspace("w")).name]);
    assert.deepEqual([seen[0].code, seen[1].code, seen[2]], ["wasm_unavailable", "wasm_unavailable", "w"]);
    assert.match(seen[1].hint, /optimizeDeps/);
    assert.match(seen[1].hint, /exclude/);
  });

  test("init: a worker gets the module from where the page said", async (t) => {
    const wasm = "lodger/lodger.wasm";
    for (const source of ["relative", "response", "promise", "compiled", "lost"]) {
      const page = await t.tab();
      const name = await page.evaluate(async ([source, wasm]) => {
        const given = { relative: () => wasm, response: () => fetch(wasm), promise: () => fetch(wasm), compiled: () => WebAssembly.compileStreaming(fetch(wasm)), lost: () => Promise.reject(new Error("offline")) }[source]();
        const loaded = lodger.init({ module_or_path: source === "promise" || source === "lost" ? given : await given });
        if (source === "lost" && (await T.refused(() => loaded)).code !== "wasm_unavailable") return "no refusal";
        await loaded.catch(() => {});
        const ws = await lodger.openWorkspace("w", { host: "worker" });
        await ws.startAgent({ provider: { kind: "custom", model: "m", async *stream() { yield "Yes."; } } });
        const { text } = await ws.run("Are you there?");
        await ws.close();
        return text;
      }, [source, wasm]);
      assert.equal(name, "Yes.", source);
    }
  });

  test("the same name twice is the same Workspace, let go a task after the last close", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const [a, b] = await Promise.all([lodger.openWorkspace("w"), lodger.openWorkspace("w")]);
      await a.startAgent({ provider: scriptedModel(["One", "Two"]) });
      await a.close();
      const stillOpen = b.status();
      await b.run("Hello");
      b.close(); // the last one ...
      const c = await lodger.openWorkspace("w"); // ... and again in the same task: StrictMode
      const kept = c.status();
      await c.close();
      await T.turn();
      const gone = await T.refused(() => c.history());
      const d = await lodger.openWorkspace("w");
      return { same: a === b, sameAgain: b === c, stillOpen, kept, gone: gone.code, fresh: d !== c, status: d.status(), history: (await d.history()).length, other: await T.refused(() => lodger.openWorkspace("w", { storage: "memory" })) };
    });
    assert.deepEqual(seen.stillOpen, RUNNING);
    assert.deepEqual(seen.kept, RUNNING);
    assert.deepEqual([seen.same, seen.sameAgain, seen.gone, seen.history], [true, true, "workspace_closed", 2]);
    assert.deepEqual(seen.status, STOPPED);
    assert.equal(seen.other.code, "invalid_config");
  });

  test("invoke acts on the workspace that was opened last", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      await lodger.invoke("initialize_workspace", { name: "one" });
      await lodger.invoke("execute_tool", { tool: "create_page", arguments: { title: "Only in one" } });
      const two = await lodger.openWorkspace("two");
      const none = await lodger.invoke("execute_tool", { tool: "get_page_tree", arguments: {} });
      await two.close();
      await T.turn();
      await lodger.invoke("initialize_workspace", { name: "one" });
      const one = await lodger.invoke("execute_tool", { tool: "get_page_tree", arguments: {} });
      return { none: JSON.stringify(none.result), one: JSON.stringify(one.result) };
    });
    assert.doesNotMatch(seen.none, /Only in one/);
    assert.match(seen.one, /Only in one/);
  });

  test("deleteWorkspace leaves nothing of it", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("gone");
      await ws.startAgent({ provider: scriptedModel(["Hi"]) });
      await ws.run("Hello");
      await lodger.deleteWorkspace("gone");
      const error = await T.refused(() => ws.history());
      const names = (await indexedDB.databases()).map((d) => d.name);
      await lodger.deleteWorkspace("never there");
      return { error: error.code, names, again: await (await lodger.openWorkspace("gone")).history() };
    });
    assert.equal(seen.error, "workspace_deleted");
    assert.deepEqual(seen.names, []);
    assert.deepEqual(seen.again, []);
  });
}

export function clock(test) {
  // In a worker there is none to be given.
  test("a clock that gives no time opens nothing; one that gives none later is gone on without", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const throws = () => { throw new TypeError("no clock"); };
      const clocks = { throws, nothing: () => {}, text: () => "1", date: () => new Date(), endless: () => Infinity, none: () => NaN, large: () => 1n, late: async () => 1, number: 5, zero: null };
      const refused = [];
      for (const [name, now] of Object.entries(clocks)) refused.push([name, await T.refused(() => lodger.openWorkspace(`clock ${name}`, { now }))]);
      let time = () => Date.now();
      const ws = await lodger.openWorkspace("w", { now: () => time() });
      await ws.startAgent({ provider: scriptedModel([{ tool: "get_page_tree" }, "One.", "Two."]) });
      const said = [];
      for (const broken of [throws, clocks.none]) {
        time = broken;
        said.push((await ws.run("Go")).text);
      }
      const times = (await ws.history()).map(({ createdAt }) => createdAt);
      return { refused, said, ordered: times.every((time, at) => Number.isSafeInteger(time) && time >= (times[at - 1] ?? 1)), near: Math.abs(times.at(-1) - Date.now()) < 60_000 };
    });
    assert.equal(seen.refused.length, 10);
    for (const [name, { code, message, isError, ...error }] of seen.refused) assert.deepEqual([error.name, code, isError, /now/.test(message)], ["LodgerError", "invalid_config", true, true], `${name}: ${message}`);
    assert.deepEqual([seen.said, seen.ordered, seen.near], [["One.", "Two."], true, true]);
  });
}

// ------------------------------------------------------------------ harness

function harness(both) {
  both("startAgent: what the configuration says is what the model gets", async (t, page) => {
    const route = await t.raw(message("One"), message("Two"), message("Three"));
    await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ model: "claude-opus-4-6", instructions: "You help in this shop.", maxOutputTokens: 777, temperature: 0.5, providerOptions: { metadata: { user_id: "u1" } },
        provider: T.anthropic(base, { headers: { "x-tenant": "blue" }, apiVersion: "2023-06-01" }) });
      await ws.run("Hello");
      await ws.configureAgent({ instructions: async () => "You help in the garden.", maxOutputTokens: 888 });
      await ws.run("And now?");
      await ws.configureAgent({ provider: T.anthropic(base, { model: "claude-haiku-4-5", auth: "bearer", headers: { "x-api-key": null } }) });
      await ws.run("And then?");
    }, route.base);
    const [one, two, three] = route.requests;
    assert.equal(one.json.model, "claude-opus-4-6");
    assert.equal(one.json.max_tokens, 777);
    assert.equal(one.json.temperature, 0.5);
    assert.deepEqual(one.json.metadata, { user_id: "u1" });
    assert.equal(one.json.stream, true);
    assert.match(JSON.stringify(one.json.system), /You help in this shop\./);
    assert.equal(one.headers["x-api-key"], "sk-test");
    assert.equal(one.headers["x-tenant"], "blue");
    assert.equal(one.headers["anthropic-version"], "2023-06-01");
    assert.match(JSON.stringify(two.json.system), /garden/);
    assert.doesNotMatch(JSON.stringify(two.json.system), /shop/);
    assert.equal(two.json.max_tokens, 888);
    assert.equal(three.headers.authorization, "Bearer sk-test");
    assert.equal(three.headers["x-api-key"], undefined);
    assert.equal(three.json.model, "claude-haiku-4-5");
    assert.deepEqual(route.violations, []);
  });

  both("startAgent: no sampling parameter unless it is set; the prefix of a conversation stays the same", async (t, page) => {
    const route = await t.raw(message("One"), message("Two"));
    await page.evaluate(async (base) => { const ws = await T.open(); await ws.startAgent({ provider: T.anthropic(base) }); await ws.run("a"); await ws.run("b"); }, route.base);
    const [one, two] = route.requests.map((r) => r.json);
    assert.equal(one.model, "claude-sonnet-4-6");
    for (const name of ["temperature", "top_p", "top_k"]) assert.equal(name in one, false);
    const bare = (value) => JSON.stringify(value ?? null).replaceAll(/,?"cache_control":\{[^}]*\}/g, "");
    assert.equal(bare(two.tools), bare(one.tools));
    assert.equal(bare(two.system), bare(one.system));
    assert.match(JSON.stringify(one), /cache_control/);
  });

  for (const own of [false, true]) both(`apiKey as a function: asked before each call, and once more when it was refused${own ? ", with a fetch of the page's own" : ""}`, async (t, page) => {
    const route = await t.raw((body, n, { headers }) => (headers["x-api-key"] === "good" ? message("Welcome.") : plain(401, errorBody("authentication_error", "invalid x-api-key"))));
    const seen = await page.evaluate(async ([base, own]) => {
      const ws = await T.open();
      const asked = [];
      let key = "good";
      const apiKey = async ({ refused }) => { asked.push(refused); return refused ? key : "old"; };
      await ws.startAgent({ provider: T.anthropic(base, { apiKey, ...(own && { fetch: (url, init) => fetch(url, init) }) }) });
      const { text, turns } = await ws.run("Hello");
      key = "bad";
      return { text, turns, second: (await T.refused(() => ws.run("And now?"))).code, asked };
    }, [route.base, own]);
    assert.deepEqual(seen, { text: "Welcome.", turns: 1, second: "auth", asked: [false, true, false, true] });
    assert.deepEqual(route.requests.map((r) => r.headers["x-api-key"]), ["old", "good", "old", "bad"]);
  });

  both("apiKey as a function: what it throws is told, and can be tried again", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      const told = {};
      await ws.startAgent();
      for (const [name, apiKey] of Object.entries({
        throws: () => { throw new Error("token server down"); }, rejects: () => fetch("http://127.0.0.1:9/token"),
        coded: async () => { throw Object.assign(new Error("log in first"), { code: "auth" }); }, nothing: () => undefined, empty: async () => "",
      })) {
        await ws.configureAgent({ provider: T.anthropic("http://127.0.0.1:9", { apiKey }) });
        told[name] = await T.refused(() => ws.run("Hello"));
      }
      return Object.fromEntries(Object.entries(told).map(([name, e]) => [name, [e.code, e.retryable, e.message]]));
    });
    assert.deepEqual(seen.throws, ["network", true, "the function for apiKey failed: token server down"]);
    assert.deepEqual(seen.rejects, ["network", true, "the function for apiKey failed: Failed to fetch"]);
    assert.deepEqual(seen.coded, ["auth", false, "log in first"]);
    assert.deepEqual(seen.nothing, ["auth", false, "apiKey() must give a string, it gave undefined"]);
    assert.deepEqual(seen.empty.slice(0, 2), ["auth", false]);
  });

  both("a fetch of the page's own fails with the same codes as the global one, and an abort says nothing", async (t, page) => {
    const words = message("One two three four");
    const shown = gate();
    t.signal("text has come", () => shown.open());
    const broken = await t.raw(() => stream(words.slice(0, 4), shown, drop));
    const waits = await t.raw(() => stream(words.slice(0, 4), gate()));
    const seen = await page.evaluate(async ([broken, waits]) => {
      const ws = await T.open();
      const rec = T.record();
      let failed;
      const own = (base) => T.anthropic(base, { fetch: (url, init) => fetch(url, init).catch((error) => { failed = error.name; throw error; }) });
      await ws.startAgent({ provider: own("http://127.0.0.1:9"), retry: { cut: false } });
      const offline = await T.refused(() => ws.run("Hello"));
      await ws.configureAgent({ provider: own(broken) });
      rec.clear();
      rec.chunk(1).then(() => T.tell("text has come"));
      const { outcome, text, error } = await (await ws.sendMessage("Hello")).result;
      await ws.configureAgent({ provider: own(waits) });
      rec.clear();
      const run = await ws.sendMessage("Hello");
      await rec.chunk(1);
      ws.interrupt();
      const stopped = (await run.result).outcome;
      // Before its head: the fetch itself rejects, with an AbortError.
      await ws.configureAgent({ provider: T.anthropic(waits, { fetch: (url, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))) }) });
      const early = await ws.sendMessage("Hello");
      await T.turn();
      ws.interrupt();
      const outcomes = [stopped, (await early.result).outcome];
      await T.turn();
      return { offline: [offline.code, offline.retryable, offline.message], broken: [outcome, text, error?.code, error?.retryable], outcomes, errors: rec.events.filter((e) => e.type === "agent:error").map((e) => e.detail.code) };
    }, [broken.base, waits.base]);
    assert.deepEqual(seen.offline, ["network", true, "no answer came: network or CORS: Failed to fetch"]);
    assert.match(seen.broken.splice(1, 1)[0], /^One/);
    assert.deepEqual(seen.broken, ["failed", "stream_broken", true]);
    assert.deepEqual([seen.outcomes, seen.errors], [["interrupted", "interrupted"], []]);
  });

  both("a fetch of the page's own is used, and a proxy needs no key", async (t, page) => {
    const route = await t.raw(message("By proxy."));
    route.checked = false;
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      const calls = [];
      await ws.startAgent({ provider: { kind: "anthropic", baseUrl: base, fetch: (url, init) => { calls.push([String(url), init.method, init.signal instanceof AbortSignal]); return fetch(url, init); } } });
      return { text: (await ws.run("Hello")).text, calls, settings: await ws.invoke("get_agent_settings") };
    }, route.base);
    assert.equal(seen.text, "By proxy.");
    assert.equal(seen.calls.length, 1);
    assert.ok(seen.calls[0][0].startsWith(route.base));
    assert.deepEqual(seen.calls[0].slice(1), ["POST", true]);
    assert.equal(seen.settings.api_key_configured, true);
  });

  both('a start is content with what runs, and keeps it; with ifRunning: "reject" it is refused', async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      await ws.startAgent({ provider: scriptedModel(["Hi"]) });
      await ws.startAgent({ ifRunning: "join", provider: scriptedModel([]) });
      await ws.startAgent({ provider: scriptedModel([]) });
      const refused = await T.refused(() => ws.startAgent({ ifRunning: "reject", provider: scriptedModel([]) }));
      return { text: (await ws.run("Hello")).text, refused: refused.code };
    });
    assert.deepEqual(seen, { text: "Hi", refused: "already_running" });
  });

  both("configureAgent before the start is refused; status() answers at once", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      const before = ws.status();
      const error = await T.refused(() => ws.configureAgent({ maxTurns: 3 }));
      const starting = ws.startAgent();
      const during = ws.status().lifecycle;
      await starting;
      return { before, error: error.code, during, after: ws.status(), name: ws.name };
    });
    assert.deepEqual(seen.before, STOPPED);
    assert.equal(seen.error, "not_running");
    assert.equal(seen.during, t.title.includes("page") ? "Starting" : "Stopped", "of a worker the mirror lags behind");
    assert.deepEqual(seen.after, RUNNING);
    assert.equal(seen.name, "w");
  });

  both("events: the Workspace first, then the target, with one detail; a listener may call any method", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const target = new EventTarget();
      const ws = await T.open("w", { target });
      const order = [];
      let detail, same, onDocument = 0, nested;
      document.addEventListener("agent:session-started", () => onDocument++);
      ws.addEventListener("agent:session-started", (e) => { detail = e.detail; order.push(["ws", e instanceof CustomEvent, e.target === ws]); nested = Promise.all([ws.history(), ws.pages.create({ title: "From a listener" }), ws.status()]); });
      target.addEventListener("agent:session-started", (e) => { same = e.detail === detail; order.push(["target", e instanceof CustomEvent, e.target === target]); });
      await ws.startAgent({ provider: scriptedModel(["Hi", "Hi"]) });
      await ws.run("Hello");
      const [history, created] = await nested;
      const quiet = await T.open("quiet", { target: null });
      let own = 0;
      quiet.addEventListener("agent:session-started", () => own++);
      await quiet.startAgent({ provider: scriptedModel(["Hi"]) });
      await quiet.run("Hello");
      return { order, same, onDocument, detail: T.plain(detail), history: history.map((m) => m.role), slug: created.slug, own };
    });
    assert.deepEqual(seen.order, [["ws", true, true], ["target", true, true]]);
    assert.equal(seen.same, true);
    assert.equal(seen.onDocument, 0);
    assert.equal(seen.own, 1);
    assert.equal(seen.history[0], "user");
    assert.equal(seen.slug, "from-a-listener");
    assert.equal(seen.detail.workspace, "w");
  });

  for (const [how, given] of [["as a text", "text"], ["from a function", "function"]]) both(`keys ${how} are in no event, no history, no stored row`, async (t, page) => {
    const route = await t.raw(message({ tool: "echo", args: { text: "my key is sk-verysecret123" } }), message("I saw sk-verysecret123."));
    const seen = await page.evaluate(async ([base, given]) => {
      const ws = await T.open("keys");
      const rec = T.record(document);
      ws.tools.register({ name: "echo", description: "Echoes.", inputSchema: { type: "object", properties: { text: { type: "string" } } }, execute: ({ text }) => text });
      await ws.startAgent({ provider: T.anthropic(base, { apiKey: given === "text" ? "sk-verysecret123" : async () => "sk-verysecret123" }) });
      const result = T.plain(await ws.run("Say the key."));
      const has = (value) => JSON.stringify(value).includes("sk-verysecret123");
      const rows = await T.dump("keys");
      return [...new Set(rec.events.filter((e) => has(e.detail)).map((e) => e.type)), ...(has(result) ? ["result"] : []), ...(has(await ws.history()) ? ["history"] : []), ...Object.keys(rows).filter((table) => has(rows[table])).map((table) => `table ${table}`)];
    }, [route.base, given]);
    assert.deepEqual(seen, []);
    assert.equal(route.requests[0].headers["x-api-key"], "sk-verysecret123");
  });
}

// ------------------------------------------------------------------ runs

function runs(both) {
  both("sendMessage: a Run with plain members, textStream and result", async (t, page) => {
    const hold = gate();
    const words = message("One two three four");
    const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)));
    t.signal("go on", () => hold.open());
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document);
      const run = await ws.sendMessage("Count");
      const early = [];
      const reading = (async () => { for await (const piece of run.textStream) early.push(piece); })();
      await rec.chunk(1);
      await T.tell("go on");
      const result = await run.result;
      await reading;
      const read = async (most = Infinity) => { let text = ""; for await (const piece of run.textStream) { text += piece; if (--most === 0) break; } return text; };
      return { run: T.plain(run), keys: Object.keys(run), early, late: await read(), first: await read(1), result: T.plain(result), own: Object.hasOwn(run, "result") };
    }, route.base);
    assert.deepEqual(Object.keys(seen.run).sort(), ["acceptedAt", "runId", "status"]);
    assert.equal(seen.own, false, "result and textStream are getters of the prototype");
    assert.equal(seen.run.status, "accepted");
    assert.equal(typeof seen.run.acceptedAt, "number");
    assert.equal(seen.early.join(""), "One two three four");
    assert.ok(seen.early.length >= 2, "it streams");
    assert.equal(seen.late, "One two three four", "complete, however late");
    assert.ok("One two three four".startsWith(seen.first) && seen.first);
    assert.equal(seen.result.runId, seen.run.runId);
    assert.equal(seen.result.outcome, "completed");
    assert.equal(seen.result.text, "One two three four");
    assert.equal(seen.result.turns, 1);
    assert.deepEqual([seen.result.usage.inputTokens, seen.result.usage.outputTokens], [12, 7]);
  });

  both("run(): resolves when completed, rejects with the run's error otherwise; result never rejects", async (t, page) => {
    const route = await t.raw(message("Fine."), plain(400, errorBody("invalid_request_error", "prompt is odd")), plain(400, errorBody("invalid_request_error", "prompt is odd")));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const good = T.plain(await ws.run({ text: "Hello", metadata: { from: "form" } }));
      const bad = await T.refused(() => ws.run("Bad"));
      const run = await ws.sendMessage("Bad again");
      const result = T.plain(await run.result);
      let text = "";
      for await (const piece of run.textStream) text += piece;
      return { good, bad, result, text, history: T.plain(await ws.history()) };
    }, route.base);
    assert.equal(seen.good.outcome, "completed");
    assert.equal(seen.bad.code, "invalid_request");
    assert.equal(seen.result.outcome, "failed");
    assert.equal(seen.result.error.code, "invalid_request");
    assert.equal(seen.text, "");
    assert.deepEqual(seen.history[0].metadata, { from: "form" });
    assert.doesNotMatch(JSON.stringify(route.requests[0].json), /"from"/, "metadata is not for the model");
  });

  both("messages: ids, times, models, usage, one assistant message a run; limit and before", async (t, page) => {
    const route = await t.raw(message(["I look.", { tool: "get_page_tree" }]), message("Nothing there."), message("Two."), message("Three."));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const before = Date.now();
      for (const text of ["one", "two", "three"]) await ws.run(text);
      const all = T.plain(await ws.history());
      return { before, after: Date.now(), all, last: T.plain(await ws.history({ limit: 2 })), earlier: T.plain(await ws.history({ limit: 2, before: all[4].id })), nowhere: await T.refused(() => ws.history({ before: "nope" })) };
    }, route.base);
    assert.deepEqual(seen.all.map((m) => m.role), ["user", "assistant", "user", "assistant", "user", "assistant"]);
    assert.equal(new Set(seen.all.map((m) => m.id)).size, 6);
    for (const m of seen.all) { assert.equal(m.status, "complete"); assert.ok(m.createdAt >= seen.before && m.createdAt <= seen.after); assert.equal(typeof m.runId, "string"); }
    assert.deepEqual(seen.all[1].parts.map((p) => p.type), ["text", "tool-call", "text"]);
    assert.equal(seen.all[1].runId, seen.all[0].runId);
    assert.equal(seen.all[1].model, "claude-sonnet-4-6");
    assert.ok(seen.all[1].usage.outputTokens > 0);
    assert.deepEqual(seen.last, seen.all.slice(4));
    assert.deepEqual(seen.earlier, seen.all.slice(2, 4));
    assert.equal(seen.nowhere.code, "message_not_found");
  });

  both("busy: one run at a time, and the refused message leaves no trace", async (t, page) => {
    const hold = gate();
    const words = message("One two");
    const route = await t.raw(stream(words.slice(0, 3), hold, words.slice(3)));
    t.signal("go on", () => hold.open());
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const run = await ws.sendMessage("First");
      const busy = await T.refused(() => ws.sendMessage("Second"));
      const resume = await T.settle(() => ws.resume());
      await T.tell("go on");
      await run.result;
      return { busy, resume: resume.value?.runId === run.runId, history: (await ws.history()).map((m) => T.textOf(m)) };
    }, route.base);
    assert.equal(seen.busy.code, "busy");
    assert.equal(seen.busy.retryable, true);
    assert.equal(seen.resume, true, "the same run");
    assert.deepEqual(seen.history, ["First", "One two"]);
  });

  both("in a listener of the end the session is free again: sendMessage is not busy", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      await ws.startAgent({ provider: scriptedModel(["One", "Two", "Three"]) });
      const next = ["Second", "Third"];
      const all = new Promise((resolve) => {
        ws.addEventListener("agent:session-completed", () => { if (next.length) ws.sendMessage(next.shift()).catch(resolve); else resolve("done"); });
      });
      await ws.sendMessage("First");
      return { all: String(await all), history: (await ws.history()).map((m) => T.textOf(m)) };
    });
    assert.deepEqual(seen, { all: "done", history: ["First", "One", "Second", "Two", "Third", "Three"] });
  });

  both("interrupt: with and without a target; a wrong runId does nothing", async (t, page) => {
    const hold = gate();
    const words = message("One two three");
    const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document);
      const run = await ws.sendMessage("Count");
      await rec.chunk(1);
      ws.interrupt({ runId: "another" });
      await T.turn();
      const still = ws.status().is_streaming;
      ws.interrupt({ runId: run.runId });
      const result = T.plain(await run.result);
      const rejected = await T.settle(() => ws.wait(run.runId));
      return { still, result, rejected, text: result.text };
    }, route.base);
    hold.open();
    assert.equal(seen.still, true);
    assert.equal(seen.result.outcome, "interrupted");
    assert.equal(seen.text, "One two ");
    assert.deepEqual([seen.rejected.value.status, seen.rejected.value.outcome], ["ok", "interrupted"]);
  });

  both("signal: aborted before, nothing happens; aborted during, the run is interrupted", async (t, page) => {
    const hold = gate();
    const words = message("One two three");
    const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document);
      const before = await T.refused(() => ws.sendMessage("Never", { signal: AbortSignal.abort() }));
      const none = (await ws.history()).length;
      const controller = new AbortController();
      const running = T.refused(() => ws.run("Count", { signal: controller.signal }));
      await rec.chunk(1);
      controller.abort();
      return { before: before.code, none, during: (await running).code, history: (await ws.history()).map((m) => m.status) };
    }, route.base);
    hold.open();
    assert.deepEqual(seen, { before: "aborted", none: 0, during: "aborted", history: ["complete", "interrupted"] });
  });

  both("context: for the model with this message, not in the history", async (t, page) => {
    const route = await t.raw(message("One"), message("Two"));
    const history = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("What is this?", { context: "The user looks at the page about owls." });
      await ws.run("And now?");
      return JSON.stringify(await ws.history());
    }, route.base);
    assert.match(JSON.stringify(route.requests[0].json.messages), /about owls/);
    assert.match(JSON.stringify(route.requests[0].json.messages), /What is this/);
    assert.doesNotMatch(history, /about owls/);
    assert.deepEqual(route.violations, []);
  });

  both("idempotencyKey: the same key gives the same run, at once, later and after a reload", async (t, page) => {
    const route = await t.raw(message("One"), message("Two"));
    const send = (page) => page.evaluate(async ([base, host]) => {
      T.host = host;
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const [a, b] = await Promise.all([ws.sendMessage("Once", { idempotencyKey: "k1" }), ws.sendMessage("Once", { idempotencyKey: "k1" })]);
      const result = T.plain(await b.result);
      const c = await ws.sendMessage("Once", { idempotencyKey: "k1" });
      let text = "";
      for await (const piece of c.textStream) text += piece;
      const later = T.plain(await c.result);
      const n = (await ws.history()).length;
      await ws.close();
      return { ids: [a.runId, b.runId, c.runId], result, later, text, n };
    }, [route.base, t.title.includes("worker") ? "worker" : "page"]);
    const first = await send(page);
    await page.reload();
    await t.ready(page);
    const second = await send(page);
    assert.equal(new Set([...first.ids, ...second.ids]).size, 1);
    assert.equal(first.n, 2);
    assert.equal(second.n, 2);
    assert.equal(first.result.text, "One");
    assert.equal(first.text, "One");
    assert.deepEqual([second.later.outcome, second.later.text], ["completed", "One"]);
    assert.equal(route.requests.length, 1);
  });

  both("wait: before the end, at it, after it and after a reload; a timeout does not touch the run", async (t, page) => {
    const hold = gate();
    const words = message("One two three");
    const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)), plain(500, errorBody("api_error", "broken")));
    t.signal("go on", () => hold.open());
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document);
      const run = await ws.sendMessage("Count");
      await rec.chunk(1);
      const timeout = T.plain(await ws.wait(run.runId, { timeoutMs: 20 }));
      const zero = T.plain(await ws.wait(run.runId, { timeoutMs: 0 }));
      const streaming = ws.status().is_streaming;
      const waiting = [ws.wait(run.runId), ws.wait(run.runId, { timeoutMs: 20_000 })];
      await T.tell("go on");
      const done = T.plain(await Promise.all(waiting));
      const after = T.plain(await ws.wait(run.runId, { timeoutMs: 0 }));
      const failing = await ws.sendMessage("Fail");
      const failed = T.plain(await ws.wait(failing.runId));
      const unknown = await T.refused(() => ws.wait("no such run"));
      const byName = T.plain(await ws.invoke("agent.wait", { runId: run.runId }));
      await ws.close();
      return { runId: run.runId, failing: failing.runId, timeout, zero, streaming, done, after, failed, unknown, byName };
    }, route.base);
    assert.deepEqual([seen.timeout.status, seen.zero.status, seen.streaming], ["timeout", "timeout", true]);
    assert.equal(seen.timeout.runId, seen.runId);
    for (const w of [...seen.done, seen.after, seen.byName]) {
      assert.deepEqual([w.runId, w.status, w.outcome], [seen.runId, "ok", "completed"]);
      assert.ok(w.endedAt >= w.startedAt);
    }
    assert.deepEqual([seen.failed.status, seen.failed.error.code], ["error", "server"]);
    assert.equal(seen.unknown.code, "run_not_found");
    await page.reload();
    await t.ready(page);
    const again = await page.evaluate(async ([ids, host]) => {
      T.host = host;
      const ws = await T.open();
      await ws.startAgent();
      return T.plain(await Promise.all(ids.map((id) => ws.wait(id))));
    }, [[seen.runId, seen.failing], t.title.includes("worker") ? "worker" : "page"]);
    assert.deepEqual(again, [seen.after, seen.failed], "the same answer after a reload");
  });

  both("clearConversation: interrupts, erases the content in the database, and the model starts anew", async (t, page) => {
    const hold = gate();
    const words = message("A secret word: xylophone, and more");
    const route = await t.raw(message("The first secret: quokka."), stream(words.slice(0, 8), hold, words.slice(8)), message("Fresh."));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open("clear");
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("Tell me a zebra secret.");
      const rec = T.record(document);
      const run = await ws.sendMessage("Another one, walrus.");
      await rec.chunk(1);
      await ws.clearConversation();
      const ended = rec.events.filter((e) => e.type === "agent:session-interrupted").map((e) => e.detail.runId === run.runId);
      const history = await ws.history();
      const rows = JSON.stringify(await T.dump("clear"));
      const text = (await ws.run("Hello again")).text;
      return { ended, history, rows, text, after: (await ws.history()).map((m) => T.textOf(m)) };
    }, route.base);
    hold.open();
    assert.deepEqual(seen.ended, [true]);
    assert.deepEqual(seen.history, []);
    for (const word of ["zebra", "quokka", "walrus", "xylophone"]) assert.equal(seen.rows.includes(word), false, `${word} is still in the database`);
    assert.deepEqual(seen.after, ["Hello again", "Fresh."]);
    assert.equal(route.requests.at(-1).json.messages.length, 1);
    assert.deepEqual(route.violations, []);
  });
}

// ------------------------------------------------------------------ views

function views(both) {
  both("view: at once, then as it goes; statuses in their order; the same object each time", async (t, page) => {
    const hold = gate();
    const words = message("One two three");
    const route = await t.raw(stream(hold, words), plain(500, errorBody("api_error", "broken")));
    t.signal("go on", () => hold.open());
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      const { subscribe, getSnapshot } = ws.view(); // bound
      const shots = [];
      const stop = subscribe((s) => shots.push(s));
      const first = shots.length;
      const same = ws.view() === ws.view() && ws.view("default") === ws.view();
      while (getSnapshot().status === "loading") await T.turn();
      const stopped = getSnapshot();
      await ws.startAgent({ provider: T.anthropic(base) });
      await T.turn();
      const ready = getSnapshot();
      const run = await ws.sendMessage("Count");
      await T.turn();
      const submitted = getSnapshot();
      await T.tell("go on");
      await run.result;
      await T.turn();
      const done = getSnapshot();
      await (await ws.sendMessage("Fail")).result;
      await T.turn();
      const error = getSnapshot();
      const n = shots.length;
      stop();
      await ws.stopAgent();
      await T.turn();
      return { first, same, statuses: shots.map((s) => s.status).filter((s, i, all) => s !== all[i - 1]), stopped: T.plain(stopped), ready: T.plain(ready), submitted: T.plain(submitted), done: T.plain(done), error: T.plain(error), quiet: shots.length === n, end: getSnapshot().status, streamed: shots.filter((s) => s.status === "streaming").length };
    }, route.base);
    assert.equal(seen.first, 1);
    assert.equal(seen.same, true);
    assert.equal(seen.quiet, true);
    assert.deepEqual(seen.statuses.filter((s) => s !== "loading"), ["stopped", "ready", "submitted", "streaming", "ready", "submitted", "error"]);
    assert.deepEqual([seen.stopped.holder, seen.ready.holder], [false, true]);
    assert.deepEqual(seen.submitted.messages.map((m) => [m.role, m.parts[0]?.text]).at(0), ["user", "Count"]);
    assert.deepEqual(seen.done.messages.map((m) => [m.role, m.status, m.parts[0].text]), [["user", "complete", "Count"], ["assistant", "complete", "One two three"]]);
    assert.deepEqual([seen.done.permissions, seen.done.queue], [[], []]);
    assert.equal(seen.error.error.code, "server");
    assert.equal(seen.end, "stopped");
  });

  both("view: what did not change keeps its identity, and a snapshot never changes", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      await ws.startAgent({ provider: scriptedModel(["First answer", { tool: "get_page_tree" }, "Second answer in several words", "Third"]) });
      const { subscribe, getSnapshot } = ws.view();
      const shots = [];
      subscribe((s) => shots.push([s, JSON.stringify(s)]));
      await ws.run("One");
      await T.turn();
      const one = getSnapshot();
      const idle = getSnapshot() === one;
      await ws.run("Two");
      await T.turn();
      const two = getSnapshot();
      const kept = one.messages.every((m, i) => two.messages[i] === m);
      await ws.run("Three");
      await T.turn();
      const three = getSnapshot();
      // While a message grows, the others stay who they are, and so do the parts that are finished.
      let strangers = 0;
      for (let i = 1; i < shots.length; i++) {
        const [a, b] = [shots[i - 1][0].messages, shots[i][0].messages];
        for (let j = 0; j < Math.min(a.length, b.length); j++) if (a[j] !== b[j] && JSON.stringify(a[j]) === JSON.stringify(b[j])) strangers++;
        for (let j = 0; j < Math.min(a.length, b.length); j++) a[j].parts.forEach((p, k) => { const q = b[j].parts[k]; if (q && p !== q && JSON.stringify(p) === JSON.stringify(q)) strangers++; });
      }
      const history = T.plain(await ws.history());
      return { idle, kept, parts: two.messages[3].parts.every((p, i) => three.messages[3].parts[i] === p), frozen: shots.every(([s, text]) => JSON.stringify(s) === text), strangers, shots: shots.length, agree: JSON.stringify(history) === JSON.stringify(three.messages), history, messages: T.plain(three.messages) };
    });
    assert.deepEqual([seen.idle, seen.kept, seen.parts, seen.frozen, seen.strangers], [true, true, true, true, 0]);
    assert.deepEqual(seen.messages, seen.history, "the view and the history agree");
  });
}

// ------------------------------------------------------------------ tools

function tools(both) {
  both("tools: the model is told of a schema's properties in their own order", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open("w", { pageTools: false });
      const properties = { why: { type: "string" }, answer: { type: "string" }, 7: {}, certainty: { type: "number" } };
      ws.tools.register({ name: "conclude", description: "d", inputSchema: { required: ["why", "answer"], properties }, execute: () => "ok" });
      const provider = scriptedModel(["Done"]);
      await ws.startAgent({ provider });
      await ws.run("Conclude");
      return [Object.keys(provider.requests[0].tools[0].function.parameters.properties), Object.keys(properties)];
    });
    assert.deepEqual(seen[0], seen[1]);
  });

  both("tools: register, undo, replace in place, signal, unregister, definitions", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open("w", { pageTools: false });
      const tool = (name, says, more) => ({ name, title: "T", description: `Says ${says}.`, inputSchema: { type: "object", properties: {} }, execute: () => says, ...more });
      // A host behind a port answers later; a round trip is enough.
      const names = async () => { await ws.history(); return ws.tools.definitions().map((d) => d.name).join(); };
      const out = { empty: await names() };
      const undoA = ws.tools.register(tool("a", "one"));
      ws.tools.register(tool("b", "two", { readOnly: true, source: "External" }));
      ws.tools.register(tool("get_c", "three"));
      out.three = await names();
      const undoA2 = ws.tools.register(tool("a", "uno"), { replace: true });
      out.replaced = await names();
      undoA(); // undoes its own registration only, which is gone
      out.kept = [await names(), (await ws.tools.execute("a", {})).result];
      undoA2();
      out.undone = await names();
      const controller = new AbortController();
      ws.tools.register(tool("d", "four"), { signal: controller.signal });
      const withD = await names();
      controller.abort();
      out.signal = [withD, await names()];
      out.unregister = [ws.tools.unregister("b"), ws.tools.unregister("b"), await names()];
      ws.tools.register(tool("e", "five", { readOnly: true, source: "External", explanation: () => "Say five?" }));
      await names();
      out.definitions = T.plain(ws.tools.definitions());
      return out;
    });
    assert.equal(seen.empty, "");
    assert.equal(seen.three, "a,b,get_c");
    assert.equal(seen.replaced, "a,b,get_c");
    assert.deepEqual(seen.kept, ["a,b,get_c", "uno"]);
    assert.equal(seen.undone, "b,get_c");
    assert.deepEqual(seen.signal, ["b,get_c,d", "b,get_c"]);
    assert.deepEqual(seen.unregister, [true, false, "get_c"]);
    const [c, e] = seen.definitions;
    assert.deepEqual({ ...c, inputSchema: undefined }, { name: "get_c", title: "T", description: "Says three.", inputSchema: undefined, source: "Workspace", readOnly: true, available: true });
    assert.deepEqual([e.source, e.readOnly, e.explains], ["External", true, true]);
    assert.equal(c.inputSchema.type, "object");
  });

  both("tools: what execute gets, gives, and how it fails", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      const got = [];
      ws.tools.register({ name: "add", description: "Adds.", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] }, execute: ({ a, b }, context) => { got.push([Object.keys(context).sort(), context.signal instanceof AbortSignal, typeof context.toolCallId, context.runId ?? null]); return { sum: a + b, at: new Date(0), list: [1, undefined, null] }; } });
      ws.tools.register({ name: "fail", description: "Fails.", inputSchema: { type: "object", properties: {} }, execute: async () => { throw new Error("no luck"); } });
      ws.tools.register({ name: "hang", description: "Hangs.", inputSchema: { type: "object", properties: {} }, timeoutMs: 50, execute: (args, { signal }) => new Promise((r) => signal.addEventListener("abort", () => { got.push("aborted"); r("late"); })) });
      return { ok: T.plain(await ws.tools.execute("add", { a: 1, b: 2 })), got, missing: await T.refused(() => ws.tools.execute("add", { a: 1 })), fail: await T.refused(() => ws.tools.execute("fail", {})),
        hang: await T.refused(() => ws.tools.execute("hang", {})), none: await T.refused(() => ws.tools.execute("nope", {})), status: ws.status(), history: (await ws.history()).length };
    });
    assert.match(JSON.stringify(seen.ok.result), /"?sum\\?"?:3/);
    assert.deepEqual(seen.got[0].slice(1), [true, "string", null]);
    assert.ok(seen.got.includes("aborted"), "its signal fires when its time is up");
    assert.equal(seen.missing.code, "invalid_arguments");
    assert.match(seen.missing.message, /missing 'b' field/);
    assert.equal(seen.fail.code, "tool_failed");
    assert.match(seen.fail.message, /no luck/);
    assert.equal(seen.hang.code, "tool_timeout");
    assert.equal(seen.none.code, "tool_not_found");
    assert.deepEqual(seen.status, STOPPED, "tools need no running harness");
    assert.equal(seen.history, 0);
  });

  both("tools in a run: progress, calls back into the workspace, thinking goes back unchanged", async (t, page) => {
    const route = await t.raw(message([{ thinking: "I must note it.", signature: "c2ln" }, { redacted: "QUJD" }, "Noting.", { tool: "note", args: { text: "Owls" } }]), message("Noted."));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      const rec = T.record(document, ws);
      ws.tools.register({ name: "note", description: "Notes.", inputSchema: { type: "object", properties: { text: { type: "string" } } },
        execute: async ({ text }, { onProgress, runId, toolCallId }) => {
          for (let done = 1; done <= 50; done++) onProgress({ done });
          // At most ten a second are told: the first at once, of those that follow the last.
          await rec.seen((e) => e.detail.progress?.done === 50);
          const page = await ws.pages.create({ title: text });
          return { slug: page.slug, runId, toolCallId, messages: (await ws.history()).length };
        } });
      await ws.startAgent({ provider: T.anthropic(base), reasoning: "low" });
      const run = await ws.sendMessage("Note owls.");
      await rec.ended(run.runId);
      return { runId: run.runId, events: rec.events, slug: (await ws.pages.read("owls")).slug, history: T.plain(await ws.history()) };
    }, route.base);
    const { calls } = checkRun(seen.events, seen.runId);
    assert.deepEqual(calls[0].progress, [{ done: 1 }, { done: 50 }]);
    assert.match(JSON.stringify(calls[0].result), new RegExp(seen.runId));
    assert.equal(seen.slug, "owls");
    const back = route.requests[1].json.messages[1].content;
    assert.deepEqual(back.map((b) => b.type), ["thinking", "redacted_thinking", "text", "tool_use"]);
    assert.deepEqual(back[0], { type: "thinking", thinking: "I must note it.", signature: "c2ln" });
    assert.deepEqual(back[1], { type: "redacted_thinking", data: "QUJD" });
    assert.deepEqual(seen.history[1].parts.map((p) => p.type), ["thinking", "text", "tool-call", "text"]);
    assert.equal(seen.history[1].parts[0].text, "I must note it.");
    const kinds = ofRun(seen.events, seen.runId).filter((e) => e.type === "agent:message-chunk").map((e) => e.detail.kind);
    assert.ok(kinds.includes("thinking") && kinds.includes("text"));
    assert.deepEqual(route.violations, []);
  });

  both("tools of one turn: read-only ones run together, others in the order of the calls", async (t, page) => {
    const calls = (names) => message(names.map((tool, i) => ({ tool, id: `toolu_${tool}_${i}` })));
    const route = await t.raw(calls(["get_a", "get_b"]), message("Read."), calls(["get_a", "write", "get_b"]), message("Written."));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      const log = [];
      // Together, the first ends after the second; alone, each takes a few turns, in which another could begin.
      let after = new Promise((ended) => (globalThis.ended = ended));
      const tool = (name) => ws.tools.register({
        name, description: "A tool.", inputSchema: { type: "object", properties: {} },
        async execute() {
          log.push(`+${name}`);
          if (name === "get_a") await after;
          for (let i = 0; i < 5; i++) await T.turn();
          log.push(`-${name}`);
          if (name === "get_b") ended();
          return name;
        },
      });
      for (const name of ["get_a", "get_b", "write"]) tool(name);
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("Read both.");
      const together = log.splice(0).join(" ");
      after = undefined;
      await ws.run("Write.");
      return { together, inOrder: log.join(" ") };
    }, route.base);
    assert.equal(seen.together, "+get_a +get_b -get_b -get_a");
    assert.equal(seen.inOrder, "+get_a -get_a +write -write +get_b -get_b");
    for (const n of [1, 3]) assert.deepEqual(route.requests[n].json.messages.at(-1).content.filter((b) => b.type === "tool_result").map((b) => b.tool_use_id), route.requests[n].json.messages.at(-2).content.filter((b) => b.type === "tool_use").map((b) => b.id), "results in the order of the calls");
    assert.deepEqual(route.violations, []);
  });

  both("interrupt inside a tool: its signal fires, it is not waited for, its late result is dropped", async (t, page) => {
    const route = await t.raw(message([{ tool: "slow", id: "toolu_1" }, { tool: "slow", id: "toolu_2" }]), message("Here."));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      let aborted = 0, answer, started;
      const begun = new Promise((r) => (started = r));
      ws.tools.register({ name: "slow", description: "Slow.", inputSchema: { type: "object", properties: {} }, execute: (args, { signal }) => { signal.addEventListener("abort", () => aborted++); started(); return new Promise((r) => (answer = r)); } });
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document, ws);
      const run = await ws.sendMessage("Go.");
      await begun;
      ws.interrupt();
      await rec.ended(run.runId);
      const events = [...rec.events];
      const n = rec.events.length;
      answer("late");
      await T.turn();
      return { runId: run.runId, events, quiet: rec.events.length === n, aborted, text: (await ws.run("Are you there?")).text, history: T.plain(await ws.history()) };
    }, route.base);
    const { calls } = checkRun(seen.events, seen.runId, "agent:session-interrupted");
    assert.deepEqual(calls.map((c) => [c.status, c.error.code]), [["failed", "tool_interrupted"], ["failed", "tool_interrupted"]]);
    assert.deepEqual([seen.quiet, seen.aborted, seen.text], [true, 1, "Here."]);
    assert.doesNotMatch(JSON.stringify(seen.history), /late/);
    assert.deepEqual(route.violations, []);
  });

  both("what a custom model says after an interrupt is dropped, and its run says how much that was", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      let say, begun;
      const said = new Promise((r) => (begun = r));
      // It does not know the signal, and goes on with what it has begun.
      const stream = () => ({ [Symbol.asyncIterator]: () => ({ n: 0, next() { begun(); return this.n++ ? new Promise((r) => (say = (value) => r({ done: false, value }))) : Promise.resolve({ done: false, value: "Half" }); } }) });
      await ws.startAgent({ provider: { kind: "custom", model: "m", stream } });
      const run = await ws.sendMessage("Go.");
      await said;
      for (let n = 0; n < 100 && !say; n++) await T.turn();
      const dropped = async () => (await ws.sessions.task(run.runId)).dropped;
      const before = await dropped();
      await ws.interrupt();
      await ws.wait(run.runId);
      say(" of it");
      for (let n = 0; n < 100 && !(await dropped()); n++) await T.turn();
      return { before, after: await dropped(), history: JSON.stringify(await ws.history()) };
    });
    assert.deepEqual([seen.before, seen.after], [undefined, 1]);
    assert.match(seen.history, /Half/);
    assert.doesNotMatch(seen.history, /of it/);
  });
}

/** Whose server sends a part where all was asked for. */
export function partial(on) {
  on("a part of an answer (206) is none", async (t, host) => {
    const page = await t.tab();
    const seen = await page.evaluate(async (host) => {
      const ws = await lodger.openWorkspace("w", { host });
      const fetch = async () => new Response('event: message_stop\ndata: {"type":"message_stop"}\n\n', { status: 206, headers: { "content-type": "text/event-stream" } });
      await ws.startAgent({ provider: { kind: "anthropic", apiKey: "sk-ant-mine", model: "m", fetch } });
      const { error, outcome, status } = await (await ws.sendMessage("Go.")).result;
      return T.plain({ error, outcome, status });
    }, host);
    assert.deepEqual([seen.error.code, seen.error.retryable], ["protocol", false]);
    assert.match(seen.error.message, /part of the answer.*\(HTTP 206\)/);
  });
}

// ------------------------------------------------------------------ pages

function pages(both) {
  both("pages: create, read, tree, update, versions, rename, move, links, trash", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      const { pages } = ws;
      const out = {};
      out.a = T.plain(await pages.create({ title: "Alpha Page", content: "See [[Beta Page]] and [[Nowhere]]." }));
      out.b = T.plain(await pages.create({ title: "Beta Page", content: "v1", parentSlug: "alpha-page" }));
      out.c = T.plain(await pages.create({ title: "Gamma", slug: "third" }));
      out.tree = T.plain(await pages.tree());
      out.subtree = T.plain(await pages.tree("alpha-page"));
      out.back = (await pages.backlinks("beta-page")).map((p) => p.slug);
      out.outgoing = T.plain(await pages.outgoingLinks("alpha-page"));
      out.updated = T.plain(await pages.update("beta-page", { content: "v2", metadata: { tag: "x" } }, { expectedVersion: out.b.version }));
      out.conflict = await T.refused(() => pages.update("beta-page", { content: "v3" }, { expectedVersion: out.b.version }));
      out.versions = T.plain(await pages.versions("beta-page"));
      out.renamed = T.plain(await pages.rename("beta-page", "Better Page"));
      out.linksAfter = T.plain(await pages.outgoingLinks("alpha-page"));
      out.moved = T.plain(await pages.move("third", { parentSlug: "alpha-page", position: 0 }));
      out.treeMoved = T.plain(await pages.tree());
      out.cycle = await T.refused(() => pages.move("alpha-page", { parentSlug: "third" }));
      out.missing = await T.refused(() => pages.read("nope"));
      out.taken = await T.refused(() => pages.create({ title: "Other", slug: "third" }));
      out.second = (await pages.create({ title: "Gamma" })).slug;
      out.search = T.plain(await pages.search("v2"));
      await pages.delete("third");
      out.gone = await T.refused(() => pages.read("third"));
      out.trash = (await pages.trash()).map((p) => p.slug);
      out.restored = (await pages.restore("third")).slug;
      out.status = ws.status();
      return out;
    });
    assert.equal(seen.a.slug, "alpha-page");
    assert.equal(seen.a.parentSlug, null);
    assert.deepEqual(Object.keys(seen.a).sort(), ["content", "createdAt", "metadata", "parentSlug", "position", "slug", "title", "updatedAt", "version"]);
    assert.equal(seen.c.slug, "third");
    assert.deepEqual(seen.tree.map((n) => [n.slug, n.children.map((c) => c.slug)]), [["alpha-page", ["beta-page"]], ["third", []]]);
    assert.match(JSON.stringify(seen.subtree), /beta-page/);
    assert.doesNotMatch(JSON.stringify(seen.subtree), /third/);
    assert.deepEqual(seen.back, ["alpha-page"]);
    assert.deepEqual(seen.outgoing, [{ title: "Beta Page", slug: "beta-page" }, { title: "Nowhere", slug: null }]);
    assert.equal(seen.updated.version, seen.b.version + 1);
    assert.deepEqual(seen.updated.metadata, { tag: "x" });
    assert.equal(seen.conflict.code, "version_conflict");
    assert.ok(seen.versions.some((v) => v.content === "v1"), JSON.stringify(seen.versions));
    assert.equal(seen.renamed.title, "Better Page");
    assert.equal(seen.linksAfter[0].slug, seen.renamed.slug, "links follow a rename");
    assert.equal(seen.moved.parentSlug, "alpha-page");
    assert.deepEqual(seen.treeMoved[0].children.map((n) => n.slug), ["third", seen.renamed.slug]);
    assert.equal(seen.cycle.code, "page_cycle");
    assert.equal(seen.missing.code, "page_not_found");
    assert.equal(seen.taken.code, "slug_taken");
    assert.notEqual(seen.second, "third");
    assert.equal(seen.search[0].slug, seen.renamed.slug);
    assert.ok(seen.search[0].score > 0 && seen.search[0].snippet.includes("v2"));
    assert.equal(seen.gone.code, "page_not_found");
    assert.deepEqual(seen.trash, ["third"]);
    assert.equal(seen.restored, "third");
    assert.deepEqual(seen.status, STOPPED, "pages need no running harness");
  });

  both("pages: kept over a reload, and seen by another tab's search", async (t, page) => {
    const host = t.title.includes("worker") ? "worker" : "page";
    const other = await t.tab();
    await other.evaluate(async (host) => { T.host = host; globalThis.ws = await T.open(); await ws.pages.tree(); }, host);
    await page.evaluate(async () => { const ws = await T.open(); await ws.pages.create({ title: "Ünïcödé Owl", content: "Owls hunt at night." }); await ws.pages.create({ title: "Day", content: "Nothing." }); });
    const seen = await other.evaluate(async () => ({ found: (await ws.pages.search("hunt")).map((r) => r.title), prefix: (await ws.pages.search("ünïc")).map((r) => r.title) }));
    assert.deepEqual(seen, { found: ["Ünïcödé Owl"], prefix: ["Ünïcödé Owl"] });
    await page.reload();
    await t.ready(page);
    const tree = await page.evaluate(async (host) => { T.host = host; return (await (await T.open()).pages.tree()).map((n) => n.title); }, host);
    assert.deepEqual(tree, ["Ünïcödé Owl", "Day"]);
  });
}

// ------------------------------------------------------------------ the rest

function rest(both) {
  both("storage(): what is kept, where, how much; memory forgets", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      await ws.pages.create({ title: "A", content: "x".repeat(10_000) });
      const info = await ws.storage();
      const persisted = await info.persist();
      const memory = await T.open("m", { storage: "memory" });
      await memory.pages.create({ title: "A" });
      const kind = (await memory.storage()).kind;
      await memory.close();
      await T.turn();
      const again = await T.open("m", { storage: "memory" });
      return { info: T.plain(info), persist: typeof persisted, kind, tree: await again.pages.tree(), names: (await indexedDB.databases()).map((d) => d.name) };
    });
    assert.equal(seen.info.kind, "indexeddb");
    assert.ok(seen.info.bytes > 0 && seen.info.quota > seen.info.bytes);
    assert.equal(typeof seen.info.persisted, "boolean");
    assert.equal(seen.persist, "boolean");
    assert.equal(seen.kind, "memory");
    assert.deepEqual(seen.tree, []);
    assert.deepEqual(seen.names, ["lodger:w"]);
  });

  both("a clock that is set back an hour: a tool's time is over when it is over, and a wait too", async (t, page) => {
    const seen = await page.evaluate(async () => {
      // A worker has a clock of its own, which nobody sets back.
      const ws = await T.open("w", T.host === "page" ? { now: () => Date.now() } : {});
      ws.tools.register({ name: "hang", description: "Hangs.", inputSchema: { type: "object" }, execute: () => new Promise(() => {}) });
      await ws.startAgent({ provider: scriptedModel([{ tool: "hang" }, "It took too long.", { tool: "hang" }]), toolTimeoutMs: 300 });
      const real = Date.now;
      Date.now = () => real() - 3_600_000;
      const { text } = await ws.run("Go");
      await ws.configureAgent({ toolTimeoutMs: 60_000 });
      const { runId } = await ws.sendMessage("Again");
      const { status } = await ws.wait(runId, { timeoutMs: 200 });
      const times = (await ws.history()).map((m) => m.createdAt);
      return { text, status, code: T.callsOf((await ws.history())[1])[0].error.code, order: times.every((at, i) => i === 0 || at >= times[i - 1]), near: Math.abs(times.at(-1) - real()) < 60_000 };
    });
    assert.deepEqual(seen, { text: "It took too long.", status: "timeout", code: "tool_timeout", order: true, near: true });
  });

  both("scriptedModel records what it was asked; a run beyond its turns fails and says so", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      const model = scriptedModel([{ tool: "get_page_tree", args: {} }, "No pages."]);
      await ws.startAgent({ provider: model, instructions: "Be short." });
      const first = T.plain(await ws.run("Which pages?"));
      const history = await ws.history();
      return { first, requests: T.plain(model.requests), over: await T.refused(() => ws.run("More?")), usage: [first, ...history].some((item) => "usage" in item) };
    });
    assert.equal(seen.usage, false, "a model that does not count cost nobody knows what");
    assert.equal(seen.first.text, "No pages.");
    assert.equal(seen.first.turns, 2);
    assert.equal(seen.requests[0].messages[0].role, "system");
    assert.match(JSON.stringify(seen.requests[0].messages[0].content), /Be short\./);
    assert.ok(seen.requests[0].tools.length >= 12);
    assert.deepEqual(seen.requests[1].messages.slice(-2).map((m) => m.role), ["assistant", "tool"]);
    assert.equal(seen.requests[1].messages.at(-1).tool_call_id, seen.requests[1].messages.at(-2).tool_calls[0].id);
    assert.ok(seen.over.code);
  });

  both("a custom model: chunks, plain strings, tool calls in pieces, its signal and return()", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      let returned = 0, aborted = 0, n = 0;
      const provider = { kind: "custom", model: "mine", async *stream(request, { signal }) {
        signal.addEventListener("abort", () => aborted++);
        if (++n === 1) {
          yield { choices: [{ delta: { content: "Look" } }] };
          yield "ing. ";
          yield { choices: [{ delta: { tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "create_page", arguments: '{"ti' } }] } }] };
          yield { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: 'tle":"Made"}' } }] } }] };
          yield { choices: [{ delta: {}, finish_reason: "tool_calls" }], usage: { prompt_tokens: 5, completion_tokens: 6 } };
        } else if (n === 2) yield "Made it.";
        else if (n === 3) { try { yield "Word "; await new Promise((r) => signal.addEventListener("abort", r)); } finally { returned++; } }
        else if (n === 4) throw new Error("the model fell over");
        else yield { choices: [{ message: { role: "assistant", content: "Whole." }, finish_reason: "stop" }] };
      } };
      await ws.startAgent({ provider });
      const first = T.plain(await ws.run("Make it."));
      const tree = (await ws.pages.tree()).map((p) => p.title);
      const rec = T.record(document);
      const run = await ws.sendMessage("Go on");
      await rec.chunk(1);
      ws.interrupt();
      const second = T.plain(await run.result);
      await T.turn();
      return { first, tree, second, returned, aborted, third: await T.refused(() => ws.run("Again")), fourth: await T.refused(() => ws.run("Once more")) };
    });
    assert.equal(seen.first.text.endsWith("Made it."), true);
    assert.deepEqual(seen.tree, ["Made"]);
    assert.deepEqual([seen.second.outcome, seen.second.text], ["interrupted", "Word "]);
    assert.deepEqual([seen.aborted, seen.returned], [1, 1]);
    assert.match(seen.third.message, /fell over/);
    assert.deepEqual(seen.first.usage, { inputTokens: 5, outputTokens: 6 });
    assert.equal(seen.fourth.code, "protocol");
    assert.match(seen.fourth.message, /delta/);
  });

  both("scriptedModel: thinking, calls beside each other, an error that is tried again, a stream that breaks", async (t, page) => {
    const seen = await page.evaluate(async () => {
      const ws = await T.open();
      for (const name of ["a", "b"]) ws.tools.register({ name, description: name, inputSchema: { type: "object" }, readOnly: true, execute: () => `${name} says` });
      const provider = scriptedModel([[{ thinking: "Hm." }, "I look.", { tool: "a" }, { tool: "b" }], { error: "overloaded" }, ["half of", { delay: 1 }, { broken: true }], "Done.", { error: "quota", message: "none left" }]);
      await ws.startAgent({ provider });
      const { text, turns } = await ws.run("Look.");
      const { parts } = (await ws.history()).at(-1);
      const error = await T.refused(() => ws.run("More."));
      return { text, turns, parts: parts.map(({ type, text, tool, result }) => [type, text ?? `${tool}: ${result}`]), error: [error.code, error.message], asked: provider.requests.length };
    });
    assert.deepEqual(seen, { text: "I look.Done.", turns: 2, parts: [["thinking", "Hm."], ["text", "I look."], ["tool-call", "a: a says"], ["tool-call", "b: b says"], ["text", "Done."]], error: ["quota", "none left"], asked: 5 });
  });

  both("keepAlive: a run goes on when its page's last handle is closed, and then the workspace is let go", async (t, page) => {
    const hold = gate();
    const words = message("One two three");
    const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)), words);
    const seen = await page.evaluate(async (base) => {
      const open = () => T.open("kept", { keepAlive: true });
      const ws = await open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document);
      const run = await ws.sendMessage("Count");
      await rec.chunk(1);
      await ws.close();
      globalThis.kept = { ws, result: run.result };
      const again = await open(); // a route that comes back
      await again.close();
      return { same: again === ws, status: ws.status(), refused: await T.refused(() => T.open("kept", { keepAlive: true, pageTools: false })) };
    }, route.base);
    assert.deepEqual([seen.same, seen.status.is_streaming, seen.refused.code], [true, true, "invalid_config"]);
    hold.open();
    const ended = await page.evaluate(async (base) => {
      const { ws, result } = kept;
      const { text, outcome } = await result;
      const late = await (async () => { for (;;) { const error = await ws.history().then(() => null, (error) => error); if (error) return error.code; await T.turn(); } })();
      const anew = await T.open("kept", { keepAlive: true });
      await anew.startAgent({ provider: T.anthropic(base) });
      return { text, outcome, late, other: anew !== ws, texts: (await anew.history()).map(T.textOf) };
    }, route.base);
    assert.deepEqual(ended, { text: "One two three", outcome: "completed", late: "workspace_closed", other: true, texts: ["Count", "One two three"] });
    assert.deepEqual(route.violations, []);
  });

  both("close(): a working run is held; the promises of this handle are settled", async (t, page) => {
    const hold = gate();
    const words = message("One two three");
    const route = await t.raw(stream(words.slice(0, 4), hold, words.slice(4)), message("One two three"));
    const seen = await page.evaluate(async (base) => {
      const ws = await T.open();
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document);
      const run = await ws.sendMessage("Count");
      await rec.chunk(1);
      const settled = [T.settle(run.result), T.settle(ws.wait(run.runId)), T.settle(async () => { let s = ""; for await (const p of run.textStream) s += p; return s; })];
      await ws.close();
      const outcome = await Promise.all(settled);
      const status = ws.status();
      const again = await T.open();
      await again.startAgent({ provider: T.anthropic(base) });
      const resumed = await again.resume();
      return { outcome, status, same: resumed.runId === run.runId, text: (await resumed.result).text };
    }, route.base);
    hold.open();
    for (const { value, error } of seen.outcome) assert.equal((error ?? value.error).code, "workspace_closed", JSON.stringify(seen.outcome));
    assert.equal(seen.outcome[0].value.outcome, "unknown");
    assert.deepEqual(seen.status, STOPPED);
    assert.deepEqual([seen.same, seen.text], [true, "One two three"]);
    assert.deepEqual(route.violations, []);
  });
}
