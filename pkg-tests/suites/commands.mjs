// Every member of a workspace from a tab that looks on. What it gives there, and what the tab with the agent sees of
// it, is what a tab alone gets and sees. A member that is not in the table fails the test.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { follows, open } from "../lib/tabs.mjs";

export default function (test, { pkg }) {
  for (const host of ["page", "worker"]) {
    test(`every command of a viewer gives what it gives where the agent runs [${host}]`, async (t) => {
      const holder = await ready(t, host);
      const alone = await play(holder, holder);
      await holder.evaluate(async () => { await ws.close(); await lodger.deleteWorkspace("shared"); });
      await holder.close();

      const a = await ready(t, host);
      const b = await open(t, host);
      await b.evaluate(model);
      await follows(b);
      assert.equal(await missing(b, pkg), "");
      const viewed = await play(b, a);
      const failed = alone.filter(({ member, value, seen }) => seen.error || !value.error === REFUSED.includes(member));
      assert.equal(lines(failed), "", "in a tab alone");
      const others = viewed.filter((step, n) => !isDeepStrictEqual(step, alone[n]));
      if (others.length) assert.deepEqual(others[0], alone[viewed.indexOf(others[0])]);
      t.note(`${viewed.length} commands`);
    }, { hangMs: 300_000 });

    test(`a viewer that closes takes nothing with it [${host}]`, async (t) => {
      const a = await ready(t, host);
      const b = await open(t, host);
      await follows(b);
      await b.evaluate(async () => { globalThis.before = ws; await ws.close(); });
      assert.equal(await b.evaluate(async () => (await T.refused(() => before.sendMessage("?"))).code), "workspace_closed");
      assert.equal(await a.evaluate(async () => (await ws.run("Still there?")).text), "You said Still there?.");
    });
  }
}

/** A tab with the agent, and one tool of each kind. */
async function ready(t, host) {
  const page = await open(t, host);
  await page.evaluate(model);
  await page.evaluate(async () => {
    const tool = (name, more) => ws.tools.register({ name, description: "A tool.", inputSchema: { type: "object", properties: { text: { type: "string" } } }, ...more });
    tool("post", { destructive: true, execute: ({ text }) => `posted ${text}` });
    tool("look", { readOnly: true, execute: () => "seen" });
    tool("form", { readOnly: true });
    await ws.startAgent({ provider });
  });
  return page;
}

/** A model that does what it is told, in the page that starts the agent. */
function model() {
  globalThis.s = {};
  globalThis.asked = [];
  globalThis.provider = {
    kind: "custom",
    async *stream({ messages, response_format }, { signal }) {
      asked.push(messages);
      const { role, content } = messages.at(-1);
      const said = [].concat(content ?? "").map((part) => part.text ?? part).join("");
      const [word, name, json = "{}"] = said.split(" ");
      if (response_format) yield '{"n":7}';
      else if (role !== "user") yield "Done.";
      else if (word === "call") yield { choices: [{ delta: { tool_calls: [{ index: 0, id: `call${asked.length}`, function: { name, arguments: json } }] }, finish_reason: "tool_calls" }] };
      else if (word === "hold") {
        yield "Wait";
        await new Promise((done) => { globalThis.goOn = done; signal.addEventListener("abort", done); });
        yield " no more.";
      } else if (word === "fail" && !globalThis.failed) {
        globalThis.failed = true;
        throw new Error("no luck");
      } else if (JSON.stringify(messages).includes("You sum up a conversation")) yield "In short.";
      else yield `You said ${said}.`;
    },
  };
}

