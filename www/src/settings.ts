// What a person chose: provider, model, address, what the agent may do, the look. Kept in localStorage; a key never is.
//
// Decides: which provider an agent starts with, and under which rules. Promises: a key lives in this object's memory, goes to
// the address of the service that it was entered for only, and is gone with the page or with `forgetKey`. Leaves to others: the
// form (`shell/settings-dialog.ts`), what a service needs (`services.ts`).
import type { AgentConfig, Budget, ModelApi, ModelFacts, Provider } from "lodger";
import { offline } from "lodger/offline";
import { hasLocalModel, LOCAL_MODEL, localModel } from "./local-model.ts";
import { Models } from "./models.ts";
import { kindOf, service, type Service } from "./services.ts";
import { Changing } from "./shell/changing.ts";

/** What was entered for a service; empty: its own. */
export interface Entered {
  model: string;
  baseUrl: string;
}

/** What is stored. */
export interface Choice {
  /** `offline`, `local`, or the id of a service. */
  provider: string;
  /** By the id of a service. */
  entered: Record<string, Entered>;
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
  /** Whether Enter sends; `device`: everywhere but on touch screens. */
  enter: "device" | "always" | "never";
}

/** What becomes of a call. */
export type Verdict = "allow" | "ask" | "deny";
/** The kinds of agent that have a name. */
export type ProcessType = NonNullable<AgentConfig["processType"]>;

const DEFAULTS: Choice = { provider: "offline", entered: {}, pace: 24, processType: "", withheld: [], policies: {}, budgets: { run: {}, session: {} }, theme: "system", enter: "device" };
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

  /** The service that is chosen; undefined: nothing leaves the page. */
  get service(): Service | undefined {
    return service(this.choice.provider);
  }

  /** What was entered for a service. */
  entered(id: string, { entered } = this.choice): Entered {
    return { model: "", baseUrl: "", ...entered[id] };
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
    const { service } = this;
    return service?.key === "needed" && !this.#keys.has(service.account) && !this.entered(service.id).baseUrl;
  }

  /** The model that is chosen; empty where no service is. */
  get model(): string {
    const { service } = this;
    return service ? this.entered(service.id).model || (service.model ?? "") : "";
  }

  /** What is known of the model that is chosen. */
  get facts(): ModelFacts | undefined {
    return this.service && this.models.facts(this.service.id, this.model);
  }

  /** The provider in words. */
  get label(): string {
    if (this.choice.provider === "local") return this.#loaded < 1 ? `${LOCAL_MODEL}, loading: ${Math.round(100 * this.#loaded)} %` : LOCAL_MODEL;
    return this.service ? this.model || this.service.name : "Offline model";
  }

  /** The host that sees the conversation, or null when nothing leaves the page. */
  get destination(): string | null {
    const { service } = this;
    if (!service) return null;
    const url = this.entered(service.id).baseUrl || (service.url ?? "");
    return URL.canParse(url) ? new URL(url).host : url;
  }

  /** What `startAgent` and `configureAgent` take, of an agent for whose tools these capabilities are needed. */
  config(capabilities: string[]): AgentConfig {
    const { processType, withheld, policies, budgets } = this.choice;
    if (this.choice.provider === "local") return { provider: this.#provider(), instructions: LOCAL_INSTRUCTIONS, capabilities: [], budgets };
    return {
      provider: this.#provider(),
      instructions: INSTRUCTIONS,
      ...(processType ? { processType } : {}),
      ...(withheld.length ? { capabilities: capabilities.filter((name) => !withheld.includes(name)) } : {}),
      permissions: { tools: policies },
      budgets,
    };
  }

  #provider(): Provider {
    const { provider, pace } = this.choice;
    if (provider === "local") return localModel((part) => ((this.#loaded = part), this.changed()));
    return this.service ? this.api(this.service, this.entered(this.service.id)) : offline({ delayMs: pace });
  }

  /** A service as the package takes it, with its key, or with one that is just being entered. */
  api(service: Service, { model, baseUrl }: Entered, typed = ""): ModelApi {
    const apiKey = typed.trim() || this.#keys.get(service.account);
    const named = model || service.model;
    return { ...kindOf(service), ...(apiKey ? { apiKey } : {}), ...(baseUrl ? { baseUrl } : {}), ...(named ? { model: named } : {}) };
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
    const known = choice.provider === "offline" || (choice.provider === "local" && hasLocalModel) || service(choice.provider);
    return known ? choice : { ...choice, provider: DEFAULTS.provider };
  } catch {
    return { ...DEFAULTS };
  }
}
