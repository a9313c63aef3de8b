// Following the end of the conversation, unless the reader is somewhere else.
//
// Decides: whether new text moves the view. Promises: any upward move by wheel, touch, key or scrollbar stops it at
// once. Only being at the bottom again (or `toEnd`) takes it up. Its own writes are never taken for the reader's. A
// selection holds it. No smooth scrolling: it would race the stream.

/** Movements up to this many pixels are rounding, not reading. */
const SLACK = 3;

/** The follower of one scrolling element. */
export class Follow {
  #pinned = true;
  #last = 0;

  constructor(
    readonly box: HTMLElement,
    readonly onChange: (pinned: boolean) => void,
  ) {
    box.addEventListener("wheel", (e) => e.deltaY < 0 && this.#scrollable && this.#set(false), { passive: true });
    let touch = 0;
    box.addEventListener("touchstart", (e) => (touch = e.touches[0]?.clientY ?? 0), { passive: true });
    box.addEventListener("touchmove", (e) => (e.touches[0]?.clientY ?? 0) > touch + SLACK && this.#set(false), { passive: true });
    box.addEventListener("keydown", (e) => ["ArrowUp", "PageUp", "Home"].includes(e.key) && this.#scrollable && this.#set(false));
    box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.keep()).observe(box);
  }

  /** Whether the view follows. */
  get pinned(): boolean {
    return this.#pinned;
  }

  /** After the content grew: goes to the end if the view follows. */
  keep(): void {
    if (!this.#pinned || this.#selecting) return;
    this.box.scrollTop = this.box.scrollHeight;
    this.#last = this.box.scrollTop;
  }

  /** Goes to the end and follows again. */
  toEnd(): void {
    this.#set(true);
    this.box.scrollTop = this.box.scrollHeight;
    this.#last = this.box.scrollTop;
  }

  /** Puts the view there and leaves it there: unless that is the end, it follows no more. */
  leaveAt(top: number): void {
    this.box.scrollTop = top;
    this.#last = this.box.scrollTop;
    this.#set(this.box.scrollHeight - this.box.clientHeight - this.#last <= SLACK);
  }

  get #scrollable(): boolean {
    return this.box.scrollHeight > this.box.clientHeight + SLACK;
  }

  get #selecting(): boolean {
    const selection = document.getSelection();
    return Boolean(selection && !selection.isCollapsed && this.box.contains(selection.anchorNode));
  }

  #scrolled(): void {
    const top = this.box.scrollTop;
    const atEnd = this.box.scrollHeight - this.box.clientHeight - top <= SLACK;
    // Neither is true of an own write (`#last` is what was written), nor of a text that became shorter.
    if (atEnd && top > this.#last) this.#set(true);
    else if (!atEnd && top < this.#last - SLACK) this.#set(false);
    this.#last = top;
  }

  #set(pinned: boolean): void {
    if (this.#pinned === pinned) return;
    this.#pinned = pinned;
    this.onChange(pinned);
  }
}
