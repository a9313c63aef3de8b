// The plugin puts the module and its parts beside the script, and the worker is a chunk.
import fs from "node:fs";
import resolve from "@rollup/plugin-node-resolve";
import lodger from "lodger/rollup";
import { rollup } from "rollup";

const bundle = await rollup({ input: "main.js", plugins: [resolve({ browser: true }), lodger()] });
await bundle.write({ dir: "dist" });
fs.copyFileSync("index.html", "dist/index.html");
