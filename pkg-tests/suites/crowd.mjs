// Many tabs on one workspace: all see the same, any of them can act, and whatever they want at the same moment one has it.
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { atOnce, dice, epochs, follows, holds, onBothHosts, open, start } from "../lib/tabs.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const CAMPAIGN = process.env.LODGER_CAMPAIGN === "1";
// Of each of two kinds on each host.
const RACES = CAMPAIGN ? 500 : 10;
const RESTARTS = CAMPAIGN ? 1000 : 15;
const LONG = { hangMs: CAMPAIGN ? 3_600_000 : 600_000 };

export default function (test) {
  onBothHosts(test, crowd, races, restarts);
}

function crowd(on) {
  on("eight tabs on one run: the same events, view and history; begun, allowed and interrupted by viewers", async (t, host) => {
    const [early, late] = [gate(), gate()];
    const one = message("One two three.");
    const three = message("Seven eight nine.");
    const route = await t.raw(
      stream(one.slice(0, 4), early, one.slice(4)),
      message({ tool: "post", args: { text: "hello" } }), message("Posted."),
      stream(three.slice(0, 4), late, three.slice(4)),
    );
    const pages = [await open(t, host)];
    const [holder] = pages;
    await holder.evaluate(() => {
      globalThis.posted = [];
      ws.tools.register({ name: "post", description: "Posts a text.", destructive: true, inputSchema: { type: "object", properties: { text: { type: "string" } } }, execute: ({ text }) => { posted.push(text); return "done"; } });
    });
    await start(holder, route.base);
    while (pages.length < 8) pages.push(await open(t, host));
    const viewers = pages.slice(1);
    await Promise.all(viewers.map(follows));
    const everywhere = (work, argument) => Promise.all(pages.map((page) => page.evaluate(work, argument)));
    await everywhere(() => rec.clear());

    /** All have seen the end of the run; what they have seen is the same. */
    const same = async (runId, ending) => {
      const seen = await everywhere(async (runId) => {
        await rec.ended(runId);
        await until(() => rec.events.at(-1).type === "agent:status-changed" && view.getSnapshot().status === "ready");
        const { holder, ...snapshot } = view.getSnapshot();
        const events = rec.events.map(({ type, detail }) => [type, detail]);
        rec.clear();
        return T.plain({ events, snapshot, history: await ws.history(), status: ws.status(), waited: await ws.wait(runId) });
      }, runId);
      checkRun(seen[0].events.map(([type, detail]) => ({ type, detail })), runId, ending);
      for (const of of seen.slice(1)) assert.deepEqual(of, seen[0]);
      return seen[0];
    };
    const live = (words) => everywhere((words) => until(() => shown().startsWith(words)), words);

    const first = await pages[3].evaluate(async () => (await ws.sendMessage("Count.")).runId);
    await live("One");
    early.open();
    const { events } = await same(first, "agent:session-completed");
    assert.ok(events.filter(([type]) => type === "agent:message-chunk").length >= 2, "it was seen as it came");

    const second = await pages[2].evaluate(async () => (await ws.sendMessage("Post it.")).runId);
    await everywhere(() => until(() => view.getSnapshot().permissions.length === 1));
    const { requestId } = await pages[5].evaluate(() => T.plain(view.getSnapshot().permissions[0]));
    await pages[5].evaluate((requestId) => ws.resolvePermission(requestId, "allow_once"), requestId);
    const { history } = await same(second, "agent:session-completed");
    assert.deepEqual(history.at(-1).parts.map(({ type }) => type), ["tool-call", "text"]);
    assert.deepEqual(await holder.evaluate(() => posted), ["hello"]);

    const third = await holder.evaluate(async () => (await ws.sendMessage("Go on.")).runId);
    await live("Seven");
    await pages[6].evaluate(() => ws.interrupt());
    const { waited, snapshot } = await same(third, "agent:session-interrupted");
    assert.deepEqual([waited.status, waited.outcome, snapshot.messages.length], ["ok", "interrupted", 6]);
    assert.deepEqual(await Promise.all(pages.map(holds)), pages.map((page) => page === holder));
    assert.deepEqual(route.violations, []);
    late.open();
  });
}

// ------------------------------------------------------------------ races

/** How a start ended: nothing, or the code of its error. */
const starting = (ifRunning) => ws.startAgent({ provider: { kind: "custom", async *stream() { yield "Here."; } }, ifRunning }).then(() => null, ({ code }) => code);

