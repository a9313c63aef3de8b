// What is sent while an answer is being written: it waits or steers, can be changed and taken out, and is held after a stop.
import assert from "node:assert/strict";
import { open, say, settled, start, streaming, useModel } from "./browser.mjs";
import { entry } from "./journal.mjs";
import { launchSession } from "./sessions.mjs";
import { another, two } from "./tabs.mjs";

const box = (page) => page.getByTestId("composer");
const queued = (page) => page.getByTestId("queued");
const texts = (page) => page.locator(".queued-text").allTextContents();
const waits = (page, text) => queued(page).filter({ hasText: text }).waitFor();

/** The person has said this and nothing else, as soon as the last of it is shown. */
async function hasSaid(page, texts) {
  const messages = page.getByTestId("user-message").locator(".said");
  await messages.nth(texts.length - 1).waitFor();
  assert.deepEqual(await messages.allTextContents(), texts);
}

/** An answer that does not end before the test lets it. */
async function busy({ page, base, model, visit }) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  await say(page, "never end");
  await streaming(page);
}

export const tests = {
  async "Enter while an answer is written: the message waits, in both tabs, and is sent in its turn"(t) {
    const { page, model } = t;
    const other = await two(t);
    await say(page, "never end");
    for (const tab of [page, other]) await streaming(tab);
    await say(page, "the first");
    assert.equal(await box(page).inputValue(), "");
    await waits(page, "the first");
    await say(other, "the second");
    for (const tab of [page, other]) {
      await waits(tab, "the second");
      assert.deepEqual(await texts(tab), ["the first", "the second"]);
      assert.deepEqual(await tab.locator(".queued-mode").allTextContents(), ["Follow-up", "Follow-up"]);
      assert.equal(await tab.getByTestId("queue-held").count(), 0);
      assert.equal(await tab.getByTestId("user-message").count(), 1);
    }
    model.release();
    for (const tab of [page, other]) {
      await tab.getByTestId("assistant-message").nth(2).waitFor();
      await settled(tab);
      await tab.getByTestId("queue").waitFor({ state: "detached" });
      await hasSaid(tab, ["never end", "the first", "the second"]);
    }
    assert.equal(model.requests, 3);
  },

  async "the hint names both ways; Ctrl+Enter and the wheel steer the answer that is written"(t) {
    const { page, model } = t;
    await busy(t);
    await box(page).fill("and in June?");
    await page.locator(".composer-hint", { hasText: "Enter: after this answer · Ctrl+Enter: steer it" }).waitFor();
    assert.equal(await page.getByTestId("send").getAttribute("aria-label"), "Queue");
    await box(page).press("Control+Enter");
    await waits(page, "and in June?");
    await box(page).fill("only the fixes");
    await page.getByTestId("steer").click();
    await waits(page, "only the fixes");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "message");
    assert.deepEqual(await page.locator(".queued-mode").allTextContents(), ["Steers", "Steers"]);
    model.release();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await hasSaid(page, ["never end", "and in June?", "only the fixes"]);
    await settled(page);
    // One run: each call has what was said before it.
    assert.equal(model.requests, 3);
    assert.match(JSON.stringify(model.bodies[1]), /and in June\?/);
    assert.doesNotMatch(JSON.stringify(model.bodies[1]), /only the fixes/);
  },

  async "a message that waits is changed in place, or taken out; Escape leaves it"(t) {
    const { page, model } = t;
    await busy(t);
    for (const text of ["one", "two", "three"]) {
      await say(page, text);
      await waits(page, text);
    }
    const other = await another(t);
    await page.getByRole("button", { name: "Change “two”" }).click();
    const field = page.getByTestId("queued-field");
    assert.equal(await field.inputValue(), "two");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-testid")), "queued-field");
    await field.fill("no");
    await field.press("Escape");
    assert.deepEqual(await texts(page), ["one", "two", "three"]);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Change “two”");
    await page.keyboard.press("Enter");
    await field.fill("two and a half");
    await field.press("Enter");
    for (const tab of [page, other]) await waits(tab, "two and a half");
    await other.getByRole("button", { name: "Take out “one”" }).click();
    for (const tab of [page, other]) {
      await queued(tab).filter({ hasText: "one" }).waitFor({ state: "detached" });
      assert.deepEqual(await texts(tab), ["two and a half", "three"]);
    }
    assert.equal(await other.evaluate(() => document.activeElement?.id), "message");
    model.release();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await hasSaid(page, ["never end", "two and a half", "three"]);
    await settled(page);
  },

  async "whose turn comes while it is changed: what was written is in the composer"(t) {
    const { page, model } = t;
    await busy(t);
    await say(page, "a first draft");
    await page.getByTestId("queued-edit").click();
    await page.getByTestId("queued-field").fill("a better one");
    model.release();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await settled(page);
    assert.equal(await box(page).inputValue(), "a better one");
    await hasSaid(page, ["never end", "a first draft"]);
  },

  async "after a stop what waits is held, over a reload, and sent when somebody says so"(t) {
    const { page, base, model, visit } = t;
    await busy(t);
    await say(page, "held back");
    await waits(page, "held back");
    await page.getByTestId("stop").click();
    await page.getByTestId("queue-held").filter({ hasText: "Held: the answer was stopped." }).waitFor();
    await open(page, base);
    await useModel(visit, model);
    await page.getByTestId("start-agent").click();
    await page.getByTestId("queue-held").waitFor();
    assert.deepEqual(await texts(page), ["held back"]);
    model.release();
    await page.getByTestId("queue-release").click();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await hasSaid(page, ["never end", "held back"]);
    await settled(page);
    await page.getByTestId("assistant-message").nth(1).waitFor();
  },

  async "after a failure it is held too, and goes with the next answer that is complete; each session has its own"(t) {
    const { page, model } = t;
    await busy(t);
    await launchSession(page, "Apart");
    await say(page, "held, then refuse");
    await streaming(page);
    await say(page, "refuse the key");
    await waits(page, "refuse the key");
    await say(page, "after that");
    await waits(page, "after that");
    model.release();
    await page.getByTestId("queue-held").filter({ hasText: "Held: the answer failed." }).waitFor();
    assert.deepEqual(await texts(page), ["after that"]);
    await page.getByTestId("session-still").waitFor();
    // A session that takes no messages says what it needs first.
    assert.equal(await page.getByTestId("queue-release").count(), 0);
    await page.getByTestId("session-go-on").click();
    await page.getByTestId("queue-release").click();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await page.getByTestId("session-row").filter({ hasText: "Main conversation" }).getByTestId("open-session").click();
    await page.getByTestId("user-message").filter({ hasText: "never end" }).waitFor();
    assert.equal(await page.getByTestId("queue").count(), 0);
  },

  async "from one answer to the next nothing is said to be held"(t) {
    const { page, model } = t;
    await busy(t);
    await say(page, "the next");
    await waits(page, "the next");
    await page.evaluate(() => {
      window.held = 0;
      new MutationObserver(() => (window.held += document.querySelectorAll("[data-testid=queue-held]").length)).observe(document.body, { subtree: true, childList: true });
    });
    model.release();
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    assert.equal(await page.evaluate(() => window.held), 0);
  },

  async "the journal tells who waited and whose turn came, and leads to the message"(t) {
    const { page, model } = t;
    await busy(t);
    await say(page, "waits here");
    await waits(page, "waits here");
    await page.getByTestId("queued-edit").click();
    await page.getByTestId("queued-field").fill("waited here");
    await page.getByTestId("queued-field").press("Enter");
    await waits(page, "waited here");
    await box(page).fill("steers here");
    await box(page).press("Control+Enter");
    await waits(page, "steers here");
    model.release();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await settled(page);
    await page.getByTestId("open-journal").click();
    await page.locator(".chip[data-kind=prompt]").click();
    for (const [word, text] of [["you, waiting", "waits here"], ["you, changed", "waited here"], ["you, steering", "steers here"]]) await entry(page, word).filter({ hasText: text }).waitFor();
    await entry(page, "its turn").nth(1).waitFor();
    assert.equal(await entry(page, "its turn").count(), 2);
    await entry(page, "you, waiting").click();
    await page.locator("[data-testid=user-message][data-marked]").filter({ hasText: "waited here" }).waitFor();
  },

  "on a touch screen the buttons say it": {
    visitor: { width: 390, height: 800, hasTouch: true, isMobile: true },
    async run(t) {
      const { page, model } = t;
      await open(page, t.base);
      await useModel(t.visit, model);
      await page.getByTestId("start-agent").click();
      await page.locator("[data-lifecycle=Running]").waitFor();
      await box(page).fill("never end");
      await page.getByTestId("send").tap();
      await streaming(page);
      await box(page).fill("then this");
      await page.getByTestId("send").tap();
      await waits(page, "then this");
      await box(page).fill("now this");
      await page.getByTestId("steer").tap();
      await waits(page, "now this");
      assert.deepEqual(await queued(page).evaluateAll((rows) => rows.map((row) => row.dataset.mode)), ["queue", "steer"]);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      model.release();
      await page.getByTestId("queue").waitFor({ state: "detached" });
      await settled(page);
    },
  },
};
