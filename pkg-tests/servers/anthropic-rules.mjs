// What the Messages API refuses, as a checker: `check(request)` gives a list of broken rules, empty when the request
// would be accepted. Written from the API's documentation and from its error texts, not from our codec, so that the
// two can disagree. It is stricter than the API in one point. A user message may not follow a user message with
// tool results missing in between, even though the API merges neighbours of one role.

const ID = /^[a-zA-Z0-9_-]+$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
/** Whose thinking takes a budget and nothing else, and whose takes none. */
const BUDGET_ONLY = /^claude-(haiku|sonnet|opus)-4-5\b/, NO_BUDGET = /^claude-(opus-4-[78]|(sonnet|opus|haiku|fable|mythos)-5)\b/;

/** `sent`: the thinking blocks that this server has sent so far; what comes back must be among them, unchanged. */
export function check({ headers = {}, json: body, text = "" }, { sent } = {}) {
  const bad = [];
  if (!body) return [`the body is not JSON: ${text.slice(0, 80)}`];
  checkHeaders(headers, bad);
  checkFrame(body, bad);
  checkForm(body, bad);
  if (Array.isArray(body.messages) && body.messages.length) checkMessages(body, bad, sent);
  else bad.push("messages: at least one message is required");
  return bad;
}

function checkHeaders(headers, bad) {
  if (!/^application\/json\b/.test(headers["content-type"] ?? "")) bad.push("header content-type must be application/json");
  if (!headers["x-api-key"] && !headers.authorization) bad.push("header x-api-key is required");
  if (!headers["anthropic-version"]) bad.push("header anthropic-version is required");
  if (headers.origin && headers["anthropic-dangerous-direct-browser-access"] !== "true") {
    bad.push("CORS requests must set 'anthropic-dangerous-direct-browser-access' header");
  }
  for (const name of Object.keys(headers)) if (name.startsWith("x-stainless")) bad.push(`header ${name} fails on compatible servers`);
}

function checkFrame(body, bad) {
  if (typeof body.model !== "string" || !body.model) bad.push("model: is required");
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 1) bad.push("max_tokens: must be a positive integer");
  if (body.stream !== undefined && typeof body.stream !== "boolean") bad.push("stream: must be a boolean");
  if (typeof body.system === "string" ? !body.system : body.system !== undefined && !body.system.every?.((b) => b.type === "text" && b.text)) {
    bad.push("system: must be a text or a list of text blocks that are not empty");
  }
  const names = new Set();
  for (const tool of body.tools ?? []) {
    if (!TOOL_NAME.test(tool.name ?? "")) bad.push(`tools: bad name ${JSON.stringify(tool.name)}`);
    if (names.has(tool.name)) bad.push(`tools: Tool names must be unique: ${tool.name}`);
    names.add(tool.name);
    if (!tool.type && tool.input_schema?.type !== "object") bad.push(`tools: input_schema of ${tool.name} must have type object`);
  }
  if (body.tools && body.tools.length === 0) bad.push("tools: an empty list says nothing, leave it out");
  const breakpoints = (JSON.stringify(body).match(/"cache_control":\{/g) ?? []).length;
  if (breakpoints > 4) bad.push(`cache_control: A maximum of 4 blocks may be provided, found ${breakpoints}`);
  // Some are told how much to think as a budget, others as an effort.
  const budgetOnly = BUDGET_ONLY.test(body.model), { type } = body.thinking ?? {};
  if (budgetOnly && type === "adaptive") bad.push("adaptive thinking is not supported on this model");
  if (budgetOnly && body.output_config?.effort !== undefined) bad.push("This model does not support the effort parameter.");
  if (NO_BUDGET.test(body.model) && type === "enabled") bad.push('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort".');
  if (type && type !== "disabled" && ![undefined, 1].includes(body.temperature)) bad.push("`temperature` may only be set to 1 when thinking is enabled.");
  if (type !== "enabled" && body.thinking?.budget_tokens !== undefined) bad.push("thinking.budget_tokens: Extra inputs are not permitted");
  if (type === "enabled" && !(body.thinking.budget_tokens >= 1024 && body.thinking.budget_tokens < body.max_tokens)) {
    bad.push("thinking.budget_tokens: at least 1024 and less than max_tokens");
  }
}

