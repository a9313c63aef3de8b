// Written from the tables in `src/shapes`: `LODGER_WRITE=1 cargo test --package lodger --lib written`.
import type { ErrorInfo, HmacStatus, Lifecycle, Overrides, Part, SessionStatus } from "./index.js";

/** In every detail; the run's members where there is a run. */
export interface Detail {
  /** The workspace. */
  workspace: string;
  /** The session. */
  sessionId?: string;
  /** The run. */
  runId?: string;
  /** The run that has delegated this one. */
  parentRunId?: string;
  /** Counts a run's events within one `epoch`. */
  seq?: number;
  /** The holder that tells it: each start of an agent has the next one. */
  epoch?: number;
}

/** A run has begun. */
export interface SessionStarted {
  /** When. */
  startedAt: number;
}

/**
 * `shown = shown.slice(0, offset) + text` of that part. An answer that is asked for again, by `resume()` or by the run itself,
 * begins with its first part at offset 0: what was shown of it before is gone then, until the run ends with less (a view does this
 * by itself).
 */
export interface MessageChunk {
  /** The message. */
  messageId: string;
  /** Which part of it. */
  part: number;
  /** From which place on the part is now this text, in UTF-16 units. */
  offset: number;
  /** The text. */
  text: string;
  /** Whether it is said or thought, or what a tool is given. */
  kind: "text" | "thinking" | "arguments";
}

/** One `started` a call (again with `progress`), then one `completed` or `failed`. */
export interface ToolCall {
  /** The call. */
  toolCallId: string;
  /** Its tool. */
  tool: string;
  /** What has happened to it. */
  status: "started" | "completed" | "failed";
  /** What the model gives it. */
  arguments: unknown;
  /** How far it is, as the tool says it. */
  progress?: unknown;
  /** What it gave. */
  result?: unknown;
  /** Why it has failed. */
  error?: ErrorInfo;
  /** What the tool gave as files. */
  files?: FilePart[];
}

/** A question to a person is answered, or nobody is asked any more. */
export interface PermissionResolved {
  /** The question. */
  requestId: string;
  /** `withdrawn`: its run was interrupted, benched or stopped, or a message came in between. */
  answer: "allow_once" | "always_allow" | "deny" | "withdrawn";
}

/** A run has completed. */
export interface SessionCompleted {
  /** When. */
  endedAt: number;
  /** The text of the answer. */
  text: string;
  /** As JSON, where the run has a `schema`. */
  value?: unknown;
  /** What it has used up. */
  usage?: Usage;
  /** How many model calls it took. */
  turns: number;
}

/** A run was interrupted. */
export interface SessionInterrupted {
  /** When. */
  endedAt: number;
  /** By what. */
  reason: string;
}

/**
 * One `start` a run in each page, and one `end` (completed or interrupted) or `error`, also when another tab works or goes on with
 * it. A page that opens later hears the run start when a holder goes on with it: `detail.epoch` is another. An end that a holder
 * wrote and could tell nobody is told when the next holder is there, without `seq`.
 */
export interface RunPhase {
  /** Where the run stands. */
  phase: "start" | "end" | "error";
  /** When it began. */
  startedAt: number;
  /** When it ended. */
  endedAt?: number;
  /** Why it has failed. */
  error?: ErrorInfo;
}

/**
 * Something has happened to a session. What a run does, its own events tell. Every tab hears it, also where no agent runs.
 */
export interface SessionChanged {
  /**
   * The type of an event of `sessions.events()`, as `launched`, `renamed`, `removed`, `restored`, `stopped`, `restarted`,
   * `recovered`, `failed`, `benched`, `played`, `archived`, `cleared`, `forked`, `imported`, `salvaged`.
   */
  change: string;
}

