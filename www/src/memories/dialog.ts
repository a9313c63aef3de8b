// What the agent remembers from one conversation to the next: to read, to look for, to change and to take away.
//
// Decides in which words importance is told. Promises: nothing is forgotten without a question, because its mark of text from
// outside would not come back. What was typed stays in its field until it is taken. Leaves to others: whether anything is
// remembered at all (`shell/settings-dialog.ts`).
import { html, nothing, type TemplateResult } from "lit";
import type { ErrorInfo, Memory } from "lodger";
import type { Agent } from "../agent.ts";
import { Component } from "../shell/changing.ts";
import { options, value } from "../shell/fields.ts";
import { icon } from "../shell/icons.ts";
import type { Question } from "../shell/ask-dialog.ts";
import { errorInfo, told } from "../words.ts";

/** How many are shown at first, and how many "more" adds. */
const SHOWN = 50;
/** How many more than one looks for. */
const FOUND = 100;
const LEVELS: readonly (readonly [string, string, number])[] = [["low", "A little", 0.2], ["normal", "Normal", 0.5], ["high", "Very", 0.8]];
/** What one may be as the package takes it. */
const [TEXT, TAGS, TAG] = [4_000, 10, 50];
/** These tools change what is remembered. */
const CHANGE = new Set(["remember", "forget"]);

/** What is being written: a new memory, or changes of one. */
interface Draft {
  /** Empty: a new one. */
  id: string;
  text: string;
  importance: number;
  tags: string;
}

/** The dialog. */
export class MemoriesDialog extends Component {
  agent!: Agent;
  /** Asks the person, above this dialog. */
  ask: (question: Question) => Promise<string | null> = () => Promise.resolve(null);
  /** Null: not looked yet. */
  #memories: readonly Memory[] | null = null;
  #more = false;
  #shown = SHOWN;
  #query = "";
  #draft: Draft | null = null;
  #problem: ErrorInfo | null = null;
  /** What was done last, in words. */
  #done = "";
  /** An older look that ends later shows nothing. */
  #look = 0;
  /** Something is being stored. */
  #storing = false;

