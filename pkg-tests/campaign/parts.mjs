// The parts of the campaign: what registers the tests of each, and how many there are in full and in the sample.
//
// A part is `register(test, { seed, count, first, counts, enough })`: the tests of `count` cases from the number `first` on. The title of
// a test begins with `part/number`, by which it can be played alone. Before it goes on, a test asks whether it is `enough()`.
import { browser } from "./browser.mjs";
import { damage } from "./damage.mjs";
import { disk } from "./disk.mjs";
import { judge } from "./judge.mjs";
import { kills } from "./kills.mjs";
import { profiles } from "./profile.mjs";

/** `longest`: how many seconds the longest test takes. */
export const PARTS = {
  kills: { register: kills, longest: 20 },
  browser: { register: browser, longest: 45 },
  damage: { register: damage, longest: 60 },
  profile: { register: profiles, longest: 60 },
  disk: { register: disk, longest: 40 },
  judge: { register: judge, longest: 60 },
};

/** 1,000 kills of pages and workers, 100 of the browser, 500 damages to rows, 50 to files. */
export const FULL = {
  kills: { count: 200 },
  browser: { count: 20 },
  damage: { count: 50 },
  profile: { count: 10 },
  disk: { count: 10 },
  judge: { count: 4 },
};

/** What every test run has time for, in this order. */
export const SAMPLE = {
  damage: { count: 2 },
  judge: { count: 0 },
  kills: { count: 2 },
  profile: { count: 1, each: 2 },
  browser: { count: 1, lives: 1 },
  disk: { count: 1 },
};
