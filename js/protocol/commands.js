// What tabs do with each command, and what `invoke` calls.
//
// Written from `src/protocol/table.rs`: change that, then `LODGER_WRITE=1 cargo test --test host protocol`.

const names = (text) => text.split(" ");

/** What each tab does for itself: it is about this tab, or about nothing that the agent holds. */
export const OWN = names("startAgent standIn letGo file pages.create pages.read pages.tree pages.search pages.update pages.rename pages.move pages.delete pages.trash pages.restore pages.backlinks pages.outgoingLinks pages.versions setOperator activeRuns sessions.export sessions.replay keys.set keys.remove keys.list keys.validate keys.models storage acknowledgeLoss persist draft close");

/** What the next holder can be asked as well, whether or not the last one did it. */
export const AGAIN = names("configureAgent stopAgent switchTo result interrupt history watch wait queue.edit queue.remove queue.release resolvePermission tools.resolve tools.grants tools.revoke memory.list memory.search memory.update sessions.status sessions.bench sessions.play sessions.list sessions.rename sessions.configure sessions.journal sessions.events sessions.receipts sessions.handoffs sessions.task sessions.left sessions.activity sessions.output sessions.attach sessions.verify settings");

/** The same, because the journal knows by a key whether it was done. */
export const KEYED = names("sendMessage regenerate sessions.prompt");

/** What is answered at the end of a run. */
export const WAITS = names("result wait");

/** What is answered by a run that it begins. */
export const BEGINS = names("sendMessage regenerate compact resume sessions.prompt sessions.runOnce");

/** The commands of `invoke`: the method behind each, with its arguments; `client/invoke.js` reads them. */
export const INVOKED = {
  initialize_workspace: "(name)",
  get_agent_status: "status()",
  list_tools: "tools.definitions()",
  start_agent: "startAgent(*)",
  stop_agent: "stopAgent()",
  send_agent_message: "sendMessage(message, {replaces?})",
  regenerate_agent_message: "regenerate(messageId?)",
  compact_conversation: "compact({instructions?})",
  switch_to: "switchTo(messageId)",
  remove_message: "removeMessage(messageId)",
  interrupt_agent: "interrupt()",
  get_conversation_history: "history({version?})",
  clear_conversation: "clearConversation()",
  "agent.wait": "wait(runId, {timeoutMs?:number, errorGraceMs?:number})",
  respond_permission_request: "resolvePermission(requestId, answer, {reason?, pageVersion?:number})",
  execute_tool: "tools.execute(tool, arguments?:object)",
  session_launch: "sessions.launch(*)",
  session_prompt: "sessions.prompt(id, prompt)",
  session_status: "sessions.status(id)",
  session_stop: "sessions.stop(id, reason?)",
  session_restart: "sessions.restart(id, reason?)",
  session_recover: "sessions.recover(id, {action?, reason?, detail?})",
  session_bench: "sessions.bench(target)",
  session_play: "sessions.play(target)",
  session_list: "sessions.list()",
  session_rename: "sessions.rename(id, displayName)",
  session_configure: "sessions.configure(id, config:object)",
  session_remove: "sessions.remove(id)",
  session_undo_remove: "sessions.undoRemove(id)",
  session_archive: "sessions.archive(id)",
  session_task: "sessions.task(id)",
  run_once: "sessions.runOnce(objective)",
  session_export: "sessions.export(id, {format?})",
  session_import: "sessions.import(file:object)",
  session_replay: "sessions.replay(file:object)",
  session_fork: "sessions.fork(id, {at?:number, provider?})",
  session_salvage: "sessions.salvage(id, {replace?})",
  session_verify: "sessions.verify(id)",
  get_agent_settings: "settings()",
};
