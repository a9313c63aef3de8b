// What an agent knows how to do, and whom it gives work: skills, the account's too, and delegates.
import assert from "node:assert/strict";

export default function (test) {
  test("a delegate's run shows as its call, under its parent's id, and its last answer is the result", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      await ws.pages.create({ title: "Dragons", content: "They breathe fire." });
      const provider = scriptedModel([
        { tool: "delegate", args: { process: "Researcher", task: "What do dragons breathe?" } },
        { tool: "read_page", args: { slug: "dragons" } },
        "Fire.",
        "They breathe fire, says my researcher.",
      ]);
      const events = [];
      for (const kind of ["agent:tool-call", "agent:lifecycle", "agent:message-chunk"]) ws.addEventListener(kind, ({ type, detail }) => events.push({ type, ...detail }));
      await ws.startAgent({ provider, processType: "Orchestrator" });
      const result = await ws.run("What do dragons breathe?");
      const [, answer] = await ws.history();
      const child = events.find((e) => e.parentRunId);
      return { result, answer, events, waited: await ws.wait(child.runId), tools: provider.requests.map((r) => r.tools.map((tool) => tool.function.name)), offered: ws.tools.definitions().map((d) => d.name), delegated: provider.requests[1].messages };
    });
    assert.equal(seen.result.text, "They breathe fire, says my researcher.");
    const calls = seen.events.filter((e) => e.type === "agent:tool-call").map((e) => [e.tool, e.status, e.parentRunId === seen.result.runId, e.runId === seen.result.runId]);
    assert.deepEqual(calls, [["delegate", "started", false, true], ["read_page", "started", true, false], ["read_page", "completed", true, false], ["delegate", "completed", false, true]]);
    assert.equal(seen.events.filter((e) => e.type === "agent:lifecycle").length, 2, "a delegate has no beginning and no end of its own");
    assert.ok(seen.events.filter((e) => e.type === "agent:message-chunk").every((e) => e.runId === seen.result.runId));
    assert.deepEqual([seen.answer.parts[0].status, seen.answer.parts[0].result], ["completed", "Fire."]);
    assert.equal(seen.waited.outcome, "completed");
    assert.ok(seen.offered.includes("delegate"));
    assert.deepEqual(seen.tools[1], ["search_pages", "read_page", "get_page_tree", "get_backlinks", "get_outgoing_links", "read_page_history"]);
    assert.deepEqual(seen.delegated.map((m) => m.role), ["system", "user"], "it sees nothing of its parent's conversation");
  });

  test("a delegate that asks is Suspended with its parent, over a reload too", async (t) => {
    const context = await t.context();
    const before = await t.tab({ context });
    const config = `{ processType: "Orchestrator", permissions: { tools: { create_page: "ask" } } }`;
    const first = await before.evaluate(async (config) => {
      const ws = await lodger.openWorkspace("w");
      const asked = new Promise((resolve) => ws.addEventListener("agent:permission-required", ({ detail }) => resolve(detail), { once: true }));
      await ws.startAgent({ ...(0, eval)(`(${config})`), provider: scriptedModel([{ tool: "delegate", args: { process: "Worker", task: "Write it down" } }, { tool: "create_page", args: { title: "Note" } }]) });
      await ws.sendMessage("Take a note");
      const { requestId, parentRunId, runId } = await asked;
      return { requestId, parentRunId, runId, status: ws.status() };
    }, config);
    assert.deepEqual(first.status, { lifecycle: "Suspended", is_streaming: false });
    assert.ok(first.parentRunId && first.parentRunId !== first.runId);
    await before.close();
    const after = await t.tab({ context });
    const seen = await after.evaluate(async (config) => {
      const ws = await lodger.openWorkspace("w");
      const asked = new Promise((resolve) => ws.addEventListener("agent:permission-required", ({ detail }) => resolve(detail), { once: true }));
      const ended = new Promise((resolve) => ws.addEventListener("agent:session-completed", ({ detail }) => resolve(detail), { once: true }));
      await ws.startAgent({ ...(0, eval)(`(${config})`), provider: scriptedModel(["Written.", "It is noted."]) });
      const { requestId, respond } = await asked;
      const suspended = ws.status().lifecycle;
      await respond("allow_once");
      return { requestId, suspended, text: (await ended).text, pages: (await ws.pages.tree()).map((p) => p.title) };
    }, config);
    assert.deepEqual(seen, { requestId: first.requestId, suspended: "Suspended", text: "It is noted.", pages: ["Note"] });
  });

  test("skills: listed for the model, read when it wants one; without skills there is no such tool", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const provider = scriptedModel([{ tool: "use_skill", args: { name: "greet" } }, "Ahoy!", "Hello."]);
      await ws.startAgent({ provider, instructions: "You help.", skills: [{ name: "greet", description: "When somebody comes.", template: "Say {{word}} first. Use:\n{{tools}}", variables: { word: "ahoy" }, tools: ["search_pages"] }] });
      await ws.run("Hi");
      await ws.configureAgent({ skills: null });
      await ws.run("Hi again");
      const [first, second, third] = provider.requests;
      return { system: first.messages[0].content, read: second.messages.at(-1).content, later: third.messages[0].content, tools: [first, third].map((r) => r.tools.some((tool) => tool.function.name === "use_skill")) };
    });
    assert.match(seen.system, /^You help\.\n\n[^]*## Available Tools\n\n- search_pages\n[^]*## Skills\n\n[^]*\n- greet: When somebody comes\./);
    assert.doesNotMatch(seen.system, /ahoy/);
    assert.match(seen.read, /^<result source="System" [\w+/]+>\nSay ahoy first\. Use:\n- search_pages\n<\/result/);
    assert.doesNotMatch(seen.later, /## Skills/);
    assert.deepEqual(seen.tools, [true, false]);
  });

  test("skills of the account are there in all workspaces, until the one that gives them stops, or is deleted", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const greet = { name: "greet", description: "When somebody comes.", template: "Say hello.", scope: "account" };
      const names = (ws) => ws.tools.definitions().find((d) => d.name === "use_skill")?.inputSchema.properties.name.enum ?? [];
      const provider = scriptedModel([]);
      const started = async (name, skills) => {
        const ws = await lodger.openWorkspace(name);
        await ws.startAgent({ provider, skills });
        const known = names(ws);
        await ws.stopAgent();
        await ws.close();
        return known;
      };
      const databases = async () => (await indexedDB.databases()).map((d) => d.name).filter((name) => name === "lodger-account");
      const seen = { none: await started("other", undefined), noDatabase: await databases() };
      seen.given = await started("shop", [greet]);
      seen.elsewhere = await started("other", undefined);
      seen.beside = await started("other", [{ ...greet, name: "sell", scope: "workspace" }]);
      seen.takenBack = [await started("shop", []), await started("other", undefined)];
      await started("shop", [greet]);
      await lodger.deleteWorkspace("shop");
      seen.deleted = await started("other", undefined);
      return seen;
    });
    assert.deepEqual(seen, { none: [], noDatabase: [], given: ["greet"], elsewhere: ["greet"], beside: ["sell", "greet"], takenBack: [[], []], deleted: [] });
  });

  test("bad skills are refused by name", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const skill = { name: "greet", description: "d", template: "t" };
      const refused = [];
      for (const skills of [[{ ...skill, template: "{{who}}" }], [{ ...skill, variables: { who: "x" } }], [{ ...skill, template: "{{who" }], [skill, skill], [{ ...skill, name: "no name" }], [{ ...skill, colour: "red" }], [{ ...skill, scope: "world" }], "greet"]) refused.push(await T.refused(() => ws.startAgent({ skills })));
      ws.tools.register({ name: "use_skill", description: "mine", inputSchema: {}, execute: () => "mine" });
      refused.push(await T.refused(() => ws.startAgent({ skills: [skill] })));
      return refused.map(({ code, message }) => [code, message]);
    });
    assert.deepEqual(seen.map(([code]) => code), [...Array(8).fill("invalid_config"), "duplicate_tool"]);
    assert.match(seen[0][1], /'who'/);
    assert.match(seen[1][1], /'who'/);
    assert.match(seen[3][1], /two skills called 'greet'/);
  });
}
