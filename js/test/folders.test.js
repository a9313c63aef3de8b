// Which folder may import which: the modules of `js/` have an order, as the rooms of `src/` do.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

/** From the ground up: each may import itself and those before it. `.` is `js/` itself, which puts the package together. */
const ORDER = ["protocol", "host", "tabs", "client", "."];
/** Models and plugins of bundlers are sub-exports: they share nothing with the package, so that an app without them loads nothing of them. */
const ALONE = ["providers", "bundlers"];

const root = new URL("../", import.meta.url).pathname;
const modules = readdirSync(root, { recursive: true }).filter((file) => file.endsWith(".js") && !/^(test|node_modules)\b/.test(file));

/** The local modules that a text imports, now or later; types are in a comment, and nothing loads them. */
const imports = (text) => [...text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*"(\.[^"]+)"/gm)].map(([, name]) => name).filter((name) => !name.endsWith(".d.ts"));

test("imports between the folders of js/ point one way", () => {
  let seen = 0;
  for (const file of modules) {
    const from = path.dirname(file);
    assert.ok(ALONE.includes(from) || ORDER.includes(from), `${file}: js/${from} is not in the order`);
    for (const name of imports(readFileSync(path.join(root, file), "utf8"))) {
      const to = path.dirname(path.join(from, name));
      const allowed = ALONE.includes(from) ? to === from : ORDER.slice(0, ORDER.indexOf(from) + 1).includes(to);
      assert.ok(allowed, `${file} imports ${name}`);
      seen += 1;
    }
  }
  assert.ok(seen > 40, `only ${seen} imports were found`);
});

test("an import is found however it is written", () => {
  assert.deepEqual(imports('import "./a.js";\nimport { b,\n c } from "../b.js";\nconst c = await import("./c.js"); export * from "./d.js";\nimport "node:fs";'), ["./a.js", "../b.js", "./c.js", "./d.js"]);
});
