// Builds the workbench: src/ -> dist/, static files that any server can serve.
//
// Decides: what is bundled (everything of the workbench's own and its libraries) and what is not. The package
// `lodger` stays outside and is loaded at run time from ./lodger/, as it was published, wasm beside it.
import { build } from "esbuild";
import { cpSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { readFileSync } from "node:fs";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");

/** `lodger` and `lodger/offline` become addresses beside the page. */
const lodger = {
  name: "lodger",
  setup(b) {
    b.onResolve({ filter: /^lodger(\/|$)/ }, ({ path }) => ({
      path: `./lodger/${path === "lodger" ? "index" : path.slice("lodger/".length)}.js`,
      external: true,
    }));
  },
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({
  entryPoints: { main: join(root, "src/main.ts"), style: join(root, "src/styles/main.css") },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: ["chrome123", "firefox128", "safari17.5"],
  // The page and its chunks sit side by side, so that "./lodger/" means the same in each.
  chunkNames: "[name]-[hash]",
  legalComments: "linked",
  plugins: [lodger],
  logLevel: "warning",
});
cpSync(join(root, "src/index.html"), join(dist, "index.html"));
cpSync(join(root, "src/icon.svg"), join(dist, "icon.svg"));
// Pages that stand for themselves, with the package beside them as well: they are served as they are.
cpSync(join(root, "examples"), join(dist, "examples"), { recursive: true });

for (const name of readdirSync(dist).filter((n) => /\.(js|css|html)$/.test(n))) {
  const size = statSync(join(dist, name)).size;
  console.log(`${name.padEnd(28)} ${String(size).padStart(7)} B  ${String(brotliCompressSync(readFileSync(join(dist, name))).length).padStart(6)} B brotli`);
}
