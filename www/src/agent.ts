// The agent as the workbench sees it: commands in, one snapshot and a few facts out, of the session that is shown.
//
// Decides which session is shown, and which version of its conversation. Decides that sending to a stopped agent
// starts it first, and what waits for the person and in which order. A refused command becomes a problem that is shown,
// never an exception that is lost. Promises: who is said to answer is whom the agent asks. Settings that it refuses are
// not kept. Beside a tab that runs the agent this one stands by, and goes on when that one is gone. Leaves to others:
// drawing.
// Everything here is the package's public surface. `view()` alone would do for a plain chat, the events add what is not
// conversation (times of tools).
import { openWorkspace, type AgentConfig, type Context, type ErrorInfo, type Message, type ModelApi, type Notice, type Part, type PermissionAnswer, type PermissionReply, type PermissionRequest, type QueuedMessage, type Snapshot, type Status, type UnchosenApi, type Usage, type Workspace } from "lodger";
import { sum } from "./models.ts";
import { Changing } from "./shell/changing.ts";
import { service, serviceName } from "./services.ts";
import { MAIN } from "./sessions/places.ts";
import type { Answerer, Choice, Settings } from "./settings.ts";
import { Takeovers } from "./takeovers.ts";
import { errorInfo } from "./words.ts";

/** For how long another tab has had the agent before it is told, in milliseconds: less is a change that just goes on. */
const GRACE = 300;

/** The states in which a run works. */
const WORKING = new Set<Snapshot["status"]>(["submitted", "streaming"]);

/** What holds again once the settings do not say otherwise. */
const DEFAULTS = { processType: null, capabilities: null, models: null };

/** A part that is a tool call. */
export type ToolCall = Extract<Part, { type: "tool-call" }>;

/** What waits for the person: leave to run a call, or the outcome of a call that no function answers. */
export type Asked = { id: string; kind: "permission"; request: PermissionRequest } | { id: string; kind: "call"; call: ToolCall };

/** A provider that failed and is asked again. */
export interface Retry {
  /** The run that a person sees. */
  top: string;
  /** It is asked for a delegate. */
  delegate: boolean;
  /** Which try comes next, from 2. */
  attempt: number;
  /** When, in milliseconds of `performance.now()`. */
  at: number;
  /** Who failed, and why. */
  provider: string;
  error: ErrorInfo | undefined;
}

/** How and why the conversation becomes shorter for the model. */
export type Shortening = Pick<Notice, "by" | "reason">;

/** What is known of a session only because this page looks on. */
class Watched {
  /** When its run began and when it last gave a sign of life, in milliseconds of `performance.now()`. */
  since = 0;
  lastSign = 0;
  /** How long each tool took, in milliseconds. */
  readonly toolTimes = new Map<string, { from: number; to?: number }>();
  /** Who is asked again, by run: delegates work beside each other. */
  readonly retries = new Map<string, Retry>();
  /** How the conversation just becomes shorter for the model, until the model gives the next sign of life. */
  shortening: Shortening | null = null;
  /** Which provider took over, by run. */
  readonly takeovers: Takeovers;

  constructor(workspace: string, session: string) {
    this.takeovers = new Takeovers(workspace, session);
  }
}

/** One agent of one workspace. */
export class Agent extends Changing {
  /** The id of the session that is shown. */
  session = MAIN;
  /** How its conversation stands. */
  snapshot: Snapshot;
  /** The last command that was refused, until the next one. */
  problem: ErrorInfo | null = null;
  /** The agent has gone to another tab, or come to this one, and the person has not gone on since. */
  moved: "here" | "away" | null = null;
  /** It is another tab that runs the agent, and has been for a moment. */
  elsewhere = false;
  /** Called after a tool that may have changed pages. */
  onPagesChanged: () => void = () => undefined;
  /** Whether the session that is shown was put aside. */
  isBenched: () => boolean = () => false;
  /** Called after a command that may have changed a session's record without a run. */
  onSessionChanged: (session: string) => void = () => undefined;
  /** The settings that the agent has taken, once it has been started here. */
  #taken: Choice | null = null;
  #grace: ReturnType<typeof setTimeout> | undefined;
  /** Settings and starts go one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #watched = new Map<string, Watched>();
  /** An earlier version of the conversation that is looked at. */
  #looked: { messages: Message[]; shown: Snapshot } | null = null;
  #unfollow: () => void = () => undefined;

