// The first minute of somebody who has never been here and has no key.
import assert from "node:assert/strict";
import { open, running, settled, start } from "./browser.mjs";

export const tests = {
  async "Load samples and Start Agent are in view"({ page, base }) {
    await open(page, base);
    for (const id of ["load-samples", "start-agent"]) await assertInView(page, id);
    assert.equal(await page.getByTestId("agent-status").textContent(), "Stopped");
    assert.equal(await page.getByTestId("agent-settings-setup").count(), 1);
  },

  "the same on a narrow screen": {
    visitor: { width: 320, height: 640 },
    async run({ page, base }) {
      await open(page, base);
      for (const id of ["load-samples", "start-agent"]) await assertInView(page, id);
    },
  },

  async "two clicks to an answer: Load samples, then a question"({ page, base }) {
    await open(page, base);
    await page.getByTestId("load-samples").click();
    await page.getByRole("button", { name: "What pages mention dragons?" }).click();
    await running(page);
    await page.getByTestId("tool-card").first().waitFor();
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    assert.equal(await page.locator("[data-testid=tool-card][data-state=completed]").count() > 0, true);
    assert.equal(await page.getByTestId("problem").count(), 0);
  },

  async "a question alone: one click makes the samples, starts the agent and asks"({ page, base }) {
    await open(page, base);
    await page.getByRole("button", { name: "What pages mention dragons?" }).click();
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 1);
    assert.equal(await page.getByRole("treeitem", { name: "Large Page" }).count(), 1);
  },

  async "Start, then the question by hand: the answer names the page"({ page, base }) {
    await open(page, base);
    await page.getByTestId("start-agent").click();
    await running(page);
    await page.getByTestId("composer").fill("What pages mention dragons?");
    await page.getByTestId("composer").press("Enter");
    await page.getByTestId("tool-card").first().waitFor();
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
  },

  async "Start alone takes the offline model"({ page, base }) {
    await open(page, base);
    await page.getByTestId("start-agent").click();
    await running(page);
    await page.getByTestId("composer").fill("Hello");
    await page.getByTestId("composer").press("Enter");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    assert.match(await page.getByTestId("assistant-message").textContent(), /rule-based|not a language model/i);
  },

  async "the samples are what they are said to be"({ page, base }) {
    await open(page, base);
    await start(page);
    const titles = await page.getByRole("treeitem").evaluateAll((items) => items.map((i) => i.getAttribute("aria-label")));
    for (const title of ["Dragon Lore", "History of Rome", "History of Greece", "History of Egypt", "Chapter 1", "Chapter 2", "Chapter 3", "Large Page"]) assert.ok(titles.includes(title), title);
    await page.getByRole("treeitem", { name: "Large Page" }).click();
    await page.getByTestId("page-title").filter({ hasText: "Large Page" }).waitFor();
    const size = await page.locator(".page-meta").textContent();
    assert.ok(Number(/(\d+) k characters/.exec(size)?.[1]) >= 500, size);
  },
};

async function assertInView(page, id) {
  const all = page.getByTestId(id);
  // Which pages there are is known a little after the conversation is.
  await all.first().waitFor();
  assert.equal(await all.count(), 1, id);
  const box = await all.boundingBox();
  const { width, height } = page.viewportSize();
  assert.ok(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${id} at ${JSON.stringify(box)}`);
}
