// What goes on in sessions that somebody looks at: asked again after each change, and when silence alone changes it.
//
// Decides when it is asked: while an agent runs, because else nothing goes on. Promises: one question at a time, over all
// sessions, with a pause behind it (each may read a journal). A stream asks every 300 ms, a quiet session not at all.
// Who looks away is not told any more. Leaves to others: what the words mean (the package), how they look (`row.ts`).
import type { Activity, Workspace } from "lodger";
import { MAIN } from "./places.ts";

const EVENTS = ["agent:message-chunk", "agent:tool-call", "agent:permission-required", "agent:permission-resolved", "agent:lifecycle"] as const;
/** Changes within this time are one; a later one does not put it off, or a stream would never be asked about. */
const TOGETHER = 300;
/** More than 30 whole seconds. */
const SILENCE = 31_000;
const PAUSE = 30;

/** The activity of the sessions of a workspace. */
export class Activities {
  readonly #watched = new Map<string, Watch>();
  /** Questions go one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly workspace: Workspace,
    private readonly running: () => boolean,
    private readonly tell: () => void,
  ) {
    for (const type of EVENTS) workspace.addEventListener(type, ({ detail }: CustomEvent<{ sessionId?: string }>) => this.changed(detail.sessionId));
  }

  /** What goes on there, where somebody looks and it is known. */
  of(session: string): Activity | undefined {
    return this.running() ? this.#watched.get(session)?.activity : undefined;
  }

  /** Looks at a session, until the function that this gives is called. */
  watch(session: string): () => void {
    const watch = new Watch(() => this.#ask(session, watch));
    this.#watched.set(session, watch);
    watch.ask();
    return () => {
      watch.end();
      if (this.#watched.get(session) === watch) this.#watched.delete(session);
    };
  }

  /** Something has happened in a session. */
  changed(session = MAIN): void {
    this.#watched.get(session)?.changed();
  }

  /** An agent runs, or no more. */
  again(): void {
    for (const watch of this.#watched.values()) {
      watch.activity = undefined;
      watch.changed();
    }
  }

  async #ask(session: string, watch: Watch): Promise<Activity | undefined> {
    if (!this.running()) return undefined;
    const asked = this.#turn.then(() => (watch.over ? undefined : this.workspace.sessions.activity(session).catch(() => undefined)));
    this.#turn = asked.then(() => new Promise((go) => setTimeout(go, PAUSE)));
    const activity = await asked;
    if (!watch.over && activity !== watch.activity) {
      watch.activity = activity;
      this.tell();
    }
    return activity;
  }
}

/** One session that is looked at. */
class Watch {
  activity: Activity | undefined;
  over = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** For the end of TOGETHER. */
  #waits = false;
  #asking = false;
  #again = false;

  constructor(private readonly question: () => Promise<Activity | undefined>) {}

  ask(): void {
    this.#waits = false;
    this.#asking = true;
    void this.question().then((activity) => {
      this.#asking = false;
      if (this.over) return;
      if (this.#again) this.#later(TOGETHER, true);
      else if (activity === "streaming") this.#later(SILENCE, false);
      this.#again = false;
    });
  }

  changed(): void {
    if (this.#asking) this.#again = true;
    else if (!this.#waits) this.#later(TOGETHER, true);
  }

  end(): void {
    this.over = true;
    clearTimeout(this.#timer);
  }

  #later(ms: number, soon: boolean): void {
    clearTimeout(this.#timer);
    this.#waits = soon;
    this.#timer = setTimeout(() => this.ask(), ms);
  }
}
