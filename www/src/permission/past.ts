// What a page was before a conversation changed it, by the journal of its session and the page's own versions.
//
// Decides which calls count: those that have taken effect, a delegate's too, and those of answers that were made anew. Promises:
// no text of a tool counts as a change of a page. A version and what was said of it are one commit, so they have one time. No
// entry of a journal is read twice but the last.
import type { JournalEntry, Page, Workspace } from "lodger";

/** What a page was; a member is absent where that is as it was. */
export interface Past {
  /** The conversation has made the page. */
  made?: boolean;
  title?: string;
  text?: string;
}

/** A call that changes pages. */
interface Call {
  tool: string;
  /** The page that it names. */
  slug?: unknown;
}

/** What its tool has said, and when. */
interface Said extends Call {
  text: string;
  at: number;
}

/** Entries that are read in one go. */
const PIECE = 400;
const TOOLS = new Set(["create_page", "update_page_content", "rename_page"]);

/** What a page was before the conversation of this session changed it. */
export async function pastOf(page: Page, workspace: Workspace, session: string): Promise<Past> {
  const all = await said(workspace, session);
  return { ...(await textBefore(page, all, workspace)), ...titleBefore(page, all) };
}

async function textBefore({ slug, version, content }: Page, all: readonly Said[], { pages }: Workspace): Promise<Past> {
  const numbers = (one: Said): number[] =>
    one.tool === "create_page" && one.text.endsWith(` (slug: ${slug}).`) ? [1] : one.text.split(` (slug: ${slug}); it now has version `).slice(1).map(Number.parseFloat);
  const written = all.flatMap((one) => numbers(one).map((number) => ({ number, at: one.at })));
  // What renames a page writes the pages anew that link to it, and names none of them.
  const renamed = new Set(all.filter(({ tool }) => tool === "rename_page").map(({ at }) => at));
  if (written.length === 0 && renamed.size === 0) return {};
  const oldest = renamed.size ? 1 : Math.min(...written.map(({ number }) => number));
  const versions = await pages.versions(slug, { limit: Math.max(1, version - oldest + 2) });
  // The journal of an imported session may tell of a page of another browser.
  const own = versions.filter((one) => renamed.has(one.at) || written.some(({ number, at }) => one.version === number && one.at === at));
  const first = Math.min(...own.map((one) => one.version));
  if (first === 1) return { made: true };
  const before = versions.find((one) => one.version === first - 1 && !one.damaged);
  return !before || before.content === content ? {} : { text: before.content };
}

function titleBefore({ slug, title }: Page, all: readonly Said[]): Past {
  const named = ` (slug: ${slug}) to "`;
  // Titles are the model's words and may read like such a sentence, so the call says which page it was.
  const renamed = all.filter((one) => one.tool === "rename_page" && one.slug === slug && one.text.includes(named));
  const before = renamed[0]?.text.split(`"${named}`)[0]?.replace('Renamed "', "");
  // Where a person has given it another title since, that is not the conversation's doing.
  return before !== undefined && before !== title && renamed.at(-1)?.text.includes(`${named}${title}"; `) ? { title: before } : {};
}

/** What is known of a journal up to its last entry that was read. */
interface Known {
  last?: JournalEntry;
  /** By its id. */
  calls: Map<string, Call>;
  said: readonly Said[];
}

const nothing = (): Known => ({ calls: new Map(), said: [] });
const known = new WeakMap<Workspace, Map<string, Promise<Known>>>();

/** What the tools of a session that change pages have said, in their order. Only what is new of its journal is read. */
async function said(workspace: Workspace, session: string): Promise<readonly Said[]> {
  const sessions = known.get(workspace) ?? new Map<string, Promise<Known>>();
  known.set(workspace, sessions);
  const before = sessions.get(session) ?? Promise.resolve(nothing());
  const now = before.catch(nothing).then((before) => read(before, workspace, session));
  sessions.set(session, now);
  return (await now).said;
}

async function read({ last, calls, said }: Known, workspace: Workspace, session: string): Promise<Known> {
  const all = [...said];
  for (let from = last?.seq ?? 1; ; ) {
    const entries = (await workspace.sessions.journal(session, { from, limit: PIECE })) as JournalEntry[];
    // The last one comes again. Where it has changed, another session has this name.
    if (last && !(entries[0]?.seq === last.seq && entries[0].at === last.at)) return read(nothing(), workspace, session);
    for (const entry of entries.slice(last ? 1 : 0)) {
      if (entry.type === "answered") {
        for (const block of entry.blocks ?? []) if (block[0] === "tool_call" && TOOLS.has(block[2])) calls.set(block[1], { tool: block[2], slug: slugOf(block[3]) });
      } else if (entry.type === "returned" && entry.text !== undefined) {
        const call = calls.get(entry.tool_call ?? "");
        if (call) all.push({ ...call, text: entry.text, at: entry.at });
      } else if (entry.type === "cleared") {
        // What came before has lost its content.
        calls.clear();
        all.length = 0;
      }
    }
    last = entries.at(-1) ?? last;
    if (!last || entries.length < PIECE) return { ...(last ? { last } : {}), calls, said: all };
    from = last.seq;
  }
}

/** The page that a call names. What is no JSON has changed no page. */
function slugOf(json: string): unknown {
  try {
    return (JSON.parse(json) as { slug?: unknown } | null)?.slug;
  } catch {
    return undefined;
  }
}
