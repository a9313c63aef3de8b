// Every fenced block of the README and of the pages in `docs/`, as a reader would try it.
//
// An `html` block is a page in Chromium, and the named blocks of a start page are an app that its framework builds. What
// such a page shows is the `text` block under it. A `js` block is checked against the package's types. It runs too, and the `text` block
// under it is what it logs, or what it shows where its page has a body (`BODIES`). Only `<!-- shows: nothing -->` spares it that. Where its name is that of a test, vitest runs it, and that is the report. `http` are the headers
// of the page in the next block. `json` is JSON. A block whose name is a file in `consumers/` is that file. With a `text` block under it,
// that is what its app shows (`BUILDS`). Model APIs and others whom a page asks are `servers/standins.mjs`. Rust is compiled by the crate.
// `LODGER_WRITE=1` writes what was shown into the pages.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { extended } from "../lib/browser.mjs";
import { builds, consumer, environment, exists, ROOT, served, sh } from "../lib/package.mjs";
import { blocks, pages, prose, REPOSITORY } from "../lib/pages.mjs";
import { addressOf } from "../lib/site.mjs";
import { viteBuilt } from "../lib/vite.mjs";
import { mcp } from "../servers/mcp.mjs";
import { standIns } from "../servers/standins.mjs";

const KINDS = ["html", "js", "ts", "jsx", "vue", "svelte", "rust", "rs", "sh", "http", "json", "text"];
const bin = (name) => path.join(ROOT, "node_modules", ".bin", name);
const place = ({ page, line }) => `${page}:${line}`;
/** Pages with the form that `ARCHITECTURE` calls a guide: code first, short paragraphs, a recap. */
const GUIDES = /^docs\/(start|guides|concepts)\//;

/**
 * How the app of a start page is built: the folder in `consumers/` that has the rest of it, as the framework's own template does.
 * `open`: how the page is reached, if not by its file alone.
 */
const APPS = {
  "docs/start/react.md": { folder: "start-react", build: viteBy("@vitejs/plugin-react") },
  "docs/start/vue.md": { folder: "start-vue", build: viteBy("@vitejs/plugin-vue") },
  "docs/start/svelte.md": { folder: "start-svelte", build: viteBy("@sveltejs/vite-plugin-svelte#svelte") },
  "docs/start/next.md": { folder: "start-next", build: nextBuilt, open: nextStarted },
};

/**
 * The blocks that are files in `consumers/` and show something: the folders of the app, and how it is built. `open`: how the page is
 * reached, if not by its file alone; `waits`: its button does nothing before a script has set its form.
 */
const BUILDS = {
  "consumers/use-chat/src/main.jsx": { folders: ["use-chat"], build: viteBy("@vitejs/plugin-react") },
  "consumers/assistant-ui/src/main.jsx": { folders: ["assistant-ui"], build: viteBy("@vitejs/plugin-react") },
  "consumers/mcp/main.js": { folders: ["mcp"], build: viteBy(), open: async (t, out) => tab(t, out, `?mcp=${encodeURIComponent((await mcp(t)).url)}`), waits: true },
  "consumers/panel/panel.js": { folders: ["extension", "panel"], build: viteBy(), open: panel },
  "consumers/hello/main.js": { folders: ["hello"], build: viteBy() },
  "consumers/esbuild/build.mjs": { folders: ["hello", "esbuild"], build: built("build.mjs") },
  "consumers/rollup/build.mjs": { folders: ["hello", "rollup"], build: built("build.mjs") },
  "consumers/vite7/vite.config.js": { folders: ["hello", "vite7"], build: built(path.join(ROOT, "node_modules", "vite7", "bin", "vite.js"), "build", "--base", "./") },
};

function viteBy(plugin) {
  return (dir) => viteBuilt(dir, { plugin });
}

function built(...script) {
  return async (dir) => {
    await builds(dir, script);
    return path.join(dir, "dist");
  };
}

/** A tab on the page that was built. */
function tab(t, out, query = "") {
  t.env.site.serve("/favicon.ico", "", {}, "image/x-icon");
  return t.tab({ path: `${addressOf(out)}/index.html${query}`, wait: false });
}

/** The same page as that of an extension. */
async function panel(t, out) {
  const [context, root] = await extended(t, path.dirname(out));
  const page = await context.newPage();
  page.on("pageerror", (error) => t.errors.push(String(error?.stack ?? error)));
  await page.goto(`${root}${path.basename(out)}/index.html`);
  return page;
}

