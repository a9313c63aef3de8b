// Runs the workbench's tests against a served workbench: node tests/run.mjs --base http://127.0.0.1:4173
// `--only word` takes the tests whose name contains it. `--shots DIR` keeps a picture of each that fails. `--speed`
// adds the measurements of `speed.mjs`, which have the machine to themselves. The pool is the one of the
// package's tests.
import { pool } from "../../pkg-tests/lib/pool.mjs";
import { launch } from "./browser.mjs";
import { suites } from "./suites.mjs";

const option = (name) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const base = option("base") ?? process.env.LODGER_DEMO_URL;
if (!base) {
  console.error("usage: node tests/run.mjs --base http://127.0.0.1:PORT [--only word] [--shots DIR] [--speed]");
  process.exit(2);
}
const speed = process.argv.includes("--speed");
await pool(await suites(base, { only: option("only"), shots: option("shots"), speed }), { lanes: speed ? 1 : undefined, launch });
