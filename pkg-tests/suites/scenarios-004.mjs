// The tool scenarios of this step (1, 3, 4, 8, 9, 10, 11, 12), each by its number, through a `Workspace` and through
// `invoke`; with the offline model that ships, and over the wire with scripted turns.
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { message } from "../servers/sse.mjs";

const TWELVE = ["search_pages", "read_page", "get_page_tree", "get_backlinks", "get_outgoing_links", "read_page_history",
  "create_page", "update_page_content", "update_page_metadata", "move_page", "rename_page", "delete_page"];
const RUNNING = { lifecycle: "Running", is_streaming: false };
const LIMIT = 102_400;

/** Opens, makes the pages, starts (`base`: over the wire; else offline), asks, and tells all that was seen. */
async function ask(t, { kind, pages = [], question, base }) {
  const page = await t.tab();
  const seen = await page.evaluate(async ({ kind, pages, question, base }) => {
    const agent = T.driver(kind);
    await agent.open("tools");
    for (const [title, content] of pages) await agent.execute("create_page", { title, content });
    await agent.start({ provider: base ? T.anthropic(base) : offline() });
    const rec = T.record(document);
    await agent.send(question);
    const { detail: { runId } } = await rec.seen((e) => e.type === "agent:lifecycle");
    await rec.ended(runId);
    return { runId, events: rec.events, status: await agent.status(), history: await agent.history(), definitions: T.plain(await agent.tools()) };
  }, { kind, pages, question, base });
  return { page, ...seen, ...checkRun(seen.events, seen.runId) };
}

/** The text that the server got as the result of its nth request's last tool call. */
function resultSent(requests, n) {
  const body = requests[n - 1].json ?? requests[n - 1].body;
  return JSON.stringify(body.messages.at(-1));
}

const DRAGON = ["Dragon Lore", "Dragons breathe fire and hoard treasure."];
const HISTORIES = [["History of Rome", "Rome was founded on seven hills."], ["History of Greece", "Greece invented the theatre."], ["History of Egypt", "Egypt built along the Nile."]];
const CHAPTERS = [["Chapter 1", "Mira finds a brass key in the harbour."], ["Chapter 2", "The key opens the lighthouse cellar."], ["Chapter 3", "In the cellar sleeps an old submarine."]];

