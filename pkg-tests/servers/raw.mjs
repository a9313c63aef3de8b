// A model server that sends exactly the bytes it was told to, when it was told to, and remembers every request.
// Decides nothing about models: scripts come from the tests (`sse.mjs` and `wires/` have the words), the checking of
// what arrives from its wire. Each test has a route of its own, so that tests cannot see each other.
import http from "node:http";
import { anthropic } from "./wires/anthropic.mjs";

const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*, authorization", "access-control-allow-methods": "*", "access-control-expose-headers": "*" };
/** The same as a real server has it: a closed list of what may be asked, and of what may be seen. */
const closed = ({ allow, expose }) => ({ "access-control-allow-origin": "*", "access-control-allow-headers": allow.join(", "), "access-control-allow-methods": "GET, POST", ...(expose.length && { "access-control-expose-headers": expose.join(", ") }) });
const headersOf = (route, wire) => (!route.cors ? {} : route.cors === "closed" ? closed(wire.cors) : CORS);

/** A point in a script at which the server waits until the test opens it. `reached` resolves when it waits there. */
export function gate() {
  let open, arrive;
  const opened = new Promise((r) => (open = r));
  const reached = new Promise((r) => (arrive = r));
  return { gate: true, opened, reached, open, arrive };
}

/** In a script: wait this long. */
export const pause = (ms) => ({ pause: ms });
/** In a script: this text, a byte at a time. */
export const trickle = (text) => ({ trickle: text });
/** In a script: cut the connection here; what was written still arrives, but the last chunk is missing. */
export const drop = { drop: true };
/** In a script, or in place of an answer: the connection is reset; what was not read is lost. */
export const reset = { reset: true };
/** In a script, or in place of an answer: nothing more comes, and the connection stays. */
export const hang = { hang: true };
/** An answer: a stream of these pieces (strings, buffers, gates, pauses, drops, resets, hangs). */
export const stream = (...pieces) => ({ status: 200, stream: true, headers: {}, body: pieces.flat() });
/** An answer: a status with a body. */
export const plain = (status, body, headers = { "content-type": "application/json" }) => ({ status, headers, body: [body] });

/** A server of this wire (`wires/index.mjs` says what that is). */
export async function rawServer(wire = anthropic) {
  const routes = new Map();
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url, "http://x");
    const route = routes.get(url.pathname.split("/")[1]);
    if (!route) return response.writeHead(404, CORS).end();
    if (request.method === "OPTIONS") {
      route.preflights++;
      route.asked.push((request.headers["access-control-request-headers"] ?? "").split(",").filter(Boolean));
      return response.writeHead(route.cors ? 204 : 403, headersOf(route, wire)).end();
    }
    const text = Buffer.concat(chunks).toString("utf8");
    const record = { method: request.method, path: url.pathname, query: Object.fromEntries(url.searchParams), headers: request.headers, text, json: parse(text), aborted: false, violations: [] };
    response.on("close", () => { record.aborted = !response.writableFinished; record.closed.done(); });
    record.closed = settled();
    const answer = await route.take(record);
    const piped = Array.isArray(answer) ? stream(answer) : answer;
    try {
      await send(response, piped, route, wire);
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
        base: `${url}/${name}`, requests: [], effects: [], preflights: 0, asked: [], cors: true, answers, checked: true, everything: false, sentBy: [],
        /** What must come back as it was, kept one answer at a time: one that was cut leaves its own unfinished. */
        get sent() { return this.sentBy.flat(); },
        /** What the rules found in all model requests together. */
        get violations() { return this.requests.flatMap((r, i) => r.violations.map((v) => `request ${i + 1}: ${v}`)); },
        /** Resolves when the nth model request (from 1) has come. */
        async request(n) { while (this.requests.length < n) await new Promise((r) => this.waiters.push(r)); return this.requests[n - 1]; },
        waiters: [],
        async take(record) {
          if (!this.everything && !record.path.endsWith(wire.path)) { this.effects.push(record); return plain(200, JSON.stringify({ ok: true, count: this.effects.length })); }
          this.requests.push(record);
          // `everything`: each request is answered by the script, whatever it asks for.
          record.violations = this.everything ? [] : wire.check(record, this.sent);
          for (const wake of this.waiters.splice(0)) wake();
          // A real server refuses what breaks its rules, whatever the script says.
          if (this.checked && record.violations.length) return plain(400, wire.refusal(record.violations.join("; ")));
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

async function send(response, answer, route, wire) {
  const { socket } = response;
  if (answer.hang) return;
  if (answer.reset) return void socket.resetAndDestroy();
  const { status = 200, headers = {}, body = [] } = answer;
  response.writeHead(status, { ...headersOf(route, wire), ...(answer.stream && { "content-type": wire.type, "cache-control": "no-cache" }), ...headers });
  response.flushHeaders();
  const sent = [];
  route.sentBy.push(sent);
  for (const piece of [].concat(body)) {
    if (response.destroyed) return;
    if (piece?.gate) { piece.arrive(); await piece.opened; }
    else if (piece?.pause !== undefined) await new Promise((r) => setTimeout(r, piece.pause));
    else if (piece?.drop) return void socket.destroySoon();
    else if (piece?.reset) return void socket.resetAndDestroy();
    else if (piece?.hang) return;
    else if (piece?.trickle) {
      wire.remember(piece.trickle, sent);
      for (const byte of Buffer.from(piece.trickle)) { response.write(Buffer.from([byte])); await new Promise(setImmediate); }
    } else {
      if (typeof piece === "string") wire.remember(piece, sent);
      if (!response.write(piece)) await drained(response);
    }
  }
  response.end();
}

const drained = (response) => new Promise((resolve) => {
  const go = () => { response.off("drain", go).off("close", go); resolve(); };
  response.on("drain", go).on("close", go);
});

function parse(text) { try { return JSON.parse(text); } catch { return undefined; } }
function settled() { let done; const promise = new Promise((r) => (done = r)); promise.done = done; return promise; }
