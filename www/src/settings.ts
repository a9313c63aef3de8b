// What a person chose: provider, model, address, what the agent may do, the look. Kept in localStorage, for all tabs; a key never
// is.
//
// Decides: which provider an agent starts with, and under which rules, and how a choice is told. Promises: a key lives in this object's memory and is gone
// with the page or with `forgetKey`. It goes only to the address of the service that it was entered for. Leaves to others: the
// form (`shell/settings-dialog.ts`), what a service needs (`services.ts`).
import type { AgentConfig, Budget, ModelApi, ModelFacts, Provider, UnchosenApi } from "lodger";
import { offline } from "lodger/offline";
import { hasLocalModel, LOCAL_FACTS, LOCAL_MODEL, localModel } from "./local-model.ts";
import { Models } from "./models.ts";
import { kindOf, service, type Service } from "./services.ts";
import { Changing } from "./shell/changing.ts";

/** What was entered for a service; empty: its own. */
export interface Entered {
  model: string;
  baseUrl: string;
  /** The person allows that this address is called without encryption. */
  plain: boolean;
}

/** Who answers by a choice, and where the words go. */
export interface Answerer {
  /** `offline`, `local`, or the id of a service. */
  id: string;
  /** The service; undefined: nothing leaves the page. */
  service: Service | undefined;
  /** In words. */
  label: string;
  /** The host that sees the conversation, or null when nothing leaves the page. */
  destination: string | null;
  /** It goes there without encryption, over a network. */
  plain: boolean;
  /** What is known of the model. */
  facts: ModelFacts | undefined;
}

/** What is stored. */
export interface Choice {
  /** `offline`, `local`, or the id of a service. */
  provider: string;
  /** By the id of a service. */
  entered: Record<string, Partial<Entered>>;
  /** Milliseconds between the words of the offline model. */
  pace: number;
  theme: "system" | "light" | "dark";
  /** What kind of agent it is; empty: one that has all tools. */
  processType: ProcessType | "";
  /** The capabilities that it does not hold. */
  withheld: string[];
  /** Rules for single tools; the others go by what they are. */
  policies: Record<string, Verdict>;
  /** What an answer and the whole conversation may use up. */
  budgets: { run: Budget; session: Budget };
  /** Whether things are remembered from one conversation to the next. */
  memory: boolean;
  /** Whether the provider may search the web by itself, where it can. */
  search: boolean;
  /** Whether Enter sends; `device`: everywhere but on touch screens. */
  enter: "device" | "always" | "never";
}

/** What becomes of a call. */
export type Verdict = "allow" | "ask" | "deny";
/** The kinds of agent that have a name. */
export type ProcessType = NonNullable<AgentConfig["processType"]>;

const DEFAULTS: Choice = { provider: "offline", entered: {}, pace: 24, processType: "", withheld: [], policies: {}, budgets: { run: {}, session: {} }, memory: false, search: false, theme: "system", enter: "device" };
const PLACE = "lodger-workbench.settings";
const INSTRUCTIONS =
  "You help a person with the pages of their workspace. Look things up with the tools before you answer, answer shortly in Markdown, and write a page's title as [[Title]].";
/** A small model reads slowly and understands little: it gets no tools. */
const LOCAL_INSTRUCTIONS = "You are a helpful assistant. Answer shortly.";

/** The settings of this browser. */
export class Settings extends Changing {
  /** The stored part. */
  choice: Choice = read();
  /** What is known of models. */
  readonly models = new Models();
  /** By account. */
  readonly #keys = new Map<string, string>();
  /** How much of the local model is there while it loads, from 0 to 1. */
  #loaded = 1;

