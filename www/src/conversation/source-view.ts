// Where an answer has something from, as the conversation shows it.
//
// Decides: a source is a link that opens in a tab of its own, with its host beside it and what was taken from there. Promises: only
// addresses of the web become links, and each address is shown once in a message. Leaves to others: where sources stand.
import type { SourcePart } from "lodger";
import { h } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { visible } from "../shell/visible.ts";

/** One source of a message. */
export class SourceView {
  readonly element: HTMLElement;
  readonly url: string;

  constructor({ url, title, citedText }: SourcePart) {
    this.url = url;
    const { host = "", href } = URL.parse(url) ?? {};
    const link = href ? h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow", title: visible(href) }, visible(title)) : h("span", {}, visible(title));
    this.element = h("p", { class: "source", "data-testid": "source" }, iconNode("link"), link, h("span", { class: "source-host" }, host), citedText ? h("q", {}, visible(citedText)) : null);
  }

  /** Shown, unless one before it has the same address. */
  stands(before: readonly string[]): void {
    this.element.hidden = before.includes(this.url);
  }
}
