// A difference as it is drawn: signs, words for those who hear it, and colour that repeats both.
import { html, nothing, type TemplateResult } from "lit";
import { visible } from "../shell/visible.ts";
import { hunks, type Line } from "./diff.ts";

/** How many lines came and went; empty where too much has. */
export function counted(lines: Line[] | null): string {
  if (!lines) return "";
  const count = (kind: string) => lines.filter((line) => line.kind === kind).length;
  const parts = [["added", "+"], ["removed", "−"]].flatMap(([kind = "", sign = ""]) => (count(kind) ? [`${sign}${count(kind)}`] : []));
  return parts.length ? `${parts.join(" ")} ${count("added") + count("removed") === 1 ? "line" : "lines"}` : "";
}

/** What changed, in a box of its own; null: too much did. `label` names it. */
export function diffView(lines: Line[] | null, label: string): TemplateResult {
  if (!lines) return html`<p class="muted">Too much changed to show line by line.</p>`;
  const shown = hunks(lines);
  if (shown.length === 0) return html`<p class="muted">The text is the same.</p>`;
  return html`<div class="diff" role="group" tabindex="0" aria-label=${label}>
    ${shown.map((line) => (line ? html`<div class=${line.kind}><span aria-hidden="true">${line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " "}</span>${line.kind === "same" ? nothing : html`<span class="visually-hidden">${line.kind}: </span>`}${visible(line.text) || " "}</div>` : html`<div class="gap" aria-hidden="true">⋯</div>`))}
  </div>`;
}
