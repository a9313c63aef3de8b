// Rollup leaves addresses as they are: the module and its parts are copied beside the script, and the worker is an entry.
import fs from "node:fs";
import resolve from "@rollup/plugin-node-resolve";
import { rollup } from "rollup";

const bundle = await rollup({ input: { main: "main.js", worker: "node_modules/lodger/worker.js" }, plugins: [resolve({ browser: true })] });
await bundle.write({ dir: "dist", entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" });
for (const name of ["lodger.wasm", "rooms"]) fs.cpSync(`node_modules/lodger/${name}`, `dist/${name}`, { recursive: true });
fs.copyFileSync("index.html", "dist/index.html");
