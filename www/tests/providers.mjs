// Who answers: what each choice asks for, where the key goes, what an answer cost.
import assert from "node:assert/strict";
import { rawServer } from "../../pkg-tests/servers/raw.mjs";
import { WIRES } from "../../pkg-tests/servers/wires/index.mjs";
import { open, say, settled, start, useModel } from "./browser.mjs";

const SHOWN = {
  "Offline model": { key: false, model: false, address: false, command: null },
  Anthropic: { key: true, model: true, address: true, command: null },
  OpenAI: { key: true, model: true, address: true, command: null },
  xAI: { key: true, model: true, address: true, command: null },
  Ollama: { key: false, model: true, address: true, command: /^OLLAMA_ORIGINS=http:\/\/127\.0\.0\.1:\d+ ollama serve$/ },
  "Another service": { key: true, model: true, address: true, command: null },
};

export const tests = {
  async "each choice shows what it needs, and nothing else"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    const fields = page.getByTestId("settings");
    for (const [name, shown] of Object.entries(SHOWN)) {
      await choose(page, name);
      assert.equal(await fields.getByTestId("key").count(), Number(shown.key), `${name}: key`);
      assert.equal(await fields.getByLabel("Model", { exact: true }).count(), Number(shown.model), `${name}: model`);
      assert.equal(await fields.getByLabel("Address").count(), Number(shown.address), `${name}: address`);
      const command = fields.locator(".command");
      assert.equal(await command.count(), Number(shown.command !== null), `${name}: command`);
      if (shown.command) assert.match(await command.textContent(), shown.command);
    }
    await page.getByTestId("variant").selectOption("LM Studio");
    await fields.getByLabel("Key, if the server wants one").waitFor();
    assert.equal(await fields.getByLabel("Address").getAttribute("placeholder"), "http://localhost:1234/v1");
  },

  async "what is missing is said in the form"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await choose(page, "OpenAI");
    await page.getByTestId("save-settings").click();
    await page.getByTestId("settings").getByRole("alert").filter({ hasText: "Enter a model: OpenAI has no default." }).waitFor();
    await choose(page, "Another service");
    assert.equal(await page.getByTestId("settings").getByRole("alert").count(), 0);
    await page.getByTestId("variant").selectOption("Another server");
    await page.getByTestId("save-settings").click();
    await page.getByTestId("settings").getByRole("alert").filter({ hasText: "Enter the address of the server." }).waitFor();
  },

  async "a key goes to the service that it was entered for, and to no other"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await page.getByTestId("open-settings").click();
    // Typed for one service, and then another is chosen.
    await choose(page, "OpenAI");
    await page.getByTestId("key").fill("sk-openai-typed");
    await choose(page, "Another service");
    assert.equal(await page.getByTestId("key").inputValue(), "");
    await page.getByTestId("variant").selectOption("Another server");
    await page.getByLabel("Model", { exact: true }).fill("some-model");
    await page.getByLabel("Address").fill(`${model.address}/v1`);
    await page.getByTestId("save-settings").click();
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").filter({ hasText: "Said by chat." }).waitFor();
    await settled(page);
    assert.deepEqual(model.calls, [{ path: "/v1/chat/completions", key: undefined }]);
    await page.locator(".destination").getByText("some-model").waitFor();
    // The first one's is still there.
    await page.getByTestId("open-settings").click();
    await choose(page, "Anthropic");
    await page.getByText("••••7431").first().waitFor();
    assert.equal(await page.getByLabel("Address").inputValue(), model.address);
    await page.getByTestId("save-settings").click();
    await say(page, "Hello again");
    await page.getByTestId("assistant-message").nth(1).filter({ hasText: "nobody has read" }).waitFor();
    await settled(page);
    assert.deepEqual(model.calls.at(-1), { path: "/v1/messages", key: "sk-ant-test-key-7431" });
  },

  async "window and price of a model are told where they are known"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await choose(page, "Anthropic");
    const about = page.getByTestId("model-about");
    await about.filter({ hasText: "Window 1M tokens, 128k of them for an answer · $3 in, $15 out per million" }).waitFor();
    await page.getByLabel("Model", { exact: true }).fill("claude-haiku-4-5-20251001");
    await about.filter({ hasText: "Window 200k tokens, 64k of them for an answer · $1 in, $5 out per million" }).waitFor();
    await page.getByLabel("Model", { exact: true }).fill("claude-of-tomorrow");
    await about.filter({ hasText: "not known here" }).waitFor();
    await choose(page, "Another service");
    await page.getByTestId("variant").selectOption("OpenRouter");
    await page.getByLabel("Model", { exact: true }).fill("anthropic/claude-sonnet-4.6");
    await about.filter({ hasText: "Window 1M tokens" }).waitFor();
    assert.ok((await page.locator("#models option").count()) === 0, "the gateway's own list is not known");
  },

  async "Test connection tries what is entered, and suggests the models that are offered"({ page, base, model, hosts }) {
    hosts.add(new URL(model.address).host);
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await choose(page, "Anthropic");
    await page.getByLabel("Address").fill(model.address);
    await page.getByTestId("key").fill("sk-ant-mistyped");
    await page.getByTestId("test-connection").click();
    const answer = page.getByTestId("connection");
    await answer.filter({ hasText: "Error: invalid x-api-key." }).filter({ hasText: "Check the key in the settings" }).waitFor();
    assert.equal(await answer.getAttribute("data-code"), "auth");
    await page.getByTestId("key").fill("sk-ant-test-key-7431");
    assert.equal(await answer.innerText(), "");
    await page.getByTestId("test-connection").focus();
    await page.keyboard.press("Enter");
    await answer.filter({ hasText: "It answers, with 2 models: suggested under Model." }).waitFor();
    assert.deepEqual(await page.locator("#models option").evaluateAll((all) => all.map((option) => option.value)), ["claude-sonnet-4-6", "claude-from-the-list"]);
    await page.getByLabel("Model", { exact: true }).fill("claude-of-tomorrow");
    await answer.filter({ hasText: "“claude-of-tomorrow” is not among them." }).waitFor();
    await page.getByLabel("Model", { exact: true }).fill("claude-from-the-list");
    await answer.filter({ hasText: /under Model\.$/ }).waitFor();
    // Nothing of it was saved or said to a model.
    assert.equal(model.requests, 0);
    await page.keyboard.press("Escape");
    await page.getByTestId("open-settings").click();
    assert.equal(await page.getByText("••••7431").count(), 0);
  },

  async "after a run stands who answered and what it cost, and the sum of the conversation"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "Hello");
    await settled(page);
    // 10 tokens in, 40 out.
    await page.getByTestId("message-facts").filter({ hasText: "10 tokens in · 40 out · $0.00063" }).waitFor();
    await page.getByTestId("session-usage").filter({ hasText: "This conversation: 10 tokens in · 40 out · $0.00063" }).waitFor();
    await page.getByTestId("model-facts").filter({ hasText: "Window 1M tokens · $3 in, $15 out per million" }).waitFor();
    await say(page, "Hello again");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    await page.getByTestId("session-usage").filter({ hasText: "This conversation: 20 tokens in · 80 out · $0.0013" }).waitFor();
    await page.reload();
    await page.getByTestId("session-usage").filter({ hasText: "20 tokens in · 80 out · $0.0013" }).waitFor();
    assert.equal(await page.getByTestId("message-facts").filter({ hasText: "$0.00063" }).count(), 2);
  },

  async "the sum has no price where one answer has none"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("message-facts").filter({ hasText: "$0.00063" }).waitFor();
    await page.getByTestId("open-settings").click();
    await choose(page, "Another service");
    await page.getByTestId("variant").selectOption("Another server");
    await page.getByLabel("Model", { exact: true }).fill("some-model");
    await page.getByLabel("Address").fill(`${model.address}/v1`);
    await page.getByTestId("save-settings").click();
    await say(page, "Hello again");
    await page.getByTestId("message-facts").filter({ hasText: "some-model · 1.2k tokens in · 30 out" }).waitFor();
    const line = page.getByTestId("session-usage").filter({ hasText: "This conversation: 1.21k tokens in · 70 out" });
    await line.waitFor();
    assert.doesNotMatch(await line.innerText(), /\$/);
  },
};

