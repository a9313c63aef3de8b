// Sessions where something goes wrong: a provider that fails, a limit, a stop in mid-run, a clock that goes back, a
// full disk, two tabs that want the same. What nobody should ask of them.
import assert from "node:assert/strict";
import { onBothHosts } from "../lib/tabs.mjs";
import { plain } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

const ANN = { subject: "ann", issuer: "https://login.example" };

export default function (test) {
  providers(test);
  stops(test);
  limits(test);
  clocks(test);
  tabs(test);
  full(test);
  badInput(test);
  archives(test);
  onBothHosts(test, hidden, records, first);
}

/** A tab with a workspace, `s` for its sessions, and an agent if there is somebody to ask. `clock`: it goes by `clock.now`, from `now` on. */
async function tab(t, base, { clock = false, config = {}, quotaSize, host } = {}) {
  const page = await t.tab();
  if (quotaSize) await (await (await t.context()).newCDPSession(page)).send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url, quotaSize });
  await begin(page, base, { clock, config, host });
  return page;
}

async function begin(page, base, { clock = false, now = Date.now(), config = {}, host = "page" } = {}) {
  await page.evaluate(async ([operator, base, clock, now, config, host]) => {
    globalThis.clock = { now };
    globalThis.ws = await lodger.openWorkspace("desk", { operator, host, ...(clock && { now: () => globalThis.clock.now }) });
    globalThis.s = ws.sessions;
    globalThis.code = (promise) => promise.then(() => null, ({ code, message }) => ({ code, message }));
    globalThis.says = async (id, text) => T.plain(await ws.wait((await s.prompt(id, text)).runId));
    globalThis.kinds = async (id) => (await s.events(id)).map((event) => event.event_type);
    globalThis.textsOf = async (sessionId) => (await ws.history({ sessionId })).map((m) => m.parts.at(-1)?.text);
    if (base) await ws.startAgent({ provider: T.anthropic(base), ...config });
  }, [ANN, base, clock, now, config, host]);
}

/** The page goes away without a word, and comes back. */
async function again(t, page, base, more) {
  await page.reload();
  await t.ready(page);
  await begin(page, base, more);
}

function providers(test) {
  const busy = plain(500, errorBody("api_error", "internal error token=sk-secret-123456"));
  for (const what of ["server", "network"]) {
    test(`a provider that fails until its tries are over (${what}): provider_unavailable, resumed, and a prompt works`, async (t) => {
      const faults = what === "server" ? [busy, busy, busy] : [];
      const route = await t.raw(...faults, message("Well again."));
      const page = await tab(t, route.base);
      const offline = async (is) => what === "network" && (await t.context()).setOffline(is);
      // With its first command the page has the part of the module that works with sessions.
      await page.evaluate(() => s.launch({ id: "a" }));
      await offline(true);
      const failed = await page.evaluate(async () => {
        const waited = await says("a", "Hi.");
        const { session } = await s.status("a");
        return T.plain({ waited, session, refused: await code(s.prompt("a", "Again.")), other: (await s.status("default")).session.status });
      });
      await offline(false);
      const seen = await page.evaluate(async () => {
        const { status } = await s.recover("a", { action: "resume" });
        const waited = await says("a", "Are you there?");
        return T.plain({ status, waited, after: await s.status("a"), texts: await textsOf("a"), kinds: await kinds("a") });
      });
      assert.equal(route.requests.length, faults.length + 1);
      assert.deepEqual([failed.waited.outcome, failed.waited.error.code], ["failed", what]);
      assert.deepEqual([failed.session.status, failed.session.recovery_metadata.recovery_reason], ["provider_unavailable", "provider_unavailable"]);
      assert.equal(failed.session.recovery_metadata.recommended_action, "retry provider route or switch provider, then resume");
      assert.ok(!JSON.stringify(failed.session).includes("sk-secret"));
      assert.deepEqual(failed.refused, { code: "invalid_transition", message: "agent session a is provider_unavailable; only active sessions accept prompts" });
      assert.equal(failed.other, "running", "no other session has failed");
      assert.deepEqual([seen.status, seen.waited.outcome, seen.after.session.status, seen.after.hmac_status], ["idle", "completed", "idle", "verified"]);
      assert.equal(seen.texts.at(-1), "Well again.");
      assert.deepEqual(seen.kinds, ["launched", "prompt_received", "run_completed", "failed", "recovered", "prompt_received", "run_completed"]);
    });
  }

  test("a key that is refused makes it auth_expired; with a new key it is resumed and goes on", async (t) => {
    const refuse = plain(401, errorBody("authentication_error", "invalid x-api-key"));
    const route = await t.raw((_, __, { headers }) => (headers["x-api-key"] === "sk-new" ? message("Welcome.") : refuse));
    const page = await tab(t, route.base, { config: { provider: { kind: "anthropic", apiKey: "sk-old", baseUrl: route.base } } });
    const seen = await page.evaluate(async (base) => {
      await s.launch({ id: "a" });
      const waited = await says("a", "Hi.");
      const { status } = (await s.status("a")).session;
      await ws.configureAgent({ provider: { kind: "anthropic", apiKey: "sk-new", baseUrl: base } });
      const refused = await code(s.prompt("a", "Again."));
      const recovered = await s.recover("a", { action: "resume" });
      const again = await says("a", "Again.");
      return T.plain({ waited, status, refused, recovered, again, texts: await textsOf("a"), after: (await s.status("a")).session });
    }, route.base);
    assert.deepEqual([seen.waited.outcome, seen.waited.error.code, seen.status, seen.refused.code], ["failed", "auth", "auth_expired", "invalid_transition"]);
    assert.deepEqual([seen.recovered.status, seen.again.outcome, seen.texts.at(-1), seen.after.status], ["idle", "completed", "Welcome.", "idle"]);
    assert.equal(route.requests.length, 2, "a key that is refused is not tried again");
  });

  for (const by of ["start", "vault"]) {
    test(`a session that waits for its provider's key runs after a reload that brings it (${by})`, async (t) => {
      const route = await t.raw();
      const late = (key) => ({ config: { providers: { late: { kind: "anthropic", model: "claude-late", ...key } } } });
      const page = await tab(t, route.base, late());
      assert.equal(await page.evaluate(async () => (await s.launch({ id: "a", provider: "late" })).status), "starting");
      const key = "sk-ant-late-0123456789";
      await again(t, page, route.base, late(by === "start" && { apiKey: key }));
      if (by === "vault") await page.evaluate((key) => ws.keys.set("late", key), key);
      const seen = await page.evaluate(async () => T.plain({ status: (await s.status("a")).session.status, list: (await s.list()).find(({ id }) => id === "a").status, kinds: await kinds("a") }));
      assert.deepEqual(seen, { status: "running", list: "running", kinds: ["launched", "started"] });
    });
  }
}

