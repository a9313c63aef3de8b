// The list of sessions: search, launch, import, and what can be done with each.
//
// Decides: what a click and a key do. Promises: a thousand sessions are as quick as ten. A file that is dropped on it
// is imported. What was refused is told here, in place. Leaves to others: the sessions (`store.ts`), one row
// (`row.ts`).
import { html, nothing, type TemplateResult } from "lit";
import type { Speech } from "../conversation/speech.ts";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";
import { takeDrops } from "../shell/drops.ts";
import { WindowList } from "../shell/window-list.ts";
import { told } from "../words.ts";
import { MAIN } from "./places.ts";
import { SessionRow } from "./row.ts";
import type { Listed, SessionStore } from "./store.ts";
import { active, wayOn } from "./words.ts";

const HEIGHT = 66;
const HEIGHT_TOUCH = 76;

/** The list. */
export class SessionsList extends Component {
  sessions!: SessionStore;
  /** A session was chosen here. */
  onChosen: () => void = () => undefined;
  #speech!: Speech;
  #list!: WindowList<Listed, SessionRow>;
  #query = "";
  #launching = false;
  #told = "";
  readonly #coarse = matchMedia("(pointer: coarse)");

  /** Gives the list its sessions; before it enters the page. */
  init(sessions: SessionStore, speech: Speech): this {
    this.sessions = sessions;
    this.#speech = speech;
    const { agent } = sessions;
    const context = { current: () => agent.session, here: () => agent.snapshot.holder, rename: (id: string, name: string) => sessions.rename(id, name), want: (id: string) => sessions.want(id), watch: (id: string) => sessions.watch(id) };
    this.#list = new WindowList<Listed, SessionRow>({
      label: "Sessions",
      height: () => (this.#coarse.matches ? HEIGHT_TOUCH : HEIGHT),
      key: ({ id }) => id,
      make: () => new SessionRow(context),
    });
    this.#list.element.addEventListener("click", (event) => this.#click(event));
    this.#list.element.addEventListener("dblclick", (event) => this.#named(event)?.row.rename());
    this.#list.element.addEventListener("keydown", (event) => this.#key(event));
    takeDrops(this, (files) => void this.#import(files[0]));
    this.watch(sessions, agent);
    return this;
  }

  /** Asks for the name of a new session. */
  launch(): void {
    this.#launching = true;
    this.requestUpdate();
    void this.updateComplete.then(() => this.querySelector<HTMLInputElement>("[name=session-name]")?.focus());
  }

  protected override refocus(): void {
    this.querySelector<HTMLElement>(".current [data-testid=open-session]")?.focus();
  }

