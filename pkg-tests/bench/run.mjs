// Lodger beside a bare drain, a hand-written loop, the Anthropic SDK, pi and the AI SDK: one page, one server, one run,
// medians. The first text of a page that was never loaded, streams of text on each wire, a call with long arguments,
// loops of tools. Sessions and tabs, by themselves.
//   node bench/run.mjs [--package DIR|TGZ] [--runs 5] [--deltas 20000,100000] [--argument 128] [--turns 200] [--json FILE] [--loops | --first | --marks | --memories]
// `--loops`: the loops of tools and nothing else, which takes a minute. `--first`: the time to the first text, the same.
// `--marks`: an answer whose provider has looked something up, beside a plain one.
// `--memories`: 10,000 memories beside as many pages.
// The peers are installed in `bench/peers`.
// `--gate`: the module with what only the benchmark calls, as `cargo xtask bench` builds it. Then the gate is measured too.
// CPU is the main thread's, by the browser's own counter (`ThreadTime` of Performance.getMetrics in thread ticks).
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { launch } from "../lib/browser.mjs";
import { installPackage, ROOT, WORK } from "../lib/package.mjs";
import { site } from "../lib/site.mjs";
import { judged, median, reportGoals } from "./figures.mjs";
import { firstBench } from "./first.mjs";
import { gateBench } from "./gate.mjs";
import { memoriesBench, memoriesGoals, reportMemories } from "./memories.mjs";
import { fill, sessionsBench } from "./sessions.mjs";
import { benchServer, contentOf, textOf, WIRE_NAMES } from "./server.mjs";
import { tabsBench } from "./tabs.mjs";

const { values } = parseArgs({ options: { package: { type: "string", default: path.join(ROOT, "..", "pkg") }, runs: { type: "string", default: "5" }, deltas: { type: "string", default: "20000,100000" },
  argument: { type: "string", default: "128" }, turns: { type: "string", default: "200" }, json: { type: "string", default: path.join(WORK, "bench.json") }, gate: { type: "string" }, loops: { type: "boolean" }, first: { type: "boolean" }, marks: { type: "boolean" }, memories: { type: "boolean" } } });
const RUNS = Math.max(1, Number(values.runs));
const DELTAS = values.deltas.split(",").map(Number);
const TURNS = Number(values.turns);
const ARGUMENT = Number(values.argument);
/** Who takes longer than this, in ms, is not asked again: its first run counts. */
const PATIENCE = 8000;

const pkg = await installPackage(values.package);
const web = await site(pkg);
const server = await benchServer();
await build({ entryPoints: [path.join(ROOT, "bench", "page.js")], outfile: path.join(WORK, "bench", "page.js"), bundle: true, format: "esm", external: ["lodger"], minify: true, nodePaths: [path.join(ROOT, "bench/peers/node_modules")], logLevel: "error",
  plugins: [{ name: "sdk", setup: (b) => b.onResolve({ filter: /^\.\/sdk\.js$/ }, () => ({ path: path.join(ROOT, "node_modules/@anthropic-ai/sdk/index.mjs") })) }] });
web.serve("/bench.html", `<!doctype html><meta charset="utf-8"><title>bench</title><script type="importmap">${JSON.stringify({ imports: web.imports })}</script><script type="module" src="/work/bench/page.js"></script>`);

const browser = await launch();
const page = await browser.newPage();
const loaded = new Map();
page.on("response", async (response) => {
  const { pathname } = new URL(response.url());
  if (pathname.startsWith("/lodger/")) loaded.set(pathname, await response.body().catch(() => Buffer.alloc(0)));
});
page.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
await page.goto(`${web.url}/bench.html`);
await page.waitForFunction(() => globalThis.ready);
const cdp = await page.context().newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
await cdp.send("HeapProfiler.enable");

/** CPU milliseconds of the main thread so far. */
async function cpu() {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return metrics.find((m) => m.name === "ThreadTime").value * 1000;
}

/** Runs one contender once; gives `{ wall, cpu }` in ms. */
async function measure(name, url, expected, wire) {
  await cdp.send("HeapProfiler.collectGarbage");
  const before = await cpu();
  const { got, wall } = await page.evaluate(async ([name, url, wire]) => {
    const begin = performance.now();
    const got = await contenders[name](url, wire);
    return { got, wall: performance.now() - begin };
  }, [name, url, wire]);
  const after = await cpu();
  if (expected !== undefined && got !== expected) throw new Error(`${name} gave ${got}, not ${expected}`);
  return { wall, cpu: after - before };
}

