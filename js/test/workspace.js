// A small workspace with the page tools that the offline model is asked about, and a loop that runs it to its end.

import { offline } from "../providers/offline.js";

const definition = (name, description, properties = {}, required = []) => ({
  type: "function",
  function: { name, description, parameters: { type: "object", properties, required } },
});
export const TOOLS = ["search_pages", "read_page", "get_page_tree", "get_backlinks", "get_outgoing_links", "read_page_history", "create_page",
  "update_page_content", "update_page_metadata", "move_page", "rename_page", "delete_page"].map((name) => definition(name, `Does ${name}. And more.`));

export const slugOf = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

export class Pages {
  constructor(pages) {
    this.pages = pages.map(({ title, content = "", parent = null }) => ({ title, content, slug: slugOf(title), parent }));
  }

  /** What a tool says, in the words of the package's own tools. */
  run(name, args) {
    const page = this.pages.find(({ slug }) => slug === args.slug);
    if (args.slug !== undefined && !page) return `no page has the slug '${args.slug}'`;
    const shown = ({ title, slug }) => `"${title}" (slug: ${slug})`;
    const counted = (n) => (n === 1 ? "1 page" : `${n} pages`);
    switch (name) {
      case "search_pages": {
        const wanted = words(args.query);
        const score = (page) => wanted.filter((word) => words(`${page.title} ${page.content}`).some((other) => other.startsWith(word))).length;
        const hits = this.pages.filter((page) => score(page) > 0).sort((a, b) => score(b) - score(a));
        if (!hits.length) return `No page matches "${args.query}".`;
        return `${counted(hits.length)} match "${args.query}":\n${hits.map((hit, i) => `\n${i + 1}. ${shown(hit)}\n${hit.content && `   ${hit.content.replace(/\s+/g, " ").slice(0, 60)}\n`}`).join("")}`.trimEnd();
      }
      case "read_page": {
        const text = `# ${page.title}\nslug: ${page.slug}, version: 1, ${page.content.length} characters\n\n${page.content || "(The page is empty.)"}`;
        return text.length > 102_400 ? `${text.slice(0, 102_300)}\n\n[The result is cut here: ${text.length - 102_300} of ${text.length} bytes are left out. Ask for a smaller part.]` : text;
      }
      case "get_page_tree": {
        const below = (parent, depth) => this.pages.filter((page) => page.parent === parent).flatMap((page) => [`${"  ".repeat(depth)}- ${shown(page)}`, ...below(page.slug, depth + 1)]);
        return this.pages.length ? `${counted(this.pages.length)}:\n\n${below(null, 0).join("\n")}` : "The workspace has no pages.";
      }
      case "create_page":
        this.pages.push({ title: args.title, content: args.content ?? "", slug: slugOf(args.title), parent: args.parent_slug ?? null });
        return `Created ${shown(this.pages.at(-1))}.`;
      case "update_page_content":
        page.content = args.content;
        return `Changed the text of ${shown(page)}; it now has version 2.`;
      case "move_page":
        page.parent = args.parent_slug;
        return "Done. The tool returned no text.";
      case "rename_page":
        page.title = args.title;
        return `Renamed ${shown(page)} to "${args.title}"; the slug stays. Links to it were changed in 2 pages.`;
      case "delete_page":
        this.pages.splice(this.pages.indexOf(page), 1);
        return `Moved ${shown(page)} to the trash. The page below it moved up to its place.`;
      case "get_backlinks": {
        const links = this.pages.filter(({ content }) => content.includes(`[[${page.title}]]`));
        return links.length ? `${counted(links.length)} link to ${shown(page)}:\n${links.map((link) => `\n- ${shown(link)}`).join("")}` : `No page links to ${shown(page)}.`;
      }
      case "get_outgoing_links": {
        const links = [...page.content.matchAll(/\[\[([^\]]+)\]\]/g)].map(([, title]) => this.pages.find((page) => page.title === title) ?? title);
        if (!links.length) return `${shown(page)} links to no page.`;
        return `${shown(page)} links to:\n${links.map((link) => `\n- ${link.slug ? shown(link) : `"${link}", which does not exist`}`).join("")}`;
      }
      default:
        return `(${name} says nothing)`;
    }
  }
}

/** Asks, runs the tools that are wanted, and gives the last words and all calls. */
export async function converse(pages, asked, { tools = TOOLS, model = offline(), before = [], run = (name, args) => pages.run(name, args) } = {}) {
  const messages = [...before, { role: "user", content: asked }];
  const calls = [];
  for (let turn = 0; turn < 10; turn++) {
    const message = { role: "assistant", content: "", tool_calls: [] };
    let finish;
    for await (const { choices: [choice] } of model.stream({ model: "offline", messages, tools }, { signal: new AbortController().signal })) {
      message.content += choice.delta.content ?? "";
      message.tool_calls.push(...(choice.delta.tool_calls ?? []));
      finish = choice.finish_reason ?? finish;
    }
    messages.push(message);
    if (finish === "stop") return { text: message.content, calls, messages };
    for (const { id, function: { name, arguments: json } } of message.tool_calls) {
      const args = JSON.parse(json);
      calls.push([name, args]);
      messages.push({ role: "tool", tool_call_id: id, content: run(name, args) });
    }
  }
  throw new Error("it never stops asking for tools");
}
