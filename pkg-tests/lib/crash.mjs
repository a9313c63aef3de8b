// Tabs that crash at a chosen moment: the moments of a run counted in the page, and the crash itself from outside.
//
// The tests crash at one moment of each kind. The campaign (`LODGER_CAMPAIGN=1`) also crashes at many, spread over the run.

/** `[title, choose(moments)]` for each crash that is to be tried: at these kinds, and in the campaign at so many moments. */
export function crashPoints(kinds, many) {
  const points = kinds.map((kind) => [`crash at "${kind}"`, (moments) => middle(moments.filter((moment) => kindOf(moment) === kind))]);
  if (process.env.LODGER_CAMPAIGN !== "1") return points;
  return [...points, ...Array.from({ length: many }, (_, i) => [`crash ${i + 1} of ${many}`, (moments) => moments[Math.floor((i * moments.length) / many)]])];
}

const middle = (list) => list[list.length >> 1];
/** A moment without its numbers. */
export const kindOf = (moment) => moment.replaceAll(/ \d+/g, "");

/**
 * Counts the moments of a run in the page (commits before and after, every event, inside the tool) and stops at one.
 * `countedRun` sends a message and gives the moments of its run.
 */
export function crashHooks() {
  const moments = (globalThis.moments = []);
  const hit = (globalThis.hit = (name) => {
    if (!globalThis.armed) return;
    moments.push(name);
    if (name === globalThis.crashAt) T.signal(globalThis.crashSignal, { name, accepted: globalThis.accepted, ...globalThis.witnessed });
  });
  globalThis.countedRun = async (ws, text, crashAt, crashSignal) => {
    Object.assign(globalThis, { crashAt, crashSignal, armed: true });
    const run = await ws.sendMessage(text);
    globalThis.accepted = run.runId;
    hit("accepted");
    await run.result;
    await T.turn();
    globalThis.armed = false;
    return moments;
  };
  const transaction = IDBDatabase.prototype.transaction;
  let commits = 0;
  IDBDatabase.prototype.transaction = function (...args) {
    const tx = transaction.apply(this, args);
    if (args[1] === "readwrite" && globalThis.armed) {
      const n = ++commits;
      hit(`commit ${n} asked`);
      tx.addEventListener("complete", () => hit(`commit ${n} stored`));
    }
    return tx;
  };
  const seen = {};
  for (const type of ["status-changed", "session-started", "message-chunk", "tool-call", "permission-required", "permission-resolved", "session-completed", "lifecycle"]) {
    document.addEventListener(`agent:${type}`, ({ detail }) => {
      const name = `${type} ${detail.status ?? detail.phase ?? ""}`.trim();
      seen[name] = (seen[name] ?? 0) + 1;
      hit(`event ${name} ${seen[name]}`);
    });
  }
}

/** Gives a function that crashes this tab, even while its main thread stands still, and resolves when it is gone. */
export async function crasher(t, page) {
  const cdp = await (await t.context()).newCDPSession(page);
  return async () => {
    const gone = new Promise((done) => page.once("crash", done));
    cdp.send("Page.crash").catch(() => {}); // it never answers
    await gone;
  };
}
