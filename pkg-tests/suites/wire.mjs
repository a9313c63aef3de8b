// Bad input from every side: the page, the network, the model, the tools, the storage. Each gives a clear error with a
// stable code, and nothing is lost. What was said stays in the history, and the next message is answered with a
// request that the API would accept.
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { drop, gate, hang, pause, plain, stream } from "../servers/raw.mjs";
import { errorBody, event, message } from "../servers/sse.mjs";

const RUNNING = { lifecycle: "Running", is_streaming: false };

export default function (test) {
  thePage(test);
  theModel(test);
  theTools(test);
  theStorage(test);
}

/** Asserts that this is a LodgerError with this code and a message that a person can use. */
function coded(error, code, text) {
  assert.equal(error.name, "LodgerError", JSON.stringify(error));
  if (code instanceof RegExp) assert.match(error.code, code, JSON.stringify(error)); else assert.equal(error.code, code, JSON.stringify(error));
  assert.equal(error.isError, true);
  assert.equal(typeof error.retryable, "boolean");
  assert.ok(error.message.length > 5 && !/undefined|\[object|NaN/.test(error.message), `a readable message: ${error.message}`);
  if (text) assert.match(`${error.message} ${error.hint ?? ""}`, text);
}

// ------------------------------------------------------------------ what the page sends

function thePage(test) {
  test("no workspace: every command is refused, the status is Stopped", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const errors = {};
      for (const [command, args] of Object.entries({ start_agent: {}, stop_agent: {}, send_agent_message: { message: "Hello" }, interrupt_agent: {}, clear_conversation: {},
        get_conversation_history: {}, execute_tool: { tool: "search_pages", arguments: { query: "x" } }, list_tools: {}, get_agent_settings: {} })) {
        errors[command] = await T.refused(() => lodger.invoke(command, args));
      }
      return { errors, status: await lodger.invoke("get_agent_status") };
    });
    for (const [command, error] of Object.entries(seen.errors)) {
      coded(error, "no_workspace");
      assert.equal(error.message, "Agent manager not initialized for current workspace", command);
    }
    assert.deepEqual(seen.status, { lifecycle: "Stopped", is_streaming: false });
  });

  test("closed workspace: every method is refused, nothing throws at once", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("closed");
      await ws.close();
      const calls = {
        startAgent: () => ws.startAgent(), configureAgent: () => ws.configureAgent({ maxTurns: 2 }), stopAgent: () => ws.stopAgent(), sendMessage: () => ws.sendMessage("x"),
        run: () => ws.run("x"), resume: () => ws.resume(), history: () => ws.history(), clearConversation: () => ws.clearConversation(), wait: () => ws.wait("r"),
        execute: () => ws.tools.execute("search_pages", { query: "x" }), storage: () => ws.storage(), invoke: () => ws.invoke("start_agent"),
        create: () => ws.pages.create({ title: "x" }), read: () => ws.pages.read("x"), tree: () => ws.pages.tree(), search: () => ws.pages.search("x"),
      };
      const errors = {};
      for (const [name, call] of Object.entries(calls)) {
        const promise = call(); // a method that gives promises never throws
        errors[name] = await T.refused(promise);
      }
      ws.interrupt();
      await ws.close();
      const again = await lodger.openWorkspace("closed");
      return { errors, status: ws.status(), again: again.status() };
    });
    for (const [name, error] of Object.entries(seen.errors)) { coded(error, "workspace_closed"); assert.ok(name); }
    assert.equal(seen.status.lifecycle, "Stopped");
    assert.equal(seen.again.lifecycle, "Stopped");
  });

  test("unknown command", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      return [await T.refused(() => lodger.invoke("fly_away", {})), await T.refused(() => ws.invoke("fly_away")), await T.refused(() => ws.invoke("toString"))];
    });
    seen.forEach((error) => coded(error, "unknown_command"));
    assert.match(seen[0].message, /fly_away/);
  });

  test("unknown option: named, never ignored", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const out = {
        open: await T.refused(() => lodger.openWorkspace("x", { storag: "memory" })),
        start: await T.refused(() => ws.startAgent({ modle: "claude" })),
        later: await T.refused(() => ws.startAgent({ budgets: { day: { turns: 3 } } })),
        provider: await T.refused(() => ws.startAgent({ provider: { kind: "anthropic", apiKey: "k", urlBase: "https://x" } })),
        takeover: await T.refused(() => ws.startAgent({ ifRunning: "steal" })),
        system: await T.refused(() => ws.startAgent({ system: "You help." })),
        tool: await T.refused(() => ws.tools.register({ name: "a", description: "A.", parameters: { type: "object" }, execute() {} })),
      };
      out.status = ws.status();
      await ws.startAgent({ provider: offline() });
      out.configure = await T.refused(() => ws.configureAgent({ maxTruns: 3 }));
      out.send = await T.refused(() => ws.sendMessage("x", { whenBusy: "wait" }));
      out.history = await ws.history();
      return out;
    });
    for (const [name, word] of Object.entries({ open: /storag/, start: /modle/, later: /budgets/, provider: /urlBase/, takeover: /ifRunning/, configure: /maxTruns/, send: /whenBusy/ })) coded(seen[name], "invalid_config", word);
    const written = { open: "storage", start: "model", configure: "maxTurns", system: "instructions", tool: "inputSchema" };
    for (const [name, word] of Object.entries(written)) assert.match(seen[name].hint ?? "", new RegExp(`Write "${word}"\\.`), name);
    assert.match(seen.provider.hint, /It knows: kind, preset, apiKey/);
    assert.equal(seen.status.lifecycle, "Stopped");
    assert.deepEqual(seen.history, []);
  });

  test("wrong argument types", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const errors = {
        "openWorkspace(7)": await T.refused(() => lodger.openWorkspace(7)),
        "openWorkspace('')": await T.refused(() => lodger.openWorkspace("")),
        "startAgent('x')": await T.refused(() => ws.startAgent("x")),
        "maxTurns": await T.refused(() => ws.startAgent({ maxTurns: "many" })),
        "maxTurns 0": await T.refused(() => ws.startAgent({ maxTurns: 0 })),
        "instructions": await T.refused(() => ws.startAgent({ instructions: 3 })),
        "provider": await T.refused(() => ws.startAgent({ provider: "anthropic" })),
        "custom without stream": await T.refused(() => ws.startAgent({ provider: { kind: "custom" } })),
        "apiKey": await T.refused(() => ws.startAgent({ provider: { kind: "anthropic", apiKey: 3 } })),
      };
      await ws.startAgent({ provider: offline() });
      Object.assign(errors, {
        "sendMessage(42)": await T.refused(() => ws.sendMessage(42)),
        "sendMessage()": await T.refused(() => ws.sendMessage()),
        "sendMessage({})": await T.refused(() => ws.sendMessage({})),
        "wait(1)": await T.refused(() => ws.wait(1)),
        "wait timeout": await T.refused(() => ws.wait("r", { timeoutMs: "long" })),
        "history limit": await T.refused(() => ws.history({ limit: "all" })),
        "pages.read": await T.refused(() => ws.pages.read(7)),
        "pages.create": await T.refused(() => ws.pages.create({ content: "no title" })),
        "execute": await T.refused(() => ws.tools.execute("search_pages", "dragons")),
        "execute, missing": await T.refused(() => ws.tools.execute("search_pages", {})),
        "execute, type": await T.refused(() => ws.tools.execute("search_pages", { query: 7 })),
        "invoke message": await T.refused(() => ws.invoke("send_agent_message", { message: 7 })),
        "invoke args": await T.refused(() => ws.invoke("execute_tool", { arguments: {} })),
      });
      return { errors, status: ws.status(), history: await ws.history() };
    });
    // What configures is told apart from what is asked.
    const configures = ["startAgent('x')", "maxTurns", "maxTurns 0", "instructions", "provider", "custom without stream", "apiKey"];
    for (const [name, error] of Object.entries(seen.errors)) coded(error, configures.includes(name) ? "invalid_config" : "invalid_arguments");
    assert.match(seen.errors["execute, missing"].message, /missing 'query' field/);
    assert.match(seen.errors["execute, type"].message, /query/);
    assert.deepEqual(seen.status, RUNNING);
    assert.deepEqual(seen.history, []);
  });

  test("empty message", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: offline() });
      const { events } = T.record();
      const errors = [await T.refused(() => ws.sendMessage("")), await T.refused(() => ws.sendMessage(" \n\t")), await T.refused(() => ws.sendMessage({ text: "" }))];
      await T.turn();
      return { errors, events, history: await ws.history() };
    });
    seen.errors.forEach((error) => coded(error, "empty_message"));
    assert.deepEqual(seen.events, []);
    assert.deepEqual(seen.history, []);
  });

  test("key with a newline: refused without a request, the key is in no text", async (t) => {
    const route = await t.raw(message("never"));
    const page = await t.tab();
    const seen = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      const fixed = await T.refused(() => ws.startAgent({ provider: T.anthropic(base, { apiKey: "sk-secret\nvalue" }) }));
      const header = await T.refused(() => ws.startAgent({ provider: T.anthropic(base, { headers: { "x bad": "1" } }) }));
      await ws.startAgent({ provider: T.anthropic(base, { apiKey: () => "sk-secret\nvalue" }) });
      const rec = T.record(document, ws);
      const run = await ws.sendMessage("Hello");
      await rec.ended(run.runId);
      return { fixed, header, events: rec.events, runId: run.runId, dump: JSON.stringify(await T.dump("w")) };
    }, route.base);
    coded(seen.fixed, "invalid_config");
    coded(seen.header, "invalid_config");
    const { end } = checkRun(seen.events, seen.runId, "agent:error");
    assert.equal(end.code, "invalid_config");
    for (const text of [seen.fixed.message, JSON.stringify(seen.events), seen.dump]) assert.doesNotMatch(text, /sk-secret/);
    assert.equal(route.requests.length, 0);
  });

  test("base URL that is no URL, or not safe", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const ask = (baseUrl) => T.refused(() => ws.startAgent({ provider: T.anthropic(baseUrl) }));
      return [await ask("not a url"), await ask(""), await ask("ftp://example.com"), await ask("javascript:alert(1)"), await ask("http://api.example.com")];
    });
    seen.forEach((error) => coded(error, "invalid_config"));
    assert.match(`${seen[4].message} ${seen[4].hint ?? ""}`, /allowHttp|https/);
  });

  test("provider of unknown kind", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      return [await T.refused(() => ws.startAgent({ provider: { kind: "skynet" } })), await T.refused(() => ws.startAgent({ provider: {} })), await T.refused(() => ws.startAgent({ provider: { kind: "openai", apiKey: "k" } }))];
    });
    seen.forEach((error) => coded(error, "invalid_config"));
    assert.match(seen[0].message, /skynet/);
  });

  test("throwing listener: the others are called, the run ends, the page is told", async (t) => {
    const page = await t.tab();
    t.allowError(/listener broke/);
    const seen = await page.evaluate(async () => {
      const reported = [];
      addEventListener("error", (e) => reported.push(e.message));
      const ws = await lodger.openWorkspace("w");
      const order = [];
      for (const type of ["agent:message-chunk", "agent:session-completed"]) {
        ws.addEventListener(type, () => { throw new Error("listener broke"); });
        ws.addEventListener(type, () => order.push("ws"));
        document.addEventListener(type, () => { order.push("document"); throw new Error("listener broke"); });
      }
      ws.view().subscribe((s) => { if (s.status === "streaming") throw new Error("listener broke"); });
      await ws.startAgent({ provider: scriptedModel(["Hello there", "Again"]) });
      const first = await ws.run("Hi");
      const second = await ws.run("Hi again");
      return { first: first.text, second: second.text, order: [...new Set(order)], reported: reported.length, status: ws.status() };
    });
    assert.deepEqual({ first: seen.first, second: seen.second, order: seen.order, status: seen.status }, { first: "Hello there", second: "Again", order: ["ws", "document"], status: RUNNING });
    assert.ok(seen.reported >= 4, `reported ${seen.reported}`);
  });
}

