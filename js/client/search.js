// Words in all conversations: loaded with the first search.
//
// Decides what is looked at: what was said, the newest first, and titles. Promises: no more than a page of a few conversations is
// in memory at a time. A conversation that cannot be read stops no other. Leaves to others: reading (the host).

import { failure, onlyKnown } from "../protocol/error.js";

/** How many messages are read at a time, and of how many sessions. */
const PAGE = 100;
const BESIDE = 4;
/** How many characters of a text are shown around what was found. */
const AROUND = 80;

/**
 * @param {string} query
 * @param {{ signal?: AbortSignal }} options
 * @param {object} host
 * @param {() => Promise<object[]>} host.list
 * @param {(options: object) => Promise<object[]>} host.history
 */
export async function searchSessions(query, options = {}, { list, history }) {
  onlyKnown(options, ["signal"], "The options of search", "invalid_arguments");
  if (typeof query !== "string") throw failure("invalid_arguments", "search needs words: a text.");
  const words = plain(query).split(/\s+/).filter(Boolean);
  const has = (text) => words.every((word) => plain(text).includes(word));
  const { signal } = options;
  const goOn = () => {
    if (signal?.aborted) throw failure("aborted", "The search was aborted.");
  };
  /** The newest message that has all words. */
  async function said(sessionId) {
    for (let before; ; ) {
      const page = await history({ sessionId, limit: PAGE, before });
      goOn();
      const found = page.findLast((message) => has(textOf(message)));
      if (found) return { messageId: found.id, excerpt: excerptOf(textOf(found), words[0]) };
      // A gap has no message before it that could be asked for.
      const told = page.filter(({ status }) => status !== "damaged");
      if (told.length < PAGE) return undefined;
      before = told[0].id;
    }
  }
  goOn();
  const hits = (await list()).map((session) => ({ session }));
  const rest = hits.entries();
  const look = async () => {
    for (const [at, { session }] of rest) {
      goOn();
      // What is archived is packed: only its title is at hand.
      const found = session.archived ? undefined : await said(session.id).catch((error) => (signal?.aborted ? Promise.reject(error) : undefined));
      if (found) Object.assign(hits[at], found);
      else if (!has(session.display_name ?? session.title ?? session.id)) hits[at] = null;
    }
  };
  await Promise.all(Array.from({ length: BESIDE }, look));
  return hits.filter(Boolean);
}

/** A letter and its accent may be stored as one sign or as two: they are compared as one. */
const plain = (text) => text.normalize().toLowerCase();

/** What is read of a message: what was said, and the names of its files. */
const textOf = ({ parts }) => parts.map(({ type, text, filename }) => (type === "text" ? text : type === "file" ? filename : undefined)).filter(Boolean).join("\n").normalize();

/** The text around a word, in one line. */
function excerptOf(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word));
  const [from, until] = [Math.max(0, at - AROUND), at + word.length + AROUND];
  const line = text.slice(from, until).replace(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${until < text.length ? "…" : ""}`;
}
