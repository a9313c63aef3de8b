// The functions of the page, and the calls that a host makes to them.
//
// Decides how each kind of function is called and how its value goes back. Promises: every call that is not aborted
// is answered exactly once, also when the function throws. An aborted call is not answered: its
// signal fires, and its reader or iterator is let go. When a tool ends too late, just that is told.
// Leaves to others: what an answer leads to.

import { inOneTask } from "../host/env.js";
import { late } from "../protocol/error.js";
import { isFile, NotJson, tooLarge, toJson } from "../protocol/json.js";

/** After so many pieces a model that never waits leaves the page its turn. */
const TURN = 4096;
/** How long a person's question waits for what the tool says of its call. */
const EXPLAINS_MS = 10_000;
/** How much is kept of what was thrown, in characters. */
const WORDS = 2 ** 17;

/** What was thrown, as plain data; a page may throw anything. */
function thrown(error) {
  if (typeof error === "string") return { name: "Error", message: error.slice(0, WORDS) };
  try {
    if (error !== null && typeof error === "object" && typeof error.message === "string") {
      const { name, message, code, hint } = error;
      const info = { name: typeof name === "string" && name ? name : "Error", message: (message || `${name ?? "Error"}`).slice(0, WORDS) };
      if (typeof code === "string") info.code = code;
      if (typeof hint === "string") info.hint = hint.slice(0, WORDS);
      return info;
    }
    return { name: "Error", message: (typeof error === "object" && toJson(error, "it", ["", WORDS])) || String(error).slice(0, WORDS) };
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
  #limits;

  /**
   * @param {(message: object) => void} send
   * @param {typeof import("../protocol/json.js").LIMITS} limits
   */
  constructor(send, limits) {
    this.#send = send;
    this.#limits = limits;
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
      const { resultBytes, answerBytes } = this.#limits;
      const given = json === undefined ? undefined : JSON.parse(json);
      const files = [];
      const inJson = (value, what, onFile) => toJson(value, what, ["resultBytes", resultBytes], onFile);
      const value = await call(target, given, inJson, { signal, send, body, files, most: 4 * answerBytes });
      if (value !== undefined) answer.json = value;
      if (files.length) answer.files = files;
    } catch (error) {
      answer = { error: thrown(error) };
    }
    // A custom model has a value only where it came too late.
    const counts = kind === "tool" || (kind === "stream" && answer.json);
    if (!send({ t: "answer", ...answer }) && counts) this.#send({ t: "late", id });
    if (this.#running.get(id) === controller) this.#running.delete(id);
  }
}

/** Each gets the function, what it is called with, what makes JSON of its value, and `most`: how many bytes of an answer it may give. */
const KINDS = {
  async tool(execute, { args, toolCallId, runId }, json, { signal, send, files }) {
    const onProgress = (progress) => send({ t: "progress", json: json(progress, "progress") ?? "null" });
    let value = await execute(args, { signal, toolCallId, runId, onProgress });
    if (Array.isArray(value?.content)) value = (await late(import("./content.js"))).said(value, files);
    // A file that stands in the result is named there by its place among the files.
    const add = (file) => ({ file: files.push(file) - 1, ...(file.name && { name: file.name }), mediaType: file.type, size: file.size });
    try {
      return isFile(value) ? void add(value) : json(value, "result", add);
    } catch (error) {
      if (error instanceof NotJson) throw Object.assign(error, { name: "TypeError", code: "tool_failed" });
      throw error;
    }
  },

  async validate(wrong, { args }, json) {
    return json(await wrong(args), "validate()");
  },

  async decide(decide, request, json) {
    return json(await decide(request), "decide()");
  },

  async explain(explanation, { args }, json) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("it takes too long")), EXPLAINS_MS);
    });
    try {
      return text(json, await Promise.race([explanation(args), late]), "explanation()");
    } finally {
      clearTimeout(timer);
    }
  },

  async lookup(lookup, { args, toolCallId }, json) {
    return json(await lookup(args, { toolCallId }), "lookup()");
  },

  async instructions(give, _, json) {
    return text(json, await give(), "instructions()");
  },

  async apiKey(give, { refused }, json) {
    return text(json, await give({ refused }), "apiKey()", { code: "auth" });
  },

  async fetch(fetch, { url, method, headers, credentials }, _, { signal, send, body, most }) {
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
    const took = counter(most);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return;
        // A home-made response may stream something else than bytes.
        const bytes = value instanceof Uint8Array ? value : new Uint8Array(await new Response(value).arrayBuffer());
        took(bytes.length);
        send({ t: "feed", bytes });
      }
    } catch (error) {
      void cancel();
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  },

  async stream(stream, request, _, { signal, send, most }) {
    const chunks = await Promise.resolve(stream(request, { signal })).catch(withoutNetwork);
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
    const took = counter(most);
    try {
      for (let n = 1; ; n++) {
        if (n % TURN === 0) await new Promise(inOneTask);
        const { done, value } = await Promise.resolve(iterator.next()).catch(withoutNetwork);
        // The same between two answers.
        if (done) return void (await new Promise(inOneTask));
        if (signal.aborted) return "late";
        if (typeof value === "string") {
          // An empty text counts too: a model that yields nothing else would never end.
          took(value.length || 1);
          if (value) send({ t: "feed", text: value });
        } else if (value !== null && typeof value === "object") {
          const json = toJson(value, `chunk ${n}`, ["answerBytes", most]);
          took(json.length);
          send({ t: "feed", json });
        } else {
          throw new TypeError(`stream() must give chat chunks or strings, chunk ${n} is ${value === null ? "null" : typeof value}`);
        }
      }
    } catch (error) {
      void stop();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  },
};

/** A model of the page whose own fetch finds no network, as `fetch` says it: a TypeError, the same as for many other faults. */
function withoutNetwork(error) {
  if (error instanceof TypeError && error.code === undefined && globalThis.navigator?.onLine === false) error.code = "network";
  throw error;
}

/** Counts what a function gives of an answer. The host may hear of it later than the function gives more. */
function counter(most) {
  let left = most;
  return (bytes) => {
    if ((left -= bytes) < 0) throw tooLarge("the answer", ["answerBytes", most]);
  };
}

function text(json, value, what, more) {
  if (typeof value === "string") return json(value, what);
  throw Object.assign(new TypeError(`${what} must give a string, it gave ${value === null ? "null" : typeof value}`), more);
}
