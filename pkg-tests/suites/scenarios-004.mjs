// The tool scenarios, each by its number, and the cases of permission that go with them, as one table. Every row runs
// with the offline model that ships and with a scripted model over HTTP. One of them is used through a `Workspace`, the
// other through `invoke`. In the campaign (`LODGER_CAMPAIGN=1`) each through both. What a row checks holds for all
// four, unless it says for which model only.
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { message } from "../servers/sse.mjs";

const TWELVE = ["search_pages", "read_page", "get_page_tree", "get_backlinks", "get_outgoing_links", "read_page_history",
  "create_page", "update_page_content", "update_page_metadata", "move_page", "rename_page", "delete_page"];
const RUNNING = { lifecycle: "Running", is_streaming: false };
const LIMIT = 102_400;

const DRAGON = ["Dragon Lore", "Dragons breathe fire and hoard treasure."];
const HISTORIES = [["History of Rome", "Rome was founded on seven hills."], ["History of Greece", "Greece invented the theatre."], ["History of Egypt", "Egypt built along the Nile."]];
const CHAPTERS = [["Chapter 1", "Mira finds a brass key in the harbour."], ["Chapter 2", "The key opens the lighthouse cellar."], ["Chapter 3", "In the cellar sleeps an old submarine."]];
const LARGE = ["Large Page", "Ünïcödé text, again and again. ".repeat(18_000)]; // about 650 KB of UTF-8

/** Tools of the page, which some rows name; sent into the page as text. */
const PAGE_TOOLS = `{
  const none = { type: "object", properties: {} };
  globalThis.effects = [];
  globalThis.pageTools = {
    dig: { name: "dig", description: "Digs, and never comes back.", inputSchema: none, execute: (args, { signal }) => { signal.addEventListener("abort", () => effects.push("stopped")); return new Promise(() => {}); } },
    count: { name: "count", description: "Counts.", inputSchema: none, execute: () => "" },
    big: { name: "big", description: "Gives much.", inputSchema: none, readOnly: true, execute: () => "ü€𝄞".repeat(60_000) },
  };
}`;

/** `{ ask: text }`: a question; `script`: the scripted model's answers to it. */
const CREATE = { ask: "Create a page titled 'Test Page'.", script: [{ tool: "create_page", args: { title: "Test Page" } }, "That is what became of it."] };
const ASK_TO_WRITE = { permissions: { capabilities: { PagesWrite: "ask" } } };