/** What there is and is not in the table. */
async function missing(page, pkg) {
  const members = await page.evaluate(() => {
    const found = Object.getOwnPropertyNames(Object.getPrototypeOf(ws)).filter((name) => name !== "constructor");
    for (const [name, group] of Object.entries(ws)) found.push(...Object.keys(group).map((member) => `${name}.${member}`));
    return found;
  });
  const types = await fs.readFile(path.join(pkg.dir, "commands.d.ts"), "utf8");
  const [, commands] = types.match(/export interface Commands \{([^]*?)\n\}/);
  members.push(...[...commands.matchAll(/^ {2}"?([\w.]+)"?: \{ args/gm)].map(([, name]) => `invoke ${name}`));
  assert.ok(members.length > 90, `${members.length} members`);
  const shown = new Set([...STEPS.map(([title]) => title.split(",")[0]), ...ELSEWHERE]);
  return members.filter((member) => !shown.has(member)).join();
}

const ELSEWHERE = ["close", "invoke"];
/** Those that are refused wherever they come from. */
const REFUSED = ["startAgent", "invoke start_agent, running"];

/** Does all that is in the table, each in `driver`; what that gave, and what `holder` sees then. */
async function play(driver, holder) {
  const told = [];
  for (const [member, work, look = () => null] of STEPS) {
    const value = await driver.evaluate((work) => T.settle(() => (0, eval)(`(${work})`)(ws, s)), String(work));
    const seen = await holder.evaluate(([look, value]) => T.settle(() => (0, eval)(`(${look})`)(ws, value)), [String(look), value.value]);
    told.push({ member, ...normal({ value, seen }) });
  }
  return told;
}

const lines = (steps) => steps.map((step) => JSON.stringify(step)).join("\n");

/** Without what no two have alike: ids by the order in which they come, times, hashes, and the words of errors. */
function normal(value) {
  const ids = new Map();
  const text = JSON.stringify(value, (key, value) => {
    if (key === "idempotency") return undefined; // of a viewer's messages, which may be sent twice
    if (key === "error" && value?.code) return { code: value.code };
    if (typeof value === "number" && value > 1.5e12) return "time";
    if (/(_ms|Ms|hash|hmac|mac|nonce|signature)$/i.test(key) && key !== "hmac_status") return key;
    return value;
  });
  return JSON.parse(text
    .replace(/[0-9a-f]{64}/g, "hash")
    .replace(/[0-9a-f]{24,40}/g, (id) => { if (!ids.has(id)) ids.set(id, `id${ids.size}`); return ids.get(id); })
    .replace(/\d{14}_[0-9a-f]{16}(_\d+)?/g, "time")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, "time"));
}

