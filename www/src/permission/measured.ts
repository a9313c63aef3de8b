// How much there is of a call's arguments, in a line, for someone who sees a part of them.
//
// Decides what is told: how many characters, how the largest argument begins and ends, and how the last one ends. What a text from
// outside wants unread lies behind much else. Promises: it is bounded, and what a browser would hide is visible.
import { exactJson, visible } from "../shell/visible.ts";

const PART = 60;

const textOf = (value: unknown): string => (typeof value === "string" ? value : exactJson(value));
const number = (of: number): string => of.toLocaleString("en");
const quoted = (text: string): string => `“${visible(text).trim()}”`;

/** The line; empty where the arguments are no object, or have no members. */
export function measured(args: unknown): string {
  const members = Object.entries(typeof args === "object" && args !== null ? args : {}).map(([name, value]) => [name, textOf(value)] as const);
  const last = members.at(-1);
  if (!last) return "";
  const largest = members.reduce((a, b) => (b[1].length > a[1].length ? b : a));
  const all = `${number(exactJson(args).length)} characters in ${members.length === 1 ? "1 argument" : `${number(members.length)} arguments`}.`;
  const [name, text] = largest;
  const says = text.length > PART ? `${quoted(text.slice(0, PART))} … ${quoted(text.slice(-PART))}` : quoted(text);
  const most = `The largest is ${visible(name.slice(0, PART))}, with ${number(text.length)}: ${says}.`;
  return last === largest ? `${all} ${most}` : `${all} ${most} The last, ${visible(last[0].slice(0, PART))}, ends with ${quoted(last[1].slice(-PART))}.`;
}
