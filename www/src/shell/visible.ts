// Text as it is, for someone who decides by it: what a browser would not show becomes visible.
//
// Promises: no character hides another or turns the order of the line around. Those are bidi controls, zero-width, tag and
// control characters, and fillers. Selectors of variants are among them, because they can carry a text of their own. One stays: U+FE0F
// right behind a symbol that is drawn as text without it, and in a keycap, because there a person sees what it does.

/** Characters without a shape of their own, line ends and tabs apart. Digits are emoji by their property. */
const UNSEEN = /(?![\n\t])(?!(?<=\p{Emoji}(?<![\d#*\p{Emoji_Presentation}]))\ufe0f)(?!(?<=[\d#*])\ufe0f\u20e3)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]|[\ud800-\udfff]/gu;

/** The text, with the code points of what cannot be seen. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (c) => `‹U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** A JSON value, readable and exact. */
export function exactJson(value: unknown): string {
  return visible(JSON.stringify(value, null, 2) ?? "");
}
