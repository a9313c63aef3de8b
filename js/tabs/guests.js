// The other tabs of a workspace, as the tab sees them whose host holds the agent.
//
// Decides which tab each word of the host is for, and which tab runs a tool that several have. Promises: what the host
// says reaches every tab in the order it was said, numbered, so that a tab knows when it has missed something. A
// command is taken once, however often it comes, and its reply is kept until its tab has it. A tab that is gone is no
// longer called, and who waited for it is answered. Leaves to others: which tab holds (`tabs.js`), how words travel
// (`neighbours.js`), what they mean (`PROTOCOL.md`).

import { BEGINS } from "../protocol/commands.js";

// The numbers of our own client, and of `tabs.js`, stay below these; a host counts to 2 ** 32.
const FUNCTIONS = 2 ** 20;
const COMMANDS = 2 ** 30;
const MEMBERS = ["execute", "lookup", "explanation", "validate"];

const UNKNOWN = { name: "Error", code: "unknown_outcome", message: "The tab that this was running in is gone; what came of it is not known." };
const GONE = { name: "Error", code: "not_configured", message: "The tab that gave this function is closed: give it again in one that is open." };

let lastCommand = COMMANDS;

/** The same data with other numbers for its functions. */
function renumbered(value, number) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => renumbered(item, number));
  if (Number.isInteger(value.$fn)) return { $fn: value.$fn && number(value.$fn) };
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, renumbered(item, number)]));
}

/** The arguments of a command for who knows commands by other numbers: a prompt that waits is named by that of its command. */
export const named = (name, args, number) => (name === "interrupt" && args.command !== undefined ? { ...args, command: number(args.command) ?? 0 } : args);

/** What a tool is, without the tab that runs it. */
const likeness = (args) => JSON.stringify({ ...args, replace: undefined, ...Object.fromEntries(MEMBERS.map((member) => [member, !!args[member]])) });

export class Guests {
  #post;
  #soon;
  #host;
  #watch;
  #configured;
  #own;
  #mirror;
  #guests = new Map(); // tab -> { low, taken: command id -> { id, reply? } }
  #commands = new Map(); // the host's number of a command -> { tab, id, name, args }
  #calls = new Map(); // call id -> { tab, message }
  #functions = new Map(); // the host's number of a function -> { tab, fn } or { tool, member }
  #numbers = new Map(); // `tab fn` or `tool member` -> that number
  #lastFunction = FUNCTIONS;
  #tools = new Map(); // name -> { args, like, places: tab -> args }
  #senders = new Map(); // run id -> tab
  #batch = [];
  #said = 0;

  /**
   * @param {object} world
   * @param {(message: object) => void} world.post to all other tabs
   * @param {(then: () => void) => void} world.soon calls back when what happens now is over
   * @param {(message: object) => void} world.host to the host
   * @param {(tab: string, gone: () => void) => void} world.watch calls back when that tab is gone
   * @param {(patch: object) => void} world.configured a tab has changed the agent
   * @param {Map<string, object>} own the tools of this tab's own client: name -> what was registered
   * @param {Map<string, object>} mirror kind -> what the host has said of it last
   */
  constructor({ post, soon, host, watch, configured }, own, mirror) {
    this.#post = post;
    this.#soon = soon;
    this.#host = host;
    this.#watch = watch;
    this.#configured = configured;
    this.#own = own;
    this.#mirror = mirror;
  }

  // ---------------------------------------------------------------- what tabs say

