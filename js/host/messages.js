// The messages that a host sends its client most, put together here: one crossing for each, however many members it has.
//
// Decides nothing. Promises: a client that throws has only itself to blame, and stops no host. Leaves to others: what the
// messages mean (`PROTOCOL.md`), and those that are rare (`src/js`).

function tell(client, message) {
  try {
    client(message);
  } catch {
    // It has heard it.
  }
}

export const tellText = (client, t, json) => tell(client, { t, json });
export const tellEvent = (client, type, json) => tell(client, { t: "event", type, json });
export const tellSession = (client, t, sessionId, json) => tell(client, { t, sessionId, json });
export const tellMessage = (client, sessionId, from, json) => tell(client, { t: "message", sessionId, from, json });
/** `json`: of its value, `undefined` where it has none. */
export const tellReply = (client, id, json) => tell(client, { t: "reply", id, json });
/** `json` and `body`: a string, or `undefined`. */
export const tellCall = (client, id, fn, kind, json, body) => tell(client, { t: "call", id, fn, kind, json, body });
