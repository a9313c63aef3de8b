// A small test runner: a line per test, a fresh browser context per test, everything a test opened closed after it,
// and an uncaught error in a page fails the test that did not announce it.
import { rawServer } from "../servers/raw.mjs";
import { aimock } from "../servers/aimock.mjs";

// Guards against hanging, no measures of speed.
const HANG_MS = 90_000;
const CLOSE_MS = 30_000;

class Late extends Error {}

/** Waits for the work of a test, at most so long: what comes of it after that is nobody's. */
async function inTime(work, ms, t) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Late(`still not done after ${ms / 1000} s${t.at && `: ${t.at}`}`)), ms); });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs `register(test, env)`'s tests; gives `{ passed, failed }`. */
export async function runSuite(name, register, env, filter = "") {
  const tests = [];
  const test = (title, body, options = {}) => tests.push({ title, body, ...options });
  await register(test, env);
  const counts = { passed: 0, failed: 0, failures: [] };
  for (const { title, body, hangMs = HANG_MS } of tests) {
    if (!title.includes(filter)) continue;
    const t = new Context(env, title);
    try {
      await inTime(body(t), hangMs, t);
      t.verifyPages();
      counts.passed++;
      console.log(`ok    ${name}: ${title}${t.notes.length ? ` (${t.notes.join("; ")})` : ""}`);
    } catch (error) {
      counts.failed++;
      counts.failures.push(`${name}: ${title}`);
      console.log(`FAIL  ${name}: ${title}${t.notes.length ? ` (${t.notes.join("; ")})` : ""}\n${indent(explain(error))}${indent(t.log.slice(-15).join("\n"))}`);
    } finally {
      if (!(await t.close())) env.browser = await env.launch();
    }
  }
  console.log(`${name}: ${counts.passed} passed, ${counts.failed} failed`);
  return counts;
}

class Context {
  log = [];
  notes = [];
  errors = [];
  /** Where a long test is, for one that hangs. */
  at = "";
  #allowed = [];
  #cleanup = [];
  #context;
  constructor(env, title) { this.env = env; this.title = title; }

  /** After the test, last registered first. */
  after(work) { this.#cleanup.push(work); }
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
    await page.waitForFunction(() => globalThis.ready || globalThis.broken, null, { timeout: 20_000 });
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

  verifyPages() {
    const unexpected = this.errors.filter((e) => !this.#allowed.some((p) => p.test(e)));
    if (unexpected.length) throw new Error(`uncaught in the page: ${unexpected.join("\n")}`);
  }

  /** Whether all could be closed. */
  async close() {
    let closed = true;
    for (const work of this.#cleanup.reverse()) {
      try {
        await inTime(work(), CLOSE_MS, this);
      } catch (error) {
        if (error instanceof Late) closed = false;
        else console.log(indent(`(cleaning up: ${error.message})`));
      }
    }
    if (!closed) console.log(indent("(cleaning up: the browser does not answer, another is started)"));
    return closed;
  }
}

const explain = (error) => (error?.code === "ERR_ASSERTION" ? `${error.message}\n${place(error)}` : `${error?.stack ?? error}`);
const place = (error) => (error.stack.split("\n").find((line) => line.includes("/suites/") || line.includes("/lib/")) ?? "").trim();
const indent = (text) => (text ? text.split("\n").map((line) => `        ${line}`).join("\n") + "\n" : "");
