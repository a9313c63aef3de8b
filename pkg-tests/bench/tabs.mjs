// Several tabs on one workspace, on both hosts: how much later another tab hears, and what the others cost the tab that
// works. How soon a long session has been read through. Whether a page can be used while much text comes.

const DELTAS = 300;
const PAUSE = 10; // ms between them
const STREAM = 20_000;
const FLOOD = 100_000;
const TURNS = 100;
const VIEWERS = [0, 1, 8];
const HOSTS = ["page", "worker"];
const LONG = 10_000;

/**
 * Gives `{ delay, viewers, attach, flood, busy }`, medians in ms. `delay`: how much later another tab hears a chunk than the one
 * that works. `viewers`: main-thread CPU of the tab that works. `flood`: the longest task and the input delay of that tab.
 * `busy`: a loop of tools that need no page, in a page that does nothing else, and in one that works.
 */
export async function tabsBench({ browser, web, server, runs, median, fill }) {
  const results = { delay: {}, viewers: {}, attach: {}, flood: {}, busy: {} };
  let workspaces = 0;
  /** Runs `work` with a way to open tabs that share one fresh workspace. */
  const fresh = async (work) => {
    const context = await browser.newContext();
    const name = `tabs-${++workspaces}`;
    const tab = async (host = "page") => {
      const page = await context.newPage();
      page.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
      await page.goto(`${web.url}/blank.html`);
      await page.waitForFunction(() => globalThis.ready);
      await page.evaluate(open, [name, host]);
      return page;
    };
    try {
      return await work(tab, name);
    } finally {
      await context.close();
    }
  };
  const stream = (deltas) => `${server.url}/stream/${deltas}`;

  for (const host of HOSTS) {
    results.delay[host] = await fresh(async (tab) => {
      const [holder, viewer] = [await tab(host), await tab(host)];
      await holder.evaluate(slow, [DELTAS, PAUSE]);
      await viewer.evaluate(() => follows());
      await Promise.all([holder, viewer].map((page) => page.evaluate(() => listen())));
      await holder.evaluate(() => ws.run("Go"));
      await viewer.evaluate(() => ended);
      const [first, second] = await Promise.all([holder, viewer].map((page) => page.evaluate(() => [...heard])));
      const at = new Map(first);
      const late = second.map(([place, when]) => when - at.get(place)).sort((a, b) => a - b);
      if (late.length < DELTAS / 2 || late.some(Number.isNaN)) throw new Error("the viewer has not heard what the holder has");
      return { median: median(late), p99: late[Math.floor(late.length * 0.99)], worst: late.at(-1) };
    });
  }

  for (const count of VIEWERS) {
    results.viewers[count] = await fresh(async (tab) => {
      const holder = await tab();
      await holder.evaluate(begin, stream(STREAM));
      for (let n = 0; n < count; n++) await (await tab()).evaluate(() => follows());
      const cdp = await holder.context().newCDPSession(holder);
      await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
      const cpu = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "ThreadTime").value * 1000;
      const samples = [];
      for (let run = 0; run <= runs; run++) {
        const before = await cpu();
        await holder.evaluate(() => ws.run("Go"));
        if (run) samples.push((await cpu()) - before);
      }
      return median(samples);
    });
  }

  results.attach = await fresh(async (tab, name) => {
    const holder = await tab();
    await holder.evaluate(() => ws.close());
    await holder.evaluate(fill, { name, entries: LONG });
    await holder.evaluate(open, [name, "page"]);
    await holder.evaluate(() => ws.startAgent({ provider: { kind: "custom", model: "bench", async *stream() { yield "Yes."; } } }));
    const viewer = await tab();
    await viewer.evaluate(() => follows());
    const read = async (page) => {
      const samples = [];
      for (let run = 0; run <= runs; run++) {
        const sample = await page.evaluate(readThrough, LONG);
        if (run) samples.push(sample);
      }
      return median(samples);
    };
    return { holder: await read(holder), viewer: await read(viewer) };
  });

  for (const host of HOSTS) {
    results.flood[host] = await fresh(async (tab) => {
      const page = await tab(host);
      await page.evaluate(begin, stream(FLOOD));
      const samples = [];
      for (let run = 0; run <= runs; run++) {
        await page.evaluate(() => watchPage());
        const over = page.evaluate(() => ws.run("Go").then(() => globalThis.over = true));
        while (!(await page.evaluate(() => globalThis.over))) await page.keyboard.press("a");
        await over;
        const sample = await page.evaluate(() => watched());
        if (run) samples.push(sample);
      }
      return { task: median(samples.map(({ task }) => task)), input: median(samples.map(({ input }) => input)), worst: Math.max(...samples.map(({ input }) => input)) };
    });
    results.busy[host] = await fresh(async (tab) => {
      const page = await tab(host);
      await page.evaluate(begin, `${server.url}/loop/${TURNS}/get_page_tree`);
      const samples = { calm: [], busy: [] };
      for (let run = 0; run <= runs; run++) {
        for (const kind of ["calm", "busy"]) {
          const sample = await page.evaluate(timed, kind === "busy");
          if (run) samples[kind].push(sample);
        }
      }
      return { calm: median(samples.calm), busy: median(samples.busy) };
    });
  }
  return results;
}

