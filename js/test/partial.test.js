import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { Arguments, PartialJson, values } from "../client/partial.js";
import { RunText } from "../client/run.js";

/** The value of each beginning of a text. */
function beginnings(text) {
  const json = new PartialJson();
  return [...text].map((letter) => { json.push(letter); return structuredClone(json.value); });
}

test("what is open is closed, and what is not whole yet is not there", () => {
  const after = (text) => { const json = new PartialJson(); json.push(text); return json.value; };
  for (const [text, value] of [
    ["", undefined], [" ", undefined], ["{", {}], ['{"a', {}], ['{"a"', {}], ['{"a":', {}], ['{"a":1', {}], ['{"a":1,', { a: 1 }], ['{"a":"', { a: "" }], ['{"a":"b', { a: "b" }],
    ['{"a":"b\\', { a: "b" }], ['{"a":"b\\n', { a: "b\n" }], ['{"a":"\\u00e', { a: "" }], ['{"a":"\\u00e9', { a: "é" }], ['{"a":tru', {}], ['{"a":true}', { a: true }], ['{"a":[', { a: [] }],
    ['{"a":[1,[2,{"b":null},"x', { a: [1, [2, { b: null }, "x"]] }], ['[{"a":1},{', [{ a: 1 }, {}]], ['"te', "te"], ['{"a":1}', { a: 1 }], ['{"a":1} ', { a: 1 }],
  ]) assert.deepEqual(after(text), value, text);
});

test("what was shown does not change any more, and what is closed in it is not copied", () => {
  const json = new PartialJson();
  json.push('{"a":[1,{"b":"x');
  const first = json.shown;
  assert.deepEqual(first, { a: [1, { b: "x" }] });
  assert.equal(json.shown, first, "nothing came since");
  json.push('y"},[2');
  const second = json.shown;
  json.push(',3]],"__proto__":{"c":[');
  const third = json.shown;
  json.push("4]}}");
  assert.deepEqual([first, second, third], [{ a: [1, { b: "x" }] }, { a: [1, { b: "xy" }, []] }, JSON.parse('{"a":[1,{"b":"xy"},[2,3]],"__proto__":{"c":[]}}')]);
  assert.deepEqual(json.shown, JSON.parse('{"a":[1,{"b":"xy"},[2,3]],"__proto__":{"c":[4]}}'));
  assert.equal(third.a, json.shown.a);
});

test("a text that is no JSON keeps what was there before its fault", () => {
  for (const [text, value] of [["{'a'", {}], ['{"a":1 2}', { a: 1 }], ["[1,,2]", [1]], ["[1}", [1]], ['{"a" 1}', {}], ["nope", undefined], ['{"a":"\\x","b":2}', { a: "" }], ["[01,2]", []], ["1 2", 1]]) {
    const json = new PartialJson();
    json.push(text);
    json.end();
    assert.deepEqual(json.value, value, text);
  }
});

test("a member that is called like the prototype is a member", () => {
  const json = new PartialJson();
  json.push('{"__proto__":{"a":1}}');
  assert.equal(Object.getPrototypeOf(json.value), Object.prototype);
  assert.deepEqual(JSON.stringify(json.value), '{"__proto__":{"a":1}}');
  assert.equal({}.a, undefined);
});

let seed = 7;
const draw = (most) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % most; };
function value(depth) {
  switch (draw(depth ? 8 : 6)) {
    case 0: return draw(2) === 1;
    case 1: return null;
    case 2: return draw(2000) / 8 - 100;
    case 3: return (draw(1000) + 1) * 1e20;
    case 4: return ["", "é😀", 'a"b\\c\n', "\u0000\u2028", "plain words"][draw(5)];
    case 5: return draw(100);
    case 6: return Array.from({ length: draw(4) }, () => value(depth - 1));
    default: return Object.fromEntries(Array.from({ length: draw(4) }, (_, n) => [["a", "b\"", "é", ""][n], value(depth - 1)]));
  }
}

