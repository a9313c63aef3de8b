// The model server of the benchmark: prepared bodies, nothing else, so that all contenders read the same bytes.
//
//   POST /stream/<deltas>/v1/messages   one answer of that many text deltas
//   POST /marked/<deltas>/v1/messages   the same behind a search that the provider has run
//   POST /wire/<wire>/<deltas>/…        the same on each wire, below the base URL that its SDK takes
//   POST /argument/<KB>/v1/messages     one tool call whose arguments come in pieces of eight characters; then a word
//   POST /loop/<turns>/v1/messages      asks for the tool `step` again and again, by what the request already holds
//   POST /loop/<turns>/<tool>/v1/…      the same for another tool
//   GET  /bodies                        the request bodies of the loop since the last time this was asked
import http from "node:http";
import { event, message } from "../servers/sse.mjs";

const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "*", "access-control-max-age": "7200" };
const WORDS = ["the ", "river ", "of ", "words ", "runs ", "on ", "and ", "never ", "looks ", "back "];

/** What a provider has looked up for an answer. */
const SEARCH = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "rivers" } },
  { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://river.example/", title: "Rivers", encrypted_content: "c2VhbGVk" }] },
];

/** One answer with this many deltas of one word each, as bytes; `before`: the blocks before its text. */
function streamOf(deltas, before = []) {
  const index = before.length;
  const [start, blockStart, blockStop, ...rest] = message([{ text: "", pieces: [] }]).map((text) => text.replace('"index":0', `"index":${index}`));
  const blocks = before.flatMap((content_block, index) => [event({ type: "content_block_start", index, content_block }), event({ type: "content_block_stop", index })]);
  const pieces = Array.from({ length: deltas }, (_, i) => event({ type: "content_block_delta", index, delta: { type: "text_delta", text: WORDS[i % WORDS.length] } }));
  return Buffer.from([start, ...blocks, blockStart, ...pieces, blockStop, ...rest].join(""));
}
const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta, finish_reason = null) => ({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1763800000, model: "m", choices: [{ index: 0, delta, finish_reason }] });
const typed = (type, sequence_number, rest) => `event: ${type}\n${data({ type, sequence_number, ...rest })}`;
const line = (content, rest) => `${JSON.stringify({ model: "m", created_at: "2026-11-22T10:00:00.000000Z", message: { role: "assistant", content }, done: false, ...rest })}\n`;

/** The same answer on each wire, as its server writes it. */
const WIRES = {
  anthropic: (words) => streamOf(words.length),
  "openai-chat": (words) => [data(chunk({ role: "assistant", content: "" })), ...words.map((content) => data(chunk({ content }))), data(chunk({}, "stop")), "data: [DONE]\n\n"].join(""),
  "openai-responses": (words) => {
    const item = { id: "msg_1", type: "message", role: "assistant" };
    const content = [{ type: "output_text", text: words.join(""), annotations: [] }];
    const place = { item_id: item.id, output_index: 0, content_index: 0 };
    return [typed("response.created", 0, { response: { id: "resp_1", model: "m", status: "in_progress" } }), typed("response.output_item.added", 1, { output_index: 0, item: { ...item, status: "in_progress", content: [] } }),
      ...words.map((delta, i) => typed("response.output_text.delta", i + 2, { ...place, delta, logprobs: [], obfuscation: "aB3x9Qw" })),
      typed("response.output_item.done", words.length + 2, { output_index: 0, item: { ...item, status: "completed", content } }),
      typed("response.completed", words.length + 3, { response: { id: "resp_1", model: "m", status: "completed", output: [{ ...item, status: "completed", content }], usage: { input_tokens: 1, output_tokens: 1 } } })].join("");
  },
  ollama: (words) => [...words.map((word) => line(word)), line("", { done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 1 })].join(""),
};
export const WIRE_NAMES = Object.keys(WIRES);

/** So many KB of a page, as the arguments of `write`. */
export const contentOf = (kilobytes) => "All the \"words\" of a page.\n".repeat(Math.ceil((kilobytes * 1024) / 28)).slice(0, kilobytes * 1024 - 14);
function argumentOf(kilobytes) {
  const json = JSON.stringify({ content: contentOf(kilobytes) });
  const events = message({ tool: "write", args: {}, id: "toolu_1" });
  const at = events.findIndex((text) => text.includes("input_json_delta"));
  const pieces = json.match(/[^]{1,8}/g).map((partial_json) => event({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } }));
  events.splice(at, 3, ...pieces);
  return Buffer.from(events.join(""));
}

/** The text of that answer. */
export const textOf = (deltas) => Array.from({ length: deltas }, (_, i) => WORDS[i % WORDS.length]).join("");

export async function benchServer() {
  const streams = new Map();
  let bodies = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    const [, kind, n, count] = request.url.split("/");
    const send = (body, type = "text/event-stream") => response.writeHead(200, { ...CORS, "content-type": type }).end(body);
    if (kind === "stream") {
      if (!streams.has(n)) streams.set(n, streamOf(Number(n)));
      return send(streams.get(n));
    }
    if (kind === "marked") {
      if (!streams.has(`marked/${n}`)) streams.set(`marked/${n}`, streamOf(Number(n), SEARCH));
      return send(streams.get(`marked/${n}`));
    }
    if (kind === "wire") {
      const key = `${n}/${count}`;
      if (!streams.has(key)) streams.set(key, Buffer.from(WIRES[n](Array.from({ length: Number(count) }, (_, i) => WORDS[i % WORDS.length]))));
      return send(streams.get(key), n === "ollama" ? "application/x-ndjson" : undefined);
    }
    if (kind === "argument") {
      const key = `argument/${n}`;
      if (!streams.has(key)) streams.set(key, argumentOf(Number(n)));
      return send(Buffer.concat(chunks).includes('"type":"tool_result"') ? message("Done.").join("") : streams.get(key));
    }
    if (kind === "loop") {
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      const done = body.split('"type":"tool_result"').length - 1;
      return send(message(done < Number(n) ? [`Step ${done + 1}.`, { tool: count === "v1" ? "step" : count, args: count === "v1" ? { number: done + 1 } : {}, id: `toolu_${done}` }] : "All steps are done.").join(""));
    }
    if (kind === "bodies") {
      const all = bodies;
      bodies = [];
      return send(JSON.stringify(all), "application/json");
    }
    response.writeHead(404, CORS).end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, async close() { server.closeAllConnections(); await new Promise((done) => server.close(done)); } };
}
