// One small dialog for every question that needs an answer before something happens: a title, a parent, a yes.
import { html, nothing, type TemplateResult } from "lit";
import { Component } from "./changing.ts";

/** What is asked. */
export interface Question {
  title: string;
  text?: string;
  /** A line of text is wanted; this is what stands there first. */
  input?: { label: string; value: string };
  /** One of these is wanted. */
  choice?: { label: string; options: { value: string; label: string }[]; value: string };
  yes: string;
  danger?: boolean;
}

/** The dialog; `ask` answers with the text, the value, or "" for a plain yes; null when it was dismissed. */
export class AskDialog extends Component {
  #question: Question | null = null;
  #settle: ((answer: string | null) => void) | null = null;

  /** Asks, and waits for the person. */
  async ask(question: Question): Promise<string | null> {
    this.#settle?.(null);
    this.#question = question;
    this.requestUpdate();
    await this.updateComplete;
    const dialog = this.querySelector("dialog") as HTMLDialogElement;
    const field = this.querySelector<HTMLInputElement | HTMLSelectElement>("[name=answer]");
    if (field) field.value = question.input?.value ?? question.choice?.value ?? "";
    dialog.showModal();
    if (field instanceof HTMLInputElement) field.select();
    return new Promise((settle) => (this.#settle = settle));
  }

  protected override render(): TemplateResult | typeof nothing {
    const q = this.#question;
    if (!q) return nothing;
    return html`<dialog class="ask" aria-labelledby="ask-title" data-testid="ask" @close=${() => this.#answer(null)}>
      <form method="dialog" @submit=${this.#submit}>
        <header class="dialog-head"><h2 id="ask-title">${q.title}</h2></header>
        <div class="dialog-body">
          ${q.text ? html`<p>${q.text}</p>` : nothing}
          ${q.input ? html`<div class="field"><label for="answer">${q.input.label}</label><input id="answer" name="answer" type="text" required autocomplete="off" /></div>` : nothing}
          ${q.choice ? html`<div class="field"><label for="answer">${q.choice.label}</label><select id="answer" name="answer">${q.choice.options.map((o) => html`<option value=${o.value}>${o.label}</option>`)}</select></div>` : nothing}
        </div>
        <footer class="dialog-foot"><button type="button" @click=${() => this.querySelector("dialog")?.close()}>Cancel</button><button type="submit" class=${q.danger ? "danger" : "primary"}>${q.yes}</button></footer>
      </form>
    </dialog>`;
  }

  readonly #submit = (event: Event): void => {
    event.preventDefault();
    const field = this.querySelector<HTMLInputElement | HTMLSelectElement>("[name=answer]");
    if (field instanceof HTMLInputElement && !field.value.trim()) return;
    this.#answer(field ? field.value.trim() : "");
    this.querySelector("dialog")?.close();
  };

  #answer(answer: string | null): void {
    this.#settle?.(answer);
    this.#settle = null;
  }
}
customElements.define("ask-dialog", AskDialog);
