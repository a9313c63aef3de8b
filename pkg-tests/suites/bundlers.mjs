// The same shop, built by each bundler from the packed package. The module comes out of the build before the page calls
// anything, each part when it is needed, all of them once. A worker's build does the same. An extension's panel is one
// more.
import assert from "node:assert/strict";
import http from "node:http";
import fs from "node:fs/promises";
import path from "node:path";
import { extended } from "../lib/browser.mjs";
import { launch as puppet } from "../lib/puppets.mjs";
import { consumer, environment, exists, files, ROOT, served, sh, WORK } from "../lib/package.mjs";
import { addressOf } from "../lib/site.mjs";
import { message } from "../servers/sse.mjs";

const bin = (name) => path.join(ROOT, "node_modules", ".bin", name);
const script = [process.execPath, "build.mjs"];
/** Two versions have one name in `.bin`. */
const vite = (version) => [process.execPath, path.join(ROOT, "node_modules", version, "bin", "vite.js")];
const viteBuild = (version) => [...vite(version), "build", "--base", "./", "--logLevel", "error"];
/** Where the page names a file of the package: in the build, or where the bundler finds it. Next writes its pages itself. */
const flat = (file) => `./${path.basename(file)}`, inFiles = (file) => `./files/${path.basename(file)}`, installed = (file) => `./node_modules/lodger/${file}`;
const parts = /<link [^>]*as="?fetch[^>]*>\n?/g;

/** Where nothing is `named`, files have names that the page cannot know. */
const BUNDLERS = {
  webpack: { build: script, named: flat, folders: ["webpack"] },
  rollup: { build: script, folders: ["rollup"] },
  "rollup, in folders": { build: script, named: inFiles, folders: ["rollup-folders"] },
  esbuild: { build: script, folders: ["esbuild"] },
  "esbuild, one script": { build: script, named: (file) => `./js/files/${path.basename(file)}`, folders: ["esbuild-script"] },
  "vite 7": { build: viteBuild("vite7"), named: installed, folders: ["vite7"] },
  "vite 8": { build: viteBuild("vite"), named: installed },
  parcel: { build: [bin("parcel"), "build", "index.html", "--public-url", "./", "--no-cache", "--cache-dir", ".cache", "--no-source-maps"], named: installed },
  next: { build: [bin("next"), "build"], folders: ["next"], out: "out" },
};

/** Guards against hanging where a machine does much besides. */
const LONG = { hangMs: 300_000 };

/** The folder of the shop with what it needs beside the rest of it. */
async function shop(t, name, { named, folders = [] }) {
  const dir = await consumer(t.env.pkg, name.replace(/\W+/g, "-"), ["bundled", ...folders]);
  const page = path.join(dir, "index.html");
  const html = await fs.readFile(page, "utf8");
  await fs.writeFile(page, named ? await naming(t, html, named) : html.replace(parts, ""));
  return dir;
}

/** The page with the module's address and that of the provider's part. */
async function naming(t, html, named) {
  const room = (await fs.readdir(path.join(t.env.pkg.dir, "rooms"))).find((file) => file.startsWith("anthropic."));
  return html.replace("%MODULE%", named("lodger.wasm")).replace("%ROOM%", named(`rooms/${room}`));
}

/** The folder of the shop, built. */
async function built(t, name, how, more = []) {
  const dir = await shop(t, `built by ${name}`, how);
  const began = performance.now();
  const [command, ...args] = how.build;
  await sh(command, [...args, ...more], { cwd: dir, env: environment("production"), timeout: 240_000 });
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
  await buy(page, route);
  assert.deepEqual((await fetched()).sort(), ["anthropic", "lodger"], "the part of the provider, and no other");
  await save(page);
  assert.deepEqual((await fetched()).sort(), ["anthropic", "carry", "lodger", "past"], "each once");
}

const seen = (page, selector, words) => page.waitForFunction(([selector, words]) => document.querySelector("#error").textContent || document.querySelector(selector).textContent.includes(words), [selector, words]);

