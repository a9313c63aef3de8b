// Seed 001 in a browser: named sessions over reloads, crashes and failures of the provider. Who may do what with them, and
// what is seen of a record that somebody changes in the database.
import assert from "node:assert/strict";
import { gate, plain, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const ANN = { subject: "ann", issuer: "https://login.example" };

export default function (test) {
  commands(test);
  more(test);
  operators(test);
  lost(test);
  tampering(test);
}

/** A tab whose agent runs, with `s` for its sessions. */
async function started(t, ...answers) {
  const route = await t.raw(...answers);
  const page = await t.tab();
  await begin(page, route.base);
  return { page, route };
}

const begin = (page, base, operator = ANN) => page.evaluate(async ([base, operator]) => {
  globalThis.ws = await lodger.openWorkspace("desk", { operator });
  globalThis.s = ws.sessions;
  globalThis.code = (promise) => promise.then(() => null, ({ code, message }) => ({ code, message }));
  globalThis.says = async (id, text) => {
    const { runId } = await s.prompt(id, text);
    return T.plain(await ws.wait(runId));
  };
  if (base) await ws.startAgent({ provider: T.anthropic(base) });
}, [base, operator]);

/** The page goes away without a word, and another opens. */
async function reload(t, page, base) {
  await page.reload();
  await t.ready(page);
  await begin(page, base);
}

export function commands(test) {
  test("launch, prompt, status, stop, restart, list: the eight commands, and `invoke`", async (t) => {
    const { page } = await started(t, message("Done."), message("Again."));
    const seen = await page.evaluate(async () => {
      const launched = await s.launch({ id: "agent_docs", displayName: "Docs bot" });
      const waited = await says("agent_docs", "Implement the next bounded provider task.");
      const idle = await s.status("agent_docs");
      const events = await s.events("agent_docs");
      const stopped = await s.stop("agent_docs", "done for today");
      const refused = await code(s.prompt("agent_docs", "more"));
      const restarted = await ws.invoke("session_restart", { id: "agent_docs" });
      const renamed = await s.rename("agent_docs", "Docs bot 2");
      await says("agent_docs", "Once more.");
      const exited = await s.prompt("agent_docs", "/exit");
      const again = await code(s.launch({ id: "agent_docs" }));
      const history = await ws.history({ sessionId: "agent_docs" });
      return T.plain({ launched, waited, idle, events, stopped, refused, restarted, renamed, exited, again, history, list: await ws.invoke("session_list"), receipts: await s.receipts("agent_docs"), handoffs: await s.handoffs("agent_docs") });
    });
    assert.equal(seen.launched.status, "running");
    assert.deepEqual([seen.launched.operator_subject, seen.launched.project_id, seen.launched.display_name], ["ann", "desk", "Docs bot"]);
    assert.equal(seen.waited.outcome, "completed");
    assert.deepEqual([seen.idle.session.status, seen.idle.hmac_status], ["idle", "verified"]);
    assert.deepEqual(seen.events.map((e) => e.event_type), ["launched", "prompt_received", "run_completed"]);
    assert.equal(seen.events[1].metadata.prompt_hash, "4d5f633f2142c214");
    assert.ok(seen.events.every((e) => /^[0-9a-f]{64}$/.test(e.receipt_hmac)), "each event is signed");
    assert.deepEqual([seen.stopped.status, seen.stopped.supervision_notes.at(-1)], ["stopped", "done for today"]);
    assert.deepEqual(seen.refused, { code: "invalid_transition", message: "agent session agent_docs is stopped; only active sessions accept prompts" });
    assert.deepEqual([seen.restarted.status, seen.renamed.display_name], ["running", "Docs bot 2"]);
    assert.deepEqual(seen.exited, { runId: null });
    assert.deepEqual(seen.again, { code: "session_exists", message: "agent session already exists: agent_docs" });
    assert.deepEqual(seen.history.map((m) => m.parts[0].text), ["Implement the next bounded provider task.", "Done.", "Once more.", "Again."]);
    assert.deepEqual(seen.list.map((one) => [one.id, one.status]), [["agent_docs", "stopped"], ["default", "running"]]);
    assert.deepEqual([seen.receipts.length, seen.handoffs.length], [2, 2]);
    for (const [at, receipt] of seen.receipts.entries()) assert.equal(receipt.previous_receipt_hash, seen.receipts[at - 1]?.self_hash ?? null, "the chain of receipts");
  });

  test("two sessions work side by side, and each has its conversation", async (t) => {
    const holds = [gate(), gate()];
    const answer = (text, hold) => stream(message(text).slice(0, 3), hold, message(text).slice(3));
    // Which of two requests comes first, nobody says.
    const own = (request) => (JSON.stringify(request).includes("Hello, one.") ? answer("First.", holds[0]) : answer("Second.", holds[1]));
    const { page } = await started(t, own);
    const done = page.evaluate(async () => {
      for (const id of ["one", "two"]) await s.launch({ id });
      const runs = [];
      for (const id of ["one", "two"]) runs.push((await s.prompt(id, `Hello, ${id}.`)).runId);
      const busy = await code(s.prompt("one", "More."));
      T.tell("both");
      const waited = await Promise.all(runs.map((run) => ws.wait(run)));
      const texts = await Promise.all(["one", "two"].map(async (sessionId) => (await ws.history({ sessionId })).map((m) => m.parts[0].text)));
      return T.plain({ busy: busy.code, waited: waited.map((w) => w.outcome), texts });
    });
    await new Promise((resolve) => t.signal("both", resolve));
    for (const hold of holds.reverse()) hold.open();
    const seen = await done;
    assert.deepEqual(seen, { busy: "busy", waited: ["completed", "completed"], texts: [["Hello, one.", "First."], ["Hello, two.", "Second."]] });
  });

  test("sessions are there after a reload, without an agent, and go on with one", async (t) => {
    const { page, route } = await started(t, message("Before."), message("After."));
    const runId = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      return (await says("a", "One.")).runId;
    });
    await reload(t, page);
    const cold = await page.evaluate(async (runId) => T.plain({ list: (await s.list()).map((one) => one.id), status: await s.status("a"), history: (await ws.history({ sessionId: "a" })).length, waited: await ws.wait(runId), refused: await code(s.prompt("a", "Two.")), renamed: (await s.rename("a", "A name")).display_name }), runId);
    assert.deepEqual([cold.list.sort(), cold.status.session.status, cold.status.hmac_status], [["a", "default"], "idle", "verified"]);
    assert.deepEqual([cold.history, cold.waited.outcome, cold.refused.code, cold.renamed], [2, "completed", "not_running", "A name"]);
    await reload(t, page, route.base);
    const warm = await page.evaluate(async () => T.plain({ waited: await says("a", "Two."), status: await s.status("a"), history: (await ws.history({ sessionId: "a" })).length }));
    assert.deepEqual([warm.waited.outcome, warm.status.session.display_name, warm.history], ["completed", "A name", 4]);
    const { messages } = route.requests.at(-1).json;
    assert.equal(messages.length, 3, "the model is told what was said before");
  });

  test("a view follows a named session", async (t) => {
    const { page } = await started(t, message("Hello."));
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const view = ws.view("a");
      view.subscribe(() => {});
      await says("a", "Hi.");
      return T.plain(view.getSnapshot().messages.map((m) => m.parts[0].text));
    });
    assert.deepEqual(seen, ["Hi.", "Hello."]);
  });
}

