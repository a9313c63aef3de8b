// What changed between two texts, line by line.
//
// Promises: the shortest edit by longest common subsequence, after equal ends are cut off. It is null when the middle
// is too large to compare (bounded work).

/** A line that stays, came or went. */
export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

const MOST_CELLS = 4_000_000;

/** The lines of both texts in order, or null. */
export function diff(before: string, after: string): Line[] | null {
  // Nothing is no line, so that a new page is lines that came and nothing else.
  const a = before ? before.split("\n") : [];
  const b = after ? after.split("\n") : [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const x = a.slice(head, a.length - tail);
  const y = b.slice(head, b.length - tail);
  const width = y.length + 1;
  if ((x.length + 1) * width > MOST_CELLS) return null;
  const length = new Uint32Array((x.length + 1) * width);
  const cell = (i: number, j: number): number => length[i * width + j] ?? 0;
  for (let i = x.length - 1; i >= 0; i -= 1) {
    for (let j = y.length - 1; j >= 0; j -= 1) length[i * width + j] = x[i] === y[j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1));
  }
  const lines: Line[] = a.slice(0, head).map((text) => ({ kind: "same", text }));
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      lines.push({ kind: "same", text: x[i] as string });
      i += 1;
      j += 1;
    } else if (i < x.length && (j === y.length || cell(i + 1, j) >= cell(i, j + 1))) lines.push({ kind: "removed", text: x[i++] as string });
    else lines.push({ kind: "added", text: y[j++] as string });
  }
  for (const text of a.slice(a.length - tail)) lines.push({ kind: "same", text });
  return lines;
}

/** Only what changed, with `around` lines of surroundings; null marks a gap. */
export function hunks(lines: Line[], around = 2): (Line | null)[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - around), i + around + 1).some((l) => l.kind !== "same"));
  const out: (Line | null)[] = [];
  lines.forEach((line, i) => {
    if (near[i]) out.push(line);
    else if (i > 0 && near[i - 1]) out.push(null);
  });
  return out;
}
