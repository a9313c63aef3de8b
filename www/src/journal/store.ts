// The journal of the session that is shown, read in pieces and followed while it grows.
//
// Decides: how much is read at once, and when it is read again. Promises: the page stays usable while ten thousand
// entries come. Only what is new is read of a journal that has grown. One whose conversation was cleared is read anew.
// One that is damaged says where it is. Leaves to others: what an entry means
// (`timeline.ts`).
import type { ErrorInfo, SessionEvent } from "lodger";
import type { Agent } from "../agent.ts";
import { MAIN } from "../sessions/places.ts";
import { Changing } from "../shell/changing.ts";
import { errorInfo } from "../words.ts";
import { Timeline } from "./timeline.ts";

/** Entries that are read in one go. */
const PIECE = 400;
/** How soon what happens is shown. */
const SOON = 300;

/** The journal of one session at a time. */
export class JournalStore extends Changing {
  timeline = new Timeline();
  problem: ErrorInfo | null = null;
  /** Whether there is more to come. */
  reading = false;
  /** Whether someone looks: else nothing is read. */
  #watched = false;
  #session = "";
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly agent: Agent) {
    super();
    const { workspace } = agent;
    for (const type of ["agent:lifecycle", "agent:tool-call", "agent:permission-required", "agent:permission-resolved", "agent:notice", "agent:session-started"] as const)
      workspace.addEventListener(type, (event: CustomEvent<{ sessionId?: string }>) => (event.detail.sessionId ?? MAIN) === agent.session && this.later());
    agent.addEventListener("change", () => this.#watched && this.#session !== agent.session && this.look());
  }

  /** Someone looks: reads what is there, and follows it. */
  look(): void {
    this.#watched = true;
    if (this.#session !== this.agent.session) {
      this.#session = this.agent.session;
      this.timeline = new Timeline();
      this.problem = null;
      this.changed();
    }
    void this.#read();
  }

  /** Nobody looks any more. */
  rest(): void {
    this.#watched = false;
  }

  /** Reads what is new in a moment. */
  later(): void {
    if (!this.#watched) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#read();
    }, SOON);
  }

  async #read(): Promise<void> {
    this.#again = true;
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#pieces(this.#session);
      }
      this.problem = null;
    } catch (error) {
      this.problem = errorInfo(error);
    } finally {
      this.reading = false;
      this.changed();
    }
  }

  async #pieces(session: string): Promise<void> {
    let { timeline } = this;
    let cleared = 0;
    for (let limit = PIECE; ; ) {
      let entries: SessionEvent[];
      try {
        entries = await this.agent.workspace.sessions.journal(session, { from: timeline.last + 1, limit });
      } catch (error) {
        if (limit === 1 || errorInfo(error).code !== "corrupt") throw error;
        limit = Math.ceil(limit / 4);
        continue;
      }
      if (session !== this.#session) {
        this.#again = true;
        return;
      }
      // What was cleared has lost its content: all of it is read again, once for each clearing.
      const last = entries.findLast(({ type }) => type === "cleared")?.seq ?? 0;
      if (last > cleared && timeline.quotes) {
        cleared = last;
        timeline = new Timeline();
        continue;
      }
      timeline.add(entries);
      this.timeline = timeline;
      this.changed();
      if (entries.length < limit) return;
      // The page comes first.
      await new Promise((go) => setTimeout(go));
    }
  }
}
