// Runs the workbench's tests against a served workbench: node tests/run.mjs --base http://127.0.0.1:4173
// `--only word` takes the tests whose name contains it; `--speed` adds the measurements of `speed.mjs`.
import { innocent, launch, visitor } from "./browser.mjs";
import { startModel } from "./model.mjs";

const option = (name) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const base = option("base") ?? process.env.LODGER_DEMO_URL;
if (!base) {
  console.error("usage: node tests/run.mjs --base http://127.0.0.1:PORT [--only word] [--speed]");
  process.exit(2);
}
const only = option("only") ?? "";
const themes = ["first-visit", "startup", "conversation", "tools", "reading", "reload", "permission", "tools-panel", "example", "composer", "attach", "keyboard", "pages", "sessions", "tabs", "queue", "bench", "journal", "versions", "carry", "settings", "providers", "failures", "safety", "accessibility"];
if (process.argv.includes("--speed")) themes.push("speed");

const tests = [];
for (const theme of themes) {
  for (const [name, test] of Object.entries((await import(`./${theme}.mjs`)).tests)) {
    const title = `${theme}: ${name}`;
    if (title.includes(only)) tests.push({ title, test });
  }
}

const failures = [];
async function run({ title, test }, browser) {
  const model = await startModel();
  const visit = await visitor(browser, base, test.visitor);
  visit.page.setDefaultTimeout(15_000);
  try {
    await (test.run ?? test)({ ...visit, visit, base, model, browser });
    await innocent(visit);
    console.log(`ok    ${title}`);
  } catch (error) {
    failures.push(title);
    console.log(`FAIL  ${title}\n      ${String(error.stack ?? error).split("\n").slice(0, 12).join("\n      ")}`);
    const shots = option("shots");
    if (shots && !visit.page.isClosed()) await visit.page.screenshot({ path: `${shots}/${title.replace(/\W+/g, "-")}.png` });
  } finally {
    await visit.context.close();
    await model.stop();
  }
}

// Two browsers share the tests, for a test waits as much as it works; what is measured has the machine to itself.
const waiting = [...tests];
async function lane() {
  const browser = await launch();
  while (waiting.length) await run(waiting.shift(), browser);
  await browser.close();
}
await Promise.all(process.argv.includes("--speed") ? [lane()] : [lane(), lane()]);
console.log(`${tests.length - failures.length} passed, ${failures.length} failed`);
if (failures.length || !tests.length) process.exit(1);