  constructor(
    readonly workspace: Workspace,
    readonly settings: Settings,
  ) {
    super();
    this.snapshot = workspace.view().getSnapshot();
    this.#follow();
    workspace.addEventListener("agent:status-changed", () => this.changed());
    workspace.addEventListener("agent:session-started", ({ detail }) => {
      const watched = this.#of(detail.sessionId);
      watched.since = watched.lastSign = performance.now();
      watched.retries.clear();
    });
    workspace.addEventListener("agent:tool-call", ({ detail }) => {
      const now = performance.now();
      const { toolTimes } = this.#of(detail.sessionId);
      const known = toolTimes.get(detail.toolCallId);
      if (detail.status === "started") toolTimes.set(detail.toolCallId, known ?? { from: now });
      else {
        if (known) known.to = now;
        this.onPagesChanged();
      }
    });
    workspace.addEventListener("agent:notice", ({ detail }) => {
      const { kind, runId = "", parentRunId, attempt = 2, delayMs = 0, provider = "", error } = detail;
      // The strip under the header says so, as long as the storage does; of what is damaged its list and itself do.
      if (kind === "storage_lost" || kind === "damaged") return;
      if (kind === "holder") {
        this.moved = detail.holder ? "here" : "away";
        // It was taken from a tab that hangs: what that one was doing may go on.
        if (error) this.problem = error;
        return this.changed();
      }
      if (kind === "files") {
        // Everything else works; what can be done about it, the error says.
        if (error) this.problem = error;
        return this.changed();
      }
      if (kind === "compaction") {
        const { phase, by, reason } = detail;
        const watched = this.#of(detail.sessionId);
        watched.lastSign = performance.now();
        // Results are left out at once; a summary takes as long as an answer.
        watched.shortening = phase === "start" || (phase === "end" && by === "results") ? { by, reason } : null;
        return this.changed();
      }
      const [top, delegate] = [parentRunId ?? runId, parentRunId !== undefined];
      const watched = this.#of(detail.sessionId);
      watched.lastSign = performance.now();
      if (kind === "offline") watched.retries.set(runId, { top, delegate, attempt: 0, at: Infinity, provider: "No network", error: undefined });
      else if (kind === "retry") watched.retries.set(runId, { top, delegate, attempt, at: watched.lastSign + delayMs, provider: serviceName(provider), error });
      else if (kind === "fallback") {
        watched.retries.delete(runId);
        watched.takeovers.add({ runId, top, provider, first: this.answerer.service?.id ?? "custom", error });
      }
      this.changed();
    });
    for (const type of ["agent:message-chunk", "agent:tool-call", "agent:session-completed", "agent:session-interrupted", "agent:lifecycle"] as const)
      workspace.addEventListener(type, (event: CustomEvent<{ sessionId?: string; runId?: string; phase?: string }>) => {
        const { sessionId, runId = "", phase } = event.detail;
        if (phase === "start") return;
        const watched = this.#of(sessionId);
        const { retries } = watched;
        let ended = retries.delete(runId) || watched.shortening !== null;
        watched.shortening = null;
        // With the run that a person sees its delegates have ended.
        if (/session|lifecycle/.test(type)) for (const [id, { top }] of retries) if (top === runId) ended = retries.delete(id);
        if (ended) this.changed();
      });
    settings.addEventListener("change", () => {
      if (this.elsewhere && this.#taken !== settings.choice) void this.#standBy();
      this.changed();
    });
    settings.addEventListener("adopted", () => void this.#adopt());
  }

  protected override changed(): void {
    if (!this.#follows) {
      clearTimeout(this.#grace);
      this.#grace = undefined;
      this.elsewhere = false;
    } else {
      this.#grace ??= setTimeout(() => {
        this.elsewhere = true;
        void this.#standBy();
        this.changed();
      }, GRACE);
    }
    super.changed();
  }

  /** Shows another session. */
  select(session: string): void {
    if (session === this.session) return;
    this.session = session;
    this.problem = null;
    this.#looked = null;
    this.#follow();
  }

  #follow(): void {
    const { session } = this;
    this.#unfollow();
    const view = this.workspace.view(session);
    this.snapshot = view.getSnapshot();
    this.#unfollow = view.subscribe((snapshot) => {
      this.snapshot = snapshot;
      const watched = this.#of(session);
      watched.lastSign = performance.now();
      watched.takeovers.follow(snapshot);
      // What happens now is not part of an earlier version.
      if (this.busy) this.#looked = null;
      this.changed();
    });
  }

  #of(session = MAIN): Watched {
    let watched = this.#watched.get(session);
    if (!watched) this.#watched.set(session, (watched = new Watched(this.workspace.name, session)));
    return watched;
  }

  /** When the current run began, in milliseconds of `performance.now()`. */
  get since(): number {
    return this.#of(this.session).since;
  }

  /** When it last gave a sign of life. */
  get lastSign(): number {
    return this.#of(this.session).lastSign;
  }

  /** How long each tool took that was watched in this page, in milliseconds. */
  get toolTimes(): ReadonlyMap<string, { from: number; to?: number }> {
    return this.#of(this.session).toolTimes;
  }

  /** Which provider took over, by run. */
  get takeovers(): Takeovers {
    return this.#of(this.session).takeovers;
  }

  /** What there is to draw: the conversation as it stands, or the earlier version of it that is looked at. */
  get shown(): Snapshot {
    return this.#looked?.shown ?? this.snapshot;
  }

  /** Whether an earlier version is looked at. */
  get looksBack(): boolean {
    return this.#looked !== null;
  }

  /** Looks at the conversation as it was with this version of a message. */
  look(version: string): Promise<boolean> {
    return this.#try(async () => {
      const { session } = this;
      if (this.snapshot.messages.some(({ id }) => id === version)) return this.lookAway();
      const messages = await this.workspace.history({ sessionId: session, version });
      const { holder } = this.snapshot;
      if (session === this.session) this.#looked = { messages, shown: { status: "ready", messages, permissions: [], queue: [], holder } };
    });
  }

  /**
   * Looks at the conversation as it was with this run, if it is not shown: as it stands, or an earlier version. `message` is
   * the one that the run began with.
   */
  lookAtRun(run: string, message: string | null): Promise<boolean> {
    const has = (messages: readonly Message[]): boolean => messages.some(({ runId }) => runId === run);
    return this.#try(async () => {
      if (has(this.shown.messages)) return;
      if (has(this.snapshot.messages)) return this.lookAway();
      if (message === null) return;
      // One that was edited away is known by its own id; that of an answer made anew names nothing, but its versions do.
      const versions = new Set([message]);
      const more = (messages: readonly Message[]): void => messages.forEach((one) => one.versions?.forEach((version) => versions.add(version)));
      more(this.snapshot.messages);
      const { session } = this;
      for (const version of versions) {
        const messages = await this.workspace.history({ sessionId: session, version }).catch(() => []);
        if (session !== this.session) return;
        if (has(messages)) return void (await this.look(version));
        more(messages);
      }
    });
  }

  /** Back to the conversation as it stands. */
  lookAway(): void {
    this.#looked = null;
    this.changed();
  }

  /** What is waited for before a provider is asked again: the next of it. There until the provider answers. */
  get retry(): Retry | null {
    const now = performance.now();
    // What a delegate's provider answers is not told: whether it does shows with the next notice, or with the call's end.
    const all = [...this.#of(this.session).retries.values()].filter(({ delegate, at }) => !delegate || now < at);
    return all.sort((a, b) => a.at - b.at)[0] ?? null;
  }

  /** Who answers what is sent: whom the running agent asks; while none runs, whom it would be started with. */
  get answerer(): Answerer {
    return this.settings.answerer((this.running && this.#taken) || this.settings.choice);
  }

  /** How the conversation just becomes shorter for the model. */
  get shortening(): Shortening | null {
    return this.#of(this.session).shortening;
  }

  /** How much of the model's window the conversation has; undefined: nobody knows, or an earlier version is shown. */
  get context(): Context | undefined {
    return this.looksBack ? undefined : this.snapshot.context;
  }

  /** What the conversation has cost so far; null where no answer has told it. */
  get spent(): Usage | null {
    return sum(this.snapshot.messages.flatMap(({ usage }) => usage ?? []));
  }

  /** The harness: lifecycle and whether a run streams. */
  get status(): Status {
    return this.workspace.status();
  }

  /** The lifecycle as one word. */
  get lifecycle(): "Stopped" | "Starting" | "Running" | "Suspended" | "Error" {
    const { lifecycle } = this.status;
    return typeof lifecycle === "string" ? lifecycle : "Error";
  }

  /** Whether the agent is there: it works, is idle, or waits for a person. */
  get running(): boolean {
    return this.lifecycle === "Running" || this.lifecycle === "Suspended";
  }

  /** Whether another tab runs the agent at this moment. */
  get #follows(): boolean {
    return this.running && !this.snapshot.holder;
  }

  /** Whether this tab goes on when the one that runs the agent is gone. */
  get standsBy(): boolean {
    return this.elsewhere && this.#taken !== null;
  }

  /** Whether a run works right now. */
  get working(): boolean {
    return WORKING.has(this.snapshot.status);
  }

  /** Whether a run has begun and not ended: it works, or waits for a person. */
  get busy(): boolean {
    return this.working || this.snapshot.status === "waiting";
  }

  /** What waits for the person, the oldest first. */
  get asked(): Asked[] {
    const asked: Asked[] = this.snapshot.permissions.map((request) => ({ id: request.requestId, kind: "permission", request }));
    const { messages } = this.snapshot;
    for (const part of messages[messages.length - 1]?.parts ?? []) {
      if (part.type === "tool-call" && this.asksFor(part) && !part.requestId) asked.push({ id: part.toolCallId, kind: "call", call: part });
    }
    return asked;
  }

  /** Whether the conversation ends with a question, though the agent may not run. */
  get asks(): boolean {
    const { messages } = this.snapshot;
    return messages[messages.length - 1]?.parts.some((part) => part.type === "tool-call" && this.asksFor(part)) ?? false;
  }

  /** Whether this call waits for the person. One that waits for its turn has not been told as started. */
  asksFor(call: ToolCall): boolean {
    return call.status === "waiting" && (call.requestId !== undefined || this.toolTimes.has(call.toolCallId));
  }

  /** Starts the agent with what the settings say. */
  start(): Promise<boolean> {
    return this.#try(() => this.#start());
  }

  /** Runs a command that needs the agent; starts it first. It rejects where either is refused. */
  async withAgent<T>(command: () => Promise<T>): Promise<T> {
    await this.#start();
    return command();
  }

  /** Once it resolves, the agent runs with the settings of then. */
  #start(): Promise<void> {
    return this.#inTurn(async () => {
      const { choice } = this.settings;
      if (this.running && this.#taken) return;
      if (this.#follows) return this.#join();
      const config = this.settings.config(this.capabilities, choice);
      if (this.running) await this.workspace.configureAgent({ ...DEFAULTS, ...config });
      else {
        await this.workspace.startAgent(config);
        // Nobody has to be told who has started it here.
        this.moved = null;
      }
      this.#taken = choice;
    });
  }

  /** Beside a tab that runs the agent: with what the settings say now this one goes on when that one is gone. */
  #standBy(): Promise<void> {
    return this.#aside(() => this.#join());
  }

  async #join(): Promise<void> {
    const { choice, needsKey } = this.settings;
    this.#taken = null;
    // To go on without the key would fail what can be gone on with later.
    if (!this.#follows || needsKey) return;
    await this.workspace.startAgent(this.settings.config(this.capabilities, choice));
    this.#taken = choice;
  }

  /** Another tab has changed the settings and told the agent here: a model that runs in a page is this one's from now on. */
  #adopt(): Promise<void> {
    return this.#aside(async () => {
      const { choice } = this.settings;
      if (!this.running || !this.snapshot.holder) return;
      if (!service(choice.provider)) await this.workspace.configureAgent({ ...DEFAULTS, ...this.settings.config(this.capabilities, choice) });
      this.#taken = choice;
    });
  }

  /** Something that nobody has asked for. */
  async #aside(work: () => Promise<void>): Promise<void> {
    try {
      await this.#inTurn(work);
    } catch (error) {
      this.problem ??= errorInfo(error);
    }
    this.changed();
  }

  /** The person knows that the agent has come to this tab. */
  settle(): void {
    this.moved = null;
    this.changed();
  }

  /** Takes the agent from the tab that runs it. */
  takeOver(): Promise<boolean> {
    return this.#try(() =>
      this.#inTurn(async () => {
        const { choice } = this.settings;
        await this.workspace.startAgent({ ...this.settings.config(this.capabilities, choice), ifRunning: "takeover" });
        this.#taken = choice;
        this.moved = null;
      }),
    );
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Every capability that some tool needs. */
  get capabilities(): string[] {
    return [...new Set(this.workspace.tools.definitions().flatMap((tool) => tool.capability ?? []))];
  }

  /** Stops the agent; a run that works is interrupted. */
  stop(): Promise<boolean> {
    return this.#try(() => this.workspace.stopAgent());
  }

  /**
   * Changes the settings; a running agent has them from the next model call on. What no agent would take is not kept, and
   * the refusal is given back. `typed`: a key for the service that is chosen with it.
   */
  change(make: (now: Choice) => Partial<Choice>, typed = ""): Promise<ErrorInfo | null> {
    return this.#inTurn(async () => {
      const change = make(this.settings.choice);
      const choice = { ...this.settings.choice, ...change };
      try {
        const config = this.settings.config(this.capabilities, choice, typed);
        if (this.running) {
          await this.workspace.configureAgent({ ...DEFAULTS, ...(this.#follows ? withoutKeys(config) : config) });
          this.#taken = choice;
        } else await aside(config, async () => undefined);
      } catch (error) {
        const info = errorInfo(error);
        // Any other error that keeps a stopped agent from starting is no fault of the settings.
        if (this.running || info.code === "invalid_config") return info;
      }
      const account = service(choice.provider)?.account;
      if (typed && account) this.settings.useKey(account, typed);
      this.settings.set(change);
      return null;
    });
  }

  /**
   * Sends a message; false when it was not accepted, so that the text can be put back. While a run works it waits, or
   * steers that run. In a session with a name the exit words end it.
   */
  send(text: string, files: File[] = [], whenBusy: QueuedMessage["mode"] = "queue"): Promise<boolean> {
    const { session } = this;
    // One id for one press of a button: sent twice, it is accepted once.
    const idempotencyKey = crypto.randomUUID();
    return this.#try(async () => {
      await this.#start();
      this.#looked = null;
      const options = { idempotencyKey, whenBusy };
      if (session === MAIN) await this.workspace.sendMessage({ text, files }, options);
      else await this.workspace.sessions.prompt(session, { text, files }, options);
    });
  }

  /** Changes a message that waits; false when its turn has come meanwhile, or it was refused. */
  editQueued(id: string, text: string): Promise<boolean> {
    return this.#queue(({ edit }) => edit(id, text));
  }

  /** Takes a message out that waits. */
  unqueue(id: string): Promise<boolean> {
    return this.#queue(({ remove }) => remove(id));
  }

  /** Sends what is held. */
  release(): Promise<boolean> {
    const { session } = this;
    return this.#queue(({ release }) => release(session));
  }

  async #queue(command: (queue: Workspace["queue"]) => Promise<void>): Promise<boolean> {
    let there = true;
    const done = await this.#try(async () => {
      await this.#start();
      await command(this.workspace.queue).catch((error: unknown) => {
        // Its turn was quicker: the conversation shows it.
        there = errorInfo(error).code !== "message_not_found";
        if (there) throw error;
      });
    });
    return done && there;
  }

  /** Says something else in place of a message; its files stay. What followed leaves the view. */
  edit(message: Message, text: string): Promise<boolean> {
    const { session } = this;
    const idempotencyKey = crypto.randomUUID();
    return this.#try(async () => {
      await this.#start();
      const files = await Promise.all(message.parts.flatMap((part) => (part.type === "file" && !part.gone ? [this.#fileAgain(part)] : [])));
      const { metadata } = message;
      const input = { text, files, ...(metadata ? { metadata } : {}) };
      const options = { idempotencyKey, replaces: message.id };
      if (session === MAIN) await this.workspace.sendMessage(input, options);
      else await this.workspace.sessions.prompt(session, input, options);
    });
  }

  /** Asks for another version of an answer. */
  regenerate(message: Message): Promise<boolean> {
    const { session } = this;
    return this.#try(async () => {
      await this.#start();
      await this.workspace.regenerate(message.id, session === MAIN ? {} : { sessionId: session });
    });
  }

  async #fileAgain({ fileId, filename, mediaType }: Extract<Part, { type: "file" }>): Promise<Blob> {
    const bytes = await this.workspace.file(fileId);
    return filename ? new File([bytes], filename, { type: mediaType }) : bytes;
  }

  /** Has what was said so far summed up for the model. What is shown stays. */
  shorten(): Promise<boolean> {
    const { session } = this;
    return this.#try(async () => {
      await this.#start();
      await this.workspace.compact(session === MAIN ? {} : { sessionId: session });
    });
  }

  /** Stops the answer, not the agent. */
  interrupt(): void {
    this.workspace.interrupt({ sessionId: this.session });
  }

  /** Goes on with what a lost page left. */
  resume(): Promise<boolean> {
    const { session } = this;
    return this.#try(async () => {
      await this.#start();
      await this.workspace.resume({ sessionId: session });
    });
  }

  /** The person's answer to a question. */
  answer(requestId: string, answer: PermissionAnswer, said: PermissionReply): Promise<ErrorInfo | null> {
    return this.#reply(() => this.workspace.resolvePermission(requestId, answer, said));
  }

  /** The person's outcome of a call that no function answers. */
  resolve(toolCallId: string, outcome: { result: unknown } | { error: string }): Promise<ErrorInfo | null> {
    return this.#reply(() => this.workspace.tools.resolve(toolCallId, outcome));
  }

  /** Null when it counted, or another answer was first: the view says which. */
  async #reply(command: () => Promise<unknown>): Promise<ErrorInfo | null> {
    try {
      await command();
      return null;
    } catch (error) {
      const info = errorInfo(error);
      return info.code === "request_not_found" ? null : info;
    }
  }

  /**
   * Asks a provider for the models that it offers, so that its address and key are tried and nothing is spent; then the
   * model that is named for one word.
   */
  async test(provider: UnchosenApi, signal: AbortSignal): Promise<Tried> {
    const { keys } = this.workspace;
    const tried: Tried = { letIn: false, error: null, models: [], model: "" };
    try {
      const { error } = await keys.validate(provider);
      if (error) return { ...tried, error };
      tried.letIn = true;
      // Some servers have no list, and answer all the same.
      tried.models = (await keys.models(provider).catch(() => [])).map(({ id }) => id);
      if (!provider.model) return tried;
      tried.model = provider.model;
      return { ...tried, error: await word(provider as ModelApi, signal) };
    } catch (error) {
      return { ...tried, error: errorInfo(error) };
    }
  }

  /** The bytes of a file of the conversation. */
  file(id: string): Promise<Blob> {
    return this.workspace.file(id);
  }

  /** Takes the last refusal away. */
  dismiss(): void {
    this.problem = null;
    this.changed();
  }

  /** Erases the conversation. */
  clear(): Promise<boolean> {
    return this.#try(() => this.workspace.clearConversation(this.session));
  }

  async #try(command: () => unknown): Promise<boolean> {
    const { session } = this;
    this.problem = null;
    this.changed();
    try {
      await command();
      return true;
    } catch (error) {
      // A person who looks at another session by now is not told here.
      if (session === this.session) this.problem = errorInfo(error);
      return false;
    } finally {
      this.onSessionChanged(session);
      this.changed();
    }
  }
}