function stops(test) {
  test("a stop ends its run first: stopping, interrupted, stopped; no tool is waited for, and prompts meanwhile are refused", async (t) => {
    const route = await t.raw(message({ tool: "slow", args: {} }), message("Back."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      let finish, began;
      const started = new Promise((resolve) => { began = resolve; });
      ws.tools.register({ name: "slow", description: "Takes its time.", readOnly: true, inputSchema: { type: "object" }, execute: () => new Promise((resolve) => { finish = resolve; began(); }) });
      await s.launch({ id: "a" });
      const { runId } = await s.prompt("a", "Take your time.");
      await started;
      const [stopped, status, prompt, twice] = await Promise.all([s.stop("a", "enough"), s.status("a"), code(s.prompt("a", "More.")), code(s.stop("a"))]);
      const waited = await ws.wait(runId);
      finish("late");
      await T.turn();
      const after = await s.status("a");
      const refused = await code(s.prompt("a", "More."));
      await s.restart("a");
      return T.plain({ stopped, status, prompt, twice, waited, after, refused, kinds: await kinds("a"), handoffs: (await s.handoffs("a")).length, again: (await says("a", "And now?")).outcome });
    });
    assert.deepEqual([seen.stopped.status, seen.stopped.supervision_notes.includes("enough"), seen.waited.outcome], ["stopped", true, "interrupted"]);
    assert.deepEqual([seen.prompt.code, seen.twice.code, seen.status.session.status], ["invalid_transition", "invalid_transition", "stopped"]);
    assert.match(seen.prompt.message, /^agent session a is stopp(ing|ed); .* accept (no )?prompts$/);
    assert.deepEqual([seen.after.session.status, seen.after.hmac_status, seen.refused.code], ["stopped", "verified", "invalid_transition"]);
    assert.deepEqual([seen.kinds, seen.handoffs, seen.again], [["launched", "prompt_received", "stopping", "run_interrupted", "stopped", "restarted"], 1, "completed"]);
    assert.ok(!JSON.stringify(route.requests.at(-1).json).includes("late"), "what came late is not used");
  });

  for (const how of ["interrupt", "stop", "clear", "remove", "reload"]) {
    test(`a tool with an effect that was cut short leaves one receipt (${how})`, async (t) => {
      const route = await t.raw(message({ tool: "post", args: {} }), message("Well."));
      const page = await tab(t, route.base);
      await page.evaluate(async (how) => {
        const started = new Promise((resolve) => {
          ws.tools.register({ name: "post", description: "Takes its time.", capability: "mail", inputSchema: { type: "object" }, execute: () => { resolve(); return new Promise(() => {}); } });
        });
        await s.launch({ id: "a" });
        const { runId } = await s.prompt("a", "Post it.");
        await started;
        if (how === "interrupt") ws.interrupt({ sessionId: "a" });
        else if (how === "stop") await s.stop("a");
        else if (how === "clear") await ws.clearConversation("a");
        else if (how === "remove") await s.remove("a").then(() => s.undoRemove("a"));
        else return;
        await ws.wait(runId);
      }, how);
      if (how === "reload") {
        await again(t, page, route.base);
        await page.evaluate(async () => {
          await s.recover("a", { action: "resume" });
          await says("a", "And now?");
        });
      }
      const receipts = await page.evaluate(async () => T.plain(await s.receipts("a")));
      const [receipt, ...more] = receipts.filter(({ capability }) => capability === "mail");
      assert.deepEqual([receipt?.result.status, receipt?.result.summary, more.length], ["failed", "Tool call of unknown outcome: post.", 0]);
    });
  }

  test("what a person or a policy denies leaves a receipt", async (t) => {
    const route = await t.raw(message({ tool: "burn", args: {} }), message("Then not."), message({ tool: "burn", args: {} }), message("Then not."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      ws.tools.register({ name: "burn", description: "Burns it.", destructive: true, inputSchema: { type: "object" }, execute: () => "burnt" });
      ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("deny"));
      await s.launch({ id: "a" });
      await says("a", "Burn it.");
      await ws.configureAgent({ permissions: { tools: { burn: "deny" } } });
      await says("a", "Burn it.");
      return T.plain((await s.receipts("a")).map(({ capability, result }) => `${capability} ${result.status}`));
    });
    assert.deepEqual(seen, Array(2).fill(["tool.execute denied", "model.chat passed"]).flat());
  });

  for (const word of ["exit", "quit", "/exit", "/quit"]) {
    test(`"${word}" as a prompt stops the session: the event is exited, and no model is asked`, async (t) => {
      const route = await t.raw(message("Never."));
      const page = await tab(t, route.base);
      const seen = await page.evaluate(async (word) => {
        await s.launch({ id: "a" });
        const told = await s.prompt("a", `  ${word}\n`);
        const { session } = await s.status("a");
        return T.plain({ told, session, last: (await s.events("a")).at(-1), history: (await ws.history({ sessionId: "a" })).length });
      }, word);
      assert.deepEqual([seen.told, seen.session.status, seen.history], [{ runId: null }, "stopped", 0]);
      assert.deepEqual([seen.last.event_type, seen.last.run_id], ["exited", null]);
      assert.equal(seen.session.recovery_metadata.exit_behavior, "operator_exit");
      assert.equal(route.requests.length, 0);
    });
  }
}

