// A disk without room. Each command that writes is `quota_exceeded` then, wherever among its writes the room ends. Nothing stays half
// written, and once there is room the same command works. The commands are held against the table of all commands: a new one
// has to be here too.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ROOT } from "../lib/package.mjs";

export default function (test) {
  test("each command is in the table, or writes nothing", () => {
    const table = fs.readFileSync(path.join(ROOT, "..", "src", "protocol", "table.rs"), "utf8");
    const commands = [...table.matchAll(/=\s*row\("([\w.]+)"/g)].map(([, name]) => name);
    assert.ok(commands.length > 70, `${commands.length} commands`);
    const tried = new Set(Object.keys(PATHS).map((path) => path.split(",")[0]));
    const known = new Set([...tried, ...Object.keys(NOT_TRIED), ...READS]);
    assert.deepEqual(commands.filter((name) => !known.has(name)), [], "not in the table");
    assert.deepEqual([...known].filter((name) => !commands.includes(name)), [], "no such commands");
    assert.deepEqual(READS.filter((name) => tried.has(name)), []);
  });

  for (const host of ["page", "worker"]) {
    for (const [group, names] of Object.entries(GROUPS)) {
      const paths = Object.entries(PATHS).filter(([name]) => names.test(name));
      test(`no room for ${group}: it is quota_exceeded, what is stored stays, and it works once there is room [${host}]`, async (t) => {
        const page = await t.tab({ init: `(${disk})(); Object.assign(globalThis, { ${[space, opened, begin, usual, tries, looks, until].map((part) => `${part.name}: ${part}`)} });` });
        await page.evaluate((host) => { globalThis.host = host; }, host);
        if (host === "worker") await page.evaluate(disksOfWorkers, String(disk));
        const wrong = [];
        let count = 0;
        for (const [name, path] of paths) {
          // Each of its writes is the first to fail; where all found room, it is over.
          for (let left = 0; ; left++, count++) {
            t.at = `${name}, after ${left} writes`;
            const seen = await page.evaluate(([path, left, host]) => tries(path, left), [{ ...path, before: String(path.before ?? (() => {})), act: String(path.act) }, left]);
            const found = judged(seen, left, path);
            if (found) wrong.push(`${t.at}: ${found}`);
            if (!seen.hit || path.once) break;
            assert.ok(left < 30, `${name} never ends`);
          }
        }
        t.note(`${count} times`);
        assert.deepEqual(wrong, []);
      }, { hangMs: 300_000 });
    }
  }
  beside(test);
}

const GROUPS = { "what is done with sessions": /^sessions/, "what is done with pages": /^pages/, "all else": /^(?!sessions|pages)/ };

/** What is wrong with a command whose writes found no room behind the first `left`. */
function judged({ hit, first, told, started, whole, again, after }, left, { reports }) {
  const code = first.error?.code;
  if (left === 0 && !hit) return `nothing was written: ${JSON.stringify(first)}`;
  if (left === 0 && (reports ? !told.includes("quota_exceeded") : code !== "quota_exceeded")) return `it is ${code ?? `done: ${JSON.stringify(first.value)}`}, and told are ${told}`;
  if (code && code !== "quota_exceeded") return `it is ${code}: ${first.error.message}`;
  if (started.error) return `with room it does not start: ${started.error.code}`;
  if (whole.error || whole.value.length) return `not whole: ${JSON.stringify(whole)}`;
  if (again.error && !(left > 0 && !code)) return `with room it is ${again.error.code}: ${again.error.message}`;
  if (after.value !== "You said And now?.") return `and then: ${JSON.stringify(after)}`;
  return undefined;
}

// ------------------------------------------------------------------ what no command asks for

function beside(test) {
  test("no room for the key that signs: nothing is stored unsigned", async (t) => {
    const page = await t.tab({ init: disk });
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const provider = scriptedModel(["First."]);
      // Of the transactions of a first start, only the one for that key finds no room.
      const { transaction } = IDBDatabase.prototype;
      let hit = 0;
      IDBDatabase.prototype.transaction = function (tables, mode, ...rest) {
        room = mode === "readwrite" && tables === "vault" && !hit++ ? 0 : Infinity;
        try { return transaction.call(this, tables, mode, ...rest); } finally { room = Infinity; }
      };
      const error = await T.settle(() => ws.startAgent({ provider }));
      await ws.startAgent({ provider, ifRunning: "join" });
      await ws.run("Hello.");
      return { hit: hit > 0, error: error.error?.code, status: (await ws.sessions.status("default")).hmac_status };
    });
    assert.deepEqual(seen, { hit: true, error: "quota_exceeded", status: "verified" });
  });

  for (const host of ["page", "worker"]) {
    test(`no room for a new database: it is quota_exceeded, and works once there is room [${host}]`, async (t) => {
      const page = await t.tab();
      const cdp = await (await t.context()).newCDPSession(page);
      const quota = (quotaSize) => cdp.send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url, ...(quotaSize && { quotaSize }) });
      await quota(1);
      const codes = () => page.evaluate(async (host) => {
        const code = async (work) => (await T.settle(work)).error?.code ?? "none";
        const first = async () => { const ws = await lodger.openWorkspace("w", { host }); await ws.pages.create({ title: "One" }); await ws.close(); };
        return code(first);
      }, host);
      const full = await codes();
      await quota();
      assert.deepEqual([full, await codes()], ["quota_exceeded", "none"]);
    });
  }

  test("no room for the marker: nothing fails, and the next opening sets it", async (t) => {
    const page = await t.tab({ init: disk });
    const seen = await page.evaluate(async () => {
      const { getFileHandle } = FileSystemDirectoryHandle.prototype;
      let failed = 0;
      FileSystemDirectoryHandle.prototype.getFileHandle = async function (name, options) {
        if (options?.create && !failed++) throw new DOMException("no room", "QuotaExceededError");
        return getFileHandle.call(this, name, options);
      };
      const ws = await lodger.openWorkspace("w");
      await ws.pages.create({ title: "One" });
      while (!failed) await T.turn();
      await ws.close();
      const again = await lodger.openWorkspace("w");
      while (!(await T.markers()).length) await T.turn();
      return [(await again.pages.tree()).length, failed];
    });
    assert.deepEqual(seen, [1, 2]);
  });
}

