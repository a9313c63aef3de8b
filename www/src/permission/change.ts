// What a page tool would change, or a memory that goes, as a difference a person can judge: before and after.
//
// Decides: what of a page a call touches, and whether what is shown of it tells all that the arguments say. Promises: it is worked
// out from the page as it is now, from its versions and from the record, and from nothing that the model says about it. It is null
// where a call changes no page, or none that exists, and its arguments tell all there is.
import type { Page, Workspace } from "lodger";
import { own } from "../own.ts";
import { diff, type Line } from "../pages/diff.ts";
import { pastOf, type Past } from "./past.ts";

/** A change as it is shown. */
export interface Change {
  title: string;
  /** The lines of before and after; null: too much changed. */
  lines: Line[] | null;
  /** Title and lines tell all that the arguments say. */
  whole: boolean;
  /** The version of the page that would be replaced or deleted. */
  version?: number;
  /** What the page was before the conversation changed it. */
  past?: Past;
  /** The lines from its text of then to that after the call, where that text is another one; null: too much changed. */
  pastLines?: Line[] | null;
}

/** A change as it is worked out. */
interface Made {
  title: string;
  before: string;
  after: string;
  /** The page that is changed. */
  page?: Page;
}

type Pages = Workspace["pages"];
type Args = Record<string, unknown>;

/** The change that a call of this session would make, or null. */
export async function pageChange(tool: string, args: unknown, workspace: Workspace, session: string): Promise<Change | null> {
  const kind = own(CHANGES, tool);
  if (!kind || typeof args !== "object" || args === null) return null;
  try {
    const { title, before, after, page } = await kind.make(args as Args, workspace.pages, workspace);
    const lines = diff(before, after);
    const whole = lines !== null && Object.keys(args).every((name) => kind.tells.includes(name));
    if (!page) return { title, lines, whole };
    const past = await pastOf(page, workspace, session);
    const text = kind.text ? past.text : undefined;
    return { title, lines, whole, past, ...(kind.text ? { version: page.version } : {}), ...(text === undefined ? {} : { pastLines: diff(text, after) }) };
  } catch {
    return null;
  }
}

/** By tool: which arguments title and difference tell, and whether it changes what a page says. */
const CHANGES: Record<string, { tells: string[]; text?: boolean; make: (args: Args, pages: Pages, workspace: Workspace) => Promise<Made> }> = {
  create_page: {
    tells: ["title", "content", "parent_slug"],
    async make(args, pages) {
      const parent = await nameOf(text(args, "parent_slug"), pages);
      return { title: `A new page, “${text(args, "title")}”, ${parent ? `under “${parent}”` : "at the top of the tree"}`, before: "", after: text(args, "content") };
    },
  },
  update_page_content: {
    tells: ["slug", "content"],
    text: true,
    async make(args, pages) {
      const page = await read(args, pages);
      return { title: `The text of “${page.title}”`, before: page.content, after: text(args, "content"), page };
    },
  },
  update_page_metadata: {
    tells: ["slug", "metadata"],
    async make(args, pages) {
      const page = await read(args, pages);
      const after: Args = { ...page.metadata, ...(args["metadata"] as Args) };
      for (const [name, value] of Object.entries(after)) if (value === null) delete after[name];
      return { title: `What is noted about “${page.title}”`, before: JSON.stringify(page.metadata, null, 2), after: JSON.stringify(after, null, 2), page };
    },
  },
  rename_page: {
    tells: ["slug", "title"],
    async make(args, pages) {
      const page = await read(args, pages);
      return { title: `The title of “${page.title}”`, before: page.title, after: text(args, "title"), page };
    },
  },
  move_page: {
    tells: ["slug", "parent_slug", "position"],
    async make(args, pages) {
      const page = await read(args, pages);
      const place = (parent: string | null, position: unknown) => `Under: ${parent ?? "the top of the tree"}\nPlace: ${typeof position === "number" ? position + 1 : "last"}`;
      const [from, to] = await Promise.all([nameOf(page.parentSlug, pages), nameOf(text(args, "parent_slug"), pages)]);
      return { title: `The place of “${page.title}”`, before: place(from, page.position), after: place(to, args["position"]), page };
    },
  },
  forget: {
    tells: ["id"],
    async make(args, _pages, workspace) {
      const memory = (await workspace.memory.list()).find(({ id }) => id === text(args, "id"));
      if (!memory) throw new Error("It is not remembered any more.");
      return { title: "A memory is forgotten", before: memory.text, after: "" };
    },
  },
  delete_page: {
    tells: ["slug"],
    text: true,
    async make(args, pages) {
      const page = await read(args, pages);
      const [root] = await pages.tree(page.slug);
      const below = root?.children.length ?? 0;
      return { title: `“${page.title}” goes to the trash${below ? `; ${below === 1 ? "the page below it moves" : `the ${below} pages below it move`} up` : ""}`, before: page.content || page.title, after: "", page };
    },
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
