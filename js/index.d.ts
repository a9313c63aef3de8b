// The public types of `lodger`, written by hand. Every member that is named here exists; a member of a later
// version is absent, and an option that is absent is refused by name, never ignored.
//
// Units: times are milliseconds since the epoch, durations milliseconds, sizes bytes.

import type { Commands } from "./commands.js";
import type { EventRecord, HandoffRecord, ReceiptRecord, RunOutput, TaskRunRecord } from "./record.js";
import type {
  Detail, FilePart, Loss, Memory, Message, MessageChunk, Notice, Page, PageLink, PageNode, PageVersion, PermissionRequest, PermissionResolved, Replay, RunPhase,
  SearchHit, SessionChanged, SessionCompleted, SessionHit, SessionInterrupted, SessionSize, SessionStarted, SessionState, SessionsSnapshot, Snapshot, SourcePart, Status,
  Stored, TextPart, ThinkingPart, ToolCall, ToolCallPart, ToolDefinition, ToolResult, Usage, Verified, WaitResult,
} from "./shapes.js";

export type { Commands };
export type * from "./journal.js";
export type * from "./record.js";
export type * from "./shapes.js";

// ---------------------------------------------------------------- module

/**
 * Loads the wasm module, once. `openWorkspace` calls it, so you need it only to say where the module is, or to
 * begin anew what has failed. In a page its loading begins a task after the import, unless `init` has been called with an
 * address by then. In Node the file beside the package is read.
 *
 * Parts of the module come when they are needed (`rooms/`): that of a provider when an agent starts; page tools when a
 * workspace is opened with them; one for sessions that are read back, files, `schema` and `whenBusy`; one for `keys`,
 * `regenerate`, `tools.execute` and most of `sessions`; one for export, import and fork; one for what few JSON Schemas
 * have. So do scripts of the package, for export, import and replay, and for sizes. A command whose part does not come is
 * rejected with `wasm_unavailable`, which can be tried again.
 *
 * @throws {LodgerError} `wasm_unavailable`: it could not be fetched or is no wasm. A later call tries again.
 */
export function init(options?: InitOptions): Promise<void>;
export default init;

export interface InitOptions {
  /** Where the module is, or the module itself. The first call of a page counts, for workers and after a panic too. `rooms/`
   * is looked for beside the scripts, then beside this address. */
  module_or_path?: string | URL | Response | BufferSource | WebAssembly.Module | Promise<Response>;
}

/**
 * Opens a workspace. The same name twice in one page gives the same `Workspace`, counted: it is let go one task
 * after the last `close()`, so that closing and opening again at once (React's StrictMode) keeps it.
 *
 * @throws {LodgerError} `invalid_arguments`, `invalid_config` (an option is unknown, or differs from those it is open
 * with), `wasm_unavailable`, `storage_unavailable`, `storage_blocked`, `storage_lost` (`onStorageLost: "reject"`), `newer_version`,
 * `corrupt`.
 */
export function openWorkspace(name: string, options?: WorkspaceOptions): Promise<Workspace>;

/**
 * Deletes everything the workspace has stored. Every handle in every tab closes with the code `workspace_deleted`.
 *
 * @throws {LodgerError} `invalid_arguments`, `wasm_unavailable`, `storage_unavailable`, `storage_blocked`, `storage_failed`.
 */
export function deleteWorkspace(name: string): Promise<void>;

/**
 * Commands by name, as an app shell or a test bridge calls them; see `Commands`. Acts on the open workspace that
 * `initialize_workspace` or `openWorkspace` opened last.
 *
 * @throws {LodgerError} `no_workspace`: none is open (only `get_agent_status` answers then). `unknown_command`,
 * `invalid_arguments` (naming them), and what the method behind the command rejects with.
 */
export function invoke<C extends keyof Commands>(command: C, args?: Commands[C]["args"]): Promise<Commands[C]["value"]>;
export function invoke(command: string, args?: object): Promise<unknown>;

export interface AgentSettings {
  /** Whether there is a provider that can be asked: it has its key, or needs none. */
  api_key_configured: boolean;
  provider: string | null;
  model: string;
}

/** Every error that the package rejects with or throws. Test `name` and `code`: two copies of it defeat `instanceof`. */
export class LodgerError extends Error {
  private constructor();
  readonly name: "LodgerError";
  /** What happened, for a program; never changes. */
  readonly code: ErrorCode;
  /** Whether the same call may succeed if it is simply made again. */
  readonly retryable: boolean;
  /** What to do about it, where there is something to do. */
  readonly hint?: string;
  /** Where the documents in the package tell of its code: a file below `node_modules`, and the heading in it. */
  readonly docs: string;
}

/**
 * The stable codes. The list grows; treat one that you do not know as not retryable. The package's `docs/errors.md` has a heading for
 * each, with its cause and what to do.
 *
 * - `no_workspace`: No workspace is open.
 * - `workspace_closed`: The workspace was closed.
 * - `workspace_deleted`: The workspace was deleted, here or in another tab.
 * - `already_running`: A harness runs for this workspace already, here or in another tab.
 * - `not_running`: The command needs a running harness.
 * - `busy`: The session works on a run.
 * - `ownership_lost`: Another holder has taken the workspace over.
 * - `holder_unreachable`: The tab that runs the agent does not answer.
 * - `panicked`: The wasm module panicked; a fresh instance can go on.
 * - `wasm_unavailable`: The wasm, or another part of the package, could not be loaded.
 * - `insecure_context`: The page is no secure context, so locks and key storage do not exist.
 * - `unknown_command`: No command has this name.
 * - `invalid_arguments`: The arguments of a command or tool do not fit.
 * - `invalid_config`: A configuration member is unknown, of the wrong type, or not available yet.
 * - `empty_message`: The message is empty.
 * - `run_not_found`: No run has this id.
 * - `message_not_found`: No message has this id.
 * - `session_not_found`: No session has this id.
 * - `session_exists`: A session of this id exists.
 * - `invalid_transition`: The session's status does not allow it.
 * - `benched`: The session is benched: it takes nothing until it is played.
 * - `operator_required`: Nobody is there who may work with sessions, or not any more.
 * - `record_not_found`: No task, run, receipt or handoff has this id.
 * - `nothing_to_resume`: There is no run that could go on.
 * - `unsupported_file`: A file that the model, or any model, does not take.
 * - `file_too_large`: A file is too large, or there are too many.
 * - `file_not_found`: No file of this id is in the workspace, or its bytes are lost.
 * - `too_large`: A message, an answer or a result is larger than the workspace's limits allow.
 * - `tool_not_found`: No tool has this name.
 * - `duplicate_tool`: A tool of this name is registered already.
 * - `invalid_tool`: The tool's definition is not usable.
 * - `invalid_schema`: The tool's schema is not usable.
 * - `tool_failed`: The tool failed or threw.
 * - `tool_timeout`: The tool took too long.
 * - `tool_interrupted`: The call was interrupted before it ended.
 * - `unknown_outcome`: The page went away while the tool ran: nobody knows whether it took effect.
 * - `request_not_found`: Nothing with this id waits for an answer.
 * - `permission_denied`: A person or a policy does not allow it.
 * - `page_not_found`: No page has this slug.
 * - `memory_not_found`: No memory has this id.
 * - `slug_taken`: Another page has this slug.
 * - `page_cycle`: The page would become its own ancestor.
 * - `version_conflict`: The page has changed since the version that was expected.
 * - `not_configured`: No provider is configured.
 * - `auth`: The provider does not accept the key.
 * - `permission`: The key may not do this.
 * - `not_found`: The provider does not know the model or the path.
 * - `invalid_request`: The provider refuses the request as malformed.
 * - `context_length`: The conversation is longer than the model's window.
 * - `rate_limit`: Too many requests.
 * - `quota`: The account has no credit or has met its limit.
 * - `overloaded`: The provider is overloaded.
 * - `server`: The provider failed.
 * - `network`: No answer came: network or CORS, a browser does not tell them apart.
 * - `timeout`: It took too long.
 * - `stream_broken`: The answer broke off in the middle.
 * - `protocol`: The answer is not what the protocol says.
 * - `refused`: The model refused.
 * - `aborted`: The page aborted.
 * - `invalid_output`: The answer does not fit its schema, also after it was asked for again.
 * - `output_limit`: The output limit left nothing of an answer, or no whole one where it has a schema.
 * - `max_turns_exceeded`: The run used up its turns.
 * - `budget_exceeded`: The run or the session has used up its budget.
 * - `storage_unavailable`: The database cannot be opened. Where the disk is full to its last block, Chromium says no more than this.
 * - `storage_blocked`: Another tab keeps the database from being opened.
 * - `quota_exceeded`: The disk quota is used up.
 * - `storage_failed`: A write did not go through, or the browser did not end it for a minute, as happens where the disk is full.
 * - `storage_lost`: What the workspace had stored is gone, and lodger has not deleted it.
 * - `newer_version`: A newer version of this package has written the stored data, or runs the agent in another tab: reload.
 * - `corrupt`: The stored data contradicts itself.
 */
export type ErrorCode =
  // the package, the workspace and the harness
  | "wasm_unavailable" | "no_workspace" | "workspace_closed" | "workspace_deleted" | "already_running" | "not_running"
  | "busy" | "ownership_lost" | "holder_unreachable" | "panicked" | "insecure_context"
  // what the page sent
  | "unknown_command" | "invalid_arguments" | "invalid_config" | "empty_message" | "run_not_found" | "message_not_found"
  | "unsupported_file" | "file_too_large" | "file_not_found" | "too_large"
  | "session_not_found" | "session_exists" | "invalid_transition" | "benched" | "operator_required" | "record_not_found"
  | "nothing_to_resume"
  // tools
  | "tool_not_found" | "duplicate_tool" | "invalid_tool" | "invalid_schema" | "tool_failed" | "tool_timeout"
  | "tool_interrupted" | "unknown_outcome" | "request_not_found" | "permission_denied"
  // pages
  | "page_not_found" | "memory_not_found" | "slug_taken" | "page_cycle" | "version_conflict"
  // the model
  | "not_configured" | "auth" | "permission" | "not_found" | "invalid_request" | "context_length" | "rate_limit" | "quota"
  | "overloaded" | "server" | "network" | "timeout" | "stream_broken" | "protocol" | "refused" | "aborted"
  | "max_turns_exceeded" | "budget_exceeded" | "invalid_output" | "output_limit"
  // storage
  | "storage_unavailable" | "storage_blocked" | "quota_exceeded" | "storage_failed" | "storage_lost" | "newer_version"
  | "corrupt";

