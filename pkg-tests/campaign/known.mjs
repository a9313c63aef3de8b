// What nobody is told of, each with the reason: what no page can know. An excuse is of one thing that is shown, in the case of one
// damage; whatever else differs is a fault.

/** By what was damaged: what may be shown otherwise in silence, and why. */
const KNOWN = [
  // What a session with an open run has said last is what its drafts say.
  { table: "drafts", why: "a last draft that is gone is as one that its page had no time for", may: ({ what, before, paths }, { kind, sessions }) => kind === "delete" && sessions.some((id) => what === `${id}: history`) && paths.every((path) => path.startsWith(`/${before.length - 1}/parts`)) },
  { table: "meta", why: "a memory that is gone is as one that was forgotten", may: ({ what }, { kind, memories }) => memories && kind === "delete" && what.startsWith("memories: ") },
  { table: "meta", why: "an open task is found by what is noted of it", may: ({ what }, { kind, note }) => note && ["delete", "move"].includes(kind) && what === "the open task: answer" },
  { table: "keys", why: "a key under another name, or none, is told when it is used", may: ({ what }) => what === "keys" },
];

/** Files whose end is what was written last, and what is not there yet at an earlier moment. */
const LOGS = ["file log", "file MANIFEST"];
const NOT_YET = ["session_not_found", "page_not_found", "file_not_found"];

/** Why nobody is told of this; undefined where somebody has to be. */
export function expected(fault, done, { earlier }) {
  if (LOGS.includes(done.table) && earlier && (fault.paths || NOT_YET.includes(fault.error))) return "what was written last is gone, as when power fails";
  return fault.paths && KNOWN.find(({ table, may }) => table === done.table && may(fault, done))?.why;
}
