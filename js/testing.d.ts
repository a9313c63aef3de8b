import type { ChatRequest, CustomProvider } from "./index.js";

/** What the model answers to one request: text, or one tool call. */
export type ScriptedTurn = string | { tool: string; args?: object };

/**
 * A model for the tests of apps: it answers request after request with these turns. `requests` holds what it was
 * asked. When it is asked more often than it has turns, the run fails and the message says so.
 */
export function scriptedModel(turns: readonly ScriptedTurn[]): CustomProvider & { readonly requests: ChatRequest[] };