export interface WorkspaceOptions {
  /** Where it is kept. `"memory"`: only as long as it is open; also works in Node. Default `"indexeddb"`. */
  storage?: "indexeddb" | "memory";
  /**
   * What it means that a command has resolved, in the tab that runs the agent (of what each tab stores itself, pages and keys, in that
   * tab). It is accepted and stored, and every tab sees it. `"relaxed"`: the browser has it, so a tab or a browser that dies
   * loses nothing; a machine that loses its power may lose the last moments. `"strict"`: it is flushed to the disk first, which costs
   * some milliseconds each time. With both, a flush comes before a tool begins that must not run twice. Text that still streams is
   * never flushed. With both, a Chromium that was killed in the middle of a write may drop everything later: see `onStorageLost`.
   * Default `"relaxed"`.
   */
  durability?: "relaxed" | "strict";
  /**
   * What to do where all that it had stored is gone: a browser drops a database that it finds damaged, and something else than
   * `deleteWorkspace` may have deleted it. `"open"`: it opens empty, `agent:notice` has `kind: "storage_lost"`, and `storage()`
   * has `lost`. `"reject"`: it is not opened (`storage_lost`), until it was opened without this and something is stored again. Counts
   * when the page opens it, not where it is open here already. Default `"open"`.
   */
  onStorageLost?: "open" | "reject";
  /** Whether the agent has the twelve tools for the workspace's pages. Default true. */
  pageTools?: boolean;
  /**
   * Whether a person who leaves the page is asked first (`beforeunload`) while a run works in it. Nothing is lost without that: the
   * run is held, and goes on by `resume()` or in another tab. Default false.
   */
  warnOnLeave?: boolean;
  /**
   * What happens to a run that works here when the page closes its last handle, because a route changed for example. `false`: it is
   * held, as if the page had been closed. `true`: it goes on as long as the page lives, and the workspace is let go when nothing works
   * any more; `close()` has resolved by then. A handle that is opened meanwhile is the same `Workspace`. A run that waits for a person is
   * held either way, and asks again once the agent is started. Default false.
   */
  keepAlive?: boolean;
  /** Where events go besides the Workspace. Default: `document`, where there is one; `null`: nowhere. */
  target?: EventTarget | null;
  /** Who works here: sessions belong to one. Default: `{ subject: "local" }`. `null`: nobody, and then no session can be reached. */
  operator?: Operator | null;
  /** How large things may be: what is larger is refused before it can freeze the page. Each tab has its own. */
  limits?: Limits;
  /**
   * Where the agent works: in the page, or in a worker of its own, so that a busy page does not slow it and a hidden one does
   * not stop its clock. Tools, DOM and events stay in the page; a bad tool is told by `agent:error` there. Where Trusted Types are
   * required, the page's default policy must let the address of `worker.js` pass in `createScriptURL`. From another origin the worker
   * begins at a `blob:` address, which a policy has to allow. Default `"page"`.
   */
  host?: "page" | "worker";
  /**
   * The wall clock, for tests: it gives milliseconds since 1970. Default `Date.now`, fake ones included. When it goes back, deadlines
   * still hold. One that throws, or gives no number, rejects with `invalid_config`. Where it does so later, time goes on
   * without it. Not with a worker.
   */
  now?: () => number;
}

/**
 * How large things may be, each a whole number from 1 to 2147483647. A megabyte is 1,048,576 bytes. What is larger ends with
 * `too_large`, whose message names the limit. Files have limits of their own.
 */
export interface Limits {
  /**
   * What an answer of the model says: texts, thinking and arguments. With all that its provider sends around it it may have four
   * times that. More ends the connection and the run; what was shown stays, and 512 KB of it go back to the model. Default 16 MB.
   * One event of a provider's stream holds 16 MB at most, whatever stands here; a larger one ends the run with `protocol`.
   */
  answerBytes?: number;
  /** The arguments of one call of the model. More ends the answer in the same way. Default 4 MB. */
  argumentBytes?: number;
  /** How many tools an answer may call. More ends it in the same way, and none of them is run. Default 128. */
  callsPerAnswer?: number;
  /** What this page gives with a message, or with any other command: all of it as JSON, but no files. Default 8 MB. */
  messageBytes?: number;
  /**
   * What a function of this page gives back, as JSON: a tool's result, an answer to `tools.resolve`. Of a tool that gives more the
   * call fails, and the model is told so. Default 16 MB.
   */
  resultBytes?: number;
}

// ---------------------------------------------------------------- workspace

/**
 * A person that sessions belong to, as the page says: nothing here proves it, and nothing of a login is kept.
 */
export interface Operator {
  /** Who, for the issuer. */
  subject: string;
  /** Who says so: an identity provider, an app. */
  issuer?: string;
  /** From when on it does not count, in milliseconds since the epoch. */
  expiresAt?: number;
}

/**
 * An open workspace: the agent, its conversation, its tools and its pages.
 *
 * Open in several tabs it is one: the agent runs in the tab that started it, and the others see and do what that one does.
 * A tool runs in a tab that has registered it: the one with the agent, else the one that sent the message. Where that tab is
 * closed in the middle, the model is told. When the tab with the agent goes away, one that has joined goes on
 * (`AgentConfig.ifRunning`); a command that may have been done there is rejected with `ownership_lost`, and is done again of
 * itself where that cannot do it twice. A tab that stands still is `holder_unreachable`.
 *
 * Every method that gives a promise rejects with a `LodgerError`: `workspace_closed` or `workspace_deleted` once that
 * has happened, `panicked` if the module died meanwhile (the next call opens a fresh one; nothing stored is lost),
 * `invalid_arguments`, `invalid_config`. Further codes are named where they belong.
 */
export interface Workspace extends EventTarget {
  readonly name: string;

  /**
   * Starts the agent. Without a provider, or without the key that it needs, it starts too, and each run fails with
   * `not_configured`.
   *
   * @throws {LodgerError} `already_running` (`ifRunning: "reject"`; in another tab: the message has its title), `insecure_context`,
   * `ownership_lost`, `storage_unavailable`, `storage_blocked`, `storage_failed`, `quota_exceeded`,
   * `newer_version`.
   */
  startAgent(config?: AgentConfig): Promise<void>;
  /**
   * Changes the given members, from the next model call on; `null` gives one its default back. What was changed stays so when another
   * tab that joined goes on. But functions stay in the tab that gave them and fail when it is closed (`not_configured`); and a tab
   * that goes on has its own `provider`, with `model` and all else that goes with it. No key goes from tab to tab: where another tab
   * has the agent, a provider has no `apiKey`, `headers` or `fetch` here, and no `baseUrl` with what may be a key. Give its key to
   * `keys.set` before. `providerOptions` with a long word that reads like no name are refused there too, and are not passed on here.
   * `title` is refused there, because the tab with the agent gives titles.
   *
   * @throws {LodgerError} `not_running`, `invalid_config`, `too_large`
   */
  configureAgent(patch: { [K in Exclude<keyof AgentConfig, "ifRunning" | "resume">]?: AgentConfig[K] | null }): Promise<void>;
  /** Interrupts what runs, then stops. A stopped agent stays stopped. */
  stopAgent(): Promise<void>;

  /**
   * Sends a message and resolves once it is accepted; the answer comes by events, `view()`, or the `Run`.
   *
   * @throws {LodgerError} `not_running`, `busy`, `empty_message`, `too_large`, `invalid_schema`, `aborted` (the signal was aborted
   * before, or it was interrupted while its files were read); of its files `unsupported_file`, `file_too_large`, `quota_exceeded`, and `invalid_arguments` where one is empty
   * or cannot be read.
   */
  sendMessage<const S extends AnySchema | undefined = undefined>(input: UserInput, options?: SendOptions<S>): Promise<Run<S>>;
  /**
   * Answers a person's message anew: the one before this answer, by default before the last. It is sent as it was, with its
   * files and its context, but for what `options` say otherwise. The new answer takes the place of the old one and of all that
   * followed; the message keeps its id, and the old answer is one of the `versions` of the new one.
   *
   * @throws {LodgerError} like `sendMessage`; `invalid_arguments` where `messageId` is no answer that `history()` shows,
   * `message_not_found` where there is no answer yet.
   */
  regenerate(messageId?: string, options?: Omit<SendOptions, "replaces" | "whenBusy">): Promise<Run>;
  /**
   * Has what was said so far summed up, as it happens by itself where a conversation fills its model's window (`compaction`): from
   * then on the model is sent the summary in place of it, with the person's own words as far as there is room. What `history()` and
   * exports show stays whole; the answer of this run has no parts, and `compactions`. `instructions`: what matters most.
   *
   * @throws {LodgerError} `message_not_found` (nothing was said yet), `busy`, `not_running`, `invalid_arguments`.
   */
  compact(options?: { sessionId?: string; instructions?: string }): Promise<Run>;
  /**
   * Sends a message and waits for the end of its run. With a `schema`, the result has the answer's `value`.
   *
   * @throws {LodgerError} like `sendMessage`, and unless the run completed: the run's error, or `aborted` if it was
   * interrupted.
   */
  run<const S extends AnySchema | undefined = undefined>(input: UserInput, options?: SendOptions<S>): Promise<Completed<S>>;
  /** Aborts the run that works, or the message whose files are still read or whose session waits for a key; without one, nothing happens. */
  interrupt(target?: { sessionId?: string; runId?: string }): void;
  /**
   * A run that a lost page left goes on, under its own id: finished tools are not run again, the answer that was cut is
   * asked for again and takes the place of what was shown of it. A run that works already is given as it is. After a failed run
   * a new one goes on from where it broke: tools that have ended are not run again, the call that failed is made again. After one that
   * was interrupted a new one goes on too (*Continue* after *Stop*): what was shown stays, and the rest of it is asked for.
   * By the id of a run alone it is the session that the run began in: a fork goes on by its own `sessionId`. A session that its page
   * or provider has failed takes this and `sendMessage`, and is recovered by that. One that was stopped wants `sessions.restart`.
   *
   * @throws {LodgerError} `nothing_to_resume` (no run, or the last one has ended well), `not_running`.
   */
  resume(target?: string | { sessionId?: string; runId?: string }): Promise<Run>;
  /**
   * A person's answer to a question (`agent:permission-required`, `Snapshot.permissions`). The first one counts, also
   * after a reload (once the agent has been started). `reason` is a word to the model; page code finds it in `error.hint`.
   *
   * What is allowed to replace or delete a page's text counts for the text that the person saw: that of `pageVersion`
   * (`Page.version`), else the one that the page had when the question was asked. If the page has another text by then, the
   * call fails with `version_conflict` and the page stays as it is.
   *
   * @throws {LodgerError} `request_not_found` (it was answered, or its run has ended), `not_running`, `invalid_arguments`.
   */
  resolvePermission(requestId: string, answer: PermissionAnswer, options?: PermissionReply): Promise<void>;
  /** What the harness does, at once. */
  status(): Status;
  /**
   * The conversation, oldest first. With `limit` the last ones, with `before` those before that message. With `version`, an id
   * among a message's `versions` (or of any message that has left), the conversation as it was with that.
   *
   * @throws {LodgerError} `message_not_found`
   */
  history(options?: { sessionId?: string; limit?: number; before?: string; version?: string }): Promise<Message[]>;
  /** Interrupts, then erases the conversation's content. */
  clearConversation(sessionId?: string): Promise<void>;
  /**
   * Makes an older version of a message (one of its `versions`) the conversation again, with what followed it: what is there now
   * leaves, and can be switched back to. The next message goes on from there. A held run ends.
   *
   * @throws {LodgerError} `message_not_found`, `busy`, `not_running`.
   */
  switchTo(messageId: string, options?: { sessionId?: string }): Promise<void>;
  /**
   * Takes a message out of the conversation, by its id or that of its answer, and erases both: what was said, thought, called and
   * attached, and all its other versions with what followed only these. Later messages stay, and so do versions of others. What was
   * used up still counts, and what was always allowed in the session is asked about again. A held run ends.
   *
   * @throws {LodgerError} `message_not_found`, `busy`.
   */
  removeMessage(messageId: string, options?: { sessionId?: string }): Promise<void>;
  /** For user interfaces: one subscription gives all there is to draw. The same object each time. */
  view(sessionId?: string): View;
  /**
   * The bytes of a file that came with a message or that a tool gave, with their media type: `fileId` of a part of it.
   *
   * @throws {LodgerError} `file_not_found`: there is none, its conversation was cleared, or what is stored is not what was sent.
   *   Where the conversation is there, the file can be sent again with a new message.
   */
  file(fileId: string): Promise<Blob>;
  /**
   * Waits for the end of a run, at most `timeoutMs` (default 30,000). A timeout is an answer and never touches the run. Of
   * a message that waits in the queue it is the end of the run that this one will begin.
   *
   * With `errorGraceMs` (default 0) the answer of a run that failed waits that long, from the run's end on: if another run
   * goes on with it meanwhile (`resume()`), that one answers in its place, with its own times and outcome under the id that
   * was asked for; if that fails too, its error waits likewise. A wait that joins late takes the rest only; where `timeoutMs` is
   * less than that, the answer is `timeout`.
   *
   * @throws {LodgerError} `run_not_found`; `session_not_found`: its session was removed.
   */
  wait(runId: string, options?: { timeoutMs?: number; errorGraceMs?: number }): Promise<WaitResult>;

