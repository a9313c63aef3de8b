// One message of the conversation as DOM that is made once and then only changed.
//
// Decides: what stands below a message that did not end well. Promises: one growing element for a run, with a caret at
// its end. Parts keep their nodes. Leaves to others: when to draw and where to scroll (`thread.ts`).
import type { ErrorInfo, Message, Part } from "lodger";
import { FileView } from "./file-view.ts";
import type { ToolCall } from "../agent.ts";
import { spent } from "../models.ts";
import { own } from "../own.ts";
import { h, setText } from "../shell/dom.ts";
import { iconNode, type IconName } from "../shell/icons.ts";
import { MarkdownStream } from "../render/stream.ts";
import { told } from "../words.ts";
import { Remembered } from "./remembered.ts";
import { ShortenedMark } from "./shortened.ts";
import { SourceView } from "./source-view.ts";
import { Thinking } from "./thinking.ts";
import { ToolCard } from "./tool-card.ts";
import { LEAST, ToolGroup } from "./tool-group.ts";

/** A growing text, with markup or without. */
type Text = Pick<MarkdownStream, "set" | "draw" | "selected">;
type View =
  | { type: "text"; stream: Text; element: HTMLElement }
  | { type: "thinking"; thinking: Thinking; element: HTMLElement }
  | { type: "file"; file: FileView; element: HTMLElement }
  | { type: "source"; source: SourceView; element: HTMLElement }
  | { type: "tool-call"; card: ToolCard; element: HTMLElement };

/** What a message asks of its surroundings. */
export interface Surroundings {
  /** Nothing comes after it. */
  last: boolean;
  /** The last message of a run that works. */
  growing: boolean;
  /** The run is held: it goes on when someone says so. */
  held: boolean;
  /** Its session was put aside, which is told elsewhere. */
  benched: boolean;
  /** Whether a call waits for the person. */
  asks(call: ToolCall): boolean;
  /** Which provider took over in its run, if one did. */
  takeover: string | undefined;
  /** The service that is asked. */
  provider: string;
  /** How long a tool took, in milliseconds, if it was watched. */
  toolTime(id: string): number | undefined;
  /** The bytes of a file. */
  file(id: string): Promise<Blob>;
  /** No run works: messages can be edited, and answers made again. */
  settled: boolean;
}

/** The view of one message. */
export class MessageView {
  readonly element: HTMLElement;
  readonly #parts = h("div", { class: "parts" });
  readonly #foot = h("div", { class: "message-foot" });
  /** Who answered, and what it cost. */
  readonly #facts = h("p", { class: "message-facts", "data-testid": "message-facts", hidden: true });
  readonly #takeover = h("p", { class: "takeover", "data-testid": "takeover", hidden: true }, iconNode("takeover"), h("span", {}));
  #views: View[] = [];
  /** Where the conversation was made shorter, the first one first. */
  readonly #shortened: ShortenedMark[] = [];
  readonly #remembered: Remembered | null = null;
  readonly #copy: HTMLButtonElement | null = null;
  /** By the first card. */
  #groups = new Map<ToolCard, ToolGroup>();
  #note: HTMLElement | null = null;
  #noteKey = "";
  readonly #versions = new Versions();
  readonly #again: HTMLButtonElement | null = null;
  #form: HTMLFormElement | null = null;
  message: Message;

