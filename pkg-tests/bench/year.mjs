// A year of daily use: 36,500 plain runs, of three kinds. All are in `default`, which is cleared every hundred. Or they are spread over
// 1,000 sessions. Or they are one conversation, which is never cleared and goes through a window of 8,000 tokens.
// What a start, the first prompt, a list, the memory and the disk cost then, beside a workspace in which nothing was said.
//
// Decides how the year is filled and what counts. Each figure is of a page that was just loaded. The filled profiles are
// kept in `.year/` for this package and this number of runs; what is measured is a copy of them, so that they stay as they are.
// They are written in one go (`standin.mjs`): so the disk is as of a browser that has compacted its files.
// A goal that is missed is a failure. A goal in milliseconds is of a machine on which the yardstick takes `YARD` ms: the same machine
// runs at half its speed an hour later. A page without Lodger reads, parses and writes rows beside each sample; what a goal is about is
// divided by how much longer that takes. The report has the times as they were.
//   node bench/year.mjs [--package DIR|TGZ] [--runs 36500] [--samples 9] [--json FILE]
// CPU is the main thread's, by the browser's own counter (`ThreadTime` of Performance.getMetrics in thread ticks).
import crypto from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { FLAGS, program } from "../lib/browser.mjs";
import { exists, files, installPackage, ROOT, WORK } from "../lib/package.mjs";
import { site } from "../lib/site.mjs";
import { judged, median, reportGoals } from "./figures.mjs";
import { standIn } from "./standin.mjs";

const { values } = parseArgs({ options: { package: { type: "string", default: path.join(ROOT, "..", "pkg") }, runs: { type: "string", default: "36500" }, samples: { type: "string", default: "9" },
  json: { type: "string", default: path.join(WORK, "year.json") } } });
const RUNS = Number(values.runs);
const SAMPLES = Number(values.samples);

const KEPT = path.join(ROOT, ".year");
const SESSIONS = 1000;
/** After so many runs `default` is cleared. The last ones stay, as of somebody who is in the middle of the day. */
const CLEARED = 100;
/** How many sessions of the second kind are filled at once: they share commits. */
const BESIDE = 16;
/** Runs of which the stored bytes are counted, and those before them, because the first run stores more. */
const [COUNTED, BEFORE] = [100, 10];
// Of so few runs it is told what clearing gives back.
const SHORT = [1, 10, 30];
/** The same whatever the server's port is, because what is stored belongs to an origin. */
const ORIGIN = "http://year.localhost";
const EMPTY = "empty";
const COMPACTED = "compacted";
const FILLED = ["default", "sessions", COMPACTED];
const KINDS = { [EMPTY]: "default", default: "default", sessions: `session-${SESSIONS - 1}`, [COMPACTED]: "default" };
/** What makes conversations be summed up: the window of their model. Its page is loaded anew after so many runs. */
const MODELS = { custom: { bench: { context: 8_000, output: 1_000 } } };
const RELOADED = 500;
/** What answers in a session that was launched: its name stands in the rows of a run. */
const WIRE = "claude-sonnet-4-5-20250929";
/** Tables whose rows are written anew with each commit, and are no cost of a run. */
const APART = ["heads", "drafts"];
/** The yardstick: so many rows of so many characters, and how many ms they take on the machine of the goals. */
const [YARDS, LENGTH, YARD] = [1000, 2400, 40];
let untouchedOnes = 0;

const pkg = await installPackage(values.package);
const web = await site(pkg);
const browse = (dir) => chromium.launchPersistentContext(dir, { executablePath: program(), args: [...FLAGS, `--host-resolver-rules=MAP year.localhost ${new URL(web.url).host}`] });

/** All figures, from a copy of these profiles. */
async function measure(profiles) {
  const copy = path.join(KEPT, "now");
  await fs.rm(copy, { recursive: true, force: true });
  for (const kind of FILLED) await fs.cp(path.join(profiles, kind), path.join(copy, kind), { recursive: true });
  const contexts = {};
  for (const kind of Object.keys(KINDS)) contexts[kind] = await browse(path.join(copy, kind));
  try {
    await inTab(contexts[EMPTY], (tab) => tab.evaluate(laid, [YARDS, LENGTH]));
    const yard = () => inTab(contexts[EMPTY], (tab) => tab.evaluate(yardstick));
    const seen = await visits(contexts, yard);
    const list = await listed(contexts.sessions, yard);
    const bytes = await inTab(contexts[EMPTY], stored);
    const disks = {};
    for (const kind of FILLED) disks[kind] = await disk(contexts[kind]);
    return { runs: RUNS, samples: SAMPLES, visits: seen, list, bytes, disk: disks };
  } finally {
    await Promise.all(Object.values(contexts).map((context) => context.close()));
    await fs.rm(copy, { recursive: true, force: true });
  }
}