  readonly tools: Tools;
  readonly pages: Pages;
  /** What is remembered from one conversation to the next. */
  readonly memory: Memories;
  readonly keys: Keys;
  /** What was sent with `whenBusy` and waits; listed in `Snapshot.queue`. */
  readonly queue: Queue;
  /** Conversations with a name, an owner and a record. The workspace's own is called `default`. */
  readonly sessions: Sessions;
  /** From here on this person works here; `null`: nobody. Runs that work go on, and nobody is told of them. */
  setOperator(operator: Operator | null): Promise<void>;
  /**
   * How much is stored, and whether the browser may evict it; `persist()` asks it not to. With `sessions: true` it also counts
   * what each session takes, which reads all of them once.
   *
   * @throws {LodgerError} `operator_required` (with `sessions`), `storage_failed`.
   */
  storage(): Promise<StorageInfo>;
  storage(options: { sessions: true }): Promise<StorageInfo & { sessions: SessionSize[] }>;
  storage(options: { sessions?: boolean }): Promise<StorageInfo>;
  /** `invoke` for this workspace. */
  invoke<C extends keyof Commands>(command: C, args?: Commands[C]["args"]): Promise<Commands[C]["value"]>;
  invoke(command: string, args?: object): Promise<unknown>;
  /** Gives this handle back. When it is the last, a working run is held, as if the page had closed. */
  close(): Promise<void>;

  addEventListener<K extends keyof WorkspaceEvents>(type: K, listener: (event: CustomEvent<WorkspaceEvents[K]>) => void, options?: AddEventListenerOptions | boolean): void;
  addEventListener<T extends string>(type: OtherEvent<T>, listener: EventListenerOrEventListenerObject | null, options?: AddEventListenerOptions | boolean): void;
  removeEventListener<K extends keyof WorkspaceEvents>(type: K, listener: (event: CustomEvent<WorkspaceEvents[K]>) => void, options?: EventListenerOptions | boolean): void;
  removeEventListener<T extends string>(type: OtherEvent<T>, listener: EventListenerOrEventListenerObject | null, options?: EventListenerOptions | boolean): void;
}
/** An event of the page's own: what begins with `agent:` is one of `WorkspaceEvents`, or there is none. */
type OtherEvent<T extends string> = T extends `agent:${string}` ? keyof WorkspaceEvents : T;

/** `Suspended`: its run waits for a person. `Error`: the harness itself is lost; start it again. */
export type Lifecycle = "Stopped" | "Starting" | "Running" | "Suspended" | { Error: string };
export interface StorageInfo extends Stored {
  /** Asks the browser not to evict it. */
  persist(): Promise<boolean>;
  lost?: StorageLoss;
}
export interface StorageLoss extends Loss {
  /** The person or the page knows: from here on nobody is told any more. */
  acknowledge(): Promise<void>;
}

/**
 * What is known of models: by provider, then by model id. A provider is its `preset`, else its `kind`; a text in its
 * place means that it has the models of another one. A key may be several ids, with spaces between. An id is looked for as
 * it is, then without a date or `-latest` at its end; where a gateway's id begins with a vendor and a slash, also under
 * that vendor. Members that begin with `$` are comments. To add to what the package knows:
 * `import models from "lodger/models.json" with { type: "json" }`, then `{ ...models, custom: { mine: { price: [1, 2] } } }`.
 */
export interface ModelCatalog { readonly [provider: string]: string | { readonly [ids: string]: ModelFacts } }
/** What is not known is left out. */
export interface ModelFacts {
  /** How many tokens a request and its answer may have together. */
  context?: number;
  /** How many tokens an answer may have. */
  output?: number;
  /**
   * Dollars for a million tokens: input, output, read from a cache, written to one. The last two: default as input. Absent:
   * unknown; nothing for a server of one's own (`ollama`, `lmstudio`, `llamacpp`, `vllm`, over plain http).
   */
  price?: readonly number[];
  /**
   * The first: how many tokens a prompt may have at the prices above. Then, as above, the prices of a longer prompt, which hold
   * for all of its tokens.
   */
  long?: readonly number[];
  /** Dollars for a thousand web searches of its provider's (`serverTools`). Absent: unknown, and not in the cost. */
  search?: number;
  /**
   * All that it can, of `tools`, `images`, `documents`, `reasoning`, `structured` (it is held to a schema by its provider's
   * own means). Absent: nobody knows. Without `tools` in it, a model is told of no tools.
   */
  can?: readonly string[];
  /**
   * `false`: it does not choose itself how much it thinks, it takes a number of tokens for it (Anthropic's models of 4.5).
   * `reasoning` then gives it 2048, 8192 or 16384, at most half of `maxOutputTokens`. Absent: it chooses.
   */
  adaptive?: boolean;
  /** The day it is retired, `YYYY-MM-DD`. */
  ends?: string;
}

/**
 * A tool that the model's provider runs: its name, or what the provider's own API takes. What the provider calls a tool is a name too. The `type` is one
 * that a provider is known to have: one that is newer than this version goes into `providerOptions.tools`.
 */
export type ServerTool = "web_search" | "web_fetch" | "code_execution" | "google_search" | "url_context" | "code_interpreter" | { type: string; [member: string]: unknown };

