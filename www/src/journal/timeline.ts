// A journal as lines that a person reads: what happened, how long it took, what it used up.
//
// Decides: which kind each entry counts as, what it is called, which entry an answer belongs to. Promises: the lines are a
// fold over the entries, one pass, in any number of steps. An entry of a kind that nobody here knows is a line too,
// under its own name. Leaves to others: reading (`store.ts`), drawing (`row.ts`).
import type { SessionEvent, Usage } from "lodger";
import { own } from "../own.ts";
import type { IconName } from "../shell/icons.ts";
import { duration } from "../words.ts";

/** What lines can be chosen by. */
export type Kind = "prompt" | "model" | "tool" | "permission" | "retry" | "session" | "record";

/** The kinds in the order in which they are offered. */
export const KINDS: readonly (readonly [Kind, string])[] = [
  ["prompt", "Messages"],
  ["model", "Model"],
  ["tool", "Tools"],
  ["permission", "Permissions"],
  ["retry", "Retries"],
  ["session", "Session"],
  ["record", "Record"],
];

/** One entry. */
export interface Line {
  seq: number;
  at: number;
  kind: Kind;
  icon: IconName;
  /** What happened, in a word or two. */
  word: string;
  /** More of it, in one line. */
  text: string;
  /** Something went wrong, or was not allowed. */
  bad: boolean;
  /** Milliseconds since the entry before. */
  gap: number;
  /** Milliseconds from what it ends: a call, a question, a run. */
  ms: number | null;
  usage: Usage | null;
  /** The run that it belongs to, as a person sees it: a delegate's is that of who delegates. */
  run: string | null;
  /** The tool call. */
  call: string | null;
  entry: SessionEvent;
}

type Block = readonly [kind: string, ...texts: unknown[]];
interface Told {
  kind: Kind;
  icon: IconName;
  word: string;
  text?: string;
  bad?: boolean;
  ms?: number | null;
}

const NANO = 1e9;
const TEXT = 240;

/** The lines of one journal. */
export class Timeline {
  readonly lines: Line[] = [];
  /** When the model was asked, by run and call; when a tool began, when a person was asked, by tool call; when a run began. */
  readonly #begun = new Map<string, number>();
  /** By tool call: its tool and the run that made it. */
  readonly #calls = new Map<string, { tool: string; run: string }>();
  /** By the run of a delegate: the tool call that it works for. */
  readonly #delegates = new Map<string, string>();

  /** The last entry there is; 0: none. */
  get last(): number {
    return this.lines[this.lines.length - 1]?.seq ?? 0;
  }

  /** The last clearing; 0: there is none. */
  get cleared(): number {
    return this.lines.findLast(({ entry }) => entry.type === "cleared")?.seq ?? 0;
  }

  /** Whether any of them still has what was said. */
  get quotes(): boolean {
    return this.lines.some(({ entry }) => (SAID.has(entry.type) || entry.type === "adopted") && messageIn(entry) !== null);
  }

  /** Takes further entries. */
  add(entries: readonly SessionEvent[]): void {
    for (const entry of entries) this.lines.push(this.#line(entry));
  }

  /** The first line of a run, for who looks for it. */
  ofRun(run: string): Line | undefined {
    return this.lines.find((line) => line.run === run);
  }

  #line(entry: SessionEvent): Line {
    const { seq, at, runId: run = null } = entry;
    const told = this.#tell(entry, run ?? "", at);
    const { kind, icon, word, text = "", bad = false, ms = null } = told;
    const own = stringOf(entry["tool_call"]);
    // What a delegate does shows as the call that it works for.
    const call = this.#delegates.get(run ?? "") ?? (own || null);
    const top = call ? (this.#calls.get(call)?.run ?? run) : run;
    const before = this.lines[this.lines.length - 1]?.at ?? at;
    return { seq, at, kind, icon, word, text: short(text), bad, gap: Math.max(0, at - before), ms, usage: usageOf(entry), run: top, call, entry };
  }

  #since(key: string, at: number): number | null {
    const from = this.#begun.get(key);
    return from === undefined ? null : Math.max(0, at - from);
  }