// ------------------------------------------------------------------ what the model's server sends

/** Sends a message that `answers` spoils, then one that is answered; gives all that was seen. */
let opened = 0;
async function spoiled(t, answers, { tools = "", apiKey = "sk-test", timeouts = {}, retry = {} } = {}) {
  let calls = 0;
  const route = await t.raw((body) => {
    const text = JSON.stringify(body.messages.at(-1).content);
    if (text.includes("Are you still there?")) return message("Still here.");
    return answers[Math.min(calls++, answers.length - 1)];
  });
  const page = await t.tab();
  const seen = await page.evaluate(async ([base, tools, name, apiKey, timeouts, retry]) => {
    const ws = await lodger.openWorkspace(name);
    if (tools) new Function("ws", tools)(ws);
    await ws.startAgent({ provider: T.anthropic(base, { apiKey, timeouts }), retry });
    const rec = T.record(document, ws);
    rec.chunk(1).then(() => T.tell("text has come"), () => {});
    const run = await ws.sendMessage("First question");
    await rec.ended(run.runId);
    const out = { runId: run.runId, events: [...rec.events], waited: T.plain(await ws.wait(run.runId)), result: T.plain(await run.result), history: T.plain(await ws.history()), status: ws.status() };
    const next = await ws.sendMessage("Are you still there?");
    const { text } = await next.result;
    return { ...out, next: text, after: T.plain(await ws.history()) };
  }, [route.base, tools, `w${++opened}`, apiKey, timeouts, retry]);
  assert.deepEqual(seen.status, RUNNING, "the harness stays usable");
  assert.equal(seen.next, "Still here.");
  assert.deepEqual(route.violations, [], "every request was valid");
  assert.equal(seen.after[0].parts[0].text, "First question", "the question is kept");
  const asked = route.requests.at(-1).json;
  assert.match(JSON.stringify(asked.messages), /First question/, "the model still gets the first question");
  return { ...seen, route, asked };
}