const STEPS = [
  ["name", (ws) => ws.name],
  ["status", (ws) => ws.status()],
  ["startAgent", (ws) => ws.startAgent({ ifRunning: "reject" }), (ws) => ws.status()],
  ["startAgent, join", (ws) => ws.startAgent({ provider, ifRunning: "join" }), (ws) => ws.status()],
  ["configureAgent", (ws) => ws.configureAgent({ maxTurns: 7, instructions: () => `${2 + 3} words at most.` })],

  // ---- runs
  ["sendMessage", async (ws) => {
    const run = await ws.sendMessage("One.");
    let text = "";
    for await (const piece of run.textStream) text += piece;
    return { run, text, result: await run.result };
  }, async (ws) => [await ws.history(), asked.at(-1)[0].content.includes("5 words at most.")]],
  ["sendMessage, files and metadata", async (ws) => (await ws.sendMessage({ text: "Two.", files: [new File(["the bytes"], "a.txt", { type: "text/plain" })], metadata: { a: 1 } }, { context: "Now." })).result, (ws) => ws.history({ limit: 2 })],
  ["sendMessage, schema", async (ws) => (await ws.sendMessage("Three.", { schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } })).result],
  ["sendMessage, Standard Schema", async (ws) => {
    const standard = { version: 1, vendor: "test", jsonSchema: { input: () => ({ type: "object", properties: { n: { type: "integer" } } }) }, validate: ({ n }) => (n > 5 ? { value: { n: n * 2 } } : { issues: [{ message: "too small" }] }) };
    return (await ws.sendMessage("Three and a half.", { schema: { "~standard": standard } })).result;
  }],
  ["sendMessage, idempotencyKey", async (ws) => {
    const [one, two] = [await ws.sendMessage("Four.", { idempotencyKey: "k" }), await ws.sendMessage("Four.", { idempotencyKey: "k" })];
    return [one.runId === two.runId, await two.result];
  }, async (ws) => (await ws.history()).length],
  ["sendMessage, signal", async (ws) => {
    const stop = new AbortController();
    const run = await ws.sendMessage("hold", { signal: stop.signal });
    await until(() => shown() === "Wait");
    stop.abort();
    return run.result;
  }, (ws) => ws.history({ limit: 2 })],
  ["sendMessage, replaces", async (ws) => {
    const before = (await ws.history()).filter(({ role }) => role === "user").at(-1);
    await (await ws.sendMessage("Five.", { replaces: before.id })).result;
    return ws.history({ version: before.id });
  }, (ws) => ws.history({ limit: 2 })],
  ["sendMessage, empty", async (ws) => (await T.refused(() => ws.sendMessage(""))).code],
  ["run", (ws) => ws.run("Six."), (ws) => ws.history({ limit: 2 })],
  ["regenerate", async (ws) => (await ws.regenerate()).result, (ws) => ws.history({ limit: 1 })],
  ["compact", async (ws) => (await (await ws.compact({ instructions: "Names." })).result).outcome, (ws) => ws.history({ limit: 1 })],
  ["interrupt", async (ws) => {
    const run = await ws.sendMessage("hold");
    await until(() => shown() === "Wait");
    ws.interrupt({ runId: run.runId });
    return run.result;
  }, (ws) => ws.status()],
  ["resume", async (ws) => {
    const failed = await (await ws.sendMessage("fail once")).result;
    return [failed.outcome, await (await ws.resume()).result];
  }, (ws) => ws.history({ limit: 2 })],
  ["wait", async (ws, s) => {
    const run = await ws.sendMessage("hold");
    s.run = run.runId;
    await until(() => shown() === "Wait");
    const slow = await ws.wait(run.runId, { timeoutMs: 1 });
    const end = ws.wait(run.runId);
    ws.interrupt();
    return [slow, await end, await ws.wait(run.runId, { errorGraceMs: 5 })];
  }],
  ["history", async (ws) => { const all = await ws.history(); return [all, await ws.history({ limit: 3, before: all.at(-2).id }), (await T.refused(() => ws.history({ before: "none" }))).code]; }],
  ["view", async (ws) => { await until(() => view.getSnapshot().status === "ready"); const { holder, ...snapshot } = view.getSnapshot(); return snapshot; }],
  ["file", async (ws) => {
    const { fileId } = (await ws.history()).flatMap(({ parts }) => parts).find(({ type }) => type === "file");
    const blob = await ws.file(fileId);
    return [blob.type, await blob.text(), (await T.refused(() => ws.file("file_none"))).code];
  }],

  // ---- people and tools
  ["resolvePermission", async (ws) => {
    const run = await ws.sendMessage('call post {"text":"once"}');
    await until(() => view.getSnapshot().permissions.length);
    const { requestId } = view.getSnapshot().permissions[0];
    await ws.resolvePermission(requestId, "always_allow", { reason: "Go." });
    return [await run.result, (await T.refused(() => ws.resolvePermission(requestId, "deny"))).code];
  }, (ws) => ws.history({ limit: 1 })],
  ["resolvePermission, respond() of the event", async (ws) => {
    ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("deny", { reason: "No." }), { once: true });
    await ws.tools.revoke("post");
    return (await ws.sendMessage('call post {"text":"never"}')).result;
  }, (ws) => ws.history({ limit: 1 })],
  ["tools.grants", async (ws) => {
    const run = await ws.sendMessage('call post {"text":"again"}');
    await until(() => view.getSnapshot().permissions.length);
    await ws.resolvePermission(view.getSnapshot().permissions[0].requestId, "always_allow");
    await run.result;
    return ws.tools.grants();
  }, (ws) => ws.tools.grants()],
  ["tools.revoke", (ws) => ws.tools.revoke("post"), (ws) => ws.tools.grants()],
  ["tools.resolve", async (ws) => {
    const run = await ws.sendMessage("call form");
    const waits = () => view.getSnapshot().messages.at(-1).parts.find((part) => part.tool === "form" && part.status === "waiting");
    await until(waits);
    await ws.tools.resolve(waits().toolCallId, { result: { filled: true } });
    return run.result;
  }, (ws) => ws.history({ limit: 1 })],
  ["tools.register", async (ws, s) => {
    s.undo = ws.tools.register({ name: "mine", description: "Of this tab.", readOnly: true, inputSchema: { type: "object" }, execute: (args, { onProgress }) => { onProgress(1); return "from this tab"; } });
    await until(() => ws.tools.definitions().some(({ name }) => name === "mine"));
    return (await ws.sendMessage("call mine")).result;
  }, async (ws) => [await ws.history({ limit: 1 }), ws.tools.definitions().length]],
  ["tools.definitions", (ws) => ws.tools.definitions().sort((a, b) => (a.name < b.name ? -1 : 1))],
  ["tools.execute", (ws) => ws.tools.execute("mine", {})],
  ["tools.execute, of a page", (ws) => ws.tools.execute("get_page_tree", {})],
  ["tools.execute, of the tab with the agent", (ws) => ws.tools.execute("look", {})],
  ["tools.execute, with a person asked", async (ws) => {
    ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("allow_once"), { once: true });
    return ws.tools.execute("post", { text: "by the page" });
  }],
  ["tools.execute, of this tab, with a person asked", async (ws) => {
    ws.tools.register({ name: "undo", description: "Of this tab.", destructive: true, inputSchema: { type: "object" }, execute: () => "undone" });
    await until(() => ws.tools.definitions().some(({ name }) => name === "undo"));
    ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("allow_once"), { once: true });
    const result = await ws.tools.execute("undo", {});
    ws.tools.unregister("undo");
    return result;
  }],
  ["tools.unregister", async (ws) => [ws.tools.unregister("mine"), ws.tools.unregister("none")], async (ws) => { await until(() => !ws.tools.definitions().some(({ name }) => name === "mine")); return ws.tools.definitions().length; }],

  // ---- pages
  ["pages.create", async (ws) => [await ws.pages.create({ title: "Dragons", content: "They fly. See [[Caves]]." }), await ws.pages.create({ title: "Caves", content: "Dark." })], (ws) => ws.pages.tree()],
  ["pages.read", async (ws) => [await ws.pages.read("dragons"), (await T.refused(() => ws.pages.read("none"))).code]],
  ["pages.tree", (ws) => ws.pages.tree()],
  ["pages.search", (ws) => ws.pages.search("fly")],
  ["pages.update", (ws) => ws.pages.update("dragons", { content: "They sleep. See [[Caves]]." }), (ws) => ws.pages.read("dragons")],
  ["pages.rename", (ws) => ws.pages.rename("dragons", "Wyrms"), (ws) => ws.pages.tree()],
  ["pages.move", async (ws) => ws.pages.move((await ws.pages.search("sleep"))[0].slug, { parentSlug: "caves" }), (ws) => ws.pages.tree()],
  ["pages.backlinks", (ws) => ws.pages.backlinks("caves")],
  ["pages.outgoingLinks", async (ws) => ws.pages.outgoingLinks((await ws.pages.search("sleep"))[0].slug)],
  ["pages.versions", async (ws) => ws.pages.versions((await ws.pages.search("sleep"))[0].slug)],
  ["pages.delete", (ws) => ws.pages.delete("caves"), (ws) => ws.pages.tree()],
  ["pages.trash", (ws) => ws.pages.trash()],
  ["pages.restore", (ws) => ws.pages.restore("caves"), (ws) => ws.pages.tree()],
  // ---- memory
  ["memory.add", (ws) => ws.memory.add({ text: "Lives in Oslo.", tags: ["place"] }), (ws) => ws.memory.list()],
  ["memory.list", (ws) => ws.memory.list({ limit: 1 })],
  ["memory.search", (ws) => ws.memory.search("Oslo")],
  ["memory.update", async (ws) => ws.memory.update((await ws.memory.list())[0].id, { importance: 0.9 }), (ws) => ws.memory.list()],
  ["memory.remove", async (ws) => ws.memory.remove((await ws.memory.list())[0].id), (ws) => ws.memory.list()],

  // ---- keys
  ["keys.set", (ws) => ws.keys.set("anthropic", "sk-ant-test-0123456789"), (ws) => ws.keys.list()],
  ["keys.list", (ws) => ws.keys.list()],
  ["keys.remove", (ws) => ws.keys.remove("anthropic"), (ws) => ws.keys.list()],
  ["keys.validate", (ws) => ws.keys.validate({ kind: "custom", async *stream() {} })],
  ["keys.models", async (ws) => (await T.settle(() => ws.keys.models({ kind: "custom", model: "m", async *stream() {} }))).value ?? "refused"],

  // ---- what waits
  ["queue.edit", async (ws, s) => {
    s.first = (await ws.sendMessage("hold")).runId;
    await until(() => shown() === "Wait");
    s.waits = [];
    for (const text of ["Seven.", "Eight."]) s.waits.push((await ws.sendMessage(text, { whenBusy: "queue" })).runId);
    await until(() => view.getSnapshot().queue.length === 2);
    const [{ id }] = view.getSnapshot().queue;
    await ws.queue.edit(id, "Seven, edited.");
    await until(() => view.getSnapshot().queue[0].text === "Seven, edited.");
  }, () => view.getSnapshot().queue],
  ["queue.remove", async (ws, s) => {
    await ws.queue.remove(view.getSnapshot().queue[1].id);
    await until(() => view.getSnapshot().queue.length === 1);
    return ws.wait(s.waits[1]);
  }, () => view.getSnapshot().queue],
  ["queue.release", async (ws, s) => {
    ws.interrupt({ runId: s.first });
    await ws.wait(s.first);
    await ws.queue.release();
    return ws.wait(s.waits[0]);
  }, (ws) => ws.history({ limit: 3 })],

  // ---- sessions
  ["sessions.launch", (ws) => ws.sessions.launch({ id: "docs", displayName: "Docs" }), (ws) => ws.sessions.status("docs")],
  ["sessions.prompt", async (ws, s) => { const { runId } = await ws.sessions.prompt("docs", "Write."); s.run = runId; return ws.wait(runId); }, (ws) => ws.history({ sessionId: "docs" })],
  ["sessions.status", (ws) => ws.sessions.status("docs")],
  ["sessions.list", async (ws) => [await ws.sessions.list(), await ws.sessions.list({ withVerification: true })]],
  ["sessions.search", async (ws) => [await ws.sessions.search("DOCS"), await ws.sessions.search("docs nothing"), (await T.refused(() => ws.sessions.search(5))).code]],
  ["sessions.view", async (ws) => {
    const list = ws.sessions.view();
    while (list.getSnapshot().status !== "ready") await T.turn();
    const { sessions } = list.getSnapshot();
    return [list === ws.sessions.view(), sessions.map(({ id, title, activity, needsYou, session, hmac_status }) => [id, title, activity, needsYou, session, hmac_status])];
  }],
  ["sessions.markRead", async (ws) => {
    ws.sessions.markRead("docs");
    return ws.sessions.view().getSnapshot().sessions.find(({ id }) => id === "docs").unread;
  }],
  ["sessions.configure", (ws) => ws.sessions.configure("docs", { temperature: 0.5 }), async (ws) => (await ws.sessions.status("docs")).session.config],
  ["sessions.rename", (ws) => ws.sessions.rename("docs", "Papers"), (ws) => ws.sessions.status("docs")],
  ["sessions.journal", async (ws) => [await ws.sessions.journal("docs"), await ws.sessions.journal("docs", { from: 2, limit: 1 })]],
  ["sessions.events", async (ws) => [await ws.sessions.events("docs"), await ws.sessions.events("docs", { limit: 1 })]],
  ["sessions.receipts", (ws) => ws.sessions.receipts("docs")],
  ["sessions.handoffs", (ws) => ws.sessions.handoffs("docs")],
  ["sessions.task", (ws, s) => ws.sessions.task(s.run)],
  ["sessions.activity", async (ws) => {
    const { runId } = await ws.sessions.prompt("docs", "hold");
    await until(async () => (await ws.history({ sessionId: "docs", limit: 1 }))[0].parts.length);
    const during = await ws.sessions.activity("docs");
    ws.interrupt({ sessionId: "docs" });
    await ws.wait(runId);
    return [during, await ws.sessions.activity("docs"), await ws.sessions.activity(runId)];
  }],
  ["sessions.output", async (ws) => {
    const { data, offset } = await ws.sessions.output("docs");
    return [new TextDecoder().decode(data), offset, [...(await ws.sessions.output("docs", { tail: 3 })).data]];
  }],
  ["sessions.attach", async (ws) => {
    const seen = [];
    const entries = ws.sessions.attach("docs");
    for (let left = (await ws.sessions.journal("docs")).length; left; left--) seen.push((await entries.next()).value.type);
    const live = entries.next();
    await ws.wait((await ws.sessions.prompt("docs", "More.")).runId);
    seen.push((await live).value.type, (await entries.next()).value.type);
    await entries.return();
    return [seen, (await entries.next()).done];
  }],
  ["sessions.bench", async (ws) => [await ws.sessions.bench("docs"), (await T.refused(() => ws.sessions.prompt("docs", "?"))).code], (ws) => ws.sessions.status("docs")],
  ["sessions.play", (ws) => ws.sessions.play("docs"), (ws) => ws.sessions.status("docs")],
  ["sessions.bench, all", async (ws) => [(await ws.sessions.bench("all")).suspended.sort(), (await ws.sessions.play("all")).map(({ id }) => id).sort()]],
  ["sessions.stop", (ws) => ws.sessions.stop("docs", "enough"), (ws) => ws.sessions.status("docs")],
  ["sessions.restart", (ws) => ws.sessions.restart("docs", "again"), (ws) => ws.sessions.status("docs")],
  ["sessions.recover", async (ws) => [await ws.sessions.recover("docs", { reason: "provider_unavailable" }), await ws.sessions.recover("docs", { action: "resume" })], (ws) => ws.sessions.status("docs")],
  ["sessions.fork", (ws) => ws.sessions.fork("docs", { at: 4 }), (ws) => ws.sessions.status("docs-2")],
  // There is nothing to be salvaged.
  ["sessions.salvage", async (ws) => (await T.refused(() => ws.sessions.salvage("docs"))).code],
  ["sessions.export", async (ws, s) => {
    s.file = await ws.sessions.export("docs");
    return [s.file.type, (await s.file.text()).trim().split("\n").length, await (await ws.sessions.export("docs", { format: "markdown" })).text()];
  }],
  ["sessions.replay", (ws, s) => ws.sessions.replay(s.file)],
  ["sessions.import", (ws, s) => ws.sessions.import(s.file), (ws) => ws.sessions.status("docs-3")],
  ["sessions.remove", async (ws) => [await ws.sessions.remove("docs-3"), (await T.refused(() => ws.sessions.status("docs-3"))).code], async (ws) => (await ws.sessions.list()).map(({ id }) => id)],
  ["sessions.undoRemove", (ws) => ws.sessions.undoRemove("docs-3"), async (ws) => (await ws.sessions.list()).map(({ id }) => id)],
  ["sessions.verify", (ws) => ws.sessions.verify("docs-3")],
  ["sessions.archive", (ws) => ws.sessions.archive("docs-3"), (ws) => ws.sessions.status("docs-3")],
  ["sessions.runOnce", (ws) => ws.sessions.runOnce("Once.")],

  // ---- this tab's own
  ["setOperator", async (ws) => {
    await ws.setOperator({ subject: "other" });
    const other = [(await T.refused(() => ws.sessions.rename("docs", "Mine"))).code, (await ws.sessions.status("docs")).session.display_name];
    await ws.setOperator(null);
    const nobody = (await T.refused(() => ws.sessions.list())).code;
    await ws.setOperator({ subject: "local" });
    return [other, nobody, await ws.sessions.rename("docs", "Mine")];
  }],
  ["storage", async (ws) => { const { kind, bytes, quota, persisted, persist } = await ws.storage(); return [kind, bytes > 0, quota > 0, persisted, await persist()]; }],

  // ---- by name
  ["invoke initialize_workspace", (ws) => ws.invoke("initialize_workspace", { name: "shared" })],
  ["invoke get_agent_status", (ws) => ws.invoke("get_agent_status")],
  ["invoke get_agent_settings", (ws) => ws.invoke("get_agent_settings")],
  ["invoke send_agent_message", async (ws) => ws.wait((await ws.invoke("send_agent_message", { message: "By name." })).runId), (ws) => ws.history({ limit: 2 })],
  ["invoke regenerate_agent_message", async (ws) => ws.wait((await ws.invoke("regenerate_agent_message")).runId), (ws) => ws.history({ limit: 1 })],
  ["invoke compact_conversation", async (ws) => (await ws.wait((await ws.invoke("compact_conversation", { instructions: "Names." })).runId)).outcome],
  ["invoke interrupt_agent", async (ws) => {
    const { runId } = await ws.invoke("send_agent_message", { message: "hold" });
    await until(() => shown() === "Wait");
    await ws.invoke("interrupt_agent");
    return ws.invoke("agent.wait", { runId });
  }],
  ["invoke agent.wait", async (ws, s) => ws.invoke("agent.wait", { runId: s.run, timeoutMs: 5 })],
  ["invoke get_conversation_history", (ws) => ws.invoke("get_conversation_history")],
  ["invoke list_tools", async (ws) => (await ws.invoke("list_tools")).map(({ name }) => name).sort()],
  ["invoke execute_tool", (ws) => ws.invoke("execute_tool", { tool: "read_page", arguments: { slug: "caves" } })],
  ["invoke respond_permission_request", async (ws) => {
    const { runId } = await ws.invoke("send_agent_message", { message: 'call post {"text":"x"}' });
    await until(() => view.getSnapshot().permissions.length);
    await ws.invoke("respond_permission_request", { requestId: view.getSnapshot().permissions[0].requestId, answer: "allow_once" });
    return ws.wait(runId);
  }, (ws) => ws.history({ limit: 1 })],
  ["invoke session_launch", (ws) => ws.invoke("session_launch", { id: "named" })],
  ["invoke session_prompt", async (ws) => ws.wait((await ws.invoke("session_prompt", { id: "named", prompt: "Hello." })).runId), (ws) => ws.history({ sessionId: "named" })],
  ["invoke session_status", (ws) => ws.invoke("session_status", { id: "named" })],
  ["invoke session_task", async (ws) => ws.invoke("session_task", { id: (await ws.history({ sessionId: "named" })).at(-1).runId })],
  ["invoke session_rename", (ws) => ws.invoke("session_rename", { id: "named", displayName: "Name" })],
  ["invoke session_list", (ws) => ws.invoke("session_list")],
  ["invoke session_stop", (ws) => ws.invoke("session_stop", { id: "named" })],
  ["invoke session_restart", (ws) => ws.invoke("session_restart", { id: "named" })],
  ["invoke session_recover", async (ws) => [await ws.invoke("session_recover", { id: "named", reason: "auth_expired" }), await ws.invoke("session_recover", { id: "named", action: "resume" })]],
  ["invoke session_bench", (ws) => ws.invoke("session_bench", { target: "named" })],
  ["invoke session_play", (ws) => ws.invoke("session_play", { target: "named" })],
  ["invoke session_fork", (ws) => ws.invoke("session_fork", { id: "named" })],
  ["invoke session_salvage", async (ws) => (await T.refused(() => ws.invoke("session_salvage", { id: "named" }))).code],
  ["invoke session_export", async (ws, s) => (s.file = await ws.invoke("session_export", { id: "named" })).type],
  ["invoke session_replay", (ws, s) => ws.invoke("session_replay", { file: s.file })],
  ["invoke session_import", (ws, s) => ws.invoke("session_import", { file: s.file })],
  ["invoke session_remove", (ws) => ws.invoke("session_remove", { id: "named-2" })],
  ["invoke session_undo_remove", (ws) => ws.invoke("session_undo_remove", { id: "named-2" })],
  ["invoke session_archive", (ws) => ws.invoke("session_archive", { id: "named-2" }), (ws) => ws.history({ sessionId: "named-2" })],
  ["invoke session_verify", (ws) => ws.invoke("session_verify", { id: "named-2" })],
  ["invoke run_once", (ws) => ws.invoke("run_once", { objective: "Once more." })],
  ["invoke switch_to", async (ws) => ws.invoke("switch_to", { messageId: (await ws.history()).at(-1).id }), async (ws) => (await ws.history()).length],
  ["invoke remove_message", async (ws) => ws.invoke("remove_message", { messageId: (await ws.history()).at(-1).id }), async (ws) => (await ws.history()).length],
  ["invoke session_configure", async (ws) => (await ws.invoke("session_configure", { id: "named", config: { temperature: 0.5 } })).config],
  ["invoke clear_conversation", (ws) => ws.invoke("clear_conversation"), (ws) => ws.history()],
  ["invoke start_agent, running", (ws) => ws.invoke("start_agent", {})],

  // ---- the ends
  ["switchTo", async (ws) => {
    await ws.run("One version.");
    const [{ id }] = (await ws.history()).slice(-2);
    await ws.run("Another version.", { replaces: id });
    await ws.switchTo(id);
  }, async (ws) => (await ws.history()).at(-2).parts],
  ["removeMessage", async (ws) => ws.removeMessage((await ws.history()).at(-1).id), async (ws) => (await ws.history()).length],
  ["clearConversation", async (ws) => { await ws.run("To be cleared."); await ws.clearConversation(); await ws.clearConversation("docs"); }, async (ws) => [await ws.history(), await ws.history({ sessionId: "docs" })]],
  ["stopAgent", async (ws) => { await ws.stopAgent(); await until(() => ws.status().lifecycle === "Stopped"); return (await T.refused(() => ws.sendMessage("?"))).code; }, (ws) => ws.status()],
  ["invoke start_agent", (ws) => ws.invoke("start_agent", { provider }), async (ws) => { await until(() => ws.status().lifecycle === "Running"); return (await ws.run("Again.")).text; }],
  ["invoke stop_agent", async (ws) => { await ws.invoke("stop_agent"); await until(() => ws.status().lifecycle === "Stopped"); }, async (ws) => { await until(() => ws.status().lifecycle === "Stopped"); }],
];
