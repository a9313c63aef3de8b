// What the tests share: a browser, a fresh visitor for each test, and the things a person does again and again.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** Debian's Chromium, or the one that is named. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
  });
}

/** A visitor that has never been here. What the page must never do is collected in `wrongs`. */
export async function visitor(browser, base, { width = 1280, height = 800, ...options } = {}) {
  // Without motion: a click waits until its element stands still, which takes many frames of a busy machine.
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce", ...options });
  const wrongs = [];
  const hosts = new Set([new URL(base).host]);
  const watch = (page) => {
    page.on("pageerror", (error) => wrongs.push(`exception: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && !/status of [45]\d\d/.test(message.text()) && wrongs.push(`console: ${message.text()}`));
    page.on("request", (request) => /^https?:/.test(request.url()) && !hosts.has(new URL(request.url()).host) && wrongs.push(`foreign request: ${request.url()}`));
  };
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
  });
  const page = await context.newPage();
  watch(page);
  return { context, page, wrongs, hosts, watch };
}

/** Nothing went wrong that nobody looked for. */
export async function innocent({ page, wrongs }) {
  const violations = page.isClosed() ? [] : await page.evaluate(() => window.violations ?? []);
  assert.deepEqual([...wrongs, ...violations], []);
}

/** The page, ready. Where its agent's host is says the query of `base`, whatever the path. */
export async function open(page, base, path = "/") {
  const url = new URL(path, base);
  for (const [name, value] of new URL(base).searchParams) url.searchParams.set(name, value);
  await page.goto(url.href);
  await page.getByTestId("conversation-panel").waitFor();
  await page.locator("[data-testid=conversation-panel]:not([data-status=loading])").waitFor();
}

/** From the next load on, the browser refuses to open a database. */
export function withoutStorage(page) {
  return page.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
  });
}

/** Samples and a running agent. */
export async function start(page) {
  // Which pages there are is known a little after the conversation is.
  await page.locator("[data-testid=load-samples], [role=treeitem]").first().waitFor({ state: "attached" });
  if (await page.getByTestId("load-samples").isVisible()) {
    await page.getByTestId("load-samples").click();
    await page.locator("[role=treeitem][data-slug=large-page]").waitFor({ state: "attached" });
  }
  await page.getByTestId("start-agent").click();
  await running(page);
}

/** Waits until the agent runs. */
export function running(page) {
  return page.locator("[data-testid=agent-status][data-lifecycle=Running]").waitFor();
}

/** Saves the settings that are open; they close when they are taken. */
export async function save(page) {
  await page.getByTestId("save-settings").click();
  await page.getByTestId("settings").locator("visible=true").waitFor({ state: "hidden" });
}

/** Chooses the test's own model in the settings. `more`: what else is entered there. */
export async function useModel(visit, model, more = async () => {}) {
  const { page, hosts } = visit;
  hosts.add(new URL(model.address).host);
  await page.getByTestId("open-settings").click();
  await page.getByLabel("Anthropic", { exact: false }).check();
  await page.getByTestId("key").fill("sk-ant-test-key-7431");
  await page.getByLabel("Address").fill(model.address);
  await more();
  await save(page);
}

/** Writes and sends. */
export async function say(page, text) {
  await page.getByTestId("composer").fill(text);
  await page.getByTestId("composer").press("Enter");
}

/** Waits until no run works, and all is drawn that was said. A message that was only just sent may not have begun one. */
export function settled(page) {
  return page.locator("[data-testid=conversation-panel]:is([data-status=ready],[data-status=error],[data-status=held],[data-status=stopped]):not(:has([data-drawing]))").waitFor();
}

/** The title of the tab. */
export function titled(page, title) {
  return page.waitForFunction((title) => document.title === title, title);
}


/** Waits until the last answer is complete, whatever the conversation was before it went on. */
export async function answered(page) {
  await page.getByTestId("assistant-message").last().and(page.locator("[data-status=complete]")).waitFor();
  await settled(page);
}

/** Waits until the answer has begun to show. */
export async function streaming(page) {
  await page.locator("[data-testid=conversation-panel][data-status=streaming]").waitFor();
  await page.locator("[data-testid=assistant-message].growing").waitFor();
}

/** Waits until these words are stored of as many answers that are still being written: the page may go away then. */
export function kept(page, words = "nobody has read", answers = 1) {
  return page.waitForFunction(async ([words, answers]) => {
    const result = (request) => new Promise((done, failed) => Object.assign(request, { onsuccess: () => done(request.result), onerror: () => failed(request.error) }));
    const db = await result(indexedDB.open("lodger:notes"));
    const drafts = db.transaction("drafts").objectStore("drafts");
    const [keys, rows] = await Promise.all([result(drafts.getAllKeys()), result(drafts.getAll())]);
    db.close();
    const texts = new Map();
    for (const [at, [session, run]] of keys.entries()) {
      // Behind the digits of its hash; a block is its kind and its text.
      const text = JSON.parse(rows[at].slice(64)).map(([, , [, text]]) => text).join("");
      texts.set(`${session} ${run}`, (texts.get(`${session} ${run}`) ?? "") + text);
    }
    return [...texts.values()].filter((text) => text.includes(words)).length >= answers;
  }, [words, answers], { polling: 50 });
}

/** The workspace that the page shows, as other code of the page has it: `window.ws`. */
export function workspace(page, name = "notes") {
  return page.evaluate(async (name) => {
    const { openWorkspace } = await import("/lodger/index.js");
    window.ws = await openWorkspace(name);
  }, name);
}

/** Changes stored rows, past the package. */
export function tamper(page, table, from, to) {
  return page.evaluate(async ([table, from, to]) => {
    const db = await new Promise((go, no) => Object.assign(indexedDB.open("lodger:notes"), { onsuccess: (e) => go(e.target.result), onerror: no }));
    const transaction = db.transaction(table, "readwrite");
    transaction.objectStore(table).openCursor().onsuccess = ({ target: { result: cursor } }) => {
      if (!cursor) return;
      if (cursor.value.includes(from)) cursor.update(cursor.value.replaceAll(from, to));
      cursor.continue();
    };
    await new Promise((go, no) => Object.assign(transaction, { oncomplete: go, onabort: no }));
    db.close();
  }, [table, from, to]);
}

/** Scrolls to the end of what a question is about, because leave is given only then. */
export const readToTheEnd = (page) => page.getByTestId("permission-body").evaluate((body) => body.scrollTo(0, body.scrollHeight));
