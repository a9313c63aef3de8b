// The plugin puts the module, its parts and the worker beside the script.
import fs from "node:fs";
import { build } from "esbuild";
import lodger from "lodger/esbuild";

await build({ entryPoints: ["main.js"], bundle: true, splitting: true, format: "esm", minify: true, outdir: "dist", plugins: [lodger()] });
fs.copyFileSync("index.html", "dist/index.html");
