// The judge of the judge: worlds in which the promises are broken, and the campaign has to find that. A case passes when it was
// found, and fails when nothing was.
import assert from "node:assert/strict";
import { crasher } from "../lib/crash.mjs";
import { WIRES } from "../servers/wires/index.mjs";
import { killed } from "./browser.mjs";
import { Conversation, init } from "./conversation.mjs";
import { counter } from "./counts.mjs";
import { drawer } from "./draw.mjs";
import { endAt, play } from "./kills.mjs";
import { expected } from "./known.mjs";
import { job } from "./model.mjs";
import { judgeShown } from "./shown.mjs";
import { world } from "./world.mjs";

const TWICE = /was done 2 times/;
const LOST = /accepted, and lost/;
/** What lives on for a moment may have written the message for good, and lost what came after it. */
const LOST_LATER = /accepted, and lost|was answered/;
// A key that was lost before what it has signed makes that somebody else's.
const EITHER = /was done \d times|accepted, and lost|no call is there|told as done, and was not|invalid HMAC/;
/** At most so many conversations at random moments, of which one has to be found guilty. */
const MOST = 20;

/** What is wrong with the world, at which moment its page crashes, and what has to be found. */
const WORLDS = [
  ["rerun", { onResume: "rerun" }, "charge ends", TWICE],
  ["commits that are reported early", { liar: true }, "accepted", LOST_LATER],
  ["commits that are reported early", { liar: true }, "charge ends", EITHER],
];

/** What happens to a profile after its first kill, and what has to be found. Without: nothing is wrong, and all is lost and told once. */
const PROFILES = [
  ["a record is cut, and the loss is told", { after: (kept, life) => { if (life === 1) kept.cut(); } }],
  ["a record is cut, and the loss is told to nobody", { after: (kept, life) => { if (life === 1) kept.cut(); }, deaf: true }, LOST],
  ["all is gone, and no record was cut", { after: (kept, life) => { if (life === 1) kept.remove("IndexedDB"); } }, /a loss is told, and the browser has dropped nothing/],
];

/** Changes of a conversation: what makes of them something else than was told, and what has to be found. */
const CHANGES = [
  ["remove", () => { ws.removeMessage = async () => {}; }, /is shown, and was removed/],
  ["remove", () => { const { removeMessage } = ws; ws.removeMessage = async (id) => { const all = await ws.history(); await removeMessage.call(ws, id); await removeMessage.call(ws, all.find((message) => message.role === "user" && message.id !== id).id); }; }, LOST],
  ["clear", () => { ws.clearConversation = async () => {}; }, /is shown, and was removed/],
  ["edit", () => { const { sendMessage } = ws; ws.sendMessage = (text, { replaces, ...options }) => sendMessage.call(ws, text, options); }, /is shown, and has left/],
  ["switch", () => { ws.switchTo = async () => {}; }, LOST],
  ["regenerate", () => { ws.regenerate = async () => {}; }, /has 1 versions and not 2/],
  ["compact", () => { ws.compact = () => ws.clearConversation(); }, LOST],
  ["configure", () => { ws.sessions.configure = async () => {}; }, /the model was not instructed by/],
];

