import { useEffect, useState, useSyncExternalStore } from "react";
import { openWorkspace } from "lodger";
import { offline } from "lodger/offline";

function useWorkspace(name) {
  const [workspace, setWorkspace] = useState(null);
  useEffect(() => {
    let gone = false;
    const opening = openWorkspace(name).then(async (ws) => {
      await ws.startAgent({ ifRunning: "join", provider: offline() });
      if (!gone) setWorkspace(ws);
      return ws;
    });
    opening.catch((error) => { document.body.dataset.error = `${error.code}: ${error.message}`; });
    return () => { gone = true; opening.then((ws) => ws.close(), () => {}); };
  }, [name]);
  return workspace;
}

const text = (message) => message.parts.map((part) => part.text ?? "").join("");

function Thread({ workspace }) {
  const view = workspace.view();
  const { status, messages } = useSyncExternalStore(view.subscribe, view.getSnapshot);
  return (
    <>
      <h1>Chat, first edition</h1>
      <ul>{messages.map((message) => <li key={message.id} className={message.role}>{text(message)}</li>)}</ul>
      <p id="status">{status}</p>
      <button onClick={() => workspace.sendMessage("What can you do?")}>Ask</button>
    </>
  );
}

export function Chat() {
  const workspace = useWorkspace("react");
  return workspace ? <Thread workspace={workspace} /> : <p>Opening…</p>;
}
