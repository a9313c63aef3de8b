// What runs in the pages of the campaign, and in their workers. Moments are counted, disks lie, a shop has tools, and a person
// stands in front of it. Everything here is sent as text.

/** Counts moments in this thread and holds it at the one that is asked for, until the test has answered. */
export function moments() {
  let left = 0;
  let name, only;
  globalThis.arm = (target, signal, what) => { left = target; name = signal; only = what; };
  globalThis.hit = (what) => {
    if (!left || (only && what !== only) || --left) return;
    const request = new XMLHttpRequest();
    request.open("POST", `${location.origin}/signal/${name}`, false);
    request.send(JSON.stringify({ what }));
  };
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...args) {
    const tx = transaction.apply(this, args);
    if (args[1] === "readwrite") {
      hit("commit asked");
      tx.addEventListener("complete", () => hit("commit stored"));
    }
    return tx;
  };
}

/** A disk that reports a commit at once and keeps it a second later: what a crash then takes was acknowledged. */
export function lies() {
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...args) {
    const tx = transaction.apply(this, args);
    if (args[1] !== "readwrite") return tx;
    const until = performance.now() + 1_000;
    const store = tx.objectStore([].concat(args[0])[0]);
    const keepOpen = () => { if (performance.now() < until) store.count("").onsuccess = keepOpen; };
    keepOpen();
    Object.defineProperty(tx, "commit", { value() {} });
    Object.defineProperty(tx, "oncomplete", { set: (told) => void setTimeout(told) });
    return tx;
  };
}

