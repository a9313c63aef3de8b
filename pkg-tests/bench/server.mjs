// The model server of the benchmark: prepared bodies, nothing else, so that all contenders read the same bytes.
//   POST /stream/<deltas>/v1/messages   one answer of that many text deltas
//   POST /loop/<turns>/v1/messages      asks for the tool `step` again and again, by what the request already holds
//   GET  /bodies                        the request bodies of the loop since the last time this was asked
import http from "node:http";
import { event, message } from "../servers/sse.mjs";

const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "*", "access-control-max-age": "7200" };
const WORDS = ["the ", "river ", "of ", "words ", "runs ", "on ", "and ", "never ", "looks ", "back "];

/** One answer with this many deltas of one word each, as bytes. */
export function streamOf(deltas) {
  const [start, blockStart, ...rest] = message([{ text: "", pieces: [] }]);
  const pieces = Array.from({ length: deltas }, (_, i) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: WORDS[i % WORDS.length] } }));
  return Buffer.from([start, blockStart, ...pieces, ...rest].join(""));
}
/** The text of that answer. */
export const textOf = (deltas) => Array.from({ length: deltas }, (_, i) => WORDS[i % WORDS.length]).join("");

export async function benchServer() {
  const streams = new Map();
  let bodies = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    const [, kind, n] = request.url.split("/");
    const send = (body, type = "text/event-stream") => response.writeHead(200, { ...CORS, "content-type": type }).end(body);
    if (kind === "stream") {
      if (!streams.has(n)) streams.set(n, streamOf(Number(n)));
      return send(streams.get(n));
    }
    if (kind === "loop") {
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      const done = body.split('"type":"tool_result"').length - 1;
      return send(message(done < Number(n) ? [`Step ${done + 1}.`, { tool: "step", args: { number: done + 1 }, id: `toolu_${done}` }] : "All steps are done.").join(""));
    }
    if (kind === "bodies") {
      const all = bodies;
      bodies = [];
      return send(JSON.stringify(all), "application/json");
    }
    response.writeHead(404, CORS).end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, async close() { server.closeAllConnections(); await new Promise((done) => server.close(done)); } };
}
