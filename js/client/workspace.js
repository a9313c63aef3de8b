// The page's side of a workspace: the object that `openWorkspace` gives.
//
// Decides nothing about agents: it turns method calls into the messages of `PROTOCOL.md` and dispatches events. It keeps
// a mirror for the methods that answer at once, the promises that are outstanding, and the functions of the page.
// The host says which options there are and what they may be.
// Promises: what a host tells is seen in the order it was told. Mirror and views change before the events that speak of
// it; an event reaches every target before the next event. When the host is gone every promise is settled; after a panic
// the next call opens a fresh host, with the tools and views of this page. Leaves to others: where the host lives
// (`tabs/channel.js`, `package.js`), how long a workspace is kept (`package.js`).

import { attach } from "./attach.js";
import { Functions } from "./functions.js";
import { inOneTask, inWebKit } from "../host/env.js";
import { LodgerError, errorInfo, explained, failure, late, nearest, onlyKnown } from "../protocol/error.js";
import { invokeOn } from "./invoke.js";
import { checked, isFile, isPlain, LIMITS } from "../protocol/json.js";
import { Run, RunText } from "./run.js";
import { keepSeen, SessionView, Store, seenKey, share } from "./view.js";
import { STOPPED } from "../protocol/status.js";

/** The functions of a tool, as the page gives them. */
const TOOL_FUNCTIONS = ["execute", "lookup", "explanation"];
// Where a configuration may hold a function.
const FUNCTIONS = /^config\.(instructions|permissions\.decide|(provider|providers\..+)\.(apiKey|fetch|stream))$/;
/** How long a page that is put to sleep waits for its worker, in milliseconds. */
const SLEEP_MS = 50;
const CLOSED = { code: "workspace_closed", message: "The workspace was closed.", hint: "Open it again with openWorkspace()." };

/** Lets go of a workspace for good: the host's `close`, then the end of everything. */
export let shut;
/** Opens a fresh host if the last one is gone. */
export let revive;
/** Who works in a workspace; undefined: the page has not said. */
export let operatorOf;
/** Whether a run is at work in a workspace, in this tab. */
export let worksHere;

export class Workspace extends EventTarget {
  #name;
  #target;
  #connect;
  #release;
  #onEnd;
  #onRest;
  #warns;
  #seen; // how the keys begin under which the page keeps over a reload what was seen

  #link = null; // whose messages count; a new object with each host
  #channel = null;
  #opening = null;
  #ended = null; // the error of every later call, once there is no way back