/** How many rows of the database speak of a session. */
const rowsOf = (page, id) => page.evaluate(async (id) => {
  const open = indexedDB.open("lodger:desk");
  const database = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
  let count = 0;
  for (const name of database.objectStoreNames) {
    const store = database.transaction(name).objectStore(name);
    const all = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
    const [keys, values] = [await all(store.getAllKeys()), await all(store.getAll())];
    keys.forEach((key, at) => { if (JSON.stringify([key, typeof values[at] === "string" ? values[at] : ""]).includes(id)) count++; });
  }
  database.close();
  return count;
}, id);

function more(test) {
  test("a session keeps to the provider it was launched with, and starts when that one's key is there", async (t) => {
    const { page } = await started(t);
    const late = await t.raw(message("From the late one."));
    const seen = await page.evaluate(async (base) => {
      // One behind an address of one's own would need no key.
      const fetch_ = (url, init) => fetch(`${base}${new URL(url.url ?? url).pathname}`, init);
      await ws.configureAgent({ providers: { late: { kind: "anthropic", model: "claude-late", fetch: fetch_ } } });
      const { status } = await s.launch({ id: "a", provider: "late" });
      const waits = s.prompt("a", "Hello?");
      const starting = await Promise.race([waits, s.status("a")]);
      await ws.keys.set("late", "sk-ant-late-0123456789");
      const waited = await ws.wait((await waits).runId);
      const { session } = await s.status("a");
      return T.plain({ status, starting: starting.session.status, waited, session, events: (await s.events("a")).map((e) => e.event_type) });
    }, late.base);
    assert.deepEqual([seen.status, seen.starting, seen.waited.outcome], ["starting", "starting", "completed"]);
    assert.deepEqual([seen.session.status, seen.session.provider_id], ["idle", "late"]);
    assert.deepEqual(seen.events, ["launched", "started", "prompt_received", "run_completed"]);
    assert.equal(late.requests[0].headers["x-api-key"], "sk-ant-late-0123456789");
    assert.equal(late.requests[0].json.model, "claude-late");
  });

  test("a session is removed, brought back, and removed for good: nothing is left of it", async (t) => {
    const { page } = await started(t, message("Done."));
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a_session_to_go" });
      await says("a_session_to_go", "Remember the word.");
      await s.remove("a_session_to_go");
      const gone = [await code(s.status("a_session_to_go")), await code(ws.history({ sessionId: "a_session_to_go" }))].map((one) => one.code);
      const listed = (await s.list()).map((one) => one.id);
      const back = await ws.invoke("session_undo_remove", { id: "a_session_to_go" });
      const history = (await ws.history({ sessionId: "a_session_to_go" })).length;
      await ws.invoke("session_remove", { id: "a_session_to_go" });
      await ws.stopAgent();
      return T.plain({ gone, listed, back: back.status, history });
    });
    assert.deepEqual(seen, { gone: ["session_not_found", "session_not_found"], listed: ["default"], back: "idle", history: 2 });
    assert.ok(await rowsOf(page, "a_session_to_go") > 0);
    // Ten seconds are there for the undo.
    while (await rowsOf(page, "a_session_to_go") > 0) await page.waitForTimeout(100);
    assert.equal((await page.evaluate(async () => code(s.undoRemove("a_session_to_go")))).code, "session_not_found");
  });

  test("one task without a session, and a run read by its id", async (t) => {
    const { page, route } = await started(t, message("Sorted."), message("Done."));
    const seen = await page.evaluate(async () => {
      const once = await s.runOnce("Sort the shelves.");
      await s.launch({ id: "a" });
      const { runId } = await says("a", "Hi.");
      const { session } = await s.status("a");
      return T.plain({ once, runId, task: session.active_task_id, byRun: await s.task(runId), byTask: await ws.invoke("session_task", { id: session.active_task_id }), listed: (await s.list()).map((one) => one.id), none: await code(s.task("run_none")) });
    });
    const { once } = seen;
    assert.deepEqual([once.text, once.run.status, once.handoff.status], ["Sorted.", "completed", "completed"]);
    assert.deepEqual(once.run.receipt_ids, once.receipts.map((receipt) => receipt.id));
    assert.deepEqual(seen.byRun, seen.byTask);
    assert.deepEqual([seen.byRun.id, seen.byRun.task_id, seen.byRun.phase, seen.byRun.outputs.length], [seen.runId, seen.task, "stop", 1]);
    assert.deepEqual([seen.listed.sort(), seen.none.code], [["a", "default"], "record_not_found"]);
    await reload(t, page, route.base);
    assert.equal(await page.evaluate(async (id) => (await s.task(id)).status, once.run.id), "completed");
  });
}

