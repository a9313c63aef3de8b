// What goes wrong, in words for the person before the page.
//
// Decides what a failure is called, in a sentence and in a few words, and what a person can do about it. Promises: nothing that
// only the author of a page could do is advised. Leaves to others: where it is shown.
import type { ErrorInfo } from "lodger";
import { own } from "./own.ts";
import { service } from "./services.ts";

/** What a person at this page can do, where the package's hint speaks to the author of the page or there is none. */
const HINTS: Partial<Record<ErrorInfo["code"], string>> = {
  not_configured: "Enter a key in the settings, or take the offline model.",
  already_running: "Take it over, or go on in that tab. Pages can be read and changed in both.",
  auth: "Check the key in the settings: it may be mistyped, expired, or another service’s.",
  not_found: "Check the model’s name and the address in the settings.",
  budget_exceeded: "It is a limit of your own: raise it in the settings, then continue.",
  network: "Check the connection and the address in the settings. It may also be that the server does not let this page call it (CORS): a browser does not tell the two apart.",
  invalid_request: "Try another model in the settings.",
  unsupported_file: "Take it away above, or choose a model in the settings that reads it.",
  invalid_config: "Change it in the settings.",
  permission: "Check in the provider’s console what the key may do, or choose another model in the settings.",
  context_length: "Clear the conversation, or choose a model with a larger context window in the settings.",
  output_limit: "Ask for less at once, or choose another model in the settings.",
  max_turns_exceeded: "Continue, if it was on the right way, or write what it should do instead.",
  timeout: "Try again in a moment. A model on a machine of your own may still be loading.",
  invalid_output: "Try again, or choose another model in the settings.",
  protocol: "Check the address in the settings: another service may answer there.",
};
/** Where a limit in dollars needs what is not known. */
const PRICE = "Take the limit in dollars away in the settings, or choose a model whose price is known.";
const UNCOUNTED = "What was spent has no known price: take the limit in dollars away in the settings, then continue.";
/** Whose hints fit the case better than ours. */
const FITTING = new Set<string>(["not_found", "invalid_request", "context_length"]);
const TEXTS: Partial<Record<ErrorInfo["code"], string>> = {
  not_configured: "LLM provider not configured",
  already_running: "the agent is running in another tab",
};
/** Why a provider is asked again, or another one in its place. */
const REASONS: Partial<Record<ErrorInfo["code"], string>> = {
  auth: "key refused",
  permission: "not allowed",
  not_found: "model not found",
  rate_limit: "too many requests",
  quota: "no credit left",
  overloaded: "overloaded",
  server: "failed",
  network: "cannot be reached",
  timeout: "took too long",
  stream_broken: "answer broke off",
  not_configured: "no key",
};

/** The cause in a few words. */
export function reason({ code, message }: ErrorInfo): string {
  return own(REASONS, code) ?? message;
}

/** The same without anything of the provider's words. */
export function cause(code: ErrorInfo["code"]): string {
  return own(REASONS, code) ?? code.replaceAll("_", " ");
}

/** An error as it is told here: a sentence, and what to do. `provider`: the name of the one that is asked, which has needs of its own. */
export function told(error: ErrorInfo, provider = ""): { text: string; hint: string } {
  const { code, hint, retryAfterMs } = error;
  // What support wants to know stands folded below.
  const message = error.status === undefined ? error.message : error.message.replace(/ \(HTTP \d+(, request [^)]*)?\)$/, "");
  const asked = service(provider);
  const advice = forPeople(hint ?? "");
  // What the package says of these fits the model and the provider.
  const fits = FITTING.has(code) || (code === "network" && provider === "anthropic") || /browser|proxy/.test(advice);
  const known = code === "invalid_config" && /price/.test(message) ? PRICE : code === "budget_exceeded" && /unknown/.test(message) ? UNCOUNTED : own(HINTS, code);
  const first = code === "network" && asked?.command ? `${asked.help} ${asked.command}` : (fits && advice) || (known ?? advice);
  const pause = retryAfterMs ? ` It asks for a pause of ${duration(retryAfterMs)}.` : "";
  return { text: `Error: ${sentence(own(TEXTS, code) ?? message)}`, hint: `${sentence(first, true)}${pause}`.trim() };
}

/** Options that a person finds in the settings under another name. */
const IN_SETTINGS: readonly [string, string][] = [["the provider's baseUrl", "the address in the settings"], ["the base URL", "the address in the settings"], ["set baseUrl to", "enter in the settings the address of"]];

/** A hint without what only the author of the page can do: it names an option or a function. */
function forPeople(hint: string): string {
  const told = IN_SETTINGS.reduce((text, [option, name]) => text.replaceAll(option, name), hint);
  return told.split(", or ").filter((way) => !/[a-z][A-Z]|\w[._]\w|\b(headers|models|reasoning)\b/.test(way)).join(", or ");
}

/** A length of time in words. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 100 ? `${seconds} s` : seconds < 6_000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** With one full stop at its end, and a capital at its beginning if it stands alone. */
export function sentence(text: string, alone = false): string {
  const ended = text && `${text.replace(/[.\s]+$/, "")}.`;
  return alone ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}

/** What was thrown, in the shape that is shown. By name and code, not `instanceof`: two copies may be loaded. */
export function errorInfo(error: unknown): ErrorInfo {
  const e = error as Partial<ErrorInfo> | null;
  const info: ErrorInfo = { code: e?.code ?? ("internal" as ErrorInfo["code"]), message: e?.message ?? String(error), retryable: e?.retryable ?? false };
  for (const name of ["hint", "status", "providerCode", "requestId", "retryAfterMs"] as const) if (e?.[name] !== undefined) Object.assign(info, { [name]: e[name] });
  return info;
}