  protected override updated(): void {
    const found = this.sessions.find(this.#query);
    this.#list.set(found);
    this.#list.refresh();
    const { problem } = this.sessions;
    const text = problem ? told(problem).text : "";
    if (text && text !== this.#told) this.#speech.alert(text);
    this.#told = text;
  }

  protected override render(): TemplateResult {
    const { all, busy, left } = this.sessions;
    const found = this.sessions.find(this.#query).length;
    return html`<section class="sessions-pane" aria-label="Sessions" data-testid="sessions" data-region>
      <header class="pane-head">
        <h2>Sessions${all && all.length > 1 ? html` <span class="count" data-testid="sessions-count">${all.length}</span>` : nothing}</h2>
        ${all?.some(({ state }) => state.suspended) ? html`<button type="button" class="ghost icon-only" @click=${() => void this.sessions.playAll()} aria-label="Play all sessions" title="Play all: take up what is benched or lost" data-testid="play-all">${icon("play")}</button>` : nothing}
        ${all?.some(({ state }) => active(state) && !state.suspended) ? html`<button type="button" class="ghost icon-only" @click=${() => void this.sessions.bench("all")} aria-label="Bench all sessions" title="Bench all: put every session aside" data-testid="bench-all">${icon("pause")}</button>` : nothing}
        <button type="button" class="ghost icon-only" @click=${this.#pick} aria-label="Import a session" title="Import a session from a file" data-testid="import-session">${icon("import")}</button>
        <button type="button" class="ghost icon-only" @click=${() => this.launch()} aria-label="New session" title="New session (Ctrl+Shift+O)" data-testid="new-session">${icon("plus")}</button>
        <input type="file" hidden tabindex="-1" aria-hidden="true" accept=".jsonl,.json,.lodger" data-testid="import-input" @change=${this.#picked} />
      </header>
      ${this.#launching
        ? html`<form class="session-launch" @submit=${this.#launch} @keydown=${this.#launchKey}>
            <input type="text" name="session-name" aria-label="Name of the new session" placeholder="Name, if you like" maxlength="64" autocomplete="off" data-testid="session-name" />
            <button type="submit" class="primary" data-testid="launch-session">Launch</button>
          </form>`
        : nothing}
      ${all && all.length > 5
        ? html`<div class="search">${icon("search")}<input type="search" aria-label="Search sessions" placeholder="Search sessions" autocomplete="off" data-testid="session-search" .value=${this.#query} @input=${this.#search} @keydown=${this.#searchKey} /></div>`
        : nothing}
      ${this.#problem()}
      ${left.length ? this.#left(left) : nothing}
      <p class="visually-hidden" role="status">${busy ? `${busy}…` : this.#query ? `${found} found` : ""}</p>
      ${all === null ? html`<p class="muted pad">Reading…</p>` : all.length === 0 ? html`<p class="muted pad">The agent begins one when it starts.</p>` : found === 0 ? html`<p class="muted pad">No session matches.</p>` : nothing}
      <div class="sessions-list" ?hidden=${found === 0}>${this.#list.element}</div>
    </section>`;
  }

  #problem(): TemplateResult | typeof nothing {
    const { problem } = this.sessions;
    if (!problem) return nothing;
    const { text, hint } = told(problem);
    return html`<div class="note danger" data-testid="sessions-problem" data-code=${problem.code}>${icon("alert")}<p>${text}${hint ? html`<span class="hint">${hint}</span>` : nothing}</p>
      <button type="button" class="ghost small icon-only" aria-label="Dismiss" @click=${() => this.sessions.dismiss()}>${icon("x")}</button></div>`;
  }

  /** What the last page was in the middle of. */
  #left(left: readonly Listed[]): TemplateResult {
    const one = left.length === 1;
    return html`<div class="note warn" data-testid="left">${icon("history")}<p>${one ? `“${left[0]?.name}” was` : `${left.length} sessions were`} in the middle of an answer when the last page was closed.</p>
      <div class="row">
        <button type="button" class="small" @click=${() => void this.sessions.play(left.map(({ id }) => id))} data-testid="bring-back">${one ? "Bring it back" : "Bring all back"}</button>
        <button type="button" class="ghost small icon-only" aria-label="Leave ${one ? "it" : "them"}" @click=${() => this.sessions.leave()}>${icon("x")}</button>
      </div></div>`;
  }

  readonly #search = (event: Event): void => {
    this.#query = (event.target as HTMLInputElement).value;
    this.sessions.seek(this.#query.trim() !== "");
    this.requestUpdate();
  };

  readonly #searchKey = (event: KeyboardEvent): void => {
    const [first] = this.sessions.find(this.#query);
    if (!first || event.altKey || (event.key !== "ArrowDown" && event.key !== "Enter")) return;
    event.preventDefault();
    if (event.key === "Enter") this.#choose(first.id);
    else this.#list.show(first.id, true);
  };

  readonly #launch = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const field = this.querySelector<HTMLInputElement>("[name=session-name]");
    // A name that is refused stays, to be mended.
    if (!field || this.sessions.busy || !(await this.sessions.launch(field.value))) return;
    this.#launching = false;
    this.requestUpdate();
    this.#list.show(this.sessions.agent.session);
    this.onChosen();
  };

  readonly #launchKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    this.#launching = false;
    this.requestUpdate();
    this.querySelector<HTMLElement>("[data-testid=new-session]")?.focus();
  };

  readonly #pick = (): void => this.querySelector<HTMLInputElement>("[data-testid=import-input]")?.click();

  readonly #picked = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    void this.#import(input.files?.[0]);
    // The same file may be chosen again.
    input.value = "";
  };

  async #import(file: File | undefined): Promise<void> {
    if (file && (await this.sessions.import(file))) this.#list.show(this.sessions.agent.session);
  }

  #named(event: Event): { id: string; row: SessionRow } | null {
    const id = (event.target as Element).closest<HTMLElement>("[data-session]")?.dataset["session"];
    const row = id === undefined ? undefined : this.#list.row(id);
    return id !== undefined && row ? { id, row } : null;
  }

  #click(event: Event): void {
    const named = this.#named(event);
    const action = (event.target as Element).closest<HTMLElement>("[data-action]")?.dataset["action"];
    if (!named) return;
    const { id, row } = named;
    switch (action) {
      case "open-session": this.#choose(id); break;
      case "bench-session": void this.sessions.bench(id); break;
      case "archive-session": void this.sessions.archive(id); break;
      case "rename-session": row.rename(); break;
      case "remove-session": void this.#remove(id); break;
      case "go-on": this.#goOn(id); break;
      default: break;
    }
  }

  #choose(id: string): void {
    this.sessions.select(id);
    this.onChosen();
  }

  #goOn(id: string): void {
    const state = this.sessions.of(id)?.state;
    const way = state && wayOn(state);
    if (way) void this.sessions.goOn(id, way.action);
  }

  /** The focus goes to the row that takes its place. */
  async #remove(id: string): Promise<void> {
    if (id === MAIN) return;
    const inside = this.#list.element.contains(document.activeElement);
    const found = this.sessions.find(this.#query);
    const at = found.findIndex((one) => one.id === id);
    const next = found[at + 1] ?? found[at - 1];
    if ((await this.sessions.remove(id)) && inside && next) {
      await this.updateComplete;
      this.#list.show(next.id, true);
    }
  }

  #key(event: KeyboardEvent): void {
    const named = this.#named(event);
    if (!named || (event.target as Element).matches("input")) return;
    if (event.key === "F2") named.row.rename();
    else if (event.key === "Delete") void this.#remove(named.id);
    else return;
    event.preventDefault();
  }
}
customElements.define("sessions-list", SessionsList);