// ------------------------------------------------------------------ in the page

/** Counts the transactions that write; from the one on for which there is no room, none comes to its end, in any database. */
function disk() {
  Object.assign(globalThis, { room: Infinity, refused: 0 });
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...args) {
    const begun = transaction.apply(this, args);
    if (begun.mode !== "readwrite") return begun;
    const counts = [...begun.objectStoreNames].some((name) => name !== "drafts");
    if (room > 0) room -= counts ? 1 : 0;
    else {
      refused += counts ? 1 : 0;
      Object.defineProperty(begun, "error", { value: new DOMException("no room", "QuotaExceededError") });
      queueMicrotask(() => { try { begun.abort(); } catch { /* it is over */ } });
    }
    return begun;
  };
  const { getFileHandle } = FileSystemDirectoryHandle.prototype;
  FileSystemDirectoryHandle.prototype.getFileHandle = async function (name, options) {
    if (!room && options?.create) throw new DOMException("no room", "QuotaExceededError");
    return getFileHandle.call(this, name, options);
  };
}

/** The same in each worker of the package, which answers how often it has refused. */
function disksOfWorkers(disk) {
  const { Worker } = globalThis;
  globalThis.disks = [];
  globalThis.Worker = function (url, options) {
    const name = `disk ${disks.length}`;
    const code = `import "${new URL(url, location.href)}"; (${disk})(); const channel = new BroadcastChannel("${name}"); channel.onmessage = ({ data }) => { channel.postMessage(refused); Object.assign(globalThis, { room: data, refused: 0 }); };`;
    disks.push(new BroadcastChannel(name));
    return new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), options);
  };
}