export interface AgentConfig {
  /** Who answers. None, or one that lacks the key it needs: each run fails with `not_configured`. */
  provider?: Provider;
  /** Other providers by name: those of `fallback`. */
  providers?: Record<string, Provider>;
  /**
   * Names of `providers`; each is asked for a `model` of its own, else for the one above. When one fails that cannot be asked
   * again, before it has shown anything, the next takes over (`agent:notice`). It does so for the rest of the run, and for what the
   * run delegates from then on: after `auth`, `permission`, `not_found`, `rate_limit`, `quota`, `overloaded`, `server`, `network`,
   * `timeout`, `stream_broken`, `protocol` and `not_configured`, not where the request itself is at fault or was refused.
   * Once that one is not in this list any more or has no key, the run goes on with `provider`.
   */
  fallback?: string[];
  /** Default `claude-sonnet-4-6`. A provider of another kind needs one of its own. */
  model?: string;
  /** The system prompt; a function is asked at the start of each run. */
  instructions?: string | (() => string | Promise<string>);
  maxOutputTokens?: number;
  /** Not sent to a model of Anthropic's that thinks (`reasoning`): its API refuses one beside thinking. */
  temperature?: number;
  reasoning?: "off" | "low" | "medium" | "high";
  /** Members of the request body, over ours. Its `tools`, `plugins` and `include` come behind ours; `tools: null` leaves ours out. */
  providerOptions?: object;
  /**
   * Tools that the model's provider runs itself, beside the page's own: by name (`web_search`, `web_fetch`, `code_execution`), or as
   * one item of the request's tools, `{ type, … }`, as the API takes it of the providers that have this type. The newest plain type of a name is sent to Anthropic,
   * OpenAI's Responses, xAI's and Google's; `web_search` to OpenRouter as its plugin. What a provider does not have is left out, and
   * `agent:notice` (`server_tools`) tells it once a run. Their calls show as `tool-call` parts with `by: "provider"`, and what the answer has from
   * where as `source` parts. What they bring counts as text from outside. Nobody can be asked when one of them runs: so where a
   * conversation holds other text from outside, a person is asked before the request, once a run (`agent:permission-required`, with
   * `reason: "external_text"`). Rules of `permissions` by their names count; `decide` is not asked.
   */
  serverTools?: readonly ServerTool[];
  /** How many model calls a run may make. Default 20. Where `budgets.run.turns` is smaller, that counts. */
  maxTurns?: number;
  /** How long a tool may take. Default 60,000. */
  toolTimeoutMs?: number;
  /**
   * How many tools may run at once: those of an answer wait for their turn, `tools.execute` is refused with `busy`.
   * Default: all that may run beside others.
   */
  maxParallelTools?: number;
  /** What the agent holds: `PagesRead`, `PagesWrite`, `PagesOrganize`, `PagesDelete`, and the app's own. Default all. */
  capabilities?: string[];
  /**
   * `Researcher` and `SkillComposer` have the tools that only read. An `Orchestrator` has one more, `delegate`: it gives a
   * task to a Researcher or a Worker, whose run shows as that call (`Detail.parentRunId`). Default: all tools.
   */
  processType?: "Orchestrator" | "Researcher" | "Worker" | "SkillComposer";
  permissions?: Permissions;
  /**
   * What a run and its session (all of the workspace's conversation, cleared parts included) may use up, checked before each
   * model call, from the journal: so it counts what was spent before a reload. Then the run fails with `budget_exceeded`.
   * Delegates spend their parent's. `cost` needs models with a known price, and ends at an answer that nobody has counted.
   * What a session was answered at no known price before its models or budgets were set as they are is not in it.
   */
  budgets?: { run?: Budget; session?: Budget };
  /** What the agent knows how to do: listed for the model, which reads one with `use_skill` when it wants it. */
  skills?: Skill[];
  /** What is known of models, in place of what the package knows (`lodger/models.json`). */
  models?: ModelCatalog;
  /**
   * Archives sessions by itself (`sessions.archive`): the operator's own that nobody has changed for so many days. It looks for them
   * at the start and once a day, and never deletes. Default `false`.
   */
  archive?: false | { afterDays: number };
  /**
   * `cut`: an answer whose connection broke in the middle (`stream_broken`) is asked for again by the run itself. No tool
   * of it has run by then. That counts as one of the three tries of an answer, `agent:notice` tells of it, and the new answer takes the
   * place of what was shown. Default true.
   */
  retry?: { cut?: boolean };
  /**
   * What happens where a conversation fills its model's window, which is the catalog's (`models`) less the answer's limit, the system
   * prompt and the tools. When it is full to `at` (default 0.8), old results of tools are left out; where that is not enough, a model sums
   * up what was said before the newest `keep` tokens. By default these are a quarter of what the window has for the conversation, at
   * most 20,000, and at most half of what `at` comes to. They are never more than half of what the window has. `instructions`: what matters most. `provider`: the name of the provider that sums
   * up, by default the provider that answers. A model of unknown window is asked for a summary once its provider refuses a request as too
   * long. Where a summary fails and there is room for the request as it is, the run goes on without (`agent:notice` tells it). `false`: all is
   * sent as it is, and a provider that refuses it fails the run with `context_length`.
   */
  compaction?: false | { at?: number; keep?: number; instructions?: string; provider?: string };
  /**
   * What is remembered from one conversation to the next; default: nothing. With `true` the agent has three tools, under the capability
   * `Memory`: `remember` keeps a fact, `recall` looks facts up, `forget` takes one away, and a person is asked about that. The
   * most relevant ones, at most `limit` (10) and about 2,000 tokens, are told beside the message that begins a run. `scope`:
   * `workspace` (default), or `account` for all workspaces of the origin. A memory belongs to one operator. Where `recall` is denied, or
   * its capability not held, none is told.
   */
  memory?: boolean | { scope?: MemoryScope; limit?: number };
  /**
   * What a session is called that has no name: its first words, or with `auto` a title that its own provider is asked for once, after
   * the first answer, as a task (`sessions.runOnce`) of which nothing is kept. It becomes the session's name. Where the conversation is
   * cleared, or loses its first message, that name goes too. A page that went away before the title came leaves that to the next one. The
   * tokens of it are in no session's `usage` and budget. It counts in the tab that runs the agent. Default `words`.
   */
  title?: "auto" | "words";
  /** What happens to a run that a lost page left, in any session: it waits for `resume()`, or goes on by itself. Default `"hold"`. */
  resume?: "hold" | "auto";
  /**
   * When the agent runs already. `"join"`: here that is fine; where another tab runs it, this one follows, and goes on with what it
   * was at when that tab crashes, is closed or is put to sleep, not after `stopAgent()`. `"reject"`: with `already_running`.
   * `"takeover"`: a person wants it here, as configured here; the other tab is asked to let go, and loses it where it hangs. From
   * then on it is as joined. Of several that take over at once one gets it, and the others are as joined. A tab that takes over goes on with the runs of its operator. In the tab that runs the agent
   * `"join"` and `"takeover"` change nothing: `configureAgent` does. Default `"join"`; `invoke("start_agent")` refuses.
   */
  ifRunning?: "reject" | "join" | "takeover";
}

/**
 * `turns`: answers of a model. `inputTokens`: cached ones too, which `Usage` has apart. `cost`: dollars. `wallMs`: while a run
 * works or waits, not while it is held.
 */
export interface Budget { turns?: number; inputTokens?: number; outputTokens?: number; cost?: number; wallMs?: number }

export type Provider = ModelApi | CustomProvider;

/** A model API, asked from the page with `fetch`. Its `model` is needed for all kinds but `anthropic`. */
export type ModelApi =
  | (ApiOptions & { kind: "anthropic"; preset?: never; model?: string })
  | (ApiOptions & { kind: "openai" | "gemini" | "ollama"; preset?: never; model: string })
  | (ApiOptions & { kind: "openai-responses"; model: string } & ({ preset?: never } | { preset: "azure"; baseUrl: string }))
  | (ApiOptions & { kind: "xai"; /** For Chat Completions in place of Responses. */ preset?: "chat"; model: string })
  | (ApiOptions & { kind: "openai-compatible"; model: string } & ({ preset: Exclude<Preset, "azure"> } | { preset?: "azure" | undefined; baseUrl: string }));
/**
 * Where the server of an `openai-compatible` provider is, and its habits. For `azure`, here and with `openai-responses`, `baseUrl` is the
 * endpoint of the resource (`https://….openai.azure.com`), and `model` the name of a deployment.
 */
export type Preset = "azure" | "openrouter" | "google" | "groq" | "deepseek" | "mistral" | "lmstudio" | "llamacpp" | "vllm" | "ollama";

/** A model API of which no model has to be chosen yet: what `keys` takes. */
export type UnchosenApi = ApiOptions & { kind: ModelApi["kind"]; preset?: Preset | "chat"; model?: string };

/** What is said of a model API. `openai` is Chat Completions; `openai-compatible` needs a `preset` or a `baseUrl`. */
export interface ApiOptions {
  /**
   * Kept in memory only; blanks and line breaks at its ends are left out, as `fetch` does. A function is asked before a
   * call, and with `refused` after the last key got a 401. Without one, the vault's key is taken (`Workspace.keys`):
   * that of the provider's name in `providers`, else of its kind.
   */
  apiKey?: string | ((call: { refused: boolean }) => string | Promise<string>);
  /** Sends the key as `Authorization: Bearer`. */
  auth?: "bearer";
  /** More headers; `null` takes one of ours away. */
  headers?: Record<string, string | null>;
  credentials?: RequestCredentials;
  /**
   * Called in place of the global `fetch`: with POST, a text body and a signal; for `keys.validate` and `keys.models` with
   * GET. `redirect` is `"manual"`, because a redirect that is followed takes the key along.
   */
  fetch?: typeof globalThis.fetch;
  /** What the official SDK of that API takes. Default: the provider's own. Your proxy goes here; it may need no key. */
  baseUrl?: string;
  /** Allows a base URL with `http:` that is not this machine. */
  allowHttp?: boolean;
  /** Anthropic's `anthropic-version`, or Azure's `api-version`. Azure's default: `2024-10-21`, of `openai-responses` `v1`. */
  apiVersion?: string;
  /**
   * Milliseconds: until the answer's head, to its first byte, between two pieces (120,000 each; 600,000 to the head for a
   * server that needs no key: it may load a model first). `runMs` is for the whole run, tools, waits and a person's
   * answers included, not while it is held: that of the provider that is asked, else of the first one. Default none.
   */
  timeouts?: { connectMs?: number; firstByteMs?: number; silenceMs?: number; runMs?: number };
}

/** Any model that the page can reach by itself, an object of a class too. `lodger/offline`, `lodger/testing`, `lodger/wllama` and `lodger/prompt-api` give such providers. */
export interface CustomProvider {
  kind: "custom";
  model?: string;
  /**
   * Answers with chat chunks, or with plain strings. On abort the signal fires and the iterator's `return()` is called. While
   * the browser has no network, an error with the `code` `network`, or the `TypeError` of a `fetch`, makes the run wait for that.
   */
  stream(request: ChatRequest, context: { signal: AbortSignal }): AsyncIterable<ChatChunk | string>;
}

/**
 * A request in the shape of OpenAI's chat completions. The result of a tool stands between two lines, `<result
 * source="…" mark>` and `</result mark>`: the system message says what they mean. Files of the person come as parts:
 * `{ type: "image_url", image_url: { url: "data:…" } }`, `{ type: "file", file: { filename, file_data: "data:…" } }`, text
 * as text; a model that `models` says to take none gets none.
 */
export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  tools: ChatTool[];
  /** What the answer has to be, where the message had a `schema`; the system message says it too. */
  response_format?: { type: "json_schema"; json_schema: { name: string; schema: object; strict: boolean } };
  [option: string]: unknown;
}
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content?: string | { type: string; text?: string; [k: string]: unknown }[] | null;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  [k: string]: unknown;
}
export interface ChatTool { type: "function"; function: { name: string; description?: string; parameters?: object } }
/** A chunk of OpenAI's shape. The types that other libraries give such chunks fit, so that their streams can be passed on as they are. */
export interface ChatChunk {
  choices: { index?: number | undefined; delta: ChatDelta | { [k: string]: unknown } & ChatDelta; finish_reason?: string | null | undefined }[];
  usage?: object | null | undefined;
}
/** What a chunk adds. */
export interface ChatDelta { content?: string | null | undefined; tool_calls?: object[] | undefined }

// ---------------------------------------------------------------- runs

/** With `files` the text may be empty. */
export type UserInput = string | {
  text: string;
  /**
   * Images (PNG, JPEG, GIF, WebP: 3.75 MB each), PDF files, and texts of any kind (1 MB each); 20 at most, and 23 MB in a
   * whole conversation, as each request has them all. What a file is goes by its bytes, then by its `type`. Stored once
   * in the workspace, with the message; models that take images or PDF files get them as such, every model gets text.
   */
  files?: Blob[];
  metadata?: Record<string, unknown>;
};
/**
 * What a session (`sessions.launch`, `sessions.configure`) or a message (`sendMessage`, `regenerate`) has otherwise than
 * `AgentConfig`. A message's counts before its session's, its session's before the configuration, and a model belongs to
 * the provider that is named beside it. It is stored, so it outlives reloads. `null`: as the configuration says.
 */
