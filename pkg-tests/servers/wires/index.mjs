// The table of wires: for each provider that a page can name, how its server speaks and what it refuses. A wire is
//   path, type          where it is asked, and the content type of its streams
//   cors                the request headers that a preflight allows, and the answer's headers that a page may see
//   asks                the headers that our preflight asks for, by name
//   answer(blocks, o)   an answer as its pieces, one an event or a line (`words.mjs` has the blocks)
//   usage(cost)         what of an answer's cost it can tell
//   check(record, sent) what it refuses in a request, a list of texts. `sent`: what it remembers
//   remember(piece, sent)   keeps what must come back as it was, or not at all
//   replays             what of its own thinking must come back to it: the `thinking` itself, its `seal`
//   refusal(why)        the body of its 400
//   breaks              its error inside a stream, and the code that it stands for
//   failures            its failures by our codes: [status, body]
import { anthropic } from "./anthropic.mjs";
import { azureChat, chat } from "./chat.mjs";
import { gemini } from "./gemini.mjs";
import { ollama } from "./ollama.mjs";
import { azureResponses, responses, xai } from "./responses.mjs";

const PLAIN = /^[a-zA-Z0-9_-]{1,40}$/;

/** `kind`, `preset?`, `base`: what is appended to a server's address; `id(n)`: what it calls its calls; `given?`: what else a page gives. */
const row = (kind, wire, more = {}) => ({
  kind, name: more.preset ? `${kind}/${more.preset}` : kind, wire, base: "/v1", model: "test-model", id: (n) => `call_${n}`, ...more,
  /** The provider as a page gives it, at this server. */
  provider(url, options = {}) {
    const { preset, base, model, given } = this;
    return { kind, ...(preset && { preset }), baseUrl: url + base, model, ...(kind !== "ollama" && { apiKey: "sk-test" }), ...given, ...options };
  },
});

export const WIRES = [
  row("anthropic", anthropic, { base: "", model: "claude-sonnet-4-6", id: (n) => `toolu_01${n}` }),
  // It has no member for thinking at all; a proxy in front of it may send some, and it must not come back.
  row("openai", chat({ limit: "max_completion_tokens", system: "developer", ids: PLAIN })),
  // An id as long as it takes, and a character that is no letter at its end.
  row("openai-responses", responses, { id: (n) => `call_${`${n}`.padStart(58, "x")}-` }),
  row("xai", xai),
  row("gemini", gemini, { base: "", id: (n) => `k${n}` }),
  // Without an id, as old servers are.
  row("ollama", ollama, { base: "", id: () => null }),
  // The version that it has where a page says none does not know how hard to think.
  row("openai-compatible", azureChat("test-model", { limit: "max_completion_tokens", ids: PLAIN }), { preset: "azure", base: "", given: { apiVersion: "2025-04-01-preview" } }),
  row("openai-responses", azureResponses, { preset: "azure", base: "" }),
  row("openai-compatible", chat({ ids: PLAIN, signs: true }), { preset: "google", base: "/v1beta/openai", id: (n) => `function-call-${n}` }),
  row("openai-compatible", chat({ more: ["thinking"], ids: PLAIN, thinking: "reasoning_content", needed: true }), { preset: "deepseek", id: (n) => `functions.get:${n}` }),
  row("openai-compatible", chat({ streamOptions: false, more: ["random_seed", "safe_prompt", "prompt_mode"], ids: /^[a-zA-Z0-9]{9}$/, thinking: "parts", bridge: true }), { preset: "mistral", id: (n) => `m${n}`.padEnd(9, "0") }),
];

/** Whether a request, of any wire, asks to sum up a conversation, and not to answer it. */
export const sumsUp = (body) => JSON.stringify(body).includes("You sum up a conversation");
