// One session in the list: how it stands, its name, what was said last, whose it is, who holds it, what it has cost.
//
// Decides: what a row says, and its name being changed in place. Promises: a status has an icon and a word. A name that
// is being typed is not touched by what happens meanwhile. Leaves to others: the order (`store.ts`), the commands
// (`list.ts`).
import { dollars, tokens } from "../models.ts";
import { h, setText } from "../shell/dom.ts";
import { iconNode } from "../shell/icons.ts";
import type { Row } from "../shell/window-list.ts";
import { usageOf, type Listed } from "./store.ts";
import { active, activityOf, ago, holderOf, standing, wayOn } from "./words.ts";
import { MAIN } from "./places.ts";

/** What a row asks of its list. */
export interface RowContext {
  /** The session that is shown. */
  current: () => string;
  /** Whether this page holds the agent. */
  here: () => boolean;
  rename: (id: string, name: string) => Promise<boolean>;
  /** Its last line is not known, and is looked for. */
  want: (id: string) => void;
  /** What goes on in it is looked at, until that is undone. */
  watch: (id: string) => () => void;
}

/** The row of one session. */
export class SessionRow implements Row<Listed> {
  readonly element = h("li", { class: "session-row", "data-testid": "session-row" });
  readonly #mark = h("span", { class: "session-mark", "aria-hidden": "true" });
  readonly #dot = h("span", { class: "activity-dot", hidden: true, "data-testid": "activity" });
  readonly #name = h("span", { class: "session-name" });
  readonly #time = h("span", { class: "session-time" });
  readonly #status = h("span", { class: "session-status" });
  readonly #line = h("span", { class: "session-line" });
  readonly #facts = h("span", { class: "session-facts" });
  readonly #open = h(
    "button",
    { type: "button", class: "session-open", "data-action": "open-session", "data-stop": true, "data-testid": "open-session" },
    h("span", { class: "session-signs" }, this.#mark, this.#dot),
    h("span", { class: "session-text" },
      h("span", { class: "session-top" }, this.#name, this.#time),
      h("span", { class: "session-middle" }, this.#status, this.#line),
      this.#facts),
  );
  readonly #wayOn = h("button", { type: "button", class: "small", "data-action": "go-on", "data-testid": "go-on", hidden: true });
  readonly #bench = h("button", { type: "button", class: "ghost small icon-only", "data-action": "bench-session", title: "Bench: put it aside" }, iconNode("pause"));
  readonly #rename = h("button", { type: "button", class: "ghost small icon-only", "data-action": "rename-session", title: "Rename (F2)" }, iconNode("rename"));
  readonly #archive = h("button", { type: "button", class: "ghost small icon-only", "data-action": "archive-session", title: "Archive: keep it in less space" }, iconNode("archive"));
  readonly #remove = h("button", { type: "button", class: "ghost small icon-only", "data-action": "remove-session", title: "Remove (Delete)" }, iconNode("trash"));
  readonly #tools = h("span", { class: "session-tools" }, this.#wayOn, this.#bench, this.#rename, this.#archive, this.#remove);
  #form: HTMLFormElement | null = null;
  #shown: Listed | null = null;
  #icon = "";
  #unwatch: (() => void) | null = null;

  constructor(private readonly context: RowContext) {
    this.element.append(this.#open, this.#tools);
  }

  update(listed: Listed): void {
    const { id, name, state, verdict, mood, activity, at, line } = listed;
    const pressed = [this.#wayOn, this.#bench, this.#archive].find((button) => button === document.activeElement);
    this.#shown = listed;
    this.#unwatch ??= this.context.watch(id);
    if (line === null) this.context.want(id);
    const current = this.context.current() === id;
    const { element } = this;
    element.dataset["session"] = id;
    element.dataset["mood"] = mood;
    element.dataset["status"] = state.status;
    element.classList.toggle("current", current);
    if (current) this.#open.setAttribute("aria-current", "true");
    else this.#open.removeAttribute("aria-current");
    const { word, icon } = standing(state.status, mood);
    if (icon !== this.#icon) this.#mark.replaceChildren(iconNode(icon));
    this.#icon = icon;
    this.#dot.hidden = activity === undefined || verdict === "tampered";
    if (activity && activity !== this.#dot.dataset["activity"]) {
      const words = activityOf(activity);
      this.#dot.dataset["activity"] = activity;
      this.#dot.title = words;
      this.#dot.replaceChildren(h("span", { class: "visually-hidden" }, words));
    }
    setText(this.#name, name);
    setText(this.#time, ago(at));
    setText(this.#status, word);
    setText(this.#line, line ?? "");
    setText(this.#facts, this.#factsOf(listed));
    // The one that is shown has it in its conversation.
    const way = verdict === "tampered" || current ? null : wayOn(state);
    this.#wayOn.hidden = !way;
    setText(this.#wayOn, way?.label ?? "");
    this.#wayOn.setAttribute("aria-label", `${way?.label ?? ""} ${name}`);
    this.#bench.hidden = verdict === "tampered" || !active(state) || state.suspended === true;
    this.#bench.setAttribute("aria-label", `Bench ${name}`);
    this.#archive.hidden = verdict === "tampered" || mood === "archived" || mood === "works" || mood === "asks";
    this.#archive.setAttribute("aria-label", `Archive ${name}`);
    this.#rename.hidden = verdict === "tampered";
    this.#rename.setAttribute("aria-label", `Rename ${name}`);
    this.#remove.setAttribute("aria-label", `Remove ${name}`);
    // The workspace's own conversation is cleared, not removed.
    this.#remove.hidden = id === MAIN;
    if (pressed?.hidden) this.#open.focus();
  }

  gone(): void {
    this.#unwatch?.();
  }

  /** Its name becomes a field. */
  rename(): void {
    const listed = this.#shown;
    if (!listed || this.#form || this.#rename.hidden) return;
    const field = h("input", { type: "text", "aria-label": `New name of ${listed.name}`, maxlength: 64, autocomplete: "off", "data-testid": "session-name-field" });
    field.value = listed.state.display_name ?? "";
    field.placeholder = listed.name;
    const form = h("form", { class: "session-form" }, field);
    this.#form = form;
    // Once: taking the field away takes its focus, too.
    const end = async (takes: boolean): Promise<void> => {
      if (this.#form !== form) return;
      const name = field.value.trim();
      const changed = takes && name !== "" && name !== listed.state.display_name;
      const back = form.contains(document.activeElement);
      this.#form = null;
      form.replaceWith(this.#open);
      this.element.classList.remove("renaming");
      if (back) this.#open.focus();
      if (changed) await this.context.rename(listed.id, name);
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void end(true);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      void end(false);
    });
    field.addEventListener("blur", () => void end(true));
    this.element.classList.add("renaming");
    this.#open.replaceWith(form);
    field.focus();
    field.select();
  }

  #factsOf({ state }: Listed): string {
    const usage = usageOf(state);
    const spent = !usage ? "" : usage.cost !== undefined ? dollars(usage.cost) : `${tokens(usage.inputTokens + usage.outputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0))} tokens`;
    return [state.operator_subject, holderOf(state, this.context.here()), spent].filter(Boolean).join(" · ");
  }
}