function limits(test) {
  const cases = {
    "turns of a run": [{ maxTurns: 2 }, "max_turns_exceeded", "max iterations 2 reached"],
    "a budget of tokens": [{ budgets: { run: { inputTokens: 20 } } }, "budget_exceeded", "provider token budget exhausted"],
  };
  for (const [what, [config, error, interrupted]] of Object.entries(cases)) {
    test(`at its limit (${what}) a run is interrupted: the session stays idle, with an incomplete handoff`, async (t) => {
      const call = () => message({ tool: "get_time", args: {} });
      const route = await t.raw(call(), call(), message("Going on."));
      const page = await tab(t, route.base, { config });
      const seen = await page.evaluate(async () => {
        T.weather(ws);
        await s.launch({ id: "a" });
        const waited = await says("a", "Look at the clock for ever.");
        const { session, hmac_status } = await s.status("a");
        const again = await says("a", "And?");
        return T.plain({ waited, session, hmac_status, kinds: await kinds("a"), event: (await s.events("a"))[2], handoffs: await s.handoffs("a"), again: again.outcome });
      });
      assert.deepEqual([seen.waited.outcome, seen.waited.error.code], ["failed", error]);
      assert.deepEqual([seen.session.status, seen.hmac_status, seen.again], ["idle", "verified", "completed"]);
      assert.deepEqual(seen.kinds, ["launched", "prompt_received", "run_interrupted", "prompt_received", "run_completed"]);
      const [handoff] = seen.handoffs;
      assert.deepEqual([handoff.status, handoff.risks], ["incomplete", [interrupted]]);
      assert.deepEqual(seen.session.recovery_metadata, { exit_behavior: "interrupted", handoff_id: handoff.id, interrupted_error: interrupted });
      assert.deepEqual([seen.event.handoff_id, seen.session.handoff_ids], [handoff.id, [handoff.id]]);
    });
  }
}

