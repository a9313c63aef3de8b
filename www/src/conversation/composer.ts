// Where a message is written.
//
// Decides: which key sends, which stops. Promises: the textarea is never disabled and never loses a character, in any
// state; Enter that ends an IME composition does not send; a draft is kept per session until it is accepted, and put
// back when it is refused, with its files; Escape takes two presses to stop an answer.
import type { Agent } from "../agent.ts";
import { keep, kept, placeOf } from "../sessions/places.ts";
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import { Attachments } from "./attachments.ts";

const ESCAPES_WITHIN = 1_500;

/** The form under the conversation. */
export class Composer {
  readonly element: HTMLFormElement;
  readonly input = h("textarea", { id: "message", rows: 1, placeholder: "Ask about your pages", "aria-label": "Message", enterkeyhint: "send", "data-testid": "composer" });
  readonly #send = h("button", { type: "submit", class: "primary icon-only", "aria-label": "Send", title: "Send", "data-testid": "send" }, iconNode("arrow-up"));
  readonly #stop = h("button", { type: "button", class: "stop", "data-testid": "stop", hidden: true, title: "Stop the answer (Ctrl+.)" }, iconNode("stop"), "Stop");
  /** What the keys do now; placed by the panel. */
  readonly hint = h("p", { class: "composer-hint", id: "composer-hint" });
  readonly #attachments: Attachments;
  /** The session that this is written to. */
  #session: string;
  /** The files of the drafts of other sessions. */
  readonly #files = new Map<string, File[]>();
  #escaped = -Infinity;
  #sending = false;
  #notice = "";
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;
  #saveTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly agent: Agent,
    private readonly say: (text: string) => void,
    /** What is needed before a message is taken; empty: nothing. */
    private readonly needed: () => string,
  ) {
    this.#session = agent.session;
    this.input.setAttribute("aria-describedby", "composer-hint");
    this.#attachments = new Attachments(say, () => this.update(), () => this.input.focus());
    this.element = h("form", { class: "composer" }, this.#attachments.element, h("div", { class: "composer-box" }, this.#attachments.picker, this.#attachments.button, this.input, this.#stop, this.#send));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#stop.addEventListener("click", () => this.stop());
    this.input.addEventListener("input", () => {
      this.#saveSoon();
      this.update();
    });
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      // A program that copies text often adds a picture of it.
      if (files.length === 0 || event.clipboardData?.types.includes("text/plain")) return;
      event.preventDefault();
      this.#attachments.add(files);
    });
    addEventListener("pagehide", () => this.#save());
    document.addEventListener("visibilitychange", () => document.hidden && this.#save());
    this.#write(kept(this.#place));
    agent.addEventListener("change", () => {
      if (agent.session !== this.#session) this.#turn();
      this.update();
    });
    agent.settings.addEventListener("change", () => this.update());
  }

  /** Sends this text, as if it had been typed; a draft stays. */
  ask(text: string): void {
    void this.#deliver(text);
  }

  /** Attaches files: they go with the next message. */
  attach(files: File[]): void {
    this.#attachments.add(files);
    this.input.focus();
  }

  /** Stops the answer; the composer stays where it is and usable. */
  stop(): void {
    this.agent.interrupt();
    this.input.focus();
  }

  /** Shows the state of now. */
  update(): void {
    const { busy, working } = this.agent;
    // The focus must not fall off the page when the pressed button goes.
    const lost = document.activeElement === this.#stop && !busy;
    this.#stop.hidden = !busy;
    this.#send.hidden = busy;
    if (lost) this.input.focus();
    const empty = !this.input.value.trim() && this.#attachments.files.length === 0;
    this.#send.disabled = empty || this.#sending;
    this.#send.title = empty ? "Write a message first" : "Send";
    this.input.placeholder = working ? "Agent is thinking…" : busy ? "Waiting for your answer" : this.needed() || "Ask about your pages";
    const { enterSends } = this.agent.settings;
    this.input.setAttribute("enterkeyhint", enterSends ? "send" : "enter");
    const keys = busy ? "Esc twice stops" : enterSends ? "Shift+Enter: new line" : "Enter: new line";
    setText(this.hint, this.#notice || keys);
    this.hint.classList.toggle("telling", this.#notice !== "");
    if (!CSS.supports("field-sizing", "content")) this.#grow();
  }

  #key(event: KeyboardEvent): void {
    // Safari ends a composition before the keydown that ended it: 229 is its trace.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape" && this.agent.busy) {
      event.preventDefault();
      if (event.timeStamp - this.#escaped < ESCAPES_WITHIN) {
        this.#escaped = -Infinity;
        this.stop();
      } else {
        this.#escaped = event.timeStamp;
        this.#tell("Press Esc again to stop the answer");
      }
      return;
    }
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    const send = event.ctrlKey || event.metaKey || this.agent.settings.enterSends;
    if (!send) return;
    event.preventDefault();
    void this.#submit();
  }

  async #submit(): Promise<void> {
    const text = this.input.value;
    if ((!text.trim() && this.#attachments.files.length === 0) || this.#sending) return;
    if (this.agent.busy) {
      this.#tell(this.agent.working ? "The answer is still being written. Your text stays here" : "The agent waits for your answer above. Your text stays here");
      return;
    }
    if (this.needed()) return this.#tell(`${this.needed()}. Your text stays here`);
    // Cleared before anything is awaited, so that a second Enter finds nothing to send.
    this.#write("");
    this.#save();
    const files = this.#attachments.take();
    const session = this.#session;
    if (await this.#deliver(text, files)) return;
    if (session !== this.#session) {
      // Another session is shown by now: it waits in its own draft.
      const place = placeOf("draft", this.agent.workspace.name, session);
      keep(place, [text, kept(place)].filter(Boolean).join("\n"));
      this.#files.set(session, [...files, ...(this.#files.get(session) ?? [])]);
      return;
    }
    const more = this.#attachments.take();
    this.#attachments.add([...files, ...more]);
    this.#write(this.input.value ? `${text}\n${this.input.value}` : text);
    this.#save();
  }

  /** Another session is shown: its draft takes the place of this one. */
  #turn(): void {
    this.#save();
    const files = this.#attachments.take();
    if (files.length) this.#files.set(this.#session, files);
    this.#session = this.agent.session;
    this.#write(kept(this.#place));
    const own = this.#files.get(this.#session) ?? [];
    this.#files.delete(this.#session);
    if (own.length) this.#attachments.add(own);
  }

  get #place(): string {
    return placeOf("draft", this.agent.workspace.name, this.#session);
  }

  async #deliver(text: string, files: File[] = []): Promise<boolean> {
    if (this.#sending || this.agent.busy) return false;
    this.#sending = true;
    this.update();
    try {
      return await this.agent.send(text, files);
    } finally {
      this.#sending = false;
      this.update();
    }
  }

  #tell(text: string): void {
    this.#notice = text;
    this.say(text);
    this.update();
    clearTimeout(this.#noticeTimer);
    this.#noticeTimer = setTimeout(() => {
      this.#notice = "";
      this.update();
    }, 4_000);
  }

  #write(text: string): void {
    this.input.value = text;
    this.update();
  }

  #grow(): void {
    this.input.style.setProperty("height", "auto");
    this.input.style.setProperty("height", `${this.input.scrollHeight}px`);
  }

  #saveSoon(): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = setTimeout(() => this.#save(), 250);
  }

  #save(): void {
    clearTimeout(this.#saveTimer);
    keep(this.#place, this.input.value);
  }
}
