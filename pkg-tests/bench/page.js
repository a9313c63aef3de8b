// The contenders, all in one page. Each reads the same stream and gives the length of the text it ended with.
import Anthropic from "./sdk.js";
import * as lodger from "lodger";

const request = (content) => JSON.stringify({ model: "claude-sonnet-4-6", max_tokens: 8192, stream: true, messages: [{ role: "user", content }] });
const HEADERS = { "content-type": "application/json", "x-api-key": "sk-test", "anthropic-version": "2023-06-01", "anthropic-dangerous-direct-browser-access": "true" };
const post = (url, body) => fetch(`${url}/v1/messages`, { method: "POST", headers: HEADERS, body });

globalThis.contenders = {
  /** Reads the bytes and looks at none of them. */
  async drain(url) {
    const reader = (await post(url, request("Go"))).body.getReader();
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes;
      bytes += value.length;
    }
  },

  /** What one writes by hand in twenty lines: no error handling, no retry, no history. */
  async loop(url) {
    const reader = (await post(url, request("Go"))).body.getReader();
    const decoder = new TextDecoder();
    let buffer = "";
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text.length;
      buffer += decoder.decode(value, { stream: true });
      const events = buffer.split("\n\n");
      buffer = events.pop();
      for (const event of events) {
        const data = event.slice(event.indexOf("data: ") + 6);
        const parsed = JSON.parse(data);
        if (parsed.type === "content_block_delta" && parsed.delta.type === "text_delta") text += parsed.delta.text;
      }
    }
  },

  /** The official SDK's stream helper, with a listener for the text. */
  async sdk(url) {
    const client = new Anthropic({ apiKey: "sk-test", baseURL: url, dangerouslyAllowBrowser: true, maxRetries: 0 });
    let text = "";
    await client.messages.stream(JSON.parse(request("Go"))).on("text", (delta) => { text += delta; }).finalMessage();
    return text.length;
  },

  /** Lodger: journal in IndexedDB, events, history. `prepare` opens and starts, which is not measured. */
  async lodger() {
    let text = "";
    const listen = ({ detail }) => { text = text.slice(0, detail.offset) + detail.text; };
    ws.addEventListener("agent:message-chunk", listen);
    const result = await ws.run("Go");
    ws.removeEventListener("agent:message-chunk", listen);
    if (result.text !== text) throw new Error("the events do not add up to the text");
    return text.length;
  },

  /** The loop of tools, by Lodger. */
  async toolLoop() {
    const { turns } = await ws.run("Take all steps.");
    return turns;
  },

  /** The same requests, bare. */
  async bareLoop(url) {
    for (const body of bodies) await (await post(url, body)).arrayBuffer();
    return bodies.length;
  },
};

let n = 0;
// A tool that only reads may begin before its order is stored; one that has effects must wait for it.
globalThis.prepare = async (baseUrl, readOnly = false) => {
  await globalThis.ws?.close();
  globalThis.ws = await lodger.openWorkspace(`bench-${++n}`);
  ws.tools.register({ name: "step", description: "Takes a step.", readOnly, inputSchema: { type: "object", properties: { number: { type: "number" } } }, execute: ({ number }) => `Step ${number} is taken.` });
  await ws.startAgent({ maxTurns: 1000, provider: { kind: "anthropic", apiKey: "sk-test", baseUrl } });
};
globalThis.fetchBodies = async (server) => { globalThis.bodies = await (await fetch(`${server}/bodies`)).json(); };
globalThis.ready = true;
