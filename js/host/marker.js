// The marker of a database: an empty file of the origin's private file system, which says that something is stored.
//
// The databases of an origin die together, when a browser finds one damaged or somebody deletes them: what tells of that
// lies elsewhere. Promises: looking and setting never fail and hold nobody up. Where there is no such file system nothing
// is known. A page that deletes a database takes its marker away first, and meanwhile none is set again. Leaves to
// others: what a marker says about a database (`src/harness/opening.rs`).

import { bytes, hex } from "./vault.js";

// How long the file system may take, in milliseconds: a browser that is busy says nothing then.
const SLOW_MS = 2_000;

const folder = async (options) => (await navigator.storage.getDirectory()).getDirectoryHandle("lodger", options);
// Not all letters and lengths are names of files, and to some systems two names are one.
const file = async (name) => hex(await crypto.subtle.digest("SHA-256", bytes(name)));
const lock = (name) => `${name}:marker`;

/** What comes in time of what may fail. */
const inTime = (work) => Promise.race([work.catch(() => {}), new Promise((resolve) => setTimeout(resolve, SLOW_MS))]);

/**
 * Since when the marker of a database is there, in milliseconds since the epoch. 0: it is not, and those of others may
 * be. Undefined: the file system does not say.
 * @param {{ name: string }} database
 */
export const look = ({ name }) =>
  inTime(
    (async () => {
      const [markers, called] = await Promise.all([folder(), file(name)]);
      const handle = await markers.getFileHandle(called).catch((error) => {
        if (error.name !== "NotFoundError") throw error;
      });
      return handle ? Math.max(1, (await handle.getFile()).lastModified) : 0;
    })(),
  );

/** Sets it, unless somebody else does, or deletes the database. */
export const mark = ({ name }) =>
  void globalThis.navigator?.locks
    ?.request(lock(name), { ifAvailable: true }, async (free) => free && (await folder({ create: true })).getFileHandle(await file(name), { create: true }))
    .catch(() => {});

/** Takes it away, then does the rest. */
export function unmarked(name, then) {
  let begun;
  const act = () => (begun ??= inTime(folder().then(async (markers) => markers.removeEntry(await file(name)))).then(then));
  const { locks } = globalThis.navigator ?? {};
  // A page that stands still may have it.
  return locks ? locks.request(lock(name), { signal: AbortSignal.timeout(SLOW_MS) }, act).catch(() => act()) : act();
}
