// Keys: the vault, trying a key, redirects. After every failing path that there is, marked keys are searched for in everything
// that a page can see or store.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import http from "node:http";
import { formsOf, search } from "../lib/secrets.mjs";
import { follows, holds, onBothHosts, open, openIn } from "../lib/tabs.mjs";
import { drop, gate, plain, rawServer, stream } from "../servers/raw.mjs";
import { errorBody, event, message } from "../servers/sse.mjs";

export default function (test) {
  theVault(test);
  onBothHosts(test, betweenTabs);
  trying(test);
  redirects(test);
  secrecy(test);
}

/** A route that answers every path by its script. */
async function anything(t, ...answers) {
  const route = await t.raw(...answers);
  route.everything = true;
  return route;
}
const json = (value) => plain(200, JSON.stringify(value));
const CHAT = (text) => stream(`data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }] })}\n\n`,
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`, "data: [DONE]\n\n");
const sent = (route, name) => route.requests.map(({ headers }) => headers[name]);

// ------------------------------------------------------------------ between tabs

export function betweenTabs(on) {
  on("no key goes from tab to tab: a following tab keeps it in the vault itself, and the agent reads it there", async (t, host) => {
    const keys = { first: "sk-ant-first-0123456789abc", second: "sk-ant-second-0123456789ab", own: "sk-ant-own-0123456789abcde", given: "sk-ant-given-0123456789abc", header: "hdr-secret-0123456789abcde", another: "sk-ant-another-0123456789", path: "pth0secret9Lm2ZqT7bWc4" };
    // The model says the key back: the agent knows that it is one.
    const route = await t.raw((_, __, { headers }) => message(`Your key is ${headers["x-api-key"]}.`));
    const c = await t.tab();
    await c.evaluate(() => {
      globalThis.heard = [];
      new BroadcastChannel("lodger:shared").onmessage = ({ data }) => heard.push(JSON.stringify(data));
    });
    const a = await open(t, host);
    await a.evaluate((base) => ws.startAgent({ provider: { kind: "anthropic", baseUrl: base } }), route.base);
    const b = await openIn(await t.tab(), host);
    await follows(b);
    const seen = await b.evaluate(async ([keys, base]) => {
      const said = [];
      const run = async () => said.push((await T.settle(() => ws.run("Hello"))).error?.code ?? T.textOf((await ws.history()).at(-1)));
      await run();
      await ws.keys.set("anthropic", keys.first);
      await run();
      await ws.keys.set("anthropic", keys.second);
      await run();
      const refused = [];
      const anthropic = { kind: "anthropic", baseUrl: base };
      for (const patch of [
        { provider: { ...anthropic, apiKey: keys.own } }, { provider: { ...anthropic, apiKey: () => keys.given } }, { provider: { ...anthropic, headers: { "x-secret": keys.header } } },
        { providers: { spare: { ...anthropic, apiKey: keys.own } }, instructions: "Be kind." }, { provider: { ...anthropic, fetch: (...args) => fetch(...args) } },
        { provider: { ...anthropic, baseUrl: `${base}/${keys.path}/v1` } }, { providers: { spare: { ...anthropic, baseUrl: `${base}/v1?key=${keys.path}` } } },
        { providerOptions: { mcp_servers: [{ type: "url", url: "https://mcp.example/sse", name: "shop", authorization_token: keys.path }] } },
        // In places where no key belongs.
        { fallback: [{ kind: "openai", apiKey: keys.path }] }, { keys: { openai: keys.path } }, { skills: [{ name: "a", description: "b", template: "c", apiKey: keys.path }] }, { permissions: { headers: { authorization: keys.path } } },
      ]) refused.push(await T.refused(() => ws.configureAgent(patch)));
      // What a session or a message has otherwise is stored, and goes to the agent's tab as well.
      const options = { providerOptions: { mcp_servers: [{ type: "url", url: "https://mcp.example/sse", name: "shop", authorization_token: keys.path }] } };
      for (const say of [() => ws.sendMessage("Hello", options), () => ws.regenerate(undefined, options), () => ws.sessions.configure("default", options), () => ws.sessions.launch({ id: "own", ...options }), () => ws.sessions.runOnce("Hello", options)]) refused.push(await T.refused(say));
      for (const own of [{ provider: { ...anthropic, apiKey: keys.own } }, { models: { mine: { apiKey: keys.path } } }, { apiKey: keys.own }]) {
        for (const say of [
          () => ws.sendMessage("Hello", own), () => ws.regenerate(undefined, own), () => ws.sessions.configure("default", own), () => ws.sessions.launch({ id: "own", ...own }), () => ws.sessions.runOnce("Hello", own), () => ws.sessions.prompt("default", "Hello", own),
        ]) refused.push(await T.refused(say));
      }
      // Without a key it may say which one it is.
      await ws.configureAgent({ provider: { ...anthropic, model: "claude-haiku-4-5" }, instructions: "Be brief." });
      await run();
      await ws.keys.remove("anthropic");
      await run();
      await ws.keys.set("anthropic", keys.another);
      await run();
      return { said, refused, names: await ws.keys.list(), settings: await ws.invoke("get_agent_settings") };
    }, [keys, route.base]);
    const answer = "Your key is [REDACTED].";
    assert.deepEqual(seen.said, ["invalid_request", answer, answer, answer, "invalid_request", answer], "the server asks for a key");
    assert.deepEqual(sent(route, "x-api-key"), [undefined, keys.first, keys.second, keys.second, undefined, keys.another]);
    assert.equal(JSON.parse(route.requests.at(-1).text).model, "claude-haiku-4-5");
    for (const error of seen.refused) {
      assert.deepEqual([error.name, error.code], ["LodgerError", "invalid_config"]);
      assert.match(error.message, /apiKey, headers, fetch, a query in baseUrl, a long part of its path, a long text in providerOptions/);
      assert.match(error.hint, /keys\.set.*takeover/);
    }
    assert.deepEqual([seen.names, seen.settings.api_key_configured], [["anthropic"], true]);
    assert.equal(await holds(a), true, "the agent has stayed where it was");
    const own = await a.evaluate((key) => T.refused(() => ws.sessions.configure("default", { providerOptions: { api_key: key } })), keys.path);
    assert.deepEqual([own.code, /because they are stored/.test(own.message)], ["invalid_config", true]);
    const heard = await c.evaluate(() => heard);
    assert.ok(heard.some((text) => text.includes("keys.look")) && heard.some((text) => text.includes("Be brief.")), "the listener hears what tabs say");
    assert.deepEqual(search(keys, { channel: heard.join("\n") }), []);
  });
}

// ------------------------------------------------------------------ the vault

export function theVault(test) {
  test("a key in the vault serves a provider without one, over a reload; names come back, keys do not", async (t) => {
    const route = await t.raw(() => message("Hello."));
    const page = await t.tab();
    const first = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      const empty = await ws.keys.list();
      await ws.startAgent({ provider: { kind: "anthropic" } });
      const before = await ws.invoke("get_agent_settings");
      const refused = (await T.refused(() => ws.run("Hello"))).code;
      const nothing = [await ws.keys.set("anthropic", "sk-vault-0123456789"), await ws.keys.set("openai", "sk-other-0123456789")];
      const after = await ws.invoke("get_agent_settings");
      await ws.configureAgent({ provider: { kind: "anthropic", baseUrl: base } });
      const { text } = await ws.run("And now?");
      return { empty, before, refused, nothing, after, text, names: await ws.keys.list() };
    }, route.base);
    assert.deepEqual(first.empty, []);
    assert.deepEqual([first.before.api_key_configured, first.refused, first.after.api_key_configured], [false, "not_configured", true]);
    assert.deepEqual([first.text, first.names], ["Hello.", ["anthropic", "openai"]]);
    await page.reload();
    await t.ready(page);
    const second = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: { kind: "anthropic", baseUrl: base } });
      const settings = await ws.invoke("get_agent_settings");
      await ws.run("After a reload");
      await ws.configureAgent({ provider: { kind: "anthropic", baseUrl: base, apiKey: "sk-own-0123456789" } });
      await ws.run("With a key of its own");
      await ws.keys.remove("anthropic");
      await ws.keys.remove("nobody");
      await ws.configureAgent({ provider: { kind: "anthropic" } });
      const gone = [(await ws.invoke("get_agent_settings")).api_key_configured, (await T.refused(() => ws.run("Hello"))).code];
      return { settings, gone, names: await ws.keys.list(), members: Object.keys(ws.keys) };
    }, route.base);
    assert.equal(second.settings.api_key_configured, true);
    assert.deepEqual([second.gone, second.names], [[false, "not_configured"], ["openai"]]);
    assert.deepEqual(second.members.sort(), ["list", "models", "remove", "set", "validate"]);
    assert.deepEqual(sent(route, "x-api-key"), ["sk-vault-0123456789", "sk-vault-0123456789", "sk-own-0123456789"]);
  });

  test("a provider without a key is not configured at its own server, however the page writes it; elsewhere it is", async (t) => {
    const page = await t.tab();
    const own = { anthropic: "https://api.anthropic.com", openai: "https://api.openai.com/v1", "openai-responses": "https://api.openai.com/v1", gemini: "https://generativelanguage.googleapis.com", xai: "https://api.x.ai/v1" };
    const seen = await page.evaluate(async (own) => {
      const ws = await lodger.openWorkspace("w");
      const seen = {};
      for (const [kind, address] of Object.entries(own)) {
        seen[kind] = {};
        for (const [where, baseUrl] of Object.entries({ unsaid: undefined, own: address, slash: `${address}/`, elsewhere: "https://proxy.example/v1", below: `${address}/of/mine`, otherwise: address.replace("https:", "HTTPS:") })) {
          // Nothing is sent, wherever it would go.
          const provider = { kind, model: "m", baseUrl, fetch: async () => { throw Object.assign(new Error("nobody is there"), { code: "permission" }); } };
          await ws.startAgent({ provider, providers: { named: provider } });
          const { api_key_configured } = await ws.invoke("get_agent_settings");
          const { id, status } = await ws.sessions.launch({ id: `${kind} ${where}`, provider: "named" });
          const { code } = await T.refused(() => ws.run("Hello"));
          // With a key it runs.
          await ws.keys.set("named", "sk-named-0123456789");
          seen[kind][where] = { api_key_configured, status, code, then: (await ws.sessions.status(id)).session.status };
          await ws.keys.remove("named");
          await ws.stopAgent();
        }
      }
      return seen;
    }, own);
    const without = { api_key_configured: false, status: "starting", code: "not_configured", then: "running" };
    const configured = { api_key_configured: true, status: "running", code: "permission", then: "running" };
    assert.deepEqual(seen, Object.fromEntries(Object.keys(own).map((kind) => [kind, { unsaid: without, own: without, slash: without, elsewhere: configured, below: without, otherwise: without }])));
  });

  test("a provider's own server wants its key, also from a kind that goes anywhere", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const seen = {};
      for (const baseUrl of ["https://api.openai.com/v1", "https://api.anthropic.com/v1", "https://API.groq.com:443/openai/v1", "https://proxy.example/v1"]) {
        let asked = 0;
        const provider = { kind: "openai-compatible", model: "m", baseUrl, fetch: async () => { asked++; throw Object.assign(new Error("nobody is there"), { code: "permission" }); } };
        await ws.startAgent({ provider, providers: { named: provider } });
        const { api_key_configured } = await ws.invoke("get_agent_settings");
        const { status } = await ws.sessions.launch({ id: baseUrl, provider: "named" });
        const { code } = await T.refused(() => ws.run("Hello"));
        seen[new URL(baseUrl).host] = [api_key_configured, status, code, asked];
        await ws.stopAgent();
      }
      return seen;
    });
    const without = [false, "starting", "not_configured", 0];
    assert.deepEqual(seen, { "api.openai.com": without, "api.anthropic.com": without, "api.groq.com": without, "proxy.example": [true, "running", "permission", 1] });
  });

  test("a key of the vault is known from the start on: typed in a message before its first use it is not stored", async (t) => {
    const route = await t.raw(() => message("Hello."));
    const page = await t.tab();
    const key = "sk-vault-4321-marked";
    await page.evaluate(async (key) => {
      const ws = await lodger.openWorkspace("w");
      await ws.keys.set("anthropic", key);
      await ws.keys.set("spare", ` ${key}-of-another \n`);
    }, key);
    await page.reload();
    await t.ready(page);
    const seen = await page.evaluate(async ([base, key]) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: { kind: "anthropic", baseUrl: base } });
      await ws.run(`My keys are ${key} and ${key}-of-another, and?`);
      await ws.stopAgent();
      return [await T.dump("w"), await ws.history()].map((value) => JSON.stringify(value));
    }, [route.base, key]);
    for (const text of seen) {
      assert.doesNotMatch(text, /4321-marked|of-another/);
      assert.match(text, /My keys are \[REDACTED\] and \[REDACTED\], and\?/);
    }
    assert.deepEqual(sent(route, "x-api-key"), [key]);
  });

  test("a key of the vault that is refused is not asked for again", async (t) => {
    const route = await t.raw(() => plain(401, errorBody("authentication_error", "invalid x-api-key")));
    const page = await t.tab();
    const error = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.keys.set("anthropic", "sk-vault-0123456789");
      await ws.startAgent({ provider: { kind: "anthropic", baseUrl: base } });
      return T.refused(() => ws.run("Hello"));
    }, route.base);
    assert.equal(error.code, "auth");
    assert.equal(route.requests.length, 1);
  });

  test("what another tab has set counts from the next start on; what it has removed is gone at once", async (t) => {
    const route = await t.raw(() => message("Hello."));
    const [one, two] = [await t.tab(), await t.tab()];
    await one.evaluate(async () => { await (globalThis.ws = await lodger.openWorkspace("w")).startAgent({ provider: { kind: "anthropic" } }); });
    await two.evaluate(async () => { globalThis.ws = await lodger.openWorkspace("w"); await ws.keys.set("anthropic", "sk-vault-0123456789"); });
    const started = await one.evaluate(async (base) => {
      await ws.stopAgent();
      await ws.startAgent({ provider: { kind: "anthropic" } });
      const { api_key_configured } = await ws.invoke("get_agent_settings");
      await ws.configureAgent({ provider: { kind: "anthropic", baseUrl: base } });
      return [api_key_configured, (await ws.run("Hello")).text];
    }, route.base);
    assert.deepEqual(started, [true, "Hello."]);
    await two.evaluate(() => ws.keys.remove("anthropic"));
    const code = await one.evaluate(async () => {
      await ws.configureAgent({ provider: { kind: "anthropic" } });
      return (await T.refused(() => ws.run("Hello"))).code;
    });
    assert.equal(code, "not_configured");
    assert.deepEqual(sent(route, "x-api-key"), ["sk-vault-0123456789"]);
  });

  test("deleteWorkspace leaves no vault; a workspace in memory forgets it when it is closed", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      await ws.keys.set("anthropic", "sk-vault-0123456789");
      await lodger.deleteWorkspace("w");
      const left = (await indexedDB.databases()).map(({ name }) => name);
      const again = await (await lodger.openWorkspace("w")).keys.list();
      const memory = await lodger.openWorkspace("m", { storage: "memory" });
      await memory.keys.set("openai", "sk-memory-0123456789");
      const held = await memory.keys.list();
      await memory.startAgent({ provider: { kind: "openai", model: "m" } });
      const { api_key_configured } = await memory.invoke("get_agent_settings");
      await memory.close();
      const fresh = await (await lodger.openWorkspace("m", { storage: "memory" })).keys.list();
      return { left, again, held, api_key_configured, fresh, databases: (await indexedDB.databases()).map(({ name }) => name) };
    });
    assert.deepEqual(seen, { left: [], again: [], held: ["openai"], api_key_configured: true, fresh: [], databases: ["lodger:w"] });
  });

  test("without a secure context there is no vault on disk, and the error says what to do; in memory there is one", async (t) => {
    const page = await t.tab({ base: t.env.site.insecureUrl });
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const error = await T.refused(() => ws.keys.set("anthropic", "sk-vault-0123456789"));
      const memory = await lodger.openWorkspace("m", { storage: "memory" });
      await memory.keys.set("anthropic", "sk-vault-0123456789");
      return { secure: isSecureContext, error, names: await ws.keys.list(), memory: await memory.keys.list() };
    });
    assert.deepEqual([seen.secure, seen.error.code, seen.names, seen.memory], [false, "insecure_context", [], ["anthropic"]]);
    assert.match(seen.error.hint, /https/);
  });

  test("Node: a vault in memory", async (t) => {
    const route = await t.raw(() => message("Hello."));
    const { openWorkspace } = await import(`file://${t.env.pkg.dir}/${t.env.pkg.entry(".", ["node", "import", "default"])}`);
    const ws = await openWorkspace("node", { storage: "memory" });
    t.after(() => ws.close());
    await ws.keys.set("anthropic", "sk-node-0123456789");
    await ws.startAgent({ provider: { kind: "anthropic", baseUrl: route.base } });
    assert.equal((await ws.run("Hello")).text, "Hello.");
    assert.deepEqual(sent(route, "x-api-key"), ["sk-node-0123456789"]);
  });

  test("what is no name or no key is refused, and not quoted", async (t) => {
    const page = await t.tab();
    const errors = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const calls = [[], ["anthropic"], ["anthropic", ""], ["anthropic", 7], ["anthropic", "sk-secret\nkey"], ["anthropic", "sk-secret-\u{1F511}"], ["", "sk-secret"], [{}, "sk-secret"], ["a", () => "sk-secret"]];
      const errors = [];
      for (const args of calls) errors.push(await T.refused(() => ws.keys.set(...args)));
      errors.push(await T.refused(() => ws.keys.remove()));
      return errors;
    });
    for (const error of errors) {
      assert.equal(error.code, "invalid_arguments", JSON.stringify(error));
      assert.doesNotMatch(JSON.stringify(error), /secret/);
    }
  });
}

