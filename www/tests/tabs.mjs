// The workbench in two tabs: one runs the agent, the other follows, does all that a person wants, and goes on.
import assert from "node:assert/strict";
import { open, running, save, say, settled, start, streaming, useModel } from "./browser.mjs";
import { launchSession, row } from "./sessions.mjs";

/** Another tab of the same visitor. */
export async function another({ context, watch, base }) {
  const other = await context.newPage();
  watch(other);
  await open(other, base);
  return other;
}

/** Waits until this tab would go on. */
export const standsBy = (page) => page.locator("[data-testid=elsewhere][data-stands-by=true]").waitFor();
const stopped = (page) => page.locator("[data-testid=agent-status][data-lifecycle=Stopped]").waitFor();
const answer = (page, text) => page.getByTestId("assistant-message").filter({ hasText: text });

/** The first tab runs an agent with the test's model, the second stands by. */
export async function two(t) {
  const { page, base, model, visit } = t;
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  const other = await another(t);
  await standsBy(other);
  return other;
}

/** From its next load on, the page keeps every note that it has shown above the composer. */
function keepNotes(page) {
  return page.addInitScript(() => {
    window.notes = [];
    new MutationObserver(() => {
      const shown = [...document.querySelectorAll(".dock > .note")].map((note) => note.dataset.testid).join(" ");
      if (shown !== (window.notes.at(-1) ?? "")) window.notes.push(shown);
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
}

export const tests = {
  async "the second tab joins by itself, and follows what the first shows as it comes"(t) {
    const { page, model } = t;
    const other = await two(t);
    await other.getByTestId("elsewhere").filter({ hasText: "Another tab runs the agent." }).filter({ hasText: "It does what you ask here. When it is closed, this one goes on." }).waitFor();
    assert.equal(await page.getByTestId("elsewhere").count(), 0);
    await say(page, "never end");
    await streaming(other);
    await answer(other, "nobody has read").waitFor();
    assert.equal(await other.getByTestId("stop").isVisible(), true);
    model.release();
    for (const tab of [page, other]) await settled(tab);
    assert.equal(model.requests, 1);
  },

  async "in the second tab one sends, stops an answer, answers a question, and stops the agent; it stays stopped"(t) {
    const { page } = t;
    const other = await two(t);
    await say(other, "never end");
    for (const tab of [page, other]) await streaming(tab);
    await other.getByTestId("stop").click();
    for (const tab of [page, other]) await tab.getByTestId("system-message").filter({ hasText: "Session interrupted." }).waitFor();
    await say(page, 'call delete_page {"slug": "chapter-1"}');
    await other.getByTestId("permission-card").waitFor();
    await other.locator("[data-testid=permission-deny][aria-disabled=false]").click();
    for (const tab of [page, other]) {
      await tab.getByTestId("permission-card").waitFor({ state: "detached" });
      await answer(tab, "That is done").waitFor();
    }
    assert.equal(await page.locator("[role=treeitem][data-slug=chapter-1]").count(), 1);
    await other.getByRole("button", { name: "Stop Agent" }).click();
    for (const tab of [page, other]) {
      await stopped(tab);
      await tab.getByTestId("agent-stopped").waitFor();
      assert.equal(await tab.getByTestId("elsewhere").count(), 0);
    }
    await page.close();
    // Nobody goes on with what was stopped on purpose: a person starts it again.
    await other.reload();
    await stopped(other);
    await other.getByTestId("start-agent").click();
    await running(other);
  },

  async "the first tab is closed in the middle of an answer: the second goes on with it, and says so"(t) {
    const { page, model } = t;
    const other = await two(t);
    await say(page, "never end");
    await answer(other, "nobody has read").waitFor();
    await page.close({ runBeforeUnload: false });
    await other.getByTestId("moved-here").filter({ hasText: "This tab runs the agent now: the one before is gone." }).waitFor();
    model.release();
    await settled(other);
    assert.equal(await other.getByTestId("user-message").count(), 1);
    assert.equal(await other.getByTestId("assistant-message").count(), 1);
    assert.equal(await other.getByTestId("system-message").count(), 0);
    assert.equal(await other.getByTestId("problem").count(), 0);
    assert.equal(await other.locator("[data-testid=conversation-panel]").getAttribute("data-status"), "ready");
    assert.equal(model.requests, 2);
    await other.getByTestId("moved-here").getByRole("button", { name: "Dismiss" }).click();
    await other.getByTestId("moved-here").waitFor({ state: "detached" });
  },

  async "opened beside another, or reloaded, a tab says how it stands once, and nothing else before"(t) {
    const { page } = t;
    await open(page, t.base);
    await start(page);
    const other = await t.context.newPage();
    t.watch(other);
    await keepNotes(other);
    await open(other, t.base);
    await standsBy(other);
    assert.deepEqual(await other.evaluate(() => window.notes), ["elsewhere"]);
    // The other goes on at once, and the one that comes back follows it.
    await keepNotes(page);
    await page.reload();
    await standsBy(page);
    assert.deepEqual(await page.evaluate(() => window.notes), ["elsewhere"]);
    await other.getByTestId("moved-here").waitFor();
    await page.getByTestId("take-over").click();
    await page.getByTestId("elsewhere").waitFor({ state: "detached" });
    await other.getByTestId("elsewhere").filter({ hasText: "Another tab has taken the agent over." }).waitFor();
    await standsBy(other);
  },

  async "of three tabs the one that takes over gets it, though another stands by"(t) {
    const { page, model } = t;
    const other = await two(t);
    const third = await another(t);
    await standsBy(third);
    await say(page, "never end");
    for (const tab of [page, other, third]) await streaming(tab);
    for (const [asker, rest] of [[third, [page, other]], [other, [page, third]], [page, [other, third]]]) {
      await asker.getByTestId("take-over").click();
      await asker.getByTestId("elsewhere").waitFor({ state: "detached" });
      for (const tab of rest) await standsBy(tab);
      assert.equal(await asker.getByTestId("problem").count(), 0);
    }
    model.release();
    for (const tab of [page, other, third]) {
      await settled(tab);
      assert.equal(await tab.getByTestId("assistant-message").count(), 1);
    }
  },

  async "from a tab that hangs the agent is taken with a warning; once that one is awake it follows"(t) {
    const { page, model } = t;
    const other = await two(t);
    const wake = await model.hang(page);
    await other.getByTestId("take-over").click();
    await other.locator("[data-testid=problem][data-code=holder_unreachable]").filter({ hasText: "What a tool was doing there may go on" }).waitFor();
    await other.getByTestId("elsewhere").waitFor({ state: "detached" });
    await wake();
    await page.getByTestId("elsewhere").filter({ hasText: "Another tab has taken the agent over." }).waitFor();
    await say(other, "Hello");
    for (const tab of [page, other]) await tab.getByTestId("assistant-message").waitFor();
  },

  async "who starts the agent that another tab has stopped is not told that it has come here"(t) {
    const { page } = t;
    const other = await two(t);
    await page.getByRole("button", { name: "Stop Agent" }).click();
    await stopped(other);
    await other.getByTestId("start-agent").click();
    await running(other);
    await standsBy(page);
    assert.equal(await other.getByTestId("moved-here").count(), 0);
  },

  async "without the key a tab follows and does not stand by; the key makes it"(t) {
    const { page, base } = t;
    await open(page, base);
    const enter = async (tab) => {
      await tab.getByTestId("open-settings").click();
      await tab.getByLabel("Anthropic", { exact: false }).check();
      await tab.getByTestId("key").fill("sk-ant-test-key-7431");
      await save(tab);
    };
    await enter(page);
    await start(page);
    const other = await another(t);
    const note = other.getByTestId("elsewhere");
    await note.filter({ hasText: "this one needs the key" }).waitFor();
    assert.equal(await note.getAttribute("data-stands-by"), "false");
    await note.getByRole("button", { name: "Open settings" }).waitFor();
    // It would only make fail what the other is at.
    assert.equal(await other.getByTestId("take-over").count(), 0);
    await enter(other);
    await standsBy(other);
    await other.getByTestId("take-over").waitFor();
    await page.close();
    await other.getByTestId("moved-here").waitFor();
    await running(other);
  },

  async "what one tab has shown is new in none"(t) {
    const { page } = t;
    const other = await two(t);
    await launchSession(page, "Apart");
    await say(page, "Hello");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    // The other shows the main conversation, and has heard of the end.
    await row(other, "Apart").locator(".session-status", { hasText: "idle" }).waitFor();
    for (const tab of [page, other]) await row(tab, "Apart").and(tab.locator("[data-mood=idle]")).waitFor();
    await say(other, "Hello");
    for (const tab of [page, other]) await tab.locator("[data-session=default][data-mood=idle]").waitFor();
  },

  async "settings that one tab changes are those of the other, and a model in the page stays when that tab goes"(t) {
    const { page, model } = t;
    const other = await two(t);
    await other.getByTestId("open-settings").click();
    await other.getByLabel("Offline", { exact: false }).check();
    await save(other);
    for (const tab of [page, other]) await tab.locator(".destination").filter({ hasText: "nothing leaves this page" }).waitFor();
    await standsBy(other);
    await other.close();
    await say(page, "What pages mention dragons?");
    await answer(page, "Dragon Lore").waitFor();
    await settled(page);
    assert.equal(model.requests, 0);
  },
};
