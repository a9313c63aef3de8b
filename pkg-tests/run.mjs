// Runs the package's tests: `node run.mjs [--only suite[/words]…] [--without suite…] [--package DIR|TGZ] [--lanes N]`.
// It installs what it needs, packs and installs the package, and ends with the sums; exit code 1 when anything failed.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
/** The suites, and how many seconds the longest test of each takes, or all of them where they stay together. */
const SUITES = {
  consumers: 85, docs: 125, weeks: 40, keys: 30, carry: 25, tabs: 22, bundlers: 40, commands: 20, sleep: 18, crowd: 16, firefox: 160, webkit: 120, "scenarios-001": 12, wires: 12, differential: 12, intruders: 9, "bad-input": 8, contract: 8, injection: 7, lives: 7, listing: 10, overrides: 6, lost: 12, promises: 6, room: 40,
  compaction: 12, memory: 8, served: 6, files: 6, wire: 6, sessions: 5, permission: 5, "scenarios-004": 4, activity: 4, "scenarios-000": 3, versions: 3, questions: 5, queue: 3, structured: 3, crossing: 3, damage: 6, golden: 5, older: 12, campaign: 30, agents: 2, servers: 1, limits: 10, attacks: 5,
};

const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, without: { type: "string", multiple: true, default: [] }, package: { type: "string" }, lanes: { type: "string" }, headed: { type: "boolean" } } });
const wanted = (values.only ?? Object.keys(SUITES).filter((name) => !values.without.includes(name))).map((item) => { const [name, ...words] = item.split("/"); return { name, words: words.join("/") }; });
for (const name of [...values.without, ...wanted.map(({ name }) => name)]) if (!(name in SUITES)) throw new Error(`there is no suite "${name}": ${Object.keys(SUITES).join(", ")}`);

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
await pool(suites, { lanes: values.lanes && Number(values.lanes), launch: () => launch({ headless: !values.headed }) });
