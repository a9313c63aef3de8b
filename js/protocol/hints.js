// What to write in place of a name that does not exist: loaded with the first error that is about one.
//
// Decides which name was meant: what other libraries call so, else the nearest of those that there are. Leaves to others:
// refusing the name.

/** What other libraries call what we have. */
const OURS = {
  system: "instructions", systemPrompt: "instructions", system_prompt: "instructions",
  maxSteps: "maxTurns", max_steps: "maxTurns", stopWhen: "maxTurns",
  maxTokens: "maxOutputTokens", max_tokens: "maxOutputTokens", max_completion_tokens: "maxOutputTokens",
  endpoint: "baseUrl", url: "baseUrl", token: "apiKey", key: "apiKey", type: "kind",
  parameters: "inputSchema", input_schema: "inputSchema", schema: "inputSchema",
  handler: "execute", run: "execute", func: "execute", function: "execute", call: "execute",
  abortSignal: "signal", attachments: "files", experimental_attachments: "files", images: "files", content: "text", prompt: "text",
  conversationId: "sessionId", threadId: "sessionId", id: "sessionId", output: "schema", outputSchema: "schema", responseFormat: "schema",
  response_format: "schema", experimental_output: "schema", name: "displayName", title: "displayName",
};

const TIMEOUTS = ["connectMs", "firstByteMs", "silenceMs", "runMs"];
/** The members of a configuration, by where they stand; a test holds them against `index.d.ts`. */
const CONFIG = {
  "": ["provider", "providers", "fallback", "model", "instructions", "maxOutputTokens", "temperature", "reasoning", "providerOptions", "serverTools", "maxTurns", "toolTimeoutMs", "maxParallelTools", "capabilities", "processType", "permissions", "budgets", "skills", "models", "archive", "retry", "compaction", "memory", "title", "resume", "ifRunning"],
  provider: ["kind", "preset", "apiKey", "auth", "headers", "credentials", "fetch", "baseUrl", "allowHttp", "apiVersion", "model", "timeouts", "stream"],
  "provider.timeouts": TIMEOUTS,
  permissions: ["default", "tools", "capabilities", "decide", "timeoutMs"],
  budgets: ["run", "session"],
  "budgets.run": ["turns", "inputTokens", "outputTokens", "cost", "wallMs"],
  archive: ["afterDays"],
  retry: ["cut"],
  compaction: ["at", "keep", "instructions", "provider"],
  memory: ["scope", "limit"],
};
CONFIG["budgets.session"] = CONFIG["budgets.run"];
/** What can be said of a model, below `models`; a test holds it against `index.d.ts`. */
const FACTS = ["context", "output", "price", "long", "search", "can", "adaptive", "ends"];
/** The presets of `openai-compatible`, which people take for kinds; a test holds them against `index.d.ts`. */
const PRESETS = ["azure", "openrouter", "google", "groq", "deepseek", "mistral", "lmstudio", "llamacpp", "vllm", "ollama"];
const BY_PROVIDER = "providerOptions takes what one provider has, by the name in its own API";
/** What has another way than an option of a configuration. */
const WAYS = { tools: "tools.register gives the agent its tools", messages: "sessions.launch({ messages }) begins with a conversation", onFinish: "listen to agent:session-completed", onChunk: "listen to agent:message-chunk", onError: "listen to agent:error", abortSignal: "sendMessage takes a signal", prompt: "sendMessage sends what a person says", maxRetries: "a call that fails is made three times in all; retry: { cut: false } leaves out cut answers" };
for (const name of ["topP", "top_p", "topK", "top_k", "seed", "toolChoice", "tool_choice", "stopSequences", "frequencyPenalty", "presencePenalty"]) WAYS[name] = BY_PROVIDER;
/** What sessions and messages may have otherwise. */
const OVERRIDES = ["provider", "model", "instructions", "tools", "reasoning", "temperature", "maxOutputTokens", "providerOptions", "serverTools"];
const SAID = ["signal", "context", "trusted", "schema", "metadata", ...OVERRIDES];
const MESSAGE = ["sessionId", "idempotencyKey", "whenBusy", "replaces", "text", "files", ...SAID];
/** What each command takes; a test holds them against what it refuses. */
const MEMBERS = {
  sendMessage: MESSAGE, regenerate: ["sessionId", "idempotencyKey", ...SAID], "sessions.prompt": MESSAGE, "sessions.runOnce": ["text", "files", "keep", ...SAID],
  "sessions.launch": ["id", "displayName", "projectId", "messages", ...OVERRIDES], "sessions.configure": OVERRIDES,
};

const bare = (name) => name.toLowerCase().replace(/[^a-z]/g, "");

/** How many letters are to be changed, put in or left out, or swapped with the next, to make one of the other. */
function distance(a, b) {
  let [before, last] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}

