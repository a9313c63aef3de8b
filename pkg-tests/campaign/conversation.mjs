// One workspace on one wire, through all its lives: what was sent, acknowledged and done outside, and the judgement of it.
//
// Promises: nothing that was acknowledged is missing. No effect came twice, unless a person has answered that the call may be run
// again. A call whose outcome nobody knows is told as that. Each request was valid for its wire. The journal is signed and
// replays byte for byte. What was edited, removed or cleared is as it has to be, and nothing else is touched. Leaves to others: how
// and when a life ends, and what a change makes of a conversation (`line`).
import assert from "node:assert/strict";
import { sumsUp } from "../servers/wires/index.mjs";
import { CHANGES, Line } from "./line.mjs";
import { delegated, ending, job, model, reading } from "./model.mjs";
import { hookedWorkers, hushed, keepShop, lies, moments } from "./page.mjs";

/** How many percent of what is sent at once has a change of the conversation, and how many of these begin with it. */
const CHANGED = 55;
const FIRST = 70;
const STEPS = ["charge", "charge", "look", "post", "page", "delegate", "charge+look", "page+charge", "look+look", "charge+charge"];
let names = 0;

/** What a page of the campaign has before anything else. `liar`: its disk reports commits early. `deaf`: it hears no notice. */
export const init = ({ liar, deaf } = {}) => `(${moments})(); ${liar ? `(${lies})();` : ""} ${deaf ? `(${hushed})();` : ""} (${hookedWorkers})(); (${keepShop})();`;

export class Conversation {
  jobs = [];
  accepted = [];
  reruns = new Map();
  /** The changes that were told as done, and how many have begun. */
  changes = [];
  begun = 0;
  /** What the conversation may be: one, or two where nobody knows whether a change was stored. */
  #lines = [new Line()];
  /** The messages' ids, and which have been shown or waited once. */
  #ids = new Map();
  #seen = new Set();
  #heard = 0;
  #name = `c${++names}`;

  /** `onResume`: of the tools with effects. `liar`: its disk reports commits early. */
  constructor(t, { draw, row, host, onResume, liar = false }) {
    Object.assign(this, { t, draw, row, host, onResume, liar });
  }

