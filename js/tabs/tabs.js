// A workspace in several tabs: what stands between this tab's client and the host that holds the agent.
//
// Decides which host a command goes to: this tab's, or that of the tab that holds the agent. Decides when this tab takes
// over from a holder that died, and what becomes of commands that were on their way then. Decides what tabs of two
// versions of the package do with each other: the newer one gets the agent when the older one is idle. It is a machine
// without a world: it knows what it was told, and acts through `world`, so that a test can play every order of things.
// Promises: a client hears one host at a time, whole and in order. A command is carried out at most once, and is
// answered or refused. A client whose holder changes is told. Leaves to others: who may write (the epoch in the
// database), which tab a holder's word is for (`guests.js`), locks and channels (`neighbours.js`), and kinds of
// commands (`protocol/commands.js`).

import { AGAIN, KEYED, OWN, WAITS } from "../protocol/commands.js";
import { STOPPED } from "../protocol/status.js";
import { Guests, named } from "./guests.js";

/** The version of what tabs say to each other, of all that `PROTOCOL.md` has. The rows have the same: a tab that cannot read them cannot hold the agent. */
const VERSION = 5;
/** What tabs of all versions say, always as version 1: who holds the agent, in which version, and that it is to let go. */
const EVER = ["who", "holds", "freed", "yield"];
/** How long a tab waits to hear who holds the agent, in milliseconds. */
const GRACE_MS = 1_000;
/** How often it asks one that says nothing. */
const MUTE_MS = 10_000;
/** How long the last words of a holder may take that is gone: locks are free sooner than words arrive. */
const LINGER_MS = 50;
/** How long a tab waits for a word that its command has come, and how often it says it. */
const ACK_MS = 1_000;
const TRIES = 4;
/** How long `wait` waits where nobody says, and how far a timer counts. */
const WAIT_MS = 30_000;
const LONGEST_MS = 2 ** 31 - 1;

const LOST = { code: "ownership_lost", message: "The tab that ran the agent is gone, and nobody knows whether this was done.", retryable: true, hint: "Look whether it was, then try again." };
const MUTE = { code: "holder_unreachable", message: "The tab that runs the agent does not answer.", retryable: true, hint: 'Go to that tab, or take the agent over: startAgent({ ifRunning: "takeover" }).' };
/** To a tab whose page was loaded before the holder's. */
const NEWER = { code: "newer_version", message: "The agent runs in another tab, with a newer version of the package.", retryable: false, hint: "Reload this page." };
/** To a tab whose page was loaded after the holder's. */
const OLDER = { code: "holder_unreachable", message: "The agent runs in another tab, with an older version of the package.", retryable: true, hint: 'Reload or close that tab, or take the agent over: startAgent({ ifRunning: "takeover" }).' };

const KEYS = { code: "invalid_config", message: "The agent runs in another tab: what may hold a key of a provider (apiKey, headers, fetch, a query in baseUrl, a long part of its path, a long text in providerOptions) is not sent there.", retryable: false, hint: 'Give the key to keys.set and leave it out here, or take the agent over: startAgent({ ifRunning: "takeover" }).' };

const ROBBED = { code: "holder_unreachable", message: "The tab that ran the agent did not answer: the agent was taken from it. What a tool was doing there may go on.", retryable: false, hint: "Close that tab if it does not come back." };

/** What is told of a session to all tabs, also where no agent runs. */
const CHANGED = "agent:session-changed";

/** The client's commands have numbers below this one, those of other tabs (`guests.js`) above our own. */
const OURS = 2 ** 29;
/** Where a command is: on its way to our own host, or to nobody yet; else to the holder of an epoch. */
const HERE = 0;
const NOWHERE = -1;

/**
 * @typedef {object} World
 * @property {string} id of this tab
 * @property {string} workspace
 * @property {(message: object) => void} post to all other tabs
 * @property {(message: object) => void} host to the host of this tab
 * @property {(message: object) => void} deliver to the client
 * @property {(ms: number, then: () => void) => () => void} after a timer; gives what stops it
 * @property {() => void} sleep hears and says nothing from here on: who is spoken to is not kept in the back/forward cache
 * @property {() => void} wake hears again
 * @property {(then: () => void) => void} soon calls back when what happens now is over
 * @property {() => number} now a clock that all tabs share
 * @property {(then: (epoch: number, taken: boolean) => void) => void} alive the epoch of the holder that lives, 0: there is none;
 *   and whether somebody has the workspace
 * @property {(epoch: number, then: () => void) => void} gone calls back when the holder of this epoch lives no more
 * @property {(tab: string, then: () => void) => void} watch calls back when that tab is gone
 */