/**
 * Something that a person may want to know. A model is asked again after `delayMs`, as try number `attempt`, or `provider` takes
 * over; `error` says why. `kind: "offline"`: the browser has no network, and the run waits for it; that counts as no try. A
 * provider on this machine (`localhost`, `127.…`) needs none, and is asked again as ever. `kind: "holder"`: another tab runs the
 * agent now than before, or (`holder`) this one; with `error` if it was taken from a tab that did not answer. `kind:
 * "storage_lost"`: all that the workspace had stored is `lost`. Each page that opens it hears that a task later, until somebody
 * has acknowledged it (`storage()`): listen before anything else is awaited. `kind: "damaged"`: the agent has started without the
 * session `sessionId`, whose rows are damaged; `error` says what can be done. Or, without a `sessionId`, these `pages` are
 * damaged, and so many more are `missing` of which nothing that is stored says the name. `kind: "files"`: these `files` of the
 * conversation are lost. Their ids are told once, the run goes on, and the model is told in their place. `kind: "compaction"`: the
 * model is sent less of the conversation from here on, `by` a summary, or by leaving out old results of tools. What `history()`
 * shows stays whole. `kind: "server_tools"`: these `tools` are not offered in this run, and `because` says why; the run goes on
 * without them.
 */
export interface Notice {
  /** What it is about. */
  kind: "retry" | "fallback" | "offline" | "holder" | "damaged" | "storage_lost" | "files" | "compaction" | "server_tools";
  /** The files that are lost. */
  files?: string[];
  /** The tools that are not offered. */
  tools?: string[];
  /** Why they are not. */
  because?: "unsupported" | "not_allowed" | "name_taken";
  /** Which try of the answer comes. */
  attempt?: number;
  /** After how many milliseconds. */
  delayMs?: number;
  /** The provider that takes over. */
  provider?: string;
  /** Whether the agent runs in this tab now. */
  holder?: boolean;
  /** What is gone. */
  lost?: Loss;
  /** The pages that are damaged. */
  pages?: DamagedPage[];
  /** How many more are. */
  missing?: number;
  /** How far a conversation has become shorter. */
  phase?: "start" | "end" | "failed";
  /** How it becomes shorter. */
  by?: "results" | "summary";
  /** Why it does. */
  reason?: "window" | "context_length" | "asked";
  /** How many tokens it had before, about. */
  used?: number;
  /** How many its model takes, if that is known. */
  window?: number;
  /** Whether what sums up has no room for the oldest part: nothing of that is in the summary. */
  leftOut?: boolean;
  /** Why. */
  error?: ErrorInfo;
}

/** A page that is damaged. */
export interface DamagedPage extends PageDamage {
  /** Its address. */
  slug: string;
}

/** One message of the conversation; a run gives one assistant message. */
export interface Message {
  /** Its id. */
  id: string;
  /** Who has said it. */
  role: "user" | "assistant" | "system";
  /** What it says, in its order. */
  parts: Part[];
  /** When it began. */
  createdAt: number;
  /** The run that it belongs to. */
  runId?: string;
  /**
   * `partial`: it still streams, or a lost page left it so. `damaged`: here is a gap, because rows of the session are damaged; its
   * role is `system`, and `damaged` says which entries are lost. An answer has `damaged` without entries where it was cut with its
   * page and what was written down of it is damaged: it ends where that is whole.
   */
  status: "complete" | "partial" | "interrupted" | "failed" | "damaged";
  /** Which entries of the session are lost here, and why. */
  damaged?: Gap;
  /** What the page gave with it. */
  metadata?: Record<string, unknown>;
  /** The model that has answered. */
  model?: string;
  /** What the answer has used up. */
  usage?: Usage;
  /** Why its run has failed. */
  error?: ErrorInfo;
  /** Where the conversation was made shorter for the model in this run, the last one last. What is shown stays whole. */
  compactions?: Compaction[];
  /** Of a person's message: what its model was told from memory beside it. */
  memories?: MemoryTold[];
  /**
   * Of a message that was edited, and of an answer that was made anew: the ids of all versions, the oldest first, this one
   * included. An edited message's answer begins versions of its own. `history({ version })` shows the conversation with an older
   * one. Where a failed run was gone on with, the first of its answers stands for all of them.
   */
  versions?: string[];
}

