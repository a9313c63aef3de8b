// What a test of the package has: a fresh browser context, tabs on the test pages, servers for its models. Everything
// that it opened is closed after it, and an uncaught error in a page fails the test that did not announce it.
import { rawServer } from "../servers/raw.mjs";
import { aimock } from "../servers/aimock.mjs";
import { site } from "./site.mjs";

/** Each test in each host and by each channel in the campaign (`LODGER_CAMPAIGN=1`), or where its words are named; else in one of them, in turn. */
const FULL = process.env.LODGER_CAMPAIGN === "1";
const HOST = / \[(page|worker|Workspace|invoke)\]$/;

/** Of tests that differ in that alone, those that are left out: of the first one its second, of the next its first. */
function left(titles) {
  const hosts = new Map();
  for (const title of titles.filter((title) => HOST.test(title))) {
    const same = title.replace(HOST, "");
    hosts.set(same, [...(hosts.get(same) ?? []), title]);
  }
  return new Set([...hosts.values()].filter(({ length }) => length > 1).map((pair, n) => pair[(n + 1) % 2]));
}

/**
 * The tests of `register(test, { pkg, whole })` whose title contains the words, as the pool has them; `whole`: no words are asked for.
 * `taken()` of a test is called before any runs, if it is one of those that will.
 */
export async function suite(name, { register, ...about }, pkg, words = "") {
  const tests = [];
  const test = (title, body, { hangMs, taken } = {}) => {
    if (title.includes(words)) tests.push({ title, hangMs, taken, open: async (lane) => new Context(await served(lane, pkg), title, body) });
  };
  await register(test, { pkg, whole: !words });
  const out = left(FULL || words ? [] : tests.map(({ title }) => title));
  const chosen = tests.filter(({ title }) => !out.has(title));
  for (const { taken } of chosen) taken?.();
  return { name, ...about, tests: chosen };
}

/** A lane with the web server of the test pages. */
async function served(lane, pkg) {
  if (lane.site) return lane;
  lane.after(async () => {
    for (const browser of lane.puppets?.values() ?? []) await browser.close();
    await lane.site.close();
    await lane.raw?.close();
    for (const server of lane.wires?.values() ?? []) await server.close();
  });
  return Object.assign(lane, { pkg, site: await site(pkg) });
}

class Context {
  log = [];
  notes = [];
  errors = [];
  /** Where a long test is: a report names it if the test hangs. */
  at = "";
  cleanup = [];
  #allowed = [];
  #context;
  #body;
  constructor(env, title, body) { this.env = env; this.title = title; this.#body = body; }

  async run() {
    await this.#body(this);
    const unexpected = this.errors.filter((e) => !this.#allowed.some((p) => p.test(e)));
    if (unexpected.length) throw new Error(`uncaught in the page: ${unexpected.join("\n")}`);
  }

  /** After the test, last registered first. */
  after(work) { this.cleanup.push(work); }
  /** Something worth reading beside the title. */
  note(text) { this.notes.push(text); }
  /** An uncaught page error that this test provokes on purpose. */
  allowError(pattern) { this.#allowed.push(pattern); }

  async context() {
    if (!this.#context) {
      this.#context = await this.env.browser.newContext();
      this.after(() => this.#context.close());
    }
    return this.#context;
  }

  /** A new tab on a test page, its helpers loaded (`wait: false`: as soon as the document is there). */
  async tab({ path = "/blank.html", base = this.env.site.url, init, wait = true } = {}) {
    const page = await (await this.context()).newPage();
    page.on("pageerror", (error) => this.errors.push(String(error?.stack ?? error)));
    page.on("console", (line) => this.log.push(`[page ${line.type()}] ${line.text()}`));
    if (init) await page.addInitScript(init);
    await page.goto(base + path);
    if (wait) await this.ready(page);
    return page;
  }

  /** Waits until the page's helpers are there; says why if they cannot be. */
  async ready(page) {
    await page.waitForFunction(() => globalThis.ready || globalThis.broken, null, { timeout: 60_000 });
    const broken = await page.evaluate(() => globalThis.broken);
    if (broken) throw new Error(`the test page could not load the package: ${broken}`);
  }

  /** A route on the raw server that gives these answers. */
  async raw(...answers) {
    if (!this.env.raw) this.env.raw = await rawServer();
    return this.env.raw.route(...answers);
  }

  /** A route on the strict server of this row of `servers/wires/`, with the closed lists of headers that it has. */
  async wire(row, ...answers) {
    this.env.wires ??= new Map();
    if (!this.env.wires.has(row)) this.env.wires.set(row, await rawServer(row.wire));
    return Object.assign(this.env.wires.get(row).route(...answers), { cors: "closed" });
  }

  /** What `T.tell(name)` in a page does here. */
  signal(name, handler) { this.env.site.signal(name, handler); }

  /** An aimock server with these turns. */
  async mock(turns, options) {
    const mock = await aimock(turns, options);
    this.after(() => mock.close());
    return mock;
  }
}
