// Earlier versions of the package (`data/packages/`), unpacked beside this one's, and a page that imports one of them.
//
// `0.1.0-1` is of before b5ea4fd: its rows have format 1, and its tabs know of no other version. `0.1.0-2` is 6914ffa, the last one
// whose rows have format 2; its tabs say version 2. `0.1.0-4` is of 29 November, with
// rows of format 4; its tabs say version 3. One is packed from `pkg/` as `cargo xtask build` leaves it there. It has what a
// page of these tests loads: without types, maps, texts, `models.json` and other providers.
//
//     mkdir -p package && cp -r pkg/{index,offline,testing,worker,lodger-*}.js pkg/lodger.wasm pkg/package.json pkg/rooms package
//     tar --sort=name --mtime=@0 --owner=root --group=root -cf - package | gzip -9n > 0.1.0-5.tgz
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