/** What the answer has to be, and which tool has to be called. */
function checkForm({ output_config, tool_choice, thinking, tools = [] }, bad) {
  if (tool_choice && !tools.some(({ name }) => tool_choice.type === "tool" && name === tool_choice.name)) bad.push("tool_choice: names no tool");
  if (tool_choice && thinking && thinking.type !== "disabled") bad.push("Thinking may not be enabled when tool_choice forces tool use.");
  if (!output_config?.format) return;
  if (output_config.format.type !== "json_schema") bad.push("output_config.format: must be a json_schema");
  let optional = 0;
  const visit = (schema, at) => {
    if (schema === null || typeof schema !== "object") return void bad.push(`${at}: must be an object`);
    for (const keyword of Object.keys(schema)) if (!KEYWORDS.includes(keyword)) bad.push(`${at}: property '${keyword}' is not supported`);
    if (schema.type === "object" || schema.properties) {
      if (schema.additionalProperties !== false) bad.push(`${at}: For 'object' type, 'additionalProperties' must be explicitly set to false`);
      optional += Object.keys(schema.properties ?? {}).filter((name) => !schema.required?.includes(name)).length;
    }
    if (!schema.type && !schema.$ref && !schema.anyOf) bad.push(`${at}: has no type`);
    for (const [name, inner] of Object.entries({ ...schema.properties, ...schema.$defs })) visit(inner, `${at}.${name}`);
    for (const inner of [schema.items, ...(schema.anyOf ?? [])]) if (inner !== undefined) visit(inner, `${at}[]`);
  };
  visit(output_config.format.schema, "output_config.format.schema");
  if (optional > 24) bad.push("output_config.format.schema: too many optional parameters");
}

const KEYWORDS = ["type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "title", "description", "properties", "required", "additionalProperties", "items"];

function checkMessages(body, bad, sent) {
  const messages = body.messages.map((m) => ({ role: m.role, blocks: typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content }));
  if (messages[0].role !== "user") bad.push("messages.0: the first message must have the role user");
  const uses = new Set();
  let open = null; // ids of the tool calls that the next message must answer
  messages.forEach(({ role, blocks }, i) => {
    const at = `messages.${i}`;
    if (role !== "user" && role !== "assistant") bad.push(`${at}: unknown role ${role}`);
    if (!Array.isArray(blocks) || blocks.length === 0) { bad.push(`${at}: content must not be empty`); blocks = []; }
    for (const block of blocks) checkBlock(block, role, at, bad, sent);

    const results = blocks.filter((b) => b.type === "tool_result");
    if (open) {
      const answered = results.map((b) => b.tool_use_id);
      for (const id of open) {
        const n = answered.filter((a) => a === id).length;
        if (n === 0) bad.push(`${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}`);
        if (n > 1) bad.push(`${at}: each tool_use must have a single result. Found multiple for ${id}`);
      }
      const lead = blocks.findIndex((b) => b.type !== "tool_result");
      if (lead >= 0 && results.length > lead) bad.push(`${at}: tool_result blocks must come first`);
    }
    for (const block of results) if (!open?.includes(block.tool_use_id)) bad.push(`${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}`);

    open = null;
    if (role === "assistant") {
      const ids = blocks.filter((b) => b.type === "tool_use").map((b) => b.id);
      for (const id of ids) { if (uses.has(id)) bad.push(`${at}: \`tool_use\` ids must be unique: ${id}`); uses.add(id); }
      if (ids.length) open = ids;
    }
  });
  if (open) bad.push(`messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}`);
  else if (messages.at(-1).role === "assistant" && !paused(messages.at(-1).blocks)) bad.push("messages: This model does not support assistant message prefill. The conversation must end with a user message.");
}

/** How the bytes of each type begin; the API looks. */
const BEGINS = { "image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF", "application/pdf": "%PDF-" };
/** The longest image, in base64. */
const IMAGE = 5 * 1024 * 1024;

function checkFile({ type, source = {}, title }, at, bad) {
  const { type: form, media_type, data, ...more } = source;
  if (Object.keys(more).length) bad.push(`${at}: ${type}.source: Extra inputs are not permitted: ${Object.keys(more)}`);
  if (title !== undefined && (type !== "document" || !title)) bad.push(`${at}: ${type}.title`);
  if (form === "text" && type === "document") {
    if (media_type !== "text/plain" || !data) bad.push(`${at}: document.source: text must be text/plain and not empty`);
    return;
  }
  if (form !== "base64") return void bad.push(`${at}: ${type}.source.type ${form}`);
  if ((media_type === "application/pdf") !== (type === "document") || !BEGINS[media_type]) bad.push(`${at}: ${type}.source.media_type: ${media_type}`);
  else if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length % 4) bad.push(`${at}: ${type}.source.base64: invalid base64 data`);
  else if (!atob(data.slice(0, 16)).startsWith(BEGINS[media_type])) bad.push(`${at}: ${type}.source: the data does not look like ${media_type}`);
  else if (type === "image" && data.length > IMAGE) bad.push(`${at}: image exceeds 5 MB maximum: ${data.length} bytes`);
}

