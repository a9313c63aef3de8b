// What a session and a message have otherwise than the agent's configuration: what the model server sees of it, from any tab, with
// either host, over reloads. Requests tell, because nothing in the page can.
import assert from "node:assert/strict";
import { follows, onBothHosts, open, openIn } from "../lib/tabs.mjs";
import { message } from "../servers/sse.mjs";

export default function (test) {
  onBothHosts(test, cases);
}

const TOOLS = `for (const name of ["look", "buy"]) ws.tools.register({ name, description: name, inputSchema: { type: "object" }, execute: () => "done" });`;

/** What a request says besides its conversation. */
const of = ({ json }) => [json.model, json.system?.[0]?.text?.split(".")[0] ?? json.system?.split?.(".")[0], json.temperature, (json.tools ?? []).map(({ name }) => name).sort()];

function cases(on) {
  on("a message counts before its session, and that before the configuration", async (t, host) => {
    const route = await t.raw(...Array.from({ length: 9 }, () => message("Fine.")));
    const at = (model) => ({ kind: "anthropic", apiKey: "sk-test", baseUrl: route.base, model });
    const config = { provider: at("model-a"), providers: { spare: at("model-s") }, instructions: "General.", temperature: 0.25 };
    const begin = async (page) => {
      await page.evaluate(TOOLS);
      await page.evaluate((config) => ws.startAgent(config), config);
    };
    const a = await open(t, host, { pageTools: false });
    await begin(a);
    const b = await open(t, host, { pageTools: false });
    await follows(b);
    const launched = await b.evaluate(async () => T.plain(await ws.sessions.launch({ id: "own", model: "model-b", temperature: 0.5, tools: ["look"] })));
    assert.deepEqual([launched.config, launched.model_id], [{ model: "model-b", temperature: 0.5, tools: ["look"] }, "model-b"]);
    const say = (page, options) => page.evaluate(async (options) => (await (await ws.sendMessage("Hello.", { sessionId: "own", ...options })).result).outcome, options);
    for (const [page, options, expected] of [
      [a, {}, ["model-b", "General", 0.5, ["look"]]],
      [b, { model: "model-c", instructions: "Short.", tools: ["buy"] }, ["model-c", "Short", 0.5, ["buy"]]],
      [b, { provider: "spare", tools: [] }, ["model-s", "General", 0.5, []]],
      [a, { sessionId: "default" }, ["model-a", "General", 0.25, ["buy", "look"]]],
    ]) {
      assert.equal(await say(page, options), "completed");
      assert.deepEqual(of(route.requests.at(-1)), expected, JSON.stringify(options));
    }
    const state = await b.evaluate(async () => T.plain(await ws.sessions.configure("own", { provider: "spare", instructions: "Terse.", tools: null })));
    assert.deepEqual(state.config, { provider: "spare", instructions: "Terse.", temperature: 0.5 });
    await b.close();
    await a.reload();
    await t.ready(a);
    await openIn(a, host, { pageTools: false });
    await begin(a);
    const listed = await a.evaluate(async () => T.plain((await ws.sessions.list()).find(({ id }) => id === "own")));
    assert.deepEqual([listed.config, listed.answered_by], [state.config, { provider: "spare", model: "model-s" }]);
    await say(a, {});
    assert.deepEqual(of(route.requests.at(-1)), ["model-s", "Terse", 0.5, ["buy", "look"]]);
    // An answer made anew has what its message had, but for what is said now.
    await a.evaluate(async () => void (await (await ws.regenerate(undefined, { sessionId: "own", model: "model-r" })).result));
    assert.deepEqual(of(route.requests.at(-1)), ["model-r", "Terse", 0.5, ["buy", "look"]]);
    const refused = await a.evaluate(async () => {
      const code = (promise) => promise.then(() => null, ({ code, message, hint }) => [code, message, hint]);
      return [await code(ws.sendMessage("x", { tools: ["lok"] })), await code(ws.sessions.configure("own", { provider: "none" })), await code(ws.sendMessage("x", { temprature: 1 })), await code(ws.sessions.configure("own", { maxTurns: 3 }))];
    });
    assert.deepEqual(refused.map(([code]) => code), ["invalid_config", "invalid_config", "invalid_config", "invalid_arguments"]);
    assert.match(refused[0][2], /the tools are look, buy/);
    assert.match(refused[2][2], /Write "temperature"/);
    assert.match(refused[3][2], /^It is a member of startAgent's configuration: maxTurns\.$/);
  });

  on("reasoning, the longest answer and a provider's own options: by session, by message, over a reload, in a replay", async (t, host) => {
    const route = await t.raw(...Array.from({ length: 6 }, () => message("Fine.")));
    const config = { provider: { kind: "anthropic", apiKey: "sk-test", baseUrl: route.base, model: "claude-sonnet-4-5" }, maxOutputTokens: 9000, reasoning: "off", providerOptions: { metadata: { user_id: "all" } } };
    const a = await open(t, host, { pageTools: false });
    await a.evaluate((config) => ws.startAgent(config), config);
    const say = (options) => a.evaluate(async (options) => (await (await ws.sendMessage("Hello.", { sessionId: "own", ...options })).result).outcome, options);
    const sent = () => { const { max_tokens, thinking, metadata } = route.requests.at(-1).json; return [max_tokens, thinking?.budget_tokens ?? null, metadata?.user_id ?? null]; };
    const own = { reasoning: "low", maxOutputTokens: 8000, providerOptions: { metadata: { user_id: "session" } } };
    const launched = await a.evaluate(async (own) => T.plain((await ws.sessions.launch({ id: "own", ...own })).config), own);
    assert.deepEqual(launched, own);
    const seen = [];
    for (const [options, why] of [[{}, "session"], [{ reasoning: "medium", maxOutputTokens: 30000, providerOptions: { metadata: { user_id: "message" } } }, "message"], [{ reasoning: "off" }, "off"], [{ reasoning: null, maxOutputTokens: null, providerOptions: null }, "null"]]) {
      assert.equal(await say(options), "completed");
      seen.push([why, ...sent()]);
    }
    await a.reload();
    await t.ready(a);
    await openIn(a, host, { pageTools: false });
    await a.evaluate((config) => ws.startAgent(config), config);
    await say({});
    seen.push(["reload", ...sent()]);
    assert.deepEqual(seen, [
      ["session", 8000, 2048, "session"], ["message", 30000, 8192, "message"], ["off", 8000, null, "session"],
      // `null` is what the configuration has.
      ["null", 9000, null, "all"], ["reload", 8000, 2048, "session"],
    ]);
    const replayed = await a.evaluate(async () => T.plain(await ws.sessions.replay(await ws.sessions.export("own"))));
    assert.equal(replayed.same, true, JSON.stringify(replayed));
    assert.deepEqual(route.violations, []);
  });
}