// ------------------------------------------------------------------ trying a key

const LISTS = {
  anthropic: { kind: "anthropic", path: "/v1/models", header: ["x-api-key", "sk-try-0123456789"], body: { data: [{ type: "model", id: "claude-x", display_name: "Claude X" }], has_more: false }, models: [{ id: "claude-x", name: "Claude X" }] },
  openai: { kind: "openai", path: "/models", header: ["authorization", "Bearer sk-try-0123456789"], body: { object: "list", data: [{ id: "gpt-x", object: "model" }] }, models: [{ id: "gpt-x" }] },
  xai: { kind: "xai", preset: "chat", path: "/models", header: ["authorization", "Bearer sk-try-0123456789"], body: { data: [{ id: "grok-x" }] }, models: [{ id: "grok-x" }] },
  groq: { kind: "openai-compatible", preset: "groq", path: "/models", header: ["authorization", "Bearer sk-try-0123456789"], body: { data: [{ id: "llama-x" }] }, models: [{ id: "llama-x" }] },
};

export function trying(test) {
  for (const [name, { path, header, body, models, ...provider }] of Object.entries(LISTS)) {
    test(`${name}: a good key is ok, its models are listed, by one GET each and without an agent`, async (t) => {
      const route = await anything(t, json(body));
      const page = await t.tab();
      const seen = await page.evaluate(async (provider) => {
        const ws = await lodger.openWorkspace("w");
        const rec = T.record();
        const ok = await ws.keys.validate(provider);
        const own = await ws.keys.validate({ ...provider, fetch: (url, init) => fetch(url, init) });
        const models = await ws.keys.models(provider);
        const bearer = await ws.keys.validate({ ...provider, auth: "bearer", headers: { "X-Proxy": "p", "anthropic-version": null }, credentials: "omit" });
        return { ok, own, models, bearer, events: rec.events, entries: (await T.dump("w")).entries };
      }, { ...provider, apiKey: "sk-try-0123456789", baseUrl: route.base });
      assert.deepEqual(seen, { ok: { ok: true }, own: { ok: true }, models, bearer: { ok: true }, events: [], entries: [] });
      for (const request of route.requests) {
        assert.deepEqual([request.method, request.path.replace(/^\/r\d+/, ""), request.text], ["GET", path, ""]);
        assert.equal(request.headers["content-type"], undefined);
      }
      const bearer = route.requests.at(-1).headers;
      assert.deepEqual(route.requests.slice(0, 3).map(({ headers }) => headers[header[0]]), Array(3).fill(header[1]));
      assert.deepEqual([bearer.authorization, bearer["x-api-key"], bearer["x-proxy"], bearer["anthropic-version"]], ["Bearer sk-try-0123456789", undefined, "p", undefined]);
      if (name === "anthropic") assert.equal(route.requests[0].headers["anthropic-dangerous-direct-browser-access"], "true");
    });
  }

  test("openrouter: its list is public, so the key itself is asked about", async (t) => {
    const route = await anything(t, (body, n, { path }) => (path.endsWith("/key") ? plain(401, '{"error":{"message":"No auth credentials found","code":401}}') : json({ data: [{ id: "a/b", name: "A: B" }] })));
    const page = await t.tab();
    const seen = await page.evaluate(async (baseUrl) => {
      const ws = await lodger.openWorkspace("w");
      const provider = { kind: "openai-compatible", preset: "openrouter", apiKey: "sk-try-0123456789", baseUrl };
      return [await ws.keys.validate(provider), await ws.keys.models(provider)];
    }, route.base);
    assert.deepEqual([seen[0].ok, seen[0].error.code, seen[1]], [false, "auth", [{ id: "a/b", name: "A: B" }]]);
  });

  test("what is wrong is told by its code, with what to do, and nothing is thrown", async (t) => {
    const hold = gate();
    const answers = {
      auth: plain(401, errorBody("authentication_error", "invalid x-api-key")), permission: plain(403, errorBody("permission_error", "not allowed")),
      not_found: plain(404, "<html><title>Not here</title></html>", { "content-type": "text/html" }), rate_limit: plain(429, errorBody("rate_limit_error", "slow down"), { "content-type": "application/json", "retry-after": "7" }),
      quota: plain(402, errorBody("billing_error", "no credit")), server: plain(500, errorBody("api_error", "oops")), overloaded: plain(529, errorBody("overloaded_error", "busy")),
      protocol: plain(200, "<!doctype html><title>Log in</title>", { "content-type": "text/html" }), stream_broken: { status: 200, headers: {}, body: ['{"data":[', drop] }, timeout: () => hold.opened,
    };
    const page = await t.tab();
    for (const [code, answer] of Object.entries(answers)) {
      const route = await anything(t, answer);
      const seen = await page.evaluate(async ([baseUrl, timeouts]) => {
        const ws = await lodger.openWorkspace("w");
        const provider = T.anthropic(baseUrl, { timeouts });
        return [await ws.keys.validate(provider), await T.refused(() => ws.keys.models(provider))];
      }, [route.base, code === "timeout" ? { connectMs: 50 } : {}]);
      assert.deepEqual([seen[0].ok, seen[0].error.code, seen[1].code], [false, code, code], JSON.stringify(seen));
      assert.ok(seen[0].error.hint?.length > 5, `a hint: ${JSON.stringify(seen[0])}`);
      if (code === "timeout") for (const request of route.requests) await request.closed;
    }
    hold.open();
  });

  test("no answer has the hint that fits the provider; no key is told before anything is sent", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const of = async (provider) => (await ws.keys.validate(provider)).error;
      return {
        local: await of({ kind: "openai-compatible", preset: "ollama", baseUrl: "http://127.0.0.1:9/v1" }),
        lan: await of({ kind: "ollama", baseUrl: "http://model.invalid:11434", allowHttp: true }),
        own: await of({ kind: "anthropic", apiKey: "sk-x", fetch: () => Promise.reject(new TypeError("Failed to fetch")) }),
        anthropic: await of({ kind: "anthropic", apiKey: "sk-x", baseUrl: "https://model.invalid" }),
        openai: await of({ kind: "openai", apiKey: "sk-x", baseUrl: "https://model.invalid/v1" }),
        none: await of({ kind: "anthropic" }),
        throwing: await of({ kind: "anthropic", baseUrl: "http://127.0.0.1:9", apiKey: () => { throw new Error("token server down"); } }),
        broken: await of({ kind: "anthropic", baseUrl: "http://127.0.0.1:9", apiKey: () => "sk-secret\nvalue" }),
      };
    });
    assert.deepEqual(Object.values(seen).map(({ code }) => code), ["network", "network", "network", "network", "network", "not_configured", "network", "invalid_config"]);
    assert.match(seen.local.hint, /OLLAMA_ORIGINS/);
    assert.match(seen.lan.hint, /OLLAMA_ORIGINS.*local network/);
    assert.equal(seen.own.message, "no answer came: network or CORS: Failed to fetch");
    assert.equal(seen.own.hint, seen.anthropic.hint);
    assert.match(seen.anthropic.hint, /console/);
    assert.match(seen.openai.hint, /origin/);
    assert.match(seen.none.hint, /keys\.set/);
    assert.match(seen.throwing.message, /token server down/);
    assert.doesNotMatch(JSON.stringify(seen.broken), /secret/);
  });

  test("an apiKey function is asked once more after a 401; the vault's key is tried where none is given", async (t) => {
    const route = await anything(t, (body, n, { headers }) => (headers["x-api-key"] === "sk-good-0123456789" ? json({ data: [] }) : plain(401, errorBody("authentication_error", "no"))));
    const page = await t.tab();
    const seen = await page.evaluate(async (baseUrl) => {
      const ws = await lodger.openWorkspace("w");
      const asked = [];
      const apiKey = ({ refused }) => { asked.push(refused); return refused ? "sk-good-0123456789" : "sk-old-0123456789"; };
      const own = await ws.keys.validate({ kind: "anthropic", baseUrl, apiKey });
      await ws.keys.set("anthropic", "sk-good-0123456789");
      return { own, asked, vault: await ws.keys.validate({ kind: "anthropic", baseUrl }) };
    }, route.base);
    assert.deepEqual(seen, { own: { ok: true }, asked: [false, true], vault: { ok: true } });
    assert.deepEqual(sent(route, "x-api-key"), ["sk-old-0123456789", "sk-good-0123456789", "sk-good-0123456789"]);
  });

  test("an organization that browsers may not call has no wrong key: another one is not asked for", async (t) => {
    const route = await anything(t, plain(401, errorBody("authentication_error", "CORS requests are not allowed for this Organization because of its settings.")));
    const page = await t.tab();
    const seen = await page.evaluate(async (baseUrl) => {
      const ws = await lodger.openWorkspace("w");
      const asked = [];
      const { error } = await ws.keys.validate({ kind: "anthropic", baseUrl, apiKey: ({ refused }) => { asked.push(refused); return "sk-good-0123456789"; } });
      return { asked, error };
    }, route.base);
    assert.deepEqual([seen.asked, seen.error.code, route.requests.length], [[false], "permission", 1]);
    assert.match(seen.error.hint, /console.*proxy/);
  });

  test("only what is no provider is thrown; a custom model needs no key", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const wrong = [undefined, null, "anthropic", { kind: "llama" }, { kind: "custom" }, { kind: "anthropic", apiKey: 7 }, { kind: "anthropic", baseUrl: "http://127.example.com" },
        { kind: "anthropic", baseUrl: "HTTP://example.com" }, { kind: "anthropic", baseUrl: "https://x.example/?key=sk-secret-1" }, { kind: "anthropic", baseUrl: "https://u:sk-secret-1@x.example" }];
      const errors = [];
      for (const provider of wrong) for (const method of ["validate", "models"]) errors.push(await T.refused(() => ws.keys[method](provider)));
      return { errors, custom: await ws.keys.validate(offline()), models: await ws.keys.models({ kind: "custom", model: "mine", async *stream() {} }) };
    });
    for (const error of seen.errors) { assert.equal(error.code, "invalid_config", JSON.stringify(error)); assert.doesNotMatch(JSON.stringify(error), /secret/); }
    assert.deepEqual([seen.custom, seen.models], [{ ok: true }, [{ id: "mine" }]]);
  });

  test("closing the workspace ends what is being tried", async (t) => {
    const hold = gate();
    const route = await anything(t, () => hold.opened);
    const page = await t.tab();
    const trying = page.evaluate(async (baseUrl) => {
      globalThis.ws = await lodger.openWorkspace("w");
      return T.refused(() => ws.keys.validate(T.anthropic(baseUrl)));
    }, route.base);
    const { closed } = await route.request(1);
    await page.evaluate(() => ws.close());
    assert.equal((await trying).code, "workspace_closed");
    await closed;
    hold.open();
  });
}

