import { openWorkspace } from "lodger";
import { offline } from "lodger/offline";

const ws = await openWorkspace("hello", { host: "worker", pageTools: false });
await ws.startAgent({ provider: offline() });
document.querySelector("#said").textContent = (await ws.run("What tools do you have?")).text;
