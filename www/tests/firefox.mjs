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

/** As in Chromium: without motion, and with a mouse, which can point precisely (2) and hover (4). Without a screen Firefox takes it that there is none. */
const PREFERENCES = { "ui.prefersReducedMotion": 1, "ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6 };

/** The browser of this lane, which lives as long as that does. */
async function browser(lane) {
  if (!lane.firefox) {
    lane.firefox = await launch("firefox", { extraPrefsFirefox: PREFERENCES });
    lane.after(() => lane.firefox.close());
  }
  return lane.firefox;
}

/** As `visitor` of `browser.mjs` gives one. */
export async function visitor(lane, base, { width = 1280, height = 800 } = {}) {
  const context = await (await browser(lane)).createBrowserContext();
  const timing = { ms: 30_000 };
  const wrongs = [];
  const hosts = new Set([new URL(base).host]);
  const watch = ({ tab }) => {
    tab.on("pageerror", (error) => wrongs.push(`exception: ${error?.message ?? error}`));
    tab.on("console", (line) => line.type() === "error" && wrongs.push(`console: ${line.text()}`));
    tab.on("request", (request) => /^https?:/.test(request.url()) && !hosts.has(new URL(request.url()).host) && wrongs.push(`foreign request: ${request.url()}`));
  };
  const newPage = async () => {
    // A window, because a tab behind another one draws nothing.
    const page = await context.newPage({ type: "window" });
    await page.setViewport({ width, height });
    await page.evaluateOnNewDocument(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
    });
    return new Tab(page, timing);
  };
  const page = await newPage();
  watch(page);
  return { context: { close: () => context.close(), newPage, setDefaultTimeout: (ms) => (timing.ms = ms) }, page, wrongs, hosts, watch };
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
  const holds = (text, words, exact) =>
    words.pattern !== undefined ? new RegExp(words.pattern, words.flags).test(plain(text)) : exact ? plain(text) === plain(words) : plain(text).toLowerCase().includes(plain(words).toLowerCase());
  const within = (roots, css) => [...document.querySelectorAll(css)].filter((element) => roots.some((root) => root !== element && root.contains(element)));
  /** The elements that have a role without saying it. */
  const native = { button: "button, input[type=submit]", link: "a[href]", heading: "h1, h2, h3, h4, h5, h6", textbox: "textarea, input:not([type])", combobox: "select", checkbox: "[type=checkbox]", radio: "[type=radio]" };
  const ofRole = (role) => `[role=${role}]${native[role] ? `, :is(${native[role]}):not([role])` : ""}`;
  /** Whether a screen reader gets to it. */
  const told = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("[aria-hidden=true], [inert]");
  const called = (element) => element.getAttribute("aria-label") ?? [...(element.labels ?? [])].map(({ textContent }) => textContent).concat(element.textContent).join(" ");
  const labels = (element) => [...(element.labels ?? [])].map(({ textContent }) => textContent).concat(element.getAttribute("aria-label") ?? []);
  const kinds = {
    css: (from, { css }) => within(from, css),
    // The innermost ones that say it.
    text: (from, { words, exact }) => within(from, ":not(script, style)").filter((element) => holds(element.textContent, words, exact) && ![...element.children].some((child) => holds(child.textContent, words, exact))),
    label: (from, { words, exact }) => within(from, "input, textarea, select").filter((element) => labels(element).some((label) => holds(label, words, exact))),
    role: (from, { role, name, exact }) => within(from, ofRole(role)).filter((element) => told(element) && (name === undefined || holds(called(element), name, exact))),
    and: (from, { steps }) => {
      const others = new Set(reached(steps));
      return from.filter((element) => others.has(element));
    },
    has: (from, { words }) => from.filter((element) => holds(element.textContent, words)),
    around: (from, { steps }) => {
      const inside = reached(steps);
      return from.filter((element) => inside.some((other) => element !== other && element.contains(other)));
    },
    visible: (from) => from.filter(shown),
    at: (from, { at }) => from.slice(at, at + 1 || undefined),
  };
  function shown(element) {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true });
  }
  function reached(steps) {
    return steps.reduce((from, step) => kinds[step.kind](from, step), [document]);
  }
  const found = reached(steps);
  return { found, shown: found.filter(shown) };
}

