// The agent as the workbench sees it: commands in, one snapshot and a few facts out.
//
// Decides: that sending to a stopped agent starts it first, what waits for the person and in which order, and what a
// refused command becomes: a problem that is shown, never an exception that is lost. Leaves to others: drawing.
// Everything here is the package's public surface; `view()` alone would do for a plain chat, the events add what is not
// conversation (times of tools).
import type { AgentConfig, ErrorInfo, ModelApi, Part, PermissionAnswer, PermissionRequest, Snapshot, Status, Usage, Workspace } from "lodger";
import { sum } from "./models.ts";
import { Changing } from "./shell/changing.ts";
import { service, serviceName } from "./services.ts";
import type { Settings } from "./settings.ts";

/** The states in which a run works. */
const WORKING = new Set<Snapshot["status"]>(["submitted", "streaming"]);

/** What holds again once the settings do not say otherwise. */
const DEFAULTS = { processType: null, capabilities: null };

/** A part that is a tool call. */
export type ToolCall = Extract<Part, { type: "tool-call" }>;

/** What waits for the person: leave to run a call, or the outcome of a call that no function answers. */
export type Asked = { id: string; kind: "permission"; request: PermissionRequest } | { id: string; kind: "call"; call: ToolCall };

/** A provider that failed and is asked again. */
export interface Retry {
  runId: string | undefined;
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
  /** What is waited for before the provider is asked again; there until it answers. */
  retry: Retry | null = null;
  /** Which provider took over in a run that was watched in this page, and why, in words. */
  readonly takeovers = new Map<string, { provider: string; text: string }>();
  /** Called after a tool that may have changed pages. */
  onPagesChanged: () => void = () => undefined;