/** The run failed with this code; everything that tells of it agrees. */
function failedWith(seen, code) {
  const shape = checkRun(seen.events, seen.runId, "agent:error");
  if (code instanceof RegExp) assert.match(shape.end.code, code, shape.end.message); else assert.equal(shape.end.code, code, shape.end.message);
  assert.equal(shape.lifecycle.error.code, shape.end.code);
  assert.equal(seen.waited.status, "error");
  assert.equal(seen.waited.error.code, shape.end.code);
  assert.equal(seen.result.outcome, "failed");
  assert.equal(seen.result.error.code, shape.end.code);
  return shape;
}

function theModel(test) {
  for (const [status, type, code, retryable] of [
    [400, "invalid_request_error", "invalid_request", false], [401, "authentication_error", "auth", false], [403, "permission_error", "permission", false],
    [404, "not_found_error", "not_found", false], [429, "rate_limit_error", "rate_limit", true], [500, "api_error", "server", true], [529, "overloaded_error", "overloaded", true],
  ]) {
    test(`${status} ${type}`, async (t) => {
      const seen = await spoiled(t, [plain(status, errorBody(type, `the text of ${status}`))]);
      const { end } = failedWith(seen, code);
      assert.equal(end.retryable, retryable);
      assert.match(end.message, new RegExp(`the text of ${status}`), "the provider's own words");
      assert.equal(seen.history.at(-1).role === "user" || seen.history.at(-1).status === "failed", true);
    });
  }

  test("401: the key is in no text", async (t) => {
    const seen = await spoiled(t, [plain(401, errorBody("authentication_error", "invalid x-api-key: sk-secret-0123456789"))], { apiKey: "sk-secret-0123456789" });
    failedWith(seen, "auth");
    const has = (value) => JSON.stringify(value).includes("sk-secret-0123456789");
    assert.deepEqual([...seen.events.filter(has).map((e) => e.type), ...[seen.result, seen.waited, seen.after].filter(has)], []);
  });

  test("an error status without a body, and one with HTML", async (t) => {
    failedWith(await spoiled(t, [plain(500, "")]), "server");
    failedWith(await spoiled(t, [plain(502, "<html><h1>Bad gateway</h1></html>", { "content-type": "text/html" })]), "server");
  });

  test("an error whose body does not end: what has come of it is told", async (t) => {
    for (const [silenceMs, body] of [[100, Array.from({ length: 400 }, () => ["oops ", pause(20)]).flat()], [60_000, ["oops ", "x".repeat(100_000), hang]]]) {
      const answer = { status: 500, headers: { "content-type": "text/plain", "x-should-retry": "false" }, body };
      const seen = await spoiled(t, [answer], { timeouts: { silenceMs } });
      const { end } = failedWith(seen, "server");
      assert.match(end.message, /^oops .*\(HTTP 500\)$/);
      assert.ok(end.message.length < 4200);
      await seen.route.requests[0].closed;
    }
  });

  test("HTML instead of JSON, with status 200", async (t) => {
    const { end } = failedWith(await spoiled(t, [plain(200, "<!doctype html><title>Sign in</title>", { "content-type": "text/html" })]), "protocol");
    assert.match(`${end.message} ${end.hint ?? ""}`, /html|event.stream|base URL|baseUrl/i);
  });

  test("nothing at all, with status 200", async (t) => {
    failedWith(await spoiled(t, [stream()]), "stream_broken");
  });

  test("no server, and a server that refuses the page (CORS)", async (t) => {
    const route = await t.raw(message("never"));
    route.cors = false;
    const page = await t.tab();
    const seen = await page.evaluate(async (bases) => {
      const ws = await lodger.openWorkspace("w");
      const errors = [];
      for (const base of bases) {
        await ws.startAgent({ provider: T.anthropic(base) });
        errors.push(await T.refused(() => ws.run("Hello")));
        await ws.stopAgent();
      }
      return { errors, history: (await ws.history()).filter((m) => m.role === "user").length };
    }, ["http://127.0.0.1:9", route.base]);
    seen.errors.forEach((error) => coded(error, "network"));
    assert.equal(seen.history, 2);
  });

  const long = message("Half of what I wanted to say is this and no more.");
  test("truncated stream: the end of the body without message_stop", async (t) => {
    const seen = await spoiled(t, [stream(long.slice(0, 6))], { retry: { cut: false } });
    const { text } = failedWith(seen, "stream_broken");
    assert.match(text, /^Half of what/);
    assert.equal(seen.history[1].status, "failed");
    assert.match(JSON.stringify(seen.history[1].parts), /Half of what/, "what had arrived stays");
    assert.equal(seen.history[1].error.code, "stream_broken");
  });

  test("truncated stream: the connection drops in the middle of an event", async (t) => {
    const shown = gate(); // an error of the network discards what was not read yet
    t.signal("text has come", () => shown.open());
    const seen = await spoiled(t, [stream(long.slice(0, 5), long[5].slice(0, 30), shown, drop)], { retry: { cut: false } });
    const { text } = failedWith(seen, "stream_broken");
    assert.match(text, /^Half of/);
  });

  test("truncated stream: inside a tool's arguments, the tool is not run", async (t) => {
    const call = message({ tool: "charge", args: { amount: 12345 }, id: "toolu_cut" });
    const seen = await spoiled(t, [stream(call.slice(0, 4))], { tools: CHARGE });
    failedWith(seen, "stream_broken");
    assert.equal(await chargesOf(t), 0);
  });

  test("max_tokens inside a tool's arguments, the tool is not run", async (t) => {
    const call = message({ tool: "charge", json: '{"amount": 1', id: "toolu_max" }, { stop: "max_tokens" });
    const seen = await spoiled(t, [stream(call), message("Shorter then.")], { tools: CHARGE });
    failedWith(seen, "output_limit");
    assert.equal(await chargesOf(t), 0);
  });

  const line = (bytes) => `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${"x".repeat(bytes)}"}}\n\n`;
  test("a single line of 10 MB is read whole", async (t) => {
    const seen = await spoiled(t, [stream(long.slice(0, 3), line(10 << 20), long.slice(-3))]);
    assert.equal(seen.result.outcome, "completed");
    assert.equal(seen.result.text.length, "Half ".length + (10 << 20));
  });

  test("a single line of 40 MB: told, without the line", async (t) => {
    const { end } = failedWith(await spoiled(t, [stream(long.slice(0, 3), line(40 << 20), long.slice(-3))]), "protocol");
    assert.ok(end.message.length < 1000, "the message does not carry the line");
  });

  test("invalid UTF-8 is replaced, never a broken stream of events", async (t) => {
    const bytes = Buffer.concat([Buffer.from('event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"caf'), Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('!"}}\n\n')]);
    const seen = await spoiled(t, [stream(long.slice(0, 2), bytes, long.slice(-3))]);
    assert.match(checkRun(seen.events, seen.runId).text, /^caf\uFFFD\(\uFFFD!$/);
  });

  test("an event that is no JSON", async (t) => {
    failedWith(await spoiled(t, [stream(long.slice(0, 4), "event: content_block_delta\ndata: {\"type\": oops\n\n", long.slice(4))]), "protocol");
  });

  test("an error in the middle of the stream", async (t) => {
    const seen = await spoiled(t, [stream(long.slice(0, 5), event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }))]);
    const { end, text } = failedWith(seen, "overloaded");
    assert.equal(end.message.includes("Overloaded"), true);
    assert.match(text, /^Half/);
  });

  test("a second message spliced into the stream", async (t) => {
    failedWith(await spoiled(t, [stream(long.slice(0, 5), message("Another one."))]), "protocol");
  });

  test("events and blocks that nobody knows are no error", async (t) => {
    const route = await t.raw(stream(long.slice(0, 1), event({ type: "moon_phase", phase: "full" }), ": keep-alive\n\n", long.slice(1)), message("Still here."));
    const page = await t.tab();
    const text = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      return (await ws.run("Hello")).text;
    }, route.base);
    assert.equal(text, "Half of what I wanted to say is this and no more.");
  });

  test("a refusal ends the run and says why", async (t) => {
    const refusal = message([], { stop: "refusal" });
    refusal[1] = event({ type: "message_delta", delta: { stop_reason: "refusal", stop_sequence: null, stop_details: { type: "refusal", category: "cyber", explanation: "This asks for malware." } }, usage: { output_tokens: 5 } });
    const { end } = failedWith(await spoiled(t, [refusal]), "refused");
    assert.match(end.message, /malware/);
  });

  test("maxTurns: the run ends, the history stays usable", async (t) => {
    let id = 0;
    const route = await t.raw((body) => (JSON.stringify(body.messages.at(-1).content).includes("Enough?") ? message("Enough.") : message({ tool: "get_page_tree", id: `toolu_${++id}` })));
    const page = await t.tab();
    const seen = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base), maxTurns: 3 });
      const rec = T.record(document, ws);
      const run = await ws.sendMessage("Go on for ever.");
      await rec.ended(run.runId);
      const events = [...rec.events];
      return { runId: run.runId, events, next: (await ws.run("Enough?")).text };
    }, route.base);
    const { end, calls } = checkRun(seen.events, seen.runId, "agent:error");
    assert.equal(end.code, "max_turns_exceeded");
    assert.equal(calls.length, 3);
    assert.equal(seen.next, "Enough.");
    assert.deepEqual(route.violations, []);
  });
}