const ROWS = [
  {
    title: "1 search and answer", pages: [DRAGON, HISTORIES[0]], ask: "What pages mention dragons?",
    script: [{ tool: "search_pages", args: { query: "dragons" } }, "“Dragon Lore” mentions them."],
    check({ calls, text, history, end, results }) {
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["search_pages", "completed"]]);
      assert.match(calls[0].arguments.query, /dragon/i);
      assert.match(text, /Dragon Lore/);
      assert.doesNotMatch(text, /Rome/);
      assert.match(results[0].text, /Dragon Lore/, "the model got what the tool found");
      assert.equal(end.text, text, "the end tells the answer's text");
      assert.deepEqual(history.map((m) => [m.role, m.status]), [["user", "complete"], ["assistant", "complete"]], "one assistant message a run");
      const part = history[1].parts.find((p) => p.type === "tool-call");
      assert.deepEqual([part.status, part.toolCallId], ["completed", calls[0].toolCallId]);
    },
  },
  {
    title: "2 a missing argument is refused", pages: [DRAGON], ask: "Call search_pages {} please.", direct: [["search_pages", {}]],
    script: [{ tool: "search_pages", args: {} }, "I have to say what to look for."],
    check({ calls, direct, results, tree }) {
      assert.equal(direct[0].error.code, "invalid_arguments");
      assert.match(direct[0].error.message, /missing 'query' field/);
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["search_pages", "failed", "invalid_arguments"]]);
      assert.match(results[0].text, /missing 'query' field/, "the model is told what to mend");
      assert.deepEqual(tree.map((n) => n.title), ["Dragon Lore"]);
    },
  },
  {
    title: "3 a successful result is readable", pages: HISTORIES, ask: "List all pages about history.",
    script: [{ tool: "search_pages", args: { query: "history" } }, "There are:\n- History of Rome\n- History of Greece\n- History of Egypt"],
    check({ calls, text, definitions, tools }) {
      assert.ok(HISTORIES.filter(([title]) => text.includes(title)).length >= 2, text);
      assert.ok(calls.some((c) => c.tool === "search_pages" && c.status === "completed"), JSON.stringify(calls));
      assert.doesNotMatch(text, /[{[]\s*"/, "prose, no JSON");
      for (const d of [...definitions, ...tools]) assert.doesNotMatch(d.name + d.description, /UNAVAILABLE/);
    },
  },
  {
    title: "4 a failing tool is told and the conversation goes on", ask: ["Get the page with slug 'this-page-does-not-exist-xyz-404'.", "Create a page titled 'Still here'."],
    script: [{ tool: "read_page", args: { slug: "this-page-does-not-exist-xyz-404" } }, "There is no such page, I could not find it.", { tool: "create_page", args: { title: "Still here" } }, "Done."],
    check({ runs, results, tree }) {
      const [first, second] = runs;
      assert.deepEqual(first.calls.map((c) => [c.tool, c.status, c.error.code]), [["read_page", "failed", "page_not_found"]]);
      assert.match(first.calls[0].error.message, /this-page-does-not-exist-xyz-404/);
      assert.match(first.text, /not (be )?f(ou)?nd|no (such )?page|does not exist|could not/i);
      assert.notEqual(results[0].isError, false, "over the wire it is an error result");
      assert.ok(second.calls.every((c) => c.status === "completed"));
      assert.deepEqual(tree.map((n) => n.title), ["Still here"]);
    },
  },
  {
    title: "5 a tool that hangs is given up, and the page stays alive", tools: ["dig"], config: { toolTimeoutMs: 300 }, ask: "Call dig {} please.", script: [{ tool: "dig" }, "It took too long."],
    check({ calls, text, ticks, effects }) {
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["dig", "failed", "tool_timeout"]]);
      assert.ok(text.length > 10);
      assert.ok(ticks > 10, `the page had ${ticks} turns meanwhile`);
      assert.deepEqual(effects, ["stopped"], "the tool's signal was aborted");
    },
  },
  {
    title: "5 a tool that hangs can be interrupted", tools: ["dig"], ask: "Call dig {} please.", script: [{ tool: "dig" }, "Never said."], interrupt: true, ending: "agent:session-interrupted",
    check({ calls, effects, requests }) {
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["dig", "failed", "tool_interrupted"]]);
      assert.deepEqual(effects, ["stopped"]);
      assert.equal(requests, 1, "the model is not asked any more");
    },
  },
  {
    title: "6 the system prompt says which tools there are", ask: "What tools do you have access to?", script: [`I have ${TWELVE.join(", ")}.`],
    check({ system, tools, text }) {
      const listed = availableTools(system);
      assert.deepEqual(listed.map((line) => line.match(/[a-z_]+/)[0]), TWELVE, "all of them, in their order");
      assert.doesNotMatch(system, /UNAVAILABLE/);
      for (const { name, description } of tools) assert.doesNotMatch(name + description, /UNAVAILABLE/);
      for (const name of ["search_pages", "read_page", "get_page_tree", "create_page"]) assert.ok(text.includes(name), text);
    },
  },
  {
    title: "7 a capability that is not held", config: { capabilities: ["PagesRead"] }, ...CREATE, direct: [["create_page", { title: "Test Page" }], ["create_page", {}]],
    script: [{ tool: "create_page", args: { title: "Test Page" } }, "I may not do that: it is not available without PagesWrite."],
    check({ calls, text, tools, system, direct, tree, definitions, asked, results }, { model }) {
      const create = tools.find((d) => d.name === "create_page");
      assert.ok(create.description.startsWith("[UNAVAILABLE: Requires PagesWrite capability] "), create.description);
      assert.match(availableTools(system).find((line) => line.includes("create_page")), /\[UNAVAILABLE: Requires PagesWrite capability\]/);
      assert.doesNotMatch(tools.find((d) => d.name === "read_page").description, /UNAVAILABLE/);
      assert.deepEqual(definitions.filter((d) => !d.available).map((d) => d.name), TWELVE.slice(6));
      // Before its arguments are looked at: an unavailable tool with bad arguments says that it is unavailable.
      assert.deepEqual(direct.map((d) => d.error.code), ["permission_denied", "permission_denied"]);
      // A model that reads the marker does not even try.
      const tried = calls.map((c) => [c.tool, c.status, c.error.code]);
      assert.deepEqual(tried, model === "offline" ? [] : [["create_page", "failed", "permission_denied"]]);
      if (model !== "offline") assert.match(results[0].text, /PagesWrite/);
      assert.match(text, /not available/);
      assert.deepEqual(asked, [], "nobody is asked for what is not held");
      assert.deepEqual(tree, []);
    },
  },
  {
    title: "8 several calls in a row", pages: CHAPTERS, ask: "Read the content of all three chapter pages and summarize them together.",
    script: [{ tool: "search_pages", args: { query: "Chapter" } }, ...[1, 2, 3].map((n) => ({ tool: "read_page", args: { slug: `chapter-${n}` } })), "A brass key, a lighthouse and a submarine."],
    check({ calls, text, end, results }) {
      assert.ok(calls.filter((c) => c.tool === "read_page").length >= 3, calls.map((c) => c.tool).join(" "));
      assert.ok(calls.every((c) => c.status === "completed"));
      for (const fact of [/brass key/i, /lighthouse/i, /submarine/i]) { assert.match(text, fact); assert.ok(results.some((r) => fact.test(r.text))); }
      assert.ok(end.turns >= 2);
    },
  },
  {
    title: "9 a tool that has little to say", pages: CHAPTERS, ask: "Move the page 'Chapter 1' to be a child of 'Chapter 2'.",
    script: [{ tool: "move_page", args: { slug: "chapter-1", parent_slug: "chapter-2" } }, "“Chapter 1” is now below “Chapter 2”."],
    check({ calls, text, tree }) {
      const move = calls.find((c) => c.tool === "move_page");
      assert.equal(move?.status, "completed", JSON.stringify(calls));
      assert.match(text, /Chapter 1/);
      assert.deepEqual(tree.find((n) => n.title === "Chapter 2").children.map((n) => n.title), ["Chapter 1"]);
      assert.deepEqual(tree.map((n) => n.title).sort(), ["Chapter 2", "Chapter 3"]);
    },
  },
  {
    title: "9 a tool that says nothing is completed", tools: ["count"], ask: "Call count {} please.", script: [{ tool: "count" }, "Counted."],
    check({ calls, results }) {
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["count", "completed"]]);
      assert.ok(results[0].text.length > 4, "the model gets a text, not an empty result");
      assert.notEqual(results[0].isError, true);
    },
  },
  {
    title: "10 the registry in its order", ask: "How many tools do you have available?", script: ["Twelve: I have 12 tools."],
    check({ definitions, tools, system, text }) {
      assert.deepEqual(definitions.map((d) => d.name), TWELVE);
      assert.deepEqual(tools.map((d) => d.name), TWELVE, "the model's schema has the same order, no name twice");
      assert.equal(availableTools(system).length, 12);
      for (const { schema, description } of tools) { assert.equal(schema.type, "object"); assert.ok(description.length > 10); }
      for (const d of definitions) { assert.equal(d.source, "Workspace"); assert.equal(d.available, true); assert.equal(d.readOnly, /^(get|list|search|read|describe)_/.test(d.name)); }
      assert.match(text, /\b(12|twelve)\b/i);
    },
  },
  {
    title: "11 a name that is not registered", pages: [DRAGON], ask: "Call destroy_all_data {} please.", direct: [["destroy_all_data", {}]], script: [{ tool: "destroy_all_data", args: { really: true } }, "That tool is not available."],
    check({ calls, direct, results, tree, text }, { model }) {
      assert.equal(direct[0].error.code, "tool_not_found");
      assert.match(direct[0].error.message, /destroy_all_data/);
      assert.deepEqual(tree.map((n) => n.title), ["Dragon Lore"]);
      assert.ok(text.length > 0);
      // The offline model invents no names.
      if (model === "offline") return assert.deepEqual(calls, []);
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["destroy_all_data", "failed", "tool_not_found"]]);
      assert.equal(results[0].isError, true);
      assert.match(results[0].text, /destroy_all_data/);
    },
  },
  {
    title: "12 an oversized page is cut", pages: [LARGE], ask: "Read the content of 'Large Page'.", script: [{ tool: "read_page", args: { slug: "large-page" } }, "I was given a part; the rest was cut."],
    check({ calls, text, results }) {
      const read = calls.find((c) => c.tool === "read_page");
      assert.equal(read?.status, "completed", JSON.stringify(calls).slice(0, 500));
      checkCut(read.result);
      checkCut(unframed(results.at(-1).text));
      assert.match(text, /cut/i, "and the answer says so");
    },
  },
  {
    title: "12 an oversized result is cut at 102,400 bytes on a character boundary, with a marker", tools: ["big"], ask: "Call big {} please.", direct: [["big", {}]], script: [{ tool: "big" }, "I read a part."],
    check({ calls, direct, results }) {
      const { result, truncated } = direct[0].value;
      checkCut(result);
      assert.ok(truncated.bytes >= 540_000 - LIMIT && truncated.bytes <= 540_000, `truncated: ${truncated.bytes}`);
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["big", "completed"]]);
      assert.equal(calls[0].result, result, "each way to it cuts the same");
      assert.equal(unframed(results[0].text), result);
      assert.notEqual(results[0].isError, true);
    },
  },

  // ---------------------------------------------------------------- permission
  {
    title: "permission: a question says what it is about, and the run waits", config: ASK_TO_WRITE, ...CREATE, answers: [["allow_once"]],
    check({ asked, runId, calls, tree }) {
      assert.equal(asked.length, 1);
      const [{ request, respond, status, permissions, tree: before }] = asked;
      const { requestId, toolCallId, explanation, seq, epoch, ...rest } = request;
      assert.deepEqual(rest, { workspace: "tools", sessionId: "default", runId, tool: "create_page", title: "Create a page", capability: "PagesWrite", arguments: calls[0].arguments, reason: "policy" });
      assert.equal(toolCallId, calls[0].toolCallId);
      assert.ok(requestId && explanation && typeof seq === "number" && typeof epoch === "number");
      assert.equal(respond, "function");
      assert.deepEqual(status, { lifecycle: "Suspended", is_streaming: status.is_streaming });
      assert.deepEqual(permissions.map((p) => [p.requestId, p.tool]), [[requestId, "create_page"]]);
      assert.deepEqual(before, [], "nothing has happened yet");
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["create_page", "completed"]]);
      assert.deepEqual(tree.map((n) => n.title), ["Test Page"]);
    },
  },
  {
    title: "permission: allow_once is for this call only", config: ASK_TO_WRITE, ask: [CREATE.ask, "Create a page titled 'Second'."], answers: [["allow_once"], ["allow_once"]],
    script: [...CREATE.script, { tool: "create_page", args: { title: "Second" } }, "Done."],
    check({ asked, grants, tree, resolved }) {
      assert.equal(asked.length, 2);
      assert.notEqual(asked[0].request.requestId, asked[1].request.requestId);
      assert.deepEqual(grants, []);
      assert.deepEqual(resolved.map((r) => [r.requestId, r.answer]), asked.map(({ request }) => [request.requestId, "allow_once"]));
      assert.deepEqual(tree.map((n) => n.title), ["Test Page", "Second"]);
    },
  },
  {
    title: "permission: always_allow is for the rest of the session", config: ASK_TO_WRITE, ask: [CREATE.ask, "Create a page titled 'Second'."], answers: [["always_allow"]],
    script: [...CREATE.script, { tool: "create_page", args: { title: "Second" } }, "Done."],
    check({ asked, grants, tree, resolved }) {
      assert.equal(asked.length, 1, "asked once");
      assert.deepEqual(grants, [{ tool: "create_page", sessionId: "default" }]);
      assert.deepEqual(resolved.map((r) => r.answer), ["always_allow"]);
      assert.deepEqual(tree.map((n) => n.title), ["Test Page", "Second"]);
    },
  },
  {
    title: "permission: deny blocks the call, and the model is told, with the person's word", config: ASK_TO_WRITE, ...CREATE, answers: [["deny", "not before Monday"]],
    check({ calls, results, tree, history, resolved }) {
      assert.deepEqual(calls.map((c) => [c.tool, c.status, c.error.code]), [["create_page", "failed", "permission_denied"]]);
      assert.match(results[0].text, /did not allow/);
      assert.match(results[0].text, /not before Monday/);
      assert.notEqual(results[0].isError, false);
      assert.equal(history[1].parts.find((p) => p.type === "tool-call").status, "denied");
      assert.deepEqual(resolved.map((r) => r.answer), ["deny"]);
      assert.deepEqual(tree, []);
    },
  },
  {
    title: "permission: a dialog that is dismissed is no denial; a second answer is refused", config: ASK_TO_WRITE, ...CREATE, answers: [["later"]],
    check({ asked, calls, tree }) {
      const [{ later, request }] = asked;
      assert.equal(later.status.lifecycle, "Suspended", "it still waits");
      assert.deepEqual(later.permissions.map((p) => p.requestId), [request.requestId]);
      assert.equal(later.second, "request_not_found");
      assert.deepEqual(calls.map((c) => c.status), ["completed"]);
      assert.deepEqual(tree.map((n) => n.title), ["Test Page"]);
    },
  },
  {
    title: "permission: what is not held by a rule is not asked about, what destroys is", pages: [DRAGON], ask: [CREATE.ask, "Delete the page 'Dragon Lore'."], answers: [["allow_once"]],
    script: [...CREATE.script, { tool: "delete_page", args: { slug: "dragon-lore" } }, "Gone."],
    check({ asked, tree }) {
      assert.deepEqual(asked.map(({ request }) => [request.tool, request.capability, request.reason]), [["delete_page", "PagesDelete", "destructive"]]);
      assert.deepEqual(tree.map((n) => n.title), ["Test Page"]);
    },
  },
];

