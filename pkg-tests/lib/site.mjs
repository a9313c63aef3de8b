// The web server of the test pages: the right MIME types, the installed package under /lodger/, one page per policy. By
// `/signal/<name>`, a synchronous request, a page that must not go on tells the test where it stands.
import http from "node:http";
import fs from "node:fs/promises";
import path from "node:path";
import { modules, ROOT, WORK } from "./package.mjs";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".css": "text/css",
  ".wasm": "application/wasm", ".json": "application/json", ".map": "application/json", ".svg": "image/svg+xml", ".ts": "text/plain" };

/** Where the site has what the tests have made. */
const BUILT = "/work/";
/** The address, on the site, of a file or a folder that the tests have made. */
export const addressOf = (file) => BUILT + path.relative(WORK, file);

/** The policy that the package promises to work under. */
export const STRICT_CSP = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' http://127.0.0.1:*; "
  + "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export async function site(pkg) {
  const signals = new Map();
  const asked = [];
  // The modules among the exports, those of JSON too: the others are files with an ending.
  const imports = Object.fromEntries(Object.keys(pkg?.manifest.exports ?? {}).filter((e) => /^[^.]*(\.json)?$/.test(e.slice(1)))
    .map((e) => [e.replace(/^\./, "lodger"), `/lodger/${pkg.entry(e)}`]));
  const pages = new Map();
  const roots = [["/lodger/", pkg?.dir], ["/modules/", pkg?.dir], ["/consumers/", path.join(ROOT, "consumers")], [BUILT, WORK], ["/", path.join(ROOT, "pages")]];

  const server = http.createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://x");
    asked.push(pathname);
    try {
      if (pathname.startsWith("/signal/")) {
        let body = "";
        for await (const chunk of request) body += chunk;
        const answer = await signals.get(decodeURIComponent(pathname.slice(8)))?.(body && JSON.parse(body));
        return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? null));
      }
      const page = pages.get(pathname);
      if (page) return response.writeHead(200, { "content-type": page.type ?? TYPES[".html"], ...page.headers }).end(page.body);
      const [prefix, dir] = roots.find(([p, d]) => d && pathname.startsWith(p));
      const file = path.join(dir, path.normalize(decodeURIComponent(pathname.slice(prefix.length))));
      if (!file.startsWith(dir)) throw new Error("outside");
      const body = await fs.readFile(file);
      response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream", "cache-control": "no-cache" }).end(body);
    } catch {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found");
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();

  const self = {
    url: `http://127.0.0.1:${port}`,
    /** The same server under a name that is not loopback: no secure context (the browser maps *.test here). */
    insecureUrl: `http://lodger.test:${port}`,
    imports,
    /** What has been asked for so far, one after the other. */
    asked,
    serve(at, body, headers = {}, type) { pages.set(at, { body, headers, type }); return at; },
    /** The test page at this path, with a script before all others. */
    before(at, script) {
      const { body, ...page } = pages.get(at);
      const own = `/${pages.size}${at}`;
      pages.set(own, { ...page, body: body.replace("<script", () => `<script>${script}</script><script`) });
      return own;
    },
    signal(name, handler) { signals.set(name, handler); return `/signal/${name}`; },
    async close() { server.closeAllConnections(); await new Promise((done) => server.close(done)); },
  };
  // An import map must be inline, so it is what a page without a bundler has.
  self.serve("/blank.html", `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>lodger</title><script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module" src="/helpers.js"></script>`);
  if (pkg) for (const [name, text] of await modules(pkg)) self.serve(`/modules/${name}`, text, {}, TYPES[".js"]);
  return self;
}
