// A host that does what a test tells it to, and the two ways a client reaches it.

import { direct, overPort, serveHost } from "../tabs/channel.js";
import { Workspace } from "../client/workspace.js";

const error = (code, message = code) => Object.assign(new Error(message), { code });
export const refuse = (code, message) => {
  throw error(code, message);
};

export class FakeHost {
  received = []; // what the client sent
  freed = false;
  tools = new Map();
  status = { lifecycle: "Stopped", is_streaming: false };
  #runs = 0;
  #calls = 0;

  constructor(deliver, commands = {}) {
    this.deliver = deliver;
    this.commands = commands;
  }

  receive(message) {
    this.received.push(message);
    if (message.t !== "command") return;
    const { id, name, args } = message;
    const command = this.commands[name] ?? this[name];
    let reply;
    try {
      if (!command) refuse("unknown_command", name);
      const value = command.call(this, args, id);
      if (value === LATER) return;
      if (value instanceof Blob) return this.deliver({ t: "reply", id, file: value });
      reply = value === undefined ? {} : { json: JSON.stringify(value) };
    } catch ({ code, message }) {
      reply = { error: { code, message, retryable: code === "busy" } };
    }
    this.deliver({ t: "reply", id, ...reply });
  }

  free() {
    this.freed = true;
  }

  // ---- what a host does of itself
  mirror(status) {
    this.status = { lifecycle: "Running", is_streaming: false, ...status };
    this.deliver({ t: "status", json: JSON.stringify(this.status) });
  }
  event(type, detail) {
    this.deliver({ t: "event", type: `agent:${type}`, json: JSON.stringify({ workspace: "w", sessionId: "default", ...detail }) });
  }
  chunk(text, offset, more) {
    this.event("message-chunk", { runId: "run1", messageId: "m2", part: 0, offset, text, kind: "text", ...more });
  }
  tell(t, value) {
    this.deliver({ t, sessionId: "default", json: JSON.stringify(value) });
  }
  gone(messageId) {
    this.deliver({ t: "gone", sessionId: "default", messageId });
  }
  call(fn, kind, value, body) {
    const id = ++this.#calls;
    this.deliver({ t: "call", id, fn, kind, json: value === undefined ? undefined : JSON.stringify(value), body });
    return id;
  }
  close_(error) {
    this.deliver({ t: "closed", error });
  }
  answers(id) {
    return this.received.filter((message) => message.t !== "command" && message.id === id);
  }
  commandsSent(name) {
    return this.received.filter((message) => message.t === "command" && (!name || message.name === name)).map(({ args }) => args);
  }
  listTools() {
    this.deliver({ t: "tools", json: JSON.stringify([...this.tools.values()].map(({ execute, ...tool }) => tool)) });
  }

  // ---- commands
  startAgent(config) {
    if (this.status.lifecycle === "Running") return config.ifRunning === "reject" ? refuse("already_running", "already running in this page") : undefined;
    this.config = config;
    this.deliver({ t: "holder", epoch: 1 });
    this.mirror();
  }
  configureAgent(patch) {
    Object.assign(this.config, patch);
  }
  stopAgent() {
    this.mirror({ lifecycle: "Stopped" });
  }
  sendMessage({ text }) {
    if (!text) refuse("empty_message");
    if (this.status.lifecycle !== "Running") refuse("not_running", "Agent harness is not running");
    return { runId: `run${++this.#runs}`, status: "accepted", acceptedAt: 1 };
  }
  interrupt() {}
  watch() {
    this.tell("history", []);
    this.tell("view", { status: "ready" });
  }
  "tools.register"(given) {
    const tool = { ...given, inputSchema: JSON.parse(given.inputSchema ?? "null") };
    if (this.tools.has(tool.name) && !tool.replace) refuse("duplicate_tool", tool.name);
    if (tool.inputSchema?.type !== "object") refuse("invalid_schema", `schema of ${tool.name}`);
    this.tools.set(tool.name, tool);
    this.listTools();
  }
  "tools.unregister"({ name }) {
    const there = this.tools.delete(name);
    this.listTools();
    return there;
  }
  draft() {}
  close() {}
}

/** A command that the test answers itself. */
export const LATER = Symbol("later");

/** Opens a workspace on fake hosts; `hosts` has each that was opened. */
export async function open(mode, commands, { target = null, ...options } = {}) {
  const hosts = [];
  const ports = [];
  const openHost = async (deliver) => {
    const host = new FakeHost(deliver, commands);
    hosts.push(host);
    host.mirror({ lifecycle: "Stopped" });
    return host;
  };
  const connect = (deliver) => {
    if (mode === "direct") return direct(openHost, deliver);
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    serveHost(port2, (deliver) => direct(openHost, deliver));
    return Promise.resolve(overPort(port1, deliver));
  };
  const workspace = new Workspace("w", { connect, target, ...options });
  // As openWorkspace does: the host is there before the workspace is handed out.
  const { revive } = await import("../client/workspace.js");
  await revive(workspace);
  await turns();
  return { workspace, hosts, get host() { return hosts.at(-1); }, end: () => ports.forEach((port) => port.close()) };
}

/** Lets everything happen that is due, in both modes. */
export async function turns(n = 4) {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** The error that this rejects with. */
export async function rejection(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`this should have been rejected, but gave ${JSON.stringify(value)}`);
}
