// Apps that use the packed package as strangers do: without a bundler, with Vite, under a strict policy, with React,
// in Node and its test runners, in TypeScript. The package itself, as the linters of packages see it.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { consumer, files, ROOT, sh, WORK } from "../lib/package.mjs";
import { anchors, links } from "../lib/pages.mjs";
import { addressOf, STRICT_CSP } from "../lib/site.mjs";
import { viteBuilt, vitePreviewed, viteServed } from "../lib/vite.mjs";
import { mcp } from "../servers/mcp.mjs";
import { message } from "../servers/sse.mjs";

const bin = (name) => path.join(ROOT, "node_modules", ".bin", name);

/** A copy of the consumer in which %ENTRY% and its like are the package's real files. */
async function prepared(t, name) {
  const dir = await consumer(t.env.pkg, name);
  for (const file of ["index.html", "main.js"]) {
    const at = path.join(dir, file);
    const text = await fs.readFile(at, "utf8");
    await fs.writeFile(at, text.replaceAll("%ENTRY%", t.env.pkg.entry(".")).replaceAll("%OFFLINE%", t.env.pkg.entry("./offline")).replaceAll("%TESTING%", t.env.pkg.entry("./testing")));
  }
  return dir;
}

/** Buys something in the shop that this page is, and sees it in the page. */
async function buy(page) {
  await page.waitForFunction(() => document.body.dataset.ready);
  assert.equal(await page.evaluate(() => document.querySelector("#error")?.textContent ?? ""), "");
  await page.fill("#box", "Buy p1");
  await page.click("button");
  await page.waitForFunction(() => document.querySelector("#log").textContent.includes("It is in your cart."));
  assert.deepEqual(await page.$$eval("#log li", (list) => list.map((li) => [li.className, li.textContent])), [["user", "Buy p1"], ["assistant", "It is in your cart."]]);
  assert.deepEqual(await page.evaluate(() => cart.items), ["p1"]);
}

// Its apps are built in folders that its tests share.
export const together = true;

