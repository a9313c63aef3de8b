// The left side: search, the tree of pages, the trash.
//
// Decides what the keys do in a tree (the pattern of the ARIA guide: one stop for Tab, arrows inside). Leaves to
// others: what a page is (`store.ts`), reading it (`page.ts`).
import { html, nothing, type TemplateResult } from "lit";
import type { PageNode } from "lodger";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";
import { PageStore } from "./store.ts";

type Hit = { slug: string; title: string; snippet: string };

/** The page tree. */
export class PageTree extends Component {
  pages!: PageStore;
  #query = "";
  #hits: Hit[] | null = null;
  #closed = new Set<string>();
  #focus = "";

  /** Gives the tree its pages; before it enters the page. */
  init(pages: PageStore): this {
    this.pages = pages;
    this.watch(pages);
    return this;
  }

  protected override render(): TemplateResult {
    const { tree, trash, open } = this.pages;
    const current = open?.page.slug ?? "";
    return html`
      <nav class="tree-pane" aria-label="Pages" data-region>
        <header class="pane-head">
          <h2>Pages</h2>
          <button type="button" class="ghost icon-only" data-action="new-page" aria-label="New page" title="New page">${icon("file-plus")}</button>
        </header>
        <div class="search">
          ${icon("search")}
          <input type="search" aria-label="Search pages" placeholder="Search pages" .value=${this.#query} @input=${this.#search} data-testid="page-search" autocomplete="off" />
        </div>
        ${this.#hits
          ? this.#results(this.#hits)
          : tree === null
            ? html`<p class="muted pad">Reading…</p>`
            : tree.length === 0
              ? html`<p class="muted pad">No pages yet.</p>`
              : html`<ul role="tree" aria-label="Page tree" data-testid="page-tree" @keydown=${this.#key}>${tree.map((n) => this.#node(n, 1, current))}</ul>`}
        ${trash.length
          ? html`<details class="trash"><summary>${icon("chevron")}Trash <span class="count">${trash.length}</span></summary>
              <ul>${trash.map((p) => html`<li><span>${p.title}</span><button type="button" class="ghost small" @click=${() => this.pages.restore(p.slug)}>Restore<span class="visually-hidden"> ${p.title}</span></button></li>`)}</ul></details>`
          : nothing}
      </nav>
    `;
  }

  #results(hits: Hit[]): TemplateResult {
    return html`<ul class="hits" aria-label="Search results" data-testid="search-results">
      ${hits.length === 0 ? html`<li class="muted pad">No page matches.</li>` : nothing}
      ${hits.map((hit) => html`<li><a href=${PageStore.href(hit.slug)}><strong>${hit.title}</strong><span>${hit.snippet}</span></a></li>`)}
    </ul>`;
  }

  #node(node: PageNode, level: number, current: string): TemplateResult {
    const { slug, title, children, damaged } = node;
    const parent = children.length > 0;
    const open = parent && !this.#closed.has(slug);
    const tab = (this.#focus || current || this.pages.tree?.[0]?.slug) === slug;
    return html`<li role="treeitem" aria-level=${level} aria-selected=${slug === current} aria-expanded=${parent ? String(open) : nothing} tabindex=${tab ? 0 : -1}
        data-slug=${slug} aria-label=${damaged ? `${title}, cannot be read` : title} @click=${(e: Event) => this.#click(e, slug)} @focus=${() => (this.#focus = slug)}>
      <div class="tree-row">
        ${parent ? html`<span class="twisty" @click=${(e: Event) => (e.stopPropagation(), this.#fold(slug, open))}>${icon("chevron")}</span>` : html`<span class="twisty">${icon(damaged ? "alert" : "file")}</span>`}
        <span class="tree-title">${title}</span>
      </div>
      ${open ? html`<ul role="group">${children.map((c) => this.#node(c, level + 1, current))}</ul>` : nothing}
    </li>`;
  }

  readonly #search = async (event: Event): Promise<void> => {
    const query = (event.target as HTMLInputElement).value;
    this.#query = query;
    const hits = query.trim() ? await this.pages.workspace.pages.search(query, { limit: 30 }).catch(() => []) : null;
    // An answer that comes late belongs to a query that is gone.
    if (query === this.#query) {
      this.#hits = hits;
      this.requestUpdate();
    }
  };

  #click(event: Event, slug: string): void {
    event.stopPropagation();
    this.#focus = slug;
    this.pages.show(slug);
  }

  #fold(slug: string, close: boolean): void {
    if (close) this.#closed.add(slug);
    else this.#closed.delete(slug);
    this.requestUpdate();
  }

  readonly #key = (event: KeyboardEvent): void => {
    const item = (event.target as Element).closest<HTMLElement>("[role=treeitem]");
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    const items = [...this.querySelectorAll<HTMLElement>("[role=treeitem]")];
    const at = items.indexOf(item);
    const slug = item.dataset["slug"] ?? "";
    const expanded = item.getAttribute("aria-expanded");
    const go = (to: HTMLElement | null | undefined): void => to?.focus();
    switch (event.key) {
      case "ArrowDown": go(items[at + 1]); break;
      case "ArrowUp": go(items[at - 1]); break;
      case "Home": go(items[0]); break;
      case "End": go(items[items.length - 1]); break;
      case "ArrowRight":
        if (expanded === "false") this.#fold(slug, false);
        else if (expanded) go(items[at + 1]);
        break;
      case "ArrowLeft":
        if (expanded === "true") this.#fold(slug, true);
        else go(item.parentElement?.closest<HTMLElement>("[role=treeitem]"));
        break;
      case "Enter":
      case " ": this.pages.show(slug); break;
      case "Delete": void this.pages.delete(slug, item.querySelector(".tree-title")?.textContent ?? slug); break;
      default: {
        // Typing a letter goes to the next title that begins with it; only while the tree has the focus.
        if (event.key.length !== 1) return;
        const letter = event.key.toLowerCase();
        go([...items.slice(at + 1), ...items.slice(0, at)].find((i) => i.getAttribute("aria-label")?.toLowerCase().startsWith(letter)));
      }
    }
    event.preventDefault();
    this.requestUpdate();
  };
}
customElements.define("page-tree", PageTree);
