// The frame: header, three regions, dialogs.
//
// Decides: what stands beside what. Wide: three columns. Narrow (below 900 px): one region at a time, chosen by tabs, the
// conversation first, and the sessions in a drawer. Page, tools and journal share the middle. Leaves to others: everything inside a region.
import { html, nothing, type TemplateResult } from "lit";
import type { Agent } from "../agent.ts";
import { ConversationPanel } from "../conversation/panel.ts";
import { Speech } from "../conversation/speech.ts";
import { JournalPanel, type Place } from "../journal/panel.ts";
import { MemoriesDialog } from "../memories/dialog.ts";
import { PageView } from "../pages/page.ts";
import type { PageStore } from "../pages/store.ts";
import { PageTree } from "../pages/tree.ts";
import { keep, kept, tab } from "../sessions/places.ts";
import { SessionsList } from "../sessions/list.ts";
import type { SessionStore } from "../sessions/store.ts";
import { ToolsPanel } from "../tools/panel.ts";
import { AskDialog } from "./ask-dialog.ts";
import { Component } from "./changing.ts";
import { onAction } from "./dom.ts";
import { icon, type IconName } from "./icons.ts";
import { installKeys, KeysDialog } from "./keys.ts";
import { SettingsDialog } from "./settings-dialog.ts";
import { WarningStrip } from "./warnings.ts";

type Region = "chat" | "page" | "pages" | "tools" | "journal";
const TABS: [Region, string, IconName][] = [["chat", "Chat", "chat"], ["journal", "Journal", "journal"], ["page", "Page", "book"], ["pages", "Pages", "tree"], ["tools", "Tools", "tools"]];
const THEMES = { system: ["monitor", "Look: as the system"], light: ["sun", "Look: light"], dark: ["moon", "Look: dark"] } as const;

/** The whole workbench. */
export class Workbench extends Component {
  agent!: Agent;
  pages!: PageStore;
  sessions!: SessionStore;
  #region: Region = "chat";
  /** Where the tab keeps that the journal is open. */
  #open = "";
  /** What of the journal is marked in the chat. */
  #place: Place | null = null;
  #panel!: ConversationPanel;
  #tree!: PageTree;
  #page!: PageView;
  #tools!: ToolsPanel;
  #list!: SessionsList;
  #journal!: JournalPanel;
  #settings!: SettingsDialog;
  #warnings!: WarningStrip;
  #memories!: MemoriesDialog;
  #ask = document.createElement("ask-dialog") as AskDialog;
  #keys = document.createElement("keys-dialog") as KeysDialog;
  readonly #narrow = matchMedia("(max-width: 899px)");
  #wasBusy = false;
  #session = "";
  /** An answer ended while nobody looked. */
  #answered = false;

