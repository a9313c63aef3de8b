import { ActionBarPrimitive, AssistantRuntimeProvider, ComposerPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";
import { StrictMode, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { openWorkspace } from "lodger";
import { offline } from "lodger/offline";
import { useLodgerRuntime } from "./runtime.js";

const ws = await openWorkspace("orders", { pageTools: false });
ws.tools.register({
  name: "send_order", title: "Place the order", description: "Orders what is in the cart.", destructive: true,
  inputSchema: { type: "object", properties: { cart: { type: "string" } }, required: ["cart"] },
  explanation: ({ cart }) => `Place the order of ${cart}?`,
  execute: ({ cart }) => `ordered ${cart}`,
});
await ws.startAgent({ provider: offline() });

const Words = ({ text }) => <span>{text}</span>;
function Call({ toolName, approval, result, isError, respondToApproval }) {
  if (!approval) return <i>[{toolName}: {isError ? "failed" : result === undefined ? "works" : "done"}]</i>;
  return <b>{approval.prompt} {approval.options.map(({ id }) => <button key={id} onClick={() => respondToApproval({ optionId: id })}>{id}</button>)}</b>;
}
const Message = () => <MessagePrimitive.Root><MessagePrimitive.Parts components={{ Text: Words, tools: { Fallback: Call } }} /></MessagePrimitive.Root>;
const Answer = () => (
  <MessagePrimitive.Root>
    <MessagePrimitive.Parts components={{ Text: Words, tools: { Fallback: Call } }} />
    <ActionBarPrimitive.Root hideWhenRunning><ActionBarPrimitive.Reload>Again</ActionBarPrimitive.Reload></ActionBarPrimitive.Root>
  </MessagePrimitive.Root>
);

function Chat() {
  const { subscribe, getSnapshot } = ws.view();
  const { status, error } = useSyncExternalStore(subscribe, getSnapshot);
  return (
    <AssistantRuntimeProvider runtime={useLodgerRuntime(ws)}>
      <ThreadPrimitive.Root>
        <div id="messages"><ThreadPrimitive.Messages components={{ UserMessage: Message, AssistantMessage: Answer }} /></div>
        <p id="state">{error?.message ?? status}</p>
        <ComposerPrimitive.Root><ComposerPrimitive.Input /> <ComposerPrimitive.Send>Send</ComposerPrimitive.Send> <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel></ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.querySelector("#root")).render(<StrictMode><Chat /></StrictMode>);
