// Where one writes: no character is lost, nothing is sent twice or by mistake.
import assert from "node:assert/strict";
import { open, say, settled, start, streaming, useModel } from "./browser.mjs";

const box = (page) => page.getByTestId("composer");

export const tests = {
  async "a draft survives the reload, and goes when it was sent"({ page, base }) {
    await open(page, base);
    await box(page).fill("A thought that is not finished");
    await page.reload();
    await box(page).waitFor();
    assert.equal(await box(page).inputValue(), "A thought that is not finished");
    await start(page);
    await box(page).press("Enter");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    assert.equal(await box(page).inputValue(), "");
    await page.reload();
    await box(page).waitFor();
    assert.equal(await box(page).inputValue(), "");
  },

  async "typing while an answer streams loses nothing and sends nothing"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "100 KB, held");
    await streaming(page);
    const text = "While it answers I write on, quickly and without a pause";
    await box(page).focus();
    await page.keyboard.type(text);
    assert.equal(await box(page).inputValue(), text);
    assert.equal(await box(page).isEnabled(), true);
    model.release();
    await settled(page);
    assert.equal(await box(page).inputValue(), text);
    assert.equal(await page.getByTestId("user-message").count(), 1);
  },

  async "Enter during an answer: the text waits for its end, and is sent once; with Ctrl pressed twice, too"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    for (const [text, ctrlKey] of [["not yet", false], ["but now", true]]) {
      await box(page).fill(text);
      await box(page).evaluate((input, ctrlKey) => {
        for (let i = 0; i < 2; i += 1) input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey, bubbles: true, cancelable: true }));
      }, ctrlKey);
      await page.getByTestId("queued").filter({ hasText: text }).waitFor();
      assert.equal(await box(page).inputValue(), "");
    }
    assert.equal(await page.getByTestId("user-message").count(), 1);
    model.release();
    await page.getByTestId("queue").waitFor({ state: "detached" });
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 3);
  },

  async "Enter pressed twice sends once"({ page, base }) {
    await open(page, base);
    await start(page);
    await box(page).fill("Hello");
    await box(page).evaluate((input) => {
      for (let i = 0; i < 2; i += 1) input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    });
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 1);
  },

  async "Shift+Enter is a new line; blanks are not sent; Enter of an input method is not ours"({ page, base }) {
    await open(page, base);
    await start(page);
    await box(page).fill("one");
    await box(page).press("Shift+Enter");
    await page.keyboard.type("two");
    assert.equal(await box(page).inputValue(), "one\ntwo");
    await box(page).fill("  \n ");
    await box(page).press("Enter");
    assert.equal(await page.getByTestId("send").isDisabled(), true);
    await box(page).fill("にほん");
    await box(page).evaluate((input) => {
      input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }));
      input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true }));
    });
    assert.equal(await box(page).inputValue(), "にほん");
    assert.equal(await page.getByTestId("user-message").count(), 0);
  },

  "on a touch screen Enter is a new line": {
    visitor: { width: 390, height: 800, hasTouch: true, isMobile: true },
    async run({ page, base }) {
      await open(page, base);
      await page.getByTestId("start-agent").click();
      await page.locator("[data-lifecycle=Running]").waitFor();
      await box(page).fill("one");
      await box(page).press("Enter");
      assert.equal(await box(page).inputValue(), "one\n");
      await page.getByTestId("send").tap();
      await page.getByTestId("assistant-message").waitFor();
      await settled(page);
    },
  },
};
