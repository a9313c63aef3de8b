// The pool: the tests of many suites, shared by lanes with a browser each, because a test waits as much as it works.
//
// Decides which test runs next and where, how long it may take, and what is printed. A suite says what its tests are,
// as `{ name, longest, together, tests }`. A test is `{ title, hangMs, open(lane) }`, and `open` gives what is
// run: `{ run(), cleanup, notes, log, at, failed() }`, of which only the first two have to be there. `longest` is how
// many seconds its longest test takes, as measured: those with the longest begin, so that no lane works alone at the
// end. Tests of a suite run in any order and side by side, unless it says `together`. A test without what it needs
// notes `skipped: …` and does no more: it is counted apart, because nobody has seen it pass.

// One more than the cores that the project's tests are made for: while one lane waits two work.
const LANES = 3;
// Guards against hanging, no measures of speed.
const HANG_MS = 180_000;
const CLOSE_MS = 30_000;
const END_MS = 4_000;
// After that a test is named while it runs, so that a person who has to end the whole knows it.
const LONG_MS = 30_000;

class Late extends Error {}

/** Waits for the work of a test, at most so long: what comes of it after that is nobody's. */
async function inTime(work, ms, at = () => "") {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Late(`still not done after ${ms / 1000} s${at() && `: ${at()}`}`)), ms); });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `3 passed, 1 skipped, 0 failed`: `cargo xtask test` reads the numbers before the words. */
const figures = ({ passed, skipped, failed }) => [`${passed} passed`, ...(skipped ? [`${skipped} skipped`] : []), `${failed} failed`].join(", ");

/** Runs them all, prints a line for each test and the sums, and ends the process: with 1 if any failed or there was none. */
export async function pool(suites, { lanes: count = LANES, launch }) {
  const sums = new Map(suites.map(({ name }) => [name, { left: 0, passed: 0, skipped: 0, failed: 0, ms: 0, longest: 0 }]));
  for (const { name, tests } of suites) sums.get(name).left += tests.length;
  const waiting = suites.toSorted((a, b) => b.longest - a.longest).flatMap(({ name, tests, together }) => {
    const named = tests.map((test) => ({ name, ...test }));
    return together ? [named] : named.map((test) => [test]);
  });
  const failures = [];
  const skips = [];
  const lanes = Array.from({ length: Math.max(1, Math.min(count, waiting.length)) }, () => ({ closing: [] }));

  let ended = false;
  process.once("SIGTERM", async () => {
    ended = true;
    console.log("\nended from outside");
    lanes.forEach(({ now }, n) => console.log(`lane ${n + 1}: ${now ? now() : "nothing"}`));
    console.log(`left: ${[...sums].filter(([, { left }]) => left).map(([name, { left }]) => `${name} ${left}`).join(", ")}`);
    await inTime(Promise.all(lanes.map(close)), END_MS).catch(() => {});
    process.exit(1);
  });

  async function work(lane) {
    lane.launch = launch;
    lane.after = (close) => lane.closing.push(close);
    lane.browser = await launch();
    while (waiting.length) for (const test of waiting.shift()) await run(test, lane);
    await close(lane);
  }

  const close = async ({ browser, closing }) => {
    for (const close of closing) await close();
    await browser?.close();
  };

  async function run({ name, title, hangMs = HANG_MS, open }, lane) {
    const sum = sums.get(name);
    const began = performance.now();
    const seconds = (since = began) => ((performance.now() - since) / 1000).toFixed(1);
    let t;
    lane.now = () => `${name}: ${title}, for ${seconds()} s${t?.at ? `, at ${t.at}` : ""}`;
    const long = setInterval(() => console.log(`…     ${lane.now()}`), LONG_MS);
    const facts = () => [`${seconds()} s`, ...(t?.notes ?? [])].join("; ");
    try {
      t = await open(lane);
      await inTime(t.run(), hangMs, () => t.at);
      const skipped = t.notes?.some((note) => note.startsWith("skipped: "));
      if (skipped) skips.push(`${name}: ${title}`);
      sum[skipped ? "skipped" : "passed"]++;
      console.log(`${skipped ? "skip" : "ok  "}  ${name}: ${title} (${facts()})`);
    } catch (error) {
      if (ended) return new Promise(() => {}); // its browser was closed
      sum.failed++;
      failures.push(`${name}: ${title}`);
      console.log(`FAIL  ${name}: ${title} (${facts()})\n${indent(explain(error))}${indent((t?.log ?? []).slice(-15).join("\n"))}`);
      await inTime(Promise.resolve(t?.failed?.()), CLOSE_MS).catch(() => {});
    }
    if (!(await closed(t))) {
      console.log(indent("(cleaning up: the browser does not answer, another is started)"));
      lane.browser = await launch();
    }
    clearInterval(long);
    lane.now = undefined;
    const ms = performance.now() - began;
    Object.assign(sum, { left: sum.left - 1, ms: sum.ms + ms, longest: Math.max(sum.longest, ms) });
    if (!sum.left) console.log(`${name}: ${figures(sum)}, ${(sum.ms / 1000).toFixed(0)} s, the longest ${(sum.longest / 1000).toFixed(1)} s`);
  }

  await Promise.all(lanes.map(work));
  const total = { passed: 0, skipped: 0, failed: 0 };
  for (const sum of sums.values()) for (const what of Object.keys(total)) total[what] += sum[what];
  const titles = (of) => of.map((title) => `  ${title}`).join("\n");
  // The number is what `cargo xtask test` adds up.
  if (skips.length) console.log(`\nskipped: ${skips.length}\n${titles(skips)}`);
  if (failures.length) console.log(`\nfailed:\n${titles(failures)}`);
  console.log(`\n${figures(total)}`);
  process.exit(total.failed || !(total.passed + total.skipped) ? 1 : 0);
}

/** Closes what a test has opened, last opened first; whether all could be closed. */
async function closed(t) {
  let closed = true;
  for (const work of t?.cleanup.reverse() ?? []) {
    try {
      await inTime(work(), CLOSE_MS);
    } catch (error) {
      if (error instanceof Late) closed = false;
      else console.log(indent(`(cleaning up: ${error.message})`));
    }
  }
  return closed;
}

const explain = (error) => (error?.code === "ERR_ASSERTION" ? `${error.message}\n${place(error)}` : `${error?.stack ?? error}`);
const place = (error) => (error.stack.split("\n").find((line) => /\/(suites|lib|tests)\//.test(line)) ?? "").trim();
const indent = (text) => (text ? text.split("\n").map((line) => `        ${line}`).join("\n") + "\n" : "");