const middle = (samples) => ({ wall: median(samples.map((s) => s.wall)), cpu: median(samples.map((s) => s.cpu)), samples });

/** All of these in turn, so many times; the first time warms up and does not count. `prepare`: before Lodger's runs. */
async function compare(names, url, expected, { wire, prepare }) {
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let run = 0; run <= RUNS; run++) {
    for (const name of names) {
      if (samples[name].once) continue;
      if (/lodger/i.test(name)) await prepare();
      const sample = await measure(name, url, name === "drain" ? undefined : expected, wire);
      if (run) samples[name].push(sample);
      else if (sample.wall > PATIENCE) samples[name] = Object.assign([sample], { once: true });
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, list]) => [name, { ...middle(list), once: list.once }]));
}

const NAMES = { drain: "drain the bytes", loop: "hand-written loop", sdk: "Anthropic SDK", pi: "pi-ai", ai: "AI SDK, streamText", lodger: "Lodger, journal and events",
  argumentLoop: "hand-written loop", argumentSdk: "Anthropic SDK", argumentPi: "pi-ai", argumentAi: "AI SDK, streamText", argumentAiChat: "AI SDK, as useChat reads", argumentLodger: "Lodger, the whole run" };
/** Whether this part is measured. */
const wanted = (part) => values[part] || !(values.loops || values.first || values.marks || values.memories);
const results = { runs: RUNS, first: {}, streams: {}, wires: {}, marks: {}, argument: {}, toolLoop: {}, sizes: {} };
if (wanted("first")) results.first = await firstBench({ browser, pkg, server, runs: RUNS, median });
if (wanted("the rest")) {
  for (const deltas of DELTAS) {
    const url = `${server.url}/stream/${deltas}`;
    const names = ["drain", "loop", "sdk", "pi", "ai", "lodger"];
    results.streams[deltas] = await compare(names, url, textOf(deltas).length, { prepare: () => page.evaluate((u) => prepare(u), url) });
  }
  for (const wire of WIRE_NAMES) {
    const url = `${server.url}/wire/${wire}/${DELTAS[0]}`;
    results.wires[wire] = await compare(["wireLoop", "lodger"], url, textOf(DELTAS[0]).length, { wire, prepare: () => page.evaluate(([u, w]) => prepare(u, false, w), [url, wire]) });
  }
  {
    const url = `${server.url}/argument/${ARGUMENT}`;
    const names = ["argumentLoop", "argumentSdk", "argumentPi", "argumentAi", "argumentAiChat", "argumentLodger"];
    results.argument = await compare(names, url, contentOf(ARGUMENT).length, { prepare: () => page.evaluate((u) => prepare(u), url) });
  }
}

if (wanted("marks")) {
  const samples = { stream: [], marked: [] };
  for (let run = 0; run <= RUNS; run++) {
    for (const [kind, list] of Object.entries(samples)) {
      const url = `${server.url}/${kind}/${DELTAS[0]}`;
      await page.evaluate((u) => prepare(u), url);
      const sample = await measure("lodger", url, textOf(DELTAS[0]).length);
      if (run) list.push(sample);
    }
  }
  results.marks = { plain: middle(samples.stream), marked: middle(samples.marked) };
}

if (wanted("memories")) results.memories = await memoriesBench({ browser, web, runs: RUNS, median });

const loop = `${server.url}/loop/${TURNS}`;
for (const kind of wanted("loops") ? ["reads", "changes"] : []) {
  const samples = { lodger: [], bare: [], pi: [] };
  for (let run = 0; run <= RUNS; run++) {
    await page.evaluate(([u, readOnly]) => prepare(u, readOnly), [loop, kind === "reads"]);
    const ours = await measure("toolLoop", loop, TURNS + 1);
    await page.evaluate((u) => fetchBodies(u), server.url);
    const bare = await measure("bareLoop", loop, TURNS + 1);
    const pi = await measure("piLoop", loop, TURNS + 1);
    await page.evaluate((u) => fetchBodies(u), server.url);
    if (run) { samples.lodger.push(ours); samples.bare.push(bare); samples.pi.push(pi); }
  }
  results.toolLoop[kind] = { turns: TURNS, lodger: middle(samples.lodger), bare: middle(samples.bare), pi: middle(samples.pi) };
}

