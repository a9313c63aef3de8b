// A model server that sends exactly the bytes it was told to, when it was told to, and remembers every request.
// Decides nothing about models: scripts come from the tests (`sse.mjs` has the words), the checking of what arrives
// from `anthropic-rules.mjs`. Each test has a route of its own, so that tests cannot see each other.
import http from "node:http";
import { check } from "./anthropic-rules.mjs";

const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*, authorization", "access-control-allow-methods": "*", "access-control-expose-headers": "*" };
const SSE = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

/** A point in a script at which the server waits until the test opens it. `reached` resolves when it waits there. */
export function gate() {
  let open, arrive;
  const opened = new Promise((r) => (open = r));
  const reached = new Promise((r) => (arrive = r));
  return { gate: true, opened, reached, open, arrive };
}

/** In a script: wait this long. */
export const pause = (ms) => ({ pause: ms });
/** In a script: cut the connection here. */
export const drop = { drop: true };
/** An answer: a stream of these pieces (strings, buffers, gates, pauses, drops). */
export const stream = (...pieces) => ({ status: 200, headers: SSE, body: pieces.flat() });
/** An answer: a status with a body. */
export const plain = (status, body, headers = { "content-type": "application/json" }) => ({ status, headers, body: [body] });

export async function rawServer() {
  const routes = new Map();
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url, "http://x");
    const route = routes.get(url.pathname.split("/")[1]);
    if (!route) return response.writeHead(404, CORS).end();
    if (request.method === "OPTIONS") {
      route.preflights++;
      return response.writeHead(route.cors ? 204 : 403, route.cors ? CORS : {}).end();
    }
    const text = Buffer.concat(chunks).toString("utf8");
    const record = { method: request.method, path: url.pathname, headers: request.headers, text, json: parse(text), aborted: false, violations: [] };
    response.on("close", () => { record.aborted = !response.writableFinished; record.closed.done(); });
    record.closed = settled();
    const answer = await route.take(record);
    const piped = Array.isArray(answer) ? stream(answer) : answer;
    try {
      await send(response, piped, route);
    } catch (error) {
      response.destroy(error);
    }
  });
  server.keepAliveTimeout = 1000;
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}`;
  let next = 0;

  return {
    url,
    /** A fresh route. `answers` are used one after the other, the last one again and again; a function is asked. */
    route(...answers) {
      const name = `r${++next}`;
      const route = {
        base: `${url}/${name}`, requests: [], effects: [], preflights: 0, cors: true, answers, checked: true, everything: false, sent: [],
        /** What the rules found in all model requests together. */
        get violations() { return this.requests.flatMap((r, i) => r.violations.map((v) => `request ${i + 1}: ${v}`)); },
        /** Resolves when the nth model request (from 1) has come. */
        async request(n) { while (this.requests.length < n) await new Promise((r) => this.waiters.push(r)); return this.requests[n - 1]; },
        waiters: [],
        async take(record) {
          if (!this.everything && !record.path.endsWith("/v1/messages")) { this.effects.push(record); return plain(200, JSON.stringify({ ok: true, count: this.effects.length })); }
          this.requests.push(record);
          // `everything`: each request is answered by the script, whatever it asks for.
          record.violations = this.everything ? [] : check(record, { sent: this.sent });
          for (const wake of this.waiters.splice(0)) wake();
          // A real server refuses what breaks its rules, whatever the script says.
          if (this.checked && record.violations.length) return plain(400, JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: record.violations.join("; ") } }));
          const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
          return typeof answer === "function" ? answer(record.json, this.requests.length, record) : answer;
        },
      };
      routes.set(name, route);
      return route;
    },
    async close() { server.closeAllConnections(); await new Promise((done) => server.close(done)); },
  };
}

async function send(response, { status = 200, headers = {}, body = [] }, route) {
  response.writeHead(status, { ...(route.cors ? CORS : {}), ...headers });
  response.flushHeaders();
  for (const piece of [].concat(body)) {
    if (response.destroyed) return;
    if (piece?.gate) { piece.arrive(); await piece.opened; }
    else if (piece?.pause !== undefined) await new Promise((r) => setTimeout(r, piece.pause));
    else if (piece?.drop) return void response.socket.destroySoon(); // what was written still arrives
    else {
      remember(piece, route.sent);
      if (!response.write(piece)) await drained(response);
    }
  }
  response.end();
}

const drained = (response) => new Promise((resolve) => {
  const go = () => { response.off("drain", go).off("close", go); resolve(); };
  response.on("drain", go).on("close", go);
});

/** Keeps each thinking block that was sent: it must come back as it was, or not at all. */
function remember(piece, sent) {
  if (typeof piece !== "string") return;
  for (const line of piece.split("\n")) {
    const data = line.startsWith("data: ") ? parse(line.slice(6)) : undefined;
    if (data?.type === "content_block_start" && data.content_block?.type === "redacted_thinking") sent.push({ ...data.content_block });
    if (data?.type === "content_block_start" && data.content_block?.type === "thinking") sent.push({ ...data.content_block, index: data.index });
    const last = sent.at(-1);
    if (data?.delta?.type === "thinking_delta" && last) last.thinking += data.delta.thinking;
    if (data?.delta?.type === "signature_delta" && last) last.signature = data.delta.signature;
  }
}

function parse(text) { try { return JSON.parse(text); } catch { return undefined; } }
function settled() { let done; const promise = new Promise((r) => (done = r)); promise.done = done; return promise; }
