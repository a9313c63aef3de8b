import { openWorkspace } from "lodger";
import { offline } from "lodger/offline";

const { setup, key, log, ask, question, yes, no, form, box, send } = window;
const ws = await openWorkspace("panel", { pageTools: false });

ws.tools.register({
  name: "save_note", title: "Save the note", description: "Saves a note for the person.", destructive: true,
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  explanation: ({ text }) => `Save “${text}”?`,
  async execute({ text }) {
    const { notes = [] } = await chrome.storage.local.get("notes");
    await chrome.storage.local.set({ notes: [...notes, text] });
    return `saved as note ${notes.length + 1}`;
  },
});

const line = ({ role, parts, error }) => Object.assign(document.createElement("li"), {
  className: role, textContent: [...parts.map((part) => part.text ?? `[${part.tool}: ${part.status}]`), error?.message].filter(Boolean).join("\n"),
});
ws.view().subscribe(({ messages, permissions: [asked] }) => {
  log.replaceChildren(...messages.map(line));
  log.scrollTop = log.scrollHeight;
  ask.hidden = !asked;
  question.textContent = [asked?.explanation, asked?.warning].filter(Boolean).join(" ");
  yes.onclick = () => ws.resolvePermission(asked.requestId, "allow_once").catch(console.warn);
  no.onclick = () => ws.resolvePermission(asked.requestId, "deny").catch(console.warn);
});

// Without a key, the model that is always there.
const connected = (await ws.keys.list()).includes("anthropic");
setup.hidden = connected;
await ws.startAgent({ instructions: "You keep the person's notes.", provider: connected ? { kind: "anthropic" } : offline() });

const connect = async () => {
  const { ok, error } = await ws.keys.validate({ kind: "anthropic", apiKey: key.value });
  if (!ok) throw error;
  await ws.keys.set("anthropic", key.value);   // the vault keeps it, and no script reads it back
  await ws.configureAgent({ provider: { kind: "anthropic" } });
  setup.hidden = true;
};
setup.onsubmit = (event) => {
  event.preventDefault();
  connect().catch((error) => alert(error.message));
};
form.onsubmit = (event) => {
  event.preventDefault();
  ws.sendMessage(box.value).then(() => { box.value = ""; }, (error) => alert(error.message));
};
send.disabled = false;
