// All the tools: what each is for, who may use it, a form to run it by hand, and what is always allowed.
//
// Decides nothing about tools. Rules that are set here are settings and reach a running agent at once. Promises: what
// is shown as unavailable is what the harness refuses. A tool that is run by hand passes the same gate as a model's.
// Leaves to others: forms from schemas (`schema-form.ts`), process type and capabilities (the settings dialog).
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { ErrorInfo, ToolDefinition } from "lodger";
import type { Agent } from "../agent.ts";
import { duration } from "../conversation/tool-card.ts";
import { readable } from "../conversation/tool-text.ts";
import { own } from "../own.ts";
import type { PageStore } from "../pages/store.ts";
import type { Verdict } from "../settings.ts";
import { Component } from "../shell/changing.ts";
import { icon } from "../shell/icons.ts";
import { exactJson } from "../shell/visible.ts";
import { errorInfo, sentence, told } from "../words.ts";
import { argumentsOf, fieldsOf, formOf } from "./schema-form.ts";

type Ran = { state: "running" } | { state: "done"; node: Node; cut: number; ms: number } | { state: "failed"; error: Pick<ErrorInfo, "message" | "hint"> };

const RULES: [Verdict | "", string][] = [["", "By its kind"], ["allow", "Allow"], ["ask", "Ask"], ["deny", "Deny"]];
/** The process types that only read. */
const READERS = new Set<string>(["Researcher", "SkillComposer"]);

/** The panel. */
export class ToolsPanel extends Component {
  agent!: Agent;
  pages!: PageStore;
  #grants: { tool: string; sessionId: string }[] = [];
  #grantsOf = "";
  readonly #ran = new Map<string, Ran>();
  /** Whose form is drawn: those that were opened once. */
  readonly #opened = new Set<string>();
  /** The rule that was refused, and why, until another one is set. */
  #refused: { name: string; why: string } | null = null;

  /** Gives the panel what it shows; before it enters the page. */
  init(agent: Agent, pages: PageStore): this {
    Object.assign(this, { agent, pages });
    this.watch(agent, agent.settings);
    return this;
  }

  /** Looks again: tools may have come or gone meanwhile. */
  look(): void {
    this.#grantsOf = "";
    this.requestUpdate();
  }

  protected override shouldUpdate(_: PropertyValues): boolean {
    // Out of sight it costs nothing while an answer streams.
    return !this.hidden;
  }

