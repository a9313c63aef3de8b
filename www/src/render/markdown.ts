// Markdown to DOM. One lexer, one sanitizer, for answers and for pages.
//
// Decides: what Markdown may become. Promises: nothing reaches the document that DOMPurify has not seen. No image is
// loaded from elsewhere (an address in a picture can carry data out), links go to http, https, mailto and to pages.
// Headings never skip a level. What is nested deeper than anybody writes stays text, because each level takes of the
// stack. A block with more marks than anybody writes stays text too, because the lexer looks from each mark to the
// block's end. Leaves to others: when to render (`stream.ts`), colours (`highlight.ts`).
import DOMPurify from "dompurify";
import { Lexer, Marked, Tokenizer, type Token, type Tokens, type TokenizerAndRendererExtension } from "marked";
import { iconNode } from "../shell/icons.ts";
import { h } from "../shell/dom.ts";

/** A link to a page by its title, as `[[Title]]` or `[[Title|words]]`. */
const pageLink: TokenizerAndRendererExtension = {
  name: "pageLink",
  level: "inline",
  start: (src) => src.indexOf("[["),
  tokenizer(src) {
    const match = /^\[\[([^[\]\n|]+)(?:\|([^[\]\n]+))?\]\]/.exec(src);
    if (!match) return undefined;
    return { type: "pageLink", raw: match[0], title: match[1]?.trim() ?? "", words: (match[2] ?? match[1] ?? "").trim() };
  },
  renderer: (token) => `<a data-page="${escape(String(token["title"]))}">${escape(String(token["words"]))}</a>`,
};

/** Where a piece of text stands among the headings of the document. */
export interface Place {
  /** The level of the heading above the text. */
  base: number;
  /** The level of the last heading seen. */
  last: number;
}

/** How deep quotes, lists and emphasis are nested at most. */
const DEEPEST = 32;
let depth = 0;

/** A tokenizer that finds nothing below `DEEPEST` of these. */
const bounded = <Args extends unknown[], Found>(tokenize: (this: Tokenizer, ...args: Args) => Found) =>
  function (this: Tokenizer, ...args: Args): Found | undefined {
    if (depth >= DEEPEST) return undefined;
    depth++;
    try {
      return tokenize.apply(this, args);
    } finally {
      depth--;
    }
  };
const { blockquote, list, emStrong, del } = Tokenizer.prototype;

let place: Place = { base: 2, last: 2 };