/** Something from memory that was told beside a message. */
export interface MemoryTold {
  /** Its id. */
  id: string;
  /** What was remembered then. */
  text: string;
}

/** A place where a conversation was made shorter for its model. */
export interface Compaction {
  /** When. */
  at: number;
  /** How. */
  kind: "results" | "summary";
  /** Why. */
  reason: "window" | "context_length" | "asked";
  /**
   * The id of the run (`runId` of its messages) from which on the model is sent all of it, word for word. Its own answer may be
   * cut inside.
   */
  until: string;
  /** Of a summary: what the model is sent in place of what was said before. */
  summary?: string;
}

/** How much of a model's window a conversation has. */
export interface Context {
  /** How many tokens the next request has, about. */
  used: number;
  /** How many the model takes, with its answer. Absent: that is not known. */
  window?: number;
  /** How often the conversation was summed up. */
  compactions: number;
}

/** A gap in a conversation. */
export interface Gap {
  /** The first entry that is lost. */
  from?: number;
  /** The last of them. */
  to?: number;
  /** What is wrong there. */
  why: string;
}

/** What a message says in words. */
export interface TextPart {
  type: "text";
  /** The words, in Markdown where a model has written them. */
  text: string;
}

/** What a model has thought, as far as its provider shows it. */
export interface ThinkingPart {
  type: "thinking";
  /** The words. */
  text: string;
}

/** A file that came with a message, or that a tool gave: `ws.file(fileId)` has its bytes. */
export interface FilePart {
  type: "file";
  /** Its id in the workspace. */
  fileId: string;
  /** What it is, by its bytes. */
  mediaType: string;
  /** How many bytes it has. */
  size: number;
  /** What it was called. */
  filename?: string;
  /**
   * Its bytes are lost, as a request of its conversation has noticed. The model is told so in its place, until the same file is
   * sent again.
   */
  gone?: boolean;
}

/** A call of a tool, with what has become of it. */
export interface ToolCallPart {
  type: "tool-call";
  /** Its id. */
  toolCallId: string;
  /** The tool's name. */
  tool: string;
  /**
   * What the model gives it. While it is `receiving`, a view has as much of it as has come, where the tool has `streamArguments`.
   */
  arguments: unknown;
  /** As much of it as has come, as JSON: while it is `receiving`, and where the tool has `streamArguments`. */
  argumentsText?: string;
  /** The question that waits for a person, while it does. */
  requestId?: string;
  /**
   * `receiving`: its arguments still come. `waiting`: for its turn, or for a person. `denied`: nobody has allowed it, so it was
   * not run. `unknown`: the page was lost while it ran.
   */
  status: "receiving" | "waiting" | "started" | "completed" | "failed" | "denied" | "unknown";
  /** How far it is, as the tool says it. */
  progress?: unknown;
  /** What it gave. */
  result?: unknown;
  /** Why it has failed. */
  error?: ErrorInfo;
  /** What the tool gave as files, in its order. */
  files?: FilePart[];
  /**
   * `provider`: the model's provider has run it (`serverTools`). `result` is what it gave in short; nobody was asked, and no event
   * tells of it.
   */
  by?: "provider";
}

/** Where an answer has something from, as its provider says. It stands behind all that its model has said then. */
export interface SourcePart {
  type: "source";
  /** The address; of `http:` or `https:`. */
  url: string;
  /** What it is called, or its address. */
  title: string;
  /** What is taken from there, word for word. */
  citedText?: string;
  /** What of the message has it from there. */
  at?: SourcePlace;
}

/** A place in a message. */
export interface SourcePlace {
  /** Which of its parts, from 0. */
  part: number;
  /** From where on in its text, in UTF-16 units; absent: all of it. */
  start?: number;
  /** Up to where. */
  end?: number;
}

/**
 * Tokens. Cached ones are apart: the whole input is the sum of the three. Reasoning is part of the output. Of an answer that broke
 * off or was interrupted it has what the provider had told until then, which most do at the end only; of one that a lost page cut,
 * nothing.
 */
