// Kills of the whole browser: all processes of a Chromium get SIGKILL while several workspaces of a profile work, and another
// one goes on with the same profile.
//
// Promises: nothing that was acknowledged is missing, unless Chromium has dropped all databases of the profile. That is
// excused only behind a kill that has cut a record of its log (`lib/leveldb.mjs`). Each workspace has to tell of it then, and
// is begun anew.
import assert from "node:assert/strict";
import { profile } from "../lib/profile.mjs";
import { WIRES } from "../servers/wires/index.mjs";
import { Conversation, init } from "./conversation.mjs";
import { drawer } from "./draw.mjs";
import { endAt, tally } from "./kills.mjs";

/** How many kills a profile lives through, and how many workspaces each kill cuts. */
const LIVES = 5;
const BESIDE = 3;
const MS = 900;

/** So many profiles, from this number on. `lives`: how many kills each lives through; `enough()`: whether no life more begins. */
export function browser(test, { seed, count, first = 1, lives = LIVES, counts, enough }) {
  for (let number = first; number < first + count; number++) {
    test(`browser/${number}`, async (t) => {
      t.note(`seed ${seed}`);
      await killed(t, { seed, number, lives, counts, enough });
    }, { hangMs: 300_000 });
  }
}

/** A profile through so many kills. `after(kept, life)` is called after each. `deaf`: its pages hear no notice. */
export async function killed(t, { seed, number, lives, counts, enough = () => false, after = () => {}, deaf = false }) {
  const kept = profile(t);
  // Each draws for itself: they work beside each other.
  const drawn = (n) => drawer(seed, "browser", `${number}.${n}`);
  const draw = drawn("moments");
  const begun = (how) => Promise.all(Array.from({ length: BESIDE }, (_, n) => new Conversation(t, { draw: drawn(`${n}${how}`), row: WIRES[(number * BESIDE + n) % WIRES.length], host: ["page", "worker"][(number + n) % 2] }).ready()));
  let all = await begun("");
  const over = [];
  let isCut = false;
  /** A page for each, in which all that was under way comes to its end. */
  const goOn = async (open) => {
    const pages = await Promise.all(all.map(open));
    const lost = await Promise.all(all.map(async (conversation, n) => (await conversation.open(pages[n], { mayBeLost: isCut })).lost));
    if (lost.some(Boolean)) {
      assert.ok(lost.every(Boolean), `all are lost together, and it was told by ${lost}`);
      t.note("all was lost, and told");
      counts.add("losses of all, told after a kill in the middle of a record");
      over.push(...all);
      all = await begun(" anew");
      isCut = false;
      await Promise.all(all.map(async (conversation, n) => { await pages[n].evaluate(() => ws.close()); await conversation.open(pages[n]); }));
    }
    await Promise.all(all.map((conversation, n) => conversation.settle(pages[n])));
    return pages;
  };
  for (let life = 1; life <= lives && (life === 1 || !enough()); life++) {
    t.at = `life ${life}`;
    const { page, kill } = await kept.doomed();
    const pages = await goOn(() => page(init({ deaf })));
    const [cut, ...beside] = all;
    beside.forEach((conversation, n) => pages[n + 1].evaluate((steps) => shop.send(steps), conversation.next()).catch(() => {}));
    let ended;
    // Where all was done before the moment came, another one is drawn.
    while (!ended) ended = await endAt(t, pages[0], cut.next(), draw.chance(50) ? { ms: draw(MS) } : { thread: "page", target: 1 + draw(40) }, kill);
    t.note(ended.at);
    after(kept, life);
    const now = kept.isCut();
    counts.add("kills of the browser", now ? "in the middle of a record" : "between records");
    isCut ||= now;
  }
  await kept.life(async (_, page) => {
    const pages = await goOn(page);
    await Promise.all(all.map((conversation, n) => conversation.finish(pages[n])));
  }, init({ deaf }));
  for (const conversation of [...over, ...all]) tally(conversation, counts);
}
