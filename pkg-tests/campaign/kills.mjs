// Kills of pages and workers: a conversation with tools is cut at a random moment of its work, again and again, and goes on in
// the next page. A moment is a commit, an event or an effect, counted in the page or its worker, or a time.
//
// A kill is the end of a process or of a worker. A life that ends in another way, as when a page is closed, is counted apart.
import { crasher } from "../lib/crash.mjs";
import { WIRES } from "../servers/wires/index.mjs";
import { Conversation, init } from "./conversation.mjs";
import { drawer } from "./draw.mjs";

/** How many kills a conversation lives through. */
export const LIVES = 5;
const KILLS = { page: ["crash"], worker: ["crash", "terminate"] };
const OTHER_WAYS = ["close", "reload", "navigation"];
/** How many percent of the lives that end in a kill come after one that ends in another way. */
const OTHERS = 30;
/** Among how many moments is drawn: about as many as a thread sees of jobs with so many calls. */
const MOMENTS = { page: (calls) => 12 + 12 * calls, worker: (calls) => 8 + 6 * calls };
/** How many moments a change of the conversation has, and how many percent of those that come first are cut in them. */
const CHANGE = { page: 6, worker: 4 };
const IN_CHANGES = 60;
const MS = 500;

/** The tests of so many conversations, from this number on. `counts` is told what was done; `enough()`: whether one kill is enough. */
export function kills(test, { seed, count, first = 1, lives = LIVES, counts, enough }) {
  for (let number = first; number < first + count; number++) {
    const host = ["page", "worker"][number % 2];
    const row = WIRES[(number >> 1) % WIRES.length];
    test(`kills/${number} ${row.name} [${host}]`, async (t) => {
      t.note(`seed ${seed}`);
      const conversation = await new Conversation(t, { draw: drawer(seed, "kills", number), row, host }).ready();
      await play(t, conversation, (way) => counts.add(KILLS[host].includes(way) ? "kills of pages and workers" : "lives of pages that ended in another way", way), { lives, enough });
      tally(conversation, counts);
    }, { hangMs: 300_000 });
  }
}

/** A conversation through all its lives. `ended(way)` is called after each. */
export async function play(t, conversation, ended, { lives = LIVES, enough = () => false } = {}) {
  const { draw, host } = conversation;
  let killed = false;
  const ways = Array.from({ length: lives }, () => [...(draw.chance(OTHERS) ? [draw.of(OTHER_WAYS)] : []), draw.of(KILLS[host])]).flat();
  let page;
  for (let life = 1; ; life++) {
    t.at = `life ${life}`;
    page ??= await t.tab({ init: init(conversation) });
    await conversation.open(page);
    await conversation.settle(page);
    const way = ways.shift();
    if (!way || (killed && enough())) return conversation.finish(page);
    const { at, page: left } = await end(t, page, conversation, way);
    ended(way);
    killed ||= KILLS[host].includes(way);
    t.note(`${way} at ${at}`);
    page = left;
  }
}

/** What was judged. */
export function tally({ accepted, route, reruns, changes, begun }, counts) {
  counts.add("messages acknowledged", accepted.length);
  for (const act of changes) counts.add("changes of conversations", act);
  counts.add("changes of conversations that were cut in their middle", begun - changes.length);
  counts.add("effects counted", route.effects.length);
  counts.add("requests judged", route.requests.length);
  for (const times of reruns.values()) counts.add("calls run again, because a person said so", times);
}

/** Sends the next jobs and ends this life at a moment of them. `page`: the one that is left. */
async function end(t, page, conversation, way) {
  const { draw, host } = conversation;
  const crash = await crasher(t, page);
  for (;;) {
    const where = draw.of(host === "page" ? ["page", "page", "time"] : ["page", "worker", "worker", "time"]);
    const steps = conversation.next();
    const calls = steps.reduce((sum, { keys }) => sum + keys.length, 0);
    // A change that comes first is over after a few moments, and would hardly be met among all.
    const among = steps[0].act && draw.chance(IN_CHANGES) ? CHANGE[where] : MOMENTS[where]?.(calls);
    const moment = where === "time" ? { ms: draw(MS) } : { thread: where, target: 1 + draw(among) };
    const ended = await endAt(t, page, steps, moment, (go) => ENDS[way]({ t, page, crash, go: where === "page" ? go : () => {} }));
    // All was done before: that was no moment of it.
    if (ended) return ended;
    await conversation.settle(page);
  }
}

/** How a page ends; gives what is left of it. `go()` lets it go on where it stands still; its worker never does. */
const ENDS = {
  crash: ({ crash }) => crash(),
  async close({ page, go }) {
    go();
    await page.close();
  },
  async reload({ t, page, go }) {
    go();
    await page.reload();
    await t.ready(page);
    return page;
  },
  async navigation({ t, page, go }) {
    go();
    await page.goto("about:blank");
    await page.goto(`${t.env.site.url}/blank.html`);
    await t.ready(page);
    return page;
  },
  async terminate({ page, go }) {
    go();
    await page.evaluate(() => { for (const worker of workers) worker.terminate(); });
    await page.close();
  },
};

let moments = 0;

/**
 * The page takes these steps, and at a moment of them `end(go)` is done: when so many moments (`target`, of those called `what`) have
 * been counted in a `thread` (`page`, `worker`), which then stands still, or after so many `ms`. `at`: which moment it was. Undefined where
 * all came to its end before.
 */
export async function endAt(t, page, steps, { thread, target = 1, what, ms }, end) {
  const name = `moment ${++moments}`;
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  const reached = new Promise((resolve) => t.signal(name, ({ what }) => { resolve(`${what}, in the ${thread}`); return held; }));
  if (thread) await (thread === "worker" ? page.workers()[0] : page).evaluate((moment) => arm(...moment), [target, name, what]);
  const through = page.evaluate((steps) => shop.send(steps), steps).then(() => undefined);
  through.catch(() => {});
  const late = new Promise((resolve) => { if (ms !== undefined) setTimeout(() => resolve(`${ms} ms`), ms); });
  const at = await Promise.race([reached, through, late]);
  const left = at && await end(go);
  go();
  return at && { at, page: left };
}
