// What a page tool would change, as a difference a person can judge: before and after.
//
// Decides: what of a page a call touches, and whether the conversation has changed its text before. Promises: it is worked out
// from the page as it is now and from its versions, and from nothing that the model says about it. It is null where a call
// changes no page, or none that exists, and its arguments tell all there is.
import type { Message, Page, Workspace } from "lodger";

/** A change: what it is, and the text before and after. */
export interface Change {
  title: string;
  before: string;
  after: string;
  /** The version of the page that would be replaced or deleted. */
  version?: number;
  /** The text before the conversation changed it first, where that is another one. */
  former?: string;
}

type Pages = Workspace["pages"];
type Args = Record<string, unknown>;

/** So many versions of a page are looked through. */
const VERSIONS = 200;

/** The change that a call of this conversation would make, or null. */
export async function pageChange(tool: string, args: unknown, pages: Pages, messages: readonly Message[]): Promise<Change | null> {
  const make = Object.hasOwn(CHANGES, tool) ? CHANGES[tool] : undefined;
  if (!make || typeof args !== "object" || args === null) return null;
  try {
    const change = await make(args as Args, pages);
    const former = CONTENT.has(tool) ? await formerText(text(args as Args, "slug"), pages, messages) : null;
    return !change || former === null || former === change.before ? change : { ...change, former };
  } catch {
    return null;
  }
}

/** What a page said before the conversation changed it first; null: it has not. Of one that it has made, nothing. */
async function formerText(slug: string, pages: Pages, messages: readonly Message[]): Promise<string | null> {
  const changes = ({ parts }: Message): boolean =>
    parts.some((part) => part.type === "tool-call" && part.status === "completed" && (CONTENT.has(part.tool) ? text(part.arguments as Args, "slug") === slug : part.tool === "create_page" && `${part.result}`.includes(`(slug: ${slug})`)));
  const since = messages.find(changes)?.createdAt;
  if (since === undefined) return null;
  const versions = await pages.versions(slug, { limit: VERSIONS });
  const before = versions.find(({ at }) => at < since) ?? (versions.length < VERSIONS ? undefined : versions.at(-1));
  return before?.content ?? "";
}

/** The tools that change what a page says. */
const CONTENT = new Set(["update_page_content", "delete_page"]);

const CHANGES: Record<string, (args: Args, pages: Pages) => Promise<Change | null>> = {
  async create_page(args, pages) {
    const parent = await nameOf(text(args, "parent_slug"), pages);
    return { title: `A new page, “${text(args, "title")}”, ${parent ? `under “${parent}”` : "at the top of the tree"}`, before: "", after: text(args, "content") };
  },
  async update_page_content(args, pages) {
    const page = await read(args, pages);
    return { title: `The text of “${page.title}”`, before: page.content, after: text(args, "content"), version: page.version };
  },
  async update_page_metadata(args, pages) {
    const { title, metadata } = await read(args, pages);
    const after: Args = { ...metadata, ...(args["metadata"] as Args) };
    for (const [name, value] of Object.entries(after)) if (value === null) delete after[name];
    return { title: `What is noted about “${title}”`, before: JSON.stringify(metadata, null, 2), after: JSON.stringify(after, null, 2) };
  },
  async rename_page(args, pages) {
    const page = await read(args, pages);
    return { title: `The title of “${page.title}”`, before: page.title, after: text(args, "title") };
  },
  async move_page(args, pages) {
    const page = await read(args, pages);
    const place = (parent: string | null, position: unknown) => `Under: ${parent ?? "the top of the tree"}\nPlace: ${typeof position === "number" ? position + 1 : "last"}`;
    const [from, to] = await Promise.all([nameOf(page.parentSlug, pages), nameOf(text(args, "parent_slug"), pages)]);
    return { title: `The place of “${page.title}”`, before: place(from, page.position), after: place(to, args["position"]) };
  },
  async delete_page(args, pages) {
    const page = await read(args, pages);
    const [root] = await pages.tree(page.slug);
    const below = root?.children.length ?? 0;
    return { title: `“${page.title}” goes to the trash${below ? `; ${below === 1 ? "the page below it moves" : `the ${below} pages below it move`} up` : ""}`, before: page.content || page.title, after: "", version: page.version };
  },
};

function read(args: Args, pages: Pages): Promise<Page> {
  return pages.read(text(args, "slug"));
}

/** The title of a page; its slug where there is no such page; null for the top of the tree. */
async function nameOf(slug: string | null, pages: Pages): Promise<string | null> {
  if (!slug) return null;
  return pages.read(slug).then((page) => page.title, () => slug);
}

function text(args: Args, name: string): string {
  const value = args[name];
  return typeof value === "string" ? value : "";
}