/** In the page: whether a press in the middle of this element meets it. */
function isHit(element) {
  element.scrollIntoView({ block: "nearest", inline: "nearest" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}

/** Words or a pattern, as the page gets them. */
const written = (words) => (words instanceof RegExp ? { pattern: words.source, flags: words.flags } : words);

/** What is looked for on a page: nothing is looked up before something is asked of it. */
class Place {
  constructor(page, timing, steps = []) {
    Object.assign(this, { tab: page, timing, steps });
  }

  #next(step) {
    return new Place(this.tab, this.timing, [...this.steps, step]);
  }
  locator(css, { hasText } = {}) {
    if (css === "visible=true") return this.#next({ kind: "visible" });
    const [, plain, visible] = /^(.*?)(:visible)?$/s.exec(css);
    const found = this.#next({ kind: "css", css: plain });
    const seen = visible ? found.locator("visible=true") : found;
    return hasText === undefined ? seen : seen.filter({ hasText });
  }
  getByTestId(id) {
    return this.locator(`[data-testid=${id}]`);
  }
  getByText(words, { exact = false } = {}) {
    return this.#next({ kind: "text", words: written(words), exact });
  }
  getByLabel(words, { exact = false } = {}) {
    return this.#next({ kind: "label", words: written(words), exact });
  }
  getByRole(role, { name, exact = false } = {}) {
    return this.#next({ kind: "role", role, name: written(name), exact });
  }
  filter({ hasText, has }) {
    if (has) return this.#next({ kind: "around", steps: has.steps });
    return this.#next({ kind: "has", words: written(hasText) });
  }
  and({ steps }) {
    return this.#next({ kind: "and", steps });
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

  inputValue() {
    return this.evaluate(({ value }) => value);
  }
  isChecked() {
    return this.evaluate(({ checked }) => checked);
  }
  isDisabled() {
    return this.evaluate(({ disabled }) => disabled);
  }
  allInnerTexts() {
    return this.evaluateAll((all) => all.map(({ innerText }) => innerText));
  }
  allTextContents() {
    return this.evaluateAll((all) => all.map(({ textContent }) => textContent));
  }
  focus() {
    return this.evaluate((element) => element.focus());
  }

  async #underMouse(force = false) {
    let element;
    await this.#until("under the mouse", async () => {
      element = await this.#one("visible");
      return force || this.tab.evaluate(isHit, element);
    });
    return element;
  }
  /** What is drawn anew between the look and the mouse's way is looked for again. */
  #withMouse(does, force) {
    return this.#until("still there for the mouse", async () => {
      const element = await this.#underMouse(force);
      try {
        await does(element);
      } catch (error) {
        if (/detached from document/.test(error.message)) return false;
        throw error;
      }
      return true;
    });
  }
  async click({ force = false } = {}) {
    await this.#withMouse((element) => element.click(), force);
  }
  async hover() {
    await this.#withMouse((element) => element.hover());
  }
  async check() {
    await this.click();
    if (!(await this.isChecked())) throw new Error(`pressed and not checked: ${JSON.stringify(this.steps)}`);
  }
  async fill(text) {
    await this.tab.evaluate((element, text) => {
      element.focus();
      element.value = text;
      element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
      element.dispatchEvent(new Event("change", { bubbles: true }));
    }, await this.#one("visible"), text);
  }
  async press(keys) {
    await (await this.#one("visible")).focus();
    await press(this.tab.keyboard, keys);
  }
  async pressSequentially(text) {
    await (await this.#one("visible")).focus();
    await this.tab.keyboard.type(text);
  }
  /** A file, as if somebody had chosen it. */
  async setInputFiles({ name, mimeType, buffer }) {
    await this.evaluate((field, [name, type, bytes]) => {
      const chosen = new DataTransfer();
      chosen.items.add(new File([Uint8Array.from(bytes)], name, { type }));
      field.files = chosen.files;
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }, [name, mimeType, [...buffer]]);
  }
  async uncheck() {
    await this.click();
    if (await this.isChecked()) throw new Error(`pressed and still checked: ${JSON.stringify(this.steps)}`);
  }
  async selectOption(wanted) {
    const name = wanted.label ?? wanted;
    let list, value;
    // Its value or what it says.
    await this.#until(`an option ${name}`, async () => {
      list = await this.#one("visible");
      value = await this.tab.evaluate(({ options }, name) => [...options].find(({ value, label }) => value === name || label.trim() === name)?.value, list, name);
      return value !== undefined;
    });
    await list.select(value);
  }
}

/** Presses keys at once, as `Alt+Shift+P`. */
async function press(keyboard, keys) {
  const held = keys.split(/(?<=.)\+/);
  const last = held.pop();
  for (const key of held) await keyboard.down(key);
  await keyboard.press(last === "Space" ? " " : last);
  for (const key of held.toReversed()) await keyboard.up(key);
}

/** A page. */
class Tab extends Place {
  keyboard = { press: (keys) => press(this.tab.keyboard, keys) };

  goto(url) {
    return this.tab.goto(url);
  }
  reload() {
    return this.tab.reload();
  }
  goBack() {
    return this.tab.goBack();
  }
  url() {
    return this.tab.url();
  }
  addInitScript(code) {
    return this.tab.evaluateOnNewDocument(code);
  }
  /** Who answers where an address fits, of which `**` is any part. What fits none goes its way. */
  async route(address, answer) {
    const fits = new RegExp(`^${address.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\*\\*", ".*").replaceAll("\\*", "[^/]*")}$`);
    if (!this.routes) {
      this.routes = [];
      await this.tab.setRequestInterception(true);
      this.tab.on("request", (request) => {
        const found = this.routes.find(({ fits }) => fits.test(request.url()));
        if (!found) return request.continue();
        return found.answer({ request: () => request, fulfill: ({ status = 200, ...rest }) => request.respond({ status, ...rest }), abort: () => request.abort() });
      });
    }
    this.routes.push({ fits, answer });
  }
  evaluate(code, argument) {
    return this.tab.evaluate(code, argument);
  }
  waitForFunction(code, argument) {
    // An element is true as well, but none comes over the wire.
    return until(this.timing, () => String(code), () => this.tab.evaluate(`(async (argument) => Boolean(await (${code})(argument)))(${JSON.stringify(argument)})`));
  }
  close() {
    return this.tab.close();
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
