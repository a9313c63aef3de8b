// Apps by Vite: built, and served while they are written. Vite and its plugins ask NODE_ENV, which its builds and previews
// set for their whole process. A dev server after them would give React without hot reloading, so builds are processes of
// their own, and this process says "development".
import path from "node:path";
import { createServer, preview } from "vite";
import { builds, ROOT } from "./package.mjs";

process.env.NODE_ENV = "development";

/** Builds the app in this directory, with a plugin by its name, and `#` with that of its export where it is not the default; gives where it is. */
export async function viteBuilt(dir, { base = "./", plugin } = {}) {
  await builds(dir, [path.join(ROOT, "lib", "vite-build.mjs"), dir, base, ...(plugin ? [plugin] : [])]);
  return path.join(dir, "dist");
}

/** A dev server for this directory; gives its address. */
export async function viteServed(t, root, config) {
  // A cache of its own: one beside it that is shared makes Vite load the page anew when another server has filled it.
  const server = await createServer({ root, cacheDir: path.join(root, ".vite"), configFile: false, logLevel: "error", ...config, server: { port: 0, host: "127.0.0.1" } });
  await server.listen();
  t.after(() => server.close());
  return origin(server);
}

/** What was built in this directory, as Vite shows it; gives its address. */
export async function vitePreviewed(t, root) {
  const server = await preview({ root, configFile: false, logLevel: "error", preview: { port: 0, host: "127.0.0.1" } });
  t.after(() => new Promise((done) => server.httpServer.close(done)));
  return origin(server);
}

const origin = ({ httpServer }) => `http://127.0.0.1:${httpServer.address().port}`;
