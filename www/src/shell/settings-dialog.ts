// The settings: who answers, with which key and model, from where; what the agent may do; and what this browser keeps.
//
// Promises: the key is never stored, never shown after it was typed (only its last four characters) and never filled in
// by the browser's password manager; what the form says about where it goes is what the provider will do.
import { html, nothing, type TemplateResult } from "lit";
import type { Agent } from "../agent.ts";
import { ANTHROPIC_URL, DEFAULT_MODEL, type Choice, type ProcessType, type Settings } from "../settings.ts";
import { hasLocalModel, LOCAL_MODEL } from "../local-model.ts";
import { Component } from "./changing.ts";
import { icon } from "./icons.ts";

type Storage = { kind: string; bytes: number; quota: number; persisted: boolean; persist(): Promise<boolean> };

const PROCESS_TYPES: [ProcessType | "", string][] = [["", "All tools"], ["Orchestrator", "Orchestrator: all tools, and delegates"], ["Worker", "Worker: all tools"], ["Researcher", "Researcher: only reads"], ["SkillComposer", "Skill composer: only reads"]];

/** The dialog. */
export class SettingsDialog extends Component {
  agent!: Agent;
  #draft!: Choice;
  #error = "";
  #storage: Storage | null = null;

  /** Gives the dialog what it changes; before it enters the page. */
  init(agent: Agent): this {
    this.agent = agent;
    this.#draft = agent.settings.choice;
    this.watch(agent.settings);
    return this;
  }

