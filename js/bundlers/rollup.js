// `lodger/rollup`: a plugin by which Rollup emits the module, its parts and the worker.
//
// The worker is a chunk of the same build, so it shares what it has in common with the page. Vite finds the files itself. An
// older one has to know two things: what it must not join ahead, and that the worker is of several files.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { addressed, isOwn, WORKER, WORKER_NAME } from "./files.js";

export default function lodger() {
  let vite = false;
  return {
    name: "lodger",
    // Only Vite asks for it.
    config() {
      vite = true;
      return { optimizeDeps: { exclude: ["lodger"] }, worker: { format: "es" } };
    },
    async transform(code, id) {
      if (vite || !isOwn(id)) return null;
      const files = new Set();
      if (!addressed(code, (file) => files.add(file) && "")) return null;
      const references = new Map();
      for (const file of files) {
        const emitted = file === WORKER ? { type: "chunk", id: file, name: WORKER_NAME } : { type: "asset", name: path.basename(file), source: await readFile(file) };
        references.set(file, this.emitFile(emitted));
      }
      return { code: addressed(code, (file) => `new URL(import.meta.ROLLUP_FILE_URL_${references.get(file)})`), map: null };
    },
  };
}
