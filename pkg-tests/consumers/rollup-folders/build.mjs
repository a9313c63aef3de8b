// Scripts in folders, the files beside these by their own names, so that the page can ask for them early.
import fs from "node:fs";
import resolve from "@rollup/plugin-node-resolve";
import lodger from "lodger/rollup";
import { rollup } from "rollup";

const bundle = await rollup({ input: "main.js", plugins: [resolve({ browser: true }), lodger()] });
await bundle.write({ dir: "dist", entryFileNames: "js/[name].js", chunkFileNames: "js/parts/[name]-[hash].js", assetFileNames: "files/[name][extname]" });
fs.writeFileSync("dist/index.html", fs.readFileSync("index.html", "utf8").replace("./main.js", "./js/main.js"));
