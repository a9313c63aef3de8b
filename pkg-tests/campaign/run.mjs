// Plays a campaign: `node campaign/run.mjs [--seed N] [--only PART[/NUMBER]]… [--package DIR|TGZ] [--lanes N] [--write FILE]`.
// It ends with the counts, which `--write` also puts into a file; exit code 1 when anything was found.
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { launch } from "../lib/browser.mjs";
import { installPackage } from "../lib/package.mjs";
import { pool } from "../lib/pool.mjs";
import { suite } from "../lib/runner.mjs";
import { counter } from "./counts.mjs";
import { SEED } from "./draw.mjs";
import { FULL, PARTS } from "./parts.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({ options: { seed: { type: "string" }, only: { type: "string", multiple: true }, package: { type: "string" }, lanes: { type: "string" }, write: { type: "string" } } });
const seed = values.seed === undefined ? SEED : Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new Error(`--seed ${values.seed} is no whole number`);
const wanted = (values.only ?? Object.keys(FULL)).map((item) => {
  const [part, number] = item.split("/");
  if (!(part in PARTS)) throw new Error(`there is no part "${part}": ${Object.keys(PARTS).join(", ")}`);
  return number === undefined ? { part, ...FULL[part] } : { part, first: Number(number), count: 1 };
});

const counts = counter();
const began = Date.now();
const pkg = await installPackage(values.package ?? path.join(HERE, "..", "..", "pkg"));
const suites = [];
for (const { part, ...which } of wanted) {
  const { register, longest } = PARTS[part];
  suites.push(await suite("campaign", { register: (test) => register(test, { seed, counts, enough: () => false, ...which }), longest }, pkg));
}
process.on("exit", () => {
  const lines = [`seed ${seed}; ${Math.round((Date.now() - began) / 60_000)} minutes`, ...counts.lines()];
  console.log(lines.join("\n"));
  if (values.write) fs.writeFileSync(values.write, `${lines.join("\n")}\n`);
});
await pool(suites, { lanes: values.lanes && Number(values.lanes), launch: () => launch() });