function clocks(test) {
  test("a clock that goes back: all goes on, and no time of the record lies before the one it follows", async (t) => {
    const route = await t.raw(message("One."), message("Two."), message("Three."));
    const page = await tab(t, route.base, { clock: true });
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const waited = [(await says("a", "One?")).outcome];
      clock.now -= 40 * 86_400_000;
      waited.push((await says("a", "Two?")).outcome);
      await s.stop("a");
      clock.now -= 3_600_000;
      await s.restart("a");
      clock.now += 60_000;
      waited.push((await says("a", "Three?")).outcome);
      const { session, hmac_status } = await s.status("a");
      const file = await s.export("a");
      return T.plain({ waited, session, hmac_status, events: await s.events("a"), journal: await s.journal("a"), replay: await s.replay(file), copy: (await s.import(file)).id, texts: await textsOf("a") });
    });
    assert.deepEqual([seen.waited, seen.hmac_status], [["completed", "completed", "completed"], "verified"]);
    const times = (list) => list.map((at) => new Date(at).getTime()).every((at, i, all) => i === 0 || all[i - 1] <= at);
    assert.ok(times(seen.journal.map(({ at }) => at)), "the journal");
    assert.ok(times(seen.events.map((event) => event.created_at)), "events");
    const { started_at, last_activity_at, updated_at } = seen.session;
    assert.ok(times([started_at, last_activity_at, updated_at]), "the record");
    assert.deepEqual([seen.replay.same, seen.copy, seen.texts], [true, "a-2", ["One?", "One.", "Two?", "Two.", "Three?", "Three."]]);
  });
}

function tabs(test) {
  test("two tabs launch the same id at once: one has it, the other is told who does", async (t) => {
    const route = await t.raw(message("Hi."));
    const pages = [await tab(t), await tab(t)];
    const launch = async (base) => [await code(ws.startAgent({ ifRunning: "reject", provider: T.anthropic(base) })), await code(s.launch({ id: "same" }))];
    const seen = await Promise.all(pages.map((page) => page.evaluate(launch, route.base)));
    const won = seen.findIndex(([started]) => started === null);
    const lost = 1 - won;
    assert.equal(seen[lost][0].code, "already_running");
    // The other tab's goes to the agent too, and may be first there; or it does not know of it yet.
    const [launched, refused] = seen.map(([, launched]) => launched?.code ?? null).sort((a, b) => Number(a !== null) - Number(b !== null));
    assert.equal(launched, null);
    assert.ok(["session_exists", "not_running"].includes(refused), refused);
    // What the one has launched is the other's too, and is not launched a second time.
    const read = await pages[lost].evaluate(async () => (await s.list()).map(({ id }) => id).sort());
    assert.deepEqual(read, ["default", "same"]);
    await pages[won].evaluate(() => ws.close());
    const again = await pages[lost].evaluate(async (base) => { await ws.startAgent({ provider: T.anthropic(base) }); return [await code(s.launch({ id: "same" })), (await says("same", "Hello?")).outcome, await kinds("same")]; }, route.base);
    assert.deepEqual(again, [{ code: "session_exists", message: "agent session already exists: same" }, "completed", ["launched", "prompt_received", "run_completed"]]);
  });

  test("one page launches the same id twice at once: one has it", async (t) => {
    const route = await t.raw(message("Hi."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(() => Promise.all(["A", "B", "C"].map((displayName) => s.launch({ id: "same", displayName }).then((state) => state.display_name, ({ code }) => code))));
    assert.deepEqual(seen, ["A", "session_exists", "session_exists"]);
  });
}

function full(test) {
  test("no room left in the middle of a named run: nothing that was stored is lost, and it goes on once there is room", async (t) => {
    const route = await t.raw(message("Small."), message("word ".repeat(60_000)), message("Back again."));
    const page = await tab(t, route.base, { quotaSize: 250_000 });
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const first = (await says("a", "Say little.")).outcome;
      const second = await T.settle(() => says("a", "Say much."));
      return T.plain({ first, second, lifecycle: ws.status().lifecycle, refused: await code(s.prompt("a", "More.")) });
    });
    assert.deepEqual([seen.first, seen.second.error.code, seen.refused.code], ["completed", "quota_exceeded", "not_running"]);
    assert.equal(typeof seen.lifecycle.Error, "string");
    await (await (await t.context()).newCDPSession(page)).send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url });
    const after = await page.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base) });
      const { session, hmac_status } = await s.status("a");
      const texts = await textsOf("a");
      const recovered = await s.recover("a", { action: "resume" });
      return T.plain({ session, hmac_status, texts, recovered: recovered.status, again: await says("a", "Are you there?"), last: (await textsOf("a")).at(-1), kinds: await kinds("a") });
    }, route.base);
    // Its run was lost with the agent, as it is with a page.
    assert.deepEqual([after.session.status, after.session.recovery_metadata.recovery_reason, after.hmac_status], ["failed", "stale_pid", "verified"]);
    assert.deepEqual(after.texts.slice(0, 3), ["Say little.", "Small.", "Say much."]);
    assert.deepEqual([after.recovered, after.again.outcome, after.last], ["idle", "completed", "Back again."]);
    assert.deepEqual(after.kinds, ["launched", "prompt_received", "run_completed", "prompt_received", "failed", "recovered", "run_interrupted", "prompt_received", "run_completed"]);
    assert.deepEqual(route.violations, []);
  });
}

