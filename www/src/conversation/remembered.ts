// What the model was told from memory beside a message, folded under it.
//
// Promises: it is shown as it was told then, also where it was changed or forgotten since.
import type { MemoryTold } from "lodger";
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";

/** The disclosure of one message. */
export class Remembered {
  readonly #word = h("span", {});
  readonly #list = h("ul", {});
  readonly element = h("details", { class: "remembered", "data-testid": "remembered", hidden: true },
    h("summary", {}, iconNode("brain"), this.#word, iconNode("chevron")),
    h("p", { class: "about" }, "The agent was told this beside your message:"), this.#list,
    h("button", { type: "button", class: "link", "data-action": "memories" }, "All memories"));
  #told: readonly MemoryTold[] = [];

  /** Takes over what was told. */
  update(told: readonly MemoryTold[] = []): void {
    this.element.hidden = told.length === 0;
    if (told === this.#told) return;
    this.#told = told;
    setText(this.#word, `Remembered (${told.length})`);
    this.#list.replaceChildren(...told.map(({ text }) => h("li", {}, text)));
  }
}
