// The services that can answer, as data: what each is called, where it is, and what it needs from the person.
//
// Decides what the settings ask for a service and what they say about it. A new one is one row. Leaves to others: what was
// entered (`settings.ts`), the form (`shell/settings-dialog.ts`), and how a service is spoken to (the package).
import type { UnchosenApi } from "lodger";

/** A way to get answers from a model API. */
export interface Service {
  /** What it is called in the journal and in `agent:notice`: its kind, and behind a slash its preset. */
  id: string;
  /** Services that are offered as one choice. */
  group: Group["id"];
  /** What it is called. */
  name: string;
  /** What it is called within its group, where there are several. */
  variant?: string;
  /** Whose key it takes, if that is shared with other services. */
  account: string;
  /** `needed`: it answers nobody without one. `optional`: some servers want one. `none`: it knows no keys. */
  key: "needed" | "optional" | "none";
  /** How its keys begin. */
  keyForm: string;
  /** Where it is; null: the person has to say. */
  url: string | null;
  /** The model that is taken when none is named; null: one has to be named. */
  model: string | null;
  /** A model's name, shown in the empty field. */
  example: string;
  /** What a person has to know before it works. */
  help: string;
  /** A command that makes it work with this page. */
  command?: string;
  /** It can search the web by itself. */
  searches?: true;
}

/** A choice of the settings. */
export interface Group {
  id: "anthropic" | "openai" | "google" | "xai" | "ollama" | "openai-compatible";
  name: string;
  about: string;
  /** What its variants are called together. */
  variants?: string;
}

/** The choices, in their order. */
export const GROUPS: readonly Group[] = [
  { id: "anthropic", name: "Anthropic", about: "Claude, with your own key." },
  { id: "openai", name: "OpenAI", about: "GPT, with your own key.", variants: "API" },
  { id: "google", name: "Google", about: "Gemini, with your own key." },
  { id: "xai", name: "xAI", about: "Grok, with your own key.", variants: "API" },
  { id: "ollama", name: "Ollama", about: "A model on your own machine. No key." },
  { id: "openai-compatible", name: "Another service", about: "OpenRouter, Groq, LM Studio and all else that speaks like OpenAI.", variants: "Service" },
];

const OLLAMA = "It answers only pages that it knows. Start it so that it knows this one; the browser may ask whether this page may reach your network.";
const OLLAMA_COMMAND = `OLLAMA_ORIGINS=${location.origin} ollama serve`;
const openai = { group: "openai", account: "openai", key: "needed", keyForm: "sk-…", url: "https://api.openai.com/v1", model: null, example: "gpt-6.1-sol", help: "OpenAI’s keys are meant for servers: take one with a spending limit of its own." } as const;
const xai = { group: "xai", account: "xai", key: "needed", keyForm: "xai-…", url: "https://api.x.ai/v1", model: null, example: "grok-4.7", help: "If it cannot be reached from a page, enter the address of a proxy of your own." } as const;

/** A service shaped like OpenAI's, in the net. */
function hosted(preset: string, name: string, url: string, keyForm: string, example: string): Service {
  return { id: `openai-compatible/${preset}`, group: "openai-compatible", name, variant: name, account: preset, key: "needed", keyForm, url, model: null, example, help: "" };
}

/** A server shaped like OpenAI's, on the person's machine. */
function local(preset: string, name: string, url: string, help: string, command?: string): Service {
  const row: Service = { id: `openai-compatible/${preset}`, group: "openai-compatible", name, variant: name, account: preset, key: "optional", keyForm: "", url, model: null, example: "the name it lists", help };
  return command ? { ...row, command } : row;
}

/** The table. */
export const SERVICES: readonly Service[] = [
  {
    id: "anthropic", group: "anthropic", name: "Anthropic", account: "anthropic", key: "needed", keyForm: "sk-ant-…", url: "https://api.anthropic.com", model: "claude-sonnet-4-6", example: "claude-sonnet-4-6", searches: true,
    help: "If it answers that your organization does not allow calls from browsers, an administrator can allow them in the Claude Console.",
  },
  { id: "openai-responses", name: "OpenAI", variant: "Responses", searches: true, ...openai },
  { id: "openai", name: "OpenAI", variant: "Chat Completions", ...openai },
  {
    id: "gemini", group: "google", name: "Google", account: "gemini", key: "needed", keyForm: "AIza…", url: "https://generativelanguage.googleapis.com", model: null, example: "gemini-3.8-flash", searches: true,
    help: "Google AI Studio makes the keys.",
  },
  { id: "xai", name: "xAI", variant: "Responses", searches: true, ...xai },
  { id: "xai/chat", name: "xAI", variant: "Chat Completions", ...xai },
  {
    id: "ollama", group: "ollama", name: "Ollama", account: "ollama", key: "none", keyForm: "", url: "http://localhost:11434", model: null, example: "qwen3:8b",
    help: OLLAMA, command: OLLAMA_COMMAND,
  },
  { ...hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "sk-or-…", "anthropic/claude-sonnet-4.6"), searches: true },
  hosted("google", "Google’s compatible endpoint", "https://generativelanguage.googleapis.com/v1beta/openai", "AIza…", "gemini-3.8-flash"),
  hosted("groq", "Groq", "https://api.groq.com/openai/v1", "gsk_…", "openai/gpt-oss-120b"),
  hosted("deepseek", "DeepSeek", "https://api.deepseek.com", "sk-…", "deepseek-flash"),
  hosted("mistral", "Mistral", "https://api.mistral.ai/v1", "", "mistral-medium"),
  local("lmstudio", "LM Studio", "http://localhost:1234/v1", "Switch on CORS in the settings of its server.", "lms server start --cors"),
  local("llamacpp", "llama.cpp", "http://localhost:8080/v1", "For tool calls it needs the option --jinja.", "llama-server --jinja -m model.gguf"),
  local("ollama", "Ollama’s compatible endpoint", "http://localhost:11434/v1", OLLAMA, OLLAMA_COMMAND),
  local("vllm", "vLLM", "http://localhost:8000/v1", "Pages may call it as it is started by default."),
  {
    id: "openai-compatible", group: "openai-compatible", name: "Another server", variant: "Another server", account: "openai-compatible", key: "optional", keyForm: "", url: null, model: null, example: "the name it lists",
    help: "Its address ends before /chat/completions. It has to let pages call it (CORS).",
  },
];

/** The service of this name, or undefined: the offline model, one in the page. */
export function service(id: string): Service | undefined {
  return SERVICES.find((row) => row.id === id);
}

/** A provider's name as people know it, from `agent:notice` or the settings. */
export function serviceName(id: string): string {
  const row = service(id);
  return row ? row.name : id === "custom" ? "the model in this page" : id;
}

/** How the package calls it. */
export function kindOf({ id }: Service): Pick<UnchosenApi, "kind" | "preset"> {
  const [kind, preset] = id.split("/") as [UnchosenApi["kind"], UnchosenApi["preset"]?];
  return preset ? { kind, preset } : { kind };
}