// ------------------------------------------------------------------ what tools do

const CHARGE = 'globalThis.charges = 0; ws.tools.register({ name: "charge", description: "Charges the card.", inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] }, execute: () => { globalThis.charges++; return "charged"; } });';
const chargesOf = async (t) => (await (await t.context()).pages()[0]).evaluate(() => globalThis.charges);

/** A run in which the model calls `tool` once and then says "Done."; the tool's source text is given. */
async function toolRun(t, name, execute, args = {}) {
  const route = await t.raw((body) => (JSON.stringify(body.messages.at(-1).content).includes("tool_result") ? message("Done.") : message({ tool: name, args, id: "toolu_x" })));
  const page = await t.tab();
  const seen = await page.evaluate(async ([base, name, execute]) => {
    const ws = await lodger.openWorkspace("w");
    ws.tools.register({ name, description: "A tool of the page.", inputSchema: { type: "object", properties: {} }, execute: new Function("args", "context", execute) });
    await ws.startAgent({ provider: T.anthropic(base), toolTimeoutMs: 700 });
    const rec = T.record(document, ws);
    const run = await ws.sendMessage("Use the tool.");
    await rec.ended(run.runId);
    return { runId: run.runId, events: rec.events, direct: await T.settle(() => ws.tools.execute(name, {})), history: T.plain(await ws.history()) };
  }, [route.base, name, execute]);
  const shape = checkRun(seen.events, seen.runId);
  assert.equal(shape.text, "Done.", "the run goes on");
  assert.deepEqual(route.violations, []);
  const answer = route.requests[1].json.messages.at(-1).content.find((b) => b.type === "tool_result");
  return { ...seen, ...shape, call: shape.calls[0], answer, told: JSON.stringify(answer.content) };
}

