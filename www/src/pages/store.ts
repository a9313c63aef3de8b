// The pages as the workbench sees them: the tree, the page that is open, what links to it.
//
// Decides what is read again and when. The address (`#/page/slug`) is the only memory of what is open. Promises: a
// change by the agent shows up without a reload, and never under the hands of someone who edits. Leaves to others: all
// rules about pages, which are the package's.
import type { ErrorInfo, Page, PageNode, Workspace } from "lodger";
import { Changing } from "../shell/changing.ts";
import { errorInfo } from "../words.ts";
import { samples } from "./samples.ts";

/** The page that is open, with what surrounds it. */
export interface Open {
  page: Page;
  backlinks: Page[];
  links: { title: string; slug: string | null }[];
}

/** What the person can be told about a change, with a way back. */
export interface Notice {
  text: string;
  undo?: () => Promise<unknown>;
}

/** The pages of one workspace. */
export class PageStore extends Changing {
  /** Null until first read. */
  tree: PageNode[] | null = null;
  open: Open | null = null;
  trash: Page[] = [];
  /** The page in the address does not exist. */
  missing: string | null = null;
  /** The page in the address cannot be read. */
  damaged: PageNode | null = null;
  /** Restoring it was tried: nothing of it can be read. */
  lost = false;
  problem: ErrorInfo | null = null;
  notice: Notice | null = null;
  /** The agent has changed the open page to this version. */
  changedTo: number | null = null;
  /** Whether the open page is being edited: then it is not read again. */
  editing = false;
  busy = "";
  #loading: Promise<void> | null = null;
  #again = false;
  #refreshing: Promise<void> | null = null;
  #noticeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly workspace: Workspace) {
    super();
    addEventListener("hashchange", () => void this.#route());
    // Another tab may have changed something meanwhile.
    addEventListener("focus", () => void this.refresh());
    void this.refresh().then(() => this.#route());
  }

  /** Whether there is no page at all. */
  get empty(): boolean {
    return this.tree?.length === 0;
  }

  /** The address of a page. */
  static href(slug: string): string {
    return `#/page/${encodeURIComponent(slug)}`;
  }

  /** Opens a page; one that is open already is asked for again by a `show` event, as its address does not change. */
  show(slug: string): void {
    if (location.hash === PageStore.href(slug)) this.dispatchEvent(new Event("show"));
    else location.hash = PageStore.href(slug);
  }

  /** Reads the tree and the open page again; calls that come meanwhile are joined. */
  refresh(byAgent = false): Promise<void> {
    this.#again = Boolean(this.#refreshing);
    this.#refreshing ??= this.#read(byAgent).finally(() => {
      this.#refreshing = null;
      if (this.#again) void this.refresh(byAgent);
    });
    return this.#refreshing;
  }

  /** The slug of a page by its title, if there is one. */
  slugOf(title: string): string | null {
    const wanted = title.trim().toLowerCase();
    const find = (nodes: PageNode[]): string | null => {
      for (const node of nodes) {
        if (node.title.toLowerCase() === wanted || node.slug === wanted) return node.slug;
        const below = find(node.children);
        if (below) return below;
      }
      return null;
    };
    return find(this.tree ?? []);
  }

