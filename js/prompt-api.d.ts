import type { CustomProvider } from "./index.js";

export interface PromptApiOptions {
  /** The languages of the conversation, as BCP 47 tags. The browser says `unavailable` to those that its model does not know. Default: its own. */
  languages?: string[];
  /** While the browser downloads its model; most browsers tell parts of one, with a `total` of 1. */
  onProgress?(progress: { loaded: number; total: number }): void;
}

/**
 * The browser's own model, by the Prompt API (`LanguageModel`: Chrome and Edge on the desktop). It is in windows only, not in
 * workers. It is told the tools in a few lines and answers in JSON that it is held to, one call at a time; the browser itself
 * runs no tool. Each request has a session of its own. Temperature and output limit are the browser's.
 *
 * Errors: `not_found` (no such model here), `permission` (it has to be downloaded, which needs a click), `context_length`,
 * `invalid_request`, `protocol`, `refused`, `network`, `server`.
 */
export function promptApi(options?: PromptApiOptions): CustomProvider & {
  /** Makes the browser get its model. Call it in the handler of a click or a key press: a download begins only there. */
  readonly load: () => Promise<void>;
};

/** Whether there is a model for these languages, or could be. `unavailable` too where there is no such API. */
export function availability(options?: Pick<PromptApiOptions, "languages">): Promise<"unavailable" | "downloadable" | "downloading" | "available">;
