// Sessions over weeks: many of them, many runs in each, commands at random, and a page that goes away in mid-run every
// twenty runs. Whatever happened, afterwards every session is verified and replays byte for byte. It misses no receipt of
// what the page's tools have seen and its person has denied.
// `LODGER_CAMPAIGN=1` plays weeks of it; else as much as brings each kind of run and each kind of end.
import assert from "node:assert/strict";

const FULL = process.env.LODGER_CAMPAIGN === "1";
const SESSIONS = FULL ? 100 : 10;
const RUNS = FULL ? 100 : 30; // in each session
const LIFE = 20; // runs until the page goes away

export default function (test) {
  const runs = SESSIONS * RUNS;
  test(`${SESSIONS} sessions, ${runs} runs, a crash every ${LIFE}: verified, replayable, no receipt missing`, async (t) => {
    const seed = Number(process.env.LODGER_SEED ?? 20_261_122);
    t.note(`seed ${seed}`);
    const page = await t.tab();
    await page.evaluate(open, SESSIONS);
    await page.evaluate(() => globalThis.launchAll());
    const did = {};
    for (let life = 0; life * LIFE < runs; life++) {
      if (life) {
        await page.reload();
        await t.ready(page);
        await page.evaluate(open, SESSIONS);
      }
      for (const [what, times] of Object.entries(await page.evaluate(live, { seed: seed + life, runs: LIFE }))) did[what] = (did[what] ?? 0) + times;
    }
    t.note(Object.entries(did).map(([what, times]) => `${what} ${times}`).join(", "));
    await page.reload();
    await t.ready(page);
    await page.evaluate(open, SESSIONS);
    const seen = await page.evaluate(check);
    assert.deepEqual(seen.wrong, []);
    assert.equal(seen.sessions, SESSIONS + 1);
    // Each life has its runs, and those that its last moment began.
    assert.ok(seen.runs >= runs, `${seen.runs} runs`);
    t.note(`${seen.runs} runs, ${seen.receipts} receipts, ${seen.deeds} of tools, ${seen.rows} rows, ${Math.round(seen.bytes / 1024)} KB of exports`);
    for (const what of ["prompt", "tool", "fail", "interrupt", "restart", "exit", "edit", "regenerate", "clear", "lost", "deny", "cut short by interrupt", "cut short by stop", "cut short by clear", "cut short by remove", "cut short by reload"]) assert.ok(did[what] > 0, `${what} never happened`);
  }, { hangMs: FULL ? 3_600_000 : 600_000 });
}

/** A page whose agent runs on a model that does what it is told. */
async function open(sessions) {
  globalThis.ids = Array.from({ length: sessions }, (_, n) => `session_${n}`);
  globalThis.ws = await lodger.openWorkspace("weeks");
  const s = ws.sessions;
  async function* stream({ messages }, { signal }) {
    const last = messages.at(-1);
    const text = typeof last.content === "string" ? last.content : JSON.stringify(last.content);
    yield "Let me see. ";
    if (last.role === "tool") return void (yield "Noted.");
    if (text.includes("fail")) throw Object.assign(new Error("the model refused"), { name: "LodgerError", code: "auth", retryable: false });
    if (text.includes("for ever")) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    const tool = ["note", "post", "burn"].find((tool) => text.includes(tool));
    if (tool) return void (yield { choices: [{ delta: { tool_calls: [{ index: 0, id: "call", function: { name: tool, arguments: '{"text":"this"}' } }] }, finish_reason: "tool_calls" }] });
    yield "Done.";
  }
  // What really happened, over all lives of the page, each as its receipt is called.
  globalThis.deeds = JSON.parse(localStorage.deeds ?? "[]");
  const does = ({ runId, toolCallId }) => {
    deeds.push(`receipt_${runId}_tool_${toolCallId}`);
    localStorage.deeds = JSON.stringify(deeds);
  };
  const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  ws.tools.register({ name: "note", description: "Notes something.", inputSchema, readOnly: false, execute: (_, call) => { does(call); return "noted"; } });
  ws.tools.register({ name: "post", description: "Posts, which takes for ever.", inputSchema, execute: (_, call) => { does(call); globalThis.posting?.(); return new Promise(() => {}); } });
  ws.tools.register({ name: "burn", description: "Nobody wants that.", inputSchema, destructive: true, execute: (_, call) => { does(call); return "burnt"; } });
  ws.addEventListener("agent:permission-required", ({ detail }) => {
    // What is asked about again began in another life.
    if (detail.tool !== "burn") return;
    does(detail);
    detail.respond("deny");
  });
  await ws.startAgent({ provider: { kind: "custom", model: "weeks", stream } });
  globalThis.launchAll = async () => { for (const id of ids) await s.launch({ id, displayName: id.replace("_", " ") }); };
}