// ------------------------------------------------------------------ redirects

function redirects(test) {
  for (const own of [false, true]) test(`a redirect takes no key anywhere${own ? ", with a fetch of the page's own" : ""}: the error says from where`, async (t) => {
    const elsewhere = await rawServer();
    t.after(() => elsewhere.close());
    const trap = elsewhere.route(message("Caught."));
    trap.everything = true;
    const page = await t.tab();
    for (const status of [301, 302, 303, 307, 308]) {
      const from = await anything(t, (body, n, { path }) => plain(status, "", { location: `${trap.base}${path.replace(/^\/r\d+/, "")}` }));
      const seen = await page.evaluate(async ([baseUrl, own]) => {
        const ws = await lodger.openWorkspace("w");
        const fetched = own ? { fetch: (url, init) => fetch(url, init) } : {};
        const providers = [T.anthropic(baseUrl, fetched), T.anthropic(baseUrl, { ...fetched, auth: "bearer" }), { kind: "openai", model: "m", apiKey: "sk-test", baseUrl, ...fetched },
          { kind: "openai-compatible", model: "m", baseUrl, headers: { "X-Token": "sk-test" }, ...fetched }];
        const errors = [];
        await ws.startAgent({ ifRunning: "join" });
        for (const provider of providers) {
          await ws.configureAgent({ provider });
          errors.push(await T.refused(() => ws.run("Hello")), (await ws.keys.validate(provider)).error);
        }
        return errors;
      }, [from.base, own]);
      for (const error of seen) {
        assert.equal(error.code, "protocol", JSON.stringify(error));
        assert.ok(error.message.includes(`${from.base}/`) && /elsewhere/.test(error.message), error.message);
        assert.match(error.hint, /baseUrl/);
      }
    }
    assert.equal(trap.requests.length + trap.effects.length, 0, "nothing came through");

    // The trap is one: a page that follows a redirect is caught with the key.
    const from = await anything(t, plain(307, "", { location: `${trap.base}/v1/messages` }));
    await page.evaluate((base) => fetch(`${base}/v1/messages`, { method: "POST", headers: { "x-api-key": "sk-test" }, body: "{}" }), from.base);
    assert.deepEqual(sent(trap, "x-api-key"), ["sk-test"]);
  });

  test("Node: the error says where to", async (t) => {
    const from = await anything(t, plain(302, "", { location: "https://elsewhere.example/v1/messages" }));
    const { openWorkspace } = await import(`file://${t.env.pkg.dir}/${t.env.pkg.entry(".", ["node", "import", "default"])}`);
    const ws = await openWorkspace("node redirect", { storage: "memory" });
    t.after(() => ws.close());
    const { error } = await ws.keys.validate({ kind: "anthropic", apiKey: "sk-test", baseUrl: from.base });
    assert.equal(error.code, "protocol");
    assert.match(error.message, /elsewhere\.example/);
  });
}

