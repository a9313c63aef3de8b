// A session as a user interface draws it: one snapshot, folded from what the host tells. And what all such stores are.
//
// Promises: a snapshot never changes. What did not change keeps its identity in the next one (messages, their parts,
// values inside). A piece of streaming text costs one concatenation, and copies are made at most once per snapshot
// that somebody took. Leaves to others: what is told (`src/session`).

import { inOneTask } from "../host/env.js";
import { late } from "../protocol/error.js";

/** A message of more parts is told of once a task, not once a piece: each snapshot that somebody takes copies their list. */
const MANY = 1000;
/** How many messages are asked for at once of those before the first. */
const PAGE = 100;
const EMPTY = Object.freeze([]);
const OPEN = ["receiving", "waiting", "started"];
const isRecord = (value) => value !== null && typeof value === "object";

/** `next`, with everything in it that equals the same place of `last` replaced by that. */
export function share(last, next) {
  if (last === next || !isRecord(last) || !isRecord(next) || Array.isArray(last) !== Array.isArray(next)) return next;
  const keys = Object.keys(next);
  let same = keys.length === Object.keys(last).length;
  for (const key of keys) {
    const value = Object.hasOwn(last, key) ? share(last[key], next[key]) : next[key];
    if (value !== next[key]) next[key] = value;
    if (value !== last[key] || !Object.hasOwn(last, key)) same = false;
  }
  return same ? last : next;
}

/** A text that is now this one from a place on. */
const grown = (shown, offset, text) => (offset === shown.length ? shown : shown.slice(0, offset)) + text;

/** How the keys begin under which a page keeps when each session of a workspace was last looked at. */
export const seenKey = (workspace) => `lodger:seen:${encodeURIComponent(workspace)}:`;

/** Keeps under such a key when it was looked at; without a time nothing. */
export function keepSeen(key, at) {
  try {
    if (at) localStorage.setItem(key, at);
    else localStorage.removeItem(key);
  } catch {
    // Then it is known as long as the page lives.
  }
}

function report(error) {
  if (typeof globalThis.reportError === "function") globalThis.reportError(error);
  else console.error(error);
}

/** A store as user interfaces take it. A listener hears the snapshot at once, then once for all that changes in one go. */
export class Store {
  #snapshot = null;
  #listeners = new Set();
  #notifying = false;