export interface Usage {
  /** What was sent, but for cached tokens. */
  inputTokens: number;
  /** What was answered. */
  outputTokens: number;
  /** What was read from a cache. */
  cacheReadTokens?: number;
  /** What was written to one. */
  cacheWriteTokens?: number;
  /** How much of the output was reasoning. */
  reasoningTokens?: number;
  /** How often the provider has searched the web, as it bills that. */
  searches?: number;
  /**
   * Dollars, by the prices known when each answer came (`AgentConfig.models`), with the fee for web searches where that is known.
   * Absent where one of the answers has no known price: the sum would be too low. What it does not know of: discounts, taxes,
   * other fees for tools the provider runs, and caches paid for an hour.
   */
  cost?: number;
}

/** A message that waits for its turn. */
export interface QueuedMessage {
  /** The id that it will have in the conversation. */
  id: string;
  /** What it says. */
  text: string;
  /** `queue`: it waits as a run of its own; `steer`: to enter the run that works. */
  mode: "queue" | "steer";
}

/** All there is to draw of a conversation. */
export interface Snapshot {
  /**
   * `loading`: until the first listener has heard of something else. `submitted`: accepted, no text yet. `waiting`: for a person.
   * `held`: a lost page left a run, `resume()` goes on with it; or it is benched.
   */
  status: "loading" | "stopped" | "ready" | "submitted" | "streaming" | "waiting" | "held" | "error";
  /** The conversation, the oldest first. */
  messages: readonly Message[];
  /**
   * True: what came before the first of `messages` is still on its way. A start does not wait for what is before a summary.
   */
  earlier?: boolean;
  /** What waits for a person. */
  permissions: readonly PermissionRequest[];
  /**
   * What waits for its turn; empty while no agent runs. Where no run works, it is held: `queue.release()`, or send something.
   */
  queue: readonly QueuedMessage[];
  /** True: the run waits for the network, and goes on by itself when it is back. */
  offline?: boolean;
  /** Why it has failed. */
  error?: ErrorInfo;
  /** How much of the model's window the conversation has, as far as that is known. */
  context?: Context;
  /** Whether the agent runs in this tab. */
  holder: boolean;
}

/** A question to a person about a call. */
export interface PermissionRequest {
  /** The id that an answer names. */
  requestId: string;
  /** The call. */
  toolCallId: string;
  /** Its tool. */
  tool: string;
  /** The tool's name for people, if it has one. */
  title?: string;
  /** What has to be held for the tool. */
  capability?: string;
  /** What the model gives it. */
  arguments: unknown;
  /** What is asked, for the person: the tool's own `explanation`, or its title or name as a question, "Place the order?". */
  explanation: string;
  /**
   * What the person has to know besides: that the call may have taken effect already, that the tool has changed, that a text from
   * outside may want it.
   */
  warning?: string;
  /** Why: `policy`, `destructive`, `external_text`, `decide`, `unknown_outcome`, `definition_changed`. */
  reason: string;
  /**
   * No answer covers the next call like this: it leaves nothing of a page's text, or it was lost with its page. Offer no "always"
   * then. What empties a page is asked about no more where the rules or a person always allow `delete_page`.
   */
  once?: boolean;
  /**
   * Where the text from outside comes from that may have asked for the call; absent where the conversation holds none. `tool:NAME`
   * and `provider:TYPE`: a tool's result. `context` and `file:NAME#DIGITS`: what came with a message; the digits stand for the
   * content. `import`, `adopted`: a conversation from elsewhere. `unknown`: a page from before there were marks, or what is left
   * of something damaged.
   */
  outside?: string[];
}

/** What a wait for a run has come to. */
export interface WaitResult {
  /** The run. */
  runId: string;
  /** An interrupted run is `ok`. */
  status: "ok" | "error" | "timeout";
  /** How it has ended. */
  outcome?: "completed" | "interrupted" | "failed";
  /** As JSON, where the run has a `schema` and completed. */
  value?: unknown;
  /** When it began. */
  startedAt?: number;
  /** When it ended. */
  endedAt?: number;
  /** Why it has failed. */
  error?: ErrorInfo;
}

