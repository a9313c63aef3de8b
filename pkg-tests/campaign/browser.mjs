// Kills of the whole browser: all processes of a Chromium get SIGKILL while several workspaces of a profile work, and another
// one goes on with the same profile.
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
      const kept = profile(t);
      // Each draws for itself: they work beside each other.
      const drawn = (n) => drawer(seed, "browser", `${number}.${n}`);
      const draw = drawn("moments");
      const all = await Promise.all(Array.from({ length: BESIDE }, (_, n) => new Conversation(t, { draw: drawn(n), row: WIRES[(number * BESIDE + n) % WIRES.length], host: ["page", "worker"][(number + n) % 2] }).ready()));
      for (let life = 1; life <= lives && (life === 1 || !enough()); life++) {
        t.at = `life ${life}`;
        const { page, kill } = await kept.doomed();
        const pages = await goOn(all, () => page(init()));
        const [cut, ...beside] = all;
        beside.forEach((conversation, n) => pages[n + 1].evaluate((steps) => shop.send(steps), conversation.next()).catch(() => {}));
        let ended;
        // Where all was done before the moment came, another one is drawn.
        while (!ended) ended = await endAt(t, pages[0], cut.next(), draw.chance(50) ? { ms: draw(MS) } : { thread: "page", target: 1 + draw(40) }, kill);
        counts.add("kills of the browser");
        t.note(ended.at);
      }
      await kept.life(async (_, page) => {
        const pages = await goOn(all, page);
        await Promise.all(all.map((conversation, n) => conversation.finish(pages[n])));
      }, init());
      for (const conversation of all) tally(conversation, counts);
    }, { hangMs: 300_000 });
  }
}

/** A page for each, in which all that was under way comes to its end. */
const goOn = (all, open) => Promise.all(all.map(async (conversation) => {
  const page = await open();
  await conversation.open(page);
  await conversation.settle(page);
  return page;
}));
