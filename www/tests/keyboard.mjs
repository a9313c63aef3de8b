// All of it by keyboard, with the focus where it can be seen.
import assert from "node:assert/strict";
import { open, say, settled, start, streaming, useModel } from "./browser.mjs";

const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("data-testid") ?? document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent?.trim() ?? "");

export const tests = {
  async "from nothing to an answer without a pointer"({ page, base }) {
    await open(page, base);
    await page.getByTestId("load-samples").waitFor();
    await tabTo(page, "load-samples");
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem", { name: "Large Page" }).waitFor();
    await tabTo(page, "start-agent");
    await page.keyboard.press("Enter");
    await page.locator("[data-lifecycle=Running]").waitFor();
    await page.waitForFunction(() => document.activeElement?.id === "message");
    await page.keyboard.type("What pages mention dragons?");
    await page.keyboard.press("Enter");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    assert.equal(await focused(page), "composer");
  },

  async "every stop of Tab is visible, and Tab comes round"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.locator("button").first().focus();
    const seen = new Set();
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const e = document.activeElement;
        if (!e || e === document.body) return null;
        const { width, height } = e.getBoundingClientRect();
        const style = getComputedStyle(e);
        const row = e.querySelector(".tree-row");
        const ring = style.outlineStyle !== "none" || (row && getComputedStyle(row).outlineStyle !== "none") || e.closest(".composer-box, .card-choice") !== null;
        return { name: e.outerHTML.slice(0, 120), shown: width > 0 && height > 0, ring };
      });
      if (!stop) break;
      assert.ok(stop.shown && stop.ring, `not visible: ${stop.name}`);
      seen.add(stop.name);
    }
    assert.ok(seen.size > 10, `${seen.size} stops`);
  },

  async "Escape: once warns, twice stops; Ctrl+. stops from anywhere"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("composer").press("Escape");
    await page.getByText("Press Esc again to stop the answer").first().waitFor();
    assert.equal(await page.getByTestId("stop").isVisible(), true);
    // Twice within the time that the page allows for it, however long the test has looked at the warning.
    await page.getByTestId("composer").evaluate((input) => {
      for (let i = 0; i < 2; i += 1) input.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
    });
    await page.getByText("Session interrupted.").first().waitFor();
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("page-search").focus();
    await page.keyboard.press("Control+.");
    await page.getByText("Session interrupted.").nth(1).waitFor();
  },

  async "Escape closes a dialog and leaves the run alone"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("open-settings").click();
    await page.getByTestId("key").waitFor();
    await page.keyboard.press("Escape");
    await page.getByTestId("key").waitFor({ state: "hidden" });
    assert.equal(await page.getByTestId("stop").isVisible(), true);
    assert.equal(await focused(page), "open-settings");
    model.release();
    await settled(page);
  },

  async "F6 goes round the parts of the page"({ page, base }) {
    await open(page, base);
    await start(page);
    const regions = [];
    for (let i = 0; i < 4; i += 1) {
      await page.keyboard.press("F6");
      regions.push(await page.evaluate(() => document.activeElement?.closest("[data-region]")?.getAttribute("aria-label")));
    }
    assert.deepEqual(new Set(regions), new Set(["Sessions", "Pages", "Page", "Conversation"]));
  },

  async "the tree is one stop, with arrows inside"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Dragon Lore" }).focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await focused(page), "History of Rome");
    await page.keyboard.press("End");
    assert.equal(await focused(page), "Large Page");
    await page.keyboard.press("c");
    assert.equal(await focused(page), "Chapter 1");
    await page.keyboard.press("Enter");
    await page.getByTestId("page-title").filter({ hasText: "Chapter 1" }).waitFor();
    assert.equal(await page.locator("[role=treeitem][tabindex='0']").count(), 1);
  },
};

async function tabTo(page, id) {
  for (let i = 0; i < 60; i += 1) {
    if ((await focused(page)) === id) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab never came to ${id}`);
}
