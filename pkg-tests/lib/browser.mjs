// The browser: one process for the whole run, a context of its own (fresh storage) for each test.
import fs from "node:fs";
import { chromium } from "playwright-core";

export const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
  "--host-resolver-rules=MAP *.test 127.0.0.1"];

/** Where Chromium is. */
export function program() {
  const path = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && fs.existsSync(p));
  if (!path) throw new Error("no Chromium found: install Debian's package `chromium`, or name the program in the environment variable CHROMIUM");
  return path;
}

export async function launch({ headless = true, flags = [] } = {}) {
  return chromium.launch({ executablePath: program(), headless, args: [...FLAGS, ...flags] });
}

/** A browser of this test's own with the extension in this folder: its context, and the address of the extension's root. */
export async function extended(t, dir) {
  // An extension needs a profile, and Playwright's own switch against extensions left out.
  const context = await chromium.launchPersistentContext("", { executablePath: program(), ignoreDefaultArgs: ["--disable-extensions"], args: [...FLAGS, "--headless=new", `--load-extension=${dir}`] });
  t.after(() => context.close());
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
  return [context, new URL("/", worker.url()).href];
}
