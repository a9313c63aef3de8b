// OpenAI Responses with nothing stored, and xAI's. What the model has sealed must come back as it was, before what it led
// to, and to nobody else.
import { AT_AZURE, FAILURES } from "./chat.mjs";
import { azure, bearer, complaints, COST, isArguments, json, kind, NAME, next, object, parse, pieces, said, unknown } from "./words.mjs";

const MEMBERS = ["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "store", "include", "max_output_tokens", "temperature", "top_p", "reasoning", "text", "metadata", "service_tier"];

export const responses = {
  path: "/responses",
  type: "text/event-stream; charset=utf-8",
  cors: { allow: ["authorization", "content-type", "openai-beta"], expose: ["retry-after", "x-request-id"] },
  asks: ["authorization", "content-type"],
  answer,
  usage: (cost) => ({ inputTokens: cost.input, outputTokens: cost.output, cacheReadTokens: cost.cached, reasoningTokens: cost.reasoning }),
  check: (record, sent) => check(record, sent, bearer),
  replays: ["thinking", "seal"],
  refusal: (why) => JSON.stringify({ error: { message: why, type: "invalid_request_error", param: null, code: null } }),
  /** Keeps each sealed thought. */
  remember(piece, sent) {
    const { type, item } = parse(/\ndata: (.*)\n\n$/.exec(piece)?.[1] ?? "") ?? {};
    if (type === "response.output_item.done" && item.type === "reasoning") sent.push(item);
  },
  // On the wire the error is an object of its own, whatever the SDK's types say.
  breaks: { event: event("error", 9, { error: { type: "server_error", code: "server_error", message: "upstream failed", param: null } }), code: "server" },
  failures: FAILURES,
};

/** xAI's: the same wire, failures of another form. */
export const xai = {
  ...responses,
  failures: {
    ...FAILURES,
    rate_limit: [429, JSON.stringify({ code: "Some resource has been exhausted", error: "slow down" })],
    auth: [400, JSON.stringify({ code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***st." })],
    server: [500, JSON.stringify({ error: "Internal error" })],
  },
};

/** The same at Azure. */
export const azureResponses = { ...responses, ...AT_AZURE, check: (record, sent) => check(record, sent, azure("/openai/v1/responses", /^(v1|preview)$/)) };

// ------------------------------------------------------------------ what it sends

function event(type, sequence_number, value) { return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...value })}\n\n`; }

function answer(blocks, { stop, cost = COST } = {}) {
  const events = [];
  const output = [];
  const send = (type, value) => events.push(event(type, events.length, value));
  const head = { id: `resp_${next()}`, object: "response", model: "m", output: [], error: null, incomplete_details: null, usage: null };
  send("response.created", { response: { ...head, status: "in_progress" } });
  send("response.in_progress", { response: { ...head, status: "in_progress" } });
  const all = [].concat(blocks).map(kind).flatMap(([is, block]) => (is === "searched" ? [[is, block], ["text", { text: block.says, found: block.found }]] : [[is, block]]));
  for (const [is, block] of all) {
    const output_index = output.length;
    const add = (item) => send("response.output_item.added", { output_index, item });
    // A text: its part begins, its pieces, and all of it twice.
    const say = (part, type, text, place, as) => {
      const at = { output_index, item_id: id, [place]: 0 };
      send(`response.${part}.added`, { ...at, part: { ...as, text: "" } });
      for (const piece of pieces(text)) send(`response.${type}.delta`, { ...at, delta: piece, obfuscation: "x" });
      send(`response.${type}.done`, { ...at, text });
      send(`response.${part}.done`, { ...at, part: as });
    };
    const id = `${{ thinking: "rs", text: "msg", tool: "fc", searched: "ws" }[is]}_${next()}`;
    let whole;
    if (is === "thinking") {
      // xAI and OpenAI both: sealed at first as far as it goes, whole at the end.
      whole = { id, type: "reasoning", encrypted_content: block.seal ?? `gAAA${next()}`, summary: [{ type: "summary_text", text: block.thinking }] };
      add({ ...whole, encrypted_content: "gAAAunfinished", summary: [] });
      say("reasoning_summary_part", "reasoning_summary_text", block.thinking, "summary_index", whole.summary[0]);
    } else if (is === "text") {
      const { url, title } = block.found ?? {};
      const annotations = url ? [{ type: "url_citation", url, title, start_index: 0, end_index: block.text.length }] : [];
      whole = { id, type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: block.text, annotations, logprobs: [] }] };
      add({ ...whole, status: "in_progress", content: [] });
      say("content_part", "output_text", block.text, "content_index", whole.content[0]);
    } else if (is === "searched") {
      whole = { id, type: "web_search_call", status: "completed", action: { type: "search", query: block.searched, queries: [block.searched] } };
      add({ id, type: "web_search_call", status: "in_progress" });
      send("response.web_search_call.searching", { output_index, item_id: id });
    } else {
      const written = json(block.args) || "{}";
      whole = { id, type: "function_call", status: "completed", call_id: block.id ?? `call_${next()}`, name: block.tool, arguments: written };
      add({ ...whole, status: "in_progress", arguments: "" });
      for (const piece of [written.slice(0, 3), written.slice(3)]) if (piece) send("response.function_call_arguments.delta", { output_index, item_id: id, delta: piece });
      send("response.function_call_arguments.done", { output_index, item_id: id, arguments: written });
    }
    send("response.output_item.done", { output_index, item: whole });
    output.push(whole);
  }
  const input = cost.input + cost.cached;
  const usage = { input_tokens: input, input_tokens_details: { cached_tokens: cost.cached }, output_tokens: cost.output, output_tokens_details: { reasoning_tokens: cost.reasoning }, total_tokens: input + cost.output };
  const cut = stop === "length";
  send(cut ? "response.incomplete" : "response.completed", { response: { ...head, status: cut ? "incomplete" : "completed", output, incomplete_details: cut ? { reason: "max_output_tokens" } : null, usage } });
  return events;
}

// ------------------------------------------------------------------ what it takes

function check(record, sent, asked) {
  const { json: body, text = "" } = record;
  const { bad, need } = complaints();
  asked(record, need);
  if (!need(object(body), `the body is no JSON object: ${text.slice(0, 80)}`)) return bad;
  for (const name of unknown(body, MEMBERS)) bad.push(`Unknown parameter: '${name}'.`);
  need(said(body.model), "model: is required");
  need(body.stream === true, "stream: must be true");
  need(body.store === false, "store: something would be kept");
  need(body.instructions === undefined || said(body.instructions), "instructions that say nothing");
  const names = new Set();
  need(body.tools === undefined || (Array.isArray(body.tools) && body.tools.length), "tools: an empty list says nothing, leave it out");
  for (const tool of body.tools ?? []) {
    if (tool.type === "web_search") continue;
    if (tool.type === "code_interpreter") {
      need(tool.container?.type === "auto", "Missing required parameter: 'tools[0].container'.");
      continue;
    }
    need(tool.type === "function" && !("function" in tool), "tools: flat, and functions");
    // Left out it means that every argument must be there, and a schema that does not say so is refused.
    need(tool.strict === false, `tools: the schema of ${tool.name} is none of a strict tool`);
    need(NAME.test(tool.name ?? ""), `tools: bad name ${JSON.stringify(tool.name)}`);
    need(!names.has(tool.name), `tools: two called ${tool.name}`);
    need(tool.parameters?.type === "object", `tools: the parameters of ${tool.name} must be of an object`);
    names.add(tool.name);
  }
  if (need(Array.isArray(body.input) && body.input.length, "input: at least one item is required")) checkInput(body.input, sent, need);
  return bad;
}

const ITEMS = { message: ["role", "content"], function_call: ["call_id", "name", "arguments"], function_call_output: ["call_id", "output"], reasoning: ["summary", "encrypted_content"], web_search_call: ["id", "status", "action"] };

function checkInput(items, sent, need) {
  const open = new Set();
  const seen = new Set();
  let answering = false; // the results of a turn have begun: all of them come now
  let thought = false;
  items.forEach((item, i) => {
    const at = (why) => `input.${i}: ${why}`;
    const known = ITEMS[item.type];
    if (!need(known, at(`unknown type ${item.type}`))) return;
    for (const name of unknown(item, ["type", ...known])) need(false, at(name === "id" ? `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.` : `Unknown parameter: '${name}'`));
    const model = item.type === "message" ? item.role === "assistant" : item.type !== "function_call_output";
    need(model || !thought, at("Item of type 'reasoning' was provided without its required following item."));
    need(item.type === "function_call_output" || !answering || !open.size, at(`No tool output found for function call ${[...open]}`));
    if (item.type === "message") {
      need(model || !open.size, at(`No tool output found for function call ${[...open]}`));
      need(i > 0 || !model, at("the first item is the assistant's"));
      const wanted = { user: "input_text", assistant: "output_text" }[item.role];
      need(wanted, at(`unknown role ${item.role}`));
      need(Array.isArray(item.content) && item.content.length, at("an empty message"));
      for (const part of item.content ?? []) {
        need(part.type === wanted && said(part.text), at(`${part.type} in a message of the ${item.role}, or an empty text`));
        for (const name of unknown(part, ["type", "text", "annotations", "logprobs"])) need(false, at(`a part with ${name}`));
      }
    } else if (item.type === "function_call") {
      need(NAME.test(item.call_id ?? ""), at(`a call's id is not allowed: ${JSON.stringify(item.call_id)}`));
      need(NAME.test(item.name ?? ""), at(`a call's name is not allowed: ${JSON.stringify(item.name)}`));
      need(isArguments(item.arguments), at("arguments are no JSON object in a text"));
      need(!seen.has(item.call_id), at(`two calls with the id ${item.call_id}`));
      seen.add(item.call_id);
      open.add(item.call_id);
    } else if (item.type === "function_call_output") {
      need(open.delete(item.call_id), at(`No tool call found for function call output with call_id ${item.call_id}`));
      need(typeof item.output === "string" && item.output, at("an empty result"));
    } else if (item.type === "web_search_call") {
      need(said(item.id) && object(item.action), at("a search without its id or its action"));
    } else {
      need(Array.isArray(item.summary), at("summary: is required"));
      need(sent.some((own) => own.encrypted_content === item.encrypted_content), at("The encrypted content could not be verified."));
    }
    answering = item.type === "function_call_output" && open.size > 0;
    thought = item.type === "reasoning";
  });
  need(!open.size, `No tool output found for function call ${[...open]}`);
  need(!thought, "Item of type 'reasoning' was provided without its required following item.");
  const last = items.at(-1);
  need(last.role === "user" || last.type === "function_call_output", "the conversation ends with the assistant");
}
