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

const message = (role, text, status = "complete") => ({ role, status, parts: [{ type: "text", text }] });

function desk({ history, state = {}, says = "A title", holds = true }) {
  const ws = new EventTarget();
  const seen = { asked: [], named: [] };
  ws.history = async () => history;
  ws.sessions = {
    status: async () => ({ session: { display_name: null, ...state } }),
    runOnce: async (text, options) => { seen.asked.push(options); if (says instanceof Error) throw says; return { text: says }; },
    rename: async (id, name) => void seen.named.push([id, name]),
  };
  const stop = titled(ws, () => holds);
  const ends = async (sessionId) => {
    ws.dispatchEvent(Object.assign(new Event("agent:session-completed"), { detail: { sessionId } }));
    await new Promise((done) => setTimeout(done));
  };
  return { ends, stop, seen };
}

const first = [message("user", "Find a kettle"), message("assistant", "Here.")];

test("a session is asked about once, by its own provider, without tools", async () => {
  const { ends, seen } = desk({ history: first, state: { config: { provider: "spare", model: "m", temperature: 1 } } });
  await ends("a");
  await ends("a");
  assert.deepEqual(seen.named, [["a", "A title"]]);
  assert.equal(seen.asked.length, 1);
  const { context, instructions, ...rest } = seen.asked[0];
  assert.match(context, /Find a kettle[^]*Here\./);
  assert.match(instructions, /title alone/);
  assert.deepEqual(rest, { tools: [], serverTools: [], provider: "spare", model: "m" });
});

test("a conversation is asked about after its first answer, also where a run failed or was stopped before", async () => {
  const failed = [message("user", "Find a kettle"), message("assistant", "", "failed")];
  for (const before of [failed, [...failed, message("user", "Again"), message("assistant", "He", "interrupted")]]) {
    for (const history of [[...before, message("assistant", "Here.")], [...before, message("user", "Please"), message("assistant", "Here.")]]) {
      const { ends, seen } = desk({ history });
      await ends("a");
      assert.deepEqual([seen.asked.length, seen.named], [1, [["a", "A title"]]]);
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