  /** A tab wants to hear what the host says from here on. `low`: the first of its commands that it has no reply to. */
  join(tab, { low, tools }) {
    const guest = this.#guest(tab);
    this.#drop(guest, low);
    this.#say(tab, { t: "joined", mirror: [...this.#mirror.values()] });
    for (const { reply } of guest.taken.values()) if (reply) this.#say(tab, reply);
    for (const { tab: called, message } of this.#calls.values()) if (called === tab) this.#say(tab, message);
    const names = new Set();
    for (const args of tools) {
      names.add(args.name);
      this.#register(tab, args);
    }
    for (const [name, { places }] of this.#tools) if (places.has(tab) && !names.has(name)) this.#unregister(tab, name);
  }

  /** A command of a tab; `operator` is who works there. */
  command(tab, { id, low, name, args, files, operator }) {
    const guest = this.#guest(tab);
    this.#drop(guest, low);
    const before = guest.taken.get(id);
    if (before || id < guest.low) return this.#say(tab, before?.reply ?? { t: "ack", id });
    this.#say(tab, { t: "ack", id });
    const taken = { id: ++lastCommand };
    guest.taken.set(id, taken);
    const own = (reply) => {
      taken.reply = { t: "reply", id, ...reply };
      this.#say(tab, taken.reply);
    };
    if (name === "sessions.attach" && !args.on) return own();
    if (name === "tools.register") return own(this.#register(tab, args));
    if (name === "tools.unregister") return own({ json: String(this.#unregister(tab, args.name)) });
    this.#commands.set(taken.id, { tab, id, name, args });
    const known = named(name, args, (command) => guest.taken.get(command)?.id);
    this.#host({ t: "command", id: taken.id, name, args: renumbered(known, (fn) => this.#number(`${tab} ${fn}`, { tab, fn })), operator, ...(files && { files }) });
  }

  /** What a tab says to a call of the host. */
  answer(tab, message) {
    const call = this.#calls.get(message.id);
    if (message.t !== "late" && call?.tab !== tab) return;
    if (message.t === "answer") this.#calls.delete(message.id);
    this.#host(message);
  }

  // ---------------------------------------------------------------- what the host says

  /** Whether a word of the host was for other tabs alone. What is for all goes to them too. */
  hears(message) {
    switch (message.t) {
      case "reply": {
        const command = this.#commands.get(message.id);
        if (!command) return message.id > COMMANDS;
        const { tab, id, name, args } = command;
        this.#commands.delete(message.id);
        const guest = this.#guests.get(tab);
        const reply = { ...message, id };
        const taken = guest?.taken.get(id);
        if (taken) taken.reply = reply;
        // The tab that has begun a run is asked first for its tools.
        if (BEGINS.includes(name) && message.json) this.#senders.set(JSON.parse(message.json).runId, tab);
        if (name === "configureAgent" && !message.error) this.#configured(args);
        this.#say(tab, reply);
        return true;
      }
      case "call": {
        const place = this.#place(message);
        if (!place) {
          if (message.fn <= FUNCTIONS) return false;
          this.#fail(message, GONE);
          return true;
        }
        const call = { ...message, fn: place.fn };
        this.#calls.set(message.id, { tab: place.tab, message: call });
        this.#say(place.tab, call);
        return true;
      }
      case "abort": {
        const call = this.#calls.get(message.id);
        if (call) this.#say(call.tab, message);
        return this.#calls.delete(message.id);
      }
      case "holder":
      case "closed":
        return false;
      case "event":
        // The sender of a run that is over need not be known any more.
        if (message.type === "agent:lifecycle") {
          const { phase, runId } = JSON.parse(message.json);
          if (phase !== "start") this.#senders.delete(runId);
        }
    }
    this.tell(message);
    return false;
  }

  /** Tells all tabs. */
  tell(message) {
    if (this.#guests.size) this.#say(null, message);
  }

  /** Our own client takes a tool away: another tab that has it gives it from here on. */
  ownGone(name) {
    const tool = this.#tools.get(name);
    if (tool?.places.size) this.#give(tool);
  }

  /** Whether another tab gives a tool like this already, so that the host need not hear of it again; `null`: none does. */
  gives(args) {
    const tool = this.#tools.get(args.name);
    return tool?.places.size ? tool.like === likeness(args) : null;
  }

  // ---------------------------------------------------------------- tabs

  #guest(tab) {
    let guest = this.#guests.get(tab);
    if (!guest) {
      this.#guests.set(tab, (guest = { low: 0, taken: new Map() }));
      this.#watch(tab, () => this.#gone(tab));
    }
    return guest;
  }

  #drop(guest, low) {
    if (!(low > guest.low)) return;
    guest.low = low;
    for (const id of guest.taken.keys()) if (id < low) guest.taken.delete(id);
  }

  #gone(tab) {
    this.#guests.delete(tab);
    for (const [id, { tab: called, message }] of this.#calls) {
      if (called !== tab) continue;
      this.#calls.delete(id);
      this.#fail(message, message.kind === "tool" ? UNKNOWN : GONE);
    }
    for (const name of [...this.#tools.keys()]) this.#unregister(tab, name);
    for (const [number, { tab: of }] of this.#functions) if (of === tab) this.#functions.delete(number);
    for (const key of [...this.#numbers.keys()]) if (key.startsWith(`${tab} `)) this.#numbers.delete(key);
    for (const [run, sender] of this.#senders) if (sender === tab) this.#senders.delete(run);
  }

  /** Answers a call whose tab is gone. */
  #fail({ id }, error) {
    this.#soon(() => this.#host({ t: "answer", id, error }));
  }

  /** Says something to a tab, or to all: in one go with what else is said now. */
  #say(to, message) {
    if (this.#batch.push([to, message]) === 1) this.#soon(() => this.flush());
  }

  /** Says now what is to be said. */
  flush() {
    if (this.#batch.length) this.#post({ t: "says", n: ++this.#said, list: this.#batch });
    this.#batch = [];
  }

  // ---------------------------------------------------------------- functions and tools

  #number(key, of) {
    let number = this.#numbers.get(key);
    if (!number) {
      this.#numbers.set(key, (number = ++this.#lastFunction));
      this.#functions.set(number, of);
    }
    return number;
  }

  /** Where a function of another tab is called. */
  #place({ fn, json }) {
    const of = this.#functions.get(fn);
    if (!of || of.tab) return of;
    const places = this.#tools.get(of.tool)?.places ?? new Map();
    const sender = this.#senders.get(json && JSON.parse(json).runId);
    const [tab, args] = places.has(sender) ? [sender, places.get(sender)] : (places.entries().next().value ?? []);
    return tab && { tab, fn: args[of.member].$fn };
  }

  /** Another tab can run a tool. What the reply to that is. */
  #register(tab, given) {
    const { replace, ...args } = given;
    const like = likeness(args);
    const own = this.#own.get(args.name);
    const tool = this.#tools.get(args.name);
    const alone = tool && [...tool.places.keys()].every((other) => other === tab);
    if (own ? likeness(own) !== like : tool && tool.like !== like && !(alone && replace)) {
      return { error: { code: "duplicate_tool", message: `Another tab has a tool named "${args.name}" that is not the same.`, retryable: false, hint: "Load the same version of the page in all tabs, or give the tool another name." } };
    }
    if (tool && tool.like === like) tool.places.set(tab, args);
    else this.#tools.set(args.name, { args, like, places: new Map([[tab, args]]) });
    if (!own && !(tool && tool.like === like && tool.places.size > 1)) this.#give(this.#tools.get(args.name));
    return {};
  }

  /** Tells the host of a tool of other tabs. */
  #give({ args }) {
    const virtual = MEMBERS.filter((member) => args[member]).map((member) => [member, { $fn: this.#number(`tool ${args.name} ${member}`, { tool: args.name, member }) }]);
    this.#host({ t: "command", id: ++lastCommand, name: "tools.register", args: { ...args, ...Object.fromEntries(virtual), replace: true } });
  }

  #unregister(tab, name) {
    const tool = this.#tools.get(name);
    if (!tool?.places.delete(tab)) return false;
    if (tool.places.size) return true;
    this.#tools.delete(name);
    if (!this.#own.has(name)) this.#host({ t: "command", id: ++lastCommand, name: "tools.unregister", args: { name } });
    return true;
  }
}