/** Whether one may become the other. */
function begins(part, whole) {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part);
  if (Array.isArray(part)) return Array.isArray(whole) && part.length <= whole.length && part.every((item, n) => begins(item, whole[n]));
  if (part && typeof part === "object") return whole && typeof whole === "object" && Object.keys(part).every((name) => Object.hasOwn(whole, name) && begins(part[name], whole[name]));
  return part === undefined || part === whole;
}

test("whole it is what JSON.parse gives, in whatever pieces it comes, and each beginning may become that", () => {
  for (let n = 0; n < 400; n++) {
    const whole = value(4);
    const text = JSON.stringify(whole, null, draw(3));
    for (const part of beginnings(text)) assert.ok(begins(part, whole), `${JSON.stringify(part)} of ${text}`);
    const json = new PartialJson();
    for (let at = 0; at < text.length; ) { const until = at + 1 + draw(9); json.push(text.slice(at, until)); at = until; }
    json.end();
    assert.deepEqual(json.value, whole, text);
  }
});

test("arguments that are shown while they come cost as much as their text, however long they are", () => {
  const text = JSON.stringify({ list: Array.from({ length: 20_000 }, (_, n) => n), end: "e" });
  const given = new Arguments();
  let [copied, last] = [0, undefined];
  for (let at = 8; at < text.length + 8; at += 8) {
    const parts = [{ argumentsText: text.slice(0, at) }];
    given.fill({ id: "m", parts }, 0, text.slice(at - 8, at));
    const [{ arguments: shown }] = parts;
    if (shown.list !== last) copied += (last = shown.list).length;
    assert.ok(begins(shown, { list: shown.list, end: "e" }));
  }
  assert.ok(copied < 2 * text.length, `${copied} members were copied for ${text.length} letters`);
  assert.ok(last.length > 15_000, `${last.length} are shown`);
  // Short ones are shown with each piece.
  const seen = [];
  for (const text of ['{"a"', '{"a":1,', '{"a":1,"b":2,', '{"a":1,"b":2,"c":3,']) {
    const parts = [{ argumentsText: text }];
    given.fill({ id: "n", parts }, 0);
    seen.push(JSON.stringify(parts[0].arguments));
  }
  assert.deepEqual(seen, ["{}", '{"a":1}', '{"a":1,"b":2}', '{"a":1,"b":2,"c":3}']);
});

/** How often the blocks of the two modules were entered that read a value while it comes. */
async function steps(work) {
  const session = new Session();
  setFlagsFromString("--no-opt"); // optimized code does not count all
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  setFlagsFromString("--opt");
  const ours = result.filter(({ url }) => /\/client\/(partial|run)\.js$/.test(url));
  assert.equal(ours.length, 2);
  return ours.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges)).reduce((sum, { count }) => sum + count, 0);
}

test("a value that is read while it comes costs as much as its text, however long that is", async () => {
  const reads = async (count) => {
    const whole = { list: Array.from({ length: count }, (_, n) => ({ n })), text: 'a "word"\n'.repeat(count) };
    const said = JSON.stringify(whole);
    const text = new RunText(() => assert.fail("nothing was missed"));
    let [last, given] = [undefined, 0];
    const reader = (async () => {
      for await (const value of values(text)) {
        assert.equal(value, last ?? value, "it grows in place");
        if (last?.list) assert.equal(value.list, last.list);
        [last, given] = [value, given + 1];
      }
    })();
    for (let at = 0; at < said.length; at += 8) {
      text.push({ sessionId: "s", part: 0, offset: at, text: said.slice(at, at + 8) });
      await null; // so that it is read piece by piece
    }
    text.end();
    await reader;
    assert.deepEqual(last, whole);
    assert.equal(given, Math.ceil(said.length / 8), "one for each piece");
  };
  const few = await steps(() => reads(250));
  const many = await steps(() => reads(1_000));
  // Who goes over all of it for each piece takes sixteen times the steps.
  assert.ok(many < 5 * few, `${many} steps for four times the text of ${few}`);
});