const MODELS = ["offline", "over HTTP"];
const CHANNELS = ["Workspace", "invoke"];

export default function (test) {
  for (const [n, row] of ROWS.entries()) {
    for (const [m, model] of MODELS.entries()) {
      const channels = process.env.LODGER_CAMPAIGN === "1" ? CHANNELS : [CHANNELS[(n + m) % CHANNELS.length]];
      for (const channel of channels) test(`${row.title} [${model}, ${channel}]`, (t) => runRow(t, row, model, channel));
    }
  }
}

async function runRow(t, row, model, channel) {
  const route = model === "offline" ? undefined : await t.raw(...row.script.map((turn) => message(turn)));
  const page = await t.tab({ init: PAGE_TOOLS });
  const { title, script, check, ...plan } = { pages: [], tools: [], direct: [], answers: [], config: {}, ...row, ask: [].concat(row.ask) };
  const seen = await page.evaluate(playRow, { plan, channel, base: route?.base });
  assert.deepEqual(seen.status, RUNNING, "at the end it runs and rests");
  const runs = seen.runIds.map((runId) => checkRun(seen.events, runId, row.ending));
  const requests = route ? route.requests.map(({ json }) => fromAnthropic(json)) : seen.requests.map(fromChat);
  const last = requests.at(-1);
  check({ ...seen, runs, ...runs.at(-1), runId: seen.runIds.at(-1), system: requests[0].system, tools: requests[0].tools, results: last.results, requests: requests.length }, { model, channel });
  for (const { results } of requests) for (const { text } of results) framed(text);
  if (route) assert.deepEqual(route.violations, []);
}