  /** Gives the dialog what it shows; before it enters the page. */
  init(agent: Agent, ask: (question: Question) => Promise<string | null>): this {
    Object.assign(this, { agent, ask });
    this.watch(agent.settings);
    agent.workspace.addEventListener("agent:tool-call", ({ detail: { tool, status } }) => {
      if (status === "completed" && CHANGE.has(tool) && this.#dialog?.open) void this.#read();
    });
    return this;
  }

  /** Opens it with what there is. */
  show(): void {
    this.#memories = this.#draft = this.#problem = null;
    this.#query = this.#done = "";
    this.#shown = SHOWN;
    this.requestUpdate();
    void this.#read();
    void this.updateComplete.then(() => this.#dialog?.showModal());
  }

  get #dialog(): HTMLDialogElement | null {
    return this.querySelector("dialog");
  }

  protected override refocus(): void {
    this.querySelector<HTMLElement>("[data-testid=memory-search]")?.focus();
  }

  protected override render(): TemplateResult {
    const memories = this.#memories;
    return html`<dialog class="memories" aria-labelledby="memories-title" data-testid="memories">
      <div class="memories-frame">
        <header class="dialog-head"><h2 id="memories-title">Memories</h2>
          <button type="button" class="ghost icon-only" aria-label="Close" @click=${() => this.#dialog?.close()}>${icon("x")}</button></header>
        <div class="dialog-body">
          <p class="about">What is kept from one conversation to the next. It stays in this browser; what fits a message goes to the model with it.</p>
          ${this.agent.settings.choice.memory
            ? nothing
            : html`<div class="note quiet" data-testid="memory-off">${icon("brain")}<p>The agent does not use them now.<span class="hint">It neither reads these nor adds any.</span></p>
                <div class="row"><button type="button" data-testid="memory-on" @click=${() => void this.#turnOn()}>Let it remember</button></div></div>`}
          <div class="memories-tools">
            <input type="search" aria-label="Search memories" placeholder="Search memories" autocomplete="off" data-testid="memory-search" .value=${this.#query} @input=${(e: Event) => this.#seek(value(e))} />
            <button type="button" data-testid="add-memory" @click=${() => this.#write({ id: "", text: "", importance: 0.5, tags: "" })}>${icon("plus")}Add</button>
          </div>
          <p class="visually-hidden" role="status">${this.#done}</p>
          ${this.#problem ? html`<p class="danger-text" role="alert">${icon("alert")}${told(this.#problem).text}</p>` : nothing}
          ${this.#draft?.id === "" ? this.#form(this.#draft) : nothing}
          ${memories === null
            ? nothing
            : memories.length === 0
              ? html`<p class="muted" data-testid="no-memories">${this.#query ? "Nothing that is remembered fits." : "Nothing is remembered yet."}</p>`
              : html`<ul class="memory-list" aria-label="Memories">${memories.map((memory) => html`<li class="memory" data-testid="memory" data-memory=${memory.id}>${this.#draft?.id === memory.id ? this.#form(this.#draft) : this.#one(memory)}</li>`)}</ul>`}
          ${this.#more ? html`<button type="button" @click=${() => this.#showMore()}>Show more</button>` : nothing}
        </div>
      </div>
    </dialog>`;
  }

  #one(memory: Memory): TemplateResult {
    const { id, text, importance, tags, createdAt, reads, outside } = memory;
    const level = near(importance);
    return html`<p class="memory-text" id=${`memory-${id}`}>${text}</p>
      ${outside ? html`<p class="memory-outside" data-testid="memory-outside">${icon("warning")}Made of words from outside; not told by itself.</p>` : nothing}
      <div class="memory-foot">
        <span class="memory-facts">${[new Date(createdAt).toLocaleDateString(), level[0] === "normal" ? "" : level[0] === "high" ? "very important" : "less important", reads ? `read ${reads === 1 ? "once" : `${reads} times`}` : ""].filter(Boolean).join(" · ")}</span>
        ${tags.map((tag) => html`<span class="memory-tag">${tag}</span>`)}
        <span class="row memory-acts">
          <button type="button" class="ghost small icon-only" aria-label="Change it" title="Change it" aria-describedby=${`memory-${id}`} data-testid="edit-memory" @click=${() => this.#write({ id, text, importance, tags: tags.join(", ") })}>${icon("pencil")}</button>
          <button type="button" class="ghost small icon-only" aria-label="Forget it" title="Forget it" aria-describedby=${`memory-${id}`} data-testid="forget-memory" @click=${() => void this.#forget(memory)}>${icon("trash")}</button>
        </span>
      </div>`;
  }

  #form(draft: Draft): TemplateResult {
    const set = (change: Partial<Draft>): void => void (this.#draft = { ...draft, ...this.#draft, ...change });
    return html`<form class="memory-form" data-testid="memory-form" aria-label=${draft.id ? "Change a memory" : "Add a memory"} @submit=${this.#store} @keydown=${this.#keys}>
      <div class="field"><label for="memory-field">What is remembered</label>
        <textarea id="memory-field" rows="3" required maxlength=${TEXT} data-testid="memory-field" .value=${draft.text} @input=${(e: Event) => set({ text: value(e) })}></textarea></div>
      <div class="field"><label for="memory-importance">How important is it?</label>
        <select id="memory-importance" data-testid="memory-importance" @change=${(e: Event) => set({ importance: LEVELS.find(([name]) => name === value(e))?.[2] ?? draft.importance })}>${options(LEVELS.map(([name, label]) => [name, label] as const), near(draft.importance)[0])}</select></div>
      <div class="field"><label for="memory-tags">Other words for it</label>
        <input id="memory-tags" type="text" autocomplete="off" placeholder="size, shoes" aria-describedby="memory-tags-about" data-testid="memory-tags" .value=${draft.tags} @input=${(e: Event) => set({ tags: value(e) })} />
        <p class="about" id="memory-tags-about">Under these it is found too. At most ${TAGS}, with commas between.</p></div>
      <div class="row"><button type="submit" class="primary small" data-testid="store-memory" aria-disabled=${this.#storing}>${draft.id ? "Save" : "Remember"}</button><button type="button" class="small" @click=${() => this.#leave()}>Cancel</button></div>
    </form>`;
  }

  /** Escape leaves the form, not the dialog. */
  readonly #keys = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.#leave();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      (event.currentTarget as HTMLFormElement).requestSubmit();
    }
  };

  #write(draft: Draft): void {
    this.#draft = draft;
    this.#problem = null;
    this.requestUpdate();
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("#memory-field")?.focus());
  }

  /** The focus goes back to where the form came from. */
  #leave(): void {
    const id = this.#draft?.id;
    this.#draft = this.#problem = null;
    this.requestUpdate();
    const place = id ? `[data-memory="${CSS.escape(id)}"] [data-testid=edit-memory]` : "[data-testid=add-memory]";
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(place)?.focus());
  }

  readonly #store = (event: Event): void => {
    event.preventDefault();
    const draft = this.#draft;
    const text = draft?.text.trim();
    if (!draft || !text || this.#storing) return;
    const tags = words(draft.tags);
    this.#storing = true;
    void this.#try(async () => {
      const { memory } = this.agent.workspace;
      const { id, importance } = draft;
      if (id) await memory.update(id, { text, importance, tags });
      else await memory.add({ text, importance, tags });
      this.#done = id ? "It is changed" : "It is remembered";
      // What is new is seen, whatever was looked for.
      if (!id) this.#query = "";
      await this.#read();
      this.#leave();
    }).finally(() => {
      this.#storing = false;
      this.requestUpdate();
    });
  };

  async #forget({ id, text }: Memory): Promise<void> {
    const yes = await this.ask({ title: "Forget this?", text: `“${short(text)}” cannot be brought back. Conversations in which it was told keep it.`, yes: "Forget", danger: true });
    if (yes === null) return;
    const at = this.#memories?.findIndex((memory) => memory.id === id) ?? 0;
    await this.#try(async () => {
      await this.agent.workspace.memory.remove(id);
      this.#done = "It is forgotten";
      await this.#read();
      await this.updateComplete;
      const left = this.querySelectorAll<HTMLElement>("[data-testid=forget-memory]");
      (left[Math.min(at, left.length - 1)] ?? this.querySelector<HTMLElement>("[data-testid=add-memory]"))?.focus();
    });
  }

  async #turnOn(): Promise<void> {
    const error = await this.agent.change(() => ({ memory: true }));
    this.#problem = error;
    this.#done = error ? "" : "The agent remembers from now on";
    this.requestUpdate();
  }

  #seek(query: string): void {
    this.#query = query;
    this.#shown = SHOWN;
    void this.#read();
  }

  #showMore(): void {
    this.#shown += SHOWN;
    void this.#read();
  }

  /** Looks again; what is being written stays. */
  async #read(): Promise<void> {
    const look = ++this.#look;
    const query = this.#query.trim();
    const { memory } = this.agent.workspace;
    try {
      // One more than is shown says whether there are more.
      const found = query ? await memory.search(query, { limit: FOUND }) : await memory.list({ limit: this.#shown + 1 });
      if (look !== this.#look) return;
      this.#more = !query && found.length > this.#shown;
      this.#memories = query ? found : found.slice(0, this.#shown);
    } catch (error) {
      if (look !== this.#look) return;
      this.#memories ??= [];
      this.#problem = errorInfo(error);
    }
    this.requestUpdate();
  }

  async #try(command: () => Promise<void>): Promise<void> {
    this.#problem = null;
    this.#done = "";
    try {
      await command();
    } catch (error) {
      this.#problem = errorInfo(error);
      // It is gone already: the list says so.
      if (this.#problem.code === "memory_not_found") void this.#read();
    }
    this.requestUpdate();
  }
}
customElements.define("memories-dialog", MemoriesDialog);

/** The level that is nearest. */
function near(importance: number): (typeof LEVELS)[number] {
  const by = ([, , level]: (typeof LEVELS)[number]): number => Math.abs(level - importance);
  return LEVELS.reduce((best, level) => (by(level) < by(best) ? level : best));
}

/** Tags as they were typed: each once, and as long as they may be. */
function words(typed: string): string[] {
  return [...new Set(typed.split(",").map((word) => [...word.trim()].slice(0, TAG).join("")).filter(Boolean))].slice(0, TAGS);
}

function short(text: string): string {
  const all = [...text];
  return all.length > 120 ? `${all.slice(0, 119).join("")}…` : text;
}
