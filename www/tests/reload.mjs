// The tab goes away in the middle of an answer and comes back.
import assert from "node:assert/strict";
import { kept, open, running, say, settled, start, streaming, useModel } from "./browser.mjs";

export const tests = {
  async "a finished conversation is there again, and the page that was open"({ page, base }) {
    await open(page, base);
    await start(page);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    const before = await page.locator("[data-testid=assistant-message] .parts").innerText();
    await page.reload();
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    assert.equal(withoutTimes(await page.locator("[data-testid=assistant-message] .parts").innerText()), withoutTimes(before));
    await page.getByTestId("page-title").filter({ hasText: "Dragon Lore" }).waitFor();
    assert.equal(await page.getByTestId("agent-status").textContent(), "Stopped");
  },

  async "an answer that was cut off is held, and Continue ends it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "this one is held");
    await streaming(page);
    await lose(page);
    // The key went with the page.
    await useModel(visit, model);
    await page.getByTestId("start-agent").click();
    await running(page);
    await page.locator("[data-status=held]").first().waitFor();
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    const calls = model.requests;
    await page.getByRole("button", { name: "Continue" }).click();
    await page.locator("[data-testid=conversation-panel][data-status=streaming]").waitFor();
    assert.equal(model.requests, calls + 1);
    model.release();
    await settled(page);
    assert.equal(await page.getByTestId("assistant-message").count(), 1);
    assert.equal(await page.getByTestId("user-message").count(), 1);
    assert.equal(await page.getByRole("button", { name: "Continue" }).count(), 0);
  },

  async "what was cut off can be read before the agent is started again"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "this one is held");
    await lose(page);
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    assert.equal(await page.getByTestId("agent-status").textContent(), "Stopped");
  },

  async "a new message instead of Continue keeps the partial text"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "this one is held");
    await lose(page);
    await useModel(visit, model);
    await page.getByTestId("start-agent").click();
    await page.locator("[data-status=held]").first().waitFor();
    await say(page, "something else");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    assert.match(await page.getByTestId("assistant-message").first().textContent(), /nobody has read/);
    assert.equal(await page.getByTestId("system-message").filter({ hasText: "Session interrupted." }).count(), 1);
  },
};

/** The tab goes away in the middle of an answer, of which the draft has all that is shown. */
async function lose(page) {
  await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
  await kept(page);
  await page.reload();
  await page.getByTestId("composer").waitFor();
}

function withoutTimes(text) {
  return text.replace(/\d+(\.\d+)? m?s\b/g, "").replace(/\s+/g, " ").trim();
}
