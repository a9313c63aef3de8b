import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { explained, failure, nearest, onlyKnown } from "../protocol/error.js";
import { hintFor } from "../protocol/hints.js";

const types = fs.readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
const members = (name) => [...types.match(new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`))[1].matchAll(/^ {2}(\w+)\??[:(<]/gm)].map(([, member]) => member);
const option = (path) => hintFor({ message: `option "${path}" does not exist`, hint: "see AgentConfig in index.d.ts" });
const knows = (hint) => hint.match(/It knows: (.*)\.$/)[1].split(", ");

test("what is named of a configuration is what the types have", () => {
  assert.deepEqual(knows(option("zzzzzz")).toSorted(), members("AgentConfig").toSorted());
  assert.deepEqual(knows(option("provider.zzzzzz")).toSorted(), [...new Set(["kind", "preset", "model", ...members("ApiOptions"), ...members("CustomProvider")])].toSorted());
  assert.deepEqual(knows(option("permissions.zzzzzz")).toSorted(), members("Permissions").toSorted());
  const send = hintFor({ message: 'sendMessage does not know "zzzzzz"' });
  const overrides = members("Overrides");
  assert.deepEqual(knows(send).toSorted(), [...members("SendOptions"), ...overrides, "text", "files", "metadata"].toSorted());
  const known = (command) => knows(hintFor({ message: `${command} does not know "zzzzzz"` })).toSorted();
  assert.deepEqual(known("sessions.configure"), overrides.toSorted());
  assert.deepEqual(known("sessions.launch"), ["id", "displayName", "projectId", "messages", ...overrides].toSorted());
  for (const path of ["budgets.zzzzzz", "budgets.run.zzzzzz", "budgets.session.zzzzzz", "archive.zzzzzz", "retry.zzzzzz", "provider.timeouts.zzzzzz"]) assert.match(option(path), /^It knows: /, path);
});

test("the nearest name, and what other libraries call it", () => {
  const cases = { modle: "model", maxTruns: "maxTurns", Instructions: "instructions", instruction: "instructions", temprature: "temperature", max_turns: "maxTurns", system: "instructions", maxSteps: "maxTurns", maxTokens: "maxOutputTokens", fallbacks: "fallback" };
  for (const [name, wanted] of Object.entries(cases)) assert.match(option(name), new RegExp(`^Write "${wanted}"\\. It knows: `), name);
  for (const [name, wanted] of Object.entries({ baseURL: "baseUrl", apikey: "apiKey", urlBase: undefined, endpoint: "baseUrl", api_key: "apiKey" })) {
    assert.equal(option(`provider.${name}`).startsWith(`Write "${wanted}"`), wanted !== undefined, name);
  }
  assert.match(option("tools"), /^tools\.register gives the agent its tools\. It knows/);
  assert.match(hintFor({ message: 'sendMessage does not know "abortSignal"' }), /^Write "signal"\./);
});

test("what cannot wait names the nearest too: a letter less or more before a word that begins alike", () => {
  const known = ["name", "description", "inputSchema", "destructive", "destination", "annotations", "explanation", "execute"];
  for (const [name, wanted] of Object.entries({ desination: "destination", destinations: "destination", annotation: "annotations", explanations: "explanation", descr: "description", schema: "inputSchema", zzz: undefined })) {
    assert.equal(nearest(name, known), wanted ? `Write "${wanted}". ` : "", name);
  }
});

test("a function where none can stand: what was meant by it", () => {
  const of = (path) => hintFor({ message: `${path} is a function, which cannot stand here.` });
  for (const [path, hint] of Object.entries({
    "sendMessage.stopWhen": "It is a member of startAgent's configuration: maxTurns.", "sendMessage.onFinish": "listen to agent:session-completed.",
    "sendMessage.tools.a.execute": "tools.register gives the agent its tools.", "sendMessage.system": 'Write "instructions".',
    "sessions.launch.onStart": "It knows: id, displayName", "sendMessage.instructions": "Give instructions as plain data: a function cannot be stored.",
    "sessions.configure.config.instructions": "Give instructions as plain data: a function cannot be stored.",
  })) assert.ok(of(path).startsWith(hint), `${path}: ${of(path)}`);
  assert.equal(of("result.then"), undefined);
});

test("what is said of a model", () => {
  const of = (name) => hintFor({ message: `models.anthropic.x.${name} does not exist`, hint: "see ModelCatalog in index.d.ts" });
  assert.deepEqual(knows(of("zzzzzz")).toSorted(), members("ModelFacts").toSorted());
  assert.match(of("contxt"), /^Write "context"\. It knows: /);
});

test("a command or a provider that is called almost so", () => {
  const commands = "There are: start_agent, stop_agent, send_agent_message.";
  assert.equal(hintFor({ message: 'There is no command "send_agent_mesage".', hint: commands }), `Write "send_agent_message". ${commands}`);
  assert.equal(hintFor({ message: 'There is no command "fly".', hint: commands }), undefined);
  const providers = "startAgent's providers are: ours, spare";
  for (const message of ['no provider is called "spar"', 'fallback names "spar", which is not in providers', 'compaction.provider is "spar", which is not in providers']) {
    assert.equal(hintFor({ message, hint: providers }), `Write "spare". ${providers}`, message);
    assert.equal(hintFor({ message, hint: "startAgent was given no providers by names" }), undefined);
  }
});

test("what another object has, or another way", () => {
  for (const [name, hint] of Object.entries({ apiKey: "It is a member of provider: provider.apiKey.", baseURL: "It is a member of provider: provider.baseUrl.", topP: "providerOptions takes", seed: "providerOptions takes", abortSignal: "sendMessage takes a signal.", prompt: "sendMessage sends", maxRetries: "a call that fails" })) {
    assert.ok(option(name).startsWith(hint), `${name}: ${option(name)}`);
  }
  const of = (what, name) => hintFor({ message: `${what} does not know "${name}"` });
  assert.match(of("sendMessage", "maxSteps"), /^It is a member of startAgent's configuration: maxTurns\./);
  assert.match(of("sendMessage", "response_format"), /^Write "schema"\./);
  for (const name of ["name", "title"]) assert.match(of("sessions.launch", name), /^Write "displayName"\./);
});

test("kinds and presets: what was meant", () => {
  const presets = [...types.match(/export type Preset = (.*);/)[1].matchAll(/"(\w+)"/g)].map(([, name]) => name);
  const kinds = 'use one of "anthropic", "openai", "openai-responses", "openai-compatible", "gemini", "ollama", "xai", "custom"';
  const of = (member, name, hint = kinds) => hintFor({ message: `provider.${member} "${name}" does not exist`, hint });
  for (const name of presets.filter((name) => name !== "ollama")) assert.equal(of("kind", name), `Write kind: "openai-compatible", preset: "${name}".`);
  assert.match(of("kind", "Anthropic"), /^Write "anthropic"\. use one of/);
  assert.match(of("preset", "grok", 'use one of "groq", "vllm"'), /^Write "groq"\./);
  assert.equal(of("kind", "skynet"), undefined);
});

test("what is no object", () => {
  assert.match(hintFor({ message: "provider must be an object" }), /^Write provider: \{ kind/);
  assert.match(hintFor({ message: "The message must be an object." }), /^Give a text/);
});

test("what a command is said to take is what it takes", () => {
  // Written from the table that refuses the rest.
  const protocol = fs.readFileSync(new URL("../PROTOCOL.md", import.meta.url), "utf8");
  const taken = (command) => protocol.match(new RegExp(`^\\| \`${command}\` \\| [^{]*\`\\{ (.*?) \\}\``, "m"))[1].replaceAll("?", "").split(", ");
  const overrides = taken("sessions.launch").filter((name) => !["id", "displayName", "projectId", "messages"].includes(name));
  for (const command of ["sendMessage", "regenerate", "sessions.runOnce"]) {
    const said = knows(hintFor({ message: `${command} does not know "zzzzzz"` }));
    // The client's own is the signal; which answer is made anew is the other argument.
    const wanted = new Set(["signal", ...taken(command).filter((name) => name !== "messageId"), ...overrides]);
    assert.deepEqual(said.toSorted(), [...wanted].toSorted(), command);
  }
  assert.doesNotMatch(hintFor({ message: 'regenerate does not know "whenBusy"' }), /whenBusy/);
});