export class Tabs {
  #world;
  #holder = null; // { epoch, tab?, speaks?, said?, mute?, yields?, outlived?, idle? }: `tab` once it has spoken, in which version; `outlived`: this tab waits for it to be idle; `idle`: it was when this was looked at last; `said`, the number of its last word, once it has told us all; `yields`: another tab has asked for it
  #newest = 0; // the last epoch that we have heard of
  #waits = true; // nobody is known to hold the agent, and somebody may
  #stopWaiting = () => {};
  #guests = null; // those that our host works for, while it holds the agent
  #toOlder = 0; // how often it has answered tabs of the first version

  #pending = new Map(); // commands without a reply: id -> { message, to, tries, number?, acked?, then?, away? }
  #lastId = OURS; // of our own commands
  #sent = new Map(); // the same by the number that another tab knows them by
  #lastNumber = 0;
  #repeating = false;

  #config = null; // what the agent was started with here
  #changes = {}; // what `configureAgent` has changed since the agent was started, in any tab: what other tabs can hear of it
  #provides = false; // since this tab holds it, the provider as well
  #standby = 0; // since which epoch this tab goes on when the holder dies; 0: it does not
  #robs = false; // it is taken from a holder that does not answer
  #taking = null; // a person's take-over that waits for the holder to let go: { entry, stop, others }
  #going = false; // we are about to go on with what the last holder did
  #lacks = false; // the client was told that a part for that does not come
  #asleep = false; // the page may stand still
  #pauses = false; // our host is about to let the agent go for that
  #paused = false; // and has

  #operator = { subject: "local" };
  #tools = new Map(); // this tab's: name -> what was registered
  #own = new Map([["status", { t: "status", json: STOPPED }], ["tools", { t: "tools", json: "[]" }]]); // what our host has said last of itself: kind -> message
  #last = null; // the tab that held the agent last

  /** @param {World} world */
  constructor(world) {
    this.#world = world;
    this.#find();
  }

  // ---------------------------------------------------------------- the client

  /** A word of the client. Our own host may have answered it when this returns. */
  fromClient(message) {
    if (message.t === "command") return this.#command(message);
    if (message.t === "life") return this.#life(message.event);
    if (typeof message.id === "number") return this.#world.host(message);
    // The calls of other hosts are known by texts.
    const [epoch, id] = message.id.split(":").map(Number);
    this.#post({ t: "answers", message: { ...message, id } }, epoch);
  }

  #command(message) {
    const { id, name, args } = message;
    const entry = { message, to: NOWHERE, tries: 0 };
    this.#pending.set(id, entry);
    if (name === "setOperator") this.#operator = args.operator;
    if (name === "startAgent") return this.#start(entry);
    if (name === "tools.register" || name === "tools.unregister") return this.#tool(entry);
    if (name === "keys.set" || name === "keys.remove") entry.then = (reply) => this.#vaultChanged(reply, args.provider);
    if (name === "configureAgent") entry.then = ({ error }) => void (error || this.#configured(args));
    if (OWN.includes(name)) return this.#toHost(entry);
    // Others may follow that journal still.
    if (this.#guests && name === "sessions.attach" && !args.on) return this.#replied({ t: "reply", id });
    this.#send(entry);
  }

  /** What was done with a key is done when the agent knows it, also in another tab: that one reads the vault itself. */
  #vaultChanged(reply, provider) {
    if (reply.error || this.#holder?.speaks < VERSION) return;
    this.#ask("keys.look", { provider }, () => this.#world.deliver(reply), true);
    return {};
  }

  /** A command of our own: to our host, or (`away`) to that of another tab if one holds the agent. */
  #ask(name, args, then, away = false) {
    const id = ++this.#lastId;
    const entry = { message: { t: "command", id, name, args }, to: NOWHERE, tries: 0, then, away };
    this.#pending.set(id, entry);
    if (away) this.#send(entry);
    else this.#toHost(entry);
  }

