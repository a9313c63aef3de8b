// Who answers: what each choice asks for, where the key goes, what an answer cost.
import assert from "node:assert/strict";
import { plain, rawServer } from "../../pkg-tests/servers/raw.mjs";
import { errorBody } from "../../pkg-tests/servers/sse.mjs";
import { WIRES } from "../../pkg-tests/servers/wires/index.mjs";
import { open, running, save, say, settled, start, useModel } from "./browser.mjs";

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
    await save(page);
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
    await save(page);
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
    await answer.filter({ hasText: /^“claude-sonnet-4-6” answers\. 2 models are offered: suggested under Model\.$/ }).waitFor();
    assert.deepEqual(await page.locator("#models option").evaluateAll((all) => all.map((option) => option.value)), ["claude-sonnet-4-6", "claude-from-the-list"]);
    await page.getByLabel("Model", { exact: true }).fill("claude-of-tomorrow");
    await answer.filter({ hasText: "“claude-of-tomorrow” is not among them." }).waitFor();
    await page.getByLabel("Model", { exact: true }).fill("claude-from-the-list");
    await answer.filter({ hasText: "“claude-from-the-list” was not asked." }).waitFor();
    // The model that was chosen was asked for a word, and nothing of it was saved.
    assert.deepEqual(model.bodies.map(({ model, max_tokens, tools }) => [model, max_tokens, tools]), [["claude-sonnet-4-6", 16, undefined]]);
    await page.keyboard.press("Escape");
    assert.equal(await page.getByTestId("user-message").count(), 0);
    await page.getByTestId("open-settings").click();
    assert.equal(await page.getByText("••••7431").count(), 0);
  },

  async "Test connection tells a good key from a model that does not answer, and waits for no second try"({ page, base, hosts }) {
    const server = await rawServer();
    const list = plain(200, JSON.stringify({ data: [{ type: "model", id: "claude-sonnet-4-6" }], has_more: false }));
    try {
      for (const [answers, code, says] of [
        [plain(400, errorBody("invalid_request_error", "Your credit balance is too low to access the API")), "quota", /credit/],
        [plain(529, errorBody("overloaded_error", "Overloaded"), { "retry-after": "60" }), "overloaded", /Overloaded/],
      ]) {
        const route = server.route(list, list, answers);
        Object.assign(route, { checked: false, everything: true });
        hosts.add(new URL(server.url).host);
        await open(page, base);
        await page.getByTestId("open-settings").click();
        await choose(page, "Anthropic");
        await page.getByTestId("key").fill("sk-ant-x");
        await page.getByLabel("Address").fill(route.base);
        await page.getByTestId("test-connection").click();
        const answer = page.locator(`[data-testid=connection][data-code=${code}]`);
        await answer.filter({ hasText: "It lets this page in. One model is offered" }).waitFor();
        assert.match(await answer.innerText(), /“claude-sonnet-4-6” does not answer\. Error: /);
        assert.match(await answer.innerText(), says);
      }
    } finally {
      await server.close();
    }
  },

  async "what the agent refuses is said in the form, and nothing of it holds: who is shown is who answers"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    const shown = page.locator(".destination");
    const before = await shown.innerText();
    const stored = () => page.evaluate(() => localStorage.getItem("lodger-workbench.settings"));
    const storedBefore = await stored();
    await page.getByTestId("open-settings").click();
    await choose(page, "Another service");
    await page.getByTestId("variant").selectOption("Another server");
    await page.getByTestId("key").fill("a-key-that-stays-unknown");
    await page.getByLabel("Model", { exact: true }).fill("model-of-no-known-price");
    await page.getByLabel("Address").fill("https://elsewhere.example/v1");
    await page.getByTestId("limits").locator("summary").click();
    await page.getByTestId("limit-session-cost").fill("1");
    await page.getByTestId("save-settings").click();
    const wrong = page.getByTestId("settings").getByRole("alert");
    await wrong.filter({ hasText: "Take the limit in dollars away in the settings, or choose a model whose price is known." }).waitFor();
    assert.doesNotMatch(await wrong.innerText(), /in models/);
    assert.equal(await shown.innerText(), before);
    assert.equal(await stored(), storedBefore);
    await page.keyboard.press("Escape");
    await say(page, "Who hears this?");
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    await settled(page);
    assert.equal(await shown.innerText(), before);
    assert.deepEqual(model.calls, [{ path: "/v1/messages", key: "sk-ant-test-key-7431" }]);
    // Neither does the key.
    await page.getByTestId("open-settings").click();
    await choose(page, "Another service");
    await page.getByTestId("variant").selectOption("Another server");
    assert.equal(await page.getByTestId("forget-key").count(), 0);
    // Without what was refused it is taken, and then it is shown, too.
    await page.getByLabel("Model", { exact: true }).fill("some-model");
    await page.getByLabel("Address").fill(`${model.address}/v1`);
    await save(page);
    assert.equal(await shown.innerText(), `some-modelto ${new URL(model.address).host}`);
    await say(page, "And this?");
    await page.getByTestId("assistant-message").nth(1).filter({ hasText: "Said by chat." }).waitFor();
    await settled(page);
    assert.equal(model.calls.length, 2);
  },

  async "what no agent would take is refused before one runs"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await choose(page, "Another service");
    await page.getByTestId("variant").selectOption("Another server");
    await page.getByLabel("Model", { exact: true }).fill("model-of-no-known-price");
    await page.getByLabel("Address").fill("https://elsewhere.example/v1");
    await page.getByTestId("limits").locator("summary").click();
    await page.getByTestId("limit-run-cost").fill("1");
    await page.getByTestId("save-settings").click();
    await page.getByTestId("settings").getByRole("alert").filter({ hasText: "Take the limit in dollars away" }).waitFor();
    await page.getByTestId("limit-run-cost").fill("");
    await save(page);
    await page.locator(".destination").getByText("to elsewhere.example").waitFor();
  },

  async "settings that are saved while the agent starts count for it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await page.getByTestId("open-settings").click();
    await choose(page, "Another service");
    await page.getByTestId("variant").selectOption("Another server");
    await page.getByLabel("Model", { exact: true }).fill("some-model");
    await page.getByLabel("Address").fill(`${model.address}/v1`);
    // Both before the agent has an answer.
    await page.evaluate(() => {
      document.querySelector("[data-testid=start-agent]").click();
      document.querySelector("[data-testid=save-settings]").click();
    });
    await running(page);
    await page.getByTestId("settings").locator("visible=true").waitFor({ state: "hidden" });
    await page.locator(".destination").getByText("some-model").waitFor();
    await say(page, "Hello");
    await page.getByTestId("assistant-message").filter({ hasText: "Said by chat." }).waitFor();
    await settled(page);
    assert.deepEqual(model.calls.map(({ path }) => path), ["/v1/chat/completions"]);
  },

  async "plain http to another machine: only if a person allows it, who is told what it means"({ page, base, hosts }) {
    hosts.add("192.168.1.50:11434");
    const asked = [];
    await page.route("http://192.168.1.50:11434/**", (route) => {
      asked.push(route.request().url());
      const line = (more) => `${JSON.stringify({ model: "qwen3:8b", created_at: "2026-11-22T00:00:00Z", ...more })}\n`;
      const body = line({ message: { role: "assistant", content: "Said in the next room." }, done: false }) + line({ message: { role: "assistant", content: "" }, done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 4 });
      return route.fulfill({ status: 200, headers: { "access-control-allow-origin": "*", "content-type": "application/x-ndjson" }, body });
    });
    await open(page, base);
    await start(page);
    await page.getByTestId("open-settings").click();
    await choose(page, "Ollama");
    await page.getByLabel("Model", { exact: true }).fill("qwen3:8b");
    const address = page.getByLabel("Address");
    await address.fill("http://127.0.0.1:11434");
    assert.equal(await page.getByTestId("allow-http").count(), 0);
    await address.fill("http://192.168.1.50:11434");
    assert.match(await page.getByTestId("plain-about").innerText(), /on the way to 192\.168\.1\.50:11434.*read and change everything that is said\. Allow it only/);
    await page.getByTestId("save-settings").click();
    await page.getByTestId("settings").getByRole("alert").filter({ hasText: "192.168.1.50:11434 would be called without encryption." }).waitFor();
    await page.locator(".destination").getByText("nothing leaves this page").waitFor();
    await page.getByTestId("allow-http").check();
    await save(page);
    await page.locator(".destination").getByText("to 192.168.1.50:11434, not encrypted").waitFor();
    await say(page, "Hello");
    await page.getByTestId("assistant-message").filter({ hasText: "Said in the next room." }).waitFor();
    await settled(page);
    assert.deepEqual(asked, ["http://192.168.1.50:11434/api/chat"]);
    // What was allowed was this address.
    await page.getByTestId("open-settings").click();
    assert.equal(await page.getByTestId("allow-http").isChecked(), true);
    await address.fill("http://192.168.1.51:11434");
    assert.equal(await page.getByTestId("allow-http").isChecked(), false);
  },

  async "after a run stands who answered and what it cost, and the sum of the conversation"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").waitFor();
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
    await settled(page);
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
    await page.getByTestId("variant").selectOption("OpenRouter");
    await page.getByLabel("Model", { exact: true }).fill("some-model");
    await page.getByTestId("key").fill("sk-or-test");
    await page.getByLabel("Address").fill(`${model.address}/v1`);
    await save(page);
    await say(page, "Hello again");
    await page.getByTestId("message-facts").filter({ hasText: "some-model · 1.2k tokens in · 30 out" }).waitFor();
    const line = page.getByTestId("session-usage").filter({ hasText: "This conversation: 1.21k tokens in · 70 out" });
    await line.waitFor();
    assert.doesNotMatch(await line.innerText(), /\$/);
  },
};

/** The other wires: each conversation goes on where the last one was, before the strict server of its provider. */
tests["one conversation over Responses, Gemini, Ollama and Mistral: thinking, a tool, an answer"] = async ({ page, base, hosts }) => {
  await open(page, base);
  await start(page);
  for (const [i, [card, variant, name]] of [["OpenAI", "Responses", "openai-responses"], ["Google", undefined, "gemini"], ["Ollama", undefined, "ollama"], ["Another service", "Mistral", "openai-compatible/mistral"]].entries()) {
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
      await save(page);
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
