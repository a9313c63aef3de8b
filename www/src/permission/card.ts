// What waits for the person: leave to run a call, or the outcome of a call that no function answers. One after the
// other, docked above the composer.
//
// Decides: which one is shown and what its reason means. Promises: it never takes the focus by itself and does nothing
// at a key that was meant for something else. For a moment after it appeared its buttons do not act, and no key answers
// from afar. What is shown is exact: the arguments as they are, with what a browser would hide made visible. Leave is given
// only for what was shown to its end: until then it says how much there is. "Later" answers nothing. Leaves to others: what an
// answer sets going.
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import type { ErrorInfo, PermissionAnswer, PermissionRequest } from "lodger";
import type { Agent, Asked, ToolCall } from "../agent.ts";
import type { Speech } from "../conversation/speech.ts";
import { own } from "../own.ts";
import { counted, diffView } from "../pages/diff-view.ts";
import type { PageStore } from "../pages/store.ts";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";
import { exactJson, visible } from "../shell/visible.ts";
import { sentence } from "../words.ts";
import { pageChange, type Change } from "./change.ts";
import { measured } from "./measured.ts";

/** For so long after a question appeared its buttons do not act: the press may have been meant for something else. */
const SETTLES_IN = 400;

/** So many pixels may lie out of sight that hold no line of text. */
const NO_LINE = 8;

/** The reasons that need more words than the package's own. */
const REASONS: Record<string, string> = {
  external_text: "This conversation holds text from outside, and this tool can send something out. A text from outside can try to make the agent do things: allow it only if it is what you asked for.",
  unknown_outcome: "The page went away while this call ran, so nobody knows whether it took effect. Look before you answer: run again, it may happen twice.",
  definition_changed: "You allowed this tool always, but its description has changed since. What it does now may be something else.",
};

/** Where text from outside comes from, by the beginning of its name. */
const ORIGINS: readonly (readonly [begin: string, words: (name: string) => string])[] = [
  ["tool:", (name) => `what ${name} gave`],
  ["provider:", () => "what the model’s provider looked up"],
  ["served:", () => "a note of what a model’s provider looked up"],
  ["file:", (name) => `the file ${name.replace(/#[0-9a-f]{32}$/, "")}`],
  ["context", () => "what this page added to a message"],
  ["import", () => "an imported conversation"],
  ["adopted", () => "an earlier conversation"],
  ["", () => "something of which nobody knows where it comes from"],
];

function originWords(origin: string): string {
  const [begin, words] = ORIGINS.find(([begin]) => origin.startsWith(begin)) ?? ["", String];
  return visible(words(origin.slice(begin.length)));
}

/** The docked card. */
export class PermissionCard extends Component {
  agent!: Agent;
  pages!: PageStore;
  speech!: Speech;
  #shown: Asked | null = null;
  /** Put aside by "Later": neither answered nor forgotten. */
  readonly #later = new Set<string>();
  /** All that came since nothing waited: "1 of 3". */
  readonly #row = new Set<string>();
  #settled = true;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #answering = false;
  #mine = "";
  #wording = false;
  #error: ErrorInfo | null = null;
  #change: { of: string; change: Change | null } | null = null;
  /** The work that counts. */
  #working: Promise<Change | null> | null = null;
  /** A part of what would be done was never in sight. */
  #unseen = false;
  #sawAll = false;
  #unfolded = false;
  /** The focus lies in a question that goes away. */
  #leads = false;
  /** Where the focus was before it was led here. */
  #from: HTMLElement | null = null;

