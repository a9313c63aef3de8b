import assert from "node:assert/strict";
import { test } from "node:test";
import { searchSessions } from "../client/search.js";

const message = (id, text, more) => ({ id, role: "user", parts: [{ type: "text", text }], ...more });

function host(conversations, states = {}) {
  const pages = [];
  return {
    pages,
    list: async () => Object.keys(conversations).map((id) => ({ id, display_name: null, ...states[id] })),
    history: async ({ sessionId, limit, before }) => {
      pages.push(sessionId);
      const all = conversations[sessionId];
      if (!all) throw Object.assign(new Error("no"), { code: "corrupt" });
      const until = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
      return all.slice(Math.max(0, until - limit), until);
    },
  };
}
const search = (query, on, options) => searchSessions(query, options, on);

test("all words, in any order and case, in one message: the newest one", async () => {
  const on = host({
    a: [message("m1", "Where is the red Kettle?"), message("m2", "In the kitchen. The KETTLE is\n\nred."), message("m3", "Thanks")],
    b: [message("m4", "A kettle"), message("m5", "Something red")],
    c: [message("m6", "", { parts: [{ type: "file", filename: "red-kettle.png" }, { type: "thinking", text: "red kettle" }] })],
    d: [message("m7", "", { parts: [{ type: "thinking", text: "red kettle" }] })],
  });
  assert.deepEqual((await search("red  kettle", on)).map(({ session, messageId, excerpt }) => [session.id, messageId, excerpt]), [
    ["a", "m2", "In the kitchen. The KETTLE is red."],
    ["c", "m6", "red-kettle.png"],
  ]);
});

test("a letter with an accent is found in one sign or two", async () => {
  const [one, two] = ["caf\u00e9", "cafe\u0301"];
  const on = host({ a: [message("m1", `The ${two.toUpperCase()} is open`)], b: [message("m2", `The ${one} is open`)], c: [] }, { c: { title: `Caf${two.slice(3)}` } });
  for (const query of [one, two, one.toUpperCase()]) {
    assert.deepEqual((await search(query, on)).map(({ session: { id }, excerpt }) => [id, excerpt]), [["a", "The CAF\u00c9 is open"], ["b", "The caf\u00e9 is open"], ["c", undefined]]);
  }
});

test("a title is enough where nothing was said, and all there is of what is archived", async () => {
  const states = { a: { title: "About kettles" }, b: { display_name: "Kettle", title: "x" }, c: { display_name: "Other", title: "Kettle", archived: "2026-01-01T00:00:00Z" }, kettle: { archived: "2026-01-01T00:00:00Z" } };
  const on = host({ a: [message("n", "The red kettle.")], b: [], c: [message("m", "kettle")], kettle: [], e: undefined }, states);
  assert.deepEqual((await search("KETTLE", on)).map(({ session: { id }, messageId }) => [id, messageId]), [["a", "n"], ["b", undefined], ["kettle", undefined]]);
  assert.deepEqual(on.pages.toSorted(), ["a", "b", "e"], "one that cannot be read stops no other");
});

test("a long conversation is read a page at a time, from its end, as far as it takes", async () => {
  const long = Array.from({ length: 250 }, (_, n) => message(`m${n}`, n === 120 || n === 10 ? `${"x".repeat(200)} needle ${"y".repeat(200)}` : "hay"));
  const on = host({ a: long });
  const [{ messageId, excerpt }] = await search("needle", on);
  assert.equal(messageId, "m120");
  assert.equal(excerpt, `…${"x".repeat(79)} needle ${"y".repeat(79)}…`);
  assert.equal(on.pages.length, 2);
  assert.deepEqual(await search("nothing", on), []);
  assert.equal(on.pages.length, 5);
});

test("a gap is no place to read on from", async () => {
  const rest = Array.from({ length: 120 }, (_, n) => message(`m${n}`, n === 3 ? "needle" : "hay"));
  // As a host tells it: a gap stands before what is told, has no place of its own, and counts in no page.
  const on = host({ a: rest });
  const { history } = on;
  on.history = async (asked) => {
    if (asked.before === "gap") throw new Error("no such message");
    return [{ id: "gap", role: "system", status: "damaged", parts: [] }, ...(await history(asked))];
  };
  assert.deepEqual((await search("needle", on)).map(({ messageId }) => messageId), ["m3"]);
  assert.equal(on.pages.length, 2);
});

test("what is no search, and one that is given up", async () => {
  const on = host({ a: [message("m", "x")] });
  for (const query of [undefined, 5]) await assert.rejects(search(query, on), { code: "invalid_arguments" });
  await assert.rejects(search("x", on, { limit: 1 }), { code: "invalid_arguments" });
  assert.equal((await search(" ", on)).length, 1, "no word is asked for");
  const stop = new AbortController();
  const found = search("y", { ...on, history: async () => (stop.abort(), [message("m", "x")]) }, { signal: stop.signal });
  await assert.rejects(found, { code: "aborted" });
  await assert.rejects(search("x", on, { signal: stop.signal }), { code: "aborted" });
});
