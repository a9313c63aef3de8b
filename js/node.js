// `lodger` in Node, where `fetch` reads no files.

import { readFile } from "node:fs/promises";
import * as glue from "./lodger_glue.js";
import { createPackage } from "./package.js";
import { ROOMS } from "./rooms.js";

export { LodgerError } from "./protocol/error.js";

export const { init, openWorkspace, deleteWorkspace, invoke } = /* @__PURE__ */ createPackage(glue, (room) =>
  readFile(room ? ROOMS[room]() : new URL("./lodger.wasm", import.meta.url)),
);
export default init;