function theTools(test) {
  const failing = (title, execute, code, text) => test(title, async (t) => {
    const { call, answer, told, direct } = await toolRun(t, "custom", execute);
    assert.equal(call.status, "failed");
    assert.equal(call.error.code, code, JSON.stringify(call.error));
    assert.match(call.error.message, text);
    assert.equal(answer.is_error, true);
    assert.match(told, text, "the model is told");
    assert.equal(direct.error?.code, code, "tools.execute rejects with the same code");
  });
  failing("tool that throws an Error", 'throw new Error("the shop is closed")', "tool_failed", /the shop is closed/);
  failing("tool that throws a string", 'throw "plain trouble"', "tool_failed", /plain trouble/);
  failing("tool that throws nothing", "throw undefined", "tool_failed", /./);
  failing("tool that rejects with an odd object", 'return Promise.reject({ toString() { throw 1 }, code: 7 })', "tool_failed", /./);
  failing("tool with a cyclic result", "const a = { list: [{}] }; a.list[0].self = a; return a", "tool_failed", /list[^]*0[^]*self|cycl/i);
  failing("tool with a BigInt in its result", "return { deep: { count: 5n } }", "tool_failed", /deep[^]*count/);
  failing("tool that returns what fetch gave it", 'return fetch("/blank.html")', "tool_failed", /a Response/);
  failing("tool that returns an element", "return { found: document.body }", "tool_failed", /found is an? HTMLBodyElement/);
  failing("tool that returns NaN", "return 0 / 0", "tool_failed", /NaN/);
  failing("tool that never answers", "return new Promise(() => {})", "tool_timeout", /700|time/i);
  failing("tool whose result throws when it is read", "return { get x() { throw new Error('getter') } }", "tool_failed", /getter|x/);

  test("cyclic and BigInt results: the message names the path", async (t) => {
    const cyclic = await toolRun(t, "custom", "const a = { list: [{}] }; a.list[0].self = a; return a");
    assert.match(cyclic.call.error.message, /list.{0,3}0.{0,3}self/);
  });

  test("tool with no result is completed", async (t) => {
    const { call, answer, told } = await toolRun(t, "custom", "return undefined");
    assert.equal(call.status, "completed");
    assert.notEqual(answer.is_error, true);
    assert.ok(told.length > 6);
  });

  test("invalid tool JSON from the model: the tool is not run, the model is told", async (t) => {
    let first = true;
    const route = await t.raw(() => { const answer = first ? message({ tool: "charge", json: '{"amount": 12,,}', id: "toolu_bad" }) : message("Sorry."); first = false; return answer; });
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, tools]) => {
      const ws = await lodger.openWorkspace("w");
      new Function("ws", tools)(ws);
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document, ws);
      const run = await ws.sendMessage("Charge it.");
      await rec.ended(run.runId);
      return { runId: run.runId, events: rec.events, charges };
    }, [route.base, CHARGE]);
    const { calls, text } = checkRun(seen.events, seen.runId);
    assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error?.code]), [["charge", "failed", "invalid_arguments"]]);
    assert.equal(text, "Sorry.");
    assert.equal(seen.charges, 0);
    assert.deepEqual(route.violations, []);
    assert.equal(route.requests[1].json.messages.at(-1).content[0].is_error, true);
  });

  test("arguments that do not fit the schema: the tool is not run, the model is told which", async (t) => {
    const route = await t.raw(message({ tool: "charge", args: {}, id: "toolu_1" }), message({ tool: "charge", args: { amount: "much" }, id: "toolu_2" }), message("I give up."));
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, tools]) => {
      const ws = await lodger.openWorkspace("w");
      new Function("ws", tools)(ws);
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document, ws);
      const run = await ws.sendMessage("Charge it.");
      await rec.ended(run.runId);
      return { runId: run.runId, events: rec.events, charges };
    }, [route.base, CHARGE]);
    const { calls } = checkRun(seen.events, seen.runId);
    assert.deepEqual(calls.map((c) => c.error.code), ["invalid_arguments", "invalid_arguments"]);
    calls.forEach((c) => assert.match(c.error.message, /amount/));
    assert.equal(seen.charges, 0);
  });

  test("tool without arguments: the empty buffer means {}", async (t) => {
    const route = await t.raw(message({ tool: "ping_me", id: "toolu_0" }), message("Done."));
    const page = await t.tab();
    const args = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      let got;
      ws.tools.register({ name: "ping_me", description: "Pings.", inputSchema: { type: "object", properties: {} }, execute: (a) => { got = a; return "pong"; } });
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("Ping.");
      return got;
    }, route.base);
    assert.deepEqual(args, {});
    assert.deepEqual(route.requests[1].json.messages[1].content.find((b) => b.type === "tool_use").input, {});
  });

  test("duplicate tool name and unusable tools", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const tool = (more) => ({ name: "mine", description: "Mine.", inputSchema: { type: "object", properties: {} }, execute: () => "first", ...more });
      const caught = (f) => { try { f(); return "no error"; } catch (e) { return { name: e.name, code: e.code, message: e.message, retryable: e.retryable, isError: e instanceof Error }; } };
      ws.tools.register(tool());
      const before = ws.tools.definitions().map((d) => d.name);
      const out = {
        twice: caught(() => ws.tools.register(tool({ execute: () => "second" }))), native: caught(() => ws.tools.register(tool({ name: "search_pages" }))),
        name: caught(() => ws.tools.register(tool({ name: "has space" }))), noName: caught(() => ws.tools.register(tool({ name: undefined }))),
        schema: caught(() => ws.tools.register(tool({ name: "b", inputSchema: { type: "string" } }))), noExecute: caught(() => ws.tools.register(tool({ name: "c", execute: 5 }))),
      };
      return { ...out, still: (await ws.tools.execute("mine", {})).result, same: JSON.stringify(before) === JSON.stringify(ws.tools.definitions().map((d) => d.name)) };
    });
    coded(seen.twice, "duplicate_tool", /mine/);
    coded(seen.native, "duplicate_tool", /search_pages/);
    for (const key of ["name", "noName", "noExecute"]) coded(seen[key], "invalid_tool");
    coded(seen.schema, "invalid_schema");
    assert.equal(seen.still, "first");
    assert.equal(seen.same, true);
  });
}

