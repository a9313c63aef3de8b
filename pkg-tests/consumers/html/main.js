// The ten lines of the README, with a scripted model in place of the key.
import { openWorkspace } from "lodger";
import { scriptedModel } from "lodger/testing";

const cart = { items: [], add(id) { this.items.push(id); return "added"; } };
const bubble = (message) => Object.assign(document.createElement("li"), { className: message.role, textContent: message.parts.map((p) => p.text ?? "").join("") });

const ws = await openWorkspace("chat");
ws.tools.register({ name: "add_to_cart", description: "Puts a product into the cart.", inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] }, execute: ({ id }) => cart.add(id) });
await ws.startAgent({ ifRunning: "join", instructions: "You help in this shop.", provider: scriptedModel([{ tool: "add_to_cart", args: { id: "p1" } }, "It is in your cart."]) });
ws.view().subscribe((s) => document.querySelector("#log").replaceChildren(...s.messages.map(bubble)));
document.querySelector("#form").onsubmit = (event) => {
  event.preventDefault();
  ws.sendMessage(document.querySelector("#box").value);
};
globalThis.cart = cart;
document.body.dataset.ready = "yes";