  /** Its server, its signals, and the workers' script. */
  async ready() {
    const { t, row, draw, liar } = this;
    this.route = await t.wire(row, model(row, 1 + draw(6)));
    t.signal(`${this.#name}:accepted`, (text) => { this.#accept(text); });
    t.signal(`${this.#name}:changing`, (change) => { this.#hear(); this.begun++; this.#lines = this.#lines.flatMap((line) => [line, line.changed(change)]); });
    t.signal(`${this.#name}:changed`, (change) => { this.changes.push(change.act); this.#lines = this.#lines.filter((_, n) => n % 2); });
    t.signal(`${this.#name}:rerun`, (key) => { this.reruns.set(key, (this.reruns.get(key) ?? 0) + 1); });
    t.env.site.serve("/campaign/hooks.js", `(${moments})(); ${liar ? `(${lies})();` : ""}`, {}, "text/javascript");
    t.env.site.serve("/campaign/worker.js", `import "/campaign/hooks.js"; import "/lodger/worker.js";`, {}, "text/javascript");
    return this;
  }

  /** One more job. */
  job(steps) {
    const made = job(`j${this.jobs.length}`, steps);
    this.jobs.push(made);
    return made;
  }

  #steps() { return Array.from({ length: 1 + this.draw(3) }, () => this.draw.of(STEPS)); }

  /** The next jobs, drawn, and sometimes a change of the conversation among them; each is `{ text, keys }` or `{ act, keys }`. */
  next(most = 2) {
    const { draw } = this;
    const made = Array.from({ length: 1 + (draw.chance(25) ? draw(most) : 0) }, () => this.job(this.#steps()));
    const change = draw.chance(CHANGED) ? this.change(draw.of(CHANGES)) : [];
    return draw.chance(FIRST) ? [...change, ...made] : [...made, ...change];
  }

  /** A change of this kind, of messages that were shown; of another kind where it cannot be. */
  change(act) {
    const { draw } = this;
    const line = this.#lines.at(-1);
    const has = (id) => this.#ids.has(id);
    const known = line.shown.filter(has);
    const versions = line.versions().map(([id]) => id).filter(has);
    // Those that are sent before it have no id yet, and may be what it would take the place of.
    if (act === "switch" && !versions.length) act = "edit";
    if (["edit", "remove"].includes(act) && !known.length) act = "archive";
    if (act === "switch") { const of = draw.of(versions); return [{ act, of, message: this.#ids.get(of), keys: [] }]; }
    if (act === "remove") { const of = draw.of(known); return [{ act, of, message: this.#ids.get(of), keys: [] }]; }
    if (act === "edit") { const of = draw.of(known); const { id, text, keys } = this.job(this.#steps()); return [{ act, of, message: this.#ids.get(of), id, text, keys }]; }
    // What is made anew does no effect a second time.
    if (act === "regenerate") return [this.job(["look"]), { act, keys: [{ name: "look" }] }];
    // There is something to sum up then.
    if (act === "compact") return [this.job(["look"]), { act, keys: [] }];
    if (act === "configure") return [{ act, words: `You keep shop number ${this.begun + 1}.`, keys: [] }];
    return [{ act, keys: [] }];
  }

  #accept(text) {
    this.accepted.push(text);
    const { id } = this.jobs.find((job) => job.text === text);
    this.#seen.add(id);
    this.#lines = this.#lines.map((line) => line.sent(id));
  }

  /** What was asked of the model since, by whose words. A delegate has its own, and so has a summary. */
  #hear() {
    const asked = this.route.requests.slice(this.#heard).filter(({ json }) => { const job = reading(json ?? {}); return job && !job.id.includes("d") && !sumsUp(json); });
    this.#heard = this.route.requests.length;
    if (!asked.length) return;
    const says = ({ words }) => asked.every(({ text }) => text.includes(words));
    assert.ok(this.#lines.some(says), `the model was not instructed by ${this.#lines.map(({ words }) => words).join(" or by ")}`);
    this.#lines = this.#lines.filter(says);
  }

  /**
   * A page opens it; what is there, judged, before anything goes on. `mayBeLost`: the browser may have dropped it. Where that is told,
   * it is `lost`, and there is nothing.
   */
  async open(page, { mayBeLost = false } = {}) {
    const [sent, done] = [this.route.requests.length, this.route.effects.length];
    const answer = this.draw.chance(30) ? "allow_once" : "deny";
    const { base } = this.route;
    const seen = await page.evaluate((options) => shop.open(options), { campaign: this.#name, name: this.#name, host: this.host, provider: this.row.provider(base), effects: `${base}/effect`, answer, onResume: this.onResume });
    if (seen.lost) {
      assert.ok(mayBeLost, "a loss is told, and the browser has dropped nothing");
      assert.deepEqual([seen.history, seen.queue, seen.tree], [[], [], []], "what is told as lost is gone as a whole");
      assert.equal(this.route.requests.length, sent, "a start sends nothing");
      return seen;
    }
    if (!seen.asked) assert.equal(this.route.requests.length, sent, "a start sends nothing");
    // A run whose question is answered has gone on since.
    this.judge(seen, { done });
    return seen;
  }

  /** All that was under way comes to its end. */
  async settle(page) {
    for (const { outcome, error } of await page.evaluate(() => shop.settle())) assert.equal(outcome, "completed", `a run went on and ended: ${JSON.stringify(error)}`);
    const seen = await page.evaluate(() => shop.show());
    assert.deepEqual([seen.view, seen.queue, seen.lifecycle], ["ready", [], "Running"], "all has come to its end");
    this.judge(seen, { over: true });
    await this.#past(page);
    return seen;
  }

  /** What was removed is in no row, and older versions can be looked at. */
  async #past(page) {
    const [line] = this.#lines;
    if (line.gone.size) assert.deepEqual(await page.evaluate((ids) => shop.found(ids), [...line.gone]), [], "it was removed, and is still stored");
    for (const [id, was] of line.versions().filter(([id]) => this.#ids.has(id))) {
      const said = await page.evaluate((version) => shop.said(version), this.#ids.get(id));
      assert.deepEqual(said, was.map((id) => this.jobs.find((job) => job.id === id).text), `the conversation as it was with ${id}`);
    }
  }

  /** The last word: the conversation is changed once more, a new message is answered, and the whole is proven. */
  async finish(page) {
    const change = this.change(this.draw.of(CHANGES));
    const last = job("last", []);
    this.jobs.push(last);
    const { outcome, text } = await page.evaluate((steps) => shop.send(steps), [...change, last]);
    assert.deepEqual([outcome, text], ["completed", ending("last")], "the next message is answered");
    this.judge(await page.evaluate(() => shop.show()), { over: true });
    await this.#past(page);
    const proof = await page.evaluate(() => shop.proof());
    assert.deepEqual(proof, { same: true, hmac: "verified" }, "replay and signature");
  }

  /** Long messages, of so many KB each, until one is refused or its run breaks down: how that was told. */
  async fill(page, kb) {
    const padding = `\n${"and so on ".repeat(100 * kb)}`;
    for (;;) {
      const next = this.job(this.#steps());
      next.text += padding;
      const full = await page.evaluate((text) => shop.fill(text), next.text);
      if (full) return full;
    }
  }

  /** The agent of a page is started again after it was lost. */
  async restart(page) {
    const done = this.route.effects.length;
    this.judge(await page.evaluate(() => shop.restart()), { done });
  }

  /** How often this effect came, among all or the first ones. */
  effects(key, until) {
    return this.route.effects.slice(0, until).filter(({ path }) => path.endsWith(`/${key}`)).length;
  }

  /**
   * What is shown agrees with itself, with what was acknowledged, and with what happened outside. `over`: nothing is under way.
   * `done`: how many effects there were when it was looked at, at the least.
   */
  judge({ history, queue, tree }, { over = false, done } = {}) {
    assert.deepEqual(this.route.violations, [], "each request was valid for its wire");
    const ids = history.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, "no message twice");
    const said = history.filter(({ role }) => role === "user").map(({ parts }) => parts[0].text);
    this.#judgeLine(history, queue, over);
    assert.equal(new Set([...said, ...queue]).size, said.length + queue.length, `no message is there twice: ${[...said, ...queue]}`);
    const calls = history.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-call"));
    assert.equal(new Set(calls.map(({ toolCallId }) => toolCallId)).size, calls.length, "no call twice");
    if (over) for (const { tool, status } of calls) assert.ok(["completed", "failed", "denied", "unknown"].includes(status), `a call of ${tool} is still ${status}`);
    for (const each of this.jobs) {
      const left = this.#seen.has(each.id) && ![...said, ...queue].includes(each.text);
      for (const { name, key } of each.keys) { if (left) this.#judgeLeft(name, key, tree); else this.#judgeCall(name, key, calls, tree, done); }
      if (over && said.includes(each.text)) this.#judgeEnd(each, history, calls);
    }
    const known = new Set(this.jobs.flatMap(({ keys }) => keys.flatMap(({ name, key }) => (name === "delegate" ? [`${delegated(key)}.1`] : [key]))));
    for (const { path } of this.route.effects) assert.ok(known.has(path.split("/").at(-1)), `an effect that nobody has asked for: ${path}`);
  }

  /** It shows what was accepted and has not left, in its order, and nothing that has left. */
  #judgeLine(history, queue, over) {
    this.#hear();
    const idOf = (text) => this.jobs.find((job) => job.text === text)?.id ?? text;
    const people = history.filter(({ role }) => role === "user");
    const ids = [...people.map(({ parts }) => idOf(parts[0].text)), ...queue.map(idOf)];
    const answers = new Map(over ? history.flatMap(({ role, versions, compactions, parts }, n) => (role === "assistant" && (parts.length || !compactions) ? [[idOf(history[n - 1].parts[0].text), versions?.length ?? 1]] : [])) : []);
    const faults = this.#lines.map((line) => line.fault(ids, answers, (id) => !this.#seen.has(id)));
    assert.ok(faults.includes(undefined), faults.at(-1));
    for (const { id, parts } of people) this.#ids.set(idOf(parts[0].text), id);
    for (const id of ids) this.#seen.add(id);
    this.#lines = this.#lines.filter((_, n) => !faults[n]).map((line) => ids.reduce((line, id) => line.sent(id), line));
    // Two that show the same differ in nothing, or in the words that the next request tells.
    if (over) this.#lines = this.#lines.filter(({ words }, n, all) => all.findIndex((other) => other.words === words) === n);
  }

  #judgeCall(name, key, calls, tree, done) {
    const own = calls.filter((call) => (call.arguments?.key ?? call.arguments?.title) === key || (name === "delegate" && call.arguments?.task?.includes(`Job ${delegated(key)}:`)));
    assert.ok(own.length <= 1, `${key} was called ${own.length} times`);
    const [call] = own;
    if (name === "page") return void assert.equal(tree.filter((title) => title === key).length, call?.status === "completed" ? 1 : 0, `the page ${key} and its outcome (${call?.status}) are one`);
    const effect = name === "delegate" ? `${delegated(key)}.1` : key;
    const happened = this.effects(effect);
    assert.ok(happened <= 1 + (this.reruns.get(effect) ?? 0), `${effect} was done ${happened} times`);
    if (this.effects(effect, done)) assert.ok(call, `${key} was done, and no call is there`);
    if (["charge", "post"].includes(name) && call?.status === "completed") assert.ok(happened >= 1, `${key} is told as done, and was not`);
  }

  /** Of a call whose message has left there is what it has done, and that once. */
  #judgeLeft(name, key, tree) {
    if (name === "page") return void assert.ok(tree.filter((title) => title === key).length <= 1, `the page ${key} is there twice`);
    const effect = name === "delegate" ? `${delegated(key)}.1` : key;
    const happened = this.effects(effect);
    assert.ok(happened <= 1 + (this.reruns.get(effect) ?? 0), `${effect} was done ${happened} times`);
  }

  /** A job that has come to its end has all its calls, and the model was told of each that nobody knows. */
  #judgeEnd({ id, text, keys }, history, calls) {
    const at = history.findIndex(({ role, parts }) => role === "user" && parts[0].text === text);
    const answer = history[at + 1];
    assert.deepEqual([answer?.role, answer?.status], ["assistant", "complete"], `${id} was answered`);
    assert.equal(answer.parts.at(-1).text, ending(id), `the answer of ${id} is whole`);
    assert.equal(answer.parts.filter(({ type }) => type === "tool-call").length, keys.length, `the calls of ${id}`);
    for (const { status, error, toolCallId } of calls) if (status === "unknown") assert.match(error.message, /unknown/, toolCallId);
  }
}
