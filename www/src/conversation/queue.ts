// What was sent while a run works and waits for its turn, above the composer: changed or taken out as long as it waits.
//
// Decides: how what waits is told, and when it is said to be held. Promises: a message that is being changed is not
// touched by what happens meanwhile. Where its turn comes before the change is saved, what was written goes to the
// composer. Leaves to others: whose turn it is, and what is held (the package).
import type { QueuedMessage } from "lodger";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { Agent } from "../agent.ts";
import { own } from "../own.ts";
import type { SessionStore } from "../sessions/store.ts";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";

const MODES = {
  queue: { word: "Follow-up", text: "Sent when this answer is complete", icon: "queue" },
  steer: { word: "Steers", text: "Enters this answer before the model is asked again", icon: "steer" },
} as const;

/** The list. */
export class QueueList extends Component {
  #agent!: Agent;
  #sessions!: SessionStore;
  #put: (text: string, why: string) => void = () => undefined;
  /** What is being changed, and what it said then. */
  #editing: { session: string; id: string; before: string } | null = null;

  /** `put`: gives the composer a text that has no other place. */
  init(agent: Agent, sessions: SessionStore, put: (text: string, why: string) => void): this {
    this.#agent = agent;
    this.#sessions = sessions;
    this.#put = put;
    this.watch(agent, sessions);
    return this;
  }

  protected override willUpdate(): void {
    const { session, snapshot } = this.#agent;
    const editing = this.#editing;
    if (editing?.session !== session || snapshot.status === "loading" || snapshot.queue.some(({ id }) => id === editing.id)) return;
    this.#rescue(editing.before, this.#field?.value ?? "");
  }

  protected override refocus(): void {
    this.#put("", "");
  }

  protected override render(): TemplateResult | typeof nothing {
    const { queue } = this.#agent.snapshot;
    if (queue.length === 0) return nothing;
    return html`<section class="queue" aria-label="Waiting messages" data-testid="queue">
      ${this.#held()}
      <ol>${repeat(queue, ({ id }) => id, (message) => this.#row(message))}</ol>
    </section>`;
  }

  #row(message: QueuedMessage): TemplateResult {
    const { id, text, mode } = message;
    // A mode of a later version is told as it is.
    const { word, text: title, icon: sign } = own(MODES, mode) ?? { word: mode, text: "", icon: "waiting" };
    const said = text || "Files";
    if (this.#editing?.id === id && this.#editing.session === this.#agent.session)
      return html`<li class="queued editing" data-testid="queued" data-mode=${mode}><form @submit=${this.#save} @keydown=${this.#keys}>
        <textarea rows="1" aria-label="Change the waiting message" data-testid="queued-field" .defaultValue=${this.#editing.before}></textarea>
        <div class="row"><button type="submit" class="small primary" data-testid="queued-save">Save</button><button type="button" class="small" @click=${() => this.#end()}>Cancel</button></div>
      </form></li>`;
    return html`<li class="queued" data-testid="queued" data-mode=${mode}>
      <span class="queued-mode" title=${title}>${icon(sign)}${word}</span><span class="queued-text" title=${said}>${said}</span>
      <button type="button" class="ghost small icon-only" aria-label="Change “${said.slice(0, 40)}”" title="Change" data-testid="queued-edit" @click=${() => this.#edit(message)}>${icon("pencil")}</button>
      <button type="button" class="ghost small icon-only" aria-label="Take out “${said.slice(0, 40)}”" title="Take out" data-testid="queued-remove" @click=${() => void this.#agent.unqueue(id)}>${icon("x")}</button>
    </li>`;
  }

  /** Where no run works, what waits is held. */
  #held(): TemplateResult | typeof nothing {
    const { snapshot, busy } = this.#agent;
    if (busy || snapshot.status === "loading") return nothing;
    const last = snapshot.messages[snapshot.messages.length - 1];
    const why = snapshot.status === "held" ? "the answer was cut off" : (snapshot.error ?? last?.error) ? "the answer failed" : last?.status === "interrupted" ? "the answer was stopped" : "no answer is being written";
    return html`<div class="queue-held" role="status" data-testid="queue-held"><p>Held: ${why}.</p>
      ${this.#sessions.needed ? nothing : html`<button type="button" class="small primary" data-testid="queue-release" @click=${() => void this.#agent.release()}>Send now</button>`}</div>`;
  }

  get #field(): HTMLTextAreaElement | null {
    return this.querySelector("textarea");
  }

  #edit({ id, text }: QueuedMessage): void {
    this.#editing = { session: this.#agent.session, id, before: text };
    this.requestUpdate();
    void this.updateComplete.then(() => {
      this.#field?.focus();
      this.#field?.setSelectionRange(text.length, text.length);
    });
  }

  readonly #keys = (event: KeyboardEvent): void => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.#end();
    } else if (event.key === "Enter" && !event.shiftKey && (event.ctrlKey || event.metaKey || this.#agent.settings.enterSends)) {
      event.preventDefault();
      (event.currentTarget as HTMLFormElement).requestSubmit();
    }
  };

  readonly #save = (event: SubmitEvent): void => {
    event.preventDefault();
    const editing = this.#editing;
    const text = this.#field?.value ?? "";
    if (!editing || !text.trim()) return;
    this.#end();
    if (text === editing.before) return;
    void this.#agent.editQueued(editing.id, text).then((done) => done || this.#rescue(editing.before, text));
  };

  /** Nothing is changed any more; the focus goes back to the row. */
  #end(): void {
    const id = this.#editing?.id;
    const at = this.#agent.snapshot.queue.findIndex((message) => message.id === id);
    this.#editing = null;
    this.requestUpdate();
    void this.updateComplete.then(() => this.querySelectorAll<HTMLElement>("[data-testid=queued-edit]")[at]?.focus());
  }

  /** The message has gone, or refuses the change: what was written is not lost. */
  #rescue(before: string, text: string): void {
    this.#editing = null;
    if (text.trim() && text !== before) this.#put(text, "That message has been sent. What you wrote is here");
  }
}
customElements.define("queue-list", QueueList);
