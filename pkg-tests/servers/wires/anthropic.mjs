// Anthropic Messages: the writer of its streams is `sse.mjs`, its rules are `anthropic-rules.mjs`.
import { check } from "../anthropic-rules.mjs";
import { errorBody, event, message } from "../sse.mjs";
import { COST, kind, next, parse } from "./words.mjs";

export const anthropic = {
  path: "/v1/messages",
  type: "text/event-stream; charset=utf-8",
  // The list is closed here: what its browsers' clients are known to send.
  cors: { allow: ["content-type", "x-api-key", "authorization", "anthropic-version", "anthropic-beta", "anthropic-dangerous-direct-browser-access"], expose: ["retry-after", "request-id"] },
  asks: ["anthropic-dangerous-direct-browser-access", "anthropic-version", "content-type", "x-api-key"],

  answer(blocks, { stop, cost = COST } = {}) {
    let searches = 0;
    const written = [].concat(blocks).flatMap((block) => {
      const [is, it] = kind(block);
      if (is === "searched") {
        searches++;
        return searched(it);
      }
      return is === "thinking" ? { thinking: it.thinking, signature: it.seal ?? "c2ln" } : is === "tool" ? { ...it, id: it.id ?? undefined } : it;
    });
    const usage = { input_tokens: cost.input, cache_creation_input_tokens: 0, cache_read_input_tokens: cost.cached, output_tokens: cost.output, ...(searches && { server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 } }) };
    return message(written, { stop: stop === "length" ? "max_tokens" : undefined, usage: { ...usage, output_tokens_details: { thinking_tokens: cost.reasoning } } });
  },
  usage: (cost) => ({ inputTokens: cost.input, outputTokens: cost.output, cacheReadTokens: cost.cached, reasoningTokens: cost.reasoning }),

  check: (record, sent) => check(record, { sent }),
  replays: ["thinking", "seal"],
  refusal: (why) => errorBody("invalid_request_error", why),

  /** Keeps each thinking block that was sent: it must come back as it was, or not at all. */
  remember(piece, sent) {
    for (const line of piece.split("\n")) {
      const said = line.startsWith("data: ") ? parse(line.slice(6)) : undefined;
      const begun = said?.type === "content_block_start" ? said.content_block : undefined;
      if (begun?.type === "redacted_thinking") sent.push({ ...begun });
      if (begun?.type === "thinking") sent.push({ ...begun, index: said.index });
      const last = sent.at(-1);
      if (said?.delta?.type === "thinking_delta" && last) last.thinking += said.delta.thinking;
      if (said?.delta?.type === "signature_delta" && last) last.signature = said.delta.signature;
    }
  },

  breaks: { event: event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }), code: "overloaded" },
  failures: {
    rate_limit: [429, errorBody("rate_limit_error", "slow down")],
    quota: [429, JSON.stringify({ type: "error", error: { type: "rate_limit_error", message: "spend limit", details: { error_code: "enforced_spend_limit_reached" } } })],
    server: [500, errorBody("api_error", "Internal server error")],
    overloaded: [529, errorBody("overloaded_error", "Overloaded")],
    auth: [401, errorBody("authentication_error", "invalid x-api-key")],
    not_found: [404, errorBody("not_found_error", "model: claude-0")],
    context_length: [400, errorBody("invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum")],
  },
};

/** A search that the server has made itself, and what is said of it. */
function searched({ searched, found: { url, title, cited }, says }) {
  const id = `srvtoolu_${next()}`;
  return [
    { raw: { type: "server_tool_use", id, name: "web_search", input: { query: searched } } },
    { raw: { type: "web_search_tool_result", tool_use_id: id, content: [{ type: "web_search_result", url, title, encrypted_content: "c2VhbGVk", page_age: null }] } },
    { raw: { type: "text", text: says, citations: [{ type: "web_search_result_location", url, title, encrypted_index: "c2VhbGVk", cited_text: cited }] } },
  ];
}
