// Where the conversation was made shorter for the model: a line with the reason, and a summary folded behind it.
//
// Decides how the reasons are told. Promises: opened by hand it stays open, and it is drawn only then. Leaves to
// others: when a conversation becomes shorter (the package).
import type { Compaction } from "lodger";
import type { Shortening } from "../agent.ts";
import { h } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { MarkdownStream } from "../render/stream.ts";

/** Why, in a few words. */
const WHY: Record<Compaction["reason"], string> = {
  window: "The conversation was nearly full",
  context_length: "The conversation had become too long for the model",
  asked: "Made shorter, as you asked",
};

/** A place where the conversation was made shorter. */
export class ShortenedMark {
  readonly element: HTMLElement;
  readonly #stream = new MarkdownStream(h("div", { class: "prose" }), 3);

  constructor(readonly compaction: Compaction) {
    const { kind, reason, summary = "", at } = compaction;
    const time = new Date(at);
    if (kind === "results") {
      const line = h("span", {}, `${WHY[reason]}: from here on the model reads no more than the names and sizes of older results of tools.`);
      this.element = h("p", { class: "shortened", "data-testid": "shortened", "data-reason": reason, "data-kind": kind, title: time.toLocaleString() }, iconNode("shorten"), line);
      return;
    }
    const line = h("span", {}, `${WHY[reason]}: from here on the model reads a summary of what was said before.`);
    this.element = h("details", { class: "shortened", "data-testid": "shortened", "data-reason": reason, "data-kind": kind },
      h("summary", { title: time.toLocaleString() }, iconNode("shorten"), line, h("span", { class: "shortened-more" }, "Summary", iconNode("chevron"))), this.#stream.element);
    this.element.addEventListener("toggle", () => {
      this.#stream.set(summary, true);
      this.#draw();
    });
  }

  /** It does not grow, so that the thread has nothing to draw again: what is left is drawn in the next frames. */
  #draw(): void {
    if (!this.#stream.draw(performance.now() + 8)) requestAnimationFrame(() => this.#draw());
  }
}

/** What happens while a conversation becomes shorter, in words. */
export function shortens({ by, reason }: Shortening): string {
  if (by === "results") return "Older results of tools are left out to make room";
  return reason === "asked" ? "Making the conversation shorter" : "Making room: summing up what was said first";
}
