// Sessions: opening and listing one of 10, 1,000 and 10,000 entries, appending with and without signatures, export and
// import per MB. Each figure is of a page that was just loaded, as a person who comes back has it.

const SIZES = [10, 1000, 10_000];
const LISTED = [10, 100, 1000];
const MEGABYTES = [1, 8];

/** Gives `{ open, list, append, carry }`: milliseconds on the wall, medians. */
export async function sessionsBench({ browser, web, runs, median }) {
  const context = await browser.newContext();
  const unsigned = await browser.newContext();
  await unsigned.addInitScript(() => Object.defineProperty(Crypto.prototype, "subtle", { get: () => undefined }));
  /** Runs `work` in a fresh page. */
  const fresh = async (work, argument, where = context) => {
    const page = await where.newPage();
    page.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
    await page.goto(`${web.url}/blank.html`);
    await page.waitForFunction(() => globalThis.ready);
    try {
      return await page.evaluate(work, argument);
    } finally {
      await page.close();
    }
  };
  const timed = async (work, argument) => {
    const samples = [];
    for (let run = 0; run <= runs; run++) { // the first one warms up and does not count
      const sample = await fresh(work, argument);
      if (run) samples.push(sample);
    }
    return Object.fromEntries(Object.keys(samples[0]).map((name) => [name, median(samples.map((sample) => sample[name]))]));
  };

  const results = { open: {}, list: {}, append: {}, carry: {} };
  for (const entries of SIZES) {
    const { rows, whole } = await fresh(fill, { name: `open-${entries}`, entries });
    results.open[entries] = { rows, whole, ...(await timed(opened, `open-${entries}`)) };
  }
  for (const sessions of LISTED) {
    await fresh(launched, { name: `list-${sessions}`, sessions });
    results.list[sessions] = await timed(listed, `list-${sessions}`);
  }
  for (const [name, where] of [["signed", context], ["unsigned", unsigned]]) {
    const samples = [];
    for (let run = 0; run <= runs; run++) {
      const sample = await fresh(appended, `append-${name}-${run}`, where);
      if (run) samples.push(sample);
    }
    results.append[name] = median(samples);
  }
  for (const megabytes of MEGABYTES) {
    await fresh(fill, { name: `carry-${megabytes}`, bytes: megabytes * 1_000_000 });
    results.carry[megabytes] = await timed(carried, `carry-${megabytes}`);
  }
  await context.close();
  await unsigned.close();
  return results;
}

/** A session with so many entries, or bytes of text. */
export async function fill({ name, entries = Infinity, bytes = Infinity }) {
  const ws = await lodger.openWorkspace(name);
  const answer = "A word of an answer. ".repeat(bytes === Infinity ? 5 : 2500);
  async function* stream() { yield answer; }
  await ws.startAgent({ provider: { kind: "custom", model: "bench", stream } });
  await ws.sessions.launch({ id: "long" });
  let [rows, written] = [0, 0];
  while (rows < entries && written < bytes) {
    await ws.wait((await ws.sessions.prompt("long", "A question?")).runId);
    written += answer.length;
    if (entries !== Infinity) rows = (await ws.sessions.journal("long", { from: rows + 1 })).reduce((last, { seq }) => Math.max(last, seq), rows);
  }
  const begin = performance.now();
  await ws.history({ sessionId: "long" });
  const whole = performance.now() - begin;
  await ws.stopAgent();
  await ws.close();
  return { rows, whole };
}

/** From `openWorkspace` to what a person sees at first, and to the first answer. */
async function opened(name) {
  await lodger.default();
  const begin = performance.now();
  const ws = await lodger.openWorkspace(name);
  const page = await ws.history({ sessionId: "long", limit: 20 });
  const shown = performance.now() - begin;
  if (!page.length) throw new Error("nothing was shown");
  async function* stream() { yield "Yes."; }
  await ws.startAgent({ provider: { kind: "custom", model: "bench", stream } });
  const asked = performance.now();
  await ws.wait((await ws.sessions.prompt("long", "Still there?")).runId);
  const answered = performance.now() - asked;
  await ws.stopAgent();
  await ws.close();
  return { shown, answered };
}

async function launched({ name, sessions }) {
  const ws = await lodger.openWorkspace(name);
  await ws.startAgent();
  for (let n = 0; n < sessions; n++) await ws.sessions.launch({ id: `session-${n}`, displayName: `Session ${n}` });
  await ws.stopAgent();
  await ws.close();
}

async function listed(name) {
  const ws = await lodger.openWorkspace(name);
  const begin = performance.now();
  const list = await ws.sessions.list({ withVerification: true });
  const all = performance.now() - begin;
  if (!list.length) throw new Error("nothing was listed");
  await ws.close();
  return { all };
}

/** How long one run takes, in a row of many. */
async function appended(name) {
  const ws = await lodger.openWorkspace(name);
  async function* stream() { yield "Yes."; }
  await ws.startAgent({ provider: { kind: "custom", model: "bench", stream } });
  await ws.sessions.launch({ id: "long" });
  const RUNS = 200;
  const begin = performance.now();
  for (let n = 0; n < RUNS; n++) await ws.wait((await ws.sessions.prompt("long", "More?")).runId);
  const each = (performance.now() - begin) / RUNS;
  await ws.close();
  return each;
}

async function carried(name) {
  const ws = await lodger.openWorkspace(name);
  const time = async (work) => {
    const begin = performance.now();
    const result = await work();
    return [result, performance.now() - begin];
  };
  const [file, exported] = await time(() => ws.sessions.export("long"));
  const [session, imported] = await time(() => ws.sessions.import(file));
  const [replayed, replay] = await time(() => ws.sessions.replay(file));
  if (!replayed.same) throw new Error(JSON.stringify(replayed));
  await ws.sessions.remove(session.id);
  await ws.close();
  const megabytes = file.size / 1_000_000;
  return { megabytes, export: exported / megabytes, import: imported / megabytes, replay: replay / megabytes };
}
