// Files that earlier versions of the package have exported (`data/exports/`), each beside what its own package told of that session.
//
// A file is never written again: `table.json` has the SHA-256 of both. `LODGER_EXPORTS=1 node run.mjs --only "older/files of an
// older"` writes those of the kept packages that are not there yet.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { ROOT } from "./package.mjs";

const DIR = path.join(ROOT, "data", "exports");
const TABLE = path.join(DIR, "table.json");
const sum = (text) => crypto.createHash("sha256").update(text).digest("hex");

export const names = () => Object.keys(JSON.parse(fs.readFileSync(TABLE, "utf8")));

/** The file as it was exported, and what was shown; none has changed, and none is lost. */
export function read(name) {
  const table = JSON.parse(fs.readFileSync(TABLE, "utf8"));
  const [file, shown] = ["jsonl", "shown.json"].map((end) => fs.readFileSync(path.join(DIR, `${name}.${end}`), "utf8"));
  assert.deepEqual({ file: sum(file), shown: sum(shown) }, table[name], `${name} is what an earlier version has exported: it stays as it is`);
  return { file, shown: JSON.parse(shown) };
}

/** All that lies there: what the table does not name too. */
export const lying = () => [...new Set(fs.readdirSync(DIR).filter((file) => file !== "table.json").map((file) => file.replace(/\.(jsonl|shown\.json)$/, "")))];

/** Puts a file down under a name that nothing has. */
export function write(name, file, told) {
  fs.mkdirSync(DIR, { recursive: true });
  const table = fs.existsSync(TABLE) ? JSON.parse(fs.readFileSync(TABLE, "utf8")) : {};
  if (name in table) return;
  const shown = `${JSON.stringify(told, null, 1)}\n`;
  fs.writeFileSync(path.join(DIR, `${name}.jsonl`), file, { flag: "wx" });
  fs.writeFileSync(path.join(DIR, `${name}.shown.json`), shown, { flag: "wx" });
  fs.writeFileSync(TABLE, `${JSON.stringify({ ...table, [name]: { file: sum(file), shown: sum(shown) } }, null, 2)}\n`);
}
