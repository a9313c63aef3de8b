// Text as it is, for someone who decides by it: what a browser would not show becomes visible.
//
// Promises: no character hides another or turns the order of the line around. Those are bidi controls, zero-width, tag and
// control characters, and fillers. Selectors of variants are among them, because they can carry a text of their own. Everything
// else stays as it is. Emoji keep their two variation selectors.

/** Characters without a shape of their own, line ends and tabs apart. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\u{e0100}-\u{e01ef}]|[\ud800-\udfff]/gu;

/** The text, with the code points of what cannot be seen. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (c) => `‹U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** A JSON value, readable and exact. */
export function exactJson(value: unknown): string {
  return visible(JSON.stringify(value, null, 2) ?? "");
}