export interface Overrides {
  /** A name in `providers`; `null`: the main provider. A provider that takes over keeps its own model. */
  provider?: string | null;
  model?: string | null;
  /** A text: a function cannot be stored. */
  instructions?: string | null;
  /** The names of the tools that it has, and no others; `[]`: none. */
  tools?: readonly string[] | null;
  reasoning?: AgentConfig["reasoning"] | null;
  temperature?: number | null;
  maxOutputTokens?: number | null;
  /** Stored, and read by every tab: one that holds a key by its name (`headers`, `…_token`, `api_key`) is refused (`invalid_config`). */
  providerOptions?: Record<string, unknown> | null;
  /** Tools that the provider runs; `[]`: none. Stored, as `providerOptions` are. */
  serverTools?: readonly ServerTool[] | null;
}

export interface SendOptions<S = unknown> extends Overrides {
  /** Default: `"default"`, the harness's own conversation. */
  sessionId?: string;
  /** Aborting interrupts this run. */
  signal?: AbortSignal;
  /** For the model, with this message only; not part of the history. Text from outside, unless it is `trusted`. */
  context?: string;
  /**
   * Whether the page vouches for `context` and for the files: nobody else can have written what they say. Default false: from
   * then on the agent asks before it uses a tool that can send something out. `regenerate` keeps what was said of the same
   * context and files.
   */
  trusted?: boolean;
  /** The same key again gives the same run. */
  idempotencyKey?: string;
  /**
   * What becomes of the message while a run works in its session, or waits for a person. Where none does, it is sent at once.
   *
   * `reject`, the default: the code `busy`. `queue`: it waits, stored, in `Snapshot.queue`, and begins a run of its own when
   * the one before it has completed; the run has its id from now on, for `wait` and `interrupt`, which takes the message out
   * of the queue. `steer`: it enters the run that works before that calls its model again, or in place of its end; the
   * reply names this run, by whose `Overrides` it goes. Tool calls that have not begun by then, those that wait for permission too, are answered as
   * failed ("Skipped due to queued user message"); those that run are waited for. It takes no `schema`, no `replaces` and no `Overrides`.
   * One message is taken at a time, in their order. What is left when the run ends waits like the others.
   *
   * After an interrupt, a failure or a lost page what waits is held: until `queue.release()`, or until a run completes
   * that you begin (or go on with) after that.
   */
  whenBusy?: "reject" | "queue" | "steer";
  /**
   * An edit: the id of the person's message that this one takes the place of. What followed leaves `history()`, the view and what
   * models are sent, but not the journal: `history({ version })` shows it. It keeps the files of that message where it has no `files`
   * of its own; `files: []` leaves them out.
   */
  replaces?: string;
  /**
   * What the answer has to be: a JSON Schema (2020-12), or a Standard Schema that can give one (zod 4.2, ArkType; zod/mini by
   * `z.toJSONSchema`, valibot by `toStandardJsonSchema`, Effect by `Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(…))`), whose own `validate` then has the
   * last word. What is no object, as a list or one of some words, is asked for in an object and taken out again. The model may call tools first; the text that it ends with is
   * judged. If that does not fit, the model is told why and answers once more; if that does not fit either, the run fails
   * with `invalid_output`. After a reload, and in a run with which `resume()` goes on after a failed one,
   * a Standard Schema is gone, and the JSON Schema decides.
   */
  schema?: S;
}

/** A value of which any part may not be there yet. */
export type DeepPartial<T> = T extends readonly (infer I)[] ? DeepPartial<I>[] : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> } : T;

/** A run that was accepted. */
export interface Run<S = unknown> {
  readonly runId: string;
  readonly status: "accepted";
  readonly acceptedAt: number;
  /**
   * The answer's text as it comes, complete from its first word however late you read, for any number of readers.
   * Ends when the run ends, with any outcome (`result` tells which). After a retry the words already given stay given.
   */
  readonly textStream: AsyncIterable<string>;
  /**
   * The answer's value as it comes, where the run has a `schema`: as much of it as is there, one value that grows in place. What is open
   * is closed; a number or a literal is there once it is whole. It is not judged by the schema: `result` has what is. After a retry, or
   * where the model answers anew, it begins anew. Ends like `textStream`.
   */
  readonly valueStream: AsyncIterable<DeepPartial<OutputOf<S>>>;
  /**
   * How the run ended. It never rejects. Where this page hears no end of it, the outcome is `unknown`, and `error` says why: the
   * workspace was closed, deleted or lost, the module panicked, somebody else works here now.
   */
  readonly result: Promise<RunResult<S>>;
}
export interface RunResult<S = unknown> {
  runId: string;
  /** `unknown`: nobody tells this page how it ends. It may go on in another tab, or wait for `resume()`. */
  outcome: "completed" | "interrupted" | "failed" | "unknown";
  /** The text of the answer; of an unknown outcome, what this page has heard of it. */
  text: string;
  /**
   * What the answer says, where the run has a `schema` and completed: of a Standard Schema what that makes of it; for a
   * page that was not there when the message was sent, the JSON that it is made of.
   */
  value?: OutputOf<S>;
  /** Absent where the model does not tell. */
  usage?: Usage;
  /** How many model calls it took; 0 where nobody tells. */
  turns: number;
  /** Why it failed, or why nobody tells. */
  error?: ErrorInfo;
}
/** The result of a run that completed. */
export type Completed<S> = RunResult<S> & ([S] extends [undefined] ? unknown : { value: OutputOf<S> });
/** An error as plain data. Each code has a heading in `lodger/docs/errors.md`, with cause and cure. */
export interface ErrorInfo {
  code: ErrorCode;
  message: string;
  /** Whether the same call may succeed if it is simply made again. */
  retryable: boolean;
  /** What to do about it. */
  hint?: string;
  /** The HTTP status of a model's provider. */
  status?: number;
  /** The provider's own name of the error. */
  providerCode?: string;
  /** The provider's id of the request, for its support. */
  requestId?: string;
  /** After how long the provider wants to be asked again, where the browser may see it. */
  retryAfterMs?: number;
  /**
   * The browser has no network, and the call was not to this machine. A run waits for it, and makes the call again, as long as
   * none of its answer must stay.
   */
  offline?: true;
}

export type Part = TextPart | ThinkingPart | FilePart | ToolCallPart | SourcePart;

/**
 * A store for user interfaces. Both functions are bound: give them to React's `useSyncExternalStore`, or use the view
 * as a Svelte store. What did not change keeps its identity from one snapshot to the next.
 */
export interface View {
  /** Calls the listener at once, then once a network read. Gives the function that ends it. */
  subscribe(listener: (snapshot: Snapshot) => void): () => void;
  getSnapshot(): Snapshot;
}

/** Each needs the owner of the session, and an agent that runs. */
export interface Queue {
  /**
   * Changes what a message says that waits.
   *
   * @throws {LodgerError} `message_not_found`: its turn has come, or it was removed; `empty_message`.
   */
  edit(id: string, text: string): Promise<void>;
  /**
   * Takes a message out. Its run never begins: `wait` says `ok` with `outcome: "interrupted"` and no `startedAt`.
   *
   * @throws {LodgerError} `message_not_found`
   */
  remove(id: string): Promise<void>;
  /** What is held is not any more: the first message begins, if no run works. */
  release(sessionId?: string): Promise<void>;
}

// ---------------------------------------------------------------- tools

