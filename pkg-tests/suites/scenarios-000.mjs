// The fifteen scenarios of the agent lifecycle, each by its number, through a `Workspace` and through `invoke`.
// "no persistence yet" (14, 15) is superseded: what is cleared is gone, and an untouched workspace answers [].
import assert from "node:assert/strict";
import { checkRun } from "../lib/events.mjs";
import { gate, stream } from "../servers/raw.mjs";
import { message } from "../servers/sse.mjs";

const STOPPED = { lifecycle: "Stopped", is_streaming: false };
const RUNNING = { lifecycle: "Running", is_streaming: false };
const NOT_INITIALIZED = "Agent manager not initialized for current workspace";

export default function (test) {
  for (const kind of ["Workspace", "invoke"]) {
    const scenario = (title, body) => test(`${title} [${kind}]`, body);

    scenario("1 start without a workspace is refused", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        if (kind === "Workspace") {
          // A handle without a workspace behind it is one that was closed.
          const ws = await lodger.openWorkspace("one");
          await ws.close();
          return { error: await T.refused(() => ws.startAgent()), status: ws.status() };
        }
        return { error: await T.refused(() => lodger.invoke("start_agent")), status: await lodger.invoke("get_agent_status") };
      }, kind);
      assert.equal(seen.error.name, "LodgerError");
      assert.equal(seen.error.code, kind === "invoke" ? "no_workspace" : "workspace_closed");
      if (kind === "invoke") assert.equal(seen.error.message, NOT_INITIALIZED);
      assert.deepEqual(seen.status, STOPPED);
    });

    scenario("2 start without a provider: the stub", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("two");
        const events = T.record();
        await agent.start();
        await T.turn();
        return { status: await agent.status(), settings: await agent.settings(), errors: events.events.filter((e) => e.type === "agent:error"), history: await agent.history() };
      }, kind);
      assert.deepEqual(seen.status, RUNNING);
      assert.equal(seen.settings.api_key_configured, false);
      assert.equal(seen.settings.model, "claude-sonnet-4-6");
      assert.deepEqual(seen.errors, []);
      assert.deepEqual(seen.history, []);
    });

    scenario("3 a second start is refused as already running", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("three");
        await agent.start();
        const error = await T.refused(() => agent.start());
        const status = await agent.status();
        await agent.stop();
        await agent.start();
        return { error, status, again: await agent.status() };
      }, kind);
      assert.equal(seen.error.code, "already_running");
      assert.match(seen.error.message, /already running/);
      assert.deepEqual(seen.status, RUNNING);
      assert.deepEqual(seen.again, RUNNING, "the refused start left the harness whole");
    });

    scenario("4 status before the start is Stopped", async (t) => {
      const page = await t.tab();
      const status = await page.evaluate(async (kind) => { const agent = T.driver(kind); await agent.open("four"); return agent.status(); }, kind);
      assert.deepEqual(status, STOPPED);
    });

    scenario("5 status after the start is Running", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("five");
        const { events } = T.record();
        await agent.start();
        await T.turn();
        return { status: await agent.status(), told: events.filter((e) => e.type === "agent:status-changed").map((e) => ({ lifecycle: e.detail.lifecycle, is_streaming: e.detail.is_streaming })) };
      }, kind);
      assert.deepEqual(seen.status, RUNNING);
      assert.deepEqual(seen.told.at(-1), RUNNING);
      assert.ok(seen.told.slice(0, -1).every((s) => s.lifecycle === "Starting"), JSON.stringify(seen.told));
    });

    scenario("6 a message to an agent that does not run is refused", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("six");
        const { events } = T.record();
        const error = await T.refused(() => agent.send("Hello"));
        await T.turn();
        return { error, status: await agent.status(), history: await agent.history(), events };
      }, kind);
      assert.equal(seen.error.code, "not_running");
      assert.equal(seen.error.message, "Agent harness is not running");
      assert.deepEqual(seen.status, STOPPED);
      assert.deepEqual(seen.history, []);
      assert.deepEqual(seen.events, []);
    });

    scenario("7 a message to the stub: the provider's error comes as an event", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("seven");
        await agent.start();
        const rec = T.record();
        await agent.send("What is in my workspace?");
        const first = await rec.seen((e) => e.type === "agent:lifecycle");
        await rec.ended(first.detail.runId);
        return { runId: first.detail.runId, events: rec.events, status: await agent.status(), history: await agent.history() };
      }, kind);
      const { end, lifecycle } = checkRun(seen.events, seen.runId, "agent:error");
      assert.equal(end.code, "not_configured");
      assert.match(end.message, /not configured/);
      assert.equal(end.retryable, false);
      assert.equal(lifecycle.error.code, "not_configured");
      assert.deepEqual(seen.status, RUNNING);
      assert.equal(seen.history[0].role, "user");
      assert.deepEqual(seen.history[0].parts, [{ type: "text", text: "What is in my workspace?" }]);
    });

    scenario("8 stop while idle", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("eight");
        await agent.start();
        const before = await agent.status();
        await agent.stop();
        const after = await agent.status();
        await agent.start();
        return { before, after, again: await agent.status() };
      }, kind);
      assert.deepEqual(seen, { before: RUNNING, after: STOPPED, again: RUNNING });
    });

    scenario("9 stop when not running does nothing", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("nine");
        const { events } = T.record();
        await agent.stop();
        await T.turn();
        return { status: await agent.status(), events };
      }, kind);
      assert.deepEqual(seen, { status: STOPPED, events: [] });
    });

    scenario("10 interrupt while idle does nothing", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("ten");
        await agent.start({ provider: offline() });
        await T.turn();
        const rec = T.record();
        await agent.interrupt();
        await T.turn();
        const quiet = [...rec.events];
        const status = await agent.status();
        await agent.send("Hello");
        await rec.ended();
        return { quiet, status, after: await agent.status(), ends: rec.events.filter((e) => e.type === "agent:session-completed").length };
      }, kind);
      assert.deepEqual(seen.quiet, []);
      assert.deepEqual(seen.status, RUNNING);
      assert.equal(seen.ends, 1, "the next message is answered");
      assert.deepEqual(seen.after, RUNNING);
    });

    scenario("11 interrupt while streaming ends the session gracefully", async (t) => {
      const hold = gate();
      const slow = message("One two three four.");
      const route = await t.raw(message(["I look.", { tool: "search_pages", args: { query: "dragons" } }]), stream(slow.slice(0, 4), hold, slow.slice(4)), message("Here again."));
      const page = await t.tab();
      const seen = await page.evaluate(async ([kind, base]) => {
        const agent = T.driver(kind);
        await agent.open("eleven");
        await agent.start({ provider: T.anthropic(base) });
        const rec = T.record(document);
        await agent.send("Tell me all.");
        await rec.seen((e) => e.type === "agent:message-chunk" && /two/.test(e.detail.text));
        const during = await agent.status();
        await agent.interrupt();
        const { detail: { runId } } = await rec.seen((e) => e.type === "agent:session-interrupted");
        await rec.ended(runId);
        const events = [...rec.events];
        const status = await agent.status();
        const history = await agent.history();
        rec.clear();
        await agent.send("Are you there?");
        await rec.seen((e) => e.type === "agent:session-completed");
        return { runId, during, events, status, history, after: (await agent.history()).map((m) => [m.role, m.status, T.textOf(m)]) };
      }, [kind, route.base]);
      hold.open();
      const { calls, text, end } = checkRun(seen.events, seen.runId, "agent:session-interrupted");
      assert.equal(typeof end.reason, "string");
      assert.deepEqual(calls.map((c) => [c.tool, c.status]), [["search_pages", "completed"]]);
      assert.equal(text, "I look.One two ");
      assert.deepEqual(seen.during, { lifecycle: "Running", is_streaming: true });
      assert.deepEqual(seen.status, RUNNING);
      assert.deepEqual(seen.history.map((m) => [m.role, m.status]), [["user", "complete"], ["assistant", "interrupted"]]);
      assert.deepEqual(seen.after.slice(2), [["user", "complete", "Are you there?"], ["assistant", "complete", "Here again."]]);
      assert.match(seen.after[1][2], /I look\.[^]*One two/, "what had arrived stays");
      assert.deepEqual(route.violations, []);
      await route.requests[1].closed;
      assert.equal(route.requests[1].aborted, true, "the model's fetch was aborted");
    });

    scenario("12 start, stop, start: the harness is reusable", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("twelve");
        const states = [];
        for (const step of ["start", "stop", "start"]) { await agent[step](); states.push(await agent.status()); }
        return states;
      }, kind);
      assert.deepEqual(seen, [RUNNING, STOPPED, RUNNING]);
    });

    scenario("13 status while streaming", async (t) => {
      const mock = await t.mock(["A story that takes its time, word after word after word."], { slow: { ttft: 50, tps: 20 } });
      const page = await t.tab();
      const seen = await page.evaluate(async ([kind, base]) => {
        const agent = T.driver(kind);
        await agent.open("thirteen");
        await agent.start({ provider: T.anthropic(base) });
        const rec = T.record(document);
        await agent.send("Tell a story.");
        const accepted = await agent.status();
        await rec.chunk(2);
        const streaming = await agent.status();
        const { detail } = await rec.seen((e) => e.type === "agent:session-completed");
        const at = await agent.status();
        await rec.ended(detail.runId);
        return { accepted, streaming, at, runId: detail.runId, text: detail.text, events: rec.events, after: await agent.status() };
      }, [kind, mock.base]);
      assert.deepEqual(seen.accepted, { lifecycle: "Running", is_streaming: true });
      assert.deepEqual(seen.streaming, { lifecycle: "Running", is_streaming: true });
      assert.deepEqual(seen.at, RUNNING);
      assert.deepEqual(seen.after, RUNNING);
      const { text } = checkRun(seen.events, seen.runId);
      assert.equal(text, "A story that takes its time, word after word after word.");
      assert.equal(seen.text, text);
      const told = seen.events.filter((e) => e.type === "agent:status-changed").map((e) => e.detail.is_streaming);
      assert.deepEqual(told, [true, false]);
      assert.equal(mock.requests.length, 1);
      assert.equal(mock.requests[0].headers["x-api-key"] !== "", true);
    });

    scenario("14 clear the conversation", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("fourteen");
        await agent.start({ provider: offline() });
        await agent.clear();
        const untouched = await agent.status();
        const rec = T.record();
        await agent.send("Hello");
        await rec.ended();
        const before = (await agent.history()).length;
        await agent.clear();
        return { untouched, before, after: await agent.history(), status: await agent.status() };
      }, kind);
      assert.deepEqual(seen, { untouched: RUNNING, before: 2, after: [], status: RUNNING });
    });

    scenario("15 the history of an untouched workspace is empty", async (t) => {
      const page = await t.tab();
      const seen = await page.evaluate(async (kind) => {
        const agent = T.driver(kind);
        await agent.open("fifteen");
        const stopped = await agent.history();
        await agent.start();
        return { stopped, started: await agent.history() };
      }, kind);
      assert.deepEqual(seen, { stopped: [], started: [] });
    });
  }
}
