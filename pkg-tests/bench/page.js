// The contenders, all in one page. Each reads the same stream and gives the length of the text it ended with.
import Anthropic from "./sdk.js";
import { stream as piStream } from "@earendil-works/pi-ai/api/anthropic-messages";
import { createAnthropic } from "@ai-sdk/anthropic";
import { jsonSchema, readUIMessageStream, streamText, tool } from "ai";
import * as lodger from "lodger";

const request = (content) => JSON.stringify({ model: "claude-sonnet-4-6", max_tokens: 8192, stream: true, messages: [{ role: "user", content }] });
const HEADERS = { "content-type": "application/json", "x-api-key": "sk-test", "anthropic-version": "2023-06-01", "anthropic-dangerous-direct-browser-access": "true" };
const post = (url, body) => fetch(`${url}/v1/messages`, { method: "POST", headers: HEADERS, body });

/** What one writes by hand, for each wire: what ends an event, and the text in it. */
const HAND = {
  anthropic: { path: "/v1/messages", end: "\n\n", text: (e) => (e.type === "content_block_delta" && e.delta.type === "text_delta" ? e.delta.text : "") },
  "openai-chat": { path: "/chat/completions", end: "\n\n", text: (e) => e.choices[0]?.delta.content ?? "" },
  "openai-responses": { path: "/responses", end: "\n\n", text: (e) => (e.type === "response.output_text.delta" ? e.delta : "") },
  ollama: { path: "/api/chat", end: "\n", text: (e) => e.message.content },
};
const KINDS = { anthropic: "anthropic", "openai-chat": "openai", "openai-responses": "openai-responses", ollama: "ollama" };

/** Hands each event of a stream to `on`. */
async function byHand(response, end, on) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += decoder.decode(value, { stream: true });
    const events = buffer.split(end);
    buffer = events.pop();
    for (const event of events) {
      const data = end === "\n" ? event : event.slice(event.indexOf("data: ") + 6);
      if (data !== "[DONE]") on(JSON.parse(data));
    }
  }
}

const WRITE = { type: "object", properties: { content: { type: "string" } }, required: ["content"] };
const STEP = { type: "object", properties: { number: { type: "number" } } };
const client = (url) => new Anthropic({ apiKey: "sk-test", baseURL: url, dangerouslyAllowBrowser: true, maxRetries: 0 });
const aiModel = (url) => createAnthropic({ apiKey: "sk-test", baseURL: `${url}/v1`, headers: { "anthropic-dangerous-direct-browser-access": "true" } })("claude-sonnet-4-6");
const PI = { id: "claude-sonnet-4-6", name: "m", api: "anthropic-messages", provider: "anthropic", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 200000, maxTokens: 8192 };
const pi = (url, tools) => piStream({ ...PI, baseUrl: url }, { messages: [{ role: "user", content: "Go", timestamp: 0 }], tools }, { apiKey: "sk-test" });
const ai = (url, tools) => streamText({ model: aiModel(url), prompt: "Go", maxRetries: 0, tools, onError({ error }) { throw error; } });
const writeTool = () => ({ write: tool({ description: "Writes.", inputSchema: jsonSchema(WRITE) }) });

