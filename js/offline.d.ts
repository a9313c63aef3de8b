import type { CustomProvider } from "./index.js";

/**
 * The embedded default model: no network, no weights, the same answer each time. It is a rule-based stand-in and not a
 * language model: it understands requests about the workspace's pages and tools, and says so when it does not. Every
 * fact it states comes from the request.
 *
 * `delayMs`: how long it waits between two words. Default 0: it does not wait and sets no timer.
 */
export function offline(options?: { delayMs?: number }): CustomProvider;
