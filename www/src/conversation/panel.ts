// The right side: state of the agent, the conversation, the composer.
//
// Decides: what is offered in each state (first visit, stopped, refused command), and what is spoken. The thread and
// the composer are made once and owned by hand; lit draws what stands around them.
import { html, nothing, type TemplateResult } from "lit";
import type { Agent, Retry } from "../agent.ts";
import { describe, spent } from "../models.ts";
import type { PageStore } from "../pages/store.ts";
import { Component } from "../shell/changing.ts";
import { onAction } from "../shell/dom.ts";
import { icon } from "../shell/icons.ts";
import { MAIN } from "../sessions/places.ts";
import { stillOf, type SessionStore } from "../sessions/store.ts";
import { takeDrops } from "../shell/drops.ts";
import type { Speech } from "./speech.ts";
import { PermissionCard } from "../permission/card.ts";
import { duration, reason, told } from "../words.ts";
import { meter } from "./meter.ts";
import { shortens } from "./shortened.ts";
import { Composer } from "./composer.ts";
import { QueueList } from "./queue.ts";
import { Thread } from "./thread.ts";

/** Questions to try; the first answers are in the samples. */
const QUESTIONS = ["What pages mention dragons?", "List all pages about history.", "Read the content of all three chapter pages and summarize them together."];
const STILL_EVERY = 7_000;
/** After these nothing works any more in this page; what is stored is not touched. */
const RELOAD = new Set<string>(["panicked", "workspace_closed", "workspace_deleted", "ownership_lost"]);

/** The conversation panel. */
export class ConversationPanel extends Component {
  agent!: Agent;
  pages!: PageStore;
  sessions!: SessionStore;
  speech!: Speech;
  /** Leads to a run in the journal. */
  onJournal: (run: string) => void = () => undefined;
  /** Whether the samples are offered here (they are offered in the middle where there is one). */
  offersSamples = false;
  thread!: Thread;
  composer!: Composer;
  card!: PermissionCard;
  queue!: QueueList;
  /** A question waits for the samples. */
  #trying = false;
  #wasBusy = false;
  #wasWorking = false;
  #still: ReturnType<typeof setInterval> | undefined;
  #told = "";
  #toldRetry: Retry | null = null;
  #toldShortening = "";
  /** The session that was spoken of. */
  #spokenOf = "";

  static override properties = { offersSamples: { type: Boolean } };

  /** Gives the panel what it shows; before it enters the page. */
  init(agent: Agent, pages: PageStore, sessions: SessionStore, speech: Speech): this {
    Object.assign(this, { agent, pages, sessions, speech });
    this.thread = new Thread(agent);
    this.composer = new Composer(agent, (text) => speech.say(text), () => sessions.needed);
    this.card = (document.createElement("permission-card") as PermissionCard).init(agent, pages, speech);
    this.queue = (document.createElement("queue-list") as QueueList).init(agent, sessions, (text, why) => this.composer.put(text, why));
    this.watch(agent, pages, sessions, agent.settings);
    onAction(this, (action, element) => this.#act(action, element));
    // They go with the next message.
    takeDrops(this, (files) => this.composer.attach(files));
    return this;
  }

  protected override refocus(): void {
    this.composer.input.focus();
  }

  override updated(): void {
    this.composer.update();
    this.thread.update();
    this.#speak();
  }

  protected override render(): TemplateResult {
    const { agent } = this;
    const empty = agent.shown.messages.length === 0;
    const { current, damaged } = this.sessions;
    const named = agent.session !== MAIN;
    return html`
      <section class="conversation" aria-label="Conversation" data-testid="conversation-panel" data-status=${agent.snapshot.status} ?data-still=${this.sessions.needed !== ""} data-region>
        <header class="pane-head">
          <h2 title=${current && named ? current.name : nothing} data-testid="conversation-name">${current && named ? current.name : "Conversation"}</h2>
          ${this.#state()}
          ${empty || damaged ? nothing : html`<button type="button" class="ghost icon-only" data-action="clear" aria-label="Clear conversation" title="Clear conversation">${icon("eraser")}</button>`}
          ${agent.running
            ? html`<button type="button" class="ghost icon-only" data-action="stop-agent" aria-label="Stop Agent" title="Stop Agent">${icon("power")}</button>`
            : nothing}
        </header>
        ${empty && agent.snapshot.status !== "loading" ? (damaged ? this.#unread() : named ? this.#begin() : this.#welcome()) : nothing}
        <div class="thread-place" ?hidden=${empty}>${this.thread.element}</div>
        <div class="dock">${this.#problem()}${this.#elsewhere()}${agent.looksBack ? this.#looksBack() : nothing}${this.#standsStill() ?? (empty && !named ? nothing : this.#stopped())}${this.card}${this.queue}${this.composer.element}${this.#destination()}${empty ? nothing : this.#spent()}</div>
      </section>
    `;
  }

  /** The dot and its word. */
  #state(): TemplateResult {
    const { lifecycle } = this.agent;
    // It is the whole workspace's: a session may be stopped beside it.
    return html`<span class="agent-of">Agent<span class="agent-state" data-testid="agent-status" data-lifecycle=${lifecycle} title=${lifecycle === "Suspended" ? "It waits for you, or for a session that is benched" : nothing}><span class="dot" aria-hidden="true"></span>${lifecycle}</span></span>`;
  }

