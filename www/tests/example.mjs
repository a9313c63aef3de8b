// The example: a page of its own, ten lines, with a tool of its own.
import assert from "node:assert/strict";
import { innocent, open, say, start, useModel, workspace } from "./browser.mjs";

export const tests = {
  async "the tool of the example runs, and the conversation is there again"({ page, base }) {
    await page.goto(new URL("/examples/own-tool.html", base).href);
    const box = page.getByLabel("Message");
    await page.waitForFunction(() => document.forms[0].onsubmit);
    await workspace(page, "own-tool");
    // The form takes a message before the agent has started, which is then refused.
    await page.waitForFunction(() => ws.status().lifecycle === "Running");
    const idle = () => page.waitForFunction(() => ws.view().getSnapshot().status === "ready");
    for (const sides of [20, 2]) {
      await box.fill(`roll_dice {"sides": ${sides}}`);
      await box.press("Enter");
      await page.waitForFunction((sides) => document.querySelectorAll(".assistant").length === (sides === 20 ? 1 : 2) && /says: \d+$/.test([...document.querySelectorAll(".assistant")].at(-1).textContent), sides);
      await idle();
      const rolled = Number((await page.locator(".assistant").last().innerText()).match(/(\d+)$/)[1]);
      assert.ok(rolled >= 1 && rolled <= sides, `${rolled} of ${sides}`);
    }
    await box.fill("What tools do you have?");
    await box.press("Enter");
    await page.locator(".assistant").nth(2).filter({ hasText: "I have 1 tool" }).waitFor();
    await idle();
    await page.reload();
    await page.locator(".assistant").nth(2).filter({ hasText: "I have 1 tool" }).waitFor();
    assert.equal(await page.locator(".user").count(), 3);
  },

  async "the viewer shows the workbench's agent and what it says as it comes, without one of its own"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    const viewer = await page.context().newPage();
    visit.watch(viewer);
    await viewer.goto(new URL("/examples/viewer.html", base).href);
    const stands = (agent, talk) => viewer.getByRole("status").filter({ hasText: `Agent: ${agent}, conversation: ${talk}` }).waitFor();
    await stands("Running", "ready");
    await say(page, "never end");
    await viewer.locator(".assistant").filter({ hasText: "nobody has read" }).waitFor();
    await stands("Running", "streaming");
    model.release();
    await stands("Running", "ready");
    await page.close();
    await stands("Stopped", "stopped");
    assert.deepEqual(await viewer.locator("[role=log] p").evaluateAll((all) => all.map(({ className }) => className)), ["user", "assistant"]);
    await innocent({ page: viewer, wrongs: [] });
  },

  async "the workbench links to both, its tools panel to the tool"({ page, base }) {
    await open(page, base);
    const [other] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: "a tool of your own" }).click()]);
    await other.getByRole("heading", { name: "A tool of your own" }).waitFor();
    await other.close();
    const [viewer] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", { name: "a viewer of this one" }).click()]);
    await viewer.getByRole("heading", { name: "A viewer" }).waitFor();
    await viewer.close();
    await page.getByTestId("open-tools").click();
    assert.equal(await page.getByTestId("own-tool").evaluate((a) => a.href), new URL("/examples/own-tool.html", base).href);
  },
};
