// Which provider took over in which run, and why: the package tells it while it happens, and a page that is opened again
// wants to say it, too.
//
// Decides how it is told. Promises: what is kept goes with the conversation, and has nothing of it, just who and why. Leaves
// to others: which model answered and what it cost (the message says that).
import type { ErrorInfo, Snapshot } from "lodger";
import { own } from "./own.ts";
import { serviceName } from "./services.ts";
import { placeOf } from "./sessions/places.ts";
import { cause } from "./words.ts";

/** Who answers now, who failed before, and why. */
interface Takeover {
  provider: string;
  before: string;
  why: string;
  delegate: boolean;
}

/** The takeovers of a session. */
export class Takeovers {
  readonly #place: string;
  /** By the run that a person sees. */
  #byRun: Record<string, Takeover[]>;
  /** Who answers in a run of this page that has changed it. */
  readonly #now = new Map<string, string>();
  /** There was a conversation. */
  #had = false;

  constructor(workspace: string, session: string) {
    this.#place = placeOf("takeovers", workspace, session);
    this.#byRun = read(this.#place);
  }

  /** Another provider answers from now on. `top`: the run that a person sees; `first`: who is asked first in each run. */
  add({ runId, top, provider, first, error }: { runId: string; top: string; provider: string; first: string; error: ErrorInfo | undefined }): void {
    const before = this.#now.get(runId) ?? first;
    this.#now.set(runId, provider);
    const takeover: Takeover = { provider: serviceName(provider), before: serviceName(before), why: error ? cause(error.code) : "failed", delegate: runId !== top };
    this.#byRun = { ...this.#byRun, [top]: [...(own(this.#byRun, top) ?? []), takeover] };
    this.#store();
  }

  /** In words, if one took over in this run. */
  of(run: string | undefined): string | undefined {
    const all = own(this.#byRun, run ?? "")?.map(({ provider, before, why, delegate }) => `${provider} took over${delegate ? " for a delegate" : ""} (${before}: ${why})`);
    return all && [...new Set(all)].join("; ");
  }

  /** Forgets them with the conversation. One that is not read yet has no messages either. */
  follow({ messages }: Snapshot): void {
    const cleared = this.#had && messages.length === 0;
    this.#had = messages.length > 0;
    if (!cleared) return;
    this.#byRun = {};
    this.#store();
  }

  #store(): void {
    try {
      if (Object.keys(this.#byRun).length) localStorage.setItem(this.#place, JSON.stringify(this.#byRun));
      else localStorage.removeItem(this.#place);
    } catch {
      // A browser that stores nothing tells it until the page goes.
    }
  }
}

function read(place: string): Record<string, Takeover[]> {
  try {
    return (JSON.parse(localStorage.getItem(place) ?? "{}") ?? {}) as Record<string, Takeover[]>;
  } catch {
    return {};
  }
}
