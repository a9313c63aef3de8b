import { openWorkspace } from "lodger";

const ws = await openWorkspace("shop", { pageTools: false });
ws.view().subscribe(({ messages }) => show(messages.at(-1)?.role === "assistant" && messages.at(-1).parts[0]?.text));
await ws.startAgent({ ifRunning: "join", provider: { kind: "anthropic", apiKey: "sk-test", baseUrl: model } });
await ws.sendMessage("Go");
