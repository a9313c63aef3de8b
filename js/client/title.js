// Titles that a model gives: loaded by the first agent that is started with `title: "auto"`.
//
// Decides when a session is given one, and what of the model's words it is. Promises: each conversation is asked about once, by the
// tab that holds the agent, and a name that a person gave stays. Nothing stays of the question, which quotes the conversation. The
// conversation goes on whether or not a title comes. Leaves to others: what a session is called until then (its first words), what a
// name may be (`src/session/lifecycle.rs`), and taking a title back whose words are erased (`src/harness/holding/clearing.rs`).

const INSTRUCTIONS = "You give conversations their titles. Answer with the title alone: two to six words, in the language of the conversation, without quotation marks and without a full stop.";
/** How much of each of the two the model reads, and how long a title may be, in characters. */
const READ = 2_000;
const LONGEST = 80;
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

/** Names sessions of this workspace after their first answer, where `holds()` says that the agent runs in this tab. What ends that again. */
export function titled(ws, holds) {
  const asked = new Map(); // session id -> what ends the question about it
  const name = async (session, signal) => {
    const messages = await ws.history({ sessionId: session });
    const said = messages.find(({ role }) => role === "user");
    // Before it a run may have failed, or was stopped.
    const [answer, ...more] = messages.filter(({ role, status }) => role === "assistant" && status === "complete");
    const now = async () => (await ws.sessions.status(session)).session;
    const { display_name, config } = await now();
    if (display_name || more.length || !said || !answer || signal.aborted) return;
    const { provider, model } = config ?? {};
    const { text, run } = await ws.sessions.runOnce("Give this conversation its title.", {
      context: `${textOf(said)}\n\n---\n\n${textOf(answer)}`, instructions: INSTRUCTIONS, tools: [], serverTools: [], keep: false, signal, ...(provider && { provider }), ...(model && { model }),
    });
    // It would go of itself after a while.
    await ws.sessions.remove(run.policy_envelope_id.slice(POLICY.length)).catch(() => {});
    const title = titleIn(text);
    if (title && !(await now()).display_name && !signal.aborted) await ws.sessions.rename(session, title, { of: answer.runId });
  };
  const ended = ({ detail: { sessionId } }) => {
    if (!holds() || sessionId.startsWith("once_") || asked.has(sessionId)) return;
    const end = new AbortController();
    asked.set(sessionId, end);
    // What goes wrong with it is no trouble of the conversation: its first words stay.
    name(sessionId, end.signal).catch(() => {});
  };
  const changed = ({ detail: { sessionId, change } }) => {
    if (!ANEW.includes(change)) return;
    asked.get(sessionId)?.abort();
    asked.delete(sessionId);
  };
  const listeners = Object.entries({ "agent:session-completed": ended, "agent:session-changed": changed });
  for (const [type, listener] of listeners) ws.addEventListener(type, listener);
  return () => listeners.forEach(([type, listener]) => ws.removeEventListener(type, listener));
}