/** A JSON Schema. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A function of the page that the agent may call. */
export interface Tool<S = JsonSchema> {
  name: string;
  title?: string;
  /** The model chooses by this. */
  description: string;
  /**
   * JSON Schema of the arguments; they are checked before `execute` is called. Or a Standard Schema that can give one
   * (zod 4.2, ArkType): then its own `validate` has the last word, and `execute` gets what it makes of them.
   */
  inputSchema: S;
  /**
   * Without it, a call waits until `tools.resolve` answers it. What it gives, or throws, is told to the model. Text stays text;
   * other values become JSON: a `Date` its ISO text, a `Map` an object (or pairs), a `Set` an array, functions are left out. What
   * JSON cannot hold (a cycle, a BigInt, a `Response`, an element) is `tool_failed`, naming where and what. It may call any method
   * of the workspace.
   *
   * A `Blob` or a `File`, alone or anywhere in a value, becomes a file of the call: `ToolCallPart.files` in its order. In the value
   * `{ file, name?, mediaType, size }` stands for it, where `file` is its place in that list, from 0. Models that take images or
   * PDF files see these; what is text they read in the result, and of all else they are told. A result of MCP
   * (`{ content: [{ type: "text" | "image" | … }], isError? }`) is taken as that. Limits as for files of a message
   * (`file_too_large`); `tools.execute` gives no files back.
   */
  execute?(args: OutputOf<S>, context: ToolContext): unknown;
  /** Where what it says comes from: the workspace, the world outside, or the app itself. Default `Workspace`. */
  source?: "Workspace" | "External" | "System";
  /** Changes nothing, so it may be run again. Default: by its name (`get_`, `list_`, `search_`, `read_`, `describe_`). */
  readOnly?: boolean;
  /** What must be held for it. Not held: the model is told that the tool is unavailable, and nobody is asked. */
  capability?: string;
  /** What it does away with may be gone for good: a person is asked, unless a rule says otherwise. Default false. */
  destructive?: boolean;
  /**
   * It can send something out of the page, as an address or a query that it looks up. Default: where it is not read-only, has a
   * `destination`, or is `External` and read-only by nothing but its name.
   */
  openWorld?: boolean;
  /**
   * The arguments that say where: `["to"]`. Once a person has always allowed a call, other calls with equal ones are not asked about again,
   * whatever text from outside comes. A tool that names none asks once for each new origin of such text.
   */
  destination?: string[];
  /** MCP's words, where ours are absent: read-only, destructive, idempotent (may be run again), open-world. */
  annotations?: { title?: string; readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  /** Default: the agent's `toolTimeoutMs`. */
  timeoutMs?: number;
  /** Whether it may run beside the other calls of its turn. Default: only if all of them are read-only. */
  concurrency?: "parallel" | "serial";
  /**
   * Mends arguments where that cannot change their meaning: JSON in a string, one value for a list of it, "42" where
   * only an integer fits, `null` for what may be absent. Default true.
   */
  coerce?: boolean;
  /** Whether the schema's `format` decides; else it is a remark. Default false. */
  formats?: boolean;
  /**
   * Shows the arguments while they come: `arguments` of the part that is `receiving` grows, and `agent:message-chunk` has them with
   * `kind: "arguments"`. Of a list with very many members some are shown later than they come. What is there is neither whole nor judged:
   * the tool gets them once they are. Default false.
   */
  streamArguments?: boolean;
  /**
   * What a call would do, said to the person who is asked about it: "Place the order of 3 chairs?". Up to 500 characters. It is
   * called with valid arguments, before the question, which waits up to 10 seconds for it. Default, also where it throws: the
   * `title`, or the name, as a question.
   */
  explanation?(args: OutputOf<S>): string | Promise<string>;
  /**
   * The page was lost while it ran: run it again, ask a person whether to, or tell the model that it failed. Default:
   * `rerun` for read-only tools, else `ask`.
   */
  onResume?: "rerun" | "ask" | "fail";
  /** Whether a call that was lost took effect: its result, or `null`. Asked before `onResume` counts. */
  lookup?(args: OutputOf<S>, context: { toolCallId: string }): { result: unknown } | null | Promise<{ result: unknown } | null>;
}
/** A Standard Schema that can give a JSON Schema: by the standard (zod 4.2, ArkType, valibot, Effect), or by a method of its own. One without `validate` leaves it to the JSON Schema. */
export type SchemaWithJson = StandardSchema<any> & ({ readonly "~standard": { readonly jsonSchema: object } } | { toJSONSchema(): unknown } | { toJsonSchema(): unknown });
/** What a schema may be: a JSON Schema, or a Standard Schema that can give one. */
export type AnySchema = (JsonSchema & { readonly "~standard"?: never }) | SchemaWithJson;

/**
 * The calls of these tools, each with its arguments and its result: `part as ToolCallOf<typeof tools>`, where `tools` is a map of
 * what was registered, by name. What a page shows of a call may still be coming, or be what no schema has checked.
 */
export type ToolCallOf<T extends { readonly [name: string]: { inputSchema: unknown; execute?(...args: any): unknown } }> = {
  [K in keyof T & string]: Omit<ToolCallPart, "tool" | "arguments" | "result"> & { tool: K; arguments: OutputOf<T[K]["inputSchema"]>; result?: T[K] extends { execute(...args: any): infer R } ? Awaited<R> : unknown };
}[keyof T & string];

/** The part of standardschema.dev that counts here: zod, ArkType and others are such schemas. */
export interface StandardSchema<O = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate?: (value: unknown) => unknown;
    readonly types?: { readonly input: unknown; readonly output: O } | undefined;
  };
}
/** What a Standard Schema makes of a value; of a JSON Schema, what its literal type says. Where nothing is known: `any`. */
export type OutputOf<S> = S extends { readonly "~standard": { readonly types?: { readonly output: infer O } | undefined } } ? O : JsonOf<S>;
/** What fits a JSON Schema, as far as its literal type tells: types, members, items, `enum`, `const`, `anyOf`, `oneOf`. */
export type JsonOf<S> =
  S extends { readonly const: infer C } ? C
  : S extends { readonly enum: readonly (infer E)[] } ? E
  : S extends { readonly anyOf: readonly (infer A)[] } ? JsonOf<A>
  : S extends { readonly oneOf: readonly (infer A)[] } ? JsonOf<A>
  : S extends { readonly type: readonly (infer T)[] } ? (T extends string ? JsonOf<Omit<S, "type"> & { readonly type: T }> : any)
  : S extends { readonly type: infer T } ? (string extends T ? any : TypeNamed<T, S>)
  : any;
type TypeNamed<T, S> =
  T extends "string" ? string
  : T extends "number" | "integer" ? number
  : T extends "boolean" ? boolean
  : T extends "null" ? null
  : T extends "array" ? (S extends { readonly items: infer I } ? JsonOf<I>[] : any[])
  : T extends "object" ? (S extends { readonly properties: infer P } ? Members<P, S extends { readonly required: readonly (infer R)[] } ? R : never> : any)
  : any;
type Members<P, R> = Flat<{ -readonly [K in keyof P as K extends R ? K : never]: JsonOf<P[K]> } & { -readonly [K in keyof P as K extends R ? never : K]?: JsonOf<P[K]> }>;
type Flat<T> = { [K in keyof T]: T[K] };
export interface ToolContext {
  /** Fires when the run is interrupted or the tool's time is up; what it gives afterwards is dropped. */
  signal: AbortSignal;
  toolCallId: string;
  /** Absent when the page's own code called the tool. */
  runId?: string;
  /** Any JSON value: shown in events and in the view. */
  onProgress(progress: unknown): void;
}

/**
 * What an agent knows how to do. One called `general_assistant` takes the place of the built-in one, which tells the
 * model of its tools under `## Available Tools`.
 */
export interface Skill {
  /** 1 to 64 letters, digits, hyphens and underscores. */
  name: string;
  /** When it is of use: the model chooses by this. */
  description: string;
  /** What it says. `{{name}}` stands for a variable, `{{tools}}` for the list of its tools. */
  template: string;
  /** A variable that the template names and nobody gives is an error, and so is the other way round. */
  variables?: Record<string, string>;
  /** The tools that `{{tools}}` lists. Default: all. */
  tools?: string[];
  /**
   * `account`: there for all workspaces of this origin, as long as this workspace's last start gives it. Of two with one
   * name the workspace's own counts. Default `workspace`.
   */
  scope?: "workspace" | "account";
}

/**
 * `always_allow` holds until the agent is stopped, the conversation cleared, a message removed from it, or it is revoked; for this
 * definition of the tool. To a question that says `once` it allows this call, and from then on the tool's other calls: one like this is asked about again.
 */
export type PermissionAnswer = "allow_once" | "always_allow" | "deny";
/** What goes with an answer: a word to the model, and the version of the page that the person saw. */
export interface PermissionReply { reason?: string; pageVersion?: number }
/**
 * What is allowed without asking. The rule for the tool counts, then that for its capability; without either, what
 * destroys is asked about (denied where `default` is `deny`) and `default` holds for the rest. No rule changes this:
 * once the conversation holds text from outside, a tool that can send something out is asked about. From outside is what a tool
 * with `source: "External"` gave, what the provider looked up, a session from a file, and results of tools in the `messages` of a
 * launch. So are the context and the files of a message that is not `trusted`. So are pages that an agent wrote after it had read such
 * text, and pages from before there were marks.
 *
 * What a person has always allowed is the tool, wherever it sends something, as long as the conversation holds no such text. Once
 * it does, nothing is asked again for a `destination` that the person has seen. Of a tool that names none, the person has to have
 * seen each origin of that text.
 *
 * A call that leaves nothing of a page's text is judged as strictly as the one that deletes the page, by the rules for both.
 */
export interface Permissions {
  /** How long a person may think; nobody's answer is a no. Default: as long as it takes. */
  timeoutMs?: number;
  default?: "allow" | "ask" | "deny";
  tools?: Record<string, "allow" | "ask" | "deny">;
  capabilities?: Record<string, "allow" | "ask" | "deny">;
  /**
   * Asked about each call that is not denied; its word counts in place of the rules, but no `allow` of it passes text
   * from outside. When it throws or says something else, a person is asked.
   * `requestId` is empty: nobody has been asked yet. So `explanation` is the tool's title as a question, not what the tool
   * says of this call: look at `arguments`.
   */
  decide?(request: PermissionRequest): "allow" | "ask" | "deny" | Promise<"allow" | "ask" | "deny">;
}
export interface Tools {
  /**
   * Adds a tool and gives the function that undoes this registration, and no later one of the same name. Aborting
   * `signal` undoes it too. `replace` takes the place of a tool of this name. Register before `startAgent`: a call that a
   * lost page left goes on with the tools that are there then. A `pattern` of its schema means what it means to the browser's
   * RegExp, and takes time that is linear in the text. So backreferences and lookaround are refused, as is one that is too
   * large when its repeats are written out.
   *
   * What few schemas have (references, alternatives, patterns) comes with a part of the module, once for a page. Until it is
   * there, such a tool is refused by `agent:error`, as in a worker. Calls wait for it.
   *
   * @throws {LodgerError} `duplicate_tool`, `invalid_tool`, `invalid_schema`.
   */
  register<const S extends AnySchema = JsonSchema>(tool: Tool<S>, options?: { replace?: boolean; signal?: AbortSignal }): () => void;
  /** Whether there was such a tool. */
  unregister(name: string): boolean;
  /** All tools, in order of registration. */
  definitions(): ToolDefinition[];
  /**
   * Runs a tool as the agent would, without one: past all checks, and a person where one is asked. Only this call waits
   * then, the agent does not.
   *
   * @throws {LodgerError} `tool_not_found`, `permission_denied`, `invalid_arguments`, `busy`, `tool_failed`, `tool_timeout`.
   */
  execute(name: string, args: object): Promise<ToolResult>;
  /** Answers a call of a tool without `execute`, also after a reload. @throws {LodgerError} `request_not_found`. */
  resolve(toolCallId: string, answer: { result: unknown } | { error: string }): Promise<void>;
  /** What is always allowed: each tool once in a session, however many destinations or origins that is for. */
  grants(): Promise<{ tool: string; sessionId: string }[]>;
  /** The tool is asked about again. */
  revoke(tool: string, sessionId?: string): Promise<void>;
}

// ---------------------------------------------------------------- pages


/** Of this workspace, or of all workspaces of the origin. */
export type MemoryScope = "workspace" | "account";

/**
 * What is remembered from one conversation to the next: of the operator who works here. Without `scope` it is where the agent's
 * configuration says, or in the workspace where no agent runs. Needs no running agent.
 * @throws {LodgerError} `operator_required`: nobody works here
 */
export interface Memories {
  /** The newest first; 50 where nobody says how many, at most 1,000. */
  list(options?: { limit?: number; offset?: number; scope?: MemoryScope }): Promise<Memory[]>;
  /** The best first: by importance, by when and how often they were read, and by how well they match. */
  search(query: string, options?: { limit?: number; scope?: MemoryScope }): Promise<Memory[]>;
  /**
   * Remembers something: 1 to 4,000 characters. What says the same is there once. `importance`: 0 to 1, default 0.5. At most 10 tags.
   * @throws {LodgerError} `invalid_arguments`; `too_large`: there are 10,000
   */
  add(memory: { text: string; importance?: number; tags?: string[]; scope?: MemoryScope }): Promise<Memory>;
  /**
   * What was made of text from outside stays marked.
   * @throws {LodgerError} `memory_not_found`, `invalid_arguments`; `corrupt`: a damaged memory needs a `text`
   */
  update(id: string, change: { text?: string; importance?: number; tags?: string[]; scope?: MemoryScope }): Promise<Memory>;
  /** Forgets it for good. Conversations in which it was told keep that. @throws {LodgerError} `memory_not_found` */
  remove(id: string, options?: { scope?: MemoryScope }): Promise<void>;
}

