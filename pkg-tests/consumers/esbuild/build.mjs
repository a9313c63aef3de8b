// esbuild leaves addresses as they are: the module and its parts are copied beside the script, and the worker is an entry.
import fs from "node:fs";
import { build } from "esbuild";

await build({ entryPoints: { main: "main.js", worker: "node_modules/lodger/worker.js" }, bundle: true, splitting: true, format: "esm", minify: true, outdir: "dist", logLevel: "warning" });
for (const name of ["lodger.wasm", "rooms"]) fs.cpSync(`node_modules/lodger/${name}`, `dist/${name}`, { recursive: true });
fs.copyFileSync("index.html", "dist/index.html");
