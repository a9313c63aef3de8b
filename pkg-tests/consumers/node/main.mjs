// Node without any tool: the `node` condition, the wasm read from disk.
import init, { openWorkspace, invoke, LodgerError } from "lodger";
import { offline } from "lodger/offline";

await init();
const ws = await openWorkspace("node", { storage: "memory" });
await ws.pages.create({ title: "Dragon Lore", content: "Dragons breathe fire." });
await ws.startAgent({ provider: offline() });
const { text } = await ws.run("What pages mention dragons?");
const error = await invoke("fly").catch((e) => e);
await ws.close();
console.log(JSON.stringify({ text, coded: error instanceof LodgerError && error.code }));
