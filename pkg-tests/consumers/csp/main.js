// Everything the package does, under the strictest policy it promises to work with; what the policy refused is counted.
import { openWorkspace } from "./node_modules/lodger/%ENTRY%";
import { offline } from "./node_modules/lodger/%OFFLINE%";

const refused = (globalThis.refused = []);
document.addEventListener("securitypolicyviolation", (event) => refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));

const base = new URL(location.href).searchParams.get("model");
const ws = await openWorkspace("strict");
await ws.pages.create({ title: "Dragon Lore", content: "Dragons breathe fire." });
ws.view().subscribe((s) => {
  document.querySelector("#log").replaceChildren(...s.messages.map((m) => Object.assign(document.createElement("li"), { textContent: m.parts.map((p) => p.text ?? "").join("") })));
});
await ws.startAgent({ provider: offline() });
const here = await ws.run("What pages mention dragons?");
await ws.configureAgent({ provider: { kind: "anthropic", apiKey: "sk-test", baseUrl: base } });
const wire = await ws.run("And over the wire?");
globalThis.answers = [here.text, wire.text];
globalThis.open = openWorkspace;
document.body.dataset.ready = "yes";
