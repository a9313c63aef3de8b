// Runs the package's tests: `node run.mjs [--only suite[/words]…] [--package DIR|TGZ]`.
// It installs what it needs, packs and installs the package, and ends with the sums; exit code 1 when anything failed.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
// The long ones first, so that no lane waits for another at the end.
const SUITES = ["weeks", "lives", "tabs", "crowd", "sleep", "firefox", "commands", "intruders", "servers", "scenarios-000", "scenarios-001", "sessions", "activity", "versions", "queue", "scenarios-004", "contract", "bad-input", "permission", "injection", "consumers", "agents", "keys", "files", "structured", "wire", "wires", "crossing", "differential", "carry", "golden"];

const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, package: { type: "string" }, headed: { type: "boolean" } } });
const wanted = (values.only ?? SUITES).map((item) => { const [suite, ...words] = item.split("/"); return { suite, words: words.join("/") }; });
for (const { suite } of wanted) if (!SUITES.includes(suite)) throw new Error(`there is no suite "${suite}": ${SUITES.join(", ")}`);

if (!fs.existsSync(path.join(HERE, "node_modules", ".package-lock.json"))) {
  console.log("installing the tools of the tests (npm ci)");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: HERE, stdio: "inherit" });
}

// Only now: these need what was just installed.
const { installPackage } = await import("./lib/package.mjs");
const { launch } = await import("./lib/browser.mjs");
const { site } = await import("./lib/site.mjs");
const { runSuite } = await import("./lib/runner.mjs");

// The servers are tested on their own; everything else needs the package.
const needsPackage = wanted.some(({ suite }) => suite !== "servers");
const pkg = needsPackage ? await installPackage(values.package ?? path.join(HERE, "..", "pkg")) : undefined;

// Two browsers, each with a web server of its own, share the suites: a test waits as much as it works.
const total = { passed: 0, failed: 0, failures: [] };
const waiting = [...wanted];
async function lane() {
  const start = () => launch({ headless: !values.headed });
  const env = { pkg, site: await site(pkg), launch: start, browser: await start() };
  while (waiting.length) {
    const { suite, words } = waiting.shift();
    const { default: register } = await import(`./suites/${suite}.mjs`);
    const counts = await runSuite(suite, register, env, words);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.failures.push(...counts.failures);
  }
  for (const browser of [env.browser, ...(env.puppets?.values() ?? [])]) await browser.close();
  await env.site.close();
  await env.raw?.close();
  for (const server of env.wires?.values() ?? []) await server.close();
}
await Promise.all(wanted.length > 1 ? [lane(), lane()] : [lane()]);

if (total.failures.length) console.log(`\nfailed:\n${total.failures.map((f) => `  ${f}`).join("\n")}`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed || !total.passed ? 1 : 0);
