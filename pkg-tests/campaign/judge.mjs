// The judge of the judge: worlds in which the promises are broken, and the campaign has to find that. A case passes when it was
// found, and fails when nothing was.
import assert from "node:assert/strict";
import { crasher } from "../lib/crash.mjs";
import { WIRES } from "../servers/wires/index.mjs";
import { Conversation, init } from "./conversation.mjs";
import { drawer } from "./draw.mjs";
import { endAt, play } from "./kills.mjs";
import { job } from "./model.mjs";
import { judgeShown } from "./shown.mjs";
import { world } from "./world.mjs";

const TWICE = /was done 2 times/;
const LOST = /accepted, and lost/;
const EITHER = /was done \d times|accepted, and lost|no call is there|told as done, and was not/;
/** At most so many conversations at random moments, of which one has to be found guilty. */
const MOST = 20;

/** What is wrong with the world, at which moment its page crashes, and what has to be found. */
const WORLDS = [
  ["rerun", { onResume: "rerun" }, "charge ends", TWICE],
  ["commits that are reported early", { liar: true }, "accepted", LOST],
  ["commits that are reported early", { liar: true }, "charge ends", EITHER],
];

/** All of them; `count`: how many of those at random moments too. */
export function judge(test, { seed, count, first = 1, counts }) {
  WORLDS.forEach(([title, world, what, finding], n) => {
    for (const host of ["page", "worker"]) {
      test(`judge/${title}, a crash at "${what}" [${host}]`, async (t) => {
        await found(t, finding, async () => {
          const conversation = await new Conversation(t, { draw: drawer(seed, "judge", n), row: WIRES[0], host, ...world }).ready();
          await crashedAt(t, conversation, what);
        });
        counts.add("worlds whose fault was found");
      });
    }
  });
  for (let number = first; number < first + count; number++) {
    const [title, world] = WORLDS[number % 2];
    test(`judge/${number} ${title}, at random moments`, async (t) => {
      let played = 0;
      await found(t, EITHER, async () => {
        while (played < MOST) {
          const draw = drawer(seed, "judge", number * MOST + played++);
          await play(t, await new Conversation(t, { draw, row: draw.of(WIRES), host: draw.of(["page", "worker"]), ...world }).ready(), () => {});
        }
      });
      t.note(`in conversation ${played}`);
      counts.add("worlds whose fault was found");
    }, { hangMs: 600_000 });
  }
  test("judge/a workspace that is shown otherwise, and nobody says so", async (t) => {
    const page = await t.tab({ init: world });
    const files = await page.evaluate(() => build());
    const whole = await page.evaluate((files) => look(files), files);
    const after = await page.evaluate(() => ask());
    const faults = (seen, after, sessions) => { const { silent, stopped } = judgeShown({ whole, moving: new Set(), seen, after, done: { sessions } }); return [...silent, ...stopped]; };
    assert.deepEqual(faults(whole, after, []), []);
    for (const what of Object.keys(whole.shown)) {
      const seen = structuredClone(whole);
      seen.shown[what].value = otherwise(seen.shown[what].value);
      for (const sessions of [[], whole.sessions]) assert.equal(faults(seen, after, sessions).length, 1, what);
      counts.add("changes of what is shown that were found");
    }
    for (const id of Object.keys(after.answers)) for (const sessions of [[], whole.sessions]) {
      const without = structuredClone(after);
      without.answers[id] = { value: "Something else." };
      assert.equal(faults(whole, without, sessions).length, 1, id);
    }
  });
  for (const row of WIRES) {
    test(`judge/requests of ${row.name} that were broken`, async (t) => {
      const conversation = await new Conversation(t, { draw: drawer(seed, "judge", row.name), row, host: "page" }).ready();
      const page = await t.tab({ init: init() });
      await conversation.open(page);
      await page.evaluate((texts) => shop.send(texts), [job("a", ["charge+look"]).text, job("b", ["look"]).text]);
      const { requests, sent } = conversation.route;
      const request = requests.at(-1);
      assert.deepEqual(row.wire.check(request, sent), []);
      for (const [what, broken] of breaks(row, request.json)) {
        const json = structuredClone(request.json);
        json[list(json)] = broken;
        assert.notDeepEqual(row.wire.check({ ...request, json, text: JSON.stringify(json) }, sent), [], `${row.name}: ${what}`);
        counts.add("broken requests that were refused");
      }
    });
  }
}

/** This has to be found, and nothing else. */
async function found(t, finding, work) {
  await assert.rejects(work, (error) => {
    assert.match(error.message, finding);
    return true;
  });
}

/** The same, with one text in it changed. */
function otherwise(value) {
  if (Array.isArray(value)) return value.length ? value.with(-1, otherwise(value.at(-1))) : ["something"];
  if (typeof value !== "object" || value === null) return `${value}, and something else`;
  // What says of itself that something is wrong is no silence.
  const [name] = Object.keys(value).filter((name) => !["status", "hmac_status", "damaged", "type"].includes(name));
  return { ...value, [name]: otherwise(value[name]) };
}

/** A run with an effect whose page crashes at this moment, and another that goes on with it. */
async function crashedAt(t, conversation, what) {
  const page = await t.tab({ init: init(conversation) });
  await conversation.open(page);
  const crash = await crasher(t, page);
  const jobs = [job("j0", ["charge", "look"])];
  conversation.jobs.push(...jobs);
  await endAt(t, page, jobs, { thread: "page", what }, crash);
  const next = await t.tab({ init: init(conversation) });
  await conversation.open(next);
  await conversation.settle(next);
}

// ------------------------------------------------------------------ requests

const list = (json) => (json.messages ? "messages" : "input");

/** The conversation of this request, broken in each way: `[what, conversation]`. */
function* breaks(row, json) {
  const items = json[list(json)];
  const without = (is) => items.filter((_, n) => n !== items.findLastIndex(is));
  const changed = (is, change) => items.map((item, n) => (n === items.findLastIndex(is) ? change(structuredClone(item)) : item));
  const blocks = (item) => (Array.isArray(item.content) ? item.content : []);
  const isResult = (item) => item.role === "tool" || item.type === "function_call_output" || blocks(item).some(({ type }) => type === "tool_result");
  const isCall = (item) => item.tool_calls || item.type === "function_call" || blocks(item).some(({ type }) => type === "tool_use");
  const isPerson = (item) => item.role === "user" && !isResult(item);
  yield ["a result is missing", without(isResult)];
  yield ["a call is missing", without(isCall)];
  yield ["a result is there twice", items.flatMap((item) => (isResult(item) ? [item, item] : [item]))];
  yield ["a message that says nothing", changed(isPerson, (item) => ({ ...item, content: Array.isArray(item.content) ? [] : "" }))];
  yield ["the assistant has the last word", [...items, items.findLast((item) => item.role === "assistant" || item.type === "message") ?? items[0]]];
  yield ["nothing at all", []];
  const isThought = (item) => item.thinking || item.reasoning_content || item.encrypted_content || blocks(item).some(({ type }) => type === "thinking");
  if (row.wire.replays.length) yield ["thinking that was changed", changed(isThought, (item) => JSON.parse(JSON.stringify(item).replaceAll(/Thought (\d+)/g, "Thought 9$1").replaceAll(/seal(\d+)/g, "seal9$1")))];
}
