import { useChat } from "@ai-sdk/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { openWorkspace } from "lodger";
import { offline } from "lodger/offline";
import { lodgerTransport, uiMessage } from "./transport.js";

const ws = await openWorkspace("orders", { pageTools: false });
ws.tools.register({
  name: "send_order", title: "Place the order", description: "Orders what is in the cart.", destructive: true,
  inputSchema: { type: "object", properties: { cart: { type: "string" } }, required: ["cart"] },
  explanation: ({ cart }) => `Place the order of ${cart}?`,
  execute: ({ cart }) => `ordered ${cart}`,
});
await ws.startAgent({ provider: offline() });
const chat = { id: "default", transport: lodgerTransport(ws), messages: (await ws.history()).map(uiMessage), resume: true };

function Part({ part }) {
  if (part.type !== "dynamic-tool") return part.text ?? null;
  if (part.state !== "approval-requested") return <i>[{part.toolName}: {part.state}]</i>;
  const { id, requestReason } = part.approval;
  const answer = (word) => ws.resolvePermission(id, word).catch(console.warn);
  return <b>{requestReason} <button onClick={() => answer("allow_once")}>Allow</button> <button onClick={() => answer("deny")}>Deny</button></b>;
}

function Chat() {
  const { messages, sendMessage, regenerate, status, error } = useChat(chat);
  const [text, setText] = useState('send_order {"cart":"3 chairs"}');
  const send = (event) => { event.preventDefault(); sendMessage({ text }); };
  return (
    <>
      <ul id="messages">{messages.map(({ id, role, parts }) => <li key={id} className={role}>{parts.map((part, at) => <Part key={at} part={part} />)}</li>)}</ul>
      <p id="state">{error?.message ?? status}</p>
      <form onSubmit={send}><input value={text} onChange={(event) => setText(event.target.value)} /> <button>Send</button></form>
      <button onClick={() => regenerate()}>Again</button> <button onClick={() => ws.interrupt()}>Stop</button>
    </>
  );
}

createRoot(document.querySelector("#root")).render(<StrictMode><Chat /></StrictMode>);
