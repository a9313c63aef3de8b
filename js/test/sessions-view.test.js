import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionsView } from "../client/sessions-view.js";
import { keepSeen, seenKey, share, Store } from "../client/view.js";
import { errorInfo } from "../protocol/error.js";
import { turns } from "./fake-host.js";

const at = (second) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString().replace(".000Z", "Z");
const state = (id, more) => ({ id, display_name: null, title: id, status: "idle", pid: null, recovery_metadata: {}, updated_at: at(0), last_activity_at: at(0), ...more });

/** A store of it, as a workspace has one. */
function stored(workspace, options) {
  const store = new Store();
  const view = new SessionsView(workspace, { ...options, changed: () => store.changed() }, { share, errorInfo, keepSeen });
  store.make = () => view.snapshot();
  return Object.assign(store, { look: (id) => view.look(id), again: () => view.again() });
}

/** A view over sessions that the test changes. */
async function view(sessions, { shown = [], lasting = false } = {}) {
  const workspace = Object.assign(new EventTarget(), { name: "w" });
  const asked = [];
  const verdict = (session) => ({ session, hmac_status: session.verdict ?? "verified" });
  const ask = async (name, args) => {
    asked.push(args?.id ?? name);
    if (name === "list") return [...sessions.values()].map(verdict);
    if (!sessions.has(args.id)) throw Object.assign(new Error("unknown"), { code: "session_not_found" });
    return verdict(sessions.get(args.id));
  };
  const view = stored(workspace, { ask, shown: () => shown, key: lasting ? seenKey("w") : undefined });
  const tell = (type, detail) => workspace.dispatchEvent(Object.assign(new Event(`agent:${type}`), { detail }));
  const of = (id) => view.getSnapshot().sessions.find((item) => item.id === id);
  await turns();
  return { view, asked, tell, of, sessions, set: (...all) => all.forEach((one) => sessions.set(one.id, one)) };
}

const all = (...list) => new Map(list.map((one) => [one.id, one]));

test("how a session stands, in one word", async () => {
  const failed = (status, recovery_reason) => ({ status, recovery_metadata: { recovery_reason } });
  const cases = [
    ["idle", {}], ["idle", { status: "running" }], ["working", { status: "running", pid: "1" }], ["waiting", { status: "running", pid: "1", waiting: true }],
    ["held", { held: true }], ["held", { ...failed("failed", "stale_pid"), waiting: true }], ["failed", failed("failed", "stale_endpoint")], ["failed", failed("auth_expired", "auth_expired")],
    ["failed", failed("provider_unavailable")], ["failed", failed("sandbox_failed")], ["starting", { status: "starting" }], ["stopping", { status: "stopping" }], ["stopped", { status: "stopped" }],
    ["benched", { suspended: true, held: true }], ["archived", { archived: at(1) }], ["damaged", { damaged: { seq: 1, why: "" } }], ["damaged", { verdict: "tampered" }],
    ["working", { status: "running", pid: "1", verdict: "tampered" }],
  ];
  const { view: it } = await view(all(...cases.map(([, more], n) => state(`s${String(n).padStart(2, "0")}`, more))));
  const { status, sessions } = it.getSnapshot();
  assert.equal(status, "ready");
  assert.deepEqual(sessions.map(({ activity }) => activity), cases.map(([activity]) => activity));
  assert.deepEqual(sessions.filter(({ needsYou }) => needsYou).map(({ id }) => id), ["s03"]);
});

test("what it is called, and the order", async () => {
  const { view: it } = await view(all(state("a"), state("b", { title: "First words", updated_at: at(2) }), state("c", { title: "Words", display_name: "Name", updated_at: at(1) })));
  assert.deepEqual(it.getSnapshot().sessions.map(({ title }) => title), ["First words", "Name", "a"]);
});

test("a session is read again when something has happened to it, and no other", async () => {
  const { view: it, asked, tell, of, set, sessions } = await view(all(state("a"), state("b")));
  assert.deepEqual(asked, ["list"]);
  const seen = [];
  it.subscribe((snapshot) => seen.push(snapshot));
  const before = [of("a"), of("b")];
  set(state("a", { display_name: "A", updated_at: at(1) }));
  for (const change of ["renamed", "stopped"]) tell("session-changed", { sessionId: "a", change });
  await turns();
  assert.deepEqual(asked, ["list", "a"], "once for several in a row");
  assert.equal(of("a").title, "A");
  assert.equal(of("b"), before[1], "what did not change is the same");
  assert.equal(before[0].title, "a", "what was given stays as it was");
  assert.equal(seen.length, 2);
  tell("session-changed", { sessionId: "b", change: "renamed" });
  await turns();
  assert.equal(it.getSnapshot(), seen.at(-1), "nothing has changed");
  sessions.delete("a");
  tell("session-changed", { sessionId: "a", change: "removed" });
  set(state("c", { updated_at: at(3) }));
  tell("session-changed", { sessionId: "c", change: "launched" });
  tell("session-changed", { sessionId: "once_1", change: "launched" });
  await turns();
  assert.deepEqual(it.getSnapshot().sessions.map(({ id }) => id), ["c", "b"]);
});

