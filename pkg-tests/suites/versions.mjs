// Versions in a browser: messages that are edited, answers that are made anew, older ones looked at, all of it over
// reloads. Sessions that begin with a conversation from elsewhere. The model server sees what the conversation is.
import assert from "node:assert/strict";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

export default function (test) {
  edits(test);
  anew(test);
  refusals(test);
  beginnings(test);
}

async function started(t, ...answers) {
  const route = await t.raw(...answers.map((answer) => (typeof answer === "string" ? message(answer) : answer)));
  const page = await t.tab();
  await begin(page, route.base);
  return { page, route };
}

const begin = (page, base) => page.evaluate(async (base) => {
  globalThis.ws = await lodger.openWorkspace("drafts");
  globalThis.code = (promise) => promise.then(() => null, ({ code, message, hint }) => ({ code, message, hint }));
  globalThis.says = async (text, options) => (await ws.run(text, options)).text;
  globalThis.texts = (messages) => messages.map(({ parts }) => parts.at(-1)?.text ?? "");
  await ws.startAgent({ provider: T.anthropic(base) });
}, base);

async function reload(t, page, base) {
  await page.reload();
  await t.ready(page);
  await begin(page, base);
}

/** What a request says, message by message. */
const sent = (route) => route.requests.at(-1).json.messages.map(({ content }) => (typeof content === "string" ? content : content.map(({ type, text }) => text ?? type).join("+")));

