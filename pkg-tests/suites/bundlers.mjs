// The same shop, built by each bundler from the packed package. The module comes out of the build before the page calls
// anything, each part when it is needed, all of them once. A worker's build does the same. An extension's panel is one
// more.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { chromium } from "playwright-core";
import { FLAGS, program } from "../lib/browser.mjs";
import { consumer, exists, files, ROOT, sh, WORK } from "../lib/package.mjs";
import { message } from "../servers/sse.mjs";

const bin = (name) => path.join(ROOT, "node_modules", ".bin", name);
const script = [process.execPath, "build.mjs"];
/** Where the page names a file of the package: in the build, or where the bundler finds it. Next writes its pages itself. */
const beside = (file) => `./${file}`, flat = (file) => `./${path.basename(file)}`, installed = (file) => `./node_modules/lodger/${file}`;

const BUNDLERS = {
  webpack: { build: script, named: flat, folders: ["webpack"] },
  rollup: { build: script, named: beside, folders: ["rollup"] },
  esbuild: { build: script, named: beside, folders: ["esbuild"] },
  vite: { build: [bin("vite"), "build", "--base", "./", "--logLevel", "error"], named: installed },
  parcel: { build: [bin("parcel"), "build", "index.html", "--public-url", "./", "--no-cache", "--cache-dir", ".cache", "--no-source-maps"], named: installed },
  next: { build: [bin("next"), "build"], folders: ["next"], out: "out" },
};

/** The folder of the shop, with what it needs beside the rest of it, built. */
async function built(t, name, { build: [command, ...args], named = beside, folders = [] }) {
  const dir = await consumer(t.env.pkg, `built-by-${name}`, ["bundled", ...folders]);
  const page = path.join(dir, "index.html");
  const room = (await fs.readdir(path.join(t.env.pkg.dir, "rooms"))).find((file) => file.startsWith("anthropic."));
  await fs.writeFile(page, (await fs.readFile(page, "utf8")).replace("%MODULE%", named("lodger.wasm")).replace("%ROOM%", named(`rooms/${room}`)));
  const began = performance.now();
  await sh(command, args, { cwd: dir, env: { ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" }, timeout: 80_000 });
  t.note(`built in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return dir;
}

/** Says of the module and its parts by their bytes, whatever a bundler calls them, which they are. */
async function namesOf(pkg) {
  const names = new Map();
  for await (const file of files(pkg.dir)) if (file.endsWith(".wasm")) names.set((await fs.readFile(file)).toString("base64"), path.basename(file).split(".")[0]);
  return async (asked) => Promise.all(asked.filter((file) => file.endsWith(".wasm")).map(async (file) => ((await exists(file)) ? names.get((await fs.readFile(file)).toString("base64")) : `no ${file}`)));
}

/**
 * Buys something and takes the conversation along. `fetched`: what has come by now of the module and its parts; `early`: what
 * of them comes before anything of the package is called.
 */
async function use(page, route, early, fetched) {
  await page.waitForFunction(() => document.body.dataset.ready);
  for (const end = Date.now() + 20_000; (await fetched()).length < early.length && Date.now() < end;) await page.waitForTimeout(20);
  assert.deepEqual((await fetched()).sort(), early, "before anything of the package is called");
  const seen = (selector, words) => page.waitForFunction(([selector, words]) => document.querySelector("#error").textContent || document.querySelector(selector).textContent.includes(words), [selector, words]);
  await page.click("#open");
  await page.waitForFunction(() => document.querySelector("#error").textContent || document.body.dataset.open);
  await page.click("#send");
  await seen("#log", "It is in your cart.");
  assert.equal(await page.textContent("#error"), "");
  assert.deepEqual(await page.evaluate(() => cart.items), ["p1"]);
  assert.equal(route.requests.length, 2);
  assert.deepEqual((await fetched()).sort(), ["anthropic", "lodger"], "the part of the provider, and no other");
  await page.click("#save");
  await seen("#saved", "It is in your cart.");
  assert.equal(await page.textContent("#error"), "");
  assert.deepEqual((await fetched()).sort(), ["anthropic", "carry", "lodger", "past"], "each once");
}

const sale = () => [message({ tool: "add_to_cart", args: { id: "p1" } }), message("It is in your cart.")];

/** The pages of a build, each with where its agent works and what it asks for early; the second is without the lines for that. */
async function pagesOf(out, { named }) {
  const html = await fs.readFile(path.join(out, "index.html"), "utf8");
  const lines = /<link [^>]*as="?fetch[^>]*>/g;
  assert.equal(html.match(lines)?.length, named && 2, "the page's own lines");
  await fs.writeFile(path.join(out, "plain.html"), html.replace(lines, ""));
  return [["index.html", "page", named ? ["anthropic", "lodger"] : ["lodger"]], ["plain.html", "worker", ["lodger"]]];
}

const address = (page, host, route) => `${page}?host=${host}&model=${encodeURIComponent(route.base)}`;

export default function (test) {
  for (const [name, how] of Object.entries(BUNDLERS)) {
    test(`${name}: in the page and in a worker`, async (t) => {
      const out = path.join(await built(t, name, how), how.out ?? "dist");
      const { site } = t.env;
      const root = `/work/${path.relative(WORK, out)}/`;
      const names = await namesOf(t.env.pkg);
      for (const [page, host, early] of await pagesOf(out, how)) {
        const [before, route] = [site.asked.length, await t.raw(...sale())];
        const fetched = () => names(site.asked.slice(before).map((at) => (at.startsWith(root) ? path.join(out, at.slice(root.length)) : at)));
        await use(await t.tab({ path: root + address(page, host, route), wait: false }), route, early, fetched);
      }
    });
  }

  test("an extension: its side panel, in the page and in a worker", async (t) => {
    const how = { build: script, named: beside, folders: ["esbuild", "extension"] };
    const dir = await built(t, "extension", how);
    // An extension needs a profile, and Playwright's own switch against extensions left out.
    const context = await chromium.launchPersistentContext("", { executablePath: program(), ignoreDefaultArgs: ["--disable-extensions"], args: [...FLAGS, "--headless=new", `--load-extension=${dir}`] });
    t.after(() => context.close());
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    const root = new URL("/", worker.url()).href;
    const names = await namesOf(t.env.pkg);
    for (const [at, host, early] of await pagesOf(path.join(dir, "dist"), how)) {
      const route = await t.raw(...sale());
      const page = await context.newPage();
      const asked = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.goto(`${root}dist/${address(at, host, route)}`);
      await use(page, route, early, () => names(asked.map((url) => path.join(dir, url.slice(root.length)))));
    }
  });
}