  /** Gives the workbench its agent and pages; before it enters the page. */
  init(agent: Agent, pages: PageStore, sessions: SessionStore): this {
    Object.assign(this, { agent, pages, sessions });
    const speech = new Speech(document.body);
    this.#panel = (document.createElement("conversation-panel") as ConversationPanel).init(agent, pages, sessions, speech);
    this.#list = (document.createElement("sessions-list") as SessionsList).init(sessions, speech);
    this.#journal = (document.createElement("journal-panel") as JournalPanel).init(agent, sessions);
    this.#tree = (document.createElement("page-tree") as PageTree).init(pages);
    this.#page = (document.createElement("page-view") as PageView).init(pages);
    this.#tools = (document.createElement("tools-panel") as ToolsPanel).init(agent, pages);
    this.#settings = (document.createElement("settings-dialog") as SettingsDialog).init(agent);
    this.#memories = (document.createElement("memories-dialog") as MemoriesDialog).init(agent, (question) => this.#ask.ask(question));
    this.#warnings = (document.createElement("warning-strip") as WarningStrip).init(agent);
    this.watch(agent, agent.settings, pages, sessions);
    onAction(this, (action) => this.#act(action));
    this.#narrow.addEventListener("change", () => this.requestUpdate());
    // A link to a page, wherever it stands, shows the page.
    addEventListener("hashchange", () => /^#\/./.test(location.hash) && this.#show("page"));
    pages.addEventListener("show", () => this.#show("page"));
    this.#panel.onJournal = (run) => {
      this.#show("journal");
      this.#journal.showRun(run);
    };
    this.#journal.onPlace = (place) => {
      if (place && this.#narrow.matches) this.#show("chat");
      this.#place = place;
      const shown = place ? agent.lookAtRun(place.run, place.message) : null;
      // Something else may have been chosen by then.
      void Promise.all([this.updateComplete, shown]).then(() => this.#place === place && this.#panel.thread.mark(place));
    };
    sessions.ask = (question) => this.#ask.ask(question);
    sessions.addEventListener("show", () => this.#narrow.matches && this.#show("chat"));
    this.#list.onChosen = () => {
      const { matches } = this.#narrow;
      this.querySelector<HTMLDialogElement>(".drawer")?.close();
      // On touch the keyboard would cover what was just opened.
      if (!matches) this.#panel.composer.input.focus();
    };
    document.addEventListener("visibilitychange", () => {
      this.#answered &&= document.hidden;
      this.#title();
    });
    this.#open = `lodger-workbench.journal.${agent.workspace.name}`;
    if (kept(this.#open, tab)) this.#show("journal");
    installKeys({ stop: () => this.#panel.composer.stop(), question: () => this.#question(), help: () => this.#keys.show(), launch: () => this.#launch(), session: (by) => sessions.step(by) });
    return this;
  }

  protected override render(): TemplateResult {
    const { agent, pages, sessions } = this;
    const narrow = this.#narrow.matches;
    this.#panel.offersSamples = narrow;
    this.#page.welcomes = !narrow;
    const [tools, journal] = [this.#region === "tools", this.#region === "journal"];
    this.#page.hidden = tools || journal;
    this.#tools.hidden = !tools;
    this.#journal.hidden = !journal;
    const asked = agent.asked.length;
    const { waiting } = sessions;
    const look = THEMES[agent.settings.choice.theme];
    return html`
      <header class="top">
        ${narrow ? html`<button type="button" class="ghost" data-action="sessions" data-testid="open-sessions" aria-label=${waiting ? `Sessions, ${waiting} waiting for you` : "Sessions"}>${icon("sessions")}${waiting ? html`<span class="tab-mark" aria-hidden="true">${waiting}</span>` : nothing}</button>` : nothing}
        <h1><img src="./icon.svg" alt="" width="24" height="24" />Lodger<span class="workspace-name">${agent.workspace.name}</span></h1>
        <div class="row">
          <button type="button" class="ghost wide-only" data-action=${journal ? "show-page" : "show-journal"} aria-pressed=${journal} data-testid="open-journal">${icon("journal")}Journal</button>
          <button type="button" class="ghost wide-only" data-action=${tools ? "show-page" : "show-tools"} aria-pressed=${tools} data-testid="open-tools">${icon("tools")}Tools</button>
          <button type="button" class="ghost icon-only wide-only" data-action="memories" aria-label="Memories" title="Memories" data-testid="open-memories">${icon("brain")}</button>
          <button type="button" class="ghost icon-only wide-only" data-action="keys" aria-label="Keys" title="Keys (Ctrl+/)">${icon("keyboard")}</button>
          <button type="button" class="ghost icon-only" data-action="theme" aria-label=${look[1]} title=${look[1]}>${icon(look[0])}</button>
          <button type="button" class="ghost" data-action="settings" data-testid="open-settings">${icon("settings")}Settings</button>
        </div>
      </header>
      ${this.#warnings}
      ${narrow
        ? html`<nav class="tabs" aria-label="Parts of the workbench">
            ${TABS.map(([region, label, name]) => html`<button type="button" data-action=${`show-${region}`} aria-current=${region === this.#region ? "page" : nothing}>${icon(name)}${label}${region === "chat" && asked ? html`<span class="tab-mark" data-testid="chat-mark"><span aria-hidden="true">${asked}</span><span class="visually-hidden">${asked === 1 ? ", a question waits" : `, ${asked} questions wait`}</span></span>` : nothing}</button>`)}
          </nav>`
        : nothing}
      <main class="columns" data-shown=${narrow ? this.#region : "all"}>
        <div class="column column-pages">${narrow ? nothing : this.#list}${this.#tree}</div>
        <div class="column column-page">${this.#page}${this.#tools}${this.#journal}</div>
        <div class="column column-chat">${this.#panel}</div>
      </main>
      ${pages.notice
        ? html`<div class="toast" role="status">${pages.notice.text}
            ${pages.notice.undo ? html`<button type="button" class="link" data-action="undo">Undo</button>` : nothing}</div>`
        : nothing}
      ${narrow
        ? html`<dialog class="drawer" aria-label="Sessions" data-testid="drawer" @click=${this.#outside}>
            <button type="button" class="ghost icon-only drawer-close" data-action="close-sessions" aria-label="Close the sessions">${icon("x")}</button>${this.#list}</dialog>`
        : nothing}
      ${this.#settings}${this.#memories}${this.#ask}${this.#keys}
    `;
  }

  override updated(): void {
    if (this.agent.session !== this.#session) {
      this.#session = this.agent.session;
      this.#wasBusy = this.agent.busy;
    } else if (this.agent.busy !== this.#wasBusy) {
      this.#wasBusy = this.agent.busy;
      this.#answered = !this.agent.busy && document.hidden;
    }
    this.#title();
  }

  #act(action: string): void {
    const { settings } = this.agent;
    const page = this.pages.open?.page;
    switch (action) {
      case "settings": this.#settings.show(); break;
      case "memories": this.#memories.show(); break;
      case "keys": this.#keys.show(); break;
      case "theme": settings.set({ theme: settings.choice.theme === "system" ? "light" : settings.choice.theme === "light" ? "dark" : "system" }); break;
      case "clear": void this.#clear(); break;
      case "undo": {
        const undo = this.pages.notice?.undo;
        this.pages.tell(null);
        void undo?.();
        break;
      }
      case "new-page": void this.#newPage(null); break;
      case "new-child": void this.#newPage(page?.slug ?? null); break;
      case "rename-page": void this.#rename(); break;
      case "move-page": void this.#move(); break;
      case "show-chat": this.#show("chat"); break;
      case "show-page": this.#show("page"); break;
      case "show-pages": this.#show("pages"); break;
      case "show-tools": this.#show("tools"); break;
      case "show-journal": this.#show("journal"); break;
      case "sessions": this.querySelector<HTMLDialogElement>(".drawer")?.showModal(); break;
      case "close-sessions": this.querySelector<HTMLDialogElement>(".drawer")?.close(); break;
      case "question": this.#question(); break;
      default: break;
    }
  }

  #show(region: Region): void {
    if (this.#region === "journal" && region !== "journal" && !this.#narrow.matches) this.#journal.rest();
    this.#region = region;
    keep(this.#open, region === "journal" ? "open" : "", tab);
    this.requestUpdate();
    if (region === "journal") void this.updateComplete.then(() => this.#journal.look());
    if (region === "tools") this.#tools.look();
    if (region === "chat") void this.updateComplete.then(() => this.#panel.thread.update());
  }

  /** A press beside the drawer closes it. */
  readonly #outside = (event: Event): void => {
    if (event.target === event.currentTarget) (event.currentTarget as HTMLDialogElement).close();
  };

  #launch(): void {
    const drawer = this.querySelector<HTMLDialogElement>(".drawer");
    if (drawer && !drawer.open) drawer.showModal();
    this.#list.launch();
  }

  /** To what waits for the person, wherever it stands. */
  #question(): void {
    const other = this.sessions.all?.find(({ mood, id }) => mood === "asks" && id !== this.agent.session);
    if (this.agent.asked.length === 0 && other) this.sessions.select(other.id);
    if (this.agent.asked.length === 0) return;
    if (this.#narrow.matches) this.#show("chat");
    void this.updateComplete.then(() => this.#panel.card.show());
  }

  async #clear(): Promise<void> {
    const yes = await this.#ask.ask(
      this.sessions.damaged
        ? { title: "Begin anew?", text: "What is left of this conversation is erased from this browser and cannot be brought back, and so is the record of what was done in it. Pages stay.", yes: "Begin anew", danger: true }
        : { title: "Clear the conversation?", text: "What was said is erased from this browser and cannot be brought back. Pages stay, and so does the record of what was done.", yes: "Clear", danger: true },
    );
    if (yes !== null) await this.agent.clear();
  }

  async #newPage(parentSlug: string | null): Promise<void> {
    const title = await this.#ask.ask({ title: parentSlug ? "New page under this one" : "New page", input: { label: "Title", value: "" }, yes: "Create" });
    if (title) await this.pages.create(title, parentSlug);
  }

  async #rename(): Promise<void> {
    const page = this.pages.open?.page;
    if (!page) return;
    const title = await this.#ask.ask({ title: "Rename the page", text: "Links to it follow.", input: { label: "Title", value: page.title }, yes: "Rename" });
    if (title && title !== page.title) await this.pages.rename(page.slug, title);
  }

  async #move(): Promise<void> {
    const page = this.pages.open?.page;
    if (!page) return;
    const options = [{ value: "", label: "Top of the tree" }, ...this.pages.flat().filter((p) => p.slug !== page.slug).map((p) => ({ value: p.slug, label: `${"– ".repeat(p.depth)}${p.title}` }))];
    const parent = await this.#ask.ask({ title: `Move “${page.title}”`, choice: { label: "Under", options, value: page.parentSlug ?? "" }, yes: "Move" });
    if (parent !== null && parent !== (page.parentSlug ?? "")) await this.pages.move(page.slug, parent || null);
  }

  /** The title tells what waits for the person, and in a hidden tab that the answer is there. */
  #title(): void {
    document.title = this.agent.asked.length || this.sessions.waiting ? "● Your answer is needed · Lodger" : this.#answered ? "● Answer ready · Lodger" : "Lodger";
  }
}
customElements.define("lodger-workbench", Workbench);
