// The line under a run that works: what it does, for how long, and when it has gone quiet.
//
// A spinner alone reads as a hang; after ten silent seconds the line says how long nothing came. Before a provider is asked
// again it counts down and can be cancelled. Promises: no second of a countdown moves anything.
import type { Agent } from "../agent.ts";
import { h, setText } from "../shell/dom.ts";
import { reason } from "../words.ts";
import { shortens } from "./shortened.ts";

const QUIET_AFTER = 10_000;

/** The line; `draw` is cheap and may be called every frame. */
export class RunLine {
  readonly element = h("div", { class: "run-line", hidden: true, "data-testid": "run-line" });
  readonly #phase = h("span", {});
  readonly #clock = h("span", { class: "clock" });
  readonly #cancel = h("button", { type: "button", class: "small", "data-action": "interrupt", "data-testid": "cancel-retry", hidden: true }, "Cancel");
  #timer: ReturnType<typeof setInterval> | undefined;
  #wasBusy = false;

  constructor(private readonly agent: Agent) {
    this.element.append(h("span", { class: "pulse", "aria-hidden": "true" }), this.#phase, this.#clock, this.#cancel);
  }

  /** Whether working began or ended since the last drawing. */
  get stale(): boolean {
    return this.#wasBusy !== this.agent.busy;
  }

  /** Shows the state of now. */
  draw(): void {
    const { busy, working } = this.agent;
    if (busy !== this.#wasBusy) {
      this.#wasBusy = busy;
      this.element.hidden = !busy;
      clearInterval(this.#timer);
      if (busy) this.#timer = setInterval(() => this.draw(), 1000);
    }
    if (!busy) return void (this.#cancel.hidden = true);
    this.element.classList.toggle("waits", !working);
    // While a person thinks no clock runs.
    if (!working) {
      this.#cancel.hidden = true;
      setText(this.#phase, "Waiting for you");
      return setText(this.#clock, "");
    }
    const now = performance.now();
    const { retry } = this.agent;
    this.#cancel.hidden = !retry;
    this.element.dataset["retry"] = retry ? (now < retry.at ? "waits" : "asks") : "";
    if (retry) {
      const who = retry.delegate ? `A delegate, by ${retry.provider}` : retry.provider;
      setText(this.#phase, retry.error ? `${who}: ${reason(retry.error)}` : who);
      if (retry.at === Infinity) return setText(this.#clock, "goes on when it is back");
      return setText(this.#clock, `try ${retry.attempt} ${now < retry.at ? `in ${Math.ceil((retry.at - now) / 1000)} s` : "now"}`);
    }
    setText(this.#phase, this.#words());
    const seconds = Math.floor((now - this.agent.since) / 1000);
    const quiet = Math.floor((now - this.agent.lastSign) / 1000);
    setText(this.#clock, `${seconds > 0 ? `${seconds} s` : ""}${now - this.agent.lastSign > QUIET_AFTER ? ` · quiet for ${quiet} s` : ""}`);
  }

  #words(): string {
    const { snapshot, shortening } = this.agent;
    if (shortening) return `${shortens(shortening)}…`;
    const message = snapshot.messages[snapshot.messages.length - 1];
    const parts = message?.role === "assistant" ? message.parts : [];
    // Later calls wait for their turn behind the one that runs.
    for (const call of parts) if (call.type === "tool-call" && call.status === "started") return `Running ${call.tool}`;
    const part = parts[parts.length - 1];
    if (part?.type === "tool-call" && part.status === "receiving") return `Preparing ${part.tool}`;
    if (part?.type === "text") return "Answering";
    return "Thinking…";
  }
}