export default function (test) {
  test("plain HTML, no bundler", async (t) => {
    await prepared(t, "html");
    const page = await t.tab({ path: "/work/consumers/html/index.html", wait: false });
    await buy(page);
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("#log li").length === 2);
  });

  test("strict Content-Security-Policy and Trusted Types", async (t) => {
    const dir = await prepared(t, "csp");
    const route = await t.raw(message("Over the wire."));
    t.env.site.serve("/csp.html", await fs.readFile(path.join(dir, "index.html")), { "content-security-policy": STRICT_CSP });
    const page = await t.tab({ path: `/csp.html?model=${encodeURIComponent(route.base)}`, wait: false });
    await page.waitForFunction(() => document.body.dataset.ready);
    const seen = await page.evaluate(() => ({ answers, refused, log: document.querySelector("#log").textContent }));
    assert.deepEqual(seen.refused, []);
    assert.match(seen.answers[0], /Dragon Lore/);
    assert.equal(seen.answers[1], "Over the wire.");
    assert.match(seen.log, /Over the wire\./);
    assert.deepEqual(t.log.filter((line) => /Content Security Policy|Trusted/i.test(line)), []);
  });

  test("Trusted Types and a worker: the page's own policy lets its address pass, and the error says so", async (t) => {
    const dir = await prepared(t, "csp");
    const route = await t.raw(message("Over the wire."), message("From a worker."));
    t.allowError(/./);
    t.env.site.serve("/csp-worker.html", await fs.readFile(path.join(dir, "index.html")), { "content-security-policy": STRICT_CSP.replace("trusted-types 'none'", "trusted-types default") });
    const page = await t.tab({ path: `/csp-worker.html?model=${encodeURIComponent(route.base)}`, wait: false });
    await page.waitForFunction(() => document.body.dataset.ready);
    const answer = () => page.evaluate(async (base) => {
      try {
        const ws = await globalThis.open("worker", { host: "worker" });
        await ws.startAgent({ provider: { kind: "anthropic", apiKey: "sk-test", baseUrl: base } });
        return (await ws.run("Where?")).text;
      } catch ({ code, hint }) {
        return { code, hint };
      }
    }, route.base);
    const { code, hint } = await answer();
    assert.equal(code, "wasm_unavailable");
    assert.match(hint, /createScriptURL/);
    await page.evaluate(() => void trustedTypes.createPolicy("default", { createScriptURL: (address) => (address.endsWith("/worker.js") ? address : null) }));
    assert.equal(await answer(), "From a worker.");
  });

  test("a policy without 'wasm-unsafe-eval': the error says what to add", async (t) => {
    const dir = await prepared(t, "csp");
    t.allowError(/./);
    t.env.site.serve("/csp-none.html", await fs.readFile(path.join(dir, "index.html")), { "content-security-policy": "script-src 'self'" });
    const page = await t.tab({ path: "/csp-none.html", wait: false });
    const [error] = await page.waitForEvent("pageerror", { timeout: 10_000 }).then((e) => [e], () => t.errors);
    assert.match(`${error?.message ?? error}`, /Content Security Policy|wasm-unsafe-eval/);
  });

  test("Vite, dev server", async (t) => {
    const dir = await consumer(t.env.pkg, "vite");
    const server = await viteServed(t, dir, { optimizeDeps: { exclude: ["lodger"] } });
    await buy(await t.tab({ base: server, path: "/", wait: false }));
  });

  test("Vite, dev server without optimizeDeps.exclude: this Vite needs none", async (t) => {
    const dir = await consumer(t.env.pkg, "vite");
    await buy(await t.tab({ base: await viteServed(t, dir, {}), path: "/", wait: false }));
  });

  test("Vite, build and preview: the module and its parts, each once, as files", async (t) => {
    const dir = await consumer(t.env.pkg, "vite");
    await viteBuilt(dir, { base: "/" });
    const made = [];
    for await (const file of files(path.join(dir, "dist"))) made.push(path.relative(dir, file));
    const parts = await fs.readdir(path.join(t.env.pkg.dir, "rooms"));
    assert.equal(made.filter((f) => f.endsWith(".wasm")).length, 1 + parts.length, made.join(" "));
    const inlined = await Promise.all(made.filter((f) => f.endsWith(".js")).map((f) => fs.readFile(path.join(dir, f), "utf8")));
    assert.ok(inlined.every((text) => !text.includes("data:application/wasm")), "the wasm is a file, not inlined");
    await buy(await t.tab({ base: await vitePreviewed(t, dir), path: "/", wait: false }));
  });

  test("React under StrictMode with hot reloading", async (t) => {
    const dir = await consumer(t.env.pkg, "react");
    const { default: react } = await import("@vitejs/plugin-react");
    const server = await viteServed(t, dir, { plugins: [react()], optimizeDeps: { exclude: ["lodger"], include: ["react", "react-dom/client", "react/jsx-dev-runtime"] } });
    const page = await t.tab({ base: server, path: "/", wait: false });
    const answers = (n) => page.waitForFunction((n) => document.querySelectorAll("li.assistant").length === n && document.querySelector("#status").textContent === "ready", n);
    await page.waitForSelector("button", { timeout: 40_000 });
    await page.click("button");
    await answers(1);
    const first = await page.textContent("li.assistant");
    assert.ok(first.length > 20, first);

    await page.evaluate(() => { globalThis.sameDocument = true; });
    const file = path.join(dir, "src", "Chat.jsx");
    // By rename, as editors save: a file that is written in place is empty for a moment, and Vite reloads the page for that.
    await fs.writeFile(`${file}~`, (await fs.readFile(file, "utf8")).replace("first edition", "second edition"));
    await fs.rename(`${file}~`, file);
    await page.waitForFunction(() => document.querySelector("h1")?.textContent === "Chat, second edition");
    assert.equal(await page.evaluate(() => globalThis.sameDocument), true, "hot reloaded, not reloaded");
    await answers(1);
    assert.equal(await page.textContent("li.assistant"), first, "nothing is missing");
    await page.click("button");
    await answers(2);
    assert.equal(await page.evaluate(() => document.body.dataset.error ?? ""), "");
    assert.deepEqual(t.log.filter((line) => /error\]/.test(line)), []);
  });

  test("useChat: a question that a reload interrupts, its answer, a new answer, a stop, the conversation after it", async (t) => {
    const page = await t.tab({ path: await built(t, "use-chat", "@vitejs/plugin-react"), wait: false });
    const says = (lines, status = "ready") => shows(page, lines, status);
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    await press("Send");
    const asked = "Place the order of 3 chairs? Allow Deny";
    await says(['send_order {"cart":"3 chairs"}', asked], "streaming");
    await page.reload();
    await says(['send_order {"cart":"3 chairs"}', asked], "streaming");
    await press("Allow");
    const done = ['send_order {"cart":"3 chairs"}', "[send_order: output-available]The tool send_order says: ordered 3 chairs"];
    await says(done);
    await page.reload();
    await says(done);
    await page.fill("input", 'send_order {"cart":"a desk"}');
    await press("Send");
    await press("Deny");
    const denied = [...done, 'send_order {"cart":"a desk"}', /^\[send_order: output-denied\]./];
    await says(denied);
    await press("Again");
    await press("Allow");
    const again = [...denied.slice(0, 3), "[send_order: output-available]The tool send_order says: ordered a desk"];
    await says(again);
    await page.reload();
    await says(again);
    await page.fill("input", 'send_order {"cart":"a lamp"}');
    await press("Send");
    await page.getByRole("button", { name: "Allow" }).waitFor();
    await press("Stop");
    await says([...again, 'send_order {"cart":"a lamp"}', "[send_order: output-error]"]);
    assert.deepEqual(t.log.filter((line) => /error\]/.test(line)), []);
  });

  test("assistant-ui: a question that a reload interrupts, its answer, a new answer, the conversation after it", async (t) => {
    const page = await t.tab({ path: await built(t, "assistant-ui", "@vitejs/plugin-react"), wait: false });
    const press = (name) => page.getByRole("button", { name, exact: true }).last().click();
    const order = async (cart) => {
      await page.fill("textarea", `send_order {"cart":"${cart}"}`);
      await press("Send");
    };
    const says = (lines, status = "ready") => shows(page, lines, status);
    await order("3 chairs");
    const asked = ['send_order {"cart":"3 chairs"}', "Place the order of 3 chairs? allow_oncealways_allowdeny"];
    await says(asked, "waiting");
    await page.reload();
    await says(asked, "waiting");
    await press("allow_once");
    const done = [asked[0], "[send_order: done]The tool send_order says: ordered 3 chairsAgain"];
    await says(done);
    await page.reload();
    await says(done);
    await order("a desk");
    await press("deny");
    const denied = [...done, 'send_order {"cart":"a desk"}', /^\[send_order: failed\]The tool send_order says: .*Again$/];
    await says(denied);
    await press("Again");
    await press("always_allow");
    const again = [...denied.slice(0, 3), "[send_order: done]The tool send_order says: ordered a deskAgain"];
    await says(again);
    await order("a lamp");
    const free = [...again, 'send_order {"cart":"a lamp"}', "[send_order: done]The tool send_order says: ordered a lampAgain"];
    await says(free);
    await page.reload();
    await says(free);
    assert.deepEqual(t.log.filter((line) => /error\]/.test(line)), []);
  });

  test("MCP by its SDK: the server's tools with their hints, a question, a picture, an error, the conversation after a reload", async (t) => {
    const server = await mcp(t);
    const page = await t.tab({ path: `${await built(t, "mcp")}?mcp=${encodeURIComponent(server.url)}`, wait: false });
    const lines = [];
    const says = async (text, ...answers) => {
      await page.waitForFunction(() => document.querySelector("#form").onsubmit);
      await page.fill("#box", text);
      await page.getByRole("button", { name: "Send" }).click();
      for (const name of answers.slice(1)) await page.getByRole("button", { name }).click();
      lines.push(text, answers[0]);
      await shows(page, lines, "ready");
    };
    const picture = () => page.waitForFunction(() => document.querySelector("img")?.naturalWidth === 1);
    // Asked about for what it does away with, then for the text from outside too; what only reads is never asked about.
    await says('cancel_order {"id":"7"}', /^\[cancel_order: completed\] .*order 7 is cancelled/, "Allow");
    await says('draw_chart {"of":"sales"}', /^\[draw_chart: completed\] .*the sales of 2026/);
    await picture();
    await says('cancel_order {"id":"8"}', /^\[cancel_order: denied\] /, "Deny");
    await says('cancel_order {"id":"none"}', /^\[cancel_order: failed\] .*there is no such order/, "Allow");
    await page.reload();
    await picture();
    await shows(page, lines, "ready");
    assert.deepEqual(server.calls, ["cancel_order 7", "draw_chart sales", "cancel_order none"]);
    assert.deepEqual([...server.versions], ["2026-07-28"]);
    assert.deepEqual(t.log.filter((line) => /(error|warning)\]/.test(line)), []);
  });

  test("Node", async (t) => {
    const dir = await consumer(t.env.pkg, "node");
    const out = JSON.parse(await sh(process.execPath, ["main.mjs"], { cwd: dir, timeout: 30_000 }));
    assert.match(out.text, /Dragon Lore/);
    assert.equal(out.coded, "unknown_command");
  });

  test("vitest in Node: scripted model, memory, fake timers, jsdom", async (t) => {
    const dir = await consumer(t.env.pkg, "vitest");
    const report = path.join(WORK, "vitest.json");
    const printed = await sh(process.execPath, [path.join(ROOT, "node_modules", "vitest", "vitest.mjs"), "run", "--root", dir, "--reporter=json", `--outputFile=${report}`], { cwd: dir, timeout: 80_000 }).catch((e) => e.message);
    const { testResults } = JSON.parse(await fs.readFile(report, "utf8").catch(() => assert.fail(printed)));
    const tests = testResults.flatMap((f) => f.assertionResults);
    const failed = tests.filter((r) => r.status !== "passed").map((r) => `${r.fullName}: ${r.failureMessages.join("\n").slice(0, 600)}`);
    assert.deepEqual([...failed, ...testResults.filter((f) => f.status !== "passed" && !f.assertionResults.length).map((f) => f.message)], []);
    assert.equal(tests.length, 11);
    t.note(`${tests.length} tests`);
  });

  for (const config of ["tsconfig.json", "tsconfig.nodenext.json", "tsconfig.models.json", "tsconfig.bundlers.json", "tsconfig.schemas.json"]) {
    test(`TypeScript, strict (${config})`, async (t) => {
      const dir = await consumer(t.env.pkg, "types");
      await sh(process.execPath, [bin("tsc"), "-p", path.join(dir, config)], { cwd: dir });
    });
  }

  test("the package: its files, its exports, no eval, no work hidden in it", async (t) => {
    const { dir, manifest } = t.env.pkg;
    const names = [];
    for await (const file of files(dir)) names.push(path.relative(dir, file));
    for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "NOTICES.txt", "package.json"]) assert.ok(names.includes(name), `${name} is missing: ${names.join(" ")}`);
    const readme = await fs.readFile(path.join(dir, "README.md"), "utf8");
    assert.match(readme, /^# Lodger\n[^]*## Ten lines for a web app\n/);
    // Whose work is compiled in: at least the crate's own dependencies, what these need, and the standard library.
    const notices = await fs.readFile(path.join(dir, "NOTICES.txt"), "utf8");
    for (const crate of ["wasm-bindgen", "js-sys", "web-sys", "gloo-net", "serde", "serde_json", "sha2", "console_error_panic_hook", "talc", "itoa", "memchr", "block-buffer"]) assert.match(notices, new RegExp(`^${crate} [0-9.]+ \\(.+\\)$`, "m"));
    assert.match(notices, /^The Rust standard library \(/m);
    // Each section has its terms.
    for (const part of notices.split(/\n-{80}\n/).slice(1)) assert.match(part, /Permission is hereby granted|Apache License|Redistribution and use|UNICODE LICENSE/, part.slice(0, 200));
    const wasm = names.filter((n) => n.endsWith(".wasm")).sort();
    assert.equal(wasm[0], "lodger.wasm");
    assert.ok(wasm.length > 1 && wasm.slice(1).every((n) => /^rooms\/[a-z]+\.[0-9a-f]{8}\.wasm$/.test(n)), wasm.join(" "));
    for (const entry of [".", "./models.json", "./lodger.wasm"]) assert.ok(manifest.exports[entry], `exports has no ${entry}`);
    const entries = Object.keys(manifest.exports).filter((entry) => manifest.exports[entry].types);
    assert.ok(entries.length > 1, "no sub-export");
    for (const entry of entries) for (const condition of ["browser", "node"]) assert.ok(names.includes(t.env.pkg.entry(entry, [condition, "import"])), `${entry} under ${condition}`);
    assert.equal(manifest.license, "MIT OR Apache-2.0");
    assert.equal(manifest.type, "module");
    assert.ok("sideEffects" in manifest);
    assert.deepEqual(Object.keys(manifest.dependencies ?? {}), []);
    for (const name of names.filter((n) => /\.m?js$/.test(n))) {
      const text = await fs.readFile(path.join(dir, name), "utf8");
      assert.doesNotMatch(text, /\beval\s*\(|new Function\b|\.innerHTML\b|document\.write/, name);
      assert.doesNotMatch(text, /^(?:const .*= )?await /m, `${name} has a top-level await`);
    }
  });

  test("the package's documents: each page is in llms.txt, and each link leads to a file and a heading", async (t) => {
    const { dir } = t.env.pkg;
    const all = new Map();
    for await (const file of files(dir)) {
      const name = path.relative(dir, file).replaceAll(path.sep, "/");
      all.set(name, /\.(md|txt)$/.test(name) ? await fs.readFile(file, "utf8") : "");
    }
    const pages = [...all.keys()].filter((name) => name.startsWith("docs/"));
    assert.ok(pages.length > 30, pages.join(" "));
    const index = all.get("llms.txt");
    assert.deepEqual([...index.matchAll(/^- \[.+\]\((docs\/.+)\): .+\.$/gm)].map(([, name]) => name).sort(), pages.toSorted());
    assert.match(all.get("SKILL.md"), /^---\nname: lodger\ndescription: .+\n---\n/);
    const broken = [];
    for (const [name, text] of all) {
      if (!/\.md$|^llms\.txt$/.test(name)) continue;
      for (const { to, file, anchor } of links({ name, text })) {
        if (!all.has(file) || (anchor && !anchors(all.get(file)).includes(anchor))) broken.push(`${name}: ${to}`);
      }
    }
    assert.deepEqual(broken, []);
    t.note(`${pages.length} pages`);
  });

  test("publint", async (t) => {
    const printed = await sh(process.execPath, [bin("publint"), "run", t.env.pkg.tgz, "--strict"]);
    assert.doesNotMatch(printed, /Warnings:|Errors:|Suggestions:/);
  });

  test("are the types wrong?", async (t) => {
    await sh(process.execPath, [bin("attw"), t.env.pkg.tgz, "--profile", "esm-only", "--exclude-entrypoints", "./lodger.wasm", "--no-emoji", "--format", "ascii"]);
  });
}

/** Where the site has this app as Vite builds it. */
async function built(t, name, plugin) {
  const began = performance.now();
  const out = await viteBuilt(await consumer(t.env.pkg, name), { plugin });
  t.note(`built in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return `${addressOf(out)}/index.html`;
}

/** Waits until these are the messages of the page, in their words, and this is its status. */
async function shows(page, lines, status) {
  const fits = ([seen, now]) => now === status && seen.length === lines.length && lines.every((line, at) => (typeof line === "string" ? line === seen[at] : line.test(seen[at])));
  const look = () => page.evaluate(() => [[...document.querySelectorAll("#messages > *")].map((item) => item.textContent.trim()), document.querySelector("#state")?.textContent]);
  let seen = await look();
  for (const end = Date.now() + 20_000; !fits(seen) && Date.now() < end; seen = await look()) await page.waitForTimeout(30);
  assert.ok(fits(seen), `${JSON.stringify(seen)} is not ${JSON.stringify([lines.map(String), status])}`);
}