/** The workspace's pages: here the page's own code does what the agent's page tools do. Needs no running agent. */
export interface Pages {
  /** @throws {LodgerError} `slug_taken`, `page_not_found` (the parent) */
  create(page: { title: string; content?: string; parentSlug?: string | null; slug?: string }): Promise<Page>;
  /** @throws {LodgerError} `page_not_found`; `corrupt`: it is damaged (`PageNode.damaged`), and so with all that needs its text */
  read(slug: string): Promise<Page>;
  /** All pages, or a page with those below it. @throws {LodgerError} `page_not_found` */
  tree(rootSlug?: string): Promise<PageNode[]>;
  /** Best first. */
  search(query: string, options?: { limit?: number }): Promise<SearchHit[]>;
  /** @throws {LodgerError} `page_not_found`, `version_conflict` */
  update(slug: string, change: { content?: string; metadata?: Record<string, unknown> }, options?: { expectedVersion?: number }): Promise<Page>;
  /** @throws {LodgerError} `page_not_found` */
  rename(slug: string, title: string): Promise<Page>;
  /** `position`: default last. @throws {LodgerError} `page_not_found`, `page_cycle` */
  move(slug: string, to: { parentSlug: string | null; position?: number }): Promise<Page>;
  /** Into the trash; of a damaged page what is whole of it, else what lies in its place, as text. @throws {LodgerError} `page_not_found` */
  delete(slug: string): Promise<void>;
  trash(): Promise<Page[]>;
  /**
   * Out of the trash. A damaged page is made anew of what is whole: all of it where its row lay in a wrong place, else the newest
   * content that can be read; what nobody can read is kept as a version, as text. @throws {LodgerError} `page_not_found`; `corrupt`:
   * nothing of it is whole
   */
  restore(slug: string): Promise<Page>;
  backlinks(slug: string): Promise<Page[]>;
  outgoingLinks(slug: string): Promise<PageLink[]>;
  /** Its contents, the present one first; of a damaged page too. */
  versions(slug: string, options?: { limit?: number }): Promise<PageVersion[]>;
}

// ---------------------------------------------------------------- sessions


/**
 * How a session stands. The first four are active, the others can be restarted or recovered. `starting`: it waits for its
 * provider's key. `running`: it has begun and has not worked yet, or a run works (then there is a `pid`). `idle`: it has worked, and
 * takes the next prompt. `stopping`: it stops when its run has ended.
 */
export type SessionStatus = "starting" | "running" | "idle" | "stopping" | "stopped" | "failed" | "auth_expired" | "provider_unavailable" | "sandbox_failed";


/** A message as another library has it: with a `role` and a `content` or `parts` of its own, or an item of OpenAI's Responses. */
export type ForeignMessage = ForeignShape | (ForeignShape & { [member: string]: unknown });
// Interfaces have no index signature, and a literal with members that are not named here needs one.
type ForeignShape = { role: string; content?: unknown; parts?: readonly unknown[] } | { type?: string | null; role?: undefined };


/** The sessions of a workspace as a store. */
export interface SessionsView {
  /** Calls the listener at once, then once for all that changes in one go. Gives the function that ends it. */
  subscribe(listener: (snapshot: SessionsSnapshot) => void): () => void;
  getSnapshot(): SessionsSnapshot;
}

/** What goes on: it works and says something; it is there and waits; it is over or lost. */
export type Activity = "streaming" | "waiting" | "broken";

/**
 * What the signature of a stored record says. `verified`: nobody without this browser's key has changed it. `tampered`: somebody
 * has, and then it is only looked at, salvaged and removed. `unverified`: there is none; it was written without one, or that was taken out. `unverifiable`: the key is gone, or another's.
 * What was one of the last two when the agent, or a write without one, took it stays that.
 *
 * The key lies in the workspace's database, and no script can read it. So signatures tell of changes by a person or program that
 * reaches the disk or a backup. A script of this origin can have anything signed, and a session, or a database, that was put
 * back whole to an earlier state is `verified`.
 */
export type HmacStatus = "verified" | "tampered" | "unverified" | "unverifiable";

/** `seq`: its entry in the journal. */
export interface SessionRecordEvent extends EventRecord { seq: number }
/** `receipt_hmac`: the signature of its entry, if that has one. */
export interface Receipt extends ReceiptRecord { receipt_hmac?: string }
/** `receipt_hmac`: as of a receipt. */
export interface Handoff extends HandoffRecord { receipt_hmac?: string }
/**
 * A run of a task, and what it has brought about. `stop_reason`: an error's code, or which limit; null: it completed. `dropped`:
 * how many results of its tools, and pieces of its custom model, came after nobody waited for them, while this page has worked.
 */
export interface TaskRun extends TaskRunRecord { outputs: RunOutput[]; dropped?: number }
/** What one task without a session has come to. */
export interface TaskDone { run: TaskRun; receipts: Receipt[]; handoff: Handoff; text: string }

/** An entry of a session's journal. Its other members depend on `type`: `JournalEntry` has them. Later versions have more. */
export interface SessionEvent {
  v: 1;
  seq: number;
  at: number;
  type: string;
  runId?: string;
  /** SHA-256 of the chain up to it: 43 characters of base64, before format 5 64 hexadecimal digits. */
  hash: string;
  [field: string]: unknown;
}



/**
 * Sessions: conversations that last, with an owner and a record of what was said, done, allowed and spent. Each runs beside the
 * others, one run at a time. Every method needs an operator (`operator_required`); what changes a session needs its owner
 * (`permission_denied`), reading needs any. What is read needs no running agent.
 */
