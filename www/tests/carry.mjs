// Taking a session with one: out as a file, in again, replayed, forked.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { open, say, settled, start, useModel } from "./browser.mjs";
import { entry } from "./journal.mjs";
import { launchSession, row } from "./sessions.mjs";

async function begin({ page, base, model, visit }) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  await launchSession(page, "Dragons");
  await say(page, "use tools");
  await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
  await settled(page);
  await page.getByTestId("open-journal").click();
  await entry(page, "run completed").waitFor();
}

async function exported(page, format) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByTestId(`export-${format}`).click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

export const tests = {
  async "exported as a journal, for people, and for programs"(t) {
    const { page } = t;
    await begin(t);
    const journal = await exported(page, "journal");
    assert.equal(journal.name, "Dragons.jsonl");
    assert.ok(journal.text.trim().split("\n").length > 10);
    assert.doesNotMatch(journal.text, /sk-ant-test-key/);
    const markdown = await exported(page, "markdown");
    assert.equal(markdown.name, "Dragons.md");
    assert.match(markdown.text, /That is done\./);
    assert.match(JSON.stringify(JSON.parse((await exported(page, "json")).text)), /That is done\./);
  },

  async "imported by the button and by dropping; what is none is refused in place"(t) {
    const { page } = t;
    await begin(t);
    const { text } = await exported(page, "journal");
    await page.getByTestId("import-input").setInputFiles({ name: "Dragons.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(text) });
    await page.locator(".toast").filter({ hasText: "“Dragons 2” is imported" }).waitFor();
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    assert.deepEqual([await row(page, "Dragons").count(), await row(page, "Dragons 2").count()], [1, 1], "two are told apart");
    const dropped = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["not a session"], "x.jsonl"));
      return data;
    });
    const pane = page.getByTestId("sessions");
    await pane.dispatchEvent("dragenter", { dataTransfer: dropped });
    await page.locator("sessions-list.drop-target").waitFor({ state: "attached" });
    await pane.dispatchEvent("drop", { dataTransfer: dropped });
    await page.getByTestId("sessions-problem").waitFor();
    assert.equal(await page.getByTestId("attachment").count(), 0);
  },

  async "replayed: the same entries, and it says so"(t) {
    const { page } = t;
    await begin(t);
    await page.getByTestId("replay").click();
    await page.getByTestId("replayed").filter({ hasText: "the same entries, byte for byte" }).waitFor();
  },

  async "forked from a step: another session, with what was said until there"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    await entry(page, "run completed").first().click();
    await page.getByTestId("entry-fork").click();
    await page.waitForFunction(() => document.querySelectorAll("[data-testid=user-message]").length === 1);
    await page.getByTestId("sessions-count").filter({ hasText: "3" }).waitFor();
    await say(page, "Hello from the fork");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
  },
};
