// Browsers that are driven by Puppeteer: Firefox, and Chromium where pages have to be as they are for a person.
// Playwright tells every page that it is in front, and pages in front are neither hidden nor frozen.
import fs from "node:fs";
import puppeteer from "puppeteer-core";
import { FLAGS, program } from "./browser.mjs";

const FIREFOXES = [process.env.FIREFOX, "/usr/bin/firefox", "/usr/bin/firefox-esr"];
export const firefox = FIREFOXES.find((path) => path && fs.existsSync(path));

const LAUNCH = {
  chromium: () => ({ executablePath: program(), args: FLAGS, ignoreDefaultArgs: ["--disable-back-forward-cache"] }),
  firefox: () => ({ executablePath: firefox, browser: "firefox" }),
};

/** Starts this browser. `more`: what else Puppeteer is told. */
export const launch = (name, more) => puppeteer.launch({ ...LAUNCH[name](), ...more });

/** Waits until a page's helpers are there. Not by frames: a page behind another one paints none. */
export async function loaded(page) {
  await page.waitForFunction(() => globalThis.ready || globalThis.broken, { polling: 50, timeout: 60_000 });
  const broken = await page.evaluate(() => globalThis.broken);
  if (broken) throw new Error(`the test page could not load the package: ${broken}`);
}

/** Gives a function that opens a test page in a context of its own in this browser, which lives as long as its lane. */
export async function puppets(t, name) {
  const launched = (t.env.puppets ??= new Map());
  if (!launched.has(name)) launched.set(name, await launch(name));
  const context = await launched.get(name).createBrowserContext();
  t.after(() => context.close());
  return async ({ path = "/blank.html", init } = {}) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => t.errors.push(String(error?.stack ?? error)));
    page.on("dialog", (dialog) => dialog.accept().catch(() => {})); // of a page that asks whether to leave
    page.on("console", (line) => t.log.push(`[page ${line.type()}] ${line.text()}`));
    if (init) await page.evaluateOnNewDocument(`(() => { ${init} })()`);
    await page.goto(t.env.site.url + path);
    await loaded(page);
    return page;
  };
}

/** A test whose tabs are in Firefox; skipped where there is none. */
export const inFirefox = (body) => async (t) => {
  if (!firefox) return t.note("skipped: there is no Firefox; install Debian's package `firefox-esr`, or name the program in the environment variable FIREFOX");
  t.tab = await puppets(t, "firefox");
  t.ready = loaded;
  await body(t);
};