test("one of several providers is told by its name", () => {
  for (const name of ["spare", "the.second"]) {
    assert.match(option(`providers.${name}.baseURL`), /^Write "baseUrl"\. It knows: kind, preset/, name);
    assert.match(option(`providers.${name}.timeouts.conectMs`), /^Write "connectMs"\./, name);
    assert.match(hintFor({ message: `providers.${name}.kind "groq" does not exist`, hint: "use one of" }), /preset: "groq"/);
    assert.match(hintFor({ message: `providers.${name} must be an object` }), /^Write provider: \{ kind/);
  }
});

test("a list that the error has is not said again", () => {
  const of = (name) => hintFor({ message: `the tool 'a' does not know '${name}'; it takes name, description, inputSchema, execute` });
  assert.deepEqual(["parameters", "inputschema", "handler", "descripton"].map(of), ["inputSchema", "inputSchema", "execute", "description"].map((name) => `Write "${name}".`));
  assert.equal(of("x"), undefined);
});

test("an error is thrown again, with what was meant where it is about a name", async () => {
  for (const message of ["", "maxTurns must be a whole number", 'history does not know "x"']) {
    const error = failure("invalid_arguments", message, "as it is");
    assert.equal(await explained(error).catch((thrown) => thrown), error);
    assert.equal(error.hint, "as it is");
  }
  const near = (() => { try { onlyKnown({ dstructive: 1 }, ["description", "destructive"], "A tool", "invalid_tool"); } catch (error) { return error; } })();
  assert.match(near.hint, /^Write "destructive"\./);
  const own = (() => { try { onlyKnown({ storag: 1 }, ["storage", "host"], "Options", "invalid_config"); } catch (error) { return error; } })();
  assert.equal(own.hint, 'Write "storage". It knows: storage, host.');
  assert.equal((await explained(own).catch((error) => error)).hint, own.hint);
  const far = (() => { try { onlyKnown({ sotraeg: 1 }, ["storage", "host"], "Options", "invalid_config"); } catch (error) { return error; } })();
  assert.equal(far.hint, "It knows: storage, host.");
  assert.equal((await explained(far).catch((error) => error)).hint, 'Write "storage". It knows: storage, host.');
  const method = failure("invalid_arguments", 'history does not know "sesionId"; it takes sessionId, limit, before');
  assert.equal((await explained(method).catch((error) => error)).hint, 'Write "sessionId".');
  const tool = failure("invalid_tool", "the tool 'a' does not know 'input_schema'; it takes name, description, inputSchema");
  assert.equal((await explained(tool).catch((error) => error)).hint, 'Write "inputSchema".');
  const other = failure("busy", 'sendMessage does not know "modle"');
  assert.equal((await explained(other).catch((error) => error)).hint, undefined);
});