/** All of them; `count`: how many of those at random moments too. */
export function judge(test, { seed, count, first = 1, counts }) {
  WORLDS.forEach(([title, world, what, finding], n) => {
    for (const host of ["page", "worker"]) {
      test(`judge/${title}, a crash at "${what}" [${host}]`, async (t) => {
        await found(t, finding, async () => {
          const conversation = await new Conversation(t, { draw: drawer(seed, "judge", n), row: WIRES[0], host, ...world }).ready();
          await crashedAt(t, conversation, what);
        });
        counts.add("worlds whose fault was found");
      });
    }
  });
  for (let number = first; number < first + count; number++) {
    const [title, world] = WORLDS[number % 2];
    test(`judge/${number} ${title}, at random moments`, async (t) => {
      let played = 0;
      await found(t, EITHER, async () => {
        while (played < MOST) {
          const draw = drawer(seed, "judge", number * MOST + played++);
          await play(t, await new Conversation(t, { draw, row: draw.of(WIRES), host: draw.of(["page", "worker"]), ...world }).ready(), () => {});
        }
      });
      t.note(`in conversation ${played}`);
      counts.add("worlds whose fault was found");
    }, { hangMs: 600_000 });
  }
  test("judge/changes of a conversation that are not what was told", async (t) => {
    const page = await t.tab({ init: init() });
    for (const [n, [act, other, finding]] of CHANGES.entries()) {
      const conversation = await new Conversation(t, { draw: drawer(seed, "judge", `change ${n}`), row: WIRES[0], host: "page" }).ready();
      await conversation.open(page);
      const does = async (steps) => { await page.evaluate((steps) => shop.send(steps), steps); await conversation.settle(page); };
      await does([conversation.job(["look"]), conversation.job([])]);
      assert.deepEqual(await page.evaluate(() => shop.found(["j0", "j1", "j2"])), ["j0", "j1"], "what is stored is found");
      if (act === "switch") await does(conversation.change("edit"));
      await page.evaluate((other) => (0, eval)(`(${other})`)(), String(other));
      await assert.rejects(does([...conversation.change(act), conversation.job([])]), (error) => { assert.match(`${act}: ${error.message}`, finding); return true; });
      counts.add("changes of conversations that were found to be others");
      await page.evaluate(() => ws.close());
    }
  });
  test("judge/a workspace that is shown otherwise, and nobody says so", async (t) => {
    const page = await t.tab({ init: world });
    const ids = await page.evaluate(() => build());
    const whole = await page.evaluate((ids) => look(ids), ids);
    const after = await page.evaluate((ids) => ask(ids), ids);
    const empty = await page.evaluate((ids) => nothing(ids), ids);
    const untouched = { table: "meta", rows: {}, sessions: [], checkpoints: [], pages: [], files: [] };
    /** What is found where this was damaged, and then `change` is made of what is shown, and of how was answered. */
    const found = (touched, change = () => {}) => {
      const seen = { ...whole, shown: { ...whole.shown }, notices: [] };
      const then = { ...after, answers: { ...after.answers }, later: { ...after.later } };
      change(seen, then);
      const done = { ...untouched, ...touched };
      const verdict = judgeShown({ whole, empty, moving: new Set(), seen, after: then, done });
      return [...new Set(verdict.faults.filter((fault) => !expected(fault, done, verdict)).map(({ what }) => what))];
    };
    const tables = [["entries", { sessions: whole.sessions }], ["drafts", { sessions: ["held"] }], ["keys", {}], ["vault", {}], ["pages", { pages: ["leaf"] }], ["meta", { format: true }], ["file blob", { files: [0] }], ["file ldb", { under: true }], ["entries", {}]];
    for (const [table, touched] of tables) {
      const done = { table, ...touched };
      assert.deepEqual(found(done), [], table);
      for (const what of Object.keys(whole.shown)) {
        if (table === "keys" && what === "keys") continue;
        assert.deepEqual(found(done, ({ shown }) => { shown[what] = { value: otherwise(shown[what].value) }; }), [what], `${table}: ${what}`);
        // What is lost is empty as a whole.
        assert.ok(what === "storage" || found(done, (seen) => { seen.notices.push({ kind: "storage_lost" }); seen.shown[what] = { value: otherwise(seen.shown[what].value) }; }).includes(what), `${table}, with a notice: ${what}`);
        assert.deepEqual(found(done, ({ shown }) => { shown[what] = { error: "busy" }; }), [what], `${table}, with an error: ${what}`);
        counts.add("changes of what is shown that were found", 3);
      }
      for (const id of Object.keys(after.answers)) assert.deepEqual(found(done, (_, { answers }) => { answers[id] = { value: "Something else." }; }), [`${id}: answer`], `${table}: ${id}`);
      for (const id of Object.keys(after.later).filter((id) => table !== "file ldb" && !touched.sessions?.includes(id))) assert.deepEqual(found(done, (_, { later }) => { later[id] = { ...later[id], history: { value: later[id].history.value.slice(1) } }; }), [`${id}: history`], `${table}, later: ${id}`);
      for (const n of after.files.keys()) assert.deepEqual(found(done, (_, then) => { then.files = after.files.with(n, { error: "file_not_found" }); }), [`files: ${n}`], `${table}, later: file ${n}`);
      if (table !== "file ldb") assert.deepEqual(found(done, (_, then) => { then.pages = { error: "corrupt" }; }), ["pages: tree"], table);
      assert.deepEqual(found(done, (_, { answers }) => { answers["the key"] = { value: "sk-other" }; }), ["the key: answer"], table);
      assert.deepEqual(found(done, (_, then) => { then.started = { error: "corrupt" }; }), ["start"], table);
      assert.deepEqual(found(done, (seen) => { seen.opened = { error: "corrupt" }; }), ["opening"], table);
      // Where rows are damaged, a list never fails, and one that is damaged makes no other fail.
      if (table !== "file ldb") for (const what of ["list", "verified", "pages: tree", "pages: branch", "pages: search"]) for (const error of ["corrupt", "storage_failed"]) assert.deepEqual(found(done, ({ shown }) => { shown[what] = { error }; }), [what], `${table}: ${what}`);
    }
    // What says of itself that it is damaged shows nothing that was not said, and all that lies elsewhere.
    const row = { table: "entries", sessions: ["notes"], rows: { notes: [[4, 4]] } };
    const marked = (change, part = "history") => ({ shown }) => {
      for (const what of ["notes: state", `notes: ${part}`]) shown[what] = structuredClone(shown[what]);
      shown["notes: state"].value.session.damaged = { seq: 4, why: "" };
      change(shown[`notes: ${part}`].value);
    };
    assert.deepEqual(found(row, marked(() => {})), []);
    assert.deepEqual(found(row, marked((history) => { history.shift(); })), []);
    assert.deepEqual(found(row, marked((history) => { history[0].parts[0].text = "First!"; })), ["notes: history"]);
    assert.deepEqual(found(row, marked((history) => { history.pop(); })), ["notes: history"]);
    assert.deepEqual(found(row, marked((journal) => { journal.splice(2, 3); }, "journal")), []);
    assert.deepEqual(found(row, marked((journal) => { journal.pop(); }, "journal")), ["notes: journal"]);
    assert.deepEqual(found(row, marked((journal) => { journal[3].at++; }, "journal")), ["notes: journal"]);
    for (const part of ["events", "receipts", "handoffs"]) assert.deepEqual(found(row, marked((records) => { records.pop(); }, part)), [`notes: ${part}`]);
    assert.deepEqual(found(row, (_, then) => { then.salvaged = { notes: { error: "corrupt" } }; }), ["notes: salvage"]);
    // A salvaged one has the rows before the first that is lost, and what was shown.
    const journal = whole.shown["notes: journal"].value;
    const gone = marked((entries) => { entries[3] = { type: "damaged", from: 4, seq: 4, at: 0, why: "" }; }, "journal");
    const made = (change, kept = 3, damage = gone) => (seen, then) => {
      damage(seen);
      const value = structuredClone({ answer: "I hear: Are you there, notes?", kept, damaged: { seq: 4 }, history: whole.shown["notes: history"].value, rows: journal.slice(0, kept) });
      change(value);
      then.salvaged = { notes: { value } };
    };
    assert.deepEqual(found(row, made(() => {})), []);
    // Of one that lies in another's place none is lost.
    assert.deepEqual(found(row, made(() => {}, journal.length, marked(() => {}))), []);
    assert.deepEqual(found(row, made(() => {}, 3, marked(() => {}))), ["notes: salvage"]);
    for (const change of [({ history }) => history.pop(), (value) => Object.assign(value, { kept: 0, rows: [] }), ({ rows }) => { rows[0].at++; }, (value) => { value.answer = "No."; }]) assert.deepEqual(found(row, made(change)), ["notes: salvage"]);
    // A draft that is gone is not missed; of one that is damaged its message says so, and shows nothing else.
    const without = ({ shown }) => { shown["held: history"] = { value: shown["held: history"].value.map((message, n, { length }) => (n === length - 1 ? { ...message, parts: [] } : message)) }; };
    assert.deepEqual(found({ table: "drafts", kind: "delete", sessions: ["held"] }, without), []);
    assert.deepEqual(found({ table: "drafts", kind: "delete", sessions: ["queued"] }, without), ["held: history"]);
    const early = (parts) => (seen) => { without(seen); Object.assign(seen.shown["held: history"].value.at(-1), { parts, damaged: { why: "" } }); };
    const flipped = { table: "drafts", kind: "flip", sessions: ["held"] };
    assert.deepEqual(found(flipped, without), ["held: history"]);
    assert.deepEqual(found(flipped, early([])), []);
    assert.deepEqual(found(flipped, early([{ type: "text", text: "I hear: " }])), []);
    assert.deepEqual(found(flipped, early([{ type: "text", text: "I heard: " }])), ["held: history"]);
    // A memory that is left out is told of, but for one that is gone.
    const fewer = ({ shown, notices }, { told, other }) => {
      const { value } = shown["memories: list"];
      shown["memories: list"] = { value: other ? [{ ...value[0], text: "Something else." }, ...value.slice(1)] : value.slice(1) };
      if (told) notices.push({ type: "agent:error", code: "corrupt" });
    };
    const memory = (kind) => ({ table: "meta", kind, memories: true });
    assert.deepEqual(found(memory("delete"), (seen) => fewer(seen, {})), []);
    assert.deepEqual(found(memory("flip"), (seen) => fewer(seen, {})), ["memories: list"]);
    assert.deepEqual(found(memory("flip"), (seen) => fewer(seen, { told: true })), []);
    assert.deepEqual(found(memory("flip"), (seen) => fewer(seen, { told: true, other: true })), ["memories: list"]);
    assert.deepEqual(found({ table: "meta" }, (seen) => fewer(seen, { told: true })), ["memories: list"]);
    // An open task is over after the next start, unless nothing says any more that it is open.
    const stays = (_, { answers }) => { answers["the open task"] = { value: "running" }; };
    for (const kind of ["delete", "move"]) assert.deepEqual(found({ table: "meta", kind, note: true }, stays), []);
    assert.deepEqual(found({ table: "meta", kind: "flip", note: true }, stays), ["the open task: answer"]);
    // All is lost, or nothing is.
    const lost = (seen, then) => { Object.assign(seen, empty, { notices: [{ kind: "storage_lost" }] }); for (const id of whole.sessions.slice(1)) { then.answers[id] = { error: "session_not_found" }; delete then.later[id]; } then.pages = { value: [] }; then.answers["the key"] = { value: "" }; };
    assert.deepEqual(found({ table: "file ldb", under: true }, lost), []);
    assert.ok(found({ table: "meta", format: true }, lost).length > 1);
    assert.ok(found({ table: "file ldb", under: true }, (seen, then) => { lost(seen, then); seen.notices = []; }).length > 1);
  });
  for (const row of WIRES) {
    test(`judge/requests of ${row.name} that were broken`, async (t) => {
      const conversation = await new Conversation(t, { draw: drawer(seed, "judge", row.name), row, host: "page" }).ready();
      const page = await t.tab({ init: init() });
      await conversation.open(page);
      await page.evaluate((steps) => shop.send(steps), [conversation.job(["charge+look"]), conversation.job(["look"])]);
      const { requests, sent } = conversation.route;
      const request = requests.at(-1);
      assert.deepEqual(row.wire.check(request, sent), []);
      for (const [what, broken] of breaks(row, request.json)) {
        const json = structuredClone(request.json);
        json[list(json)] = broken;
        assert.notDeepEqual(row.wire.check({ ...request, json, text: JSON.stringify(json) }, sent), [], `${row.name}: ${what}`);
        counts.add("broken requests that were refused");
      }
    });
  }
  for (const [title, world, finding] of PROFILES) {
    test(`judge/${title}, in a browser that is killed`, async (t) => {
      const own = counter();
      // Two lives: the first browser after the cut writes on behind it, the second one finds it.
      const play = () => killed(t, { seed, number: 1, lives: 2, counts: own, ...world });
      if (finding) await found(t, finding, play);
      else {
        await play();
        assert.equal(own.sum("losses of all, told after a kill in the middle of a record"), 1);
      }
      counts.add(finding ? "worlds whose fault was found" : "losses that were no fault");
    }, { hangMs: 300_000 });
  }
}

