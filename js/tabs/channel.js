// The ways between a client and its host, as `PROTOCOL.md` describes what goes over them.
//
// A channel is `{ send(message), close() }`; what comes back goes to `deliver(message)`. Promises: messages arrive in
// the order they were sent. A host that breaks down is told as one `closed` message with the code `panicked`. Leaves
// to others: what the messages mean.

import { hasNeighbours, neighbours } from "./neighbours.js";
import { Tabs } from "./tabs.js";

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
 * A host in this thread, with those of other tabs.
 *
 * @param {object} scope what holds locks and channels
 * @param {string} workspace
 * @param {(deliver: (message: object) => void) => Promise<{ receive(message: object): void, free(): void }>} openHost
 * @param {(message: object) => void} deliver
 */
export async function amongTabs(scope, workspace, openHost, deliver) {
  let host;
  const world = neighbours(scope, workspace, (message) => tabs.fromTab(message));
  const tabs = new Tabs({ ...world, deliver, host: (message) => host?.send(message) });
  host = await direct(openHost, (message) => tabs.fromHost(message));
  return { send: (message) => tabs.fromClient(message), close: host.close };
}

/** A host in this thread; with those of other tabs, unless it has all in memory, which no other tab can know. */
export const inThread = (scope, workspace, storage, openHost, deliver) =>
  storage === "memory" || !hasNeighbours() ? direct(openHost, deliver) : amongTabs(scope, workspace, openHost, deliver);

/**
 * A host behind a port.
 *
 * @param {MessagePort | Worker} port
 * @param {(message: object) => void} deliver
 */
export function overPort(port, deliver) {
  // One array for all that the host says in one go, so that a view is told once.
  port.onmessage = ({ data }) => data.forEach((message) => deliver(message));
  return {
    send: (message) => port.postMessage(message),
    close: () => (port.close ? port.close() : port.terminate()),
  };
}

/**
 * The other end of `overPort`: opens a host and serves it until it or the port is closed.
 *
 * @param {MessagePort | DedicatedWorkerGlobalScope} port
 * @param {(deliver: (message: object) => void) => Promise<{ send(message: object): void, close(): void }>} connect
 */
export function serveHost(port, connect) {
  let batch = [];
  const flush = () => {
    const messages = batch;
    batch = [];
    port.postMessage(messages);
  };
  const channel = connect((message) => {
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
