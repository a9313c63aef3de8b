// A real language model in Chromium, by `lodger/wllama`: it calls a tool, and a person talks to it in the workbench. Slow,
// and 100 MB, so it is not among the suites of `run.mjs`: `cargo xtask test local-model` fetches the model, serves it
// beside the workbench, and runs this. What a model of 135 million parameters says is its own affair: of its words only
// that there are some is tested.
import assert from "node:assert/strict";
import { launch } from "./lib/browser.mjs";

const base = process.env.LODGER_DEMO_URL;
if (!base) throw new Error("LODGER_DEMO_URL names no server: run `cargo xtask test local-model`");
const PATIENCE_MS = 300_000; // a slow machine reads five tokens a second

const tests = {
  async "the model calls a tool once, through the gate, and answers with what it said"(page) {
    await page.goto(base);
    const seen = await page.evaluate(callOnce);
    assert.deepEqual(seen.errors, []);
    assert.equal(seen.outcome, "completed");
    assert.deepEqual(seen.executed, [{ city: "Paris" }]);
    assert.deepEqual(seen.events, ["get_weather started", "get_weather completed"]);
    assert.deepEqual(seen.parts, ["tool-call completed", "text"]);
    assert.ok(seen.text.trim());
    assert.ok(seen.progress.length > 1 && seen.progress.at(-1) === 1, "the load was told");
    console.log(`      loaded in ${seconds(seen.loadMs)}; ${seen.usage.inputTokens} tokens read (${seen.usage.cacheReadTokens ?? 0} known already) and ${seen.usage.outputTokens} written in ${seconds(seen.runMs)}`);
    console.log(`      pieces of the answer: ${seen.chunks}, ${(seen.rate).toFixed(1)} tokens a second`);
    console.log(`      get_weather ${JSON.stringify(seen.executed[0])} -> "${seen.text}"`);
  },

  async "an abort stops the model, and it can be asked again"(page) {
    await page.goto(base);
    const { interrupted, again } = await page.evaluate(interrupt);
    assert.deepEqual([interrupted, again.outcome], ["interrupted", "completed"]);
    assert.ok(again.text.trim());
  },

  async "a person chooses it in the workbench and talks to it, also without a network"(page) {
    await page.goto(base);
    await page.getByTestId("open-settings").click();
    await page.getByLabel("SmolLM2 135M", { exact: false }).check();
    await page.getByTestId("save-settings").click();
    await page.getByText("nothing leaves this page").waitFor();
    const ask = async (text, n) => {
      await page.getByTestId("composer").fill(text);
      await page.getByTestId("composer").press("Enter");
      const answer = page.getByTestId("assistant-message").nth(n);
      await answer.waitFor({ timeout: PATIENCE_MS });
      await page.locator("[data-testid=conversation-panel]:is([data-status=ready],[data-status=error],[data-status=stopped])").waitFor({ timeout: PATIENCE_MS });
      const said = await answer.innerText();
      assert.ok(said.trim() && !/Error:/.test(said), said);
      console.log(`      ${text} -> ${said.trim().replace(/\s+/g, " ").slice(0, 160)}`);
    };
    await ask("What is the capital of France?", 0);
    await page.context().setOffline(true);
    await ask("And of Italy?", 1);
  },
};

/** In the page. */
async function callOnce() {
  const { ws, provider, seen } = await globalThis.agent();
  seen.executed = [];
  ws.tools.register({
    name: "get_weather", description: "Weather of a city.", readOnly: true,
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    execute: (args) => { seen.executed.push(args); return "18 °C and sunny"; },
  });
  let first, last;
  ws.addEventListener("agent:tool-call", ({ detail }) => seen.events.push(`${detail.tool} ${detail.status}`));
  ws.addEventListener("agent:message-chunk", () => { seen.chunks++; first ??= performance.now(); last = performance.now(); });
  let from = performance.now();
  await provider.load();
  seen.loadMs = performance.now() - from;
  await ws.startAgent({ provider, temperature: 0, maxTurns: 4, maxOutputTokens: 60 });
  from = performance.now();
  const run = await ws.sendMessage("What is the weather in Paris?");
  const { outcome, text, usage } = await run.result;
  seen.runMs = performance.now() - from;
  const [, answer] = await ws.history();
  Object.assign(seen, { outcome, text, usage, rate: (1000 * (seen.chunks - 1)) / (last - first), parts: answer.parts.map((part) => (part.type === "text" ? "text" : `${part.type} ${part.status}`)) });
  await ws.close();
  return seen;
}

/** In the page. */
async function interrupt() {
  const { ws, provider } = await globalThis.agent();
  await ws.startAgent({ provider, temperature: 0, maxOutputTokens: 200 });
  const run = await ws.sendMessage("Write a long story about a dragon.");
  for await (const _ of run.textStream) break;
  ws.interrupt();
  const { outcome: interrupted } = await run.result;
  await ws.clearConversation();
  await ws.configureAgent({ maxOutputTokens: 12 });
  const { outcome, text } = await (await ws.sendMessage("Hello")).result;
  await ws.close();
  return { interrupted, again: { outcome, text } };
}

/** In the page: an agent of the local model, apart from the workbench's. */
function helper() {
  globalThis.agent = async () => {
    globalThis.trustedTypes?.createPolicy("default", { createScriptURL: (url) => (url.startsWith("blob:") ? url : null) });
    const at = (file) => new URL(file, location.href).href;
    const [{ openWorkspace }, { wllama }] = await Promise.all([import(at("lodger/index.js")), import(at("lodger/wllama.js"))]);
    const seen = { progress: [], events: [], errors: [], chunks: 0 };
    const provider = wllama({
      engine: async () => new (await import(at("local-model/wllama.js"))).Wllama({ default: at("local-model/wllama.wasm") }, { suppressNativeLog: true }),
      model: at("local-model/model.gguf"),
      contextTokens: 1024,
      onProgress: ({ loaded, total }) => seen.progress.push(loaded / total),
    });
    const ws = await openWorkspace("local-model", { storage: "memory", pageTools: false, target: null });
    ws.addEventListener("agent:error", ({ detail }) => seen.errors.push(`${detail.code}: ${detail.message}`));
    return { ws, provider, seen };
  };
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

const only = process.argv[2] ?? "";
const browser = await launch();
let [passed, failed] = [0, 0];
for (const [name, test] of Object.entries(tests)) {
  if (!name.includes(only)) continue;
  const context = await browser.newContext();
  const page = await context.newPage();
  const log = [];
  page.on("console", (line) => log.push(`[${line.type()}] ${line.text()}`));
  page.on("pageerror", (error) => log.push(`[page] ${error}`));
  await page.addInitScript(helper);
  try {
    await test(page);
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${error.stack}\n${log.slice(-15).join("\n")}`);
  } finally {
    await context.close();
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
