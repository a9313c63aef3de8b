// Where a message is written.
//
// Decides: which key sends, which stops, and which steers an answer that is being written. Promises: the textarea is never
// disabled and never loses a character, in any state. Enter that ends an IME composition does not send. A draft is kept
// per session until it is accepted, and put back when it is refused, with its files. Escape takes two presses to stop
// an answer.
import type { QueuedMessage } from "lodger";
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
  readonly #sendIcon = h("span", { class: "send-icon" }, iconNode("arrow-up"));
  readonly #send = h("button", { type: "submit", class: "primary icon-only", "aria-label": "Send", title: "Send", "data-testid": "send" }, this.#sendIcon);
  readonly #steer = h("button", { type: "button", class: "icon-only", "aria-label": "Steer this answer", title: "Steer: goes into this answer before the model is asked again (Ctrl+Enter)", "data-testid": "steer", hidden: true }, iconNode("steer"));
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
  #queues = false;
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
    this.element = h("form", { class: "composer" }, this.#attachments.element, h("div", { class: "composer-box" }, this.#attachments.picker, this.#attachments.button, this.input, this.#stop, this.#steer, this.#send));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#stop.addEventListener("click", () => this.stop());
    this.#steer.addEventListener("click", () => void this.#submit("steer"));
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

  /** Takes a text that has lost its place, behind what is written already; and says why. */
  put(text: string, why: string): void {
    this.#write([this.input.value, text].filter(Boolean).join("\n"));
    this.#save();
    if (why) this.#tell(why);
    this.input.focus();
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
    const empty = !this.input.value.trim() && this.#attachments.files.length === 0;
    const queues = busy && !empty;
    const going = [...(busy ? [] : [this.#stop]), ...(queues ? [] : [this.#steer]), ...(busy && empty ? [this.#send] : [])];
    const lost = going.some((button) => button === document.activeElement);
    this.#stop.hidden = !busy;
    this.#steer.hidden = !queues;
    this.#send.hidden = busy && empty;
    if (lost) this.input.focus();
    if (queues !== this.#queues) this.#sendIcon.replaceChildren(iconNode(queues ? "queue" : "arrow-up"));
    this.#queues = queues;
    this.#send.disabled = this.#steer.disabled = empty || this.#sending;
    this.#send.setAttribute("aria-label", queues ? "Queue" : "Send");
    this.#send.title = queues ? "Queue: sent when this answer is complete" : empty ? "Write a message first" : "Send";
    this.input.placeholder = working ? "Agent is thinking…" : busy ? "Waiting for your answer" : this.needed() || "Ask about your pages";
    const { enterSends } = this.agent.settings;
    this.input.setAttribute("enterkeyhint", enterSends ? "send" : "enter");
    const ways = enterSends ? "Enter: after this answer · Ctrl+Enter: steer it" : "The wheel steers this answer, the arrow waits for its end";
    const keys = queues ? ways : busy ? "Esc twice stops" : enterSends ? "Shift+Enter: new line" : "Enter: new line";
    setText(this.hint, this.#notice || keys);
    this.hint.classList.toggle("telling", this.#notice !== "" || queues);
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
    const { enterSends } = this.agent.settings;
    const modified = event.ctrlKey || event.metaKey;
    if (!modified && !enterSends) return;
    event.preventDefault();
    void this.#submit(modified && enterSends ? "steer" : "queue");
  }

  /** While an answer is being written the message waits for its end, or steers it. */
  async #submit(whenBusy: QueuedMessage["mode"] = "queue"): Promise<void> {
    const text = this.input.value;
    if ((!text.trim() && this.#attachments.files.length === 0) || this.#sending) return;
    if (this.needed()) return this.#tell(`${this.needed()}. Your text stays here`);
    // Cleared before anything is awaited, so that a second Enter finds nothing to send.
    this.#write("");
    this.#save();
    const files = this.#attachments.take();
    const session = this.#session;
    const { busy } = this.agent;
    if (await this.#deliver(text, files, whenBusy)) return void (busy && this.say(whenBusy === "steer" ? "It steers this answer" : "It waits for the end of this answer"));
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

  async #deliver(text: string, files: File[] = [], whenBusy: QueuedMessage["mode"] = "queue"): Promise<boolean> {
    if (this.#sending) return false;
    this.#sending = true;
    this.update();
    try {
      return await this.agent.send(text, files, whenBusy);
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
