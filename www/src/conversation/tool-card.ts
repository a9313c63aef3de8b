// One tool call: folded to a line that says everything needed, open to arguments, result and files.
//
// Decides how each state looks. Every one has an icon and a word, colour only repeats them. Promises: the card stays
// where its call is. The body is built at the first opening. It opens by itself for files that its tool gave, because a person
// wants to see these. What failed is told while folded. Leaves to others: when
// it changes (`message.ts`), results as text (`tool-text.ts`).
import type { ToolCall } from "../agent.ts";
import { h, setText } from "../shell/dom.ts";
import { iconNode, type IconName } from "../shell/icons.ts";
import { FileView } from "./file-view.ts";
import { mainArgument, meaning, oneLine, readable } from "./tool-text.ts";

/** What a card can say. */
export type State = ToolCall["status"] | "asking" | "cancelled";

/** What a card is told besides its call. */
export interface Standing {
  /** How long it took, in milliseconds, if it was watched. */
  time: number | undefined;
  /** Its run goes on no more. */
  settled: boolean;
  /** It waits for the person. */
  asks: boolean;
}

const STATES: Record<State, { icon: IconName; word: string }> = {
  receiving: { icon: "preparing", word: "preparing" },
  waiting: { icon: "waiting", word: "waiting" },
  started: { icon: "running", word: "running" },
  completed: { icon: "done", word: "done" },
  asking: { icon: "person", word: "waiting for you" },
  failed: { icon: "failed", word: "failed" },
  denied: { icon: "denied", word: "denied" },
  unknown: { icon: "help", word: "outcome unknown" },
  cancelled: { icon: "stop", word: "cancelled" },
};
/** JSON longer than this is offered as a file; a browser lays it out for seconds. */
const MOST_JSON = 50_000;

/** The card of one call. */
export class ToolCard {
  readonly element = h("details", { class: "tool-card", "data-testid": "tool-card" });
  readonly #mark = h("span", { class: "tool-mark" });
  readonly #word = h("span", { class: "tool-word" });
  readonly #argument = h("span", { class: "tool-argument" });
  readonly #line = h("span", { class: "tool-line" });
  readonly #time = h("span", { class: "tool-time" });
  readonly #body = h("div", { class: "tool-body" });
  #call: ToolCall;
  #state: State | null = null;
  #ms: number | undefined;
  #built: ToolCall | null = null;
  #files: FileView[] = [];

  constructor(
    call: ToolCall,
    private readonly load: (id: string) => Promise<Blob>,
  ) {
    this.#call = call;
    const name = h("code", { class: "tool-name" }, call.tool);
    const chevron = iconNode("chevron");
    chevron.classList.add("chevron");
    this.element.append(h("summary", {}, this.#mark, this.#word, name, this.#argument, this.#line, this.#time, chevron), this.#body);
    this.element.addEventListener("toggle", () => this.#build());
  }

  /** What it says now. */
  get state(): State {
    return this.#state ?? this.#call.status;
  }

  /** The tool's name. */
  get tool(): string {
    return this.#call.tool;
  }

  /** How long it took, in milliseconds, if it was watched. */
  get time(): number | undefined {
    return this.#ms;
  }

  /** Whether `call` is this card's call, further on. While it is received it has no id of its own yet: its place tells. */
  continues(call: ToolCall): boolean {
    return call.toolCallId === this.#call.toolCallId || ((this.#call.status === "receiving" || this.#call.toolCallId.startsWith("receiving-")) && call.tool === this.#call.tool);
  }

  /** The call as it is now. */
  update(call: ToolCall, { time, settled, asks }: Standing): void {
    this.#call = call;
    this.element.dataset["call"] = call.toolCallId;
    // What a lost page left asks again once the agent runs; what it left at work does not work any more.
    const interrupted = call.error?.code === "tool_interrupted" || (settled && (call.status === "receiving" || call.status === "started"));
    const state: State = interrupted ? "cancelled" : asks ? "asking" : call.status;
    if (state !== this.#state) {
      this.#state = state;
      showState(this.element, this.#mark, this.#word, state);
    }
    this.element.dataset["by"] = call.by ?? "page";
    setText(this.#argument, mainArgument(call.arguments));
    setText(this.#line, call.error ? call.error.message : call.status === "completed" ? oneLine(call.result) : progress(call.progress));
    this.#ms = time;
    setText(this.#time, time === undefined ? "" : duration(time));
    if (call.files && this.#files.length === 0) this.element.open = true;
    this.#build();
  }

  #build(): void {
    if (!this.element.open || this.#built === this.#call) return;
    this.#built = this.#call;
    const call = this.#call;
    const parts: Node[] = [heading("Arguments"), readable(call.arguments)];
    if (call.error) {
      parts.push(heading("Error"), h("p", { class: "danger-text" }, call.error.message));
      if (call.error.hint) parts.push(h("p", { class: "muted" }, call.error.hint));
    } else if (call.result !== undefined) parts.push(heading("Result"), readable(call.result));
    this.end();
    this.#files = (call.files ?? []).map((file) => new FileView(file, this.load));
    if (this.#files.length > 0) parts.push(heading("Files"), h("div", { class: "tool-files" }, ...this.#files.map((file) => file.element)));
    this.#body.replaceChildren(...parts, this.#json(call));
  }

  /** Lets the bytes of its files go. */
  end(): void {
    for (const file of this.#files) file.end();
  }

  /** The exact values, on demand. */
  #json(call: ToolCall): HTMLElement {
    const box = h("details", { class: "tool-json" }, h("summary", {}, iconNode("braces"), "JSON"));
    box.addEventListener("toggle", () => {
      if (!box.open || box.childElementCount > 1) return;
      const value = { tool: call.tool, arguments: call.arguments, status: call.status, result: meaning(call.result), ...(call.error ? { error: call.error } : {}) };
      const json = JSON.stringify(value, null, 2);
      const shown = json.length > MOST_JSON ? `${json.slice(0, MOST_JSON)}\n…` : json;
      const copy = h("button", { type: "button", class: "ghost small", onclick: () => void navigator.clipboard?.writeText(json) }, iconNode("copy"), "Copy JSON");
      const save = h("a", { class: "button ghost small", download: `${call.tool}.json`, href: URL.createObjectURL(new Blob([json], { type: "application/json" })) }, iconNode("download"), "Download");
      box.append(h("div", { class: "row" }, copy, save), h("pre", { tabindex: 0, role: "group", "aria-label": "JSON of the call" }, shown));
    });
    return box;
  }
}

/** The icon and the word of a state. */
export function showState(element: HTMLElement, mark: HTMLElement, word: HTMLElement, state: State): void {
  element.dataset["state"] = state;
  mark.replaceChildren(iconNode(STATES[state].icon));
  setText(word, STATES[state].word);
}

function heading(text: string): HTMLElement {
  return h("p", { class: "tool-heading" }, text);
}

function progress(value: unknown): string {
  if (value === undefined || value === null) return "";
  // What a delegate tells: how far it is.
  if (typeof value === "object" && "turns" in value) return `turn ${String(value.turns)}`;
  return typeof value === "string" ? value : typeof value === "number" ? `${Math.round(value <= 1 ? value * 100 : value)} %` : oneLine(value);
}

/** "12 ms", "1.4 s". */
export function duration(ms: number): string {
  return ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
