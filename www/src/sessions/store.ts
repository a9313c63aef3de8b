// The sessions as the workbench sees them: who they are, how they stand, what may be done with each.
//
// Decides: what is read again and when, what comes first, what counts as unseen, and which session is shown. Promises: a
// refused command is a problem that is shown. What changes in one session reads that one only. A last line is read for
// the rows that are looked at, one at a time. Leaves to others: drawing (`list.ts`), the journal of one
// (`../journal/`), and all rules about sessions, which are the package's.
import type { Activity, ErrorInfo, HmacStatus, Message, SessionState, Snapshot, Usage } from "lodger";
import type { Agent } from "../agent.ts";
import type { Question } from "../shell/ask-dialog.ts";
import { Changing } from "../shell/changing.ts";
import { errorInfo, sentence } from "../words.ts";
import { Activities } from "./activity.ts";
import { Chosen, MAIN, Unseen } from "./places.ts";
import { active, left, MOODS, nameOf, standing, wayOn, type Action, type Mood, type WayOn } from "./words.ts";

/** One session of the list. */
export interface Listed {
  id: string;
  name: string;
  state: SessionState;
  verdict: HmacStatus;
  mood: Mood;
  /** What goes on in it, where an agent runs, its row is in view, and it is known. */
  activity: Activity | undefined;
  /** When something last happened in it. */
  at: number;
  /** What was said last; null: not read yet. */
  line: string | null;
}

/** How soon after an event its session is read again: events come in groups. */
const SOON = 120;
/** A list is not read again within this time without a reason. */
const FRESH = 5_000;
const LINE = 160;
/** How a file of each format ends. */
const ENDS = { journal: "jsonl", markdown: "md", json: "json" } as const;

/** What a person is told in a passing line. */
export type Tell = (notice: { text: string; undo?: () => Promise<unknown> }) => void;

/** The sessions of one workspace. */
export class SessionStore extends Changing {
  /** Null until first read. In the order of the list. */
  all: readonly Listed[] | null = null;
  /** What was refused last, until the next command. */
  problem: ErrorInfo | null = null;
  /** What is being done; empty: nothing. */
  busy = "";
  /** Asks the person; null: no. */
  ask: (question: Question) => Promise<string | null> = async () => null;
  readonly #sessions = new Map<string, { state: SessionState; verdict: HmacStatus }>();
  readonly #asks = new Map<string, Set<string>>();
  readonly #works = new Set<string>();
  readonly #lines = new Map<string, { of: string; text: string }>();
  readonly #unseen: Unseen;
  readonly #activities: Activities;
  /** When a damaged session had changed last, as all of it was read: it is read again once that is another time. */
  readonly #verified = new Map<string, string>();
  /** Tabs tell each other that a record has changed without a run; of runs all hear anyway. */
  readonly #tabs: BroadcastChannel;
  /** What a lost page left is not brought back now. */
  #leaves = false;
  readonly #chosen: Chosen;
  readonly #soon = new Set<string>();
  /** Those whose journals were judged in this page. */
  readonly #judged = new Set<string>();
  /** Rows that are looked at and whose last line is not known. */
  #wanted: string[] = [];
  /** Whether somebody searches. */
  #sought = false;
  #reading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #refreshing: Promise<void> | null = null;
  #read = -Infinity;
  #snapshot: Snapshot | null = null;

