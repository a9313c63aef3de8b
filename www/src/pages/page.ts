// The middle: one page, to read and to edit, with what links to it and its versions.
//
// Decides how much of a large page is drawn at once, and what happens when a page changed under an editor's hands (both
// texts are kept, the person chooses). Leaves to others: Markdown (`render/`), versions (`versions.ts`).
import { html, nothing, type TemplateResult } from "lit";
import type { PageNode } from "lodger";
import { MarkdownStream } from "../render/stream.ts";
import { Component } from "../shell/changing.ts";
import { h, onAction } from "../shell/dom.ts";
import { icon } from "../shell/icons.ts";
import { told } from "../words.ts";
import { PageStore, type Open } from "./store.ts";
import { PageVersions } from "./versions.ts";

/** Characters of a page that are drawn before one asks for more. */
const AT_ONCE = 40_000;

/** What "Load samples" makes, in short. */
const SAMPLES = [["Dragon Lore", "a table, links to other pages"], ["Three histories", "Rome, Greece, Egypt"], ["Three chapters", "a story to be summarized"], ["A large page", "more than 500 KB"]];

/** The page view. */
export class PageView extends Component {
  pages!: PageStore;
  /** Whether this is where the first visit is welcomed. */
  welcomes = true;
  versions!: PageVersions;
  #text = h("div", { class: "prose page-text" });
  #drawn = "";
  #limit = AT_ONCE;
  #base = 0;

  static override properties = { welcomes: { type: Boolean } };

  /** Gives the view its pages; before it enters the page. */
  init(pages: PageStore): this {
    this.pages = pages;
    this.versions = (document.createElement("page-versions") as PageVersions).init(pages);
    this.watch(pages);
    onAction(this, (action) => {
      if (action === "copy-code") return;
      if (action === "samples") void pages.loadSamples();
    });
    return this;
  }

  protected override render(): TemplateResult {
    const { open, missing, damaged } = this.pages;
    return html`<section class="page-pane" aria-label="Page" data-testid="page-view" data-region>
      ${this.#problem()} ${open ? this.#page(open) : damaged ? this.#damaged(damaged) : missing !== null ? this.#missing(missing) : this.#nothing()}
    </section>`;
  }

  protected override refocus(): void {
    this.querySelector<HTMLElement>("[data-testid=edit-page], [data-testid=delete-damaged]")?.focus();
  }