export default function (test) {
  for (const kind of ["Workspace", "invoke"]) {
    const scenario = (title, body) => test(`${title} [${kind}]`, body);

    scenario("1 search and answer, offline", async (t) => {
      const { calls, text, status, history, end } = await ask(t, { kind, pages: [DRAGON, HISTORIES[0]], question: "What pages mention dragons?" });
      const search = calls.find((c) => c.tool === "search_pages");
      assert.ok(search, `search_pages was called: ${calls.map((c) => c.tool)}`);
      assert.match(search.arguments.query, /dragon/i);
      assert.ok(calls.every((c) => c.status === "completed"));
      assert.match(text, /Dragon Lore/);
      assert.doesNotMatch(text, /Rome/);
      assert.equal(end.text, history[1].parts.filter((p) => p.type === "text").map((p) => p.text).join(""), "the end tells the answer's text");
      assert.deepEqual(status, RUNNING);
      assert.deepEqual(history.map((m) => [m.role, m.status]), [["user", "complete"], ["assistant", "complete"]], "one assistant message a run");
      const part = history[1].parts.find((p) => p.type === "tool-call");
      assert.equal(part.status, "completed");
      assert.equal(part.toolCallId, search.toolCallId);
    });

    scenario("1 search and answer, over the wire", async (t) => {
      const mock = await t.mock([{ tool: "search_pages", args: { query: "dragons" } }, "Dragon Lore mentions dragons."]);
      const { calls, text } = await ask(t, { kind, pages: [DRAGON], question: "What pages mention dragons?", base: mock.base });
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.arguments]), [["search_pages", "completed", { query: "dragons" }]]);
      assert.equal(text, "Dragon Lore mentions dragons.");
      assert.equal(mock.requests.length, 2);
      assert.match(resultSent(mock.requests, 2), /Dragon Lore/, "the model got what the tool found");
    });

    scenario("3 a successful result is readable", async (t) => {
      const { calls, text, definitions } = await ask(t, { kind, pages: HISTORIES, question: "List all pages about history." });
      assert.ok(HISTORIES.filter(([title]) => text.includes(title)).length >= 2, text);
      assert.ok(calls.some((c) => c.tool === "search_pages" && c.status === "completed"), JSON.stringify(calls));
      assert.doesNotMatch(text, /[{[]\s*"/, "prose, no JSON");
      assert.ok(definitions.every((d) => !/UNAVAILABLE/.test(d.name + d.description)));
    });

    scenario("4 a failing tool is told and the conversation goes on", async (t) => {
      const seen = await ask(t, { kind, question: "Get the page with slug 'this-page-does-not-exist-xyz-404'." });
      const failed = seen.calls.find((c) => c.status === "failed");
      assert.ok(failed, JSON.stringify(seen.calls));
      assert.equal(failed.error.code, "page_not_found");
      assert.match(failed.error.message, /this-page-does-not-exist-xyz-404/);
      assert.match(seen.text, /not (be )?f(ou)?nd|no page|does not exist|could not/i);
      assert.deepEqual(seen.status, RUNNING);
      const next = await seen.page.evaluate(async () => {
        const rec = T.record();
        await lodger.invoke("send_agent_message", { message: "Create a page titled 'Still here'." });
        await rec.seen((e) => e.type === "agent:session-completed");
        return lodger.invoke("execute_tool", { tool: "search_pages", arguments: { query: "Still here" } });
      });
      assert.match(JSON.stringify(next.result), /Still here/);
    });

    scenario("4 a failing tool over the wire: the model gets an error result", async (t) => {
      const route = await t.raw(message({ tool: "read_page", args: { slug: "nowhere" }, id: "toolu_nowhere" }), message("There is no such page."));
      const { calls } = await ask(t, { kind, question: "Read nowhere.", base: route.base });
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["read_page", "failed", "page_not_found"]]);
      const answer = route.requests[1].json.messages.at(-1).content.find((b) => b.type === "tool_result");
      assert.equal(answer.tool_use_id, "toolu_nowhere");
      assert.equal(answer.is_error, true);
      assert.deepEqual(route.violations, []);
    });

    scenario("8 several calls in a row, offline", async (t) => {
      const { calls, text, end } = await ask(t, { kind, pages: CHAPTERS, question: "Read the content of all three chapter pages and summarize them together." });
      assert.ok(calls.filter((c) => c.tool === "read_page").length >= 3, calls.map((c) => c.tool).join(" "));
      assert.ok(calls.every((c) => c.status === "completed"));
      for (const fact of [/brass key/i, /lighthouse/i, /submarine/i]) assert.match(text, fact);
      assert.ok(end.turns >= 2);
    });

    scenario("8 several calls in a row, over the wire", async (t) => {
      const route = await t.raw(message({ tool: "search_pages", args: { query: "Chapter" } }), ...[1, 2, 3].map((n) => message({ tool: "read_page", args: { slug: `chapter-${n}` } })),
        message("A key, a cellar and a submarine."));
      const { calls, text, end } = await ask(t, { kind, pages: CHAPTERS, question: "Summarize the chapters.", base: route.base });
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["search_pages", "completed"], ["read_page", "completed"], ["read_page", "completed"], ["read_page", "completed"]]);
      assert.equal(text, "A key, a cellar and a submarine.");
      assert.equal(end.turns, 5);
      for (const [i, fact] of ["brass key", "lighthouse", "submarine"].entries()) assert.ok(resultSent(route.requests, i + 3).includes(fact));
      assert.deepEqual(route.violations, []);
    });

    scenario("9 a tool that has little to say", async (t) => {
      const seen = await ask(t, { kind, pages: CHAPTERS, question: "Move the page 'Chapter 1' to be a child of 'Chapter 2'." });
      const move = seen.calls.find((c) => c.tool === "move_page");
      assert.equal(move?.status, "completed", JSON.stringify(seen.calls));
      assert.match(seen.text, /Chapter 1/);
      const tree = await seen.page.evaluate(async () => (await lodger.openWorkspace("tools")).pages.tree());
      const second = tree.find((n) => n.title === "Chapter 2");
      assert.deepEqual(second.children.map((n) => n.title), ["Chapter 1"]);
      assert.deepEqual(tree.map((n) => n.title).sort(), ["Chapter 2", "Chapter 3"]);
    });

    scenario("9 a tool that says nothing is completed", async (t) => {
      const route = await t.raw(message({ tool: "count", id: "toolu_c" }), message("Counted."));
      const page = await t.tab();
      const seen = await page.evaluate(async ([kind, base]) => {
        const agent = T.driver(kind);
        await agent.open("quiet");
        const ws = await lodger.openWorkspace("quiet");
        ws.tools.register({ name: "count", description: "Counts.", inputSchema: { type: "object", properties: {} }, execute: () => "" });
        await agent.start({ provider: T.anthropic(base) });
        const rec = T.record(document);
        await agent.send("Count.");
        const { detail: { runId } } = await rec.seen((e) => e.type === "agent:session-completed");
        await rec.ended(runId);
        return { runId, events: rec.events };
      }, [kind, route.base]);
      const { calls } = checkRun(seen.events, seen.runId);
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["count", "completed"]]);
      const result = route.requests[1].json.messages.at(-1).content[0];
      assert.ok(JSON.stringify(result.content).length > 4, "the model gets a text, not an empty result");
      assert.notEqual(result.is_error, true);
      assert.deepEqual(route.violations, []);
    });

    scenario("10 the registry in its order", async (t) => {
      const route = await t.raw(message("Twelve."));
      const { definitions } = await ask(t, { kind, question: "How many tools do you have available?", base: route.base });
      assert.deepEqual(definitions.map((d) => d.name), TWELVE);
      assert.deepEqual(route.requests[0].json.tools.map((d) => d.name), TWELVE, "the model's schema has the same order, no name twice");
      for (const tool of route.requests[0].json.tools) { assert.equal(tool.input_schema.type, "object"); assert.ok(tool.description.length > 10); }
      for (const d of definitions) { assert.equal(d.source, "Workspace"); assert.equal(d.available, true); assert.equal(d.readOnly, /^(get|list|search|read|describe)_/.test(d.name)); }
    });

    scenario("10 the offline model counts its tools", async (t) => {
      const { text } = await ask(t, { kind, question: "How many tools do you have available?" });
      assert.match(text, /\b(12|twelve)\b/i);
    });

    scenario("11 a name that is not registered, called directly", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("eleven");
        await agent.execute("create_page", { title: "Kept" });
        const error = await T.refused(() => agent.execute("destroy_all_data", {}));
        return { error, tree: await (await lodger.openWorkspace("eleven")).pages.tree() };
      }, kind);
      assert.equal(seen.error.code, "tool_not_found");
      assert.match(seen.error.message, /destroy_all_data/);
      assert.deepEqual(seen.tree.map((n) => n.title), ["Kept"]);
    });

    scenario("11 a name that is not registered, called by the model", async (t) => {
      const route = await t.raw(message({ tool: "destroy_all_data", args: { really: true }, id: "toolu_d" }), message("That tool is not available."));
      const { calls, text, status } = await ask(t, { kind, pages: [DRAGON], question: "Destroy it all.", base: route.base });
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["destroy_all_data", "failed", "tool_not_found"]]);
      assert.equal(text, "That tool is not available.");
      assert.deepEqual(status, RUNNING);
      const answer = route.requests[1].json.messages.at(-1).content[0];
      assert.equal(answer.is_error, true);
      assert.match(JSON.stringify(answer.content), /destroy_all_data/);
      assert.deepEqual(route.violations, []);
    });

    const LARGE = ["Large Page", "Ünïcödé text, again and again. ".repeat(18_000)]; // about 650 KB of UTF-8
    scenario("12 an oversized result is cut, offline", async (t) => {
      const { calls, text } = await ask(t, { kind, pages: [LARGE], question: "Read the content of 'Large Page'." });
      const read = calls.find((c) => c.tool === "read_page");
      assert.equal(read?.status, "completed", JSON.stringify(calls).slice(0, 500));
      assert.equal(typeof read.result, "string");
      const bytes = Buffer.byteLength(read.result);
      assert.ok(bytes <= LIMIT && bytes > LIMIT - 400, `the event carries the cut result: ${bytes} bytes`);
      assert.match(read.result, /\bcut\b/);
      assert.match(text, /cut/i, "and the answer says so");
    });

    scenario("12 an oversized result is cut at 102,400 bytes on a character boundary, with a marker", async (t) => {
      const route = await t.raw(message({ tool: "big", id: "toolu_b" }), message("I read a part."));
      const page = await t.tab();
      const seen = await page.evaluate(async ([kind, base]) => {
        const agent = T.driver(kind);
        await agent.open("large");
        const ws = await lodger.openWorkspace("large");
        ws.tools.register({ name: "big", description: "Gives much.", inputSchema: { type: "object", properties: {} }, readOnly: true, execute: () => "ü€𝄞".repeat(60_000) });
        await agent.start({ provider: T.anthropic(base) });
        const direct = await agent.execute("big", {});
        const rec = T.record(document);
        await agent.send("Give much.");
        await rec.ended();
        return { direct: { ...direct, result: String(direct.result) } };
      }, [kind, route.base]);
      const { direct } = seen;
      assert.ok(Buffer.byteLength(direct.result) <= LIMIT, `${Buffer.byteLength(direct.result)} bytes`);
      assert.ok(Buffer.byteLength(direct.result) > LIMIT - 400, "not much less either");
      assert.ok(direct.truncated.bytes >= 540_000 - LIMIT && direct.truncated.bytes <= 540_000, `truncated: ${direct.truncated.bytes}`);
      assert.doesNotMatch(direct.result, /\uFFFD/);
      assert.match(direct.result, /\b(cut|truncated)\b/i);
      const answer = route.requests[1].json.messages.at(-1).content[0];
      const sent = typeof answer.content === "string" ? answer.content : answer.content.map((b) => b.text).join("");
      assert.ok(Buffer.byteLength(sent) < LIMIT + 1024, `${Buffer.byteLength(sent)} bytes were sent to the model`);
      assert.match(sent, /\b(cut|truncated)\b/i);
      assert.notEqual(answer.is_error, true);
      assert.deepEqual(route.violations, []);
    });
  }
}
