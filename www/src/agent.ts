// The agent as the workbench sees it: commands in, one snapshot and a few facts out.
//
// Decides: that sending to a stopped agent starts it first, what waits for the person and in which order, and what a
// refused command becomes: a problem that is shown, never an exception that is lost. Promises: who is said to answer is
// whom the agent asks; settings that it refuses are not kept. Leaves to others: drawing.
// Everything here is the package's public surface; `view()` alone would do for a plain chat, the events add what is not
// conversation (times of tools).
import { openWorkspace, type AgentConfig, type ErrorInfo, type ModelApi, type Part, type PermissionAnswer, type PermissionRequest, type Snapshot, type Status, type Usage, type Workspace } from "lodger";
import { sum } from "./models.ts";
import { Changing } from "./shell/changing.ts";
import { service, serviceName } from "./services.ts";
import type { Answerer, Choice, Settings } from "./settings.ts";
import { Takeovers } from "./takeovers.ts";
import { errorInfo } from "./words.ts";

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

/** One agent of one workspace. */
export class Agent extends Changing {
  /** What there is to draw of the conversation. */
  snapshot: Snapshot;
  /** The last command that was refused, until the next one. */
  problem: ErrorInfo | null = null;
  /** When the current run began and when it last gave a sign of life, in milliseconds of `performance.now()`. */
  since = 0;
  lastSign = 0;
  /** How long each tool took that was watched in this page, in milliseconds. */
  readonly toolTimes = new Map<string, { from: number; to?: number }>();
  /** Which provider took over, by run. */
  readonly takeovers: Takeovers;
  /** Called after a tool that may have changed pages. */
  onPagesChanged: () => void = () => undefined;
  /** The settings that the agent has taken, once it has been started here. */
  #taken: Choice | null = null;
  /** Settings and starts go one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Who is asked again, by run: delegates work beside each other. */
  readonly #retries = new Map<string, Retry>();

  constructor(
    readonly workspace: Workspace,
    readonly settings: Settings,
  ) {
    super();
    this.takeovers = new Takeovers(workspace.name);
    const view = workspace.view();
    this.snapshot = view.getSnapshot();
    view.subscribe((snapshot) => {
      this.snapshot = snapshot;
      this.lastSign = performance.now();
      this.takeovers.follow(snapshot);
      this.changed();
    });
    workspace.addEventListener("agent:status-changed", () => this.changed());
    workspace.addEventListener("agent:session-started", () => {
      this.since = this.lastSign = performance.now();
      this.#retries.clear();
    });
    workspace.addEventListener("agent:tool-call", ({ detail }) => {
      const now = performance.now();
      const known = this.toolTimes.get(detail.toolCallId);
      if (detail.status === "started") this.toolTimes.set(detail.toolCallId, known ?? { from: now });
      else {
        if (known) known.to = now;
        this.onPagesChanged();
      }
    });
    workspace.addEventListener("agent:notice", ({ detail }) => {
      const { kind, runId = "", parentRunId, attempt = 2, delayMs = 0, provider = "", error } = detail;
      const [top, delegate] = [parentRunId ?? runId, parentRunId !== undefined];
      this.lastSign = performance.now();
      if (kind === "retry") this.#retries.set(runId, { top, delegate, attempt, at: this.lastSign + delayMs, provider: serviceName(provider), error });
      else {
        this.#retries.delete(runId);
        this.takeovers.add({ runId, top, provider, first: this.answerer.service?.id ?? "custom", error });
      }
      this.changed();
    });
    for (const type of ["agent:message-chunk", "agent:tool-call", "agent:session-completed", "agent:session-interrupted", "agent:lifecycle"] as const)
      workspace.addEventListener(type, (event: CustomEvent<{ runId?: string; phase?: string }>) => {
        const { runId = "", phase } = event.detail;
        if (phase === "start") return;
        let ended = this.#retries.delete(runId);
        // With the run that a person sees its delegates have ended.
        if (/session|lifecycle/.test(type)) for (const [id, { top }] of this.#retries) if (top === runId) ended = this.#retries.delete(id);
        if (ended) this.changed();
      });
    settings.addEventListener("change", () => this.changed());
  }

  /** What is waited for before a provider is asked again: the next of it. There until the provider answers. */
  get retry(): Retry | null {
    const now = performance.now();
    // What a delegate's provider answers is not told: whether it does shows with the next notice, or with the call's end.
    const all = [...this.#retries.values()].filter(({ delegate, at }) => !delegate || now < at);
    return all.sort((a, b) => a.at - b.at)[0] ?? null;
  }

  /** Who answers what is sent: whom the running agent asks; while none runs, whom it would be started with. */
  get answerer(): Answerer {
    return this.settings.answerer((this.running && this.#taken) || this.settings.choice);
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

  /** Once it resolves, the agent runs with the settings of then. */
  #start(): Promise<void> {
    return this.#inTurn(async () => {
      const { choice } = this.settings;
      if (this.running && this.#taken) return;
      const config = this.settings.config(this.capabilities, choice);
      if (this.running) await this.workspace.configureAgent({ ...DEFAULTS, ...config });
      else await this.workspace.startAgent({ ...config, ifRunning: "join" });
      this.#taken = choice;
    });
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
          await this.workspace.configureAgent({ ...DEFAULTS, ...config });
          this.#taken = choice;
        } else await aside(config, async () => undefined);
      } catch (error) {
        const info = errorInfo(error);
        // Whatever else keeps a stopped agent from starting is no fault of the settings.
        if (this.running || info.code === "invalid_config") return info;
      }
      const account = service(choice.provider)?.account;
      if (typed && account) this.settings.useKey(account, typed);
      this.settings.set(change);
      return null;
    });
  }

  /** Sends a message; false when it was not accepted, so that the text can be put back. */
  send(text: string, files: File[] = []): Promise<boolean> {
    // One id for one press of a button: sent twice, it is accepted once.
    const idempotencyKey = crypto.randomUUID();
    return this.#try(async () => {
      await this.#start();
      await this.workspace.sendMessage({ text, files }, { idempotencyKey });
    });
  }

  /** Stops the answer, not the agent. */
  interrupt(): void {
    this.workspace.interrupt();
  }

  /** Goes on with what a lost page left. */
  resume(): Promise<boolean> {
    return this.#try(async () => {
      await this.#start();
      await this.workspace.resume();
    });
  }

  /** The person's answer to a question; `word` goes to the model. */
  answer(requestId: string, answer: PermissionAnswer, word?: string): Promise<ErrorInfo | null> {
    return this.#reply(() => this.workspace.resolvePermission(requestId, answer, word ? { reason: word } : {}));
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
  async test(provider: ModelApi, signal: AbortSignal): Promise<Tried> {
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
      return { ...tried, error: await word(provider, signal) };
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
    return this.#try(() => this.workspace.clearConversation());
  }

  async #try(command: () => Promise<unknown>): Promise<boolean> {
    this.problem = null;
    this.changed();
    try {
      await command();
      return true;
    } catch (error) {
      this.problem = errorInfo(error);
      return false;
    } finally {
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