  #welcome(): TemplateResult {
    const { agent, pages } = this;
    return html`
      <div class="welcome">
        ${agent.running
          ? html`<div class="welcome-mark">${icon("sparkles")}</div>
              <h3>Ready</h3>
              <p class="muted">${agent.answerer.id === "offline" ? "The offline model answers by rules, without network. It knows your pages through tools." : `Answers come from ${agent.answerer.label}.`}</p>`
          : html`<div class="setup" data-testid="agent-settings-setup">
              <div class="welcome-mark">${icon("bot")}</div>
              <h3>An agent that lives in this page</h3>
              <p>The agent is not running. It starts with the ${agent.answerer.id === "offline" ? "offline model: no key, no network" : `model ${agent.answerer.label}`}.</p>
              <div class="row center">
                <button type="button" class="primary" data-action="start" data-testid="start-agent">${icon("play")}Start Agent</button>
                <button type="button" data-action="settings">${icon("key")}Use your own key</button>
              </div>
            </div>`}
        ${this.offersSamples && pages.empty
          ? html`<p class="muted">No pages yet.</p><button type="button" data-action="samples" data-testid="load-samples">${icon("file-plus")}Load samples</button>`
          : nothing}
        <div class="questions" role="group" aria-labelledby="questions-label">
          <p class="muted small-text" id="questions-label">${pages.empty ? "Or try a question: it loads the samples first" : "Questions to try"}</p>
          ${QUESTIONS.map((q) => html`<button type="button" class="question" data-action="ask" data-question=${q}>${icon("chat")}<span>${q}</span></button>`)}
        </div>
        <p class="muted small-text">For developers: <a href="./examples/own-tool.html" target="_blank">a tool of your own, in ten lines</a>, <a href=${`./examples/viewer.html?workspace=${encodeURIComponent(this.agent.workspace.name)}`} target="_blank">a viewer of this one</a>, and <a href="./docs/" target="_blank">the documents</a></p>
      </div>
    `;
  }

  /** A session with a name in which nothing was said yet. */
  #begin(): TemplateResult {
    const { label } = this.agent.answerer;
    return html`<div class="welcome"><div class="welcome-mark">${icon("sessions")}</div>
      <h3>${this.sessions.current?.name ?? "A new session"}</h3>
      <p class="muted">Nothing was said yet. It lasts over reloads, has a record of its own, and is answered by ${label}. “exit” ends it.</p></div>`;
  }

  /** A damaged session of which nothing can be shown; what can be done about it stands below. */
  #unread(): TemplateResult {
    return html`<div class="welcome"><div class="welcome-mark danger">${icon("alert")}</div><h3>Nothing of it can be read</h3></div>`;
  }

  /** A session that is damaged: what can be done with it. */
  #damaged(): TemplateResult {
    const { agent, sessions } = this;
    const { session } = agent;
    // What the package cannot even look at, it cannot make whole or save either.
    const readable = agent.snapshot.error?.code !== "corrupt";
    // Where the list is not beside it, a refusal is told here.
    const refused = matchMedia("(max-width: 899px)").matches && sessions.problem ? told(sessions.problem).text : "";
    return html`<div class="note warn docked" data-testid="session-damaged">${icon("alert")}
      <p>This conversation is damaged.<span class="hint">Your browser has lost ${readable ? "a part of it" : "it"}, or something has changed it.${readable ? " Made whole, it goes on with what can still be read." : ""}</span>${refused ? html`<span class="hint">${refused}</span>` : nothing}</p>
      <div class="row">
        ${readable
          ? html`<button type="button" class="primary" @click=${() => void sessions.salvage(session, true)} data-testid="salvage">Make it whole</button>
              <button type="button" class="small" @click=${() => void sessions.save(session)} title="With what is damaged, as it is stored">Save its file</button>`
          : nothing}
        ${session === MAIN
          ? html`<button type="button" class="small" data-action="clear">Begin anew</button>`
          : html`<button type="button" class="small" @click=${() => void sessions.remove(session)}>Remove it</button>`}
      </div>
      ${readable
        ? html`<details class="support"><summary>${icon("chevron")}Other ways on</summary><div class="row">
            <button type="button" class="small" @click=${() => void sessions.salvage(session, false)}>Make a whole copy, and keep this one</button>
            <button type="button" class="small" data-action="show-journal">Show its journal</button></div></details>`
        : nothing}</div>`;
  }

  /** The session takes no prompts: what to do about it. Null where it takes them. */
  #standsStill(): TemplateResult | null {
    const { agent } = this;
    const { current, damaged } = this.sessions;
    if (damaged) return this.#damaged();
    if (!current || agent.busy) return null;
    const way = stillOf(current);
    if (!way) return null;
    return html`<div class="note ${way.sign === "warning" ? "warn" : "quiet"} docked" data-testid="session-still">${icon(way.sign)}
      <p>${way.what}${way.recommended ? html`<span class="hint">Recommended: ${way.recommended}.</span>` : nothing}${this.#needsKey()}</p>
      <div class="row">
        ${way.settings || agent.settings.needsKey ? html`<button type="button" data-action="settings">Open settings</button>` : nothing}
        <button type="button" class="primary" @click=${() => void this.sessions.goOn(current.id, way.action)} data-testid="session-go-on">${way.label}</button>
      </div>
      ${way.others.length
        ? html`<details class="support" data-testid="other-ways"><summary>${icon("chevron")}Other ways on</summary><div class="row">${way.others.map(([action, words]) => html`<button type="button" class="small" @click=${() => void this.sessions.goOn(current.id, action)}>${words}</button>`)}</div></details>`
        : nothing}</div>`;
  }

  /** An earlier version is shown. */
  #looksBack(): TemplateResult {
    return html`<div class="note quiet docked" data-testid="looks-back">${icon("history")}<p>You are looking at an earlier version of this conversation.</p>
      <div class="row"><button type="button" data-action="look-away">Back to the present one</button></div></div>`;
  }

  #stopped(): TemplateResult | typeof nothing {
    const { agent } = this;
    if (agent.running || agent.lifecycle === "Starting" || agent.snapshot.status === "loading") return nothing;
    const failed = agent.lifecycle === "Error";
    const asks = agent.asks ? " A question waits for you: start it to answer." : "";
    const { lifecycle } = agent.status;
    return html`<div class="note ${failed ? "danger" : "quiet"} docked" data-testid="agent-stopped">
      ${icon(failed ? "alert" : "power")}
      <p>${failed && typeof lifecycle === "object" ? `The agent stopped: ${lifecycle.Error}` : `The agent is not running.${asks}`}${this.#needsKey()}</p>
      <div class="row">
        ${agent.settings.needsKey ? html`<button type="button" data-action="settings">Open settings</button>` : nothing}
        <button type="button" class="primary" data-action="start" data-testid="start-agent">Start Agent</button>
      </div>
    </div>`;
  }

  /** Which tab runs the agent, where it is not this one, or has not been so far. */
  #elsewhere(): TemplateResult | typeof nothing {
    const { elsewhere, moved, running, standsBy, settings } = this.agent;
    if (!elsewhere && !(moved === "here" && running)) return nothing;
    if (!elsewhere)
      return html`<div class="note quiet docked" role="status" data-testid="moved-here">${icon("sessions")}<p>This tab runs the agent now: the one before is gone.${this.#needsKey()}</p>
        <div class="row">${settings.needsKey ? html`<button type="button" data-action="settings">Open settings</button>` : nothing}<button type="button" class="ghost icon-only" data-action="settle" aria-label="Dismiss">${icon("x")}</button></div></div>`;
    const lacks = settings.needsKey;
    const way = standsBy ? " When it is closed, this one goes on." : lacks ? " To go on when it is closed, or to take over, this one needs the key: enter it in the settings." : "";
    return html`<div class="note quiet docked" role="status" data-testid="elsewhere" data-stands-by=${standsBy}>${icon("sessions")}<p>${moved === "away" ? "Another tab has taken the agent over." : "Another tab runs the agent."}<span class="hint">It does what you ask here.${way}</span></p>
      <div class="row">${lacks
        ? html`<button type="button" data-action="settings">Open settings</button>`
        : html`<button type="button" data-action="take-over" data-testid="take-over">Take over</button>`}</div></div>`;
  }

  #needsKey(): TemplateResult | typeof nothing {
    return this.agent.settings.needsKey ? html`<span class="hint">The key was kept in memory only: enter it again in the settings.</span>` : nothing;
  }

  #problem(): TemplateResult | typeof nothing {
    const { problem } = this.agent;
    if (!problem) return nothing;
    const { text, hint } = told(problem);
    return html`<div class="note danger docked" data-testid="problem" data-code=${problem.code}>
      ${icon("alert")}
      <p>${text}${hint ? html`<span class="hint">${hint}</span>` : nothing}</p>
      <div class="row">
        ${RELOAD.has(problem.code) ? html`<button type="button" data-action="reload">Reload</button>` : nothing}
        ${["invalid_config", "not_configured", "auth"].includes(problem.code) ? html`<button type="button" data-action="settings">Open settings</button>` : nothing}
        <button type="button" class="ghost icon-only" data-action="dismiss" aria-label="Dismiss">${icon("x")}</button>
      </div>
    </div>`;
  }

  /** Who reads along. */
  #destination(): TemplateResult {
    const { label, destination, plain } = this.agent.answerer;
    return html`<div class="dock-foot">
      <p class="destination"><button type="button" class="link" data-action="settings">${label}</button><span>${destination ? `to ${destination}${plain ? ", not encrypted" : ""}` : "nothing leaves this page"}</span></p>
      ${this.composer.hint}
    </div>`;
  }

  /** What the conversation has used so far, and what the model takes and costs. */
  #spent(): TemplateResult | typeof nothing {
    const { spent: used, answerer } = this.agent;
    const model = answerer.facts ? describe(answerer.facts, true) : "";
    const { context } = this.agent;
    return html`${context ? meter(context, this.#keepsLength()) : nothing}${used || model ? html`<p class="session-usage" data-testid="session-usage">${used ? html`<span>This conversation: ${spent(used)}</span>` : nothing}${model ? html`<span data-testid="model-facts">${model}</span>` : nothing}</p>` : nothing}`;
  }

  /** Why the conversation cannot be made shorter now; empty: it can. */
  #keepsLength(): string {
    const { agent, sessions } = this;
    if (agent.busy) return "Not while an answer is being written";
    if (sessions.needed || sessions.damaged) return "Not while the session stands still";
    return agent.snapshot.messages.some(({ role, parts, status }) => role === "assistant" && status === "complete" && parts.length > 0) ? "" : "Nothing was answered yet";
  }

  #act(action: string, element: HTMLElement): void {
    const { agent } = this;
    switch (action) {
      case "start": void this.#start(); break;
      case "stop-agent": void agent.stop(); break;
      case "interrupt": this.composer.stop(); break;
      case "continue": void agent.resume(); break;
      case "ask": void this.#try(element.dataset["question"] ?? ""); break;
      case "samples": void this.pages.loadSamples(); break;
      case "earlier": this.thread.earlier(); break;
      case "to-end": this.thread.toEnd(); break;
      case "reload": location.reload(); break;
      case "take-over": void agent.takeOver(); break;
      case "settle": agent.settle(); break;
      case "dismiss": agent.dismiss(); break;
      case "copy-code": void copy(element, element.closest(".code-block")?.querySelector("code")?.textContent ?? ""); break;
      case "edit-message": {
        const view = this.thread.messageAt(element);
        view?.edit((text) => agent.edit(view.message, text));
        break;
      }
      case "regenerate": {
        const view = this.thread.messageAt(element);
        if (view) void agent.regenerate(view.message);
        break;
      }
      case "earlier-version":
      case "later-version": void agent.look(element.dataset["version"] ?? ""); break;
      case "shorten":
        // It keeps the focus, so that it is not disabled as a button is.
        if (element.getAttribute("aria-disabled") !== "true") void agent.shorten();
        break;
      case "look-away": agent.lookAway(); break;
      case "in-journal": this.onJournal(this.thread.messageAt(element)?.message.runId ?? ""); break;
      case "copy-message": void copy(element, this.thread.messageAt(element)?.source ?? ""); break;
      // "settings", "memories" and "clear" are the shell's: they open a dialog.
      default: break;
    }
  }

  /** Who just looks (the offline model, no page, no word yet) gets the samples too: there would be nothing to ask about. */
  async #start(): Promise<void> {
    const { agent, pages } = this;
    const looks = agent.settings.choice.provider === "offline" && pages.empty && agent.snapshot.messages.length === 0;
    if (looks) await pages.loadSamples();
    if (await agent.start()) this.composer.input.focus();
  }

  /** The questions are about the samples: an empty workspace gets them first. */
  async #try(question: string): Promise<void> {
    if (this.#trying) return;
    this.#trying = true;
    this.composer.input.focus();
    await this.pages.loaded();
    if (this.pages.empty) await this.pages.loadSamples();
    this.#trying = false;
    this.composer.ask(question);
  }

  /** Start, end and failure of an answer, in words. */
  #speak(): void {
    const { agent, speech } = this;
    if (agent.session !== this.#spokenOf) {
      // Another conversation begins and ends nothing by being shown.
      this.#spokenOf = agent.session;
      this.#wasWorking = false;
      clearInterval(this.#still);
      this.#wasBusy = agent.busy;
    }
    if (agent.working !== this.#wasWorking) {
      this.#wasWorking = agent.working;
      clearInterval(this.#still);
      if (agent.working) this.#still = setInterval(() => agent.retry || speech.say("Still answering"), STILL_EVERY);
    }
    // While a question waits the answer has not ended; the card says what is asked.
    if (agent.busy !== this.#wasBusy) {
      this.#wasBusy = agent.busy;
      if (!agent.busy) this.#tellEnd();
      else if (agent.working && !agent.retry) speech.say("Agent is answering");
    }
    if (agent.retry && agent.retry !== this.#toldRetry) {
      const { provider, error, at } = agent.retry;
      speech.say(`${provider}: ${error ? `${reason(error)}, ` : ""}asked again in ${duration(Math.max(0, at - performance.now()))}`);
    }
    this.#toldRetry = agent.retry;
    const shortening = agent.shortening ? shortens(agent.shortening) : "";
    if (shortening && shortening !== this.#toldShortening) speech.say(shortening);
    this.#toldShortening = shortening;
    const problem = agent.problem ? told(agent.problem).text : "";
    if (problem && problem !== this.#told) speech.alert(problem);
    this.#told = problem;
  }

  #tellEnd(): void {
    const { snapshot } = this.agent;
    const last = snapshot.messages[snapshot.messages.length - 1];
    const error = last?.error ?? snapshot.error;
    if (error) this.speech.alert(told(error).text);
    else if (last?.status === "interrupted") this.speech.say("Session interrupted.");
    else if (last?.compactions && last.parts.length === 0) this.speech.say("The conversation is shorter now for the model");
    else {
      const words = last?.parts.reduce((n, p) => n + (p.type === "text" ? p.text.split(/\s+/).filter(Boolean).length : 0), 0) ?? 0;
      this.speech.say(`Answer complete, ${words} words`);
    }
  }
}
customElements.define("conversation-panel", ConversationPanel);

async function copy(button: HTMLElement, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.dataset["copied"] = "yes";
    setTimeout(() => delete button.dataset["copied"], 1_500);
  } catch {
    button.dataset["copied"] = "no";
  }
}
