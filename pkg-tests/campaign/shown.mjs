// The judgement of what a page is shown of a workspace that was damaged.
//
// Decides what counts as told: an error with a code, a notice, a gap in what is read, a session's own word that it is damaged or
// not verified. What differs from what was shown before, and is not told, is silence. Who was not touched has to
// be shown as before, and to answer.

/** What says that something is wrong; the last ones are the browser's, of a file whose bytes it cannot read. */
const CODES = ["corrupt", "storage_lost", "storage_unavailable", "newer_version", "storage_failed", "file_not_found", "NotReadableError", "NotFoundError"];

const isObject = (value) => typeof value === "object" && value !== null;

/** Where two values differ: the paths of the members, the first ones on each way. */
export function differences(a, b, path = "") {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return a === b ? [] : [path];
  if (Array.isArray(a) && a.length !== b.length) return [path];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((name) => differences(a[name], b[name], `${path}/${name}`));
}

/**
 * `whole`: what was shown of it before; `moving`: the paths of what differs from look to look, as when a lost page was noticed.
 * `silent`: what is shown otherwise than before, and nothing says why. `stopped`: who was not touched and is not as before, or
 * does not answer. `told`: how it was told, in a word.
 */
export function judgeShown({ whole, moving, seen, after, done }) {
  if (seen.opened.error) return { silent: told(seen.opened) ? [] : [`opened: ${seen.opened.error}`], stopped: [], told: `not opened: ${seen.opened.error}` };
  const notices = [...seen.notices, ...after.notices];
  const lost = notices.some(({ kind }) => kind === "storage_lost");
  if (lost) return { silent: [], stopped: answered(after, "a new one") ? [] : ["a new session"], told: "storage_lost" };
  const silent = [];
  const stopped = [];
  const differs = Object.keys(whole.shown).filter((what) => differences(whole.shown[what], seen.shown[what], what).some((path) => !moving.has(path)));
  // What links to a damaged page, or finds it, does so no more.
  const pagesAre = notices.some(({ kind, pages }) => kind === "damaged" && pages);
  const saysDamaged = (id) => sessionSays(id, seen, whole, notices);
  for (const what of differs) {
    const [of] = what.split(":");
    const isSession = whole.sessions.includes(of);
    if (isSession && !done.sessions.includes(of)) stopped.push(`${what}: ${brief(whole.shown[what])} became ${brief(seen.shown[what])}`);
    else if (!told(seen.shown[what]) && !(of === "pages" && pagesAre) && !(isSession && saysDamaged(of)) && !listTells(what, seen, done, saysDamaged)) silent.push(`${what}: ${brief(whole.shown[what], seen.shown[what])} became ${brief(seen.shown[what], whole.shown[what])}`);
  }
  for (const id of [...whole.sessions, "a new one"]) {
    if (answered(after, id)) continue;
    const answer = after.answers[id];
    if (id === "a new one" || !done.sessions.includes(id)) stopped.push(`${id} does not answer: ${JSON.stringify(answer ?? after.started)}`);
    else if (!told(answer)) silent.push(`${id} does not answer: ${JSON.stringify(answer)}`);
  }
  return { silent, stopped, earlier: isEarlier(whole, seen), told: word(done, differs, saysDamaged, notices) };
}

/** By an error, or by the mark of a page or of a version. */
const told = (shown) => CODES.includes(shown?.error) || /"damaged":\{"code":/.test(JSON.stringify(shown?.value) ?? "");
const answered = ({ answers }, id) => answers[id]?.value?.startsWith(`I hear: Are you there, ${id === "a new one" ? "new" : id}?`);

/** Whether anything says of this session that it is not as it was written. */
function sessionSays(id, { shown }, whole, notices) {
  // A row that was moved may make one that was never there.
  if (!whole.sessions.includes(id)) return (shown.verified.value?.[id]?.[0] ?? "") !== "verified";
  const state = shown[`${id}: state`].value;
  return told(shown[`${id}: state`])
    || (state && (state.session.damaged !== undefined || state.hmac_status !== whole.shown[`${id}: state`].value.hmac_status))
    || shown[`${id}: history`].value?.some(({ status }) => status === "damaged")
    || shown[`${id}: journal`].value?.some(({ type }) => type === "damaged")
    || notices.some(({ sessionId, code, kind }) => sessionId === id && (kind === "damaged" || code === "corrupt"));
}

/** The lists say it of a session where it says it itself. */
const listTells = (what, seen, { sessions }, saysDamaged) => ["list", "verified"].includes(what) && sessions.some(saysDamaged);

/** Whether each session is as it was at some moment before: its journal is the beginning of the whole one. */
const isEarlier = (whole, seen) => whole.sessions.every((id) => {
  const [then, now] = [whole, seen].map(({ shown }) => shown[`${id}: journal`].value);
  return now?.every(({ hash }, n) => hash && hash === then[n]?.hash);
});

/** How it was told. */
function word({ sessions }, differs, saysDamaged, notices) {
  if (!differs.length && !notices.length) return "without effect";
  if (notices.some(({ kind }) => kind === "damaged")) return "set aside";
  return sessions.some(saysDamaged) ? "told of the session" : "told by a code, or shown as known";
}

/** The place where two values begin to differ. */
function brief(value, other) {
  const text = JSON.stringify(value) ?? "nothing";
  const against = JSON.stringify(other) ?? "";
  let at = 0;
  while (other !== undefined && at < text.length && text[at] === against[at]) at++;
  return text.slice(Math.max(0, at - 60), at + 140);
}
