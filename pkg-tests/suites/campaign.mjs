// A sample of the campaign with a fixed seed: a little of each part, the judge of the judge included. `cargo xtask campaign` plays
// it all.
import { counter } from "../campaign/counts.mjs";
import { SEED } from "../campaign/draw.mjs";
import { PARTS, SAMPLE } from "../campaign/parts.mjs";

export default function (test) {
  for (const [part, which] of Object.entries(SAMPLE)) PARTS[part].register(test, { seed: SEED, counts: counter(), ...which });
}