/** What a tool gave to the page's own code. */
export interface ToolResult {
  /** As JSON; what is kept fits 102,400 bytes. */
  result: unknown;
  /** What was left out. */
  truncated?: Truncated;
}

/** What was left out of a result. */
export interface Truncated {
  /** How many bytes. */
  bytes: number;
}

/** A tool as it is registered. */
export interface ToolDefinition {
  /** Its name. */
  name: string;
  /** Its name for people. */
  title?: string;
  /** By what the model chooses it. */
  description: string;
  /** The JSON Schema of its arguments. */
  inputSchema: Record<string, unknown>;
  /** Where what it says comes from. */
  source: string;
  /** What must be held for it. */
  capability?: string;
  /** Whether it changes nothing. */
  readOnly: boolean;
  /** The process type has it, and its capability is held. */
  available: boolean;
  /** It has an `explanation` for a person. */
  explains?: boolean;
}

/** A page. */
export interface Page {
  /** Its address: lower case, unique in the workspace, stays when the title changes. */
  slug: string;
  /** What it is called. */
  title: string;
  /** Text; `[[Title]]` is a link. */
  content: string;
  /** The page that it is below; null: it is at the top. */
  parentSlug: string | null;
  /** Its place among its siblings, from 0. */
  position: number;
  /** Counts its contents: grows by one with each change of the content; a new title, place or metadata leave it. */
  version: number;
  /** What an app keeps with it. */
  metadata: Record<string, unknown>;
  /** When it was made. */
  createdAt: number;
  /** When it was changed last. */
  updatedAt: number;
}

/** A page in the tree, with those below it. */
export interface PageNode {
  /** Its address. */
  slug: string;
  /** What it is called; of a damaged page its slug, where no title is known any more. */
  title: string;
  /** The pages below it. */
  children: PageNode[];
  /** It is damaged: whatever needs its text rejects with this code. Such pages stand last, at the top. */
  damaged?: PageDamage;
}

/** What is wrong with a page. */
export interface PageDamage {
  /** `corrupt`: its stored row is not what was written last. `newer_version`: a newer version of lodger has written it. */
  code: "corrupt" | "newer_version";
  /** What is wrong with it. */
  why: string;
}

/** A content that a page has had. */
export interface PageVersion {
  /** Which one. */
  version: number;
  /** When it was written; 0 where it is damaged. */
  at: number;
  /** The text; empty where it is damaged. */
  content: string;
  /** It is damaged. */
  damaged?: PageDamage;
}

/** A page that was found. */
export interface SearchHit {
  /** Its address. */
  slug: string;
  /** What it is called. */
  title: string;
  /** Its text around what was found. */
  snippet: string;
  /** How well it fits; the best has the most. */
  score: number;
}

/** Something that is remembered. */
export interface Memory {
  /** Its id. */
  id: string;
  /** What is remembered. */
  text: string;
  /** How important that is, from 0 to 1. */
  importance: number;
  /** Words under which it is found besides. */
  tags: string[];
  /** When it was made. */
  createdAt: number;
  /** When its text, importance or tags were changed last. */
  updatedAt: number;
  /** When a model has read it last. */
  readAt?: number;
  /** How often a model has read it. */
  reads: number;
  /** It was made of text from outside. */
  outside?: boolean;
  /**
   * Its row is not what was written, and this is what can be read of it: a model gets it nowhere. It is whole again with the next
   * text, and goes with a removal.
   */
  damaged?: boolean;
}

/** What a page links to. */
export interface PageLink {
  /** The title that the link names. */
  title: string;
  /** The page of this title; null: there is none. */
  slug: string | null;
}

