// Anthropic event streams as text: what a model's answer looks like on the wire, one string per event. So a
// script can put a pause, a drop or garbage between any two of them.

/** One server-sent event in Anthropic's framing: the `event:` line repeats the type. */
export const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

let count = 0;

/**
 * The events of one whole answer.
 * `blocks`: `"text"`, `{ text, pieces }`, `{ tool, args, id?, json? }` (`json`: the argument text as it is, valid or
 * not), `{ thinking, signature }`, `{ redacted }`, or `{ raw }` (a block that is sent whole).
 */
export function message(blocks, { stop, id = `msg_${++count}`, usage = {}, model = "claude-sonnet-4-6" } = {}) {
  const events = [event({ type: "message_start", message: { id, type: "message", role: "assistant", model, content: [],
    stop_reason: null, stop_sequence: null, usage: { input_tokens: 12, output_tokens: 1, ...usage } } })];
  const list = [].concat(blocks);
  list.forEach((block, index) => events.push(...blockEvents(block, index)));
  const reason = stop ?? (list.some((b) => b.tool) ? "tool_use" : "end_turn");
  events.push(event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 7, ...usage } }));
  events.push(event({ type: "message_stop" }));
  return events;
}

function blockEvents(block, index) {
  const start = (content_block) => event({ type: "content_block_start", index, content_block });
  const delta = (d) => event({ type: "content_block_delta", index, delta: d });
  const end = event({ type: "content_block_stop", index });
  if (typeof block === "string") block = { text: block };
  if (block.text !== undefined) {
    const pieces = block.pieces ?? block.text.match(/\S*\s*/g).filter(Boolean);
    return [start({ type: "text", text: "" }), ...pieces.map((text) => delta({ type: "text_delta", text })), end];
  }
  if (block.tool) {
    const json = block.json ?? (block.args === undefined ? "" : JSON.stringify(block.args));
    const half = json.length >> 1;
    return [start({ type: "tool_use", id: block.id ?? `toolu_${++count}`, name: block.tool, input: {} }),
      ...["", json.slice(0, half), json.slice(half)].map((partial_json) => delta({ type: "input_json_delta", partial_json })), end];
  }
  if (block.thinking !== undefined) {
    return [start({ type: "thinking", thinking: "", signature: "" }), delta({ type: "thinking_delta", thinking: block.thinking }),
      delta({ type: "signature_delta", signature: block.signature }), end];
  }
  if (block.redacted) return [start({ type: "redacted_thinking", data: block.redacted }), end];
  return [start(block.raw), end];
}

/** An error body as the API sends it. */
export const errorBody = (type, text) => JSON.stringify({ type: "error", error: { type, message: text }, request_id: "req_1" });