/** What nobody sees, or what turns a line around, would make one id look like another. */
export function hidden(on) {
  on("no session has an id with signs that nobody sees, by whatever command", async (t, host) => {
    const route = await t.raw(message("Hi."));
    const page = await tab(t, route.base, { host });
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi.");
      const seen = { launch: [], elsewhere: [], file: await code(s.import(new Blob([(await (await s.export("a")).text()).replace('"session":"a"', '"session":"\u200ba"')]))) };
      for (const sign of ["\u00ad", "\u061c", "\u180e", "\u200b", "\u200d", "\u200f", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufe0d", "\ufeff", "\ufff9", "\u{e0041}", "\u007f"]) {
        for (const id of [`a${sign}`, `${sign}b`, `a${sign}b`]) {
          seen.launch.push(await code(s.launch({ id })), await code(ws.invoke("session_launch", { id })));
          for (const call of [() => s.fork(id), () => s.prompt(id, "Hi."), () => ws.sendMessage("Hi.", { sessionId: id })]) seen.elsewhere.push((await code(call()))?.code);
        }
      }
      seen.list = (await s.list()).map((one) => one.id).sort();
      return T.plain(seen);
    });
    assert.deepEqual([seen.launch.length, seen.elsewhere.length], [96, 144]);
    for (const error of seen.launch) {
      assert.equal(error?.code, "invalid_arguments");
      assert.match(error.message, /none that nobody sees/);
    }
    assert.deepEqual(new Set(seen.elsewhere), new Set(["session_not_found"]));
    assert.deepEqual(seen.file, { code: "corrupt", message: "line 1: no session can have this id" });
    assert.deepEqual(seen.list, ["a", "default"]);
    assert.equal(route.requests.length, 1);
  });
}

function badInput(test) {
  test("what no session is called, and what nobody has said", async (t) => {
    const route = await t.raw(message("Hi."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      const long = "x".repeat(10_000);
      await s.launch({ id: "a" });
      await says("a", "Hi.");
      const calls = (id) => ({ prompt: () => s.prompt(id, "Hi."), send: () => ws.sendMessage("Hi.", { sessionId: id }), status: () => s.status(id), stop: () => s.stop(id), restart: () => s.restart(id), recover: () => s.recover(id, { action: "resume" }), rename: () => s.rename(id, "B"), remove: () => s.remove(id), undo: () => s.undoRemove(id), journal: () => s.journal(id), events: () => s.events(id), receipts: () => s.receipts(id), handoffs: () => s.handoffs(id), export: () => s.export(id), fork: () => s.fork(id), history: () => ws.history({ sessionId: id }) });
      const all = async (id) => Object.fromEntries(await Promise.all(Object.entries(calls(id)).map(async ([name, call]) => [name, await code(call())])));
      const seen = { unknown: await all("nobody"), long: await all(long) };
      seen.launch = await Promise.all([{ id: long }, { id: "a\nb" }, { displayName: "a\u0007b" }, { displayName: "a\nb" }, { displayName: "" }, { displayName: long }, { displayName: "a\u202eb" }, { displayName: "\u200b" }].map((options) => code(s.launch(options))));
      seen.rename = await Promise.all(["a\u0007b", " a", "", long].map((name) => code(s.rename("a", name))));
      seen.gone = [await code(s.prompt("a", "Other.", { replaces: "msg_none" })), await code(ws.sendMessage("Other.", { sessionId: "a", replaces: long }))];
      const [{ id }] = await ws.history({ sessionId: "a" });
      await ws.clearConversation("a");
      seen.cleared = await code(s.prompt("a", "Other.", { replaces: id }));
      seen.list = (await s.list()).map((one) => one.id).sort();
      seen.status = await s.status("a");
      return T.plain(seen);
    });
    for (const [which, message] of [["unknown", "unknown agent session: nobody"], ["long", /^unknown agent session: x{1,100}$/]]) {
      for (const [name, error] of Object.entries(seen[which])) {
        assert.equal(error?.code, "session_not_found", `${name}, ${which}`);
        assert.match(error.message, new RegExp(message));
      }
    }
    for (const error of [...seen.launch, ...seen.rename, ...seen.gone, seen.cleared]) {
      assert.equal(error?.code, "invalid_arguments", JSON.stringify(error));
      assert.ok(error.message.length < 200, error.message);
    }
    assert.match(seen.launch[0].message, /at most 256 bytes/);
    assert.match(seen.launch[2].message, /control characters/);
    assert.match(seen.gone[0].message, /is no message of the conversation/);
    assert.deepEqual([seen.list, seen.status.session.display_name, seen.status.hmac_status], [["a", "default"], null, "verified"]);
    assert.equal(route.requests.length, 1);
  });

  test("a prompt of 5 MB is sent whole, stored and read again", async (t) => {
    const route = await t.raw(message("Long."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const text = "word ".repeat(2 ** 20);
      const { outcome } = await says("a", text);
      const [first] = await ws.history({ sessionId: "a" });
      const { session, hmac_status } = await s.status("a");
      return T.plain({ outcome, whole: first.parts[0].text === text, status: session.status, hmac_status, replay: (await s.replay(await s.export("a"))).same });
    });
    assert.deepEqual(seen, { outcome: "completed", whole: true, status: "idle", hmac_status: "verified", replay: true });
    assert.equal(route.requests[0].json.messages[0].content[0].text.length, 5 * 2 ** 20);
  });

  test("a file that is imported twice is two sessions, each whole", async (t) => {
    const route = await t.raw(message("Hi."));
    const page = await tab(t, route.base);
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi.");
      const file = await s.export("a");
      await s.remove("a");
      const ids = [(await s.import(file)).id, (await s.import(file)).id];
      return T.plain({ ids, texts: await Promise.all(ids.map(textsOf)), receipts: await Promise.all(ids.map(async (id) => (await s.receipts(id)).length)), status: await Promise.all(ids.map(async (id) => (await s.status(id)).hmac_status)) });
    });
    assert.deepEqual(seen, { ids: ["a-2", "a-3"], texts: [["Hi.", "Hi."], ["Hi.", "Hi."]], receipts: [1, 1], status: ["verified", "verified"] });
  });
}