async function nextBuilt(dir) {
  await sh(bin("next"), ["build"], { cwd: dir, env: environment("production"), timeout: 90_000 });
  return dir;
}

/** As `npm start` serves what was built. */
async function nextStarted(t, dir) {
  return t.tab({ base: await served(t, dir, [bin("next"), "start", "--hostname", "127.0.0.1", "--port", "0"], "production"), path: "/", wait: false });
}

/** The lines that a person sees, without the buttons. */
const shown = (page) => page.evaluate(() => {
  const buttons = [...document.querySelectorAll("button")].map(({ style }) => [style, style.display]);
  for (const [style] of buttons) style.display = "none";
  const lines = document.body.innerText.split("\n").map((line) => line.trim()).filter(Boolean);
  for (const [style, display] of buttons) style.display = display;
  return lines;
});

/** What a page has a reader choose. */
const CHOSEN = {
  "chairs.png": { mimeType: "image/png", bytes: "iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAIAAADwyuo0AAAAEElEQVR42mPodhWGIwZkDgBgEgcZzfDc2wAAAABJRU5ErkJggg==" },
};

/** Chooses, types and presses what the page says, and waits until it shows what is written under it; in a writing run until it stands still. */
async function use(page, { type, press, choose, output }, handled) {
  if (choose) {
    const { mimeType, bytes } = CHOSEN[choose];
    await page.locator("[type=file]").setInputFiles({ name: choose, mimeType, buffer: Buffer.from(bytes, "base64") });
  }
  if (type) await page.getByRole("textbox").last().fill(type, { timeout: 30_000 });
  for (const name of press) {
    const button = page.getByRole("button", { name, exact: true });
    await button.waitFor({ state: "visible", timeout: 30_000 });
    if (handled) await page.waitForFunction(() => [...document.forms].every((form) => form.onsubmit));
    await button.click();
  }
  const wanted = output.code.split("\n").map((line) => line.trim()).filter(Boolean);
  const until = Date.now() + (process.env.LODGER_WRITE ? 3_000 : 20_000);
  for (;;) {
    const seen = await shown(page);
    if (wanted.length && JSON.stringify(seen) === JSON.stringify(wanted)) return;
    if (Date.now() > until) return said(output, seen, wanted);
    await page.waitForTimeout(50);
  }
}

/** Compares, or in a writing run puts what was seen into the page. */
async function said(output, seen, wanted = output.code.split("\n")) {
  if (process.env.LODGER_WRITE && JSON.stringify(seen) !== JSON.stringify(wanted)) {
    const file = path.join(REPOSITORY, output.page);
    const lines = (await fs.readFile(file, "utf8")).split("\n");
    const fresh = blocks({ name: output.page, text: lines.join("\n") });
    const old = fresh.filter(({ kind }) => kind === "text")[output.index];
    lines.splice(old.line, old.end - old.line - 1, ...seen);
    return fs.writeFile(file, lines.join("\n"));
  }
  assert.deepEqual(seen, wanted, `what ${place(output)} says`);
}

/** A file of the app in Rust, which tests of its own run in browsers. */
const ofExample = (name) => fs.readFile(path.join(REPOSITORY, "examples", "wasm-app", name), "utf8");

/** Whether these lines stand in a source, as they are or one step further in. */
const isPiece = (code, source) => [code, code.replace(/^(?=.)/gm, "    ")].some((piece) => `\n${source}`.includes(`\n${piece}\n`));