  /** The page of this slug in the tree, where its row is damaged. */
  #damagedOf(slug: string): PageNode | null {
    const find = (nodes: PageNode[]): PageNode | null => nodes.reduce<PageNode | null>((found, node) => found ?? (node.slug === slug && node.damaged ? node : find(node.children)), null);
    return find(this.tree ?? []);
  }

  /** All pages, with their depth, in the order of the tree. */
  flat(): { slug: string; title: string; depth: number }[] {
    const out: { slug: string; title: string; depth: number }[] = [];
    const walk = (nodes: PageNode[], depth: number): void => nodes.forEach((n) => (out.push({ slug: n.slug, title: n.title, depth }), walk(n.children, depth + 1)));
    walk(this.tree ?? [], 0);
    return out;
  }

  /** Makes the sample pages; those that exist already stay as they are. */
  loadSamples(): Promise<void> {
    return (this.#loading ??= this.#makeSamples().finally(() => (this.#loading = null)));
  }

  /** Done when the samples are there, if someone has asked for them. */
  async loaded(): Promise<void> {
    await this.#loading;
  }

  async #makeSamples(): Promise<void> {
    await this.act("Loading samples", async () => {
      for (const { title, content } of samples()) {
        if (!this.slugOf(title)) await this.workspace.pages.create({ title, content });
      }
    });
    const first = this.slugOf("Dragon Lore");
    if (!first || this.open) return;
    // Put in place without a change of address: on a narrow screen nobody is led away from where they are.
    history.replaceState(null, "", PageStore.href(first));
    await this.#route();
  }

  /** A new page under `parentSlug`; opens it. */
  async create(title: string, parentSlug: string | null): Promise<void> {
    const page = await this.act("Creating", () => this.workspace.pages.create({ title, content: "", parentSlug }));
    if (page) location.hash = PageStore.href(page.slug);
  }

  /** Writes new content if nobody else has written since `version`; false when it was refused. */
  async save(slug: string, content: string, version: number | undefined): Promise<boolean> {
    const page = await this.act("Saving", () => this.workspace.pages.update(slug, { content }, version === undefined ? {} : { expectedVersion: version }));
    return page !== undefined;
  }

  /** A new title; links follow. */
  async rename(slug: string, title: string): Promise<boolean> {
    const page = await this.act("Renaming", () => this.workspace.pages.rename(slug, title));
    if (page && page.slug !== slug) location.hash = PageStore.href(page.slug);
    return page !== undefined;
  }

  /** Under another parent, or to the top. */
  async move(slug: string, parentSlug: string | null): Promise<boolean> {
    return (await this.act("Moving", () => this.workspace.pages.move(slug, { parentSlug }))) !== undefined;
  }

  /** Into the trash, with a way back. */
  async delete(slug: string, title: string): Promise<void> {
    const gone = await this.act("Deleting", async () => {
      await this.workspace.pages.delete(slug);
      return true;
    });
    if (!gone) return;
    if (location.hash === PageStore.href(slug)) location.hash = "#/";
    this.tell({ text: `“${title}” is in the trash.`, undo: () => this.restore(slug) });
  }

  /** Out of the trash, or what is whole of a damaged page. */
  async restore(slug: string): Promise<void> {
    const page = await this.act("Restoring", () => this.workspace.pages.restore(slug));
    if (!page) {
      this.lost = this.damaged?.slug === slug && this.problem?.code === "corrupt";
      // The page says it itself.
      if (this.lost) this.problem = null;
      return this.changed();
    }
    if (location.hash === PageStore.href(page.slug)) await this.#route();
    else location.hash = PageStore.href(page.slug);
  }

  /** Shows a sentence for ten seconds. */
  tell(notice: Notice | null): void {
    this.notice = notice;
    clearTimeout(this.#noticeTimer);
    if (notice) this.#noticeTimer = setTimeout(() => this.tell(null), 10_000);
    this.changed();
  }

  /** Runs a change, reads again; a refusal becomes `problem` and `undefined`. */
  async act<T>(what: string, change: () => Promise<T>): Promise<T | undefined> {
    this.problem = null;
    this.busy = what;
    this.changed();
    try {
      const result = await change();
      this.editing = false;
      await this.refresh();
      return result;
    } catch (error) {
      this.problem = errorInfo(error);
      return undefined;
    } finally {
      this.busy = "";
      this.changed();
    }
  }

  async #read(byAgent: boolean): Promise<void> {
    try {
      const { pages } = this.workspace;
      [this.tree, this.trash] = await Promise.all([pages.tree(), pages.trash()]);
      if (this.open) await this.#reread(this.open.page, byAgent);
    } catch (error) {
      this.problem = errorInfo(error);
    }
    this.changed();
  }

  async #reread(was: Page, byAgent: boolean): Promise<void> {
    try {
      const open = await this.#load(was.slug);
      if (this.open?.page.slug !== was.slug) return;
      const changed = open.page.version !== was.version;
      if (changed && byAgent) this.changedTo = open.page.version;
      if (!this.editing) this.open = open;
    } catch {
      if (this.open?.page.slug === was.slug && !this.editing) {
        this.open = null;
        this.damaged = this.#damagedOf(was.slug);
        this.missing = this.damaged ? null : was.slug;
      }
    }
  }

  async #load(slug: string): Promise<Open> {
    const { pages } = this.workspace;
    const [page, backlinks, links] = await Promise.all([pages.read(slug), pages.backlinks(slug), pages.outgoingLinks(slug)]);
    return { page, backlinks, links };
  }

  async #route(): Promise<void> {
    const [, kind, name] = /^#\/(page|title)\/(.+)$/.exec(location.hash) ?? [];
    let slug = name ? decodeURIComponent(name) : null;
    if (kind === "title" && slug) {
      const title = slug;
      slug = this.slugOf(title);
      if (slug) history.replaceState(null, "", PageStore.href(slug));
      else {
        Object.assign(this, { open: null, missing: title, damaged: null, problem: null, changedTo: null });
        return this.changed();
      }
    }
    if (slug && slug === this.open?.page.slug) return this.changed();
    Object.assign(this, { editing: false, problem: null, changedTo: null, lost: false });
    if (!slug) Object.assign(this, { open: null, missing: null, damaged: null });
    else {
      try {
        const open = await this.#load(slug);
        if (location.hash === PageStore.href(slug)) Object.assign(this, { open, missing: null, damaged: null });
      } catch (error) {
        const info = errorInfo(error);
        const damaged = this.#damagedOf(slug);
        Object.assign(this, { open: null, missing: damaged ? null : slug, damaged, problem: damaged || info.code === "page_not_found" ? null : info });
      }
    }
    this.changed();
  }
}
