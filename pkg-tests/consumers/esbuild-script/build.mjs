// One script that is no module, its files in a folder by their own names, so that the page can ask for them early.
import fs from "node:fs";
import { build } from "esbuild";
import lodger from "lodger/esbuild";

await build({ entryPoints: ["main.js"], bundle: true, minify: true, outfile: "dist/js/main.js", assetNames: "files/[name]", plugins: [lodger()] });
fs.writeFileSync("dist/index.html", fs.readFileSync("index.html", "utf8").replace('type="module" src="./main.js"', 'defer src="./js/main.js"'));
