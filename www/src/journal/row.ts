// One entry of a journal as a line: number, what happened, how long it took, what it used up.
//
// Decides: the order of the columns and how much a bar says. Leaves to others: what an entry means (`timeline.ts`).
import { dollars, tokens } from "../models.ts";
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import type { Row } from "../shell/window-list.ts";
import type { Line } from "./timeline.ts";

/** A pause that is worth telling, in milliseconds. */
const PAUSE = 60_000;
/** What fills the bar, in milliseconds: the root of the share, so that short ones are seen too. */
const WHOLE = 60_000;

/** The row of one entry. */
export class EntryRow implements Row<Line> {
  readonly element = h("li", { class: "entry-row" });
  readonly #seq = h("span", { class: "entry-seq" });
  readonly #mark = h("span", { class: "entry-mark", "aria-hidden": "true" });
  readonly #word = h("span", { class: "entry-word" });
  readonly #text = h("span", { class: "entry-text" });
  readonly #gap = h("span", { class: "entry-gap" });
  readonly #fill = h("span", { class: "entry-fill" });
  readonly #bar = h("span", { class: "entry-bar", "aria-hidden": "true" }, this.#fill);
  readonly #ms = h("span", { class: "entry-ms" });
  readonly #used = h("span", { class: "entry-used" });
  readonly #open = h("button", { type: "button", class: "entry-open", "data-stop": true, "data-testid": "journal-entry" }, this.#seq, this.#mark, this.#word, this.#text, this.#used, this.#bar, this.#ms, this.#gap);
  #shown: Line | null = null;

  /** @param chosen what is chosen: an entry, and the run whose message the chat shows. */
  constructor(private readonly chosen: () => { seq: number; run: string | null }) {
    this.element.append(this.#open);
  }

  update(line: Line): void {
    const { seq, run } = this.chosen();
    this.#open.setAttribute("aria-pressed", String(line.seq === seq));
    this.element.classList.toggle("of-run", run !== null && line.run === run);
    if (line === this.#shown) return;
    this.#shown = line;
    const { element } = this;
    element.dataset["seq"] = String(line.seq);
    element.dataset["kind"] = line.kind;
    element.classList.toggle("bad", line.bad);
    this.#mark.replaceChildren(iconNode(line.icon));
    setText(this.#seq, String(line.seq));
    setText(this.#word, line.word);
    setText(this.#text, line.text);
    setText(this.#used, used(line));
    this.#bar.classList.toggle("none", line.ms === null);
    this.#fill.style.setProperty("width", `${Math.min(100, Math.sqrt((line.ms ?? 0) / WHOLE) * 100)}%`);
    setText(this.#ms, line.ms === null ? "" : length(line.ms));
    setText(this.#gap, line.gap < 1 ? "" : line.gap < PAUSE ? `+${length(line.gap)}` : `after ${length(line.gap)}`);
  }
}

/** "12 ms", "1.4 s", "3 min". */
export function length(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 6_000_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

function used({ usage }: Line): string {
  if (!usage) return "";
  const input = usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  return [`${tokens(input)} → ${tokens(usage.outputTokens)}`, usage.cost ? dollars(usage.cost) : ""].filter(Boolean).join(" · ");
}