/** From here on there is room for so many writes. How many found none since this was said last. */
async function space(left) {
  let found = refused;
  Object.assign(globalThis, { room: left, refused: 0 });
  const channel = globalThis.disks?.at(-1);
  if (channel) found += await new Promise((done) => { channel.onmessage = ({ data }) => done(data); channel.postMessage(left); });
  return found;
}

async function until(what) { while (!(await what())) await T.turn(); }

async function opened() {
  globalThis.ws = await lodger.openWorkspace(name, { host });
  globalThis.rec = T.record(ws);
}

/** The agent runs. Its model says what it is told, calls what it is told to call, or holds; and `post` asks a person. */
async function begin(more) {
  globalThis.provider = {
    kind: "custom", model: "m",
    async *stream({ messages }, { signal }) {
      const { role, content } = messages.at(-1);
      const said = [].concat(content ?? "").map((part) => part.text ?? part).join("");
      const [word, tool, json = "{}"] = said.split(" ");
      if (role !== "user") yield "Done.";
      else if (word === "call") yield { choices: [{ delta: { tool_calls: [{ index: 0, id: `call${messages.length}`, function: { name: tool, arguments: json } }] }, finish_reason: "tool_calls" }] };
      else if (word === "fail" && !globalThis.failed) { globalThis.failed = true; throw new Error("no luck"); }
      else if (word === "hold") { yield "Wait"; await new Promise((done) => signal.addEventListener("abort", done)); }
      else yield `You said ${said}.`;
    },
  };
  for (const [tool, more] of [["post", { destructive: true, execute: () => "posted" }], ["form", { readOnly: true }]]) {
    ws.tools.register({ name: tool, description: "A tool.", inputSchema: { type: "object", properties: {} }, ...more }, { replace: true });
  }
  await ws.startAgent({ provider, ifRunning: "join", ...more });
}

/** What there is before each command. */
async function usual() {
  await ws.run("Hello.");
  await ws.sessions.launch({ id: "kept", displayName: "Kept" });
  await ws.run("Hello.", { sessionId: "kept" });
  await ws.pages.create({ title: "Kept", content: "little" });
  Object.assign(s, {
    says: async (sessionId, text) => { const run = await ws.sendMessage(text, { sessionId }); await rec.seen(({ type, detail }) => type === "agent:message-chunk" && detail.runId === run.runId); return run; },
    other: { sessionId: "kept" },
    /** A message that waits behind a run. */
    waits: async () => {
      const view = ws.view();
      view.subscribe(() => {});
      await s.says("default", "hold");
      await ws.sendMessage("More.", { whenBusy: "queue" });
      await until(() => view.getSnapshot().queue.length);
      s.id = view.getSnapshot().queue[0].id;
    },
    /** A session that somebody has damaged in its middle. */
    hurt: async () => {
      await ws.sessions.launch({ id: "hurt" });
      for (const text of ["One.", "Two."]) await ws.run(text, { sessionId: "hurt" });
      await ws.stopAgent();
      await T.harm(name, "hurt", "You said Two.", (row) => row.replace("You said Two.", "You said Too."));
      await begin();
    },
    /** All that was stored is lost, and the workspace is used again. */
    lost: async () => {
      await until(async () => (await T.markers()).length);
      await ws.close();
      await T.dropDatabase(name);
      await opened();
      await begin();
      await usual();
    },
  });
}

/** A command in a workspace of its own, while there is room for so many writes. */
async function tries({ before, act, idle, reports }, left) {
  globalThis.name = `w${(globalThis.count = (globalThis.count ?? 0) + 1)}`;
  Object.assign(globalThis, { s: {}, failed: false });
  const run = (code) => (0, eval)(`(${code})`)(ws, s);
  await opened();
  await begin();
  await usual();
  if (idle) await ws.stopAgent();
  await run(before);
  rec.clear();
  await space(left);
  const first = await T.settle(() => run(act));
  await (reports && left === 0 ? rec.seen(({ type }) => type === "agent:error") : T.turn());
  const hit = (await space(Infinity)) > 0;
  const told = rec.events.filter(({ type }) => type === "agent:error").map(({ detail }) => detail.code);
  // The agent that was lost is started again; where it was not, that changes nothing. One that is being lost takes a start along.
  if (!idle) await T.settle(begin);
  const started = idle ? {} : await T.settle(begin);
  const whole = await T.settle(looks);
  const again = await T.settle(() => run(act));
  const after = await T.settle(async () => {
    await begin();
    await ws.sessions.launch({ id: "after" });
    return (await ws.run("And now?", { sessionId: "after" })).text;
  });
  await ws.close();
  await lodger.deleteWorkspace(name);
  return T.plain({ hit, first, told, started, whole, again, after });
}

