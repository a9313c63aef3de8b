// The machine between tabs: single cases by name, and every law over schedules at random (`tabs.model.js`).
// `LODGER_CAMPAIGN=1` plays a million of them, `LODGER_QUICK=1` a hundredth, else a tenth; `LODGER_SEED=n` plays one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Tabs } from "../tabs/tabs.js";
import { schedule } from "./tabs.model.js";

const SCHEDULES = process.env.LODGER_CAMPAIGN === "1" ? 1_000_000 : process.env.LODGER_QUICK === "1" ? 10_000 : 100_000;

test(`no law is broken, whatever is late, lost or said twice, and any tab that crashes, sleeps or takes over: ${SCHEDULES} schedules`, () => {
  const seen = { epochs: 0, written: 0, followers: 0, gone: 0 };
  const only = process.env.LODGER_SEED;
  for (let seed = Number(only ?? 0), end = only === undefined ? SCHEDULES : seed + 1; seed < end; seed++) {
    const world = schedule(seed);
    seen.epochs += world.disk.epoch;
    seen.written += world.disk.log.length;
    seen.followers += world.living.filter(({ heard, host }) => heard?.epoch && !host.epoch).length;
    seen.gone += world.tabs.length - world.living.length;
  }
  // A campaign in which something never happens proves nothing of it.
  for (const [what, times] of Object.entries(seen)) assert.ok(only !== undefined || times > SCHEDULES / 10, `${what}: ${times}`);
});

/** A tab alone, with what it did on record. */
function alone() {
  const did = [];
  const timers = [];
  const locks = new Map();
  const say = (kind) => (message) => did.push([kind, message]);
  let alive;
  const tabs = new Tabs({
    id: "me", workspace: "w", post: say("post"), host: say("host"), deliver: say("deliver"),
    after: (ms, then) => (timers.push(Object.assign(then, { ms })), () => timers.includes(then) && timers.splice(timers.indexOf(then), 1)), soon: (then) => then(), now: () => 0,
    alive: (then) => (alive = then), gone: (epoch, then) => locks.set(epoch, then), watch() {},
  });
  const take = (kind) => did.splice(0).filter(([of]) => of === kind).map(([, message]) => message);
  return { tabs, take, timers, settle: (epoch = 0) => alive(epoch) };
}
const EVER = ["who", "holds", "freed", "yield"];
const words = (from, more) => ({ ...(EVER.includes(more.t) ? { v: 1, speaks: 5 } : { v: 5 }), from, epoch: 1, ...more });
const status = { t: "status", json: "Running" };

test("what is not ours, forged or of another version changes nothing", () => {
  const { tabs, take, settle } = alone();
  settle();
  take();
  const odd = [undefined, null, "x", 5, [], {}, { v: 1 }, { v: 1, from: 5 }, { v: 5, from: "a", t: "holds", epoch: 1 }, { v: 1, speaks: "5", from: "a", t: "holds", epoch: 1 }, { v: 1, from: "me", t: "holds", epoch: 9 }, { v: 1, from: "a", t: "join", epoch: 1, low: 1, tools: [] },
    words("a", { t: "says", n: 1, list: [], epoch: undefined }), words("a", { t: "says", n: 1, list: 5 }), words("a", { t: "says", n: 1, list: [null] }), words("a", { t: "join" }), words("a", { t: "command", id: 1, name: "stopAgent" }), words("a", { t: "answers" }), words("a", { t: "nothing" }),
    ...[undefined, 7, [null], [7]].map((mirror) => words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror }]] })), words("a", { t: "freed", stopped: true })];
  for (const message of odd) tabs.fromTab(message);
  tabs.fromClient({ t: "command", id: 1, name: "history", args: {} });
  assert.deepEqual(take("host"), [{ t: "command", id: 1, name: "history", args: {} }]);
});

test("what a host has found at its opening is told, also while another tab holds the agent", () => {
  const { tabs, take, settle } = alone();
  settle();
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 7, list: [["me", { t: "joined", mirror: [status] }]] }));
  take("deliver");
  const lost = { t: "lost", json: "{}" };
  tabs.fromHost(lost);
  assert.deepEqual(take("deliver"), [lost]);
});

