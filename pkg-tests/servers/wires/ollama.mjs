// Ollama's own API: lines of JSON, arguments as objects, results that name their tool. Its server reads over what it
// does not know and takes away of a conversation what does not fit, so the rules refuse both.
import { complaints, COST, kind, NAME, object, parse, pieces, said, unknown } from "./words.mjs";

export const ollama = {
  path: "/api/chat",
  type: "application/x-ndjson",
  // Closed, whatever the origin; no header of an answer can be seen. As its server has them, `x-stainless-*` in part.
  cors: { allow: ["Authorization", "Content-Type", "User-Agent", "Accept", "X-Requested-With", "OpenAI-Beta", "x-stainless-arch", "x-stainless-async", "x-stainless-lang", "x-stainless-os",
    "x-stainless-package-version", "x-stainless-runtime", "x-stainless-runtime-version", "x-stainless-timeout"], expose: [] },
  asks: ["content-type"],
  answer,
  // One number for what was read, one for what was written.
  usage: (cost) => ({ inputTokens: cost.input + cost.cached, outputTokens: cost.output }),
  check,
  replays: ["thinking"],
  refusal: (why) => JSON.stringify({ error: why }),
  /** Keeps the thinking of each answer as one text. */
  remember(piece, sent) {
    const { message, done } = parse(piece) ?? {};
    const last = sent.at(-1);
    if (message?.thinking && last && !last.done) last.text += message.thinking;
    else if (message?.thinking) sent.push({ text: message.thinking, done: false });
    if (done && last) last.done = true;
  },
  breaks: { event: '{"error":"an error was encountered while running the model"}\n', code: "server" },
  failures: {
    rate_limit: [429, '{"error":"too many requests"}'],
    server: [500, '{"error":"model runner has unexpectedly stopped"}'],
    overloaded: [529, '{"error":"server busy, please try again.  maximum pending requests exceeded"}'],
    auth: [401, '{"error":"unauthorized"}'],
    not_found: [404, '{"error":"model \'m\' not found"}'],
    context_length: [400, '{"error":"the input length exceeds the context length"}'],
  },
};

function answer(blocks, { stop, cost = COST } = {}) {
  const line = (message, more) => `${JSON.stringify({ model: "m", created_at: "2026-11-20T19:58:15.003562Z", message: { role: "assistant", content: "", ...message }, done: false, ...more })}\n`;
  const lines = [].concat(blocks).map(kind).flatMap(([is, block]) => {
    if (is === "thinking") return pieces(block.thinking).map((thinking) => line({ thinking }));
    if (is === "text") return pieces(block.text).map((content) => line({ content }));
    // Servers of old days give no id.
    return [line({ tool_calls: [{ ...(block.id && { id: block.id }), function: { name: block.tool, arguments: block.args ?? {} } }] })];
  });
  lines.push(line({}, { done: true, done_reason: stop === "length" ? "length" : "stop", total_duration: 182242375, prompt_eval_count: cost.input + cost.cached, eval_count: cost.output }));
  return lines;
}

const MEMBERS = ["model", "messages", "tools", "stream", "truncate", "shift", "think", "options", "format", "keep_alive"];

function check({ headers = {}, json: body, text = "" }, sent) {
  const { bad, need } = complaints();
  need(/^application\/json\b/.test(headers["content-type"] ?? ""), "header content-type must be application/json");
  for (const name of Object.keys(headers)) need(!/^(x-api-key|anthropic-)/.test(name), `header ${name} is another provider's`);
  if (!need(object(body), `the body is no JSON object: ${text.slice(0, 80)}`)) return bad;
  for (const name of unknown(body, MEMBERS)) bad.push(`nobody reads the member ${name}`);
  need(said(body.model), "model is required");
  need(body.stream !== false, "an answer that does not stream");
  need(body.truncate === false && body.shift === false, "the server may take away messages and say nothing");
  need(body.think === undefined || typeof body.think === "boolean" || ["low", "medium", "high", "max"].includes(body.think), `invalid think value: ${body.think}`);
  need(Number.isInteger(body.options?.num_ctx) && body.options.num_ctx >= 4, "options.num_ctx: the server would take its smallest");
  const names = new Set();
  need(body.tools === undefined || (Array.isArray(body.tools) && body.tools.length), "tools: an empty list says nothing, leave it out");
  for (const { type, function: fn } of body.tools ?? []) {
    need(type === "function" && object(fn) && !unknown(fn, ["name", "description", "parameters"]).length, "tools: no function, or with members that nobody reads");
    need(NAME.test(fn?.name ?? "") && !names.has(fn.name), `tools: bad name, or two of it: ${fn?.name}`);
    need(fn?.parameters?.type === "object", `tools: the parameters of ${fn?.name} must be of an object`);
    names.add(fn?.name);
  }
  if (!need(Array.isArray(body.messages) && body.messages.length, "messages: at least one is required")) return bad;

  const open = new Map(); // the id of each call without a result, and its tool
  const seen = new Set();
  let begun = false;
  body.messages.forEach((message, i) => {
    const at = (why) => `messages.${i}: ${why}`;
    const { role, content } = message;
    const only = (...known) => { for (const name of unknown(message, ["role", "content", ...known])) bad.push(at(`nobody reads the member ${name}`)); };
    if (role !== "tool" && open.size) { bad.push(at(`no result of ${[...open.keys()]}`)); open.clear(); }
    if (!need(typeof content === "string", at("content must be a text"))) return;
    if (role === "system") {
      only();
      need(i === 0 && said(content), at("a system message that is empty or not the first"));
      return;
    }
    if (role === "user") { only("images"); need(said(content), at("empty")); }
    else if (role === "tool") {
      only("tool_name", "tool_call_id");
      need(open.has(message.tool_call_id), at(`a result of ${message.tool_call_id}, which was not called or has one`));
      need(open.get(message.tool_call_id) === message.tool_name, at(`a result that names ${message.tool_name}`));
      open.delete(message.tool_call_id);
      need(content, at("an empty result"));
    } else if (role === "assistant") {
      only("thinking", "tool_calls");
      need(begun, at("the first message is the assistant's"));
      const { thinking, tool_calls: calls } = message;
      if (thinking !== undefined) need(sent.some((own) => own.text === thinking), at(`thinking that this server did not send: ${thinking}`));
      need(calls === undefined || (Array.isArray(calls) && calls.length), at("tool_calls must not be empty"));
      need(said(content) || (content === "" && calls), at("an empty message of the assistant"));
      for (const call of calls ?? []) {
        need(!unknown(call, ["id", "type", "function"]).length && !unknown(call.function ?? {}, ["index", "name", "arguments"]).length, at("a call with members that nobody reads"));
        need(said(call.id) && !seen.has(call.id), at(`a call without an id, or two with ${call.id}`));
        need(NAME.test(call.function?.name ?? ""), at(`a call of ${JSON.stringify(call.function?.name)}`));
        need(object(call.function?.arguments), at("arguments must be an object"));
        seen.add(call.id);
        open.set(call.id, call.function?.name);
      }
    } else bad.push(at(`unknown role ${role}`));
    begun = true;
  });
  need(!open.size, `no result of ${[...open.keys()]}`);
  need(begun, "nothing but a system message");
  need(["user", "tool"].includes(body.messages.at(-1).role), "the conversation ends with the assistant");
  return bad;
}
