// What a provider can do wrong, and what a person reads and can do then.
import assert from "node:assert/strict";
import { hang, plain, rawServer, stream } from "../../pkg-tests/servers/raw.mjs";
import { errorBody, message } from "../../pkg-tests/servers/sse.mjs";
import { open, save, say, settled, start, useModel, workspace } from "./browser.mjs";

export const tests = {
  async "a wait counts down without moving anything, and Cancel ends it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "too many");
    const line = page.getByTestId("run-line");
    await line.filter({ hasText: /Anthropic: too many requests\s*try 2 in \d+ s/ }).waitFor();
    const boxes = () => page.evaluate(() => ["run-line", "cancel-retry", "composer"].map((id) => JSON.stringify(document.querySelector(`[data-testid=${id}]`).getBoundingClientRect())));
    const [seconds, before] = [await line.locator(".clock").innerText(), await boxes()];
    await page.waitForFunction((text) => document.querySelector(".run-line .clock").textContent !== text, seconds);
    assert.deepEqual(await boxes(), before);
    await page.waitForFunction(() => /Anthropic: too many requests, asked again in/.test(document.querySelector("[data-testid=speech-status]").textContent));
    await page.getByTestId("cancel-retry").click();
    await page.getByTestId("system-message").filter({ hasText: "Session interrupted." }).waitFor();
    await settled(page);
    assert.equal(model.requests, 1);
    assert.equal(await page.getByTestId("cancel-retry").isVisible(), false);
    // The focus has not fallen off the page with the button.
    assert.equal(await page.evaluate(() => document.activeElement?.id), "message");
  },

  async "a provider that is busy once is asked again by itself"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "busy once");
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    await settled(page);
    assert.equal(model.requests, 2);
    assert.equal(await page.getByTestId("system-message").count(), 0);
    assert.equal(await page.getByTestId("cancel-retry").isVisible(), false);
  },

  async "who took over is told, and who answered"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await workspace(page);
    await page.evaluate((baseUrl) => ws.configureAgent({ providers: { "the spare one": { kind: "anthropic", baseUrl, model: "second" } }, fallback: ["the spare one"] }), model.address);
    await say(page, "another takes over");
    const answer = page.getByTestId("assistant-message").filter({ hasText: "nobody has read" });
    await answer.waitFor();
    await settled(page);
    assert.equal(await answer.getByTestId("takeover").innerText(), "the spare one took over (Anthropic: overloaded)");
    assert.match(await answer.getByTestId("message-facts").innerText(), /^second · 10 tokens in/);
    assert.deepEqual(model.bodies.map((body) => body.model), ["claude-sonnet-4-6", "second"]);
    // And it is told when the page is opened again, as long as there is the conversation.
    await page.reload();
    await page.getByTestId("takeover").filter({ hasText: "the spare one took over (Anthropic: overloaded)" }).waitFor();
    await page.getByRole("button", { name: "Clear conversation" }).click();
    await page.getByTestId("ask").getByRole("button", { name: "Clear", exact: true }).click();
    await page.waitForFunction(() => !Object.keys(localStorage).some((name) => name.includes("takeovers")));
  },

  async "a delegate that waits shows as one, is over with its answer, and who took over for it is told"({ page, base, visit }) {
    const server = await rawServer();
    let later = false;
    const second = server.route((json) => message(/TASK/.test(JSON.stringify(json.messages[0])) ? "Found by the second." : "unasked"));
    const first = server.route((json, n) => {
      const last = JSON.stringify(json.messages.at(-1));
      if (/HOLD/.test(last)) return stream(message("later")[0], hang);
      if (/tool_result/.test(last)) return message("all done");
      if (!/TASK/.test(last)) return message({ tool: "delegate", args: { process: "Researcher", task: "TASK" } });
      if (later) return plain(529, errorBody("overloaded_error", "Overloaded"), { "x-should-retry": "false" });
      return n === 2 ? plain(529, errorBody("overloaded_error", "Overloaded"), { "retry-after": "2" }) : message("delegate's answer");
    });
    first.checked = second.checked = false;
    try {
      await open(page, base);
      await useModel(visit, { address: first.base }, () => page.getByTestId("process-type").selectOption("Orchestrator"));
      await start(page);
      await page.getByTestId("run-line").evaluate((line) => {
        window.lines = [];
        new MutationObserver(() => window.lines.push(line.innerText)).observe(line, { subtree: true, childList: true, characterData: true, attributes: true });
      });
      await say(page, "Hello");
      // The wait is over by itself after two seconds: what the line says meanwhile is kept, for whenever the test looks.
      await page.waitForFunction(() => window.lines.some((line) => /A delegate, by Anthropic: overloaded\s*try 2 in \d s/.test(line)));
      await page.getByTestId("assistant-message").filter({ hasText: "all done" }).waitFor();
      await settled(page);
      await say(page, "HOLD");
      await page.getByTestId("run-line").filter({ hasText: "Thinking…" }).waitFor();
      assert.equal(await page.getByTestId("cancel-retry").isVisible(), false);
      await page.getByTestId("composer").press("Control+.");
      await settled(page);
      later = true;
      await workspace(page);
      await page.evaluate((baseUrl) => ws.configureAgent({ providers: { "the spare one": { kind: "anthropic", baseUrl, model: "second" } }, fallback: ["the spare one"] }), second.base);
      await say(page, "Hello again");
      await page.getByTestId("takeover").filter({ hasText: "the spare one took over for a delegate (Anthropic: overloaded)" }).waitFor();
      await settled(page);
      assert.equal(second.requests.length, 1);
    } finally {
      await server.close();
    }
  },

  async "what to do is said in words for who reads it here"({ page, base, visit }) {
    const server = await rawServer();
    const route = server.route(message([], { stop: "max_tokens" }), plain(403, errorBody("permission_error", "CORS requests are not allowed for this Organization because of its settings.")));
    route.checked = false;
    try {
      await open(page, base);
      await useModel(visit, { address: route.base });
      await start(page);
      await say(page, "Hello");
      const note = page.locator("[data-testid=system-message][data-code=output_limit]");
      await note.filter({ hasText: "Ask for less at once, or choose another model in the settings." }).waitFor();
      assert.doesNotMatch(await note.innerText(), /maxOutputTokens/);
      await settled(page);
      await say(page, "Hello again");
      const barred = page.locator("[data-testid=system-message][data-code=permission]");
      await barred.filter({ hasText: "allow it in the provider's console, or enter in the settings the address of a proxy of your own." }).waitFor();
    } finally {
      await server.close();
    }
  },

  async "status and request stand folded, for support"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "refuse the key");
    const note = page.getByTestId("system-message").filter({ hasText: "Error: invalid x-api-key." });
    await note.waitFor();
    await settled(page);
    assert.match(await note.innerText(), /Check the key in the settings/);
    assert.doesNotMatch(await note.innerText(), /req_test_7|HTTP/);
    const details = note.getByTestId("error-details");
    await details.locator("summary").focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await details.locator("dd").allInnerTexts(), ["auth", "401", "authentication_error", "req_test_7"]);
    assert.deepEqual(await note.getByRole("button").allInnerTexts(), ["Open settings", "Try again"]);
  },

  async "each error offers what can cure it"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    for (const [asked, code, says, buttons] of [
      ["no credit", "quota", /Add credit/, ["Open settings", "Try again"]],
      ["too long", "context_length", /larger context window/, ["Clear conversation", "Open settings", "Try again"]],
    ]) {
      await say(page, asked);
      const note = page.locator(`[data-testid=system-message][data-code=${code}]`);
      await note.waitFor();
      await settled(page);
      assert.match(await note.innerText(), says, code);
      assert.deepEqual(await note.getByRole("button").allInnerTexts(), buttons, code);
    }
    await page.getByRole("button", { name: "Clear conversation" }).last().click();
    await page.getByTestId("ask").getByRole("button", { name: "Clear", exact: true }).click();
    await page.getByTestId("user-message").first().waitFor({ state: "detached" });
  },

  async "a limit of one’s own ends the run, and more may be allowed"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await page.getByTestId("open-settings").click();
    await page.getByTestId("limits").locator("summary").click();
    await page.getByTestId("limit-session-turns").fill("1");
    await page.getByTestId("limit-run-wallMs").fill("2.5");
    await save(page);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    await settled(page);
    await say(page, "Hello again");
    const note = page.locator("[data-testid=system-message][data-code=budget_exceeded]");
    await note.filter({ hasText: "It is a limit of your own: raise it in the settings, then continue." }).waitFor();
    await settled(page);
    assert.equal(model.requests, 1);
    await note.getByRole("button", { name: "Open settings" }).click();
    // Shown as it was entered, and unfolded because there is one.
    assert.equal(await page.getByTestId("limit-run-wallMs").inputValue(), "2.5");
    await page.getByTestId("limit-session-turns").fill("");
    await save(page);
    await note.getByRole("button", { name: "Continue" }).click();
    await page.getByTestId("assistant-message").last().filter({ hasText: "nobody has read" }).waitFor();
    await settled(page);
    assert.equal(model.requests, 2);
  },

  async "a server of one’s own that cannot be reached: the command that lets this page in"({ page, base, model, visit, hosts }) {
    hosts.add(new URL(model.address).host);
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Another service", { exact: false }).check();
    await page.getByTestId("variant").selectOption("LM Studio");
    await page.getByLabel("Model", { exact: true }).fill("tiny");
    await page.getByLabel("Address").fill(model.address);
    await save(page);
    await page.route(`${model.address}/**`, (route) => route.abort());
    await start(page);
    await say(page, "Hello");
    const note = page.locator("[data-testid=system-message][data-code=network]");
    await note.waitFor();
    assert.match(await note.innerText(), /lms server start --cors/);
    // The browser tells of each try.
    assert.ok(visit.wrongs.splice(0).every((wrong) => /ERR_FAILED/.test(wrong)));
  },
};