// ------------------------------------------------------------------ what the storage does

function theStorage(test) {
  test("a database from a newer version is refused and left as it is", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("newer");
      await ws.startAgent({ provider: offline() });
      await ws.run("Hello");
      await ws.close();
      await T.turn();
      const rows = await T.dump("newer");
      const [key, value] = rows.meta.find(([key]) => JSON.stringify(key).includes("format")) ?? [];
      if (!key) return { rows: rows.meta };
      const newer = Number.parseInt(value, 10) + 98;
      await T.put("newer", "meta", key, `${newer}=${newer}`);
      const before = JSON.stringify(await T.dump("newer"));
      const error = await T.refused(() => lodger.openWorkspace("newer"));
      const after = JSON.stringify(await T.dump("newer"));
      await T.put("newer", "meta", key, value);
      const again = await lodger.openWorkspace("newer");
      return { error, same: before === after, history: (await again.history()).length };
    });
    assert.ok(seen.error, `the table meta has no row "format": ${JSON.stringify(seen.rows)}`);
    coded(seen.error, "newer_version");
    assert.equal(seen.same, true, "nothing was changed");
    assert.equal(seen.history, 2, "nothing was lost");
  });

  test("IndexedDB unavailable: refused, with the way out", async (t) => {
    const page = await t.tab({ init: () => { Object.defineProperty(globalThis, "indexedDB", { value: undefined }); } });
    const seen = await page.evaluate(async () => {
      const error = await T.refused(() => lodger.openWorkspace("w"));
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      await ws.startAgent({ provider: scriptedModel(["Works."]) });
      return { error, text: (await ws.run("Hello")).text, kind: (await ws.storage()).kind };
    });
    coded(seen.error, "storage_unavailable", /memory/);
    assert.equal(seen.text, "Works.");
    assert.equal(seen.kind, "memory");
  });

  test("IndexedDB that throws (a sandboxed frame)", async (t) => {
    const page = await t.tab({ init: () => { IDBFactory.prototype.open = () => { throw new DOMException("The operation is insecure.", "SecurityError"); }; } });
    coded(await page.evaluate(() => T.refused(() => lodger.openWorkspace("w"))), "storage_unavailable", /memory/);
  });

  test("a database whose version number is higher is a newer one too", async (t) => {
    const page = await t.tab();
    const error = await page.evaluate(async () => {
      await new Promise((resolve, reject) => {
        const request = indexedDB.open("lodger:later", 99);
        request.onupgradeneeded = () => request.result.createObjectStore("something");
        request.onsuccess = () => { request.result.close(); resolve(); };
        request.onerror = reject;
      });
      return T.refused(() => lodger.openWorkspace("later"));
    });
    coded(error, "newer_version");
  });

  test("insecure context: a page on http that is not this machine", async (t) => {
    const page = await t.tab({ base: t.env.site.insecureUrl });
    const seen = await page.evaluate(async () => {
      const secure = isSecureContext;
      const error = await T.refused(async () => { const ws = await lodger.openWorkspace("w"); await ws.startAgent(); });
      return { secure, error };
    });
    assert.equal(seen.secure, false, "the test page is insecure indeed");
    coded(seen.error, "insecure_context", /https/i);
  });

  // Chromium remembers for a while how much room there was, and counts what a private window holds only later: the quota
  // is set before anything is written, and it is one large write that exceeds it.
  const limited = async (t, quotaSize) => {
    const page = await t.tab();
    const cdp = await (await t.context()).newCDPSession(page);
    await cdp.send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url, quotaSize });
    return { page, lift: () => cdp.send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url }) };
  };

  test("quota exceeded: pages", async (t) => {
    const { page, lift } = await limited(t, 500_000);
    const seen = await page.evaluate(async () => {
      globalThis.ws = await lodger.openWorkspace("full");
      await ws.pages.create({ title: "Kept", content: "small" });
      const error = await T.refused(async () => { for (let i = 1; i < 30; i++) await ws.pages.create({ title: `Big ${i}`, content: crypto.randomUUID().repeat(i * 3_000) }); });
      const titles = (await ws.pages.tree()).map((p) => p.title);
      const stored = (await T.dump("full")).pages.length;
      return { error, kept: (await ws.pages.read("kept")).content, titles, stored };
    });
    await lift();
    coded(seen.error, "quota_exceeded");
    assert.equal(seen.kept, "small");
    assert.equal(seen.titles.length, seen.stored, "what is shown is what is stored");
    const after = await page.evaluate(async () => (await ws.pages.create({ title: "Room again", content: "x" })).slug);
    assert.equal(after, "room-again");
  });

  test("quota exceeded: in a run", async (t) => {
    const route = await t.raw((body) => (JSON.stringify(body.messages.at(-1).content).includes("Are you there?") ? message("Back again.") : message("word ".repeat(60_000))));
    const { page, lift } = await limited(t, 250_000);
    const seen = await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("full");
      await ws.startAgent({ provider: T.anthropic(base) });
      const rec = T.record(document, ws);
      const error = await T.refused(async () => { for (let i = 0; i < 5; i++) await ws.run("Say much."); });
      await T.turn();
      return { error, status: ws.status(), told: rec.events.filter((e) => e.type === "agent:status-changed").at(-1)?.detail.lifecycle };
    }, route.base);
    await lift();
    coded(seen.error, "quota_exceeded");
    assert.equal(typeof seen.status.lifecycle.Error, "string", `a failed commit is the harness's error: ${JSON.stringify(seen.status)}`);
    assert.deepEqual(seen.told, seen.status.lifecycle);
    const after = await page.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base) });
      return { text: (await ws.run("Are you there?")).text, first: (await ws.history())[0].parts[0].text };
    }, route.base);
    assert.equal(after.text, "Back again.");
    assert.equal(after.first, "Say much.");
    assert.deepEqual(route.violations, []);
  });
}
