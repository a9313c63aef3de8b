// The workbench's tests as the pool has them (`pkg-tests/lib/pool.mjs`). Each has a visitor of its own and a model of
// its own, and at its end nothing went wrong that nobody looked for.
import { innocent, visitor } from "./browser.mjs";
import { startModel } from "./model.mjs";
import { suite as webkit } from "./webkit.mjs";

/** The themes, and how many seconds the longest test of each takes. */
const THEMES = {
  bench: 17, sessions: 15, tabs: 15, composer: 12, reading: 11, permission: 10, accessibility: 10, conversation: 9, queue: 9, tools: 9, "tools-panel": 9, example: 9, keyboard: 9, pages: 8, journal: 8, providers: 8, failures: 8,
  "first-visit": 7, startup: 7, attach: 7, reload: 7, versions: 7, carry: 7, settings: 7, safety: 7,
};

/** `only`: those whose title contains the word; `shots`: a folder for a picture of each that fails. */
export async function suites(base, { only = "", shots, speed = false } = {}) {
  const found = [];
  for (const [theme, longest] of Object.entries(speed ? { ...THEMES, speed: 60 } : THEMES)) {
    const { tests } = await import(`./${theme}.mjs`);
    const wanted = Object.entries(tests).filter(([title]) => `${theme}: ${title}`.includes(only));
    found.push({ name: theme, longest, tests: wanted.map(([title, test]) => ({ title, open: (lane) => visit(lane.browser, base, test, shots && `${shots}/${`${theme}: ${title}`.replace(/\W+/g, "-")}.png`) })) });
  }
  const inWebKit = webkit(base);
  found.push({ ...inWebKit, tests: inWebKit.tests.filter(({ title }) => `webkit: ${title}`.includes(only)) });
  return found;
}

async function visit(browser, base, test, shot) {
  const model = await startModel();
  const visit = await visitor(browser, base, test.visitor);
  // A guard against hanging, no measure of speed: for each tab of the visitor.
  visit.context.setDefaultTimeout(30_000);
  return {
    cleanup: [() => model.stop(), () => visit.context.close()],
    async run() {
      await (test.run ?? test)({ ...visit, visit, base, model, browser });
      await innocent(visit);
    },
    async failed() {
      if (shot && !visit.page.isClosed()) await visit.page.screenshot({ path: shot });
    },
  };
}
