// The same recorded streams read by the providers' own SDKs and by the package: text, thinking, tool calls, usage and
// stop reason must be equal. Where we differ on purpose, the list at the end of this file says in which streams and
// why. Every other difference is a failure, and so is an entry of the list that is none any more.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { ROOT } from "../lib/package.mjs";

const FIXTURES = process.env.LODGER_FIXTURES ?? path.join(ROOT, "..", "..", "shared", "fixtures", "streams");

export default function (test) {
  for (const wire of Object.keys(SDKS)) {
    test(`${wire}: recorded streams, beside the official SDK`, async (t) => {
      const index = path.join(FIXTURES, "INDEX.json");
      if (!fs.existsSync(index)) return t.note(`skipped: there are no recordings at ${FIXTURES}`);
      const streams = JSON.parse(fs.readFileSync(index, "utf8")).map(recording).filter((r) => r?.wire === wire);
      const { url, close } = await serve(streams);
      t.after(close);
      const ours = await inPage(await t.tab(), streams.map((_, i) => ({ kind: KINDS[wire], baseUrl: `${url}/${i}${wire === "anthropic" ? "" : "/v1"}`, apiKey: "sk-test", model: "m" })));
      const found = [];
      let equal = 0;
      for (const [i, { file }] of streams.entries()) {
        const theirs = await SDKS[wire](`${url}/${i}`).catch((error) => ({ failed: String(error.message).split("\n")[0] }));
        const differs = differences(ourReading(ours[i]), theirs);
        if (!differs.length) equal++;
        found.push(...differs.map((what) => [file, what]));
      }
      const known = ON_PURPOSE.flatMap(({ member, files }) => files.filter((file) => streams.some((s) => s.file === file)).map((file) => `${file}: ${member}`));
      t.note(`${equal} of ${streams.length} equal`);
      const told = found.filter(([file, what]) => !known.includes(`${file}: ${what.split(":")[0]}`)).map(([file, what]) => `${file}: ${what}`);
      assert.deepEqual(found.map(([file, what]) => `${file}: ${what.split(":")[0]}`).sort(), known.sort(), `ours | theirs\n${told.join("\n")}`);
    }, { hangMs: 180_000 });
  }
}

const KINDS = { anthropic: "anthropic", chat: "openai-compatible", responses: "openai-responses" };

