import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { openWorkspace } from "lodger";
import { offline } from "lodger/offline";

const { messages, state, ask, question, yes, no, form, box } = window;
const ws = await openWorkspace("mcp", { pageTools: false });

const client = new Client({ name: "orders", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(new URLSearchParams(location.search).get("mcp"))));
for (const { name, title, description = name, inputSchema, annotations: hints = {} } of (await client.listTools()).tools) {
  ws.tools.register({
    name, title: title ?? hints.title, description, inputSchema,
    // What a server does not say of a tool is the worse of the two. Believe only hints of a server that you trust.
    readOnly: hints.readOnlyHint ?? false,
    destructive: !hints.readOnlyHint && (hints.destructiveHint ?? true),
    openWorld: hints.openWorldHint ?? true,
    source: "External",
    explanation: (args) => `${title ?? name}? ${JSON.stringify(args)}`,
    // Its result has MCP's content blocks, and so has an error that the tool tells of; Lodger takes both.
    execute: (args, { signal, onProgress }) => client.callTool({ name, arguments: args }, { signal, onprogress: onProgress, resetTimeoutOnProgress: true }),
  });
}

/** A picture or another file that a tool gave. */
const fileOf = ({ fileId, mediaType }) => {
  const link = Object.assign(document.createElement(mediaType.startsWith("image/") ? "img" : "a"), { textContent: mediaType });
  ws.file(fileId).then((blob) => { link.src = link.href = URL.createObjectURL(blob); }, console.warn);
  return link;
};
const partOf = (part) => (part.type === "tool-call" ? [`[${part.tool}: ${part.status}] `, ...(part.files ?? []).map(fileOf)] : [part.text ?? ""]);
const line = ({ role, parts }) => {
  const item = Object.assign(document.createElement("li"), { className: role });
  item.append(...parts.flatMap(partOf));
  return item;
};
ws.view().subscribe((snapshot) => {
  const [asked] = snapshot.permissions;
  messages.replaceChildren(...snapshot.messages.map(line));
  state.textContent = snapshot.error?.message ?? snapshot.status;
  ask.hidden = !asked;
  question.textContent = [asked?.explanation, asked?.warning].filter(Boolean).join(" ");
  yes.onclick = () => ws.resolvePermission(asked.requestId, "allow_once").catch(console.warn);
  no.onclick = () => ws.resolvePermission(asked.requestId, "deny").catch(console.warn);
});
await ws.startAgent({ provider: offline() });
form.onsubmit = (event) => {
  event.preventDefault();
  ws.sendMessage(box.value).catch((error) => { state.textContent = error.message; });
};