function operators(test) {
  test("an operator who is not the owner reads and changes nothing; nobody does neither", async (t) => {
    const { page } = await started(t, message("Done."));
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi.");
      await ws.setOperator({ subject: "bob" });
      const refused = {};
      for (const [name, call] of Object.entries({ prompt: () => s.prompt("a", "Hi."), send: () => ws.sendMessage("Hi.", { sessionId: "a" }), stop: () => s.stop("a"), rename: () => s.rename("a", "b"), recover: () => s.recover("a", { action: "resume" }), clear: () => ws.clearConversation("a"), exit: () => s.prompt("a", "exit") })) refused[name] = (await code(call()))?.code;
      const read = [(await ws.history({ sessionId: "a" })).length, (await s.status("a")).session.status, (await s.events("a")).length];
      await ws.setOperator(null);
      const nobody = await Promise.all([s.list(), s.launch(), s.status("a"), ws.history({ sessionId: "a" }), ws.sendMessage("Hi."), s.events("a")].map(code));
      await ws.setOperator({ subject: "ann", issuer: "https://login.example", expiresAt: Date.now() - 1 });
      const expired = await code(s.list());
      return T.plain({ refused, read, nobody, expired });
    });
    assert.deepEqual(seen.refused, Object.fromEntries(Object.keys(seen.refused).map((name) => [name, "permission_denied"])));
    assert.deepEqual(seen.read, [2, "idle", 3]);
    for (const one of seen.nobody) assert.deepEqual(one, { code: "operator_required", message: "active operator session required" });
    assert.deepEqual(seen.expired, { code: "operator_required", message: "the operator session has expired" });
  });

  test("a view keeps what it shows over a start, and shows nothing when its operator's time is over", async (t) => {
    const { page, route } = await started(t, message("Done."));
    await page.evaluate(async () => { await s.launch({ id: "a" }); await says("a", "Hi."); });
    await reload(t, page);
    const seen = await page.evaluate(async (base) => {
      const until = (view, is) => new Promise((resolve) => {
        const look = (snapshot) => is(snapshot) && resolve([snapshot.status, snapshot.messages.length, snapshot.error?.code]);
        view.subscribe(look);
        look(view.getSnapshot());
      });
      const view = ws.view("a");
      const before = await until(view, ({ messages }) => messages.length === 2);
      await ws.startAgent({ provider: T.anthropic(base) });
      const started = await until(view, ({ status }) => status === "ready");
      await ws.setOperator({ subject: "ann", issuer: "https://login.example", expiresAt: Date.now() + 50 });
      const over = await until(view, ({ error }) => error);
      return T.plain({ before, started, over });
    }, route.base);
    assert.deepEqual(seen, { before: ["stopped", 2, null], started: ["ready", 2, null], over: ["error", 0, "operator_required"] });
  });

  test("an operator that is none opens nothing", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const tried = (operator) => lodger.openWorkspace("desk", { operator }).then(() => "opened", ({ code }) => code);
      return [await tried({ subject: "" }), await tried({ name: "ann" }), await tried("ann"), await tried({ subject: "ann" })];
    });
    assert.deepEqual(seen, ["invalid_arguments", "invalid_arguments", "invalid_arguments", "opened"]);
  });
}

