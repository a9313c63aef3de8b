// A long list of rows of one height, of which only those in view are in the document.
//
// Decides which rows are there (those in view and some around them), and what the keys do: one stop for Tab, arrows,
// Home, End and the page keys inside. Promises: ten thousand rows cost as much as thirty. The row that holds the focus
// stays where it is, also out of view. The rows stand in the document in their order. Leaves to others: what a row
// shows.
import { h } from "./dom.ts";

/** A row that is in the document. */
export interface Row<T> {
  /** A list item; its first `[data-stop]` takes the focus. */
  readonly element: HTMLLIElement;
  update(item: T): void;
  /** It has left the document for good. */
  gone?(): void;
}

export interface WindowListOptions<T, R extends Row<T>> {
  label: string;
  /** The height of a row, in pixels. */
  height: () => number;
  key: (item: T) => string;
  make: (item: T) => R;
}

/** Rows around those in view. */
const AROUND = 6;

/** The list. */
export class WindowList<T, R extends Row<T> = Row<T>> {
  readonly #list: HTMLUListElement;
  readonly element: HTMLElement;
  readonly #rows = new Map<string, R>();
  #items: readonly T[] = [];
  #places = new Map<string, number>();
  #frame = 0;
  /** The row that Tab comes to. */
  #stop = "";

  constructor(private readonly options: WindowListOptions<T, R>) {
    this.#list = h("ul", { class: "window-list", "aria-label": options.label });
    this.element = h("div", { class: "window-box" }, this.#list);
    this.element.addEventListener("scroll", () => this.#schedule(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focusin", (event) => {
      const key = (event.target as Element).closest<HTMLElement>("[data-key]")?.dataset["key"];
      if (key !== undefined) this.#stopAt(key);
    });
    // A row that was kept for its focus may go.
    this.element.addEventListener("focusout", () => this.#schedule());
    new ResizeObserver(() => this.#schedule()).observe(this.element);
  }

  /** Shows these. */
  set(items: readonly T[]): void {
    if (items === this.#items) return;
    this.#items = items;
    this.#places = new Map(items.map((item, i) => [this.options.key(item), i]));
    this.#list.style.setProperty("height", `${items.length * this.options.height()}px`);
    this.#draw(true);
  }

  /** Draws what is in view again: something else has changed that the rows show. */
  refresh(): void {
    this.#draw(true);
  }

  /** The row of this key, if it is in the document. */
  row(key: string): R | undefined {
    return this.#rows.get(key);
  }

  /** Brings a row into view, and leads the focus there where that is wanted. */
  show(key: string, focus = false): void {
    const place = this.#places.get(key);
    if (place === undefined) return;
    const height = this.options.height();
    const { scrollTop, clientHeight } = this.element;
    const top = place * height;
    if (top < scrollTop || top + height > scrollTop + clientHeight) this.element.scrollTop = focus ? (top < scrollTop ? top : top + height - clientHeight) : top - clientHeight / 3;
    this.#draw(false);
    if (focus) this.#rows.get(key)?.element.querySelector<HTMLElement>("[data-stop]")?.focus({ preventScroll: true });
  }

  /** Whether the reader is at its end. */
  get atEnd(): boolean {
    const { scrollTop, clientHeight, scrollHeight } = this.element;
    return scrollHeight - clientHeight - scrollTop < this.options.height();
  }

  toEnd(): void {
    this.element.scrollTop = this.element.scrollHeight;
    this.#draw(false);
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw(false);
    });
  }

  #draw(update: boolean): void {
    const { key, make, height } = this.options;
    const high = height();
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / high) - AROUND);
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / high) + AROUND);
    const wanted = new Map<string, number>();
    // Before it has a height nothing is in view.
    if (clientHeight > 0) for (let i = first; i < last; i += 1) wanted.set(key(this.#items[i] as T), i);
    const held = this.#focused;
    const heldAt = held === null ? undefined : this.#places.get(held);
    if (held !== null && heldAt !== undefined) wanted.set(held, heldAt);
    if (!this.#places.has(this.#stop)) this.#stop = this.#items.length ? key(this.#items[0] as T) : "";

    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.element.remove();
      row.gone?.();
      this.#rows.delete(id);
    }
    const order = [...wanted].sort((a, b) => a[1] - b[1]);
    let before: Element | null = null;
    for (const [id, i] of order) {
      const item = this.#items[i] as T;
      let row = this.#rows.get(id);
      const fresh = !row;
      row ??= make(item);
      const { element } = row;
      if (fresh) {
        this.#rows.set(id, row);
        element.dataset["key"] = id;
      }
      if (fresh || update) {
        row.update(item);
        this.#tab(element, id === this.#stop);
      }
      element.setAttribute("aria-posinset", String(i + 1));
      element.setAttribute("aria-setsize", String(this.#items.length));
      element.style.setProperty("transform", `translateY(${i * high}px)`);
      const place: Element | null = before ? before.nextElementSibling : this.#list.firstElementChild;
      if (place !== element) this.#put(element, place);
      before = element;
    }
  }

  /** A row that is moved would lose the focus. */
  #put(element: HTMLElement, before: Element | null): void {
    const active = document.activeElement;
    const holds = active instanceof HTMLElement && element.contains(active) ? active : null;
    this.#list.insertBefore(element, before);
    holds?.focus({ preventScroll: true });
  }

  get #focused(): string | null {
    const active = document.activeElement;
    return active && this.#list.contains(active) ? (active.closest<HTMLElement>("[data-key]")?.dataset["key"] ?? null) : null;
  }

  #stopAt(key: string): void {
    if (key === this.#stop) return;
    const before = this.#rows.get(this.#stop);
    if (before) this.#tab(before.element, false);
    this.#stop = key;
    const row = this.#rows.get(key);
    if (row) this.#tab(row.element, true);
  }

  #tab(element: HTMLElement, stop: boolean): void {
    for (const one of element.querySelectorAll<HTMLElement>("button, input")) one.tabIndex = stop ? 0 : -1;
  }

  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.altKey || event.metaKey || target.matches("input")) return;
    const at = this.#places.get(this.#focused ?? "");
    if (at === undefined) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.options.height()) - 1);
    const step: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -at, End: this.#items.length };
    const by = step[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = this.#items[Math.max(0, Math.min(this.#items.length - 1, at + by))];
    if (next !== undefined) this.show(this.options.key(next), true);
  }
}
