// The part of the settings that says who answers: a choice, and below it what this choice needs.
//
// Decides which fields are shown, by the table of services. Promises: a key is never stored, never shown after it was typed
// (only its last four characters) and never filled in by the browser's password manager. What the form says about where
// it goes is what the provider will do. Leaves to others: saving (`settings-dialog.ts`), what a service needs
// (`services.ts`).
import { html, nothing, type TemplateResult } from "lit";
import type { Tried } from "../agent.ts";
import { describe } from "../models.ts";
import { GROUPS, SERVICES, service, type Service } from "../services.ts";
import { hasLocalModel, LOCAL_MODEL } from "../local-model.ts";
import { host, isPlain, type Choice, type Entered, type Settings } from "../settings.ts";
import { told } from "../words.ts";
import { options, value } from "./fields.ts";
import { icon } from "./icons.ts";

/** A connection that is or was tried. */
export interface Trial extends Tried {
  busy: boolean;
}

/** What the form changes. */
export interface Draft {
  choice: Choice;
  settings: Settings;
  set(change: Partial<Choice>): void;
  forget(account: string): void;
  /** The trial of what is entered; null: none yet. */
  trial: Trial | null;
  test(): void;
  /** A key is being typed. */
  typed(): void;
}

/** The cards, and the fields of the one that is chosen. */
export function providerForm(draft: Draft): TemplateResult {
  const chosen = service(draft.choice.provider);
  return html`
    <fieldset class="cards" data-testid="providers"><legend>Who answers</legend>
      ${card(draft, "offline", "Offline model", "Rules, not a language model. No key, no network.", draft.choice.provider === "offline")}
      ${hasLocalModel ? card(draft, "local", LOCAL_MODEL, "A small language model in this page. No key, no network, no tools; it knows little and is slow.", draft.choice.provider === "local") : nothing}
      ${GROUPS.map(({ id, name, about }) => card(draft, SERVICES.find((row) => row.group === id)?.id ?? id, name, about, chosen?.group === id))}
    </fieldset>
    ${chosen ? fields(draft, chosen) : draft.choice.provider === "offline" ? pace(draft) : nothing}`;
}

/** What is missing or wrong, in words; empty: nothing. */
export function wrong(settings: Settings, choice: Choice): string {
  const chosen = service(choice.provider);
  if (!chosen) return "";
  const entered = settings.entered(chosen.id, choice);
  return wrongAddress(chosen, entered) || (entered.model || chosen.model ? "" : `Enter a model: ${chosen.name} has no default.`);
}

/** What is wrong with the address; empty: nothing. */
export function wrongAddress({ url }: Service, { baseUrl, plain }: Entered): string {
  if (baseUrl && !(URL.canParse(baseUrl) && /^https?:/i.test(baseUrl))) return `“${baseUrl}” is no address. It begins with https://.`;
  if (isPlain(baseUrl) && !plain) return `${host(baseUrl)} would be called without encryption. Enter an address that begins with https://, or allow it below the address.`;
  return baseUrl || url ? "" : "Enter the address of the server.";
}

function card({ set }: Draft, id: string, name: string, about: string, checked: boolean): TemplateResult {
  return html`<label class="card-choice"><input type="radio" name="provider" value=${id} .checked=${checked} @change=${() => set({ provider: id })} /><span><strong>${name}</strong><span class="muted">${about}</span></span></label>`;
}

function pace({ choice, set }: Draft): TemplateResult {
  return html`<div class="field">
    <label for="pace">Pause between words, in milliseconds</label>
    <input id="pace" type="number" min="0" max="2000" step="1" inputmode="numeric" .value=${String(choice.pace)} @input=${(e: Event) => set({ pace: Math.min(2000, Math.max(0, Number(value(e)) || 0)) })} />
  </div>`;
}

function fields(draft: Draft, chosen: Service): TemplateResult {
  const { choice, settings, set } = draft;
  const entered = settings.entered(chosen.id, choice);
  const enter = (change: Partial<Entered>) => set({ entered: { ...choice.entered, [chosen.id]: { ...entered, ...change } } });
  return html`${variants(draft, chosen)}
    ${chosen.help || chosen.command
      ? html`<p class="about" data-testid="service-help">${chosen.help}${chosen.command ? html`<code class="command">${chosen.command}</code>` : nothing}</p>`
      : nothing}
    ${chosen.key === "none" ? nothing : key(draft, chosen, entered)}
    ${model(draft, chosen, entered, enter)}
    ${address(chosen, entered, enter)}
    ${connection(draft, chosen, entered)}`;
}

function variants({ choice, set }: Draft, chosen: Service): TemplateResult | typeof nothing {
  const all = SERVICES.filter((row) => row.group === chosen.group);
  if (all.length < 2) return nothing;
  return html`<div class="field">
    <label for="variant">${GROUPS.find(({ id }) => id === chosen.group)?.variants}</label>
    <select id="variant" data-testid="variant" @change=${(e: Event) => set({ provider: value(e) })}>${options(all.map((row) => [row.id, row.variant ?? row.name]), choice.provider)}</select>
  </div>`;
}

