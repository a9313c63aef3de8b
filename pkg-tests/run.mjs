// Runs the package's tests: `node run.mjs [--only suite[/words]…] [--package DIR|TGZ] [--workbench URL] [--lanes N]`.
// It installs what it needs, packs and installs the package, and ends with the sums; exit code 1 when anything failed.
// `--workbench` adds the tests of the workbench that is served there.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
/** The suites, and how many seconds the longest test of each takes, or all of them where they stay together. */
const SUITES = { weeks: 140, crowd: 110, tabs: 22, lives: 18, commands: 12, firefox: 12, sleep: 14, consumers: 30, intruders: 9, servers: 1, "scenarios-000": 2, "scenarios-001": 12, sessions: 1, activity: 1, versions: 1, queue: 1, "scenarios-004": 1, contract: 1, "bad-input": 1, permission: 1, injection: 1, agents: 1, keys: 1, files: 1, structured: 1, wire: 1, wires: 1, crossing: 1, differential: 1, carry: 1, golden: 1 };

const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, package: { type: "string" }, workbench: { type: "string" }, lanes: { type: "string" }, headed: { type: "boolean" } } });
const wanted = (values.only ?? Object.keys(SUITES)).map((item) => { const [name, ...words] = item.split("/"); return { name, words: words.join("/") }; });
for (const { name } of wanted) if (!(name in SUITES)) throw new Error(`there is no suite "${name}": ${Object.keys(SUITES).join(", ")}`);

if (!fs.existsSync(path.join(HERE, "node_modules", ".package-lock.json"))) {
  console.log("installing the tools of the tests (npm ci)");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: HERE, stdio: "inherit" });
}

// Only now: these need what was just installed.
const { installPackage } = await import("./lib/package.mjs");
const { launch } = await import("./lib/browser.mjs");
const { pool } = await import("./lib/pool.mjs");
const { suite } = await import("./lib/runner.mjs");

// The servers are tested on their own; everything else needs the package.
const needsPackage = wanted.some(({ name }) => name !== "servers");
const pkg = needsPackage ? await installPackage(values.package ?? path.join(HERE, "..", "pkg")) : undefined;

const suites = [];
for (const { name, words } of wanted) {
  const { default: register, together } = await import(`./suites/${name}.mjs`);
  suites.push(await suite(name, { register, together, longest: SUITES[name] }, pkg, words));
}
if (values.workbench) {
  const workbench = await import("../www/tests/suites.mjs");
  suites.push(...(await workbench.suites(values.workbench, { prefix: "workbench " })));
}
await pool(suites, { lanes: values.lanes && Number(values.lanes), launch: () => launch({ headless: !values.headed }) });