function edits(test) {
  test("an edit takes the place of a message and of what followed; the older conversation can be looked at", async (t) => {
    const { page, route } = await started(t, "ONE", "TWO", "THREE", "2", "On.");
    const before = await page.evaluate(async () => {
      for (const text of ["one", "two", "three"]) await says(text);
      return T.plain(await ws.history());
    });
    const edited = await page.evaluate(async (two) => {
      await says("two again", { replaces: two });
      return T.plain(await ws.history());
    }, before[2].id);
    assert.deepEqual(sent(route), ["one", "ONE", "two again"]);
    assert.deepEqual(edited.map((m) => m.parts[0].text), ["one", "ONE", "two again", "2"]);
    assert.deepEqual(edited.slice(0, 2), before.slice(0, 2));
    assert.deepEqual(edited[2].versions, [before[2].id, edited[2].id]);
    assert.equal(edited[3].versions, undefined);
    await reload(t, page, route.base);
    const seen = await page.evaluate(async ([old, three]) => T.plain({ now: await ws.history(), was: await ws.history({ version: old }), same: await ws.history({ version: three }), by: await ws.invoke("get_conversation_history", { version: old }), page: texts(await ws.history({ version: old, limit: 2, before: three })), run: await ws.wait((await ws.history({ version: old }))[4].runId) }), [before[2].id, before[4].id]);
    assert.deepEqual(seen.now, edited);
    assert.deepEqual(seen.was, before.map((m) => (m.id === before[2].id ? { ...m, versions: edited[2].versions } : m)));
    assert.deepEqual([seen.same, seen.by], [seen.was, seen.was]);
    assert.deepEqual([seen.page, seen.run.outcome], [["two", "TWO"], "completed"]);
    await page.evaluate(() => says("go on"));
    assert.deepEqual(sent(route), ["one", "ONE", "two again", "2", "go on"]);
    const after = await page.evaluate(async (old) => {
      await ws.clearConversation();
      return T.plain({ now: await ws.history(), was: await code(ws.history({ version: old })), edit: await code(ws.sendMessage("x", { replaces: old })), anew: await code(ws.regenerate()) });
    }, before[2].id);
    assert.deepEqual([after.now, after.was.code, after.edit.code, after.anew.code], [[], "message_not_found", "invalid_arguments", "message_not_found"]);
  });

  test("an older version is the conversation again, over a reload, with its files; what is removed is in no request, row or view", async (t) => {
    const { page, route } = await started(t, "ONE", "TWO", "THREE", "2", "On.", "Then.", "Last.");
    const before = await page.evaluate(async () => {
      await says({ text: "one", files: [new File(["a line of the file"], "a.txt", { type: "text/plain" })] });
      for (const text of ["two", "three"]) await says(text);
      return T.plain(await ws.history());
    });
    const view = await page.evaluate(async ([one]) => {
      globalThis.view = ws.view();
      view.subscribe(() => {});
      await says("one again", { replaces: one });
      return T.plain(view.getSnapshot().messages.map(({ parts }) => parts.map((part) => part.filename ?? part.text)));
    }, [before[0].id]);
    assert.deepEqual(view, [["a.txt", "one again"], ["2"]], "an edit keeps its files");
    assert.match(JSON.stringify(route.requests.at(-1).json.messages[0]), /a line of the file/);
    const switched = await page.evaluate(async (id) => {
      await ws.switchTo(id);
      return T.plain([texts(await ws.history()), texts(view.getSnapshot().messages)]);
    }, before[4].id);
    assert.deepEqual(switched, [["one", "ONE", "two", "TWO", "three", "THREE"], ["one", "ONE", "two", "TWO", "three", "THREE"]]);
    await reload(t, page, route.base);
    await page.evaluate(() => says("go on"));
    assert.deepEqual(sent(route).slice(-4), ["TWO", "three", "THREE", "go on"]);
    const removed = await page.evaluate(async (id) => {
      globalThis.view = ws.view();
      view.subscribe(() => {});
      await ws.removeMessage(id);
      const database = await T.database("drafts");
      const rows = JSON.stringify(await Promise.all([...database.objectStoreNames].filter((name) => name !== "keys").map((name) => new Promise((done) => (database.transaction(name).objectStore(name).getAll().onsuccess = ({ target }) => done(target.result))))));
      database.close();
      await new Promise((there) => view.subscribe(({ messages }) => messages.length === 6 && there()));
      return T.plain({ history: texts(await ws.history()), view: texts(view.getSnapshot().messages), found: ["one again", "ONE", "a line of the file", "a.txt"].filter((word) => rows.includes(word)), there: rows.includes("THREE"), gone: await code(ws.removeMessage(id)) });
    }, before[1].id);
    assert.deepEqual(removed.history, ["two", "TWO", "three", "THREE", "go on", "On."]);
    assert.deepEqual([removed.view, removed.found, removed.there], [removed.history, [], true]);
    assert.equal(removed.gone.code, "message_not_found");
    await reload(t, page, route.base);
    await page.evaluate(() => says("and then?"));
    assert.deepEqual(sent(route), ["two", "TWO", "three", "THREE", "go on", "On.", "and then?"]);
    const verdict = await page.evaluate(async () => T.plain([await ws.sessions.verify("default"), (await ws.sessions.replay(await ws.sessions.export("default"))).same]));
    assert.deepEqual([verdict[0].hmac_status, verdict[1]], ["verified", true]);
  });

  test("a view keeps what stays, drops what left, and has the versions", async (t) => {
    const { page } = await started(t, "ONE", "TWO", "1", "2");
    const seen = await page.evaluate(async () => {
      for (const text of ["one", "two"]) await says(text);
      const view = ws.view();
      await new Promise((there) => view.subscribe(({ messages }) => messages.length === 4 && there()));
      const before = view.getSnapshot().messages;
      await (await ws.regenerate()).result;
      const anew = view.getSnapshot().messages;
      await says("uno", { replaces: before[0].id });
      const edited = view.getSnapshot().messages;
      const same = [0, 1].map((n) => anew[n] === before[n]).concat(anew[2].id === before[2].id && anew[2].parts === before[2].parts);
      return T.plain({ same, anew: texts(anew), edited: texts(edited), versions: [anew[3].versions?.length, edited[0].versions?.length], shown: edited, told: await ws.history() });
    });
    assert.deepEqual(seen.shown, seen.told);
    for (const name of ["shown", "told"]) delete seen[name];
    assert.deepEqual(seen, { same: [true, true, true], anew: ["one", "ONE", "two", "1"], edited: ["uno", "2"], versions: [2, 2] });
  });

  test("an edit in a named session, by `prompt`, and by `invoke`", async (t) => {
    const { page, route } = await started(t, "ONE", "1", "I", "one!");
    const seen = await page.evaluate(async () => {
      await ws.sessions.launch({ id: "a" });
      const sessionId = "a";
      const prompt = async (text, options) => ws.wait((await ws.sessions.prompt("a", text, options)).runId);
      await prompt("one");
      const [first] = await ws.history({ sessionId });
      await prompt("1", { replaces: first.id });
      await (await ws.regenerate(undefined, { sessionId })).result;
      await ws.setOperator({ subject: "bob" });
      const stranger = [await code(ws.regenerate(undefined, { sessionId })), await code(ws.sendMessage("x", { sessionId, replaces: first.id }))].map((error) => error.code);
      await ws.setOperator({ subject: "local" });
      const events = (await ws.sessions.events("a")).map((event) => event.event_type);
      await ws.invoke("send_agent_message", { message: "ours" }).then(({ runId }) => ws.wait(runId));
      return T.plain({ history: await ws.history({ sessionId }), stranger, events, verified: (await ws.sessions.status("a")).hmac_status });
    });
    assert.deepEqual(seen.history.map((m) => [m.parts[0].text, m.versions?.length]), [["1", 2], ["I", 2]]);
    assert.deepEqual(seen.stranger, ["permission_denied", "permission_denied"]);
    assert.deepEqual(seen.events, ["launched", ...Array(3).fill(["prompt_received", "run_completed"]).flat()], "the record counts all");
    assert.equal(seen.verified, "verified");
    assert.deepEqual(sent(route), ["ours"]);
  });
}