const marked = new Marked({
  gfm: true,
  extensions: [pageLink],
  tokenizer: { blockquote: bounded(blockquote), list: bounded(list), emStrong: bounded(emStrong), del: bounded(del) },
  renderer: {
    heading({ tokens, depth }) {
      place.last = Math.min(6, place.base + depth, place.last + 1);
      return `<h${place.last}>${this.parser.parseInline(tokens)}</h${place.last}>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    html: ({ text }) => plainTags(text),
    // Between raw tags of code its text would go on as it is.
    text(token) {
      if ("escaped" in token) token.escaped = false;
      return false;
    },
    image: ({ href, text }) => `<img src="${escape(href)}" alt="${escape(text)}">`,
  },
});

DOMPurify.setConfig({
  ALLOWED_TAGS: [
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "dl", "dt", "em", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins",
    "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "u", "ul",
  ],
  ALLOWED_ATTR: ["href", "title", "alt", "src", "class", "start", "colspan", "rowspan", "align", "data-page", "data-src"],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto):|data:image\/(?:png|jpeg|gif|webp);|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
  RETURN_DOM_FRAGMENT: true,
});

DOMPurify.addHook("beforeSanitizeAttributes", (node) => {
  if (node.nodeName === "IMG" && !/^data:image\//i.test(node.getAttribute("src") ?? "")) {
    node.setAttribute("data-src", node.getAttribute("src") ?? "");
    node.removeAttribute("src");
  }
  // Only a code block's language: other classes would let a text look like a control.
  const language = /(?:^|\s)(language-[\w+#.-]+)/.exec(node.getAttribute?.("class") ?? "")?.[1];
  if (language && node.nodeName === "CODE") node.setAttribute("class", language);
  else node.removeAttribute?.("class");
});

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName !== "A" || !node.hasAttribute("href")) return;
  if (!/^(?:https?|mailto):/i.test(node.getAttribute("href") ?? "")) node.removeAttribute("href");
  else {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  }
});

/** What may begin or end something within a line. */
const MARK = /[*_~`[<!]/g;
/** How many marks a block has at most, times its length. A page of prose has 4,000 letters and some dozen marks. */
const MOST_WORK = 2_000_000;

/** Cuts Markdown into its top-level blocks. */
export function lex(text: string): Token[] {
  const lexer = new Lexer(marked.defaults);
  const inline = lexer.inline.bind(lexer);
  lexer.inline = (src, tokens = []) => {
    if ((src.match(MARK)?.length ?? 0) * src.length <= MOST_WORK) return inline(src, tokens);
    tokens.push({ type: "text", raw: src, text: src, escaped: false });
    return tokens;
  };
  return lexer.lex(text);
}

/** One block as DOM. `at` is read and moved on by headings. */
export function renderBlock(token: Token, at: Place): DocumentFragment {
  // A code block needs no parser and no sanitizer: its text is text.
  if (token.type === "code") {
    const fragment = document.createDocumentFragment();
    fragment.append(codeBlock((token as Tokens.Code).text, (token as Tokens.Code).lang ?? ""));
    return fragment;
  }
  place = at;
  const fragment = DOMPurify.sanitize(marked.parser([token]), { RETURN_DOM_FRAGMENT: true }) as DocumentFragment;
  finish(fragment);
  return fragment;
}

/** Completes what the sanitizer let through: code blocks, tables, pictures, links to pages. */
function finish(fragment: DocumentFragment): void {
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector("code");
    pre.replaceWith(codeBlock(pre.textContent ?? "", code?.className.replace("language-", "") ?? ""));
  }
  for (const table of fragment.querySelectorAll("table")) {
    const box = h("div", { class: "table-scroll", role: "group", "aria-label": "Table", tabindex: 0 });
    table.replaceWith(box);
    box.append(table);
    for (const head of table.querySelectorAll("th")) if (!head.textContent?.trim()) head.replaceWith(h("td"));
  }
  for (const picture of fragment.querySelectorAll<HTMLElement>("img[data-src]")) {
    const src = picture.dataset["src"] ?? "";
    const words = `Image not loaded: ${picture.getAttribute("alt") || src}`;
    const safe = /^https?:/i.test(src);
    picture.replaceWith(safe ? h("a", { class: "blocked-image", href: src, target: "_blank", rel: "noopener noreferrer" }, words) : h("span", { class: "blocked-image" }, words));
  }
  for (const link of fragment.querySelectorAll<HTMLAnchorElement>("a[data-page]")) {
    link.classList.add("page-link");
    link.href = `#/title/${encodeURIComponent(link.dataset["page"] ?? "")}`;
    link.removeAttribute("target");
  }
}

/** A code block with its language and a Copy button. */
function codeBlock(text: string, language: string): HTMLElement {
  const name = language.trim().split(/\s/)[0] ?? "";
  const copy = h("button", { type: "button", class: "ghost small", "data-action": "copy-code", "aria-label": "Copy code" });
  copy.append(iconNode("copy"), h("span", {}, "Copy"));
  const pre = h("pre", { tabindex: 0, "aria-label": name ? `Code, ${name}` : "Code", role: "group" }, h("code", { "data-language": name || null }, text));
  return h("div", { class: "code-block" }, h("div", { class: "code-head" }, h("span", {}, name || "text"), copy), pre);
}

/** Raw HTML is shown as it was written, but for bare tags that only mark text. (Chromium reports every `on…` attribute
 * that a parser meets as a violation, even in the sanitizer's inert document: so none gets that far.) */
function plainTags(html: string): string {
  const shown = escape(withoutComments(html));
  return shown.replace(/&#60;(\/?(?:b|br|code|del|details|em|hr|i|ins|kbd|mark|p|s|small|strong|sub|summary|sup|u))\s*\/?&#62;/gi, "<$1>");
}

/** The text without its comments. One that does not end is none, and is looked for once. */
function withoutComments(html: string): string {
  let [kept, from] = ["", 0];
  for (;;) {
    const begin = html.indexOf("<!--", from);
    const end = begin < 0 ? -1 : html.indexOf("-->", begin + 4);
    if (end < 0) return kept + html.slice(from);
    kept += html.slice(from, begin);
    from = end + 3;
  }
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
