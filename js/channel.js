// The ways between a client and its host, as `PROTOCOL.md` describes what goes over them.
//
// A channel is `{ send(message), close() }`; what comes back goes to `deliver(message)`. Promises: messages arrive in
// the order they were sent; a host that breaks down is told as one `closed` message with the code `panicked`. Leaves
// to others: what the messages mean.

/** A host that could not finish a call is in no state that anybody knows. */
const brokenDown = (error) => ({
  t: "closed",
  error: {
    code: "panicked",
    message: `The module broke down: ${error?.message ?? error}`,
    retryable: true,
    hint: "Call startAgent() again: a fresh instance goes on from what is stored.",
  },
});

/**
 * A host in this thread.
 *
 * @param {(deliver: (message: object) => void) => Promise<{ receive(message: object): void, free(): void }>} openHost
 * @param {(message: object) => void} deliver
 */
export async function direct(openHost, deliver) {
  let alive = true;
  const guarded = (message) => {
    if (message.t === "closed") alive = message.error?.code !== "panicked";
    deliver(message);
  };
  const host = await openHost(guarded);
  return {
    send(message) {
      if (!alive) return;
      try {
        host.receive(message);
      } catch (error) {
        if (alive) guarded(brokenDown(error));
      }
    },
    close() {
      // The destructors of a module that panicked would run on broken data.
      if (alive) host.free();
      alive = false;
    },
  };
}

/**
 * A host behind a port.
 *
 * @param {MessagePort} port
 * @param {(message: object) => void} deliver
 */
export function overPort(port, deliver) {
  // One array for all that the host says in one go, so that a view is told once.
  port.onmessage = ({ data }) => data.forEach((message) => deliver(message));
  return {
    send: (message) => port.postMessage(message),
    close: () => port.close(),
  };
}

/**
 * The other end of `overPort`: opens a host and serves it until it or the port is closed.
 *
 * @param {MessagePort} port
 * @param {(deliver: (message: object) => void) => Promise<{ receive(message: object): void, free(): void }>} openHost
 */
export function serveHost(port, openHost) {
  let batch = [];
  const flush = () => {
    const messages = batch;
    batch = [];
    port.postMessage(messages);
  };
  const channel = direct(openHost, (message) => {
    if (batch.push(message) === 1) Promise.resolve().then(flush);
  });
  channel.catch((error) => {
    const { code = "panicked", message, retryable = false, hint } = error ?? {};
    port.postMessage([{ t: "closed", error: { code, message: message ?? String(error), retryable, hint } }]);
  });
  // Once it is open; until then nothing is lost, the order stays.
  port.onmessage = ({ data }) => channel.then((open) => open.send(data), () => {});
  port.addEventListener?.("close", () => channel.then((open) => open.close(), () => {}));
}
