import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

test("index.d.ts names the codes of src/error.rs, and the one that is known only outside the module", () => {
  const rust = [...read("../../src/error.rs").matchAll(/^\s+\w+ = "([a-z_]+)", retry /gm)].map(([, code]) => code);
  const union = read("../index.d.ts").match(/export type ErrorCode =([\s\S]*?);\n/)[1];
  const types = [...union.matchAll(/"([a-z_]+)"/g)].map(([, code]) => code);
  assert.ok(rust.length > 40);
  assert.deepEqual([...types].sort(), [...new Set([...rust, "wasm_unavailable"])].sort());
  assert.equal(new Set(types).size, types.length);
});

test("every code that the client makes is one of them", () => {
  const types = read("../index.d.ts");
  const files = ["client", "package", "invoke", "channel", "json", "calls", "run", "view"];
  const codes = files.flatMap((file) => [...read(`../${file}.js`).matchAll(/(?:failure\(|code: )"([a-z_]+)"/g)].map(([, code]) => code));
  assert.ok(codes.length > 10);
  for (const code of codes) assert.ok(types.includes(`"${code}"`), code);
});

test("nothing happens at import time, and nothing is evaluated", () => {
  for (const file of ["index", "node", "package", "client", "calls", "run", "view", "json", "error", "invoke", "channel", "env", "offline", "testing"]) {
    const source = read(`../${file}.js`);
    assert.doesNotMatch(source, /^(?:await|for await)\b|\beval\(|new Function\(/m, file);
  }
});
