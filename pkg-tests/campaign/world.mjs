// A workspace with everything in it, in one page: how it is made, put back, damaged from outside, and looked at. All of it runs
// in the page, and is sent there as text.

/** What the others need. */
export function words() {
  globalThis.NAME = "world";
  globalThis.SESSIONS = ["default", "notes", "other", "held", "queued"];
  globalThis.plainly = async (work) => { try { return { value: T.plain(await work()) }; } catch (error) { if (typeof error.code === "string") return { error: error.code }; if (error instanceof DOMException) return { error: error.name }; throw error; } };
  /** A model that says what it was told, and hangs where it is asked to; it may look something up before. */
  globalThis.echo = { kind: "custom", model: "echo", async *stream({ messages }) {
    const last = messages.at(-1);
    const said = typeof last.content === "string" ? last.content : last.content.map((part) => part.text ?? "").join("");
    if (last.role === "user" && said.includes("Look")) return void (yield { choices: [{ delta: { tool_calls: [{ index: 0, id: `call_${messages.length}`, type: "function", function: { name: "look", arguments: "{}" } }] }, finish_reason: "tool_calls" }] });
    yield `I hear: ${said}`;
    if (said.includes("Hang")) { told(); await new Promise(() => {}); }
  } };
  globalThis.begin = async () => {
    ws.tools.register({ name: "look", readOnly: true, description: "Looks.", inputSchema: { type: "object" }, execute: () => "seen" });
    await ws.startAgent({ provider: echo });
  };
  /** What these records have of errors and notices. */
  globalThis.noticed = (...records) => records.flatMap(({ events }) => events).filter(({ type, detail }) => type === "agent:error" || (type === "agent:notice" && detail.kind !== "holder")).map(({ type, detail }) => ({ type, kind: detail.kind, sessionId: detail.sessionId, code: detail.code ?? detail.error?.code, pages: detail.pages }));
}

