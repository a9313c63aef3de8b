// A sample of the campaign with a fixed seed: a little of each part, the judge of the judge included. `cargo xtask campaign` plays
// it all.
//
// Promises: it takes 90 seconds at most where three lanes have two cores. After a minute nothing more is drawn, and what has begun
// ends. Something of each part is played, however slow the machine is. The last test says what was played, and each one that was left
// out says so. Leaves to others: how a case is played, and judged.
import { counter } from "../campaign/counts.mjs";
import { SEED } from "../campaign/draw.mjs";
import { PARTS, SAMPLE } from "../campaign/parts.mjs";

const DRAWN_MS = 60_000;

export default function (test) {
  const counts = counter();
  let left = 0;
  let began;
  const enough = () => Date.now() - (began ??= Date.now()) > DRAWN_MS;
  const begun = new Set();
  const timed = (part) => (title, body, options) => {
    left++;
    test(title, async (t) => {
      try {
        if (enough() && begun.has(part)) return t.note("left out: the time of the sample is over");
        begun.add(part);
        await body(t);
      } finally {
        if (!--left) t.note([`the sample took ${Math.round((Date.now() - began) / 1000)} s`, ...counts.lines().map((line) => line.trim())].join("\n          "));
      }
    }, options);
  };
  for (const [part, which] of Object.entries(SAMPLE)) PARTS[part].register(timed(part), { seed: SEED, counts, enough, ...which });
}
