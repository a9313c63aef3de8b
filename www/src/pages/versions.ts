// The history of a page: its versions, what each one changed, and the way back.
import { html, nothing, type TemplateResult } from "lit";
import type { PageVersion } from "lodger";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";
import { diff } from "./diff.ts";
import { diffView } from "./diff-view.ts";
import type { PageStore } from "./store.ts";

const AT_MOST = 30;

/** The versions of the open page. */
export class PageVersions extends Component {
  pages!: PageStore;
  #of = "";
  #versions: PageVersion[] = [];
  #chosen: number | null = null;

  /** Gives the list its pages; before it enters the page. */
  init(pages: PageStore): this {
    this.pages = pages;
    this.watch(pages);
    return this;
  }

  /** Opens the newest change. */
  showLatest(): void {
    const details = this.querySelector("details");
    if (details) details.open = true;
    this.#chosen = this.pages.open?.page.version ?? null;
    this.requestUpdate();
    void this.updateComplete.then(() => this.scrollIntoView({ block: "start" }));
  }

  protected override willUpdate(): void {
    const page = this.pages.open?.page;
    const key = page ? `${page.slug}@${page.version}` : "";
    if (key === this.#of) return;
    if (!page || this.#of.split("@")[0] !== page.slug) this.#chosen = null;
    this.#of = key;
    if (!page) this.#versions = [];
    else {
      void this.pages.workspace.pages.versions(page.slug, { limit: AT_MOST }).then((versions) => {
        if (key !== this.#of) return;
        this.#versions = [...versions].sort((a, b) => b.version - a.version);
        this.requestUpdate();
      }, () => undefined);
    }
  }

  protected override render(): TemplateResult {
    const current = this.pages.open?.page.version;
    return html`<details class="versions" data-testid="page-versions">
      <summary>${icon("chevron")}${icon("history")}History <span class="count">${this.#versions.length}</span></summary>
      <ol>
        ${this.#versions.map(
          (v, i) => html`<li>
            <button type="button" class="ghost version" aria-expanded=${v.version === this.#chosen} @click=${() => this.#choose(v.version)}>
              <span>Version ${v.version}${v.version === current ? html` <em>now</em>` : nothing}</span>${v.damaged ? html`<span class="muted">cannot be read</span>` : html`<time datetime=${new Date(v.at).toISOString()}>${new Date(v.at).toLocaleString()}</time>`}
            </button>
            ${v.version === this.#chosen ? this.#detail(v, this.#versions[i + 1]) : nothing}
          </li>`,
        )}
      </ol>
    </details>`;
  }

  #detail(v: PageVersion, before: PageVersion | undefined): TemplateResult {
    if (v.damaged) return html`<div class="version-detail"><p class="muted">This version cannot be read any more.</p></div>`;
    return html`<div class="version-detail">
      ${before?.damaged
        ? html`<p class="muted">${v.content.length.toLocaleString("en")} characters. The version before cannot be read any more.</p>`
        : !before
        ? html`<p class="muted">The first version, ${v.content.length.toLocaleString("en")} characters.</p>`
        : v.content === before.content
          ? html`<p class="muted">The text is the same; something else of the page changed.</p>`
          : diffView(diff(before.content, v.content), `Changes of version ${v.version}`)}
      ${v.version === this.pages.open?.page.version ? nothing : html`<button type="button" @click=${() => this.#restore(v)}>${icon("undo")}Restore this version</button>`}
    </div>`;
  }

  #choose(version: number): void {
    this.#chosen = this.#chosen === version ? null : version;
    this.requestUpdate();
  }

  #restore(v: PageVersion): void {
    const page = this.pages.open?.page;
    if (page) void this.pages.save(page.slug, v.content, page.version);
  }
}
customElements.define("page-versions", PageVersions);
