// Memories beside pages, in a workspace in memory. So many are added one after the other. Then a word is searched that one
// of them has, and a word that all have. A run's start is measured with memories and without.

const COUNT = 10_000;

/** Gives `{ add, rare, common, start }`, each with `pages` and `memories` (a start: `without` and `memories`): milliseconds, medians. */
export async function memoriesBench({ browser, web, runs, median }) {
  const samples = [];
  for (let run = 0; run <= runs; run++) { // the first one warms up and does not count
    const context = await browser.newContext();
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
    await page.goto(`${web.url}/blank.html`);
    await page.waitForFunction(() => globalThis.ready);
    const sample = await page.evaluate(both, COUNT);
    await context.close();
    if (run) samples.push(sample);
  }
  const middle = (part, kind) => median(samples.flatMap((sample) => sample[part][kind]));
  const kinds = (part) => Object.fromEntries(Object.keys(samples[0][part]).map((kind) => [kind, middle(part, kind)]));
  return { count: COUNT, ...Object.fromEntries(Object.keys(samples[0]).map((part) => [part, kinds(part)])) };
}

export function reportMemories({ count, add, rare, common, start }) {
  const ms = (x) => x.toFixed(1).padStart(11);
  console.log(`${count} of them, in memory; ms on the wall        pages   memories`);
  for (const [title, row] of [["all added, one after the other", add], ["a search of a word that one has", rare], ["a search of a word that all have", common]]) console.log(`  ${title.padEnd(38)}${ms(row.pages)}${ms(row.memories)}`);
  console.log(`  a run without memory, and with         ${ms(start.without)}${ms(start.memories)}\n`);
}

/** Reading what other tabs have written takes a way to the store, which a page's search does not make. */
export const memoriesGoals = ({ count, add, rare, common, start }) => [
  [`${count} memories: adding takes at most 1.2 times what pages take`, add.memories / add.pages, 1.2],
  [`${count} memories: a rare word is found in at most 1.2 times the time, and 1 ms`, (rare.memories - 1) / rare.pages, 1.2],
  [`${count} memories: a common word is found in at most 1.2 times the time, and 1 ms`, (common.memories - 1) / common.pages, 1.2],
  [`${count} memories: a run's start takes at most 10 ms more than without`, start.memories - start.without, 10],
];

/** Runs in the page. */
async function both(count) {
  const timed = async (work) => {
    const begin = performance.now();
    await work();
    return performance.now() - begin;
  };
  const often = async (work) => {
    const times = [];
    for (let n = 0; n < 11; n++) times.push(await timed(work));
    return times.slice(1);
  };
  const text = (n) => `Prefers tea number${n} over coffee on days of the week that are ${n % 7}.`;
  async function* stream() { yield "Fine."; }
  const ws = await lodger.openWorkspace("memories", { storage: "memory" });
  const result = { add: {}, rare: {}, common: {}, start: {} };
  const says = async () => { await (await ws.sendMessage("Which tea is number77?")).result; };
  const provider = { kind: "custom", model: "bench", stream };
  await ws.startAgent({ provider });
  result.start.without = await often(says);
  result.add.pages = [await timed(async () => {
    for (let n = 0; n < count; n++) await ws.pages.create({ title: `Fact ${n}`, content: text(n) });
  })];
  result.add.memories = [await timed(async () => {
    for (let n = 0; n < count; n++) await ws.memory.add({ text: text(n), tags: ["fact"] });
  })];
  for (const [part, query] of [["rare", "number4321"], ["common", "coffee"]]) {
    const found = { pages: (await ws.pages.search(query, { limit: 10 })).length, memories: (await ws.memory.search(query, { limit: 10 })).length };
    if (found.pages !== found.memories) throw new Error(`${query}: ${JSON.stringify(found)}`);
    result[part].pages = await often(() => ws.pages.search(query, { limit: 10 }));
    result[part].memories = await often(() => ws.memory.search(query, { limit: 10 }));
  }
  await ws.configureAgent({ memory: true });
  // A message is told each memory once, so each of these is told others.
  result.start.memories = await often(says);
  await ws.close();
  return result;
}
