// The record of the session that is shown, in the middle: how it stands, what can be done with it, its journal.
//
// Decides: what is offered in each state. Promises: what the chat shows and what is chosen here point at each other.
// Ten thousand entries scroll as ten do. Leaves to others: reading (`store.ts`), what entries mean (`timeline.ts`),
// commands (`../sessions/store.ts`).
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Agent } from "../agent.ts";
import { spent } from "../models.ts";
import { MAIN } from "../sessions/places.ts";
import { usageOf, type Listed, type SessionStore } from "../sessions/store.ts";
import { active, holderOf, standing, verdictOf, wayOn } from "../sessions/words.ts";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";
import { exactJson } from "../shell/visible.ts";
import { WindowList } from "../shell/window-list.ts";
import { errorInfo, told } from "../words.ts";
import { entryDetails } from "./entry-details.ts";
import { EntryRow } from "./row.ts";
import { JournalStore } from "./store.ts";
import { messageIn, SAID, KINDS, type Kind, type Line, type Timeline } from "./timeline.ts";

const HEIGHT = 32;
const HEIGHT_TOUCH = 44;
const FORMATS = [["journal", "Journal"], ["markdown", "Markdown"], ["json", "JSON"]] as const;

/** What of a message is shown: those of a run, and the tool call in it. */
export interface Place {
  run: string;
  /** The message that the run began with, while it has one: an answer that was replaced is found by it. */
  message: string | null;
  /** What the person said, not the answer. */
  asked: boolean;
  call: string | null;
}

type Replayed = { of: string; state: "running" } | { of: string; state: "same" } | { of: string; state: "other"; difference: unknown; by: string } | { of: string; state: "failed"; text: string };

/** The panel. */
export class JournalPanel extends Component {
  agent!: Agent;
  sessions!: SessionStore;
  journal!: JournalStore;
  /** Leads to a message in the chat. */
  onPlace: (place: Place | null) => void = () => undefined;
  #list!: WindowList<Line, EntryRow>;
  #kinds = new Set<Kind>();
  #query = "";
  #chosen = 0;
  #run: string | null = null;
  #of = "";
  /** The record that the journal was read for: a command writes an entry, and may be no event. */
  #record: Listed["state"] | undefined;
  #replayed: Replayed | null = null;
  /** The lines that are shown, of which timeline, how far, by which filter. */
  #filtered: { of: Timeline; lines: number; by: string; shown: Line[] } | null = null;
  /** The end is followed until the reader goes elsewhere. */
  #follows = true;
  readonly #coarse = matchMedia("(pointer: coarse)");