function archives(test) {
  test("where the first session alone is there and archived, the agent starts, and a message opens it", async (t) => {
    const route = await t.raw(message("First."), message("Second."), message("Third."));
    const page = await tab(t, route.base);
    await page.evaluate(async () => { await ws.run("One"); await s.archive("default"); });
    for (const [text, answer, messages] of [["Two", "Second.", 4], ["Three", "Third.", 6]]) {
      await again(t, page, route.base);
      const seen = await page.evaluate(async (text) => {
        const [before] = await s.list();
        const { text: said } = await ws.run(text);
        const after = await s.status("default");
        await s.archive("default");
        return T.plain([!!before.archived, said, !!after.session.archived, after.hmac_status, (await ws.history()).length]);
      }, text);
      assert.deepEqual(seen, [true, answer, false, "verified", messages]);
    }
    assert.deepEqual(route.violations, []);
  });

  test("the policy archives what nobody has changed for so many days, at a start and while the page stays open", async (t) => {
    const route = await t.raw(...Array.from({ length: 4 }, (_, n) => message(`Answer ${n}.`)));
    const page = await tab(t, route.base, { clock: true });
    const becomes = async (wanted) => assert.deepEqual(await page.evaluate(async (wanted) => {
      let archived;
      for (let n = 0; n < 500 && archived !== wanted; n++) {
        archived = (await s.list()).filter((session) => session.archived).map(({ id }) => id).toSorted().join();
        await new Promise((resolve) => { setTimeout(resolve, 20); });
      }
      return archived;
    }, wanted), wanted);
    await page.evaluate(async () => {
      for (const id of ["old", "young"]) {
        await s.launch({ id });
        await says(id, "Keep this in mind.");
        clock.now += 20 * 86_400_000;
      }
    });
    const { now } = await page.evaluate(() => clock);
    await again(t, page, route.base, { clock: true, now, config: { archive: { afterDays: 30 } } });
    await becomes("default,old");
    // A page that asks for its tools is told of all that has come due: a timer would be an hour away.
    await page.evaluate(async () => {
      clock.now += 31 * 86_400_000;
      await ws.run("Still here.");
      ws.tools.definitions();
    });
    await becomes("old,young");
    assert.deepEqual(await page.evaluate(() => textsOf("old")), ["Keep this in mind.", "Answer 0."], "nothing is deleted");
  });

  test("sessions are found by their titles, archived ones too", async (t) => {
    const route = await t.raw(message("Yes."));
    const page = await tab(t, route.base);
    const found = await page.evaluate(async () => {
      await s.launch({ id: "notes", displayName: "Spring plans - the Garden" });
      await s.launch({ id: "spring-trip" });
      await s.archive("notes");
      const found = async (words) => (await s.search(words)).map(({ session: { id, archived } }) => (archived ? `${id}, archived` : id)).toSorted();
      return [await found("spring"), await found("  garden SPRING "), await found("notes"), await found("spring winter"), (await found("")).length];
    });
    assert.deepEqual(found, [["notes, archived", "spring-trip"], ["notes, archived"], [], [], 3]);
  });

  test("an archived session takes less, reads the same after a reload, and opens with its next prompt", async (t) => {
    const route = await t.raw(...Array.from({ length: 8 }, (_, n) => message(`Answer ${n}.`)));
    const page = await tab(t, route.base);
    const look = () => page.evaluate(async () => {
      const { sessions } = await ws.storage({ sessions: true });
      const rows = await new Promise((resolve) => {
        indexedDB.open("lodger:desk").onsuccess = ({ target: { result } }) => {
          const store = result.transaction("entries").objectStore("entries");
          store.getAllKeys().onsuccess = ({ target: { result: keys } }) => resolve((result.close(), keys.filter(([id]) => id === "a").map((key) => key.length)));
        };
      });
      return { sessions, loose: rows.filter((length) => length === 2).length, packs: rows.filter((length) => length === 3).length };
    });
    const told = () => page.evaluate(async () => T.plain({ history: await ws.history({ sessionId: "a" }), page: await ws.history({ sessionId: "a", limit: 2 }), events: await s.events("a"), file: await (await s.export("a")).text(), status: await s.status("a") }));
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      for (let n = 0; n < 6; n += 1) await says("a", `Word ${n}.`);
      await ws.clearConversation();
    });
    const [before, said] = [await look(), await told()];
    const state = await page.evaluate(async () => T.plain(await s.archive("a")));
    assert.ok(Date.parse(state.archived) > 0, JSON.stringify(state));
    const after = await look();
    const size = ({ sessions }) => sessions.find(({ id }) => id === "a").bytes;
    assert.deepEqual([after.loose, after.packs > 0], [0, true]);
    assert.ok(size(after) < size(before) * 0.4, `${size(before)} -> ${size(after)}`);
    // They are sorted, and sum up to all that lies there of sessions.
    const all = await page.evaluate(() => new Promise((resolve) => {
      indexedDB.open("lodger:desk").onsuccess = ({ target: { result } }) => {
        const utf8 = (text) => new Blob([text]).size;
        const transaction = result.transaction(["heads", "entries", "drafts"]);
        let sum = 0;
        for (const table of ["heads", "entries", "drafts"]) {
          transaction.objectStore(table).openCursor().onsuccess = ({ target: { result: cursor } }) => {
            if (!cursor) return;
            sum += cursor.key.reduce((bytes, part) => bytes + utf8(`${part}`), 0) + (typeof cursor.value === "string" ? utf8(cursor.value) : cursor.value.byteLength);
            cursor.continue();
          };
        }
        transaction.oncomplete = () => resolve((result.close(), sum));
      };
    }));
    assert.equal(after.sessions.reduce((sum, { bytes }) => sum + bytes, 0), all);
    assert.deepEqual(after.sessions, [...after.sessions].sort((a, b) => b.bytes - a.bytes));
    await again(t, page, route.base);
    const later = await told();
    assert.deepEqual([later.history, later.page], [said.history, said.page]);
    assert.deepEqual(later.events.slice(0, said.events.length), said.events);
    assert.equal(later.events.at(-1).event_type, "archived");
    assert.ok(later.file.includes("Word 5."));
    assert.equal((await look()).loose, 0, "nothing of that opens it");
    const opened = await page.evaluate(async () => T.plain({ run: await says("a", "Once more."), state: (await s.status("a")).session, texts: await textsOf("a"), whole: await s.verify("a") }));
    assert.deepEqual([opened.run.outcome, opened.state.archived ?? null, opened.texts.length, opened.whole.hmac_status], ["completed", null, 14, "verified"]);
    assert.ok((await look()).loose > 30);
    assert.deepEqual(route.violations, []);
  });
}