test("a command waits until it is known who holds; that of a tab itself does not", () => {
  const { tabs, take, settle } = alone();
  tabs.fromClient({ t: "command", id: 1, name: "history", args: {} });
  tabs.fromClient({ t: "command", id: 2, name: "pages.tree", args: {} });
  assert.deepEqual(take("host").map(({ name }) => name), ["pages.tree"]);
  settle();
  assert.deepEqual(take("host").map(({ name }) => name), ["history"]);
});

test("who follows hears the holder alone, and is answered by it; a word that was missed is asked for", () => {
  const { tabs, take, settle } = alone();
  settle();
  tabs.fromTab(words("a", { t: "holds" }));
  assert.deepEqual(take("post").map(({ t }) => t), ["who", "join"]);
  tabs.fromTab(words("a", { t: "says", n: 7, list: [[null, { t: "status", json: "early" }], ["me", { t: "joined", mirror: [status] }]] }));
  tabs.fromHost({ t: "status", json: "Stopped" });
  assert.deepEqual(take("deliver"), [status, { t: "again" }]);
  tabs.fromClient({ t: "command", id: 4, name: "interrupt", args: {} });
  const [sent] = take("post");
  assert.deepEqual([sent.t, sent.id, sent.name, sent.low, sent.operator], ["command", 1, "interrupt", 1, { subject: "local" }]);
  tabs.fromTab(words("b", { t: "says", n: 8, list: [[null, { t: "status", json: "forged" }]] }));
  tabs.fromTab(words("a", { t: "says", n: 8, list: [["b", { t: "reply", id: 1 }], ["me", { t: "reply", id: 1 }]] }));
  assert.deepEqual(take("deliver"), [{ t: "reply", id: 4 }]);
  tabs.fromTab(words("a", { t: "says", n: 10, list: [[null, { t: "status", json: "late" }]] }));
  assert.deepEqual(take("post").map(({ t }) => t), ["join"]);
});

test("a command that the holder may have done is done again only where that is right", () => {
  const { tabs, take, settle, timers } = alone();
  settle();
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [] }]] }));
  for (const [id, name] of [[1, "history"], [2, "sessions.launch"], [3, "sendMessage"]]) tabs.fromClient({ t: "command", id, name, args: {} });
  take();
  tabs.fromTab(words("a", { t: "freed" }));
  for (const then of timers.splice(0)) then();
  settle();
  const seen = take("host");
  assert.deepEqual(seen.map(({ name }) => name), ["history", "sendMessage"]);
  assert.match(seen[1].args.idempotencyKey, /^me:/);
  tabs.fromHost({ t: "reply", id: 3, error: { code: "not_running" } });
  assert.equal(take("deliver").find(({ id }) => id === 3).error.code, "ownership_lost", "whether it was done, nobody knows");
});

test("a standby leaves the agent to the tab that has asked for it; where that one takes nothing, it goes on itself", () => {
  for (const asked of [false, true]) {
    const { tabs, take, settle, timers } = alone();
    tabs.fromTab(words("a", { t: "holds" }));
    tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [] }]] }));
    tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: { ifRunning: "join" } });
    tabs.fromHost({ t: "reply", id: 1, error: { code: "already_running" } });
    settle(1);
    if (asked) tabs.fromTab(words("b", { t: "yield" }));
    take();
    timers.splice(0);
    tabs.fromTab(words("a", { t: "freed" }));
    const standsIn = () => take("host").some(({ name }) => name === "standIn");
    assert.equal(standsIn(), !asked);
    if (!asked) continue;
    for (const then of timers.splice(0)) then();
    settle();
    assert.equal(standsIn(), true);
  }
});

test("a tab does not go on by itself where its own agent has failed, and does after any other end", () => {
  for (const [lifecycle, goesOn] of [['"Stopped"', true], ['{"Error":"no room"}', false]]) {
    const { tabs, take, settle, timers } = alone();
    settle();
    tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: {} });
    tabs.fromHost({ t: "holder", epoch: 1 });
    tabs.fromHost({ t: "reply", id: 1 });
    settle(1);
    timers.splice(0);
    tabs.fromHost({ t: "holder" });
    tabs.fromHost({ t: "status", json: `{"lifecycle":${lifecycle},"is_streaming":false}` });
    take();
    for (const then of timers.splice(0)) then();
    settle();
    assert.equal(take("host").some(({ name }) => name === "standIn"), goesOn, lifecycle);
    // A person starts it again.
    tabs.fromClient({ t: "command", id: 2, name: "startAgent", args: {} });
    assert.deepEqual(take("host").map(({ name, id }) => [name, id]), [["startAgent", 2]]);
  }
});