/** What a trial of a provider has shown. */
export interface Tried {
  /** The provider was reached, and takes the key. */
  letIn: boolean;
  error: ErrorInfo | null;
  /** What it offers. */
  models: readonly string[];
  /** The model that was asked; empty: none. */
  model: string;
}

/** An agent that leaves no trace, beside the conversation. */
async function aside<T>(config: AgentConfig, work: (workspace: Workspace) => Promise<T>): Promise<T> {
  const workspace = await openWorkspace(`aside-${crypto.randomUUID()}`, { storage: "memory", pageTools: false, target: null });
  try {
    await workspace.startAgent(config);
    return await work(workspace);
  } finally {
    void workspace.close().catch(() => undefined);
  }
}

/** Answers that are cut or refused are answers. */
const ANSWERED = new Set<string>(["output_limit", "refused"]);

/** Asks a model for a word, once; null: it answers. */
function word(provider: ModelApi, signal: AbortSignal): Promise<ErrorInfo | null> {
  const config: AgentConfig = { provider, instructions: "Answer with one word.", maxOutputTokens: 16, maxTurns: 1 };
  return aside(config, async (workspace) => {
    const refused = new Promise<ErrorInfo | null>((tell) => workspace.addEventListener("agent:notice", ({ detail }) => tell(detail.error ?? null)));
    const asked = workspace.run("Hello", { signal }).then(
      () => null,
      (error: unknown) => (ANSWERED.has(errorInfo(error).code) ? null : errorInfo(error)),
    );
    // The first failure is told, not waited out.
    return Promise.race([refused, asked]);
  });
}

/** What another tab's agent may be told: no key leaves the tab that it was typed in. Such a provider is this tab's, once it goes on. */
function withoutKeys(config: AgentConfig): AgentConfig {
  const { provider, providers, ...rest } = config;
  const keyed = [provider, ...Object.values(providers ?? {})].some((one) => one && ("apiKey" in one || "headers" in one));
  return keyed ? rest : config;
}
