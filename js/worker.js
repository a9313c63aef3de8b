// A host in a worker of its own: a busy page does not slow the agent, and a hidden one does not stop its clock.
//
// The page says what to open by its first message; everything after it is the protocol. Leaves to others: all of it.

import { serveHost } from "./tabs/channel.js";
import { createInstances } from "./instance.js";
import * as glue from "./lodger_glue.js";
import { ROOMS } from "./rooms.js";

// Written so that bundlers find the file.
const { init, connect } = createInstances(glue, (room) => (room ? ROOMS[room]() : new URL("./lodger.wasm", import.meta.url)));

self.onmessage = ({ data: { name, source, ...options } }) =>
  serveHost(self, async (deliver) => {
    if (source !== undefined) await init({ module_or_path: source });
    return connect(name, options)(deliver);
  });
