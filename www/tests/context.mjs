// How full a conversation is, and what a person sees where it becomes shorter for the model.
import assert from "node:assert/strict";
import { answered, open, running, say, settled, start, streaming, useModel, workspace } from "./browser.mjs";

/** A window so small that a few messages fill it. */
const SMALL = { context: 4_000, output: 500 };

export const tests = {
  async "the meter says how full the conversation is, in words and for the model in tokens"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "Hello");
    await answered(page);
    const meter = page.getByTestId("context-meter");
    await meter.filter({ hasText: "Conversation under 1 % full" }).waitFor();
    assert.equal(await meter.getByTestId("shorten").isVisible(), false);
    await meter.locator("summary").focus();
    await page.keyboard.press("Enter");
    await meter.getByText(/The model can read about 1M tokens at once/).waitFor();
    await meter.getByTestId("shorten").waitFor();
  },

  async "made shorter by hand: not while an answer is written, told while it happens, and all that was said stays"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "Hello, slowly");
    await answered(page);
    await say(page, "never end");
    await streaming(page);
    const meter = page.getByTestId("context-meter");
    await meter.locator("summary").click();
    const shorten = meter.getByTestId("shorten");
    assert.equal(await shorten.getAttribute("aria-disabled"), "true");
    const before = model.requests;
    // A press does nothing, though the button keeps the focus.
    await shorten.focus();
    await page.keyboard.press("Enter");
    await page.getByTestId("stop").click();
    await settled(page);
    assert.equal(model.requests, before);
    await shorten.and(page.locator("[aria-disabled=false]")).focus();
    await page.keyboard.press("Enter");
    await page.getByTestId("run-line").filter({ hasText: "Making the conversation shorter" }).waitFor();
    assert.equal(await page.getByTestId("shortened").count(), 0);
    model.release();
    const mark = page.getByTestId("shortened");
    await mark.filter({ hasText: "Made shorter, as you asked: from here on the model reads a summary of what was said before." }).waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 2);
    await page.getByText("nobody has read").first().waitFor();
    // Nothing was answered: there is nothing to copy or to say again.
    const last = page.getByTestId("assistant-message").last();
    assert.equal(await last.getByRole("button", { name: "Answer again" }).count(), 0);
    assert.equal(await last.getByRole("button", { name: "Copy answer" }).count(), 0);
    assert.equal(await mark.locator(".prose").isVisible(), false);
    await mark.locator("summary").focus();
    await page.keyboard.press("Enter");
    await mark.locator("strong").filter({ hasText: "the harbour" }).waitFor();
    await meter.getByText("So far that happened once.").waitFor();
    await page.getByTestId("open-journal").click();
    await page.getByTestId("journal-entry").filter({ hasText: "sums upas you asked" }).waitFor();
  },

  async "a conversation that fills its window says so where it became shorter, and still after a reload"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await workspace(page);
    await page.evaluate((facts) => ws.configureAgent({ models: { anthropic: { "claude-sonnet-4-6": facts } }, compaction: { at: 0.2, keep: 200 } }), SMALL);
    const mark = page.getByTestId("shortened").first();
    for (let i = 0; i < 8 && !(await mark.count()); i += 1) {
      await say(page, `Message ${i}: ${"the harbour lies quiet ".repeat(60)}`);
      await page.getByTestId("assistant-message").nth(i).waitFor();
      await answered(page);
    }
    await mark.filter({ hasText: "The conversation was nearly full: from here on the model reads a summary of what was said before." }).waitFor();
    await page.getByTestId("context-meter").filter({ hasText: /Conversation \d+ % full/ }).waitFor();
    await open(page, base);
    await mark.locator("summary").click();
    await mark.locator("strong").filter({ hasText: "the harbour" }).waitFor();
    await page.getByTestId("start-agent").click();
    await running(page);
  },

  async "speech tells that it happens, and that it is done"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await page.evaluate(() => {
      window.spoken = [];
      for (const region of document.querySelectorAll("[data-testid^=speech]")) new MutationObserver(() => window.spoken.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
    });
    await say(page, "Hello");
    await page.waitForFunction(() => window.spoken.some((text) => /^Answer complete/.test(text)));
    await page.getByTestId("context-meter").locator("summary").click();
    await page.getByTestId("shorten").and(page.locator("[aria-disabled=false]")).click();
    await page.waitForFunction(() => window.spoken.includes("The conversation is shorter now for the model"));
    const spoken = await page.evaluate(() => window.spoken);
    assert.equal(spoken.filter((text) => /^Answer complete/.test(text)).length, 1, JSON.stringify(spoken));
  },
};
