// What every form of the shell needs.
import { html, type TemplateResult } from "lit";

/** What stands in the field that the event comes from. */
export function value(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}

/** The options of a select, as pairs of value and label. */
export function options(list: readonly (readonly [string, string])[], chosen: string): TemplateResult[] {
  return list.map(([v, label]) => html`<option value=${v} .selected=${v === chosen}>${label}</option>`);
}
