// A run as its caller sees it, and the text that streams to it.
//
// Promises: the text is complete from its first word however late it is read, for any number of readers. A piece costs
// the same however long the text is. A result never rejects: where nobody here hears how the run ends, it says that and why.
// Leaves to others: what a run is (`src/run`).

import { LodgerError, errorInfo, late } from "../protocol/error.js";

/** What has streamed of one run: pieces in order, each with its place. */
export class RunText {
  #pieces = []; // { part, offset, at, text }: `at` counts characters over all parts
  #rewinds = 0; // how often pieces were taken back
  #end = null; // { error? }
  #wake = [];
  #ask;
  #session;
  #doubt = false; // it may have said more than this page has heard
  #asks = null; // for that

  /** @param {(sessionId: string, fill: (parts?: object[]) => void) => Promise<unknown>} ask for the run's answer, as it is when `fill` is called */
  constructor(ask) {
    this.#ask = ask;
  }

  get ended() {
    return this.#end !== null;
  }

  /** What this page has heard of it. */
  get heard() {
    return this.#pieces.map(({ text }) => text).join("");
  }

  /** A chunk: from `offset` of this part on, the text is now this. */
  push({ sessionId, part, offset, text }) {
    if (this.#end) return;
    const pieces = this.#pieces;
    this.#session = sessionId;
    if (!pieces.length && (part || offset)) this.#doubt = true;
    const stands = (p) => p.part < part || (p.part === part && p.offset + p.text.length <= offset);
    // A retried or resumed call begins again at an earlier place.
    if (pieces.length && !stands(pieces.at(-1))) {
      this.#rewinds++;
      let cut;
      while (pieces.length && !stands(pieces.at(-1))) cut = pieces.pop();
      if (cut.part === part && cut.offset < offset) pieces.push({ ...cut, text: cut.text.slice(0, offset - cut.offset) });
    }
    const last = pieces.at(-1);
    pieces.push({ part, offset, at: last ? last.at + last.text.length : 0, text });
    this.#notify();
  }

  /** The run has ended. `text` counts only if nothing of the run was seen. */
  end(text) {
    if (this.#end) return;
    if (text && !this.#pieces.length) this.#pieces.push({ part: 0, offset: 0, at: 0, text });
    this.#end = {};
    this.#notify();
  }

  /** Nobody knows how it goes on: readers get this error after the text that there is. */
  fail(error) {
    this.#end ??= { error };
    this.#notify();
  }

  /** Another host tells of the run from here on, and may have said more meanwhile. */
  again() {
    this.#doubt = this.#pieces.length > 0;
  }

  async #whole() {
    const fill = (parts) => {
      this.#doubt = false;
      if (!parts) return;
      const texts = parts.flatMap(({ type, text }, part) => (type === "text" ? [{ part, offset: 0, text }] : []));
      let at = 0;
      for (const piece of texts) at += ((piece.at = at), piece.text.length);
      this.#rewinds++;
      this.#pieces = texts;
    };
    await (this.#asks ??= this.#ask(this.#session, fill).finally(() => (this.#asks = null)));
  }

  #notify() {
    for (const wake of this.#wake.splice(0)) wake();
  }

  async *read() {
    let sent = 0; // characters, so that nothing is said twice after a rewind
    for await (const [piece] of this.pieces()) {
      const end = piece.at + piece.text.length;
      if (end <= sent) continue;
      const text = piece.text.slice(Math.max(0, sent - piece.at));
      sent = end;
      yield text;
    }
  }

  /** Each piece, and whether it is the first of all, or again after some were taken back. */
  async *pieces() {
    let next = 0;
    let rewinds = this.#rewinds;
    for (;;) {
      if (this.#doubt) await this.#whole();
      if (rewinds !== this.#rewinds) {
        rewinds = this.#rewinds;
        next = 0;
      }
      const piece = this.#pieces[next];
      if (piece) {
        next++;
        yield [piece, next === 1];
      } else if (this.#end) {
        if (this.#end.error) throw this.#end.error;
        return;
      } else {
        await new Promise((wake) => this.#wake.push(wake));
      }
    }
  }
}

export class Run {
  #text;
  #ask;
  #wraps;
  #result;

  /**
   * @param {{ runId: string, status: "accepted", acceptedAt: number }} accepted
   * @param {RunText} text
   * @param {() => Promise<object>} ask for the result
   * @param {boolean} [wraps] its answer lies in an object that was put around it
   */
  constructor({ runId, status, acceptedAt }, text, ask, wraps) {
    Object.assign(this, { runId, status, acceptedAt });
    this.#text = text;
    this.#ask = ask;
    this.#wraps = wraps;
  }

  get result() {
    const unheard = (error) => ({ runId: this.runId, outcome: "unknown", text: this.#text.heard, turns: 0, error: errorInfo(error) });
    return (this.#result ??= this.#ask().catch(unheard));
  }

  get textStream() {
    const text = this.#heard();
    return { [Symbol.asyncIterator]: () => text.read() };
  }

  get valueStream() {
    const [text, wraps] = [this.#heard(), this.#wraps];
    return {
      async *[Symbol.asyncIterator]() {
        yield* (await late(import("./partial.js"))).values(text, wraps);
      },
    };
  }

  /** Its text, which ends when the run does. */
  #heard() {
    const text = this.#text;
    // A run that ended before this page heard of it (an idempotency key) sends no more events.
    if (!text.ended) this.result.then((result) => (result.outcome === "unknown" ? text.fail(new LodgerError(result.error)) : text.end(result.text)));
    return text;
  }
}
