import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { send } from "../host/fetch.js";
import { turns } from "./fake-host.js";

const [PIECE, END, FAILED, UNMADE] = [-1, -2, -3, -4];
const real = globalThis.fetch;
afterEach(() => (globalThis.fetch = real));

const JSON_TEXT = JSON.stringify({ url: "https://model.example/v1", method: "POST", headers: [["x-api-key", "k"]] });

/** Sends with `fetch` in place of the network: what was told, and what was asked. */
function sent(fetch, { asked = JSON_TEXT, body = new Uint8Array([123, 125]), wants = () => true } = {}) {
  const told = [];
  const calls = [];
  const controller = new AbortController();
  globalThis.fetch = (...args) => (calls.push(args), fetch(...args));
  const heard = (call, what, bytes) => {
    told.push([call, what, new TextDecoder().decode(bytes)]);
    return wants(what);
  };
  send(heard, 7, controller.signal, asked, body);
  return { told, calls, controller };
}

/** A body that is written by hand. */
function stream() {
  const seen = { cancelled: false };
  const body = new ReadableStream({ start: (controller) => void (seen.to = controller), cancel: () => void (seen.cancelled = true) });
  return Object.assign(seen, { body, write: (text) => seen.to.enqueue(new TextEncoder().encode(text)) });
}

test("head, pieces and end are told in this order; of a good head only its status", async () => {
  const { body, write, to } = stream();
  const { told, calls, controller } = sent(async () => new Response(body, { status: 201, headers: { "x-id": "1" } }));
  await turns();
  write("one");
  await turns();
  write("two");
  to.close();
  await turns();
  assert.deepEqual(told, [[7, 201, ""], [7, PIECE, "one"], [7, PIECE, "two"], [7, END, ""]]);
  const [[url, init]] = calls;
  assert.equal(url, "https://model.example/v1");
  assert.deepEqual({ ...init, body: [...init.body] }, { method: "POST", headers: [["x-api-key", "k"]], body: [123, 125], signal: controller.signal, redirect: "manual" });
});

test("a page's own fetch gets bytes that stay as they are", async () => {
  const memory = new Uint8Array([123, 125]);
  const { calls } = sent(async () => new Response(null), { body: memory });
  memory.fill(0);
  await turns();
  assert.deepEqual([...calls[0][1].body], [123, 125]);
});

test("the head of an error comes with its headers", async () => {
  const { told } = sent(async () => new Response(null, { status: 429, headers: { "Retry-After": "3" } }));
  await turns();
  assert.deepEqual(told, [[7, 429, '[["retry-after","3"]]'], [7, END, ""]]);
});

test("what cannot be sent is told apart from what nobody answers", async () => {
  const refuse = async (...args) => (new Request(...args), Promise.reject(new TypeError("Failed to fetch")));
  const unsent = sent(refuse, { asked: JSON.stringify({ url: "https://a:b@model.example/", method: "POST", headers: [] }) });
  const unanswered = sent(refuse);
  await turns();
  assert.deepEqual([unsent.told[0][1], unanswered.told], [UNMADE, [[7, FAILED, ""]]]);
  assert.match(unsent.told[0][2], /^TypeError: .*credentials/);
});

test("a whole request is sent as it is, and has been made", async () => {
  const asked = new Request("https://model.example/v1", { method: "POST", body: "{}" });
  const { told, calls } = sent(async (request) => (await request.text(), Promise.reject(new TypeError("Failed to fetch"))), { asked, body: undefined });
  await turns();
  assert.equal(calls[0][0], asked);
  assert.deepEqual(told, [[7, FAILED, ""]]);
});

test("a connection that breaks off, and a fetch that gives no response, are failures", async () => {
  const { body, write, to } = stream();
  const broken = sent(async () => new Response(body));
  await turns();
  write("one");
  await turns();
  to.error(new TypeError("network error"));
  await turns();
  assert.deepEqual(broken.told, [[7, 200, ""], [7, PIECE, "one"], [7, FAILED, ""]]);
  for (const odd of [async () => undefined, async () => "no response", async () => Promise.reject("no error")]) {
    const { told } = sent(odd);
    await turns();
    assert.deepEqual(told, [[7, FAILED, ""]]);
  }
});

test("nothing is told after an abort", async () => {
  const late = stream();
  const before = sent((url, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))));
  const within = sent(async () => new Response(late.body));
  await turns();
  late.write("one");
  await turns();
  before.controller.abort();
  within.controller.abort();
  late.write("two");
  late.to.close();
  await turns();
  assert.deepEqual(before.told, []);
  assert.deepEqual(within.told, [[7, 200, ""], [7, PIECE, "one"]]);
});

test("once nobody wants more, the body is let go", async () => {
  const pieces = stream();
  const { told } = sent(async () => new Response(pieces.body), { wants: (what) => what !== PIECE });
  await turns();
  pieces.write("one");
  pieces.write("two");
  await turns();
  assert.deepEqual(told, [[7, 200, ""], [7, PIECE, "one"]]);
  assert.equal(pieces.cancelled, true);
});