/** All that is not as it was written. */
async function looks() {
  const wrong = [];
  for (const { session, hmac_status } of await ws.sessions.list({ withVerification: true })) {
    if (session.id === "hurt") continue;
    const all = await ws.sessions.verify(session.id);
    if (session.damaged || hmac_status !== "verified" || all.hmac_status !== "verified") wrong.push([session.id, hmac_status, session.damaged, all]);
    await ws.history({ sessionId: session.id });
  }
  return [...wrong, ...(await ws.pages.tree()).filter(({ damaged }) => damaged)];
}

// ------------------------------------------------------------------ the commands

const skill = { name: "greet", description: "To greet.", template: "Say hello.", scope: "account" };
const account = `{ skills: [${JSON.stringify(skill)}] }`;

/** What only reads, or changes what no disk has. */
const READS = [
  "result", "history", "watch", "file", "wait", "tools.register", "tools.unregister", "tools.grants", "pages.read", "pages.tree", "pages.search", "pages.trash", "pages.backlinks", "pages.outgoingLinks", "pages.versions", "memory.list", "memory.search", "setOperator",
  "sessions.status", "sessions.list", "activeRuns", "sessions.journal", "sessions.events", "sessions.receipts", "sessions.handoffs", "sessions.task", "sessions.left", "sessions.export", "sessions.replay", "sessions.activity", "sessions.output", "sessions.attach", "sessions.verify",
  "keys.list", "keys.look", "keys.validate", "keys.models", "settings", "storage", "persist",
];

/** What no page gives by itself, and what is never refused. */
const NOT_TRIED = {
  standIn: "startAgent of another tab",
  letGo: "a page that is put to sleep",
  "sessions.admit": "sessions.import",
  draft: "a page that goes away, which nobody can tell anything",
  close: "as draft",
};

const removeFirst = `async (ws) => {
  // Once the journal says so it is gone; what could not be erased the next start erases.
  const [first] = await ws.history();
  if (first) await ws.removeMessage(first.id);
}`;

/**
 * What is done before (`before`), what is asked for while there is no room (`act`), and whether no agent runs then (`idle`).
 * `reports`: it does not reject, and is told by an event. `once`: only its first write is its own.
 */
