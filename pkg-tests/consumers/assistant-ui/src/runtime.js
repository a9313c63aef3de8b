import { useExternalStoreRuntime } from "@assistant-ui/react";
import { useSyncExternalStore } from "react";

const OPTIONS = [{ id: "allow_once", kind: "allow-once" }, { id: "always_allow", kind: "allow-always" }, { id: "deny", kind: "reject-once" }];

/** A question to a person. `once`: no answer covers the next call like this. */
const approval = ({ requestId, explanation, warning, once }) => ({
  id: requestId, prompt: [explanation, warning].filter(Boolean).join(" "), options: OPTIONS.filter(({ kind }) => !once || kind !== "allow-always"),
});

const partOf = (permissions) => (part) => {
  if (part.type === "text" || part.type === "thinking") return { type: part.type === "text" ? "text" : "reasoning", text: part.text };
  const asked = part.requestId && permissions.find(({ requestId }) => requestId === part.requestId);
  const isError = ["failed", "denied", "unknown"].includes(part.status);
  return {
    type: "tool-call", toolCallId: part.toolCallId, toolName: part.tool, args: part.arguments, isError,
    ...(asked && { approval: approval(asked) }),
    ...((isError || part.status === "completed") && { result: part.error?.message ?? part.result ?? part.status }),
  };
};

function statusOf({ status, error, parts }, waits) {
  if (status === "partial") return waits && parts.some((part) => part.requestId) ? { type: "requires-action", reason: "tool-calls" } : { type: "running" };
  if (status === "complete") return { type: "complete", reason: "stop" };
  return { type: "incomplete", reason: status === "interrupted" ? "cancelled" : "error", error: error?.message };
}

/** The runtime of assistant-ui over a workspace: what Lodger shows, and what the person does. */
export function useLodgerRuntime(ws) {
  const view = ws.view();
  const { messages, permissions, status } = useSyncExternalStore(view.subscribe, view.getSnapshot);
  const textOf = ({ content }) => content.map((part) => part.text ?? "").join("");
  return useExternalStoreRuntime({
    messages,
    isLoading: status === "loading",
    isRunning: ["submitted", "streaming", "waiting"].includes(status),
    convertMessage: (message) => ({
      id: message.id, role: message.role, createdAt: new Date(message.createdAt),
      content: message.parts.filter(({ type }) => type !== "file").map(partOf(permissions)),
      ...(message.role === "assistant" && { status: statusOf(message, permissions.length) }),
    }),
    onNew: async (message) => void (await ws.sendMessage(textOf(message))),
    onEdit: async (message) => void (await ws.sendMessage(textOf(message), { replaces: message.sourceId })),
    onReload: async (parentId) => void (await ws.regenerate(messages[messages.findIndex(({ id }) => id === parentId) + 1]?.id)),
    onDelete: (messageId) => ws.removeMessage(messageId),
    onCancel: async () => ws.interrupt(),
    onRespondToToolApproval: ({ approvalId, approved, optionId, reason }) => ws.resolvePermission(approvalId, optionId ?? (approved ? "allow_once" : "deny"), { reason }),
  });
}