/** Makes it: sessions that are idle, open, queued and whole, pages with versions and links, files, a key. Gives the files' ids. */
export async function build() {
  globalThis.ws = await lodger.openWorkspace(NAME);
  const says = (text, sessionId, files) => ws.run(files ? { text, files } : text, { sessionId });
  await begin();
  for (const text of ["One", "Look at two", "Three"]) await says(text);
  await says("A file", undefined, [new Blob(["what the file says ".repeat(20)], { type: "text/plain" })]);
  for (const id of SESSIONS.slice(1)) { await ws.sessions.launch({ id, displayName: `The ${id}` }); await says("First", id); await says("Look again", id); }
  await says("Third", "notes", [new Blob(["notes in a file"], { type: "text/plain" })]);
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
  await ws.sessions.prompt("queued", "Later", { whenBusy: "queue" });
  const drafts = async () => new Set((await T.dump(NAME)).drafts.map(([[id]]) => id)).size;
  while ((await drafts()) < 2) await T.turn();
  await ws.close();
  globalThis.template = await T.dump(NAME);
  return template.files.map(([[id]]) => id);
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
 * Damages a row as it was drawn; `{ table, what, sessions }`, where `sessions` are those whose rows, or the
 * keys that have signed them, were touched.
 */
export async function harm({ kind, tables, draws }) {
  const rows = Object.entries(template).filter(([table, rows]) => rows.length && (!tables || tables.includes(table)));
  // Entries twice as often as rows of another table, because most of what is shown is there.
  const names = rows.flatMap(([table]) => (table === "entries" ? [table, table] : [table]));
  const table = names[draws[0] % names.length];
  const own = template[table];
  const [at, other] = [draws[1] % own.length, draws[2] % own.length];
  const [key, value] = own[at];
  const place = (length) => draws[3] % Math.max(1, length);
  const bits = 1 << draws[4] % 5;
  let flipped, cut;
  if (typeof value === "string") {
    const where = place(value.length);
    flipped = value.slice(0, where) + String.fromCharCode(value.charCodeAt(where) ^ bits) + value.slice(where + 1);
    cut = value.slice(0, place(value.length));
  } else if (value instanceof Blob) {
    const bytes = new Uint8Array(await value.arrayBuffer());
    cut = new Blob([bytes.slice(0, place(bytes.length))], { type: value.type });
    bytes[place(bytes.length)] ^= bits;
    flipped = new Blob([bytes], { type: value.type });
  }
  const next = [].concat(key).with(-1, typeof [].concat(key).at(-1) === "number" ? [].concat(key).at(-1) + 1 : `${[].concat(key).at(-1)}x`);
  const away = Array.isArray(key) ? next : next[0];
  // What has no text or bytes, a key of the browser's, can only be taken away or put elsewhere.
  const done = flipped === undefined && ["flip", "cut", "empty"].includes(kind) ? "delete" : kind;
  const writes = {
    flip: [[key, flipped]], cut: [[key, cut]], empty: [[key, typeof value === "string" ? "" : new Blob([])]], delete: [[key]],
    swap: [[key, own[other][1]], [own[other][0], value]], older: [[key, own[Math.max(0, at - 1)][1]]], double: [[away, value]], move: [[away, value], [key]],
  }[done];
  const db = await T.database(NAME);
  const tx = db.transaction(table, "readwrite");
  for (const [key, value] of writes) { if (value === undefined) tx.objectStore(table).delete(key); else tx.objectStore(table).put(value, key); }
  await T.done(tx);
  db.close();
  const where = typeof flipped === "string" && done === "flip" ? `: ${JSON.stringify(value.slice(Math.max(0, place(value.length) - 20), place(value.length) + 20))} at ${place(value.length)} of ${value.length}` : "";
  return { table, kind: done, what: `${table} ${writes.map(([key]) => JSON.stringify(key)).join(" and ")} ${done}${where}`, sessions: table === "vault" ? SESSIONS : ["entries", "heads", "drafts"].includes(table) ? [...new Set(writes.map(([key]) => key[0]))] : [] };
}

/** Opens it, and all that a page can be shown before anybody works; each as `{ value }` or `{ error }`. */
export async function look(files) {
  const onOpening = T.record();
  const opened = await plainly(async () => { globalThis.ws = await lodger.openWorkspace(NAME); });
  if (opened.error) return { opened, sessions: [], shown: {}, notices: [] };
  const own = T.record(ws);
  const shown = {};
  const see = async (what, work) => { shown[what] = await plainly(work); };
  await see("list", async () => (await ws.sessions.list()).map(({ id }) => id).sort());
  await see("verified", async () => Object.fromEntries((await ws.sessions.list({ withVerification: true })).map(({ session, hmac_status }) => [session.id, [hmac_status, session.damaged ?? null]])));
  for (const id of SESSIONS) {
    await see(`${id}: history`, () => ws.history({ sessionId: id }));
    await see(`${id}: state`, () => ws.sessions.status(id));
    for (const part of ["journal", "events", "receipts", "handoffs"]) await see(`${id}: ${part}`, () => ws.sessions[part](id));
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
  await see("keys", () => ws.keys.list());
  await see("storage", async () => (await ws.storage()).lost ?? null);
  await T.turn();
  return T.plain({ opened, sessions: SESSIONS, shown, notices: noticed(onOpening, own) });
}

/** The agent starts, and each session is asked something, a new one too. How it began, and what each has answered. */
export async function ask() {
  if (!globalThis.ws) return { started: { error: "not open" }, answers: {}, notices: [] };
  const seen = T.record(ws);
  const started = await plainly(begin);
  const answers = {};
  if (!started.error) {
    for (const id of SESSIONS) answers[id] = await plainly(async () => {
      for (const deadline = Date.now() + 5_000; ;) {
        const { session } = await ws.sessions.status(id);
        if (["failed", "auth_expired", "provider_unavailable"].includes(session.status)) await ws.sessions.recover(id, { action: "resume" });
        try { return (await ws.run(`Are you there, ${id}?`, { sessionId: id })).text; } catch (error) { if (error.code !== "busy" || Date.now() > deadline) throw error; }
      }
    });
    answers["a new one"] = await plainly(async () => { await ws.sessions.launch({ id: "new" }); return (await ws.run("Are you there, new?", { sessionId: "new" })).text; });
  }
  await T.turn();
  return T.plain({ started, answers, notices: noticed(seen) });
}

/** All of it as text. */
export const world = `(${words})();\n${[build, putBack, harm, look, ask].map((part) => `globalThis.${part.name} = ${part};`).join("\n")}`;
