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

/** What every test run has time for, in this order. Of each part so many tests are played however late it is: `least`. */
export const SAMPLE = {
  kills: { count: 2, lives: 2, least: 2 },
  profile: { count: 1, each: 1, least: 1 },
  browser: { count: 1, lives: 1, least: 1 },
  disk: { count: 1, least: 1 },
  damage: { count: 1, each: 4, least: 1 },
  judge: { count: 0, least: 5 },
};

/** What the sample has done at the least, in the words of its counts. */
export const LEAST = {
  "kills of pages and workers": 2,
  "kills of the browser": 1,
  "changes of conversations": 5,
  "changes of conversations that were found to be others": 8,
  "worlds whose fault was found": 3,
  "damages to rows": 1,
  "damages that were judged": 2,
  "damages to files": 1,
  "full disks": 1,
};
