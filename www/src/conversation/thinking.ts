// What a model thought, folded. It grows while nobody looks and is drawn only when it is opened.
//
// Promises: opened by hand it stays open. It never folds or unfolds itself, so that it never moves what is being read.
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { MarkdownStream } from "../render/stream.ts";

/** One block of thinking. */
export class Thinking {
  readonly element = h("details", { class: "thinking" });
  readonly #label = h("span", {}, "Thinking…");
  readonly #stream = new MarkdownStream(h("div", { class: "prose" }), 3);
  readonly #from = performance.now();
  #live = false;
  #text = "";
  #done = false;

  constructor() {
    this.element.append(h("summary", {}, iconNode("brain"), this.#label), this.#stream.element);
    this.element.addEventListener("toggle", () => this.draw(performance.now() + 30));
  }

  /** The text as it is now; `open` while it grows. */
  update(text: string, open: boolean): void {
    if (open) this.#live = true;
    const ended = !open && !this.#done;
    this.#text = text;
    this.#done = !open;
    const seconds = Math.max(1, Math.round((performance.now() - this.#from) / 1000));
    if (open) setText(this.#label, `Thinking… ${seconds} s`);
    else if (ended) setText(this.#label, this.#live ? `Thought for ${seconds} s` : "Thought");
  }

  /** Draws what is visible; true when nothing is left. */
  draw(deadline: number): boolean {
    if (!this.element.open) return true;
    this.#stream.set(this.#text, this.#done);
    return this.#stream.draw(deadline);
  }
}
