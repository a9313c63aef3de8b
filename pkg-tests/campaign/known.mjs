// The damages that nobody is told of, each with the reason: what no page can know. A case that is expected here is counted, not
// failed.

/** By table, or by kind of file in a profile. */
const KNOWN = {
  drafts: "a draft is outside the chain of hashes",
  keys: "a key under another name, or none, is told when it is used",
};

/** Files whose end is what was written last. */
const LOGS = ["file log", "file MANIFEST"];

/** Why nobody is told of this damage; undefined where somebody has to be. */
export function expected({ table }, { earlier }) {
  if (LOGS.includes(table) && earlier) return "what was written last is gone, as when power fails";
  return KNOWN[table];
}