  constructor() {
    this.subscribe = (listener) => {
      const entry = { listener };
      this.#listeners.add(entry);
      this.#tell(entry, this.getSnapshot());
      return () => void this.#listeners.delete(entry);
    };
    this.getSnapshot = () => (this.#snapshot ??= this.make());
  }

  /** Whether anybody looks at it. */
  get watched() {
    return this.#listeners.size > 0;
  }

  /** The next snapshot is another one. */
  changed() {
    this.#snapshot = null;
    if (this.#notifying || !this.watched) return;
    this.#notifying = true;
    this.soon(() => {
      this.#notifying = false;
      const snapshot = this.getSnapshot();
      for (const entry of [...this.#listeners]) if (this.#listeners.has(entry)) this.#tell(entry, snapshot);
    });
  }

  /** One notice for all that comes in one go. A promise, because fake timers may hold a queueMicrotask back. */
  soon(tell) {
    Promise.resolve().then(tell);
  }

  #tell(entry, snapshot) {
    if (entry.told === snapshot) return;
    entry.told = snapshot;
    try {
      entry.listener(snapshot);
    } catch (error) {
      report(error);
    }
  }
}

export class SessionView extends Store {
  #messages = [];
  #index = new Map(); // message id -> place
  #calls = new Map(); // tool call id -> message id
  #state = { status: "loading" };
  #holder = false;
  // What was made since the last snapshot and may therefore still be changed in place.
  #fresh = new Set();
  #copied = 0; // how many parts the last copied list had
  #earlier = false; // there are messages before the first
  #loading = false;
  #load; // what asks for the messages before one
  #arguments; // what reads those that are not whole

  /** @param {(before: string, limit: number) => Promise<object[]>} load */
  constructor(load) {
    super();
    this.#load = load;
  }

  make() {
    const { status, offline, error, context, permissions = EMPTY, queue = EMPTY } = this.#state;
    this.#fresh.clear();
    return { status, messages: this.#messages, permissions, queue, holder: this.#holder, ...(this.#earlier && { earlier: true }), ...(offline && { offline }), ...(error && { error }), ...(context && { context }) };
  }

  soon(tell) {
    if (this.#copied > MANY) inOneTask(tell);
    else super.soon(tell);
  }

  /** The conversation; `later`: without its first messages, of which those that are known stay. */
  history(messages, later = false) {
    const known = (message) => this.#messages[this.#index.get(message.id)];
    const kept = (later && this.#index.get(messages[0]?.id)) || 0;
    const earlier = later && (this.#earlier || !kept);
    const next = [...this.#messages.slice(0, kept), ...messages.map((message) => share(known(message), this.#argued(message)))];
    this.#show(next, earlier);
    if (earlier) this.#loadEarlier();
  }

  /** Asks for what comes before, page by page, and shows each time as much more as is shown. */
  async #loadEarlier() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      while (this.#earlier) await this.#loadMore(this.#messages[0].id);
    } catch {
      // What is told next of the conversation begins again.
    }
    this.#loading = false;
  }

  async #loadMore(first) {
    const pages = [];
    let length = 0;
    let more = true;
    while (more && length < this.#messages.length) {
      const page = await this.#load(pages.at(-1)?.[0].id ?? first, PAGE);
      // Another conversation was told meanwhile, or another part of it.
      if (this.#messages[0]?.id !== first) return;
      more = page.length === PAGE;
      length += page.length;
      if (page.length) pages.push(page);
    }
    this.#show([...pages.reverse().flat(), ...this.#messages], more);
  }

  #show(next, earlier) {
    if (earlier === this.#earlier && next.length === this.#messages.length && next.every((message, i) => message === this.#messages[i])) return;
    this.#earlier = earlier;
    this.#messages = next;
    this.#fresh.add(next);
    this.#index = new Map(next.map(({ id }, i) => [id, i]));
    this.#calls.clear();
    for (const message of next) this.#note(message);
    this.changed();
  }

  /** A message that is new or has changed; `from`: its parts before this one are as they were. */
  message(message, from = 0) {
    const place = this.#index.get(message.id);
    if (from > 0 && place !== undefined) message.parts.unshift(...this.#messages[place].parts.slice(0, from));
    this.#argued(message, from);
    const shared = place === undefined ? message : share(this.#messages[place], message);
    if (place !== undefined && shared === this.#messages[place]) return;
    this.#put(place, shared);
    this.#note(shared);
    this.changed();
  }

  /** This message, and all after it, left the conversation. */
  gone(id) {
    const place = this.#index.get(id);
    if (place === undefined) return;
    for (const message of this.#own().splice(place)) {
      this.#index.delete(message.id);
      for (const { toolCallId } of message.parts) this.#calls.delete(toolCallId);
    }
    this.changed();
  }

  state(state) {
    const next = share(this.#state, state);
    if (next === this.#state) return;
    this.#state = next;
    this.changed();
  }

  holder(holder) {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.changed();
  }

  chunk({ messageId, runId, part, offset, text, kind }) {
    if (!this.#index.has(messageId)) {
      this.#put(undefined, { id: messageId, role: "assistant", parts: [], createdAt: Date.now(), runId, status: "partial" });
    }
    const parts = this.#parts(messageId);
    if (kind === "arguments") {
      const old = parts[part];
      if (old?.status !== "receiving") return; // a message that is still to come will show it
      parts[part] = { ...old, argumentsText: grown(old.argumentsText ?? "", offset, text) };
      this.#argued(this.#messages[this.#index.get(messageId)], part, text);
      return this.changed();
    }
    while (parts.length <= part) parts.push({ type: kind, text: "" });
    const old = parts[part];
    const shown = old.type === kind ? old.text : "";
    const next = grown(shown, offset, text);
    if (this.#fresh.has(old) && old.type === kind) old.text = next;
    else this.#fresh.add((parts[part] = { type: kind, text: next }));
    this.changed();
  }

  toolCall({ toolCallId, tool, status, arguments: args, progress, result, error, files }) {
    const messageId = this.#calls.get(toolCallId);
    if (messageId === undefined) return; // a message that is still to come will show it
    const place = this.#messages[this.#index.get(messageId)].parts.findLastIndex((part) => part.toolCallId === toolCallId);
    const old = this.#messages[this.#index.get(messageId)].parts[place];
    // A message says more exactly how a call ended (unknown); only a new start changes that.
    const open = status === "started" || OPEN.includes(old.status);
    const next = { ...old, tool, status: open ? status : old.status, arguments: args, progress, result, error, files };
    for (const key of ["progress", "result", "error", "files"]) if (next[key] === undefined) delete next[key];
    const shared = share(old, next);
    if (shared === old) return;
    this.#parts(messageId)[place] = shared;
    this.changed();
  }

  /** The message, with the arguments of its calls as far as they have come. What reads them is loaded for the first. */
  #argued(message, from = 0, piece) {
    if (!message.parts.some(({ argumentsText }) => argumentsText)) this.#arguments?.delete(message.id);
    else if (this.#arguments) this.#arguments.fill(message, from, piece);
    else {
      late(import("./partial.js")).then(({ Arguments }) => {
        this.#arguments ??= new Arguments();
        const known = this.#messages[this.#index.get(message.id)];
        if (known) this.message({ ...known, parts: known.parts.slice() });
      }, () => {});
    }
    return message;
  }

  #note(message) {
    for (const part of message.parts) if (part.type === "tool-call") this.#calls.set(part.toolCallId, message.id);
  }

  /** The list of messages, ours to change. */
  #own() {
    if (!this.#fresh.has(this.#messages)) this.#fresh.add((this.#messages = this.#messages.slice()));
    return this.#messages;
  }

  #put(place, message) {
    const messages = this.#own();
    if (place === undefined) this.#index.set(message.id, (place = messages.length));
    messages[place] = message;
  }

  /** The parts of a message, ours to change. */
  #parts(id) {
    const place = this.#index.get(id);
    let message = this.#messages[place];
    if (!this.#fresh.has(message)) {
      message = { ...message, parts: message.parts.slice() };
      this.#copied = message.parts.length;
      this.#fresh.add(message);
      this.#own()[place] = message;
    }
    return message.parts;
  }
}
