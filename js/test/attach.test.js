import assert from "node:assert/strict";
import { test } from "node:test";
import { attach } from "../client/attach.js";
import { open, refuse, rejection, turns } from "./fake-host.js";

/** A journal that grows, and its reader. */
function journal(rows = 0) {
  const followers = new Set();
  const it = {
    rows,
    pages: [], // the size of each page that was read
    followers,
    grows(n) {
      it.rows += n;
      for (const grown of [...followers]) grown(it.rows);
    },
    read: async (from, limit) => {
      const page = Array.from({ length: Math.max(0, Math.min(limit, it.rows - from + 1)) }, (_, i) => ({ seq: from + i }));
      it.pages.push(page.length);
      return page;
    },
    follow: (grown) => (followers.add(grown), () => followers.delete(grown)),
    attach: (options = {}) => attach("a", options, (...args) => it.read(...args), it.follow),
  };
  return it;
}

const take = async (entries, n) => {
  const seen = [];
  while (seen.length < n) seen.push((await entries.next()).value.seq);
  return seen;
};
const span = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test("what is retained, then what comes, each once and in order", async () => {
  const it = journal(3);
  const entries = it.attach();
  assert.deepEqual(await take(entries, 3), [1, 2, 3]);
  const next = take(entries, 2);
  await turns();
  it.grows(1);
  it.grows(1);
  assert.deepEqual(await next, [4, 5]);
});

// Ours (level C of the origins' tests): two viewers with different offsets.
test("each reader has its own place, and a slow one has a page in memory and no more", async () => {
  const it = journal(600);
  const [fast, slow] = [it.attach(), it.attach({ from: 598 })];
  assert.deepEqual(await take(slow, 1), [598]);
  assert.deepEqual(await take(fast, 600), span(1, 600));
  it.grows(1_000);
  assert.deepEqual(await take(fast, 1_000), span(601, 1_600));
  const pages = it.pages.length;
  await turns();
  assert.equal(it.pages.length, pages, "nothing is read for a reader that does not ask");
  assert.deepEqual(await take(slow, 1_002), span(599, 1_600));
  assert.ok(Math.max(...it.pages) <= 256);
});

test("an entry that is written while a page is read is not missed", async () => {
  const it = journal(1);
  const read = it.read;
  it.read = async (...args) => {
    const page = await read(...args);
    if (it.pages.length === 2) it.grows(1);
    return page;
  };
  assert.deepEqual(await take(it.attach(), 2), [1, 2]);
});

for (const how of ["signal", "return"]) {
  test(`leaving ends it at once, also in the middle of a wait (${how})`, async () => {
    const it = journal(1);
    const leave = new AbortController();
    const entries = it.attach({ signal: leave.signal });
    await entries.next();
    const waiting = [entries.next(), entries.next()];
    await turns();
    assert.equal(it.followers.size, 1);
    if (how === "signal") leave.abort();
    else assert.deepEqual(await entries.return(), { done: true, value: undefined });
    assert.deepEqual(await Promise.all(waiting), Array(2).fill({ done: true, value: undefined }));
    assert.deepEqual(await entries.next(), { done: true, value: undefined });
    assert.equal(it.followers.size, 0);
  });
}

test("a signal that was aborted before reads nothing", async () => {
  const it = journal(1);
  assert.equal((await it.attach({ signal: AbortSignal.abort() }).next()).done, true);
  assert.deepEqual([it.pages, it.followers.size], [[], 0]);
});

test("a session that goes away ends it with an error; one that was never there says so", async () => {
  const it = journal(1);
  const missing = () => Promise.reject(Object.assign(new Error("unknown agent session: a"), { code: "session_not_found" }));
  const entries = it.attach();
  await entries.next();
  const waiting = entries.next();
  await turns();
  it.read = missing;
  it.grows(1);
  const error = await rejection(waiting);
  assert.deepEqual([error.name, error.code, error.message], ["LodgerError", "session_not_found", "agent a was removed during attach"]);
  assert.equal((await entries.next()).done, true);
  assert.equal((await rejection(it.attach().next())).message, "no active session for agent a");
  assert.equal(it.followers.size, 0);
});

