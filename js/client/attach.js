// A journal as it grows: what is retained, then what comes, for its reader.
//
// Promises: every entry once and in order, however slowly it is read. A reader has its own place and at most one page
// of entries in memory. Leaving ends it at once, also in the middle of a wait. Leaves to others: reading a page and
// hearing that there is more (`workspace.js`), and who may read (`src/harness/gate.rs`).

import { errorInfo, LodgerError } from "../protocol/error.js";

const PAGE = 256;

/**
 * @param {string} id
 * @param {{ from?: number, signal?: AbortSignal }} options
 * @param {(from: number, limit: number) => Promise<object[]>} read
 * @param {(grown: (seq: number) => void) => () => void} follow tells how long the journal is, each time that it has grown, until it is undone
 */
export function attach(id, { from, signal }, read, follow) {
  let next = from ?? 1;
  let page = [];
  let seen = false; // whether the session was there once
  let length = 0; // how far the journal goes, as far as we heard
  let wake; // of the reader that waits for it to grow
  let over = false;
  let leave;
  const left = new Promise((resolve) => (leave = resolve));
  const done = { done: true, value: undefined };
  const stop = () => {
    over = true;
    page = [];
    signal?.removeEventListener("abort", end);
    undo?.();
  };
  const end = () => {
    if (!over) stop();
    leave(done);
  };
  const grown = (seq) => {
    length = Math.max(length, seq);
    wake?.();
  };
  let undo; // not before it is read from: what nobody reads follows nothing

  const step = async () => {
    while (!over) {
      if (page.length) {
        const value = page.shift();
        next = value.seq + 1;
        return { done: false, value };
      }
      // Before the page, so that what is written behind it is heard of.
      undo ??= follow(grown);
      try {
        page = await read(next, PAGE);
      } catch (error) {
        if (over) break;
        stop(); // a reader that waits gets the error, not the end
        if (error.code !== "session_not_found") throw error;
        throw new LodgerError({ ...errorInfo(error), message: seen ? `agent ${id} was removed during attach` : `no active session for agent ${id}` });
      }
      seen = true;
      if (!over && !page.length && length < next) await new Promise((resolve) => (wake = resolve));
    }
    return done;
  };

  let last = Promise.resolve();
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end);
  return {
    next() {
      if (over) return Promise.resolve(done);
      // Steps go one after the other, also for a reader that asks twice at once.
      const asked = last.then(step);
      last = asked.catch(() => {});
      return Promise.race([asked, left]);
    },
    return() {
      end();
      return Promise.resolve(done);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