  /** Sends a command to the holder of the agent; as long as the holder is not known, the command waits. */
  #send(entry) {
    const holder = this.#holder;
    const { id, name } = entry.message;
    const older = holder?.speaks < VERSION;
    const here = holder ? holder.mute || holder.tab === this.#world.id || (older && (!this.#standby || AGAIN.includes(name))) : !this.#waits;
    if (entry.away && (here || holder?.speaks > VERSION)) return this.#replied({ t: "reply", id });
    if (holder?.speaks > VERSION) return this.#replied({ t: "reply", id, error: NEWER });
    if (older && CHANGES.includes(name)) return this.#replied({ t: "reply", id, error: OLDER });
    if (here) return this.#toHost(entry);
    if (entry.message.name === "wait") this.#limit(entry);
    if (holder?.said !== undefined) this.#toHolder(entry);
    else entry.to = NOWHERE;
  }

  /** A wait ends in its time, also where nobody answers. A holder that answers is a little faster. */
  #limit(entry) {
    const { id, args: { runId, timeoutMs } } = entry.message;
    const ms = timeoutMs ?? WAIT_MS;
    const json = JSON.stringify({ runId, status: "timeout" });
    if (ms >= 0) entry.stop ??= this.#world.after(Math.min(ms + ACK_MS, LONGEST_MS), () => this.#replied({ t: "reply", id, json }));
  }

  #toHost(entry) {
    entry.to = HERE;
    this.#world.host(entry.message);
  }

  #toHolder(entry) {
    const { id, name, args, files } = entry.message;
    // What a session or a message has otherwise goes to the holder as well.
    if (name === "configureAgent" ? hasKeys(args) : [args, args.config].some(optionsHaveKeys)) return this.#replied({ t: "reply", id, error: KEYS });
    entry.to = this.#holder.epoch;
    entry.tries++;
    this.#sent.set((entry.number ??= ++this.#lastNumber), entry);
    if (KEYED.includes(name)) args.idempotencyKey ??= `${this.#world.id}:${entry.number}`;
    const known = named(name, args, (command) => this.#pending.get(command)?.number);
    // A holder that takes it much later would do what nobody waits for any more.
    const until = this.#world.now() + (TRIES + 1) * ACK_MS;
    this.#post({ t: "command", id: entry.number, name, args: known, files, operator: this.#operator, low: this.#low(), until }, entry.to);
    if (this.#repeating) return;
    this.#repeating = true;
    this.#world.after(ACK_MS, () => this.#repeat());
  }

  /** Says again what has not come. */
  #repeat() {
    this.#repeating = false;
    for (const entry of [...this.#pending.values()]) {
      if (entry.acked || entry.to <= HERE || entry.to !== this.#holder?.epoch) continue;
      if (entry.tries < TRIES) this.#toHolder(entry);
      else this.#replied({ t: "reply", id: entry.message.id, error: MUTE });
    }
  }

  /** All commands before this one have their replies. */
  #low() {
    // They were sent in the order of their numbers.
    return this.#sent.keys().next().value ?? this.#lastNumber + 1;
  }

  #replied(message) {
    const entry = this.#pending.get(message.id);
    if (!entry) return;
    this.#pending.delete(message.id);
    this.#sent.delete(entry.number);
    entry.stop?.();
    const reply = entry.then?.(message) ?? message;
    if (reply.id < OURS) this.#world.deliver(reply);
  }

  /** Commands whose host holds the agent no more go to the next, or are refused where that might do them twice. */
  #moveOn() {
    for (const entry of [...this.#pending.values()]) {
      const { message, to } = entry;
      if (to === HERE || (to === this.#holder?.epoch && this.#holder.said !== undefined)) continue;
      Object.assign(entry, { tries: 0, acked: false });
      if (to === NOWHERE || repeats(message)) this.#send(entry);
      else this.#replied({ t: "reply", id: message.id, error: LOST });
    }
  }

  // ---------------------------------------------------------------- tools

  /** A tool of this tab is our host's, and that of the host that holds the agent. */
  #tool(entry) {
    const { name, args } = entry.message;
    const registers = name === "tools.register";
    entry.then = ({ error }) => {
      if (error) return;
      if (registers) this.#tools.set(args.name, args);
      else if (this.#tools.delete(args.name)) this.#guests?.ownGone(args.name);
      // A tab that joins says which tools it has, and may be on the way.
      if (this.#guests || (!this.#holder && !this.#waits)) return;
      this.#ask(name, args, (reply) => void (reply.error?.code === "duplicate_tool" && this.#tell("agent:error", reply.error)), true);
    };
    // Ours comes before those of other tabs.
    if (registers && this.#guests?.gives(args)) entry.message = { ...entry.message, args: { ...args, replace: true } };
    this.#toHost(entry);
  }

  // ---------------------------------------------------------------- starting

  /** What was changed here: this tab would start the agent so from here on; where it holds the agent, others would too. */
  #configured(patch) {
    if (this.#config) this.#config = changed(this.#config, patch);
    if (this.#guests) this.#change(patch);
  }

  /** The agent that we hold was changed, by this tab or another. */
  #change(patch) {
    this.#provides ||= "provider" in patch || "providers" in patch;
    this.#changes = told({ ...this.#changes, ...patch }, this.#provides);
    const message = { t: "changes", changes: this.#changes };
    this.#own.set("changes", message);
    this.#guests.tell(message);
  }

  #start(entry) {
    const { args } = entry.message;
    entry.then = ({ error, id }) => {
      const ifRunning = wanted(args);
      // Of several that take over at once one has won, and the others follow it.
      const beaten = error?.code === "ownership_lost" && ifRunning === "takeover";
      const elsewhere = beaten || (error?.code === "already_running" && this.#holder?.tab !== this.#world.id);
      if (elsewhere && !this.#holder) this.#find();
      if (error && !(elsewhere && ifRunning !== "reject")) return;
      this.#config = args;
      this.#stand();
      return elsewhere ? { t: "reply", id } : undefined;
    };
    // What it was about to go on with is begun anew.
    if (wanted(args) !== "join") this.#going = false;
    const takes = wanted(args) === "takeover";
    // What would be taken over by force could not be read here.
    if (takes && this.#holder?.speaks > VERSION) return this.#replied({ t: "reply", id: entry.message.id, error: NEWER });
    this.#robs = takes && this.#holder?.mute === true;
    if (!takes || !(this.#holder?.said !== undefined || this.#holder?.speaks < VERSION)) return this.#toHost(entry);
    entry.to = HERE;
    if (this.#taking) return void this.#taking.others.push(entry);
    // Asked to, the holder lets go; one that hangs is robbed.
    const stop = this.#world.after(GRACE_MS, () => {
      this.#robs = true;
      this.#toHost(this.#taken());
    });
    this.#taking = { entry, stop, others: [] };
    this.#post({ t: "yield" }, this.#holder.epoch);
  }

  /** The waiting for the holder is over: who takes over. Those who wanted the same hear the same. */
  #taken() {
    const { entry, stop, others } = this.#taking;
    const { then } = entry;
    stop();
    this.#taking = null;
    entry.then = (reply) => {
      for (const { message } of others) this.#replied({ ...reply, id: message.id });
      return then(reply);
    };
    return entry;
  }

  /** Goes on with what the last holder did. `entry`: a person's take-over; else nothing happens if it was stopped on purpose. */
  #goOn(entry) {
    if (entry) return this.#world.host({ ...entry.message, name: "standIn", args: { config: entry.message.args } });
    if (this.#going) return;
    this.#going = true;
    // A holder that was gone before we heard of it was the last, also when we do not know its epoch.
    const after = !this.#newest ? 0 : this.#standby === Infinity ? this.#newest + 1 : Math.max(this.#newest, this.#standby);
    this.#ask("standIn", { config: changed(this.#config, this.#changes), after }, ({ error }) => {
      this.#going = false;
      if (!error) return;
      // Somebody was faster and will say so; or it was stopped, or it cannot be.
      if (error.code === "already_running") return this.#wait();
      if (error.code === "wasm_unavailable") return this.#short(error);
      if (!after || this.#standby <= after) this.#standby = 0;
      this.#find();
    });
  }

  /** A part that this tab needs to go on does not come. It tries again later, unless another tab has gone on by then. */
  #short(error) {
    if (!this.#lacks) this.#tell("agent:error", error);
    this.#lacks = true;
    this.#settle();
    this.#stopWaiting = this.#world.after(MUTE_MS, () => this.#find());
  }

  /** From here on this tab goes on when the holder dies, or does not. */
  #stand() {
    // The present holder may be another than we know of; a holder that was stopped before is not meant.
    this.#standby = this.#config && wanted(this.#config) !== "reject" ? Infinity : 0;
    this.#outlive();
    this.#world.alive((epoch) => (this.#standby = this.#standby && (epoch || this.#newest + 1)));
  }

  #letGo(epoch, then) {
    this.#ask("letGo", { epoch }, then);
  }

  /** `sleep`: the page may not run for long; `wake`: it does again. */
  #life(event) {
    this.#asleep = event === "sleep";
    if (this.#asleep) {
      this.#pauses = this.#guests !== null;
      const sleeps = () => {
        this.#pauses = false;
        if (this.#asleep) this.#world.sleep();
      };
      return this.#pauses ? this.#letGo(this.#holder.epoch, sleeps) : sleeps();
    }
    this.#world.wake();
    this.#goOnAwake();
    // What was said meanwhile may not have come.
    if (this.#holder?.said !== undefined) this.#join();
    else if (this.#guests) this.#post({ t: "holds" }, this.#holder.epoch);
    else this.#find();
  }

  // ---------------------------------------------------------------- who holds

  /** Nobody else has gone on while the page slept. */
  #goOnAwake() {
    if (!this.#paused || this.#asleep || this.#holder) return;
    this.#paused = false;
    this.#goOn();
  }

  /** Looks who holds the agent: by the lock that a holder has while it lives, and by asking. */
  #find() {
    this.#post({ t: "who" });
    this.#world.alive((epoch, taken) => {
      // A message about a later holder was false: any script of the origin can say something.
      if (taken && epoch && !this.#holder && epoch <= this.#newest) this.#newest = epoch - 1;
      if (epoch > this.#newest) this.#found(epoch);
      else if (this.#holder) return;
      // The tab that wanted it is gone, too.
      else if (this.#standby && !this.#hasFailed()) this.#goOn();
      else this.#settle();
    });
  }

  /** There is a holder. `tab`: it says so itself, in a tab that `speaks` this version. */
  #found(epoch, tab, speaks = VERSION) {
    if (epoch > this.#newest) {
      const robbed = this.#guests && this.#holder.epoch;
      this.#newest = epoch;
      const found = (this.#holder = { epoch });
      this.#waits = true;
      this.#lacks = false;
      if (this.#paused) this.#stand();
      this.#paused = false;
      this.#world.gone(epoch, () => this.#world.after(LINGER_MS, () => this.#holder === found && this.#lost(epoch)));
      this.#wait();
      if (robbed) this.#robbed(robbed);
    }
    const holder = this.#holder;
    if (holder?.epoch !== epoch || !tab) return;
    // The tab that has said so first and answers nothing may have made it up.
    if (holder.tab && (holder.tab === tab || holder.said !== undefined || this.#guests)) return;
    Object.assign(holder, { tab, speaks, mute: false });
    this.#stopWaiting();
    if (speaks === VERSION) return this.#join();
    this.#tellOf(tab);
    if (speaks > VERSION) this.#tell("agent:error", NEWER);
    this.#moveOn();
    this.#outlive();
  }

  /** A tab that stands by gets the agent from a holder of an older version as soon as nothing is at work there. */
  #outlive() {
    const holder = this.#holder;
    if (!(holder?.speaks < VERSION) || holder.outlived || !this.#standby) return;
    holder.outlived = true;
    // Rows tell it in each version, which is read by later ones; what that holder says, its own version alone understands.
    this.#ask("activeRuns", {}, ({ json }) => {
      if (this.#holder !== holder) return;
      // Who began a run that has just ended still asks there for what it has left.
      if (json === "0" && holder.idle) this.#post({ t: "yield" }, holder.epoch);
      holder.idle = json === "0";
      this.#world.after(GRACE_MS, () => {
        holder.outlived = false;
        this.#outlive();
      });
    });
  }

  /** Whether our own host had the agent last and has failed: by itself it would do the same again, and pay for it again. */
  #hasFailed() {
    return this.#last === this.#world.id && /"lifecycle":\{/.test(this.#own.get("status").json);
  }

  /** Another tab holds what we held: nothing of ours is written any more. */
  #robbed(epoch) {
    this.#guests = null;
    this.#stand();
    this.#letGo(epoch);
    this.#world.deliver({ t: "holder" });
  }

  /** Waits for a word of the holder, or of the next one. */
  #wait() {
    this.#stopWaiting();
    this.#stopWaiting = this.#world.after(this.#holder?.mute ? MUTE_MS : GRACE_MS, () => {
      if (!this.#holder) return this.#find();
      if (this.#holder.tab) return;
      // It lives and says nothing: it hangs, or is of another kind or version.
      this.#holder.mute = true;
      this.#moveOn();
      this.#post({ t: "who" });
      this.#wait();
    });
  }

  /** Asks the holder for all that there is. */
  #join() {
    const holder = this.#holder;
    holder.said = undefined;
    const ask = () => {
      if (this.#holder !== holder || holder.said !== undefined || holder.speaks !== VERSION) return;
      this.#post({ t: "join", low: this.#low(), tools: [...this.#tools.values()] }, holder.epoch);
      this.#world.after(ACK_MS, ask);
    };
    ask();
  }

  /** Our own host says that it holds the agent, or no more. */
  #holds({ epoch, stopped }) {
    const { id, host, soon, watch } = this.#world;
    if (epoch) {
      this.#stopWaiting();
      this.#newest = epoch;
      this.#holder = { epoch, tab: id };
      this.#lacks = false;
      // The tab that starts it anew says all that it is.
      if (!this.#going) this.#changes = {};
      this.#provides = false;
      this.#own.set("changes", { t: "changes", changes: this.#changes });
      this.#guests = new Guests({ host, soon, watch, post: (message) => this.#post(message, epoch), configured: (patch) => this.#change(patch) }, this.#tools, this.#own);
      this.#post({ t: "holds" }, epoch);
      this.#world.deliver({ t: "holder", epoch });
      // What its views show, another host has told until now.
      if (this.#last !== null && this.#last !== id) this.#world.deliver({ t: "again" });
      this.#tellOf(id);
      this.#moveOn();
    } else if (this.#guests) {
      const last = this.#holder.epoch;
      this.#guests.flush();
      this.#guests = null;
      this.#post({ t: "freed", stopped }, last);
      this.#world.deliver({ t: "holder" });
      this.#paused = this.#pauses && !stopped;
      this.#lost(last, stopped);
    }
  }

  /** The holder of this epoch is gone. `stopped`: on purpose; then nobody goes on before somebody starts it. */
  #lost(epoch, stopped) {
    if (this.#holder?.epoch !== epoch) return;
    const { tab, yields } = this.#holder;
    const mine = tab === this.#world.id;
    this.#holder = null;
    if (this.#taking) this.#goOn(this.#taken());
    else if (stopped) {
      if (this.#standby <= epoch) this.#standby = 0;
      return this.#settle();
    } else if (this.#standby && !mine && !yields) this.#goOn();
    this.#waits = true;
    this.#wait();
    this.#goOnAwake();
  }

  /** Nobody holds the agent: our own host answers, and what it says of itself is what the client sees. */
  #settle() {
    const waited = this.#waits;
    this.#waits = false;
    this.#stopWaiting();
    if (waited && this.#newest) this.#mirror(this.#own.values());
    this.#moveOn();
  }

  #mirror(messages) {
    for (const message of messages) this.#told(message);
    this.#world.deliver({ t: "again" });
  }

  /** What a host has told all. */
  #told(message) {
    if (message.t !== "changes") return this.#world.deliver(message);
    if (isObject(message.changes)) this.#changes = message.changes;
  }

  /** Tells the client that another tab holds the agent now; not of the first that it hears of. */
  #tellOf(tab) {
    const here = tab === this.#world.id;
    if (this.#last && this.#last !== tab) this.#tell("agent:notice", { kind: "holder", holder: here, ...(here && this.#robs && { error: ROBBED }) });
    this.#last = tab;
    this.#robs = false;
  }

  // ---------------------------------------------------------------- our own host

  fromHost(message) {
    if (this.#guests?.hears(message)) return;
    switch (message.t) {
      case "reply": {
        const entry = this.#pending.get(message.id);
        // It held the agent when it was asked.
        if (entry && message.error?.code === "ownership_lost" && repeats(entry.message)) return this.#send(entry);
        // A holder that is gone may have done it.
        if (entry?.number && message.error?.code === "not_running") return this.#replied({ ...message, error: LOST });
        return this.#replied(message);
      }
      case "holder":
        return this.#holds(message);
      case "call":
      case "abort":
      case "closed":
      case "lost":
        return this.#world.deliver(message);
    }
    if (message.t === "status" || message.t === "tools") this.#own.set(message.t, message);
    // Without an agent each tab changes sessions itself, and the others hear that they have changed.
    if (message.type === CHANGED && !this.#holder) {
      const { sessionId, change } = JSON.parse(message.json);
      this.#post({ t: "changed", sessionId, change }, this.#newest);
    }
    // A client that follows another host hears that host.
    if (this.#holder?.said === undefined) this.#world.deliver(message);
  }

  // ---------------------------------------------------------------- other tabs

  fromTab(message) {
    if (!isObject(message) || message.from === this.#world.id) return;
    if (this.#guests && isOlder(message) && message.epoch === this.#holder.epoch) return this.#refuseOlder(message);
    if (!isOurs(message)) return;
    const { t, from, epoch } = message;
    if (t === "changed") return void (this.#holder || this.#tell(CHANGED, { sessionId: message.sessionId, change: message.change }));
    const { speaks = EVER.includes(t) ? 1 : VERSION } = message;
    // A tab that has robbed us has the lock of its epoch, and so has one with which we cannot speak.
    const robs = this.#guests && epoch > this.#newest && /^(says|holds)$/.test(t);
    if (robs || (t === "holds" && speaks !== VERSION && !this.#guests)) return this.#world.alive((real) => real === epoch && this.#found(epoch, from, speaks));
    // Only a holder speaks to all.
    if (t === "says" && epoch >= this.#newest) this.#found(epoch, from);
    const holder = this.#holder;
    const holds = this.#guests !== null;
    if (holds && (t === "who" || (t === "holds" && epoch < this.#newest))) {
      // Also to one that was robbed and does not know.
      this.#post({ t: "holds" }, holder.epoch);
    } else if (t === "who") return;
    else if (t === "holds") {
      if (holder || epoch > this.#newest) this.#found(epoch, from);
      else this.#find(); // we thought that it was gone, or have heard of a later one that never was
    } else if (epoch !== holder?.epoch) return;
    else if (!holds) {
      if (t === "yield") holder.yields = true;
      if (from !== holder.tab) return;
      if (t === "freed") this.#lost(epoch, message.stopped === true);
      else if (t === "says") this.#hear(message);
    } else if (t === "join") this.#guests.join(from, message);
    else if (t === "command" && message.until >= this.#world.now()) this.#guests.command(from, message);
    else if (t === "answers") this.#guests.answer(from, message.message);
    else if (t === "yield") {
      this.#stand();
      this.#letGo(epoch);
    }
  }

  /** A tab of the first version, which knows of no other, asks for what it would not understand. */
  #refuseOlder({ t, from, id }) {
    const word = (message) => [from, message];
    const list = t === "join" ? [word({ t: "joined", mirror: [] }), word(this.#event("agent:error", NEWER))] : [word({ t: "reply", id, error: NEWER })];
    this.#post({ t: "says", v: 1, n: ++this.#toOlder, list }, this.#holder.epoch);
    // A later version than the first finds there what it needs; it may have believed another tab.
    if (t === "join") this.#post({ t: "holds" }, this.#holder.epoch);
  }

  /** What the holder's host says, in order; and which of it is for us. */
  #hear({ n, list }) {
    const holder = this.#holder;
    const ours = list.filter(([to]) => to === null || to === this.#world.id).map(([, message]) => message);
    if (holder.said === undefined) {
      const joined = ours.findIndex(({ t }) => t === "joined");
      if (joined < 0) return;
      holder.said = n;
      this.#joined(ours[joined]);
      ours.splice(0, joined + 1);
    } else if (n > holder.said + 1) {
      return this.#join(); // something was missed
    } else if (n <= holder.said) return;
    holder.said = n;
    for (const message of ours) this.#word(message);
  }

  #joined({ mirror }) {
    this.#mirror(mirror);
    this.#tellOf(this.#holder.tab);
    // What waits for the end of a run hears of it there.
    for (const entry of [...this.#pending.values()]) if (entry.to === this.#holder.epoch || (entry.to === HERE && WAITS.includes(entry.message.name))) this.#toHolder(entry);
    this.#moveOn();
  }

  #word(message) {
    const { epoch } = this.#holder;
    const entry = this.#sent.get(message.id);
    switch (message.t) {
      case "joined":
        return;
      case "ack":
        if (entry) entry.acked = true;
        return;
      case "reply":
        if (entry?.to !== epoch) return;
        // It lets the agent go: the next one answers.
        if (message.error?.code === "ownership_lost" && repeats(entry.message)) return void (entry.acked = true);
        return this.#replied({ ...message, id: entry.message.id });
      case "call":
      case "abort":
        return this.#world.deliver({ ...message, id: `${epoch}:${message.id}` });
      default:
        return this.#told(message);
    }
  }

  #tell(type, detail) {
    this.#world.deliver(this.#event(type, detail));
  }

  #event(type, detail) {
    return { t: "event", type, json: JSON.stringify({ workspace: this.#world.workspace, ...detail }) };
  }

  #post(message, epoch) {
    const versions = EVER.includes(message.t) ? { v: 1, speaks: VERSION } : { v: VERSION };
    this.#world.post({ ...versions, from: this.#world.id, epoch, ...message });
  }
}

/** Whether it is what a tab says that this version understands, as far as can be seen: any script of the origin can say something. */
const isOurs = (message) => {
  const { v, speaks = 1, t, from, epoch, ...more } = message;
  return v === (EVER.includes(t) ? 1 : VERSION) && Number.isSafeInteger(speaks) && typeof from === "string" && (t === "who" || (Number.isSafeInteger(epoch) && (epoch > 0 || t === "changed"))) && Object.hasOwn(SHAPES, t) && SHAPES[t](more);
};
/** Whether a tab of the first version asks a holder for something. */
const isOlder = ({ v, t, from }) => v === 1 && (t === "join" || t === "command") && typeof from === "string";
const isObject = (value) => value !== null && typeof value === "object";
const any = () => true;
const SHAPES = {
  who: any,
  holds: any,
  freed: any,
  yield: any,
  says: ({ n, list }) => n > 0 && Array.isArray(list) && list.every((item) => Array.isArray(item) && isObject(item[1]) && (item[1].t !== "joined" || (Array.isArray(item[1].mirror) && item[1].mirror.every(isObject)))),
  join: ({ low, tools }) => low > 0 && Array.isArray(tools) && tools.every(isObject),
  command: ({ id, name, args }) => id > 0 && typeof name === "string" && !OWN.includes(name) && isObject(args),
  answers: ({ message }) => isObject(message),
  changed: ({ sessionId, change }) => typeof sessionId === "string" && typeof change === "string",
};

/** What a start makes of an agent that runs already. */
const wanted = ({ ifRunning = "join" }) => ifRunning;
/** Of those that can be asked again, what would change nothing but this tab where an older version holds the agent. */
const CHANGES = ["configureAgent", "stopAgent", "interrupt"];

const repeats = ({ name, args }) => AGAIN.includes(name) || (KEYED.includes(name) && args.idempotencyKey !== undefined);

/** What of a provider holds no key. */
const OPEN = ["kind", "preset", "auth", "credentials", "allowHttp", "apiVersion", "model", "timeouts", "stream"];

/** Whether a provider says more than that, or anything beside it may: any script of the origin hears what tabs say to each other. */
const hasKeys = ({ provider, providers, providerOptions, serverTools, models, ...others }) =>
  isSecret([providerOptions, serverTools, models]) || namesKey(others) || [provider, ...Object.values(providers ?? {})].some((one) =>
    Object.entries(one ?? {}).some(([name, value]) => value != null && (OPEN.includes(name) ? name !== "model" && isSecret(value) : name !== "baseUrl" || mayHoldKey(String(value)))),
  );

/** What is said to a model or a tool, or kept for the page: it is no option, and may say anything. */
const SAID = ["metadata", "messages", "schema", "args", "answer"];
/** What is a name in the options of a command: only `configureAgent` says more of it. */
const NAMES = ["provider", "providers", "models", "fallback"];

/** Whether the options of a command may hold a key. */
const optionsHaveKeys = (options) => {
  if (!isObject(options)) return false;
  const { providerOptions, serverTools, ...others } = options;
  return NAMES.some((name) => isObject(others[name])) || isSecret([providerOptions, serverTools]) || namesKey(Object.fromEntries(Object.entries(others).filter(([name]) => !SAID.includes(name))));
};

/** Whether a text stands below a member that is named like a key, at any depth. What a rule about a tool says is none. */
const namesKey = (value, named = false) =>
  typeof value === "string" ? named && !["", "allow", "ask", "deny"].includes(value) : Object.entries(value ?? {}).some(([name, inner]) => namesKey(inner, named || NAMED.test(name) || /^keys?$/i.test(name)));

/** Whether options may hold a key: as a word that may be one, or as any text below a member that is named like one. */
const isSecret = (value, named = false) =>
  typeof value === "string" ? value !== "" && (named || value.split(/[\s,/]+/).some(isStrange)) : Object.entries(value ?? {}).some(([name, inner]) => isSecret(inner, named || NAMED.test(name)));
const NAMED = /^(headers|authorization|cookie|password)$|(secret|token|api_?key)$/i;

/** Whether an address may hold a key: as a query, a name, or a part of its path. A host is none, because each look-up of it tells it to others. */
const mayHoldKey = (address) => /[?#@]/.test(address) || address.replace(/^\w+:\/\/[^/\\]*/, "").split("/").some(isStrange);

/** Whether a word may be a key: it is long, and does not read like a name. */
const isStrange = (part) => part.length > 15 && !part.split(/[-_.]/).every((word) => PLAIN.test(word));

/** What names are put together of: a word, a number, or little of both. `gpt-4o-mini-2024-07-18` is a name, and no id of 32 digits and letters is. */
const PLAIN = /^([A-Z]?[a-z]*|[A-Z]*|\d*|\w{1,7})$/;

/** A configuration with something changed; `null` gives a member its default back. */
const changed = (config, patch) => Object.fromEntries(Object.entries({ ...config, ...patch }).filter(([, value]) => value !== null));

/** Who answers: a tab that goes on has its own provider and key, and no other tab hears of them. */
const ANSWERS = ["provider", "providers", "fallback", "model", "models", "providerOptions"];

/** What was changed, as other tabs hear of it: neither functions, which stay in their tab, nor what may hold a key, nor (`provides`) another provider and what goes with it. */
const told = (changes, provides) => Object.fromEntries(Object.entries(changes).filter(([name, value]) => !(provides && ANSWERS.includes(name)) && !(["providerOptions", "serverTools"].includes(name) && hasKeys({ [name]: value })) && !JSON.stringify(value)?.includes('"$fn"')));