const ms = (x) => x.toFixed(x < 100 ? 1 : 0).padStart(9);
const times = (a, b) => (a / b).toFixed(2).padStart(9);
/** How much longer than the AI SDK Lodger may take to the first text. */
const firstGoals = () => Object.entries(results.first).map(([network, { ai, lodger, limit }]) => [`first text at ${network}: at most ${limit} times the AI SDK`, lodger.first / ai.first, limit]);
function reportFirst() {
  const networks = Object.values(results.first);
  if (!networks.length) return;
  console.log(`${"to the first text, ms".padEnd(29)}${Object.keys(results.first).map((name) => name.padStart(20)).join("")}   loads, KB`);
  for (const name of ["sdk", "pi", "ai", "lodger"]) console.log(`  ${NAMES[name].padEnd(27)}${networks.map((row) => row[name].first.toFixed(0).padStart(20)).join("")}${(networks[0][name].bytes / 1024).toFixed(0).padStart(12)}`);
  console.log("  A page that was never loaded before, its files by brotli; the model answers at once.\n");
}
function reportLoops() {
  for (const [kind, { lodger, bare, pi }] of Object.entries(results.toolLoop)) {
    console.log(`${TURNS} turns, a tool that ${kind.padEnd(7)}   CPU     wall`);
    console.log(`  ${"bare fetches".padEnd(26)} ${ms(bare.cpu)}${ms(bare.wall)}`);
    for (const [name, row] of [["pi-ai, which keeps nothing", pi], ["Lodger", lodger]]) console.log(`  ${name.padEnd(26)} ${ms(row.cpu)}${ms(row.wall)}   ${times(row.cpu, bare.cpu).trim()} CPU, ${times(row.wall, bare.wall).trim()} wall`);
    console.log();
  }
}
const marksGoals = () => (results.marks.plain ? [[`${DELTAS[0]} deltas behind a search of the provider: CPU at most 1.1 times without`, results.marks.marked.cpu / results.marks.plain.cpu, 1.1]] : []);
function reportMarks() {
  const { plain, marked } = results.marks;
  if (plain) console.log(`${DELTAS[0]} text deltas, and behind a search of the provider${" ".repeat(3)}CPU ${ms(plain.cpu)}${ms(marked.cpu)}   wall ${ms(plain.wall)}${ms(marked.wall)}\n`);
}
const ofMemories = () => (results.memories ? memoriesGoals(results.memories) : []);
if (!wanted("the rest")) {
  reportFirst();
  reportMarks();
  if (results.memories) reportMemories(results.memories);
  reportLoops();
  reportGoals([...firstGoals(), ...marksGoals(), ...ofMemories()]);
  await Promise.all([browser, web, server].map((one) => one.close()));
  process.exit();
}

if (values.gate) {
  const definitions = await page.evaluate(() => ws.tools.definitions());
  results.gate = await gateBench({ browser, web, dir: values.gate, runs: RUNS, definitions, median });
}

results.sessions = await sessionsBench({ browser, web, runs: RUNS, median });
results.tabs = await tabsBench({ browser, web, server, runs: RUNS, median, fill });

const compress = (body) => ({ raw: body.length, gzip: zlib.gzipSync(body, { level: 9 }).length, brotli: zlib.brotliCompressSync(body).length });
for (const [name, body] of loaded) results.sizes[name.replace("/lodger/", "")] = compress(body);
const sum = (key) => Object.values(results.sizes).reduce((total, s) => total + s[key], 0);
const total = { raw: sum("raw"), gzip: sum("gzip"), brotli: sum("brotli") };

// ------------------------------------------------------------------ the report