  constructor(message: Message) {
    this.message = message;
    const { role } = message;
    const who = role === "user" ? "You" : role === "assistant" ? "Agent" : "Note";
    this.element = h("article", { class: `message ${role}`, "data-testid": `${role}-message`, "data-message": message.id }, h("h3", { class: "visually-hidden" }, who), this.#parts);
    if (role === "system") return;
    const copy = h("button", { type: "button", class: "ghost small icon-only", "data-action": "copy-message", "aria-label": role === "user" ? "Copy your message" : "Copy answer", title: "Copy" }, iconNode("copy"));
    const time = h("time", { datetime: new Date(message.createdAt).toISOString() }, new Date(message.createdAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
    const again = role === "user" ? action("edit-message", "Edit your message", "pencil") : action("regenerate", "Answer again", "continue");
    this.#again = again;
    this.#copy = copy;
    this.#foot.append(time, this.#versions.element, again, copy);
    if (message.runId) this.#foot.append(action("in-journal", "Show in the journal", "journal"));
    if (role === "assistant") {
      this.#parts.before(this.#takeover);
      this.#foot.append(this.#facts);
    } else {
      this.#remembered = new Remembered();
      this.element.append(this.#remembered.element);
    }
    this.element.append(this.#foot);
  }

  /** The exact source of what is said, for the clipboard. */
  get source(): string {
    return this.message.parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n\n");
  }

  /** Takes over the message as it is now. */
  update(message: Message, around: Surroundings): void {
    this.message = message;
    const { growing } = around;
    this.element.classList.toggle("growing", growing);
    this.element.classList.toggle("empty", message.parts.length === 0 && !message.compactions?.length);
    this.element.dataset["status"] = message.status;
    if (message.role === "assistant") this.element.setAttribute("aria-busy", String(growing));
    message.parts.forEach((part, i) => this.#part(i, part, growing && i === message.parts.length - 1, around));
    for (const extra of this.#views.splice(message.parts.length)) drop(extra);
    this.#group();
    this.#shorten(message);
    this.#remembered?.update(message.memories);
    this.#tell(message, around);
    this.#versions.update(message);
    // An answer that only made the conversation shorter says nothing to copy, or to say again.
    const silent = message.role === "assistant" && message.parts.length === 0;
    if (this.#again) this.#again.hidden = !around.settled || around.held || silent;
    if (this.#copy) this.#copy.hidden = silent;
    this.#endNote(message, around);
  }

  /** What the person said becomes a field. `send`: whether the new text was accepted. */
  edit(send: (text: string) => Promise<boolean>): void {
    if (this.#form) return void this.#form.querySelector("textarea")?.focus();
    const field = h("textarea", { "aria-label": "Your message", rows: 2, "data-testid": "edit-text" });
    field.value = this.source;
    const form = h("form", { class: "message-edit", "data-testid": "edit-form" }, field,
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary small" }, "Send"), h("button", { type: "button", class: "small", "data-close": true }, "Cancel")));
    const end = (): void => {
      this.#form = null;
      form.remove();
      this.element.classList.remove("editing");
    };
    const cancel = (): void => {
      end();
      this.#again?.focus();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = field.value.trim();
      // What is refused stays in the field.
      if (text) void send(text).then((accepted) => accepted && end());
    });
    form.querySelector("[data-close]")?.addEventListener("click", cancel);
    field.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Escape") {
        event.preventDefault();
        cancel();
      } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    this.#form = form;
    this.element.classList.add("editing");
    this.#parts.after(form);
    field.focus();
  }

  /** Whether a question waits in it. A call without one may wait for the person, too: that is known once the agent runs. */
  get #asks(): boolean {
    return this.message.parts.some((part) => part.type === "tool-call" && part.status === "waiting" && part.requestId !== undefined);
  }

  /** Draws what is pending until `deadline`; true when nothing is left. */
  draw(deadline: number): boolean {
    let done = true;
    for (const view of this.#views) {
      if (view.type === "text") {
        // What is selected must not be rebuilt under the reader's hand.
        if (view.stream.selected) done = false;
        else done = view.stream.draw(deadline) && done;
      } else if (view.type === "thinking") done = view.thinking.draw(deadline) && done;
    }
    return done;
  }

  #part(i: number, part: Part, open: boolean, around: Surroundings): void {
    let view = this.#views[i];
    const same = view && view.type === part.type && (view.type !== "tool-call" || part.type !== "tool-call" || view.card.continues(part)) && (view.type !== "file" || part.type !== "file" || (view.file.id === part.fileId && view.file.gone === (part.gone === true))) && (view.type !== "source" || part.type !== "source" || view.source.url === part.url);
    if (!view || !same) {
      const fresh = make(part, this.message.role, around);
      if (view) {
        view.element.replaceWith(fresh.element);
        drop(view);
      } else this.#parts.append(fresh.element);
      this.#views[i] = view = fresh;
    }
    if (view.type === "text" && part.type === "text") {
      view.stream.set(part.text, !open);
      view.element.classList.toggle("is-open", open);
    } else if (view.type === "thinking" && part.type === "thinking") view.thinking.update(part.text, open);
    else if (view.type === "source") view.source.stands(this.#views.slice(0, i).flatMap((other) => (other.type === "source" ? [other.source.url] : [])));
    else if (view.type === "tool-call" && part.type === "tool-call") view.card.update(part, { time: around.toolTime(part.toolCallId), settled: !around.growing && !around.held, asks: around.asks(part) });
  }

  /** What the run's answer says comes after it, or around it: the marks stand first. */
  #shorten({ compactions = [] }: Message): void {
    for (const gone of this.#shortened.splice(compactions.length)) gone.element.remove();
    compactions.forEach((compaction, i) => {
      const known = this.#shortened[i];
      if (known?.compaction.at === compaction.at && known.compaction.kind === compaction.kind) return;
      const mark = new ShortenedMark(compaction);
      if (known) known.element.replaceWith(mark.element);
      else this.#parts.before(mark.element);
      this.#shortened[i] = mark;
    });
  }

  /** Calls in a row become a group from the third on. */
  #group(): void {
    const groups = new Map<ToolCard, ToolGroup>();
    for (let i = 0; i < this.#views.length; ) {
      const row: ToolCard[] = [];
      for (let view = this.#views[i]; view?.type === "tool-call"; view = this.#views[++i]) row.push(view.card);
      const first = row[0];
      if (!first) i += 1;
      else if (row.length >= LEAST) {
        const group = this.#groups.get(first) ?? new ToolGroup();
        groups.set(first, group);
        group.update(row);
      }
    }
    for (const [first, group] of this.#groups) if (!groups.has(first)) group.remove();
    this.#groups = groups;
  }

  #tell({ model, usage }: Message, { takeover }: Surroundings): void {
    const facts = [model ?? "", usage ? spent(usage) : ""].filter(Boolean).join(" · ");
    setText(this.#facts, facts);
    this.#facts.hidden = !facts;
    setText(this.#takeover.lastChild as Node, takeover ?? "");
    this.#takeover.hidden = !takeover;
  }

  #endNote(message: Message, { growing, held, benched, last, provider }: Surroundings): void {
    const quiet = growing || (benched && message.status === "partial");
    // What was written down of an answer is damaged: it ends early.
    const early = message.damaged !== undefined;
    const key = quiet ? "" : held ? `held:${early}` : `${last}:${early}:${message.status}:${message.error?.code ?? ""}:${message.error?.message ?? ""}`;
    if (key === this.#noteKey) return;
    this.#noteKey = key;
    this.#note?.remove();
    this.#note = message.status === "damaged" ? damagedNote() : quiet ? null : held ? heldNote(early) : message.error ? errorNote(message.error, last, provider) : message.status === "interrupted" ? interruptedNote(last) : message.status === "partial" && message.role === "assistant" && !this.#asks ? cutNote(early) : null;
    if (this.#note) this.element.after(this.#note);
  }

  /** The note below, so that the thread can move both together. */
  get note(): HTMLElement | null {
    return this.#note;
  }

  /** Takes message and note out of the page. */
  remove(): void {
    for (const view of this.#views) drop(view);
    this.#note?.remove();
    this.element.remove();
  }

  /** Puts message and note into the page. */
  placeBefore(parent: HTMLElement, next: Node | null): void {
    parent.insertBefore(this.element, next);
    if (this.#note) parent.insertBefore(this.#note, next);
  }
}

/** The versions of a message that has more than one: "‹ 2/3 ›". */
class Versions {
  readonly #before = action("earlier-version", "Version before", "chevron-left");
  readonly #after = action("later-version", "Version after", "chevron-right");
  readonly #count = h("span", { "data-testid": "version-count" });
  readonly element = h("span", { class: "message-versions", role: "group", "aria-label": "Versions", "data-testid": "versions", hidden: true }, this.#before, this.#count, this.#after);

  update({ id, versions = [] }: Message): void {
    const at = versions.indexOf(id);
    this.element.hidden = versions.length < 2 || at < 0;
    setText(this.#count, `${at + 1}/${versions.length}`);
    show(this.#before, versions[at - 1]);
    show(this.#after, versions[at + 1]);
  }
}

function show(button: HTMLButtonElement, version: string | undefined): void {
  button.disabled = version === undefined;
  button.dataset["version"] = version ?? "";
}

function action(name: string, label: string, icon: IconName): HTMLButtonElement {
  return h("button", { type: "button", class: "ghost small icon-only", "data-action": name, "aria-label": label, title: label }, iconNode(icon));
}

function drop(view: View): void {
  view.element.remove();
  if (view.type === "file") view.file.end();
  if (view.type === "tool-call") view.card.end();
}

function make(part: Part, role: Message["role"], around: Surroundings): View {
  switch (part.type) {
    case "file": {
      const file = new FileView(part, around.file);
      return { type: "file", file, element: file.element };
    }
    case "text": {
      // What a person typed is shown as typed.
      const element = h("div", { class: role === "user" ? "said" : "prose" });
      if (role !== "user") return { type: "text", stream: new MarkdownStream(element, 3), element };
      return { type: "text", stream: new PlainText(element), element };
    }
    case "thinking": {
      const thinking = new Thinking();
      return { type: "thinking", thinking, element: thinking.element };
    }
    case "source": {
      const source = new SourceView(part);
      return { type: "source", source, element: source.element };
    }
    case "tool-call": {
      const card = new ToolCard(part, around.file);
      return { type: "tool-call", card, element: card.element };
    }
  }
}

function note(kind: string, icon: IconName, text: string, ...actions: (Node | null)[]): HTMLElement {
  return h("div", { class: `note ${kind}`, "data-testid": "system-message" }, iconNode(icon), h("p", {}, text), h("div", { class: "row" }, ...actions));
}

function button(action: string, label: string, primary = false): HTMLElement {
  return h("button", { type: "button", class: primary ? "primary" : "", "data-action": action }, label);
}

/** Only the last run can be gone on with. */
function interruptedNote(last: boolean): HTMLElement {
  return note("quiet", "stop", "Session interrupted.", last ? button("continue", "Continue") : null);
}

function damagedNote(): HTMLElement {
  return note("warn", "history", "Something that was said here cannot be read any more: the stored conversation is damaged.");
}

function wentAway(early: boolean): string {
  return `The page went away in the middle of this answer.${early ? " A part of it cannot be read any more." : ""}`;
}

function cutNote(early: boolean): HTMLElement {
  return note("quiet", "history", wentAway(early), button("continue", "Continue"));
}

function heldNote(early: boolean): HTMLElement {
  const element = note("warn", "history", early ? wentAway(early) : `${wentAway(early)} Nothing is lost.`, button("continue", "Continue", true));
  element.querySelector("p")?.append(h("span", { class: "hint way-on" }, "Continue it, or write something else."));
  return element;
}

/**
 * An error with what to do about it. Only the last run can be tried again, from where it broke: one that may succeed then, or
 * may once something was changed.
 */
export function errorNote(error: ErrorInfo, last: boolean, provider: string): HTMLElement {
  const { text, hint } = told(error, provider);
  const actions = own(ACTIONS, error.code) ?? [];
  const again = last && (error.retryable || actions.length > 0 || LIMITS.has(error.code));
  const element = note("danger", "alert", text, ...actions.map(([action, label]) => button(action, label)), again ? button("continue", LIMITS.has(error.code) ? "Continue" : "Try again") : null);
  if (hint) element.querySelector("p")?.append(h("span", { class: "hint" }, hint));
  const support = supportDetails(error);
  if (support) element.append(support);
  element.dataset["code"] = error.code;
  return element;
}

/** Nothing went wrong: there was no more allowed. */
const LIMITS = new Set<string>(["max_turns_exceeded", "budget_exceeded"]);
const SETTINGS: [string, string] = ["settings", "Open settings"];
/** What can cure it. */
const ACTIONS: Partial<Record<ErrorInfo["code"], [action: string, label: string][]>> = {
  not_configured: [SETTINGS],
  auth: [SETTINGS],
  permission: [SETTINGS],
  not_found: [SETTINGS],
  quota: [SETTINGS],
  budget_exceeded: [SETTINGS],
  network: [SETTINGS],
  invalid_config: [SETTINGS],
  invalid_request: [SETTINGS],
  protocol: [SETTINGS],
  context_length: [["clear", "Clear conversation"], SETTINGS],
};

/** What the provider's support asks for, folded away; null where nothing is known. */
function supportDetails({ code, status, providerCode, requestId }: ErrorInfo): HTMLElement | null {
  const rows: [string, string | undefined][] = [["HTTP status", status?.toString()], ["Provider’s code", providerCode], ["Request", requestId]];
  const known = rows.filter((row): row is [string, string] => row[1] !== undefined);
  if (known.length === 0) return null;
  const pairs = [["Error", code], ...known].map(([term, value]) => h("div", {}, h("dt", {}, term ?? ""), h("dd", {}, h("code", {}, value ?? ""))));
  return h("details", { class: "support", "data-testid": "error-details" }, h("summary", {}, iconNode("chevron"), "Details for support"), h("dl", {}, ...pairs));
}

/** A text as it was typed. */
class PlainText implements Text {
  readonly selected = false;
  constructor(private readonly element: HTMLElement) {}
  set(text: string): void {
    if (this.element.textContent !== text) this.element.textContent = text;
  }
  draw(): boolean {
    return true;
  }
}
