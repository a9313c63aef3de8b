// All sessions as a user interface lists them: one snapshot, which follows what happens in any tab.
//
// Decides what is read again, and when: a session after each thing that is told of it, all of them where another agent or
// operator is there. Decides which answers nobody has seen yet. Promises: a snapshot never changes, and an item that is as
// it was keeps its identity in the next one. Leaves to others: how a session stands (the host), and drawing.

/** By what a session has failed whose page went away in the middle of a run. */
const LOST = "stale_pid";
const FAILED = ["failed", "auth_expired", "provider_unavailable", "sandbox_failed"];
/** Tasks without a session are in no list. */
const isTask = (id) => id.startsWith("once_");

export class SessionsView {
  #ask;
  #shown;
  #changed;
  #share;
  #errorInfo;
  #known = new Map(); // id -> { session, hmac_status }
  #turns = new Map(); // id -> the last reading of that one alone
  #works = new Set(); // ids of those in which a run has begun and has not ended
  #asks = new Map(); // id -> the requests that wait for a person
  #seen;
  #items = []; // of the last snapshot
  #ready = false;
  #error;
  #reading = null;
  #again = false;

  /**
   * @param {EventTarget & { name: string }} workspace
   * @param {object} options
   * @param {(name: string, args?: object) => Promise<any>} options.ask a command of `sessions`
   * @param {() => string[]} options.shown the sessions whose conversations a person looks at now
   * @param {string} [options.key] how the keys begin under which the page may keep over a reload what was seen
   * @param {() => void} options.changed the next snapshot is another one
   * @param {object} shared what the client has too: a module that both imported would be one more request for every page
   */
  constructor(workspace, { ask, shown, key, changed }, { share, errorInfo, keepSeen }) {
    this.#ask = ask;
    this.#shown = shown;
    this.#changed = changed;
    this.#share = share;
    this.#errorInfo = errorInfo;
    this.#seen = new Seen(key, changed, keepSeen);
    const on = (type, then) => workspace.addEventListener(`agent:${type}`, ({ detail }) => detail.sessionId === undefined || isTask(detail.sessionId) || then(detail.sessionId, detail));
    on("session-changed", (id, { change }) => {
      if (change === "restored") this.#seen.restore(id);
      this.#read(id);
    });
    on("lifecycle", (id, { phase, parentRunId }) => parentRunId === undefined && this.#ran(id, phase === "start"));
    on("permission-required", (id, { requestId }) => this.#asked(id).add(requestId));
    on("permission-resolved", (id, { requestId }) => this.#asked(id).delete(requestId));
    // A call that is handed to the page waits for a person too, and no question tells of it.
    on("tool-call", (id, { status }) => status !== "started" && this.#known.get(id)?.session.waiting && this.#read(id));
    workspace.addEventListener("agent:status-changed", () => this.#works.forEach((id) => this.#read(id)));
    globalThis.document?.addEventListener("visibilitychange", () => this.look());
    this.look();
    this.again();
  }

  /** Reads all of them again: of another agent or operator nothing is known. Calls that come meanwhile are joined. */
  again() {
    this.#again = true;
    this.#reading ??= this.#readAll().finally(() => (this.#reading = null));
  }

  /** What a person looks at now has been seen, and this one. */
  look(id) {
    for (const seen of id === undefined ? this.#shown() : [id]) this.#seen.note(seen);
  }

  /** What a user interface draws. */
  snapshot() {
    const last = new Map(this.#items.map((item) => [item.id, item]));
    const items = [...this.#known.values()].map((one) => this.#share(last.get(one.session.id), this.#item(one)));
    items.sort(lastChangedFirst);
    const isSame = items.length === this.#items.length && items.every((item, at) => item === this.#items[at]);
    if (!isSame) this.#items = items;
    return { status: this.#error ? "error" : this.#ready ? "ready" : "loading", sessions: this.#items, ...(this.#error && { error: this.#error }) };
  }

  #item({ session, hmac_status }) {
    const { id, display_name, title, pid, waiting, last_activity_at: last } = session;
    const works = this.#works.has(id) || pid !== null;
    const needsYou = Boolean(this.#asks.get(id)?.size || (pid !== null && waiting));
    const changed = !works && (hmac_status === "tampered" || session.damaged !== undefined);
    const activity = changed ? "damaged" : needsYou ? "waiting" : works ? "working" : resting(session);
    // Where nothing was said, or not to its end, there is nothing to read.
    const unread = title !== undefined && !works && activity !== "held" && this.#seen.isBefore(id, Date.parse(last));
    return { id, title: display_name ?? title ?? id, activity, needsYou, unread, session, hmac_status };
  }

  #asked(id) {
    const asks = this.#asks.get(id) ?? new Set();
    this.#asks.set(id, asks);
    this.#read(id);
    this.#changed();
    return asks;
  }

  #ran(id, begins) {
    if (begins) this.#works.add(id);
    else {
      this.#works.delete(id);
      this.#asks.delete(id);
      this.look();
    }
    this.#changed();
    this.#read(id);
  }

  async #readAll() {
    while (this.#again) {
      this.#again = false;
      const turns = new Map(this.#turns);
      try {
        const listed = await this.#ask("list", { withVerification: true });
        const read = new Map(listed.map((one) => [one.session.id, one]));
        // What was read by itself meanwhile is newer.
        for (const [id, turn] of this.#turns) {
          if (turns.get(id) === turn) continue;
          if (this.#known.has(id)) read.set(id, this.#known.get(id));
          else read.delete(id);
        }
        this.#known = read;
        this.#error = undefined;
      } catch (error) {
        this.#error = this.#errorInfo(error);
      }
      this.#ready = true;
      this.#changed();
    }
  }

  /** Reads one of them again; of several calls in a row the last one counts. */
  async #read(id) {
    const turn = {};
    this.#turns.set(id, turn);
    await null;
    const isLast = () => this.#turns.get(id) === turn;
    if (!isLast()) return;
    const one = await this.#ask("status", { id }).catch(({ code }) => (code === "session_not_found" ? null : undefined));
    if (!isLast() || one === undefined) return;
    if (one) this.#known.set(id, one);
    else this.#known.delete(id);
    this.#changed();
  }
}

/** What goes on in a session in which no run works. */
function resting({ status, suspended, archived, held, recovery_metadata }) {
  if (suspended) return "benched";
  if (archived) return "archived";
  if (held || (status === "failed" && recovery_metadata.recovery_reason === LOST)) return "held";
  if (FAILED.includes(status)) return "failed";
  // One that was launched and has not worked yet is "running" in its record.
  return status === "running" ? "idle" : status;
}

/** As `list()` has them. */
function lastChangedFirst({ id: a, session: { updated_at: first } }, { id: b, session: { updated_at: second } }) {
  if (first !== second) return first < second ? 1 : -1;
  return a < b ? -1 : 1;
}

/** When each session was last looked at: in all tabs, and over a reload where the page can keep that. */
class Seen {
  #prefix;
  #at = new Map([["", Date.now()]]); // id -> ms; "": since when that is noted
  #changed;
  #keep;

  /** @param {string} [prefix] of a key for each session, because tabs write at once; absent: it is kept in memory */
  constructor(prefix, changed, keep) {
    this.#changed = changed;
    this.#keep = keep;
    if (prefix === undefined) return;
    this.#prefix = prefix;
    const kept = stored(prefix);
    if (!kept.has("")) this.#store("");
    for (const [id, at] of kept) this.#at.set(id, at);
    globalThis.addEventListener?.("storage", ({ key, newValue }) => {
      if (!key?.startsWith(prefix)) return;
      const id = key.slice(prefix.length);
      if (Number(newValue) > (this.#at.get(id) ?? 0)) this.#at.set(id, Number(newValue));
      changed();
    });
  }

  /** It is seen now. */
  note(id) {
    this.#at.set(id, Date.now());
    this.#store(id);
    this.#changed();
  }

  /** Whether that was last before this moment. */
  isBefore(id, at) {
    return (this.#at.get(id) ?? this.#at.get("")) < at;
  }

  /** A session is there again whose removal has taken what was kept of it. */
  restore(id) {
    if (this.#at.has(id)) this.#store(id);
  }

  #store(id) {
    if (this.#prefix) this.#keep(this.#prefix + id, this.#at.get(id));
  }
}

/** What was kept under these keys: of what is no time, nothing. */
function stored(prefix) {
  try {
    const keys = Array.from({ length: localStorage.length }, (_, n) => localStorage.key(n)).filter((key) => key?.startsWith(prefix));
    const all = keys.map((key) => [key.slice(prefix.length), Number(localStorage.getItem(key))]);
    return new Map(all.filter(([, ms]) => Number.isSafeInteger(ms)));
  } catch {
    return new Map(); // there is no such storage
  }
}