export function lost(test) {
  test("a second tab sees a run that works as it is, and as lost when its page has gone", async (t) => {
    const hold = gate();
    const { page } = await started(t, stream(message("One two three.").slice(0, 4), hold, []));
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      const said = new Promise((heard) => ws.addEventListener("agent:message-chunk", heard, { once: true }));
      await s.prompt("a", "Count.");
      await said;
    });
    const other = await t.tab();
    await begin(other);
    const look = () => other.evaluate(async () => {
      const of = ({ status, pid }) => [status, pid];
      const { session, hmac_status } = await s.status("a");
      return T.plain({ status: of(session), listed: of((await s.list()).find(({ id }) => id === "a")), hmac_status, message: (await ws.history({ sessionId: "a" })).at(-1).status });
    });
    const working = { status: ["running", "1"], listed: ["running", "1"], hmac_status: "verified", message: "partial" };
    assert.deepEqual(await look(), working);
    await page.close();
    const lost = { status: ["failed", null], listed: ["failed", null], hmac_status: "verified", message: "partial" };
    // The browser lets a lock go a little after its page.
    let seen;
    while ((seen = await look()).status[0] !== "failed") await other.waitForTimeout(100);
    assert.deepEqual(seen, lost);
    hold.open();
  });

  for (const action of ["resume", "reconnect"]) {
    test(`a run that its page left: failed with a stale note, then ${action}`, async (t) => {
      const hold = gate();
      const { page, route } = await started(t, stream(message("One two three.").slice(0, 4), hold, []), message("Here again."));
      const runId = await page.evaluate(async () => {
        await s.launch({ id: "a" });
        return (await s.prompt("a", "Count.")).runId;
      });
      await route.request(1);
      await reload(t, page);
      const cold = await page.evaluate(async () => T.plain((await s.status("a")).session));
      assert.deepEqual([cold.status, cold.pid, cold.recovery_metadata.recovery_reason], ["failed", null, "stale_pid"]);
      await reload(t, page, route.base);
      hold.open();
      const seen = await page.evaluate(async ([action, runId]) => {
        const { session } = await s.status("a");
        const refused = await code(s.prompt("a", "Hi."));
        const recovered = await s.recover("a", { action });
        if (action === "resume") await ws.resume(runId);
        const waited = await ws.wait(runId);
        return T.plain({ session, refused, recovered, waited, idle: (await s.status("a")).session.status });
      }, [action, runId]);
      assert.equal(seen.session.supervision_notes.at(-1), "Persistent agent recovery required: stale pid.");
      assert.equal(seen.session.recovery_metadata.recommended_action, "reconnect session process, then resume");
      assert.equal(seen.refused.code, "invalid_transition");
      assert.equal(seen.recovered.status, action === "resume" ? "idle" : "running");
      assert.deepEqual([seen.waited.outcome, seen.waited.runId, seen.idle], ["completed", runId, "idle"]);
    });
  }

  test("a provider that refuses the key makes the session auth_expired, with what to do", async (t) => {
    const refuse = plain(401, JSON.stringify({ type: "error", error: { type: "authentication_error", message: "invalid x-api-key token=sk-secret-123456" } }));
    const { page } = await started(t, refuse, refuse, message("Well."));
    const seen = await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi.");
      const { session } = await s.status("a");
      const refused = await code(s.prompt("a", "Again."));
      const recovered = await s.recover("a", { action: "resume" });
      return T.plain({ session, refused, recovered });
    });
    assert.equal(seen.session.status, "auth_expired");
    assert.equal(seen.session.recovery_metadata.recommended_action, "reauthenticate provider credentials, then resume");
    assert.ok(!JSON.stringify(seen.session).includes("sk-secret"));
    assert.equal(seen.refused.code, "invalid_transition");
    assert.equal(seen.recovered.status, "idle");
  });
}

