// A world of tabs for `Tabs`, in which every order of things can be played. Messages are late, lost or come twice,
// tabs crash or freeze, holders are robbed, scripts lie. The host in each tab is a small one that keeps the promises of
// the real one. The epoch fences, a stop is recorded before the lock is let go, what is written is told.

import { Tabs } from "../tabs/tabs.js";

/** Random numbers from a seed (mulberry32). */
export function random(seed) {
  let a = seed >>> 0;
  return (n) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

export class Broken extends Error {}
const law = (holds, what) => {
  if (!holds) throw new Broken(what);
};

/** The agent's host in one tab, as far as tabs can see it. */
class Host {
  epoch = 0; // while it runs
  told = 0; // events of this epoch
  todo = [];
  waiters = []; // commands that are answered when something is said
  constructor(world, tab) {
    this.world = world;
    this.tab = tab;
  }

  say(message) {
    this.tab.tabs.fromHost(message);
  }
  status(lifecycle) {
    this.lifecycle = lifecycle;
    this.say({ t: "status", json: lifecycle });
  }
  reply(id, result) {
    this.say({ t: "reply", id, ...result });
  }

  /** One of the things it was asked. */
  step() {
    const { world, tab } = this;
    const [{ id, name, args }] = this.todo.splice(0, 1);
    const { disk } = world;
    switch (name) {
      case "startAgent":
      case "standIn": {
        if (this.epoch) return this.reply(id, (args.ifRunning ?? args.config?.ifRunning) === "reject" ? { error: { code: "already_running" } } : {});
        if (disk.owner && disk.owner !== tab) {
          if (args.ifRunning !== "takeover") return this.reply(id, { error: { code: "already_running" } });
          world.rob(disk.owner);
        }
        if (name === "standIn" && world.faults.rooms > 0 && world.draw(2)) {
          world.faults.rooms--;
          return this.reply(id, { error: { code: "wasm_unavailable" } });
        }
        if (name === "standIn" && args.after !== undefined && disk.stopped >= (args.after || disk.epoch)) return this.reply(id, { error: { code: "not_running" } });
        disk.owner = tab;
        // Between the lock and the epoch another tab may rob it.
        return void this.todo.unshift({ name: "begin", id, args: { name } });
      }
      case "begin": {
        if (disk.owner !== tab) return this.reply(id, { error: { code: "ownership_lost" } });
        this.epoch = ++disk.epoch;
        this.told = 0;
        world.held.set(this.epoch, tab);
        if (args.name === "startAgent") disk.started = this.epoch;
        this.say({ t: "holder", epoch: this.epoch });
        this.status("Running");
        return this.reply(id, {});
      }
      case "sendMessage": {
        if (!this.epoch) return this.reply(id, { error: { code: "not_running" } });
        if (disk.epoch !== this.epoch) {
          this.fail();
          return this.reply(id, { error: { code: "ownership_lost" } });
        }
        const key = args.idempotencyKey;
        if (key === undefined || !disk.log.some((entry) => entry.key === key)) {
          disk.log.push({ epoch: this.epoch, text: args.text, key });
          this.say({ t: "event", type: "said", epoch: this.epoch, n: ++this.told });
          this.over({});
        }
        return this.reply(id, { json: JSON.stringify({ runId: args.text }) });
      }
      case "wait":
        return void this.waiters.push(id);
      case "watch":
        this.say({ t: "history", epoch: this.epoch, n: this.epoch ? this.told : 0 });
        return this.reply(id, {});
      case "activeRuns":
        // A run is over in a step here; at times another is at work.
        return this.reply(id, { json: world.draw(3) ? "0" : "1" });
      case "stopAgent":
        if (this.epoch && disk.epoch === this.epoch) {
          disk.stopped = this.epoch;
          this.free("Stopped", true);
        } else if (this.epoch) this.fail();
        return this.reply(id, {});
      case "letGo":
        if (this.epoch === args.epoch) this.free("Stopped", false);
        return this.reply(id, {});
      default:
        return this.reply(id, {});
    }
  }

  /** All that wait are answered. */
  over(result) {
    for (const id of this.waiters.splice(0)) this.reply(id, result);
  }
  fail() {
    this.free("Error", false);
  }
  free(lifecycle, stopped) {
    const { epoch } = this;
    // Those who waited for a run that was stopped hear its end, the others that nobody here knows it.
    this.over(stopped ? {} : { error: { code: "ownership_lost" } });
    this.epoch = 0;
    if (this.world.disk.owner === this.tab) this.world.disk.owner = null;
    this.status(lifecycle);
    this.say({ t: "holder", stopped });
    this.world.release(epoch);
  }
}

/** What a page does with a workspace, and what it must see. */
class Tab {
  alive = true;
  frozen = false;
  asleep = false; // hears and says nothing
  timers = [];
  soon = [];
  heard = null; // { epoch, n }: the last event; null: the view is read anew
  asked = new Map(); // command -> what was asked
  answers = new Map();
  status = null;
  lastCommand = 0;
  joined = 0; // the epoch in which it joined

  constructor(world, id, newer) {
    this.world = world;
    this.id = id;
    // How many versions its package is ahead: it speaks as this one does, with higher numbers.
    this.newer = newer;
    this.host = new Host(world, this);
    const own = (then) => (...args) => this.alive && then(...args);
    this.tabs = new Tabs({
      id,
      workspace: "w",
      post: (message) => world.post(this, message),
      host: (message) => {
        if (message.t !== "command") return;
        law(message.id > 0 && message.id < 2 ** 32, `a host knows no command ${message.id}`);
        this.host.todo.push(message);
      },
      deliver: (message) => this.deliver(message),
      after: (ms, then) => {
        const timer = { due: world.now + ms, then };
        this.timers.push(timer);
        return () => (this.timers = this.timers.filter((other) => other !== timer));
      },
      sleep: () => {
        this.asleep = true;
        world.drop(this);
      },
      wake: () => (this.asleep = false),
      soon: (then) => this.soon.push(then),
      now: () => world.now,
      alive: (then) => world.later(this, "alive", own(() => then(Math.max(0, ...world.held.keys()), world.disk.owner !== null))),
      gone: (epoch, then) => world.whenFree(this, epoch, own(then)),
      watch: (tab, then) => world.whenGone(this, tab, own(then)),
    });
    this.command("watch", {});
  }

  command(name, args) {
    const id = ++this.lastCommand;
    this.asked.set(id, { name, args: { ...args } });
    this.tabs.fromClient({ t: "command", id, name, args });
  }

  deliver(message) {
    const { id } = this;
    switch (message.t) {
      case "reply":
        law(this.asked.has(message.id), `${id}: a reply to nothing`);
        law(!this.answers.has(message.id), `${id}: command ${message.id} is answered twice`);
        this.answers.set(message.id, message);
        if (this.asked.get(message.id).name === "startAgent" && !message.error) this.joined = this.asked.get(message.id).args.ifRunning === "join" ? this.world.disk.epoch : 0;
        return;
      case "status":
        this.status = message.json;
        return;
      case "again":
        this.heard = null;
        return this.command("watch", {});
      case "history":
        law(!this.heard || this.heard.epoch !== message.epoch || message.n >= this.heard.n, `${id}: the history is older than what was heard`);
        this.heard = { epoch: message.epoch, n: message.n };
        return;
      case "event":
        if (message.type !== "said") return;
        if (this.heard) {
          const { epoch, n } = this.heard;
          // A holder that begins has a new epoch, and its own client hears it from the first word.
          law(message.epoch === epoch ? message.n === n + 1 : message.epoch > epoch && message.n === 1, `${id}: event ${message.epoch}:${message.n} after ${epoch}:${n}`);
          this.heard = { epoch: message.epoch, n: message.n };
        }
    }
  }
}

/** A message as a package says or hears it that is so many versions ahead. What all versions say has the number 1. */
function inVersion(message, ahead) {
  const { v, speaks } = message;
  return structuredClone({ ...message, v: v === 1 ? 1 : v + ahead, ...(speaks !== undefined && { speaks: speaks + ahead }) });
}

export class World {
  now = 0;
  disk = { epoch: 0, stopped: 0, owner: null, log: [], started: 0 };
  held = new Map(); // epoch -> the tab whose lock says that it lives
  waits = []; // [tab, epoch, then] for such a lock
  watches = []; // [tab, other's id, then]
  pending = []; // { tab, what, then }: callbacks that are due
  links = new Map(); // "from to" -> messages
  trace = [];
  texts = 0;

  constructor(seed, tabs, faults) {
    this.draw = random(seed);
    this.faults = faults; // how many messages may be lost or come twice, tabs crash or freeze
    this.tabs = [];
    for (let n = 0; n < tabs; n++) this.open();
  }

  open() {
    this.tabs.push(new Tab(this, `t${this.tabs.length}`, this.faults.versions ? this.draw(2) : 0));
  }
  get living() {
    return this.tabs.filter(({ alive }) => alive);
  }
  later(tab, what, then) {
    this.pending.push({ tab, what, then });
  }
  post(from, message) {
    law(from.alive, "a dead tab speaks");
    if (from.asleep) return;
    const copy = inVersion(message, from.newer ?? 0);
    for (const to of this.living) {
      if (to === from || to.asleep) continue;
      const link = `${from.id} ${to.id}`;
      if (!this.links.has(link)) this.links.set(link, { to, list: [] });
      this.links.get(link).list.push(copy);
    }
  }
  whenFree(tab, epoch, then) {
    if (this.held.has(epoch)) this.waits.push([tab, epoch, then]);
    else this.later(tab, `gone ${epoch}`, then);
  }
  release(epoch) {
    this.held.delete(epoch);
    for (const [tab, of, then] of this.waits) if (of === epoch) this.later(tab, `gone ${epoch}`, then);
    this.waits = this.waits.filter(([, of]) => of !== epoch);
  }
  whenGone(tab, other, then) {
    if (this.tabs.some(({ id, alive }) => id === other && alive)) this.watches.push([tab, other, then]);
    else this.later(tab, `closed ${other}`, then);
  }
  rob(tab) {
    this.later(tab, "robbed", () => {
      // Until it hears of it, it thinks that it holds.
      if (this.disk.owner !== tab && tab.host.epoch) tab.host.fail();
    });
  }
  crash(tab) {
    tab.alive = false;
    if (this.disk.owner === tab) this.disk.owner = null;
    for (const [epoch, holder] of [...this.held]) if (holder === tab) this.release(epoch);
    for (const [to, other, then] of this.watches) if (other === tab.id) this.later(to, `closed ${other}`, then);
    this.watches = this.watches.filter(([, other]) => other !== tab.id);
    this.drop(tab);
  }
  /** What was on its way to a tab never comes. */
  drop(tab) {
    for (const [link, { to }] of this.links) if (to === tab) this.links.delete(link);
  }

  /** Everything that may happen next. */
  moves(calm) {
    const moves = [];
    const runs = (tab) => tab.alive && !tab.frozen;
    for (const tab of this.tabs) {
      if (!runs(tab)) continue;
      if (tab.soon.length) moves.push(["soon", tab]);
      if (tab.host.todo.length) moves.push(["host", tab]);
    }
    for (const link of this.links.values()) if (link.list.length && runs(link.to)) moves.push(["hear", link]);
    for (const due of this.pending) if (runs(due.tab)) moves.push(["due", due]);
    // Time passes when it likes; when all is calm only once nothing else is left to do.
    if (!calm || !moves.length) {
      const timers = this.tabs.filter(runs).flatMap((tab) => tab.timers.map((timer) => [tab, timer]));
      const first = timers.sort(([, a], [, b]) => a.due - b.due)[0];
      if (first) moves.push(["timer", first]);
    }
    return moves;
  }

  play([kind, what]) {
    switch (kind) {
      case "soon":
        return what.soon.shift()();
      case "host":
        return what.host.step();
      case "hear":
        return what.to.tabs.fromTab(inVersion(what.list.shift(), -what.to.newer));
      case "due":
        this.pending.splice(this.pending.indexOf(what), 1);
        return what.then();
      case "timer": {
        const [tab, timer] = what;
        tab.timers.splice(tab.timers.indexOf(timer), 1);
        this.now = Math.max(this.now, timer.due);
        return timer.then();
      }
    }
  }

  note(kind, what) {
    const name = kind === "hear" ? `${what.to.id} hears ${JSON.stringify(what.list[0])}` : kind === "due" ? `${what.tab.id} ${what.what}` : kind === "timer" ? `${what[0].id} timer` : kind === "host" ? `${what.id} host ${JSON.stringify(what.host.todo[0])}` : what.id;
    this.trace.push(`${kind} ${name}`);
  }

  /** Something happens: mostly what is due, at times what a person or fate does. */
  step() {
    const { draw, faults, living } = this;
    const dice = draw(100);
    const tab = living[draw(living.length)];
    if (dice < 14) return this.person(tab);
    if (dice < 16 && faults.crashes > 0 && living.length > 1) {
      faults.crashes--;
      this.trace.push(`crash ${tab.id}`);
      this.crash(tab);
      if (draw(2)) this.open();
      return;
    }
    if (dice === 17 && faults.lies > 0) {
      faults.lies--;
      this.lie();
      return;
    }
    if (dice < 18 && faults.freezes > 0) {
      faults.freezes--;
      this.trace.push(`${tab.frozen ? "wake" : "freeze"} ${tab.id}`);
      tab.frozen = !tab.frozen;
      return;
    }
    const links = [...this.links.values()].filter(({ list, to }) => list.length && to.alive);
    if (dice < 21 && faults.losses > 0 && links.length) {
      faults.losses--;
      const link = links[draw(links.length)];
      if (draw(2)) link.list.shift();
      else link.list.splice(1, 0, link.list[0]);
      this.trace.push(`lost or twice to ${link.to.id}`);
      return;
    }
    const moves = this.moves(false);
    if (!moves.length) return;
    const move = moves[draw(moves.length)];
    this.note(...move);
    this.play(move);
  }

  /** Some script of the origin says that it holds the agent. */
  lie() {
    const epoch = this.disk.epoch + 1 + this.draw(2);
    const t = ["holds", "says", "freed"][this.draw(3)];
    this.trace.push(`lie ${t} ${epoch}`);
    this.post({ id: "liar", alive: true }, { v: t === "says" ? 5 : 1, speaks: 5, from: "liar", epoch, t, n: 1, list: [] });
  }

  person(tab) {
    if (tab.frozen) return;
    const { draw } = this;
    const words = ["sendMessage", "sendMessage", "sendMessage", "startAgent", "startAgent", "wait", "stopAgent", "sleep", "wake"];
    const name = words[draw(words.length)];
    this.trace.push(`${tab.id} ${name}`);
    if (name === "sleep" || name === "wake") return tab.tabs.fromClient({ t: "life", event: name });
    // At times several persons, or one with several windows, want it at once.
    if (name === "startAgent" && !draw(6)) return this.living.filter(({ frozen }) => !frozen).forEach((all) => all.command(name, { ifRunning: "takeover" }));
    if (name === "startAgent") return tab.command(name, { ifRunning: ["reject", "join", "join", "takeover"][draw(4)] });
    if (name === "stopAgent" && draw(3)) return;
    tab.command(name, name === "sendMessage" ? { text: `m${++this.texts}` } : {});
  }

  /** Nothing goes wrong any more: everything comes to rest. Then everybody must agree. */
  rest() {
    // Words are lost to a page that sleeps, and such a page is told when it wakes.
    for (const tab of this.living) {
      tab.frozen = false;
      tab.tabs.fromClient({ t: "life", event: "wake" });
    }
    for (let n = 0; n < 20_000; n++) {
      const moves = this.moves(true);
      const waited = moves.length ? undefined : this.living.find(({ host }) => host.waiters.length);
      if (waited) {
        waited.host.over({});
        continue;
      }
      if (!moves.length) return this.judge();
      const move = moves[this.draw(moves.length)];
      this.note(...move);
      this.play(move);
    }
    throw new Broken("it does not come to rest");
  }

  judge() {
    const { disk } = this;
    const texts = disk.log.map(({ text }) => text);
    law(new Set(texts).size === texts.length, `something was done twice: ${texts}`);
    law(disk.log.every(({ epoch }, n) => n === 0 || epoch >= disk.log[n - 1].epoch), "an older holder has written after a newer one");
    const holders = this.living.filter(({ host }) => host.epoch);
    law(holders.length <= 1, "two hold the agent");
    law(!holders.length || holders[0].host.epoch === disk.epoch, "who holds the agent has an old epoch");
    const [holder] = holders;
    // A newer version that has joined has got the agent, unless a person has it back.
    law(!holder || holder.newer || !this.living.some(({ newer, joined }) => newer && joined > disk.stopped && joined >= disk.started), "an older version keeps the agent from a newer one");
    // A tab that has joined goes on, unless the agent was stopped on purpose.
    law(holders.length || !this.living.some(({ joined }) => joined > disk.stopped), "nobody goes on, though somebody has joined");
    for (const tab of this.living) {
      for (const [id, { name, args }] of tab.asked) {
        const answer = tab.answers.get(id);
        law(answer, `${tab.id}: ${name} (${id}) was never answered`);
        const code = answer.error?.code;
        law(name !== "wait" || code !== "ownership_lost", `${tab.id}: a wait (${id}) is told that the holder is gone, and the next one knows`);
        law(name !== "startAgent" || args.ifRunning !== "takeover" || !["already_running", "ownership_lost"].includes(code), `${tab.id}: a take-over (${id}) is refused with ${code}, and another tab has won`);
        law(code !== "newer_version" || !tab.newer, `${tab.id}: ${name} (${id}) is told of a newer version, and there is none`);
        if (name !== "sendMessage") continue;
        const done = texts.includes(args.text);
        law(code === undefined ? done : code !== "not_running" || !done, `${tab.id}: ${args.text} is ${done ? "" : "not "}done, and was answered by ${code ?? "yes"}`);
      }
      // What a holder of another version says is not for this tab.
      if (holder && holder.newer !== tab.newer) continue;
      const expected = holder?.host.lifecycle;
      law(!expected || tab.status === expected, `${tab.id} sees ${tab.status}, the holder is ${expected}`);
      law(expected || tab.status !== "Running", `${tab.id} sees ${tab.status}, nobody holds the agent`);
      if (!expected) continue;
      const { epoch, told } = holder.host;
      law(told === 0 || (tab.heard?.epoch === epoch && tab.heard.n === told), `${tab.id} has heard ${JSON.stringify(tab.heard)} of ${epoch}:${told}`);
    }
  }
}

/** Plays one schedule; throws `Broken` with its trace where a law is broken. */
export function schedule(seed, { tabs = 2 + (seed % 3), steps = 20 + (seed % 6) * 20 } = {}) {
  const draw = random(seed ^ 0x5eed);
  const world = new World(seed, tabs, { losses: draw(4), crashes: draw(3), freezes: draw(4), lies: draw(6) === 0 ? 1 : 0, rooms: draw(3), versions: draw(4) === 0 });
  try {
    for (let n = 0; n < steps; n++) world.step();
    world.rest();
  } catch (error) {
    error.message = `seed ${seed}: ${error.message}\n${world.trace.slice(-Number(globalThis.process?.env.LODGER_TRACE ?? 60)).join("\n")}`;
    throw error;
  }
  return world;
}