/** A session's record. Times are texts (`2026-05-22T06:15:00Z`). */
export interface SessionState {
  /** Its id. */
  id: string;
  /** What it is called. */
  display_name: string | null;
  /** How it stands; of a record that was changed it may be any word. */
  status: SessionStatus;
  /** Whose it is. */
  operator_subject: string;
  /** Who says so. */
  operator_issuer: string | null;
  /** The project that it belongs to. */
  project_id: string | null;
  /** Who answers it. */
  provider_id: string;
  /** By which model. */
  model_id: string | null;
  /** Under which policy it is; null where it has begun before sessions had one. */
  policy_envelope_id: string | null;
  /** The holder that works on it; null while no run does. */
  pid: string | null;
  /** The task at work. */
  active_task_id: string | null;
  /** The run at work. */
  active_run_id: string | null;
  /** When it began. */
  started_at: string | null;
  /** When something was said in it last. */
  last_activity_at: string | null;
  /** When it was stopped. */
  stopped_at: string | null;
  /** When its record was changed last. */
  updated_at: string;
  /** The newest 8 receipts; `receipts()` has all. */
  receipt_ids: string[];
  /** The newest 8 handoffs; `handoffs()` has all. */
  handoff_ids: string[];
  /** The newest 8 notes; `events()` has all. */
  supervision_notes: string[];
  /** What is known of its last failure, also when that is over. */
  recovery_metadata: Recovery;
  /** It is benched; absent where it is not. */
  suspended?: boolean;
  /** Since then. */
  suspendedAt?: number;
  /** What it is called where it has no `display_name`: the first words that were said in it. */
  title?: string;
  /** A run of it is held: a lost page left it, or it is benched. */
  held?: boolean;
  /** A run of it waits for a person: for an answer to a question, or to a call that was handed to the page. */
  waiting?: boolean;
  /** Who answers it now, while an agent runs. In lists and `status`. */
  answered_by?: Answerer;
  /** What it has otherwise than the agent's configuration. */
  config?: Overrides;
  /** What its runs have used up, cleared conversations included. */
  usage?: Usage;
  /** When it was archived; its next run ends that. */
  archived?: string;
  /**
   * Its rows are not what was written, first in the entry `seq` (0: what says how it stands, its head); absent where nobody has
   * found such a thing. Everything else works; what would write to this session rejects with `corrupt`, and the hint says what can
   * be done. It is found when the session is read: those with an open run, and the first one, at each start. One that the agent
   * works in goes on.
   */
  damaged?: Damage;
  /** Members of a later version. */
  [member: string]: unknown;
}

/** What is known of a session's last failure: it counts while the session's `status` is `recovery_status`. */
export interface Recovery {
  /** Why it has failed. */
  recovery_reason?: string;
  /** As what. */
  recovery_status?: SessionStatus;
  /** What to do. */
  recommended_action?: string;
  /** How its last run has ended. */
  exit_behavior?: string;
  /** More of it. */
  [member: string]: unknown;
}

/** Who answers a session. */
export interface Answerer {
  /** A name in `providers`, or the kind of the main provider. */
  provider: string | null;
  /** Its model. */
  model: string | null;
}

/** Where rows are not what was written. */
export interface Damage {
  /** The first entry that is not; 0: the head. */
  seq: number;
  /** What is wrong there. */
  why: string;
}

/** A session, and what its signature says. */
export interface VerifiedSession {
  /** How it stands. */
  session: SessionState;
  /** What its signature says. */
  hmac_status: HmacStatus;
}

/** What all entries of a session say. */
export interface Verified {
  /** Of all that is signed. `tampered`: it is not what was written, and nobody works in it. Nothing else takes that back. */
  hmac_status: HmacStatus;
  /** How many entries there are by the session's head; where that is damaged, by the entries themselves. */
  entries: number;
  /** The first entry that is not as it was written, and what is wrong there. `seq` is 0 where that is the head. */
  damaged?: Damage;
}

/** A session that was found. */
export interface SessionHit {
  /** The session. */
  session: SessionState;
  /** The newest message that has all of the words. */
  messageId?: string;
  /** Its text around the first of them. */
  excerpt?: string;
}

/** All sessions, as a list draws them. */
export interface SessionsSnapshot {
  /** `error`: they could not be read, and `sessions` are those that were known. */
  status: "loading" | "ready" | "error";
  /** The last changed first. What did not change is the same object as before. */
  sessions: readonly SessionItem[];
  /** Why they could not be read. */
  error?: ErrorInfo;
}

