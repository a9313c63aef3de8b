// The gate by itself: verdicts of ours beside `JSON.parse` and compiled ajv, in one page.
import fs from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import { ROOT, WORK } from "../lib/package.mjs";
import { PAGE_ARGUMENTS, SCHEMAS } from "./schemas.mjs";

const PASSES = 200;

/** `dir`: the module built with what only the benchmark calls. Gives `{ pages, wild }`, each `{ ours, ajv, ratio, worst }` in µs a verdict. */
export async function gateBench({ browser, web, dir, runs, definitions, median }) {
  await fs.cp(dir, path.join(WORK, "gate"), { recursive: true });
  await build({ entryPoints: [path.join(ROOT, "bench", "gate-page.js")], outfile: path.join(WORK, "bench", "gate-page.js"), bundle: true, format: "esm", minify: true, logLevel: "error" });
  web.serve("/gate.html", '<!doctype html><meta charset="utf-8"><title>gate</title><script type="module" src="/work/bench/gate-page.js"></script>');
  const groups = {
    // The tools of the other rows are registered in the same page.
    pages: definitions.filter(({ name }) => name in PAGE_ARGUMENTS).map(({ name, inputSchema }) => ({ name, inputSchema, args: PAGE_ARGUMENTS[name] })),
    wild: SCHEMAS.map(([name, inputSchema, args]) => ({ name, inputSchema, args })),
  };
  const results = {};
  for (const [group, tools] of Object.entries(groups)) {
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.error(`uncaught: ${error.message}`));
    await page.goto(`${web.url}/gate.html`);
    await page.waitForFunction(() => globalThis.ready);
    const cases = await page.evaluate((tools) => setUpGate("/work/gate/", tools), tools);
    const samples = { ours: [], ajv: [] };
    for (let run = 0; run <= runs; run++) { // the first one warms up and does not count
      for (const name of Object.keys(samples)) {
        const us = await page.evaluate(([name, passes]) => timeGate(name, passes), [name, PASSES]);
        if (run) samples[name].push(us);
      }
    }
    // One schema alone is soon through: the best of a few.
    const single = await page.evaluate(([names, passes]) => {
      const best = (contender, name) => Math.min(...[1, 2, 3].map(() => timeGate(contender, passes, name)));
      return names.map((name) => [name, best("ours", name), best("ajv", name)]);
    }, [tools.map((tool) => tool.name), PASSES]);
    const each = single.map(([name, ours, ajv]) => ({ name, ours, ajv, ratio: ours / ajv })).sort((a, b) => b.ratio - a.ratio);
    const [ours, ajv] = [median(samples.ours), median(samples.ajv)];
    results[group] = { schemas: tools.length, cases, ours, ajv, ratio: ours / ajv, median: median(each.map((e) => e.ratio)), worst: each[0], each };
    await page.close();
  }
  return results;
}