console.log(`medians of ${RUNS} (* one run only: it took more than ${PATIENCE / 1000} s); ms; main-thread CPU by the browser's counter; loads before: ${os.loadavg().map((x) => x.toFixed(1)).join(" ")}\n`);
reportFirst();
for (const [deltas, row] of Object.entries(results.streams)) {
  console.log(`${deltas} text deltas${" ".repeat(Math.max(1, 24 - String(deltas).length - 12))}      CPU     wall  CPU/drain  CPU/loop`);
  for (const [name, { wall, cpu, once }] of Object.entries(row)) console.log(`  ${NAMES[name].padEnd(26)} ${ms(cpu)}${ms(wall)}${times(cpu, row.drain.cpu)}${times(cpu, row.loop.cpu)}${once ? " *" : ""}`);
  console.log();
}
console.log(`${DELTAS[0]} text deltas on each wire`.padEnd(29) + "loop CPU     wall  Lodger CPU     wall  CPU/loop");
for (const [wire, { wireLoop, lodger }] of Object.entries(results.wires)) console.log(`  ${wire.padEnd(26)} ${ms(wireLoop.cpu)}${ms(wireLoop.wall)}   ${ms(lodger.cpu)}${ms(lodger.wall)} ${times(lodger.cpu, wireLoop.cpu)}`);
console.log(`\narguments of ${ARGUMENT} KB in pieces of 8`.padEnd(30) + "      CPU     wall  CPU/loop");
for (const [name, { wall, cpu, once }] of Object.entries(results.argument)) console.log(`  ${NAMES[name].padEnd(26)} ${ms(cpu)}${ms(wall)}${times(cpu, results.argument.argumentLoop.cpu)}${once ? " *" : ""}`);
console.log("  The SDK, pi and useChat show what has come of the arguments at each piece; Lodger shows that the call comes, and runs it.\n");
reportMarks();
reportMemories(results.memories);
reportLoops();
if (results.gate) {
  const turn = results.toolLoop.reads.lodger.cpu / TURNS;
  console.log("the bytes of a call's arguments to a verdict, µs     ours      ajv    ratio");
  for (const [group, title] of [["pages", "the twelve page tools"], ["wild", "50 schemas as met in the wild"]]) {
    const { ours, ajv, ratio, median, worst } = results.gate[group];
    console.log(`  ${title.padEnd(46)} ${ours.toFixed(2).padStart(8)} ${ajv.toFixed(2).padStart(8)} ${ratio.toFixed(2).padStart(8)}   median of the schemas ${median.toFixed(2)}, worst ${worst.ratio.toFixed(2)} (${worst.name})`);
  }
  const { ours } = results.gate.pages;
  console.log(`  ours: copy into the module, parse, check, repair where that is needed; ajv: TextDecoder, JSON.parse, compiled ajv (first error only)`);
  console.log(`  of a tool turn of ${(turn * 1000).toFixed(0)} µs (CPU, above) the gate takes ${ours.toFixed(1)} µs: ${((ours / (turn * 1000)) * 100).toFixed(1)} %\n`);
}
console.log("a session of             entries   shown  all of it  first answer   (ms on the wall; shown: its last 20 messages after a reload)");
for (const [entries, { rows, shown, whole, answered }] of Object.entries(results.sessions.open)) console.log(`  ${entries.padStart(6)}${String(rows).padStart(26)}${ms(shown)}${ms(whole)}${ms(answered)}`);
for (const [count, { all }] of Object.entries(results.sessions.list)) console.log(`  ${count.padStart(6)} sessions, listed and verified ${ms(all)}`);
console.log(`  a run, its entries signed ${ms(results.sessions.append.signed)}, not signed ${ms(results.sessions.append.unsigned)}`);
for (const [, { megabytes, export: out, import: back, replay }] of Object.entries(results.sessions.carry)) console.log(`  ${megabytes.toFixed(1).padStart(6)} MB, per MB: export ${ms(out)}, import ${ms(back)}, replay ${ms(replay)}`);
console.log("\ntabs, the host in the                                page   worker");
const { tabs } = results;
const hosts = (title, of) => console.log(`  ${title.padEnd(46)}${["page", "worker"].map((host) => ms(of(host))).join("")}`);
hosts("another tab hears a chunk later by, ms", (host) => tabs.delay[host].median);
hosts("  the latest of a hundred", (host) => tabs.delay[host].p99);
hosts("100,000 deltas: the page's longest task, ms", (host) => tabs.flood[host].task);
hosts("  a key pressed meanwhile is heard after, ms", (host) => tabs.flood[host].input);
hosts("100 turns of tools that need no page, ms", (host) => tabs.busy[host].calm);
hosts("  in a page that works 200 ms of each 250", (host) => tabs.busy[host].busy);
console.log(`  20,000 deltas with ${Object.entries(tabs.viewers).map(([count, cpu]) => `${count} viewers ${cpu.toFixed(0)}`).join(", ")} ms of the holder's CPU`);
console.log(`  attach, all of 10,000 entries: ${tabs.attach.holder.toFixed(0)} ms in the tab that works, ${tabs.attach.viewer.toFixed(0)} ms in another`);
console.log();
console.log("what import and openWorkspace load        raw     gzip   brotli");
for (const [name, s] of Object.entries(results.sizes)) console.log(`  ${name.padEnd(36)} ${String(s.raw).padStart(8)} ${String(s.gzip).padStart(8)} ${String(s.brotli).padStart(8)}`);
console.log(`  ${"together".padEnd(36)} ${String(total.raw).padStart(8)} ${String(total.gzip).padStart(8)} ${String(total.brotli).padStart(8)}\n`);

