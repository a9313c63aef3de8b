// The pages of the documents, and what stands in them: fenced blocks, headings, links, paragraphs.
import fs from "node:fs/promises";
import path from "node:path";
import { files, ROOT } from "./package.mjs";

export const REPOSITORY = path.join(ROOT, "..");

/** What is for contributors, or made when the site is built. */
const NOT_PAGES = /^docs\/(decisions|reference|node_modules|\.vitepress)\/|^docs\/(measured|any-bytes)\.md$/;

/** The README and each page that readers get, by their paths in the repository. */
export async function pages() {
  const names = ["README.md"];
  for await (const file of files(path.join(REPOSITORY, "docs"))) {
    const name = path.relative(REPOSITORY, file).replaceAll(path.sep, "/");
    if (name.endsWith(".md") && !NOT_PAGES.test(name)) names.push(name);
  }
  return Promise.all(names.sort().map(async (name) => ({ name, text: await fs.readFile(path.join(REPOSITORY, name), "utf8") })));
}

/**
 * The fenced blocks of a page: `{ page, line, kind, name, code, type, press, choose, tabs, follows, shows, output }`. `name`: what stands in brackets behind the
 * kind. `output`: the `text` block that comes next, with at most one line of prose between. `type`, `press`: what comments before
 * the block say, `<!-- type: WORDS -->` for its field and `<!-- press: A, B -->` for its buttons, one after the other. So do `choose`,
 * the file that is chosen, `tabs`, how many have the page open (the last one is used), and `follows`, how many scripts before it come
 * first. `<!-- shows: nothing -->` marks a script that has nothing to show.
 */
export function blocks({ name: page, text }) {
  const found = [];
  const lines = text.split("\n");
  const nothing = { type: undefined, press: [], choose: undefined, tabs: 1, follows: 0, shows: undefined };
  let said = { ...nothing };
  for (let at = 0; at < lines.length; at++) {
    const [, what, words] = lines[at].match(/^<!-- (type|press|choose|tabs|follows|shows): (.*) -->$/) ?? [];
    if (what) said[what] = { press: () => words.split(", "), tabs: () => Number(words), follows: () => Number(words) }[what]?.() ?? words;
    const [, fence, kind, name] = lines[at].match(/^(```+)(\S*)(?: \[(.+)\])?$/) ?? [];
    if (!fence) continue;
    const end = lines.indexOf(fence, at + 1);
    if (end < 0) throw new Error(`${page}:${at + 1}: this block has no end`);
    const block = { page, line: at + 1, end: end + 1, kind, name, code: lines.slice(at + 1, end).join("\n"), ...said };
    const before = found.at(-1);
    if (kind === "text" && before && before.kind !== "text" && lines.slice(before.end, at).filter((line) => line.trim()).length <= 1) before.output = block;
    found.push(block);
    [at, said] = [end, { ...nothing }];
  }
  return found;
}

/** A page without what is in its blocks and comments. */
export const prose = (text) => text.replace(/^---\n[^]*?\n---\n/, "").replace(/^(```+)[^]*?^\1$/gm, "").replace(/<!--[^]*?-->/g, "");

/** The anchors of a page's headings, as GitHub and the site make them. */
export function anchors(text) {
  const slug = (heading) => heading.toLowerCase().replace(/[`*]/g, "").replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s+/g, "-");
  return [...prose(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => slug(heading));
}

/** Where the links of a page lead that stay beside it: `{ file, anchor }`, the file by its path from `name`'s own root. */
export function links({ name, text }) {
  const all = [...prose(text).replace(/`[^`]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to).filter((to) => !/^https?:/.test(to));
  return all.map((to) => {
    const [file, anchor] = to.split("#");
    return { to, file: file ? path.posix.normalize(path.posix.join(path.posix.dirname(name), file)) : name, anchor };
  });
}
