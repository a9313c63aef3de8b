import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
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

test("index.d.ts says of each code what src/error.rs says", () => {
  const rust = [...read("../../src/error.rs").matchAll(/((?:^ +\/\/\/ .*\n)+) +\w+ = "([a-z_]+)", retry /gm)];
  const types = read("../index.d.ts");
  const said = (comment) => comment.trim().split("\n").map((line) => line.trim().slice(4)).join(" ");
  assert.deepEqual(rust.filter(([, comment, code]) => !types.includes(` * - \`${code}\`: ${said(comment)}\n`)).map(([, , code]) => code), []);
  assert.ok(rust.length > 40);
});

test("docs/errors.md has a heading for each code, with its cause and its cure, and no other", () => {
  const union = read("../index.d.ts").match(/export type ErrorCode =([\s\S]*?);\n/)[1];
  const codes = [...union.matchAll(/"([a-z_]+)"/g)].map(([, code]) => code);
  const sections = read("../../docs/errors.md").split(/^###? /m).slice(1).filter((section) => /^[a-z_]+\n/.test(section));
  assert.deepEqual(sections.map((section) => section.split("\n")[0]).sort(), codes.sort());
  const bare = sections.filter((section) => !/^[a-z_]+\n\n- \*\*Cause\.\*\* \S[^]*\n- \*\*Cure\.\*\* \S/.test(section));
  assert.deepEqual(bare, []);
});

/** The modules that the package is made of, by their paths in `js/`. */
const modules = readdirSync(new URL("../", import.meta.url), { recursive: true }).filter((file) => /\.js$/.test(file) && !/^(test|node_modules)\b/.test(file));

/** All of the crate's source but the list of codes, and all of the client's. */
const source = ["../../src/", "../"].flatMap((dir) =>
  readdirSync(new URL(dir, import.meta.url), { recursive: true })
    .filter((file) => /\.(rs|js)$/.test(file) && file !== "error.rs" && !/^(test|node_modules|shapes)\b/.test(file))
    .map((file) => read(dir + file))).join("\n");

test("what index.d.ts names exists: every code, event and state comes from somewhere", () => {
  const types = read("../index.d.ts") + read("../shapes.d.ts");
  const rust = [...read("../../src/error.rs").matchAll(/^\s+(\w+) = "([a-z_]+)", retry /gm)];
  // Where it is made, not where one is looked at.
  const made = (name, code) => new RegExp(`Code::${name}\\b(?!\\s*(=>|\\|))|"${code}"`).test(source);
  const unused = rust.filter(([, name, code]) => !made(name, code)).map(([, , code]) => code);
  assert.deepEqual(unused, []);
  const events = [...types.match(/interface WorkspaceEvents \{([\s\S]*?)\n\}/)[1].matchAll(/"(agent:[a-z-]+)"/g)].map(([, name]) => name);
  assert.deepEqual(events.sort(), [...new Set([...source.matchAll(/"(agent:[a-z-]+)"/g)].map(([, name]) => name))].sort());
  const lifecycles = types.match(/export type Lifecycle = (.*);/)[1].match(/\w+(?=["":])/g);
  const known = [...read("../../src/harness/core/mod.rs").match(/pub enum Lifecycle \{([\s\S]*?)\n\}/)[1].matchAll(/^    (\w+)/gm)].map(([, name]) => name);
  // A running one that waits for a person is told by a word of its own.
  const [, suspended] = read("../../src/harness/core/told.rs").match(/Lifecycle::Running if self\.is_suspended\(\) => "(\w+)"/);
  assert.deepEqual(lifecycles.sort(), [...known, suspended].sort());
  const rustText = (file) => [...read(`../../src/${file}`).matchAll(/"([a-z]+)"/g)].map(([, text]) => text);
  const states = (pattern) => types.match(pattern)[1].match(/\w+(?=")/g);
  for (const [pattern, files, ours] of [
    [/interface ToolCallPart \{[\s\S]*?  status: (.*);/, ["session/view.rs", "harness/calls/streaming.rs", "harness/core/told.rs"], []],
    [/interface Snapshot \{[\s\S]*?  status: (.*);/, ["harness/calls/events.rs", "harness/core/told.rs"], ["loading"]],
  ]) {
    const made = new Set([...files.flatMap(rustText), ...ours]);
    assert.deepEqual(states(pattern).filter((state) => !made.has(state)), []);
  }
});

test("every code that the client makes is one of them", () => {
  const types = read("../index.d.ts");
  const codes = modules.flatMap((file) => [...read(`../${file}`).matchAll(/(?:failure\(|code: )"([a-z_]+)"/g)].map(([, code]) => code));
  assert.ok(codes.length > 10);
  for (const code of codes) assert.ok(types.includes(`"${code}"`), code);
});

test("the client says of a retry what src/error.rs says, but where another thing is tried again", () => {
  const rust = new Map([...read("../../src/error.rs").matchAll(/ = "([a-z_]+)", retry (true|false)/g)].map(([, code, retry]) => [code, retry]));
  const says = modules.flatMap((file) => [...read(`../${file}`).matchAll(/code: "([a-z_]+)",[^{}]*(?:\{[^{}]*\}[^{}]*)*?retryable: (true|false)/g)].map(([, code, retry]) => [code, retry]));
  const differ = says.filter(([code, retry]) => rust.get(code) !== retry).map(([code, retry]) => `${code} ${retry}`);
  // The command, in the tab that has the workspace now; and a notice, to which there is no command.
  assert.deepEqual(differ, ["ownership_lost true", "holder_unreachable false"]);
  assert.ok(says.length >= 5, says.join("; "));
});

test("nothing happens at import time, and nothing is evaluated", () => {
  assert.ok(modules.length > 20);
  for (const file of modules) {
    const source = read(`../${file}`);
    assert.doesNotMatch(source, /^(?:await|for await)\b|\beval\(|new Function\(/m, file);
  }
});