function anew(test) {
  test("an answer is made anew with files and context, and each stays to be looked at", async (t) => {
    const { page, route } = await started(t, "first", "second", "third");
    const seen = await page.evaluate(async () => {
      const file = new File(["a,b\n1,2\n"], "data.csv", { type: "text/csv" });
      await ws.run({ text: "sum this", files: [file], metadata: { k: 1 } }, { context: "be exact" });
      const [said, first] = await ws.history();
      const again = await ws.regenerate(first.id, { idempotencyKey: "k" });
      const { text } = await again.result;
      const twice = await ws.regenerate(first.id, { idempotencyKey: "k" });
      const by = await ws.invoke("regenerate_agent_message");
      await ws.wait(by.runId);
      const now = await ws.history();
      const was = await Promise.all(now[1].versions.map(async (version) => texts(await ws.history({ version }))[1]));
      return T.plain({ said, now, text, same: twice.runId === again.runId, was, bytes: (await ws.file(now[0].parts[0].fileId)).size });
    });
    assert.deepEqual([seen.text, seen.same, seen.was], ["second", true, ["first", "second", "third"]]);
    const { runId, ...said } = seen.now[0];
    assert.deepEqual({ ...said, runId: seen.said.runId }, seen.said, "what the person said is what it was");
    assert.deepEqual([said.parts[0].type, said.metadata, seen.bytes], ["file", { k: 1 }, 8]);
    const bodies = route.requests.map(({ json }) => JSON.stringify(json.messages));
    assert.ok(bodies.length === 3 && bodies[0].includes("be exact") && bodies[0].includes("1,2"));
    assert.deepEqual(bodies, [bodies[0], bodies[0], bodies[0]], "the same request each time");
  });

  test("a run that a lost page left ends when its message is edited", async (t) => {
    const hold = gate();
    const { page, route } = await started(t, stream(message("half of it").slice(0, 3), hold), "whole");
    const first = await page.evaluate(async () => {
      const run = await ws.sendMessage("go");
      for await (const text of run.textStream) if (text) break;
      return T.plain({ runId: run.runId, id: (await ws.history())[0].id, busy: (await code(ws.regenerate())).code });
    });
    assert.equal(first.busy, "busy");
    await reload(t, page, route.base);
    const seen = await page.evaluate(async ({ id, runId }) => {
      await says("go on", { replaces: id });
      const lost = await ws.wait(runId);
      return T.plain({ lost: lost.outcome, now: texts(await ws.history()), was: (await ws.history({ version: id })).map((m) => m.status) });
    }, first);
    hold.open();
    assert.deepEqual(seen, { lost: "interrupted", now: ["go on", "whole"], was: ["complete", "interrupted"] });
  });
}