export interface Sessions {
  /**
   * Begins a session, owned by the present operator. `id`: one that no session has (`session_exists`), of at most 256 bytes and not
   * "all"; without one it is made of project, provider and time, and numbered where two are alike. `displayName`: up to 200
   * characters of any language, without line ends, blanks at its ends and what turns the direction of text. `provider`: a name in
   * `providers`, which this session keeps to; while that has no key the session is `starting`, and prompts wait, in this page only. Without a name it is the main provider, whose key nothing waits for:
   * the session is `running`, and its runs fail with `not_configured`.
   *
   * `messages`: a conversation that it begins with, from `history()` or elsewhere: up to 10,000 messages and 8 MB of JSON. The shapes of
   * the AI SDK (`UIMessage`, `ModelMessage`), of OpenAI (chat, Responses) and of Anthropic are taken too. Texts and
   * tool calls are taken; thinking is shown, but sent to nobody; files, and instructions of a system, are refused with their place. Messages get ids of their own; answers in a row
   * become one. A message without an answer gets an empty, interrupted one, and so does a tool call without an end.
   *
   * `Overrides` beside these count for all its messages. @throws {LodgerError} `session_exists`, `not_running`, `invalid_config`;
   * `invalid_arguments`, of `messages` with the place.
   */
  launch(options?: Overrides & { id?: string; displayName?: string; projectId?: string; messages?: readonly ((Pick<Message, "role" | "parts"> & Partial<Message>) | ForeignMessage)[] }): Promise<SessionState>;
  /**
   * `sendMessage` to a session; `exit`, `quit`, `/exit` and `/quit` stop it instead, and then there is no run. One that has failed
   * refuses it (`invalid_transition`) until `recover`; `sendMessage` recovers it.
   */
  prompt(id: string, input: UserInput, options?: SendOptions): Promise<{ runId: string | null }>;
  /** How a session stands. A session that was changed from outside is shown as it is stored. */
  status(id: string): Promise<{ session: SessionState; hmac_status: HmacStatus }>;
  /** Stops an active session; its run is interrupted. */
  stop(id: string, reason?: string): Promise<SessionState>;
  /** Starts a session again that has stopped or failed. */
  restart(id: string, reason?: string): Promise<SessionState>;
  /**
   * With `action`, goes on after a failure: `resume` leaves it idle and a lost run held, `reconnect` goes on with that run, or after a
   * failed one; that needs a running agent.
   * Without, says that it failed: `reason` is `auth_expired`, `provider_unavailable`, `sandbox_failed` or `stale_endpoint`.
   */
  recover(id: string, options: { action?: "reconnect" | "resume"; reason?: string; detail?: string }): Promise<SessionState>;
  /**
   * All sessions, the last changed first; one that is damaged says so (`damaged`). Where what says how a session stands was changed
   * from outside, it is shown as it is stored. With `withVerification` the head of each is held against its signature. A changed row
   * behind an unchanged head is found when the session is opened, and by `verify`, which reads all rows.
   */
  list(): Promise<SessionState[]>;
  list(options: { withVerification: true }): Promise<{ session: SessionState; hmac_status: HmacStatus }[]>;
  /**
   * All sessions as a store, which follows what happens to them in any tab. It is shaped for `useSyncExternalStore` and Svelte's stores;
   * the same one each time. What reads it is loaded when it is asked for; until the list was read it is `loading`.
   */
  view(): SessionsView;
  /** A person has seen what was said in a session. What a `view(id)` shows in a visible page is seen by that. */
  markRead(id: string): void;
  /**
   * Those in which each of these words was said, in any order and case, or whose title has them; the last changed first. A title is
   * `display_name`, else `title`, else the id. Of archived ones it is the title alone. `messageId`: the newest message that has all of
   * them, and `excerpt`: its text around the first. All conversations are read for it, a page at a time; `signal` ends that.
   *
   * @throws {LodgerError} `invalid_arguments`, `aborted`
   */
  search(query: string, options?: { signal?: AbortSignal }): Promise<SessionHit[]>;
  rename(id: string, displayName: string): Promise<SessionState>;
  /**
   * From here on a session goes by these instead of the agent's configuration, a run at work from its next model call. Members that are
   * not named stay as they are. An agent must run.
   *
   * @throws {LodgerError} `invalid_config`: no such provider, tool or value; `not_running`, `permission_denied`.
   */
  configure(id: string, config: Overrides): Promise<SessionState>;
  /**
   * Removes a session, whose run is interrupted: nobody finds it any more, and after ten seconds nothing is left of it. A session
   * that was changed from outside goes at once, for any operator. `default` goes at once too, with what it has used up and what was
   * always allowed in it, and begins anew: there is one as long as an agent runs.
   */
  remove(id: string): Promise<void>;
  /**
   * Brings a session back that was removed within the last ten seconds. One that was not removed stays as it is, also `default`,
   * which has begun anew.
   */
  undoRemove(id: string): Promise<SessionState>;
  /**
   * Puts an idle session away: all its rows are packed, which takes a fraction of the space, and nothing is deleted. It is listed
   * (`archived`) and reads as before; its next message opens it again.
   *
   * @throws {LodgerError} `busy`: something is under way in it, or waits.
   */
  archive(id: string): Promise<SessionState>;
  /**
   * Its journal from the entry `from` on. In place of entries that are damaged stands one with the type `damaged`: `from` is the first,
   * `seq` the last of them, `why` what is wrong, `hash` empty. Such a one stands behind the last entry too, where nothing says that
   * it is the last.
   */
  journal(id: string, options?: { from?: number; limit?: number }): Promise<SessionEvent[]>;
  /** Its events (`prompt_received`, `run_completed`, …) from that entry on; the next page begins behind the last one's `seq`. */
  events(id: string, options?: { from?: number; limit?: number }): Promise<SessionRecordEvent[]>;
  /** What was done: `craik.capability_receipt`, each tied to the one before. */
  receipts(id: string): Promise<Receipt[]>;
  /** What runs have left: `craik.handoff`. */
  handoffs(id: string): Promise<Handoff[]>;
  /** A run by its id, or by its task's (`active_task_id`): `craik.task_run`, with its `outputs`. */
  task(id: string): Promise<TaskRun>;
  /**
   * One task without a session, to its end, which `run.status` tells. It is in no list, and a page that goes away interrupts it.
   * Its run, receipts and handoff are kept; `task` reads them. With `keep: false` nothing is left of it ten seconds after its end.
   */
  runOnce<const S extends AnySchema | undefined = undefined>(objective: UserInput, options?: Omit<SendOptions<S>, "sessionId" | "idempotencyKey" | "whenBusy"> & { keep?: boolean }): Promise<TaskDone & { value?: OutputOf<S> }>;
  /**
   * The session in a file. `journal` (default): all of it, line by line as JSON, with its files, receipts, handoffs, hashes and
   * signatures, for `import` and `replay`; it holds what was said, and no key. `markdown`, `json` and `html`: the conversation, for people; `html` is one file with all that was attached, in
   * which nothing runs and nothing is fetched.
   * What is written while it is read is not in it. A journal of 100 MB needs the memory of a page of it. Of a damaged session it has
   * what is stored, and says where it is damaged; no import takes such a file.
   *
   * @throws {LodgerError} `session_not_found`, `corrupt`: its rows are another session's.
   */
  export(id: string, options?: { format?: "journal" | "markdown" | "json" | "html" }): Promise<Blob>;
  /**
   * Takes in a session from a file of `export`, whole or not at all: it is checked to its end before anything is written. It
   * belongs to the present operator, is answered by the provider that is asked first (a `fork` of it with `provider` by that one),
   * and keeps its id; where that is taken, it gets a number (`docs-2`). Its `hmac_status` is `verified` only if this workspace's own key has signed it, and stays what it was when it came. A run that was open is
   * interrupted, what was always allowed is not allowed any more, and what is in it counts as text from outside. If no agent
   * runs, the workspace is held that long.
   *
   * @throws {LodgerError} `invalid_arguments`: it is no such file. `corrupt`: it was changed or cut off, or the session was damaged
   * when it was exported; the message names the line.
   * `newer_version`.
   */
  import(file: Blob): Promise<SessionState>;
  /**
   * Runs a file of `export` again: what the machine decides must be what is recorded, byte for byte. `package`: the version that has
   * recorded it; another version may decide otherwise. Changes nothing.
   *
   * @throws {LodgerError} As `import`. `corrupt` too: it is more work than a session can be, because somebody has made it so.
   */
  replay(file: Blob): Promise<Replay>;
  /**
   * Makes another session of the first `at` entries of this one (default: all; what was cleared needs its clearing), with another
   * provider if wanted (a name in `providers`; then the agent must run). Its id is this one's with a number. A run that was open is
   * interrupted in it.
   */
  fork(id: string, options?: { at?: number; provider?: string }): Promise<SessionState>;
  /**
   * Makes a whole session of one that is damaged. The entries before the damage stay as they are; of what was said behind it, what
   * `history` shows is taken along, as `launch({ messages })` takes it, with its files: receipts and what was used up not at
   * all, but for what a clearing behind the damage has counted. Before an answer whose message is lost stands that it is, and what waited in the queue stands last. The damaged session stays, and the new one has its id with a number. With `replace` it takes the damaged one's place,
   * which is gone then: export that before. A run that was open is interrupted, what was always allowed is not any more, nothing waits in its
   * queue. Its event `salvaged` says where the damage was. Where rows before it, or where they end, cannot be proven, its
   * `hmac_status` is `unverified`.
   *
   * @throws {LodgerError} `invalid_arguments`: nothing is damaged. `busy`, `permission_denied`.
   */
  salvage(id: string, options?: { replace?: boolean }): Promise<SessionState>;
  /**
   * Reads all entries of a session and says whether they are what was written: the chain of their hashes, what they add up to, its
   * head, its checkpoint, the signatures. `status` and lists read what is needed for an answer: of a session that was cleared, what
   * came after. Changes nothing. A damaged session is told as that, and does not reject.
   *
   * @throws {LodgerError} `session_not_found`, `newer_version`.
   */
  verify(id: string): Promise<Verified>;
  /**
   * Puts a session aside, or all of the present operator's that are alive: those that were put aside by this. A model call is
   * aborted, and made again by `play`; a tool that only reads is too; one with an effect comes to its end, and its result is
   * kept; a question to a person waits, and is asked again by `play`. A benched session is kept over everything, costs nothing, and
   * takes no message (`benched`); `SessionState.suspended` tells it from one that a lost page has left,
   * because a view shows both as `held`. `sessions.stop` ends that, and an `interrupt` of the run by its id.
   */
  bench(target: string | "all"): Promise<{ suspended: string[] }>;
  /**
   * Takes up again what was benched, and what was lost in mid-run with its page; "all": each of these. A run that goes on needs a
   * running agent. How they stand now.
   *
   * @throws {LodgerError} `invalid_transition`: it was neither.
   */
  play(target: string | "all"): Promise<SessionState[]>;
  /**
   * What goes on in a session or a run, at this moment. `broken`: a run that has ended or lost its page, a session that was stopped
   * or has failed. `waiting`: a session without a run; a run that waits for a person, is benched, is in the queue, or has said nothing
   * for more than 30 seconds; a run whose words end like a prompt (`$ `, `% `, `# `, `> `). Else `streaming`. It changes with
   * time alone: ask again.
   */
  activity(id: string): Promise<Activity>;
  /**
   * What the model has said in a session or a run, text and thinking, as one row of bytes: from the byte `from` on, or the last
   * `tail`; `offset` is where the next ones come. The last 4 MiB can be read; what is lost is skipped.
   * Clearing begins the row of its session anew: `offset` is less than `from` then.
   */
  output(id: string, options?: { from?: number; tail?: number }): Promise<{ data: Uint8Array; offset: number }>;
  /**
   * Its journal from the entry `from` on, and then each entry once it is stored. Any number of readers, each in its own place; a slow
   * one loses nothing. `signal`, or leaving the loop, ends it at once; it does not end with a run.
   *
   * @throws {LodgerError} `session_not_found`, also when it is removed meanwhile; `workspace_closed`, `workspace_deleted`.
   */
  attach(id: string, options?: { from?: number; signal?: AbortSignal }): AsyncIterableIterator<SessionEvent>;
}

// ---------------------------------------------------------------- keys

/**
 * Keys of providers. None of this needs a running agent.
 *
 * The vault keeps them with the workspace: encrypted by AES-GCM, under a key that the browser does not give away, in the
 * workspace's own database. That keeps them from who reads the disk, a backup or an export, not from scripts of this
 * page's origin. With `storage: "memory"` they are kept in memory, as long as the workspace is open. A provider without
 * `apiKey` takes the vault's key of its name in `providers`, else of its `kind`; of a key that another tab has set, the
 * agent learns when it is started.
 */
export interface Keys {
  /**
   * Keeps a key, in place of the one there was. `provider`: a kind, or a name in `providers`. An agent that
   * runs, here or in another tab, takes it from the next model call on. The key stays in this tab and in the vault.
   *
   * @throws {LodgerError} `invalid_arguments`, `insecure_context` (there is no encryption), `storage_unavailable`,
   * `storage_failed`, `quota_exceeded`.
   */
  set(provider: string, key: string): Promise<void>;
  /** Forgets a key, if there is one. */
  remove(provider: string): Promise<void>;
  /** The names of those there are. The keys themselves are never given back. */
  list(): Promise<string[]>;
  /**
   * Tries a provider's key (its own, else the vault's of its kind: it has no name here) with the cheapest request that it
   * answers, within 30 seconds or its `timeouts.connectMs`. A key that is refused is no exception: `error` says what is wrong
   * and what to do. A custom model is always fine.
   *
   * @throws {LodgerError} `invalid_config`: it is no provider.
   */
  validate(provider: UnchosenApi | CustomProvider): Promise<{ ok: boolean; error?: ErrorInfo }>;
  /**
   * The models that a provider offers, in its order. None of Azure's, because a key is not shown what is deployed.
   *
   * @throws {LodgerError} `invalid_config`, and what `validate` would say.
   */
  models(provider: UnchosenApi | CustomProvider): Promise<{ id: string; name?: string }[]>;
}

// ---------------------------------------------------------------- events


/** The `detail` of each event. They are dispatched on the Workspace, then on its target, with one and the same detail. */
export interface WorkspaceEvents {
  "agent:status-changed": Detail & Status;
  "agent:session-started": Detail & SessionStarted;
  "agent:message-chunk": Detail & MessageChunk;
  "agent:tool-call": Detail & ToolCall;
  /** A person is asked about a call. `respond` answers in place; the first answer counts. */
  "agent:permission-required": Detail & PermissionRequest & { respond(answer: PermissionAnswer, options?: PermissionReply): Promise<void> };
  "agent:permission-resolved": Detail & PermissionResolved;
  "agent:session-completed": Detail & SessionCompleted;
  "agent:session-interrupted": Detail & SessionInterrupted;
  "agent:error": Detail & ErrorInfo;
  "agent:lifecycle": Detail & RunPhase;
  "agent:session-changed": Detail & SessionChanged & { sessionId: string };
  "agent:notice": Detail & Notice;
}

declare global {
  interface DocumentEventMap extends LodgerDocumentEvents {}
}
type LodgerDocumentEvents = { [K in keyof WorkspaceEvents]: CustomEvent<WorkspaceEvents[K]> };
