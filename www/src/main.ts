// The workbench: opens a workspace and shows it. Where to look:
//   agent.ts        commands to the agent, and what it says          settings.ts    what the person chose
//   conversation/   the right side: thread, messages, tool cards, queue, composer
//   sessions/       above left: the list of sessions                 journal/       in the middle: the record of one
//   memories/       what is remembered between conversations
//   pages/          left and middle: tree, page, versions            render/        Markdown while it streams
//   shell/          frame, dialogs, keys, icons                      styles/        tokens first, then one file per part
//
// Only the public package is used, as any page would: `lodger`, `lodger/offline` and, where there is a local model, `lodger/wllama`.
import { openWorkspace, type Workspace } from "lodger";
import { Agent } from "./agent.ts";
import { PageStore } from "./pages/store.ts";
import { SessionStore } from "./sessions/store.ts";
import { Settings } from "./settings.ts";
import { h } from "./shell/dom.ts";
import { installIcons, iconNode } from "./shell/icons.ts";
import type { Workbench } from "./shell/workbench.ts";
import "./shell/workbench.ts";
import { errorInfo, sentence } from "./words.ts";
import { letPass } from "./workers.ts";

/** `?workspace=name` opens another one, `?host=worker` has its agent in a worker. */
const asked = new URLSearchParams(location.search);
const name = asked.get("workspace") || "notes";
const host = asked.get("host") === "worker" ? "worker" : "page";
if (host === "worker") letPass(new URL("./lodger/worker.js", document.baseURI).href);

installIcons();
const settings = new Settings();
void start();

async function start(storage?: "memory"): Promise<void> {
  let workspace: Workspace;
  try {
    workspace = await openWorkspace(name, storage ? { host, storage } : { host });
  } catch (error) {
    failed(error);
    return;
  }
  const agent = new Agent(workspace, settings);
  const pages = new PageStore(workspace);
  const sessions = new SessionStore(agent, (notice) => pages.tell(notice));
  agent.onPagesChanged = () => void pages.refresh(true);
  document.querySelector(".startup-failure")?.remove();
  document.body.append((document.createElement("lodger-workbench") as Workbench).init(agent, pages, sessions));
}

/** Nothing can be opened: says why, and what still works. */
function failed(error: unknown): void {
  const info = errorInfo(error);
  // Only the storage is missing: all else works, for as long as the page is open.
  const optional = info.code.startsWith("storage");
  const memory = optional ? h("button", { type: "button", class: "primary", "data-testid": "without-storage", onclick: () => void start("memory") }, "Go on without storage") : null;
  const again = h("button", { type: "button", class: optional ? "" : "primary", onclick: () => location.reload() }, "Reload");
  document.querySelector(".startup-failure")?.remove();
  document.body.append(
    h("main", { class: "startup-failure", "data-testid": "startup-failure", "data-code": info.code },
      h("div", { class: "welcome-mark danger" }, iconNode("alert")),
      h("h1", {}, optional ? "This browser gives no storage" : "The workspace cannot be opened"),
      h("p", {}, sentence(info.message, true)),
      h("p", { class: "muted" }, optional ? "Without storage everything works, but pages and conversation go when this page closes." : sentence(info.hint ?? "", true)),
      h("div", { class: "row center" }, memory, again)),
  );
  (memory ?? again).focus();
}
