import type { ChatRequest, CustomProvider, ErrorCode } from "./index.js";

/**
 * A piece of an answer. A text; thinking; a tool call, several for calls beside each other; a pause, in milliseconds; an error that
 * is thrown there, by its code (`rate_limit` and others that can be tried again are) or as it is; or the end of a stream that was
 * not whole.
 */
export type ScriptedPart =
  | string
  | { thinking: string }
  | { tool: string; args?: object }
  | { delay: number }
  | { error: ErrorCode | Error; message?: string }
  | { broken: true };

/** What the model answers to one request. */
export type ScriptedTurn = ScriptedPart | readonly ScriptedPart[];

/**
 * A model for the tests of apps: it answers request after request with these turns. `requests` holds what it was
 * asked. When it is asked more often than it has turns, the run fails and the message says so.
 *
 * @throws {Error} A turn is none of these.
 */
export function scriptedModel(turns: readonly ScriptedTurn[]): CustomProvider & { readonly requests: ChatRequest[] };
