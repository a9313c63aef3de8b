// Damages to rows: a workspace with everything in it is put back, one row is changed from outside, and a page opens it. What is
// shown must be what was shown before, or it must be told that it is not; everybody else works, and a new message is answered.
import assert from "node:assert/strict";
import { drawer } from "./draw.mjs";
import { expected } from "./known.mjs";
import { differences, judgeShown } from "./shown.mjs";
import { world } from "./world.mjs";

/** How many damages a page lives through. */
const EACH = 10;
export const KINDS = ["flip", "flip", "flip", "cut", "empty", "delete", "move", "double", "swap", "older"];

/** `count` pages, from this number on; `each`: how many damages in each, until it is `enough()`. */
export function damage(test, { seed, count, first = 1, each = EACH, counts, enough }) {
  for (let number = first; number < first + count; number++) {
    test(`damage/${number}`, async (t) => {
      t.note(`seed ${seed}`);
      const page = await t.tab({ init: world });
      const ids = await page.evaluate(() => build());
      const wholly = async () => page.evaluate(async (ids) => { await putBack(); return look(ids); }, ids);
      const whole = await wholly();
      const moving = movement(whole, await wholly());
      const empty = await page.evaluate((ids) => nothing(ids), ids);
      const faults = [];
      for (let n = 1; n <= each && (n === 1 || !enough()); n++) {
        const draw = drawer(seed, "damage", `${number}.${n}`);
        const drawn = { kind: draw.of(KINDS), draws: Array.from({ length: 6 }, () => draw(1_000_003)) };
        const done = await page.evaluate(async (drawn) => { await putBack(); return harm(drawn); }, drawn);
        t.at = done.what;
        const seen = await page.evaluate((ids) => look(ids), ids);
        const after = await page.evaluate((ids) => ask(ids), ids);
        counts.add("damages to rows", done.table);
        faults.push(...faultsOf(judgeShown({ whole, empty, moving, seen, after, done }), done, `${number}.${n}`, counts));
      }
      assert.deepEqual(faults, []);
    }, { hangMs: 600_000 });
  }
}

/** What differs between two looks at the same: when something was noticed. */
export const movement = (one, other) => new Set(Object.keys(one.shown).flatMap((what) => differences(one.shown[what], other.shown[what], what)));

/** What is wrong where it was not told, or somebody else was touched, but for each difference that nobody can tell of. */
export function faultsOf(verdict, done, where, counts) {
  const faults = verdict.faults.map((fault) => ({ ...fault, known: expected(fault, done, verdict) }));
  for (const why of new Set(faults.map(({ known }) => known).filter(Boolean))) counts.add("damages of which something is shown otherwise that nobody can tell of", why);
  counts.add("damages that were judged", verdict.told);
  return faults.filter(({ known }) => !known).map(({ what, why }) => `${where}, ${done.what}: ${what}: ${why}`);
}
