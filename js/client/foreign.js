// Conversations in the shapes of other libraries: loaded when a session is launched with messages.
//
// Decides what each of their parts is here. Promises: what cannot be taken is named with its place. Only what says nothing to people
// is left out in silence (a seal of thinking, the mark of a step). Messages of our own shape pass as they are. Leaves to
// others: whether a conversation can be taken as a whole (the host).
//
// The shapes: the AI SDK's (`UIMessage` and `ModelMessage`), OpenAI's (chat messages and items of Responses) and Anthropic's.

import { failure } from "../protocol/error.js";

/** What stands beside the content and says something, and cannot be taken. */
const BESIDE = ["attachments", "experimental_attachments", "files", "images", "function_call"];
/** What says nothing to people. */
const SILENT = ["step-start", "redacted_thinking", "redacted-reasoning"];
/** In which states the AI SDK has what we call otherwise. */
const STATES = { "output-available": "completed", "output-error": "failed", "output-denied": "denied" };

const isFull = (value) => (Array.isArray(value) ? value.length > 0 : value !== null && value !== undefined);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** These messages in our shape, and the place among the given ones from which each comes. */
export function fromForeign(messages) {
  if (!Array.isArray(messages)) return { messages, places: [] }; // the host says what is wrong
  const calls = new Map(); // id -> the part, until its result comes
  const out = [];
  /** The parts of an answer: what follows each other is one. */
  const answer = () => {
    if (out.at(-1)?.role !== "assistant" || out.at(-1).own) out.push({ role: "assistant", parts: [] });
    return out.at(-1).parts;
  };
  const places = [];
  for (const [n, message] of messages.entries()) {
    const at = `messages[${n}]`;
    if (!isObject(message)) refuse(at, "is no object");
    if (isOurs(message)) {
      const { createdAt, ...rest } = message;
      out.push({ ...rest, ...(createdAt === undefined ? {} : typeof createdAt === "number" ? { createdAt } : time(createdAt)), own: true });
      places.push(n);
      continue;
    }
    const { role, type } = message;
    for (const name of BESIDE) if (isFull(message[name])) refuse(`${at}.${name}`, "cannot be taken");
    if (role === undefined && typeof type === "string") item(message, at, { calls, answer });
    else if (role === "system" || role === "developer") refuse(at, `is of the role "${role}"`, "Give its text to startAgent as instructions.");
    else if (role === "tool" && message.tool_call_id !== undefined) settle(calls, message.tool_call_id, textOf(message.content, `${at}.content`), false, at);
    else if (role === "tool" && Array.isArray(message.content)) for (const [p, part] of message.content.entries()) result(calls, part, `${at}.content[${p}]`);
    else if (role === "assistant") answered(message, at, { calls, parts: answer() });
    else if (role === "user") asked(message, at, { calls, out });
    else refuse(at, role === undefined ? "has no role" : `is of a role that cannot be taken: "${role}"`);
    while (places.length < out.length) places.push(n);
  }
  return { messages: out.map(({ own, ...message }) => message), places };
}

/** Whether it is a `Message` of ours: its tool calls have a `tool`, and its thinking is called that. */
const isOurs = ({ parts, content }) =>
  Array.isArray(parts) && content === undefined && parts.every((part) => isObject(part) && (part.type === "text" ? part.state === undefined : part.type === "thinking" || part.type === "source" || (part.type === "tool-call" && "tool" in part) || (part.type === "file" && "fileId" in part)));

function refuse(at, what, hint = "Leave it out, or give what it says as text.") {
  throw failure("invalid_arguments", `${at} ${what}.`, hint);
}

/** What a person has said; Anthropic's messages of the person have results of tools too. */
function asked({ content, parts = content, createdAt, metadata }, at, { calls, out }) {
  const said = [];
  const list = typeof parts === "string" ? [{ type: "text", text: parts }] : parts;
  if (!Array.isArray(list)) refuse(at, "has neither a text nor a list of parts");
  for (const [p, part] of list.entries()) {
    const where = `${at}.${parts === content ? "content" : "parts"}[${p}]`;
    const kind = typeof part === "string" ? "text" : part?.type;
    if (kind === "tool_result") settle(calls, part.tool_use_id, textOf(part.content ?? "", `${where}.content`), part.is_error === true, where);
    else if (kind === "text" || kind === "input_text") said.push({ type: "text", text: typeof part === "string" ? part : worded(part.text, where) });
    else if (!SILENT.includes(kind)) refuse(where, named(kind));
  }
  if (said.length) out.push({ role: "user", parts: said, ...time(createdAt), ...(metadata !== undefined && { metadata }) });
}

