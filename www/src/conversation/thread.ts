// The list of messages of the session that is shown: mounted from the end, drawn once a frame, followed unless the reader
// is elsewhere.
//
// Decides: what is in the document (the last hundred entries, more on request) and when it is drawn (one
// requestAnimationFrame, and a hidden tab only collects). Promises: who comes back to a session, or to the page, reads
// on where they were. Nodes of what did not change are not touched. One frame's work is bounded. `data-drawing` is
// there as long as something is not drawn. Leaves to others: single messages (`message.ts`), scrolling (`follow.ts`).
import type { Message, Snapshot } from "lodger";
import type { Place } from "../journal/panel.ts";
import { Readings, type Reading } from "../sessions/places.ts";
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { Follow } from "./follow.ts";
import { MessageView, errorNote } from "./message.ts";
import { RunLine } from "./run-line.ts";
import type { Agent } from "../agent.ts";

/** Entries in the document at first, and how many "earlier" adds. */
const MOUNTED = 100;
/** A reader far up is led back as far as this many entries. */
const MOST_MOUNTED = 400;
/** Milliseconds of drawing in one frame. */
const BUDGET = 4;

/** The conversation of one agent. */
export class Thread {
  readonly element = h("div", { class: "thread" });
  readonly #log = h("div", { class: "log", role: "log", "aria-live": "off", "aria-label": "Messages", tabindex: 0 });
  readonly #earlier = h("button", { type: "button", class: "earlier", "data-action": "earlier", hidden: true });
  readonly #list = h("div", { class: "messages" });
  readonly #toEndWord = h("span", {});
  readonly #toEnd = h("button", { type: "button", class: "to-end", "data-action": "to-end", hidden: true }, this.#toEndWord, iconNode("arrow-down"));
  readonly #views = new Map<string, MessageView>();
  readonly #follow: Follow;
  readonly #runLine: RunLine;
  #failure: HTMLElement | null = null;
  #failureKey = "";
  #shown = MOUNTED;
  #frame = 0;
  #pending: Snapshot | null = null;
  #benched = false;
  #last: Snapshot | null = null;
  /** What the conversation was when the reader left its end. */
  #left: Snapshot | null = null;
  /** The session whose messages these are. */
  #session: string;
  readonly #readings: Readings;
  /** Where the reader was before; until it is drawn, or the reader goes elsewhere. */
  #backTo: Reading | null;
  /** What the journal points at. */
  #marked: HTMLElement | null = null;