  #page(open: Open): TemplateResult {
    const { page, backlinks } = open;
    return html`
      <header class="page-head">
        <div class="page-title-row">
          <h2 data-testid="page-title">${page.title}</h2>
          <div class="page-actions">
            ${this.pages.editing
              ? html`<button type="button" @click=${this.#cancel}>Cancel</button><button type="button" class="primary" @click=${this.#save} data-testid="save-page">${icon("check")}Save</button>`
              : html`<button type="button" @click=${this.#edit} data-testid="edit-page">${icon("pencil")}Edit</button>
                  <button type="button" class="ghost icon-only" data-action="rename-page" aria-label="Rename" title="Rename">${icon("rename")}</button>
                  <button type="button" class="ghost icon-only" data-action="new-child" aria-label="New page under this one" title="New page under this one">${icon("child")}</button>
                  <button type="button" class="ghost icon-only" data-action="move-page" aria-label="Move" title="Move">${icon("move")}</button>
                  <button type="button" class="ghost icon-only" @click=${() => this.pages.delete(page.slug, page.title)} aria-label="Delete" title="Delete">${icon("trash")}</button>`}
          </div>
        </div>
        <p class="page-meta"><code>${page.slug}</code><span>version ${page.version}</span><span>${size(page.content.length)}</span><time datetime=${new Date(page.updatedAt).toISOString()}>${new Date(page.updatedAt).toLocaleString([], { dateStyle: "short", timeStyle: "short" })}</time></p>
      </header>
      ${this.#changed()}
      ${this.pages.editing
        ? html`<textarea class="editor" aria-label=${`Text of ${page.title}`} spellcheck="true" data-testid="page-editor" .defaultValue=${page.content} @keydown=${this.#editorKey}></textarea>
            <p class="muted small-text">Markdown. [[Title]] links to a page. Ctrl+Enter saves, Esc leaves the text as it was.</p>`
        : html`${page.content ? this.#text : html`<p class="muted">This page is empty.</p>`}
            ${page.content.length > this.#limit && this.#drawn
              ? html`<p class="more"><button type="button" @click=${this.#more}>Show more <span class="muted">(${size(page.content.length - this.#limit)} left)</span></button></p>`
              : nothing}`}
      <footer class="page-foot">
        <section aria-labelledby="backlinks">
          <h3 id="backlinks">${icon("link")}Linked from</h3>
          ${backlinks.length ? html`<ul class="chips" data-testid="backlinks">${backlinks.map((p) => html`<li><a href=${PageStore.href(p.slug)}>${p.title}</a></li>`)}</ul>` : html`<p class="muted">No page links here.</p>`}
        </section>
        ${this.versions}
      </footer>
    `;
  }

  #changed(): TemplateResult | typeof nothing {
    const { changedTo, editing, open } = this.pages;
    if (changedTo === null || !open) return nothing;
    return html`<div class="note quiet" data-testid="page-changed">${icon("bot")}
      <p>${editing ? "The agent has changed this page while you edit." : `The agent has changed this page: version ${changedTo}.`}</p>
      <div class="row">
        ${editing ? nothing : html`<button type="button" @click=${() => this.versions.showLatest()}>See the change</button>`}
        <button type="button" class="ghost icon-only" aria-label="Dismiss" @click=${() => ((this.pages.changedTo = null), this.requestUpdate())}>${icon("x")}</button>
      </div></div>`;
  }