  constructor() {
    super();
    this.models.addEventListener("change", () => this.changed());
    this.#showTheme();
    // Another tab has changed them: `adopted`, before `change`.
    addEventListener("storage", ({ key }) => {
      if (key !== PLACE) return;
      this.choice = read();
      this.#showTheme();
      this.dispatchEvent(new Event("adopted"));
      this.changed();
    });
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

  /** What was entered for a service. */
  entered(id: string, { entered } = this.choice): Entered {
    return { model: "", baseUrl: "", plain: false, ...entered[id] };
  }

  /** Keeps a key in memory. */
  useKey(account: string, key: string): void {
    const trimmed = key.trim();
    if (trimmed) this.#keys.set(account, trimmed);
    else this.#keys.delete(account);
    this.changed();
  }

  /** Forgets a key. */
  forgetKey(account: string): void {
    this.useKey(account, "");
  }

  /** What may be shown of a key: its last four characters, or nothing. */
  keyHint(account: string): string {
    const key = this.#keys.get(account);
    return key ? `••••${key.slice(-4)}` : "";
  }

  /** Whether the chosen provider lacks its key. A provider behind a proxy of one's own needs none. */
  get needsKey(): boolean {
    const asked = service(this.choice.provider);
    return asked?.key === "needed" && !this.#keys.has(asked.account) && !this.entered(asked.id).baseUrl;
  }

  /** Who answers by a choice. Whether an agent has taken it, only the agent knows (`Agent.answerer`). */
  answerer(choice: Choice): Answerer {
    const { provider: id } = choice;
    const asked = service(id);
    if (!asked) {
      const loading = this.#loaded < 1 ? `, loading: ${Math.round(100 * this.#loaded)} %` : "";
      return { id, service: asked, label: id === "local" ? LOCAL_MODEL + loading : "Offline model", destination: null, plain: false, facts: undefined };
    }
    const entered = this.entered(id, choice);
    const model = entered.model || (asked.model ?? "");
    const url = entered.baseUrl || (asked.url ?? "");
    return { id, service: asked, label: model || asked.name, destination: host(url), plain: isPlain(url), facts: this.models.facts(id, model) };
  }

  /**
   * What `startAgent` and `configureAgent` take by a choice, of an agent for whose tools these capabilities are needed.
   * `typed`: a key for its service, in place of the one there is.
   */
  config(capabilities: string[], choice: Choice, typed = ""): AgentConfig {
    const { processType, withheld, policies, budgets, memory, search } = choice;
    // Its tools come with it, so that their capability may not be known before.
    const held = [...new Set([...capabilities, ...(memory ? ["Memory"] : [])])].filter((name) => !withheld.includes(name));
    const provider = this.#provider(choice, typed);
    const searches = search && service(choice.provider)?.searches;
    if (choice.provider === "local") return { provider, instructions: LOCAL_INSTRUCTIONS, capabilities: [], budgets, memory: false, serverTools: [], models: LOCAL_FACTS };
    return {
      provider,
      instructions: INSTRUCTIONS,
      ...(processType ? { processType } : {}),
      ...(withheld.length ? { capabilities: held } : {}),
      permissions: { tools: policies },
      budgets,
      memory,
      serverTools: searches ? ["web_search"] : [],
    };
  }

  #provider(choice: Choice, typed: string): Provider {
    const { provider, pace } = choice;
    if (provider === "local") return localModel((part) => ((this.#loaded = part), this.changed()));
    const asked = service(provider);
    // Whether it needs a model that nobody has named is told by the first run.
    return asked ? (this.api(asked, this.entered(asked.id, choice), typed) as ModelApi) : offline({ delayMs: pace });
  }

  /** A service as the package takes it, with its key, or with one that is just being entered. */
  api(service: Service, { model, baseUrl, plain }: Entered, typed = ""): UnchosenApi {
    const apiKey = typed.trim() || this.#keys.get(service.account);
    const named = model || service.model;
    const address = baseUrl ? { baseUrl, ...(plain && isPlain(baseUrl) ? { allowHttp: true } : {}) } : {};
    return { ...kindOf(service), ...(apiKey ? { apiKey } : {}), ...address, ...(named ? { model: named } : {}) };
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

/** The host of an address, or what was entered if it is none. */
export function host(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** Whether what goes there can be read on its way: the address has `http:`, and is not this machine. */
export function isPlain(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

function read(): Choice {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "{}");
    const choice: Choice = { ...DEFAULTS, ...(typeof stored === "object" ? stored : {}) };
    const known = choice.provider === "offline" || (choice.provider === "local" && hasLocalModel) || service(choice.provider);
    return known ? choice : { ...choice, provider: DEFAULTS.provider };
  } catch {
    return { ...DEFAULTS };
  }
}
