// Earlier versions of the package (`data/packages/`), unpacked beside this one's, and a page that imports one of them.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { ROOT, WORK } from "./package.mjs";

const PACKAGES = path.join(ROOT, "data", "packages");

/** Their versions. */
export const OLDER = fs.readdirSync(PACKAGES).filter((file) => file.endsWith(".tgz")).map((file) => file.slice(0, -4));

/** Unpacks one, where the tests' server finds it. */
export function unpack(version) {
  const dir = path.join(WORK, "older", version);
  fs.mkdirSync(dir, { recursive: true });
  execFileSync("tar", ["xzf", path.join(PACKAGES, `${version}.tgz`), "-C", dir, "--strip-components=1"]);
}

/** A tab with that version of the package. */
export function olderTab(t, version) {
  const imports = Object.fromEntries(["index", "offline", "testing"].map((name) => [name === "index" ? "lodger" : `lodger/${name}`, `/work/older/${version}/${name}.js`]));
  const path = t.env.site.serve(`/older-${version}.html`, `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>older</title><script type="importmap">${JSON.stringify({ imports })}</script>\n<script type="module" src="/helpers.js"></script>`);
  return t.tab({ path });
}