// ---------------------------------------------------------------- the year

/** The profiles of this package, filled where that was not done before. */
async function filled() {
  const hash = crypto.createHash("sha256").update([RUNS, SESSIONS, CLEARED, fillDefault, fillSessions, fillCompacted, begin, standIn, JSON.stringify(MODELS)].join());
  for await (const file of files(pkg.dir)) hash.update(await fs.readFile(file));
  const dir = path.join(KEPT, hash.digest("hex").slice(0, 16));
  if (await exists(path.join(dir, "whole"))) return dir;
  await fs.rm(KEPT, { recursive: true, force: true });
  const fill = async (kind, work, parts) => {
    const context = await browse(path.join(dir, kind));
    await inTab(context, async (tab) => {
      await tab.evaluate(begin, { models: kind === COMPACTED ? MODELS : undefined });
      for (const [n, part] of parts.entries()) {
        await tab.evaluate(work, part);
        if (n % 10 === 9) console.error(`a year, ${kind}: ${n + 1} of ${parts.length} parts`);
      }
      await tab.evaluate(async () => { await ws.stopAgent(); await ws.close(); await standInDown(); });
    }, standIn);
    await context.close();
  };
  const parts = (count, size, of) => Array.from({ length: Math.ceil(count / size) }, (_, n) => of(n * size, Math.min(count, (n + 1) * size)));
  const share = (session) => Math.floor((session * RUNS) / SESSIONS);
  await Promise.all([
    fill(COMPACTED, fillCompacted, parts(RUNS, RELOADED, (from, until) => ({ from, until, models: MODELS }))),
    fill("default", fillDefault, parts(RUNS, CLEARED, (from, until) => ({ from, until }))),
    fill("sessions", fillSessions, parts(SESSIONS, BESIDE, (from, until) => Array.from({ length: until - from }, (_, n) => ({ id: from + n, from: share(from + n), until: share(from + n + 1) })))),
  ]);
  await fs.writeFile(path.join(dir, "whole"), "");
  return dir;
}

/** In a page: a workspace whose model answers at once, and what is said in it. No two texts are alike. `wire`: it is Anthropic's. */
async function begin({ name = "year", models, wire } = {}) {
  const words = "a day of work asks for small things and the answer to each of them is short, plain and soon forgotten again".split(" ");
  const text = (seed, length) => { let made = `${seed}`; for (let n = seed; made.length < length; n = (n * 31 + 17) % 1_000_003) made += ` ${words[n % words.length]}`; return made.slice(0, length); };
  globalThis.question = (n) => text(n, 40);
  let answers = 0;
  async function* stream() { yield text(++answers * 7, 90); }
  const events = () => [
    { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: wire, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 12, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: text(++answers * 7, 90) } }, { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 20 } }, { type: "message_stop" },
  ];
  const fetch = async () => new Response(events().map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } });
  globalThis.provider = wire ? { kind: "anthropic", model: wire, apiKey: "of the bench", fetch } : { kind: "custom", model: "bench", stream };
  globalThis.ws = await lodger.openWorkspace(name);
  await ws.startAgent({ provider, models });
  /** To the end of a run. */
  globalThis.asked = async ({ runId }) => {
    const { status, error } = await ws.wait(runId);
    if (status !== "ok") throw new Error(error?.message ?? status);
  };
}

/** In a page: some runs of `default`. What was said before them is cleared. */
async function fillDefault({ from, until }) {
  if (from) await ws.clearConversation();
  for (let n = from; n < until; n++) await asked(await ws.sendMessage(question(n)));
}

/** In a page: some runs of a conversation that goes on and on. Another agent goes on with the next. */
async function fillCompacted({ from, until, models }) {
  for (let n = from; n < until; n++) await asked(await ws.sendMessage(question(n)));
  await ws.stopAgent();
  await ws.startAgent({ provider, models });
}

