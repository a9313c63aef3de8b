// What a person chose: provider, model, address, what the agent may do, the look. Kept in localStorage; the key never is.
//
// Decides: which provider an agent starts with, and under which rules. Promises: the key lives in this object's memory, goes to the provider's
// address only, and is gone with the page or with `forgetKey`. Leaves to others: the form (`shell/settings-dialog.ts`).
import type { AgentConfig, Provider } from "lodger";
import { offline } from "lodger/offline";
import { hasLocalModel, LOCAL_MODEL, localModel } from "./local-model.ts";
import { Changing } from "./shell/changing.ts";

/** What is stored. */
export interface Choice {
  provider: "offline" | "anthropic" | "local";
  model: string;
  baseUrl: string;
  /** Milliseconds between the words of the offline model. */
  pace: number;
  theme: "system" | "light" | "dark";
  /** What kind of agent it is; empty: one that has all tools. */
  processType: ProcessType | "";
  /** The capabilities that it does not hold. */
  withheld: string[];
  /** Rules for single tools; the others go by what they are. */
  policies: Record<string, Verdict>;
  /** Whether Enter sends; `device`: everywhere but on touch screens. */
  enter: "device" | "always" | "never";
}

/** What becomes of a call. */
export type Verdict = "allow" | "ask" | "deny";
/** The kinds of agent that have a name. */
export type ProcessType = NonNullable<AgentConfig["processType"]>;

const DEFAULTS: Choice = { provider: "offline", model: "", baseUrl: "", pace: 24, processType: "", withheld: [], policies: {}, theme: "system", enter: "device" };
const PLACE = "lodger-workbench.settings";
const INSTRUCTIONS =
  "You help a person with the pages of their workspace. Look things up with the tools before you answer, answer shortly in Markdown, and write a page's title as [[Title]].";
/** A small model reads slowly and understands little: it gets no tools. */
const LOCAL_INSTRUCTIONS = "You are a helpful assistant. Answer shortly.";

/** The model that is taken when none is named. */
export const DEFAULT_MODEL = "claude-sonnet-4-6";
/** Where the Anthropic provider sends its requests when no other address is given. */
export const ANTHROPIC_URL = "https://api.anthropic.com";

/** The settings of this browser. */
export class Settings extends Changing {
  /** The stored part. */
  choice: Choice = read();
  #key = "";
  /** How much of the local model is there while it loads, from 0 to 1. */
  #loaded = 1;

  constructor() {
    super();
    this.#showTheme();
  }

  /** Takes over changed members and stores them. */
  set(change: Partial<Choice>): void {
    this.choice = { ...this.choice, ...change };
    try {
      localStorage.setItem(PLACE, JSON.stringify(this.choice));
    } catch {
      // A browser that stores nothing keeps the choice until the page goes.
    }
    this.#showTheme();
    this.changed();
  }

  /** Keeps a key in memory. */
  useKey(key: string): void {
    this.#key = key.trim();
    this.changed();
  }

  /** Forgets the key. */
  forgetKey(): void {
    this.useKey("");
  }

  /** What may be shown of the key: its last four characters, or nothing. */
  get keyHint(): string {
    return this.#key ? `••••${this.#key.slice(-4)}` : "";
  }

  /** Whether the chosen provider lacks its key. A provider behind a proxy of one's own needs none. */
  get needsKey(): boolean {
    return this.choice.provider === "anthropic" && !this.#key && !this.choice.baseUrl;
  }

  /** The provider in words. */
  get label(): string {
    const { provider, model } = this.choice;
    if (provider === "local") return this.#loaded < 1 ? `${LOCAL_MODEL}, loading: ${Math.round(100 * this.#loaded)} %` : LOCAL_MODEL;
    return provider === "offline" ? "Offline model" : model || DEFAULT_MODEL;
  }

  /** The host that sees the conversation, or null when nothing leaves the page. */
  get destination(): string | null {
    if (this.choice.provider !== "anthropic") return null;
    try {
      return new URL(this.choice.baseUrl || ANTHROPIC_URL).host;
    } catch {
      return this.choice.baseUrl;
    }
  }

  /** What `startAgent` and `configureAgent` take, of an agent for whose tools these capabilities are needed. */
  config(capabilities: string[]): AgentConfig {
    const { processType, withheld, policies } = this.choice;
    if (this.choice.provider === "local") return { provider: this.#provider(), instructions: LOCAL_INSTRUCTIONS, capabilities: [] };
    return {
      provider: this.#provider(),
      instructions: INSTRUCTIONS,
      ...(processType ? { processType } : {}),
      ...(withheld.length ? { capabilities: capabilities.filter((name) => !withheld.includes(name)) } : {}),
      permissions: { tools: policies },
    };
  }

  #provider(): Provider {
    const { provider, model, baseUrl, pace } = this.choice;
    if (provider === "offline") return offline({ delayMs: pace });
    if (provider === "local") return localModel((part) => ((this.#loaded = part), this.changed()));
    return {
      kind: "anthropic",
      ...(this.#key ? { apiKey: this.#key } : {}),
      ...(baseUrl ? { baseUrl } : {}),
      model: model || DEFAULT_MODEL,
    };
  }

  /** Whether Enter sends on this device. */
  get enterSends(): boolean {
    if (this.choice.enter !== "device") return this.choice.enter === "always";
    return !matchMedia("(hover: none) and (pointer: coarse)").matches;
  }

  #showTheme(): void {
    const { theme } = this.choice;
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }
}

function read(): Choice {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    const choice: Choice = { ...DEFAULTS, ...(typeof stored === "object" ? stored : {}) };
    return choice.provider === "local" && !hasLocalModel ? { ...choice, provider: DEFAULTS.provider } : choice;
  } catch {
    return { ...DEFAULTS };
  }
}
