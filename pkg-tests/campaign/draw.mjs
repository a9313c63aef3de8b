// What is drawn at random. The draws of a case depend on the seed, its part and its number, and on nothing that ran before it. So
// it can be played alone.

/** The seed of the sample that every test run plays, and of a campaign that is given none. */
export const SEED = 20_261_125;

/** Gives `draw(n)`, a whole number below `n`, with `draw.of(list)` and `draw.chance(percent)`. */
export function drawer(seed, part, number) {
  let state = [...`${seed} ${part} ${number}`].reduce((hash, letter) => Math.imul(hash ^ letter.codePointAt(0), 16_777_619), -2_128_831_035);
  const draw = (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
  draw.of = (list) => list[draw(list.length)];
  draw.chance = (percent) => draw(100) < percent;
  return draw;
}
