// Titles that a model gives: what of its words is one, and when a session is asked about.
import assert from "node:assert/strict";
import { test } from "node:test";
import { titled, titleIn } from "../client/title.js";

test("a title is the first line, without what stands around it", () => {
  for (const [text, title] of [
    ["Kettles for tea.", "Kettles for tea"],
    ["\n\"A good kettle\"\n\nIt is about kettles.", "A good kettle"],
    ["# Title: **Wasserkocher**", "Wasserkocher"],
    ["„Grüner Tee“", "Grüner Tee"],
    ["お茶", "お茶"],
    ["a\u202Eb\tc", "a b c"],
    ["x".repeat(90), `${"x".repeat(80)}…`],
    ["", ""],
    [" \n ", ""],
  ]) assert.equal(titleIn(text), title, JSON.stringify(text));
});

const settled = () => new Promise((done) => setTimeout(done, 5));

const message = (role, text, status = "complete") => ({ role, status, runId: "run_1", parts: [{ type: "text", text }] });

/** A workspace in which each session has this conversation. `listed`: the sessions of an earlier page; `theirs`: that somebody else has. */
function desk({ history, state = {}, says = "A title", holds = true, listed = [], theirs = [] }) {
  const ws = new EventTarget();
  const seen = { asked: [], named: [], erased: [], read: [] };
  ws.history = async ({ sessionId, limit }) => { seen.read.push(sessionId); return history.slice(-limit); };
  const session = () => ({ display_name: null, ...state });
  const here = { is: holds };
  ws.sessions = {
    list: async () => listed,
    configure: async (id, config) => { assert.deepEqual(config, {}); if (theirs.includes(id)) throw new Error("permission_denied"); return session(); },
    status: async () => ({ session: session() }),
    runOnce: async (text, options) => { seen.asked.push(options); if (says instanceof Error) throw says; return { text: await says, run: { policy_envelope_id: "policy_once_7" } }; },
    remove: async (id) => void seen.erased.push(id),
    rename: async (id, name, made) => void seen.named.push([id, name, made]),
  };
  const stop = titled(ws, () => here.is);
  const changes = (sessionId, change) => ws.dispatchEvent(Object.assign(new Event("agent:session-changed"), { detail: { sessionId, change } }));
  const ends = async (sessionId) => {
    ws.dispatchEvent(Object.assign(new Event("agent:session-completed"), { detail: { sessionId } }));
    await settled();
  };
  /** The agent runs in this tab from here on. */
  const begins = async (by = "agent:status-changed") => {
    here.is = true;
    ws.dispatchEvent(new Event(by));
    await settled();
  };
  return { ends, changes, begins, stop, seen };
}

const first = [message("user", "Find a kettle"), message("assistant", "Here.")];

test("a session is asked about once, by its own provider, without tools", async () => {
  const { ends, seen } = desk({ history: first, state: { config: { provider: "spare", model: "m", temperature: 1 } } });
  await ends("a");
  await ends("a");
  assert.deepEqual(seen.named, [["a", "A title", { of: "run_1" }]]);
  assert.equal(seen.asked.length, 1);
  const { context, instructions, signal, ...rest } = seen.asked[0];
  assert.match(context, /Find a kettle[^]*Here\./);
  assert.match(instructions, /title alone/);
  assert.deepEqual(rest, { tools: [], serverTools: [], keep: false, provider: "spare", model: "m" });
});

test("a conversation is asked about after its first answer, also where a run failed or was stopped before", async () => {
  const failed = [message("user", "Find a kettle"), message("assistant", "", "failed")];
  for (const before of [failed, [...failed, message("user", "Again"), message("assistant", "He", "interrupted")]]) {
    for (const history of [[...before, message("assistant", "Here.")], [...before, message("user", "Please"), message("assistant", "Here.")]]) {
      const { ends, seen } = desk({ history });
      await ends("a");
      assert.deepEqual([seen.asked.length, seen.named], [1, [["a", "A title", { of: "run_1" }]]]);
      assert.match(seen.asked[0].context, /Find a kettle[^]*Here\./);
    }
  }
});

