// What a campaign has done, counted while it runs and printed when it is over, in the order in which it was first met.

export function counter() {
  const counts = new Map();
  return {
    /** One more of this, or so many; a word says of which kind. */
    add(what, more = 1) {
      const own = counts.get(what) ?? { sum: 0, kinds: new Map() };
      counts.set(what, own);
      if (typeof more === "number") own.sum += more;
      else { own.sum++; own.kinds.set(more, (own.kinds.get(more) ?? 0) + 1); }
    },
    /** How many there were of it. */
    sum: (what) => counts.get(what)?.sum ?? 0,
    lines: () => [...counts].map(([what, { sum, kinds }]) => `${String(sum).padStart(7)}  ${what}${kinds.size ? `: ${[...kinds].toSorted(([, a], [, b]) => b - a).map(([kind, n]) => `${kind} ${n}`).join(", ")}` : ""}`),
  };
}
