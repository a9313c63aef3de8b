// A run from question to end: one growing message, and an end that says how it ended.
import assert from "node:assert/strict";
import { open, save, say, settled, start, streaming, useModel } from "./browser.mjs";

export const tests = {
  async "one message grows, with a caret, and keeps its nodes"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    assert.equal(await page.getByTestId("assistant-message").count(), 1);
    assert.equal(await page.locator(".prose.is-open").count(), 1);
    await page.locator("[data-testid=assistant-message] p").first().evaluate((p) => (p.mine = true));
    model.release();
    await settled(page);
    // The thread draws with the next frame.
    await page.locator(".prose.is-open").waitFor({ state: "detached" });
    assert.equal(await page.locator("[data-testid=assistant-message] p").first().evaluate((p) => p.mine === true), true);
  },

  async "the caret stands behind the last letter, whatever block grows"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    for (const [where, text, behind] of [["list", "two", "li:last-child"], ["quote", "said", "blockquote > p"], ["code", "let a = 1;", ".code-block code"]]) {
      await say(page, `held in a ${where}`);
      const grows = page.locator(".is-open").filter({ hasText: text });
      await grows.waitFor();
      assert.equal(await grows.locator(behind).evaluate((e) => getComputedStyle(e, "::after").width), "2px", where);
      const carets = await grows.evaluate((e) => [...e.querySelectorAll("*")].filter((x) => getComputedStyle(x, "::after").width === "2px").length);
      assert.equal(carets, 1, where);
      await page.getByTestId("stop").click();
      await settled(page);
    }
    await say(page, "never end");
    const line = page.locator(".is-open p").filter({ hasText: "nobody has read" });
    await line.waitFor();
    assert.equal(await line.evaluate((e) => getComputedStyle(e, "::after").width), "2px");
  },

  async "a search of the provider's shows as a card while it runs, and its source once under the answer"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    const offered = () => model.bodies.at(-1).tools.filter(({ type }) => type === "web_search_20250305").length;
    await say(page, "Hello");
    await settled(page);
    assert.equal(offered(), 0, "nothing is searched that nobody has allowed");
    await page.getByTestId("open-settings").click();
    await page.getByTestId("search-web").check();
    await save(page);
    await say(page, "search the web slowly");
    const card = page.locator("[data-testid=tool-card][data-by=provider]");
    await card.waitFor();
    assert.equal(await card.getAttribute("data-state"), "started");
    model.release();
    await settled(page);
    assert.deepEqual([await card.count(), await card.getAttribute("data-state")], [1, "completed"]);
    assert.match(await card.textContent(), /web_search/);
    const sources = page.getByTestId("source");
    assert.equal(await sources.filter({ visible: true }).count(), 1, "each address once");
    const link = sources.first().getByRole("link", { name: "Opening hours" });
    assert.deepEqual([await link.getAttribute("href"), await link.getAttribute("target"), await link.getAttribute("rel")], ["https://shop.example/hours", "_blank", "noopener noreferrer nofollow"]);
    assert.match(await sources.first().textContent(), /shop\.example.*open till six/);
    assert.equal(await page.locator("a[href^='javascript']").count(), 0);
  },

  async "Stop: the text stays, a note says so, the composer is ready"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    await page.getByTestId("stop").click();
    const stopped = page.getByTestId("system-message").filter({ hasText: "Session interrupted." });
    await stopped.waitFor();
    await settled(page);
    assert.match(await page.getByTestId("assistant-message").textContent(), /nobody has read/);
    assert.equal(await page.getByTestId("agent-status").textContent(), "Running");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "message");
    assert.equal(await page.locator(".pulse").isVisible(), false);
    await stopped.getByRole("button", { name: "Continue" }).click();
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 1, "nothing was said anew");
    assert.equal(await stopped.getByRole("button").count(), 0, "only the last answer is gone on with");
    await say(page, "Again");
    await page.getByTestId("assistant-message").nth(2).waitFor();
    await settled(page);
  },

  async "a provider without a key: the error says what to do"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Anthropic", { exact: false }).check();
    await save(page);
    await start(page);
    await say(page, "What is in my workspace?");
    const note = page.getByTestId("system-message").filter({ hasText: "Error: LLM provider not configured." });
    await note.waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("agent-status").textContent(), "Running");
    // Right below the question, and in words for the person at the page.
    assert.match(await note.innerText(), /Enter a key in the settings, or take the offline model\./);
    const asked = await page.getByTestId("user-message").boundingBox();
    assert.ok((await note.boundingBox()).y - asked.y - asked.height < 40);
    await note.getByRole("button", { name: "Open settings" }).click();
    await page.getByTestId("key").waitFor();
  },

  async "an answer that breaks off is asked for again, and nobody sees an error"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "break off once");
    await page.getByTestId("assistant-message").filter({ hasText: "This time it holds." }).waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("system-message").filter({ hasText: "Error:" }).count(), 0);
    assert.equal(await page.getByText("This is only half").count(), 0);
  },

  async "a failed answer is tried again, from where it broke"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "break off at each try");
    const note = page.getByTestId("system-message").filter({ hasText: "Error:" });
    await note.waitFor();
    await settled(page);
    await note.getByRole("button", { name: "Try again" }).click();
    await page.getByTestId("assistant-message").filter({ hasText: "This time it holds." }).waitFor();
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 1);
    // What is past cannot be tried again.
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
  },

  async "a refused key is an error below the question, with the settings at hand"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "refuse the key");
    const note = page.getByTestId("system-message").filter({ hasText: "Error:" });
    await note.waitFor();
    await settled(page);
    assert.equal(await note.getAttribute("data-code"), "auth");
    assert.equal(await note.getByRole("button", { name: "Open settings" }).count(), 1);
  },

  async "a second tab says that the agent is in the first, is answered there, takes it over, and goes on when that one is gone"({ page, base, context, watch }) {
    await open(page, base);
    await start(page);
    const second = await context.newPage();
    watch(second);
    await open(second, base);
    await second.getByTestId("elsewhere").filter({ hasText: "Another tab runs the agent." }).waitFor();
    await say(second, "List my pages");
    for (const tab of [second, page]) await tab.getByTestId("assistant-message").nth(0).waitFor();
    await settled(second);
    assert.equal(await page.getByTestId("elsewhere").count(), 0);
    await second.getByTestId("take-over").click();
    await second.getByTestId("elsewhere").waitFor({ state: "detached" });
    await page.getByTestId("elsewhere").filter({ hasText: "Another tab has taken the agent over." }).waitFor();
    await second.close();
    // The first has joined when it was started.
    await page.getByTestId("moved-here").filter({ hasText: "This tab runs the agent now" }).waitFor();
    await say(page, "List my pages");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
  },

  async "thinking is folded, and stays as the reader left it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "think about it");
    await page.getByTestId("assistant-message").filter({ hasText: "I have thought about it." }).waitFor();
    await settled(page);
    const thinking = page.locator("details.thinking");
    assert.equal(await thinking.evaluate((d) => d.open), false);
    assert.match(await thinking.locator("summary").textContent(), /^Thought/);
    await thinking.locator("summary").click();
    await thinking.getByText("nobody has read").waitFor();
  },

  async "clearing asks first, and leaves nothing"({ page, base }) {
    await open(page, base);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Clear conversation" }).click();
    await page.getByTestId("ask").getByRole("button", { name: "Cancel" }).click();
    assert.equal(await page.getByTestId("user-message").count(), 1);
    await page.getByRole("button", { name: "Clear conversation" }).click();
    await page.getByTestId("ask").getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByTestId("user-message").waitFor({ state: "detached" });
    assert.equal(await page.getByTestId("assistant-message").count(), 0);
    assert.equal(await page.getByTestId("system-message").count(), 0);
  },

  async "Stop Agent, and start again from the bar above the composer"({ page, base }) {
    await open(page, base);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Stop Agent" }).click();
    await page.getByTestId("agent-stopped").filter({ hasText: "The agent is not running." }).waitFor();
    await page.getByTestId("start-agent").click();
    await page.locator("[data-lifecycle=Running]").waitFor();
    assert.equal(await page.getByTestId("assistant-message").count(), 1);
  },

  async "speech: start and end are told, the text is not"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await page.evaluate(() => {
      window.spoken = [];
      for (const region of document.querySelectorAll("[data-testid^=speech]")) new MutationObserver(() => window.spoken.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
    });
    await say(page, "never end");
    await page.waitForFunction(() => window.spoken.includes("Agent is answering"));
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    model.release();
    await page.waitForFunction(() => window.spoken.some((s) => s.startsWith("Answer complete, ")));
    const spoken = await page.evaluate(() => window.spoken);
    assert.ok(spoken.every((s) => /^(Agent is answering|Still answering|Answer complete, \d+ words|)$/.test(s)), JSON.stringify(spoken));
    assert.equal(await page.getByRole("log").getAttribute("aria-live"), "off");
  },
};
