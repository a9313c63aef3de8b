// Three or more tool calls in a row, folded to one line: "done 3 tools · read_page × 3".
//
// Decides which cards a folded group hides: those that ended well, were cancelled, or wait for their turn. Promises:
// a card stays in view, in its place, if it failed, was denied, runs, or waits for the person. So does one that someone
// has opened or holds the focus in. No card is ever moved in the document, so that selection and focus stay. Leaves to
// others: the cards (`tool-card.ts`).
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { duration, showState, type State, type ToolCard } from "./tool-card.ts";

/** From this many on. */
export const LEAST = 3;
const QUIET = new Set<State>(["completed", "cancelled", "waiting"]);

/** The line above the cards of one group. */
export class ToolGroup {
  readonly element = h("button", { type: "button", class: "tool-group", "aria-expanded": "false", "data-testid": "tool-group" });
  readonly #mark = h("span", { class: "tool-mark" });
  readonly #word = h("span", { class: "tool-word" });
  readonly #count = h("span", { class: "tool-count" });
  readonly #names = h("span", { class: "tool-line" });
  readonly #time = h("span", { class: "tool-time" });
  #cards: ToolCard[] = [];
  #open = false;

  constructor() {
    const chevron = iconNode("chevron");
    this.element.append(this.#mark, this.#word, this.#count, this.#names, this.#time, chevron);
    this.element.addEventListener("click", () => this.#toggle());
  }

  /** The cards as they are now, in their order; the line goes above the first. */
  update(cards: ToolCard[]): void {
    for (const card of this.#cards) if (!cards.includes(card)) show(card);
    this.#cards = cards;
    const first = cards[0]?.element;
    if (first && first.previousSibling !== this.element) first.before(this.element);

    const failed = cards.filter((c) => c.state === "failed" || c.state === "denied").length;
    const works = cards.some((c) => c.state === "started" || c.state === "receiving" || c.state === "waiting" || c.state === "asking");
    const done = cards.filter((c) => c.state === "completed").length;
    const asks = cards.some((c) => c.state === "asking");
    const state: State = asks ? "asking" : works ? "started" : failed ? "failed" : cards.every((c) => c.state === "completed") ? "completed" : cards.some((c) => c.state === "unknown") ? "unknown" : "cancelled";
    if (this.element.dataset["state"] !== state) showState(this.element, this.#mark, this.#word, state);
    if (failed && !works) setText(this.#word, `${failed} failed`);
    setText(this.#count, works && done ? `${done} of ${cards.length} tools` : `${cards.length} tools`);
    setText(this.#names, names(cards));
    const times = cards.flatMap((c) => (c.time === undefined ? [] : [c.time]));
    setText(this.#time, times.length ? duration(times.reduce((a, b) => a + b, 0)) : "");
    this.#fold();
  }

  /** Gives the cards back. */
  remove(): void {
    this.#cards.forEach(show);
    this.element.remove();
  }

  #toggle(): void {
    this.#open = !this.#open;
    this.element.setAttribute("aria-expanded", String(this.#open));
    // Folded by hand is folded: a card that is open would stay.
    if (!this.#open) for (const card of this.#cards) if (QUIET.has(card.state)) card.element.open = false;
    this.#fold();
  }

  #fold(): void {
    for (const { element, state } of this.#cards) {
      element.classList.add("grouped");
      element.hidden = !this.#open && QUIET.has(state) && !element.open && !element.contains(document.activeElement);
    }
  }
}

function show({ element }: ToolCard): void {
  element.hidden = false;
  element.classList.remove("grouped");
}

/** "read_page × 3, search_pages", in the order of their first call. */
function names(cards: ToolCard[]): string {
  const counts = new Map<string, number>();
  for (const { tool } of cards) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  return [...counts].map(([tool, n]) => (n > 1 ? `${tool} × ${n}` : tool)).join(", ");
}