test("what is told of a session is told to all tabs where no agent runs, and only there", () => {
  const event = { t: "event", type: "agent:session-changed", json: '{"workspace":"w","sessionId":"a","change":"renamed"}' };
  const changed = words("a", { t: "changed", sessionId: "a", change: "renamed" });
  const { tabs, take, settle } = alone();
  settle();
  take();
  tabs.fromHost(event);
  const [said] = take("post");
  assert.deepEqual([said.t, said.sessionId, said.change, said.from], ["changed", "a", "renamed", "me"]);
  for (const odd of [{ ...changed, sessionId: 5 }, { ...changed, change: undefined }, { ...changed, v: 1 }, { ...changed, from: "me" }]) tabs.fromTab(odd);
  assert.deepEqual(take("deliver"), []);
  tabs.fromTab({ ...changed, epoch: 0 });
  assert.deepEqual(take("deliver"), [event]);
  tabs.fromTab(words("b", { t: "holds" }));
  take();
  tabs.fromTab(changed);
  tabs.fromHost(event);
  assert.deepEqual([take("deliver").length, take("post").length], [1, 0], "another tab has it, and tells");
});

test("a standby that lacks a part says so once, and tries again until there is a holder", () => {
  const { tabs, take, settle, timers } = alone();
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [] }]] }));
  tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: { ifRunning: "join" } });
  tabs.fromHost({ t: "reply", id: 1, error: { code: "already_running" } });
  settle(1);
  take();
  tabs.fromTab(words("a", { t: "freed" }));
  const offline = { code: "wasm_unavailable", message: "offline", retryable: true };
  const told = [];
  for (let n = 1; n <= 3; n++) {
    const [{ name, id }] = take("host");
    assert.equal(name, "standIn");
    timers.splice(0);
    tabs.fromHost({ t: "reply", id, error: offline });
    told.push(...take("deliver").filter(({ type }) => type === "agent:error"));
    const [again] = timers.splice(0);
    assert.equal(again.ms, 10_000);
    again();
    settle();
  }
  assert.deepEqual(told.map(({ json }) => JSON.parse(json)), [{ workspace: "w", ...offline }]);
  assert.equal(take("host")[0].name, "standIn");
});

test("what was changed goes on with the agent, but no function and no provider; null is the default again", () => {
  const { tabs, take, settle } = alone();
  const standIn = () => take("host").find(({ name }) => name === "standIn")?.args.config;
  settle();
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [{ t: "changes", changes: { instructions: "Changed.", maxTurns: null } }] }]] }));
  tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: { ifRunning: "join", instructions: "Mine.", maxTurns: 5, model: "m", temperature: 1 } });
  tabs.fromHost({ t: "reply", id: 1, error: { code: "already_running" } });
  settle(1);
  assert.equal(take("deliver").some(({ t }) => t === "changes"), false, "the client has nothing to do with it");
  tabs.fromTab(words("a", { t: "freed" }));
  assert.deepEqual(standIn(), { ifRunning: "join", instructions: "Changed.", model: "m", temperature: 1 });
  tabs.fromHost({ t: "holder", epoch: 2 });
  tabs.fromHost({ t: "reply", id: 2 ** 29 + 1 });
  take();
  const told = (patch) => {
    tabs.fromClient({ t: "command", id: (told.id = (told.id ?? 10) + 1), name: "configureAgent", args: patch });
    tabs.fromHost({ t: "reply", id: told.id });
    tabs.fromTab({ v: 5, from: "b", epoch: 2, t: "join", low: 1, tools: [] });
    const said = take("post").filter(({ t }) => t === "says").at(-1);
    return said.list.find(([, { t }]) => t === "joined")[1].mirror.find(({ t }) => t === "changes").changes;
  };
  assert.deepEqual(told({ model: "n", maxTurns: 7 }), { instructions: "Changed.", model: "n", maxTurns: 7 });
  assert.deepEqual(told({ instructions: { $fn: 3 }, skills: [{ name: '"$fn"' }] }), { model: "n", maxTurns: 7, skills: [{ name: '"$fn"' }] });
  assert.deepEqual(told({ provider: { kind: "anthropic", apiKey: "k" }, temperature: 0 }), { maxTurns: 7, skills: [{ name: '"$fn"' }], temperature: 0 });
  assert.deepEqual(told({ model: "of that provider", maxTurns: 8 }), { maxTurns: 8, skills: [{ name: '"$fn"' }], temperature: 0 });
});

