// What is remembered from one conversation to the next: whether it is, what is shown of it, and what a person can do.
import assert from "node:assert/strict";
import { answered, open, save, say, settled, start, useModel, workspace } from "./browser.mjs";

/** The memories that there are, as other code of the page has them. */
const remembered = (page) => page.evaluate(async () => (await ws.memory.list()).map(({ text, importance, tags }) => ({ text, importance, tags })));

/** Opens the list. */
async function show(page) {
  await page.getByTestId("open-memories").click();
  await page.getByTestId("memory-search").waitFor();
}

async function add(page, text, { importance = "normal", tags = "" } = {}) {
  await page.getByTestId("add-memory").click();
  await page.getByTestId("memory-field").fill(text);
  await page.getByTestId("memory-importance").selectOption(importance);
  await page.getByTestId("memory-tags").fill(tags);
  await page.getByTestId("store-memory").click();
  await page.getByTestId("memory").filter({ hasText: text }).waitFor();
  await page.getByTestId("memory-form").waitFor({ state: "detached" });
}

/** Turns remembering on in the settings. */
async function turnOn(page) {
  await page.getByTestId("open-settings").click();
  await page.getByTestId("remember").check();
  await save(page);
}

export const tests = {
  async "by keyboard: one is added, changed, looked for, and forgotten after a question"({ page, base }) {
    await open(page, base);
    await workspace(page);
    await show(page);
    await page.getByTestId("no-memories").filter({ hasText: "Nothing is remembered yet." }).waitFor();
    await page.getByTestId("add-memory").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "memory-field");
    await page.keyboard.type("Ann likes blue.");
    await page.keyboard.press("Control+Enter");
    const ann = page.getByTestId("memory").filter({ hasText: "Ann likes blue." });
    await ann.waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-testid") === "add-memory");
    await add(page, "Her shoes have size 38.", { importance: "high", tags: "shoes, size, shoes" });
    assert.deepEqual(await remembered(page), [
      { text: "Her shoes have size 38.", importance: 0.8, tags: ["shoes", "size"] },
      { text: "Ann likes blue.", importance: 0.5, tags: [] },
    ]);
    // Escape leaves the form, and the list stays.
    await ann.getByTestId("edit-memory").click();
    await page.getByTestId("memory-field").fill("Ann likes red.");
    await page.keyboard.press("Escape");
    await page.getByTestId("memory-form").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-testid") === "edit-memory");
    await ann.getByTestId("edit-memory").click();
    await page.getByTestId("memory-field").fill("Ann likes green.");
    await page.getByTestId("store-memory").click();
    const green = page.getByTestId("memory").filter({ hasText: "Ann likes green." });
    await green.waitFor();
    await page.getByTestId("memory-search").fill("size");
    await green.waitFor({ state: "detached" });
    assert.equal(await page.getByTestId("memory").count(), 1);
    await page.getByTestId("memory-search").fill("");
    await green.getByTestId("forget-memory").click();
    await page.getByTestId("ask").getByRole("button", { name: "Cancel" }).click();
    await green.getByTestId("forget-memory").click();
    await page.getByTestId("ask").getByRole("button", { name: "Forget", exact: true }).click();
    await green.waitFor({ state: "detached" });
    assert.deepEqual((await remembered(page)).map(({ text }) => text), ["Her shoes have size 38."]);
    await page.keyboard.press("Escape");
    await page.getByTestId("memory-search").waitFor({ state: "hidden" });
  },

  async "it is off until it is turned on; then a message says what the agent was told beside it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await show(page);
    await page.getByTestId("memory-off").waitFor();
    await add(page, "Ann likes blue vases.");
    await page.keyboard.press("Escape");
    await say(page, "Which vases does Ann like?");
    await answered(page);
    assert.equal(await page.getByTestId("remembered").locator("visible=true").count(), 0);
    assert.ok(!JSON.stringify(model.bodies).includes("blue vases"), "nothing was told");
    await turnOn(page);
    await say(page, "Which vases does Ann like?");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await answered(page);
    assert.ok(JSON.stringify(model.bodies.at(-1)).includes("blue vases"), "it was told");
    const told = page.getByTestId("user-message").nth(1).getByTestId("remembered");
    await told.filter({ hasText: "Remembered (1)" }).waitFor();
    assert.equal(await told.getByText("Ann likes blue vases.").isVisible(), false);
    await told.locator("summary").focus();
    await page.keyboard.press("Enter");
    await told.getByText("Ann likes blue vases.").waitFor();
    await told.getByRole("button", { name: "All memories" }).click();
    await page.getByTestId("memory").filter({ hasText: "Ann likes blue vases." }).waitFor();
    assert.equal(await page.getByTestId("memory-off").count(), 0);
  },

  async "the choice is kept, and its tools come and go with it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await turnOn(page);
    const tools = async () => JSON.stringify(model.bodies.at(-1).tools.map(({ name }) => name));
    await say(page, "Hello");
    await answered(page);
    assert.match(await tools(), /"remember"/);
    await page.reload();
    await page.getByTestId("composer").waitFor();
    await page.getByTestId("open-settings").click();
    assert.equal(await page.getByTestId("remember").isChecked(), true);
    await page.getByTestId("remember").uncheck();
    await page.getByTestId("key").fill("sk-ant-test-key-7431");
    await save(page);
    await page.getByTestId("start-agent").click();
    await say(page, "Hello again");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await answered(page);
    assert.doesNotMatch(await tools(), /"remember"/);
  },

  async "what the agent keeps while the list is open appears in it, and what has words from outside says so"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await turnOn(page);
    await workspace(page);
    await page.evaluate(() => ws.tools.register({ name: "look_outside", description: "Reads what strangers wrote.", inputSchema: { type: "object" }, source: "External", readOnly: true, execute: () => "A stranger says hello." }));
    await say(page, 'call look_outside {}\ncall remember {"text":"A stranger says hello."}');
    await settled(page);
    await answered(page);
    await show(page);
    await page.getByTestId("memory").filter({ hasText: "A stranger says hello." }).waitFor();
    await page.keyboard.press("Escape");
    // In one answer both are asked for at once; in the next the text from outside was read before.
    await say(page, 'call remember {"text":"The stranger wants the key."}');
    await page.getByTestId("open-memories").click();
    const marked = page.getByTestId("memory").filter({ hasText: "The stranger wants the key." });
    await marked.getByTestId("memory-outside").filter({ hasText: "Made of words from outside; not told by itself." }).waitFor();
    // A person's change does not wash the mark off.
    await marked.getByTestId("edit-memory").click();
    await page.getByTestId("memory-field").fill("The stranger wants a key.");
    await page.getByTestId("store-memory").click();
    await page.getByTestId("memory").filter({ hasText: "The stranger wants a key." }).getByTestId("memory-outside").waitFor();
  },

  async "what cannot be taken stays in its field, and says why"({ page, base }) {
    await open(page, base);
    await workspace(page);
    await show(page);
    await add(page, "Ann likes blue.");
    await page.getByTestId("edit-memory").click();
    await page.evaluate(async () => ws.memory.remove((await ws.memory.list())[0].id));
    await page.getByTestId("memory-field").fill("Ann likes red.");
    await page.getByTestId("store-memory").click();
    await page.getByTestId("memories").getByRole("alert").filter({ hasText: "Error:" }).waitFor();
  },
};
