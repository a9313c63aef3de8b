// What one entry of a journal holds: time, what it used up, hash, and the whole of it as it is told.
//
// Promises: text nodes only, and what a browser would hide made visible. A huge entry is cut, and can be copied whole.
import { html, nothing, type TemplateResult } from "lit";
import { spent } from "../models.ts";
import { icon } from "../shell/icons.ts";
import { exactJson } from "../shell/visible.ts";
import { length } from "./row.ts";
import type { Line } from "./timeline.ts";

/** JSON longer than this is not laid out. */
const MOST = 50_000;

/** The entry that was chosen. */
export function entryDetails(line: Line, { close, fork, chat, copy }: { close: () => void; fork: (() => void) | null; chat: (() => void) | null; copy: (text: string) => void }): TemplateResult {
  const { seq, at, word, ms, usage, run, entry } = line;
  const json = exactJson(entry);
  const facts: [string, string | TemplateResult | null][] = [
    ["Time", new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" })],
    ["Kind", html`<code>${entry.type}</code>`],
    ["Took", ms === null ? null : length(ms)],
    ["Used", usage ? spent(usage) : null],
    ["Run", run ? html`<code>${run}</code>` : null],
    ["Hash", html`<code class="hash" data-testid="entry-hash">${entry.hash}</code>`],
  ];
  return html`<section class="entry-details" aria-label=${`Entry ${seq}`} data-testid="entry-details" data-seq=${seq}>
    <header><h3>${seq} · ${word}</h3>
      <div class="row">
        ${chat ? html`<button type="button" class="small" @click=${chat} data-testid="entry-chat">${icon("chat")}Show in the chat</button>` : nothing}
        ${fork ? html`<button type="button" class="small" @click=${fork} data-testid="entry-fork">${icon("fork")}Fork from here</button>` : nothing}
        <button type="button" class="small" @click=${() => copy(json)}>${icon("copy")}Copy</button>
        <button type="button" class="ghost small icon-only" @click=${close} aria-label="Close the entry">${icon("x")}</button>
      </div></header>
    <dl>${facts.map(([term, value]) => (value === null ? nothing : html`<div><dt>${term}</dt><dd>${value}</dd></div>`))}</dl>
    <pre tabindex="0" role="group" aria-label="The whole entry" data-testid="entry-raw">${json.length > MOST ? `${json.slice(0, MOST)}\n…` : json}</pre>
  </section>`;
}