/** A tab that follows another one, `a`. */
function follower() {
  const tab = alone();
  tab.settle();
  tab.tabs.fromTab(words("a", { t: "holds" }));
  tab.tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [status] }]] }));
  tab.take();
  let n = 1;
  return { ...tab, says: (message) => tab.tabs.fromTab(words("a", { t: "says", n: ++n, list: [["me", message]] })) };
}

test("a key is kept by the tab that was given it; another that has the agent hears its name, and the page when it has looked", () => {
  for (const [name, args] of [["keys.set", { provider: "anthropic", key: "sk-secret" }], ["keys.remove", { provider: "anthropic" }]]) {
    for (const answer of [{}, { error: { code: "unknown_command" } }]) {
      const { tabs, take, says } = follower();
      tabs.fromClient({ t: "command", id: 1, name, args });
      assert.deepEqual(take("host"), [{ t: "command", id: 1, name, args }]);
      tabs.fromHost({ t: "reply", id: 1 });
      const posted = [];
      const did = take("post");
      posted.push(...did);
      assert.equal(JSON.stringify(posted).includes("secret"), false);
      const [{ t, id, name: told, args: what }] = posted;
      assert.deepEqual([posted.length, t, told, what], [1, "command", "keys.look", { provider: "anthropic" }]);
      says({ t: "ack", id });
      assert.deepEqual(take("deliver"), [], "it is not done before the agent knows it");
      says({ t: "reply", id, ...answer });
      assert.deepEqual(take("deliver"), [{ t: "reply", id: 1 }]);
    }
  }
});

test("a key that is not kept is not told of, and where no other tab has the agent nobody is", () => {
  const { tabs, take } = follower();
  const error = { code: "insecure_context" };
  tabs.fromClient({ t: "command", id: 1, name: "keys.set", args: { provider: "anthropic", key: "sk-secret" } });
  take();
  tabs.fromHost({ t: "reply", id: 1, error });
  assert.deepEqual(take("deliver"), [{ t: "reply", id: 1, error }]);
  const other = alone();
  other.settle();
  other.take();
  other.tabs.fromClient({ t: "command", id: 1, name: "keys.set", args: { provider: "anthropic", key: "sk-secret" } });
  other.tabs.fromHost({ t: "reply", id: 1 });
  assert.deepEqual(other.take("deliver"), [{ t: "reply", id: 1 }]);
  // A holder that dies meanwhile takes nothing along: the next one reads the vault.
  const third = follower();
  third.tabs.fromClient({ t: "command", id: 1, name: "keys.set", args: { provider: "anthropic", key: "sk-secret" } });
  third.tabs.fromHost({ t: "reply", id: 1 });
  third.tabs.fromTab(words("a", { t: "freed", stopped: true }));
  third.settle();
  assert.deepEqual(third.take("deliver").filter(({ id }) => id === 1), [{ t: "reply", id: 1 }]);
});

