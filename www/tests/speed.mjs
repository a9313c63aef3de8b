// Measurements, not part of the ordinary run: a machine that is busy fails them without a fault.
import assert from "node:assert/strict";
import { SECTIONS } from "./model.mjs";
import { open, say, settled, start, useModel } from "./browser.mjs";

export const tests = {
  async "100 KB: no task of more than 50 ms in the page"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await page.evaluate(() => {
      window.tasks = [];
      new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((e) => Math.round(e.duration)))).observe({ type: "longtask" });
      window.frames = [];
      let last = performance.now();
      const look = (now) => {
        window.frames.push(now - last);
        last = now;
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await say(page, "100 KB please");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    await page.getByText(`Section ${SECTIONS - 1}`, { exact: true }).waitFor({ state: "attached" });
    const { tasks, frames } = await page.evaluate(() => ({ tasks: window.tasks, frames: window.frames.map(Math.round).sort((a, b) => b - a).slice(0, 5) }));
    console.log(`      long tasks: ${tasks.join(", ") || "none"} ms; longest frames: ${frames.join(", ")} ms`);
    assert.deepEqual(tasks, []);
  },
};