// ------------------------------------------------------------------ in the page

async function open([name, host]) {
  await lodger.default();
  globalThis.ws = await lodger.openWorkspace(name, { host });
  ws.view().subscribe(() => {});
  globalThis.follows = async () => { while (ws.status().lifecycle !== "Running") await new Promise((r) => setTimeout(r, 10)); };
  /** Notes when each piece has been heard, by the clock that all tabs share. */
  globalThis.listen = () => {
    globalThis.heard = new Map();
    ws.addEventListener("agent:message-chunk", ({ detail }) => heard.set(detail.offset + detail.text.length, performance.timeOrigin + performance.now()));
    globalThis.ended = new Promise((resolve) => ws.addEventListener("agent:lifecycle", ({ detail }) => detail.phase === "end" && resolve()));
  };
  /** Notes the longest task, and how long after a key was pressed the page has heard of it. */
  globalThis.watchPage = () => {
    globalThis.over = false;
    const seen = { task: 0, input: 0 };
    const tasks = new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) seen.task = Math.max(seen.task, duration); });
    tasks.observe({ entryTypes: ["longtask"] });
    const key = (event) => { seen.input = Math.max(seen.input, performance.now() - event.timeStamp); };
    addEventListener("keydown", key, true);
    globalThis.watched = async () => {
      await new Promise((r) => setTimeout(r, 100));
      tasks.disconnect();
      removeEventListener("keydown", key, true);
      return seen;
    };
  };
}

const begin = (baseUrl) => ws.startAgent({ maxTurns: 1000, provider: { kind: "anthropic", model: "claude-sonnet-4-6", apiKey: "sk-test", baseUrl } });

/** A model in the page that gives a word at a time. */
const slow = ([deltas, pause]) => ws.startAgent({
  provider: { kind: "custom", model: "bench", async *stream() { for (let n = 0; n < deltas; n++) { yield `word${n} `; await new Promise((r) => setTimeout(r, pause)); } } },
});

/** How long it takes to read a journal from its beginning to its end, or to `last`. */
async function readThrough(last) {
  const start = performance.now();
  let read = 0;
  for await (const { seq } of ws.sessions.attach("long")) {
    if (seq !== ++read) throw new Error(`entry ${seq} came after ${read - 1}`);
    if (seq === last) return performance.now() - start;
  }
}

/** How long a run takes; `busy`: in a page that works 200 ms of each 250. */
async function timed(busy) {
  await ws.clearConversation();
  const spin = busy && setInterval(() => { for (const until = performance.now() + 200; performance.now() < until; ); }, 250);
  const start = performance.now();
  const { turns } = await ws.run("Go");
  clearInterval(spin);
  if (turns < 2) throw new Error("no tool was called");
  return performance.now() - start;
}