/** Parts of a path that may be a key. The id of an account looks like one. */
const SECRET_PATHS = [
  "sk-proj-3xaVsecret0Lm9ZqT7bWc", "v2/aBcDsecret1234567890", "secret/9f86d081884c7d659a2feaa0c55ad015/ai/v1", "bot123456789:AAHsecret_dkQx4-9TzLm2b", "secret%2Fx9f3b7k2m5/v1", "eyJhbGciOiJIUzI1NiJ9.secretIn0.x7Kq2Lm9Zt4",
  "secret\\9f86d081884c7d659a2f", "secret/7b1e6f0a-52c4-4d19-8c3e-0a9f4d2b6e71/v1",
];
/** Addresses as providers, clouds and proxies have them. */
const OPEN_ADDRESSES = [
  "https://generativelanguage.googleapis.com/v1beta/openai/", "https://openrouter.ai/api/v1", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "https://api.z.ai/api/paas/v4", "https://api.fireworks.ai/inference/v1",
  "https://mine.openai.azure.com/openai/deployments/gpt-4o-mini-2024-07-18", "https://mine.openai.azure.com/openai/deployments/Team-A_gpt-35-turbo-instruct", "https://eu-aiplatform.googleapis.com/v1/projects/gen-lang-client-0123456789/locations/us-central1/endpoints/openapi",
  "https://bedrock-runtime.us-east-1.amazonaws.com/model/claude-3-5-sonnet-20241022-v2", "https://a1b2c3d4e5f6g7h8i9j0k.execute-api.us-east-1.amazonaws.com/prod", "http://localhost:11434/v1", "/a/proxy/of/our-own-very-long-name",
];

test("what has the key of a provider, or is given it, stays in its tab", () => {
  const kind = { kind: "anthropic" };
  for (const [args, refused] of [
    [{ provider: { ...kind, apiKey: "sk-secret" } }, true], [{ provider: { ...kind, apiKey: { $fn: 1 } } }, true], [{ provider: { ...kind, headers: { "x-key": "secret" } } }, true],
    [{ provider: { ...kind, fetch: { $fn: 1 } } }, true], [{ providers: { spare: { ...kind, apiKey: "sk-secret" } } }, true],
    [{ provider: { ...kind, model: "m" }, providers: { spare: kind } }, false], [{ provider: { ...kind, apikey: "sk-secret" } }, true],
    [{ provider: { ...kind, baseUrl: "https://a.example/v1?key=secret" } }, true], [{ provider: { ...kind, baseUrl: "https://me:secret@a.example" } }, true],
    ...SECRET_PATHS.map((path) => [{ provider: { ...kind, baseUrl: `https://a.example/${path}` } }, true]), [{ providers: { spare: { ...kind, baseUrl: `https://a.example/${SECRET_PATHS[0]}/v1` } } }, true],
    ...OPEN_ADDRESSES.map((baseUrl) => [{ provider: { ...kind, baseUrl } }, false]),
    [{ providerOptions: { mcp_servers: [{ type: "url", url: "https://mcp.example/sse", authorization_token: "sk-secret-9f86d081884c7d659a2feaa0" }] } }, true], [{ providerOptions: { tools: [{ headers: { Authorization: "Bearer secret9f86d081" } }] } }, true],
    [{ providerOptions: { tools: [{ server: { apiKey: "secret" } }] } }, true], [{ apiKey: "secret" }, true], [{ fallback: [{ kind: "openai", apiKey: "secret" }] }, true], [{ skills: [{ name: "a", apiKey: "secret" }] }, true], [{ retry: { apiKey: "secret" } }, true],
    [{ keys: { openai: "secret" } }, true], [{ permissions: { headers: { authorization: "secret" } } }, true], [{ budget: { key: "secret" } }, true], [{ permissions: { tools: { get_token: "secret" } } }, true], [{ fallback: ["token"], budgets: { run: { inputTokens: 5 } }, instructions: "Keep the token.", skills: [{ name: "keys", description: "d", template: "t" }] }, false], [{ models: { mine: { apiKey: "secret" } } }, true],
    [{ provider: { ...kind, auth: "sk-secret9f86d081884c7d" } }, true], [{ provider: { ...kind, timeouts: { apiKey: "secret" } } }, true], [{ provider: { ...kind, preset: "sk-secret9f86d081884c7d" } }, true],
    [{ provider: { kind: "openai-compatible", preset: "groq", model: "openai/gpt-oss-120b:free-20251101", auth: "bearer" }, models: { "openai/gpt-oss-120b": { output: 5 } }, permissions: { tools: { get_token: "ask" } } }, false],
    [{ providerOptions: { service_tier: "standard_only", prompt_cache_key: "shop", max_tokens: 5, thinking: { type: "adaptive" }, top_k: 5, stop: null } }, false],
    [{ provider: { ...kind, baseUrl: "https://a.example/v1", timeouts: {} } }, false], [{ provider: { ...kind, apiKey: null } }, false], [{ provider: { kind: "custom", stream: { $fn: 1 } } }, false], [{ provider: null, providers: null }, false], [{ providers: 5, instructions: { $fn: 2 } }, false],
  ]) {
    const { tabs, take } = follower();
    tabs.fromClient({ t: "command", id: 1, name: "configureAgent", args });
    const did = { post: [], deliver: [] };
    for (const message of take(refused ? "deliver" : "post")) did[refused ? "deliver" : "post"].push(message);
    if (!refused) assert.deepEqual(did.post.map(({ name, args }) => [name, args]), [["configureAgent", args]]);
    else assert.deepEqual(did.deliver.map(({ id, error }) => [id, error.code, /keys\.set/.test(error.hint)]), [[1, "invalid_config", true]], JSON.stringify(args));
    assert.equal(JSON.stringify(take("post")).includes("secret"), false);
  }
  // Before it is known who has the agent it is not sent either.
  const { tabs, take, settle } = alone();
  tabs.fromClient({ t: "command", id: 1, name: "configureAgent", args: { provider: { ...kind, apiKey: "sk-secret" } } });
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [status] }]] }));
  settle(1);
  assert.deepEqual(take("deliver").filter(({ t }) => t === "reply").map(({ error }) => error.code), ["invalid_config"]);
});

