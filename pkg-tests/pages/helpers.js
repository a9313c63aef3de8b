// What every test page has at hand, as globals, because a test's code is sent into the page as text.
//   lodger, offline, scriptedModel   the package
//   T                                recording events, catching errors, drivers, raw looks into the database
try {
  globalThis.lodger = await import("lodger");
  globalThis.offline = (await import("lodger/offline")).offline;
  globalThis.scriptedModel = (await import("lodger/testing")).scriptedModel;
} catch (error) {
  globalThis.broken = String(error?.stack ?? error);
}

const TYPES = ["agent:status-changed", "agent:session-started", "agent:message-chunk", "agent:tool-call", "agent:permission-required", "agent:permission-resolved",
  "agent:session-completed", "agent:session-interrupted", "agent:error", "agent:lifecycle", "agent:notice"];
const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

globalThis.T = {
  plain,
  /** Keeps every agent event that `target` gets, in order; with a workspace also the status seen at that moment. */
  record(target = document, ws) {
    const events = [];
    const waiting = new Set();
    for (const type of TYPES) {
      target.addEventListener(type, (event) => {
        events.push({ type, detail: plain(event.detail), status: ws && plain(ws.status()) });
        for (const look of [...waiting]) look();
      });
    }
    return {
      events,
      clear() { events.length = 0; },
      /** Resolves with the first event, past or to come, for which `match(event)` holds. */
      seen(match) {
        return new Promise((resolve, reject) => {
          // A guard against hanging, which also says what came instead.
          const guard = setTimeout(() => reject(new Error(`no such event: ${match}\nthere were: ${events.map((e) => `${e.type} ${JSON.stringify(e.detail).slice(0, 300)}`).join("\n")}`)), 60_000);
          const look = () => { const found = events.find(match); if (found) { clearTimeout(guard); waiting.delete(look); resolve(found); } };
          waiting.add(look);
          look();
        });
      },
      chunk(n = 1) { return this.seen(() => events.filter((e) => e.type === "agent:message-chunk").length >= n); },
      /** Resolves when this run (or any) has ended and everything that belongs to its end was dispatched. */
      async ended(runId) {
        await this.seen(({ type, detail }) => type === "agent:lifecycle" && detail.phase !== "start" && (!runId || detail.runId === runId));
        await T.turn();
        return events;
      },
    };
  },

  /** Lets everything that is already due happen: two tasks. */
  async turn() { for (let i = 0; i < 2; i++) await new Promise((r) => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }); },

  /** The error that this must end with, as data; throws when it does not. */
  async refused(work) {
    let value;
    try { value = await (typeof work === "function" ? work() : work); } catch (error) {
      return { name: error?.name, code: error?.code, message: String(error?.message ?? error), retryable: error?.retryable, hint: error?.hint, isError: error instanceof Error };
    }
    throw new Error(`this should have been refused, but gave ${JSON.stringify(value)}`);
  },

  /** What it gave, or the error as data. */
  async settle(work) {
    try { return { value: plain(await (typeof work === "function" ? work() : work)) }; } catch (error) { return { error: { name: error?.name, code: error?.code, message: error?.message } }; }
  },

  /** Two tools of the page, one of them without arguments; gives the list of what they are asked. */
  weather(ws) {
    const asked = [];
    const tool = (name, properties, execute) => ws.tools.register({
      name, description: "A tool of the page.", readOnly: true, inputSchema: { type: "object", properties, required: Object.keys(properties) },
      execute(args) { asked.push([name, args]); return execute(args); },
    });
    tool("get_weather", { city: { type: "string" } }, ({ city }) => `18 °C in ${city}`);
    tool("get_time", {}, () => "noon");
    return asked;
  },

  anthropic: (baseUrl, more = {}) => ({ kind: "anthropic", apiKey: "sk-test", baseUrl, ...more }),

  /** A workspace whose host lives where the test wants it: in the "page", or in a "worker". */
  host: "page",
  open: (name = "w", options = {}) => lodger.openWorkspace(name, { host: T.host, ...options }),

  textOf: (message) => message.parts.filter((p) => p.type === "text").map((p) => p.text).join(""),
  callsOf: (message) => message.parts.filter((p) => p.type === "tool-call"),

  /** The same commands through a `Workspace` or through the seeds' seam. */
  driver(kind) {
    if (kind === "invoke") {
      const { invoke } = lodger;
      return {
        open: async (name) => { await invoke("initialize_workspace", { name }); },
        start: (config) => invoke("start_agent", config),
        stop: () => invoke("stop_agent"),
        send: (message) => invoke("send_agent_message", { message }),
        interrupt: () => invoke("interrupt_agent"),
        status: () => invoke("get_agent_status"),
        clear: () => invoke("clear_conversation"),
        history: () => invoke("get_conversation_history"),
        settings: () => invoke("get_agent_settings"),
        tools: () => invoke("list_tools"),
        execute: (tool, args) => invoke("execute_tool", { tool, arguments: args }),
        respond: (requestId, answer, reason) => invoke("respond_permission_request", { requestId, answer, reason }),
      };
    }
    let ws;
    return {
      open: async (name) => { ws = await lodger.openWorkspace(name); },
      start: (config) => ws.startAgent({ ifRunning: "reject", ...config }),
      stop: () => ws.stopAgent(),
      send: (message) => ws.sendMessage(message),
      interrupt: async () => ws.interrupt(),
      status: async () => ws.status(),
      clear: () => ws.clearConversation(),
      history: () => ws.history(),
      settings: () => ws.invoke("get_agent_settings"),
      tools: async () => ws.tools.definitions(),
      execute: (tool, args) => ws.tools.execute(tool, args),
      respond: (requestId, answer, reason) => ws.resolvePermission(requestId, answer, { reason }),
      get ws() { return ws; },
    };
  },

  // ------------------------------------------------------------ the database, by hand

  database: (name) => new Promise((resolve, reject) => {
    const request = indexedDB.open(`lodger:${name}`);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  }),
  done: (tx) => new Promise((resolve, reject) => { tx.oncomplete = resolve; tx.onabort = tx.onerror = () => reject(tx.error); }),

  /** Deletes it as something else than lodger would. */
  dropDatabase: (name) => new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(`lodger:${name}`);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  }),

  /** The names of the markers that say of databases that something is in them. */
  async markers() {
    const names = [];
    try {
      for await (const name of (await (await navigator.storage.getDirectory()).getDirectoryHandle("lodger")).keys()) names.push(name);
    } catch (error) {
      if (error.name !== "NotFoundError") throw error;
    }
    return names;
  },

  /** Every row of the workspace's database: `{ table: [[key, value]] }`. */
  async dump(name) {
    const db = await T.database(name);
    const tables = [...db.objectStoreNames];
    const rows = {};
    if (tables.length) {
      const tx = db.transaction(tables);
      for (const table of tables) {
        rows[table] = [];
        tx.objectStore(table).openCursor().onsuccess = ({ target: { result } }) => { if (result) { rows[table].push([result.key, result.value]); result.continue(); } };
      }
      await T.done(tx);
    }
    db.close();
    return rows;
  },
  async put(name, table, key, value) {
    const db = await T.database(name);
    const tx = db.transaction(table, "readwrite");
    const store = tx.objectStore(table);
    if (store.keyPath === null) store.put(value, key); else store.put(value);
    await T.done(tx);
    db.close();
  },

  /** Damages the first row of a session's journal that has this text; `undefined` takes it away. */
  async harm(name, id, has, edit, table = "entries") {
    const rows = (await T.dump(name))[table];
    const [key, value] = rows.find(([key, value]) => key[0] === id && value.includes(has));
    const text = edit(value);
    const db = await T.database(name);
    const tx = db.transaction(table, "readwrite");
    if (text === undefined) tx.objectStore(table).delete(key); else tx.objectStore(table).put(text, key);
    await T.done(tx);
    db.close();
  },

  /** The file of a session that was launched in another workspace, which has another key. */
  async elsewhere(id) {
    const there = await lodger.openWorkspace("elsewhere");
    await there.startAgent({ provider: { kind: "custom", stream: () => [] } });
    await there.sessions.launch({ id });
    const file = await there.sessions.export(id);
    await there.close();
    return file;
  },

  /** Tells the test something; resolves with what it answers. */
  tell: async (name, body) => (await fetch(`/signal/${name}`, { method: "POST", body: body === undefined ? "" : JSON.stringify(body) })).json(),

  /** A request that holds the page still until the test has answered. */
  signal(name, body) {
    const request = new XMLHttpRequest();
    request.open("POST", `/signal/${name}`, false);
    request.send(body === undefined ? "" : JSON.stringify(body));
    return JSON.parse(request.responseText);
  },
};
globalThis.ready = !globalThis.broken;
