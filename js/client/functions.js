// The functions of the page, and the calls that a host makes to them.
//
// Decides how each kind of function is called and how its value goes back. Promises: every call that is not aborted
// is answered exactly once, also when the function throws. An aborted call is not answered: its
// signal fires, and its reader or iterator is let go. When a tool ends too late, just that is told.
// Leaves to others: what an answer leads to.

import { NotJson, toJson } from "../protocol/json.js";

/** What was thrown, as plain data; a page may throw anything. */
function thrown(error) {
  if (typeof error === "string") return { name: "Error", message: error };
  try {
    if (error !== null && typeof error === "object" && typeof error.message === "string") {
      const { name, message, code } = error;
      const info = { name: typeof name === "string" && name ? name : "Error", message: message || `${name ?? "Error"}` };
      if (typeof code === "string") info.code = code;
      return info;
    }
    return { name: "Error", message: (typeof error === "object" && JSON.stringify(error)) || String(error) };
  } catch {
    return { name: "Error", message: "it threw something that cannot be shown" };
  }
}

export class Functions {
  #functions = new Map(); // n -> function
  #numbers = new Map(); // function -> n, so that the same function crosses as the same number
  #last = 0;
  #running = new Map(); // call id -> AbortController
  #send;

  /** @param {(message: object) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /** What stands for a function in a message. */
  add(fn) {
    let n = this.#numbers.get(fn);
    if (n === undefined) {
      n = ++this.#last;
      this.#numbers.set(fn, n);
      this.#functions.set(n, fn);
    }
    return { $fn: n };
  }

  /** A number of its own, so that it can be taken away without touching another use of the same function. */
  addOnce(fn) {
    this.#functions.set(++this.#last, fn);
    return { $fn: this.#last };
  }

  remove({ $fn }) {
    this.#numbers.delete(this.#functions.get($fn));
    this.#functions.delete($fn);
  }

  abort(id) {
    const controller = this.#running.get(id);
    this.#running.delete(id);
    controller?.abort();
  }

  /** The host is gone: nothing is answered any more. */
  abortAll() {
    for (const id of [...this.#running.keys()]) this.abort(id);
  }

  /** @param {{ id: number, fn: number, kind: string, json?: string, body?: string }} call */
  async handle({ id, fn, kind, json, body }) {
    const controller = new AbortController();
    this.#running.set(id, controller);
    const { signal } = controller;
    const send = (message) => {
      const wanted = this.#running.get(id) === controller;
      if (wanted) this.#send({ ...message, id });
      return wanted;
    };
    let answer = {};
    try {
      const target = this.#functions.get(fn);
      const call = KINDS[kind];
      if (!target || !call) throw new Error(`there is no function ${fn} of kind ${kind}`);
      const value = await call(target, json === undefined ? undefined : JSON.parse(json), signal, send, body);
      if (value !== undefined) answer = { json: value };
    } catch (error) {
      answer = { error: thrown(error) };
    }
    if (!send({ t: "answer", ...answer }) && kind === "tool") this.#send({ t: "late", id });
    if (this.#running.get(id) === controller) this.#running.delete(id);
  }
}

const KINDS = {
  async tool(execute, { args, toolCallId, runId }, signal, send) {
    const onProgress = (progress) => send({ t: "progress", json: toJson(progress, "progress") ?? "null" });
    const value = await execute(args, { signal, toolCallId, runId, onProgress });
    try {
      return toJson(value, "result");
    } catch (error) {
      if (error instanceof NotJson) throw Object.assign(error, { name: "TypeError", code: "tool_failed" });
      throw error;
    }
  },

  async validate(wrong, { args }) {
    return toJson(await wrong(args), "validate()");
  },

  async decide(decide, request) {
    return toJson(await decide(request), "decide()");
  },

  async explain(explanation, { args }) {
    return text(await explanation(args), "explanation()");
  },

  async lookup(lookup, { args, toolCallId }) {
    return toJson(await lookup(args, { toolCallId }), "lookup()");
  },

  async instructions(give) {
    return text(await give(), "instructions()");
  },

  async apiKey(give, { refused }) {
    return text(await give({ refused }), "apiKey()", { code: "auth" });
  },

  async fetch(fetch, { url, method, headers, credentials }, signal, send, body) {
    // A redirect that is followed takes the key along.
    const init = { method, headers, body, signal, redirect: "manual" };
    if (credentials !== undefined) init.credentials = credentials;
    // Called as a plain function: the global fetch refuses another `this`.
    const response = await fetch(url, init);
    if (signal.aborted) return void response.body?.cancel().catch(() => {});
    send({ t: "feed", head: { status: response.status, headers: [...response.headers] } });
    const reader = response.body?.getReader();
    if (!reader) return;
    // A page's own fetch may not know the signal.
    const cancel = () => reader.cancel().catch(() => {});
    signal.addEventListener("abort", cancel);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return;
        // A home-made response may stream something else than bytes.
        const bytes = value instanceof Uint8Array ? value : new Uint8Array(await new Response(value).arrayBuffer());
        send({ t: "feed", bytes });
      }
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  },

  async stream(stream, request, signal, send) {
    const chunks = await stream(request, { signal });
    const iterate = chunks?.[Symbol.asyncIterator] ?? (typeof chunks === "object" && chunks?.[Symbol.iterator]);
    if (!iterate) throw new TypeError("stream() must give an async iterable of chat chunks or strings");
    const iterator = iterate.call(chunks);
    const stop = async () => {
      try {
        await iterator.return?.();
      } catch {
        // It was told to stop; how it does so is its own affair.
      }
    };
    if (signal.aborted) return void stop();
    signal.addEventListener("abort", stop);
    try {
      for (let n = 1; ; n++) {
        const { done, value } = await iterator.next();
        if (done || signal.aborted) return;
        if (typeof value === "string") {
          if (value) send({ t: "feed", text: value });
        } else if (value !== null && typeof value === "object") {
          send({ t: "feed", json: toJson(value, `chunk ${n}`) });
        } else {
          void stop();
          throw new TypeError(`stream() must give chat chunks or strings, chunk ${n} is ${value === null ? "null" : typeof value}`);
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  },
};

function text(value, what, more) {
  if (typeof value === "string") return JSON.stringify(value);
  throw Object.assign(new TypeError(`${what} must give a string, it gave ${value === null ? "null" : typeof value}`), more);
}
