// The workbench's tests as the pool has them (`pkg-tests/lib/pool.mjs`). Each has a visitor of its own and a model of
// its own, and at its end nothing went wrong that nobody looked for.
import assert from "node:assert/strict";
import { innocent, visitor } from "./browser.mjs";
import * as firefox from "./firefox.mjs";
import { startModel } from "./model.mjs";
import { suite as webkit } from "./webkit.mjs";

/** The themes, and how many seconds the longest test of each takes. */
const THEMES = {
  bench: 17, sessions: 15, tabs: 15, composer: 12, reading: 11, permission: 10, accessibility: 10, conversation: 9, queue: 9, tools: 9, "tools-panel": 9, example: 9, keyboard: 9, pages: 8, journal: 8, providers: 8, failures: 8,
  "first-visit": 7, startup: 7, attach: 7, reload: 7, versions: 7, carry: 7, settings: 7, safety: 7,
};

/** What an attacker would have a person see, or not see. It is played again where another engine draws it, and where the host is in a worker. */
const SHOWN = {
  permission: [
    "leave for a long call is given once all of it was in sight",
    "a page edit is shown as a difference, from the page as it is now",
    "what cannot be seen in the arguments is shown, in them and in the difference",
    "a tool whose name every object has is asked about like any other",
  ],
  safety: [
    "scripts, handlers, foreign pictures and odd links come to nothing",
    "the same holds for pages",
    "what stands between raw tags of code reaches the page as text",
    "what is nested deeper than anybody writes stays text",
  ],
};

/** `only`: those whose title contains the word; `shots`: a folder for a picture of each that fails. */
export async function suites(base, { only = "", shots, speed = false } = {}) {
  const found = [];
  const picture = (title) => shots && `${shots}/${title.replace(/\W+/g, "-")}.png`;
  for (const [theme, longest] of Object.entries(speed ? { ...THEMES, speed: 60 } : THEMES)) {
    const { tests } = await import(`./${theme}.mjs`);
    const wanted = Object.entries(tests).filter(([title]) => `${theme}: ${title}`.includes(only));
    found.push({ name: theme, longest, tests: wanted.map(([title, test]) => ({ title, open: (lane) => visit(lane, base, test, picture(`${theme}: ${title}`)) })) });
  }
  found.push(...(speed ? [] : await again(base, only, picture)));
  const inWebKit = webkit(base);
  found.push({ ...inWebKit, tests: inWebKit.tests.filter(({ title }) => `webkit: ${title}`.includes(only)) });
  return found;
}

/** `SHOWN` in Chromium with the host in a worker, and in Firefox, which one lane has, with the host in the page and in a worker. */
async function again(base, only, picture) {
  const found = [{ name: "worker", longest: 10, hosts: ["worker"], come: visit }, { name: "firefox", longest: 55, together: true, hosts: ["page", "worker"], come: visitFirefox }];
  const at = { page: base, worker: new URL("?host=worker", base).href };
  for (const suite of found) suite.tests = [];
  for (const [theme, titles] of Object.entries(SHOWN)) {
    const { tests } = await import(`./${theme}.mjs`);
    for (const shown of titles) {
      if (!tests[shown]) throw new Error(`there is no test "${theme}: ${shown}"`);
      for (const { name, hosts, come, tests: here } of found) {
        for (const host of hosts) {
          const title = `${theme}: ${shown} [${host}]`;
          if (`${name}: ${title}`.includes(only)) here.push({ title, open: (lane) => come(lane, at[host], tests[shown], picture(`${name}: ${title}`)) });
        }
      }
    }
  }
  return found;
}

async function visitFirefox(lane, base, test, shot) {
  if (firefox.MISSING) return { cleanup: [], notes: [firefox.MISSING], run: async () => {} };
  return visit(lane, base, test, shot, () => firefox.visitor(lane, base, test.visitor));
}

async function visit(lane, base, test, shot, come = () => visitor(lane.browser, base, test.visitor)) {
  const model = await startModel();
  const visit = await come();
  // A guard against hanging, no measure of speed: for each tab of the visitor.
  visit.context.setDefaultTimeout(30_000);
  return {
    cleanup: [() => model.stop(), () => visit.context.close()],
    async run() {
      await (test.run ?? test)({ ...visit, visit, base, model, browser: lane.browser });
      await innocent(visit);
      if (new URL(base).searchParams.get("host") === "worker") assert.ok(visit.page.workers().length > 0, "its host is in a worker");
    },
    async failed() {
      if (shot && !visit.page.isClosed()) await visit.page.screenshot({ path: shot });
    },
  };
}
