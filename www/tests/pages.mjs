// Reading and changing pages by hand.
import assert from "node:assert/strict";
import { open, start, tamper } from "./browser.mjs";

/** Waits for this title and no other: "Keys" is a part of "Notes on keys". */
const title = (page, text) => page.getByTestId("page-title").and(page.getByRole("heading", { name: text, exact: true })).waitFor();

export const tests = {
  async "links, backlinks and the way back"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "History of Rome" }).click();
    await title(page, "History of Rome");
    await page.getByTestId("backlinks").getByRole("link", { name: "Dragon Lore" }).waitFor();
    await page.locator(".page-text").getByRole("link", { name: "History of Greece" }).click();
    await title(page, "History of Greece");
    await page.goBack();
    await title(page, "History of Rome");
  },

  async "an edit makes a version, and an old one can be restored"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Chapter 1" }).click();
    await title(page, "Chapter 1");
    await page.locator(".page-text").getByText("brass key").waitFor();
    const before = await page.locator(".page-text").innerText();
    await page.getByTestId("edit-page").click();
    await page.getByTestId("page-editor").fill("A **new** beginning.");
    await page.getByTestId("save-page").click();
    await page.locator(".page-text").getByText("A new beginning.").waitFor();
    await page.getByTestId("page-versions").locator("summary").click();
    await page.getByRole("button", { name: /Version 1/ }).click();
    await page.getByRole("button", { name: "Restore this version" }).click();
    await page.locator(".page-text").getByText("brass key").waitFor();
    assert.equal(await page.locator(".page-text").innerText(), before);
  },

  async "a damaged page says what restoring can do, and is restored"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Chapter 1" }).click();
    await page.getByTestId("edit-page").click();
    await page.getByTestId("page-editor").fill("A new beginning.");
    await page.getByTestId("save-page").click();
    await page.locator(".page-text").getByText("A new beginning.").waitFor();
    await tamper(page, "pages", "A new beginning.", "A bad beginning.");
    await page.reload();
    const panel = page.getByTestId("page-damaged");
    await panel.filter({ hasText: "Restoring brings back the last version that can be read, if there is one." }).waitFor();
    await panel.getByRole("button", { name: "Restore it" }).click();
    await title(page, "Chapter 1");
    await page.locator(".page-text").getByText("brass key").waitFor();
    // The button that was pressed is gone.
    await page.waitForFunction(() => document.activeElement.matches(".page-pane *"));
  },

  async "where nothing of a page can be read, restoring says so, and the trash is all that is left"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Chapter 1" }).click();
    await page.locator(".page-text").getByText("brass key").waitFor();
    await tamper(page, "pages", "brass key", "wrong key");
    await page.reload();
    const panel = page.getByTestId("page-damaged");
    assert.equal(await panel.getByText("Nothing of it can be read").count(), 0);
    await panel.getByRole("button", { name: "Restore it" }).click();
    await panel.getByRole("alert").filter({ hasText: "Nothing of it can be read any more, no earlier version either." }).waitFor();
    assert.deepEqual(await panel.getByRole("button").allInnerTexts(), ["Move it to the trash"]);
    assert.equal(await panel.getByText("Restoring brings back").count(), 0);
    // It is said once.
    assert.equal(await page.getByRole("alert").filter({ hasText: "read any more" }).count(), 1);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "delete-damaged");
    await page.keyboard.press("Enter");
    await page.locator(".toast").filter({ hasText: "is in the trash." }).waitFor();
    await panel.waitFor({ state: "detached" });
    // Another damaged page is asked anew.
    await tamper(page, "pages", "History of Greece", "History of Crete");
    await page.reload();
    await page.evaluate(() => (location.hash = "#/page/history-of-greece"));
    await panel.getByRole("button", { name: "Restore it" }).waitFor();
  },

  async "create, rename, move, delete, undo"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("button", { name: "New page", exact: true }).first().click();
    await page.getByTestId("ask").getByLabel("Title").fill("Notes on keys");
    await page.keyboard.press("Enter");
    await title(page, "Notes on keys");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.getByTestId("ask").getByLabel("Title").fill("Keys");
    await page.keyboard.press("Enter");
    await title(page, "Keys");
    await page.getByRole("button", { name: "Move" }).click();
    await page.getByTestId("ask").getByLabel("Under").selectOption({ label: "Chapter 1" });
    await page.getByTestId("ask").getByRole("button", { name: "Move" }).click();
    await page.locator("[role=treeitem][aria-level='2']").filter({ hasText: "Keys" }).waitFor();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("treeitem", { name: "Keys", exact: true }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("treeitem", { name: "Keys", exact: true }).waitFor();
  },

  async "two people on one page: nothing is overwritten unseen"({ page, base, context, visit }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Chapter 1" }).click();
    await title(page, "Chapter 1");
    await page.getByTestId("edit-page").click();
    await page.getByTestId("page-editor").fill("Mine");
    const other = await context.newPage();
    visit.watch(other);
    await open(other, base, `/${new URL(page.url()).hash}`);
    await title(other, "Chapter 1");
    await other.getByTestId("edit-page").click();
    await other.getByTestId("page-editor").fill("Theirs");
    await other.getByTestId("save-page").click();
    await other.locator(".page-text").getByText("Theirs").waitFor();
    await page.getByTestId("save-page").click();
    await page.getByRole("button", { name: "Save anyway" }).waitFor();
    assert.equal(await page.getByTestId("page-editor").inputValue(), "Mine");
    await page.getByRole("button", { name: "Save anyway" }).click();
    await page.locator(".page-text").getByText("Mine").waitFor();
  },

  async "search finds by text, and a page that does not exist can be made"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByTestId("page-search").fill("Alexander");
    await page.getByTestId("search-results").getByRole("link", { name: /History of Greece/ }).click();
    await title(page, "History of Greece");
    await page.evaluate(() => (location.hash = "#/title/Lighthouses"));
    await page.getByRole("button", { name: "Create it" }).click();
    await title(page, "Lighthouses");
  },

  async "a page of 500 KB opens at once and can be read to its end"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Large Page" }).click();
    await title(page, "Large Page");
    await page.locator(".page-text").getByText("Ledger 1", { exact: true }).waitFor();
    const count = await page.locator(".page-text p").count();
    await page.getByRole("button", { name: /Show more/ }).click();
    await page.waitForFunction((n) => document.querySelectorAll(".page-text p").length > n, count);
  },

  async "a page that is one long line is shown in parts too"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Chapter 1" }).click();
    await title(page, "Chapter 1");
    await page.getByTestId("edit-page").click();
    await page.getByTestId("page-editor").fill("word ".repeat(12_000));
    await page.getByTestId("save-page").click();
    const isLong = (least) => page.waitForFunction((least) => document.querySelector(".page-text")?.textContent.length > least, least);
    await isLong(30_000);
    assert.ok((await page.locator(".page-text").evaluate((text) => text.textContent.length)) < 59_000);
    await page.getByRole("button", { name: /Show more/ }).click();
    await isLong(59_000);
  },
};
