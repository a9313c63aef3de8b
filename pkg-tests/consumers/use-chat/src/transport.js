// What a workspace says, as `useChat` reads it: the messages that a chat begins with, and the transport for new ones.
const failure = ({ error, status }) => error?.message ?? status;

/** One message of `ws.history()` as a UIMessage. */
export const uiMessage = ({ id, role, parts }) => ({ id, role, parts: parts.filter((part) => part.type !== "file").map(uiPart) });

function uiPart(part) {
  if (part.type !== "tool-call") return { type: part.type === "thinking" ? "reasoning" : "text", text: part.text, state: "done" };
  const call = { type: "dynamic-tool", toolName: part.tool, toolCallId: part.toolCallId, input: part.arguments };
  if (part.status === "completed") return { ...call, state: "output-available", output: part.result };
  if (part.status === "denied") return { ...call, state: "output-denied", approval: { id: part.toolCallId, approved: false } };
  if (["failed", "unknown"].includes(part.status)) return { ...call, state: "output-error", errorText: failure(part) };
  return { ...call, state: "input-available" };
}

/** A run from its beginning to its end, however late it is read. */
function stream(ws, { runId, result }) {
  let shown, open, end = () => {};
  const start = (out) => {
    const put = (type, members) => out.enqueue({ ...members, type });
    const close = () => { if (open) put(`${open.type}-end`, { id: open.id }); open = undefined; };
    const words = (part, id, from) => {
      const { type } = uiPart(part);
      if (from === undefined) { close(); put(`${type}-start`, { id }); open = { type, id }; }
      if (part.text.length > (from ?? 0)) put(`${type}-delta`, { id, delta: part.text.slice(from) });
    };
    const call = (part, old, asked) => {
      const now = uiPart(part);
      if (!old) { close(); put("tool-input-available", { ...now, dynamic: true }); }
      if (now.state !== "input-available" && now.state !== (old && uiPart(old).state)) put(`tool-${now.state}`, now);
      if (asked) put("tool-approval-request", { approvalId: asked.requestId, toolCallId: asked.toolCallId, reason: [asked.explanation, asked.warning].filter(Boolean).join(" ") });
    };
    const tell = ({ messages, permissions }) => {
      const message = messages.findLast((it) => it.role === "assistant" && it.runId === runId);
      if (!message) return;
      const parts = message.parts.filter((part) => part.type !== "file" && part.status !== "receiving");
      // An answer that is asked for again takes the place of what was shown of it.
      const again = shown?.some((old, at) => old.type !== parts[at]?.type || !(parts[at].text ?? "").startsWith(old.text ?? ""));
      if (!shown) put("start", { messageId: message.id });
      if (again) { put("reset-step"); open = undefined; }
      else if (!shown) put("start-step");
      const before = again ? [] : shown ?? [];
      parts.forEach((part, at) => {
        const asked = part.requestId !== before[at]?.requestId && permissions.find(({ requestId }) => requestId === part.requestId);
        if (part.type === "tool-call") call(part, before[at], asked);
        else words(part, `${message.id}-${at}`, before[at]?.text.length);
      });
      shown = parts;
    };
    end = ws.view().subscribe(tell);
    result.then(async ({ outcome, error }) => {
      end();
      tell({ messages: await ws.history(), permissions: [] });
      close();
      if (error) put("error", { errorText: error.message });
      put(outcome === "interrupted" ? "abort" : "finish");
      out.close();
    }).catch(() => {});   // nobody reads it any more
  };
  return new ReadableStream({ start, cancel: () => end() });
}

/** For `useChat({ transport, resume: true })`. */
export const lodgerTransport = (ws) => ({
  resumeStreamIsReplay: true,
  async sendMessages({ trigger, messageId, messages }) {
    // What was sent in this page has another id in Lodger, so its place says which message it is.
    const history = await ws.history();
    if (trigger === "regenerate-message") return stream(ws, await ws.regenerate(history[messages.length]?.id));
    const text = messages.at(-1).parts.map((part) => part.text ?? "").join("");
    return stream(ws, await ws.sendMessage(text, messageId ? { replaces: history[messages.length - 1].id } : {}));
  },
  async reconnectToStream() {
    const { promise, resolve } = Promise.withResolvers();
    const end = ws.view().subscribe(({ status }) => status !== "loading" && resolve(status));
    const status = await promise;
    end();
    return ["held", "submitted", "streaming", "waiting"].includes(status) ? stream(ws, await ws.resume()) : null;
  },
});
