// A tool's outcome in words a person reads: lists, titles, text. The JSON stays one press away.
//
// Decides: how any JSON value is shown, by its shape alone, so that tools of the page's own are shown as well as the
// twelve. Promises: text nodes only, and bounded work (long lists and texts are cut, and say so).
import { h } from "../shell/dom.ts";

const MOST_ITEMS = 50;
const MOST_TEXT = 4_000;

type Json = unknown;

/** A value as it was meant: a string that holds JSON is taken as that JSON. */
export function meaning(value: Json): Json {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** One line: "3 pages", a title, the first words. */
export function oneLine(result: Json): string {
  const value = meaning(result);
  if (value === null || value === undefined || value === "") return "";
  if (Array.isArray(value)) return count(value.length, "result");
  if (typeof value === "object") {
    const list = mainList(value);
    if (list) return count(list[1].length, singular(list[0]));
    const name = text(value, "title") || text(value, "name") || text(value, "message") || text(value, "slug");
    if (name) return clip(name, 60);
    const first = Object.entries(value)[0];
    return first ? clip(`${words(first[0])}: ${plain(first[1])}`, 60) : "";
  }
  const first = (String(value).split("\n", 1)[0] ?? "").replace(/^#+ /, "").replace(/ \(slug: [^)]*\)/g, "").replace(/[:.]$/, "");
  // "3 pages match …" repeats the argument that stands beside it.
  return clip(/^\d+ \p{L}+(?= (?:match|link))/u.exec(first)?.[0] ?? first, 60);
}

/** The argument that tells most about a call. */
export function mainArgument(args: Json): string {
  if (typeof args !== "object" || args === null) return "";
  const a = args as Record<string, unknown>;
  const value = ["query", "title", "slug", "root_slug", "task"].map((k) => a[k]).find((v) => typeof v === "string") ?? Object.values(a).find((v) => typeof v === "string" || typeof v === "number");
  return value === undefined ? "" : clip(String(value), 48);
}

/** The value as readable DOM. */
export function readable(result: Json, depth = 0): Node {
  const value = meaning(result);
  if (value === null || value === undefined || value === "") return h("p", { class: "muted" }, "Nothing came back.");
  if (Array.isArray(value)) return list(value, depth);
  if (typeof value === "object") return record(value as Record<string, unknown>, depth);
  return prose(String(value));
}

function list(items: Json[], depth: number): Node {
  if (!items.length) return h("p", { class: "muted" }, "Nothing found.");
  const ul = h("ul", { class: "plain-list" });
  for (const item of items.slice(0, MOST_ITEMS)) ul.append(h("li", {}, entry(item, depth + 1)));
  if (items.length > MOST_ITEMS) ul.append(h("li", { class: "muted" }, `and ${items.length - MOST_ITEMS} more`));
  return ul;
}

/** An item of a list: its title as a link to the page, what is said about it, what lies under it. */
function entry(item: Json, depth: number): Node {
  if (typeof item !== "object" || item === null) return document.createTextNode(clip(String(item), MOST_TEXT));
  if (Array.isArray(item)) return list(item, depth);
  const name = text(item, "title") || text(item, "name");
  if (!name || depth > 5) return record(item as Record<string, unknown>, depth);
  const box = document.createDocumentFragment();
  const slug = text(item, "slug");
  box.append(slug ? h("a", { class: "page-link", href: `#/page/${encodeURIComponent(slug)}` }, name) : h("strong", {}, name));
  const about = text(item, "snippet") || text(item, "description");
  if (about) box.append(h("span", { class: "muted" }, ` ${clip(about, 240)}`));
  const children = (item as Record<string, unknown>)["children"];
  if (Array.isArray(children) && children.length) box.append(list(children, depth));
  return box;
}

function record(value: Record<string, unknown>, depth: number): Node {
  const box = h("div", { class: "record" });
  const title = text(value, "title");
  const slug = text(value, "slug");
  if (title) box.append(h("p", {}, slug ? h("a", { class: "page-link", href: `#/page/${encodeURIComponent(slug)}` }, title) : h("strong", {}, title)));
  const body = text(value, "content") || text(value, "text");
  if (body) box.append(prose(body));
  const dl = h("dl", {});
  for (const [key, member] of Object.entries(value)) {
    if ((title && (key === "title" || key === "slug")) || (body && (key === "content" || key === "text"))) continue;
    if (member === null || member === undefined || member === "") continue;
    const shown = typeof member === "object" && depth < 4 ? readable(member, depth + 1) : document.createTextNode(moment(key, member));
    dl.append(h("div", {}, h("dt", {}, words(key)), h("dd", {}, shown)));
  }
  if (dl.childElementCount) box.append(dl);
  if (!box.childElementCount) box.append(h("p", { class: "muted" }, "Nothing came back."));
  return box;
}

function prose(value: string): Node {
  const shown = value.length > MOST_TEXT ? value.slice(0, MOST_TEXT) : value;
  const box = h("div", { class: "result-text", tabindex: shown.length > 600 ? 0 : null, role: "group", "aria-label": "Text" });
  // The page tools name a page as "Title" (slug: x); a person wants to go there.
  let at = 0;
  for (const match of shown.matchAll(/"([^"\n]+)" \(slug: ([\p{L}\p{N}_-]+)\)/gu)) {
    box.append(shown.slice(at, match.index), h("a", { class: "page-link", href: `#/page/${encodeURIComponent(match[2] ?? "")}` }, match[1] ?? ""));
    at = match.index + match[0].length;
  }
  box.append(shown.slice(at));
  if (shown.length < value.length) box.append(h("p", { class: "muted" }, `… ${(value.length - shown.length).toLocaleString("en")} more characters`));
  return box;
}

/** The member that holds the result, when one list does. */
function mainList(value: object): [string, unknown[]] | null {
  const lists = Object.entries(value).filter((e): e is [string, unknown[]] => Array.isArray(e[1]));
  return lists.length === 1 ? (lists[0] ?? null) : null;
}

function moment(key: string, value: unknown): string {
  const isTime = typeof value === "number" && value > 1e12 && /(^at$|_at$|At$)/.test(key);
  return isTime ? new Date(value).toLocaleString() : plain(value);
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function text(value: object, key: string): string {
  const member = (value as Record<string, unknown>)[key];
  return typeof member === "string" ? member : "";
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

function singular(name: string): string {
  return words(name).toLowerCase().replace(/s$/, "");
}

function words(key: string): string {
  const spaced = key.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1).toLowerCase();
}

function clip(value: string, most: number): string {
  return value.length > most ? `${value.slice(0, most - 1)}…` : value;
}
