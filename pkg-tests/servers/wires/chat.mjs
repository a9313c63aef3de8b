// OpenAI Chat Completions, and the servers that are shaped like it, each with its habits. The rules are those of the
// stricter ones: what one of them refuses and no other needs is refused for all.
import { azure, bearer, complaints, COST, data, isArguments, json, kind, NAME, next, object, parse, pieces, said, unknown } from "./words.mjs";

const COMMON = ["model", "messages", "tools", "tool_choice", "stream", "stream_options", "temperature", "top_p", "stop", "response_format", "parallel_tool_calls", "reasoning_effort"];

/**
 * A server of this shape. `limit`: the member for the output's length; `more`: the members that it knows besides;
 * `streamOptions`: whether it knows those; `system`: the system prompt's role; `ids`: what it takes as the id of a call;
 * `thinking`: the member of an answer in which its own thinking may come back, `"parts"` of the content, or none at all;
 * `needed`: an answer with calls must have that member; `bridge`: between results and the
 * person's next message the assistant must say something; `signs`: the first call of an answer has a signature, which must come back, and
 * what others have called needs what stands for one; `asked`: what it asks of a request besides its body.
 */
export function chat({ limit = "max_tokens", more = [], streamOptions = true, system = "system", ids, thinking, needed = false, bridge = false, signs = false, asked = bearer }) {
  const members = [...COMMON, limit, ...more].filter((name) => streamOptions || name !== "stream_options");
  const habits = { members, system, ids, thinking, needed, bridge, signs, asked };
  return {
    path: "/chat/completions",
    type: "text/event-stream",
    cors: { allow: ["authorization", "content-type", "openai-beta"], expose: ["retry-after", "x-request-id"] },
    asks: ["authorization", "content-type"],
    answer: (blocks, options) => answer(habits, blocks, options),
    usage: (cost) => ({ inputTokens: cost.input, outputTokens: cost.output, cacheReadTokens: cost.cached, reasoningTokens: cost.reasoning }),
    check: (record, sent) => check(record, sent, habits),
    replays: thinking ? ["thinking"] : [],
    refusal: (why) => JSON.stringify({ error: { message: why, type: "invalid_request_error", param: null, code: null } }),
    remember,
    breaks: { event: data({ error: { message: "upstream failed", type: "server_error", code: 502 } }), code: "server" },
    failures: FAILURES,
  };
}

