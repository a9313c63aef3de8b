// Titles that a model gives: loaded by the first agent that is started with `title: "auto"`.
//
// Decides when a session is given one, and what of the model's words it is. Promises: the tab that holds the agent asks
// about each conversation once in the life of a page. Where an earlier page went away before the title came, it asks again. A name that a
// person gave stays.
// Nothing stays of the question, which quotes the conversation. The conversation goes on whether or not a title comes. Leaves to others:
// what a session is called until then (its first words), what a name may be (`src/session/lifecycle.rs`), and taking a title back whose
// words are erased (`src/harness/holding/clearing.rs`).

const INSTRUCTIONS = "You give conversations their titles. Answer with the title alone: two to six words, in the language of the conversation, without quotation marks and without a full stop.";
/** How much of each of the two the model reads, and how long a title may be, in characters. */
const READ = 2_000;
const LONGEST = 80;
/** How many complete answers a conversation has at most that is asked about: the second may come before the title of the first. */
const ANSWERS = 2;
/** How many messages of a conversation are read: one that has so many is none that has just begun. */
const SHORT = 20;
/** How many unnamed sessions of earlier pages are looked at, the last changed first. */
const LOOKED_AT = 20;
/** What the policy of a session is called begins so; its id follows. */
const POLICY = "policy_";
/** After these a session has another conversation, or one that lacks something. */
const ANEW = ["launched", "removed", "cleared", "message_removed"];

const textOf = ({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join("").slice(0, READ);

/** The title in what a model has said; nothing: there is none. */
export function titleIn(text) {
  const [line = ""] = text.trim().split("\n");
  const bare = line.replace(/^(?:[#*\s]|title:)+/i, "").replace(/^["'“”„«]+|["'“”»*.]+$/gu, "").replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/\s+/g, " ").trim();
  return bare.length > LONGEST ? `${bare.slice(0, LONGEST).trim()}…` : bare;
}

/**
 * Names sessions of this workspace after their first answer, where `holds()` says that the agent runs in this tab: as it comes, and those
 * of an earlier page once. What ends that again.
 */
export function titled(ws, holds) {
  const asked = new Map(); // session id -> what ends the question about it
  let anew = 0; // how often a conversation has begun anew, or lost something
  let looked = false;
  /** What there is to ask about a session, and of which run's answer; nothing: it is too early or too late for that. */
  const question = async (session) => {
    const messages = await ws.history({ sessionId: session, limit: SHORT });
    const said = messages.find(({ role }) => role === "user");
    // Before it a run may have failed, or was stopped.
    const answers = messages.filter(({ role, status }) => role === "assistant" && status === "complete");
    if (!said || messages.length === SHORT || !answers.length || answers.length > ANSWERS) return undefined;
    // It changes nothing, and is refused to who may not name the session either.
    const { display_name, config } = await ws.sessions.configure(session, {});
    return display_name ? undefined : { text: `${textOf(said)}\n\n---\n\n${textOf(answers[0])}`, of: answers[0].runId, ...config };
  };
  const name = async (session) => {
    let before;
    let about;
    do {
      before = anew;
      about = await question(session);
    } while (before !== anew);
    if (!about || asked.has(session)) return;
    const end = new AbortController();
    asked.set(session, end);
    const { text: context, of, provider, model } = about;
    const { text, run } = await ws.sessions.runOnce("Give this conversation its title.", {
      context, instructions: INSTRUCTIONS, tools: [], serverTools: [], keep: false, signal: end.signal, ...(provider && { provider }), ...(model && { model }),
    });
    // It would go of itself after a while.
    await ws.sessions.remove(run.policy_envelope_id.slice(POLICY.length)).catch(() => {});
    const title = titleIn(text);
    if (title && !(await ws.sessions.status(session)).session.display_name && !end.signal.aborted) await ws.sessions.rename(session, title, { of });
  };
  // What goes wrong with it is no trouble of the conversation: its first words stay.
  const consider = (session) => name(session).catch(() => {});
  /** Those that an earlier page has not asked about to the end, one after the other. */
  const look = async () => {
    if (looked || !holds()) return;
    looked = true;
    const unnamed = (await ws.sessions.list()).filter(({ display_name, archived }) => !display_name && !archived);
    for (const { id } of unnamed.slice(0, LOOKED_AT)) if (holds()) await consider(id);
  };
  const begun = () => void look().catch(() => {});
  const ended = ({ detail: { sessionId } }) => {
    if (holds() && !sessionId.startsWith("once_") && !asked.has(sessionId)) consider(sessionId);
  };
  const changed = ({ detail: { sessionId, change } }) => {
    if (!ANEW.includes(change)) return;
    anew++;
    asked.get(sessionId)?.abort();
    asked.delete(sessionId);
  };
  const listeners = Object.entries({ "agent:session-completed": ended, "agent:session-changed": changed, "agent:status-changed": begun, "agent:notice": begun });
  for (const [type, listener] of listeners) ws.addEventListener(type, listener);
  begun();
  return () => {
    looked = true;
    listeners.forEach(([type, listener]) => ws.removeEventListener(type, listener));
  };
}