function refusals(test) {
  test("what cannot be replaced is refused by what it is", async (t) => {
    const { page } = await started(t, "ONE", "1");
    const seen = await page.evaluate(async () => {
      await says("one");
      const [said, answer] = await ws.history();
      await says("1", { replaces: said.id });
      const edit = (replaces) => code(ws.sendMessage("x", { replaces }));
      const now = await ws.history();
      return T.plain({ gone: await edit(said.id), answer: await edit(now[1].id), nobody: await edit("msg_nobody"), number: await edit(7), old: await code(ws.regenerate(answer.id)), said: await code(ws.regenerate(now[0].id)), replaces: await code(ws.regenerate(now[1].id, { replaces: now[0].id })), version: await code(ws.history({ version: "x".repeat(10_000) })), history: texts(await ws.history()) });
    });
    const { version, replaces, history, ...wrong } = seen;
    for (const [what, error] of Object.entries(wrong)) assert.equal(error.code, "invalid_arguments", what);
    assert.match(wrong.gone.message, /a newer version took its place/);
    assert.match(wrong.old.message, /a newer version took its place/);
    assert.match(wrong.answer.message, /is an answer/);
    assert.match(wrong.answer.hint, /regenerate/);
    assert.match(wrong.nobody.message, /no message of the conversation/);
    assert.match(wrong.said.message, /is a person's message/);
    assert.deepEqual([version.code, replaces.code], ["message_not_found", "invalid_config"]);
    assert.ok(version.message.length < 300);
    assert.deepEqual(history, ["1", "1"]);
  });
}

/** One conversation as other libraries write it, and the place of a part in it that cannot be taken, with that part. */
const WEATHER = { name: "weather", arguments: '{"city":"Bern"}' };
const SHAPES = [
  { name: "the AI SDK's messages of a user interface", wrong: [0, { type: "file", url: "data:image/png;base64,AA==", mediaType: "image/png" }], messages: [
    { id: "1", role: "user", parts: [{ type: "text", text: "How warm?", state: "done" }] },
    { id: "2", role: "assistant", parts: [{ type: "step-start" }, { type: "reasoning", text: "I look.", state: "done" }, { type: "text", text: "One moment." }, { type: "tool-weather", toolCallId: "c1", state: "output-available", input: { city: "Bern" }, output: "21" }, { type: "text", text: "21 degrees." }] },
    { id: "3", role: "user", parts: [{ type: "text", text: "Thanks" }] },
  ] },
  { name: "the AI SDK's messages of a model", wrong: [0, { type: "image", image: "AA==" }], messages: [
    { role: "user", content: "How warm?" },
    { role: "assistant", content: [{ type: "reasoning", text: "I look." }, { type: "text", text: "One moment." }, { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Bern" } }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "weather", output: { type: "text", value: "21" } }] },
    { role: "assistant", content: [{ type: "text", text: "21 degrees." }] },
    { role: "user", content: [{ type: "text", text: "Thanks" }] },
  ] },
  { name: "OpenAI's chat messages", thinks: false, wrong: [4, { type: "image_url", image_url: { url: "https://example.com/a.png" } }], messages: [
    { role: "user", content: [{ type: "text", text: "How warm?" }] },
    { role: "assistant", content: "One moment.", tool_calls: [{ id: "c1", type: "function", function: WEATHER }] },
    { role: "tool", tool_call_id: "c1", content: "21" },
    { role: "assistant", content: "21 degrees.", refusal: null },
    { role: "user", content: "Thanks" },
  ] },
  { name: "items of OpenAI's Responses", wrong: [6, { type: "input_image", image_url: "https://example.com/a.png" }], messages: [
    { role: "user", content: "How warm?" },
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "I look." }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "One moment." }] },
    { type: "function_call", call_id: "c1", ...WEATHER },
    { type: "function_call_output", call_id: "c1", output: "21" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "21 degrees." }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Thanks" }] },
  ] },
  { name: "Anthropic's messages", wrong: [4, { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } }], messages: [
    { role: "user", content: "How warm?" },
    { role: "assistant", content: [{ type: "thinking", thinking: "I look.", signature: "s" }, { type: "redacted_thinking", data: "d" }, { type: "text", text: "One moment." }, { type: "tool_use", id: "c1", name: "weather", input: { city: "Bern" } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "21" }] }] },
    { role: "assistant", content: "21 degrees." },
    { role: "user", content: [{ type: "text", text: "Thanks" }] },
  ] },
];