  #problem(): TemplateResult | typeof nothing {
    const { problem, editing, open } = this.pages;
    if (!problem) return nothing;
    const conflict = problem.code === "version_conflict" && editing && open;
    return html`<div class="note danger" role="alert">${icon("alert")}
      <p>${told(problem).text}${conflict ? html`<span class="hint">Someone changed the page after you began. Save anyway makes yours the newest version; theirs stays in the history.</span>` : problem.hint ? html`<span class="hint">${told(problem).hint}</span>` : nothing}</p>
      <div class="row">
        ${conflict ? html`<button type="button" @click=${() => this.#write(undefined)}>Save anyway</button>` : nothing}
        <button type="button" class="ghost icon-only" aria-label="Dismiss" @click=${() => ((this.pages.problem = null), this.requestUpdate())}>${icon("x")}</button>
      </div></div>`;
  }

  #missing(name: string): TemplateResult {
    return html`<div class="blank"><h2>No such page</h2><p>There is no page “${name}” in this workspace.</p>
      <button type="button" class="primary" @click=${() => this.pages.create(name, null)}>${icon("file-plus")}Create it</button></div>`;
  }

  #damaged({ slug, title, damaged }: PageNode): TemplateResult {
    if (damaged?.code === "newer_version") return html`<div class="blank" data-testid="page-damaged"><h2>${title}</h2><p>A newer version has written this page. Load the site again to read it.</p></div>`;
    return html`<div class="blank" data-testid="page-damaged"><h2>${title}</h2>
      <p>This page cannot be read any more: your browser has stored it wrongly, or something has changed it.</p>
      ${this.pages.lost
        ? html`<p role="alert">Nothing of it can be read any more, no earlier version either. The trash keeps what is still stored of it.</p>`
        : html`<p class="muted">Restoring brings back the last version that can be read, if there is one.</p>`}
      <div class="row">
        ${this.pages.lost ? nothing : html`<button type="button" class="primary" @click=${() => this.pages.restore(slug)} data-testid="restore-damaged">${icon("undo")}Restore it</button>`}
        <button type="button" @click=${() => this.pages.delete(slug, title)} data-testid="delete-damaged">${icon("trash")}Move it to the trash</button>
      </div></div>`;
  }

  #nothing(): TemplateResult {
    if (!this.pages.empty || !this.welcomes) return html`<div class="blank"><h2>No page is open</h2><p class="muted">Choose one on the left, or make a new one.</p><button type="button" data-action="new-page">${icon("file-plus")}New page</button></div>`;
    return html`<div class="blank hero">
      <h2>Your pages, and an agent that works on them</h2>
      <p>Lodger runs entirely in this page: the agent, its tools, the conversation and the pages are kept by your browser. Close the tab in the middle of an answer and come back: nothing is missing.</p>
      <div class="row">
        <button type="button" class="primary" data-action="samples" data-testid="load-samples" ?disabled=${Boolean(this.pages.busy)}>${icon("sparkles")}${this.pages.busy || "Load samples"}</button>
        <button type="button" data-action="new-page">${icon("file-plus")}New page</button>
      </div>
      <ul class="sample-list" aria-label="What the samples are">
        ${SAMPLES.map(([name, about]) => html`<li>${icon("file")}<strong>${name}</strong><span>${about}</span></li>`)}
      </ul>
    </div>`;
  }

  override updated(): void {
    const { open, editing } = this.pages;
    const key = open ? `${open.page.slug}@${open.page.version}` : "";
    if (editing || key === this.#drawn) return;
    const samePage = key.split("@")[0] === this.#drawn.split("@")[0];
    this.#drawn = key;
    if (!samePage) this.#limit = AT_ONCE;
    const fresh = h("div", { class: "prose page-text" });
    this.#text.replaceWith(fresh);
    this.#text = fresh;
    this.#base = 0;
    if (open) {
      this.#append();
      this.requestUpdate();
      if (!samePage) this.querySelector(".page-pane")?.scrollTo(0, 0);
    }
  }

  /** Draws the next part of the text, in slices that leave room for everything else. */
  #append(): void {
    const content = this.pages.open?.page.content ?? "";
    const gap = content.lastIndexOf("\n\n", this.#limit);
    const until = content.length <= this.#limit ? content.length : gap > this.#base ? gap : this.#limit;
    const stream = new MarkdownStream(h("div"), 2);
    this.#text.append(stream.element);
    stream.set(content.slice(this.#base, until), true);
    this.#base = until;
    const key = this.#drawn;
    const draw = (): void => {
      if (key !== this.#drawn || stream.draw(performance.now() + 12)) return;
      requestAnimationFrame(draw);
    };
    draw();
  }

  readonly #more = (): void => {
    this.#limit += AT_ONCE * 2;
    this.#append();
    this.requestUpdate();
  };

  readonly #edit = (): void => {
    this.pages.editing = true;
    this.requestUpdate();
    void this.updateComplete.then(() => this.#editor?.focus());
  };

  readonly #cancel = (): void => {
    this.pages.editing = false;
    this.pages.problem = null;
    void this.pages.refresh();
    this.requestUpdate();
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("[data-testid=edit-page]")?.focus());
  };

  readonly #save = (): void => void this.#write(this.pages.open?.page.version);

  async #write(version: number | undefined): Promise<void> {
    const page = this.pages.open?.page;
    const text = this.#editor?.value;
    if (!page || text === undefined) return;
    if (text === page.content) return this.#cancel();
    if (await this.pages.save(page.slug, text, version)) this.querySelector<HTMLElement>("[data-testid=edit-page]")?.focus();
  }

  readonly #editorKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#save();
    // A changed text is not thrown away by a key.
    else if (event.key === "Escape" && this.#editor?.value === this.pages.open?.page.content) this.#cancel();
  };

  get #editor(): HTMLTextAreaElement | null {
    return this.querySelector("textarea.editor");
  }
}
customElements.define("page-view", PageView);

function size(characters: number): string {
  return characters < 1_000 ? `${characters} characters` : characters < 1_000_000 ? `${(characters / 1000).toFixed(characters < 10_000 ? 1 : 0)} k characters` : `${(characters / 1e6).toFixed(1)} M characters`;
}