test("no command of a following tab posts a key: what the holder would refuse is refused before", () => {
  const own = { kind: "anthropic", apiKey: "sk-secret" };
  const commands = [
    ["sendMessage", { text: "hi" }], ["regenerate", {}], ["sessions.launch", { id: "a" }], ["sessions.prompt", { id: "a", text: "hi" }], ["sessions.runOnce", { text: "hi" }],
    ["sessions.configure", { id: "a" }, true], ["sessions.fork", { id: "a" }], ["history", {}], ["compact", {}], ["resume", {}],
  ];
  const options = [
    { provider: own }, { provider: { kind: "anthropic" } }, { provider: [own] }, { providers: { spare: own } }, { models: { mine: { apiKey: "sk-secret" } } }, { fallback: [own] }, { apiKey: "sk-secret" }, { headers: { a: "secret" } },
    { provider: "main", headers: { authorization: "secret" } }, { providerOptions: { api_key: "secret" } }, { serverTools: [{ authorization_token: "secret" }] }, { any: { deep: [{ apiKey: "secret" }] } },
  ];
  const open = { provider: "main", model: "m", instructions: "Keep the token.", temperature: 0, providerOptions: { service_tier: "auto" }, maxOutputTokens: 5 };
  for (const [name, args, inConfig] of commands) {
    for (const more of [...options, open]) {
      const { tabs, take } = follower();
      const whole = inConfig ? { ...args, config: more } : { ...args, ...more };
      tabs.fromClient({ t: "command", id: 1, name, args: whole });
      const why = `${name} ${JSON.stringify(whole)}`;
      if (more === open) {
        assert.deepEqual(take("post").map(({ name }) => name), [name], why);
      } else {
        assert.deepEqual(take("deliver").map(({ error }) => error?.code), ["invalid_config"], why);
        assert.deepEqual(take("post"), [], why);
      }
    }
  }
  // What an app says in its own words is none of that.
  for (const [name, args] of [
    ["tools.execute", { name: "log_in", args: { password: "p", headers: { a: "b" } } }], ["tools.resolve", { toolCallId: "t", answer: { token: "t" } }], ["sessions.launch", { messages: [{ role: "user", content: [{ token: "t" }] }] }],
    ["sendMessage", { text: "hi", metadata: { token: "t" }, schema: { properties: { api_key: { type: "string" } } } }],
  ]) {
    const { tabs, take } = follower();
    tabs.fromClient({ t: "command", id: 1, name, args });
    assert.deepEqual(take("post").map(({ name }) => name), [name]);
  }
});

test("a tab that looks on, whose own host has never spoken, is told that the agent is stopped once the holder is gone", () => {
  const { tabs, take, settle, timers } = alone();
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [status, { t: "tools", json: '["theirs"]' }] }]] }));
  take();
  tabs.fromTab(words("a", { t: "freed" }));
  for (const then of timers.splice(0)) then();
  settle();
  const told = new Map(take("deliver").map((message) => [message.t, message.json]));
  assert.deepEqual(JSON.parse(told.get("status")), { lifecycle: "Stopped", is_streaming: false });
  assert.equal(told.get("tools"), "[]");
});