/** This has to be found, and nothing else. */
async function found(t, finding, work) {
  await assert.rejects(work, (error) => {
    assert.match(error.message, finding);
    return true;
  });
}

/** The same, with one text in it changed. */
function otherwise(value) {
  if (Array.isArray(value)) return value.length ? value.with(-1, otherwise(value.at(-1))) : ["something"];
  if (typeof value !== "object" || value === null) return `${value}, and something else`;
  // What says of itself that something is wrong is no silence.
  const [name] = Object.keys(value).filter((name) => !["status", "hmac_status", "damaged", "type"].includes(name));
  return { ...value, [name]: otherwise(value[name]) };
}

/** A run with an effect whose page crashes at this moment, and another that goes on with it. */
async function crashedAt(t, conversation, what) {
  const page = await t.tab({ init: init(conversation) });
  await conversation.open(page);
  const crash = await crasher(t, page);
  const jobs = [job("j0", ["charge", "look"])];
  conversation.jobs.push(...jobs);
  assert.ok(await endAt(t, page, jobs, { thread: "page", what }, crash), `there was no "${what}"`);
  const next = await t.tab({ init: init(conversation) });
  await conversation.open(next);
  await conversation.settle(next);
}

// ------------------------------------------------------------------ requests

const list = (json) => (json.messages ? "messages" : "input");

