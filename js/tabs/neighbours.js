// How tabs of one origin know of each other: a channel, and locks.
//
// Promises: a tab has a lock of its own exactly as long as it lives, also when it crashes. Nothing here outlives its
// scope. Leaves to others: what tabs say (`tabs.js`), the lock of the writer (`src/browser/pump.rs`).

import { adopt, after, cancel, disown, fresh, hasLocks, lock, waitShared } from "../host/env.js";

/** A holder's lock is called so, with its epoch behind; `src/browser/pump.rs` takes it. */
const alive = (workspace) => `lodger:${workspace}:alive:`;

/** Whether this page can have neighbours at all. */
export const hasNeighbours = () => hasLocks() && typeof globalThis.BroadcastChannel === "function";

/**
 * The world of a tab, but for its client and host.
 * @param {object} scope what holds the channel and the locks
 * @param {string} workspace
 * @param {(message: object) => void} heard what another tab says
 */
export function neighbours(scope, workspace, heard) {
  const id = fresh(scope);
  let channel;
  const tab = (id) => `lodger:${workspace}:tab:${id}`;
  const wake = () => {
    if (channel) return;
    adopt(scope, (channel = new BroadcastChannel(`lodger:${workspace}`)));
    channel.onmessage = ({ data }) => {
      // Another script of this origin may have sent anything.
      if (data !== null && typeof data === "object") heard(data);
    };
  };
  wake();
  const failed = () => {}; // the scope is gone, or the page is
  lock(scope, tab(id), "exclusive").catch(failed);
  const freed = (name, then) => void waitShared(scope, name).then((free) => free && then(), failed);
  return {
    id,
    workspace,
    post(message) {
      if (!scope.closing.signal.aborted) channel?.postMessage(message);
    },
    wake,
    sleep() {
      disown(scope, channel);
      channel?.close();
      channel = null;
    },
    after(ms, then) {
      const timer = after(scope, ms, then);
      return () => cancel(scope, timer);
    },
    soon: (then) => void Promise.resolve().then(then),
    now: () => Date.now(),
    alive(then) {
      const prefix = alive(workspace);
      // A tab that waits for the end of another has that lock as well, shared and for a moment.
      const epoch = ({ held }) => Math.max(0, ...held.map(({ name, mode }) => (mode === "exclusive" && name.startsWith(prefix) ? Number(name.slice(prefix.length)) || 0 : 0)));
      const taken = ({ held }) => held.some(({ name }) => name === `lodger:${workspace}`);
      navigator.locks.query().then((locks) => scope.closing.signal.aborted || then(epoch(locks), taken(locks)), failed);
    },
    gone: (epoch, then) => freed(alive(workspace) + epoch, then),
    watch: (other, then) => freed(tab(other), then),
  };
}