  #tool(entry: SessionEvent): string {
    const call = stringOf(entry["tool_call"]);
    return this.#calls.get(call)?.tool ?? call;
  }

  /** An entry in words. Long because each kind has its line here. */
  #tell(entry: SessionEvent, run: string, at: number): Told {
    const call = stringOf(entry["tool_call"]);
    const asked = `${run}/${String(entry["call"])}`;
    const error = messageOf(entry["error"]);
    switch (entry.type) {
      case "prompt": {
        this.#begun.set(run, at);
        if (entry["compacts"] !== undefined) return { kind: "prompt", icon: "shorten", word: "you", text: "make the conversation shorter" };
        if (entry["continues"] !== undefined) return { kind: "prompt", icon: "continue", word: "tried again" };
        return { kind: "prompt", icon: "person", word: entry["replaces"] === undefined ? "you" : "you, edited", text: erased(entry, "message") ?? stringOf(entry["text"]) };
      }
      case "queued": {
        const steers = entry["mode"] === "steer";
        return { kind: "prompt", icon: steers ? "steer" : "queue", word: steers ? "you, steering" : "you, waiting", text: erased(entry, "prompt") ?? stringOf(objectOf(entry["prompt"])["text"]) };
      }
      case "edited": return { kind: "prompt", icon: "pencil", word: "you, changed", text: erased(entry, "text") ?? stringOf(entry["text"]) };
      case "damaged": return { kind: "session", icon: "failed", word: "damaged", text: stringOf(entry["why"]), bad: true };
      case "unqueued": return { kind: "prompt", icon: "x", word: "taken out" };
      case "released": return { kind: "prompt", icon: "play", word: "held no more" };
      case "taken":
        if (!this.#begun.has(run)) this.#begun.set(run, at);
        return { kind: "prompt", icon: "person", word: "its turn" };
      case "called":
        this.#begun.set(asked, at);
        return { kind: "model", icon: "arrow-up", word: "model asked", text: `call ${String(entry["call"])}` };
      case "key_refused": return { kind: "retry", icon: "denied", word: "key refused", text: "another one is asked for" };
      case "marked": return { kind: "model", icon: "search", word: "looked up", text: "by the model's provider" };
      case "files_gone": return { kind: "retry", icon: "failed", word: "files lost", text: "the model is told instead" };
      case "reminded": {
        // Each is its id and its text.
        const texts = blocksOf(entry["memories"]).map(([, text]) => stringOf(text));
        return { kind: "model", icon: "brain", word: "reminded", text: erased(entry, "memories") ?? texts.join(" ") };
      }
      case "shortened": return { kind: "model", icon: "shorten", word: "shortened", text: "old results of tools are left out" };
      case "compacting":
        this.#begun.set(run, at);
        return { kind: "model", icon: "shorten", word: "sums up", text: own(SUMS_UP, stringOf(entry["reason"])) ?? "" };
      case "answered": {
        const blocks = blocksOf(entry["blocks"]);
        for (const [kind, id, tool] of blocks) if (kind === "tool_call") this.#calls.set(stringOf(id), { tool: stringOf(tool), run });
        const tools = blocks.flatMap(([kind, , tool]) => (kind === "tool_call" ? [stringOf(tool)] : []));
        const text = blocks.flatMap(([kind, said]) => (kind === "text" ? [stringOf(said)] : [])).join(" ");
        const who = stringOf(entry["model"]) || stringOf(entry["provider"]);
        const told = [text, tools.length ? `→ ${tools.join(", ")}` : ""].filter(Boolean).join(" ");
        return { kind: "model", icon: "bot", word: "model answered", text: erased(entry, "call") ?? (told || who), ms: this.#since(asked, at) };
      }
      case "failed": return { kind: "retry", icon: "failed", word: "model failed", text: error, bad: true, ms: this.#since(asked, at) };
      case "retrying": return { kind: "retry", icon: "waiting", word: "waits", text: `try ${String(entry["attempt"])} in ${duration(Number(entry["delay"]) || 0)}` };
      case "offline": return { kind: "retry", icon: "waiting", word: "waits", text: "for the network" };
      case "due": return { kind: "retry", icon: "continue", word: "asks again" };
      case "fell_back": return { kind: "retry", icon: "takeover", word: "takes over", text: stringOf(entry["to"]) };
      case "over_budget": return { kind: "model", icon: "alert", word: "limit reached", text: `${String(entry["what"])} of the ${String(entry["of"])}: ${String(entry["spent"])} of ${String(entry["limit"])}`, bad: true };
      case "sent_back": return { kind: "model", icon: "undo", word: "sent back", text: error, bad: true };
      case "refused": return { kind: "tool", icon: "denied", word: "tool refused", text: `${this.#tool(entry)}: ${error}`, bad: true };
      case "inspected": return { kind: "tool", icon: "preparing", word: "checked", text: call ? this.#tool(entry) : "the answer" };
      case "validated": return { kind: "tool", icon: error ? "failed" : "check", word: error ? "does not fit" : "fits", text: error || (call ? this.#tool(entry) : ""), bad: error !== "" };
      case "consulted": return { kind: "permission", icon: "preparing", word: "rules asked", text: this.#tool(entry) };
      case "judged": return { kind: "permission", icon: "check", word: "rules say", text: `${stringOf(entry["verdict"])}: ${this.#tool(entry)}`, bad: entry["verdict"] === "deny" };
      case "explaining": return { kind: "permission", icon: "preparing", word: "explains", text: this.#tool(entry) };
      case "explained": return { kind: "permission", icon: "check", word: "explained", text: stringOf(entry["text"]) || this.#tool(entry) };
      case "permission_asked":
        this.#begun.set(`ask/${call}`, at);
        return { kind: "permission", icon: "permission", word: "you are asked", text: `${this.#tool(entry)} (${stringOf(entry["reason"]).replaceAll("_", " ")})` };
      case "permission_answered": {
        const answer = stringOf(entry["answer"]);
        return { kind: "permission", icon: answer === "deny" ? "denied" : "check", word: own(ANSWERS, answer) ?? answer, text: this.#tool(entry), bad: answer === "deny", ms: this.#since(`ask/${call}`, at) };
      }
      case "granted": return { kind: "permission", icon: "check", word: "always allowed", text: stringOf(entry["tool"]) };
      case "revoked": return { kind: "permission", icon: "undo", word: "allowed no more", text: stringOf(entry["tool"]) };
      case "ordered":
        this.#begun.set(call, at);
        return { kind: "tool", icon: "play", word: "tool runs", text: this.#tool(entry) };
      case "handed":
        this.#begun.set(call, at);
        return { kind: "tool", icon: "person", word: "left to you", text: this.#tool(entry) };
      case "delegated":
        this.#begun.set(call, at);
        this.#begun.set(run, at);
        this.#delegates.set(run, call);
        return { kind: "tool", icon: "bot", word: "delegated", text: `${stringOf(entry["process"])}: ${stringOf(entry["task"])}` };
      case "looked_up": return { kind: "tool", icon: "search", word: "looked up", text: this.#tool(entry) };
      case "not_found": return { kind: "tool", icon: "help", word: "did not happen", text: this.#tool(entry) };
      case "returned": {
        const text = erased(entry, "text") ?? `${this.#tool(entry)}: ${error || stringOf(entry["text"])}`;
        return { kind: "tool", icon: error ? "failed" : "done", word: error ? "tool failed" : "tool done", text, bad: error !== "", ms: this.#since(call, at) };
      }
      case "unknown": return { kind: "tool", icon: "help", word: "outcome unknown", text: this.#tool(entry), bad: true };
      case "interrupted": return { kind: "prompt", icon: "stop", word: "interrupted", text: stringOf(entry["reason"]), bad: entry["reason"] === "timeout" };
      case "lost": return { kind: "prompt", icon: "history", word: "page lost", bad: true };
      case "benched": return { kind: "prompt", icon: "pause", word: "put aside" };
      case "resumed": return { kind: "prompt", icon: "continue", word: "goes on" };
      case "ended": return { kind: "prompt", icon: entry["outcome"] === "completed" ? "done" : entry["outcome"] === "failed" ? "failed" : "stop", word: `run ${stringOf(entry["outcome"])}`, text: stringOf(entry["code"]).replaceAll("_", " "), bad: entry["outcome"] === "failed", ms: this.#since(run, at) };
      case "commanded": return this.#commanded(entry);
      case "recorded": return recorded(entry);
      case "found": return { kind: "session", icon: "alert", word: "found", text: `${stringOf(entry["integrity"])}, as far as here`, bad: true };
      case "started": return { kind: "session", icon: "power", word: "agent started", text: `start ${String(entry["epoch"])}` };
      case "configured": return { kind: "session", icon: "settings", word: "settings changed" };
      case "stopped": return { kind: "session", icon: "power", word: "agent stopped" };
      case "cleared": return { kind: "session", icon: "eraser", word: "cleared" };
      default: return { kind: "session", icon: "help", word: entry.type.replaceAll("_", " ") };
    }
  }

  #commanded(entry: SessionEvent): Told {
    const args = objectOf(entry["args"]);
    const more = ["displayName", "name", "reason", "action", "detail"].flatMap((member) => (typeof args[member] === "string" ? [args[member]] : []));
    const who = stringOf(objectOf(args["operator"])["subject"]);
    return { kind: "session", icon: "person", word: stringOf(entry["what"]), text: [more.join(", "), who ? `by ${who}` : ""].filter(Boolean).join(" ") };
  }
}

/** The kinds of entry that stand for a person's message. */
export const SAID = new Set(["prompt", "queued", "taken"]);

/** The id of the message that an entry has, or would begin a run with; null: it has none, or it was erased. */
export function messageIn(entry: SessionEvent): string | null {
  return stringOf(entry["message"]) || stringOf(objectOf(entry["prompt"])["message"]) || null;
}

/** Why a conversation is summed up. */
const SUMS_UP: Record<string, string> = { window: "it is nearly full", context_length: "it was too long for the model", asked: "as you asked" };
const ANSWERS: Record<string, string> = { allow_once: "allowed once", always_allow: "always allowed", deny: "denied" };

function recorded(entry: SessionEvent): Told {
  const record = objectOf(entry["record"]);
  switch (entry["what"]) {
    case "event": return { kind: "record", icon: "journal", word: "event", text: stringOf(record["event_type"]).replaceAll("_", " ") };
    case "receipt": {
      const status = stringOf(objectOf(record["result"])["status"]);
      return { kind: "record", icon: "journal", word: "receipt", text: `${stringOf(record["capability"])}: ${status}`, bad: status === "failed" || status === "denied" };
    }
    case "handoff": return { kind: "record", icon: "journal", word: "handoff", text: stringOf(record["summary"]) || stringOf(record["status"]) };
    default: return { kind: "record", icon: "journal", word: stringOf(entry["what"]), text: stringOf(record["status"]) };
  }
}

/** Tokens in their order: input, output, read from a cache, written to one, reasoning; the price in nano-dollars. */
function usageOf(entry: SessionEvent): Usage | null {
  const { usage, cost } = entry;
  if (!Array.isArray(usage)) return null;
  const [inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0] = usage.map(Number);
  if (inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens === 0 && !cost) return null;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, ...(typeof cost === "number" ? { cost: cost / NANO } : {}) };
}

/** Where a member is missing that each entry of its kind has, its content was erased. */
function erased(entry: SessionEvent, member: string): string | null {
  return entry[member] === undefined ? "(erased)" : null;
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function objectOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

function messageOf(error: unknown): string {
  return stringOf(objectOf(error)["message"]);
}

function blocksOf(value: unknown): readonly Block[] {
  return Array.isArray(value) ? value.filter((block): block is Block => Array.isArray(block)) : [];
}

function short(text: string): string {
  return text.slice(0, TEXT * 2).replace(/\s+/g, " ").trim().slice(0, TEXT);
}