/** Whether an installed tool, a file or a command of ours is behind each line of a shell block. */
async function faultOf(line, { pkg, manifest, usage, example }) {
  const words = line.split(/\s+#/)[0].trim().split(/\s+/);
  const has = (name) => name === "lodger" || /^lodger-.*\.tgz$/.test(name) || name in manifest.devDependencies;
  const [program, verb, ...rest] = words;
  if (program === "npm" && verb === "install") return rest.filter((name) => !name.startsWith("-")).find((name) => !has(name));
  if (program === "npm" && verb === "create") return rest[0] in TEMPLATES ? undefined : rest[0];
  // Where they stand is looked at by `strayLine`.
  if (program === "cd" || (program === "npm" && ["pack", "run"].includes(verb))) return undefined;
  if (program === "npx") return (await exists(bin(verb))) ? undefined : verb;
  if (program === "cp") return (await exists(path.join(pkg.dir, "..", rest[0].replace(/^node_modules\//, "")))) ? undefined : rest[0];
  if (program === "cargo" && verb === "xtask") return usage.includes(`\n  ${rest[0]} `) ? undefined : `cargo xtask ${rest[0]}`;
  if (program === "cargo" && verb === "add") return rest.flatMap((word) => word.split(",")).find((word) => !/^(--.*|\.\.\/lodger)$/.test(word) && !new RegExp(`\\b${word}\\b`).test(example.manifest));
  if (program === "cargo" && verb === "install") return `${rest.join(" ")} `.startsWith(`wasm-bindgen-cli --version ${example.bindgen} `) ? undefined : rest.join(" ");
  if (program === "rustup") return line === `rustup target add ${/ -target (\S+)/.exec(example.page)[1]}` ? undefined : line;
  // As the example's own page says it, in a comment where some options have one dash.
  const dashes = (text) => text.replaceAll(" --", " -");
  if (program === "wasm-bindgen" || (program === "cargo" && verb === "build")) return dashes(example.page).includes(` ${dashes(line)}\n`) ? undefined : line;
  if (program === "python3") return /^-m http\.server \d+ --directory examples\/wasm-app$/.test([verb, ...rest].join(" ")) ? undefined : line;
  if (program === "cargo" && verb === "run") return (await exists(path.join(REPOSITORY, "examples", `${rest[1]}.rs`))) ? undefined : rest.join(" ");
  return line;
}

/** What the templates of `npm create` have: their scripts, and whether their packages are installed when it ends. */
const TEMPLATES = {
  "vite@latest": { scripts: ["dev", "build", "preview"], installed: false },
  "next-app@latest": { scripts: ["dev", "build", "start"], installed: true },
};

/** The first line of a shell block that does not work where the lines before it leave the reader. */
function strayLine(code) {
  let app;
  for (const line of code.split("\n")) {
    const [program, verb, ...rest] = line.split(/\s+#/)[0].trim().split(/\s+/);
    const enters = app && !app.entered;
    if (enters && (program !== "cd" || verb !== app.dir)) return line;
    if (enters) app.entered = true;
    else if (program === "cd") return line;
    if (program !== "npm") continue;
    if (verb === "create") app = { ...TEMPLATES[rest[0]], dir: rest[1], entered: false };
    if (verb === "install" && app) app.installed = true;
    if (verb === "run" && !(app?.installed && app.scripts?.includes(rest[0]))) return line;
  }
  return app && !app.entered ? code.split("\n").at(-1) : undefined;
}

/** What the scripts of a page find in it, and what is the reader's own there. */
const BODIES = {
  "README.md": '<pre id="log"></pre><form id="form"><input id="box"><button>Send</button></form>',
};

/** What stands in for the engines of models in the page. */
const ENGINES = Object.fromEntries(["@wllama/wllama/esm/index.js", "@mlc-ai/web-llm"].map((name) => [name, path.join(ROOT, "servers", "engines.mjs")]));

/** The scripts of its page that come before a block. */
const followed = (block, found) => {
  const before = found.filter(({ page, kind, line }) => page === block.page && kind === "js" && line < block.line);
  return before.slice(before.length - block.follows);
};

/** A block as a script of a page, behind those that it follows: what it imports beside the package comes with it. */
async function script(block, found) {
  const code = [...followed(block, found).map(({ code }) => code), ...(block.follows && !BODIES[block.page] ? ["heard();"] : []), block.code].join("\n");
  if (!/(?:^import .* from |import\()"(?!lodger)/m.test(code)) return code;
  const { build } = await import("esbuild");
  const { outputFiles } = await build({ stdin: { contents: code, resolveDir: ROOT }, bundle: true, write: false, format: "esm", external: ["lodger", "lodger/*"], alias: ENGINES, logLevel: "error" });
  return outputFiles[0].text;
}

/** What the compiler says of these blocks, each a module of its own beside what `data/docs.d.ts` declares of the reader's page. */
async function typed(pkg, name, list) {
  const dir = await consumer(pkg, name, ["types"]);
  const prelude = path.join(dir, "docs.d.ts");
  await fs.copyFile(path.join(ROOT, "data", "docs.d.ts"), prelude);
  const at = new Map();
  for (const [index, block] of list.entries()) {
    const file = path.join(dir, `block-${index}.${block.kind === "js" ? "mjs" : block.kind}`);
    await fs.writeFile(file, `${block.code}\nexport {};\n`);
    at.set(file, block);
  }
  const options = { strict: true, noImplicitAny: false, allowJs: true, checkJs: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler, jsx: ts.JsxEmit.ReactJSX, resolveJsonModule: true, lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"], types: [] };
  const program = ts.createProgram([prelude, ...at.keys()], options);
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const block = file && at.get(path.normalize(file.fileName));
    const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${block ? `${block.page}:${block.line + line}` : file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}

// Its apps are built in folders that its tests share.
export const together = true;

export default async function (test) {
  const all = await pages();
  const found = all.flatMap((page) => blocks(page));
  for (const page of new Set(found.map(({ page }) => page))) found.filter((block) => block.page === page && block.kind === "text").forEach((block, index) => { block.index = index; });
  const outputs = new Set(found.map(({ output }) => output));
  const isFile = ({ name }) => name?.startsWith("consumers/");
  const isApp = ({ page, name }) => page in APPS && name;
  const isTest = ({ name, output }) => output && /\.test\.js$/.test(name ?? "");

  test("each block is of a known kind, and something looks at it", async () => {
    const library = await fs.readFile(path.join(REPOSITORY, "src", "lib.rs"), "utf8");
    const [example, tested] = await Promise.all([ofExample("src/lib.rs"), ofExample("tests/chat.rs")]);
    const seen = new Set(found.filter(({ output }) => output).flatMap((block) => [block, ...followed(block, found)]));
    const lost = found.filter(({ kind, page, name, output, ...block }, index) => {
      // What is shown by nothing is shown at once.
      if (kind === "text") return !outputs.has(found[index]) || !block.code.trim();
      if (kind === "rust") return !library.includes(`include_str!("../${page}")`);
      // A piece of the example, which its tests run.
      if (kind === "rs") return !isPiece(block.code, example);
      // What it shows is what those tests wait for, there with the role before it.
      if (kind === "sh") return output && !output.code.split("\n").every((line) => tested.includes(`: ${line}"`));
      if (isFile({ name })) return output && !(name in BUILDS);
      if (["vue", "svelte", "jsx"].includes(kind)) return !(page in APPS && name) && kind !== "jsx";
      if (kind === "html") return !output && /<script type="module"/.test(block.code);
      if (kind === "js") return seen.has(found[index]) === (block.shows === "nothing");
      return !KINDS.includes(kind);
    });
    assert.deepEqual(lost.map((block) => `${place(block)}: ${block.kind || "no kind"}`), []);
    assert.ok(found.length > 100, `${found.length} blocks`);
  });

  test("the pieces of the app in Rust are all of it", async () => {
    const pieces = found.filter(({ kind, page }) => kind === "rs" && page === "docs/start/rust.md");
    const rest = pieces.reduce((source, { code }) => source.replace(code, ""), await ofExample("src/lib.rs"));
    assert.deepEqual(rest.split("\n").filter((line) => line && !line.startsWith("//!")), ['#![cfg(target_arch = "wasm32")]']);
  });

  test("what is JSON reads as JSON, and what is a consumer's file is that file", async () => {
    for (const block of found) {
      if (block.kind === "json") assert.doesNotThrow(() => JSON.parse(block.code), place(block));
      if (isFile(block)) assert.equal(`${block.code}\n`, await fs.readFile(path.join(ROOT, block.name), "utf8"), place(block));
    }
  });

  test("what a shell is told to run exists", async (t) => {
    const manifest = JSON.parse(await fs.readFile(path.join(ROOT, "package.json"), "utf8"));
    const usage = await fs.readFile(path.join(REPOSITORY, "xtask", "src", "main.rs"), "utf8");
    const [, bindgen] = /name = "wasm-bindgen"\nversion = "(.+)"/.exec(await fs.readFile(path.join(REPOSITORY, "Cargo.lock"), "utf8"));
    const example = { bindgen, manifest: await ofExample("Cargo.toml"), page: await ofExample("index.html") };
    for (const block of found.filter(({ kind }) => kind === "sh")) {
      for (const line of block.code.split("\n").filter((line) => line.trim())) {
        assert.equal(await faultOf(line, { pkg: t.env.pkg, manifest, usage, example }), undefined, `${place(block)}: ${line}`);
      }
      assert.equal(strayLine(block.code), undefined, `${place(block)}: the lines before it`);
    }
  });

  test("lines of a shell in another order are found", () => {
    const create = "npm create vite@latest shop -- --template react";
    const strays = [[create, "npm install"], [create], [create, "cd other"], ["cd shop"], [create, "cd shop", "npm run dev"], [create, "cd shop", "npm install", "npm run start"], ["npm run dev"]];
    for (const lines of strays) assert.equal(strayLine(lines.join("\n")), lines.at(-1), lines.join("; "));
  });

  test("scripts fit the package's types", async (t) => {
    const scripts = found.filter((block) => ["js", "ts", "jsx"].includes(block.kind) && !isApp(block) && !isFile(block));
    assert.deepEqual(await typed(t.env.pkg, "docs-types", scripts), []);
    t.note(`${scripts.length} blocks`);
  });

  test("the compiler refuses what the package has not", async (t) => {
    const wrong = [{ page: "here", line: 0, kind: "js", code: "await ws.startAgent({ system: 'x' });" }, { page: "here", line: 2, kind: "js", code: "ws.sendMesage('x');" }];
    assert.deepEqual((await typed(t.env.pkg, "docs-wrong", wrong)).map((fault) => fault.split(": ")[0]), ["here:1", "here:3"]);
  });

  for (const block of found.filter(isTest)) {
    test(`${place(block)}: what vitest reports`, async (t) => {
      const dir = await consumer(t.env.pkg, "docs-vitest", ["vitest"]);
      await fs.writeFile(path.join(dir, block.name), `${block.code}\n`);
      const report = await sh(process.execPath, [path.join(ROOT, "node_modules", "vitest", "vitest.mjs"), "run", block.name, "--root", dir, "--reporter", "verbose"], { cwd: dir, env: { ...process.env, NO_COLOR: "1" }, timeout: 80_000 });
      await said(block.output, report.split("\n").map((line) => line.replace(/ \d+ms$/, "").trim()).filter((line) => /^(✓|Tests )/.test(line)));
    });
  }

  for (const block of found.filter((block) => block.kind === "js" && block.output && !isFile(block) && !isTest(block))) {
    const body = BODIES[block.page];
    test(`${place(block)}: what it ${body ? "shows" : "logs"}`, async (t) => {
      const { site } = t.env;
      const at = site.serve(`/docs-block-${found.indexOf(block)}.js`, await script(block, found), {}, "text/javascript; charset=utf-8");
      await standIns(t);
      if (body) {
        site.serve("/favicon.ico", "", {}, "image/x-icon");
        const imports = `<script type="importmap">${JSON.stringify({ imports: site.imports })}</script>`;
        return use(await t.tab({ path: site.serve(`/docs-body-${found.indexOf(block)}.html`, `<!doctype html>${imports}${body}<script type="module" src="${at}"></script>`, {}), wait: false }), block, true);
      }
      const page = await t.tab();
      // What `data/docs.d.ts` declares, where a block has not its own.
      await page.evaluate(async (wanted) => {
        globalThis.bar = document.createElement("progress");
        if (wanted) globalThis.ws = await lodger.openWorkspace("page", { pageTools: false });
      }, !/\bws = /.test([...followed(block, found), block].map(({ code }) => code).join("\n")));
      const seen = await page.evaluate(async (at) => {
        const lines = [];
        globalThis.heard = () => void (lines.length = 0);
        console.log = (...values) => lines.push(...values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(" ").split("\n"));
        await import(at);
        return lines;
      }, at);
      await said(block.output, seen);
    });
  }

  for (const block of found.filter((block) => block.kind === "html" && !isFile(block))) {
    test(`${place(block)}: a page`, async (t) => {
      const { site, pkg } = t.env;
      const [room] = (await fs.readdir(path.join(pkg.dir, "rooms"))).filter((file) => file.startsWith("anthropic."));
      const before = found[found.indexOf(block) - 1];
      const headers = before?.kind === "http" && before.page === block.page ? Object.fromEntries(before.code.split("\n").map((line) => line.split(/: (.*)/s))) : {};
      const imports = /importmap/.test(block.code) ? "" : `<script type="importmap">${JSON.stringify({ imports: site.imports })}</script>`;
      site.serve("/favicon.ico", "", {}, "image/x-icon");
      const code = `${/^<!doctype html>\n/.exec(block.code) ?? ""}${imports}${block.code.replace(/^<!doctype html>\n/, "")}`.replace("anthropic.NUMBER", room.replace(/\.wasm$/, ""));
      const at = site.serve(`/docs-page-${found.indexOf(block)}.html`, code, headers);
      const lost = [];
      await standIns(t);
      let page;
      for (let left = block.tabs; left > 0; left--) {
        page = await t.tab({ path: "/blank.html", wait: false });
        page.on("response", (response) => { if (response.status() >= 400) lost.push(response.url()); });
        await page.goto(site.url + at);
        // The next tab comes to one that is at work.
        if (left > 1) await page.waitForFunction(() => document.body.innerText.trim());
      }
      if (block.output) await use(page, block, true);
      else await page.waitForLoadState("networkidle");
      assert.deepEqual(lost, []);
      assert.deepEqual(t.log.filter((line) => /error\]/.test(line)), []);
    });
  }

  for (const block of found.filter((block) => isFile(block) && block.output)) {
    test(`${place(block)}: what its app shows`, async (t) => {
      const { folders, build, open = tab, waits = false } = BUILDS[block.name];
      const page = await open(t, await build(await consumer(t.env.pkg, `docs-${folders.join("-")}`, folders)));
      await use(page, block, waits);
      assert.deepEqual(t.log.filter((line) => /error\]/.test(line)), []);
    });
  }

  for (const [page, { folder, build, open = tab }] of Object.entries(APPS)) {
    test(`${page}: its app`, async (t) => {
      const dir = await consumer(t.env.pkg, folder);
      const parts = found.filter((block) => block.page === page && block.name);
      for (const { name, code } of parts) {
        await fs.mkdir(path.dirname(path.join(dir, name)), { recursive: true });
        await fs.writeFile(path.join(dir, name), `${code}\n`);
      }
      await use(await open(t, await build(dir)), parts.find(({ output }) => output), false);
      assert.deepEqual(t.log.filter((line) => /error\]/.test(line)), []);
    });
  }

  test("a guide has code on its first screen, short paragraphs and a recap", () => {
    const faults = [];
    for (const { name, text } of all.filter(({ name }) => GUIDES.test(name))) {
      const lines = text.replace(/^---\n[^]*?\n---\n/, "").split("\n");
      if (!lines.slice(0, 20).some((line) => line.startsWith("```"))) faults.push(`${name}: no code in its first 20 lines`);
      if (!/^## Recap$/m.test(text)) faults.push(`${name}: no recap`);
      if (!/^---\ndescription: [^:\n]+\.\n---\n\n# /.test(text)) faults.push(`${name}: no description`);
    }
    for (const { name, text } of all) {
      for (const paragraph of prose(text).split(/\n\s*\n|\n(?=- |\d+\. )/).filter((part) => !/^\s*[#|<]/.test(part))) {
        const sentences = paragraph.replace(/^\s*\d+\. /, "").replace(/`[^`]*`/g, "code").split(/[.!?]["')*]*(?:\s|$)/).filter((sentence) => /\w/.test(sentence)).length;
        if (sentences > 3) faults.push(`${name}: ${sentences} sentences in a paragraph: ${paragraph.trim().slice(0, 60)}`);
      }
    }
    assert.deepEqual(faults, []);
  });

  test("the menu has each page, and no other", async () => {
    const menu = JSON.parse(await fs.readFile(path.join(REPOSITORY, "docs", "menu.json"), "utf8")).flatMap(({ pages }) => pages.map((page) => `docs/${page}.md`));
    const pages = all.map(({ name }) => name).filter((name) => name.startsWith("docs/") && !/^docs\/(index|SKILL)\.md$/.test(name));
    assert.deepEqual(menu.toSorted(), pages.toSorted());
  });

  test("the README fits on three screens, and its ten lines are ten", () => {
    const { text } = all.find(({ name }) => name === "README.md");
    assert.ok(text.split("\n").length <= 151, `${text.split("\n").length - 1} lines`);
    const from = text.split("\n").indexOf("## Ten lines for a web app");
    const until = text.split("\n").findIndex((line, at) => at > from && line.startsWith("## "));
    const shown = found.filter(({ page, line }) => page === "README.md" && line > from && line <= until);
    assert.deepEqual(shown.map(({ kind }) => kind), ["js", "text"]);
    assert.equal(shown[0].code.split("\n").filter((line) => line.trim()).length, 10);
  });
}
