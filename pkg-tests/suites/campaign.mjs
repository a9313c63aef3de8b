// A sample of the campaign with a fixed seed: a little of each part, the judge of the judge included. `cargo xtask campaign` plays
// it all.
//
// Promises: it takes 90 seconds at most where three lanes have two idle cores, because its parts are counted so. After a minute nothing
// more is drawn, and what has begun ends. `LEAST` is played however slow the machine is. The last test that ends says what was
// played, and fails where that is less; each one that was left out says so. Leaves to others: how a case is played, and judged.
import assert from "node:assert/strict";
import { counter } from "../campaign/counts.mjs";
import { SEED } from "../campaign/draw.mjs";
import { LEAST, PARTS, SAMPLE } from "../campaign/parts.mjs";

const DRAWN_MS = 60_000;

export default function (test, { whole }) {
  const counts = counter();
  let left = 0;
  let began;
  let failed = false;
  const enough = () => Date.now() - (began ??= Date.now()) > DRAWN_MS;
  const begun = new Map();
  const timed = (part, least) => (title, body, options) => {
    test(title, async (t) => {
      try {
        const before = begun.get(part) ?? 0;
        if (enough() && before >= least) return t.note("left out: the time of the sample is over");
        begun.set(part, before + 1);
        await body(t);
      } catch (error) {
        failed = true;
        throw error;
      } finally {
        if (!--left) ended(t);
      }
    }, { ...options, taken: () => { left++; } });
  };
  const ended = (t) => {
    t.note([`the sample took ${Math.round((Date.now() - began) / 1000)} s`, ...counts.lines().map((line) => line.trim())].join("\n          "));
    // What has failed was not counted.
    if (whole && !failed) for (const [what, least] of Object.entries(LEAST)) assert.ok(counts.sum(what) >= least, `${what}: ${counts.sum(what)}, and at least ${least} are the sample`);
  };
  for (const [part, { least, ...which }] of Object.entries(SAMPLE)) PARTS[part].register(timed(part, least), { seed: SEED, counts, enough, ...which });
}
