// `lodger` in a browser.

import * as glue from "./lodger_glue.js";
import { createPackage } from "./package.js";
import { ROOMS } from "./rooms.js";

export { LodgerError } from "./protocol/error.js";

export const { init, openWorkspace, deleteWorkspace, invoke } = /* @__PURE__ */ createPackage(
  glue,
  // Written so that bundlers find the file.
  (room) => (room ? ROOMS[room]() : new URL("./lodger.wasm", import.meta.url)),
  () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
);
export default init;