async function buy(page, route) {
  await page.waitForFunction(() => document.body.dataset.ready);
  await page.click("#open");
  await page.waitForFunction(() => document.querySelector("#error").textContent || document.body.dataset.open);
  assert.equal(await page.textContent("#error"), "");
  await page.click("#send");
  await seen(page, "#log", "It is in your cart.");
  assert.equal(await page.textContent("#error"), "");
  assert.deepEqual(await page.evaluate(() => cart.items), ["p1"]);
  assert.equal(route.requests.length, 2);
}

async function save(page) {
  await page.click("#save");
  await seen(page, "#saved", "It is in your cart.");
  assert.equal(await page.textContent("#error"), "");
}

const sale = () => [message({ tool: "add_to_cart", args: { id: "p1" } }), message("It is in your cart.")];

/** The pages of a build, each with where its agent works and what it asks for early; the second is without the lines for that. */
async function pagesOf(out, { named }) {
  const html = await fs.readFile(path.join(out, "index.html"), "utf8");
  assert.equal(html.match(parts)?.length, named && 2, "the page's own lines");
  await fs.writeFile(path.join(out, "plain.html"), html.replace(parts, ""));
  return [["index.html", "page", named ? ["anthropic", "lodger"] : ["lodger"]], ["plain.html", "worker", ["lodger"]]];
}