test("a wait ends in its time, also where the holder says nothing; what is no time is the holder's to refuse", () => {
  const { tabs, take, settle, timers } = alone();
  settle();
  tabs.fromTab(words("a", { t: "holds" }));
  tabs.fromTab(words("a", { t: "says", n: 1, list: [["me", { t: "joined", mirror: [] }]] }));
  timers.splice(0);
  const wait = (id, args) => tabs.fromClient({ t: "command", id, name: "wait", args: { runId: "r", ...args } });
  const added = (ms) => timers.filter((then) => then.ms === ms);
  [{ timeoutMs: 70 }, {}, { timeoutMs: 2 ** 40 }, { timeoutMs: -1 }, { timeoutMs: 5_000 }].forEach((args, n) => wait(n + 1, args));
  tabs.fromTab(words("a", { t: "says", n: 2, list: [["me", { t: "ack", id: 1 }]] }));
  assert.deepEqual(timers.map(({ ms }) => ms), [1_070, 1_000, 31_000, 2 ** 31 - 1, 6_000], "one is for what has not come");
  take();
  added(1_070)[0]();
  assert.deepEqual(take("deliver"), [{ t: "reply", id: 1, json: '{"runId":"r","status":"timeout"}' }]);
  tabs.fromTab(words("a", { t: "says", n: 3, list: [["me", { t: "reply", id: 1, json: "{}" }], ["me", { t: "reply", id: 5, json: "{}" }]] }));
  assert.deepEqual([take("deliver"), added(6_000)], [[{ t: "reply", id: 5, json: "{}" }], []], "each is answered once, and then no timer is left of it");
});

const NEWER_TOLD = { code: "newer_version", retryable: false };
const told = ({ code, retryable }) => ({ code, retryable });

test("a tab of the first version, which knows of no other, is told that the holder is newer, at each thing that it asks", () => {
  const { tabs, take, settle } = alone();
  settle();
  tabs.fromHost({ t: "holder", epoch: 1 });
  take();
  const older = (more) => tabs.fromTab({ v: 1, from: "old", epoch: 1, ...more });
  older({ t: "who", epoch: undefined });
  assert.deepEqual(take("post"), [{ v: 1, speaks: 5, from: "me", epoch: 1, t: "holds" }], "in words of all versions");
  older({ t: "join", low: 1, tools: [{ name: "look" }] });
  older({ t: "command", id: 1, low: 1, name: "sendMessage", args: { text: "hello" }, until: 1 });
  const said = take("post").filter(({ t }) => t === "says").map(({ v, t, n, list }) => [v, t, n, list]);
  const event = said[0][3][1];
  assert.deepEqual(said[0].slice(0, 3), [1, "says", 1]);
  assert.deepEqual(said[0][3][0], ["old", { t: "joined", mirror: [] }]);
  assert.equal(event[1].type, "agent:error");
  assert.deepEqual(told(JSON.parse(event[1].json)), NEWER_TOLD);
  assert.deepEqual(said[1].slice(0, 3), [1, "says", 2], "one by one, as that version counts");
  assert.deepEqual([said[1][3][0][0], told(said[1][3][0][1].error)], ["old", NEWER_TOLD]);
  assert.deepEqual(take("host"), [], "nothing of it reaches the host");
  older({ t: "join", epoch: 9, low: 1, tools: [] });
  assert.deepEqual(take("post"), [], "another epoch is not ours to speak for");
});

test("where a newer version holds the agent, each command that it would get is told so, and the page once", () => {
  const { tabs, take, settle } = alone();
  settle();
  tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: { ifRunning: "join" } });
  tabs.fromHost({ t: "reply", id: 1, error: { code: "already_running" } });
  take();
  for (let n = 0; n < 2; n++) {
    tabs.fromTab({ v: 1, speaks: 6, from: "a", epoch: 1, t: "holds" });
    settle(1);
  }
  const events = take("deliver").filter(({ t, type }) => t === "event" && type === "agent:error");
  assert.deepEqual(events.map(({ json }) => told(JSON.parse(json))), [NEWER_TOLD]);
  tabs.fromTab({ v: 4, from: "a", epoch: 1, t: "says", n: 1, list: [["me", { t: "joined", mirror: [] }]] });
  tabs.fromClient({ t: "command", id: 2, name: "sendMessage", args: { text: "hello" } });
  tabs.fromClient({ t: "command", id: 3, name: "history", args: {} });
  tabs.fromClient({ t: "command", id: 4, name: "pages.tree", args: {} });
  const replies = take("deliver");
  assert.deepEqual(replies.map(({ id, error }) => [id, told(error)]), [[2, NEWER_TOLD], [3, NEWER_TOLD]]);
});