/** The conversation of this request, broken in each way: `[what, conversation]`. */
function* breaks(row, json) {
  const items = json[list(json)];
  const without = (is) => items.filter((_, n) => n !== items.findLastIndex(is));
  const changed = (is, change) => items.map((item, n) => (n === items.findLastIndex(is) ? change(structuredClone(item)) : item));
  const blocks = (item) => (Array.isArray(item.content) ? item.content : []);
  const isResult = (item) => item.role === "tool" || ["function_call_output", "function_result"].includes(item.type) || blocks(item).some(({ type }) => type === "tool_result");
  const isCall = (item) => item.tool_calls || item.type === "function_call" || blocks(item).some(({ type }) => type === "tool_use");
  const isPerson = (item) => (item.role === "user" || item.type === "user_input") && !isResult(item);
  yield ["a result is missing", without(isResult)];
  yield ["a call is missing", without(isCall)];
  yield ["a result is there twice", items.flatMap((item) => (isResult(item) ? [item, item] : [item]))];
  yield ["a message that says nothing", changed(isPerson, (item) => ({ ...item, content: Array.isArray(item.content) ? [] : "" }))];
  yield ["the assistant has the last word", [...items, items.findLast((item) => item.role === "assistant" || ["message", "model_output"].includes(item.type)) ?? items[0]]];
  yield ["nothing at all", []];
  const isThought = (item) => item.thinking || item.reasoning_content || item.encrypted_content || item.type === "thought" || blocks(item).some(({ type }) => type === "thinking");
  if (row.wire.replays.length) yield ["thinking that was changed", changed(isThought, (item) => JSON.parse(JSON.stringify(item).replaceAll(/Thought (\d+)/g, "Thought 9$1").replaceAll(/seal(\d+)/g, "seal9$1")))];
}
