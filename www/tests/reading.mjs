// Reading while it is written: the reader's place, the reader's selection, and text that does not flicker.
import assert from "node:assert/strict";
import { MARKDOWN, SECTIONS } from "./model.mjs";
import { open, say, settled, start, streaming, useModel } from "./browser.mjs";

async function longAnswer({ page, base, model, visit }) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  await say(page, "100 KB please");
  await page.getByTestId("assistant-message").filter({ hasText: "Section 20" }).waitFor();
}

const top = (page) => page.getByRole("log").evaluate((log) => log.scrollTop);
const atEnd = (page) => page.getByRole("log").evaluate((log) => log.scrollHeight - log.clientHeight - log.scrollTop < 4);

export const tests = {
  async "the view follows, and stays at the end"(t) {
    await longAnswer(t);
    await settled(t.page);
    await t.page.getByText(`Section ${SECTIONS - 1}`, { exact: true }).waitFor({ state: "attached" });
    await t.page.waitForFunction(() => {
      const log = document.querySelector("[role=log]");
      return log.scrollHeight - log.clientHeight - log.scrollTop < 4;
    });
  },

  async "scrolling up by wheel holds while text arrives"(t) {
    const { page } = t;
    await held(t);
    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -200);
    await page.waitForFunction(() => {
      const log = document.querySelector("[role=log]");
      return log.scrollHeight - log.clientHeight - log.scrollTop > 100;
    });
    await staysWhileMoreComes(t);
  },

  async "scrolling up by key holds while text arrives"(t) {
    const { page } = t;
    await held(t);
    await page.getByRole("log").focus();
    await page.keyboard.press("PageUp");
    await page.waitForFunction(() => {
      const log = document.querySelector("[role=log]");
      return log.scrollHeight - log.clientHeight - log.scrollTop > 100;
    });
    await staysWhileMoreComes(t);
    // The way back is still there when the answer has ended.
    await page.getByRole("button", { name: "New text" }).click();
    assert.equal(await atEnd(page), true);
    assert.equal(await page.getByRole("button", { name: "New text" }).count(), 0);
  },

  async "a selection in a finished paragraph survives the end"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "use tools");
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("assistant-message").nth(1).filter({ hasText: "nobody has read" }).waitFor();
    await page.locator("[data-testid=assistant-message]").first().locator(".prose p").first().evaluate((p) => document.getSelection().selectAllChildren(p));
    model.release();
    await settled(page);
    assert.equal(await page.evaluate(() => document.getSelection().toString()), "I look.");
  },

  async "the whole text is there at the end, as one render would give it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await page.evaluate(() => {
      window.seen = [];
      const look = () => {
        const open = document.querySelector(".prose.is-open");
        if (open) window.seen.push(open.innerText);
        requestAnimationFrame(look);
      };
      look();
    });
    await say(page, "everything markdown");
    const answer = page.getByTestId("assistant-message");
    await answer.filter({ hasText: "The end." }).waitFor();
    await settled(page);
    assert.deepEqual(await answer.locator("h4, h5").allTextContents(), ["First", "Third"]);
    assert.equal(await answer.locator("strong").first().textContent(), "bold");
    assert.equal(await answer.locator(".code-block code").textContent(), "fn add(a: u32, b: u32) -> u32 { a + b } // the sum");
    assert.equal(await answer.locator("table td").count(), 2);
    assert.equal(await answer.locator("ol li").count(), 2);
    assert.equal(await answer.getByRole("link", { name: "Dragon Lore" }).getAttribute("href"), "#/title/Dragon%20Lore");
    // No frame showed a fence, a half link or the marks of emphasis as text.
    const seen = await page.evaluate(() => window.seen);
    for (const text of seen) assert.doesNotMatch(text, /```|\*\*|~~|\]\(|^#{1,6} |\|---/m);
    assert.ok(MARKDOWN.includes("The end."));
  },

  async "copy gives the exact source"({ page, base, model, visit, context }) {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "everything markdown");
    await page.getByTestId("assistant-message").filter({ hasText: "The end." }).waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Copy answer" }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("The end."));
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), MARKDOWN);
    await page.getByRole("button", { name: "Copy code" }).click();
    await page.waitForFunction(async () => !(await navigator.clipboard.readText()).includes("The end."));
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "fn add(a: u32, b: u32) -> u32 { a + b } // the sum");
  },
};

/** Many finished lines above, and an answer that is held in its middle. */
async function held(t) {
  const { page } = t;
  await longAnswer(t);
  await settled(page);
  await say(page, "never end");
  await page.getByTestId("assistant-message").nth(1).filter({ hasText: "nobody has read" }).waitFor();
  await page.waitForFunction(() => {
    const log = document.querySelector("[role=log]");
    return log.scrollHeight - log.clientHeight - log.scrollTop < 4;
  });
}

async function staysWhileMoreComes({ page, model }) {
  // The browser may still be gliding to where the key sent it.
  const before = await page.getByRole("log").evaluate(async (log) => {
    for (let last = -1; last !== log.scrollTop; ) {
      last = log.scrollTop;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
    return log.scrollTop;
  });
  model.release();
  await settled(page);
  assert.equal(await top(page), before);
  assert.equal(await atEnd(page), false);
}
