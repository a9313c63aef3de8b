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

const message = (role, text, status = "complete") => ({ role, status, runId: "run_1", parts: [{ type: "text", text }] });

function desk({ history, state = {}, says = "A title", holds = true }) {
  const ws = new EventTarget();
  const seen = { asked: [], named: [], erased: [] };
  ws.history = async () => history;
  ws.sessions = {
    status: async () => ({ session: { display_name: null, ...state } }),
    runOnce: async (text, options) => { seen.asked.push(options); if (says instanceof Error) throw says; return { text: await says, run: { policy_envelope_id: "policy_once_7" } }; },
    remove: async (id) => void seen.erased.push(id),
    rename: async (id, name, made) => void seen.named.push([id, name, made]),
  };
  const stop = titled(ws, () => holds);
  const changes = (sessionId, change) => ws.dispatchEvent(Object.assign(new Event("agent:session-changed"), { detail: { sessionId, change } }));
  const ends = async (sessionId) => {
    ws.dispatchEvent(Object.assign(new Event("agent:session-completed"), { detail: { sessionId } }));
    await new Promise((done) => setTimeout(done));
  };
  return { ends, changes, stop, seen };
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
  for (const [what, given] of Object.entries({ named: { state: { display_name: "Mine" } }, later: { history: [...first, ...first] }, elsewhere: { holds: false } })) {
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
    await new Promise((done) => setTimeout(done));
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