for (const mode of ["direct", "port"]) {
  test(`the host is asked for growth once, and told when nobody follows any more [${mode}]`, async (t) => {
    const rows = [{ seq: 1 }];
    const opened = await open(mode, { "sessions.attach": () => {}, "sessions.journal": ({ from, limit }) => rows.slice(from - 1, from - 1 + limit) });
    t.after(() => opened.end());
    const { workspace, host } = opened;
    const [one, two] = [workspace.sessions.attach("a"), workspace.sessions.attach("a")];
    assert.deepEqual([await one.next(), await two.next()].map(({ value }) => value.seq), [1, 1]);
    const next = [one.next(), two.next()];
    await turns();
    rows.push({ seq: 2 });
    host.deliver({ t: "grown", sessionId: "a", seq: 2 });
    assert.deepEqual((await Promise.all(next)).map(({ value }) => value.seq), [2, 2]);
    await one.return();
    await turns();
    assert.deepEqual(host.commandsSent("sessions.attach"), [{ id: "a", on: true }]);
    const closed = two.next();
    await turns();
    await workspace.close();
    assert.equal((await rejection(closed)).code, "workspace_closed");
    for (const [name, meant] of [["frm", "from"], ["form", "from"], ["fromSeq", "from"], ["sginal", "signal"], ["abortSignal", "signal"], ["to", undefined], ["since", undefined]]) {
      const error = await rejection(Promise.resolve().then(() => workspace.sessions.attach("a", { [name]: 1 })));
      assert.deepEqual([error.code, error.hint], ["invalid_arguments", `${meant ? `Write "${meant}". ` : ""}It knows: from, signal.`], name);
    }
  });

  test(`"all" is each session that is meant, by itself [${mode}]`, async (t) => {
    const state = (id, more) => ({ session: { id, status: "idle", recovery_metadata: {}, ...more }, hmac_status: id === "forged" ? "tampered" : "verified" });
    const stale = { status: "failed", recovery_metadata: { recovery_reason: "stale_pid" } };
    const opened = await open(mode, {
      "sessions.list": ({ withVerification }) => withVerification && [state("default"), state("mine", { suspended: true }), state("lost", stale), state("bobs", { suspended: true }), state("failed", { status: "failed", recovery_metadata: {} }), state("forged", { suspended: true })],
      "sessions.bench": ({ id }) => (id === "bobs" ? refuse("permission_denied") : { suspended: id === "mine" ? [id] : [] }),
      "sessions.play": ({ id }) => (id === "bobs" ? refuse("permission_denied") : id === "default" ? refuse("invalid_transition") : { id }),
    });
    t.after(() => opened.end());
    const { workspace, host } = opened;
    assert.deepEqual(await workspace.invoke("session_bench", { target: "all" }), { suspended: ["mine"] });
    assert.deepEqual(await workspace.invoke("session_play", { target: "all" }), [{ id: "mine" }, { id: "lost" }]);
    assert.deepEqual(host.commandsSent("sessions.play").map(({ id }) => id), ["default", "mine", "lost", "bobs"]);
    assert.equal((await rejection(workspace.sessions.play("default"))).code, "invalid_transition");
    assert.deepEqual(await workspace.sessions.play("mine"), [{ id: "mine" }]);
  });

  test(`output comes as bytes, also from the middle of a letter [${mode}]`, async (t) => {
    const opened = await open(mode, { "sessions.output": () => ({ text: "öne", before: 1, offset: 9 }) });
    t.after(() => opened.end());
    const { data, offset } = await opened.workspace.sessions.output("a", { from: 6 });
    assert.deepEqual([[...data], offset], [[0xb6, 0x6e, 0x65], 9]);
  });
}
