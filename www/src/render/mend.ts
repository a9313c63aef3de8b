// Half-typed Markdown. A stream stops anywhere, and what stands there for one frame must not look like something else
// the next. It may be a fence that is still a paragraph, stars that turn into bold, a link that shows its address.
//
// Decides: what of an unfinished text is held back, and what is closed for now. Promises: pure functions of the text.
// The finished text never passes through here.

/** A last line that could still become a fence, list, heading, rule, setext underline, quote or table. */
const UNDECIDED = /^ {0,3}(?:`{1,}|~{1,}|[-=*_+](?:[-=*_ ]*)|\d{1,9}[.)]?|#{1,6}|>)[ \t]*$/;
/** In a list a fence stands further in, so any indent counts. */
const FENCE = /^\s*(`{3,}|~{3,})/;

/** The part of `text` that can be shown while more is to come; `text` begins at the start of a block. */
export function presentable(text: string): string {
  const end = text.lastIndexOf("\n") + 1;
  const last = text.slice(end);
  if (insideFence(text)) {
    // A closing fence in the making is not code.
    return /^\s*[`~]{1,}$/.test(last) ? text.slice(0, end) : text;
  }
  if (UNDECIDED.test(last) || FENCE.test(last)) return text.slice(0, end);
  const table = pendingTable(text);
  if (table >= 0) return text.slice(0, table);
  return text.slice(0, end) + mendLine(last, paragraphBefore(text, end));
}

/** Whether the end of `text` lies in a fenced block. */
function insideFence(text: string): boolean {
  let open = "";
  let from = 0;
  while (from < text.length) {
    // Only lines that could be fences are looked at: a long answer is mostly others.
    const at = nextFence(text, from);
    if (at < 0) break;
    const line = text.slice(at, lineEnd(text, at));
    const mark = FENCE.exec(line)?.[1];
    if (mark && lineEnd(text, at) < text.length) {
      if (!open) open = mark;
      else if (mark[0] === open[0] && mark.length >= open.length && /^\s*[`~]+[ \t]*$/.test(line)) open = "";
    }
    from = lineEnd(text, at) + 1;
  }
  return open !== "";
}

function nextFence(text: string, from: number): number {
  const ticks = text.indexOf("```", from);
  const tildes = text.indexOf("~~~", from);
  const at = ticks < 0 ? tildes : tildes < 0 ? ticks : Math.min(ticks, tildes);
  return at < 0 ? -1 : text.lastIndexOf("\n", at) + 1;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** Where a table begins whose second line is not there yet, or -1. */
function pendingTable(text: string): number {
  const blank = text.lastIndexOf("\n\n");
  const start = blank < 0 ? 0 : blank + 2;
  const lines = text.slice(start).split("\n");
  return lines.length <= 2 && /^ {0,3}\|/.test(lines[0] ?? "") && !(lines.length === 2 && /^[ |:-]*-[ |:-]*\|[ \t]*$/.test(lines[1] ?? "")) ? start : -1;
}

/** The text of the same paragraph before the last line. */
function paragraphBefore(text: string, end: number): string {
  const blank = text.lastIndexOf("\n\n", end);
  return text.slice(blank < 0 ? 0 : blank + 2, end);
}

/** Closes what is open at the end of a line of running text. */
function mendLine(line: string, before: string): string {
  let out = line;
  // A link or an image in the making: its words without the address.
  const link = /(!?)\[([^\]\n]*)(\](\([^)\n]*)?)?$/.exec(out);
  if (link && !out.endsWith("]]")) {
    const wiki = out.lastIndexOf("[[");
    const begin = wiki >= 0 && wiki >= link.index - 1 ? wiki : link.index;
    out = out.slice(0, begin) + (link[1] ? "" : (link[2] ?? "").replace(/^\[/, ""));
  }
  const all = before + out;
  const code = all.replace(/(`+)(?:(?!\1)[\s\S])*?\1(?!`)/g, "");
  const tick = /(`+)(?=[^`]*$)/.exec(code);
  if (tick) return /`$/.test(out) ? out.replace(/`+$/, "") : out + (tick[1] ?? "");
  out = out.replace(/(?:\*{1,3}|_{1,3}|~{1,2})$/, (mark) => (open(code.slice(0, -mark.length), mark) ? mark : ""));
  const rest = code.slice(0, code.length - (line.length - out.length));
  for (const mark of ["**", "__", "~~"]) if (open(rest, mark)) out = out.trimEnd() + mark;
  if (open(rest.replaceAll("**", ""), "*")) out = out.trimEnd() + "*";
  return out;
}

/** Whether `mark` stands an odd number of times in the text, other than as a bullet or between spaces. */
function open(text: string, mark: string): boolean {
  let count = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) {
    if (text[at - 1] === "\\") continue;
    const before = text[at - 1] ?? "\n";
    const after = text[at + mark.length] ?? "\n";
    if (/\s/.test(before) && /\s/.test(after)) continue;
    if (mark[0] === "_" && /\w/.test(before) && /\w/.test(after)) continue;
    count += 1;
  }
  return count % 2 === 1;
}