  #limits;
  #functions;
  #pending = new Map(); // command id -> request
  #lastId = 0;
  #accepting = 0; // commands under way that will give a run
  #runs = new Map(); // run id -> RunText, until it ends
  #begun = new Map(); // run id -> { sessionId, epoch, asked } of the first that was heard of it, until its end
  #views = new Map(); // session id -> { view, api }
  #list = null; // the store of all sessions, once the page has asked for it
  #followers = new Map(); // session id -> the readers that want to hear that its journal has grown
  #status = STOPPED;
  #told = STOPPED; // the status that the last event told of
  #holder = false; // whether the agent runs in this tab
  #titles; // what gives sessions their titles, where the page has asked for that
  #definitions = "[]";
  #registrations = new Map(); // name -> { args }
  #configFunctions = []; // what the agent's configuration may still call
  #sure; // whether its host has to have opened before it is open: a worker says so later
  #operator; // who works here, where the page has said so
  #expiry; // when that one's time is over
  #events = [];
  #dispatching = false;
  #works = false; // a run is at work here
  #life = (event) => {
    const { type, persisted } = event;
    if (type === "beforeunload") return event.preventDefault();
    if (type === "visibilitychange") this.#look();
    if (!this.#channel) return;
    if (type === "freeze" || (type === "pagehide" && persisted)) {
      this.#send({ t: "life", event: "sleep" });
      // A worker stands still with its page, and would keep the agent: it is given a moment to let it go. Not in WebKit, where a
      // worker's database goes through the page's thread: its last write would stay open, and every other tab would wait for it.
      for (const until = performance.now() + SLEEP_MS; this.#holder && !inWebKit() && performance.now() < until; );
    } else if (type === "resume" || (type === "pageshow" && persisted)) this.#send({ t: "life", event: "wake" });
    // A browser that hides a page may kill it without another word.
    else if (type === "pagehide" || (type === "visibilitychange" && globalThis.document.visibilityState === "hidden")) {
      if (this.#holder && this.status().is_streaming) this.#request("draft");
    }
  };

  /**
   * @param {string} name
   * @param {object} options
   * @param {(deliver: (message: object) => void) => Promise<{ send(message: object): void, close(): void }>} options.connect
   * @param {EventTarget | null} [options.target]
   * @param {object | null} [options.operator] default: the host's own
   * @param {typeof LIMITS} [options.limits] how much the page may give
   * @param {boolean} [options.sure] it is open only when its host is
   * @param {() => Promise<void>} [options.release] what `close()` does; default: lets go at once
   * @param {() => void} [options.onEnd] it will not open again
   * @param {() => void} [options.onRest] no run is at work here any more
   * @param {boolean} [options.warnOnLeave] a person is asked who leaves this page while one is
   * @param {boolean} [options.lasts] what is stored is kept over a reload
   */
  constructor(name, { connect, target = globalThis.document ?? null, operator, limits = LIMITS, sure, release, onEnd, onRest, warnOnLeave = false, lasts = false }) {
    super();
    this.#name = name;
    this.#connect = connect;
    this.#target = target;
    this.#operator = operator;
    this.#limits = limits;
    this.#functions = new Functions((message) => this.#send(message), limits);
    this.#sure = sure;
    this.#release = release ?? (() => this.#shut());
    this.#onEnd = onEnd;
    this.#onRest = onRest;
    this.#warns = warnOnLeave;
    this.#seen = lasts ? seenKey(name) : undefined;
    this.tools = this.#makeTools();
    this.pages = this.#makePages();
    this.memory = this.#makeMemory();
    this.keys = this.#makeKeys();
    this.sessions = this.#makeSessions();
    this.queue = this.#makeQueue();
    this.#listen("addEventListener");
    this.#expire();
  }

  static {
    shut = (workspace, error) => workspace.#shut(error);
    revive = (workspace) => workspace.#open();
    operatorOf = (workspace) => workspace.#operator;
    worksHere = (workspace) => workspace.#works;
  }

  get name() {
    return this.#name;
  }

  // ---------------------------------------------------------------- the harness

  async startAgent(config) {
    await this.#command("startAgent", this.#config(this.#titled(config ?? {})));
  }

  /** The rest of a configuration, once it has said how sessions are called: that is the matter of each tab. */
  #titled(given) {
    if (!isPlain(given)) return given;
    const { title, ...config } = given;
    if (title === "auto") this.#titles ??= late(import("./title.js")).then(({ titled }) => titled(this, () => this.#holder), () => {});
    else if (title === null || title === "words") this.#titles = void this.#titles?.then((stop) => stop?.());
    else if (title !== undefined) throw failure("invalid_config", 'title must be "auto" or "words".');
    return config;
  }

  async configureAgent(patch) {
    if (patch == null) throw failure("invalid_config", "configureAgent needs an object: what to change.");
    if (patch.title !== undefined && !this.#holder && /"(Running|Suspended)"/.test(this.#status)) throw failure("invalid_config", "title counts in the tab that runs the agent.", "Change it in that tab.");
    await this.#command("configureAgent", this.#config(this.#titled(patch)));
  }

  async stopAgent() {
    const old = this.#configFunctions;
    this.#configFunctions = [];
    try {
      await this.#request("stopAgent").promise;
      const used = new Set(this.#configFunctions.map(({ $fn }) => $fn));
      for (const fn of old) if (!used.has(fn.$fn)) this.#functions.remove(fn);
    } catch (error) {
      this.#configFunctions.push(...old);
      throw error;
    }
  }

  async sendMessage(input, options) {
    return this.#say("sendMessage", input, options);
  }

  /** A command that sends what a person says, and begins a run: or none, where a host takes the text for something else. */
  #say(...said) {
    return this.#spoken(...said).catch(explained);
  }

  async #spoken(command, input, options) {
    const { signal, schema, ...rest } = { ...options };
    if (checkSignal(signal)?.aborted) throw failure("aborted", "The signal was aborted before the message was sent.");
    const message = typeof input === "string" ? { text: input } : input;
    onlyKnown(message, ["text", "files", "metadata"], "The message", "invalid_arguments"); // its options are the other argument's
    const { files, ...said } = message;
    const args = { ...rest, ...said };
    const blobs = checkFiles(files, rest.replaces);
    if (schema === undefined) {
      const run = await this.#accept(command, args, { blobs, signal });
      if (signal && run) this.#bind(signal, run);
      return run;
    }
    const standard = libraryOf(schema) && standardSchema(schema, ANSWER);
    let json = led(this.#checked(standard?.json ?? schema, "schema", "invalid_schema"));
    // Providers take objects only.
    const wraps = json?.type === undefined ? ["enum", "const", "anyOf", "oneOf"].some((name) => json?.[name] !== undefined) : json.type !== "object";
    if (wraps) json = (await late(import("./root.js"))).wrapped(json);
    json = JSON.stringify(json);
    const validate = standard?.wrong && this.#functions.addOnce(standard.wrong);
    try {
      // As text: models write members in its order, which no map keeps.
      const run = await this.#accept(command, { ...args, schema: { json, validate, ...(wraps && { wraps: true }) } }, { blobs, read: standard?.output, signal });
      if (signal && run) this.#bind(signal, run);
      if (validate) Promise.resolve(run?.result).then(() => this.#functions.remove(validate));
      return run;
    } catch (error) {
      if (validate) this.#functions.remove(validate);
      throw error;
    }
  }

  async regenerate(messageId, options) {
    return this.#say("regenerate", {}, { ...options, messageId });
  }

  async compact(options) {
    // The letters of a text would be its members.
    if (options !== undefined && (typeof options !== "object" || options === null)) throw failure("invalid_arguments", "compact takes one object.", "Write compact({ sessionId, instructions }).");
    return this.#accept("compact", { ...options }).catch(explained);
  }

  async run(input, options) {
    const result = await (await this.sendMessage(input, options)).result;
    if (result.outcome === "completed") return result;
    throw result.error ? new LodgerError(result.error) : failure("aborted", "The run was interrupted.");
  }

  interrupt(target) {
    onlyKnown(target ?? {}, ["sessionId", "runId"], "The target of interrupt", "invalid_arguments");
    // Without a host nothing runs.
    if (!this.#channel) return;
    const { error } = this.#request("interrupt", target);
    if (error?.code === "invalid_arguments") throw error;
  }

  async resume(target) {
    return this.#accept("resume", typeof target === "string" ? { runId: target } : { ...target }).catch(explained);
  }

  status() {
    return JSON.parse(this.#status);
  }

  async history(options) {
    return this.#command("history", options);
  }

  async switchTo(messageId, options) {
    await this.#command("switchTo", { ...options, messageId });
  }

  async removeMessage(messageId, options) {
    await this.#command("removeMessage", { ...options, messageId });
  }

  async clearConversation(sessionId) {
    await this.#command("clearConversation", { sessionId });
  }

  view(sessionId = "default") {
    let entry = this.#views.get(sessionId);
    if (!entry) {
      const view = new SessionView((before, limit) => this.#command("history", { sessionId, before, limit }));
      view.holder(this.#holder);
      const subscribe = (listener) => {
        const end = view.subscribe(listener);
        this.#look();
        return end;
      };
      entry = { view, api: { subscribe, getSnapshot: view.getSnapshot } };
      this.#views.set(sessionId, entry);
      this.#watch(sessionId);
    }
    return entry.api;
  }

  async wait(runId, options) {
    return this.#command("wait", { ...options, runId });
  }

  async file(fileId) {
    return this.#command("file", { fileId });
  }

  async resolvePermission(requestId, answer, options) {
    await this.#command("resolvePermission", { ...options, requestId, answer });
  }

  async storage(options) {
    const { lost, ...info } = await this.#command("storage", options);
    const acknowledge = async () => void (await this.#command("acknowledgeLoss"));
    return { ...info, ...(lost && { lost: { ...lost, acknowledge } }), persist: () => this.#command("persist") };
  }

  async invoke(command, args) {
    return invokeOn(this, command, args, (name) => this.#command(name)).catch(explained);
  }

  async close() {
    await this.#release();
  }

  // ---------------------------------------------------------------- tools and pages

  #makeTools() {
    return {
      register: (tool, options) => this.#register(tool, options),
      unregister: (name) => this.#unregister(name),
      definitions: () => {
        // A host that tells later, so that it tells of many at once, does so now.
        this.#channel?.send({ t: "tools", id: 0 });
        return JSON.parse(this.#definitions);
      },
      execute: async (name, args = {}) => this.#command("tools.execute", { name, args }),
      resolve: async (toolCallId, answer) => this.#command("tools.resolve", { toolCallId, answer }),
      grants: async () => this.#command("tools.grants"),
      revoke: async (tool, sessionId) => this.#command("tools.revoke", { tool, sessionId }),
    };
  }

  #register(tool, options = {}) {
    if (this.#ended) throw this.#ended;
    onlyKnown(options, ["replace", "signal"], "The options of register", "invalid_arguments");
    const { replace, signal } = options;
    if (tool === null || typeof tool !== "object") throw failure("invalid_tool", "A tool is an object with a name, a description and an inputSchema.");
    for (const [foreign, ours] of FOREIGN) if (tool[foreign] !== undefined) throw failure("invalid_tool", `The tool "${tool.name}" has an unknown member "${foreign}".`, `Write "${ours}".`);
    const { name, inputSchema, validate } = tool;
    const functions = TOOL_FUNCTIONS.map((member) => [member, tool[member]]);
    if (validate !== undefined) throw failure("invalid_tool", `The tool "${name}" has an unknown member "validate".`, "Give a Standard Schema as its inputSchema.");
    const strange = Object.keys(tool).find((member) => typeof tool[member] === "function" && ![...TOOL_FUNCTIONS, "inputSchema"].includes(member));
    if (strange) throw failure("invalid_tool", `The tool "${name}" has an unknown member "${strange}".`, `${nearest(strange, TOOL_FUNCTIONS)}Its functions are ${TOOL_FUNCTIONS.join(", ")}.`);
    for (const [member, fn] of functions) {
      if (fn !== undefined && typeof fn !== "function") throw failure("invalid_tool", `The tool "${name}": ${member} must be a function.`);
    }
    const each = (make) => Object.fromEntries(functions.map(([member, fn]) => [member, make(fn)]));
    if (this.#registrations.has(name) && !replace) throw duplicate(name);
    if (checkSignal(signal)?.aborted) return () => {};
    const standard = libraryOf(inputSchema) && standardSchema(inputSchema, { what: `inputSchema of "${name}"`, whole: "arguments", wrong: `invalid arguments for ${name}`, code: "invalid_arguments" });
    const args = this.#checked({ ...tool, inputSchema: standard?.json ?? inputSchema, ...each(() => undefined), replace }, `tool "${name}"`, "invalid_tool");
    if (typeof args.inputSchema === "string") throw failure("invalid_schema", `The inputSchema of "${name}" must be an object with a JSON Schema.`);
    // As text: models read the properties in their order, which no map keeps.
    if (args.inputSchema) args.inputSchema = JSON.stringify(led(args.inputSchema));
    // A method keeps its object; without one it is `undefined`, which the host reads as "a person answers".
    const give = (fn, call) => fn && this.#functions.addOnce((call ?? fn).bind(tool));
    // What the schema makes of the arguments is never stored: it is made anew for each function that gets them.
    const read = (fn) => (standard?.output && fn ? async (given, context) => fn.call(tool, await standard.output(given), context) : undefined);
    const registration = { args: { ...args, ...each((fn) => give(fn, read(fn))), validate: give(standard?.wrong) } };
    const before = this.#registrations.get(name);
    this.#registrations.set(name, registration);

    const undo = () => {
      signal?.removeEventListener("abort", undo);
      if (this.#registrations.get(name) !== registration) return;
      this.#forget(name, registration);
      if (this.#channel) this.#request("tools.unregister", { name });
    };
    const refused = () => {
      this.#drop(registration);
      if (this.#registrations.get(name) !== registration) return;
      if (before) this.#registrations.set(name, before);
      else this.#registrations.delete(name);
      signal?.removeEventListener("abort", undo);
    };
    const accepted = () => before && this.#drop(before);
    signal?.addEventListener("abort", undo, { once: true });
    // Without a host it is registered with the others when one opens.
    if (!this.#channel) {
      accepted();
      return undo;
    }
    const request = this.#request("tools.register", registration.args);
    if (request.error) {
      refused();
      const [, member, known] = /does not know '(.*)'; it takes (.*)/.exec(request.error.message) ?? [];
      if (member) request.error.hint = nearest(member, known.split(", ")).trim() || undefined;
      throw request.error;
    }
    // A host that answers later tells of a bad tool by an event.
    request.promise.catch(explained).then(accepted, (error) => {
      if (error.code === "panicked" || this.#ended) return;
      refused();
      this.#event("agent:error", { workspace: this.#name, ...errorInfo(error) });
    });
    return undo;
  }

  #forget(name, registration) {
    this.#registrations.delete(name);
    this.#drop(registration);
  }

  #drop({ args }) {
    for (const member of [...TOOL_FUNCTIONS, "validate"]) if (args[member]) this.#functions.remove(args[member]);
  }

  #unregister(name) {
    if (this.#ended) throw this.#ended;
    const registration = this.#registrations.get(name);
    const definitions = JSON.parse(this.#definitions);
    const known = registration !== undefined || definitions.some((tool) => tool.name === name);
    if (registration) this.#forget(name, registration);
    // A host that answers later must not be asked twice for the same.
    this.#definitions = JSON.stringify(definitions.filter((tool) => tool.name !== name));
    if (!this.#channel) return known;
    const request = this.#request("tools.unregister", { name });
    return request.settled && !request.error ? request.value : known;
  }

  #makePages() {
    const command = (name, args) => this.#command(`pages.${name}`, args);
    return {
      create: (page) => command("create", page),
      read: (slug) => command("read", { slug }),
      tree: (rootSlug) => command("tree", { rootSlug }),
      search: (query, options) => command("search", besides(options, { query })),
      update: (slug, change, options) => command("update", besides(change, { ...options, slug })),
      rename: (slug, title) => command("rename", { slug, title }),
      move: (slug, to) => command("move", besides(to, { slug })),
      delete: (slug) => command("delete", { slug }),
      trash: () => command("trash"),
      restore: (slug) => command("restore", { slug }),
      backlinks: (slug) => command("backlinks", { slug }),
      outgoingLinks: (slug) => command("outgoingLinks", { slug }),
      versions: (slug, options) => command("versions", besides(options, { slug })),
    };
  }

  #makeMemory() {
    const command = (name, args) => this.#command(`memory.${name}`, args);
    return {
      list: (options) => command("list", options),
      search: (query, options) => command("search", besides(options, { query })),
      add: (memory) => command("add", memory),
      update: (id, change) => command("update", besides(change, { id })),
      remove: (id, options) => command("remove", { ...options, id }),
    };
  }

  // ---------------------------------------------------------------- keys

  #makeKeys() {
    // Its functions are needed only as long as it is tried.
    const tried = async (name, provider) => {
      const [args, functions] = this.#withFunctions({ provider }, (fn) => this.#functions.addOnce(fn));
      try {
        return await this.#command(name, args);
      } finally {
        for (const sign of functions) this.#functions.remove(sign);
      }
    };
    return {
      set: async (provider, key) => this.#command("keys.set", { provider, key }),
      remove: async (provider) => this.#command("keys.remove", { provider }),
      list: async () => this.#command("keys.list"),
      validate: async (provider) => tried("keys.validate", provider),
      models: async (provider) => tried("keys.models", provider),
    };
  }

  #makeQueue() {
    return {
      edit: async (id, text) => this.#command("queue.edit", { id, text }),
      remove: async (id) => this.#command("queue.remove", { id }),
      release: async (sessionId) => this.#command("queue.release", { sessionId }),
    };
  }

  // ---------------------------------------------------------------- sessions

  async setOperator(operator) {
    if (operator === undefined) throw failure("invalid_arguments", "setOperator needs an operator, or null for none.");
    await this.#command("setOperator", { operator });
    this.#operator = operator;
    this.#lookAgain(operator === null);
    this.#expire();
  }

  /** All sessions. Few pages list them: what reads them is a module of its own. */
  #listView() {
    this.#list ??= new LateStore({ sessions: NONE }, async (changed) => {
      const { SessionsView } = await late(import("./sessions-view.js"));
      const ask = (name, args) => this.#command(`sessions.${name}`, args);
      return new SessionsView(this, { ask, shown: () => this.#shown(), key: this.#seen, changed }, { share, errorInfo, keepSeen });
    });
    this.#list.begin();
    return this.#list.api;
  }

  /** The sessions whose conversations a person looks at now. */
  #shown() {
    return globalThis.document?.visibilityState === "hidden" ? [] : [...this.#views].filter(([, { view }]) => view.watched).map(([id]) => id);
  }

  /** What a person looks at now has been seen, or this one. Where no list is open it is noted for the next that is. */
  #look(ids = this.#shown()) {
    const store = this.#list?.store;
    for (const id of ids) store ? store.look(id) : this.#seen && keepSeen(this.#seen + id, Date.now());
  }

  /** The new operator sees what that operator may see. Without an operator, nothing is seen. */
  #lookAgain(nobody) {
    this.#list?.store?.again();
    for (const [id, { view }] of this.#views) {
      if (nobody) view.history([]);
      this.#watch(id);
    }
  }

  /** When the operator's time is over, nobody is there. */
  #expire() {
    clearTimeout(this.#expiry);
    const left = (this.#operator?.expiresAt ?? Infinity) - Date.now();
    if (left === Infinity || this.#ended) return;
    if (!(left > 0)) return this.#lookAgain(true);
    // A timer counts 24 days at most, and may come early.
    this.#expiry = setTimeout(() => this.#expire(), Math.min(left, 2 ** 31 - 1));
    this.#expiry.unref?.();
  }

  #makeSessions() {
    const command = (name, args) => this.#command(`sessions.${name}`, args);
    // Few pages need it: it is a module of its own.
    const carried = async (does, ...args) => {
      const module = await late(import("./session-files.js"));
      return module[does](this, (name, args, files) => this.#request(name, args, undefined, files).promise, ...args).catch(explained);
    };
    // Each session passes the gate by itself: those of others, and what has changed meanwhile, are left out of "all".
    const each = async (name, target, wanted) => {
      if (target !== "all") return [await command(name, { id: target })];
      const listed = await command("list", { withVerification: true });
      const sessions = listed.filter(({ session, hmac_status }) => hmac_status !== "tampered" && wanted(session));
      const done = sessions.map(({ session: { id } }) => command(name, { id }).catch((error) => (NOT_MEANT.includes(error.code) ? undefined : Promise.reject(error))));
      return (await Promise.all(done)).filter(Boolean);
    };
    // Benched, or lost with its page; the first session recovers from that by itself.
    const playable = ({ id, suspended, status, recovery_metadata }) => suspended || id === "default" || (status === "failed" && recovery_metadata.recovery_reason === "stale_pid");
    return {
      launch: async (options) => {
        if (options?.messages == null) return command("launch", options);
        const { fromForeign } = await late(import("./foreign.js"));
        const { messages, places } = fromForeign(options.messages);
        return command("launch", { ...options, messages }).catch((error) => {
          error.message = error.message.replace(/^messages\[(\d+)\]/, (_, n) => `messages[${places[n]}]`);
          throw error;
        });
      },
      prompt: async (id, input, options) => ({ runId: (await this.#say("sessions.prompt", input, { ...options, id }))?.runId ?? null }),
      status: async (id) => command("status", { id }),
      stop: async (id, reason) => command("stop", { id, reason }),
      restart: async (id, reason) => command("restart", { id, reason }),
      recover: async (id, options) => command("recover", { ...options, id }),
      list: async (options) => command("list", options),
      search: async (query, options) => {
        const { searchSessions } = await late(import("./search.js"));
        return searchSessions(query, options, { list: () => command("list"), history: (page) => this.history(page) });
      },
      rename: async (id, displayName, made) => command("rename", { ...made, id, displayName }),
      configure: async (id, config) => command("configure", { id, config }),
      remove: async (id) => {
        await command("remove", { id });
        if (this.#seen) keepSeen(this.#seen + id);
      },
      undoRemove: async (id) => command("undoRemove", { id }),
      archive: async (id) => command("archive", { id }),
      journal: async (id, options) => command("journal", { ...options, id }),
      events: async (id, options) => command("events", { ...options, id }),
      receipts: async (id) => command("receipts", { id }),
      handoffs: async (id) => command("handoffs", { id }),
      task: async (id) => command("task", { id }),
      runOnce: async (objective, options) => {
        const run = await this.#say("sessions.runOnce", objective, options);
        const { text, value, outcome, error } = await run.result;
        if (outcome === "unknown") throw new LodgerError(error);
        return { ...(await command("left", { id: run.runId })), text, ...(value !== undefined && { value }) };
      },
      export: (id, options) => carried("exportSession", id, options),
      import: (file) => carried("importSession", file),
      replay: (file) => carried("replaySession", file),
      view: () => this.#listView(),
      markRead: (id) => this.#look([id]),
      fork: async (id, options) => command("fork", { ...options, id }),
      salvage: async (id, options) => command("salvage", { ...options, id }),
      verify: async (id) => command("verify", { id }),
      bench: async (target) => ({ suspended: (await each("bench", target, () => true)).flatMap(({ suspended }) => suspended) }),
      play: async (target) => each("play", target, playable),
      activity: async (id) => command("activity", { id }),
      output: async (id, options) => {
        const { text, before, offset } = await command("output", { ...options, id });
        return { data: new TextEncoder().encode(text).slice(before), offset };
      },
      attach: (id, options = {}) => {
        onlyKnown(options, ["from", "signal"], "The options of attach", "invalid_arguments");
        checkSignal(options.signal);
        return attach(id, options, (from, limit) => command("journal", { id, from, limit }), (grown) => this.#follow(id, grown));
      },
    };
  }

  /** Tells `grown` how long the journal of a session is, each time that it has grown, until that is undone. */
  #follow(id, grown) {
    const follow = (on) => void this.#request("sessions.attach", { id, on });
    let followers = this.#followers.get(id);
    if (!followers) {
      this.#followers.set(id, (followers = new Set()));
      follow(true);
    }
    followers.add(grown);
    return () => {
      followers.delete(grown);
      if (followers.size || this.#followers.get(id) !== followers) return;
      this.#followers.delete(id);
      if (this.#channel) follow(false);
    };
  }

  // ---------------------------------------------------------------- what goes to the host

  #config(config) {
    const [args, functions] = this.#withFunctions(config);
    this.#configFunctions.push(...functions);
    return args;
  }

  /** A configuration as it crosses, and what stands for its functions. */
  #withFunctions(config, give = (fn) => this.#functions.add(fn)) {
    const { provider, providers } = config;
    if (provider?.kind === "custom") config = { ...config, provider: custom(provider) };
    if (providers && typeof providers === "object") {
      const named = Object.entries(providers).map(([name, one]) => [name, one?.kind === "custom" ? custom(one) : one]);
      config = { ...config, providers: Object.fromEntries(named) };
    }
    const added = [];
    const args = this.#checked(config, "config", "invalid_config", (fn, path) => {
      if (!FUNCTIONS.test(path)) return { $fn: 0 }; // none: the host says what is wrong here
      const sign = give(fn);
      added.push(sign);
      return sign;
    });
    return [args, added];
  }

  /** A command whose value is a run. `blobs`: its files. `read` makes of the value that its answer says what the page asked for. */
  async #accept(name, args, { blobs, read, signal } = {}) {
    this.#accepting++;
    let request;
    // As long as it has no run it is known by the number of its command.
    const drop = () => request.id && this.#request("interrupt", { command: request.id });
    signal?.addEventListener("abort", drop);
    const result = async (runId) => {
      const result = await this.#command("result", { runId });
      if (!read || !("value" in result)) return result;
      const { value, ...rest } = result;
      try {
        return { ...rest, value: await read(value) };
      } catch (error) {
        return { ...rest, outcome: "failed", error: errorInfo(failure("invalid_output", error.message)) };
      }
    };
    try {
      // Made while the reply is delivered, so that no text comes between.
      const accepted = (value) => value.runId && new Run(value, this.#text(value.runId), () => result(value.runId), args.schema?.wraps ?? value.wraps);
      return await (request = this.#request(name, args, accepted, blobs)).promise;
    } finally {
      signal?.removeEventListener("abort", drop);
      if (--this.#accepting === 0) for (const [id, text] of this.#runs) if (text.ended) this.#runs.delete(id);
    }
  }

  /** Aborting the signal interrupts the run; at its end the signal is left alone. */
  #bind(signal, run) {
    const interrupt = () => this.interrupt({ runId: run.runId });
    if (signal.aborted) return interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    const remove = () => signal.removeEventListener("abort", interrupt);
    run.result.then(remove);
  }

  #watch(id) {
    this.#request("watch", { sessionId: id }).promise.catch((error) => {
      this.#views.get(id).view.state({ status: "error", error: errorInfo(error) });
    });
  }

  async #command(name, args) {
    try {
      return await this.#request(name, args).promise;
    } catch (error) {
      return explained(error);
    }
  }

  /** What crosses, if that is plain data and no more than the page may give with this command. */
  #checked(value, path, code, onFunction) {
    const option = OPTION[path] ?? "messageBytes";
    return checked(value, path, code, { onFunction, limit: [option, this.#limits[option]] });
  }

  /** Sends a command. In direct mode the request may be settled when this returns. */
  #request(name, given, accept = (value) => value, files) {
    const args = this.#checked(given ?? {}, name, "invalid_arguments");
    const request = { settled: false, value: undefined, error: undefined };
    request.promise = new Promise((resolve, reject) => {
      request.resolve = (value) => {
        request.settled = true;
        resolve((request.value = value === undefined ? undefined : accept(value)));
      };
      request.reject = (error) => {
        request.settled = true;
        reject((request.error = error));
      };
    });
    request.promise.catch(() => {}); // who wants to know awaits it
    const send = () => {
      if (this.#ended) return request.reject(this.#ended);
      const id = (request.id = ++this.#lastId);
      this.#pending.set(id, request);
      this.#send({ t: "command", id, name, args, ...(files && { files }) });
    };
    if (this.#channel || this.#ended) send();
    else this.#open().then(send, request.reject);
    return request;
  }

  #send(message) {
    this.#channel?.send(message);
  }

  // ---------------------------------------------------------------- the host

  #open() {
    if (this.#ended) return Promise.reject(this.#ended);
    return (this.#opening ??= this.#openHost());
  }

  async #openHost() {
    const link = (this.#link = {});
    // A module that panics while it opens never answers.
    const lost = new Promise((_, reject) => (link.lose = reject));
    const connecting = this.#connect((message) => {
      if (this.#link === link) this.#receive(message);
    });
    connecting.then((channel) => this.#link === link || channel.close(), () => {});
    try {
      const channel = await Promise.race([connecting, lost]);
      if (this.#link !== link) await lost;
      this.#channel = channel;
      // Before anything else that is asked of this host.
      if (this.#operator !== undefined) await this.#request("setOperator", { operator: this.#operator }).promise;
      // There is no draft, but an answer.
      else if (this.#sure) await this.#request("draft").promise;
    } catch (error) {
      this.#channel?.close();
      this.#channel = null;
      if (this.#link === link) this.#link = this.#opening = null;
      throw error;
    }
    for (const [name, { args }] of this.#registrations) {
      this.#request("tools.register", args).promise.catch((error) => {
        if (!this.#ended) this.#event("agent:error", { workspace: this.#name, ...errorInfo(error), message: `The tool "${name}" was not registered: ${error.message}` });
      });
    }
    this.#again();
  }

  /** Asks anew for all that this page follows: another host tells it from here on. */
  #again() {
    for (const text of this.#runs.values()) text.again();
    for (const [runId, first] of this.#begun) this.#ends(runId, first).catch(() => (first.asked = false));
    for (const id of this.#views.keys()) this.#watch(id);
    this.#list?.store?.again();
    for (const [id, followers] of this.#followers) {
      this.#request("sessions.attach", { id, on: true });
      for (const grown of followers) grown(0);
    }
  }

  #receive(message) {
    switch (message.t) {
      case "reply": {
        const request = this.#pending.get(message.id);
        this.#pending.delete(message.id);
        if (message.error) request?.reject(new LodgerError(message.error));
        else request?.resolve(message.json === undefined ? message.file : JSON.parse(message.json));
        return;
      }
      case "status":
        this.#status = message.json;
        return this.#stays();
      case "holder":
        return this.#holds(message.epoch !== undefined);
      case "again":
        this.#again();
        // What has changed meanwhile it told to its own page.
        if (this.#told !== this.#status) this.#event("agent:status-changed", { workspace: this.#name, ...this.status() });
        return;
      case "tools":
        this.#definitions = message.json;
        return;
      case "event":
        return this.#event(message.type, JSON.parse(message.json));
      case "lost":
        return void this.#tellLoss(JSON.parse(message.json)).catch(() => {});
      case "history":
        return this.#views.get(message.sessionId)?.view.history(JSON.parse(message.json));
      case "later":
        return this.#views.get(message.sessionId)?.view.history(JSON.parse(message.json), true);
      case "message":
        return this.#views.get(message.sessionId)?.view.message(JSON.parse(message.json), message.from);
      case "gone":
        return this.#views.get(message.sessionId)?.view.gone(message.messageId);
      case "view":
        return this.#views.get(message.sessionId)?.view.state(JSON.parse(message.json));
      case "grown":
        for (const grown of this.#followers.get(message.sessionId) ?? []) grown(message.seq);
        return;
      case "call":
        return void this.#functions.handle(message);
      case "abort":
        return this.#functions.abort(message.id);
      case "closed":
        return this.#lost(message.error);
    }
  }

  /** Who opens this workspace listens to it when that is done. */
  async #tellLoss(lost) {
    // Without a network it is told all the same, in fewer words.
    const words = await import("./lost.js").catch(() => {});
    await this.#opening;
    inOneTask(() => this.#ended || this.#event("agent:notice", { workspace: this.#name, kind: "storage_lost", lost, error: words?.error }));
  }

  #holds(holder) {
    this.#holder = holder;
    this.#stays();
    for (const { view } of this.#views.values()) view.holder(holder);
  }

  /** A person is asked only as long as a run is at work here: a page that listens for more than that is not kept for the way back. */
  #stays() {
    const works = this.#holder && this.status().is_streaming;
    if (works === this.#works) return;
    this.#works = works;
    if (this.#warns) globalThis.window?.[works ? "addEventListener" : "removeEventListener"]?.("beforeunload", this.#life);
    if (!works) this.#onRest?.();
  }

  /** The text of a run. Text may come before the reply that tells of the run. */
  #text(runId) {
    let text = this.#runs.get(runId);
    if (!text) {
      const answer = (messages) => messages.find((message) => message.runId === runId && message.role === "assistant")?.parts;
      text = new RunText((sessionId, fill) => this.#request("history", { sessionId, limit: 10 }, (messages) => fill(answer(messages))).promise);
      this.#runs.set(runId, text);
    }
    return text;
  }

  #event(type, detail) {
    if (!this.#isNews(type, detail)) return;
    const view = this.#views.get(detail.sessionId)?.view;
    if (type === "agent:status-changed") {
      this.#told = this.#status;
    } else if (type === "agent:message-chunk") {
      view?.chunk(detail);
      if (detail.kind === "text") this.#text(detail.runId).push(detail);
    } else if (type === "agent:tool-call") {
      view?.toolCall(detail);
    } else if (type === "agent:lifecycle" && detail.phase !== "start") {
      this.#look();
      this.#runs.get(detail.runId)?.end();
      if (this.#accepting === 0) this.#runs.delete(detail.runId);
    }
    if (type === "agent:permission-required") detail.respond = (answer, options) => this.resolvePermission(detail.requestId, answer, options);
    this.#events.push([type, detail]);
    // A listener may call a method whose events come at once: they wait until this one has been everywhere.
    if (this.#dispatching) return;
    this.#dispatching = true;
    try {
      for (let next; (next = this.#events.shift()); ) {
        dispatch(this, ...next);
        if (this.#target) dispatch(this.#target, ...next);
      }
    } finally {
      this.#dispatching = false;
    }
  }

  /** A run begins once here and ends once, however many hosts go on with it. */
  #isNews(type, { runId, parentRunId, sessionId, epoch, phase }) {
    if (!runId || parentRunId) return true;
    const first = this.#begun.get(runId);
    if (phase && phase !== "start") this.#begun.delete(runId);
    else if (!first) this.#begun.set(runId, { sessionId, epoch });
    return !first || first.epoch === epoch || (phase !== "start" && type !== "agent:session-started");
  }

  /** A holder may have gone between writing how a run has ended and saying so. */
  async #ends(runId, first) {
    if (first.asked) return;
    first.asked = true;
    const { outcome, text, turns, value, usage, error } = await this.#command("result", { runId });
    if (!this.#begun.has(runId)) return;
    const { startedAt, endedAt } = await this.#command("wait", { runId });
    const { sessionId } = first;
    const event = (type, more) => this.#begun.has(runId) && this.#event(`agent:${type}`, JSON.parse(JSON.stringify({ workspace: this.#name, sessionId, runId, ...more })));
    if (outcome === "failed") event("error", error);
    else if (outcome === "interrupted") event("session-interrupted", { endedAt, reason: "lost" });
    else event("session-completed", { endedAt, text, turns, value, usage });
    event("lifecycle", { phase: outcome === "failed" ? "error" : "end", startedAt, endedAt, error });
  }

  /** This host is gone. A panic is not the end: the next call opens a fresh one. */
  #lost(info) {
    const error = new LodgerError(info ?? CLOSED);
    const panicked = error.code === "panicked";
    const asked = this.#ended !== null || !info;
    const channel = this.#channel;
    const pending = [...this.#pending.values()];
    const texts = [...this.#runs.values()];
    const before = this.#status;
    this.#link?.lose(error);
    this.#link = this.#channel = this.#opening = null;
    this.#pending.clear();
    this.#runs.clear();
    for (const sign of this.#configFunctions.splice(0)) this.#functions.remove(sign);
    if (!panicked) this.#ended ??= error;
    this.#status = panicked ? JSON.stringify({ lifecycle: { Error: error.message }, is_streaming: false }) : STOPPED;

    // A panic is told from inside the module: calls into it wait until that stack is gone.
    return Promise.resolve().then(() => {
      channel?.close();
      for (const request of pending) request.reject(error);
      for (const text of texts) text.fail(error);
      // They read again, and hear why they cannot.
      for (const followers of this.#followers.values()) for (const grown of followers) grown(0);
      this.#functions.abortAll();
      this.#holds(false);
      for (const { view } of this.#views.values()) view.state(asked ? { status: "stopped" } : { status: "error", error: errorInfo(error) });
      if (this.#ended) this.#finish();
      if (asked) return;
      const workspace = { workspace: this.#name };
      this.#event("agent:error", { ...workspace, ...errorInfo(error) });
      if (before !== this.#status) this.#event("agent:status-changed", { ...workspace, ...this.status() });
    });
  }

  async #shut(info = CLOSED) {
    if (this.#ended) return;
    const closing = this.#channel ? this.#request("close").promise : undefined;
    this.#ended = new LodgerError(info);
    await closing?.catch(() => {}); // a host that fails to close is let go all the same
    await this.#lost(info);
  }

  #finish() {
    clearTimeout(this.#expiry);
    this.#listen("removeEventListener");
    this.#onEnd?.();
    this.#onEnd = undefined;
  }

  #listen(method) {
    for (const type of ["visibilitychange", "freeze", "resume"]) globalThis.document?.[method]?.(type, this.#life);
    for (const type of ["pagehide", "pageshow"]) globalThis.window?.[method]?.(type, this.#life);
  }
}

// ---------------------------------------------------------------- small things

// By which limit a command goes, where that is not `messageBytes`. A file is read line by line, and may have long lines.
const OPTION = { "tools.resolve": "resultBytes", "sessions.import": "none", "sessions.replay": "none" };

// Why a session is none of "all".
const NOT_MEANT = ["permission_denied", "session_not_found", "invalid_transition"];

/** What other libraries call members of a tool: it is refused while the page waits, so that nothing can be loaded for it. */
const FOREIGN = [["parameters", "inputSchema"], ["schema", "inputSchema"], ["handler", "execute"], ["run", "execute"]];

const NONE = Object.freeze([]);

/** What was given with what stands beside it; what is no object as it is, so that it is refused as that. */
const besides = (given, own) => (typeof (given ?? own) !== "object" || Array.isArray(given) ? given : { ...given, ...own });

/** A store of what comes late and has a `snapshot`. Until then it is `loading`, with what there is of it (`empty`). */
class LateStore extends Store {
  store = null;
  #empty;
  #load;
  #loading = false;
  #error;

  constructor(empty, load) {
    super();
    this.#empty = empty;
    this.#load = load;
    this.api = { subscribe: this.subscribe, getSnapshot: this.getSnapshot };
  }

  /** Brings it, unless it is there or on its way. */
  async begin() {
    if (this.store || this.#loading) return;
    this.#loading = true;
    try {
      this.store = await this.#load(() => this.changed());
    } catch (error) {
      this.#error = errorInfo(error);
      this.changed();
    }
    this.#loading = false;
  }

  make() {
    return this.store?.snapshot() ?? { status: this.#error ? "error" : "loading", ...this.#empty, ...(this.#error && { error: this.#error }) };
  }
}

/** What a schema says of its library. Before they are made a Standard Schema, Effect's have an `ast`, and old ones of zod a `_def`. */
const libraryOf = (schema) => schema?.["~standard"] ?? (schema?.ast ? { vendor: "effect" } : schema?._def && { vendor: "zod" });

/** A schema, or the one that it only leads to: libraries put what has a name among the definitions. */
function led(schema) {
  const [, kept, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema?.$ref) ?? [];
  const to = schema?.[kept]?.[name];
  return to ? { ...schema, $ref: undefined, ...to } : schema;
}

const ANSWER = { what: "schema of sendMessage", whole: "answer", wrong: "the answer does not fit", code: "invalid_output" };

/**
 * What a Standard Schema gives to the model, and how it reads what the model writes. `what` it is, what it is for as a
 * `whole`, and how to say that this is `wrong`, with which `code`.
 */
function standardSchema(schema, { what, whole, wrong: begins, code }) {
  const standard = libraryOf(schema);
  const give = standard.jsonSchema?.input ? () => standard.jsonSchema.input({ target: "draft-2020-12" }) : (schema.toJSONSchema ?? schema.toJsonSchema)?.bind(schema);
  if (!give) {
    const how = {
      __proto__: null, valibot: "toStandardJsonSchema(schema) of @valibot/to-json-schema", effect: "Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema))",
      zod: schema._zod ? "z.toJSONSchema(schema)" : "zodToJsonSchema(schema) of zod-to-json-schema, or a schema of zod 4",
    };
    throw failure("invalid_schema", `The ${what} (${standard.vendor}) has no JSON Schema for the model.`, `Give ${how[standard.vendor] ?? "what its library makes a JSON Schema of it with"}.`);
  }
  const json = () => {
    try {
      return give();
    } catch (error) {
      throw failure("invalid_schema", `The ${what} (${standard.vendor}) gives no JSON Schema: ${error?.message ?? error}`, "Leave out what JSON Schema cannot say.");
    }
  };
  // Some only say what they are: then the JSON Schema decides.
  if (!standard.validate) return { json: json() };
  const validate = async (value) => {
    const result = await standard.validate(value);
    const { issues } = result ?? {};
    if (result !== null && typeof result === "object" && (Array.isArray(issues) ? issues.length : "value" in result && !issues)) return result;
    throw new TypeError(`the ${what} (${standard.vendor}) gave neither a value nor issues`);
  };
  const told = (issues) => issues.slice(0, 20).map(({ message, path }) => `${(path ?? []).map((step) => String(step?.key ?? step)).join(".") || whole}: ${message}`);
  /** What is wrong with a value, if anything is. */
  const wrong = async (given) => {
    const { issues } = await validate(given);
    return issues && `${begins}: ${told(issues).join("; ")}`;
  };
  const output = async (given) => {
    const { issues, value } = await validate(given);
    if (issues) throw Object.assign(new TypeError(`${begins}: ${told(issues).join("; ")}`), { code });
    return value;
  };
  return { json: json(), wrong, output };
}

/** Of a custom provider, which may be an object of a class, what there is to know; its method keeps its object. */
function custom(provider) {
  const { kind, model, stream } = provider;
  const own = isPlain(provider) ? provider : { kind, model };
  return { ...own, stream: typeof stream === "function" ? stream.bind(provider) : stream };
}

const duplicate = (name) =>
  failure("duplicate_tool", `A tool named "${name}" is registered already.`, "Undo that registration first, or register with { replace: true }.");

function checkSignal(signal) {
  if (signal === undefined || typeof signal?.addEventListener === "function") return signal;
  throw failure("invalid_arguments", "signal must be an AbortSignal.");
}

/** The files of a message, as a list of their own. An edit that has none (`[]`) says so: else it keeps those of the message before. */
function checkFiles(files, edits) {
  if (files === undefined || files === null) return undefined;
  if (!Array.isArray(files)) throw failure("invalid_arguments", "files must be an array of Blobs or Files.");
  const wrong = Array.from(files).findIndex((file) => !isFile(file));
  if (wrong >= 0) throw failure("invalid_arguments", `files[${wrong}] must be a Blob or a File.`);
  return files.length || edits ? [...files] : undefined;
}

function dispatch(target, type, detail) {
  // A target of another window (an iframe, jsdom) takes only that window's events.
  const { CustomEvent } = target.defaultView ?? target.ownerDocument?.defaultView ?? globalThis;
  try {
    target.dispatchEvent(new CustomEvent(type, { detail }));
  } catch (error) {
    // The standard reports what a listener throws; a home-made target may not.
    if (globalThis.reportError) globalThis.reportError(error);
    else console.error(error);
  }
}
