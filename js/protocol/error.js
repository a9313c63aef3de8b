// The one error class that crosses the border.
//
// Promises: `name` and `code` are enough to recognise it, also from a second copy of the package. Leaves to
// others: which codes exist (`src/error.rs`, `index.d.ts`).

/** What not every error has. */
const MAYBE = ["hint", "status", "providerCode", "requestId", "retryAfterMs"];

export class LodgerError extends Error {
  /** @param {{ code: string, message: string, retryable?: boolean, hint?: string }} info and what a provider said besides */
  constructor(info) {
    super(info.message);
    this.code = info.code;
    this.retryable = info.retryable ?? false;
    for (const name of MAYBE) if (info[name] !== undefined) this[name] = info[name];
  }

  get docs() {
    return `lodger/docs/errors.md#${this.code}`;
  }
}
// On the prototype, so that a printed error shows its name once.
Object.defineProperty(LodgerError.prototype, "name", { value: "LodgerError", configurable: true });

/** An error that will be the same if the call is simply made again. */
export const failure = (code, message, hint) => new LodgerError({ code, message, hint });

/** What an import of a module of the package gives that comes only when it is needed. */
export const late = (coming) =>
  coming.catch(({ message }) => {
    throw new LodgerError({ code: "wasm_unavailable", message: `A part of lodger could not be loaded: ${message}.`, retryable: true, hint: "Connect and try again, or load the page again." });
  });

/** Throws the error again, with what was meant where it is about a name that does not exist. */
export async function explained(error) {
  if (/^(invalid_(arguments|config|tool)|unknown_command)$/.test(error.code)) {
    const hint = await import("./hints.js").then(({ hintFor }) => hintFor(error), () => {});
    if (hint) error.hint = hint;
  }
  throw error;
}

/** The plain form, as it stands in events and snapshots. */
export const errorInfo = (error) => {
  const { code, message, retryable } = error;
  const more = MAYBE.filter((name) => error[name] !== undefined).map((name) => [name, error[name]]);
  return { code, message, retryable, ...Object.fromEntries(more) };
};

/** What to write in place of a name that differs in a letter, or begins or ends alike: for what cannot wait for `hints.js`, which knows better. */
export function nearest(name, known) {
  const given = name.toLowerCase();
  const near =
    known.find((other) => isNear(given, other.toLowerCase())) ??
    known.find((other) => other.toLowerCase().startsWith(given.slice(0, 4)) || (given.length > 4 && other.toLowerCase().endsWith(given.slice(-4))));
  return near ? `Write "${near}". ` : "";
}

/** Whether two words begin with the same letter and differ in a letter, or in two side by side. */
function isNear(one, other) {
  const most = Math.min(one.length, other.length);
  let [head, tail] = [0, 0];
  while (head < most && one[head] === other[head]) head++;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail++;
  return head > 0 && head + tail > 1 && head + tail >= Math.max(one.length, other.length) - 2;
}

/** Refuses members that are not in `known`, by name; `what` begins the sentence. */
export function onlyKnown(value, known, what, code) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw failure(code, `${what} must be an object.`);
  }
  for (const name of Object.keys(value)) {
    if (value[name] !== undefined && !known.includes(name)) {
      throw failure(code, `${what} has no member "${name}" in this version.`, `${nearest(name, known)}It knows: ${known.join(", ")}.`);
    }
  }
}