  constructor(private readonly agent: Agent) {
    this.#session = agent.session;
    this.#readings = new Readings(agent.workspace.name);
    this.#backTo = this.#readings.of(agent.session);
    this.#runLine = new RunLine(agent);
    this.#log.append(this.#earlier, this.#list, this.#runLine.element);
    this.element.append(this.#log, this.#toEnd);
    this.#follow = new Follow(this.#log, (pinned) => {
      this.#left = pinned ? null : agent.shown;
      this.#wayBack();
    });
    for (const type of ["wheel", "touchmove", "keydown", "pointerdown"]) this.#log.addEventListener(type, () => (this.#backTo = null), { passive: true });
    addEventListener("pagehide", () => this.#keepPlace());
    document.addEventListener("visibilitychange", () => document.hidden && this.#keepPlace());
    document.addEventListener("selectionchange", () => this.#schedule());
    agent.addEventListener("change", () => this.update());
    this.update();
  }

  /** Where F6 goes. */
  get region(): HTMLElement {
    return this.#log;
  }

  /** Draws the newest snapshot with the next frame. */
  update(): void {
    if (this.#session !== this.agent.session) this.#turn();
    this.#pending = this.agent.shown;
    this.#schedule();
  }

  /** Shows where in the conversation something of the journal stands; null: nowhere. */
  mark(place: Place | null): void {
    if (this.#marked) delete this.#marked.dataset["marked"];
    this.#marked = null;
    if (!place) return;
    const { messages } = this.agent.shown;
    // What is shown may have changed just now.
    this.update();
    if (this.#pending !== this.#last) this.#draw();
    const at = messages.findLastIndex(({ runId, role }) => runId === place.run && (role === "user") === place.asked);
    const message = messages[at] ?? messages.find(({ runId }) => runId === place.run);
    if (!message) return;
    this.#mount(messages.length - messages.indexOf(message));
    const { element } = this.#views.get(message.id) ?? {};
    // A group that is folded hides its cards.
    const card = place.call ? element?.querySelector<HTMLElement>(`[data-call="${CSS.escape(place.call)}"]`) : null;
    const marked = card && !card.hidden ? card : element;
    if (!marked) return;
    this.#marked = marked;
    marked.dataset["marked"] = "yes";
    this.#backTo = null;
    const { top, height } = marked.getBoundingClientRect();
    const box = this.#log.getBoundingClientRect();
    this.#follow.leaveAt(this.#log.scrollTop + top - box.top - Math.max(16, (box.height - height) / 3));
  }

  /** Another session is shown: the reader's place in this one is kept. */
  #turn(): void {
    this.#keepPlace();
    this.#session = this.agent.session;
    for (const view of this.#views.values()) view.remove();
    this.#views.clear();
    this.#failure?.remove();
    this.#failure = null;
    this.#failureKey = "";
    this.#last = null;
    this.#marked = null;
    this.#shown = MOUNTED;
    this.#backTo = this.#readings.of(this.#session);
    this.#follow.toEnd();
  }

  #keepPlace(): void {
    // One that was not reached again stays as it was; an earlier version has no place.
    if (this.#backTo || this.agent.looksBack) return;
    this.#readings.keep(this.#session, this.#follow.pinned ? null : this.#reading());
  }

  /** The message at the top of the view. */
  #reading(): Reading | null {
    const { top } = this.#log.getBoundingClientRect();
    for (const [message, { element }] of this.#views) {
      const box = element.getBoundingClientRect();
      if (box.height > 0 && box.bottom > top) return { message, above: Math.round(top - box.top) };
    }
    return null;
  }

  /** Leads back to where the reader was; again, while what stands above grows. */
  #goBack(done: boolean): void {
    const back = this.#backTo;
    if (!back || this.#last?.status === "loading") return;
    const view = this.#views.get(back.message);
    if (view) {
      const from = this.#log.getBoundingClientRect().top;
      this.#follow.leaveAt(this.#log.scrollTop + view.element.getBoundingClientRect().top - from + back.above);
    }
    if (done || !view) this.#backTo = null;
  }

  #mount(entries: number): void {
    // So far up nothing is marked: to mount all of it would hold the page up.
    if (entries <= this.#shown || entries > MOST_MOUNTED) return;
    this.#shown = entries + 10;
    this.#last = null;
    this.#draw();
  }

  /** Goes to the end, and follows from there. */
  toEnd(): void {
    this.#follow.toEnd();
  }

  /** Mounts a hundred more, and keeps what is being read where it is. */
  earlier(): void {
    const before = this.#log.scrollHeight - this.#log.scrollTop;
    this.#shown += MOUNTED;
    this.#last = null;
    this.#draw();
    this.#log.scrollTop = this.#log.scrollHeight - before;
  }

  /** The message that an element lies in. */
  messageAt(element: Element): MessageView | undefined {
    return this.#views.get(element.closest<HTMLElement>("[data-message]")?.dataset["message"] ?? "");
  }

  #schedule(): void {
    if (this.#frame) return;
    this.element.dataset["drawing"] = "yes";
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
      if (!this.#frame) delete this.element.dataset["drawing"];
    });
  }

  #draw(): void {
    const snapshot = this.#pending ?? this.agent.shown;
    const deadline = performance.now() + BUDGET;
    const benched = this.agent.isBenched();
    if (snapshot !== this.#last || this.#runLine.stale || benched !== this.#benched) {
      this.#benched = benched;
      this.#reconcile(snapshot);
    }
    let done = true;
    // The newest first: it is what is being looked at.
    for (const view of [...this.#views.values()].reverse()) done = view.draw(performance.now() > deadline ? 0 : deadline) && done;
    this.#runLine.draw();
    this.#goBack(done);
    this.#follow.keep();
    this.#wayBack();
    if (!done && !this.#waitsForSelection) this.#schedule();
  }

  /** A selection in the open block holds it; `selectionchange` wakes the drawing again. */
  get #waitsForSelection(): boolean {
    const selection = document.getSelection();
    return Boolean(selection && !selection.isCollapsed && this.#list.contains(selection.anchorNode));
  }

  /** The button that leads to the end, while the reader is elsewhere. */
  #wayBack(): void {
    this.#toEnd.hidden = this.#follow.pinned;
    setText(this.#toEndWord, this.#left?.messages === this.agent.shown.messages ? "To the end" : "New text");
  }

  #reconcile(snapshot: Snapshot): void {
    const all = snapshot.messages;
    if (this.#backTo) {
      const at = all.findIndex(({ id }) => id === this.#backTo?.message);
      if (at >= 0) this.#shown = Math.max(this.#shown, Math.min(MOST_MOUNTED, all.length - at + 10));
    }
    const messages = all.slice(-this.#shown);
    const hidden = all.length - messages.length;
    this.#earlier.hidden = hidden === 0;
    this.#earlier.textContent = `Show earlier messages (${hidden})`;

    const wanted = new Set(messages.map((m) => m.id));
    for (const [id, view] of this.#views) {
      if (wanted.has(id)) continue;
      view.remove();
      this.#views.delete(id);
    }
    const busy = this.agent.busy && !this.agent.looksBack;
    const previous = this.#last;
    let next: Node | null = null;
    for (let i = messages.length - 1; i >= 0; i -= 1) {
      const message = messages[i] as Message;
      const last = i === messages.length - 1;
      let view = this.#views.get(message.id);
      const fresh = !view;
      view ??= new MessageView(message);
      // The last ones also depend on the state of the run.
      if (fresh || view.message !== message || i >= messages.length - 2 || previous?.status !== snapshot.status) {
        const growing = last && busy && message.role === "assistant";
        view.update(message, {
          last,
          growing,
          held: last && snapshot.status === "held" && message.role === "assistant",
          benched: this.#benched,
          takeover: this.agent.takeovers.of(message.runId),
          provider: this.agent.answerer.id,
          toolTime: (id) => this.#toolTime(id),
          file: (id) => this.agent.file(id),
          settled: !busy,
          asks: (call) => this.agent.asksFor(call),
        });
      }
      if (fresh) {
        this.#views.set(message.id, view);
        view.placeBefore(this.#list, next);
      }
      next = view.element;
    }
    // The order of the map is the order of the list.
    if (previous === null || messages.some((m, i) => previous.messages[previous.messages.length - messages.length + i]?.id !== m.id)) {
      for (const message of messages) {
        const view = this.#views.get(message.id);
        if (!view) continue;
        this.#views.delete(message.id);
        this.#views.set(message.id, view);
      }
    }
    this.#showFailure(snapshot, messages[messages.length - 1]);
    // A message of one's own always comes into view.
    const newest = all[all.length - 1];
    if (previous && newest?.role === "user" && previous.messages[previous.messages.length - 1]?.id !== newest.id && all.length > previous.messages.length) this.#follow.toEnd();
    this.#last = snapshot;
  }

  /** The error of a run that left no message behind. */
  #showFailure(snapshot: Snapshot, newest: Message | undefined): void {
    const error = snapshot.error && !newest?.error && !this.agent.busy ? snapshot.error : undefined;
    const key = error ? `${error.code}:${error.message}` : "";
    if (key !== this.#failureKey) {
      this.#failureKey = key;
      this.#failure?.remove();
      this.#failure = error ? errorNote(error, true, this.agent.settings.choice.provider) : null;
    }
    if (this.#failure && this.#list.lastChild !== this.#failure) this.#list.append(this.#failure);
  }

  #toolTime(id: string): number | undefined {
    const time = this.agent.toolTimes.get(id);
    return time?.to === undefined ? undefined : time.to - time.from;
  }
}
