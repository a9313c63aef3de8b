// What an app in TypeScript writes, and what the compiler must refuse.
import init, { deleteWorkspace, invoke, LodgerError, openWorkspace } from "lodger";
import type { AgentConfig, ErrorCode, Lifecycle, Message, Part, Provider, Replay, Run, RunResult, SessionState, Snapshot, Status, TaskRun, Tool, WaitResult, Workspace } from "lodger";
import models from "lodger/models.json" with { type: "json" };
import { offline } from "lodger/offline";
import { scriptedModel } from "lodger/testing";

export async function app(): Promise<void> {
  await init({ module_or_path: new URL("https://example.com/lodger.wasm") });
  const ws: Workspace = await openWorkspace("chat", { storage: "memory", pageTools: true, target: null, now: () => 0, keepAlive: true, warnOnLeave: false });

  const undo: () => void = ws.tools.register({
    name: "add_to_cart", description: "Puts a product into the cart.",
    inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
    execute: ({ id }, { signal, toolCallId, runId, onProgress }) => { onProgress({ id }); signal.throwIfAborted(); return { toolCallId, runId }; },
  });
  undo();

  const config: AgentConfig = { ifRunning: "join", instructions: async () => "Be kind.", maxTurns: 5, resume: "auto", title: "auto",
    provider: { kind: "anthropic", apiKey: ({ refused }) => (refused ? "new" : "old"), headers: { "x-api-key": null } } };
  await ws.startAgent(config);
  await ws.configureAgent({ models: { ...models, custom: { mine: { context: 4096, price: [1, 2] } } } });
  await ws.configureAgent({ provider: offline({ delayMs: 5 }) });

  const run: Run = await ws.sendMessage("Hello", { idempotencyKey: "k", signal: AbortSignal.timeout(1000), context: "more" });
  for await (const piece of run.textStream) piece.toUpperCase();
  const result: RunResult = await ws.run({ text: "Hello", files: [new File(["a"], "a.txt")], metadata: { a: 1 } });
  const overrides = { model: "m", provider: "spare", reasoning: "low", instructions: "Be brief.", tools: ["add_to_cart"], temperature: 0.5, maxOutputTokens: 100, providerOptions: { seed: 1 } } as const;
  await ws.sendMessage("Hello", overrides);
  await ws.regenerate(undefined, overrides);
  await ws.sessions.configure("docs", overrides);
  const shared: Blob = await ws.sessions.export("docs", { format: "html" });
  void shared;
  const bytes: Blob = await ws.file("file_1");
  void bytes;
  const waited: WaitResult = await ws.wait(run.runId, { timeoutMs: 5 });
  if (result.outcome === "failed") { const code: ErrorCode | undefined = result.error?.code; void code; }
  void waited.status;

  ws.addEventListener("agent:message-chunk", ({ detail }) => { const text: string = detail.text; const offset: number = detail.offset; void [text, offset]; });
  ws.addEventListener("agent:lifecycle", (event) => { const phase: "start" | "end" | "error" = event.detail.phase; void phase; });
  ws.addEventListener("agent:status-changed", ({ detail: { lifecycle, is_streaming } }) => { const l: Lifecycle = lifecycle; const s: boolean = is_streaming; void [l, s]; });
  ws.addEventListener("something-else", (event: Event) => void event.type);

  const view = ws.view();
  const stop: () => void = view.subscribe((snapshot: Snapshot) => draw(snapshot.messages));
  stop();
  const status: Status = ws.status();
  if (typeof status.lifecycle === "object") status.lifecycle.Error.trim();

  const page = await ws.pages.create({ title: "T" });
  await ws.pages.update(page.slug, { content: "x" }, { expectedVersion: page.version });
  await ws.keys.set("anthropic", "sk-…");
  const names: string[] = await ws.keys.list();
  const { ok, error: wrong } = await ws.keys.validate({ kind: "anthropic" });
  if (!ok) wrong?.hint?.trim();
  const offered: { id: string; name?: string }[] = await ws.keys.models({ kind: "anthropic", apiKey: async () => "sk-…" });
  await ws.keys.remove("anthropic");
  void [names, offered];
  const settings = await invoke("get_agent_settings");
  const configured: boolean = settings.api_key_configured;
  void configured;
  const storage = await ws.storage();
  const persisted: boolean = await storage.persist();
  void persisted;

  try { await ws.history({ limit: 3 }); } catch (error) {
    if (error instanceof LodgerError && error.code === "workspace_closed") return;
    throw error;
  }
  await ws.close();
  await deleteWorkspace("chat");

  const session: SessionState = await ws.sessions.launch({ id: "docs", provider: "spare", messages: [{ role: "user", parts: [{ type: "text", text: "Hello" }] }] });
  const { runId } = await ws.sessions.prompt(session.id, { text: "Go on." });
  if (runId !== null) await ws.interrupt({ runId });
  for (const { session: { status }, hmac_status } of await ws.sessions.list({ withVerification: true })) void [status, hmac_status];
  const found: SessionState[] = (await ws.sessions.search("docs")).map(({ session }) => session);
  void found;
  const once = await ws.sessions.runOnce("Count them.", { schema: { type: "object", properties: { count: { type: "number" } }, required: ["count"] } });
  const count: number | undefined = once.value?.count;
  const done: TaskRun["status"] = (await ws.sessions.task(once.run.id)).status;
  void [count, done];
  await ws.setOperator({ subject: "ana", issuer: "shop", expiresAt: 1 });
  const file: Blob = await ws.sessions.export(session.id);
  const replayed: Replay = await ws.sessions.replay(file);
  void replayed;
  // @ts-expect-error an action that does not exist
  await ws.sessions.recover(session.id, { action: "retry" });

  // @ts-expect-error a member of a later version does not exist
  void ws.bench;
  await ws.configureAgent({ budgets: { run: { turns: 3 }, session: { cost: 1 } }, providers: { spare: { kind: "ollama", model: "m" } }, fallback: ["spare"] });
  // @ts-expect-error a choice that does not exist
  await ws.startAgent({ ifRunning: "steal" });
  // @ts-expect-error a provider needs a kind that exists
  await ws.startAgent({ provider: { kind: "skynet" } });
  // @ts-expect-error the message is missing
  await ws.sendMessage();
  const unknown: unknown = await invoke("a_command_of_another_version");
  void unknown;
  // @ts-expect-error an error code that does not exist
  const never: ErrorCode = "no_such_code";
  void never;
  // @ts-expect-error nobody makes a LodgerError but the package
  new LodgerError("x");
  // @ts-expect-error a status is read only by what it says
  view.getSnapshot().status = "nonsense";
}

function draw(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => message.parts.map((part: Part) => {
    switch (part.type) {
      case "text": case "thinking": return part.text;
      case "file": return part.filename ?? part.fileId;
      case "source": return `${part.title} ${part.url}`;
      case "tool-call": return `${part.tool} ${part.status} ${part.files?.map((file) => file.fileId) ?? ""}`;
    }
  }));
}

const model: Provider = scriptedModel(["Hi", { tool: "x", args: { a: 1 } }]);
const own: Provider = { kind: "custom", async *stream(request, { signal }) { if (signal.aborted) return; yield request.model; yield { choices: [{ delta: { content: "x" } }] }; } };
const tool: Tool = { name: "t", description: "d", inputSchema: {}, execute: () => 1, readOnly: true, concurrency: "parallel", onResume: "rerun" };
void [model, own, tool];