/** One holds, the others follow it, and a run begun by `asker` is the holder's: gives who holds. */
async function oneHolds(pages, asker) {
  await asker.evaluate(async () => { await until(() => ws.status().lifecycle === "Running"); await ws.run("Who?"); });
  const holding = await Promise.all(pages.map(holds));
  assert.equal(holding.filter(Boolean).length, 1, `holders: ${holding}`);
  const holder = pages[holding.indexOf(true)];
  await Promise.all(pages.filter((page) => page !== holder).map(follows));
  return holder;
}

async function checkEpochs(t, page, expected) {
  const held = await epochs(page);
  assert.equal(new Set(held).size, held.length, "two holders had one epoch");
  assert.deepEqual(held, [...held].sort((a, b) => a - b));
  assert.ok(held.length >= expected, `${held.length} epochs`);
  t.note(`${held.length} epochs`);
}

function races(on) {
  on(`two tabs start at once, ${RACES} times: one holds, the other is told or follows`, async (t, host) => {
    const draw = dice(t);
    const pages = [await open(t, host), await open(t, host)];
    const won = [0, 0];
    for (let n = 0; n < RACES; n++) {
      const ifRunning = ["reject", "join"][n % 2];
      const [a, b] = await atOnce(t, pages, starting, ifRunning);
      if (ifRunning === "reject") assert.deepEqual([a, b].sort(), ["already_running", null], `race ${n}`);
      else assert.deepEqual([a, b], [null, null], `race ${n}`);
      const holder = await oneHolds(pages, pages[draw(2)]);
      won[pages.indexOf(holder)]++;
      if (ifRunning === "reject") assert.equal([a, b][pages.indexOf(holder)], null, `race ${n}: the one that was refused holds`);
      await pages[draw(2)].evaluate(() => ws.stopAgent());
      await Promise.all(pages.map((page) => page.evaluate(() => until(() => ws.status().lifecycle === "Stopped"))));
    }
    await checkEpochs(t, pages[0], RACES);
    t.note(`won ${won.join(":")}`);
  }, LONG);

  on(`two tabs take over at once, ${RACES} times: one holds, the other follows`, async (t, host) => {
    const draw = dice(t);
    const pages = [await open(t, host), await open(t, host), await open(t, host)];
    await pages[0].evaluate((start) => (0, eval)(`(${start})`)("join"), String(starting));
    let holder = await oneHolds(pages, pages[1]);
    const outcomes = {};
    for (let n = 0; n < RACES; n++) {
      const asking = pages.filter((page) => page !== holder);
      const told = await atOnce(t, asking, starting, "takeover");
      outcomes[told.map(String).sort()] = (outcomes[told.map(String).sort()] ?? 0) + 1;
      assert.deepEqual(told, [null, null], `race ${n}`);
      // One that had it for a moment may not have heard yet that it was robbed.
      while ((await Promise.all(pages.map(holds))).filter(Boolean).length !== 1) await asking[0].evaluate(() => T.turn());
      const next = await oneHolds(pages, pages[draw(3)]);
      assert.ok(asking.includes(next), `race ${n}: nobody has taken over`);
      // Also one that had it for a moment.
      for (const page of pages) await page.evaluate((holds) => until(() => (holderNotices().at(-1) ?? false) === holds), page === next);
      holder = next;
    }
    await checkEpochs(t, pages[0], RACES + 1);
    t.note(JSON.stringify(outcomes));
  }, LONG);
}

// ------------------------------------------------------------------ stop and start again

function restarts(on) {
  on(`a stop and a start again with viewers waiting, ${RESTARTS} times: the one who asks holds it`, async (t, host) => {
    const draw = dice(t);
    const pages = [await open(t, host), await open(t, host), await open(t, host)];
    const ask = (page) => page.evaluate((start) => (0, eval)(`(${start})`)("join"), String(starting));
    for (const page of pages) assert.equal(await ask(page), null);
    for (let n = 0; n < RESTARTS; n++) {
      await pages[draw(3)].evaluate(() => ws.stopAgent());
      const asker = pages[draw(3)];
      assert.equal(await ask(asker), null, `${n}`);
      assert.equal(await holds(asker), true, `${n}: another tab has it`);
      // The others have to be standbys again before the next stop.
      for (const page of pages) if (page !== asker) { await follows(page); assert.equal(await ask(page), null, `${n}`); }
      assert.equal(await oneHolds(pages, pages[draw(3)]), asker, `${n}`);
    }
    await checkEpochs(t, pages[0], RESTARTS);
  }, LONG);
}