test("a take-over in front of a newer version is refused, and nobody is asked to let go or robbed", () => {
  const { tabs, take, settle } = alone();
  settle();
  tabs.fromTab({ v: 1, speaks: 6, from: "a", epoch: 1, t: "holds" });
  settle(1);
  take();
  tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: { ifRunning: "takeover" } });
  assert.deepEqual(take("deliver").map(({ id, error }) => [id, told(error)]), [[1, NEWER_TOLD]]);
  assert.deepEqual([take("host"), take("post").filter(({ t }) => t === "yield")], [[], []]);
});

/** A tab that has joined, in front of a holder of an older version. */
function behindOlder() {
  const tab = alone();
  const { tabs, take, settle } = tab;
  settle();
  tabs.fromClient({ t: "command", id: 1, name: "startAgent", args: { ifRunning: "join" } });
  tabs.fromTab({ v: 1, from: "a", epoch: 1, t: "holds" });
  settle(1);
  tabs.fromHost({ t: "reply", id: 1, error: { code: "already_running" } });
  const asked = (posts) => posts.filter(({ t }) => t === "yield").length;
  /** What is answered when the rows are looked at: how many runs are active, or that nobody can say. */
  const look = (answer) => {
    const { id } = take("host").find(({ name }) => name === "activeRuns");
    tabs.fromHost({ t: "reply", id, ...answer });
    return asked(take("post"));
  };
  return { ...tab, look };
}

test("a tab that joins an older version gets the agent when nothing is at work there, and not before", () => {
  const { tabs, take, timers, settle, look } = behindOlder();
  settle(1);
  assert.equal(look({ json: "1" }), 0);
  tabs.fromClient({ t: "command", id: 2, name: "sendMessage", args: { text: "hello" } });
  assert.deepEqual(take("deliver").filter(({ id }) => id === 2), [], "it waits");
  for (const then of timers.splice(0)) then();
  assert.equal(look({ json: "0" }), 0, "what a run has left is asked for there");
  for (const then of timers.splice(0)) then();
  assert.equal(look({ error: { code: "wasm_unavailable" } }), 0, "nobody says that it is idle");
  for (const [after, yields] of [0, 1].entries()) {
    for (const then of timers.splice(0)) then();
    assert.equal(look({ json: "0" }), yields, `${after} looks before`);
  }
  tabs.fromTab({ v: 1, from: "a", epoch: 1, t: "freed" });
  const [standIn] = take("host").filter(({ name }) => name === "standIn");
  tabs.fromHost({ t: "holder", epoch: 2 });
  tabs.fromHost({ t: "reply", id: standIn.id });
  assert.deepEqual(take("host").map(({ name, args }) => [name, args.text]), [["sendMessage", "hello"]]);
});

test("beside an older version that is at work a tab reads by itself, and is told what it cannot change", () => {
  const { tabs, take, look } = behindOlder();
  assert.equal(look({ json: "1" }), 0);
  tabs.fromClient({ t: "command", id: 2, name: "history", args: {} });
  tabs.fromClient({ t: "command", id: 3, name: "interrupt", args: {} });
  const did = take("deliver");
  assert.deepEqual(did.map(({ id, error }) => [id, error.code]), [[3, "holder_unreachable"]]);
  assert.match(did[0].error.message, /an older version/);
});

test("a person takes the agent over from an older version without waiting for it to be idle", () => {
  const { tabs, take, settle, look } = behindOlder();
  settle(1);
  assert.equal(look({ json: "1" }), 0);
  tabs.fromClient({ t: "command", id: 2, name: "startAgent", args: { ifRunning: "takeover" } });
  assert.deepEqual(take("post").map(({ v, t }) => [v, t]), [[1, "yield"]]);
});