export function records(on) {
  on("the record speaks of what there is: no shell, one policy from the session to its receipts, no command of another product", async (t, host) => {
    const route = await t.raw(message([{ tool: "post", args: {} }, { tool: "burn", args: {} }]), message("Done."), message("Again."));
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, host]) => {
      const ws = await lodger.openWorkspace("desk", { host, operator: { subject: "ann" } });
      const s = ws.sessions;
      const tool = (name, more) => ws.tools.register({ name, description: "A tool.", inputSchema: { type: "object" }, execute: () => "done", ...more });
      const tools = [tool("post", { capability: "mail" }), tool("burn", { destructive: true })];
      ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("deny"));
      const of = async (id) => {
        const runs = [];
        for (const { run_id } of await s.events(id)) if (run_id && !runs.some((run) => run.id === run_id)) runs.push(await s.task(run_id));
        return { session: (await s.status(id)).session, events: await s.events(id), receipts: await s.receipts(id), handoffs: await s.handoffs(id), runs };
      };
      const found = {};
      await ws.startAgent({ provider: T.anthropic(base), capabilities: ["mail"] });
      await s.launch({ id: "tools" });
      await ws.run("Go.", { sessionId: "tools" });
      found.tools = await of("tools");
      // Whether there are tools says nothing of a shell.
      for (const remove of tools) remove();
      await s.launch({ id: "none" });
      await ws.run("Go.", { sessionId: "none" });
      found.none = await of("none");
      const copy = (await s.fork("tools")).id;
      await ws.run("Go on.", { sessionId: copy });
      found.copy = await of(copy);
      const untold = (await ws.storage({ sessions: true })).tasks;
      const once = await s.runOnce("Go.");
      const sizes = await ws.storage({ sessions: true });
      await ws.setOperator(null);
      const nobody = await T.refused(() => s.list());
      await ws.setOperator({ subject: "ann", expiresAt: 1 });
      const over = await T.refused(() => s.list());
      await ws.close();
      return T.plain({ found, once, untold, sizes, errors: [nobody, over], rows: Object.values(await T.dump("desk")).flat().map(([, row]) => (typeof row === "string" ? row : "")).join("\n") });
    }, [route.base, host]);
    assert.doesNotMatch(seen.rows, /sandbox_environment|shell\.execute/);
    const counts = { tools: ["mail", "model.chat", "tool.execute"], none: ["model.chat"], copy: ["mail", "model.chat", "model.chat", "tool.execute"] };
    for (const [name, { session, events, receipts, handoffs, runs }] of Object.entries(seen.found)) {
      assert.deepEqual(receipts.map(({ capability }) => capability).sort(), counts[name], name);
      assert.doesNotMatch(JSON.stringify([receipts, events, handoffs, runs]), /sandbox_environment|shell/, name);
      const policies = [session, ...events, ...runs, ...receipts.map(({ result }) => result.metadata)].map((record) => record.policy_envelope_id);
      assert.ok(runs.length > 0 && policies.length > receipts.length + runs.length, name);
      // A copy is under the policy of what it is a copy of.
      assert.deepEqual(new Set(policies), new Set([name === "none" ? "policy_none" : "policy_tools"]), name);
    }
    // A task is no session, and what it takes is told all the same.
    assert.equal(seen.untold, undefined);
    assert.ok(seen.sizes.tasks > 1_000, `${seen.sizes.tasks} bytes`);
    assert.deepEqual(seen.sizes.sessions.map(({ id }) => id).filter((id) => !["default", "none", "tools"].includes(id)), [seen.found.copy.session.id]);
    const { run, receipts } = seen.once;
    assert.ok(run.policy_envelope_id.startsWith("policy_") && receipts.length > 0);
    for (const { result } of receipts) assert.equal(result.metadata.policy_envelope_id, run.policy_envelope_id, "the task's");
    const hint = "say who works here with setOperator()";
    assert.deepEqual(seen.errors.map(({ code, message, hint }) => [code, message, hint]), [["operator_required", "active operator session required", hint], ["operator_required", "the operator session has expired", hint]]);
  });
}