/** In the page: opens, makes the pages, starts, calls directly, asks, answers questions; tells all that was seen. */
async function playRow({ plan, channel, base }) {
  const agent = T.driver(channel);
  await agent.open("tools");
  const ws = await lodger.openWorkspace("tools");
  for (const name of plan.tools) ws.tools.register(pageTools[name]);
  for (const [title, content] of plan.pages) await agent.execute("create_page", { title, content });
  const requests = [];
  const shipped = offline();
  const kept = { ...shipped, stream(request, context) { requests.push(T.plain(request)); return shipped.stream(request, context); } };
  await agent.start({ provider: base ? T.anthropic(base) : kept, ...plan.config });
  const direct = [];
  for (const [tool, args] of plan.direct) direct.push(await T.settle(() => agent.execute(tool, args)));

  const rec = T.record(document);
  const view = ws.view();
  view.subscribe(() => {});
  const answers = [...plan.answers];
  const asked = [];
  const look = async () => { await T.turn(); return { status: await agent.status(), permissions: T.plain(view.getSnapshot().permissions) }; };
  document.addEventListener("agent:permission-required", async ({ detail }) => {
    const { respond, ...request } = detail;
    const question = { request, respond: typeof respond, ...(await look()), tree: T.plain(await ws.pages.tree()) };
    const [answer, reason] = answers.shift() ?? [];
    if (answer === "later") {
      for (let i = 0; i < 20; i++) await T.turn();
      question.later = await look();
      const answered = agent.respond(request.requestId, "allow_once");
      question.later.second = (await T.refused(() => agent.respond(request.requestId, "deny"))).code;
      await answered;
    } else if (answer) await agent.respond(request.requestId, answer, reason);
    asked.push(question);
  });
  let ticks = 0;
  const runIds = [];
  for (const question of plan.ask) {
    await agent.send(question);
    const { detail: { runId } } = await rec.seen((e) => e.type === "agent:lifecycle" && !runIds.includes(e.detail.runId));
    runIds.push(runId);
    if (plan.interrupt) { await rec.seen((e) => e.type === "agent:tool-call"); await agent.interrupt(); }
    let over = false;
    const ended = rec.ended(runId).then(() => (over = true));
    while (!over) { ticks++; await new Promise((done) => setTimeout(done)); }
    await ended;
  }
  return { runIds, events: rec.events, resolved: rec.events.filter((e) => e.type === "agent:permission-resolved").map((e) => e.detail), asked, direct, requests, ticks, effects, status: await agent.status(), history: T.plain(await agent.history()),
    definitions: T.plain(await agent.tools()), tree: T.plain(await ws.pages.tree()), grants: await ws.tools.grants() };
}