/** An answer that ended with `pause_turn` goes back as the last message: its server tool has no result yet. */
const paused = (blocks) => blocks.some((b) => b.type === "server_tool_use");

function checkBlock(block, role, at, bad, sent) {
  const only = (who) => { if (role !== who) bad.push(`${at}: ${block.type} blocks belong to ${who} messages`); };
  switch (block.type) {
    case "text":
      if (typeof block.text !== "string" || !block.text.trim()) bad.push(`${at}: text content blocks must contain non-whitespace text`);
      break;
    case "tool_use":
      only("assistant");
      if (!ID.test(block.id ?? "")) bad.push(`${at}: bad tool_use id ${JSON.stringify(block.id)}`);
      if (!TOOL_NAME.test(block.name ?? "")) bad.push(`${at}: bad tool_use name ${JSON.stringify(block.name)}`);
      if (!block.input || typeof block.input !== "object" || Array.isArray(block.input)) bad.push(`${at}: tool_use.input must be an object`);
      break;
    case "tool_result":
      only("user");
      if (Array.isArray(block.content)) for (const part of block.content) if (part.type === "text" && !part.text) bad.push(`${at}: text content blocks must be non-empty`);
      if (block.content !== undefined && typeof block.content !== "string" && !Array.isArray(block.content)) bad.push(`${at}: tool_result.content must be text or blocks`);
      if (block.is_error !== undefined && typeof block.is_error !== "boolean") bad.push(`${at}: tool_result.is_error must be a boolean`);
      break;
    case "image":
    case "document":
      only("user");
      checkFile(block, at, bad);
      break;
    case "thinking":
      only("assistant");
      if (!block.signature) bad.push(`${at}: thinking.signature: Field required`);
      if (sent && !sent.some((b) => b.thinking === block.thinking && b.signature === block.signature)) bad.push(`${at}: \`thinking\` blocks in the latest assistant message cannot be modified`);
      break;
    case "redacted_thinking":
      only("assistant");
      if (!block.data) bad.push(`${at}: redacted_thinking.data: Field required`);
      if (sent && !sent.some((b) => b.data === block.data)) bad.push(`${at}: \`redacted_thinking\` blocks cannot be modified`);
      break;
    default:
      if (typeof block.type !== "string") bad.push(`${at}: a block without a type`);
  }
}
