// A workspace with everything in it, in one page: how it is made, put back, damaged from outside, and looked at. All of it runs
// in the page, and is sent there as text.

/** What the others need. */
export function words() {
  globalThis.NAME = "world";
  globalThis.SESSIONS = ["default", "notes", "other", "held", "queued", "cleared", "away", "long", "turned", "removed", "summed", "asked"];
  // Enough of them for several packs.
  globalThis.RUNS = 20;
  globalThis.plainly = async (work) => { try { return { value: await work() }; } catch (error) { if (typeof error.code === "string") return { error: error.code }; if (error instanceof DOMException) return { error: error.name }; throw error; } };
  /** As data, in which a long text is told by its length and a hash. */
  globalThis.shortly = (value) => JSON.parse(JSON.stringify(value, (_, text) => {
    if (typeof text !== "string" || text.length < 10_000) return text;
    let hash = 0;
    for (let n = 0; n < text.length; n++) hash = (Math.imul(hash, 31) + text.charCodeAt(n)) | 0;
    return `${text.slice(0, 50)}… ${text.length} characters, ${hash}`;
  }));
  /** A model that says what it was told, and hangs where it is asked to; it may look something up before. */
  globalThis.echo = { kind: "custom", model: "echo", async *stream({ messages }) {
    if (messages[0].role === "system" && messages[0].content.includes("You sum up a conversation")) return void (yield "They have met.");
    const last = messages.at(-1);
    const said = typeof last.content === "string" ? last.content : last.content.map((part) => part.text ?? "").join("");
    const calls = (name, args) => ({ choices: [{ delta: { tool_calls: [{ index: 0, id: `call_${messages.length}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] }, finish_reason: "tool_calls" }] });
    if (last.role === "user" && said.includes("Look")) return void (yield calls("look", {}));
    if (last.role === "user" && said.includes("Give")) return void (yield calls("delegate", { process: "Worker", task: "Say what there is." }));
    yield `I hear: ${said}`;
    if (said.includes("Hang")) { told(); await new Promise(() => {}); }
  } };
  globalThis.begin = async (more) => {
    ws.tools.register({ name: "look", readOnly: true, description: "Looks.", inputSchema: { type: "object" }, execute: () => "seen" });
    await ws.startAgent({ provider: echo, processType: "Orchestrator", ...more });
  };
  /** A provider whose key is in the vault; what it is sent, and refuses. */
  globalThis.sent = [];
  globalThis.kept = { anthropic: { kind: "anthropic", baseUrl: `${location.origin}/kept`, model: "kept" } };
  const { fetch } = globalThis;
  globalThis.fetch = async (url, init) => {
    if (!String(url).startsWith(kept.anthropic.baseUrl)) return fetch(url, init);
    sent.push(new Headers(init.headers).get("x-api-key"));
    return new Response("{}", { status: 401, headers: { "content-type": "application/json" } });
  };
  /** What these records have of errors and notices. */
  globalThis.noticed = (...records) => records.flatMap(({ events }) => events).filter(({ type, detail }) => (type === "agent:error" && detail.sessionId !== "keyed") || (type === "agent:notice" && detail.kind !== "holder")).map(({ type, detail }) => ({ type, kind: detail.kind, sessionId: detail.sessionId, code: detail.code ?? detail.error?.code, pages: detail.pages, missing: detail.missing }));
}

/**
 * Makes it: sessions that are idle, open, queued, cleared, archived, long, changed, summed up and with a delegate; a task that is over, and one
 * that is open; pages with versions and links, files, memories, a key. Gives the ids of the files, of the first run of each session, and
 * of the tasks: their sessions and runs.
 */
export async function build() {
  globalThis.ws = await lodger.openWorkspace(NAME);
  const runs = {};
  const says = async (text, sessionId, files) => {
    const { runId } = await ws.run(files ? { text, files } : text, { sessionId });
    runs[sessionId ?? "default"] ??= runId;
  };
  await begin();
  for (const text of ["One", "Look at two", "Three"]) await says(text);
  await says("A file", undefined, [new Blob(["what the file says ".repeat(20)], { type: "text/plain" })]);
  for (const id of SESSIONS.slice(1)) { await ws.sessions.launch({ id, displayName: `The ${id}` }); await says("First", id); await says("Look again", id); }
  await says("Third", "notes", [new Blob(["notes in a file"], { type: "text/plain" })]);
  // So long that the browser keeps it in a file of its own.
  await says(`Long: ${Array.from({ length: 50_000 }, (_, n) => n).join(" ")}`, "long");
  for (const id of ["cleared", "away"]) for (let n = 1; n <= RUNS; n++) await says(`Word ${n}`, id);
  await ws.clearConversation("cleared");
  for (let n = 1; n <= 3; n++) await says(`Anew ${n}`, "cleared");
  await ws.sessions.archive("away");
  await turn(says);
  await (await ws.compact({ sessionId: "summed" })).result;
  await says("Behind the summary", "summed");
  await says("Give it away", "asked");
  const begun = T.record(ws);
  const task = () => { const { sessionId, runId } = begun.events.findLast(({ type }) => type === "agent:session-started").detail; return [sessionId, runId]; };
  await ws.sessions.runOnce("A task");
  const tasks = { once: task() };
  for (const text of ["Tea, and no coffee.", "The shop closes at six.", "Ann keeps the keys."]) await ws.memory.add({ text });
  const root = await ws.pages.create({ title: "Root", content: "See [[Leaf]] and [[Nowhere]]." });
  for (const title of ["Leaf", "Branch", "Gone"]) await ws.pages.create({ title, content: `The page ${title}, back to [[Root]].`, parentSlug: root.slug });
  for (const content of ["Second words.", "Third words, of [[Branch]]."]) await ws.pages.update("leaf", { content });
  await ws.pages.delete("gone");
  await ws.keys.set("anthropic", "sk-kept");
  // Two whose page is lost in mid-run: what the model has said until then is a draft.
  for (const id of ["held", "queued"]) {
    const heard = new Promise((resolve) => { globalThis.told = resolve; });
    const seen = T.record(ws);
    await ws.sessions.prompt(id, `Hang on, ${id}`);
    await heard;
    await seen.chunk();
  }
  // A task whose page is lost too.
  const heard = new Promise((resolve) => { globalThis.told = resolve; });
  ws.sessions.runOnce("Hang on, task").catch(() => {});
  await heard;
  tasks.left = task();
  await ws.sessions.prompt("queued", "Later", { whenBusy: "queue" });
  const drafts = async () => new Set((await T.dump(NAME)).drafts.map(([[id]]) => id)).size;
  while ((await drafts()) < 3) await T.turn();
  await ws.close();
  globalThis.template = await T.dump(NAME);
  return { files: template.files.map(([[id]]) => id), runs, tasks };
}

/** Two sessions that were changed: one has versions and settings of its own, from the other a message was removed. */
export async function turn(says) {
  for (const id of ["turned", "removed"]) for (const n of [2, 3, 4]) await says(`Number ${n}`, id);
  const message = async (id, text) => (await ws.history({ sessionId: id })).find(({ role, parts }) => role === "user" && parts[0].text === text).id;
  const two = await message("turned", "Number 2");
  const edited = await ws.sendMessage("Number two", { sessionId: "turned", replaces: two });
  await edited.result;
  await (await ws.regenerate(undefined, { sessionId: "turned" })).result;
  await ws.switchTo(two, { sessionId: "turned" });
  await ws.sessions.configure("turned", { instructions: "Count." });
  await says("Number 5", "turned");
  await ws.removeMessage(await message("removed", "Number 3"), { sessionId: "removed" });
  await says("Number 5", "removed");
}

/** Puts the workspace back as it was. */
export async function putBack() {
  await globalThis.ws?.close();
  globalThis.ws = undefined;
  const db = await T.database(NAME);
  const tx = db.transaction([...db.objectStoreNames], "readwrite");
  for (const [table, rows] of Object.entries(template)) {
    const store = tx.objectStore(table);
    store.clear();
    for (const [key, value] of rows) store.put(value, key);
  }
  await T.done(tx);
  db.close();
}

/**
 * Damages a row as it was drawn. What that has touched: `sessions`, of whose entries in these `rows`, or whose `checkpoints`; `pages` by
 * their slugs; `files` by their places in what `build` gave; `format`: what says whether anything is stored; `memories`: some of them;
 * `note`: what a task has left beside its session.
 */
export async function harm({ kind, draws }) {
  const rows = Object.entries(template).filter(([table, rows]) => rows.length);
  // Half of them are entries, because most of what is shown is there.
  const names = rows.flatMap(([table]) => [table, "entries"]);
  const table = names[draws[0] % names.length];
  // What there are few of counts as much as all the rest: packs and checkpoints.
  const few = template[table].filter(([key]) => table === "entries" && typeof key[1] === "string");
  const own = few.length && draws[5] % 2 ? few : template[table];
  const [at, other] = [draws[1] % own.length, draws[2] % own.length];
  const [key, value] = own[at];
  const place = (length) => draws[3] % Math.max(1, length);
  const bits = 1 << draws[4] % 5;
  const bytes = value instanceof Blob ? new Uint8Array(await value.arrayBuffer()) : value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? new Uint8Array(value.buffer ?? value).slice() : undefined;
  let flipped, cut, none;
  if (typeof value === "string") {
    const where = place(value.length);
    flipped = value.slice(0, where) + String.fromCharCode(value.charCodeAt(where) ^ bits) + value.slice(where + 1);
    [cut, none] = [value.slice(0, where), ""];
  } else if (bytes) {
    const where = place(bytes.length);
    const as = (bytes) => (value instanceof Blob ? new Blob([bytes], { type: value.type }) : value instanceof ArrayBuffer ? bytes.buffer : bytes);
    [cut, none] = [as(bytes.slice(0, where)), as(new Uint8Array())];
    bytes[where] ^= bits;
    flipped = as(bytes);
  }
  const next = [].concat(key).with(-1, typeof [].concat(key).at(-1) === "number" ? [].concat(key).at(-1) + 1 : `${[].concat(key).at(-1)}x`);
  const away = Array.isArray(key) ? next : next[0];
  // What has no text or bytes, a key of the browser's, can only be taken away or put elsewhere.
  const done = flipped === undefined && ["flip", "cut", "empty"].includes(kind) ? "delete" : kind;
  const writes = {
    flip: [[key, flipped]], cut: [[key, cut]], empty: [[key, none]], delete: [[key]],
    swap: [[key, own[other][1]], [own[other][0], value]], older: [[key, own[Math.max(0, at - 1)][1]]], double: [[away, value]], move: [[away, value], [key]],
  }[done];
  const db = await T.database(NAME);
  const tx = db.transaction(table, "readwrite");
  for (const [key, value] of writes) { if (value === undefined) tx.objectStore(table).delete(key); else tx.objectStore(table).put(value, key); }
  await T.done(tx);
  db.close();
  const around = typeof flipped === "string" && done === "flip" ? `: ${JSON.stringify(value.slice(Math.max(0, place(value.length) - 20), place(value.length) + 20))} at ${place(value.length)} of ${value.length}` : "";
  return { table, kind: done, what: `${table} ${writes.map(([key]) => JSON.stringify(key)).join(" and ")} ${done}${around}`, ...reach(table, writes.map(([key]) => [].concat(key))) };
}

/** What damages to the rows with these keys can touch. */
function reach(table, keys) {
  const is = (...names) => names.includes(table);
  const isCheckpoint = (key) => is("entries") && key[1] === "checkpoint";
  const rows = {};
  for (const [id, place, last] of is("entries") ? keys : []) if (place === "packs") (rows[id] ??= []).push([last - 63, last]); else if (typeof place === "number") (rows[id] ??= []).push([place, place]);
  const changed = (rev) => { const [, text] = template.changes.find(([key]) => key[0] === rev) ?? []; return text ? [JSON.parse(text)[0]] : []; };
  return {
    rows, checkpoints: keys.filter(isCheckpoint).map(([id]) => id),
    sessions: is("entries", "heads", "drafts") ? [...new Set(keys.filter((key) => !isCheckpoint(key)).map(([id]) => id))] : [],
    pages: is("pages", "versions") ? keys.map(([slug]) => slug) : is("changes") ? keys.flatMap(([rev]) => changed(rev)) : [],
    files: is("files") ? keys.map(([id]) => template.files.findIndex(([[other]]) => other === id)) : [],
    format: is("meta") && keys.some(([key]) => key === "format"),
    memories: is("meta") && keys.some(([key]) => key === "memory"),
    note: is("meta") && keys.some(([key]) => key === "task"),
  };
}

/** Opens it, and all that a page can be shown before anybody works; each as `{ value }` or `{ error }`. */
export async function look({ files, runs, tasks }) {
  const onOpening = T.record();
  const opened = await plainly(async () => { globalThis.ws = await lodger.openWorkspace(NAME); });
  if (opened.error) return { opened, sessions: [], shown: {}, notices: [] };
  const own = T.record(ws);
  const shown = {};
  const see = async (what, work) => { shown[what] = await plainly(work); };
  await see("list", async () => Object.fromEntries((await ws.sessions.list()).map(({ id, display_name, archived, damaged }) => [id, { display_name, archived, damaged }])));
  await see("verified", async () => Object.fromEntries((await ws.sessions.list({ withVerification: true })).map(({ session, hmac_status }) => [session.id, [hmac_status, session.damaged ?? null]])));
  for (const id of SESSIONS) {
    await see(`${id}: history`, () => ws.history({ sessionId: id }));
    await see(`${id}: state`, () => ws.sessions.status(id));
    for (const part of ["journal", "events", "receipts", "handoffs", "verify"]) await see(`${id}: ${part}`, () => ws.sessions[part](id));
    await see(`${id}: task`, () => ws.sessions.task(runs[id]));
    await see(`${id}: result`, () => ws.wait(runs[id]));
  }
  await see("pages: tree", () => ws.pages.tree());
  await see("pages: trash", () => ws.pages.trash());
  for (const slug of ["root", "leaf", "branch"]) {
    await see(`pages: ${slug}`, () => ws.pages.read(slug));
    await see(`pages: ${slug}, versions`, () => ws.pages.versions(slug));
    await see(`pages: ${slug}, links`, async () => [await ws.pages.backlinks(slug), await ws.pages.outgoingLinks(slug)]);
  }
  await see("pages: search", () => ws.pages.search("words"));
  for (const [n, id] of files.entries()) await see(`files: ${n}`, async () => (await ws.file(id)).text());
  for (const [name, [, run]] of Object.entries(tasks)) await see(`${name}: task`, () => ws.sessions.task(run));
  await see("memories: list", () => ws.memory.list());
  await see("memories: search", async () => (await ws.memory.search("shop")).map(({ text }) => text));
  await see("keys", () => ws.keys.list());
  await see("storage", async () => (await ws.storage()).lost ?? null);
  await T.turn();
  return shortly({ opened, sessions: SESSIONS, tasks, shown, notices: noticed(onOpening, own) });
}

/**
 * The agent starts, and each session is asked something, a new one too; pages are written, and the kept key is used. How that began,
 * what each has answered, those too that were `salvaged`, and what there is `later`.
 */
export async function ask({ files, tasks }) {
  if (!globalThis.ws) return { started: { error: "not open" }, answers: {}, salvaged: {}, later: {}, files: [], notices: [] };
  const seen = T.record(ws);
  const started = await plainly(() => begin({ providers: kept }));
  const answers = {};
  const answer = async (of, work) => { answers[of] = await plainly(work); };
  if (!started.error) {
    for (const id of SESSIONS) await answer(id, async () => {
      for (const deadline = Date.now() + 5_000; ;) {
        const { session } = await ws.sessions.status(id);
        if (["failed", "auth_expired", "provider_unavailable"].includes(session.status)) await ws.sessions.recover(id, { action: "resume" });
        try { return (await ws.run(`Are you there, ${id}?`, { sessionId: id })).text; } catch (error) { if (error.code !== "busy" || Date.now() > deadline) throw error; }
      }
    });
    await answer("a new one", async () => { await ws.sessions.launch({ id: "new" }); return (await ws.run("Are you there, new?", { sessionId: "new" })).text; });
    await answer("a new page", async () => { await ws.pages.create({ title: "New", content: "A new page." }); return (await ws.pages.read("new")).content; });
    await answer("branch", async () => { await ws.pages.update("branch", { content: "Another branch." }); return (await ws.pages.read("branch")).content; });
    await answer("a new memory", async () => { await ws.memory.add({ text: "A bell hangs at the door." }); return (await ws.memory.search("bell"))[0].text; });
    await answer("the open task", async () => (await ws.sessions.task(tasks.left[1])).status);
    await answer("the key", async () => {
      sent.length = 0;
      await ws.sessions.launch({ id: "keyed", provider: "anthropic" });
      return ws.run("With a key.", { sessionId: "keyed" }).then(() => "taken", (error) => { if (!sent.length) throw error; return [...new Set(sent)].join(); });
    });
  }
  // The way out of damage, whether anybody was told of it or not.
  const salvaged = {};
  for (const id of SESSIONS.filter((id) => answers[id]?.error === "corrupt")) salvaged[id] = await plainly(async () => {
    const { id: made } = await ws.sessions.salvage(id);
    const { metadata } = (await ws.sessions.events(made)).findLast(({ event_type }) => event_type === "salvaged");
    const { from_seq: kept, damaged } = metadata;
    const [history, rows] = [await ws.history({ sessionId: made }), (await ws.sessions.journal(made)).slice(0, kept)];
    return { answer: (await ws.run(`Are you there, ${id}?`, { sessionId: made })).text, kept, damaged, history, rows };
  });
  const later = {};
  // Those in which nothing was open.
  for (const id of SESSIONS.filter((id) => answers[id]?.value && !["held", "queued"].includes(id))) later[id] = { history: await plainly(() => ws.history({ sessionId: id })), verify: await plainly(() => ws.sessions.verify(id)) };
  const pages = await plainly(() => ws.pages.tree());
  const there = [];
  for (const id of files) there.push(await plainly(async () => (await ws.file(id)).text()));
  await T.turn();
  return shortly({ started, answers, salvaged, later, pages, files: there, notices: noticed(seen) });
}

/** What is shown where nothing was ever stored. */
export async function nothing(ids) {
  await globalThis.ws?.close();
  const own = NAME;
  globalThis.NAME = "nothing";
  const seen = await look(ids);
  await ws.close();
  globalThis.ws = undefined;
  globalThis.NAME = own;
  return seen;
}

/** All of it as text. */
export const world = `(${words})();\n${[build, turn, putBack, harm, reach, look, ask, nothing].map((part) => `globalThis.${part.name} = ${part};`).join("\n")}`;
