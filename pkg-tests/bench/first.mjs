// The time to the first text of an answer: a page that was never loaded before, over a slow network, beside the peers.
//
// Each page does the least by which its library shows an answer of Anthropic's. All files come compressed by brotli, and
// the model answers at once. So what is measured is what a page loads and what it does before it may ask.
import fs from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import zlib from "node:zlib";
import { build } from "esbuild";
import { files, ROOT, WORK } from "../lib/package.mjs";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".wasm": "application/wasm" };
const PEERS = ["sdk", "pi", "ai"];
const CONTENDERS = [...PEERS, "lodger"];
/** How often each page is loaded at the least, because a single load varies by a sixth. */
const LEAST = 7;
/** Megabits a second, how long a request is on its way in ms, and how many times the AI SDK's time Lodger may take. */
const NETWORKS = [[1.6, 150, 1.35], [10, 40, 1.2]];

/** What each page has before its script: where the model is, and how text is shown; the first on the screen is timed. */
const shell = (model) => `globalThis.model = ${JSON.stringify(model)};
globalThis.show = (text) => {
  if (!text) return;
  document.querySelector("p").append(text);
  globalThis.show = () => {};
  requestAnimationFrame(() => { globalThis.first = performance.now(); });
};`;

/** The lines of the README, by which a page asks early for what its first answer needs. */
const early = (room) => ["lodger.wasm", `rooms/${room}`].reduce((lines, file) => `${lines}
<link rel="preload" href="/lodger/${file}" as="fetch" type="application/wasm" crossorigin>`, '<link rel="modulepreload" href="/lodger/index.js">');

const page = (model, head, script) => `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>first</title>
${head}
<p></p>
<script>${shell(model)}</script>
${script}`;

/** All files by their addresses, compressed. */
async function served(pkg, model) {
  const bodies = new Map();
  const put = (at, body) => bodies.set(at, zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11 } }));
  for await (const file of files(pkg.dir)) if (/\.(js|wasm)$/.test(file)) put(`/lodger/${path.relative(pkg.dir, file)}`, await fs.readFile(file));
  const here = path.join(ROOT, "bench", "first");
  for (const name of PEERS) {
    const { outputFiles } = await build({ entryPoints: [path.join(here, `${name}.js`)], bundle: true, format: "esm", minify: true, write: false, nodePaths: [path.join(ROOT, "bench/peers/node_modules"), path.join(ROOT, "node_modules")], logLevel: "error" });
    put(`/${name}.js`, outputFiles[0].contents);
    put(`/${name}.html`, page(model, "", `<script type="module" src="/${name}.js"></script>`));
  }
  put("/first.js", await fs.readFile(path.join(here, "lodger.js")));
  put("/lodger.html", page(model, early((await fs.readdir(path.join(pkg.dir, "rooms"))).find((file) => file.startsWith("anthropic."))), `<script type="importmap">{ "imports": { "lodger": "/lodger/index.js" } }</script>\n<script type="module" src="/first.js"></script>`));
  return bodies;
}

/** Medians in ms by network and contender, all contenders in turn; and the bytes that each page loads. */
export async function firstBench({ browser, pkg, server, runs, median }) {
  const bodies = await served(pkg, `${server.url}/stream/20`);
  const web = http.createServer((request, response) => {
    const at = new URL(request.url, "http://x").pathname;
    const body = bodies.get(at);
    if (!body) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[path.extname(at)], "content-encoding": "br", "content-length": body.length, "cache-control": "max-age=3600" }).end(body);
  });
  await new Promise((done) => web.listen(0, "127.0.0.1", done));
  const base = `http://127.0.0.1:${web.address().port}`;

  async function once(name, megabits, latency) {
    const context = await browser.newContext();
    const tab = await context.newPage();
    tab.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
    const cdp = await context.newCDPSession(tab);
    const bytes = (megabits * 1_000_000) / 8;
    await cdp.send("Network.enable");
    await cdp.send("Network.emulateNetworkConditions", { offline: false, latency, downloadThroughput: bytes, uploadThroughput: bytes });
    await tab.goto(`${base}/${name}.html`);
    await tab.waitForFunction(() => globalThis.first);
    const sample = await tab.evaluate(() => ({ first: globalThis.first, bytes: performance.getEntriesByType("resource").reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) }));
    await context.close();
    return sample;
  }

  const results = {};
  for (const [megabits, latency, limit] of NETWORKS) {
    const samples = Object.fromEntries(CONTENDERS.map((name) => [name, []]));
    for (let run = 0; run <= Math.max(runs, LEAST); run++) { // the first one warms up and does not count
      for (const name of CONTENDERS) {
        const sample = await once(name, megabits, latency);
        if (run) samples[name].push(sample);
      }
    }
    const rows = Object.entries(samples).map(([name, list]) => [name, { first: median(list.map(({ first }) => first)), bytes: list[0].bytes, samples: list }]);
    results[`${megabits} Mbit/s, ${latency} ms`] = { ...Object.fromEntries(rows), limit };
  }
  web.closeAllConnections();
  await new Promise((done) => web.close(done));
  return results;
}