/** A session in a list. */
export interface SessionItem {
  /** Its id. */
  id: string;
  /** Its `display_name`, else the first words that were said in it, else its id. */
  title: string;
  /**
   * What goes on in it. `waiting`: for a person. `held`: a page went away in the middle of a run. `failed`: its provider or an
   * operator has failed it. A session that was launched and has not worked yet is `idle`. `sessions.activity()` tells more of a
   * run.
   */
  activity: "working" | "waiting" | "idle" | "held" | "benched" | "starting" | "stopping" | "stopped" | "failed" | "archived" | "damaged";
  /** Something in it waits for a person. */
  needsYou: boolean;
  /** Something was said in it since a person looked at it. This browser keeps that for the page, in `localStorage`. */
  unread: boolean;
  /** How it stands. */
  session: SessionState;
  /** What its signature says. */
  hmac_status: HmacStatus;
}

/** What became of a replay. */
export interface Replay {
  /** Whether all came out as it is recorded. */
  same: boolean;
  /** The version that has recorded it. */
  package: string;
  /** The first entry that came out otherwise. */
  firstDifference?: Difference;
}

/** An entry that came out otherwise. */
export interface Difference {
  /** Which one. */
  seq: number;
  /** As it is recorded. */
  stored: JournalRow;
  /** As it was made now; null: no entry was. */
  made: JournalRow | null;
}

/** An entry as it stands in a file of `export`. Without `entry`, its content was erased. */
export interface JournalRow {
  /** Its head. */
  row: RowHead;
  /** What it says. */
  entry?: Record<string, unknown>;
  /** The hash of its content. */
  contentHash: string;
  /** Its hash in the chain. */
  hash: string;
  /** Its signature. */
  mac?: string;
}

/** The head of an entry. */
export interface RowHead {
  /** Its place in the journal. */
  seq: number;
  /** When it was written. */
  at: number;
  /** What kind of entry it is. */
  kind: string;
  /** The run that it is of. */
  run?: string;
  /** Its format. */
  v: number;
}

/** How much is stored. */
export interface Stored {
  /** Where it is kept. */
  kind: "indexeddb" | "memory";
  /** In memory: of this workspace. Else of the whole origin, as the browser estimates it, and 0 where it does not. */
  bytes: number;
  /** 0 where the browser tells of none. */
  quota: number;
  /** Whether the browser has promised not to evict it. */
  persisted: boolean;
  /** What was stored here before is gone. It stays, over reloads and in every tab, until somebody acknowledges it. */
  lost?: Loss;
  /** What each session takes, the largest first, where that was asked for. */
  sessions?: SessionSize[];
  /** What all tasks of `sessions.runOnce` take together, counted in the same way, where there are any. */
  tasks?: number;
}

/** What a session takes. */
export interface SessionSize {
  /** The session. */
  id: string;
  /** UTF-8 of its rows and their keys as they lie there (what is pressed as it is pressed), and its files. */
  bytes: number;
}

/** What was stored is gone. */
export interface Loss {
  /** When that was noticed, in milliseconds since the epoch. */
  at: number;
  /** Since when the workspace of this name had something stored, where that is known. */
  since?: number;
}

/** A tool that is always allowed in a session. */
export interface Grant {
  /** The tool's name. */
  tool: string;
  /** The session. */
  sessionId: string;
}

/** A model that a provider offers. */
export interface OfferedModel {
  /** The id that `model` takes. */
  id: string;
  /** What its provider calls it. */
  name?: string;
}

/** What a trial of a key has come to. */
export interface KeyTrial {
  /** Whether the provider takes it. */
  ok: boolean;
  /** What is wrong, and what to do. */
  error?: ErrorInfo;
}

/** What the harness does. */
export interface Status {
  /** Where it stands. */
  lifecycle: Lifecycle;
  /** Whether a run works. */
  is_streaming: boolean;
}