const PATHS = {
  "startAgent": { idle: true, act: (ws) => begin() },
  "startAgent, skills of the account": { idle: true, act: `() => begin(${account})` },
  "configureAgent, skills of the account": { act: `(ws) => ws.configureAgent(${account})`, reports: true, once: true },
  "stopAgent": { act: (ws) => ws.stopAgent() },
  "stopAgent, in a run": { before: (ws, s) => s.says("kept", "hold"), act: (ws) => ws.stopAgent() },
  "sendMessage": { act: (ws) => ws.run("More.") },
  "sendMessage, to another session": { act: (ws, s) => ws.sendMessage("More.", s.other) },
  "sendMessage, with a file": { act: (ws) => ws.run({ text: "Look.", files: [new File(["a text"], "a.txt", { type: "text/plain" })] }) },
  "sendMessage, in place of another": { act: async (ws) => ws.run("Other.", { replaces: (await ws.history())[0].id }) },
  "sendMessage, behind another": { before: (ws, s) => s.says("default", "hold"), act: (ws) => ws.sendMessage("More.", { whenBusy: "queue" }) },
  "sendMessage, to an archived session": { before: (ws) => ws.sessions.archive("kept"), act: (ws, s) => ws.sendMessage("More.", s.other) },
  "sendMessage, with a tool": { act: (ws) => ws.run('call create_page {"title":"By a tool"}') },
  "regenerate": { act: async (ws) => (await ws.regenerate()).result.then(({ error }) => { if (error) throw error; }) },
  "compact": { act: async (ws) => (await ws.compact()).result.then(({ error }) => { if (error) throw error; }) },
  "interrupt": { before: (ws, s) => s.says("default", "hold"), act: async (ws) => { const [{ runId }] = (await ws.history()).slice(-1); ws.interrupt({ runId }); const { error } = await ws.wait(runId); if (error?.code === "quota_exceeded") throw error; }, reports: true },
  "resume": { before: async (ws) => { await (await ws.sendMessage("fail")).result; }, act: (ws) => ws.resume() },
  "memory.add": { act: (ws) => ws.memory.add({ text: "More." }) },
  "memory.update": { before: async (ws, s) => { s.memory = (await ws.memory.add({ text: "One." })).id; }, act: (ws, s) => ws.memory.update(s.memory, { text: "Other." }) },
  "memory.remove": { before: async (ws, s) => { s.memory = (await ws.memory.add({ text: "Two." })).id; }, act: (ws, s) => ws.memory.remove(s.memory) },
  "switchTo": { before: async (ws, s) => { await ws.run("One."); s.old = (await ws.history()).at(-2).id; await ws.run("Another.", { replaces: s.old }); }, act: (ws, s) => ws.switchTo(s.old) },
  "removeMessage": { act: removeFirst },
  "removeMessage, without an agent": { idle: true, act: removeFirst },
  "sessions.configure": { act: (ws) => ws.sessions.configure("kept", { temperature: 0.5 }) },
  "clearConversation": { act: (ws) => ws.clearConversation() },
  "clearConversation, without an agent": { idle: true, act: (ws) => ws.clearConversation() },
  "clearConversation, of another session": { act: (ws) => ws.clearConversation("kept") },
  "queue.edit": { before: (ws, s) => s.waits(), act: (ws, s) => ws.queue.edit(s.id, "Other.") },
  "queue.remove": { before: (ws, s) => s.waits(), act: (ws, s) => ws.queue.remove(s.id) },
  "queue.release": { before: async (ws, s) => { const { runId } = await s.says("default", "hold"); await ws.sendMessage("More.", { whenBusy: "queue" }); ws.interrupt({ runId }); await ws.wait(runId); }, act: (ws) => ws.queue.release() },
  "resolvePermission": { before: async (ws, s) => { await ws.sendMessage("call post"); s.id = (await rec.seen(({ type }) => type === "agent:permission-required")).detail.requestId; }, act: (ws, s) => ws.resolvePermission(s.id, "always_allow") },
  "tools.resolve": { before: async (ws, s) => { await ws.sendMessage("call form"); s.id = (await rec.seen(({ type, detail }) => type === "agent:tool-call" && detail.tool === "form")).detail.toolCallId; await until(() => ws.status().lifecycle === "Suspended"); }, act: (ws, s) => ws.tools.resolve(s.id, { result: "filled" }) },
  "tools.revoke": { before: async (ws) => { ws.addEventListener("agent:permission-required", ({ detail }) => detail.respond("always_allow"), { once: true }); await ws.run("call post"); }, act: (ws) => ws.tools.revoke("post") },
  "tools.execute": { act: (ws) => ws.tools.execute("create_page", { title: "More" }) },
  "pages.create": { act: (ws) => ws.pages.create({ title: "More" }) },
  "pages.create, the first": { before: (ws) => ws.pages.delete("kept"), act: (ws) => ws.pages.create({ title: "More" }) },
  "pages.update": { act: (ws) => ws.pages.update("kept", { content: "more" }) },
  "pages.update, of what says more of it": { act: (ws) => ws.pages.update("kept", { metadata: { a: 1 } }) },
  "pages.rename": { act: (ws) => ws.pages.rename("kept", "Other") },
  "pages.move": { before: (ws) => ws.pages.create({ title: "Other" }), act: (ws) => ws.pages.move("kept", { parentSlug: "other" }) },
  "pages.delete": { act: (ws) => ws.pages.delete("kept") },
  "pages.restore": { before: (ws) => ws.pages.delete("kept"), act: (ws) => ws.pages.restore("kept") },
  "sessions.launch": { act: (ws) => ws.sessions.launch({ id: "more" }) },
  "sessions.launch, with messages": { act: (ws) => ws.sessions.launch({ id: "more", messages: [{ role: "user", parts: [{ type: "text", text: "Before." }] }] }) },
  "sessions.prompt": { act: (ws) => ws.sessions.prompt("kept", "More.") },
  "sessions.stop": { act: (ws) => ws.sessions.stop("kept") },
  "sessions.stop, without an agent": { idle: true, act: (ws) => ws.sessions.stop("kept") },
  "sessions.restart": { before: (ws) => ws.sessions.stop("kept"), act: (ws) => ws.sessions.restart("kept") },
  "sessions.recover": { before: (ws) => ws.sessions.recover("kept", { reason: "provider_unavailable" }), act: (ws) => ws.sessions.recover("kept", { action: "resume" }) },
  "sessions.recover, that it failed": { act: (ws) => ws.sessions.recover("kept", { reason: "provider_unavailable" }) },
  "sessions.bench": { act: (ws) => ws.sessions.bench("kept") },
  "sessions.bench, in a run": { before: (ws, s) => s.says("kept", "hold"), act: (ws) => ws.sessions.bench("kept") },
  "sessions.play": { before: (ws) => ws.sessions.bench("kept"), act: (ws) => ws.sessions.play("kept") },
  "sessions.rename": { act: (ws) => ws.sessions.rename("kept", "Other") },
  "sessions.rename, without an agent": { idle: true, act: (ws) => ws.sessions.rename("kept", "Other") },
  "sessions.remove": { act: (ws) => ws.sessions.remove("kept") },
  "sessions.remove, without an agent": { idle: true, act: (ws) => ws.sessions.remove("kept") },
  "sessions.undoRemove": { before: (ws) => ws.sessions.remove("kept"), act: (ws) => ws.sessions.undoRemove("kept") },
  "sessions.archive": { act: (ws) => ws.sessions.archive("kept") },
  "sessions.archive, without an agent": { idle: true, act: (ws) => ws.sessions.archive("kept") },
  "sessions.runOnce": { act: (ws) => ws.sessions.runOnce("Once.") },
  "sessions.fork": { act: (ws) => ws.sessions.fork("kept") },
  "sessions.fork, without an agent": { idle: true, act: (ws) => ws.sessions.fork("kept") },
  "sessions.import": { before: async (ws, s) => { s.file = await ws.sessions.export("kept"); }, act: (ws, s) => ws.sessions.import(s.file) },
  "sessions.import, without an agent": { idle: true, before: async (ws, s) => { s.file = await ws.sessions.export("kept"); }, act: (ws, s) => ws.sessions.import(s.file) },
  "sessions.salvage": { before: (ws, s) => s.hurt(), act: (ws) => ws.sessions.salvage("hurt") },
  "sessions.salvage, in its place": { before: (ws, s) => s.hurt(), act: (ws) => ws.sessions.salvage("hurt", { replace: true }) },
  "sessions.salvage, in its place, without an agent": { before: async (ws, s) => { await s.hurt(); await ws.stopAgent(); }, act: (ws) => ws.sessions.salvage("hurt", { replace: true }) },
  "sessions.remove, of a damaged one": { before: (ws, s) => s.hurt(), act: (ws) => ws.sessions.remove("hurt") },
  "keys.set": { act: (ws) => ws.keys.set("anthropic", "sk-ant-0123456789") },
  "keys.remove": { before: (ws) => ws.keys.set("anthropic", "sk-ant-0123456789"), act: (ws) => ws.keys.remove("anthropic") },
  "acknowledgeLoss": { before: (ws, s) => s.lost(), act: async (ws) => { await (await ws.storage()).lost.acknowledge(); if ((await ws.storage()).lost) throw new Error("it is told still"); } },
};
