// The files that go with the next message: chosen, pasted or dropped, shown above the composer until they are sent.
//
// Decides: how a file looks before it is sent. Promises: each can be taken away by mouse and keyboard, and the focus stays
// where it makes sense. Object URLs live as long as their chip. Leaves to others: whether a file can be sent (the
// package says so when it is), and sending. They live in this page only: a saved draft is text.
import { h } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";

/** A file's size in words. */
export function sizeOf(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Images that a browser shows and that run nothing: an SVG could. */
export function isPicture(type: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(type);
}

interface Chip {
  file: File;
  element: HTMLLIElement;
  url: string | null;
}

/** The list above the composer, with the button that adds to it. */
export class Attachments {
  readonly element = h("ul", { class: "attachments", "aria-label": "Attached files", "data-testid": "attachments", hidden: true });
  readonly button = h("button", { type: "button", class: "ghost icon-only", "aria-label": "Attach files", title: "Attach files: images, PDF, text", "data-testid": "attach" }, iconNode("attach"));
  /** The browser's own dialog; only the button opens it. */
  readonly picker = h("input", { type: "file", multiple: true, hidden: true, tabindex: -1, "aria-hidden": "true", "data-testid": "attach-input" });
  #chips: Chip[] = [];

  /**
   * @param say tells those who do not see it
   * @param changed there are more files, or fewer
   * @param leave where the focus goes when no file is left
   */
  constructor(
    private readonly say: (text: string) => void,
    private readonly changed: () => void,
    private readonly leave: () => void,
  ) {
    this.button.addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => {
      this.add([...(this.picker.files ?? [])]);
      // The same file may be chosen again after it was taken away.
      this.picker.value = "";
      this.leave();
    });
  }

  /** What will be sent. */
  get files(): File[] {
    return this.#chips.map(({ file }) => file);
  }

  add(files: File[]): void {
    if (files.length === 0) return;
    for (const file of files) {
      const url = isPicture(file.type) ? URL.createObjectURL(file) : null;
      const name = file.name || "file";
      const remove = h("button", { type: "button", class: "ghost icon-only small", "aria-label": `Remove ${name}`, title: "Remove" }, iconNode("x"));
      const element = h(
        "li",
        { class: "attachment", "data-testid": "attachment" },
        url ? h("img", { src: url, alt: "" }) : iconNode("file"),
        h("span", { class: "attachment-name", title: name }, name),
        h("span", { class: "attachment-size" }, sizeOf(file.size)),
        remove,
      );
      remove.addEventListener("click", () => this.#remove(element));
      this.#chips.push({ file, element, url });
      this.element.append(element);
    }
    this.say(files.length === 1 ? `${files[0]?.name || "A file"} attached` : `${files.length} files attached`);
    this.#update();
  }

  /** Takes all of them away, and gives them. */
  take(): File[] {
    const { files } = this;
    for (const { element, url } of this.#chips.splice(0)) {
      element.remove();
      if (url) URL.revokeObjectURL(url);
    }
    this.#update();
    return files;
  }

  #remove(element: HTMLLIElement): void {
    const at = this.#chips.findIndex((chip) => chip.element === element);
    const [chip] = this.#chips.splice(at, 1);
    if (!chip) return;
    element.remove();
    if (chip.url) URL.revokeObjectURL(chip.url);
    const next = this.#chips[Math.min(at, this.#chips.length - 1)];
    if (next) next.element.querySelector("button")?.focus();
    else this.leave();
    this.say(`${chip.file.name || "The file"} removed`);
    this.#update();
  }

  #update(): void {
    this.element.hidden = this.#chips.length === 0;
    this.changed();
  }
}
