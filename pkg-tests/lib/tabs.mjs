// Tabs that share one workspace. A page is Playwright's or Puppeteer's: both have `evaluate(code, argument)`.

export const RUNNING = { lifecycle: "Running", is_streaming: false };
export const STOPPED = { lifecycle: "Stopped", is_streaming: false };

/** The seed of the run and what draws from it: a whole number below `n`. */
export function dice(t) {
  let seed = Number(process.env.LODGER_SEED ?? 20_261_123);
  t.note(`seed ${seed}`);
  return (n) => { seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0; return (seed >>> 8) % n; };
}

/** Each of these groups of tests with the host in the page, then with the host in a worker. */
export const onBothHosts = (test, ...groups) => onHosts(["page", "worker"], test, ...groups);

export function onHosts(hosts, test, ...groups) {
  for (const host of hosts) {
    const on = (title, body, options) => test(`${title} [${host}]`, (t) => body(t, host), options);
    for (const group of groups) group(on);
  }
}

/** Of these tests those whose titles begin so. */
export function some(on, group, ...beginnings) {
  const left = new Set(beginnings);
  group((title, body, options) => {
    const of = beginnings.find((beginning) => title.startsWith(beginning));
    left.delete(of);
    if (of) on(title, body, options);
  });
  if (left.size) throw new Error(`no test begins with "${[...left].join('" or "')}"`);
}

/** Opens the workspace in a page, with what it is told on record. */
export async function openIn(page, host, { name = "shared", ...options } = {}) {
  await page.evaluate(async ([name, options]) => {
    globalThis.rec = T.record();
    globalThis.ws = await lodger.openWorkspace(name, options);
    globalThis.view = ws.view();
    view.subscribe(() => {});
    globalThis.shown = () => view.getSnapshot().messages.map(T.textOf).at(-1) ?? "";
    globalThis.answered = () => {
      const last = view.getSnapshot().messages.at(-1);
      return last?.role === "assistant" && last.status === "complete";
    };
    globalThis.texts = async () => (await ws.history()).map(T.textOf);
    globalThis.holderNotices = () => rec.events.filter(({ type, detail }) => type === "agent:notice" && detail.kind === "holder").map(({ detail }) => detail.holder);
    /** Looks until it is so. */
    globalThis.until = async (what) => { for (let n = 0; !(await what()); n++) { if (n > 3_000) throw new Error(`never: ${what}`); await new Promise((r) => setTimeout(r, 20)); } };
  }, [name, { host, ...options }]);
  return page;
}

/** A tab with the workspace open. */
export const open = async (t, host, options) => openIn(await t.tab(), host, options);

export const start = (page, base, more = {}) => page.evaluate(([base, more]) => ws.startAgent({ provider: T.anthropic(base), ...more }), [base, more]);
export const follows = (page) => page.evaluate(() => until(() => ws.status().lifecycle === "Running" && !view.getSnapshot().holder));
export const holds = (page) => page.evaluate(() => view.getSnapshot().holder);
export const holderNotices = (page) => page.evaluate(() => holderNotices());

/** In which epochs the agent has run here, as the journal of the first conversation has it. */
export const epochs = (page) => page.evaluate(async () => {
  const found = [];
  for (let from = 1; ; from += 500) {
    const rows = await ws.sessions.journal("default", { from, limit: 500 });
    found.push(...rows.filter(({ type }) => type === "started").map(({ epoch }) => epoch));
    if (rows.length < 500) return found;
  }
});

/** What each of these pages does once all of them are there, at the same moment as far as that goes. */
export async function atOnce(t, pages, work, argument) {
  let here = 0;
  let go;
  const all = new Promise((done) => (go = done));
  t.signal("together", () => { if (++here === pages.length) go(); return all; });
  return Promise.all(pages.map((page) => page.evaluate(async ([work, argument]) => {
    await T.tell("together");
    return (0, eval)(`(${work})`)(argument);
  }, [String(work), argument])));
}
