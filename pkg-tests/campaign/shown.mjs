// The judgement of what a page is shown of a workspace that was damaged.
//
// Decides what may differ from what was shown before, by what the damage has touched (`done`), and how that has to be told. An error
// counts only in the place of what was touched, with a code that is true there. A list never fails, and an error of one page or
// session is none of another. What a session still shows was said in it, and all that the damage cannot have taken is there.
// Gives faults; whether a fault is one that nobody can tell of is asked in `known.mjs`.
import { isDeepStrictEqual } from "node:util";

/** What was damaged cannot be read, or another version has written it. */
const DAMAGED = ["corrupt", "newer_version"];
/** The browser cannot give what is stored: only where it was damaged under the browser. */
const STORAGE = ["storage_failed", "storage_unavailable", "storage_lost"];
/** The last ones are the browser's, of a file whose bytes it cannot read. */
const FILES = ["file_not_found", "NotReadableError", "NotFoundError"];
/** What shows a session as far as it is whole, and never fails because of a damage. */
const WHOLE_PARTS = ["history", "journal", "verify"];
/** What is left of an entry whose content was erased. */
const ERASED = ["v", "seq", "at", "type", "runId", "hash"];
/** What is evidence. */
const RECORD = ["events", "receipts", "handoffs", "task", "result"];

const isObject = (value) => typeof value === "object" && value !== null;

/** Where two values differ: the paths of the members, the first ones on each way. */
export function differences(a, b, path = "") {
  if (isDeepStrictEqual(a, b)) return [];
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return a === b ? [] : [path];
  if (Array.isArray(a) && a.length !== b.length) return [path];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((name) => differences(a[name], b[name], `${path}/${name}`));
}

/**
 * `whole`: what was shown of it before; `empty`: what is shown where nothing was ever stored; `moving`: the paths of what differs from
 * look to look, as when a lost page was noticed. `done`: what was damaged, as `harm` gives it; `under`: under the browser, and so
 * that it may have touched anything. Gives `faults`, each with `what` is shown and `why` that is wrong; with the code of an `error`, or
 * for a difference in silence with what was there (`before`) and the `paths` of what is not any more. `told`: how it was told, in a
 * word. `earlier`: whether all of it was so at some moment before.
 */
export function judgeShown(of) {
  const judgement = new Judgement(of);
  const told = judgement.judge();
  return { faults: judgement.faults, earlier: isEarlier(of), told };
}

class Judgement {
  faults = [];

  constructor(of) {
    Object.assign(this, of);
    this.notices = [...this.seen.notices, ...this.after.notices];
    this.now = this.seen.shown;
    this.then = this.whole.shown;
  }

  fault(what, why, more) { this.faults.push({ what, why, ...more }); }
  touched(id) { return this.done.under || this.done.sessions.includes(id); }
  hurt(slug) { return this.done.under || this.done.pages.includes(slug); }

  judge() {
    const { seen, done } = this;
    if (seen.opened.error) {
      if (![...(done.format ? ["newer_version"] : []), ...this.browsers()].includes(seen.opened.error)) this.fault("opening", `it fails: ${seen.opened.error}`);
      return `not opened: ${seen.opened.error}`;
    }
    const lost = this.notices.some(({ kind }) => kind === "storage_lost");
    // All of it is gone, and then nothing of it is shown; else it excuses nothing.
    if (lost && done.under && this.isEmpty()) {
      this.answers(["default"], true);
      return "storage_lost";
    }
    if (lost && !done.under) this.fault("storage", "a loss is told, and there is none");
    const differs = Object.keys(this.then).filter((what) => differences(this.then[what], this.now[what], what).some((path) => !this.moving.has(path)));
    for (const what of differs) this.differs(what, lost);
    this.answers(this.whole.sessions);
    this.later();
    return this.word(differs, lost);
  }

  /** The codes of the browser's failures, where there may be any. */
  browsers() { return this.done.under ? STORAGE : []; }

  isEmpty() {
    return Object.keys(this.then).every((what) => what === "storage" || what.startsWith("files") || isDeepStrictEqual(this.empty.shown[what], this.now[what]));
  }

