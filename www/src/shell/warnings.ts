// What the person has to know about this browser, a line each, with something to do. Nothing is kept, what was kept is
// lost, the storage is nearly full, or there is no network.
//
// Decides: when a line is shown. Promises: once dismissed it stays away until the page is opened again, and a loss for
// good. Leaves to others: what went wrong in a run (the conversation tells that).
import { html, nothing, type TemplateResult } from "lit";
import type { StorageInfo } from "lodger";
import type { Agent } from "../agent.ts";
import { Component } from "./changing.ts";
import { icon, type IconName } from "./icons.ts";

/** The part of the quota from which on the browser may refuse. */
const FULL = 0.8;

/** The lines under the header. */
export class WarningStrip extends Component {
  agent!: Agent;
  #storage: StorageInfo | null = null;
  #working = false;
  readonly #dismissed = new Set<string>();

  /** Gives the strip its agent; before it enters the page. */
  init(agent: Agent): this {
    this.agent = agent;
    this.watch(agent, agent.settings);
    for (const type of ["online", "offline"]) addEventListener(type, () => this.requestUpdate());
    void this.#look();
    return this;
  }

  protected override render(): TemplateResult {
    const storage = this.#storage;
    const full = storage && storage.quota > 0 ? storage.bytes / storage.quota : 0;
    const where = this.agent.answerer.destination;
    return html`<div class="warnings" role="status" data-testid="warnings">
      ${storage?.kind === "memory" ? this.#line("memory", "warning", "Nothing is stored: pages and conversation go when this page closes.") : nothing}
      ${storage?.lost ? this.#line("lost", "warning", `What was stored here is gone, as this page found on ${new Date(storage.lost.at).toLocaleString()}: the browser or something else has deleted it.`) : nothing}
      ${storage?.kind === "indexeddb" && full > FULL ? this.#line("quota", "warning", `The browser’s storage is ${Math.round(full * 100)} % full.`, "Settings") : nothing}
      ${where && !navigator.onLine ? this.#line("offline", "warning", `No network: ${where} cannot be reached. The offline model works without.`, "Settings") : nothing}
    </div>`;
  }

  override updated(): void {
    // What a run has written counts.
    const ended = this.#working && !this.agent.working;
    this.#working = this.agent.working;
    if (ended) void this.#look();
  }

  #line(key: string, name: IconName, text: string, action?: string): TemplateResult | typeof nothing {
    if (this.#dismissed.has(key)) return nothing;
    return html`<div class="warning" data-warning=${key}>${icon(name)}<p>${text}</p>
      ${action ? html`<button type="button" class="link" data-action="settings">${action}</button>` : nothing}
      <button type="button" class="ghost small icon-only" aria-label="Dismiss" @click=${() => this.#dismiss(key)}>${icon("x")}</button></div>`;
  }

  #dismiss(key: string): void {
    this.#dismissed.add(key);
    if (key === "lost") void this.#storage?.lost?.acknowledge().catch(() => undefined);
    this.requestUpdate();
  }

  async #look(): Promise<void> {
    this.#storage = await this.agent.workspace.storage().catch(() => this.#storage);
    this.requestUpdate();
  }
}
customElements.define("warning-strip", WarningStrip);