const goals = [...firstGoals(), ...marksGoals(), ...ofMemories()];
for (const [deltas, row] of Object.entries(results.streams)) goals.push([`${deltas} deltas: not slower than the hand-written loop`, row.lodger.cpu / row.loop.cpu, 1]);
const [small, large] = [DELTAS[0], DELTAS.at(-1)];
for (const [wire, row] of Object.entries(results.wires)) goals.push([`${small} deltas of ${wire}: not slower than the hand-written loop`, row.lodger.cpu / row.wireLoop.cpu, 1]);
goals.push([`${ARGUMENT} KB of arguments: at most 250 ms`, results.argument.argumentLodger.cpu, 250], [`${ARGUMENT} KB of arguments: not slower than the Anthropic SDK`, results.argument.argumentLodger.cpu / results.argument.argumentSdk.cpu, 1]);
goals.push([`${large} deltas: within 1.5 times the drain`, results.streams[large].lodger.cpu / results.streams[large].drain.cpu, 1.5]);
const { lodger, bare, pi } = results.toolLoop.reads;
goals.push([`${TURNS} turns: CPU at most 1.5 times the bare fetches`, lodger.cpu / bare.cpu, 1.5], [`${TURNS} turns: CPU at most pi's`, lodger.cpu / pi.cpu, 1], [`${TURNS} turns: wall at most pi's`, lodger.wall / pi.wall, 1]);
if (large > small) goals.push([`linear: ${large} against ${small} deltas, per delta at most 1.1`, (results.streams[large].lodger.cpu / large) / (results.streams[small].lodger.cpu / small), 1.1]);
const { open, list, carry } = results.sessions;
goals.push(["sessions: 10,000 entries are shown in at most 2.2 times what 1,000 take", open[10_000].shown / open[1000].shown, 2.2], ["sessions: 1,000 are listed in at most 11 times what 100 take", list[1000].all / list[100].all, 11]);
for (const way of ["export", "import"]) goals.push([`sessions: ${way} of 8 MB, per MB, at most 1.1 times that of 1 MB`, carry[8][way] / carry[1][way], 1.1]);
for (const host of ["page", "worker"]) goals.push([`tabs, ${host}: another tab hears a chunk at most 100 ms later`, tabs.delay[host].p99, 100]);
goals.push(["tabs, worker: the page's longest task while 100,000 deltas come, at most 50 ms", tabs.flood.worker.task, 50]);
goals.push(["tabs, worker: a busy page slows a loop of tools at most 1.1 times", tabs.busy.worker.busy / tabs.busy.worker.calm, 1.1]);
if (results.gate) for (const [group, title] of [["pages", "page tools"], ["wild", "50 schemas"]]) goals.push([`the gate, ${title}: at most 1.5 times JSON.parse and ajv`, results.gate[group].ratio, 1.5]);
reportGoals(goals);

results.total = total;
results.goals = judged(goals);
await fs.mkdir(path.dirname(values.json), { recursive: true });
await fs.writeFile(values.json, JSON.stringify(results, null, 2));
console.log(`\n${path.relative(process.cwd(), values.json)} has all samples`);
await browser.close();
await web.close();
await server.close();
