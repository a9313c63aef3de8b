// Tool cards: what they say folded, what they hold, and that no state is told by colour alone.
import assert from "node:assert/strict";
import { open, say, settled, start, useModel } from "./browser.mjs";

export const tests = {
  async "done and failed differ in words and icons, and say why while folded"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "use tools");
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    const [done, failed] = [page.locator("[data-testid=tool-card][data-state=completed]"), page.locator("[data-testid=tool-card][data-state=failed]")];
    assert.equal(await done.locator(".tool-word").textContent(), "done");
    assert.equal(await failed.locator(".tool-word").textContent(), "failed");
    const icons = await Promise.all([done, failed].map((card) => card.locator(".tool-mark .icon").getAttribute("data-icon")));
    assert.notEqual(icons[0], icons[1]);
    assert.match(await done.locator("summary").textContent(), /search_pages.*dragon/);
    assert.match(await failed.locator(".tool-line").textContent(), /this-page-does-not-exist-xyz-404/);
    assert.equal(await done.evaluate((d) => d.open), false);
  },

  async "a result is text; JSON comes on demand"({ page, base }) {
    await open(page, base);
    await start(page);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    const card = page.getByTestId("tool-card").first();
    await card.locator("summary").first().click();
    const body = card.locator(".tool-body");
    await body.getByRole("link", { name: "Dragon Lore" }).first().waitFor();
    assert.doesNotMatch(await body.innerText(), /[{}]/);
    await body.getByText("JSON", { exact: true }).click();
    const json = JSON.parse(await body.locator(".tool-json pre").textContent());
    assert.equal(json.tool, "search_pages");
    assert.ok(json.arguments.query);
  },

  async "a result of more than 100 KB neither hangs nor fails"({ page, base }) {
    await open(page, base);
    await start(page);
    await say(page, "Read the content of 'Large Page'.");
    await page.locator("[data-testid=tool-card][data-state=completed]").first().waitFor();
    await settled(page);
    const card = page.getByTestId("tool-card").filter({ hasText: "read_page" }).first();
    await card.locator("summary").first().click();
    await card.locator(".tool-body").getByText("Result", { exact: true }).waitFor();
    assert.equal(await page.locator("[data-testid=tool-card][data-state=failed]").count(), 0);
    await card.getByText("JSON", { exact: true }).click();
    await card.getByRole("link", { name: "Download" }).waitFor();
  },

  async "three chapters: several cards, one after the other, all done"({ page, base }) {
    await open(page, base);
    await start(page);
    await say(page, "Read the content of all three chapter pages and summarize them together.");
    await page.getByTestId("assistant-message").filter({ hasText: "Chapter 3" }).waitFor();
    await settled(page);
    const states = await page.getByTestId("tool-card").evaluateAll((cards) => cards.map((c) => c.dataset.state));
    assert.ok(states.length >= 3, `${states.length} cards`);
    assert.ok(states.every((s) => s === "completed"), states.join());
  },

  async "three in a row are one line; what failed stays in view; each can be read"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "five tools");
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    const group = page.getByTestId("tool-group");
    assert.equal(await group.count(), 1);
    assert.match(await group.innerText(), /1 failed\s+5 tools\s+read_page × 3, search_pages × 2/);
    assert.equal(await group.getAttribute("aria-expanded"), "false");
    const shown = () => page.locator("[data-testid=tool-card]:visible").evaluateAll((cards) => cards.map((c) => c.dataset.state));
    assert.deepEqual(await shown(), ["failed"]);
    const reason = page.locator("[data-testid=tool-card][data-state=failed] .tool-line");
    assert.match(await reason.innerText(), /no-such-page/);
    assert.equal(await reason.evaluate((e) => e.scrollWidth <= e.clientWidth), true, "the reason is cut off");

    // By keyboard alone: open the group, read one card, fold the group with the card open.
    await group.focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await shown(), ["completed", "failed", "completed", "completed", "completed"]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByTestId("tool-card").first().locator(".tool-body").getByText("brass key").waitFor();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Space");
    assert.deepEqual(await shown(), ["failed"]);
    assert.equal(await group.evaluate((g) => g === document.activeElement), true);
  },

  async "two in a row are no group"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "use tools");
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("tool-group").count(), 0);
    assert.equal(await page.locator("[data-testid=tool-card]:visible").count(), 2);
  },

  async "a card that somebody has opened stays when the others fold"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    // The model holds back the third call until the first has been opened.
    await say(page, "five tools, slowly");
    await page.getByTestId("tool-card").nth(1).waitFor();
    await page.getByTestId("tool-card").first().locator("summary").first().click();
    model.release();
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    await page.getByTestId("tool-group").waitFor();
    assert.deepEqual(await page.locator("[data-testid=tool-card]:visible").evaluateAll((cards) => cards.map((c) => c.dataset.state)), ["completed", "failed"]);
  },

  async "what the agent changes shows in the page at once"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await page.getByRole("treeitem", { name: "Dragon Lore" }).click();
    await page.getByTestId("page-title").filter({ hasText: "Dragon Lore" }).waitFor();
    await say(page, "change the page");
    await page.locator(".page-text").getByText("The agent wrote this.").waitFor();
    await page.getByTestId("page-changed").getByRole("button", { name: "See the change" }).click();
    await page.locator(".diff .added").filter({ hasText: "The agent wrote this." }).waitFor();
  },
};