/** A page that hears no notice, as if none came. */
export function hushed() {
  const { addEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (type, ...more) {
    if (type !== "agent:notice") addEventListener.call(this, type, ...more);
  };
}

/** Workers that count moments too; `workers` has them. */
export function hookedWorkers() {
  const { Worker } = globalThis;
  globalThis.workers = [];
  globalThis.Worker = class extends Worker {
    constructor(url, options) {
      super(`/campaign/worker.js?${new URL(url, location.href).pathname}`, options);
      workers.push(this);
    }
  };
}

/** The shop: `shop.open`, `shop.settle`, `shop.send`, `shop.show`. */
export function keepShop() {
  let ws;
  let view;
  let config;
  let asked = false;
  let lost = false;
  const note = (what, body) => T.signal(`${globalThis.campaign}:${what}`, body);
  const tool = (name, more, execute) => ws.tools.register({
    name, description: "A tool of the shop.", inputSchema: { type: "object", properties: { key: { type: "string" } }, required: ["key"] }, ...more,
    execute: async ({ key }) => { hit(`${name} begins`); const result = await execute(key); hit(`${name} ends`); return result; },
  });
  /** Waits until a snapshot of the view is as it should be. */
  const until = (is) => new Promise((resolve, reject) => {
    const guard = setTimeout(() => { end(); reject(new Error(`never: ${is}; ${JSON.stringify({ ...view.getSnapshot(), messages: 0 })}`)); }, 60_000);
    let end = () => {};
    const look = (snapshot) => { if (is(snapshot)) { clearTimeout(guard); queueMicrotask(() => end()); resolve(snapshot); } };
    end = view.subscribe(look);
  });

  globalThis.shop = {
    /** Opens and starts, and gives what is there before anything else happens. `answer`: what the person says of lost calls. */
    async open({ campaign, name, host, provider, effects, answer = "deny", onResume }) {
      Object.assign(globalThis, { campaign, named: name });
      lost = false;
      ws = globalThis.ws = await lodger.openWorkspace(name, { host });
      const does = async (key) => { const { ok } = await fetch(`${effects}/${key}`, { method: "POST" }); if (!ok) throw new Error("no effect"); return "done"; };
      tool("charge", { onResume }, does);
      tool("post", { onResume, destructive: true }, does);
      tool("look", { readOnly: true }, async () => "nothing new");
      ws.addEventListener("agent:permission-required", ({ detail }) => {
        hit("question");
        asked = true;
        const said = detail.reason === "unknown_outcome" ? answer : "allow_once";
        if (detail.reason === "unknown_outcome" && said === "allow_once") note("rerun", detail.arguments.key);
        detail.respond(said).catch(() => {});
      });
      for (const type of ["session-started", "message-chunk", "tool-call", "permission-resolved", "session-completed", "lifecycle"]) ws.addEventListener(`agent:${type}`, () => hit(type));
      ws.addEventListener("agent:notice", ({ detail }) => { lost ||= detail.kind === "storage_lost"; });
      view = ws.view();
      config = { ifRunning: "reject", provider, reasoning: "low", maxOutputTokens: 4_000, processType: "Orchestrator", instructions: "You keep a shop." };
      for (const end = Date.now() + 10_000; ;) {
        // What has died a moment ago may still have its lock.
        const code = await ws.startAgent(config).then(() => null, (error) => { if (error.code !== "already_running" || Date.now() > end) throw error; return error.code; });
        if (!code) break;
      }
      await until(({ status }) => status !== "loading");
      return shop.show();
    },

    /** Goes on with all that was under way, and with what waits; how each run has ended. */
    async settle() {
      const ended = [];
      for (;;) {
        const { status, queue } = await until(({ status, queue }) => status === "held" || status === "error" || (status === "ready" && !queue.length) || (status === "ready" && !shop.busy()));
        if (status === "held") {
          const run = await ws.resume();
          ended.push(T.plain(await run.result));
        } else if (queue.length) await ws.queue.release();
        else break;
      }
      await until(({ status }) => status === "ready" || status === "error");
      return ended;
    },
    busy: () => ws.status().is_streaming,

    /** Sends messages and changes the conversation; each is noted when it is accepted. Resolves with the end of the last run. */
    async send(steps) {
      let run;
      for (const { act, text, ...change } of steps) {
        // A change waits until nothing is under way.
        if (act) await run?.result;
        run = act ? (await shop.change(act, text, change)) ?? run : await ws.sendMessage(text, { whenBusy: "queue" });
        if (text) note("accepted", text);
        hit("accepted");
      }
      return T.plain(await run?.result);
    },

    /** Changes the conversation. It is noted that this begins, and that it was done. */
    async change(act, text, { of, message, id, words }) {
      note("changing", { act, of, id, words });
      hit(`${act} begins`);
      const run = await {
        edit: () => ws.sendMessage(text, { replaces: message }), regenerate: () => ws.regenerate(), switch: () => ws.switchTo(message), remove: () => ws.removeMessage(message),
        clear: () => ws.clearConversation(), archive: () => ws.sessions.archive("default"), compact: () => ws.compact(), configure: () => ws.sessions.configure("default", { instructions: words }),
      }[act]();
      note("changed", { act });
      hit(`${act} ends`);
      return ["edit", "regenerate", "compact"].includes(act) ? run : undefined;
    },

    /** What people said in the conversation as it was with this message. */
    said: async (version) => T.plain((await ws.history({ version })).filter(({ role }) => role === "user").map(({ parts }) => parts[0].text)),

    /** The jobs among these of which anything is stored: in a row, or in an entry that is packed. */
    async found(ids) {
      const all = [];
      for (const id of (await ws.sessions.list()).map(({ id }) => id)) all.push(await ws.sessions.journal(id, { limit: 10_000 }));
      const stored = JSON.stringify([await T.dump(globalThis.named), all]);
      return ids.filter((id) => new RegExp(`Job ${id}(d\\d+)?(:| is done)|Thought \\d+ about ${id}\\.`).test(stored));
    },

    /** Sends a message to the end of its run. Undefined if that has completed, else how it was told that it has not. */
    async fill(text) {
      const told = T.record(ws);
      let run;
      try {
        run = await ws.sendMessage(text);
        note("accepted", text);
        const { outcome, error } = await run.result;
        if (outcome === "completed") return undefined;
        return T.plain({ code: error?.code, by: "its result", outcome, lifecycle: ws.status().lifecycle, events: told.events.filter(({ type }) => type === "agent:error").map(({ detail }) => detail.code) });
      } catch (error) {
        return T.plain({ code: error.code, by: run ? "a rejected result" : "a refusal", lifecycle: ws.status().lifecycle, events: told.events.filter(({ type }) => type === "agent:error").map(({ detail }) => detail.code) });
      }
    },

    async restart() {
      if (typeof ws.status().lifecycle === "object") await ws.startAgent(config);
      return shop.show();
    },

    async show() {
      const { status, queue } = view.getSnapshot();
      return T.plain({ view: status, queue: queue.map(({ text }) => text), asked, lost, history: await ws.history(), tree: (await ws.pages.tree()).map(({ title }) => title), lifecycle: ws.status().lifecycle });
    },

    /** What only a whole journal gives. */
    async proof() {
      const { same, firstDifference } = await ws.sessions.replay(await ws.sessions.export("default"));
      return T.plain({ same, firstDifference, hmac: (await ws.sessions.verify("default")).hmac_status });
    },
  };
}
