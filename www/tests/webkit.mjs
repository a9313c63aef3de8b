// The workbench in WebKitGTK: opened, the offline model chosen, a question, its answer, and all of it again after a reload.
import assert from "node:assert/strict";
import { launchWebKit, watched, webkit } from "../../pkg-tests/lib/webkit.mjs";

export const suite = (base) => ({ name: "webkit", longest: 20, tests: [{ title: "a question and its answer, there again after a reload", open: async (lane) => visit(lane, base) }] });

async function visit(lane, base) {
  const notes = [];
  const cleanup = [];
  return {
    notes,
    cleanup,
    async run() {
      if (!webkit) return notes.push("skipped: there is no WebKitGTK; install Debian's packages `webkit2gtk-driver` and `xvfb`");
      if (!lane.webkit) {
        lane.webkit = await launchWebKit();
        lane.after(() => lane.webkit.close());
      }
      const server = await watched(base);
      cleanup.push(() => server.close());
      const session = await lane.webkit.session();
      cleanup.push(() => session.close());
      const [errors, log] = [[], []];
      const page = await session.page({ errors, log });
      await smoke(page, server.url);
      await page.look();
      assert.deepEqual([...errors, ...log.filter((line) => line.startsWith("[page error]"))], []);
    },
  };
}

const shown = (page, selector, words = "") =>
  page.waitForFunction(([selector, words]) => [...document.querySelectorAll(selector)].some((element) => element.checkVisibility() && element.textContent.includes(words)), [selector, words]);
const RUNS = "[data-testid=agent-status][data-lifecycle=Running]";
const READY = "[data-testid=conversation-panel][data-status=ready]:not(:has([data-drawing]))";
const ANSWER = "[data-testid=assistant-message][data-status=complete]";

async function smoke(page, url) {
  await page.goto(url);
  await shown(page, "[data-testid=conversation-panel]:not([data-status=loading])");
  await page.click("[data-testid=load-samples]");
  await shown(page, "[role=treeitem][data-slug=large-page]");
  await page.click("[data-testid=open-settings]");
  await page.click("[data-testid=settings] label:has([value=offline])");
  assert.doesNotMatch(await page.evaluate(() => document.querySelector("[data-testid=settings]").textContent), /of 0 B/);
  await page.click("[data-testid=save-settings]");
  await page.waitForFunction(() => !document.querySelector("[data-testid=settings] [data-testid=save-settings]")?.checkVisibility());
  await page.click("[data-testid=start-agent]");
  await shown(page, RUNS);
  await page.type("[data-testid=composer]", "What pages mention dragons?\uE007");
  await shown(page, ANSWER, "Dragon Lore");
  await shown(page, READY);
  await page.reload();
  await shown(page, ANSWER, "Dragon Lore");
  assert.equal(await page.evaluate(() => document.querySelectorAll("[data-testid=user-message]").length), 1);
}
