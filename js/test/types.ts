// Checked by `tsc --strict`, never run: what the types must allow, and what they must refuse.

import init, { deleteWorkspace, invoke, LodgerError, openWorkspace } from "lodger";
import type { AgentConfig, ErrorCode, FilePart, JsonSchema, JournalEntry, Lifecycle, Message, Part, PermissionAnswer, PermissionRequest, Provider, Run, SessionState, SessionStatus, Snapshot, Status, Tool, ToolCallOf, View, Workspace } from "lodger";
import models from "lodger/models.json";
import { offline } from "lodger/offline";
import { availability, promptApi } from "lodger/prompt-api";
import { scriptedModel } from "lodger/testing";
import { wllama, type WllamaEngine } from "lodger/wllama";
import { z } from "zod";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => {};

export async function use(): Promise<void> {
  await init();
  await init({ module_or_path: fetch("/lodger.wasm") });
  const ws = await openWorkspace("chat", { storage: "memory", durability: "strict", target: null, now: () => 0 });
  same<typeof ws, Workspace>(true);
  await openWorkspace("chat", { host: "worker" });
  // @ts-expect-error
  await openWorkspace("chat", { host: "server" });
  // @ts-expect-error
  await openWorkspace();
  await deleteWorkspace("chat");

  // the first ten lines of the README
  const undo = ws.tools.register({ name: "add_to_cart", description: "Puts a product into the cart.", inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] }, execute: ({ id }) => String(id) });
  same<typeof undo, () => void>(true);
  await ws.startAgent({ ifRunning: "join", instructions: "You help in this shop.", provider: { kind: "anthropic", apiKey: () => fetch("/token").then((r) => r.text()) } });
  ws.view().subscribe((s) => s.messages.map((message) => message.parts));

  await ws.startAgent({ capabilities: ["PagesRead", "Mail"], processType: "Researcher", maxParallelTools: 2,
    permissions: { default: "ask", tools: { t: "deny" }, capabilities: { Mail: "allow" }, timeoutMs: 5, decide: async ({ tool, arguments: args }) => (tool && args ? "ask" : "deny") } });
  // @ts-expect-error
  await ws.startAgent({ permissions: { default: "maybe" } });
  // @ts-expect-error
  await ws.startAgent({ processType: "Librarian" });

  const config: AgentConfig = { provider: offline({ delayMs: 20 }), maxTurns: 3, retry: { cut: false }, resume: "auto", reasoning: "low" };
  await ws.startAgent(config);
  await ws.configureAgent({ provider: offline(), instructions: async () => "x" });
  // @ts-expect-error counts at the start only
  await ws.configureAgent({ ifRunning: "join" });
  await ws.startAgent({ models: { ...models, mine: "custom", custom: { "a b": { context: 4096, price: [1, 2], can: ["tools"] } } } });
  // @ts-expect-error no such fact
  await ws.startAgent({ models: { custom: { mine: { cost: 1 } } } });
  await ws.startAgent({
    provider: { kind: "openai-compatible", preset: "groq", model: "m", timeouts: { silenceMs: 1_000 } },
    providers: { spare: { kind: "ollama", model: "m" } },
    fallback: ["spare"],
    budgets: { run: { turns: 3, cost: 0.5 }, session: {} },
  });
  // @ts-expect-error no such limit
  await ws.startAgent({ budgets: { run: { tokens: 1 } } });
  await ws.startAgent({ ifRunning: "takeover" });
  // @ts-expect-error no such choice
  await ws.startAgent({ ifRunning: "steal" });
  // @ts-expect-error
  await ws.startAgent({ maxTurns: "3" });
  // @ts-expect-error an unknown kind
  const bad: Provider = { kind: "nobody" };
  await ws.keys.models({ kind: "ollama" });
  // @ts-expect-error it needs a model
  const lacks: Provider = { kind: "ollama" };
  // @ts-expect-error there is no such preset
  const preset: Provider = { kind: "openai-compatible", preset: "grok", model: "m" };
  // @ts-expect-error a preset is of another kind
  const other: Provider = { kind: "openai", preset: "groq", model: "m" };
  const xai: Provider = { kind: "xai", preset: "chat", model: "m" };
  const azure: Provider[] = [
    { kind: "openai-compatible", preset: "azure", baseUrl: "https://mine.openai.azure.com", model: "m", apiVersion: "2024-10-21" },
    { kind: "openai-responses", preset: "azure", baseUrl: "https://mine.openai.azure.com", model: "m" },
  ];
  // @ts-expect-error Azure has no address that all share
  azure.push({ kind: "openai-compatible", preset: "azure", model: "m" });
  const proxy: Provider = { kind: "anthropic", baseUrl: "/api", headers: { "x-api-key": null }, fetch, auth: "bearer" };
  const custom: Provider = {
    kind: "custom",
    async *stream({ messages, tools }, { signal }) {
      if (!signal.aborted) yield `${messages.length} ${tools.map((tool) => tool.function.name)}`;
      yield { choices: [{ delta: { content: "Hi" } }] };
    },
  };
  void [bad, lacks, preset, other, xai, azure, proxy, custom];

  const run = await ws.sendMessage("hi", { signal: new AbortController().signal, idempotencyKey: "k", context: "c" });
  same<typeof run, Run>(true);
  for await (const text of run.textStream) text.trim();
  const result = await run.result;
  same<typeof result.outcome, "completed" | "interrupted" | "failed" | "unknown">(true);
  // @ts-expect-error read only
  run.runId = "x";
  await ws.sendMessage("hi", { whenBusy: "queue" });
  // @ts-expect-error no such way to wait
  await ws.sendMessage("hi", { whenBusy: "wait" });
  // @ts-expect-error an answer is made anew at once
  await ws.regenerate(undefined, { whenBusy: "queue" });
  await ws.run({ text: "hi", metadata: { from: "button" } });
  await ws.sendMessage({ text: "", files: [new Blob(["a"]), new File(["b"], "b.txt")] });
  same<Awaited<ReturnType<typeof ws.file>>, Blob>(true);
  // @ts-expect-error bytes have no type
  await ws.sendMessage({ text: "", files: [new Uint8Array(3)] });
  ws.interrupt();
  ws.interrupt({ runId: run.runId });
  await ws.resume();
  await ws.resume(run.runId);
  await ws.resume({ sessionId: "docs" });
  // @ts-expect-error no such member
  await ws.resume({ session: "docs" });
  const status: Status = ws.status();
  const lifecycle: Lifecycle = status.lifecycle;
  if (typeof lifecycle === "object") lifecycle.Error.trim();
  else same<typeof lifecycle, "Stopped" | "Starting" | "Running" | "Suspended">(true);
  const messages: Message[] = await ws.history({ limit: 5, before: "m1" });
  const shown = (part: Part) => (part.type === "text" ? part.text : part.type === "thinking" ? part.text.length : part.type === "file" ? part.size : part.type === "source" ? part.url : part.tool);
  const text = (part: Part) => (part.type === "source" ? part.url : part.type === "tool-call" ? `${part.tool} ${part.status}` : part.type === "file" ? `${part.filename ?? part.fileId} ${part.mediaType} ${part.size}` : part.text);
  messages.flatMap(({ parts }) => parts.map(text));
  messages.flatMap(({ parts }) => parts.map(shown));
  const { status: waited } = await ws.wait(run.runId, { timeoutMs: 1 });
  same<typeof waited, "ok" | "error" | "timeout">(true);

  // stores of React and Svelte
  const useSyncExternalStore = <T>(subscribe: (onChange: () => void) => () => void, getSnapshot: () => T): T => (subscribe(() => {})(), getSnapshot());
  const view: View = ws.view("default");
  same<ReturnType<typeof view.getSnapshot>, Snapshot>(true);
  useSyncExternalStore(view.subscribe, view.getSnapshot).status.trim();
  const svelte: { subscribe(run: (value: Snapshot) => void): () => void } = view;
  void svelte;
  // @ts-expect-error a snapshot is not changed
  view.getSnapshot().messages.push(messages[0]!);

  ws.addEventListener("agent:message-chunk", ({ detail }) => detail.text.slice(detail.offset));
  ws.addEventListener("agent:tool-call", ({ detail }) => same<typeof detail.status, "started" | "completed" | "failed">(true));
  ws.addEventListener("agent:tool-call", ({ detail }) => same<typeof detail.files, FilePart[] | undefined>(true));
  document.addEventListener("agent:error", ({ detail }) => same<typeof detail.code, ErrorCode>(true));
  document.addEventListener("agent:permission-required", async ({ detail }) => {
    same<typeof detail.requestId, string>(true);
    await detail.respond("allow_once");
    await detail.respond("deny", { reason: "not now" });
    // @ts-expect-error
    await detail.respond("maybe");
  });
  ws.addEventListener("agent:permission-resolved", ({ detail }) => same<typeof detail.answer, PermissionAnswer | "withdrawn">(true));
  await ws.resolvePermission("ask", "always_allow", { reason: "r" });
  const asked: readonly PermissionRequest[] = ws.view().getSnapshot().permissions;
  await invoke("respond_permission_request", { requestId: asked[0]!.requestId, answer: "deny", reason: "r" });
  ws.addEventListener("something-else", (event) => event.type);
  // @ts-expect-error there is no such event
  ws.addEventListener("agent:finished", (event) => event);
  ws.addEventListener("agent:session-changed", ({ detail }) => detail.change.trim());

  const tool: Tool = { name: "t", description: "d", inputSchema: { type: "object" }, execute: (args, { signal, onProgress, runId }) => (onProgress(args), signal.aborted, runId) };
  ws.tools.register(tool, { replace: true, signal: new AbortController().signal });
  ws.tools.register({ name: "t", description: "d", inputSchema: { type: "object" } });
  ws.tools.register({ ...tool, title: "T", source: "External", capability: "Mail", destructive: true, openWorld: false, annotations: { readOnlyHint: true }, coerce: false, formats: true,
    timeoutMs: 5, concurrency: "serial", onResume: "ask", lookup: async (args, { toolCallId }) => ({ result: [args, toolCallId] }) });
  // @ts-expect-error
  ws.tools.register({ ...tool, onResume: "again" });
  // @ts-expect-error
  ws.tools.register({ ...tool, dangerous: true });
  // A Standard Schema: `execute` gets what it makes of the arguments.
  ws.tools.register({ name: "z", description: "d", inputSchema: z.object({ to: z.string(), times: z.coerce.number(), at: z.iso.datetime().transform((text) => new Date(text)).optional() }),
    execute: (args) => { same<typeof args, { to: string; times: number; at?: Date | undefined }>(true); return args.at?.getTime(); },
    lookup: ({ to }) => ({ result: to.trim() }) });
  // @ts-expect-error not what the schema gives
  ws.tools.register({ name: "z", description: "d", inputSchema: z.object({ to: z.string() }), execute: ({ too }) => too });
  // A literal JSON Schema says as much.
  ws.tools.register({ name: "j", description: "d", inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    execute: (args) => same<typeof args, { to: string }>(true) });
  const loose: JsonSchema = { type: "object", properties: { to: { type: "string" } } };
  ws.tools.register({ name: "j", description: "d", inputSchema: loose, execute: (args) => args.whatever.it.is });
  // @ts-expect-error not in the schema
  ws.tools.register({ name: "j", description: "d", inputSchema: { type: "object", properties: { to: { type: "string" } } }, execute: (args) => args.whatever });
  // @ts-expect-error no schema
  ws.tools.register({ name: "j", description: "d", inputSchema: 5 });
  const zod3 = { "~standard": { version: 1, vendor: "zod", validate: (value: unknown) => ({ value }) }, parse: (value: unknown) => value } as const;
  // @ts-expect-error a schema of zod 3 gives no JSON Schema
  ws.tools.register({ name: "j", description: "d", inputSchema: zod3 });
  const some: Tool<any>[] = [{ name: "z", description: "d", inputSchema: z.object({ to: z.string() }), execute: ({ to }) => to }, { name: "j", description: "d", inputSchema: { type: "object" } }];
  for (const one of some) ws.tools.register(one);
  const map = { weather: { inputSchema: z.object({ city: z.string() }), execute: async (_: { city: string }) => ({ degrees: 21 }) }, ask: { inputSchema: { type: "object", properties: { why: { type: "string" } }, required: ["why"] } } } as const;
  for (const part of messages[0]!.parts) {
    if (part.type !== "tool-call") continue;
    const call = part as ToolCallOf<typeof map>;
    if (call.tool === "weather") same<typeof call.arguments, { city: string }>(true), call.result?.degrees.toFixed();
    else same<typeof call.tool, "ask">(true), call.arguments.why.trim();
  }

  const invoice = z.object({ total: z.coerce.number(), due: z.iso.date().transform((day) => new Date(day)).optional() });
  const read = await ws.run("Read it.", { schema: invoice, context: "…" });
  same<typeof read.value, { total: number; due?: Date | undefined }>(true);
  const counted = await ws.run("Count.", {
    schema: {
      type: "object",
      properties: {
        n: { type: "integer" }, unit: { enum: ["cm", "in"] }, tags: { type: "array", items: { type: "string" } }, note: { type: ["string", "null"] },
        of: { anyOf: [{ const: 1 }, { type: "object", properties: { deep: { type: "boolean" } }, required: ["deep"] }] }, any: {},
      },
      required: ["n", "unit", "tags", "note", "of"],
    },
  });
  same<typeof counted.value.n, number>(true);
  same<typeof counted.value.unit, "cm" | "in">(true);
  same<typeof counted.value.tags, string[]>(true);
  same<typeof counted.value.note, string | null>(true);
  same<typeof counted.value.of, 1 | { deep: boolean }>(true);
  counted.value.any?.what.ever;
  // @ts-expect-error not in the schema
  counted.value.unknown;
  const known: JsonSchema = { type: "object" };
  (await ws.run("Count.", { schema: known })).value.what.ever;
  const ended = await (await ws.sendMessage("Count.", { schema: invoice })).result;
  same<NonNullable<typeof ended.value>["total"], number>(true);
  // @ts-expect-error may be absent: the run may fail
  ended.value.total;
  same<Awaited<ReturnType<typeof ws.wait>>["value"], unknown>(true);
  // @ts-expect-error no such option
  await ws.run("Count.", { schema: invoice, form: 1 });
  await ws.tools.resolve("call", { result: [1] });
  await ws.tools.resolve("call", { error: "no" });
  // @ts-expect-error
  await ws.tools.resolve("call", { text: "no" });
  for (const grant of await ws.tools.grants()) await ws.tools.revoke(grant.tool, grant.sessionId);
  same<ReturnType<typeof ws.tools.unregister>, boolean>(true);
  (await ws.tools.execute("t", {})).truncated?.bytes.toFixed();

  const page = await ws.pages.create({ title: "T", content: "c", parentSlug: null });
  await ws.pages.move(page.slug, { parentSlug: null, position: 0 });
  await ws.pages.update("s", { metadata: { a: 1 } }, { expectedVersion: page.version });
  for (const { slug } of await ws.pages.outgoingLinks("s")) same<typeof slug, string | null>(true);
  const { persist, lost } = await ws.storage();
  const { sessions: sizes } = await ws.storage({ sessions: true });
  sizes.map(({ id, bytes }) => [id, bytes.toFixed()]);
  const { archived } = await ws.sessions.archive("a");
  archived?.slice(0, 10);
  await ws.startAgent({ title: "auto" });
  await ws.configureAgent({ title: "words" });
  await ws.configureAgent({ title: null });
  // @ts-expect-error a title is asked for, or it is the first words
  await ws.startAgent({ title: "Mine" });
  const { text: once, receipts } = await ws.sessions.runOnce("Sum it up.", { keep: false });
  const said: string = once + receipts.length;
  // @ts-expect-error a task has no session that could be named
  await ws.sessions.runOnce("Sum it up.", { sessionId: "a" });
  await ws.configureAgent({ archive: { afterDays: 90 } });
  await ws.configureAgent({ archive: false });
  // @ts-expect-error a policy says after how many days
  await ws.configureAgent({ archive: true });
  await persist();
  if (lost) same<typeof lost.since, number | undefined>(true);
  await lost?.acknowledge();
  await openWorkspace("a", { onStorageLost: "reject" });
  await openWorkspace("a", { limits: { answerBytes: 1, argumentBytes: 1, callsPerAnswer: 1, messageBytes: 1, resultBytes: 1 } });
  // @ts-expect-error
  await openWorkspace("a", { limits: { bytes: 1 } });
  ws.addEventListener("agent:notice", ({ detail }) => void (detail.kind === "storage_lost" && detail.lost?.at.toFixed()));
  // @ts-expect-error
  await openWorkspace("a", { onStorageLost: "ask" });

  const { sessions } = ws.sessions.view().getSnapshot();
  for (const { id, title, activity, needsYou, unread, session, hmac_status } of sessions) void [id.trim(), title.trim(), activity === "waiting", needsYou === unread, session.answered_by?.model, hmac_status === "verified"];
  for (const { session, messageId, excerpt } of await ws.sessions.search("kettle", { signal: new AbortController().signal })) void [session.id, messageId?.trim(), excerpt?.trim()];
  const own: SessionState = await ws.sessions.configure("side", { model: "m", provider: null, tools: [], reasoning: "low", temperature: 0.2, maxOutputTokens: 9, instructions: "Be brief.", providerOptions: { top_k: 1 } });
  void own;
  await ws.startAgent({ serverTools: ["web_search", "google_search", { type: "web_search_20260209", name: "web_search", max_uses: 3 }] });
  await ws.sessions.configure("side", { serverTools: null });
  await ws.sendMessage({ text: "a" }, { serverTools: [] });
  // @ts-expect-error no provider has it
  await ws.startAgent({ serverTools: ["websearch"] });
  // @ts-expect-error an object says which it is
  await ws.startAgent({ serverTools: [{ name: "web_search" }] });
  for (const part of (await ws.history()).flatMap(({ parts }) => parts)) {
    if (part.type === "source") void [part.url.trim(), part.title.trim(), part.citedText?.trim(), part.at?.part.toFixed(), part.at?.start?.toFixed()];
    if (part.type === "tool-call") void (part.by === "provider");
  }
  ws.addEventListener("agent:notice", ({ detail }) => void (detail.kind === "server_tools" && detail.because === "unsupported" && detail.tools?.join()));
  // @ts-expect-error a session has no function for its instructions: they are stored
  await ws.sessions.configure("side", { instructions: () => "x" });
  // @ts-expect-error a number of turns is the agent's
  await ws.sessions.configure("side", { maxTurns: 3 });
  await ws.sessions.launch({ messages: [{ role: "user", content: "Hello" }, { role: "assistant", parts: [{ type: "text", text: "Hi" }] }, { type: "function_call", call_id: "c", name: "n", arguments: "{}" }] });
  await openWorkspace("a", { warnOnLeave: true, keepAlive: true });
  await ws.sessions.export("a", { format: "html" });

  const seen = await invoke("get_agent_status");
  same<typeof seen, Status>(true);
  await ws.invoke("send_agent_message", { message: "hi" });
  const unknown = await invoke("something", { x: 1 });
  same<typeof unknown, unknown>(true);

  try {
    await ws.close();
  } catch (error) {
    if (error instanceof LodgerError) {
      same<typeof error.name, "LodgerError">(true);
      const code: ErrorCode = error.code;
      // @ts-expect-error no such code
      if (error.code === "nonsense") void code;
      error.hint?.trim();
    }
  }
  same<Awaited<ReturnType<typeof ws.sessions.import>>, SessionState>(true);
  same<SessionState["recovery_metadata"]["recovery_status"], SessionStatus | undefined>(true);
  for (const event of await ws.sessions.journal("a")) {
    const entry = event as JournalEntry;
    if (entry.type === "ended") same<typeof entry.outcome, "completed" | "interrupted" | "failed">(true);
    // Its content may be erased.
    if (entry.type === "answered") entry.blocks?.length.toFixed();
    // @ts-expect-error no such kind
    if (entry.type === "dreamt") void entry;
  }
  for (const receipt of await ws.sessions.receipts("a")) receipt.result.summary.trim();
  const { firstDifference } = await ws.sessions.replay(await ws.sessions.export("a", { format: "journal" }));
  firstDifference?.made?.row.seq.toFixed();
  for (const { id, text, mode } of ws.view().getSnapshot().queue) {
    same<typeof mode, "queue" | "steer">(true);
    await ws.queue.edit(id, text.trim());
    await ws.queue.remove(id);
  }
  await ws.queue.release();
  await ws.invoke("agent.wait", { runId: "r", errorGraceMs: 15_000 });
  const fork = await invoke("session_fork", { id: "docs", at: 3 });
  same<typeof fork, SessionState>(true);
  const salvaged = await invoke("session_salvage", { id: "docs", replace: true });
  same<typeof salvaged, SessionState>(true);
  const file = await ws.invoke("session_export", { id: "docs", format: "journal" });
  await invoke("session_import", { file });

  const engine = null as unknown as WllamaEngine;
  const inPage: Provider[] = [wllama({ engine, model: "/a.gguf" }), wllama({ engine: async () => engine, model: new Blob() }), promptApi(), promptApi({ languages: ["en"] })];
  same<Awaited<ReturnType<typeof availability>>, "unavailable" | "downloadable" | "downloading" | "available">(true);
  await wllama({ engine }).load();
  void inPage;
  // @ts-expect-error an engine is needed
  wllama({ model: "/a.gguf" });

  const model = scriptedModel(["Hi", { tool: "t", args: { a: 1 } }, [{ thinking: "Hm." }, { tool: "a" }, { tool: "b" }], ["half", { delay: 5 }, { broken: true }], { error: "rate_limit" }, { error: new Error("x") }]);
  // @ts-expect-error there is no such code
  scriptedModel([{ error: "nope" }]);
  await ws.startAgent({ provider: model });
  model.requests[0]?.messages.length.toFixed();
}
