// Google's Interactions with nothing stored. What the model has signed must come back as it was, a turn that calls needs a
// signature, and nobody else's is taken.
import { complaints, COST, json, kind, NAME, next, object, parse, pieces, said, unknown } from "./words.mjs";

export const gemini = {
  path: "/v1beta/interactions",
  type: "text/event-stream",
  cors: { allow: ["content-type", "x-goog-api-key", "x-goog-api-client"], expose: [] },
  asks: ["content-type", "x-goog-api-key"],
  answer,
  usage: (cost) => ({ inputTokens: cost.input, outputTokens: cost.output, cacheReadTokens: cost.cached, reasoningTokens: cost.reasoning }),
  check,
  replays: ["thinking", "seal"],
  refusal: (why) => failure(400, why, "INVALID_ARGUMENT")[1],
  /** Keeps each thought that is signed. */
  remember(piece, sent) {
    const { event_type: type, index, step, delta } = parse(/\ndata: (.*)\n\n$/.exec(piece)?.[1] ?? "") ?? {};
    if (type === "interaction.created") for (const thought of sent) thought.index = undefined;
    if (step?.type === "thought") sent.push({ index, text: "" });
    const thought = sent.findLast((own) => own.index === index);
    if (delta?.type === "thought_summary") thought.text += delta.content.text;
    if (delta?.type === "thought_signature" && thought) thought.signature = delta.signature;
  },
  breaks: { event: event("error", { error: { code: "INTERNAL", message: "upstream failed" } }), code: "server" },
  failures: {
    rate_limit: failure(429, "You exceeded your current quota, please check your plan.", "RESOURCE_EXHAUSTED"),
    quota: failure(429, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED"),
    server: failure(500, "An internal error has occurred.", "INTERNAL"),
    overloaded: failure(503, "The model is overloaded. Please try again later.", "UNAVAILABLE"),
    auth: failure(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"),
    not_found: failure(404, "models/x is not found for API version v1beta.", "NOT_FOUND"),
    context_length: failure(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "INVALID_ARGUMENT"),
  },
};

function failure(status, message, name) { return [status, JSON.stringify({ error: { code: status, message, status: name } })]; }

// ------------------------------------------------------------------ what it sends

function event(event_type, value) { return `event: ${event_type}\ndata: ${JSON.stringify({ ...value, event_type })}\n\n`; }

function answer(blocks, { stop, cost = COST } = {}) {
  const interaction = (status, more) => ({ interaction: { id: "", status, object: "interaction", model: "m", ...more } });
  const events = [event("interaction.created", interaction("in_progress")), event("interaction.status_update", { interaction_id: "", status: "in_progress" })];
  const all = [].concat(blocks).map(kind).flatMap(([is, block]) => (is === "searched" ? [[is, block], ["found", block], ["text", { text: block.says, found: block.found }]] : [[is, block]]));
  let search;
  all.forEach(([is, block], index) => {
    const begin = (step) => events.push(event("step.start", { index, step }));
    const add = (delta) => events.push(event("step.delta", { index, delta }));
    if (is === "thinking") {
      begin({ type: "thought" });
      for (const text of pieces(block.thinking)) add({ type: "thought_summary", content: { type: "text", text } });
      add({ type: "thought_signature", signature: block.seal ?? `c2ln${next()}` });
    } else if (is === "text") {
      begin({ type: "model_output" });
      for (const text of pieces(block.text)) add({ type: "text", text });
      if (block.found) add({ type: "text_annotation_delta", annotations: [{ type: "url_citation", url: block.found.url, title: block.found.title, start_index: 0, end_index: new TextEncoder().encode(block.text).length }] });
    } else if (is === "searched") {
      search = `gs${next()}`;
      begin({ type: "google_search_call", id: search, arguments: {} });
      add({ type: "google_search_call", id: search, arguments: { queries: [block.searched] } });
      add({ type: "thought_signature", signature: "c2VhcmNo" });
    } else if (is === "found") {
      begin({ type: "google_search_result", call_id: search, result: [{ search_suggestions: "<div>chips</div>" }], signature: "c2VhcmNo" });
    } else {
      const written = json(block.args) || "{}";
      begin({ id: block.id ?? `k${next()}`, signature: "", type: "function_call", name: block.tool, arguments: {} });
      for (const piece of [written.slice(0, 3), written.slice(3)]) if (piece) add({ type: "arguments_delta", arguments: piece });
    }
    events.push(event("step.stop", { index }));
  });
  const called = all.some(([is]) => is === "tool");
  const usage = { total_tokens: cost.input + cost.cached + cost.output, total_input_tokens: cost.input + cost.cached, total_cached_tokens: cost.cached, total_output_tokens: cost.output - cost.reasoning, total_tool_use_tokens: 0, total_thought_tokens: cost.reasoning };
  events.push(event("interaction.completed", interaction(stop === "length" ? "incomplete" : called ? "requires_action" : "completed", { usage })));
  return [...events, "event: done\ndata: [DONE]\n\n"];
}

// ------------------------------------------------------------------ what it takes

const MEMBERS = ["model", "input", "stream", "store", "system_instruction", "tools", "generation_config", "response_format"];
const CONFIG = ["max_output_tokens", "temperature", "thinking_level", "thinking_summaries", "tool_choice"];
/** What Google's documents give for a thought that it has not signed. */
const UNSIGNED = "skip_thought_signature_validator";

function check({ headers = {}, json: body, text = "" }, sent) {
  const { bad, need } = complaints();
  need(/^application\/json\b/.test(headers["content-type"] ?? ""), "header content-type must be application/json");
  need(said(headers["x-goog-api-key"]), "header x-goog-api-key must be a key");
  for (const name of Object.keys(headers)) need(!/^(x-api-key|anthropic-|authorization)/.test(name), `header ${name} is another provider's`);
  if (!need(object(body), `the body is no JSON object: ${text.slice(0, 80)}`)) return bad;
  for (const name of unknown(body, MEMBERS)) bad.push(`Unknown parameter '${name}'.`);
  need(said(body.model), "model is required");
  need(body.stream === true, "stream must be true");
  need(body.store === false, "store: something would be kept");
  need(body.system_instruction === undefined || said(body.system_instruction), "system_instruction says nothing");
  for (const name of unknown(body.generation_config ?? {}, CONFIG)) bad.push(`generation_config: Unknown parameter '${name}'.`);
  need(["minimal", "low", "medium", "high", undefined].includes(body.generation_config?.thinking_level), "generation_config: no such thinking_level");
  const names = new Set();
  need(body.tools === undefined || (Array.isArray(body.tools) && body.tools.length), "tools: an empty list says nothing, leave it out");
  for (const tool of body.tools ?? []) {
    if (["google_search", "url_context", "code_execution"].includes(tool.type)) {
      need(Object.keys(tool).length === 1, `tools: ${tool.type} takes nothing here`);
      continue;
    }
    need(tool.type === "function" && !unknown(tool, ["type", "name", "description", "parameters"]).length, "tools: flat, and functions");
    need(NAME.test(tool.name ?? "") && !names.has(tool.name), `tools: bad name, or two of it: ${tool.name}`);
    need(tool.parameters?.type === "object", `tools: the parameters of ${tool.name} must be of an object`);
    names.add(tool.name);
  }
  need(body.response_format === undefined || !names.size, "response_format: function calling with a response format is unsupported");
  if (need(Array.isArray(body.input) && body.input.length, "input: at least one step is required")) checkInput(body.input, sent, need);
  return bad;
}

const STEPS = { user_input: ["content"], model_output: ["content"], thought: ["signature", "summary"], function_call: ["id", "name", "arguments", "signature"], function_result: ["call_id", "name", "result", "is_error"], google_search_call: ["id", "arguments", "signature"], google_search_result: ["call_id", "result", "signature"] };

function checkInput(steps, sent, need) {
  const open = new Map(); // the id of each call without a result, and its tool
  const seen = new Set();
  let turn = []; // what the model has said since somebody else has said something
  const ends = (at) => {
    need(!turn.length || turn.some(({ type }) => type !== "thought"), at("thinking that led to nothing"));
    need(turn.some(({ signature }) => signature) || !turn.some(({ type }) => type === "function_call"), at("Function call is missing a thought_signature."));
    turn = [];
  };
  steps.forEach((step, i) => {
    const at = (why) => `input.${i}: ${why}`;
    const { type } = step;
    const known = STEPS[type];
    if (!need(known, at(`unknown type ${type}`))) return;
    for (const name of unknown(step, ["type", ...known])) need(false, at(`Unknown parameter '${name}'`));
    if (type === "user_input" || type === "function_result") ends(at);
    else {
      need(i > 0, at("the first step is the model's"));
      need(turn.length || !open.size, at(`no result of ${[...open.keys()]}`));
      turn.push(step);
    }
    if (type === "user_input" || type === "model_output") {
      if (type === "user_input") need(!open.size, at(`no result of ${[...open.keys()]}`));
      need(Array.isArray(step.content) && step.content.length, at("an empty step"));
      for (const part of step.content ?? []) {
        need(part.type === "text" && said(part.text), at(`${part.type} in a ${type}, or an empty text`));
        for (const name of unknown(part, ["type", "text", "annotations"])) need(false, at(`a part with ${name}`));
      }
    } else if (type === "thought") {
      const text = step.summary?.[0]?.text ?? "";
      need(step.signature === UNSIGNED ? !step.summary : sent.some((own) => own.signature === step.signature && own.text === text), at("Corrupted thought signature."));
      need(step.summary === undefined || said(text), at("a summary that says nothing"));
    } else if (type === "google_search_call" || type === "google_search_result") {
      need(step.signature === "c2VhcmNo", at("Corrupted signature of a search."));
    } else if (type === "function_call") {
      need(NAME.test(step.id ?? "") && !seen.has(step.id), at(`a call's id is not allowed, or there twice: ${JSON.stringify(step.id)}`));
      need(NAME.test(step.name ?? ""), at(`a call's name is not allowed: ${JSON.stringify(step.name)}`));
      need(object(step.arguments), at("arguments must be an object"));
      seen.add(step.id);
      open.set(step.id, step.name);
    } else {
      need(open.has(step.call_id), at(`a result of ${step.call_id}, which was not called or has one`));
      need(open.get(step.call_id) === step.name, at(`a result that names ${step.name}`));
      open.delete(step.call_id);
      need(said(step.result), at("an empty result"));
    }
  });
  ends((why) => why);
  need(!open.size, `no result of ${[...open.keys()]}`);
  need(["user_input", "function_result"].includes(steps.at(-1).type), "the conversation ends with the model");
}
