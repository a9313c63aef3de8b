// The settings: who answers (`provider-form.ts`), what the agent may do, and what this browser keeps.
//
// Promises: nothing counts before it is saved, but forgetting a key. What the agent refuses is not saved, and the form
// stays open and says why. What was typed as a key does not stay in the document.
import { html, nothing, type TemplateResult } from "lit";
import type { Agent } from "../agent.ts";
import type { Choice, ProcessType, Settings } from "../settings.ts";
import { service } from "../services.ts";
import { told } from "../words.ts";
import { budgetForm } from "./budget-form.ts";
import { Component } from "./changing.ts";
import { options, value } from "./fields.ts";
import { icon } from "./icons.ts";
import { providerForm, wrong, wrongAddress, type Trial } from "./provider-form.ts";

type Storage = { kind: string; bytes: number; quota: number; persisted: boolean; persist(): Promise<boolean> };

const PROCESS_TYPES: [ProcessType | "", string][] = [["", "All tools"], ["Orchestrator", "Orchestrator: all tools, and delegates"], ["Worker", "Worker: all tools"], ["Researcher", "Researcher: only reads"], ["SkillComposer", "Skill composer: only reads"]];

/** The dialog. */
export class SettingsDialog extends Component {
  agent!: Agent;
  #draft!: Choice;
  #error = "";
  #storage: Storage | null = null;
  #trial: Trial | null = null;
  #trying = new AbortController();
  /** The agent is asked whether it takes what is saved. */
  #saving = false;

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
    this.#dropTrial();
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
          ${providerForm({ choice: draft, settings: this.#settings, set: (change) => this.#choose(change), forget: (account) => this.#forget(account), trial: this.#trial, test: () => void this.#test(), typed: () => this.#untried() })}
          ${this.#error ? html`<p class="danger-text" role="alert">${icon("alert")}${this.#error}</p>` : nothing}
          ${this.#may()}
          ${budgetForm(draft.budgets, this.#settings.choice.budgets, (budgets) => this.#set({ budgets }))}
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
        <footer class="dialog-foot"><button type="button" @click=${() => this.#dialog.close()}>Cancel</button><button type="submit" class="primary" data-testid="save-settings" aria-disabled=${this.#saving}>Save</button></footer>
      </form>
    </dialog>`;
  }

  #may(): TemplateResult {
    const { processType, withheld, memory, search, provider } = this.#draft;
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
      <div class="field remember">
        <label class="check"><input type="checkbox" data-testid="remember" aria-describedby="remember-about" .checked=${memory} @change=${(e: Event) => this.#set({ memory: (e.target as HTMLInputElement).checked })} />Remember things for later conversations</label>
        <button type="button" class="link" data-action="memories" data-testid="settings-memories">Memories</button>
      </div>
      <p class="about" id="remember-about">What it keeps stays in this browser. What fits a message is sent to the model with it.</p>
      ${service(provider)?.searches ? html`<div class="field">
        <label class="check"><input type="checkbox" data-testid="search-web" aria-describedby="search-about" .checked=${search} @change=${(e: Event) => this.#set({ search: (e.target as HTMLInputElement).checked })} />Let the provider search the web</label>
      </div>
      <p class="about" id="search-about">Its searches may cost extra. After text from outside you are asked before each answer that may search.</p>` : nothing}
    </fieldset>`;
  }

  #kept(): TemplateResult {
    const s = this.#storage;
    if (!s) return html`<p class="about">Pages and conversations are kept by this browser.</p>`;
    if (s.kind === "memory") return html`<p class="about">Everything is kept in memory and goes with the page.</p>`;
    if (!s.quota) return html`<p class="about">Pages and conversations are kept by this browser. It does not say how much room they take.</p>`;
    return html`<p class="about">Pages and conversations: ${bytes(s.bytes)} of ${bytes(s.quota)}. ${s.persisted ? "The browser keeps them." : "When the disk is short the browser may drop them."}
      ${s.persisted ? nothing : html`<button type="button" class="link" @click=${() => void s.persist().then((persisted) => ((this.#storage = { ...s, persisted }), this.requestUpdate()))}>Ask it to keep them</button>`}</p>`;
  }

  #set(change: Partial<Choice>): void {
    this.#draft = { ...this.#draft, ...change };
    this.requestUpdate();
  }

  /** A key that was typed for one service is not another's. */
  #choose(change: Partial<Choice>): void {
    if (service(change.provider ?? this.#draft.provider)?.account !== service(this.#draft.provider)?.account) this.#wipe();
    this.#error = "";
    this.#untried(change);
    this.#set(change);
  }

  /** What was tried is not what stands there now. Another model of the same service is. */
  #untried(change: Partial<Choice> = {}): void {
    const { provider } = this.#draft;
    const address = (choice: Partial<Choice>) => choice.entered?.[provider]?.baseUrl ?? "";
    if (!this.#trial || (change.entered && address(change) === address(this.#draft))) return;
    this.#dropTrial();
    this.requestUpdate();
  }

  #dropTrial(): void {
    this.#trying.abort();
    this.#trial = null;
  }

  /** Tries what is entered, also before it is saved. */
  async #test(): Promise<void> {
    const { provider } = this.#draft;
    const chosen = service(provider);
    if (!chosen || this.#trial?.busy) return;
    const entered = this.#settings.entered(provider, this.#draft);
    const trial: Trial = { busy: true, letIn: false, error: null, models: [], model: "" };
    this.#error = wrongAddress(chosen, entered);
    this.#trial = this.#error ? null : trial;
    this.requestUpdate();
    if (this.#error) return;
    const typed = this.querySelector<HTMLInputElement>("#key")?.value ?? "";
    this.#trying = new AbortController();
    const tried = await this.agent.test(this.#settings.api(chosen, entered, typed), this.#trying.signal);
    // Something else may have been entered meanwhile.
    if (this.#trial !== trial) return;
    this.#trial = { busy: false, ...tried };
    this.requestUpdate();
  }

  #forget(account: string): void {
    this.#untried();
    this.#settings.forgetKey(account);
    void this.agent.change(() => ({})).then((error) => error && this.#tell(`The running agent still has the key: stop it. ${told(error).text}`));
    this.querySelector<HTMLElement>("#key")?.focus();
  }

  readonly #save = (event: Event): void => {
    event.preventDefault();
    if (!this.#saving) void this.#take();
  };

  async #take(): Promise<void> {
    const draft = this.#draft;
    this.#tell(wrong(this.#settings, draft));
    if (this.#error) return;
    this.#saving = true;
    const error = await this.agent.change(() => draft, this.querySelector<HTMLInputElement>("#key")?.value.trim());
    this.#saving = false;
    if (!error) return this.#dialog.close();
    const { text, hint } = told(error, draft.provider);
    this.#tell(`${text} ${hint}`);
    // Closed meanwhile: it opens again, since what was wanted does not hold.
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  /** Says what is wrong; empty: nothing. */
  #tell(error: string): void {
    this.#error = error;
    this.requestUpdate();
    if (error) void this.updateComplete.then(() => this.querySelector("[role=alert]")?.scrollIntoView({ block: "nearest" }));
  }

  readonly #closed = (): void => {
    this.#dropTrial();
    this.#wipe();
  };

  #wipe(): void {
    const field = this.querySelector<HTMLInputElement>("#key");
    if (field) field.value = "";
  }
}
customElements.define("settings-dialog", SettingsDialog);

function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let [size, unit] = [n, 0];
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${size.toFixed(size < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}