// ------------------------------------------------------------------ nowhere

/** A key for this name: signs that JSON, URLs and HTML write in another way, and no part that anything else has. */
const marked = (name) => {
  const place = (sign) => createHash("sha256").update(name + sign).digest("hex");
  return `sk-${[..."Zq9/\"+Xw7&vT5%rP3<kJ1=mN"].sort((one, other) => (place(one) < place(other) ? -1 : 1)).join("")}`;
};

/** A server that is down in ways that a script of answers cannot be. */
async function faulty(t) {
  const seen = [];
  const server = http.createServer((request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*, authorization", "access-control-allow-methods": "*" };
    if (request.method === "OPTIONS") return void response.writeHead(204, cors).end();
    seen.push(request.url);
    if (request.url.startsWith("/reset")) request.socket.resetAndDestroy();
    else if (request.url.startsWith("/close")) request.socket.destroy();
    else if (request.url.startsWith("/cors")) response.writeHead(200).end("{}"); // no header lets the page read it
    else if (request.url.startsWith("/garbage")) request.socket.end("NONSENSE\r\n\r\n");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => { server.closeAllConnections(); server.close(); });
  return { base: `http://127.0.0.1:${server.address().port}`, seen };
}

/** Everything that a page can see or store, as texts. Runs in the page. */
async function everything(workspaces) {
  const shown = (value, depth = 0) => {
    if (value instanceof CryptoKey) return `[CryptoKey, extractable: ${value.extractable}]`;
    if (typeof value === "string") return value;
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return String.fromCharCode(...new Uint8Array(value.buffer ?? value));
    if (value instanceof Error) return [value.name, value.message, value.stack, ...Object.entries(value).flat().map((v) => shown(v, depth + 1))].join("\n");
    if (value === null || typeof value !== "object" || depth > 20) return String(value);
    return Object.entries(value).flatMap(([name, member]) => [name, shown(member, depth + 1)]).join("\n");
  };
  const places = {};
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((resolve, reject) => { const open = indexedDB.open(name); open.onsuccess = () => resolve(open.result); open.onerror = () => reject(open.error); });
    for (const store of database.objectStoreNames) {
      const of = database.transaction(store).objectStore(store);
      const all = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
      const [keys, values] = await Promise.all([all(of.getAllKeys()), all(of.getAll())]);
      places[`${name}, ${store}`] = `${shown(keys)}\n${shown(values)}`;
    }
    database.close();
  }
  places.localStorage = shown({ ...localStorage });
  places.sessionStorage = shown({ ...sessionStorage });
  places.cookies = document.cookie;
  places.caches = shown(await caches.keys());
  places.page = [document.title, location.href, document.documentElement.outerHTML, shown(history.state), globalThis.name].join("\n");
  places.resources = performance.getEntries().map(({ name }) => name).join("\n");
  places.events = shown(globalThis.dispatched);
  places.told = shown(globalThis.told);
  places.caught = shown(globalThis.caught);
  for (const workspace of workspaces) {
    const ws = globalThis.opened[workspace];
    places[`${workspace}: what it says`] = shown([ws.status(), await ws.history(), ws.view().getSnapshot(), await ws.invoke("get_agent_settings"), ws.tools.definitions(), await ws.keys.list(), await ws.pages.tree()]);
  }
  return places;
}

