// The part of the settings that limits what an answer and the whole conversation may use up.
//
// Decides which limits are offered, and in which units. Leaves to others: counting and stopping (the package).
import { html, type TemplateResult } from "lit";
import type { Budget } from "lodger";
import type { Choice } from "../settings.ts";
import { value } from "./fields.ts";
import { icon } from "./icons.ts";

type Scope = keyof Choice["budgets"];
const SCOPES: readonly [Scope, string][] = [["run", "Per answer"], ["session", "In all"]];
/** The limits: member, label, how much of it is one of the field's units, the field's step. */
const LIMITS: readonly [keyof Budget, string, number, number | "any"][] = [
  ["turns", "Model calls", 1, 1],
  ["inputTokens", "Tokens in", 1, 1],
  ["outputTokens", "Tokens out", 1, 1],
  ["cost", "Dollars", 1, "any"],
  ["wallMs", "Minutes", 60_000, "any"],
];

/** A row for each limit. Folded, if there was none. */
export function budgetForm(budgets: Choice["budgets"], before: Choice["budgets"], set: (budgets: Choice["budgets"]) => void): TemplateResult {
  const limited = SCOPES.some(([scope]) => Object.keys(before[scope]).length > 0);
  const enter = (scope: Scope, name: keyof Budget, text: string, unit: number): void => {
    const { [name]: _, ...others } = budgets[scope];
    const limit = Math.max(0, Number(text) * unit);
    set({ ...budgets, [scope]: text.trim() && Number.isFinite(limit) ? { ...others, [name]: name === "cost" ? limit : Math.round(limit) } : others });
  };
  return html`<details class="limits" data-testid="limits" ?open=${limited}><summary>${icon("chevron")}Limits</summary>
    <table>
      <thead><tr><th scope="col"><span class="visually-hidden">Limit</span></th>${SCOPES.map(([, label]) => html`<th scope="col">${label}</th>`)}</tr></thead>
      <tbody>${LIMITS.map(([name, label, unit, step]) => html`<tr><th scope="row">${label}</th>${SCOPES.map(([scope, of]) => {
        const limit = budgets[scope][name];
        return html`<td><input type="number" min="0" step=${step} inputmode="decimal" aria-label=${`${label}: ${of}`} data-testid=${`limit-${scope}-${name}`} placeholder="–" .value=${limit === undefined ? "" : String(limit / unit)} @change=${(e: Event) => enter(scope, name, value(e), unit)} /></td>`;
      })}</tr>`)}</tbody>
    </table>
    <p class="about">Checked before each call of the model. A limit in dollars needs a model whose price is known.</p>
  </details>`;
}