/** Changes a row of the database behind the package's back; `change` is a function's text. */
const edit = (page, table, change) => page.evaluate(async ([table, change]) => {
  await ws.close();
  const open = indexedDB.open("lodger:desk");
  const database = await new Promise((resolve, reject) => { open.onsuccess = () => resolve(open.result); open.onerror = reject; });
  const transaction = database.transaction(table, "readwrite");
  const store = transaction.objectStore(table);
  await new Promise((resolve, reject) => {
    const change_ = (0, eval)(`(${change})`);
    store.openCursor().onsuccess = ({ target: { result: cursor } }) => {
      if (!cursor) return;
      if (cursor.key[0] === "a") {
        const changed = change_(cursor.value, cursor.key);
        if (changed === null) cursor.delete();
        else if (changed !== undefined) cursor.update(changed);
      }
      cursor.continue();
    };
    transaction.oncomplete = resolve;
    transaction.onabort = reject;
  });
  database.close();
}, [table, String(change)]);

function tampering(test) {
  const cases = {
    record: ["heads", (row) => row.replace('"provider_id":"anthropic"', '"provider_id":"provider_tampered"')],
    content: ["entries", (row) => row.replace("Hi there", "Ho there")],
    header: ["entries", (row) => row.replace('"kind":"called"', '"kind":"resumed"')],
    tail: ["entries", (row, [, seq]) => (seq > 6 ? null : undefined)],
  };
  for (const [what, [table, change]] of Object.entries(cases)) {
    test(`tampering with the ${what} is seen, and believed by nothing`, async (t) => {
      const { page, route } = await started(t, message("Done."));
      await page.evaluate(async () => {
        await s.launch({ id: "a" });
        await says("a", "Hi there.");
      });
      await edit(page, table, change);
      await reload(t, page, route.base);
      const seen = await page.evaluate(async () => T.plain({ status: await s.status("a"), listed: (await s.list({ withVerification: true })).map((one) => [one.session.id, one.hmac_status]), list: (await s.list()).map((one) => [one.id, !!one.damaged]), history: await ws.history({ sessionId: "a" }).catch(({ code, message }) => ({ code, message })), prompt: await code(s.prompt("a", "More.")) }));
      assert.equal(seen.status.hmac_status, "tampered");
      assert.equal(seen.prompt.code, "corrupt");
      // What is whole is told, with a mark where it is not; where a head was changed, that is the end.
      assert.ok(seen.history.some(({ role, status }) => role === "system" && status === "damaged"), JSON.stringify(seen.history));
      assert.doesNotMatch(JSON.stringify(seen.history), /Ho there/);
      assert.deepEqual(seen.list.sort(), [["a", true], ["default", false]]);
      if (what === "record") {
        const invalid = { code: "corrupt", message: "stored agent session state has invalid HMAC: a" };
        assert.equal(seen.status.session.provider_id, "provider_tampered", "shown as it is stored");
        assert.deepEqual(seen.prompt, invalid);
        assert.equal(seen.history.at(-1).status, "damaged");
        assert.deepEqual(seen.listed.sort(), [["a", "tampered"], ["default", "verified"]]);
      }
      assert.equal(route.requests.length, 1, "nothing was sent");
    });
  }

  test("rows that changed places are seen", async (t) => {
    const { page, route } = await started(t, message("Done."));
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi there.");
      await ws.close();
      const open = indexedDB.open("lodger:desk");
      const database = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
      const transaction = database.transaction("entries", "readwrite");
      const store = transaction.objectStore("entries");
      const get = (seq) => new Promise((resolve) => { store.get(["a", seq]).onsuccess = ({ target }) => resolve(target.result); });
      const rows = [await get(3), await get(4)];
      store.put(rows[0], ["a", 4]);
      store.put(rows[1], ["a", 3]);
      await new Promise((resolve) => { transaction.oncomplete = resolve; });
      database.close();
    });
    await reload(t, page, route.base);
    // Each row says which one it is, so nothing of the conversation is lost.
    const seen = await page.evaluate(async () => T.plain({ status: (await s.status("a")).hmac_status, history: (await ws.history({ sessionId: "a" })).map(T.textOf), page: (await ws.history({ sessionId: "a", limit: 1 })).map(T.textOf), prompt: (await code(s.prompt("a", "More."))).code }));
    assert.deepEqual(seen, { status: "tampered", history: ["Hi there.", "Done."], page: ["Done."], prompt: "corrupt" });
  });

  test("an event that was changed is not told", async (t) => {
    const { page, route } = await started(t, message("Done."));
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi there.");
    });
    await edit(page, "entries", (row) => row.replace('"event_type":"launched"', '"event_type":"lunched"'));
    await reload(t, page, route.base);
    const seen = await page.evaluate(async () => code(s.events("a")));
    assert.equal(seen.code, "corrupt");
    assert.match(seen.message, /^stored agent session event has invalid HMAC: agent_event_[0-9a-f]{24}$/);
  });

  test("without the key nothing can be said", async (t) => {
    const { page, route } = await started(t, message("Done."), message("More."));
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi there.");
      await ws.close();
      const open = indexedDB.open("lodger:desk");
      const database = await new Promise((resolve) => { open.onsuccess = () => resolve(open.result); });
      const transaction = database.transaction("vault", "readwrite");
      transaction.objectStore("vault").delete(1);
      await new Promise((resolve) => { transaction.oncomplete = resolve; });
      database.close();
    });
    await reload(t, page);
    assert.equal(await page.evaluate(async () => (await s.status("a")).hmac_status), "unverifiable");
    // It goes on, and what is signed with a new key from here on does not make it good.
    await reload(t, page, route.base);
    const seen = await page.evaluate(async () => T.plain({ waited: await says("a", "More."), status: await s.status("a"), other: (await s.launch({ id: "b" })).id }));
    assert.deepEqual([seen.waited.outcome, seen.status.hmac_status], ["completed", "unverifiable"]);
    await reload(t, page);
    assert.deepEqual(await page.evaluate(async () => [(await s.status("a")).hmac_status, (await s.status("b")).hmac_status]), ["unverifiable", "verified"]);
  });

  test("content that was blanked is not taken for a clearing, and what was changed can be removed", async (t) => {
    const { page, route } = await started(t, message("Done."));
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await says("a", "Hi there.");
    });
    // A row's lines: what it is, its content, the content's hash, the hash of all.
    await edit(page, "entries", (row) => (row.includes("Hi there") ? row.split("\n").toSpliced(1, 1, "").join("\n") : undefined));
    await reload(t, page, route.base);
    const seen = await page.evaluate(async () => {
      const marked = async (options) => (await ws.history({ sessionId: "a", ...options })).some(({ status }) => status === "damaged");
      return T.plain({ status: (await s.status("a")).hmac_status, history: await marked(), page: await marked({ limit: 2 }), next: await marked({ limit: 1, before: (await ws.history({ sessionId: "a", limit: 1 }))[0].id }) });
    });
    assert.deepEqual(seen, { status: "tampered", history: true, page: true, next: true });
    const after = await page.evaluate(async () => { await s.remove("a"); return T.plain({ gone: (await code(s.status("a"))).code, listed: (await s.list()).map(({ id }) => id) }); });
    assert.deepEqual(after, { gone: "session_not_found", listed: ["default"] });
  });
}
