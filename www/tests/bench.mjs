// What goes on in each session, and sessions that are put aside, lost and brought back.
import assert from "node:assert/strict";
import { answered, kept, open, running, say, settled, start, streaming, useModel, workspace } from "./browser.mjs";
import { choose, launchSession, row, shows } from "./sessions.mjs";
import { another, standsBy } from "./tabs.mjs";

const dot = (page, name, activity) => row(page, name).locator(`[data-testid=activity][data-activity=${activity}]`);
const still = (page) => page.getByTestId("session-still");
const answer = (page) => page.getByTestId("assistant-message").filter({ hasText: "nobody has read" });

/** An agent with the test's model, and sessions; the last is shown. */
async function begin({ page, base, model, visit }, ...names) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  for (const name of names) await launchSession(page, name);
}

export const tests = {
  async "each row has a dot: it streams, waits or is broken, in words too, in both tabs"(t) {
    const { page, model } = t;
    await begin(t, "Over", "Works");
    await choose(page, "Over");
    await say(page, "exit");
    await choose(page, "Works");
    await say(page, "never end");
    const other = await another(t);
    for (const tab of [page, other]) {
      await dot(tab, "Works", "streaming").waitFor();
      await dot(tab, "Over", "broken").waitFor();
      await dot(tab, "Main conversation", "waiting").waitFor();
      await tab.locator("[data-session][data-mood=works]").waitFor();
    }
    assert.match(await dot(page, "Works", "streaming").getAttribute("title"), /^Streaming: /);
    assert.match(await row(page, "Over").getByTestId("open-session").textContent(), /Broken: stopped, failed, or lost with its page/);
    const motion = () => dot(page, "Works", "streaming").evaluate((at) => getComputedStyle(at).animationName);
    assert.equal(await motion(), "none");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    assert.equal(await motion(), "pulse");
    await page.emulateMedia({ reducedMotion: "reduce" });
    assert.equal(await dot(page, "Main conversation", "waiting").evaluate((at) => getComputedStyle(at).animationName), "none");
    model.release();
    for (const tab of [page, other]) await dot(tab, "Works", "waiting").waitFor();
  },

  async "a stream that falls silent waits once more than 30 seconds have passed; a quiet session is not asked about"(t) {
    const { page } = t;
    await page.clock.install();
    await begin(t, "Works", "Quiet");
    await workspace(page);
    await page.evaluate(() => {
      window.asked = {};
      const { sessions } = ws;
      const { activity } = sessions;
      sessions.activity = (id) => ((window.asked[id] = (window.asked[id] ?? 0) + 1), activity(id));
      ws.addEventListener("agent:message-chunk", () => (window.spoke = Date.now()));
    });
    const quiet = await row(page, "Quiet").getAttribute("data-session");
    await choose(page, "Works");
    await say(page, "never end");
    await answer(page).waitFor();
    await dot(page, "Works", "streaming").waitFor();
    // What the start and the choice of another session have made it ask is over.
    await dot(page, "Quiet", "waiting").waitFor();
    const asked = () => page.evaluate((id) => window.asked[id], quiet);
    let before;
    do {
      before = await asked();
      await page.clock.runFor(1_000);
      // Answered after all that was asked before it.
      await page.evaluate(() => ws.sessions.list());
      await page.clock.runFor(1_000);
    } while ((await asked()) !== before);
    // The clock goes by itself, too.
    const silent = await page.evaluate(() => Date.now() - window.spoke);
    await page.clock.runFor(Math.max(1, 25_000 - silent));
    await dot(page, "Works", "streaming").waitFor();
    await page.clock.runFor(7_000);
    await dot(page, "Works", "waiting").waitFor();
    assert.equal(await asked(), before);
  },

  async "benched in the middle of an answer: marked, refuses what is written, and says how to go on; Play goes on"(t) {
    const { page, model } = t;
    await begin(t, "Dragons");
    await say(page, "never end");
    await answer(page).waitFor();
    await row(page, "Dragons").hover();
    await row(page, "Dragons").getByRole("button", { name: "Bench Dragons" }).click();
    await row(page, "Dragons").locator(".session-status", { hasText: "benched" }).waitFor();
    await page.locator("[data-session][data-mood=benched]").waitFor();
    await still(page).filter({ hasText: "This session is benched: it keeps everything, costs nothing, and takes no message." }).waitFor();
    // No page went away, and nothing but Play goes on with it.
    await page.getByTestId("system-message").waitFor({ state: "detached" });
    await say(page, "not now");
    await page.getByText("Play this session first. Your text stays here").first().waitFor();
    assert.equal(await page.getByTestId("composer").inputValue(), "not now");
    await page.reload();
    await shows(page, "Dragons");
    await still(page).waitFor();
    await page.getByTestId("system-message").waitFor({ state: "detached" });
    await useModel(t.visit, model);
    model.release();
    await still(page).getByRole("button", { name: "Play" }).click();
    await still(page).waitFor({ state: "detached" });
    await answered(page);
    assert.equal(await page.getByTestId("user-message").count(), 1);
    assert.equal(await page.getByTestId("system-message").count(), 0);
    assert.equal(await page.getByTestId("conversation-panel").getAttribute("data-status"), "ready");
    assert.equal(model.requests, 2);
    assert.equal(await page.getByTestId("composer").inputValue(), "not now");
  },

  async "all are benched with one button and played with one, from either tab; Undo plays them too"(t) {
    const { page } = t;
    await begin(t, "One", "Two");
    const other = await another(t);
    await standsBy(other);
    await page.getByTestId("bench-all").click();
    await page.getByText("3 sessions are benched.").waitFor();
    await page.getByTestId("bench-all").waitFor({ state: "detached" });
    assert.equal(await page.locator("[data-mood=benched]").count(), 3);
    await other.getByTestId("play-all").click();
    for (const tab of [page, other]) {
      await tab.bringToFront();
      await tab.getByTestId("play-all").waitFor({ state: "detached" });
      await tab.locator("[data-mood=benched]").first().waitFor({ state: "detached" });
    }
    await row(page, "One").hover();
    await page.getByRole("button", { name: "Bench One" }).click();
    await page.getByText("“One” is benched.").waitFor();
    await row(page, "One").hover();
    await row(page, "One").getByTestId("go-on").filter({ hasText: "Play" }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await row(page, "One").and(page.locator("[data-mood=idle]")).waitFor();
    await choose(page, "One");
    assert.equal(await still(page).count(), 0);
  },

  async "the focus stays where one works when the button that was pressed goes"(t) {
    const { page } = t;
    await begin(t, "One");
    const press = async (button) => {
      await button.focus();
      await page.keyboard.press("Enter");
      await button.waitFor({ state: "hidden" });
      return page.evaluate(() => document.activeElement.id || document.activeElement.dataset.testid);
    };
    assert.equal(await press(page.getByRole("button", { name: "Bench One" })), "open-session");
    assert.equal(await press(still(page).getByRole("button", { name: "Play" })), "message");
    assert.equal(await press(page.getByTestId("bench-all")), "open-session");
    assert.equal(await press(page.getByTestId("play-all")), "open-session");
    await say(page, "never end");
    await streaming(page);
    await say(page, "later");
    await page.getByTestId("queued").waitFor();
    await page.getByTestId("stop").click();
    assert.equal(await press(page.getByTestId("queue-release")), "message");
    const other = await another(t);
    await standsBy(other);
    await other.getByTestId("take-over").focus();
    await other.keyboard.press("Enter");
    await other.getByTestId("elsewhere").waitFor({ state: "detached" });
    assert.equal(await other.evaluate(() => document.activeElement.id), "message");
  },

  async "the last tab is closed in the middle of two answers: the next brings both back, or one, or none"(t) {
    const { page, base, context, model, visit } = t;
    await begin(t, "First", "Second");
    for (const name of ["First", "Second"]) {
      await choose(page, name);
      await say(page, "never end");
      await answer(page).waitFor();
    }
    await kept(page, "nobody has read", 2);
    await page.close();
    const later = await context.newPage();
    visit.watch(later);
    await open(later, base);
    const left = later.getByTestId("left");
    await left.filter({ hasText: "2 sessions were in the middle of an answer when the last page was closed." }).waitFor();
    await shows(later, "Second");
    await useModel({ ...visit, page: later }, model);
    await row(later, "First").getByTestId("go-on").click();
    await left.filter({ hasText: "“Second” was in the middle" }).waitFor();
    await running(later);
    await later.getByTestId("bring-back").click();
    await left.waitFor({ state: "detached" });
    await streaming(later);
    for (const name of ["First", "Second"]) await dot(later, name, "streaming").waitFor();
    model.release();
    for (const name of ["First", "Second"]) {
      await choose(later, name);
      await settled(later);
      assert.equal(await later.getByTestId("user-message").count(), 1);
      assert.equal(await later.getByTestId("assistant-message").count(), 1);
    }
  },

  async "the main conversation is brought back too, without a click on its own Continue"(t) {
    const { page, base, model, visit } = t;
    await begin(t);
    await say(page, "never end");
    await answer(page).waitFor();
    await kept(page);
    await open(page, base);
    await useModel(visit, model);
    model.release();
    await page.getByTestId("left").filter({ hasText: "“Main conversation” was in the middle" }).getByTestId("bring-back").click();
    await page.getByTestId("left").waitFor({ state: "detached" });
    await answered(page);
    assert.equal(await page.getByTestId("user-message").count(), 1);
    assert.equal(await page.getByTestId("system-message").count(), 0);
  },

  async "what was left can stay so; nothing more is said of it in this tab"(t) {
    const { page } = t;
    await begin(t, "First");
    await say(page, "never end");
    await answer(page).waitFor();
    await kept(page);
    await page.reload();
    await page.getByTestId("left").getByRole("button", { name: "Leave it" }).click();
    await page.getByTestId("left").waitFor({ state: "detached" });
    await row(page, "First").and(page.locator("[data-mood=failed]")).waitFor();
  },
};