/** In a page: some sessions, beside each other. */
async function fillSessions(sessions) {
  await Promise.all(sessions.map(async ({ id, from, until }) => {
    await ws.sessions.launch({ id: `session-${id}`, displayName: `Session ${id}` });
    for (let n = from; n < until; n++) await asked(await ws.sessions.prompt(`session-${id}`, question(n)));
  }));
}

/** In a page: a workspace that was opened once and in which nothing was said. */
async function untouched(name) {
  const ws = await lodger.openWorkspace(name);
  await ws.startAgent();
  await ws.stopAgent();
  await ws.close();
}

// ---------------------------------------------------------------- pages

/** Does something in a page that was just loaded, with the module there; `before`: what the page does first. */
async function inTab(context, work, ...before) {
  const tab = await context.newPage();
  tab.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
  for (const script of [watch, ...before]) await tab.addInitScript(script);
  await tab.goto(`${ORIGIN}/blank.html`);
  await tab.waitForFunction(() => globalThis.ready);
  await tab.evaluate(() => lodger.default());
  try {
    return await work(tab);
  } finally {
    await tab.close();
  }
}

/** Before a page's scripts: keeps the memory of the module, and times. */
function watch() {
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const made = WebAssembly[name];
    WebAssembly[name] = async (...of) => {
      const it = await made.apply(WebAssembly, of);
      globalThis.moduleMemory ??= (it.instance ?? it).exports.memory;
      return it;
    };
  }
  globalThis.reads = { rows: 0, bytes: 0 };
  globalThis.timed = async (work) => {
    Object.assign(reads, { rows: 0, bytes: 0 });
    const begun = performance.now();
    await work();
    return { wall: performance.now() - begun, ...reads };
  };
}

/** The same: counts the rows that are read, which costs time. */
function count() {
  for (const name of ["get", "getAll"]) {
    const asked = IDBObjectStore.prototype[name];
    IDBObjectStore.prototype[name] = function (...of) {
      const request = asked.apply(this, of);
      request.addEventListener("success", () => {
        for (const row of [request.result].flat()) if (row !== undefined) { reads.rows++; reads.bytes += row.length ?? 0; }
      });
      return request;
    };
  }
}

/** What each step of a visit does, in a page; gives its time on the wall and what it has read. */
const STEPS = {
  start: ([name, , models]) => timed(async () => {
    globalThis.ws = await lodger.openWorkspace(name);
    async function* stream() { yield "A short answer."; }
    await ws.startAgent({ provider: { kind: "custom", model: "bench", stream }, models });
  }),
  prompt: ([, id]) => timed(async () => {
    const text = "Is anything left to do today?";
    const { runId } = id === "default" ? await ws.sendMessage(text) : await ws.sessions.prompt(id, text);
    const { status, error } = await ws.wait(runId);
    if (status !== "ok") throw new Error(error?.message ?? status);
  }),
  history: ([, id]) => timed(async () => {
    const page = await ws.history({ sessionId: id, limit: 20 });
    if (!page.length) throw new Error("nothing was shown");
  }),
};

/** Opens the workspace in a fresh page, asks once, looks at the last messages. One in which nothing was said is another each time. */
async function visit(context, kind, ...before) {
  const name = kind === EMPTY ? `empty-${++untouchedOnes}` : "year";
  if (kind === EMPTY) await inTab(context, (tab) => tab.evaluate(untouched, name));
  return inTab(context, (tab) => visited(context, tab, [name, KINDS[kind], kind === COMPACTED ? MODELS : undefined]), ...before);
}

