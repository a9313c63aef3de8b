// The site of the documents. `menu.json` has the order of the pages, which `llms.txt` in the package has too. A page's
// title is its first heading. What is for contributors stays in the repository.
import fs from "node:fs";
import { defineConfig } from "vitepress";

const read = (file) => fs.readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
const page = (name) => ({ text: read(`${name}.md`).match(/^# (.*)$/m)[1].replaceAll("`", ""), link: `/${name}` });
const menu = JSON.parse(read("menu.json")).map(({ text, pages }) => ({ text, items: pages.map(page) }));
const reference = JSON.parse(read("reference/typedoc-sidebar.json"));

/** A block that is a file of the reader's has its name above it. The site's own theme shows names in groups of blocks only. */
function named(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, at, ...rest) => {
    const [, name] = /\[(.+)\]/.exec(tokens[at].info) ?? [];
    return `${name ? `<p><code>${md.utils.escapeHtml(name.split("/").at(-1))}</code></p>` : ""}${fence(tokens, at, ...rest)}`;
  };
}

export default defineConfig({
  markdown: { config: named },
  title: "Lodger",
  description: "An LLM agent that lives in a web page.",
  base: "/docs/",
  srcExclude: ["decisions/**", "measured.md", "any-bytes.md", "SKILL.md", "README.md"],
  head: [["link", { rel: "icon", href: "data:," }]],
  // Addresses of servers on the reader's machine, and of files beside the site.
  ignoreDeadLinks: "localhostLinks",
  themeConfig: {
    nav: [{ text: "Start", link: "/start/html" }, { text: "Errors", link: "/errors" }, { text: "Reference", link: "/reference/" }],
    sidebar: { "/": [...menu, { text: "Reference", link: "/reference/" }], "/reference/": [{ text: "All pages", link: "/" }, ...reference] },
    outline: [2, 3],
    search: { provider: "local" },
  },
});