const failure = (status, message, type, code) => [status, JSON.stringify({ error: { message, type, param: null, code } })];
export const FAILURES = {
  rate_limit: failure(429, "slow down", "requests", "rate_limit_exceeded"),
  quota: failure(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
  server: failure(500, "The server had an error", "server_error", null),
  overloaded: failure(529, "The engine is overloaded", "server_error", null),
  auth: failure(401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"),
  not_found: failure(404, "The model `x` does not exist", "invalid_request_error", "model_not_found"),
  context_length: failure(400, "This model's maximum context length is 1", "invalid_request_error", "context_length_exceeded"),
};

const KEY_HEADERS = { allow: ["api-key", "content-type"], expose: ["retry-after", "x-request-id"] };
/** What a wire has otherwise at Azure. */
export const AT_AZURE = {
  cors: KEY_HEADERS,
  asks: ["api-key", "content-type"],
  failures: {
    ...FAILURES,
    rate_limit: [429, JSON.stringify({ error: { code: "429", message: "Requests have exceeded the token rate limit." } })],
    auth: [401, JSON.stringify({ error: { code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint." } })],
    not_found: [404, JSON.stringify({ error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." } })],
    refused: [400, JSON.stringify({ error: { code: "content_filter", message: "The response was filtered", type: null, param: "prompt", status: 400, innererror: { code: "ResponsibleAIPolicyViolation" } } })],
  },
};

/**
 * The same at Azure, where each deployment has a path of its own; with a version that knows `reasoning_effort`. Its filter speaks in
 * chunks without a choice, or whose choice has no delta.
 */
export function azureChat(deployment, options) {
  const wire = chat({ ...options, asked: azure(`/openai/deployments/${deployment}/chat/completions`, /^2025-\d\d-\d\d-preview$/) });
  const nobody = (more) => data({ id: "", object: "", created: 0, model: "", choices: [], usage: null, ...more });
  const results = { violence: { filtered: false, severity: "safe" } };
  const note = nobody({ choices: [{ index: 0, finish_reason: null, content_filter_results: results, content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 9 } }] });
  return {
    ...wire,
    ...AT_AZURE,
    answer: (blocks, more) => {
      const events = wire.answer(blocks, more);
      return [nobody({ prompt_filter_results: [{ prompt_index: 0, content_filter_results: results }] }), ...events.slice(0, -1), note, ...events.slice(-1)];
    },
  };
}

// ------------------------------------------------------------------ what it sends

function answer({ thinking, signs }, blocks, { stop, cost = COST } = {}) {
  const id = `chatcmpl-${next()}`;
  const chunk = (delta, finish_reason = null) => data({ id, object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, logprobs: null, finish_reason }], usage: null });
  const think = (text) => (thinking === "parts" ? { content: [{ type: "thinking", thinking: [{ type: "text", text }] }] } : { reasoning_content: text });
  const events = [chunk({ role: "assistant", content: "" })];
  let calls = 0;
  for (const [is, block] of [].concat(blocks).map(kind)) {
    if (is === "thinking") events.push(...pieces(block.thinking).map((text) => chunk(think(text))));
    else if (is === "text") events.push(...pieces(block.text).map((content) => chunk({ content })));
    else {
      const index = calls++;
      const written = json(block.args);
      const call = (fn, first) => chunk({ tool_calls: [{ index, ...first, function: fn }] });
      const id = block.id ?? `call_${next()}`;
      events.push(call({ name: block.tool, arguments: "" }, { id, type: "function", ...(signs && index === 0 && { extra_content: signed(`signature of ${id}`) }) }));
      for (const piece of [written.slice(0, written.length >> 1), written.slice(written.length >> 1)]) if (piece) events.push(call({ arguments: piece }));
    }
  }
  events.push(chunk({}, stop === "length" ? "length" : calls ? "tool_calls" : "stop"));
  const prompt = cost.input + cost.cached;
  events.push(data({ id, object: "chat.completion.chunk", model: "m", choices: [], usage: { prompt_tokens: prompt, completion_tokens: cost.output, total_tokens: prompt + cost.output,
    prompt_tokens_details: { cached_tokens: cost.cached }, completion_tokens_details: { reasoning_tokens: cost.reasoning } } }), data("[DONE]"));
  return events;
}

const signed = (thought_signature) => ({ google: { thought_signature } });
/** What stands for the signature of a call that this server has not made. */
const UNSIGNED = "skip_thought_signature_validator";

/** Keeps the thinking of each answer as one text, and which call it has signed. */
function remember(piece, sent) {
  const { id, choices } = parse(piece.slice("data: ".length)) ?? {};
  const delta = choices?.[0]?.delta;
  for (const { id: call, extra_content } of delta?.tool_calls ?? []) if (extra_content) sent.push({ call, signature: extra_content.google.thought_signature });
  const thought = delta?.reasoning_content ?? (Array.isArray(delta?.content) ? delta.content[0].thinking?.[0].text : undefined);
  if (thought === undefined) return;
  if (sent.at(-1)?.id !== id) sent.push({ id, text: "" });
  sent.at(-1).text += thought;
}

// ------------------------------------------------------------------ what it takes

function check(record, sent, { members, system, ids, thinking, needed, bridge, signs, asked }) {
  const { json: body, text = "" } = record;
  const { bad, need } = complaints();
  asked(record, need);
  if (!need(object(body), `the body is no JSON object: ${text.slice(0, 80)}`)) return bad;
  for (const name of unknown(body, members)) bad.push(`Unrecognized request argument supplied: ${name}`);
  need(said(body.model), "model: is required");
  need(body.stream === true, "stream: must be true");
  checkTools(body.tools, need);
  if (!need(Array.isArray(body.messages) && body.messages.length, "messages: at least one is required")) return bad;

  const open = new Set();
  const seen = new Set();
  let begun = false;
  body.messages.forEach((message, i) => {
    const at = (why) => `messages.${i}: ${why}`;
    const { role, content } = message;
    const only = (...known) => { for (const name of unknown(message, ["role", "content", ...known])) bad.push(at(`Additional properties are not allowed: ${name}`)); };
    if (role !== "tool" && open.size) { bad.push(at(`an assistant message with 'tool_calls' must be followed by tool messages: ${[...open]}`)); open.clear(); }
    if (role === system) {
      only();
      need(i === 0 && said(content), at("a system message that is empty or not the first"));
      return;
    }
    if (role === "user") {
      only();
      need(said(content), at("empty"));
      if (bridge) need(body.messages[i - 1]?.role !== "tool", at("Unexpected role 'user' after role 'tool'"));
    }
    else if (role === "tool") {
      only("tool_call_id");
      need(open.delete(message.tool_call_id), at(`a result of ${message.tool_call_id}, which was not called or has one`));
      need(typeof content === "string" && content, at("an empty result"));
    } else if (role === "assistant") {
      only("tool_calls", ...(thinking && thinking !== "parts" ? [thinking] : []));
      need(begun, at("the first message is the assistant's"));
      const calls = message.tool_calls;
      need(calls === undefined || (Array.isArray(calls) && calls.length), at("tool_calls must not be empty"));
      checkContent(content, Boolean(calls?.length), thinking === "parts", sent, at, need);
      const thought = thinking && message[thinking];
      if (thought !== undefined) need(thought === "" || sent.some((s) => thought === s.text), at(`${thinking} that this server did not send: ${JSON.stringify(thought)}`));
      if (needed && calls) need(typeof thought === "string", at(`The ${thinking} in the thinking mode must be passed back to the API.`));
      for (const [n, call] of calls?.entries() ?? []) {
        for (const name of unknown(call, ["id", "type", "function", ...(signs ? ["extra_content"] : [])])) bad.push(at(`a call with ${name}`));
        const own = sent.find((one) => one.call === call.id)?.signature;
        const due = signs ? (own ?? (n === 0 ? UNSIGNED : undefined)) : undefined;
        need(call.extra_content?.google?.thought_signature === due, at(`Function call is missing a thought_signature, or has another than ${due}`));
        need(call.type === "function", at("a call that is no function"));
        need(ids.test(call.id ?? ""), at(`a call's id is not allowed: ${JSON.stringify(call.id)}`));
        need(!seen.has(call.id), at(`two calls with the id ${call.id}`));
        need(NAME.test(call.function?.name ?? ""), at(`a call's name is not allowed: ${JSON.stringify(call.function?.name)}`));
        need(isArguments(call.function?.arguments), at("arguments are no JSON object in a text"));
        seen.add(call.id);
        open.add(call.id);
      }
    } else bad.push(at(`unknown role ${role}`));
    begun = true;
  });
  need(!open.size, `no result of ${[...open]}`);
  need(begun, "nothing but a system message");
  need(["user", "tool"].includes(body.messages.at(-1).role), "the conversation ends with the assistant");
  return bad;
}

function checkContent(content, calls, parts, sent, at, need) {
  if (Array.isArray(content)) {
    need(parts, at("content must be a text"));
    for (const part of content) {
      const thought = part.thinking?.[0]?.text;
      if (part.type === "thinking") need(sent.some((s) => s.text === thought), at(`thinking that this server did not send: ${thought}`));
      else need(part.type === "text" && said(part.text), at("a part that is no text, or says nothing"));
    }
    return;
  }
  need(said(content) || (calls && content === null), at("an empty message of the assistant"));
}

function checkTools(tools, need) {
  if (tools === undefined) return;
  need(Array.isArray(tools) && tools.length, "tools: an empty list says nothing, leave it out");
  const names = new Set();
  for (const { type, function: fn } of tools) {
    need(type === "function" && object(fn), "tools: a tool that is no function");
    need(NAME.test(fn?.name ?? ""), `tools: bad name ${JSON.stringify(fn?.name)}`);
    need(!names.has(fn?.name), `tools: two called ${fn?.name}`);
    need(fn?.parameters?.type === "object", `tools: the parameters of ${fn?.name} must be of an object`);
    names.add(fn?.name);
  }
}