test("a name stays, later answers and tasks ask nothing, another tab asks, and a failure is no trouble", async () => {
  for (const [what, given] of Object.entries({ named: { state: { display_name: "Mine" } }, later: { history: [...first, ...first, ...first] }, long: { history: [...Array(9).fill([message("user", "Again"), message("assistant", "", "failed")]).flat(), ...first] }, theirs: { theirs: ["a"] }, elsewhere: { holds: false } })) {
    const { ends, seen } = desk({ history: first, ...given });
    await ends("a");
    assert.deepEqual([seen.asked, seen.named], [[], []], what);
  }
  const task = desk({ history: first });
  await task.ends("once_1");
  assert.deepEqual(task.seen.asked, []);
  for (const says of [new Error("no"), " \n"]) {
    const failed = desk({ history: first, says });
    await failed.ends("a");
    assert.deepEqual([failed.seen.asked.length, failed.seen.named], [1, []]);
  }
  const ended = desk({ history: first });
  ended.stop();
  await ended.ends("a");
  assert.deepEqual(ended.seen.asked, []);
});

test("a second message that was answered before the title does not stop it", async () => {
  const { ends, seen } = desk({ history: [...first, message("user", "And tea"), message("assistant", "There.")] });
  await ends("a");
  await ends("a");
  assert.equal(seen.asked.length, 1);
  assert.match(seen.asked[0].context, /Find a kettle[^]*Here\./);
  assert.doesNotMatch(seen.asked[0].context, /There/);
});

test("what an earlier page has not asked to the end is asked once when the agent runs here, one after the other", async () => {
  const listed = [{ id: "a" }, { id: "named", display_name: "Mine" }, { id: "old", archived: true }, { id: "b" }];
  for (const by of ["agent:status-changed", "agent:notice"]) {
    const { begins, ends, seen } = desk({ history: first, listed, holds: false });
    await settled();
    assert.deepEqual(seen.read, [], "another tab asks");
    await begins(by);
    await begins(by);
    assert.deepEqual([seen.named.map(([id]) => id), seen.read], [["a", "b"], ["a", "b"]]);
    await ends("a");
    assert.equal(seen.asked.length, 2);
  }
  let say;
  const slow = desk({ history: first, listed, says: new Promise((done) => (say = done)) });
  await settled();
  assert.equal(slow.seen.asked.length, 1, "no two at once");
  slow.stop();
  say("A title");
  await settled();
});

test("a question that fails is not asked again by this page; what is too early is asked about when its answer comes", async () => {
  const failing = desk({ history: first, listed: [{ id: "a" }], says: new Error("no") });
  await settled();
  await failing.begins();
  await failing.ends("a");
  assert.equal(failing.seen.asked.length, 1);
  const history = [message("user", "Find a kettle"), message("assistant", "He", "streaming")];
  const early = desk({ history, listed: [{ id: "a" }] });
  await settled();
  assert.deepEqual(early.seen.asked, []);
  history[1] = message("assistant", "Here.");
  await early.ends("a");
  assert.equal(early.seen.named.length, 1);
});

test("of many unnamed sessions the newest are looked at", async () => {
  const { seen } = desk({ history: [], listed: Array.from({ length: 500 }, (_, n) => ({ id: `s${n}` })) });
  await new Promise((done) => setTimeout(done, 50));
  assert.deepEqual([seen.read.length, seen.read.at(-1)], [20, "s19"]);
});

test("a conversation that is cleared while it is read is read again", async () => {
  const history = [...first];
  const { ends, changes, seen } = desk({ history });
  const end = ends("a");
  history.length = 0;
  changes("a", "cleared");
  await end;
  assert.deepEqual([seen.asked, seen.read], [[], ["a", "a"]]);
});

test("nothing stays of the question, and what is cleared meanwhile gets no title of what was said", async () => {
  const done = desk({ history: first });
  await done.ends("a");
  assert.deepEqual(done.seen.erased, ["once_7"]);
  const none = desk({ history: first, says: " " });
  await none.ends("a");
  assert.deepEqual(none.seen.erased, ["once_7"]);
  for (const change of ["cleared", "message_removed", "removed"]) {
    let say;
    const { ends, changes, seen } = desk({ history: first, says: new Promise((done) => (say = done)) });
    await ends("a");
    changes("b", change);
    assert.equal(seen.asked[0].signal.aborted, false);
    changes("a", change);
    assert.equal(seen.asked[0].signal.aborted, true);
    say("A title");
    await settled();
    assert.deepEqual([seen.named, seen.erased], [[], ["once_7"]], change);
  }
});

test("a conversation that begins anew is asked about again", async () => {
  for (const change of ["launched", "removed", "cleared", "message_removed"]) {
    const { ends, changes, seen } = desk({ history: first });
    await ends("a");
    changes("a", "renamed");
    await ends("a");
    changes("a", change);
    await ends("a");
    assert.equal(seen.asked.length, 2, change);
  }
});
