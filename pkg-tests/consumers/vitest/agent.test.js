// An app's own test in Node: the whole harness, a scripted model, nothing in a browser.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deleteWorkspace, invoke, openWorkspace } from "lodger";
import { offline } from "lodger/offline";
import { scriptedModel } from "lodger/testing";

const open = (name, options) => openWorkspace(name, { storage: "memory", ...options });

afterEach(() => vi.useRealTimers());

test("a run with a tool", async () => {
  const ws = await open("tool");
  const cart = [];
  ws.tools.register({ name: "add_to_cart", description: "Adds.", inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] }, execute: ({ id }) => { cart.push(id); return "added"; } });
  const model = scriptedModel([{ tool: "add_to_cart", args: { id: "p1" } }, "Done."]);
  await ws.startAgent({ provider: model });
  const result = await ws.run("Buy p1");
  expect(result.text).toBe("Done.");
  expect(cart).toEqual(["p1"]);
  expect(model.requests).toHaveLength(2);
  await ws.close();
});

test("events reach the workspace; the history and the pages are there", async () => {
  const ws = await open("events");
  const types = [];
  ws.addEventListener("agent:lifecycle", (event) => types.push(event.detail.phase));
  await ws.startAgent({ provider: offline() });
  await ws.pages.create({ title: "Dragon Lore", content: "Dragons breathe fire." });
  const { text } = await ws.run("What pages mention dragons?");
  expect(text).toContain("Dragon Lore");
  expect(types).toEqual(["start", "end"]);
  expect((await ws.history()).map((m) => m.role)).toEqual(["user", "assistant"]);
  await deleteWorkspace("events");
});

test("without a provider: the stub", async () => {
  await open("stub");
  await invoke("start_agent");
  const { runId } = await invoke("send_agent_message", { message: "Hello" });
  expect(await invoke("agent.wait", { runId })).toMatchObject({ status: "error", error: { code: "not_configured" } });
});

test("IndexedDB does not exist here, and that is said", async () => {
  await expect(openWorkspace("disk")).rejects.toMatchObject({ name: "LodgerError", code: "storage_unavailable" });
});

describe("fake timers", () => {
  test("a run needs no real time", async () => {
    vi.useFakeTimers();
    const ws = await open("fake");
    await ws.startAgent({ provider: scriptedModel(["Hi."]) });
    expect((await ws.run("Hello")).text).toBe("Hi.");
    await ws.close();
  });

  test("a wait that is over by the fake clock", async () => {
    vi.useFakeTimers();
    const ws = await open("fake wait");
    let finish;
    ws.tools.register({ name: "slow", description: "Slow.", inputSchema: { type: "object", properties: {} }, execute: () => new Promise((r) => (finish = r)) });
    await ws.startAgent({ provider: scriptedModel([{ tool: "slow" }, "Late."]) });
    const run = await ws.sendMessage("Go");
    const waiting = ws.wait(run.runId, { timeoutMs: 60_000 });
    while (!finish) await vi.advanceTimersByTimeAsync(1);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(ws.status().is_streaming).toBe(true);
    finish("done");
    expect((await run.result).text).toBe("Late.");
    expect((await waiting).status).toBe("ok");
    await ws.close();
  });

  test("a tool that hangs is given up by the fake clock", async () => {
    vi.useFakeTimers();
    const ws = await open("fake tool");
    ws.tools.register({ name: "hang", description: "Hangs.", inputSchema: { type: "object", properties: {} }, execute: () => new Promise(() => {}) });
    await ws.startAgent({ provider: scriptedModel([{ tool: "hang" }, "It took too long."]), toolTimeoutMs: 5_000 });
    const failed = new Promise((r) => ws.addEventListener("agent:tool-call", (e) => e.detail.status === "failed" && r(e.detail.error.code)));
    const run = await ws.sendMessage("Go");
    const done = run.result;
    let over = false;
    done.then(() => (over = true));
    for (let i = 0; i < 100 && !over; i++) await vi.advanceTimersByTimeAsync(100);
    expect(await failed).toBe("tool_timeout");
    expect((await done).text).toBe("It took too long.");
    await ws.close();
  });

  describe("that begin after the workspace was opened", () => {
    let ws;
    const hang = { name: "hang", description: "Hangs.", inputSchema: { type: "object", properties: {} }, execute: () => new Promise(() => {}) };
    beforeEach(async () => {
      ws = await open("opened before");
      ws.tools.register(hang);
      await ws.startAgent({ provider: scriptedModel([{ tool: "hang" }, "It took too long."]), toolTimeoutMs: 5_000 });
    });
    afterEach(() => ws.close());

    test("a tool that hangs is given up", async () => {
      vi.useFakeTimers();
      const { result } = await ws.sendMessage("Go");
      let over = false;
      result.then(() => (over = true));
      for (let i = 0; i < 100 && !over; i++) await vi.advanceTimersByTimeAsync(100);
      expect((await result).text).toBe("It took too long.");
    });

    test("and end before it is closed", async () => {
      vi.useFakeTimers();
      const { runId } = await ws.sendMessage("Go");
      const waiting = ws.wait(runId, { timeoutMs: 300 });
      vi.useRealTimers();
      const second = ws.wait(runId, { timeoutMs: 200 });
      expect((await second).status).toBe("timeout");
      expect((await waiting).status).toBe("timeout");
    });
  });

  test("the clock is the app's, if it gives one", async () => {
    const ws = await open("clock", { now: () => 1_000_000 });
    await ws.startAgent({ provider: scriptedModel(["Hi."]) });
    await ws.run("Hello");
    expect((await ws.history()).map((m) => m.createdAt)).toEqual([1_000_000, 1_000_000]);
    await ws.close();
  });
});
