// What an app gives as schemas and tools: what types make of them, and what the compiler must refuse.
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { ModelMessage, UIMessage } from "ai";
import { type } from "arktype";
import { Schema } from "effect";
import { openWorkspace, type Message, type Part, type Tool, type ToolCallOf } from "lodger";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";
import * as z3 from "zod/v3";

const ws = await openWorkspace("types");
const description = "d";

// A JSON Schema that is written in its place says the arguments.
ws.tools.register({ name: "a", description, inputSchema: { type: "object", properties: { id: { type: "string" }, n: { enum: ["x", "y"] } }, required: ["id"] }, execute: ({ id, n }) => { const word: string = id; const one: "x" | "y" | undefined = n; return word + one; } });
ws.tools.register({ name: "b", description, inputSchema: z.object({ a: z.string() }), execute: ({ a }) => a.length });
ws.tools.register({ name: "c", description, inputSchema: type({ a: "string" }), execute: ({ a }) => a.length });
ws.tools.register({ name: "d", description, inputSchema: toStandardJsonSchema(v.object({ a: v.string() })), execute: ({ a }) => a.length });
ws.tools.register({ name: "e", description, inputSchema: Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(Schema.Struct({ a: Schema.String }))), execute: ({ a }) => a.length });
const list: readonly string[] = (await ws.run("x", { schema: { type: "array", items: { type: "string" } } })).value;
const word: "a" | "b" = (await ws.run("x", { schema: { enum: ["a", "b"] } })).value;
const numbers: number[] = (await ws.run("x", { schema: z.array(z.number()) })).value;

// Parts narrow by a chain of questions, and calls by a map of tools.
declare const part: Part;
const said: string = part.type === "text" ? part.text : part.type === "thinking" ? part.text : part.type === "file" ? part.fileId : part.type === "source" ? part.url : part.tool;
const tools = { add: { name: "add", description, inputSchema: z.object({ a: z.number() }), execute: ({ a }: { a: number }) => a + 1 } };
declare const message: Message;
for (const part of message.parts) if (part.type === "tool-call") { const call = part as ToolCallOf<typeof tools>; const sum: number | undefined = call.result; void [sum, call.arguments.a.toFixed()]; }
const mixed: Tool<any>[] = [tools.add, { name: "z", description, inputSchema: { type: "object" } }, { name: "ark", description, inputSchema: type({ a: "string" }) }];
for (const tool of mixed) ws.tools.register(tool);
void [list, word, numbers, said];

// Conversations of other libraries, by their own types.
declare const [ui, model, anthropic, chat, items]: [UIMessage[], ModelMessage[], MessageParam[], ChatCompletionMessageParam[], ResponseInputItem[]];
for (const messages of [ui, model, anthropic, chat, items]) await ws.sessions.launch({ messages });
await ws.sessions.launch({ messages: [{ role: "user", content: "Hello", cache_control: { type: "ephemeral" } }] });
// @ts-expect-error a text is no conversation
await ws.sessions.launch({ messages: "Hello" });
// @ts-expect-error nor are numbers
await ws.sessions.launch({ messages: [7] });

// @ts-expect-error an event that does not exist
ws.addEventListener("agent:nope", () => {});
// @ts-expect-error no schema
ws.tools.register({ name: "f", description, inputSchema: 5 });
// @ts-expect-error zod 3 gives no JSON Schema
ws.tools.register({ name: "f", description, inputSchema: z3.object({ a: z3.string() }) });
// @ts-expect-error valibot gives none by itself
ws.tools.register({ name: "f", description, inputSchema: v.object({ a: v.string() }) });
// @ts-expect-error zod/mini gives none by itself
ws.tools.register({ name: "f", description, inputSchema: mini.object({ a: mini.string() }) });
// @ts-expect-error another library's name
ws.tools.register({ name: "f", description, parameters: {} });
// @ts-expect-error no schema of an answer
await ws.run("x", { schema: 5 });
// @ts-expect-error zod 3
await ws.run("x", { schema: z3.object({ a: z3.string() }) });
// @ts-expect-error valibot by itself
await ws.sendMessage("x", { schema: v.object({ a: v.string() }) });
// @ts-expect-error a misspelt option
await ws.sendMessage("x", { shema: {} });
// @ts-expect-error a preset that does not exist
await ws.startAgent({ provider: { kind: "openai-compatible", preset: "nope", model: "x" } });
// @ts-expect-error neither a preset nor an address
await ws.startAgent({ provider: { kind: "openai-compatible", model: "x" } });
// @ts-expect-error a kind that needs a model
await ws.startAgent({ provider: { kind: "openai" } });
// @ts-expect-error another library's name
await ws.startAgent({ system: "x" });
await ws.startAgent({ provider: { kind: "openai-compatible", baseUrl: "https://a.example/v1", model: "x" } });