  /** This is not shown as before. */
  differs(what, lost) {
    const [group, part] = what.split(": ");
    const { error, value } = this.now[what];
    if (error) {
      if (!this.codes(group, part).includes(error)) this.fault(what, `it fails: ${error}`, { error });
      return;
    }
    const before = this.then[what].value;
    const silence = () => this.fault(what, `${brief(this.then[what], this.now[what])} became ${brief(this.now[what], this.then[what])}`, { before, paths: differences(before, value) });
    if (group === "list" || group === "verified") this.list(what, value, silence);
    else if (this.whole.sessions.includes(group)) this.session(group, part, value, silence);
    else if (group === "memories") this.memories(before, value, silence);
    else if (group === "pages") this.page(part, value, silence);
    else if (!(group === "storage" && lost)) silence();
  }

  /** The codes with which this may fail. */
  codes(group, part) {
    const own = () => {
      if (this.whole.sessions.includes(group)) return !this.touched(group) ? [] : WHOLE_PARTS.includes(part) ? ["newer_version"] : DAMAGED;
      if (group === "pages") return this.hurt(part.split(",")[0]) && !["tree", "trash", "search"].includes(part) ? DAMAGED : [];
      if (this.task(group)) return this.touched(this.task(group)) ? DAMAGED : [];
      if (group === "files") return this.done.under || this.done.files.includes(Number(part)) ? FILES : [];
      return [];
    };
    return [...own(), ...this.browsers()];
  }

  // ---------------------------------------------------------------- sessions

  /** A list may miss a session, or have one more, or say of one that it is damaged, where that one was touched and says so itself. */
  list(what, value, silence) {
    const before = this.then[what].value;
    for (const id of new Set([...Object.keys(before), ...Object.keys(value)])) {
      const [a, b] = [before[id], value[id]];
      if (isDeepStrictEqual(a, b)) continue;
      const onlySigned = this.done.table === "vault" && what === "verified" && b && isDeepStrictEqual(a.slice(1), b.slice(1));
      if (!onlySigned && !(this.touched(id) && this.says(id))) return silence();
    }
  }

  session(id, part, value, silence) {
    const what = `${id}: ${part}`;
    const before = this.then[what].value;
    const paths = differences(before, value).filter((path) => !this.moving.has(`${what}/value${path}`));
    if (this.done.table === "vault" && paths.every((path) => /\/(hmac_status|receipt_hmac)$/.test(path))) return;
    // What a checkpoint costs is a longer read; only who looks at it is told.
    if (part === "verify" && this.done.checkpoints.includes(id) && value.damaged) return;
    if (!this.touched(id) || !this.says(id)) return silence();
    // What is on record is told whole or not at all. Its signature is shown as it lies there, and told as what it is.
    if (RECORD.includes(part) && !paths.every((path) => path.endsWith("/receipt_hmac"))) silence();
    if (part === "history") this.history(id, what, before, value);
    if (part === "journal") this.journal(id, what, before, value);
  }

  /** The session of the task that is called so. */
  task(name) { return this.whole.tasks[name]?.[0]; }

  /** A memory that is not as it was written is left out, and that is told. */
  memories(before, value, silence) {
    const told = this.notices.some(({ type, sessionId, code }) => type === "agent:error" && !sessionId && code === "corrupt");
    if (!this.done.under && !this.done.memories) return silence();
    if (!told || value.some((one) => !before.some((other) => isDeepStrictEqual(one, other)))) silence();
  }

  /** The entries that the damage can have taken with it: one more on each side, and the last one's successor. */
  near(id) {
    const ranges = (this.done.rows[id] ?? []).map(([from, until]) => [from - 2, until + 2]);
    return (seq) => ranges.some(([from, until]) => seq >= from && seq <= until);
  }

  /** Each entry is as it was written, and those that the damage cannot have taken are there. */
  journal(id, what, before, value) {
    const entries = value.filter(({ type }) => type !== "damaged");
    for (const entry of entries) if (!isDeepStrictEqual(entry, before.find(({ seq }) => seq === entry.seq))) this.fault(what, `nobody has written ${brief(entry)}`);
    if (this.done.under) return;
    const isNear = this.near(id);
    // Without the clearing or the removal that has erased it, nobody knows why a content is gone.
    const erased = before.findLast(({ type }) => type === "cleared" || type === "withdrawn");
    const unexplained = (entry) => erased && isNear(erased.seq) && Object.keys(entry).every((name) => ERASED.includes(name));
    const missing = before.filter((entry) => !isNear(entry.seq) && !unexplained(entry) && !entries.some(({ seq }) => seq === entry.seq));
    if (missing.length) this.fault(what, `${missing.length} entries that lie elsewhere are not shown: ${missing.map(({ seq }) => seq)}`);
  }

