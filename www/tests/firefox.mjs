// A visitor in Firefox, for tests that are played in Chromium too.
//
// Offers of a page and of what is on it that part of Playwright's interface which those tests use, by the same names and with the same
// meaning. Playwright itself drives no Firefox as Debian has it: each visitor begins with a command that this one does not know. Promises:
// what is asked of one element waits until it is there, and fails where there are several. A press is a press of the mouse on what a person
// would hit. Leaves to others: the browser (Puppeteer), which evaluates past the policy of the page, so the policy stays as it is served.
import { setTimeout as pause } from "node:timers/promises";
import { firefox, launch } from "../../pkg-tests/lib/puppets.mjs";

export const MISSING = firefox ? null : "skipped: there is no Firefox; install Debian's package `firefox-esr`, or name the program in the environment variable FIREFOX";
const LOOK_EACH_MS = 25;

/** The browser of this lane, which lives as long as that does. Without motion, as in Chromium. */
async function browser(lane) {
  if (!lane.firefox) {
    lane.firefox = await launch("firefox", { extraPrefsFirefox: { "ui.prefersReducedMotion": 1 } });
    lane.after(() => lane.firefox.close());
  }
  return lane.firefox;
}

/** As `visitor` of `browser.mjs` gives one. */
export async function visitor(lane, base, { width = 1280, height = 800 } = {}) {
  const context = await (await browser(lane)).createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width, height });
  const wrongs = [];
  const hosts = new Set([new URL(base).host]);
  page.on("pageerror", (error) => wrongs.push(`exception: ${error?.message ?? error}`));
  page.on("console", (line) => line.type() === "error" && wrongs.push(`console: ${line.text()}`));
  page.on("request", (request) => /^https?:/.test(request.url()) && !hosts.has(new URL(request.url()).host) && wrongs.push(`foreign request: ${request.url()}`));
  await page.evaluateOnNewDocument(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
  });
  const timing = { ms: 30_000 };
  return { context: { close: () => context.close(), setDefaultTimeout: (ms) => (timing.ms = ms) }, page: new Tab(page, timing), wrongs, hosts };
}

/** Asks again until the answer is true; `what` is named where it never is. */
async function until(timing, what, ask) {
  for (const end = performance.now() + timing.ms; !(await ask()); await pause(LOOK_EACH_MS)) {
    if (performance.now() > end) throw new Error(`still not so after ${timing.ms / 1000} s: ${what()}`);
  }
}

/** In the page: the elements that these steps lead to, from the document on. */
function lookUp(steps) {
  const plain = (text) => (text ?? "").replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
  const holds = (text, words, exact) => (exact ? plain(text) === plain(words) : plain(text).toLowerCase().includes(plain(words).toLowerCase()));
  const within = (roots, css) => [...document.querySelectorAll(css)].filter((element) => roots.some((root) => root !== element && root.contains(element)));
  const labels = (element) => [...(element.labels ?? [])].map(({ textContent }) => textContent).concat(element.getAttribute("aria-label") ?? []);
  const kinds = {
    css: (from, { css }) => within(from, css),
    // The innermost ones that say it.
    text: (from, { words, exact }) => within(from, ":not(script, style)").filter((element) => holds(element.textContent, words, exact) && ![...element.children].some((child) => holds(child.textContent, words, exact))),
    label: (from, { words, exact }) => within(from, "input, textarea, select").filter((element) => labels(element).some((label) => holds(label, words, exact))),
    role: (from, { role, name }) => within(from, `[role=${role}]`).filter((element) => name === undefined || holds(element.getAttribute("aria-label") ?? element.textContent, name)),
    has: (from, { words }) => from.filter((element) => holds(element.textContent, words)),
    visible: (from) => from.filter(shown),
    at: (from, { at }) => from.slice(at, at + 1 || undefined),
  };
  function shown(element) {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true });
  }
  const found = steps.reduce((from, step) => kinds[step.kind](from, step), [document]);
  return { found, shown: found.filter(shown) };
}

