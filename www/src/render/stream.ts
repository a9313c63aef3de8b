// A growing Markdown text in the page, at the cost of its tail.
//
// Decides: what of a text is drawn again. Every block but the last is closed for good: its nodes are never touched
// again, so selections stay and a long answer costs no more per frame than a short one. The open block is patched.
// Promises: at the end the blocks are those of the whole text; one `draw` works at most until its deadline, and says
// whether something is left. Leaves to others: frames (`conversation/thread.ts`), colours (`highlight.ts`).
// Accepted: a link definition that comes later does not reach blocks that are closed.
import type { Token } from "marked";
import { lex, renderBlock, type Place } from "./markdown.ts";
import { presentable } from "./mend.ts";
import { colour } from "./highlight.ts";

/** The most that is handed to the lexer at once, in characters: what bounds one step. */
const STEP = 2_048;

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
      this.#step();
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
    this.#place = { base: this.#base, last: this.#base };
  }

  #step(): void {
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
    const nodes = this.#open;
    this.#open = [];
    for (const node of nodes) if (node instanceof HTMLElement) colour(node);
  }

  /** Makes the open block's nodes equal to `next`, changing as little as it can. */
  #patch(next: DocumentFragment): void {
    const wanted = [...next.childNodes].filter((n) => n.nodeType !== Node.TEXT_NODE || n.textContent?.trim());
    const kept: ChildNode[] = [];
    wanted.forEach((node, i) => {
      const old = this.#open[i];
      if (old && morph(old, node)) kept.push(old);
      else {
        if (old) old.replaceWith(node);
        else this.element.append(node);
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
