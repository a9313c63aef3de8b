// `lodger/esbuild`: a plugin by which esbuild emits the module, its parts and the worker, as it does with `loader: "file"`.
//
// Where the files are and how they are called is left to esbuild's options (`assetNames`, `publicPath`). The worker is
// built by itself, because a page's build may be of one file, and of another format than modules.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { addressed, DIR, WORKER, WORKER_NAME } from "./files.js";

/** What a worker's build has in common with its page's. */
const ALIKE = ["absWorkingDir", "assetNames", "charset", "legalComments", "minify", "minifyIdentifiers", "minifySyntax", "minifyWhitespace", "publicPath", "target"];
const FILE = "lodger-file";

export default function lodger() {
  return {
    name: "lodger",
    setup(build) {
      const { format = "iife", platform = "browser" } = build.initialOptions;
      // A script of another kind has no `import.meta`, but the page knows which one runs.
      const scripted = format === "iife" && platform === "browser";
      const here = scripted ? "lodgerScript" : "import.meta.url";
      // Go's expressions refuse a backslash before letters beyond ASCII.
      const own = DIR.replace(/[^\w\u0080-\uffff]/g, "\\$&");
      let worker;
      build.onLoad({ filter: new RegExp(`^${own}[^\\\\/]+\\.js$`), namespace: "file" }, async ({ path: file }) => {
        const files = [];
        const code = addressed(await readFile(file, "utf8"), (asked) => `new URL(lodgerFile${files.push(asked) - 1}, ${here})`);
        if (!code) return null;
        const imports = files.map((asked, at) => `import lodgerFile${at} from ${JSON.stringify(`${FILE}:${asked}`)};`);
        if (scripted) imports.push("const lodgerScript = document.currentScript?.src || document.baseURI;");
        return { contents: `${imports.join("")}${code}`, loader: "js", resolveDir: DIR };
      });
      build.onResolve({ filter: new RegExp(`^${FILE}:`) }, ({ path: asked }) => {
        const file = asked.slice(FILE.length + 1);
        return { path: file === WORKER ? path.join(DIR, `${WORKER_NAME}.js`) : file, namespace: FILE };
      });
      build.onLoad({ filter: /.*/, namespace: FILE }, async ({ path: file }) => ({
        contents: file.endsWith(".js") ? await (worker ??= built(build)) : await readFile(file),
        loader: "file",
      }));
    },
  };
}

/** The worker as one module. It names its files as the page's build does, and is in a folder with them. */
async function built({ esbuild, initialOptions: options }) {
  const { assetNames = "[name]-[hash]", outfile = "out.js", outdir = path.dirname(outfile) } = options;
  const alike = Object.fromEntries(ALIKE.filter((name) => name in options).map((name) => [name, options[name]]));
  const { outputFiles } = await esbuild.build({
    ...alike,
    entryPoints: { [WORKER_NAME]: WORKER },
    entryNames: assetNames,
    outdir,
    bundle: true,
    format: "esm",
    write: false,
    logLevel: "silent",
    plugins: [lodger()],
  });
  return outputFiles.find(({ path: file }) => file.endsWith(".js")).contents;
}
