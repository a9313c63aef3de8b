// Written from the table in `src/journal/entry.rs`: `LODGER_WRITE=1 cargo test --package lodger --lib written`.
import type { ErrorInfo, SessionEvent } from "./index.js";

/** What a model or a tool has said, as a journal has it: an array that begins with the kind. */
export type JournalBlock =
  | [kind: "text" | "extra" | "raw", text: string]
  | [kind: "thinking", text: string, signature: string | null]
  | [kind: "tool_call", id: string, name: string, json: string]
  | [kind: "server_call", id: string, name: string, json: string, result: string, done?: boolean]
  | [kind: "cited", url: string, title: string, text: string, at: number[]]
  | [kind: "tool_result", id: string, name: string, text: string, isError: boolean]
  | [kind: "file", id: string, mediaType: string, name: string, size: number];

/** Tokens: of the input, of the output, read from a cache, written to one, of reasoning. Then searches, where there were any. */
export type JournalUsage = [number, number, number, number, number, number?];

/** What had been used up; costs are nano-dollars, and `cost` is absent where not all of it is known. */
export interface JournalSums {
  turns: number;
  usage: JournalUsage;
  cost?: number;
  knownCost: number;
  wallMs: number;
}

/** Why a model has stopped. */
export type JournalStop =
  | "end_turn"
  | "tool_use"
  | "max_tokens"
  | "context_window"
  | "pause"
  | "stop_sequence"
  | "refusal"
  | { refusal: string };

/**
 * What each kind of entry says besides its head. A kind with optional members throughout is one whose content is erased when
 * the conversation is cleared.
 */
