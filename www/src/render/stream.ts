// A growing Markdown text in the page, at the cost of its tail.
//
// Decides: what of a text is drawn again. Every block but the last is closed for good. Its nodes are never touched
// again, so selections stay and a long answer costs no more per frame than a short one. The open block is patched.
// Blocks lie in slices; a slice that is complete is skipped by layout and paint while it is out of sight.
// Promises: at the end the blocks are those of the whole text. One `draw` works at most until its deadline, and says
// whether something is left. Leaves to others: frames (`conversation/thread.ts`), colours (`highlight.ts`).
// Accepted: a link definition that comes later does not reach blocks that are closed.
import type { Token } from "marked";
import { lex, renderBlock, type Place } from "./markdown.ts";
import { presentable } from "./mend.ts";
import { colour } from "./highlight.ts";

/** The most that is handed to the lexer at once, in characters. */
const STEP = 2_048;
/** Blocks in a slice, until the next heading begins another. */
const SLICE = 16;

/** Skips a slice once its height is known from a real layout: a guessed one would make the page jump. */
const complete = new ResizeObserver((entries) => {
  for (const { target, borderBoxSize } of entries) {
    const height = borderBoxSize[0]?.blockSize ?? 0;
    // A hidden place tells its height later.
    if (!height || !(target instanceof HTMLElement)) continue;
    complete.unobserve(target);
    target.style.setProperty("contain-intrinsic-block-size", `auto ${height}px`);
    target.classList.add("complete");
  }
});

/** One text, one element. */
export class MarkdownStream {
  readonly element: HTMLElement;
  #source = "";
  #done = false;
  /** Characters whose blocks are closed. */
  #closed = 0;
  /** How far the last step looked, and what it showed of the open block. */
  #seen = 0;
  #open: ChildNode[] = [];
  /** Where the open block lies, and how many are closed there. */
  #slice: HTMLElement | null = null;
  #count = 0;
  #place: Place;
  #base: number;
  #settled = false;

  constructor(element: HTMLElement, headingBase: number) {
    this.element = element;
    this.#base = headingBase;
    this.#place = { base: headingBase, last: headingBase };
  }

  /** The whole text as it is now. `done`: nothing more will come. */
  set(text: string, done: boolean): void {
    const source = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (source === this.#source && done === this.#done) return;
    // A retried call may say something else from some point on; what is closed before that point stays true.
    if (this.#done || !source.startsWith(this.#source.slice(0, this.#closed))) this.#reset();
    if (source.length < this.#seen) this.#seen = this.#closed;
    this.#source = source;
    this.#done = done;
    this.#settled = false;
  }

  /** Draws until `deadline` (of `performance.now()`); true when everything is drawn. */
  draw(deadline: number): boolean {
    while (!this.#settled) {
      this.#step(deadline);
      if (performance.now() >= deadline) break;
    }
    return this.#settled;
  }

  /** Whether a selection lies in the block that would be patched. */
  get selected(): boolean {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed) return false;
    return this.#open.some((node) => selection.containsNode(node, true));
  }

  #reset(): void {
    this.element.replaceChildren();
    this.#closed = this.#seen = 0;
    this.#open = [];
    this.#slice = null;
    this.#place = { base: this.#base, last: this.#base };
  }

  #step(deadline: number): void {
    const size = this.#source.length;
    // An open block longer than a step (a long code block) needs twice its size, or it would never close.
    const reach = Math.min(size, Math.max(this.#seen, this.#closed) + STEP + (this.#seen - this.#closed));
    const whole = reach === size;
    const tail = this.#source.slice(this.#closed, reach);
    const last = whole && this.#done;
    const tokens = lex(last ? tail : presentable(tail));
    let open = tokens.length - 1;
    while (open > 0 && tokens[open]?.type === "space") open -= 1;
    if (last) open = tokens.length;
    let at = this.#closed;
    for (const token of tokens.slice(0, open)) {
      this.#close(token);
      at += token.raw.length;
      if (at < reach && performance.now() >= deadline) {
        // The rest is cut into blocks again: that costs less than a frame that comes late.
        this.#closed = this.#seen = at;
        return;
      }
    }
    this.#closed = at;
    const token = tokens[open];
    if (token) this.#patch(renderBlock(token, { ...this.#place }));
    else if (!last) this.#patch(document.createDocumentFragment());
    this.#seen = reach;
    this.#settled = whole;
    if (last) this.#closed = size;
  }

  #close(token: Token): void {
    if (token.type === "space") return;
    this.#patch(renderBlock(token, this.#place));
    this.#count += 1;
    const nodes = this.#open;
    this.#open = [];
    for (const node of nodes) if (node instanceof HTMLElement) colour(node);
  }

  /** Begins a new slice where one is due; rather before a heading than in the middle of what belongs together. */
  #turn(heading: boolean): void {
    if (this.#slice && this.#count < (heading ? SLICE : 2 * SLICE)) return;
    if (this.#slice) complete.observe(this.#slice);
    this.#slice = document.createElement("div");
    this.#slice.className = "slice";
    this.#count = 0;
    this.element.append(this.#slice);
  }

  /** Makes the open block's nodes equal to `next`, changing as little as it can. */
  #patch(next: DocumentFragment): void {
    const wanted = [...next.childNodes].filter((n) => n.nodeType !== Node.TEXT_NODE || n.textContent?.trim());
    const kept: ChildNode[] = [];
    if (!this.#open.length && wanted.length) this.#turn(/^H\d$/.test(wanted[0]?.nodeName ?? ""));
    wanted.forEach((node, i) => {
      const old = this.#open[i];
      if (old && morph(old, node)) kept.push(old);
      else {
        if (old) old.replaceWith(node);
        else this.#slice?.append(node);
        kept.push(node);
      }
    });
    for (const old of this.#open.slice(wanted.length)) old.remove();
    this.#open = kept;
  }
}

/** Turns `old` into `next` in place; false when they are different things. */
function morph(old: ChildNode, next: ChildNode): boolean {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return false;
  if (old instanceof Text && next instanceof Text) {
    const [was, is] = [old.data, next.data];
    if (is === was) return true;
    if (is.startsWith(was)) old.appendData(is.slice(was.length));
    else old.data = is;
    return true;
  }
  if (!(old instanceof Element) || !(next instanceof Element)) return old.isEqualNode(next);
  if (old.attributes.length !== next.attributes.length) return false;
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) return false;
  const wanted = [...next.childNodes];
  const have = [...old.childNodes];
  wanted.forEach((node, i) => {
    const mine = have[i];
    if (!mine) old.append(node);
    else if (!morph(mine, node)) mine.replaceWith(node);
  });
  for (const extra of have.slice(wanted.length)) extra.remove();
  return true;
}