  protected override willUpdate(): void {
    // What is allowed changes with an answer, a stop, a cleared conversation.
    const { snapshot, lifecycle } = this.agent;
    const key = `${lifecycle} ${snapshot.messages.length} ${snapshot.permissions.map((p) => p.requestId).join()}`;
    if (key === this.#grantsOf) return;
    this.#grantsOf = key;
    void this.agent.workspace.tools.grants().then((grants) => ((this.#grants = grants), this.requestUpdate()), () => undefined);
  }

  protected override render(): TemplateResult {
    const tools = this.agent.workspace.tools.definitions();
    return html`<section class="page-pane tools-pane" aria-label="Tools" data-testid="tools-panel" data-region>
      <header class="page-title-row">
        <h2>Tools <span class="count" data-testid="tools-count">${tools.length}</span></h2>
        <button type="button" class="ghost icon-only wide-only" data-action="show-page" aria-label="Close the tools" title="Close">${icon("x")}</button>
      </header>
      ${this.#rules()} ${this.#allowed()}
      <p class="muted small-text">Without a rule a tool goes by its kind: what destroys is asked about, all else is allowed.</p>
      <ul class="tools">${tools.map((tool) => this.#tool(tool))}</ul>
      <p class="muted small-text">A tool of your own is one call of <code>tools.register</code>. <a href="./examples/own-tool.html" target="_blank" data-testid="own-tool">An example in ten lines</a> shows it at work.</p>
    </section>`;
  }

  #rules(): TemplateResult {
    const { settings, running } = this.agent;
    const { processType, withheld } = settings.choice;
    return html`<p class="muted tools-rules">${processType ? html`The agent is a <strong>${processType}</strong>` : "The agent has all tools"}${withheld.length ? html`, without <strong>${withheld.join(", ")}</strong>` : nothing}.
      <button type="button" class="link" data-action="settings">Change</button>${running ? nothing : html`<span data-testid="rules-later"> It is not running: rules count once it starts.</span>`}</p>`;
  }

  #allowed(): TemplateResult | typeof nothing {
    if (this.#grants.length === 0) return nothing;
    return html`<section class="grants" aria-labelledby="grants-title" data-testid="grants">
      <h3 id="grants-title">Always allowed, until the agent stops</h3>
      <ul>${this.#grants.map(({ tool, sessionId }) => html`<li data-grant=${tool}><code>${tool}</code><button type="button" class="small" aria-label=${`Revoke ${tool}`} @click=${() => this.#revoke(tool, sessionId)}>Revoke</button></li>`)}</ul>
    </section>`;
  }

  #tool(tool: ToolDefinition): TemplateResult {
    const { name } = tool;
    const rule = own(this.agent.settings.choice.policies, name) ?? "";
    const lacks = this.#lacks(tool);
    return html`<li class="tool-item" data-tool=${name} data-available=${String(tool.available)}>
      <details @toggle=${(event: Event) => this.#toggled(event, name)}>
        <summary>${icon("chevron")}<span class="tool-title"><code class="tool-name">${name}</code>${lacks ? html`<span class="badge unavailable">${icon("denied")}unavailable</span>` : html`<span class="badge">${tool.readOnly ? "reads" : "changes"}</span>`}</span></summary>
        ${this.#opened.has(name) ? this.#detail(tool, lacks) : nothing}
      </details>
      <select aria-label=${`Rule for ${name}`} title="What happens when the agent wants to use it" data-testid="tool-rule" @change=${(event: Event) => void this.#setRule(name, event.target as HTMLSelectElement)}>
        ${RULES.map(([value, label]) => html`<option value=${value} .selected=${value === rule}>${label}</option>`)}
      </select>
      ${this.#refused?.name === name ? html`<p class="danger-text" role="alert">${icon("alert")}${this.#refused.why}</p>` : nothing}
    </li>`;
  }

  /** Why it cannot be used, as the model is told; empty where it can. */
  #lacks({ available, capability, readOnly }: ToolDefinition): string {
    if (available) return "";
    const { processType } = this.agent.settings.choice;
    return READERS.has(processType) && !readOnly ? `[UNAVAILABLE: a ${processType} only reads]` : `[UNAVAILABLE: Requires ${capability} capability]`;
  }

  #detail(tool: ToolDefinition, lacks: string): TemplateResult {
    const { name } = tool;
    const fields = fieldsOf(tool.inputSchema);
    const running = this.#ran.get(name)?.state === "running";
    return html`<div class="tool-detail">
      ${lacks ? html`<p class="unavailable-why">${lacks}</p>` : nothing}
      <p>${tool.description}</p>
      <dl class="tool-facts"><div><dt>Source</dt><dd>${tool.source}</dd></div><div><dt>Capability</dt><dd>${tool.capability ? html`<code>${tool.capability}</code>` : "none"}</dd></div></dl>
      <details class="exact"><summary>${icon("chevron")}Schema of its arguments</summary><pre class="exact-arguments" tabindex="0" role="group" aria-label=${`Schema of ${name}`}>${exactJson(tool.inputSchema)}</pre></details>
      <form class="tool-form" novalidate aria-label=${`Run ${name}`} @submit=${(event: SubmitEvent) => void this.#run(event, name, fields)}>
        ${formOf(fields, `run-${name}`)}
        <div><button type="submit" aria-disabled=${running} data-testid="run-tool">${icon("play")}Run it</button></div>
      </form>
      <div role="status" class="tool-outcome">${this.#outcome(name)}</div>
    </div>`;
  }

  #outcome(name: string): TemplateResult | typeof nothing {
    const ran = this.#ran.get(name);
    if (!ran) return nothing;
    if (ran.state === "running") {
      const asks = this.agent.snapshot.permissions.some(({ tool }) => tool === name);
      return asks
        ? html`<p data-testid="tool-asks">It waits for your answer. <button type="button" class="link" data-action="question">Show the question</button></p>`
        : html`<p class="muted">Running…</p>`;
    }
    if (ran.state === "failed") return html`<div class="note danger" data-testid="tool-error">${icon("alert")}<p>${sentence(ran.error.message, true)}${ran.error.hint ? html`<span class="hint">${sentence(ran.error.hint, true)}</span>` : nothing}</p></div>`;
    return html`<p class="muted small-text">Done in ${duration(ran.ms)}${ran.cut ? `; ${ran.cut.toLocaleString("en")} bytes were cut off` : ""}.</p><div data-testid="tool-result">${ran.node}</div>`;
  }

  #toggled(event: Event, name: string): void {
    if (event.target !== event.currentTarget || this.#opened.has(name)) return;
    this.#opened.add(name);
    this.requestUpdate();
  }

  async #setRule(name: string, field: HTMLSelectElement): Promise<void> {
    const rule = field.value as Verdict | "";
    this.#refused = null;
    const error = await this.agent.change(({ policies: { [name]: _, ...policies } }) => ({ policies: rule ? { ...policies, [name]: rule } : policies }));
    if (error) {
      const { text, hint } = told(error);
      this.#refused = { name, why: `${text} ${hint}` };
      field.value = own(this.agent.settings.choice.policies, name) ?? "";
    }
    this.requestUpdate();
  }

  async #revoke(tool: string, sessionId: string): Promise<void> {
    await this.agent.workspace.tools.revoke(tool, sessionId).catch(() => undefined);
    this.look();
  }

  async #run(event: SubmitEvent, name: string, fields: ReturnType<typeof fieldsOf>): Promise<void> {
    event.preventDefault();
    if (this.#ran.get(name)?.state === "running") return;
    const read = argumentsOf(fields, new FormData(event.currentTarget as HTMLFormElement));
    if ("wrong" in read) return this.#tell(name, { state: "failed", error: { message: read.wrong } });
    this.#tell(name, { state: "running" });
    const from = performance.now();
    try {
      const { result, truncated } = await this.agent.workspace.tools.execute(name, read.args);
      this.#tell(name, { state: "done", node: readable(result), cut: truncated?.bytes ?? 0, ms: performance.now() - from });
    } catch (error) {
      this.#tell(name, { state: "failed", error: errorInfo(error) });
    }
    void this.pages.refresh();
  }

  #tell(name: string, ran: Ran): void {
    this.#ran.set(name, ran);
    this.requestUpdate();
  }
}
customElements.define("tools-panel", ToolsPanel);