/** In the page: whether a press in the middle of this element meets it. */
function isHit(element) {
  element.scrollIntoView({ block: "nearest", inline: "nearest" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}

/** What is looked for on a page: nothing is looked up before something is asked of it. */
class Place {
  constructor(page, timing, steps = []) {
    Object.assign(this, { tab: page, timing, steps });
  }

  #next(step) {
    return new Place(this.tab, this.timing, [...this.steps, step]);
  }
  locator(css) {
    return this.#next(css === "visible=true" ? { kind: "visible" } : { kind: "css", css });
  }
  getByTestId(id) {
    return this.locator(`[data-testid=${id}]`);
  }
  getByText(words, { exact = false } = {}) {
    return this.#next({ kind: "text", words, exact });
  }
  getByLabel(words, { exact = false } = {}) {
    return this.#next({ kind: "label", words, exact });
  }
  getByRole(role, { name } = {}) {
    return this.#next({ kind: "role", role, name });
  }
  filter({ hasText }) {
    if (typeof hasText !== "string") throw new Error("here text is filtered by words alone");
    return this.#next({ kind: "has", words: hasText });
  }
  nth(at) {
    return this.#next({ kind: "at", at });
  }
  first() {
    return this.nth(0);
  }
  last() {
    return this.nth(-1);
  }

  /** As an expression, which the page's policy lets through. */
  get #source() {
    return `(${lookUp})(${JSON.stringify(this.steps)})`;
  }
  /** How many there are, and how many of them are seen. */
  #counts() {
    return this.tab.evaluate(`(({ found, shown }) => [found.length, shown.length])(${this.#source})`);
  }
  #until(what, ask) {
    return until(this.timing, () => `${what}: ${JSON.stringify(this.steps)}`, ask);
  }
  async waitFor({ state = "visible" } = {}) {
    const is = { attached: (found) => found > 0, visible: (_, shown) => shown > 0, hidden: (_, shown) => shown === 0, detached: (found) => found === 0 }[state];
    await this.#until(state, async () => {
      const [found, shown] = await this.#counts();
      if (found > 1) throw new Error(`there are ${found} of ${JSON.stringify(this.steps)}`);
      return is(found, shown);
    });
  }
  async #one(state) {
    await this.waitFor({ state });
    return this.tab.evaluateHandle(`${this.#source}.found[0]`);
  }

  async count() {
    return (await this.#counts())[0];
  }
  async isVisible() {
    return (await this.#counts())[1] > 0;
  }
  async all() {
    return Array.from({ length: await this.count() }, (_, at) => this.nth(at));
  }
  async evaluate(code, argument) {
    return this.tab.evaluate(code, await this.#one("attached"), argument);
  }
  async evaluateAll(code, argument) {
    return this.tab.evaluate(code, await this.tab.evaluateHandle(`${this.#source}.found`), argument);
  }
  innerText() {
    return this.evaluate((element) => element.innerText);
  }
  textContent() {
    return this.evaluate((element) => element.textContent);
  }
  getAttribute(name) {
    return this.evaluate((element, name) => element.getAttribute(name), name);
  }

  async click({ force = false } = {}) {
    let element;
    await this.#until("under the mouse", async () => {
      element = await this.#one("visible");
      return force || this.tab.evaluate(isHit, element);
    });
    await element.click();
  }
  async check() {
    await this.click();
    if (!(await this.evaluate(({ checked }) => checked))) throw new Error(`pressed and not checked: ${JSON.stringify(this.steps)}`);
  }
  async fill(text) {
    await this.tab.evaluate((element, text) => {
      element.focus();
      element.value = text;
      element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
      element.dispatchEvent(new Event("change", { bubbles: true }));
    }, await this.#one("visible"), text);
  }
  async press(key) {
    await (await this.#one("visible")).focus();
    await this.tab.keyboard.press(key);
  }
  async selectOption(value) {
    const taken = await (await this.#one("visible")).select(value);
    if (taken[0] !== value) throw new Error(`there is no option ${value}: ${JSON.stringify(this.steps)}`);
  }
}

/** A page. */
class Tab extends Place {
  goto(url) {
    return this.tab.goto(url);
  }
  reload() {
    return this.tab.reload();
  }
  evaluate(code, argument) {
    return this.tab.evaluate(code, argument);
  }
  waitForFunction(code, argument) {
    return until(this.timing, () => String(code), () => this.tab.evaluate(code, argument));
  }
  isClosed() {
    return this.tab.isClosed();
  }
  screenshot(options) {
    return this.tab.screenshot(options);
  }
  workers() {
    return this.tab.workers();
  }
}