/** Which of the known names was meant, if that can be told. */
function meant(name, known) {
  if (known.includes(OURS[name])) return OURS[name];
  const near = known.map((other) => [distance(bare(name), bare(other)), other]).sort(([a], [b]) => a - b)[0];
  return near && near[0] <= Math.min(3, bare(name).length / 3) ? near[1] : undefined;
}

/** What another object has by this name: a provider, or the agent's configuration. */
function elsewhere(name, place, what) {
  const it = place === "" ? meant(name, CONFIG.provider) : Object.hasOwn(MEMBERS, what) ? meant(name, CONFIG[""]) : undefined;
  return it && (place === "" ? `It is a member of provider: provider.${it}.` : `It is a member of startAgent's configuration: ${it}.`);
}

/** What to do about a kind or a preset that does not exist. */
function ofProvider(member, name, hint) {
  const known = [...hint.matchAll(/"([^"]*)"/g)].map(([, word]) => word);
  if (member === "kind" && PRESETS.includes(name.toLowerCase())) return `Write kind: "openai-compatible", preset: "${name.toLowerCase()}".`;
  const it = meant(name, known);
  return it && `Write "${it}". ${hint}`;
}

/** How one of `providers` is called in its errors; what it may have is what `provider` has. */
const NAMED = /^providers\..+?(?=$|\.timeouts$| must be an object$)/;

/** What to do where something else than an object stands. */
const INSTEAD = {
  "provider must be an object": 'Write provider: { kind: "…" }, or give one of lodger/offline, lodger/wllama, lodger/prompt-api.',
  "The message must be an object.": "Give a text, or { text, files }. A conversation is begun with sessions.launch({ messages }).",
};

/** What to do about a function where none can stand: most are meant for another place, or for another library. */
function ofFunction(message) {
  const command = Object.keys(MEMBERS).find((command) => message.startsWith(`${command}.`));
  const [, name] = /^(?:config\.)?(\w+)/.exec(message.slice((command ?? "").length + 1)) ?? [];
  if (!command || !name) return undefined;
  if (MEMBERS[command].includes(name) && !Object.hasOwn(WAYS, name)) return `Give ${name} as plain data: a function cannot be stored.`;
  return hintFor({ message: `${command} does not know "${name}"` });
}

/** Errors about a name of which their hint has a list: which one was meant, said before it. */
const LISTED = [
  [/^There is no command "(.*)"\.$/, /^There are: (.*)\.$/],
  [/^(?:no provider is called|fallback names|compaction\.provider is) "(.*)"/, /^startAgent's providers are: (.*)$/],
];

/** What to do about an error that is about a name; nothing: that is not known, or it says so itself. */
export function hintFor({ message, hint = "" }) {
  const instead = message.replace(NAMED, "provider");
  if (Object.hasOwn(INSTEAD, instead)) return INSTEAD[instead];
  for (const [about, list] of LISTED) {
    const [named, known] = [about.exec(message), list.exec(hint)];
    const it = named && known && meant(named[1], known[1].split(", "));
    if (it) return `Write "${it}". ${hint}`;
  }
  if (/ is a function, which cannot stand here\.?$/.test(message)) return ofFunction(message);
  const [, fact] = /^models\..+\.(\w+) does not exist$/.exec(message) ?? [];
  const [, ofIt, given] = /^provider(?:s\..+)?\.(kind|preset) "(.*)" does not exist$/.exec(message) ?? [];
  if (ofIt) return ofProvider(ofIt, given, hint);
  const [, path] = /^option "(.*)" does not exist$/.exec(message) ?? [];
  const [, what, member, list] = /^(.*) does not know ['"](.*?)['"](?:; it takes (.*))?$/.exec(message) ?? [];
  const [, own] = / has no member "(.*)" in this version\.$/.exec(message) ?? [];
  const [, names] = (own !== undefined && /^It knows: (.*)\.$/.exec(hint)) || [];
  const place = path?.split(".").slice(0, -1).join(".").replace(NAMED, "provider");
  const name = fact ?? own ?? member ?? path?.split(".").at(-1);
  const ofCommand = Object.hasOwn(MEMBERS, what);
  const known = fact !== undefined ? FACTS : ofCommand ? MEMBERS[what] : ((list ?? names)?.split(", ") ?? CONFIG[place]);
  if (name === undefined || !known) return undefined;
  const way = (place === "" || (ofCommand && !known.includes(OURS[name]))) && Object.hasOwn(WAYS, name) && WAYS[name];
  const it = meant(name, known);
  return [way ? `${way}.` : it ? `Write "${it}".` : elsewhere(name, place, what), list ? "" : `It knows: ${known.join(", ")}.`].filter(Boolean).join(" ") || undefined;
}
