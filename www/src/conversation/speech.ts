// What a screen reader is told: that an answer began, goes on, ended, and what went wrong. Never the text itself.
//
// Promises: one status region and one alert region that stay in the page. Messages come at least 400 ms apart, the
// newest of each kind wins.
import { h } from "../shell/dom.ts";

const APART = 400;

/** The two live regions of the page. */
export class Speech {
  readonly #status = h("div", { class: "visually-hidden", role: "status", "data-testid": "speech-status" });
  readonly #alert = h("div", { class: "visually-hidden", role: "alert", "data-testid": "speech-alert" });
  #waiting: { region: HTMLElement; text: string }[] = [];
  #free = 0;

  constructor(parent: HTMLElement) {
    parent.append(this.#status, this.#alert);
  }

  /** Says it when nothing else is being said. */
  say(text: string): void {
    this.#queue(this.#status, text);
  }

  /** Says it now. */
  alert(text: string): void {
    this.#queue(this.#alert, text);
  }

  #queue(region: HTMLElement, text: string): void {
    this.#waiting = [...this.#waiting.filter((w) => w.region !== region), { region, text }];
    const wait = this.#free - performance.now();
    if (this.#waiting.length === 1) setTimeout(() => this.#speak(), Math.max(0, wait));
  }

  #speak(): void {
    const next = this.#waiting.shift();
    if (!next) return;
    next.region.textContent = next.text;
    this.#free = performance.now() + APART;
    if (this.#waiting.length) setTimeout(() => this.#speak(), APART);
  }
}