/** A recorded stream of one of the three wires, or nothing. */
function recording({ file, status, content_type, url_path }) {
  if (status !== 200 || !content_type.startsWith("text/event-stream")) return undefined;
  const bytes = fs.readFileSync(path.join(FIXTURES, file));
  const at = url_path?.split(/[?#]/)[0];
  const head = bytes.toString("utf8", 0, 600);
  const is = (where, mark) => (at ? at.includes(where) : head.includes(mark));
  const wire = is("/messages", '"message_start"') ? "anthropic" : is("/chat/completions", '"chat.completion.chunk"') ? "chat" : is("/responses", '"object":"response"') ? "responses" : undefined;
  return wire && { file, wire, bytes: first(bytes, LAST[wire]) };
}

/** The first event after which nothing belongs to an answer. */
const LAST = { anthropic: /data: ?\{[^\n]*"type": ?"message_stop"[^\n]*\n\n/, chat: /data: ?\[DONE\]\n\n/, responses: /data: ?\{"type": ?"response\.(completed|incomplete|failed)"[^\n]*\n\n/ };

/** Some recordings are several answers in a row: the first. */
function first(bytes, last) {
  const text = bytes.toString("latin1");
  const found = last.exec(text);
  return found ? bytes.subarray(0, found.index + found[0].length) : bytes;
}

/** A server whose nth path answers with the nth stream, whatever it is asked. */
async function serve(streams) {
  const server = http.createServer(async (request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": request.headers["access-control-request-headers"] ?? "" };
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    for await (const chunk of request) void chunk;
    response.writeHead(200, { ...cors, "content-type": "text/event-stream" }).end(streams[request.url.split("/")[1]].bytes);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, close: async () => { server.closeAllConnections(); await new Promise((done) => server.close(done)); } };
}

// ------------------------------------------------------------------ our reading

/** What the journal has of one answer of each of these providers. */
async function inPage(page, providers) {
  return page.evaluate(async (providers) => {
    const read = async (provider, i) => {
      const name = `d${i}`;
      const ws = await lodger.openWorkspace(name, { pageTools: false, target: null });
      await ws.startAgent({ provider, maxTurns: 1 });
      const { result } = await ws.sendMessage("x");
      const { error } = await result;
      // A row of the journal is four lines of text: what it is, what it says, and two hashes.
      const rows = Object.values(await T.dump(name)).flat().map(([, row]) => row.text ?? row).filter((row) => typeof row === "string" && row.split("\n").length === 4);
      const answer = rows.map((row) => row.split("\n").slice(0, 2).map((line) => line && JSON.parse(line))).find(([head]) => head.kind === "answered" || head.kind === "failed");
      await ws.close();
      return answer ? { kind: answer[0].kind, ...answer[1] } : { kind: "nothing", rows: rows.length, error };
    };
    const all = [];
    for (let i = 0; i < providers.length; i += 8) all.push(...await Promise.all(providers.slice(i, i + 8).map((provider, n) => read(provider, i + n))));
    return all;
  }, providers);
}

/** The journal's answer as what is compared. */
function ourReading({ kind, blocks = [], stop, usage, error }) {
  if (kind !== "answered") return { failed: `${error?.code}: ${error?.message}` };
  const of = (type) => blocks.filter(([is]) => is === type);
  return {
    text: of("text").map(([, text]) => text), thinking: of("thinking").map(([, text, signature]) => [text, signature ?? null]).filter(([text]) => text),
    calls: of("tool_call").map(([, , name, json]) => [name, parse(json)]), usage, stop: typeof stop === "string" ? stop : "refusal",
  };
}

// ------------------------------------------------------------------ theirs

/** What each SDK makes of the answer at an address, as what is compared; `undefined`: it does not tell. */
const SDKS = {
  async anthropic(baseURL) {
    const client = new Anthropic({ apiKey: "sk-test", baseURL, maxRetries: 0 });
    const { content, usage, stop_reason } = await client.messages.stream({ model: "claude-sonnet-4-6", max_tokens: 10, messages: [{ role: "user", content: "x" }] }).finalMessage();
    const of = (type) => content.filter((block) => block.type === type);
    return {
      text: of("text").map((b) => b.text).filter(Boolean), thinking: of("thinking").map((b) => [b.thinking, b.signature || null]).filter(([text]) => text), calls: of("tool_use").map((b) => [b.name, b.input]),
      usage: [usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens_details?.thinking_tokens].map((n) => n ?? 0),
      stop: { pause_turn: "pause", model_context_window_exceeded: "context_window" }[stop_reason] ?? stop_reason,
    };
  },
  async chat(baseURL) {
    const client = new OpenAI({ apiKey: "sk-test", baseURL: `${baseURL}/v1`, maxRetries: 0 });
    const { choices: [{ message, finish_reason }], usage } = await client.chat.completions.stream({ model: "m", messages: [{ role: "user", content: "x" }] }).finalChatCompletion();
    return {
      text: [message.content].filter(Boolean), thinking: undefined, calls: (message.tool_calls ?? []).map((call) => [call.function.name, parse(call.function.arguments)]),
      usage: tokens(usage, "prompt", "completion"),
      stop: message.refusal ? "refusal" : { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" }[finish_reason] ?? finish_reason,
    };
  },
  async responses(baseURL) {
    const client = new OpenAI({ apiKey: "sk-test", baseURL: `${baseURL}/v1`, maxRetries: 0 });
    const { output, usage, incomplete_details } = await client.responses.stream({ model: "m", input: "x" }).finalResponse();
    const of = (type) => output.filter((item) => item.type === type);
    const texts = (list, type) => (list ?? []).filter((part) => part.type === type).map((part) => part.text);
    const calls = of("function_call").map((item) => [item.name, parse(item.arguments)]);
    const refused = incomplete_details?.reason === "content_filter" || of("message").some((item) => item.content.some((part) => part.type === "refusal"));
    return {
      // Several texts of one item are paragraphs of one.
      text: of("message").map((item) => texts(item.content, "output_text").join("\n\n")).filter(Boolean),
      thinking: of("reasoning").map((item) => texts(item.summary, "summary_text").join("\n\n") || texts(item.content, "reasoning_text").join("\n\n")).filter(Boolean).map((text) => [text, null]),
      calls, usage: tokens(usage, "input", "output"),
      stop: refused ? "refusal" : incomplete_details ? "max_tokens" : calls.length ? "tool_use" : "end_turn",
    };
  },
};

/** OpenAI's counts: what was read from the cache is part of what was read. */
function tokens(usage, input, output) {
  const read = usage?.[`${input}_tokens_details`];
  const [cached, written] = [read?.cached_tokens ?? 0, read?.cache_write_tokens ?? 0];
  return [(usage?.[`${input}_tokens`] ?? 0) - cached - written, usage?.[`${output}_tokens`] ?? 0, cached, written, usage?.[`${output}_tokens_details`]?.reasoning_tokens ?? 0];
}

function parse(text) { try { return JSON.parse(text || "{}"); } catch { return { none: text }; } }

/** In what two readings differ. */
function differences(ours, theirs) {
  if (ours.failed || theirs.failed) return ours.failed && theirs.failed ? [] : [`outcome: ${ours.failed ?? "an answer"} | ${theirs.failed ?? "an answer"}`];
  return Object.keys(theirs).filter((name) => theirs[name] !== undefined && JSON.stringify(ours[name]) !== JSON.stringify(theirs[name]))
    .map((name) => `${name}: ${JSON.stringify(ours[name])} | ${JSON.stringify(theirs[name])}`);
}

// ------------------------------------------------------------------ where we differ, and why

const ON_PURPOSE = [
  { member: "calls", why: "a call that the output limit has cut is none: nobody may run it, and no provider takes it back", files: [
    "openai-chat/rig-chat_tool_truncation_matrix-streaming_gpt41_mid_agent.sse", "openai-chat/rig-chat_tool_truncation_matrix-streaming_gpt41_mid_model.sse",
    "openai-chat/rig-chat_tool_truncation_matrix-streaming_gpt4o_low_agent.sse", "openai-chat/rig-chat_tool_truncation_matrix-streaming_gpt4o_mid_agent.sse",
    "openai-chat/rig-chat_tool_truncation_matrix-streaming_gpt4o_mid_model.sse", "openai-chat/rig-chat_terminal_metadata_matrix-streaming_gpt_4_1_mini_tiny_tool.sse"] },
  { member: "usage", why: "xAI's chat counts thinking beside the answer, and bills both: here it is part of the output, as everywhere", files: [
    "openai-chat/vercel-xai-text.sse", "openai-chat/vercel-xai-tool-call.sse", "xai/vercel-xai-text.sse", "xai/vercel-xai-tool-call.sse"] },
  { member: "text", why: "Mistral's thinking models send the content as a list of parts: the SDK writes [object Object]", files: ["mistral/pyd-test_mistral_model_thinking_part_iter.sse"] },
  { member: "text", why: "pieces and the whole contradict each other (a recording that somebody has shortened): what was shown stays", files: ["openai-responses/vercel-openai-shell-container.1.sse"] },
  { member: "outcome", why: "proxies repeat the beginning of a message under the same id: harmless, and the SDK fails", files: ["anthropic/vercel-duplicate-message-start.sse"] },
  { member: "outcome", why: "Mistral gives no role and no index with its calls: the SDK fails", files: ["mistral/vercel-mistral-incremental-tool-call.sse", "mistral/vercel-mistral-tool-call.sse"] },
  { member: "outcome", why: "ids that change with every event, events that nobody knows, and a beginning that is not the first event: the SDK fails", files: [
    "openai-responses/vercel-github-copilot-id-rotation.1.sse", "openai-responses/vercel-openai-apply-patch-tool.1.sse", "openai-responses/pyd-test_background_mode_streaming_starting_after_vcr.1.sse"] },
];
