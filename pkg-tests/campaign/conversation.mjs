// One workspace on one wire, through all its lives: what was sent, acknowledged and done outside, and the judgement of it.
//
// Promises: nothing that was acknowledged is missing. No effect came twice, unless a person has answered that the call may be run
// again. A call whose outcome nobody knows is told as that. Each request was valid for its wire. The journal is signed and
// replays byte for byte. Leaves to others: how and when a life ends.
import assert from "node:assert/strict";
import { ending, delegated, job, model } from "./model.mjs";
import { hookedWorkers, keepShop, lies, moments } from "./page.mjs";

const STEPS = ["charge", "charge", "look", "post", "page", "delegate", "charge+look", "page+charge", "look+look", "charge+charge"];
let names = 0;

/** What a page of the campaign has before anything else. `liar`: its disk reports commits early. */
export const init = ({ liar } = {}) => `(${moments})(); ${liar ? `(${lies})();` : ""} (${hookedWorkers})(); (${keepShop})();`;

export class Conversation {
  jobs = [];
  accepted = [];
  reruns = new Map();
  #name = `c${++names}`;

  /** `onResume`: of the tools with effects. `liar`: its disk reports commits early. */
  constructor(t, { draw, row, host, onResume, liar = false }) {
    Object.assign(this, { t, draw, row, host, onResume, liar });
  }

  /** Its server, its signals, and the workers' script. */
  async ready() {
    const { t, row, draw, liar } = this;
    this.route = await t.wire(row, model(row, 1 + draw(6)));
    t.signal(`${this.#name}:accepted`, (text) => { this.accepted.push(text); });
    t.signal(`${this.#name}:rerun`, (key) => { this.reruns.set(key, (this.reruns.get(key) ?? 0) + 1); });
    t.env.site.serve("/campaign/hooks.js", `(${moments})(); ${liar ? `(${lies})();` : ""}`, {}, "text/javascript");
    t.env.site.serve("/campaign/worker.js", `import "/campaign/hooks.js"; import "/lodger/worker.js";`, {}, "text/javascript");
    return this;
  }

  /** The next jobs, drawn. */
  next(most = 2) {
    const { draw } = this;
    const made = Array.from({ length: 1 + (draw.chance(25) ? draw(most) : 0) }, (_, n) => job(`j${this.jobs.length + n}`, Array.from({ length: 1 + draw(3) }, () => draw.of(STEPS))));
    this.jobs.push(...made);
    return made;
  }

  /** A page opens it; what is there, judged, before anything goes on. */
  async open(page) {
    const [sent, done] = [this.route.requests.length, this.route.effects.length];
    const answer = this.draw.chance(30) ? "allow_once" : "deny";
    const { base } = this.route;
    const seen = await page.evaluate((options) => shop.open(options), { campaign: this.#name, name: this.#name, host: this.host, provider: this.row.provider(base), effects: `${base}/effect`, answer, onResume: this.onResume });
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
    return seen;
  }

  /** The last word: a new message is answered, and the whole is proven. */
  async finish(page) {
    const last = job("last", []);
    this.jobs.push(last);
    const { outcome, text } = await page.evaluate((texts) => shop.send(texts), [last.text]);
    assert.deepEqual([outcome, text], ["completed", ending("last")], "the next message is answered");
    this.judge(await page.evaluate(() => shop.show()), { over: true });
    const proof = await page.evaluate(() => shop.proof());
    assert.deepEqual(proof, { same: true, hmac: "verified" }, "replay and signature");
  }

  /** Long messages, of so many KB each, until one is refused or its run breaks down: how that was told. */
  async fill(page, kb) {
    const padding = `\n${"and so on ".repeat(100 * kb)}`;
    for (;;) {
      const [next] = this.next(1);
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
    for (const text of this.accepted) assert.ok([...said, ...queue].includes(text), `accepted, and lost: ${text}`);
    assert.equal(new Set([...said, ...queue]).size, said.length + queue.length, `no message is there twice: ${[...said, ...queue]}`);
    const calls = history.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-call"));
    assert.equal(new Set(calls.map(({ toolCallId }) => toolCallId)).size, calls.length, "no call twice");
    if (over) for (const { tool, status } of calls) assert.ok(["completed", "failed", "denied", "unknown"].includes(status), `a call of ${tool} is still ${status}`);
    for (const each of this.jobs) {
      for (const { name, key } of each.keys) this.#judgeCall(name, key, calls, tree, done);
      if (over && said.includes(each.text)) this.#judgeEnd(each, history, calls);
    }
    const known = new Set(this.jobs.flatMap(({ keys }) => keys.flatMap(({ name, key }) => (name === "delegate" ? [`${delegated(key)}.1`] : [key]))));
    for (const { path } of this.route.effects) assert.ok(known.has(path.split("/").at(-1)), `an effect that nobody has asked for: ${path}`);
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