// ------------------------------------------------------------------ requests, whatever their wire

const fromAnthropic = ({ system, tools = [], messages }) => ({
  system: typeof system === "string" ? system : (system ?? []).map((b) => b.text).join("\n"),
  tools: tools.map(({ name, description, input_schema }) => ({ name, description, schema: input_schema })),
  results: messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [])).filter((b) => b.type === "tool_result")
    .map(({ content, is_error }) => ({ text: typeof content === "string" ? content : content.map((b) => b.text).join(""), isError: is_error === true })),
});

/** Chat completions have no mark for results that are errors. */
const fromChat = ({ tools = [], messages }) => ({
  system: messages.filter((m) => m.role === "system").map((m) => m.content).join("\n"),
  tools: tools.map(({ function: { name, description, parameters } }) => ({ name, description, schema: parameters })),
  results: messages.filter((m) => m.role === "tool").map(({ content }) => ({ text: content, isError: undefined })),
});

/** The lines of the section of the system prompt that lists the tools. */
function availableTools(system) {
  const [, section] = system.split(/^## Available Tools$/m);
  assert.ok(section !== undefined, `no "## Available Tools" in ${JSON.stringify(system)}`);
  return section.split(/^#/m)[0].split("\n").filter((line) => /^[-*] /.test(line));
}

/** What stands inside the frame of a result; a refusal of ours has none. */
const unframed = (text) => framed(text)?.groups.inside ?? text;
function framed(text) {
  const frame = text.match(/^<result source="(Workspace|External|System)" (?<mark>[\w+/]+)>\n(?<inside>[^]*)\n<\/result \k<mark>>$/);
  if (frame) assert.ok(!frame.groups.inside.includes(frame.groups.mark), "the text between cannot contain the mark");
  return frame;
}

function checkCut(text) {
  assert.equal(typeof text, "string");
  const bytes = Buffer.byteLength(text);
  assert.ok(bytes <= LIMIT && bytes > LIMIT - 400, `${bytes} bytes`);
  assert.doesNotMatch(text, /\uFFFD/);
  assert.match(text, /\b(cut|truncated)\b/i);
}