const address = (page, host, route) => `${page}?host=${host}&model=${encodeURIComponent(route.base)}`;

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** A server of this folder on another origin. `without`: files that it lets no other origin read. `asked`: what it has been asked for. */
async function elsewhere(t, dir, without = /^$/) {
  const asked = [];
  const server = http.createServer(async (request, response) => {
    const file = path.join(dir, new URL(request.url, "http://x").pathname);
    asked.push(file);
    const body = await fs.readFile(file).catch(() => null);
    const cors = without.test(file) ? {} : { "access-control-allow-origin": "*" };
    response.writeHead(body ? 200 : 404, { ...cors, "content-type": TYPES[path.extname(file)] ?? "text/plain" }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => { server.closeAllConnections(); return new Promise((done) => server.close(done)); });
  return { asked, url: `http://localhost:${server.address().port}` };
}

/** A page of the shop that has the package from there by an import map. */
async function mapped(t, { url }, { lines = false, policy } = {}) {
  const html = await naming(t, await fs.readFile(path.join(ROOT, "consumers", "bundled", "index.html"), "utf8"), (file) => `${url}/${file}`);
  const map = `<script type="importmap">${JSON.stringify({ imports: { lodger: `${url}/${t.env.pkg.entry(".")}` } })}</script>`;
  const text = html.replace("<title>", `${map}<title>`).replace("./main.js", "/consumers/bundled/main.js");
  const scripts = (await fs.readdir(t.env.pkg.dir)).filter((name) => name.endsWith(".js"));
  return t.env.site.serve(`/mapped-${Math.random()}.html`, lines ? text : text.replace(parts, ""), policy ? { "content-security-policy": policy(url, scripts) } : {});
}

/** For any browser: the page has the package from another origin, and what is refused there has its reason. */
export function foreign(on) {
  on("the package on another origin: it works, and the error says what a policy refuses", async (t, host) => {
    const [other, without, route] = [await elsewhere(t, t.env.pkg.dir), await elsewhere(t, t.env.pkg.dir, /\.wasm$/), await t.raw(message("From elsewhere."))];
    t.allowError(/./);
    const answer = async ({ url }, policy) => {
      const imports = Object.fromEntries(Object.entries(t.env.site.imports).map(([name, at]) => [name, at.replace("/lodger", url)]));
      const html = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="importmap">${JSON.stringify({ imports })}</script><script type="module" src="/helpers.js"></script>`;
      const page = await t.tab({ path: t.env.site.serve(`/elsewhere-${Math.random()}.html`, html, policy ? { "content-security-policy": policy } : {}) });
      return page.evaluate(async ([host, baseUrl]) => {
        try {
          const ws = await lodger.openWorkspace("elsewhere", { host, pageTools: false });
          await ws.startAgent({ provider: { kind: "anthropic", apiKey: "sk-test", baseUrl } });
          return (await ws.run("Where?")).text;
        } catch ({ code, message, hint }) {
          return `${code}: ${message} ${hint}`;
        }
      }, [host, route.base]);
    };
    assert.equal(await answer(other), "From elsewhere.");
    assert.match(await answer(without), /^wasm_unavailable: .*lodger\.wasm\. It must answer with Access-Control-Allow-Origin\.$/);
    if (host === "worker") assert.match(await answer(other, "worker-src 'self'"), /^wasm_unavailable: .*Content Security Policy.*Add blob: to worker-src/);
  });
}

/** What a page of the shop says when it cannot be opened. */
async function refusal(t, at, host) {
  t.allowError(/./);
  const page = await t.tab({ path: address(at, host, await t.raw()), wait: false });
  await page.waitForFunction(() => document.body.dataset.ready);
  await page.click("#open");
  await page.waitForFunction(() => document.querySelector("#error").textContent || document.body.dataset.open);
  return page.textContent("#error");
}

export default function (test) {
  for (const [name, how] of Object.entries(BUNDLERS)) {
    test(`${name}: in the page and in a worker`, async (t) => {
      const out = path.join(await built(t, name, how), how.out ?? "dist");
      const { site } = t.env;
      const root = `${addressOf(out)}/`;
      const names = await namesOf(t.env.pkg);
      for (const [page, host, early] of await pagesOf(out, how)) {
        const [before, route] = [site.asked.length, await t.raw(...sale())];
        const fetched = () => names(site.asked.slice(before).map((at) => (at.startsWith(root) ? path.join(out, at.slice(root.length)) : at)));
        await use(await t.tab({ path: root + address(page, host, route), wait: false }), route, early, fetched);
      }
    }, LONG);
  }

  for (const name of ["esbuild", "rollup"]) {
    test(`${name}: an app's folder may have any name`, async (t) => {
      const dir = await consumer(t.env.pkg, `${name}, zurück (文) [1]+{2}`, ["bundled", name]);
      await sh(process.execPath, ["build.mjs"], { cwd: dir });
      const emitted = await fs.readdir(path.join(dir, "dist"), { recursive: true });
      for (const file of [/lodger-.*\.wasm$/, /anthropic.*\.wasm$/, /lodger-worker.*\.js$/]) assert.ok(emitted.some((it) => file.test(it)), `${file} in ${emitted}`);
    });
  }

  const SERVED = {
    "vite 7": { serve: [...vite("vite7"), "--host", "127.0.0.1", "--port", "0"], folders: ["vite7"] },
    "vite 8": { serve: [...vite("vite"), "--host", "127.0.0.1", "--port", "0"] },
    next: { serve: [bin("next"), "dev", "--hostname", "127.0.0.1", "--port", "0"], folders: ["next"], at: "/work/consumers/built-by-next/out" },
  };
  for (const [name, how] of Object.entries(SERVED)) {
    test(`${name}, while it serves: in the page and in a worker`, async (t) => {
      const base = await served(t, await shop(t, `served by ${name}`, how), how.serve, "development");
      // The first one is answered when all is compiled.
      await (await fetch(base + (how.at ?? "/"))).text();
      for (const host of ["page", "worker"]) {
        const route = await t.raw(...sale());
        const page = await t.tab({ base, path: address(how.at ?? "/", host, route), wait: false });
        await buy(page, route);
        await save(page);
      }
    }, LONG);
  }

  test("vite 7, while it serves, without its line: the error has it", async (t) => {
    const base = await served(t, await shop(t, "served by vite 7 without a line", {}), SERVED["vite 7"].serve, "development");
    t.allowError(/./);
    const page = await t.tab({ base, path: address("/", "page", await t.raw()), wait: false });
    await page.waitForFunction(() => document.body.dataset.ready);
    await page.click("#open");
    await page.waitForFunction(() => document.querySelector("#error").textContent);
    assert.match(await page.textContent("#error"), /wasm_unavailable.* optimizeDeps: \{ exclude: \["lodger"\] \}/);
  });

  test("an import map, the package on another origin: in the page and in a worker", async (t) => {
    const names = await namesOf(t.env.pkg);
    for (const [lines, host, early] of [[true, "page", ["anthropic", "lodger"]], [false, "worker", ["lodger"]]]) {
      const [other, route] = [await elsewhere(t, t.env.pkg.dir), await t.raw(...sale())];
      const page = await t.tab({ path: address(await mapped(t, other, { lines }), host, route), wait: false });
      await use(page, route, early, () => names(other.asked));
    }
  });

  for (const [name, folders] of [["vite 8", []], ["webpack", ["webpack"]]]) {
    test(`${name}, its scripts on another origin: in the page and in a worker`, async (t) => {
      const dir = path.join(WORK, "consumers", `built-by-${name.replace(/\W+/g, "-")}-elsewhere`, "dist");
      const other = await elsewhere(t, dir);
      const how = { build: name === "webpack" ? [...script, `${other.url}/`] : [...vite("vite"), "build", "--base", `${other.url}/`, "--logLevel", "error"], folders };
      await built(t, `${name} elsewhere`, how);
      const html = (await fs.readFile(path.join(dir, "index.html"), "utf8")).replace("./main.js", `${other.url}/main.js`);
      const at = t.env.site.serve(`/scripts-elsewhere-${folders.length}.html`, html);
      for (const host of ["page", "worker"]) {
        const route = await t.raw(...sale());
        const page = await t.tab({ path: address(at, host, route), wait: false });
        await buy(page, route);
        await save(page);
      }
    });
  }

  const policy = (worker, connect) => (url) => `script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' ${url}; worker-src ${worker(url)}; connect-src 'self' http://127.0.0.1:* ${connect(url)}`;
  const REASONS = {
    "a policy without blob: in worker-src": ["worker", /^$/, policy((url) => `'self' ${url}`, (url) => url), /Content Security Policy.*Add blob: to worker-src/],
    "a policy for the page's script alone": ["worker", /^$/, (url, scripts) => `script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' ${scripts.filter((name) => name !== "worker.js").map((name) => `${url}/${name}`).join(" ")}; worker-src blob:`, /Content Security Policy.*worker\.js.*Add .* to script-src/],
    "a worker without CORS": ["worker", /worker\.js$/, undefined, /worker\.js.*Access-Control-Allow-Origin/],
    "a module without CORS": ["page", /lodger\.wasm$/, undefined, /lodger\.wasm.*Access-Control-Allow-Origin/],
    "a module without CORS, in a worker": ["worker", /lodger\.wasm$/, undefined, /lodger\.wasm.*Access-Control-Allow-Origin/],
    "a policy without the origin in connect-src": ["page", /^$/, policy(() => "blob:", () => ""), /Content Security Policy.*connect-src/],
  };
  for (const [name, [host, without, policy, reason]] of Object.entries(REASONS)) {
    test(`the package on another origin, ${name}: the error says so`, async (t) => {
      const other = await elsewhere(t, t.env.pkg.dir, without);
      const said = await refusal(t, await mapped(t, other, { policy }), host);
      assert.match(said, /^wasm_unavailable: /);
      assert.match(said, reason);
      assert.ok(said.includes(other.url), said);
    });
  }

  test("the package on another origin, Trusted Types: the page's own policy lets a blob: pass, and the error says so", async (t) => {
    const [other, route] = [await elsewhere(t, t.env.pkg.dir), await t.raw(...sale())];
    const at = await mapped(t, other, { policy: () => "require-trusted-types-for 'script'; trusted-types default" });
    assert.match(await refusal(t, at, "worker"), /^wasm_unavailable: .*blob:.*createScriptURL/);
    const page = await t.tab({ path: address(at, "worker", route), wait: false });
    await page.evaluate(() => void trustedTypes.createPolicy("default", { createScriptURL: (it) => (it.startsWith("blob:") ? it : null) }));
    await buy(page, route);
  });

  let panel;
  /** The folder of the extension of its guide, built once. */
  const ofGuide = (t) => (panel ??= (async () => {
    const dir = await consumer(t.env.pkg, "built-by-panel", ["extension", "panel"]);
    await sh(vite("vite")[0], [...viteBuild("vite").slice(1)], { cwd: dir, env: environment("production"), timeout: 240_000 });
    return dir;
  })());

  // By Puppeteer, because Playwright gives no page of a side panel. The other tests have it in a tab.
  test("an extension: a press of its action opens the panel of its guide beside the page", async (t) => {
    const browser = await puppet("chromium", { enableExtensions: [await ofGuide(t)], pipe: true });
    t.after(() => browser.close());
    await browser.waitForTarget((target) => target.type() === "service_worker");
    const [beside] = await browser.pages();
    await beside.goto(`${t.env.site.url}/blank.html`);
    const [extension] = (await browser.extensions()).values();
    const opened = browser.waitForTarget((target) => target.url().endsWith("/dist/index.html"));
    await extension.triggerAction(beside);
    const page = await (await opened).asPage();
    page.on("pageerror", (error) => t.errors.push(String(error?.stack ?? error)));
    await page.locator("#send:enabled").click();
    await page.locator("::-p-text(Allow)").click();
    await page.waitForFunction(() => document.querySelector("#log").textContent.includes("saved as note 1"), { polling: 50 });
    const contexts = await page.evaluate(() => chrome.runtime.getContexts({ contextTypes: ["SIDE_PANEL", "TAB"] }));
    assert.deepEqual(contexts.map(({ contextType, documentUrl }) => [contextType, documentUrl]), [["SIDE_PANEL", page.url()]]);
    assert.equal(await beside.evaluate(() => document.visibilityState), "visible");
  });

  test("an extension: the panel of its guide, and what it keeps", async (t) => {
    const [context, root] = await extended(t, await ofGuide(t));
    const page = await context.newPage();
    await page.goto(`${root}dist/index.html`);
    await page.click("#send:enabled");
    await page.getByText("Save “Call Ann”?").waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    const said = ['save_note {"text":"Call Ann"}', "[save_note: completed]\nThe tool save_note says: saved as note 1"];
    const shown = () => page.waitForFunction((said) => JSON.stringify([...document.querySelectorAll("#log li")].map((item) => item.textContent)) === JSON.stringify(said), said);
    await shown();
    assert.deepEqual(await page.evaluate(() => chrome.storage.local.get("notes")), { notes: ["Call Ann"] });
    const asked = [];
    await context.route("https://api.anthropic.com/**", (route) => {
      const key = route.request().headers()["x-api-key"];
      asked.push(key);
      return route.fulfill({ status: key === "sk-panel" ? 200 : 401, contentType: "application/json", headers: { "access-control-allow-origin": "*" }, body: JSON.stringify(key === "sk-panel" ? { data: [] } : { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }) });
    });
    const said401 = page.waitForEvent("dialog").then(async (dialog) => { const words = dialog.message(); await dialog.accept(); return words; });
    await page.fill("#key", "sk-wrong");
    await page.click("#setup button");
    assert.match(await said401, /key/);
    assert.equal(await page.isVisible("#setup"), true, "a wrong key can be given anew");
    await page.fill("#key", "sk-panel");
    await page.click("#setup button");
    await page.waitForSelector("#setup", { state: "hidden" });
    assert.deepEqual([...new Set(asked)], ["sk-wrong", "sk-panel"]);
    const tall = await page.evaluate(() => [...document.querySelectorAll("#box, #send")].map((one) => one.offsetHeight));
    assert.ok(tall.every((px) => px < 60), `the line of the message: ${tall}`);
    await page.reload();
    await shown();
    await page.waitForSelector("#send:enabled");
    assert.equal(await page.isVisible("#setup"), false, "the key is kept");
  });

  test("an extension: its side panel, in the page and in a worker", async (t) => {
    const how = { build: script, folders: ["esbuild", "extension"] };
    const dir = await built(t, "extension", how);
    const [context, root] = await extended(t, dir);
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