  constructor(
    readonly agent: Agent,
    private readonly tell: Tell,
  ) {
    super();
    const { workspace } = agent;
    this.#unseen = new Unseen(workspace.name, () => {
      // What a hidden tab calls new may be in view here.
      this.#see(agent.session);
      this.#sort();
    });
    this.#chosen = new Chosen(workspace.name);
    this.#activities = new Activities(workspace, () => agent.running, () => this.#sort());
    agent.isBenched = () => this.current?.state.suspended === true;
    agent.select(this.#chosen.id);
    this.#see(agent.session);
    agent.addEventListener("change", () => this.#shown());
    this.#tabs = new BroadcastChannel(`lodger-workbench.${workspace.name}`);
    this.#tabs.addEventListener("message", ({ data }) => this.#later(String(data)));
    agent.onSessionChanged = (id) => {
      this.#later(id);
      this.#tabs.postMessage(id);
    };
    workspace.addEventListener("agent:notice", ({ detail: { kind, sessionId } }) => {
      if (kind !== "damaged" || sessionId === undefined) return;
      this.#later(sessionId);
      // The one that is shown says so itself.
      if (sessionId !== agent.session) this.tell({ text: `“${this.of(sessionId)?.name ?? sessionId}” is damaged. Open it to see what can be done.` });
    });
    workspace.addEventListener("agent:permission-required", ({ detail }) => {
      const { sessionId = MAIN, requestId } = detail;
      this.#asks.set(sessionId, (this.#asks.get(sessionId) ?? new Set()).add(requestId));
      this.#sort();
    });
    workspace.addEventListener("agent:permission-resolved", ({ detail }) => {
      this.#asks.get(detail.sessionId ?? MAIN)?.delete(detail.requestId);
      this.#sort();
    });
    workspace.addEventListener("agent:lifecycle", ({ detail }) => {
      const { sessionId = MAIN, phase, parentRunId } = detail;
      if (parentRunId !== undefined) return;
      if (phase === "start") this.#works.add(sessionId);
      else {
        this.#works.delete(sessionId);
        this.#asks.delete(sessionId);
        if (sessionId !== agent.session || document.hidden) this.#unseen.set(sessionId, true);
      }
      this.#sort();
      this.#later(sessionId);
    });
    workspace.addEventListener("agent:session-completed", ({ detail }) => this.#heard(detail.sessionId ?? MAIN, detail.text));
    const there = (): boolean => agent.lifecycle !== "Stopped" && agent.lifecycle !== "Starting";
    let was = there();
    // No event tells of an agent in another tab, only how things stand from here on.
    agent.addEventListener("change", () => {
      if (was === there()) return;
      was = there();
      this.#activities.again();
      void this.refresh();
    });
    document.addEventListener("visibilitychange", () => document.hidden || this.#see(agent.session));
    // Another tab may have changed something meanwhile.
    addEventListener("focus", () => performance.now() - this.#read > FRESH && void this.refresh());
    void this.refresh().then(() => this.#judge());
  }

  /** The session that is shown, once it is known. */
  get current(): Listed | undefined {
    return this.of(this.agent.session);
  }

  /** Whether what is stored of the session that is shown is not what was written. */
  get damaged(): boolean {
    const { agent, current } = this;
    return !agent.busy && (current?.verdict === "tampered" || agent.snapshot.error?.code === "corrupt");
  }

  /** What is needed before the session that is shown takes a message; empty: nothing. The main conversation goes on by itself. */
  get needed(): string {
    const { current } = this;
    if (this.damaged) return "This conversation is damaged";
    const way = current && !this.agent.busy ? stillOf(current) : null;
    return way ? `${way.label} this session first` : "";
  }

  of(id: string): Listed | undefined {
    return this.all?.find((one) => one.id === id);
  }

  /** How many sessions besides the one that is shown wait for the person. */
  get waiting(): number {
    return [...this.#asks].filter(([id, asks]) => id !== this.agent.session && asks.size > 0).length;
  }

  /** Those that a lost page left in the middle of a run, as long as nobody has said that they stay so. */
  get left(): readonly Listed[] {
    return this.#leaves ? [] : (this.all ?? []).filter(({ state, verdict }) => left(state) && verdict !== "tampered");
  }

  /** Looks at what goes on in a session, until the function that this gives is called. */
  watch(id: string): () => void {
    return this.#activities.watch(id);
  }

  /** Those whose name, id, operator, status or last line has all these words. */
  find(query: string): readonly Listed[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.all ?? [];
    if (words.length === 0) return all;
    return all.filter(({ id, name, state, mood, line }) => {
      const text = `${name}\n${id}\n${state.operator_subject}\n${state.status}\n${standing(state.status, mood).word}\n${line ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  /** Shows a session. */
  select(id: string): void {
    this.#chosen.id = id;
    this.agent.select(id);
    this.#see(id);
    this.#judge();
    this.dispatchEvent(new Event("show"));
  }

  /** The one above or below in the list. */
  step(by: number): void {
    const all = this.all ?? [];
    const next = all[all.findIndex(({ id }) => id === this.agent.session) + by];
    if (next) this.select(next.id);
  }

  /** Reads all of them again; calls that come meanwhile are joined. */
  refresh(): Promise<void> {
    return (this.#refreshing ??= this.#list().finally(() => (this.#refreshing = null)));
  }

  async #list(): Promise<void> {
    try {
      const before = new Set(this.#sessions.keys());
      const { sessions } = this.agent.workspace;
      let listed = await sessions.list({ withVerification: true });
      // Another tab may have made one whole: only a reading of all of it takes the verdict back here.
      const found = listed.filter(({ session: { id, damaged, updated_at } }) => damaged && this.#verified.get(id) !== updated_at);
      if (found.length) {
        for (const { session } of found) this.#verified.set(session.id, session.updated_at);
        await Promise.allSettled(found.map(({ session }) => sessions.verify(session.id)));
        listed = await sessions.list({ withVerification: true });
      }
      this.#read = performance.now();
      // What has begun or gone here while it was read is not in it, or still is.
      const begun = [...this.#sessions].filter(([id]) => !before.has(id));
      const there = listed.filter(({ session }) => !before.has(session.id) || this.#sessions.has(session.id));
      const stood = (id: string): string => `${this.#sessions.get(id)?.state.status} ${this.#sessions.get(id)?.state.updated_at}`;
      const past = new Map([...this.#sessions.keys()].map((id) => [id, stood(id)]));
      this.#sessions.clear();
      for (const { session, hmac_status } of there) this.#sessions.set(session.id, { state: session, verdict: hmac_status });
      for (const [id, state] of begun) this.#sessions.set(id, state);
      for (const [id, before] of past) if (before !== stood(id)) this.#activities.changed(id);
      // One that another tab has removed, or that somebody else's browser had.
      if (this.agent.session !== MAIN && !this.#sessions.has(this.agent.session)) this.select(MAIN);
      this.#sort();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Begins a session, and shows it. */
  launch(name: string): Promise<boolean> {
    const displayName = name.trim();
    const options = displayName ? { displayName } : {};
    return this.#do("Launching", () => this.agent.withAgent(async () => this.#begun(await this.#sessionsOf.launch(options))));
  }

  rename(id: string, name: string): Promise<boolean> {
    return this.#do("Renaming", async () => this.#take(await this.#sessionsOf.rename(id, name.trim())));
  }

  stop(id: string): Promise<boolean> {
    return this.#do("Stopping", async () => this.#take(await this.#sessionsOf.stop(id)));
  }

  /** The recommended way on for a session that stands still. */
  goOn(id: string, action: Action): Promise<boolean> {
    if (action === "play") return this.play([id]);
    const { restart, recover } = this.#sessionsOf;
    return this.#do(action === "restart" ? "Restarting" : "Recovering", () => this.agent.withAgent(async () => this.#take(action === "restart" ? await restart(id) : await recover(id, { action }))));
  }

  /** Puts a session aside, or all. */
  async bench(target: string): Promise<boolean> {
    let suspended: string[] = [];
    const done = await this.#do("Benching", () => this.agent.withAgent(async () => ({ suspended } = await this.#sessionsOf.bench(target))));
    await this.refresh();
    if (suspended.length === 0) return done;
    const text = suspended.length === 1 ? `“${this.of(suspended[0] ?? "")?.name ?? ""}” is benched.` : `${suspended.length} sessions are benched.`;
    this.tell({ text, undo: () => this.play(suspended) });
    return done;
  }

  /** Takes these up again, that were put aside or lost with their page. */
  play(ids: readonly string[]): Promise<boolean> {
    return this.#do("Playing", () => this.agent.withAgent(() => this.#playEach(ids)));
  }

  /** Takes up all that was put aside or lost. */
  playAll(): Promise<boolean> {
    return this.#do("Playing", () => this.agent.withAgent(async () => (await this.#sessionsOf.play("all")).forEach((state) => this.#take(state))));
  }

  /** What a lost page left stays as it is. */
  leave(): void {
    this.#leaves = true;
    this.changed();
  }

  async #playEach(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const [state] = await this.#sessionsOf.play(id).catch((error: unknown) => {
        // Another tab was quicker.
        if (errorInfo(error).code === "invalid_transition") return [];
        throw error;
      });
      if (state) this.#take(state);
    }
  }

  /** Keeps a session in less space. Its next message opens it again. */
  archive(id: string): Promise<boolean> {
    return this.#do("Archiving", async () => {
      this.#take(await this.#sessionsOf.archive(id));
      this.tell({ text: `“${this.of(id)?.name ?? id}” is archived. Write in it to bring it back.` });
    });
  }

  /** Takes a session away, with ten seconds to think again. */
  async remove(id: string): Promise<boolean> {
    const name = this.of(id)?.name ?? id;
    // What is damaged is not kept for the undo.
    const final = this.of(id)?.verdict === "tampered" || (id === this.agent.session && this.damaged);
    if (final && (await this.ask({ title: `Remove “${name}”?`, text: "It goes at once and for good, with what can still be read of it.", yes: "Remove", danger: true })) === null) return false;
    const gone = await this.#do("Removing", async () => {
      await this.#sessionsOf.remove(id);
      this.#sessions.delete(id);
      if (this.agent.session === id) this.select(MAIN);
    });
    const text = `“${name}” is removed.`;
    if (gone) this.tell(final ? { text } : { text, undo: () => this.#do("Bringing it back", async () => this.#begun(await this.#sessionsOf.undoRemove(id))) });
    return gone;
  }

  /** Takes over what a file holds, and shows it. */
  import(file: Blob): Promise<boolean> {
    return this.#do("Importing", async () => {
      const state = await this.#apart(await this.#sessionsOf.import(file));
      this.#begun(state);
      this.tell({ text: `“${nameOf(state)}” is imported.` });
    });
  }

  /** Begins another session with what this one says up to an entry. */
  fork(id: string, at?: number): Promise<boolean> {
    return this.#do("Forking", () => this.agent.withAgent(async () => this.#begun(await this.#apart(await this.#sessionsOf.fork(id, at === undefined ? {} : { at })))));
  }

  /** Makes a whole session of what can be read of a damaged one: in its place, or beside it. */
  async salvage(id: string, replace: boolean): Promise<boolean> {
    // A second press comes while the first one is at work.
    if (this.busy) return false;
    return this.#do("Making it whole", async () => {
      const state = await this.#sessionsOf.salvage(id, { replace });
      if (replace) await this.check(id);
      else this.#begun(await this.#apart(state));
      // A list of another tab would still have it as damaged.
      this.#tabs.postMessage(id);
      this.tell({ text: `“${this.of(state.id)?.name ?? state.id}” goes on with what can still be read.` });
    });
  }

  /** Saves a session as a file; of a damaged one as it is stored. */
  async save(id: string, format: keyof typeof ENDS = "journal"): Promise<void> {
    try {
      const blob = await this.#sessionsOf.export(id, { format });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${(this.of(id)?.name ?? id).replace(/[^\p{L}\p{N} _-]+/gu, "").trim() || id}.${ENDS[format]}`;
      link.click();
      // The browser has begun to save it by then.
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads how a session stands, and what its signature says. */
  async check(id: string): Promise<void> {
    try {
      const { session, hmac_status } = await this.#sessionsOf.status(id);
      this.#sessions.set(id, { state: session, verdict: hmac_status });
      this.#activities.changed(id);
    } catch (error) {
      const { code } = errorInfo(error);
      if (code === "session_not_found") this.#sessions.delete(id);
      else if (code === "corrupt") return void (await this.refresh());
      else this.#fail(error);
    }
    this.#sort();
  }

  /** What a row that is looked at wants to know: what was said last in its session. */
  want(id: string): void {
    const listed = this.of(id);
    if (!listed || listed.line !== null || listed.verdict === "tampered" || this.#wanted.includes(id)) return;
    // The rows that were looked at before are gone by now.
    this.#wanted = [...this.#wanted.slice(-30), id];
    if (!this.#reading) void this.#readLines();
  }

  /** Who searches looks for what was said in any session: all last lines are read, as long as that goes on. */
  seek(on: boolean): void {
    this.#sought = on;
    if (on && !this.#reading) void this.#readLines();
  }

  /** A list judges records alone: of the session that is shown the whole journal is judged, once. */
  #judge(): void {
    const { session } = this.agent;
    if (this.#judged.has(session)) return;
    this.#judged.add(session);
    this.#later(session);
  }

  /** Takes the last refusal away. */
  dismiss(): void {
    this.problem = null;
    this.changed();
  }

  get #sessionsOf(): Agent["workspace"]["sessions"] {
    return this.agent.workspace.sessions;
  }

  #begun(state: SessionState): void {
    this.#take(state);
    this.select(state.id);
  }

  /** What is made of another session has its name: where that is here too, the number of its id tells them apart. */
  async #apart(state: SessionState): Promise<SessionState> {
    const { id, display_name } = state;
    const [, of = id, number = ""] = /^(.*)-(\d+)$/.exec(id) ?? [];
    const name = of === MAIN ? nameOf({ id: of, display_name }) : display_name;
    const taken = [...this.#sessions.values()].some(({ state }) => state.id !== id && nameOf(state) === name);
    // A name has 64 characters at most.
    return name && number && taken ? this.#sessionsOf.rename(id, `${name.slice(0, 63 - number.length).trimEnd()} ${number}`) : state;
  }

  #take(state: SessionState): void {
    const verdict = this.#sessions.get(state.id)?.verdict ?? "verified";
    this.#sessions.set(state.id, { state, verdict });
    this.#sort();
    // What its signature says is known by looking.
    this.#later(state.id);
  }

  async #do(what: string, work: () => Promise<unknown>): Promise<boolean> {
    this.problem = null;
    this.busy = what;
    this.changed();
    try {
      await work();
      return true;
    } catch (error) {
      this.problem = errorInfo(error);
      return false;
    } finally {
      this.busy = "";
      this.#sort();
      // No session is called so: all are read again.
      this.#tabs.postMessage("");
    }
  }

  #fail(error: unknown): void {
    this.problem = errorInfo(error);
    this.changed();
  }

  /** Reads a session again in a moment, once for all that happens until then. */
  #later(id: string): void {
    this.#soon.add(id);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const ids = [...this.#soon];
      this.#soon.clear();
      const known = ids.filter((one) => this.#sessions.has(one));
      // One that nobody here has launched: other code of the page has, and maybe more.
      const all = known.length < ids.length ? this.refresh() : Promise.resolve();
      void all.then(() => known.forEach((one) => void this.check(one)));
    }, SOON);
  }

  #see(id: string): void {
    if (!document.hidden && this.#unseen.set(id, false)) this.#sort();
  }

  /** The conversation that is shown has changed. */
  #shown(): void {
    const { snapshot, session } = this.agent;
    if (snapshot === this.#snapshot) return;
    const before = this.#snapshot;
    this.#snapshot = snapshot;
    const last = snapshot.messages[snapshot.messages.length - 1];
    // While text streams the line stays: it would only flicker.
    if (snapshot.status === "loading" || (before?.status === snapshot.status && before.messages.length === snapshot.messages.length)) return;
    this.#lines.set(session, { of: "shown", text: last ? lineOf(last) : "" });
    const asks = new Set(snapshot.permissions.map(({ requestId }) => requestId));
    if (asks.size) this.#asks.set(session, asks);
    else this.#asks.delete(session);
    this.#sort();
  }

  #heard(id: string, text: string): void {
    this.#lines.set(id, { of: "shown", text: short(text) });
    this.#sort();
  }

  async #readLines(): Promise<void> {
    this.#reading = true;
    for (let id = this.#next(); id !== undefined; id = this.#next()) {
      const of = this.#sessions.get(id)?.state.updated_at ?? "";
      const [last] = await this.agent.workspace.history({ sessionId: id, limit: 1 }).catch(() => []);
      if (this.#sessions.has(id)) this.#lines.set(id, { of, text: last ? lineOf(last) : "" });
      this.#sort();
      // Each reads a journal: the page comes first.
      await new Promise((go) => setTimeout(go, 30));
    }
    this.#reading = false;
  }

  /** The session whose last line is read next: the row that was looked at last, then what a search does not know. */
  #next(): string | undefined {
    const unknown = ({ line, verdict }: Listed): boolean => line === null && verdict !== "tampered";
    return this.#wanted.pop() ?? (this.#sought ? this.all?.find(unknown)?.id : undefined);
  }

  #mood(id: string, state: SessionState, verdict: HmacStatus): Mood {
    // One that the agent works in goes on.
    if (verdict === "tampered" && !this.#works.has(id)) return "damaged";
    if (state.suspended) return "benched";
    if (this.#asks.get(id)?.size) return "asks";
    if (state.archived && !this.#works.has(id)) return "archived";
    if (!active(state) && state.status !== "stopped") return "failed";
    if (this.#unseen.has(id)) return "unseen";
    // What has begun before this page was opened, only its activity tells.
    if (this.#works.has(id) || this.#activities.of(id) === "streaming") return "works";
    return active(state) ? "idle" : "stopped";
  }

  #sort(): void {
    const listed = [...this.#sessions].map(([id, { state, verdict }]): Listed => {
      const known = this.#lines.get(id);
      const line = known && (known.of === "shown" || known.of === state.updated_at) ? known.text : null;
      return { id, name: nameOf(state), state, verdict, mood: this.#mood(id, state, verdict), activity: this.#activities.of(id), at: Date.parse(state.last_activity_at ?? state.updated_at), line };
    });
    const place = ({ mood }: Listed): number => MOODS.indexOf(mood);
    this.all = listed.sort((a, b) => place(a) - place(b) || b.at - a.at || (a.id < b.id ? -1 : 1));
    this.changed();
  }
}

/** What to do about a session that is shown and takes no messages. The main conversation goes on by itself, unless it is benched. */
export function stillOf({ id, state }: Listed): WayOn | null {
  return id === MAIN && !state.suspended ? null : wayOn(state);
}

/** What a session has used up, where anything has been counted. */
export function usageOf(state: SessionState): Usage | null {
  const { usage } = state;
  return usage && (usage.inputTokens || usage.outputTokens || usage.cost) ? usage : null;
}

function lineOf({ parts, role, error, status }: Message): string {
  const text = parts.findLast((part) => part.type === "text");
  if (text?.type === "text" && text.text.trim()) return `${role === "user" ? "You: " : ""}${short(text.text)}`;
  if (error) return sentence(error.message, true);
  const call = parts.findLast((part) => part.type === "tool-call");
  if (call?.type === "tool-call") return call.tool;
  return status === "interrupted" ? "Interrupted" : "";
}

/** One line of a text, without what only marks it up. */
function short(text: string): string {
  return text.slice(0, LINE * 4).replace(/[#*_`>|]+/g, "").replace(/\s+/g, " ").trim().slice(0, LINE);
}