/** A page in which everything is kept that is dispatched, thrown or rejected. */
async function watched(t) {
  const page = await t.tab({ init: () => {
    globalThis.dispatched = []; globalThis.caught = []; globalThis.told = []; globalThis.opened = {};
    const { dispatchEvent } = EventTarget.prototype;
    EventTarget.prototype.dispatchEvent = function (event) { globalThis.dispatched.push([event.type, event.detail]); return dispatchEvent.call(this, event); };
    for (const type of ["error", "unhandledrejection"]) addEventListener(type, (event) => globalThis.caught.push(event.reason ?? event.error ?? event.message));
  } });
  page.outside = { urls: [], console: [] };
  // What a server names in a redirect is reported too, though nobody goes there: see the trap above.
  page.on("request", (request) => request.redirectedFrom() ?? page.outside.urls.push(request.url()));
  page.on("console", (line) => page.outside.console.push(line.text()));
  return page;
}

async function placesOf(page, workspaces) {
  const places = await page.evaluate(everything, workspaces);
  return { ...places, "requested URLs": page.outside.urls.join("\n"), console: page.outside.console.join("\n") };
}

function secrecy(test) {
  test("the search finds what is planted: every form in every kind of place", async (t) => {
    const key = marked("planted");
    // Any part of ten characters is found, and nothing is found of nothing.
    assert.deepEqual(search({ key }, { cut: `…${key.slice(5, 15)}…` }), ["key, plain: cut"]);
    assert.deepEqual(search({ key }, { cut: key.slice(0, 9), other: marked("another").slice(12) }), []);
    for (const [form, texts] of Object.entries(formsOf(key))) {
      for (const text of texts) assert.ok(search({ key }, { place: `before${text}after` }).includes(`key, ${form}: place`), `${form}: ${text}`);
    }
    const inBase64 = [0, 1, 2].map((n) => Buffer.from(`${"-".repeat(n)}${key}--`).toString("base64"));
    for (const text of inBase64) assert.ok(search({ key }, { text }).includes("key, base64: text"), text);

    const page = await watched(t);
    await page.evaluate(async (key) => {
      const ws = (globalThis.opened.w = await lodger.openWorkspace("w"));
      await ws.startAgent({ provider: offline() });
      const wrapped = `x${key}y`;
      await T.put("w", "meta", ["planted"], btoa(wrapped));
      await T.put("w", "keys", ["planted"], [...new TextEncoder().encode(key)].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
      await T.put("w", "drafts", [key.slice(4, 20)], "in the key of a row");
      await T.put("w", "vault", 1, new TextEncoder().encode(wrapped));
      localStorage.planted = JSON.stringify(JSON.stringify(key));
      sessionStorage.planted = [...key].reverse().join("");
      document.cookie = `planted=${encodeURIComponent(key)}`;
      await caches.open(btoa(key));
      document.title = key;
      document.dispatchEvent(new CustomEvent("any", { detail: { deep: [{ error: new Error(wrapped) }] } }));
      globalThis.told.push({ hint: wrapped });
      Promise.reject(new TypeError(wrapped));
      await ws.pages.create({ title: wrapped });
      console.warn({ wrapped });
      await (await fetch(`/nothing?k=${encodeURIComponent(key)}`)).text();
    }, key);
    t.allowError(/./); // it is thrown on purpose
    const found = new Set(search({ key }, await placesOf(page, ["w"])).map((text) => text.split(": ").slice(1).join(": ")));
    const planted = ["lodger:w, meta", "lodger:w, keys", "lodger:w, drafts", "lodger:w, vault", "lodger:w, pages", "localStorage", "sessionStorage", "cookies", "caches", "page", "events", "told", "caught",
      "w: what it says", "requested URLs", "resources", "console"];
    assert.deepEqual(planted.filter((place) => !found.has(place)), [], [...found].join("; "));
  }, { hangMs: 120_000 });

  test("keys are nowhere after every failing path", async (t) => {
    const keys = {};
    const names = ["ok", "auth", "auth-fn", "auth-vault", "permission", "rate", "server", "html", "html-ok", "long", "long-text", "escaped", "header", "in-stream", "broken", "garbage", "said", "hang", "refused", "reset", "close", "cors",
      "bad-answer", "redirect", "throwing", "line-break", "blanks", "blanks-fn", "blanks-vault", "blanks-header", "in-stream-long", "html-ok-long", "validate-long", "odd", "refusal", "called", "custom-header", "bearer-header", "url-query", "url-user", "own-fetch", "own-fetch-throws", "validate", "models", "validate-html", "vault", "removed", "option", "tool", "unknown", "chat", "chat-stream", "short-lived"];
    for (const name of names) keys[name] = marked(name);
    const of = (headers) => headers["x-api-key"] ?? headers["x-proxy-token"] ?? (headers.authorization ?? "").replace(/^Bearer /, "");
    const echo = (status, write, headers = { "content-type": "application/json" }) => (body, n, record) => plain(status, write(of(record.headers)), headers);
    const says = (type) => (key) => errorBody(type, `invalid key: ${key} (yours: "${key}")`);
    const routes = {
      ok: [() => message("All is well.")],
      auth: [echo(401, says("authentication_error"))],
      permission: [echo(403, says("permission_error"))],
      rate: [echo(429, says("rate_limit_error"))],
      server: [echo(500, says("api_error"))],
      html: [echo(502, (key) => `<html><head><title>Bad ${key}</title></head><body>${key}</body>`, { "content-type": "text/html" })],
      "html-ok": [echo(200, (key) => `<html><title>Log in ${key}</title>`, { "content-type": "text/html" })],
      // The key stands where the provider's words are cut.
      long: [echo(400, (key) => errorBody("invalid_request_error", `${"x".repeat(4096 - 20)}${key}`))],
      "long-text": [echo(400, (key) => `${"x".repeat(500 - 20)}${key}`, { "content-type": "text/plain" })],
      escaped: [echo(400, (key) => `{"error":{"message":"${[...key].map((s) => `\\u${s.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"}}`)],
      header: [(body, n, record) => plain(500, errorBody("api_error", "oops").replace("req_1", ""), { "content-type": "application/json", "request-id": `${"r".repeat(80)}${of(record.headers)}` })],
      "in-stream": [(body, n, record) => stream(message("Half").slice(0, 3), event({ type: "error", error: { type: "overloaded_error", message: `busy with ${of(record.headers)}` } }))],
      broken: [(body, n, record) => stream(message(`Your key is ${of(record.headers)} and`).slice(0, 6), drop)],
      "in-stream-long": [(body, n, record) => stream(event({ type: "error", error: { type: "invalid_request_error", message: `${"w".repeat(4096 - 20)}${of(record.headers)}` } }))],
      "html-ok-long": [echo(200, (key) => `<html><title>${"t".repeat(200 - 20)}${key}</title>`, { "content-type": "text/html" })],
      odd: [(body, n, record) => message("Well.", { model: `model of ${of(record.headers)}` })],
      refusal: [(body, n, record) => stream(event({ type: "message_start", message: { id: of(record.headers), type: "message", role: "assistant", model: "m", content: [], usage: { input_tokens: 1, output_tokens: 1 } } }),
        event({ type: "message_delta", delta: { stop_reason: "refusal", stop_details: { type: "refusal", explanation: `because of ${of(record.headers)}` } }, usage: { output_tokens: 5 } }), event({ type: "message_stop" }))],
      called: [(body, n, record) => message({ tool: `tool_${of(record.headers)}`, args: {}, id: of(record.headers) }), () => message("Done.")],
      garbage: [(body, n, record) => stream(message("Half").slice(0, 3), `event: x\ndata: {${of(record.headers)}\n\n`)],
      said: [(body, n, record) => message({ text: "", pieces: [...`Your key is ${of(record.headers)}, is it not?`] })],
      tool: [(body, n, record) => message({ tool: "echo", args: { text: of(record.headers) } }), () => message("Done.")],
      unknown: [(body, n, record) => message({ tool: `t-${Buffer.from(of(record.headers)).length}`, args: { [of(record.headers)]: 1 } }), () => message("Done.")],
      redirect: [(body, n, record) => plain(307, "", { location: `https://elsewhere.example/?k=${encodeURIComponent(of(record.headers))}` })],
      chat: [echo(401, (key) => JSON.stringify({ error: { message: `Incorrect API key provided: ${key}.`, code: "invalid_api_key" } }))],
      "chat-stream": [(body, n, record) => CHAT(`It is ${of(record.headers)}.`)],
      models: [echo(200, () => "{}")],
    };
    const bases = {};
    for (const [name, answers] of Object.entries(routes)) bases[name] = (await anything(t, ...answers)).base;
    const hold = gate();
    bases.hang = (await anything(t, () => hold.opened)).base;
    const down = await faulty(t);
    const page = await watched(t);
    t.allowError(/./); // what the page itself throws here is looked at with everything else

    const outcomes = await page.evaluate(async ([keys, bases, down]) => {
      const outcomes = {};
      const ws = (globalThis.opened.w = await lodger.openWorkspace("w"));
      ws.view().subscribe((snapshot) => globalThis.told.push(JSON.parse(JSON.stringify(snapshot))));
      ws.tools.register({ name: "echo", description: "Echoes.", inputSchema: { type: "object", properties: { text: { type: "string" } } }, execute: ({ text }, { onProgress }) => { onProgress({ text }); if (text.length > 5) throw new Error(`cannot say ${text}`); return text; } });
      await ws.startAgent({ permissions: { default: "allow" } });
      /** One conversation with a provider, however it ends. */
      const attempt = async (name, provider, during = () => {}) => {
        try {
          await ws.configureAgent({ provider });
          const run = await ws.sendMessage(`Hello, ${name}`);
          const drained = (async () => { for await (const piece of run.textStream) globalThis.told.push(piece); })().catch((error) => globalThis.told.push(error));
          await during(run);
          const result = await run.result;
          await drained;
          globalThis.told.push(result);
          outcomes[name] = result.error?.code ?? result.outcome;
        } catch (error) {
          globalThis.told.push(error);
          outcomes[name] = error.code;
        }
      };
      const tried = async (name, work) => {
        try { const value = await work(); globalThis.told.push(value); outcomes[name] = value?.error?.code ?? "ok"; } catch (error) { globalThis.told.push(error); outcomes[name] = error.code; }
      };
      const anthropic = (name, more) => T.anthropic(bases[name], { apiKey: keys[name], ...more });
      for (const name of ["ok", "auth", "permission", "rate", "server", "html", "html-ok", "long", "long-text", "escaped", "header", "in-stream", "broken", "garbage", "said", "tool", "unknown", "redirect", "in-stream-long", "html-ok-long", "odd", "refusal"]) await attempt(name, anthropic(name));
      await attempt("called", anthropic("called"));
      await attempt("blanks", T.anthropic(bases.auth, { apiKey: ` \t${keys.blanks} \n` }));
      await attempt("blanks-fn", T.anthropic(bases.auth, { apiKey: () => `${keys["blanks-fn"]}\r\n` }));
      await attempt("blanks-header", T.anthropic(bases.auth, { apiKey: undefined, headers: { "X-Proxy-Token": ` ${keys["blanks-header"]}\n` } }));
      await attempt("auth-fn", T.anthropic(bases.auth, { apiKey: async ({ refused }) => (refused ? keys["auth-fn"] : keys["short-lived"]) }));
      await attempt("hang", anthropic("hang"), () => ws.interrupt());
      await attempt("refused", T.anthropic("http://127.0.0.1:9", { apiKey: keys.refused }));
      for (const name of ["reset", "close", "cors"]) await attempt(name, T.anthropic(`${down}/${name}`, { apiKey: keys[name] }));
      await attempt("bad-answer", T.anthropic(`${down}/garbage`, { apiKey: keys["bad-answer"] }));
      await attempt("throwing", T.anthropic(bases.ok, { apiKey: () => { throw new Error("no token today"); } }));
      await attempt("line-break", T.anthropic(bases.ok, { apiKey: () => `${keys["line-break"]}\nx` }));
      await tried("line-break at once", () => ws.configureAgent({ provider: T.anthropic(bases.ok, { apiKey: `${keys["line-break"]}\nx` }) }));
      await attempt("custom-header", T.anthropic(bases.auth, { apiKey: undefined, headers: { "X-Proxy-Token": keys["custom-header"] } }));
      await attempt("bearer-header", T.anthropic(bases.auth, { apiKey: undefined, headers: { Authorization: `Bearer ${keys["bearer-header"]}` } }));
      await tried("url-query", () => ws.configureAgent({ provider: T.anthropic(`${bases.ok}?key=${encodeURIComponent(keys["url-query"])}`) }));
      await tried("url-user", () => ws.configureAgent({ provider: T.anthropic(`http://${encodeURIComponent(keys["url-user"])}:x@127.0.0.1:9`) }));
      await tried("option", () => ws.configureAgent({ provider: { kind: "anthropic", apiKey: keys.option, nonsense: keys.option } }));
      await tried("option of a wrong type", () => ws.configureAgent({ provider: { kind: "anthropic", apiKey: [keys.option] } }));
      await attempt("own-fetch", anthropic("auth", { apiKey: keys["own-fetch"], fetch: (url, init) => fetch(url, init) }));
      await attempt("own-fetch-throws", anthropic("auth", { apiKey: keys["own-fetch-throws"], fetch: (url, init) => { throw new TypeError(`cannot send ${JSON.stringify([...init.headers])}`); } }));
      await attempt("chat", { kind: "openai", model: "m", apiKey: keys.chat, baseUrl: bases.chat });
      await attempt("chat-stream", { kind: "openai-compatible", model: "m", apiKey: keys["chat-stream"], baseUrl: bases["chat-stream"] });
      for (const [name, at] of [["validate", "auth"], ["validate-html", "html-ok"], ["validate-long", "html-ok-long"], ["models", "models"]]) {
        const provider = T.anthropic(bases[at], { apiKey: keys[name] });
        await tried(`${name}, validate`, () => ws.keys.validate(provider));
        await tried(`${name}, models`, () => ws.keys.models(provider));
        await tried(`${name}, own fetch`, () => ws.keys.validate({ ...provider, fetch: (url, init) => { throw new Error(`no ${JSON.stringify(init.headers)}`); } }));
      }
      await tried("validate, redirect", () => ws.keys.validate(T.anthropic(bases.redirect, { apiKey: keys.validate })));
      await ws.keys.set("anthropic", keys["auth-vault"]);
      await attempt("auth-vault", { kind: "anthropic", baseUrl: bases.auth });
      await ws.keys.set("anthropic", ` ${keys["blanks-vault"]}\n`);
      await attempt("blanks-vault", { kind: "anthropic", baseUrl: bases.auth });
      await ws.keys.set("anthropic", keys.removed);
      await ws.keys.remove("anthropic");
      await ws.keys.set("anthropic", keys.vault);
      await attempt("vault", { kind: "anthropic", baseUrl: bases.said });
      await tried("a key that is none", () => ws.keys.set("openai", `${keys.option}\nx`));
      await tried("a name that is none", () => ws.keys.set("", keys.option));
      return outcomes;
    }, [keys, bases, down.base]);
    hold.open();

    // The paths were really taken.
    assert.deepEqual(outcomes, {
      ok: "completed", auth: "auth", permission: "permission", rate: "rate_limit", server: "server", html: "server", "html-ok": "protocol", long: "invalid_request", "long-text": "invalid_request", escaped: "invalid_request",
      header: "server", "in-stream": "overloaded", broken: "stream_broken", garbage: "protocol", said: "completed", tool: "completed", unknown: "completed", redirect: "protocol", "auth-fn": "auth", hang: "interrupted", refused: "network",
      reset: "network", close: "network", cors: "network", "bad-answer": "network", throwing: "network", "line-break": "invalid_config", "line-break at once": "invalid_config", "in-stream-long": "invalid_request", "html-ok-long": "protocol", odd: "completed", refusal: "refused", called: "completed",
      blanks: "auth", "blanks-fn": "auth", "blanks-header": "auth", "blanks-vault": "auth", "validate-long, validate": "protocol", "validate-long, models": "protocol", "validate-long, own fetch": "network", "custom-header": "auth", "bearer-header": "auth",
      "url-query": "invalid_config", "url-user": "invalid_config", option: "invalid_config", "option of a wrong type": "invalid_config", "own-fetch": "auth", "own-fetch-throws": "network", chat: "auth", "chat-stream": "completed",
      "validate, validate": "auth", "validate, models": "auth", "validate, own fetch": "network", "validate-html, validate": "protocol", "validate-html, models": "protocol", "validate-html, own fetch": "network",
      "models, validate": "protocol", "models, models": "protocol", "models, own fetch": "network", "validate, redirect": "protocol", "auth-vault": "auth", vault: "completed", "a key that is none": "invalid_arguments", "a name that is none": "invalid_arguments",
    });
    const places = await placesOf(page, ["w"]);
    for (const place of ["lodger:w, entries", "lodger:w, keys", "events", "told", "w: what it says"]) assert.match(places[place], place.endsWith("keys") ? /anthropic/ : /REDACTED/, `${place} says what came`);
    assert.match(places["lodger:w, vault"], /CryptoKey, extractable: false/);
    assert.deepEqual(search(keys, places), []);
    const size = Object.values(places).reduce((sum, text) => sum + text.length, 0);
    t.note(`${Object.keys(keys).length} keys in ${Object.keys(formsOf(keys.ok)).length} forms, ${Object.keys(outcomes).length} paths, ${Object.keys(places).length} places, ${Math.round(size / 1024)} KB`);
  }, { hangMs: 180_000 });
}
