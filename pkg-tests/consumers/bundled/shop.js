// The shop that each bundler builds. Nothing of the package is called before a click, so that a test sees what is
// fetched by then. To save the conversation needs a part of the module that an answer does not.
import { openWorkspace } from "lodger";

const $ = (selector) => document.querySelector(selector);
const cart = { items: [], add(id) { this.items.push(id); return "added"; } };
const bubble = ({ role, parts }) => Object.assign(document.createElement("li"), { className: role, textContent: parts.map((part) => part.text ?? "").join("") });

async function open(host, baseUrl) {
  const ws = await openWorkspace(`shop in a ${host}`, { pageTools: false, host });
  ws.tools.register({
    name: "add_to_cart", description: "Puts a product into the cart.",
    inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
    execute: ({ id }) => cart.add(id),
  });
  ws.view().subscribe(({ messages }) => $("#log").replaceChildren(...messages.map(bubble)));
  await ws.startAgent({ ifRunning: "join", instructions: "You help in this shop.", provider: { kind: "anthropic", apiKey: "sk-test", baseUrl } });
  $("#send").onclick = () => tried(() => ws.sendMessage("Buy p1"));
  $("#save").onclick = () => tried(async () => { $("#saved").textContent = await (await ws.sessions.export("default")).text(); });
  document.body.dataset.open = "yes";
}

const tried = (work) => work().catch(({ code, message, hint = "" }) => { $("#error").textContent = `${code}: ${message} ${hint}`; });

/** Of the page's address: `model` is where the model answers, `host` where the agent works. */
export function shop() {
  const { searchParams } = new URL(location.href);
  $("#open").onclick = () => tried(() => open(searchParams.get("host"), searchParams.get("model")));
  document.body.dataset.ready = "yes";
  globalThis.cart = cart;
}