globalThis.contenders = {
  /** pi's provider stream, its text deltas read. */
  async pi(url) {
    let text = "";
    for await (const event of pi(url)) if (event.type === "text_delta") text += event.delta;
    return text.length;
  },

  /** The AI SDK's `streamText`, its text read. */
  async ai(url) {
    let text = "";
    for await (const delta of ai(url).textStream) text += delta;
    return text.length;
  },

  // ---------------------------------------------------------------- a call with long arguments

  async argumentLoop(url) {
    let json = "";
    await byHand(await post(url, request("Go")), "\n\n", (event) => { if (event.delta?.type === "input_json_delta") json += event.delta.partial_json; });
    return JSON.parse(json).content.length;
  },

  /** With what has come of the arguments, at each piece. */
  async argumentSdk(url) {
    let seen = 0;
    const tools = [{ name: "write", description: "Writes.", input_schema: WRITE }];
    const final = await client(url).messages.stream({ ...JSON.parse(request("Go")), tools }).on("inputJson", () => seen++).finalMessage();
    if (!seen) throw new Error("nothing was shown on the way");
    return final.content.find((block) => block.type === "tool_use").input.content.length;
  },

  async argumentPi(url) {
    let call;
    for await (const event of pi(url, [{ name: "write", description: "Writes.", parameters: WRITE }])) if (event.type === "toolcall_end") call = event.toolCall;
    return call.arguments.content.length;
  },

  async argumentAi(url) {
    let length = 0;
    for await (const part of ai(url, writeTool()).fullStream) if (part.type === "tool-call") length = part.input.content.length;
    return length;
  },

  /** The same as `useChat` reads it: a message with what has come, at each piece. */
  async argumentAiChat(url) {
    let last;
    for await (const message of readUIMessageStream({ stream: ai(url, writeTool()).toUIMessageStream() })) last = message;
    return last.parts.find((part) => part.type === "tool-write").input.content.length;
  },

  /** The whole run: the call is checked, journaled, run and answered, and the model asked again. */
  async argumentLodger() {
    await ws.run("Go");
    return written;
  },

  // ---------------------------------------------------------------- each wire

  async wireLoop(url, wire) {
    const { path, end, text: of } = HAND[wire];
    let text = "";
    await byHand(await fetch(url + path, { method: "POST", headers: { "content-type": "application/json" }, body: request("Go") }), end, (event) => { text += of(event); });
    return text.length;
  },

  /** Reads the bytes and looks at none of them. */
  async drain(url) {
    const reader = (await post(url, request("Go"))).body.getReader();
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes;
      bytes += value.length;
    }
  },

  /** What one writes by hand in twenty lines: no error handling, no retry, no history. */
  async loop(url) {
    let text = "";
    await byHand(await post(url, request("Go")), "\n\n", (event) => { text += HAND.anthropic.text(event); });
    return text.length;
  },

  /** The official SDK's stream helper, with a listener for the text. */
  async sdk(url) {
    let text = "";
    await client(url).messages.stream(JSON.parse(request("Go"))).on("text", (delta) => { text += delta; }).finalMessage();
    return text.length;
  },

  // ---------------------------------------------------------------- streams

  /** Lodger: journal in IndexedDB, events, history. `prepare` opens and starts, which is not measured. */
  async lodger() {
    let text = "";
    const listen = ({ detail }) => { text = text.slice(0, detail.offset) + detail.text; };
    ws.addEventListener("agent:message-chunk", listen);
    const result = await ws.run("Go");
    ws.removeEventListener("agent:message-chunk", listen);
    if (result.text !== text) throw new Error("the events do not add up to the text");
    return text.length;
  },

  /** The loop of tools, by Lodger. */
  async toolLoop() {
    const { turns } = await ws.run("Take all steps.");
    return turns;
  },

  /** The same loop with pi's provider stream: it keeps nothing and checks nothing. */
  async piLoop(url) {
    const tools = [{ name: "step", description: "Takes a step.", parameters: STEP }];
    const messages = [{ role: "user", content: "Take all steps.", timestamp: 0 }];
    for (let turns = 1; ; turns++) {
      let answer;
      for await (const event of piStream({ ...PI, baseUrl: url }, { messages, tools }, { apiKey: "sk-test" })) if (event.type === "done") answer = event.message;
      messages.push(answer);
      const calls = answer.content.filter(({ type }) => type === "toolCall");
      if (!calls.length) return turns;
      for (const { id, name, arguments: { number } } of calls) messages.push({ role: "toolResult", toolCallId: id, toolName: name, content: [{ type: "text", text: `Step ${number} is taken.` }], isError: false, timestamp: 0 });
    }
  },

  /** The same requests, bare. */
  async bareLoop(url) {
    for (const body of bodies) await (await post(url, body)).arrayBuffer();
    return bodies.length;
  },
};

let n = 0;
// A tool that only reads may begin before its order is stored; one that has effects must wait for it.
globalThis.prepare = async (baseUrl, readOnly = false, wire = "anthropic") => {
  await globalThis.ws?.close();
  globalThis.ws = await lodger.openWorkspace(`bench-${++n}`);
  ws.tools.register({ name: "step", description: "Takes a step.", readOnly, inputSchema: STEP, execute: ({ number }) => `Step ${number} is taken.` });
  ws.tools.register({ name: "write", description: "Writes.", inputSchema: WRITE, execute: ({ content }) => { globalThis.written = content.length; return "Written."; } });
  await ws.startAgent({ maxTurns: 1000, provider: { kind: KINDS[wire], model: "claude-sonnet-4-6", apiKey: "sk-test", baseUrl } });
};
globalThis.fetchBodies = async (server) => { globalThis.bodies = await (await fetch(`${server}/bodies`)).json(); };
globalThis.ready = true;