  /** Gives the card what it shows; before it enters the page. */
  init(agent: Agent, pages: PageStore, speech: Speech): this {
    Object.assign(this, { agent, pages, speech });
    this.watch(agent, pages);
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing || !this.#shown) return;
      event.preventDefault();
      this.#putAside(this.#shown);
    });
    new ResizeObserver(this.#look).observe(this);
    // The change is worked out again when the page has changed under it.
    pages.addEventListener("change", () => this.#work());
    return this;
  }

  /** Leads to what waits, put aside or not. True when there is something. */
  show(): boolean {
    if (this.agent.asked.length === 0) return false;
    this.#later.clear();
    this.requestUpdate();
    const active = document.activeElement;
    if (active instanceof HTMLElement && !this.contains(active)) this.#from = active;
    void this.updateComplete.then(() => this.#section?.focus());
    return true;
  }

  get #section(): HTMLElement | null {
    return this.querySelector("section");
  }

  protected override willUpdate(): void {
    const { asked } = this.agent;
    const ids = new Set(asked.map(({ id }) => id));
    for (const id of this.#later) if (!ids.has(id)) this.#later.delete(id);
    if (asked.length === 0) this.#row.clear();
    for (const id of ids) this.#row.add(id);
    const next = asked.find(({ id }) => !this.#later.has(id)) ?? null;
    if (next?.id !== this.#shown?.id) this.#turnTo(next, ids);
    this.#shown = next;
  }

  /** Another question, or none. */
  #turnTo(next: Asked | null, still: Set<string>): void {
    this.#leads = this.contains(document.activeElement);
    const last = this.#shown?.id;
    if (last && !still.has(last) && last !== this.#mine && next === null) this.speech.say("The question was answered elsewhere, or its run has ended.");
    [this.#wording, this.#error, this.#mine, this.#answering] = [false, null, "", false];
    [this.#unseen, this.#sawAll, this.#unfolded, this.#change] = [false, false, false, null];
    clearTimeout(this.#timer);
    this.#settled = next === null;
    if (next === null) return;
    this.#timer = setTimeout(() => ((this.#settled = true), this.requestUpdate()), SETTLES_IN);
    this.speech.say(`${spoken(next)} Alt+Shift+P goes to it.`);
    this.#work(next);
  }

  /** Works the change out. */
  #work(asked: Asked | null = this.#shown): void {
    if (asked?.kind !== "permission") return;
    const { tool, arguments: args } = asked.request;
    const work = (this.#working = pageChange(tool, args, this.agent.workspace, this.agent.session));
    void work.then((change) => {
      // Of another question, or of a page that has changed since.
      if (work !== this.#working) return;
      const before = this.#change?.of === asked.id ? this.#change.change : undefined;
      this.#change = { of: asked.id, change };
      // Another text than the one that was read to its end.
      if (before === undefined || JSON.stringify(before) !== JSON.stringify(change)) this.#sawAll = false;
      this.requestUpdate();
    });
  }

  override updated(): void {
    this.#look();
    if (!this.#leads) return;
    // The focus stays with the questions, on none of the next one's buttons; after the last it goes back.
    this.#leads = false;
    if (this.#shown) this.#section?.focus();
    else this.#goBack();
  }

  /** Whether all of what would be done was in sight by now: what was scrolled past was. */
  readonly #look = (): void => {
    const body = this.querySelector<HTMLElement>("section[data-request] > .permission-body");
    if (!body) return;
    // On a narrow screen the card can lie behind another tab: then nothing of it is in sight.
    this.#sawAll ||= body.clientHeight > 0 && body.scrollHeight - body.clientHeight - body.scrollTop <= NO_LINE;
    if (this.#unseen === !this.#sawAll) return;
    this.#unseen = !this.#sawAll;
    this.requestUpdate();
  };

  #goBack(): void {
    const from = this.#from?.isConnected ? this.#from : document.querySelector<HTMLElement>("#message");
    this.#from = null;
    from?.focus();
  }

  protected override render(): unknown {
    const shown = this.#shown;
    const waiting = this.agent.asked.length;
    if (!shown) {
      return waiting === 0
        ? nothing
        : html`<button type="button" class="questions-wait" data-testid="questions-wait" @click=${() => this.show()}>${icon("person")}<span>${waiting === 1 ? "1 question waits" : `${waiting} questions wait`}</span><span class="link-like">Show</span></button>`;
    }
    // Each has its own elements: what was typed for one is not there for the next.
    return keyed(shown.id, shown.kind === "permission" ? this.#permission(shown.request) : this.#call(shown.call));
  }

  #permission(request: PermissionRequest): TemplateResult {
    const { requestId, tool, capability, reason, once } = request;
    const again = reason === "unknown_outcome";
    const why = own(REASONS, reason);
    return html`<section class="permission" role="group" tabindex="-1" aria-labelledby="permission-title" aria-describedby="permission-why" data-testid="permission-card" data-request=${requestId} data-reason=${reason} aria-busy=${this.#answering}>
      ${this.#head(html`${visible(request.explanation)}`)}
      <p id="permission-why" class=${why ? "why telling" : "why"}>${why ? `${why} ` : ""}The tool is <code>${visible(tool)}</code>.${request.outside?.length ? html` <span data-testid="permission-outside">${reason === "external_text" ? "It comes" : "The conversation holds text"} from: ${request.outside.map(originWords).join("; ")}.</span>` : nothing}${capability ? html` <span class="needs">It needs <code>${visible(capability)}</code>.</span>` : nothing}${once && !again ? html` <span data-testid="permission-once">It leaves nothing of the page’s text, so it is allowed one call at a time.</span>` : nothing}</p>
      <div class=${this.#unfolded ? "permission-body unfolded" : "permission-body"} tabindex="0" role="group" aria-label="What it would do" data-testid="permission-body" @scroll=${this.#look}>${this.#what(request)}</div>
      ${this.#unseen || this.#unfolded ? this.#size(request) : nothing}
      ${this.#refused()}
      <form class="permission-answers" @submit=${(event: Event) => (event.preventDefault(), this.#answer("deny"))}>
        ${this.#wording
          ? html`<input name="word" type="text" autocomplete="off" maxlength="500" aria-label="A word to the model, with the denial" placeholder="Why not? The model reads this." data-testid="permission-word" />`
          : nothing}
        ${this.#button("allow_once", again ? "Run it again" : "Allow once", "primary")}
        ${once ? nothing : this.#button("always_allow", "Always allow", "", "Until the agent stops, the conversation is cleared, or you revoke it under Tools")}
        ${this.#button("deny", again ? "Do not run it" : "Deny")}
        ${this.#wording ? nothing : html`<button type="button" class="ghost icon-only" data-testid="permission-with-word" aria-label="Deny with a word" title="Deny with a word to the model" @click=${this.#askWord}>${icon("chat")}</button>`}
      </form>
    </section>`;
  }

  /** A call of a tool without a function: the person gives its outcome. */
  #call(call: ToolCall): TemplateResult {
    return html`<section class="permission" role="group" tabindex="-1" aria-labelledby="permission-title" aria-describedby="permission-why" data-testid="call-card" data-call=${call.toolCallId} aria-busy=${this.#answering}>
      ${this.#head(html`What is the outcome of <code>${visible(call.tool)}</code>?`)}
      <p id="permission-why" class="why">No function of this page answers this call, so the agent waits for you.</p>
      <div class="permission-body">${exact(call.arguments)}</div>
      ${this.#refused()}
      <form class="permission-answers" @submit=${(event: Event) => (event.preventDefault(), this.#give(call, false))}>
        <textarea name="outcome" rows="2" aria-label="The outcome, as text or JSON" placeholder="The outcome, as text or JSON" data-testid="call-outcome"></textarea>
        <button type="submit" class="primary" data-testid="call-give" aria-disabled=${this.#inert}>Give the result</button>
        <button type="button" data-testid="call-fail" aria-disabled=${this.#inert} @click=${() => this.#give(call, true)}>It failed</button>
      </form>
    </section>`;
  }

  #head(title: TemplateResult): TemplateResult {
    const { size } = this.#row;
    const { asked } = this.agent;
    const at = size - asked.length + asked.findIndex(({ id }) => id === this.#shown?.id) + 1;
    return html`<header>${icon("permission")}<h3 id="permission-title">${title}</h3>${size > 1 ? html`<span class="muted small-text" data-testid="permission-count">${at} of ${size}</span>` : nothing}
      <button type="button" class="ghost small" data-testid="permission-later" title="Answers nothing: the question waits" aria-disabled=${this.#answering} @click=${() => this.#shown && this.#putAside(this.#shown)}>Later</button></header>`;
  }

  /** A page's change as a difference, with the arguments behind it where it tells all of them; else the arguments. */
  #what({ requestId, arguments: args }: PermissionRequest): TemplateResult {
    const change = this.#change?.of === requestId ? this.#change.change : null;
    if (!change) return exact(args);
    const { title, lines, whole } = change;
    return html`<p class="change-title">${visible(title)} <span class="muted">${counted(lines)}</span></p>
      ${before(change)}
      ${diffView(lines, "What it would change")}
      ${whole ? html`<details class="exact"><summary>${icon("chevron")}Exact arguments</summary>${exact(args)}</details>` : html`<p class="muted">Exact arguments</p>${exact(args)}`}`;
  }

  /** How much there is of what is not in sight yet. */
  #size({ arguments: args }: PermissionRequest): TemplateResult {
    return html`<p id="permission-size" class="muted" data-testid="permission-size">${measured(args)} ${this.#unseen ? "Scroll to the end to allow it." : ""}
      <button type="button" class="ghost small" data-testid="permission-unfold" aria-expanded=${this.#unfolded} @click=${this.#unfold}>${this.#unfolded ? "Show less" : "Show more"}</button></p>`;
  }

  readonly #unfold = (): void => {
    this.#unfolded = !this.#unfolded;
    this.requestUpdate();
  };

  #button(answer: PermissionAnswer, label: string, kind = "", title = ""): TemplateResult {
    // Not `disabled`: a button that is pressed would lose the focus, and a screen reader its place.
    const closed = this.#closed(answer);
    return html`<button type="button" class=${kind} title=${title || nothing} data-testid=${`permission-${answer}`} aria-disabled=${this.#inert || closed} aria-describedby=${closed && this.#unseen ? "permission-size" : nothing} @click=${() => this.#answer(answer)}>${label}</button>`;
  }

  #refused(): TemplateResult | typeof nothing {
    const error = this.#error;
    return error ? html`<p class="danger-text" role="alert">${icon("alert")}${sentence(error.message, true)} ${sentence(error.hint ?? "", true)}</p>` : nothing;
  }

  get #inert(): boolean {
    return this.#answering || !this.#settled;
  }

  readonly #askWord = (): void => {
    this.#wording = true;
    this.requestUpdate();
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("[name=word]")?.focus());
  };

  #putAside({ id }: Asked): void {
    if (this.#answering) return;
    this.#later.add(id);
    this.requestUpdate();
  }

  /** Leave waits for what was never in sight, and for what is not worked out yet. */
  #closed(answer: PermissionAnswer): boolean {
    return answer !== "deny" && (this.#unseen || this.#change?.of !== this.#shown?.id);
  }

  #answer(answer: PermissionAnswer): void {
    if (this.#closed(answer)) return this.querySelector<HTMLElement>(".permission-body")?.focus();
    const word = this.querySelector<HTMLInputElement>("[name=word]")?.value.trim();
    // Leave is for the text that is shown, so a newer one is not overwritten.
    const pageVersion = this.#change?.change?.version;
    const said = answer === "deny" ? word && { reason: word } : pageVersion && { pageVersion };
    void this.#reply((id) => this.agent.answer(id, answer, said || {}));
  }

  #give({ toolCallId }: ToolCall, failed: boolean): void {
    const field = this.querySelector<HTMLTextAreaElement>("[name=outcome]");
    const text = field?.value ?? "";
    if (failed && !text.trim()) {
      this.#error = { code: "invalid_arguments", message: "Write what went wrong", retryable: false };
      field?.focus();
      return this.requestUpdate();
    }
    void this.#reply(() => this.agent.resolve(toolCallId, failed ? { error: text } : { result: read(text) }));
  }

  async #reply(reply: (id: string) => Promise<ErrorInfo | null>): Promise<void> {
    const id = this.#shown?.id;
    if (!id || this.#inert) return;
    [this.#answering, this.#error, this.#mine] = [true, null, id];
    this.requestUpdate();
    const error = await reply(id);
    // Answered, the question goes with the next snapshot.
    if (this.#shown?.id === id) [this.#answering, this.#error] = [error === null, error];
    this.requestUpdate();
  }
}
customElements.define("permission-card", PermissionCard);

/** What the page was before the conversation changed it. */
function before({ past = {}, pastLines }: Change): TemplateResult {
  const { made, title, text } = past;
  const told = made ? "This conversation has made this page." : title === undefined ? "" : `Before this conversation it was called “${visible(title)}”.`;
  return html`${told ? html`<p class="muted" data-testid="permission-before">${told}</p>` : nothing}
    ${pastLines === undefined || text === undefined
      ? nothing
      : html`<details class="exact" data-testid="permission-former"><summary>${icon("chevron")}This conversation has changed it already: show all of that</summary>${diffView(pastLines, "What this conversation would have changed")}${pastLines ? nothing : html`<p class="muted">What it said before</p><pre class="exact-arguments" tabindex="0" role="group" aria-label="What it said before">${visible(text)}</pre>`}</details>`}`;
}

function exact(args: unknown): TemplateResult {
  return html`<pre class="exact-arguments" tabindex="0" role="group" aria-label="Exact arguments" data-testid="exact-arguments">${exactJson(args)}</pre>`;
}

/** The question, for someone who hears it. */
function spoken(asked: Asked): string {
  if (asked.kind === "call") return `The agent asks for the outcome of ${asked.call.tool}.`;
  const { capability, explanation, reason } = asked.request;
  const needs = capability ? ` It needs ${capability}.` : "";
  return reason === "unknown_outcome" ? `The agent asks whether to do this again: ${explanation}${needs}` : `The agent asks: ${explanation}${needs}`;
}

/** What was written: the JSON it is, else the text. */
function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