test("a run, and a question in it", async () => {
  const { tell, of, set } = await view(all(state("a", { status: "running" })));
  tell("lifecycle", { sessionId: "a", phase: "start" });
  assert.equal(of("a").activity, "working");
  tell("permission-required", { sessionId: "a", requestId: "r1" });
  tell("permission-required", { sessionId: "a", requestId: "r2" });
  tell("permission-resolved", { sessionId: "a", requestId: "r1" });
  assert.deepEqual([of("a").activity, of("a").needsYou], ["waiting", true]);
  tell("permission-resolved", { sessionId: "a", requestId: "r2" });
  assert.equal(of("a").activity, "working");
  // What a delegate does is its run's.
  tell("lifecycle", { sessionId: "a", phase: "end", parentRunId: "run_0" });
  assert.equal(of("a").activity, "working");
  set(state("a", { status: "running", pid: "1", waiting: true }));
  tell("status-changed", { lifecycle: "Suspended" });
  await turns();
  assert.equal(of("a").activity, "waiting", "a call that was handed to the page");
  set(state("a"));
  tell("tool-call", { sessionId: "a", status: "completed" });
  tell("lifecycle", { sessionId: "a", phase: "end" });
  await turns();
  assert.deepEqual([of("a").activity, of("a").needsYou], ["idle", false]);
});

test("what was said since a person looked is unread, until one looks", async () => {
  const later = new Date(Date.now() + 60_000).toISOString();
  const shown = [];
  const { view: it, tell, of, set } = await view(all(state("a"), state("b")), { shown });
  assert.equal(of("a").unread, false, "what was there before is not new");
  tell("lifecycle", { sessionId: "a", phase: "start" });
  set(state("a", { last_activity_at: later }), state("b", { last_activity_at: at(1) }));
  await turns();
  assert.equal(of("a").unread, false, "it is not over");
  tell("lifecycle", { sessionId: "a", phase: "end" });
  tell("session-changed", { sessionId: "b", change: "renamed" });
  await turns();
  assert.deepEqual([of("a").unread, of("b").unread], [true, false]);
  for (const [more, unread] of [[{ title: undefined }, false], [{ held: true }, false], [{ status: "stopped" }, true]]) {
    set(state("b", { last_activity_at: later, ...more }));
    tell("session-changed", { sessionId: "b", change: "stopped" });
    await turns();
    assert.equal(of("b").unread, unread, JSON.stringify(more));
  }
  set(state("b"));
  tell("session-changed", { sessionId: "b", change: "renamed" });
  await turns();
  const now = Date.now;
  Date.now = () => now() + 120_000;
  try {
    it.look("a");
    assert.equal(of("a").unread, false, "the page says so");
    set(state("a", { last_activity_at: new Date(Date.now() + 60_000).toISOString() }));
    tell("session-changed", { sessionId: "a", change: "renamed" });
    await turns();
    assert.equal(of("a").unread, true);
    Date.now = () => now() + 240_000;
    shown.push("a");
    tell("lifecycle", { sessionId: "b", phase: "end" });
    assert.equal(of("a").unread, false, "it is shown");
  } finally {
    Date.now = now;
  }
});

test("a session that is called like a member of every object is unread like others", async () => {
  const names = ["constructor", "toString", "__proto__"];
  const { tell, of, set } = await view(all(...names.map((id) => state(id))));
  const later = new Date(Date.now() + 60_000).toISOString();
  set(...names.map((id) => state(id, { last_activity_at: later })));
  for (const sessionId of names) tell("session-changed", { sessionId, change: "stopped" });
  await turns();
  assert.deepEqual(names.map((id) => of(id).unread), [true, true, true]);
});

test("what was seen is kept over a reload, where the page can keep it", async () => {
  const kept = new Map();
  globalThis.localStorage = { get length() { return kept.size; }, key: (n) => [...kept.keys()][n] ?? null, getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, String(value)) };
  try {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const sessions = all(state("a", { last_activity_at: soon }), state("b", { last_activity_at: soon }));
    const first = await view(sessions, { lasting: true });
    assert.deepEqual([first.of("a").unread, first.of("b").unread], [true, true]);
    const now = Date.now;
    Date.now = () => now() + 120_000;
    first.view.look("a");
    Date.now = now;
    const second = await view(sessions, { lasting: true });
    assert.deepEqual([second.of("a").unread, second.of("b").unread], [false, true]);
    // A removal takes what is kept; undone, it is kept again.
    kept.delete("lodger:seen:w:a");
    second.tell("session-changed", { sessionId: "a", change: "restored" });
    assert.ok(kept.has("lodger:seen:w:a"));
    const third = await view(sessions);
    assert.equal(third.of("a").unread, true, "this one keeps nothing");
    for (const key of kept.keys()) kept.set(key, "{");
    assert.equal((await view(sessions, { lasting: true })).of("a").unread, true, "what nobody can read counts for nothing");
  } finally {
    delete globalThis.localStorage;
  }
});

test("a list that cannot be read is told, and read again", async () => {
  const workspace = Object.assign(new EventTarget(), { name: "w" });
  let fails = true;
  const ask = async () => {
    if (fails) throw Object.assign(new Error("no operator"), { code: "operator_required", retryable: false });
    return [{ session: state("a"), hmac_status: "verified" }];
  };
  const it = stored(workspace, { ask, shown: () => [] });
  assert.deepEqual(it.getSnapshot(), { status: "loading", sessions: [] });
  await turns();
  assert.deepEqual([it.getSnapshot().status, it.getSnapshot().error.code], ["error", "operator_required"]);
  fails = false;
  it.again();
  it.again();
  await turns();
  assert.deepEqual([it.getSnapshot().status, it.getSnapshot().sessions.length, it.getSnapshot().error], ["ready", 1, undefined]);
});