  /** Gives the panel what it shows; before it enters the page. */
  init(agent: Agent, sessions: SessionStore): this {
    Object.assign(this, { agent, sessions });
    this.journal = new JournalStore(agent);
    const chosen = (): { seq: number; run: string | null } => ({ seq: this.#chosen, run: this.#run });
    this.#list = new WindowList<Line, EntryRow>({ label: "Entries of the journal", height: () => (this.#coarse.matches ? HEIGHT_TOUCH : HEIGHT), key: ({ seq }) => String(seq), make: () => new EntryRow(chosen) });
    this.#list.element.addEventListener("click", (event) => {
      const seq = (event.target as Element).closest<HTMLElement>("[data-seq]")?.dataset["seq"];
      if (seq) this.#choose(Number(seq));
    });
    this.#list.element.addEventListener("scroll", () => (this.#follows = this.#list.atEnd), { passive: true });
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#chosen || event.isComposing) return;
      event.preventDefault();
      this.#close();
    });
    this.watch(agent, sessions, this.journal);
    return this;
  }

  /** Comes into view. */
  look(): void {
    this.journal.look();
    this.requestUpdate();
  }

  /** Goes out of view. */
  rest(): void {
    this.journal.rest();
    if (this.#chosen) this.#close();
  }

  /** Leads to where a run stands in the journal. */
  showRun(run: string): void {
    this.#run = run;
    this.#kinds.clear();
    this.#query = "";
    this.#chosen = 0;
    this.#follows = false;
    this.look();
    this.#find(run);
  }

  /** The journal may still be on its way. */
  #find(run: string): void {
    const line = this.journal.timeline.ofRun(run);
    if (line) {
      this.#choose(line.seq);
      void this.updateComplete.then(() => this.#list.show(String(line.seq), true));
    } else if (this.journal.reading) this.journal.addEventListener("change", () => this.#run === run && this.#find(run), { once: true });
  }

  protected override shouldUpdate(_: PropertyValues): boolean {
    // Out of sight it costs nothing.
    return !this.hidden;
  }

  protected override willUpdate(): void {
    const state = this.sessions.current?.state;
    if (state !== this.#record) this.journal.later();
    this.#record = state;
    if (this.#of === this.agent.session) return;
    this.#of = this.agent.session;
    this.#chosen = 0;
    this.#run = null;
    this.#replayed = null;
    this.#follows = true;
  }

  protected override updated(): void {
    this.#list.set(this.#lines());
    this.#list.refresh();
    if (this.#follows) this.#list.toEnd();
  }

  protected override render(): TemplateResult {
    const { current } = this.sessions;
    const { timeline, reading, problem } = this.journal;
    const shown = this.#lines().length;
    const chosen = this.#chosen ? timeline.lines.find(({ seq }) => seq === this.#chosen) : undefined;
    // Where the list is not beside it, a refusal is told here.
    const refused = matchMedia("(max-width: 899px)").matches ? this.sessions.problem : null;
    return html`<section class="page-pane journal-pane" aria-label="Session and its journal" data-testid="journal" data-region>
      ${current ? this.#head(current) : html`<header class="page-title-row"><h2>Main conversation</h2>${this.#closer()}</header><p class="muted">It has no record yet: the agent begins one when it starts.</p>`}
      ${refused ? this.#note("danger", "alert", told(refused).text, told(refused).hint, "session-refused") : nothing}
      <div class="journal-tools">
        <h3>Journal <span class="count" data-testid="journal-count">${timeline.lines.length.toLocaleString("en")}</span></h3>
        <div class="search">${icon("search")}<input type="search" aria-label="Search the journal" placeholder="Search" autocomplete="off" .value=${this.#query} @input=${this.#search} data-testid="journal-search" /></div>
      </div>
      <div class="chips-row" role="group" aria-label="Kinds of entries">${KINDS.map(([kind, label]) => html`<button type="button" class="small chip" aria-pressed=${this.#kinds.has(kind)} data-kind=${kind} @click=${() => this.#toggle(kind)}>${label}</button>`)}</div>
      ${problem ? this.#note("danger", "alert", told(problem).text, told(problem).hint, "journal-problem") : nothing}
      <p class="visually-hidden" role="status">${reading ? "" : `${shown} entries`}</p>
      <div class="journal-list">${this.#list.element}${shown === 0 && !problem ? html`<p class="muted pad">${reading ? "Reading…" : timeline.lines.length ? "No entry matches." : "No entries yet."}</p>` : nothing}</div>
      ${chosen ? entryDetails(chosen, this.#actions(chosen)) : nothing}
    </section>`;
  }

  #closer(): TemplateResult {
    return html`<button type="button" class="ghost icon-only wide-only" data-action="show-page" aria-label="Close the journal" title="Close">${icon("x")}</button>`;
  }

  #head({ id, name, state, verdict, mood }: Listed): TemplateResult {
    const { word, icon: sign } = standing(state.status, mood);
    const seal = verdictOf(verdict);
    const usage = usageOf(state);
    const when = (time: string | null): string | null => (time ? new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : null);
    const facts: [string, string | null][] = [
      ["Operator", [state.operator_subject, state.operator_issuer].filter(Boolean).join(", ")],
      ["Holder", holderOf(state, this.agent.snapshot.holder) || "nobody"],
      ["Model", [state.provider_id, state.model_id].filter(Boolean).join(", ")],
      ["Begun", when(state.started_at)],
      ["Last used", when(state.last_activity_at)],
      ["Used", usage ? spent(usage) : null],
      ["Id", name === id ? null : id],
    ];
    return html`<header class="page-title-row"><h2 data-testid="journal-title">${name}</h2>${this.#closer()}</header>
      <p class="session-badges">
        <span class="badge" data-testid="session-status" data-status=${state.status}>${icon(sign)}${word}</span>
        <span class="badge verdict-${verdict}" data-testid="verdict" data-verdict=${verdict} title=${seal.text}>${icon(seal.icon)}${seal.word}</span>
        <button type="button" class="link" @click=${() => void this.sessions.check(id)} data-testid="check-again">Check again</button>
      </p>
      ${verdict === "verified" ? nothing : html`<p class="muted small-text">${seal.text}</p>`}
      ${verdict === "tampered" ? nothing : this.#wayOn(state)}
      <details class="support" data-testid="session-facts"><summary>${icon("chevron")}About this session</summary><dl>${facts.map(([term, value]) => (value ? html`<div><dt>${term}</dt><dd>${value}</dd></div>` : nothing))}</dl></details>
      <div class="journal-actions">
        ${verdict !== "tampered" && active(state) && id !== MAIN ? html`<button type="button" @click=${() => void this.sessions.stop(id)} data-testid="stop-session">${icon("stop")}Stop session</button>` : nothing}
        <span class="journal-export" role="group" aria-label="Export"><span aria-hidden="true">Export</span>${FORMATS.map(([format, label]) => html`<button type="button" @click=${() => void this.sessions.save(id, format)} data-testid=${`export-${format}`} aria-label=${`Export as ${label}`}>${icon("download")}${label}</button>`)}</span>
        ${verdict === "tampered" ? nothing : this.#again(id)}
        ${id === MAIN ? nothing : html`<button type="button" class="ghost" @click=${() => void this.sessions.remove(id)} data-testid="remove-session">${icon("trash")}Remove</button>`}
      </div>
      ${this.#result()}`;
  }

  /** What needs all that was written. */
  #again(id: string): TemplateResult {
    return html`<button type="button" @click=${() => void this.#replay(id)} ?disabled=${this.#replayed?.state === "running"} data-testid="replay">${icon("replay")}Replay</button>
        <button type="button" @click=${() => void this.sessions.fork(id)} data-testid="fork">${icon("fork")}Fork</button>`;
  }

  /** Why it stands still; what takes it up is beside the conversation. */
  #wayOn(state: Listed["state"]): TemplateResult | typeof nothing {
    const way = wayOn(state);
    if (!way) return nothing;
    const detail = state.recovery_metadata["recovery_detail"];
    return html`<div class="note ${way.sign === "warning" ? "warn" : "quiet"}" data-testid="way-on">${icon(way.sign)}
      <p>${way.what}${typeof detail === "string" && state.status !== "stopped" ? html`<span class="hint">${detail}</span>` : nothing}${way.recommended ? html`<span class="hint">Recommended: ${way.recommended}.</span>` : nothing}</p></div>`;
  }

  #result(): TemplateResult | typeof nothing {
    const done = this.#replayed;
    if (!done) return nothing;
    if (done.state === "running") return html`<p class="muted" role="status">The machine runs again on what was recorded…</p>`;
    if (done.state === "same") return this.#note("quiet", "done", "Replayed: the machine has made the same entries, byte for byte.", "", "replayed", true);
    if (done.state === "failed") return this.#note("danger", "alert", done.text, "", "replayed", true);
    const seq = Number((done.difference as { seq?: number } | undefined)?.seq ?? 0);
    return html`<div class="note danger" role="status" data-testid="replayed" data-state="other">${icon("alert")}<p>Replayed: another way from entry ${seq || "?"} on.<span class="hint">It was recorded by version ${done.by}; another version may decide otherwise.</span></p>
      ${seq ? html`<div class="row"><button type="button" @click=${() => this.#jump(seq)}>Show it</button></div>` : nothing}
      <details class="support"><summary>${icon("chevron")}The difference</summary><pre tabindex="0" role="group" aria-label="The difference">${exactJson(done.difference)}</pre></details></div>`;
  }

  #note(kind: string, sign: "alert" | "done", text: string, hint: string, id: string, dismissable = false): TemplateResult {
    return html`<div class="note ${kind}" role=${kind === "danger" ? "alert" : "status"} data-testid=${id}>${icon(sign)}<p>${text}${hint ? html`<span class="hint">${hint}</span>` : nothing}</p>
      ${dismissable ? html`<button type="button" class="ghost small icon-only" aria-label="Dismiss" @click=${() => ((this.#replayed = null), this.requestUpdate())}>${icon("x")}</button>` : nothing}</div>`;
  }

  /** Where an entry stands in the chat. */
  #place({ seq, run, call, entry }: Line): Place | null {
    if (run === null) return null;
    const first = seq > this.journal.timeline.cleared ? this.journal.timeline.ofRun(run) : undefined;
    return { run, message: first ? messageIn(first.entry) : null, asked: SAID.has(entry.type), call };
  }

  #actions(line: Line): Parameters<typeof entryDetails>[1] {
    const { seq } = line;
    const place = this.#place(line);
    const shown = place && (place.message !== null || this.agent.snapshot.messages.some(({ runId }) => runId === place.run));
    return {
      close: () => this.#close(),
      // What was erased cannot be forked.
      fork: seq <= this.journal.timeline.cleared || this.sessions.damaged ? null : () => void this.sessions.fork(this.agent.session, seq),
      chat: shown ? () => this.onPlace(place) : null,
      copy: (text) => void navigator.clipboard?.writeText(text).catch(() => undefined),
    };
  }

  #lines(): Line[] {
    const { timeline } = this.journal;
    const { lines } = timeline;
    const by = `${[...this.#kinds].join()}\n${this.#query}`;
    const known = this.#filtered;
    if (known?.of === timeline && known.lines === lines.length && known.by === by) return known.shown;
    const words = this.#query.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ kind, seq, word, text, entry }: Line): boolean => {
      if (this.#kinds.size && !this.#kinds.has(kind)) return false;
      if (words.length === 0) return true;
      const told = `${seq} ${word} ${text} ${entry.type} ${entry.hash}`.toLowerCase();
      return words.every((one) => told.includes(one));
    };
    // A journal only grows: what was looked through stays.
    const from = known?.of === timeline && known.by === by ? known.lines : 0;
    const shown = [...(from ? (known?.shown ?? []) : []), ...lines.slice(from).filter(fits)];
    this.#filtered = { of: timeline, lines: lines.length, by, shown };
    return shown;
  }

  readonly #search = (event: Event): void => {
    this.#query = (event.target as HTMLInputElement).value;
    this.requestUpdate();
  };

  #toggle(kind: Kind): void {
    if (!this.#kinds.delete(kind)) this.#kinds.add(kind);
    this.requestUpdate();
  }

  #choose(seq: number): void {
    const line = this.journal.timeline.lines.find((one) => one.seq === seq);
    if (!line) return;
    if (this.#chosen === seq) return this.#close();
    this.#chosen = seq;
    this.#run = line.run;
    this.#follows = false;
    this.requestUpdate();
    // Beside the chat the message lights up at once; where only one fits, a button leads there.
    const place = this.#place(line);
    if (!place || matchMedia("(min-width: 900px)").matches) this.onPlace(place);
    void this.updateComplete.then(() => {
      this.querySelector(".entry-details")?.scrollIntoView({ block: "nearest" });
      this.#list.show(String(seq));
    });
  }

  #jump(seq: number): void {
    this.#kinds.clear();
    this.#query = "";
    if (this.#chosen !== seq) this.#choose(seq);
    void this.updateComplete.then(() => this.#list.show(String(seq), true));
  }

  #close(): void {
    const seq = this.#chosen;
    this.#chosen = 0;
    this.#run = null;
    this.onPlace(null);
    this.requestUpdate();
    void this.updateComplete.then(() => this.contains(document.activeElement) || document.activeElement === document.body ? this.#list.show(String(seq), true) : undefined);
  }

  async #replay(id: string): Promise<void> {
    const { sessions } = this.agent.workspace;
    this.#replayed = { of: id, state: "running" };
    this.requestUpdate();
    let result: Replayed;
    try {
      const { same, firstDifference, package: by } = await sessions.replay(await sessions.export(id));
      result = same ? { of: id, state: "same" } : { of: id, state: "other", difference: firstDifference, by };
    } catch (error) {
      result = { of: id, state: "failed", text: told(errorInfo(error)).text };
    }
    if (this.#of !== id) return;
    this.#replayed = result;
    this.requestUpdate();
  }
}
customElements.define("journal-panel", JournalPanel);