function beginnings(test) {
  test("a session begins with a conversation, and the model is told just that", async (t) => {
    const { page, route } = await started(t, "And so on.");
    const messages = [
      { role: "user", parts: [{ type: "text", text: "What is the weather?" }], createdAt: 1_700_000_000_000, metadata: { from: "elsewhere" } },
      { role: "assistant", status: "complete", model: "other-1", parts: [{ type: "thinking", text: "Hm." }, { type: "text", text: "I look." }, { type: "tool-call", toolCallId: "c1", tool: "get_weather", arguments: { at: "here" }, status: "completed", result: { sun: true } }, { type: "tool-call", toolCallId: "c2", tool: "get_weather", arguments: { at: "there" }, status: "started" }, { type: "text", text: "It is sunny." }] },
      { role: "user", parts: [{ type: "text", text: "Thanks." }] },
    ];
    const seen = await page.evaluate(async (messages) => {
      const launched = await ws.invoke("session_launch", { id: "a", messages });
      const sessionId = "a";
      const before = await ws.history({ sessionId });
      await ws.sessions.launch({ id: "b", messages: before });
      const copied = await ws.history({ sessionId: "b" });
      return T.plain({ status: launched.status, before, copied });
    }, messages);
    assert.equal(seen.status, "running");
    const [said, answer, thanks, none] = seen.before;
    assert.deepEqual([said.createdAt, said.metadata, said.parts], [1_700_000_000_000, { from: "elsewhere" }, messages[0].parts]);
    assert.deepEqual([answer.model, answer.status, answer.parts.map((part) => part.status ?? part.text)], ["other-1", "complete", ["Hm.", "I look.", "completed", "failed", "It is sunny."]]);
    assert.deepEqual([answer.parts[2].result, answer.parts[3].error.code], [{ sun: true }, "tool_interrupted"]);
    assert.deepEqual([thanks.parts[0].text, none.status, none.parts], ["Thanks.", "interrupted", []]);
    const bare = (list) => list.map(({ id, runId, ...rest }) => rest);
    assert.deepEqual(bare(seen.copied).map((m) => m.parts), bare(seen.before).map((m) => m.parts), "what history tells can begin another session");
    await reload(t, page, route.base);
    const after = await page.evaluate(async (runId) => {
      const { runId: own } = await ws.sessions.prompt("a", "Go on.");
      await ws.wait(own);
      const old = await ws.wait(runId);
      return T.plain({ old: old.outcome, history: await ws.history({ sessionId: "a" }), usage: (await ws.sessions.status("a")).session.usage, receipts: (await ws.sessions.receipts("a")).length });
    }, said.runId);
    assert.deepEqual(after.history.slice(0, 4), seen.before);
    assert.deepEqual([after.old, after.usage.outputTokens, after.receipts], ["completed", 7, 1], "what was before was not used up here");
    const { messages: told } = route.requests.at(-1).json;
    assert.deepEqual(told.map(({ role }) => role), ["user", "assistant", "user", "assistant", "user", ...(told.length > 5 ? ["user"] : [])]);
    const flat = JSON.stringify(told);
    for (const words of ["What is the weather?", "I look.", "get_weather", "sun", "had not ended", "It is sunny.", "Thanks.", "Go on."]) assert.ok(flat.includes(words), words);
    assert.ok(!flat.includes("Hm."), "thinking without a signature is sent to nobody");
  });

  test("a session begins with a conversation in the shapes of other libraries, or is told which part cannot be taken", async (t) => {
    const { page, route } = await started(t, ...Array(SHAPES.length).fill("You are welcome."));
    for (const [n, { name, messages, thinks = true, wrong: [at, part] }] of SHAPES.entries()) {
      const seen = await page.evaluate(async ([id, messages, at, part]) => {
        await ws.sessions.launch({ id, messages });
        const before = await ws.history({ sessionId: id });
        await ws.run("Bye.", { sessionId: id });
        const bad = structuredClone(messages);
        bad[at].content = bad[at].parts ? undefined : [part];
        if (bad[at].parts) bad[at].parts = [part];
        const refused = await code(ws.sessions.launch({ id: `${id}-bad`, messages: JSON.parse(JSON.stringify(bad)) }));
        return T.plain({ before, refused, list: (await ws.sessions.list()).map((session) => session.id) });
      }, [`shape-${n}`, messages, at, part]);
      // An answer that is owed: the last word was the person's.
      assert.deepEqual(seen.before.slice(0, 3).map(({ role, status }) => [role, status]), [["user", "complete"], ["assistant", "complete"], ["user", "complete"]], name);
      const parts = seen.before[1].parts.map(({ type, text, tool, arguments: args, status, result }) => (type === "tool-call" ? [tool, args, status, result] : [type, text]));
      assert.deepEqual(parts, [...(thinks ? [["thinking", "I look."]] : []), ["text", "One moment."], ["weather", { city: "Bern" }, "completed", "21"], ["text", "21 degrees."]], name);
      assert.deepEqual([seen.before[0].parts[0].text, seen.before[2].parts[0].text], ["How warm?", "Thanks"], name);
      const flat = JSON.stringify(route.requests.at(-1).json.messages);
      for (const words of ["How warm?", "One moment.", "weather", "Bern", "21 degrees.", "Thanks", "Bye."]) assert.ok(flat.includes(words), `${name}: ${words}`);
      assert.equal(seen.refused?.code, "invalid_arguments", name);
      assert.match(seen.refused.message, new RegExp(`^messages\\[${at}\\]\\.(content|parts)\\[0\\] is of a kind that cannot be taken: "${part.type}"`), name);
      assert.ok(!seen.list.includes(`shape-${n}-bad`), name);
    }
  });

  test("what is no conversation begins nothing", async (t) => {
    const { page } = await started(t);
    const seen = await page.evaluate(async () => {
      const user = { role: "user", parts: [{ type: "text", text: "hi" }] };
      const launch = (messages, id = "a") => code(ws.sessions.launch({ id, messages }));
      const file = { type: "file", fileId: "f", mediaType: "image/png" };
      const wrong = [await launch("x"), await launch([user, 7]), await launch([{ ...user, role: "system" }]), await launch([{ role: "assistant", parts: [] }]), await launch([{ role: "user", parts: [file] }]), await launch([{ role: "user", parts: [{ type: "text", text: "x".repeat(9 << 20) }] }]), await launch(Array(10_001).fill(user))];
      const none = (await ws.sessions.list()).map(({ id }) => id);
      const first = await launch([user]);
      const twice = await launch([user]);
      const own = await launch([user], "default");
      return T.plain({ wrong, none, first, twice: twice.code, own: own.code });
    });
    assert.deepEqual(seen.wrong.map(({ code }) => code), [...Array(5).fill("invalid_arguments"), "too_large", "invalid_arguments"]);
    assert.match(seen.wrong[1].message, /messages\[1\]/);
    assert.match(seen.wrong[4].message, /files cannot be given/);
    assert.deepEqual([seen.none, seen.first, seen.twice, seen.own], [["default"], null, "session_exists", "session_exists"]);
  });
}