function key({ settings, forget, typed }: Draft, chosen: Service, { baseUrl }: Entered): TemplateResult {
  const hint = settings.keyHint(chosen.account);
  const where = host(baseUrl || (chosen.url ?? ""));
  return html`<div class="field">
    <label for="key">${chosen.key === "optional" ? "Key, if the server wants one" : "Key"}</label>
    <div class="key-row">
      <input id="key" type="password" autocomplete="new-password" spellcheck="false" data-testid="key" data-account=${chosen.account} placeholder=${hint || chosen.keyForm} aria-describedby="key-about" @input=${typed} />
      ${hint ? html`<button type="button" @click=${() => forget(chosen.account)} data-testid="forget-key">Forget</button>` : nothing}
    </div>
    <p id="key-about" class="about">${hint ? html`In use: <code>${hint}</code>. ` : nothing}Kept in this page’s memory only and sent to <strong>${where || "that server"}</strong> with each message. Gone when the page closes.</p>
  </div>`;
}

function connection({ trial, test }: Draft, chosen: Service, entered: Entered): TemplateResult {
  const named = entered.model || chosen.model;
  return html`<div class="connection">
    <button type="button" data-testid="test-connection" aria-disabled=${trial?.busy ?? false} @click=${test}>Test connection</button>
    <p class="about">It lists the models, and asks the chosen one for a word: a few tokens.</p>
    <div role="status" data-testid="connection" data-code=${trial?.error?.code ?? nothing}>${!trial ? nothing : trial.busy ? html`<p class="muted">Asking…</p>` : html`${trial.letIn ? html`<p class="ok-text">${icon("done")}<span>${works(trial, named)}</span></p>` : nothing}${trouble(trial, chosen)}`}</div>
  </div>`;
}

function trouble({ error, letIn, model }: Trial, chosen: Service): TemplateResult | typeof nothing {
  if (!error) return nothing;
  const { text, hint } = told(error, chosen.id);
  return html`<p class="danger-text">${icon("alert")}<span>${letIn && model ? `“${model}” does not answer. ` : ""}${text}<span class="hint">${hint}</span></span></p>`;
}

function works({ error, models, model }: Trial, named: string | null): string {
  const answers = model && !error ? `“${model}” answers.` : "It lets this page in.";
  if (models.length === 0) return answers;
  const other = named && !models.includes(named) ? ` “${named}” is not among them.` : named && named !== model ? ` “${named}” was not asked.` : "";
  return `${answers} ${models.length === 1 ? "One model is" : `${models.length} models are`} offered: suggested under Model.${other}`;
}

function model({ settings, trial }: Draft, chosen: Service, entered: Entered, enter: (change: Partial<Entered>) => void): TemplateResult {
  const named = entered.model || (chosen.model ?? "");
  const facts = settings.models.facts(chosen.id, named);
  const names = trial?.models.length ? trial.models : settings.models.names(chosen.id);
  return html`<div class="field">
    <label for="model">Model</label>
    <input id="model" type="text" autocomplete="off" spellcheck="false" placeholder=${chosen.model ?? `for example ${chosen.example}`} .value=${entered.model} list=${names.length ? "models" : nothing} aria-describedby="model-about" @input=${(e: Event) => enter({ model: value(e).trim() })} />
    ${names.length ? html`<datalist id="models">${names.map((name) => html`<option value=${name}></option>`)}</datalist>` : nothing}
    <p id="model-about" class="about" data-testid="model-about">${facts ? describe(facts) : named ? "Window and price of this model are not known here. It works without." : "The service’s own name of the model."}</p>
  </div>`;
}

function address(chosen: Service, { baseUrl, plain }: Entered, enter: (change: Partial<Entered>) => void): TemplateResult {
  const about = chosen.url === null ? "Where the server is, as its own documentation gives it." : chosen.key === "needed" ? "Only for a proxy of your own. A proxy that adds the key needs none here." : "Only if it is somewhere else.";
  return html`<div class="field">
    <label for="base-url">Address</label>
    <input id="base-url" type="url" autocomplete="off" spellcheck="false" placeholder=${chosen.url ?? "https://…/v1"} .value=${baseUrl} @input=${(e: Event) => enter({ baseUrl: value(e).trim(), plain: false })} aria-describedby="base-about" />
    <p id="base-about" class="about">${about}</p>
    ${isPlain(baseUrl)
      ? html`<label class="check"><input type="checkbox" .checked=${plain} data-testid="allow-http" aria-describedby="plain-about" @change=${(e: Event) => enter({ plain: (e.target as HTMLInputElement).checked })} />Call it without encryption</label>
          <p id="plain-about" class="about" data-testid="plain-about">Anybody on the way to <strong>${host(baseUrl)}</strong>, in the same Wi-Fi for instance, can then read and change everything that is said${chosen.key === "none" ? "" : ", and read the key"}. Allow it only in a network that you trust.${location.protocol === "https:" ? " The browser may refuse it all the same, as this page itself came encrypted." : ""}</p>`
      : nothing}
  </div>`;
}
