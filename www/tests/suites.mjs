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
  context: 12, memory: 13, "first-visit": 7, startup: 7, attach: 7, reload: 7, versions: 7, carry: 7, settings: 7, safety: 7,
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

/**
 * What else a person relies on: who is asked, where keys go, what is told of damage, loss and other tabs. It is played again in Firefox, with
 * the host in the page and in a worker in turn; in the campaign (`LODGER_CAMPAIGN=1`), or where it is asked for by its words, in both.
 * Without what looks alike in all engines, and without what needs a download, a dialog of the browser or a network that is cut off:
 * Firefox's protocol gives none of these. A tab that hangs stops the other tabs of its site there.
 */
const SAFE = {
  permission: ["*"],
  safety: ["the page is served under the policy it promises"],
  settings: ["the key is masked, in no document, in no storage, and goes when forgotten"],
  providers: [
    "a key goes to the service that it was entered for, and to no other",
    "what the agent refuses is said in the form, and nothing of it holds: who is shown is who answers",
    "what no agent would take is refused before one runs",
    "settings that are saved while the agent starts count for it",
    "plain http to another machine: only if a person allows it, who is told what it means",
  ],
  "tools-panel": [
    "what changes a page by hand shows in the tree; what is asked about leads to its question",
    "a rule counts at once, for the agent that runs, and is kept",
    "a tool or an error whose name every object has is told like any other",
    "a Researcher has only what reads; what is not held is marked; both are kept",
  ],
  failures: ["a limit of one’s own ends the run, and more may be allowed"],
  pages: [
    "a damaged page says what restoring can do, and is restored",
    "where nothing of a page can be read, restoring says so, and the trash is all that is left",
    "two people on one page: nothing is overwritten unseen",
  ],
  startup: ["storage that was lost: said at each opening, until it is dismissed"],
  reload: ["an answer that was cut off is held, and Continue ends it"],
  sessions: [
    "a question in another session comes first, in the title too, and Alt+Shift+P leads there",
    "a damaged session is named in the list by a sign and a word, above the others, and nothing is offered there that would be refused",
    "what can be read of a damaged conversation is made whole in its place, and goes on, in both tabs",
    "a journal whose rows were changed is found out when its session is shown, and stays so",
  ],
  journal: ["the record says how the session stands, and that nobody has changed it"],
  tabs: [
    "in the second tab one sends, stops an answer, answers a question, and stops the agent; it stays stopped",
    "the first tab is closed in the middle of an answer: the second goes on with it, and says so",
    "without the key a tab follows and does not stand by; the key makes it",
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

/** `SHOWN` in Chromium with the host in a worker, and in Firefox, which one lane has, with the host in the page and in a worker. There `SAFE`, too. */
async function again(base, only, picture) {
  const worker = { name: "worker", longest: 10, come: visit, tests: [] };
  const inFirefox = { name: "firefox", longest: 250, together: true, come: visitFirefox, tests: [] };
  const at = { page: base, worker: new URL("?host=worker", base).href };
  const add = ({ name, come, tests }, theme, title, test, host) => {
    const whole = `${theme}: ${title} [${host}]`;
    if (`${name}: ${whole}`.includes(only)) tests.push({ title: whole, open: (lane) => come(lane, at[host], test, picture(`${name}: ${whole}`)) });
  };
  const full = only || process.env.LODGER_CAMPAIGN === "1";
  let turn = 0;
  for (const theme of new Set([...Object.keys(SHOWN), ...Object.keys(SAFE)])) {
    const { tests } = await import(`./${theme}.mjs`);
    const [shown, safe] = [SHOWN[theme] ?? [], SAFE[theme] ?? []];
    for (const title of safe[0] === "*" ? Object.keys(tests) : [...shown, ...safe]) {
      const test = tests[title];
      if (!test) throw new Error(`there is no test "${theme}: ${title}"`);
      if (shown.includes(title)) add(worker, theme, title, test, "worker");
      const hosts = ["page", "worker"];
      for (const host of full || shown.includes(title) ? hosts : [hosts[turn++ % 2]]) add(inFirefox, theme, title, test, host);
    }
  }
  return [worker, inFirefox];
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