/** The first session, which there is as long as an agent runs. */
function first(on) {
  on("the first session is removed: it begins anew, with its budget and its grants", async (t, host) => {
    const route = await t.raw(message({ tool: "send", args: { to: "ann" } }), message("Sent."), message("Anew."));
    const page = await tab(t, route.base, { host, config: { budgets: { session: { turns: 2 } } } });
    const seen = await page.evaluate(async () => {
      ws.tools.register({ name: "send", description: "Sends it.", destructive: true, inputSchema: { type: "object", properties: { to: { type: "string" } } }, execute: () => "sent" });
      ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("always_allow"));
      await ws.run("Send it.");
      const over = await T.refused(() => ws.run("Once more."));
      const granted = (await ws.tools.grants()).map(({ tool }) => tool);
      await s.remove("default");
      const left = [await ws.tools.grants(), await ws.history(), (await s.status("default")).usage ?? null];
      return T.plain({ over: over.code, granted, left, text: (await ws.run("Hello.")).text });
    });
    assert.deepEqual(seen, { over: "budget_exceeded", granted: ["send"], left: [[], [], null], text: "Anew." });
    assert.deepEqual(route.violations, []);
  });

  on("the run of a session that is removed while it works was interrupted, whenever its result is read", async (t, host) => {
    const page = await tab(t, undefined, { host });
    const seen = await page.evaluate(async () => {
      await ws.startAgent({ provider: scriptedModel(Array(4).fill(["He", { delay: 60_000 }])) });
      const seen = [];
      for (const when of ["before", "after"]) {
        for (const id of ["default", `notes-${when}`]) {
          if (id !== "default") await s.launch({ id });
          const said = new Promise((done) => ws.addEventListener("agent:message-chunk", done, { once: true }));
          const run = await ws.sendMessage("Hello?", { sessionId: id });
          await said;
          const ask = () => [run.result, ws.wait(run.runId).catch(({ code }) => ({ outcome: code }))];
          const asked = when === "before" && ask();
          await s.remove(id);
          const [{ outcome, text }, waited] = await Promise.all(asked || ask());
          seen.push([id, outcome, text, waited.outcome]);
        }
      }
      return seen;
    });
    assert.deepEqual(seen, [
      ["default", "interrupted", "He", "interrupted"], ["notes-before", "interrupted", "He", "interrupted"],
      // What it had said is gone with its session.
      ["default", "interrupted", "", "interrupted"], ["notes-after", "interrupted", "", "interrupted"],
    ]);
  });
}