/** The other wires: each conversation goes on where the last one was, before the strict server of its provider. */
tests["one conversation over Responses, Ollama and Mistral: thinking, a tool, an answer"] = async ({ page, base, hosts }) => {
  await open(page, base);
  await start(page);
  for (const [i, [card, variant, name]] of [["OpenAI", "Responses", "openai-responses"], ["Ollama", undefined, "ollama"], ["Another service", "Mistral", "openai-compatible/mistral"]].entries()) {
    const row = WIRES.find((row) => row.name === name);
    const server = await rawServer(row.wire);
    try {
      const route = Object.assign(server.route(row.wire.answer([{ thinking: `What ${card} thinks.` }, { tool: "search_pages", args: { query: "dragon" }, id: row.id(1) }]), row.wire.answer(`Said by ${card}.`)), { cors: "closed" });
      hosts.add(new URL(server.url).host);
      await page.getByTestId("open-settings").click();
      await choose(page, card);
      if (variant) await page.getByTestId("variant").selectOption(variant);
      await page.getByLabel("Model", { exact: true }).fill("test-model");
      if (card !== "Ollama") await page.getByTestId("key").fill("sk-test");
      await page.getByLabel("Address").fill(route.base + row.base);
      await page.getByTestId("save-settings").click();
      await page.getByTestId("settings").locator("visible=true").waitFor({ state: "hidden" });
      await say(page, `Question ${i}`);
      const message = page.getByTestId("assistant-message").nth(i);
      await message.filter({ hasText: `Said by ${card}.` }).waitFor();
      await settled(page);
      assert.equal(await message.locator("[data-testid=tool-card][data-state=completed]").count(), 1);
      await message.locator("details.thinking summary").click();
      await message.getByText(`What ${card} thinks.`).waitFor();
      assert.deepEqual(route.violations, []);
      assert.equal(route.requests.length, 2);
      for (let j = 0; j <= i; j++) assert.match(route.requests[0].text, new RegExp(`Question ${j}`));
    } finally {
      await server.close();
    }
  }
};

/** Checks one of the cards. */
function choose(page, name) {
  return page.getByTestId("providers").locator("label").filter({ has: page.locator("strong", { hasText: new RegExp(`^${name}$`) }) }).locator("input").check();
}
