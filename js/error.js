// The one error class that crosses the border.
//
// Promises: `name` and `code` are enough to recognise it, also from a second copy of the package. Leaves to
// others: which codes exist (`src/error.rs`, `index.d.ts`).

export class LodgerError extends Error {
  /** @param {{ code: string, message: string, retryable?: boolean, hint?: string }} info */
  constructor({ code, message, retryable = false, hint }) {
    super(message);
    this.code = code;
    this.retryable = retryable;
    if (hint !== undefined) this.hint = hint;
  }
}
// On the prototype, so that a printed error shows its name once.
Object.defineProperty(LodgerError.prototype, "name", { value: "LodgerError", configurable: true });

/** An error that will be the same if the call is simply made again. */
export const failure = (code, message, hint) => new LodgerError({ code, message, hint });

/** The plain form, as it stands in events and snapshots. */
export const errorInfo = ({ code, message, retryable, hint }) =>
  hint === undefined ? { code, message, retryable } : { code, message, retryable, hint };

/** Refuses members that are not in `known`, by name; `what` begins the sentence. */
export function onlyKnown(value, known, what, code) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw failure(code, `${what} must be an object.`);
  }
  for (const name of Object.keys(value)) {
    if (value[name] !== undefined && !known.includes(name)) {
      throw failure(code, `${what} has no member "${name}" in this version.`, `It knows: ${known.join(", ")}.`);
    }
  }
}