  /** What is shown was said, and what the damage cannot have taken is shown. */
  history(id, what, before, value) {
    const textsOf = (messages) => messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text));
    // A damaged session shows what waits in it too: its journal has that.
    const waited = this.then[`${id}: journal`].value.filter(({ type }) => type === "queued").map(({ prompt }) => prompt.text);
    const said = new Set([...textsOf(before), ...waited]);
    const isNear = this.near(id);
    const journal = this.then[`${id}: journal`].value;
    const lost = (kind) => journal.some(({ seq, type, replaces }) => isNear(seq) && kind({ type, replaces }));
    // Without the row that has chosen a version, another may be shown. Without that of an edit, both are shown.
    const isOther = lost(({ type }) => type === "switched");
    const isBoth = lost(({ replaces }) => replaces !== undefined);
    if (isOther || isBoth) for (const { type, text, blocks } of journal) for (const one of type === "prompt" ? [text] : (blocks ?? []).filter(([kind]) => kind === "text").map(([, words]) => words)) said.add(one);
    const isWhole = (text, { damaged }) => said.has(text) || (damaged && [...said].some((whole) => whole.startsWith(text)));
    for (const message of value.filter(({ status }) => status !== "damaged")) for (const text of textsOf([message])) if (!isWhole(text, message)) this.fault(what, `nobody has said ${brief(text)}`);
    if (this.done.under) return;
    // What was said last in an open run is in drafts: one that is damaged gives its message an early end.
    const sure = before.filter(({ status }) => status === "complete" && !isOther);
    const runs = new Set(journal.filter(({ seq }) => isNear(seq)).map(({ runId }) => runId));
    const alike = ({ versions, ...message }, { versions: others, ...other }) => isDeepStrictEqual(message, other) && (isBoth || isDeepStrictEqual(versions, others));
    const missing = sure.filter((message) => !runs.has(message.runId) && !value.some((other) => alike(message, other)));
    if (missing.length) this.fault(what, `${missing.length} messages that lie elsewhere are not shown: ${missing.map((message) => brief(message.parts))}`);
  }

  /** Whether anything says of this session that it is not as it was written. */
  says(id) {
    // A row that was moved may make one that was never there.
    if (!this.whole.sessions.includes(id)) return (this.now.verified.value?.[id]?.[0] ?? "") !== "verified";
    const { error, value: state } = this.now[`${id}: state`];
    return DAMAGED.includes(error)
      || (state && (state.session.damaged !== undefined || state.hmac_status !== this.then[`${id}: state`].value.hmac_status))
      || this.now[`${id}: verify`].value?.damaged !== undefined
      || this.now[`${id}: history`].value?.some(({ damaged }) => damaged)
      || this.now[`${id}: journal`].value?.some(({ type }) => type === "damaged")
      || this.notices.some(({ sessionId, code, kind }) => sessionId === id && (kind === "damaged" || code === "corrupt"));
  }

  /**
   * These sessions have to answer, and a new one; pages can be written; the kept key is sent, or none is. What was damaged may say that
   * it is. `gone`: nothing of it is there any more.
   */
  answers(ids, gone = false) {
    const { started, answers } = this.after;
    if (started.error) {
      if (!this.browsers().includes(started.error)) this.fault("start", `it fails: ${started.error}`);
      return;
    }
    const own = (id) => [id, `I hear: Are you there, ${id}?`, this.touched(id) ? DAMAGED : []];
    for (const [id, { value, error }] of Object.entries(this.after.salvaged)) {
      if (value?.answer.startsWith(`I hear: Are you there, ${id}?`)) this.salvaged(id, value);
      else if (!this.browsers().includes(error)) this.fault(`${id}: salvage`, `it does not come out of it: ${brief(this.after.salvaged[id])}`);
    }
    const keyless = gone || this.done.under || ["keys", "vault"].includes(this.done.table);
    const all = [
      ...ids.map(own), ["a new one", "I hear: Are you there, new?", []], ["a new page", "A new page.", []],
      ["a new memory", "A bell hangs at the door.", []], ...(gone ? [] : [["the open task", "interrupted", this.touched(this.task("left")) ? DAMAGED : []]]),
      ...(gone ? [] : [["branch", "Another branch.", this.hurt("branch") ? DAMAGED : []]]),
      ["the key", keyless && answers["the key"].value === "" ? "" : "sk-kept", keyless ? ["corrupt"] : []],
    ];
    for (const [of, answer, codes] of all) {
      const { value, error } = answers[of];
      if (answer ? value?.startsWith(answer) : value === "") continue;
      if (![...codes, ...this.browsers()].includes(error)) this.fault(`${of}: answer`, `it does not answer: ${JSON.stringify(answers[of])}`, { error, paths: error ? undefined : [] });
    }
  }

  /** A salvaged session has the entries before the first gap as they were, and what was shown of it before. */
  salvaged(id, { kept, damaged, history, rows }) {
    if (this.done.under) return;
    const what = `${id}: salvage`;
    const before = this.then[`${id}: journal`].value;
    if (!isDeepStrictEqual(rows, before.slice(0, kept))) this.fault(what, "an entry that it keeps is not as it was");
    // A row that lies in another's place is told of, and is whole: the first gap says where rows are lost.
    const gap = this.now[`${id}: journal`].value?.find(({ type }) => type === "damaged");
    const right = keptOf(gap ? before.slice(0, gap.from - 1) : before);
    if (kept !== right) this.fault(what, `it keeps ${kept} entries and not ${right}: ${brief(damaged)}`);
    const textOf = ({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
    const said = history.map((message) => [message.role, textOf(message)]);
    // The names of its files may stand beside its words, and that the rest is lost.
    const has = (message) => said.some(([role, text]) => role === message.role && text.includes(textOf(message)));
    const missing = (this.now[`${id}: history`].value ?? []).filter((message) => message.status !== "damaged" && !has(message));
    if (missing.length) this.fault(what, `${missing.length} messages that were shown are not in it: ${missing.map((message) => brief(message.parts))}`);
  }

  /** After that, those who were not touched have what they had, with that on top, and all rows say so. */
  later() {
    for (const [id, { history, verify }] of Object.entries(this.after.later)) {
      if (this.touched(id)) continue;
      const before = this.then[`${id}: history`].value;
      // That a file is lost is told where it was.
      if (this.done.files.length) for (const part of history.value?.flatMap(({ parts }) => parts) ?? []) delete part.gone;
      if (!isDeepStrictEqual(before, history.value?.slice(0, before.length))) this.fault(`${id}: history`, `later it was ${brief(history, { value: before })}`);
      const { hmac_status, damaged } = verify.value ?? {};
      if (verify.error || damaged || (this.done.table !== "vault" && hmac_status !== "verified")) this.fault(`${id}: verify`, `later it was ${brief(verify)}`);
    }
    // What begins to work deletes no file that could be read before.
    for (const [n, file] of this.after.files.entries()) {
      const before = this.now[`files: ${n}`];
      if (before.value !== undefined && !isDeepStrictEqual(before, file)) this.fault(`files: ${n}`, `later it was ${brief(file, before)}`);
    }
    if (this.after.started.error || this.now["pages: tree"].error) return;
    const known = (nodes) => flat(nodes).filter(({ slug }) => !this.hurt(slug) && slug !== "new");
    if (!isDeepStrictEqual(known(this.now["pages: tree"].value), known(this.after.pages.value))) this.fault("pages: tree", `later it was ${brief(this.after.pages)}`);
  }

  // ---------------------------------------------------------------- pages

  /** Pages that were touched are marked and told of; what links to them, or finds them, does so no more. */
  page(part, value, silence) {
    const tree = flat(this.then["pages: tree"].value);
    const moved = new Set(tree.filter(({ slug }) => this.hurt(slug)).map(({ parent }) => parent));
    // A damaged page stands at the top, and is no sibling any more.
    const placed = (page) => (moved.has(page?.parentSlug) ? { ...page, position: 0 } : page);
    const before = this.then[`pages: ${part}`].value;
    const [slug, of] = part.split(", ");
    if (!this.tellsOfPages()) return silence();
    if (part === "tree") return this.tree(flat(before), flat(value), silence);
    const others = (pages) => pages.filter((page) => !this.hurt(page.slug)).map(placed);
    if (part === "trash") return void (isDeepStrictEqual(others(before), others(value)) || silence());
    // How good a find is depends on what else there is.
    const finds = (hits) => others(hits).map(({ slug, title, snippet }) => [slug, title, snippet]);
    if (part === "search") return void (isDeepStrictEqual(finds(before), finds(value)) || silence());
    if (of === "links") {
      const goals = (links) => links.filter(({ title }) => !this.hurt(title.toLowerCase()));
      if (!this.hurt(slug) && !(isDeepStrictEqual(others(before[0]), others(value[0])) && isDeepStrictEqual(goals(before[1]), goals(value[1])))) silence();
    } else if (of === "versions") {
      const known = before.map(({ version, content }) => `${version} ${content}`);
      if (!this.hurt(slug) || value.some(({ version, content, damaged }) => !damaged && !known.includes(`${version} ${content}`))) silence();
    } else if (this.hurt(slug) || !isDeepStrictEqual(placed(before), placed(value))) silence();
  }

  tree(before, value, silence) {
    for (const slug of new Set([...before, ...value].map(({ slug }) => slug))) {
      const [a, b] = [before, value].map((list) => list.find((node) => node.slug === slug));
      if (this.hurt(slug) ? b && !b.damaged && !isDeepStrictEqual(a?.title, b.title) : !b || b.damaged || a?.title !== b.title || (a.parent !== b.parent && !this.hurt(a.parent))) return silence();
    }
  }

  /** Whether a mark or a notice names one of those that were touched. */
  tellsOfPages() {
    const marked = flat(this.now["pages: tree"].value ?? []).filter(({ damaged }) => damaged).map(({ slug }) => slug);
    const versions = Object.entries(this.now).filter(([what, { value }]) => /^pages: .*, versions/.test(what) && value?.some(({ damaged }) => damaged)).map(([what]) => what.slice(7, -10));
    return [...marked, ...versions, ...this.notices.flatMap(({ pages }) => (pages ?? []).map(({ slug }) => slug))].some((slug) => this.hurt(slug));
  }

  // ----------------------------------------------------------------

  /** How it was told. */
  word(differs, lost) {
    if (lost) return "a loss that is none";
    if (!differs.length && !this.notices.length) return "without effect";
    if (this.notices.some(({ kind }) => kind === "damaged")) return "set aside";
    return this.whole.sessions.some((id) => this.touched(id) && this.says(id)) ? "told of the session" : "told by a code, or shown as known";
  }
}

/** How many of these entries before a damage a salvaged session keeps: all, or those before a run that is open there. */
function keptOf(entries) {
  const isErased = (entry) => Object.keys(entry).every((name) => ERASED.includes(name));
  const begun = entries.findLast((entry) => ["prompt", "taken"].includes(entry.type) && !isErased(entry));
  const last = entries.findLastIndex(({ type }) => type === "cleared");
  const first = entries.find(({ type, runId }) => ["prompt", "taken"].includes(type) && runId === begun?.runId);
  const isOpen = begun && first.seq > last && !entries.some(({ type, runId }) => type === "ended" && runId === begun.runId);
  return isOpen ? first.seq - 1 : entries.length;
}

/** Each page of a tree, with the one above it. */
const flat = (nodes, parent = null) => (nodes ?? []).flatMap(({ slug, title, damaged, children }) => [{ slug, title, damaged, parent }, ...flat(children, slug)]);

/** Whether all is as it was at some moment before: each journal is the beginning of the whole one, each page has an earlier content. */
function isEarlier({ whole, seen }) {
  if (seen.opened.error) return false;
  const sessions = whole.sessions.every((id) => {
    const { value, error } = seen.shown[`${id}: journal`];
    const then = whole.shown[`${id}: journal`].value;
    return error === "session_not_found" || value?.every(({ hash }, n) => hash && hash === then[n]?.hash);
  });
  return sessions && flat(whole.shown["pages: tree"].value).every(({ slug }) => {
    const { value, error } = seen.shown[`pages: ${slug}`];
    return error === "page_not_found" || whole.shown[`pages: ${slug}, versions`].value.some(({ content }) => content === value?.content);
  });
}

/** The place where two values begin to differ. */
function brief(value, other) {
  const text = JSON.stringify(value) ?? "nothing";
  const against = JSON.stringify(other) ?? "";
  let at = 0;
  while (other !== undefined && at < text.length && text[at] === against[at]) at++;
  return text.slice(Math.max(0, at - 60), at + 140);
}