  /** Opens it with what is in force. */
  show(): void {
    this.#draft = { ...this.#settings.choice };
    this.#error = "";
    this.#storage = null;
    this.requestUpdate();
    void this.updateComplete.then(() => this.#dialog.showModal());
    void this.agent.workspace.storage().then((s) => ((this.#storage = s), this.requestUpdate()), () => undefined);
  }

  get #settings(): Settings {
    return this.agent.settings;
  }

  get #dialog(): HTMLDialogElement {
    return this.querySelector("dialog") as HTMLDialogElement;
  }

  protected override render(): TemplateResult {
    const draft = this.#draft;
    return html`<dialog aria-labelledby="settings-title" data-testid="settings" @close=${this.#closed}>
      <form method="dialog" @submit=${this.#save}>
        <header class="dialog-head"><h2 id="settings-title">Settings</h2>
          <button type="button" class="ghost icon-only" aria-label="Close" @click=${() => this.#dialog.close()}>${icon("x")}</button></header>
        <div class="dialog-body">
          <fieldset class="cards"><legend>Who answers</legend>
            ${this.#provider("offline", "Offline model", "Rules, not a language model. No key, no network, always the same answer.")}
            ${hasLocalModel ? this.#provider("local", LOCAL_MODEL, "A small language model that runs in this page. No key, no network, no tools; it knows little and is slow.") : nothing}
            ${this.#provider("anthropic", "Anthropic", "Claude, called from this page with your own key.")}
          </fieldset>
          ${draft.provider === "anthropic" ? this.#anthropic() : draft.provider === "offline" ? this.#offline() : nothing}
          ${this.#error ? html`<p class="danger-text" role="alert">${icon("alert")}${this.#error}</p>` : nothing}
          ${this.#may()}
          <fieldset><legend>This browser</legend>
            <div class="field-row">
              <label for="theme">Look</label>
              <select id="theme" @change=${(e: Event) => this.#set({ theme: value(e) as Choice["theme"] })}>
                ${options([["system", "As the system"], ["light", "Light"], ["dark", "Dark"]], draft.theme)}
              </select>
            </div>
            <div class="field-row">
              <label for="enter">Enter</label>
              <select id="enter" @change=${(e: Event) => this.#set({ enter: value(e) as Choice["enter"] })}>
                ${options([["device", "Sends, but on touch screens"], ["always", "Always sends"], ["never", "Makes a new line"]], draft.enter)}
              </select>
            </div>
            ${this.#kept()}
          </fieldset>
        </div>
        <footer class="dialog-foot"><button type="button" @click=${() => this.#dialog.close()}>Cancel</button><button type="submit" class="primary" data-testid="save-settings">Save</button></footer>
      </form>
    </dialog>`;
  }

  #provider(kind: Choice["provider"], name: string, about: string): TemplateResult {
    return html`<label class="card-choice"><input type="radio" name="provider" value=${kind} .checked=${this.#draft.provider === kind} @change=${() => this.#set({ provider: kind })} /><span><strong>${name}</strong><span class="muted">${about}</span></span></label>`;
  }

  #offline(): TemplateResult {
    return html`<div class="field">
      <label for="pace">Pause between words, in milliseconds</label>
      <input id="pace" type="number" min="0" max="2000" step="1" inputmode="numeric" .value=${String(this.#draft.pace)} @input=${(e: Event) => this.#set({ pace: Math.min(2000, Math.max(0, Number(value(e)) || 0)) })} />
    </div>`;
  }

  #anthropic(): TemplateResult {
    const hint = this.#settings.keyHint;
    const where = this.#draft.baseUrl || ANTHROPIC_URL;
    return html`
      <div class="field">
        <label for="key">Key</label>
        <div class="key-row">
          <input id="key" type="password" autocomplete="new-password" spellcheck="false" data-testid="key" placeholder=${hint || "sk-ant-…"} aria-describedby="key-about" />
          ${hint ? html`<button type="button" @click=${() => this.#forget()} data-testid="forget-key">Forget</button>` : nothing}
        </div>
        <p id="key-about" class="about">${hint ? html`In use: <code>${hint}</code>. ` : nothing}Kept in this page’s memory only and sent to <strong>${host(where)}</strong> with each message. Gone when the page closes.</p>
      </div>
      <div class="field">
        <label for="model">Model</label>
        <input id="model" type="text" autocomplete="off" spellcheck="false" placeholder=${DEFAULT_MODEL} .value=${this.#draft.model} @input=${(e: Event) => this.#set({ model: value(e).trim() })} />
      </div>
      <div class="field">
        <label for="base-url">Address</label>
        <input id="base-url" type="url" autocomplete="off" spellcheck="false" placeholder=${ANTHROPIC_URL} .value=${this.#draft.baseUrl} @input=${(e: Event) => this.#set({ baseUrl: value(e).trim() })} aria-describedby="base-about" />
        <p id="base-about" class="about">Only for a proxy of your own. A proxy that adds the key needs none here.</p>
      </div>`;
  }

  #may(): TemplateResult {
    const { processType, withheld } = this.#draft;
    const held = (name: string, on: boolean) => this.#set({ withheld: on ? withheld.filter((other) => other !== name) : [...withheld, name] });
    return html`<fieldset><legend>What the agent may do</legend>
      <div class="field-row">
        <label for="process-type">Kind</label>
        <select id="process-type" data-testid="process-type" @change=${(e: Event) => this.#set({ processType: value(e) as ProcessType | "" })}>${options(PROCESS_TYPES, processType)}</select>
      </div>
      <div class="capabilities" role="group" aria-label="Capabilities">
        ${this.agent.capabilities.map((name) => html`<label><input type="checkbox" .checked=${!withheld.includes(name)} @change=${(e: Event) => held(name, (e.target as HTMLInputElement).checked)} /><code>${name}</code></label>`)}
      </div>
      <p class="about">What it does not hold it cannot use, and cannot ask for. Rules for single tools stand under Tools.</p>
    </fieldset>`;
  }

  #kept(): TemplateResult {
    const s = this.#storage;
    if (!s) return html`<p class="about">Pages and conversations are kept by this browser.</p>`;
    if (s.kind === "memory") return html`<p class="about">Everything is kept in memory and goes with the page.</p>`;
    return html`<p class="about">Pages and conversations: ${bytes(s.bytes)} of ${bytes(s.quota)}. ${s.persisted ? "The browser keeps them." : "When the disk is short the browser may drop them."}
      ${s.persisted ? nothing : html`<button type="button" class="link" @click=${() => void s.persist().then((persisted) => ((this.#storage = { ...s, persisted }), this.requestUpdate()))}>Ask it to keep them</button>`}</p>`;
  }

  #set(change: Partial<Choice>): void {
    this.#draft = { ...this.#draft, ...change };
    this.requestUpdate();
  }

  #forget(): void {
    this.#settings.forgetKey();
    void this.agent.configure();
    this.querySelector<HTMLElement>("#key")?.focus();
  }

  readonly #save = (event: Event): void => {
    event.preventDefault();
    const field = this.querySelector<HTMLInputElement>("#key");
    const { baseUrl } = this.#draft;
    if (baseUrl && !URL.canParse(baseUrl)) {
      this.#error = `“${baseUrl}” is no address. It begins with https://.`;
      return this.requestUpdate();
    }
    if (field?.value.trim()) this.#settings.useKey(field.value);
    this.#settings.set(this.#draft);
    this.#dialog.close();
    void this.agent.configure();
  };

  readonly #closed = (): void => {
    // What was typed does not stay in the document.
    const field = this.querySelector<HTMLInputElement>("#key");
    if (field) field.value = "";
  };
}
customElements.define("settings-dialog", SettingsDialog);

function value(event: Event): string {
  return (event.target as HTMLInputElement | HTMLSelectElement).value;
}

function options(list: [string, string][], chosen: string): TemplateResult[] {
  return list.map(([v, label]) => html`<option value=${v} .selected=${v === chosen}>${label}</option>`);
}

function host(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let [size, unit] = [n, 0];
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${size.toFixed(size < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}
