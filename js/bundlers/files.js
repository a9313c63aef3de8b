// What the package's modules name by `new URL("./file", import.meta.url)`: the module, its parts, the worker.
//
// A bundler that does not know this form gets the files from here, each by its own way of emitting one. What both share.

import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the package, in which its modules, its module and its parts lie. */
export const DIR = fileURLToPath(new URL(".", import.meta.url));

export const WORKER = path.join(DIR, "worker.js");

/** What a bundler calls the worker: an app may have a `worker.js` of its own. */
export const WORKER_NAME = "lodger-worker";

const ADDRESS = /\bnew URL\("(\.\/[^"]+)",\s*import\.meta\.url\)/g;

/** Whether this is one of the package's modules. */
export const isOwn = (file) => path.dirname(file) + path.sep === DIR && file.endsWith(".js");

/**
 * A module of the package with other addresses in it; nothing where it has none. Its source map fits no more, so it goes.
 *
 * @param {string} code
 * @param {(file: string) => string} address what stands for the address of this file
 */
export function addressed(code, address) {
  if (code.search(ADDRESS) < 0) return null;
  return code.replace(ADDRESS, (_, name) => address(path.join(DIR, name))).replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n");
}