async function visited(context, tab, of) {
  const cdp = await context.newCDPSession(tab);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  await cdp.send("HeapProfiler.enable");
  const cpu = async () => (await cdp.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ThreadTime").value * 1000;
  const sample = {};
  for (const [name, step] of Object.entries(STEPS)) {
    await cdp.send("HeapProfiler.collectGarbage");
    const before = await cpu();
    const done = await tab.evaluate(step, of);
    sample[name] = { cpu: (await cpu()) - before, ...done };
  }
  sample.memory = await tab.evaluate(() => moduleMemory.buffer.byteLength);
  await tab.evaluate(async () => { await ws.stopAgent(); await ws.close(); });
  return sample;
}

/** In a page: the rows of the yardstick, as a hand-written page would keep them. */
async function laid([rows, length]) {
  const request = indexedDB.open("yardstick", 1);
  await new Promise((resolve, reject) => {
    request.onupgradeneeded = () => request.result.createObjectStore("rows");
    request.onsuccess = resolve;
    request.onerror = () => reject(request.error);
  });
  const writes = request.result.transaction("rows", "readwrite");
  for (let n = 0; n < rows; n++) writes.objectStore("rows").put(JSON.stringify({ id: n, parts: Array.from({ length: length / 48 }, (_, part) => ({ part, text: `row ${n}, part ${part}`, done: true })) }), n);
  await new Promise((resolve, reject) => { writes.oncomplete = resolve; writes.onabort = () => reject(writes.error); });
  request.result.close();
}

/** In a page: reads all of them, parses each and writes it again. In ms. */
async function yardstick() {
  const wait = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
  const begun = performance.now();
  const database = await wait(indexedDB.open("yardstick", 1));
  const rows = await wait(database.transaction("rows").objectStore("rows").getAll());
  const length = rows.reduce((sum, row) => sum + JSON.stringify(JSON.parse(row)).length, 0);
  const took = performance.now() - begun;
  database.close();
  if (!length) throw new Error("the yardstick has no rows");
  return took;
}

/** Medians of visits to each kind in turn; and, by one visit more, what was read. The first one comes just after the browser's start. */
async function visits(contexts, yard) {
  const seen = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
  const yards = [];
  const all = {};
  for (let n = 0; n <= SAMPLES; n++) {
    for (const kind of Object.keys(KINDS)) {
      yards.push(await yard());
      seen[kind].push(await visit(contexts[kind], kind));
    }
  }
  for (const kind of Object.keys(KINDS)) {
    const [first, ...rest] = seen[kind];
    const counted = await visit(contexts[kind], kind, count);
    const row = { memory: median(rest.map(({ memory }) => memory)), first, samples: rest };
    for (const step of Object.keys(STEPS)) row[step] = { wall: median(rest.map((one) => one[step].wall)), cpu: median(rest.map((one) => one[step].cpu)), rows: counted[step].rows, bytes: counted[step].bytes };
    all[kind] = row;
  }
  return { ...all, yard: median(yards) };
}

/** How long a list takes in a page that has opened the workspace, in ms. */
async function listed(context, yard) {
  const took = { plain: [], verified: [] };
  const yards = [];
  for (let n = 0; n <= SAMPLES; n++) {
    for (const [way, times] of Object.entries(took)) {
      yards.push(await yard());
      const { wall, count } = await inTab(context, (tab) => tab.evaluate(async (withVerification) => {
        const ws = await lodger.openWorkspace("year");
        let list;
        const { wall } = await timed(async () => { list = await ws.sessions.list(withVerification ? { withVerification } : {}); });
        await ws.close();
        return { wall, count: list.length };
      }, way === "verified"));
      if (count < SESSIONS) throw new Error(`${count} sessions were listed`);
      if (n) times.push(wall);
    }
  }
  return { plain: median(took.plain), verified: median(took.verified), yard: median(yards) };
}

// ---------------------------------------------------------------- bytes

/**
 * In a page: the UTF-8 bytes of the rows of a workspace, keys and values, by table; with `each` those of each row. A file counts as its
 * bytes, a key of the browser's as none.
 */
async function weigh([name, each]) {
  const wait = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
  const { name: database } = (await indexedDB.databases()).find(({ name: of }) => of.endsWith(name));
  const opened = await wait(indexedDB.open(database));
  const utf8 = (text) => new TextEncoder().encode(text).length;
  const size = (value) => (typeof value === "string" ? utf8(value) : value.size ?? value.byteLength ?? [value].flat()[0]?.byteLength ?? 0);
  const tables = {};
  for (const table of opened.objectStoreNames) {
    const sum = (tables[table] = { rows: 0, bytes: 0, each: [] });
    for (let range; ;) {
      const store = opened.transaction(table).objectStore(table);
      const [keys, values] = await Promise.all([wait(store.getAllKeys(range, 5000)), wait(store.getAll(range, 5000))]);
      if (!keys.length) break;
      for (const [at, key] of keys.entries()) {
        const bytes = utf8(JSON.stringify(key)) + size(values[at]);
        sum.rows++;
        sum.bytes += bytes;
        if (each) sum.each.push([key, bytes]);
      }
      range = IDBKeyRange.lowerBound(keys.at(-1), true);
    }
  }
  opened.close();
  return tables;
}

/** What a plain run stores, by kind of entry, and how much of it is there after clearing. And one of a session that `launch` has named, on a wire. */
async function stored(tab) {
  await tab.evaluate(begin, { name: "bytes" });
  const run = (from, until) => tab.evaluate(async ({ from, until }) => { for (let n = from; n < until; n++) await asked(await ws.sendMessage(question(n))); }, { from, until });
  const kinds = async (name = "bytes") => {
    const journal = await tab.evaluate(async () => (await ws.sessions.journal("default")).map(({ seq, type, what }) => [seq, what ? `${type} ${what}` : type]));
    const names = new Map(journal);
    const sums = {};
    for (const [table, { each }] of Object.entries(await tab.evaluate(weigh, [name, true]))) {
      for (const [key, size] of each) {
        const sum = (sums[table === "entries" ? names.get(key[1]) ?? table : table] ??= { rows: 0, bytes: 0 });
        sum.rows++;
        sum.bytes += size;
      }
    }
    return sums;
  };
  await run(0, BEFORE);
  const before = await kinds();
  await run(BEFORE, BEFORE + COUNTED);
  const after = await kinds();
  const each = Object.entries(after).map(([kind, { rows, bytes }]) => [kind, { rows: (rows - (before[kind]?.rows ?? 0)) / COUNTED, bytes: (bytes - (before[kind]?.bytes ?? 0)) / COUNTED }]).filter(([, { bytes }]) => bytes);
  const total = (sums) => Object.entries(sums).reduce((sum, [kind, { bytes }]) => sum + (APART.includes(kind) ? 0 : bytes), 0);
  await tab.evaluate(() => ws.clearConversation());
  const cleared = await kinds();
  await tab.evaluate(async () => { await ws.stopAgent(); await ws.close(); });
  await tab.evaluate(begin, { name: "named", wire: WIRE });
  const named = async (runs) => {
    await tab.evaluate(async (runs) => {
      globalThis.launched ??= (await ws.sessions.launch({ displayName: "Costs" })).id;
      for (let n = 0; n < runs; n++) await asked(await ws.sessions.prompt(launched, question(n)));
    }, runs);
    const tables = await tab.evaluate(weigh, ["named", false]);
    return Object.entries(tables).reduce((sum, [table, { bytes }]) => sum + (APART.includes(table) ? 0 : bytes), 0);
  };
  const first = await named(BEFORE);
  const launched = (await named(COUNTED) - first) / COUNTED;
  await tab.evaluate(async () => { await ws.stopAgent(); await ws.close(); });
  const short = [];
  for (const runs of SHORT) {
    await tab.evaluate(begin, { name: `short-${runs}` });
    await run(0, runs);
    const whole = total(await kinds(`short-${runs}`));
    await tab.evaluate(() => ws.clearConversation());
    short.push([runs, 1 - total(await kinds(`short-${runs}`)) / whole]);
    await tab.evaluate(async () => { await ws.stopAgent(); await ws.close(); });
  }
  return { short, launched, run: total(Object.fromEntries(each)), kinds: Object.fromEntries(each), before: total(after), after: total(cleared), given: 1 - total(cleared) / total(after) };
}

/** What the origin takes: its rows, and what the browser says. */
const disk = (context) => inTab(context, async (tab) => {
  const tables = await tab.evaluate(weigh, ["year", false]);
  const sum = (of) => Object.values(tables).reduce((sum, table) => sum + table[of], 0);
  return { rows: sum("rows"), bytes: sum("bytes"), usage: await tab.evaluate(async () => (await navigator.storage.estimate()).usage) };
});

// ---------------------------------------------------------------- the report

const MB = 1_000_000;

function goals({ visits, list, disk, bytes }) {
  const paced = (time, { yard }) => (time * YARD) / yard;
  const over = (kind) => paced(visits[kind].start.wall - visits[EMPTY].start.wall, visits);
  const all = [];
  for (const [kind, title] of [["default", "all in default"], ["sessions", "over 1,000 sessions"], [COMPACTED, "in one conversation that is summed up"]]) {
    all.push(
      [`a year ${title}: a start takes at most 150 ms more than of an empty workspace`, over(kind), 150],
      [`a year ${title}: the first prompt takes at most 100 ms of the main thread`, paced(visits[kind].prompt.cpu, visits), 100],
      [`a year ${title}: the module's memory, at most 20 MB`, visits[kind].memory / MB, 20],
      [`a year ${title}: on the disk, at most 120 MB`, disk[kind].usage / MB, 120],
    );
  }
  all.push(["a year: a list of 1,000 sessions takes at most 150 ms", paced(list.plain, list), 150], ["a plain run stores at most 3 KB", bytes.run / 1024, 3], ["a plain run of a session that was launched, on Anthropic, stores at most 3 KB", bytes.launched / 1024, 3], ["clearing gives back at least 65 % of the rows' bytes: at most 0.35 stay", 1 - bytes.given, 0.35]);
  return all;
}

function report({ runs, visits, list, disk, bytes }) {
  const kinds = Object.keys(KINDS);
  const line = (title, of, digits = 1) => console.log(`  ${title.padEnd(52)}${kinds.map((kind) => { const value = of(kind); return (value === undefined ? "" : value.toFixed(digits)).padStart(14); }).join("")}`);
  console.log(`${`${runs.toLocaleString("en")} plain runs`.padEnd(54)}${["an empty one", "in default", "in 1,000", "summed up"].map((title) => title.padStart(14)).join("")}`);
  line("a start, ms", (kind) => visits[kind].start.wall);
  line("  of the main thread", (kind) => visits[kind].start.cpu);
  line("  rows that it reads", (kind) => visits[kind].start.rows, 0);
  line("  KB of them", (kind) => visits[kind].start.bytes / 1024);
  line("  the first one after the browser's start, ms", (kind) => visits[kind].first.start.wall);
  line("the first prompt to its answer, ms", (kind) => visits[kind].prompt.wall);
  line("  of the main thread", (kind) => visits[kind].prompt.cpu);
  line("  rows that it reads", (kind) => visits[kind].prompt.rows, 0);
  line("  KB of them", (kind) => visits[kind].prompt.bytes / 1024);
  line("the last 20 messages, ms", (kind) => visits[kind].history.wall);
  line("  rows that it reads", (kind) => visits[kind].history.rows, 0);
  line("the module's memory then, MB", (kind) => visits[kind].memory / MB);
  line("rows, thousands", (kind) => disk[kind] && disk[kind].rows / 1000);
  line("rows, keys and values, MB", (kind) => disk[kind] && disk[kind].bytes / MB);
  line("on the disk, as the browser says, MB", (kind) => disk[kind] && disk[kind].usage / MB);
  line("the yardstick beside them, ms", (kind) => (kind === EMPTY ? visits.yard : undefined));
  console.log(`  1,000 sessions are listed in ${list.plain.toFixed(1)} ms, listed and verified in ${list.verified.toFixed(1)} ms, and the yardstick takes ${list.yard.toFixed(1)}`);
  console.log(`  the goals' times are of a machine on which it takes ${YARD}\n`);
  console.log(`${"what a plain run stores, head and draft apart".padEnd(54)}${"rows".padStart(14)}${"bytes".padStart(14)}`);
  const shown = Object.entries(bytes.kinds).sort(([, a], [, b]) => b.bytes - a.bytes);
  for (const [kind, { rows, bytes: size }] of shown) console.log(`  ${(APART.includes(kind) ? `apart: ${kind}` : kind).padEnd(52)}${rows.toFixed(2).padStart(14)}${size.toFixed(0).padStart(14)}`);
  console.log(`  ${"together".padEnd(52)}${shown.reduce((sum, [kind, { rows }]) => sum + (APART.includes(kind) ? 0 : rows), 0).toFixed(2).padStart(14)}${bytes.run.toFixed(0).padStart(14)}`);
  console.log(`  ${`together, of a session that was launched, on ${WIRE}`.padEnd(66)}${bytes.launched.toFixed(0).padStart(14)}`);
  console.log(`  clearing ${COUNTED + BEFORE} of them gives back ${(bytes.given * 100).toFixed(1)} %: of ${(bytes.before / 1024).toFixed(0)} KB, ${(bytes.after / 1024).toFixed(0)} KB stay`);
  console.log(`  of shorter conversations: ${bytes.short.map(([runs, given]) => `${(given * 100).toFixed(0)} % of ${runs} run${runs > 1 ? "s" : ""}`).join(", ")}\n`);
}

const results = await measure(await filled());
report(results);
const reached = goals(results);
if (!reportGoals(reached)) process.exitCode = 1;
await fs.mkdir(path.dirname(values.json), { recursive: true });
await fs.writeFile(values.json, JSON.stringify({ ...results, goals: judged(reached) }, null, 2));
await web.close();
