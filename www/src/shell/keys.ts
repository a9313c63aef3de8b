// The keys of the page, and the dialog that names them.
//
// Decides: no single letter does anything outside a field (a person who dictates would trigger it). So every shortcut
// has a modifier or is a function key.
import { html, type TemplateResult } from "lit";
import { Component } from "./changing.ts";
import { icon } from "./icons.ts";

const KEYS: [string, string][] = [
  ["Enter", "Send the message; while an answer is written it waits for its end"],
  ["Ctrl+Enter", "Steer the answer that is written; save the page that is edited"],
  ["Shift+Enter", "New line"],
  ["Esc Esc", "Stop the answer, in the message field"],
  ["Ctrl+.", "Stop the answer, anywhere"],
  ["Alt+Shift+P", "To the question that waits, and there Esc: later"],
  ["Ctrl+Shift+O", "New session"],
  ["Alt+↑, Alt+↓", "Session above or below"],
  ["F2, Delete", "In the list of sessions: rename, remove"],
  ["F6, Shift+F6", "Next or previous part of the page"],
  ["Arrows, Home, End", "Move in the page tree"],
  ["Delete", "In the tree: page to the trash"],
  ["Ctrl+/", "This list"],
];

/** What the keys do. */
export interface KeyActions {
  stop(): void;
  /** To what waits for the person; nothing is answered by it. */
  question(): void;
  help(): void;
  /** Begins a session. */
  launch(): void;
  /** Shows the session above (-1) or below (1). */
  session(by: number): void;
}

/** Listens to the whole page. */
export function installKeys(actions: KeyActions): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "F6") {
      event.preventDefault();
      cycle(event.shiftKey ? -1 : 1);
    } else if (event.altKey && event.shiftKey && event.code === "KeyP") {
      // By its place: with Alt the letter may be another one.
      event.preventDefault();
      actions.question();
    } else if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.code === "KeyO") {
      event.preventDefault();
      actions.launch();
    } else if (event.altKey && !event.shiftKey && !event.ctrlKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      actions.session(event.key === "ArrowUp" ? -1 : 1);
    } else if ((event.ctrlKey || event.metaKey) && event.key === ".") {
      event.preventDefault();
      actions.stop();
    } else if ((event.ctrlKey || event.metaKey) && event.key === "/") {
      event.preventDefault();
      actions.help();
    }
  });
}

/** The regions in order; each gives the focus to its first own stop. */
function cycle(step: number): void {
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((r) => r.offsetParent !== null);
  const at = regions.findIndex((r) => r.contains(document.activeElement));
  const next = regions[(at + step + regions.length) % regions.length];
  const stop = next?.querySelector<HTMLElement>("textarea, [role=treeitem][tabindex='0'], button:not([disabled]), a[href], input");
  stop?.focus();
}

/** The list of keys. */
export class KeysDialog extends Component {
  /** Opens it. */
  show(): void {
    this.querySelector("dialog")?.showModal();
  }

  protected override render(): TemplateResult {
    return html`<dialog class="keys" aria-labelledby="keys-title" data-testid="keys">
      <header class="dialog-head"><h2 id="keys-title">Keys</h2><button type="button" class="ghost icon-only" aria-label="Close" @click=${() => this.querySelector("dialog")?.close()}>${icon("x")}</button></header>
      <dl class="dialog-body">${KEYS.map(([key, what]) => html`<div><dt>${key.split(/,? /).map((k) => html`<kbd>${k}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>
    </dialog>`;
  }
}
customElements.define("keys-dialog", KeysDialog);