/** What a model has said. */
function answered({ content, parts = content, tool_calls, toolInvocations, reasoning, refusal, audio }, at, { calls, parts: into }) {
  // The parts of version 4 of the AI SDK say the same once more.
  if (parts === content) {
    if (typeof reasoning === "string" && reasoning) into.push({ type: "thinking", text: reasoning });
    for (const [i, one] of (toolInvocations ?? []).entries()) invocation(calls, into, one, `${at}.toolInvocations[${i}]`);
  }
  const list = typeof parts === "string" ? [{ type: "text", text: parts }] : (parts ?? []);
  if (!Array.isArray(list)) refuse(at, "has neither a text nor a list of parts");
  for (const [p, part] of list.entries()) {
    const where = `${at}.${parts === content ? "content" : "parts"}[${p}]`;
    const kind = part?.type;
    if (kind === "text" || kind === "output_text") into.push({ type: "text", text: worded(part.text, where) });
    else if (kind === "refusal") into.push({ type: "text", text: part.refusal });
    else if (kind === "thinking" || kind === "reasoning") into.push({ type: "thinking", text: part.thinking ?? part.text ?? part.reasoning ?? "" });
    else if (kind === "tool_use") call(calls, into, part.id, part.name, part.input, where);
    else if (kind === "tool-call") call(calls, into, part.toolCallId, part.toolName, part.input ?? part.args, where);
    else if (kind === "tool-result") result(calls, part, where);
    else if (kind === "tool-invocation") invocation(calls, into, part.toolInvocation, `${where}.toolInvocation`);
    else if (kind === "dynamic-tool" || (typeof kind === "string" && kind.startsWith("tool-"))) {
      const { toolCallId, toolName = kind.slice(5), state, input, output, errorText } = part;
      call(calls, into, toolCallId, toolName, input, where);
      const status = Object.hasOwn(STATES, state) && STATES[state];
      if (status) {
        calls.delete(toolCallId);
        Object.assign(into.at(-1), { status, ...(status === "completed" && { result: output }), ...(errorText !== undefined && { error: toolError(errorText) }) });
      }
    } else if (!SILENT.includes(kind)) refuse(where, named(kind));
  }
  for (const said of [refusal, audio?.transcript]) if (typeof said === "string" && said) into.push({ type: "text", text: said });
  for (const [c, one] of (tool_calls ?? []).entries()) {
    if (one?.function === undefined) refuse(`${at}.tool_calls[${c}]`, "is no call of a function");
    call(calls, into, one.id, one.function.name, parsed(one.function.arguments), `${at}.tool_calls[${c}]`);
  }
}

/** A call of a tool, with its result if there is one, in version 4 of the AI SDK. */
function invocation(calls, into, one, at) {
  if (!isObject(one) || typeof one.toolCallId !== "string") refuse(at, "is no call of a tool");
  call(calls, into, one.toolCallId, one.toolName, one.args, at);
  if (one.state === "result") settle(calls, one.toolCallId, one.result, false, at);
}

/** An item of OpenAI's Responses. */
function item(one, at, { calls, answer }) {
  if (one.type === "message") refuse(at, "has no role");
  else if (one.type === "reasoning") for (const { text } of one.summary ?? []) answer().push({ type: "thinking", text });
  else if (one.type === "function_call") call(calls, answer(), one.call_id, one.name, parsed(one.arguments), at);
  else if (one.type === "function_call_output") settle(calls, one.call_id, textOf(one.output, `${at}.output`), false, at);
  else refuse(at, named(one.type));
}

function call(calls, into, toolCallId, tool, args, at) {
  for (const name of [toolCallId, tool]) if (typeof name !== "string" || !name) refuse(at, "is a call without an id or a name");
  const part = { type: "tool-call", toolCallId, tool, arguments: args ?? {}, status: "started" };
  into.push(part);
  calls.set(toolCallId, part);
}

/** The result of a call in the AI SDK's `ModelMessage`. */
function result(calls, { type, toolCallId, output, result: older, isError }, at) {
  if (type !== "tool-result") refuse(at, named(type));
  const kind = isObject(output) && typeof output.type === "string" ? output.type : "json";
  const value = isObject(output) && "value" in output ? output.value : (output ?? older);
  if (kind === "content") refuse(`${at}.output`, "has parts, which cannot be taken");
  settle(calls, toolCallId, value, isError === true || kind.startsWith("error"), at);
}

function settle(calls, id, value, failed, at) {
  const part = calls.get(id);
  if (!part) refuse(at, `is the result of a call that is not before it: "${id}"`, "Give the answer that has the call too.");
  calls.delete(id);
  part.status = failed ? "failed" : "completed";
  if (failed) part.error = toolError(typeof value === "string" ? value : JSON.stringify(value));
  else part.result = value;
}

const toolError = (message) => ({ code: "tool_failed", message, retryable: false });

/** A text, or one in parts. */
function textOf(content, at) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) refuse(at, "is neither a text nor a list of texts");
  return content.map((part, p) => (["text", "output_text", "input_text"].includes(part?.type) ? part.text : refuse(`${at}[${p}]`, named(part?.type)))).join("\n");
}

const worded = (text, at) => (typeof text === "string" ? text : refuse(at, "has no text"));

/** Arguments as a model writes them; what is no JSON stays as it is. */
function parsed(text) {
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text || "{}");
  } catch {
    return text;
  }
}

const time = (at) => {
  const ms = at instanceof Date ? at.getTime() : typeof at === "string" ? Date.parse(at) : at;
  return Number.isSafeInteger(ms) && ms >= 0 ? { createdAt: ms } : {};
};

const named = (type) => (typeof type === "string" ? `is of a kind that cannot be taken: "${type}"` : "has no kind");