/** So many runs, drawn at random; the last one is not waited for. */
async function live({ seed, runs }) {
  let state = seed;
  const random = (n) => ((state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 8) % n;
  const pick = (list) => list[random(list.length)];
  const s = ws.sessions;
  const did = {};
  const note = (what) => (did[what] = (did[what] ?? 0) + 1);
  // What the last page left is recovered, by one way or the other.
  for (const { id, status } of await s.list()) {
    if (id === "default" || ["running", "idle"].includes(status)) continue;
    note("lost");
    const action = pick(["resume", "reconnect"]);
    await s.recover(id, { action });
    if (action === "reconnect") for (const { runId } of (await ws.history({ sessionId: id, limit: 1 }))) ws.interrupt({ sessionId: id, runId });
  }
  const run = async (id, text, options) => {
    const { runId } = await s.prompt(id, text, options);
    return ws.wait(runId);
  };
  // A tool that has begun and never ends.
  const posts = async (id) => {
    const began = new Promise((resolve) => { globalThis.posting = resolve; });
    const told = await s.prompt(id, "post it");
    await began;
    return told;
  };
  const cut = {
    interrupt: (id) => ws.interrupt({ sessionId: id }),
    stop: async (id) => { await s.stop(id); await s.restart(id); },
    clear: (id) => ws.clearConversation(id),
    remove: async (id) => { await s.remove(id); await s.undoRemove(id); },
  };
  for (let n = 0; n < runs; n++) {
    const id = pick(ids);
    const what = pick(["prompt", "prompt", "prompt", "prompt", "tool", "tool", "post", "deny", "fail", "interrupt", "restart", "exit", "rename", "remove", "edit", "regenerate", ...(random(4) ? [] : ["clear"])]);
    note(what);
    const history = ["edit", "regenerate"].includes(what) ? await ws.history({ sessionId: id, limit: 8 }) : [];
    const asked = history.findLast((message) => message.role === "user");
    const answered = history.findLast((message) => message.role === "assistant");
    if (what === "tool") await run(id, "make a note");
    else if (what === "deny") await run(id, "burn it");
    else if (what === "post") {
      const { runId } = await posts(id);
      const how = pick(Object.keys(cut));
      note(`cut short by ${how}`);
      await cut[how](id);
      await ws.wait(runId);
    } else if (what === "fail") await run(id, "fail now");
    else if (what === "interrupt") {
      const { runId } = await s.prompt(id, "go on for ever");
      ws.interrupt({ sessionId: id });
      await ws.wait(runId);
    } else if (what === "restart") {
      await s.stop(id, "a pause");
      await s.restart(id);
      await run(id, "hello again");
    } else if (what === "exit") {
      await s.prompt(id, "/exit");
      await s.recover(id, { action: "resume" });
      await run(id, "back");
    } else if (what === "rename") {
      await s.rename(id, `name ${random(1000)}`);
      await run(id, "a new name");
    } else if (what === "remove") {
      await s.remove(id);
      await s.undoRemove(id);
      await run(id, "still here");
    } else if (what === "clear") {
      await ws.clearConversation(id);
      await run(id, "anew");
    } else if (what === "edit" && asked) await run(id, "better words", { replaces: asked.id });
    else if (what === "regenerate" && answered) {
      const { runId } = await ws.regenerate(answered.id, { sessionId: id });
      // What was asked then may never end.
      if (/for ever|post/.test(JSON.stringify(asked))) ws.interrupt({ sessionId: id });
      await ws.wait(runId);
    }
    else await run(id, `prompt ${n}`);
    // A failure, or the same asked again, leaves it so that only a person can go on.
    if (!["running", "idle"].includes((await s.status(id)).session.status)) await s.recover(id, { action: "resume" });
  }
  const last = pick(["go on for ever", "make a note", "one more", "post it", "post it"]);
  if (last === "post it") {
    note("cut short by reload");
    await posts(pick(ids));
  } else await s.prompt(pick(ids), last);
  return did;
}

/** Everything that must hold in the end. */
async function check() {
  const s = ws.sessions;
  const wrong = [];
  const seen = { runs: 0, receipts: 0, rows: 0, bytes: 0, deeds: new Set() };
  const all = await s.list({ withVerification: true });
  for (const { session: { id }, hmac_status } of all) {
    if (hmac_status !== "verified") wrong.push(`${id} is ${hmac_status}`);
    if (id === "default") continue;
    if ((await s.status(id)).session.status === "failed") await s.recover(id, { action: "resume" });
    // A run that a page left ends by the next prompt, so that each one has ended.
    await ws.wait((await s.prompt(id, "the last word")).runId);
    const [journal, receipts, handoffs, events] = [await s.journal(id), await s.receipts(id), await s.handoffs(id), await s.events(id)];
    const count = (...types) => journal.filter(({ type }) => types.includes(type)).length;
    const ended = count("ended");
    const over = events.filter(({ event_type: type }) => ["run_completed", "run_interrupted"].includes(type)).length;
    if (handoffs.length !== ended || over !== ended) wrong.push(`${id}: ${ended} runs, ${handoffs.length} handoffs, ${over} events`);
    // Its tool may not have been called when the page went away.
    const ordered = journal.filter(({ type }) => type === "ordered").map(({ runId, tool_call: call }) => `receipt_${runId}_tool_${call}`);
    const runIds = new Set(journal.map(({ runId }) => runId));
    const owed = new Set([...ordered, ...deeds.filter((deed) => runIds.has(deed.slice("receipt_".length, deed.lastIndexOf("_tool_"))))]);
    const told = receipts.map((receipt) => receipt.id);
    for (const deed of owed) if (told.filter((id) => id === deed).length !== 1) wrong.push(`${id}: ${told.filter((id) => id === deed).length} times ${deed}`);
    if (receipts.length !== ended + owed.size) wrong.push(`${id}: ${ended} runs, ${owed.size} tool calls, ${receipts.length} receipts`);
    owed.forEach((deed) => seen.deeds.add(deed));
    receipts.forEach(({ previous_receipt_hash: hash }, at) => {
      if (hash !== (receipts[at - 1]?.self_hash ?? null)) wrong.push(`${id}: receipt ${at} does not follow`);
    });
    journal.forEach(({ seq }, at) => seq === at + 1 || wrong.push(`${id}: entry ${at + 1} is ${seq}`));
    const file = await s.export(id);
    const replayed = await s.replay(file);
    if (!replayed.same) wrong.push(`${id}: ${JSON.stringify(replayed)}`);
    seen.runs += ended;
    seen.receipts += receipts.length;
    seen.rows += journal.length;
    seen.bytes += file.size;
  }
  for (const deed of deeds) if (!seen.deeds.has(deed)) wrong.push(`nobody knows of ${deed}`);
  return { ...seen, deeds: seen.deeds.size, sessions: all.length, wrong };
}
