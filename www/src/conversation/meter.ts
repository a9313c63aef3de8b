// How full the conversation is: a ring and a word, and behind them what that means and what can be done about it.
//
// Decides in which words a window is told to somebody who never heard of one. Promises: where the window is not known,
// no share is told. Leaves to others: counting (the package), and what is cut (`compaction`).
import { html, nothing, svg, type TemplateResult } from "lit";
import type { Context } from "lodger";
import { tokens } from "../models.ts";
import { icon } from "../shell/icons.ts";

/** From this share on it is nearly full: the package sums up at 0.8 of what is left beside the answer. */
const NEARLY = 75;

/** `not`: why it cannot be made shorter now; empty: it can. */
export function meter({ used, window, compactions }: Context, not: string): TemplateResult {
  const share = window ? Math.min(100, (100 * used) / window) : undefined;
  const percent = share === undefined ? "" : share > 0 && share < 1 ? "under 1" : String(Math.round(share));
  const words = percent ? `Conversation ${percent} % full` : `Conversation: about ${tokens(used)} tokens`;
  return html`<details class="meter" data-testid="context-meter" data-nearly=${share !== undefined && share >= NEARLY}>
    <summary title="How much of the conversation the model can still take">${share === undefined ? nothing : ring(share)}<span>${words}</span>${icon("chevron")}</summary>
    <p>${window ? `The model can read about ${tokens(window)} tokens at once, which is about ${pages(window).toLocaleString()} pages of text. This conversation has about ${tokens(used)} of them.` : "How much the model can read at once is not known."}</p>
    <p>When it is full, what was said first is summed up for the model. You still see all of it.${compactions ? ` So far that happened ${compactions === 1 ? "once" : `${compactions} times`}.` : ""}</p>
    <button type="button" class="small" data-action="shorten" data-testid="shorten" aria-disabled=${not !== ""} title=${not || nothing}>${icon("shorten")}Make it shorter now</button>
  </details>`;
}

/** A page of a book has about 500 words, and those about 650 tokens. */
function pages(window: number): number {
  const pages = window / 650;
  return pages < 10 ? Math.max(1, Math.round(pages)) : Math.round(pages / 10) * 10;
}

/** The circle is 100 units long. */
function ring(share: number): TemplateResult {
  return html`<svg class="ring" viewBox="0 0 36 36" aria-hidden="true" focusable="false">${svg`<circle cx="18" cy="18" r="15.9155"></circle><circle class="ring-used" cx="18" cy="18" r="15.9155" stroke-dasharray=${`${share} ${100 - share}`}></circle>`}</svg>`;
}
