// Editing what was said and asking again: the versions of a message, and the way between them.
import assert from "node:assert/strict";
import { open, say, settled, start, streaming, useModel } from "./browser.mjs";
import { launchSession } from "./sessions.mjs";

async function begin({ page, base, model, visit }) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
}

const said = (page) => page.locator("[data-testid=user-message] .said").allTextContents();

/** Waits for so many messages of the person and of the agent, with nothing at work. */
async function count(page, n) {
  await page.waitForFunction((n) => ["user", "assistant"].every((role) => document.querySelectorAll(`[data-testid=${role}-message]`).length === n), n);
  await settled(page);
}

async function edit(page, at, text) {
  const message = page.getByTestId("user-message").nth(at);
  await message.hover();
  await message.getByRole("button", { name: "Edit your message" }).click();
  await page.getByTestId("edit-text").fill(text);
  await page.getByTestId("edit-text").press("Control+Enter");
}

export const tests = {
  async "an edit takes the place of what followed; ‹ › leads between the versions"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "First");
    await count(page, 1);
    await say(page, "Second");
    await count(page, 2);
    await edit(page, 0, "First, said better");
    await count(page, 1);
    assert.deepEqual(await said(page), ["First, said better"]);
    const versions = page.getByTestId("user-message").getByTestId("versions");
    assert.equal(await versions.getByTestId("version-count").textContent(), "2/2");
    await versions.getByRole("button", { name: "Version before" }).click();
    await page.getByTestId("looks-back").waitFor();
    await count(page, 2);
    assert.deepEqual(await said(page), ["First", "Second"]);
    assert.equal(await page.getByTestId("version-count").first().textContent(), "1/2");
    await page.getByTestId("looks-back").getByRole("button").click();
    await count(page, 1);
    assert.deepEqual(await said(page), ["First, said better"]);
    await page.reload();
    await count(page, 1);
    assert.equal(await page.getByTestId("user-message").getByTestId("version-count").textContent(), "2/2");
  },

  async "an answer is made again, and both can be read"(t) {
    const { page } = t;
    await begin(t);
    await launchSession(page, "Again");
    await say(page, "Hello");
    await count(page, 1);
    await page.getByTestId("assistant-message").getByRole("button", { name: "Answer again" }).click();
    const number = page.getByTestId("assistant-message").getByTestId("version-count").filter({ hasText: "2/2" });
    await number.waitFor();
    await settled(page);
    assert.deepEqual(await said(page), ["Hello"]);
    await page.getByTestId("assistant-message").getByRole("button", { name: "Version before" }).click();
    await page.getByTestId("assistant-message").getByTestId("version-count").filter({ hasText: "1/2" }).waitFor();
    await page.getByTestId("assistant-message").getByRole("button", { name: "Version after" }).click();
    await number.waitFor();
    assert.equal(await page.getByTestId("looks-back").count(), 0);
  },

  async "Escape leaves a message as it was; a refused edit stays in its field"(t) {
    const { page, model } = t;
    await begin(t);
    await say(page, "Hello");
    await count(page, 1);
    await page.getByTestId("user-message").hover();
    await page.getByRole("button", { name: "Edit your message" }).click();
    await page.getByTestId("edit-text").fill("Not this");
    await page.keyboard.press("Escape");
    assert.deepEqual(await said(page), ["Hello"]);
    await say(page, "never end");
    await streaming(page);
    assert.equal(await page.getByRole("button", { name: "Edit your message" }).count(), 0);
    model.release();
    await count(page, 2);
  },
};
