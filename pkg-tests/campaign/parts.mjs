// The parts of the campaign: what registers the tests of each, and how many there are in full and in the sample.
//
// A part is `register(test, { seed, count, first, counts })`: the tests of `count` cases from the number `first` on. The title of
// a test begins with `part/number`, by which it can be played alone.
import { browser } from "./browser.mjs";
import { damage } from "./damage.mjs";
import { disk } from "./disk.mjs";
import { judge } from "./judge.mjs";
import { kills } from "./kills.mjs";
import { profiles } from "./profile.mjs";

/** `longest`: how many seconds the longest test takes. */
export const PARTS = {
  kills: { register: kills, longest: 30 },
  browser: { register: browser, longest: 60 },
  damage: { register: damage, longest: 30 },
  profile: { register: profiles, longest: 50 },
  disk: { register: disk, longest: 20 },
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

/** What every test run has time for. */
export const SAMPLE = {
  kills: { count: 4 },
  browser: { count: 1, lives: 2 },
  damage: { count: 2 },
  profile: { count: 1, each: 2 },
  disk: { count: 1 },
  judge: { count: 0 },
};
