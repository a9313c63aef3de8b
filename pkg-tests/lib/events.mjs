// What the events of a run must look like, whatever the run did. The events are those that `T.record` kept.
import assert from "node:assert/strict";

const END = { "agent:session-completed": "end", "agent:session-interrupted": "end", "agent:error": "error" };

/** Only this run's events. */
export const ofRun = (events, runId) => events.filter((e) => e.detail.runId === runId);
export const types = (events) => events.map((e) => e.type.replace("agent:", ""));

/**
 * Asserts the shape of one whole run and gives its parts. One start, then `session-started`; one end of each kind and
 * in its order (last chunk, what happened, lifecycle, status); `seq` counts one by one; each tool call has one
 * beginning and one end; nothing comes after the end; at the end the status is already idle.
 */
export function checkRun(events, runId, ending = "agent:session-completed") {
  const run = ofRun(events, runId);
  const shown = types(run).join(" ");
  assert.ok(run.length, `no event has the runId ${runId}: ${types(events).join(" ")}`);
  assert.equal(run.filter((e) => e.type === "agent:lifecycle").length, 2, `one lifecycle start and one end: ${shown}`);
  const start = run.findIndex((e) => e.type === "agent:lifecycle" && e.detail.phase === "start");
  const started = run.findIndex((e) => e.type === "agent:session-started");
  assert.ok(start >= 0, `lifecycle start: ${shown}`);
  assert.equal(started, start + 1, `session-started follows lifecycle start: ${shown}`);
  for (const e of run.slice(0, start)) assert.equal(e.type, "agent:status-changed", `before the start: ${shown}`);

  const ends = run.filter((e) => e.type in END);
  assert.deepEqual(ends.map((e) => e.type), [ending], `exactly one end: ${shown}`);
  const end = run.indexOf(ends[0]);
  const lifecycle = run.findLastIndex((e) => e.type === "agent:lifecycle");
  assert.equal(run[lifecycle].detail.phase, END[ending], `the phase that ends it: ${shown}`);
  assert.equal(lifecycle, end + 1, `lifecycle follows ${ending}: ${shown}`);
  assert.ok(run.slice(lifecycle + 1).every((e) => e.type === "agent:status-changed"), `nothing but the status comes after the end: ${shown}`);
  const all = events.indexOf(run[lifecycle]);
  assert.equal(events[all + 1]?.type, "agent:status-changed", `status-changed closes the run: ${types(events).join(" ")}`);
  assert.equal(events[all + 1].detail.is_streaming, false);
  for (const e of [run[end], run[lifecycle], events[all + 1]]) {
    if (e.status) assert.deepEqual(e.status, { lifecycle: "Running", is_streaming: false }, `status() during ${e.type}`);
  }
  const { startedAt } = run[start].detail;
  assert.equal(typeof startedAt, "number");
  assert.ok(run[lifecycle].detail.endedAt >= startedAt, "endedAt is not before startedAt");
  assert.equal(run[lifecycle].detail.startedAt, startedAt, "the end repeats when it started");

  const seqs = run.map((e) => e.detail.seq);
  seqs.forEach((seq, i) => { assert.equal(typeof seq, "number", `seq in ${run[i].type}`); if (i) assert.equal(seq, seqs[i - 1] + 1, `seq counts one by one: ${seqs.join(" ")} of ${shown}`); });
  for (const e of run) { assert.equal(e.detail.sessionId, "default"); assert.equal(typeof e.detail.workspace, "string"); }

  return { run, calls: checkCalls(run), text: shownText(run), end: ends[0].detail, lifecycle: run[lifecycle].detail };
}

/** Each call: `started` once (again only with progress), then `completed` or `failed` once. */
function checkCalls(run) {
  const calls = new Map();
  for (const { type, detail } of run) {
    if (type !== "agent:tool-call") continue;
    const call = calls.get(detail.toolCallId);
    if (detail.status === "started") {
      if (call) { assert.equal(call.status, "started", `${detail.tool} started after its end`); assert.ok("progress" in detail, `${detail.tool} started twice`); call.progress.push(detail.progress); }
      else calls.set(detail.toolCallId, { ...detail, progress: [], order: calls.size });
    } else {
      assert.ok(call, `${detail.tool} ended without a start`);
      assert.equal(call.status, "started", `${detail.tool} ended twice`);
      assert.ok(detail.status !== "failed" || detail.error?.code, `a failed call says why: ${JSON.stringify(detail)}`);
      Object.assign(call, detail);
    }
  }
  for (const call of calls.values()) assert.notEqual(call.status, "started", `${call.tool} has no end`);
  return [...calls.values()];
}

/** The text a page shows that follows the chunks as the contract says: `shown = shown.slice(0, offset) + text`. */
function shownText(run) {
  const parts = new Map();
  for (const { type, detail } of run) {
    if (type !== "agent:message-chunk" || detail.kind !== "text") continue;
    const key = `${detail.messageId} ${detail.part}`;
    const shown = parts.get(key) ?? "";
    assert.ok(detail.offset <= shown.length, `a chunk leaves a hole: offset ${detail.offset} after ${shown.length}`);
    parts.set(key, shown.slice(0, detail.offset) + detail.text);
  }
  return [...parts.values()].join("");
}
