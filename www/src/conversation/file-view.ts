// A file that was sent with a message, or that a tool gave, as the conversation shows it.
//
// Decides: a picture is shown and opens in a tab of its own. Anything else can be saved, and is never opened here,
// because it might be a page with scripts. What is lost is a name and says so. Promises: bytes are read when they are shown
// or asked for. Its object URL ends with it.
import type { FilePart } from "lodger";
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { isPicture, sizeOf } from "./attachments.ts";

const GONE = "not there any more";

/** One file of a message. */
export class FileView {
  readonly element: HTMLElement;
  readonly id: string;
  readonly gone: boolean;
  readonly #note = h("span", { class: "file-note" });
  #url: string | null = null;
  #over = false;

  constructor(
    private readonly part: FilePart,
    private readonly load: (id: string) => Promise<Blob>,
  ) {
    this.id = part.fileId;
    this.gone = part.gone === true;
    const name = part.filename ?? part.mediaType;
    setText(this.#note, part.gone ? GONE : sizeOf(part.size));
    if (part.gone) {
      this.element = h("div", { class: "sent-file" }, h("p", { class: "sent-document", "data-testid": "gone-file" }, iconNode("file"), h("span", { class: "attachment-name" }, name), this.#note));
    } else if (isPicture(part.mediaType)) {
      const link = h("a", { class: "sent-picture", target: "_blank", rel: "noopener", title: name, "data-testid": "sent-picture" }, h("img", { alt: `Attached image: ${name}` }), h("span", { class: "visually-hidden" }, " (opens in a new tab)"));
      this.element = h("div", { class: "sent-file" }, link);
      void this.#show(link);
    } else {
      const save = h("button", { type: "button", class: "sent-document", "data-testid": "sent-file", "aria-label": `Save ${name}`, title: `Save ${name}` }, iconNode("file"), h("span", { class: "attachment-name" }, name), this.#note);
      save.addEventListener("click", () => void this.#save(name));
      this.element = h("div", { class: "sent-file" }, save);
    }
  }

  /** Lets its bytes go. */
  end(): void {
    this.#over = true;
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = null;
  }

  async #show(link: HTMLAnchorElement): Promise<void> {
    try {
      const blob = await this.load(this.id);
      if (this.#over) return;
      this.#url = URL.createObjectURL(blob);
      link.href = this.#url;
      link.querySelector("img")?.setAttribute("src", this.#url);
    } catch {
      link.replaceWith(h("p", { class: "file-note" }, `${this.part.filename ?? "An image"} is not there any more.`));
    }
  }

  async #save(name: string): Promise<void> {
    try {
      const url = URL.createObjectURL(await this.load(this.id));
      h("a", { href: url, download: name }).click();
      // The browser has taken it up when the click is over; some look a moment later.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch {
      setText(this.#note, GONE);
    }
  }
}