export interface JournalEntries {
  /** The harness was started with this configuration. */
  started: {
    /** Whose writes these are from here on. */
    epoch: number;
    /** Everything a decision may depend on, without secrets; absent: as it was before. */
    config?: unknown;
    /** The tools, as `Definition::to_record` writes them; absent: as they were before. */
    tools?: unknown;
  };
  /** The configuration or the tools are different from here on. */
  configured: {
    /** As in `started`; absent: unchanged. */
    config?: unknown;
    /** As in `started`; absent: unchanged. */
    tools?: unknown;
  };
  /** The harness was stopped on purpose. */
  stopped: {};
  /** Its head was not signed, or with a key that is gone, when it was taken: nobody knows who has written what is before. */
  found: {
    /** What is known of it instead of `verified`. */
    integrity: "verified" | "tampered" | "unverified" | "unverifiable";
  };
  /** A person has always allowed a tool, asked about a call of the page's own code. */
  granted: {
    /** Which tool. */
    tool: string;
    /** The SHA-256 of the definition that was allowed. */
    definition: string;
    /** The SHA-256 of the arguments that say where the call sends something, if its tool names them. */
    destination?: string;
  };
  /** The session goes by these instead of the agent's configuration. */
  overridden: {
    /** All that it has otherwise: members as in `started`, but for `provider`, which is a name in `providers`, and `tools`, the names of those that it has. */
    config: unknown;
  };
  /** What a person has always allowed is not allowed any more. */
  revoked: {
    /** Which tool. */
    tool: string;
  };
  /** An operator does something with the session itself: launches, stops, renames it. */
  commanded: {
    /** What. */
    what: "launch" | "prompt" | "stop" | "restart" | "rename" | "configure" | "recover" | "remove" | "undoRemove" | "archive" | "bench" | "play" | "ready" | "go_on" | "import" | "fork" | "salvage" | "status";
    /** Who, and what else there is to say. */
    args: unknown;
  };
  /** Something is put on record: an event, a receipt, a handoff. It stays when the conversation is cleared. */
  recorded: {
    /** Which of them. */
    what: "event" | "receipt" | "handoff" | "run" | "prompt" | "end";
    /** It. */
    record: unknown;
  };
  /** A message that begins a run. */
  prompt: {
    /** The message's id. */
    message?: string;
    /** What the person said. */
    text?: string;
    /** What the page adds for the model. */
    context?: string;
    /** Whether the page vouches for that and for the files: else they are text from outside. */
    trusted?: boolean;
    /** The page's own notes, JSON. */
    metadata?: unknown;
    /** The page's key: the same key is the same run. */
    idempotency?: string;
    /** The run before it that it goes on with: then nobody has said anything. */
    continues?: string;
    /** It asks no model to answer. What was said before it is summed up: `{ instructions? }`, what matters. */
    compacts?: unknown;
    /** The files that came with it, each a `Block::File`: never their bytes. */
    files?: JournalBlock[];
    /** What the answer has to be: `{ json, validate? }`, the JSON Schema as text and the page's function. */
    schema?: unknown;
    /** What it has otherwise than its session, as in `overridden`; `null`: what the configuration says. */
    config?: unknown;
    /** What leaves the view for it, with all that followed: a message of a person, of which this is another version; or an answer, where the message before it is answered anew. Then the contents above are copies. */
    replaces?: string;
  };
  /** A message and its answer from elsewhere, which the session begins with. Its run was over before. */
  adopted: {
    /** The message's id. */
    message?: string;
    /** What the person said. */
    text?: string;
    /** The files that came with it, as in `prompt`: of a session of this workspace. */
    files?: JournalBlock[];
    /** Notes of the page that it came from, JSON. */
    metadata?: unknown;
    /** When it was said there. */
    said_at?: number;
    /** What was answered: text, thinking, tool calls. */
    blocks?: JournalBlock[];
    /** How the tool calls ended, in their order: `{ text, json, error?, files? }` each, as in `returned`. */
    ends?: unknown;
    /** As in `ended`. */
    outcome?: "completed" | "interrupted" | "failed";
    /** The model's name for itself. */
    model?: string;
    /** Where the text from outside comes from that was read before. */
    outside?: string[];
  };
  /** An older version of a message is the conversation again, with what followed it. */
  switched: {
    /** The id of a message that has left the conversation. */
    message: string;
  };
  /** A message leaves the conversation with what was answered, and with its other versions: their content is erased. */
  withdrawn: {
    /** The ids of their runs, and of those that worked for them. */
    runs: unknown;
    /** The ids of the runs that the conversation has from here on. */
    stay: unknown;
    /** What has left it, the oldest first, each `{ at, runs }`: how many runs stood before, and their ids. */
    older?: unknown;
    /** As in `cleared`. */
    sums: JournalSums;
    /** Where the text from outside comes from that the conversation had read. */
    outside?: string[];
    /** How often a provider could not open what it had sealed. */
    unsealed: number;
  };
  /** The conversation starts anew; what came before is erased. */
  cleared: {
    /** What had been used up until here. */
    sums: JournalSums;
  };
  /** A message waits for its turn, because a run works. The entry's run is the one that it will begin, unless it enters the one at work. */
  queued: {
    /** How. */
    mode?: "queue" | "steer";
    /** What its `prompt` would say. */
    prompt?: unknown;
  };
  /** A message that waits says something else. */
  edited: {
    /** The message's id. */
    message?: string;
    /** What the person says now. */
    text?: string;
  };
  /** A message does not wait any more, and is not sent. The entry's run as in `queued`. */
  unqueued: {
    /** The message's id. */
    message: string;
  };
  /** The messages that wait are not held any more. */
  released: {};
  /** The turn of a message has come: it begins the entry's run, or enters it. */
  taken: {
    /** The message's id. */
    message?: string;
  };
  /** The run's model is told this beside the message, because it is relevant: what is remembered from earlier conversations. */
  reminded: {
    /** Of each memory its id and its text, in a list. */
    memories?: unknown;
  };
  /** The conversation fills the model's window. Of the results of tool calls before a place only what stands for them is sent from here on. */
  shortened: {
    /** The run of the place. */
    until: string;
    /** How many of its turns are before it. */
    turns: number;
    /** How many tokens the conversation has, about. */
    used: number;
    /** How many of them it may have, if that is known. */
    window?: number;
  };
  /** A model sums up the conversation before a place: from then on the summary is sent in place of it. The entry's run is the one that begins with it. */
  compacting: {
    /** The run that waits for the summary. */
    of?: string;
    /** Why. */
    reason?: "window" | "context_length" | "asked";
    /** As in `shortened`. */
    until?: string;
    /** As in `shortened`. */
    turns?: number;
    /** How many bytes of what the person has said before stay word for word, the newest. */
    words?: number;
    /** How many bytes of the conversation the model is sent that sums it up. */
    room?: number;
    /** As in `shortened`. */
    used?: number;
    /** As in `shortened`. */
    window?: number;
    /** What matters, by the page or the person. */
    instructions?: string;
    /** The name in `providers` of the provider that sums up; absent: that of the run. */
    on?: string;
    /** Whether there is room for the request as it is: its run goes on without the summary then, if that fails. */
    fits?: boolean;
  };
  /** A person is asked whether tools that the provider runs may be offered in this run: nobody can be asked when one of them runs, and it can carry words out. */
  offer_asked: {
    /** The id of the question. */
    request: string;
    /** The names of the tools, each with the SHA-256 of how it is offered. */
    tools: unknown;
    /** Why. */
    reason: "policy" | "destructive" | "external_text" | "decide" | "unknown_outcome" | "definition_changed";
    /** Where the text from outside comes from that the conversation holds, and that no such tool has brought. */
    outside?: string[];
  };
  /** A person has answered. */
  offer_answered: {
    /** The id of the question. */
    request: string;
    /** What. */
    answer: "allow_once" | "always_allow" | "deny";
  };
  /** The model is called. */
  called: {
    /** Which call of the run, from 1. */
    call: number;
  };
  /** The provider refuses the key that a function of the page has given. The function is asked for another one, and the same call is made once more. */
  key_refused: {
    /** Which call. */
    call: number;
  };
  /** Files that the call would send are not there any more, or are not what was sent. The same call is made once more, with a note in the place of each. */
  files_gone: {
    /** Which call. */
    call?: number;
    /** The ids of the files. */
    files?: unknown;
  };
  /** The provider has looked something up for an answer that is not whole yet: the model has read it, also where the rest never comes. */
  marked: {
    /** Where what it has found comes from. */
    outside?: string[];
  };
  /** The model has answered. */
  answered: {
    /** Which call. */
    call?: number;
    /** The answer's blocks; the ids of tool calls are unique in the session. */
    blocks?: JournalBlock[];
    /** Why it stopped. */
    stop?: JournalStop;
    /** What it used up. */
    usage?: JournalUsage;
    /** Its price in nano-dollars, by what was known of the model when it was asked: prices change. */
    cost?: number;
    /** Who has answered: `Peer::name`. */
    provider?: string;
    /** The model's name for itself. */
    model?: string;
    /** The provider's id of the answer. */
    id?: string;
  };
  /** The model call came to nothing. */
  failed: {
    /** Which call. */
    call?: number;
    /** Why. */
    error?: ErrorInfo;
    /** What had come before. */
    blocks?: JournalBlock[];
    /** Whether more was shown than `blocks` has: the beginning of a tool call. */
    shown?: boolean;
    /** What it used up. */
    usage?: JournalUsage;
    /** As in `answered`. */
    cost?: number;
    /** What is drawn for the wait before the next try, from 0 to 999. */
    draw?: number;
  };
  /** The same provider is asked again after a while. */
  retrying: {
    /** Which try comes next, from 2. */
    attempt: number;
    /** After how many milliseconds from this entry on. */
    delay: number;
  };
  /** The browser has no network: the same provider is asked again when there is one, and that counts as no try. */
  offline: {};
  /** That while is over, or there is a network again. */
  due: {};
  /** Nothing is left of a budget for another model call. */
  over_budget: {
    /** Whose. */
    of: "run" | "session";
    /** Which limit; a cost is in nano-dollars. */
    what: "turns" | "inputTokens" | "outputTokens" | "cost" | "wallMs";
    /** How much was spent. */
    spent: number;
    /** How much might have been. */
    limit: number;
  };
  /** Another provider takes over for the rest of the run. */
  fell_back: {
    /** Its name in `providers`. */
    to: string;
  };
  /** The answer does not fit its schema: the model is told why, and asked once more. */
  sent_back: {
    /** What is wrong with it. */
    error?: ErrorInfo;
  };
  /** The run was told to stop. */
  interrupted: {
    /** Who or what has told it; `timeout`: its time was over, so it has failed. */
    reason?: "user" | "stop" | "replaced" | "cleared" | "copied" | "removed" | "lost" | "timeout";
    /** What the open model call had said. */
    blocks?: JournalBlock[];
    /** What it had used up, as far as its provider had told. */
    usage?: JournalUsage;
    /** As in `answered`. */
    cost?: number;
  };
  /** The page went away while the run worked. */
  lost: {
    /** What the open model call had said, as far as it was written down. */
    blocks?: JournalBlock[];
    /** Whether more was written down, and is not what was written any more. */
    damaged?: boolean;
  };
  /** The run is put aside: what was asked of the model is asked anew when it goes on. */
  benched: {
    /** What the open model call had said. */
    blocks?: JournalBlock[];
    /** The ids of the tool calls that were aborted, if any were: they only read, and are run again. */
    calls?: unknown;
    /** As in `interrupted`. */
    usage?: JournalUsage;
    /** As in `answered`. */
    cost?: number;
  };
  /** A held run goes on. */
  resumed: {};
  /** The run is over. */
  ended: {
    /** How. */
    outcome: "completed" | "interrupted" | "failed";
    /** The code of why it failed. The words may quote the conversation; they stand where it can be erased. */
    code?: string;
  };
  /** The page's own schema is asked about the arguments of a tool call, or about the answer. */
  inspected: {
    /** Which tool call; empty: the answer. */
    tool_call: string;
  };
  /** What it says. */
  validated: {
    /** Which tool call; empty: the answer. */
    tool_call?: string;
    /** What is wrong with it, if anything is. */
    error?: ErrorInfo;
  };
  /** The page's `decide` is asked about a tool call. */
  consulted: {
    /** Which tool call. */
    tool_call: string;
  };
  /** What `decide` says. */
  judged: {
    /** Which tool call. */
    tool_call: string;
    /** That. */
    verdict: "allow" | "ask" | "deny";
  };
  /** The tool's `explanation` is called, because a person will be asked about the call. */
  explaining: {
    /** Which tool call. */
    tool_call: string;
  };
  /** What it says. */
  explained: {
    /** Which tool call. */
    tool_call?: string;
    /** That; empty: nothing that can be shown. */
    text?: string;
  };
  /** A person is asked about a tool call. */
  permission_asked: {
    /** Which tool call. */
    tool_call: string;
    /** The id of the question. */
    request: string;
    /** Why. */
    reason: "policy" | "destructive" | "external_text" | "decide" | "unknown_outcome" | "definition_changed";
    /** The SHA-256 of the canonical arguments that the answer is for. */
    arguments: string;
    /** The SHA-256 of the tool's definition that the answer is for. */
    definition: string;
    /** As in `granted`. */
    destination?: string;
    /** Where the text from outside comes from that may have asked for the call. */
    outside?: string[];
  };
  /** A person has answered. */
  permission_answered: {
    /** Which tool call. */
    tool_call?: string;
    /** The id of the question. */
    request?: string;
    /** What. */
    answer?: "allow_once" | "always_allow" | "deny";
    /** A word to the model. */
    reason?: string;
    /** The version of the page that was in sight, if a page would be changed. */
    version?: number;
  };
  /** The gate refuses a tool call: nothing was run. */
  refused: {
    /** Which tool call. */
    tool_call?: string;
    /** Why: the model reads it too. */
    error?: ErrorInfo;
  };
  /** A tool is to be run. */
  ordered: {
    /** Which tool call. */
    tool_call: string;
    /** What of its arguments was repaired, if anything was: where, and how. */
    repairs?: unknown;
  };
  /** Another agent carries out a task for a tool call. The entry's run is the one that begins with it. */
  delegated: {
    /** Which tool call of the run that delegates. */
    tool_call?: string;
    /** The process type that it works as. */
    process?: "Orchestrator" | "Researcher" | "Worker" | "SkillComposer";
    /** What it has to do. */
    task?: string;
    /** The names of what it may hold at most; absent: all that the run that delegates holds. */
    capabilities?: unknown;
    /** How many model calls it may make. */
    turns?: number;
    /** As in `ordered`. */
    repairs?: unknown;
  };
  /** A tool call is left to a person or a page, which answers it by `tools.resolve`. */
  handed: {
    /** Which tool call. */
    tool_call: string;
    /** As in `ordered`. */
    repairs?: unknown;
  };
  /** The tool is asked whether a call that was lost took effect. */
  looked_up: {
    /** Which tool call. */
    tool_call: string;
  };
  /** It did not, or the tool does not know. */
  not_found: {
    /** Which tool call. */
    tool_call: string;
  };
  /** A tool has ended. */
  returned: {
    /** Which tool call. */
    tool_call?: string;
    /** What the model reads. */
    text?: string;
    /** Whether `text` is the JSON of the result; else it is the result itself. */
    json?: boolean;
    /** Why it failed, if it did. */
    error?: ErrorInfo;
    /** How many bytes were cut off. */
    cut?: number;
    /** Where the text from outside comes from that a page holds which was read or changed. */
    outside?: string[];
    /** The files that it gave, each a `Block::File`: never their bytes. */
    files?: JournalBlock[];
  };
  /** Nobody knows whether the tool took effect, and it is not run again. */
  unknown: {
    /** Which tool call. */
    tool_call?: string;
  };
}

/** An entry of a kind that this version knows: `entry as JournalEntry` narrows by `type`. */
export type JournalEntry = { [K in keyof JournalEntries]: SessionEvent & { type: K } & JournalEntries[K] }[keyof JournalEntries];
