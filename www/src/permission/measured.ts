// How much there is of a call's arguments, in a line, for someone who sees a part of them.
//
// Decides what is named: how many characters, which argument is the largest, and how the last one ends. What a text from outside
// wants unread lies behind much else. Promises: it is bounded, and what a browser would hide is visible.
import { exactJson, visible } from "../shell/visible.ts";

const LAST = 80;

const length = (value: unknown): number => (typeof value === "string" ? value : exactJson(value)).length;
const number = (of: number): string => of.toLocaleString("en");

/** The line; empty where the arguments are no object, or have no members. */
export function measured(args: unknown): string {
  const members = Object.entries(typeof args === "object" && args !== null ? args : {});
  const last = members.at(-1);
  if (!last) return "";
  const [largest, size] = members.map(([name, value]) => [name, length(value)] as const).reduce((a, b) => (b[1] > a[1] ? b : a));
  const all = `${number(exactJson(args).length)} characters in ${members.length === 1 ? "1 argument" : `${number(members.length)} arguments`}.`;
  const most = members.length > 1 ? ` The largest is ${visible(largest.slice(0, LAST))}, with ${number(size)}.` : "";
  const text = typeof last[1] === "string" ? last[1] : exactJson(last[1]);
  return `${all}${most} The last, ${visible(last[0].slice(0, LAST))}, ends with “${visible(text.slice(-LAST)).trim()}”.`;
}