  constructor(
    readonly workspace: Workspace,
    readonly settings: Settings,
  ) {
    super();
    const view = workspace.view();
    this.snapshot = view.getSnapshot();
    view.subscribe((snapshot) => {
      this.snapshot = snapshot;
      this.lastSign = performance.now();
      this.changed();
    });
    workspace.addEventListener("agent:status-changed", () => this.changed());
    workspace.addEventListener("agent:session-started", () => {
      this.since = this.lastSign = performance.now();
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
      const { kind, runId, attempt = 2, delayMs = 0, provider = "", error } = detail;
      this.lastSign = performance.now();
      this.retry = kind === "retry" ? { runId, attempt, at: this.lastSign + delayMs, provider: serviceName(provider), error } : null;
      if (kind === "fallback" && runId) {
        const before = this.takeovers.get(runId)?.provider ?? this.settings.service?.name ?? "the model in this page";
        this.takeovers.set(runId, { provider: serviceName(provider), text: `${serviceName(provider)} took over (${before}: ${error ? reason(error) : "failed"})` });
      }
      this.changed();
    });
    for (const type of ["agent:message-chunk", "agent:tool-call", "agent:session-completed", "agent:session-interrupted", "agent:lifecycle"] as const)
      workspace.addEventListener(type, (event: CustomEvent<{ runId?: string; phase?: string }>) => {
        if (!this.retry || this.retry.runId !== event.detail.runId || event.detail.phase === "start") return;
        this.retry = null;
        this.changed();
      });
    settings.addEventListener("change", () => this.changed());
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

  async #start(): Promise<void> {
    if (!this.running) await this.workspace.startAgent({ ...this.#config(), ifRunning: "join" });
  }

  #config(): AgentConfig {
    return this.settings.config(this.capabilities);
  }

  /** Every capability that some tool needs. */
  get capabilities(): string[] {
    return [...new Set(this.workspace.tools.definitions().flatMap((tool) => tool.capability ?? []))];
  }

  /** Stops the agent; a run that works is interrupted. */
  stop(): Promise<boolean> {
    return this.#try(() => this.workspace.stopAgent());
  }

  /** Gives a running agent what the settings say now; it counts from the next model call on. */
  configure(): Promise<boolean> {
    return this.#try(async () => {
      if (this.running) await this.workspace.configureAgent({ ...DEFAULTS, ...this.#config() });
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

  /** Asks a provider for the models that it offers: so its address and key are tried, and nothing is spent. */
  async test(provider: ModelApi): Promise<{ error: ErrorInfo | null; models: string[] }> {
    const { keys } = this.workspace;
    try {
      const { error } = await keys.validate(provider);
      if (error) return { error, models: [] };
      // Some servers have no list, and answer all the same.
      const models = await keys.models(provider).catch(() => []);
      return { error: null, models: models.map(({ id }) => id) };
    } catch (error) {
      return { error: errorInfo(error), models: [] };
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

/** What a person at this page can do, where the package's hint speaks to whoever writes the page or there is none. */
const HINTS: Partial<Record<ErrorInfo["code"], string>> = {
  not_configured: "Enter a key in the settings, or take the offline model.",
  already_running: "Stop it there, then start it here. Pages can be read and changed in both.",
  auth: "Check the key in the settings: it may be mistyped, expired, or another service’s.",
  not_found: "Check the model’s name and the address in the settings.",
  budget_exceeded: "It is a limit of your own: raise it in the settings, then continue.",
  network: "Check the connection and the address in the settings. It may also be that the server does not let this page call it (CORS): a browser does not tell the two apart.",
  invalid_request: "Try another model in the settings.",
  unsupported_file: "Take it away above, or choose a model in the settings that reads it.",
};
const TEXTS: Partial<Record<ErrorInfo["code"], string>> = {
  not_configured: "LLM provider not configured",
  already_running: "the agent is running in another tab",
};
/** Why a provider is asked again, or another one in its place. */
const REASONS: Partial<Record<ErrorInfo["code"], string>> = {
  auth: "key refused",
  permission: "not allowed",
  not_found: "model not found",
  rate_limit: "too many requests",
  quota: "no credit left",
  overloaded: "overloaded",
  server: "failed",
  network: "cannot be reached",
  timeout: "took too long",
  stream_broken: "answer broke off",
  not_configured: "no key",
};

/** The cause in a few words. */
export function reason({ code, message }: ErrorInfo): string {
  return REASONS[code] ?? message;
}

/** An error as it is told here: a sentence, and what to do. `provider`: who is asked, for what only it needs. */
export function told(error: ErrorInfo, provider = ""): { text: string; hint: string } {
  const { code, hint, retryAfterMs } = error;
  // What support wants to know stands folded below.
  const message = error.status === undefined ? error.message : error.message.replace(/ \(HTTP \d+(, request [^)]*)?\)$/, "");
  const asked = service(provider);
  // What the package says of these fits the model and the provider.
  const fitting = code === "not_found" || code === "invalid_request" || (code === "network" && provider === "anthropic") ? hint : undefined;
  const first = code === "network" && asked?.command ? `${asked.help} ${asked.command}` : (fitting ?? HINTS[code] ?? hint ?? "");
  const pause = retryAfterMs ? ` It asks for a pause of ${duration(retryAfterMs)}.` : "";
  return { text: `Error: ${sentence(TEXTS[code] ?? message)}`, hint: `${sentence(first, true)}${pause}`.trim() };
}

/** A length of time in words. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 100 ? `${seconds} s` : seconds < 6_000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** With one full stop at its end, and a capital at its beginning if it stands alone. */
export function sentence(text: string, alone = false): string {
  const ended = text && `${text.replace(/[.\s]+$/, "")}.`;
  return alone ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}

/** Whatever was thrown, in the shape that is shown. By name and code, not `instanceof`: two copies may be loaded. */
export function errorInfo(error: unknown): ErrorInfo {
  const e = error as Partial<ErrorInfo> | null;
  const info: ErrorInfo = { code: e?.code ?? ("internal" as ErrorInfo["code"]), message: e?.message ?? String(error), retryable: e?.retryable ?? false };
  for (const name of ["hint", "status", "providerCode", "requestId", "retryAfterMs"] as const) if (e?.[name] !== undefined) Object.assign(info, { [name]: e[name] });
  return info;
}
