// Attacks that once went through, each in a page and in a worker. `firefox.mjs` has the same ones, and those of `limits.mjs` and of the
// tabs of `keys.mjs`.
import assert from "node:assert/strict";
import { search } from "../lib/secrets.mjs";
import { onBothHosts, open, openIn, start, STOPPED } from "../lib/tabs.mjs";
import { plain } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

export default function (test) {
  onBothHosts(test, attacks);
}

export function attacks(on) {
  patterns(on);
  escapes(on);
  questions(on);
  changes(on);
}

function patterns(on) {
  // The browser's own engine goes back for minutes and longer on each of these. What fails here is the time limit of the suite.
  const HOSTILE = ["^(\\p{L}+)*$", "^(([a-z])+.)+[A-Z]$", "^(?:a+a)+$", "^(a{1,30}){1,30}$", "^(a|a)*$", "^(a|aa)+$", "^(?:.|a)*x$", "^(?:a?){40}a{40}$", "^a*a*a*a*a*a*a*a*b$"];
  on("patterns that keep an engine busy decide long texts, and the agent can be stopped meanwhile", async (t, host) => {
    const page = await open(t, host);
    const seen = await page.evaluate(async (patterns) => {
      const inputSchema = (pattern) => ({ type: "object", properties: { a: { type: "string", pattern } }, patternProperties: { [pattern]: {} }, required: ["a"] });
      const text = "a".repeat(100_000);
      for (const [i, pattern] of patterns.entries()) ws.tools.register({ name: `t${i}`, description: "d", inputSchema: inputSchema(pattern), execute: () => "ran" });
      const texts = [text, `${text}!`, "a".repeat(50)];
      const results = [];
      for (const i of patterns.keys()) {
        const of = [];
        for (const a of texts) of.push((await T.settle(() => ws.tools.execute(`t${i}`, { a, [a]: 1 }))).error?.code ?? "ran");
        results.push(of);
      }
      // A model sends them too, and is stopped. Between its answers the page has a turn, as it has while a network is waited for.
      const provider = { kind: "custom", async *stream() {
        await T.turn();
        const call = (_, index) => ({ index, id: `c${index}`, type: "function", function: { name: `t${index}`, arguments: JSON.stringify({ a: `${text}!` }) } });
        yield { choices: [{ delta: { tool_calls: patterns.map(call) } }] };
        yield { choices: [{ delta: {}, finish_reason: "tool_calls" }] };
      } };
      await ws.startAgent({ provider });
      await ws.sendMessage("Go");
      await ws.stopAgent();
      return { results, status: ws.status() };
    }, HOSTILE);
    const [ran, no] = ["ran", "invalid_arguments"];
    assert.deepEqual(seen.results, [[ran, no, ran], [no, no, no], [ran, no, ran], [no, no, ran], [ran, no, ran], [ran, no, ran], [no, no, no], [no, no, ran], [no, no, no]]);
    assert.deepEqual(seen.status, STOPPED);
  });
}

function escapes(on) {
  on("a key that comes in the escapes of JSON is nowhere: in arguments, in what a tool says or throws, in an error of the provider", async (t, host) => {
    const key = "sk-ant-esc/Zq9+Xw7vT5rP3kJ1mN";
    const slashed = key.replaceAll("/", "\\/");
    const coded = [...key].map((sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
    const calls = [slashed, coded].flatMap((text) => [{ tool: "say", json: `{"text":"${text}"}` }, { tool: "fail", json: `{"${text}":"${text}"}` }]);
    const route = await t.raw(message(calls), message("Done."), plain(400, errorBody("invalid_request_error", "?").replace("?", coded)), plain(400, errorBody("invalid_request_error", "?").replace("?", slashed)));
    const page = await open(t, host);
    await page.evaluate((key) => {
      const register = (name, execute) => ws.tools.register({ name, description: "d", readOnly: true, inputSchema: { type: "object" }, execute });
      globalThis.ran = 0;
      register("say", () => { ran++; return { text: key, inner: JSON.stringify({ [key]: key }) }; });
      register("fail", () => { ran++; throw new Error(`cannot ${JSON.stringify(key)}`); });
    }, key);
    await start(page, route.base, { provider: { kind: "anthropic", apiKey: key, baseUrl: route.base } });
    const { codes, places } = await page.evaluate(async () => {
      const codes = [];
      for (const text of ["Go", "And?", "And now?"]) codes.push((await T.settle(() => ws.run(text))).error?.code);
      await ws.close();
      const entries = (await T.dump("shared")).entries.map(([, row]) => (typeof row === "string" ? row : String.fromCharCode(...row)));
      return { codes, places: { entries: entries.join("\n"), events: JSON.stringify(rec.events), view: JSON.stringify(view.getSnapshot()) } };
    });
    assert.deepEqual([codes, await page.evaluate(() => ran)], [[undefined, "invalid_request", "invalid_request"], 4]);
    places.requests = route.requests.slice(1).map(({ text }) => text).join("\n");
    for (const [place, text] of Object.entries(places)) assert.match(text, /REDACTED/, `${place} says that something was there`);
    assert.deepEqual(search({ key }, places), []);
  });
}

function questions(on) {
  for (const [title, end, ending] of [["its run is interrupted", "interrupt", "Running"], ["the agent is stopped", "stopAgent", "Stopped"]]) {
    on(`a question that waits while ${title} is told as withdrawn, and nothing runs`, async (t, host) => {
      const page = await open(t, host);
      const seen = await page.evaluate(async (end) => {
        let ran = 0;
        ws.tools.register({ name: "post", description: "Posts.", destructive: true, inputSchema: { type: "object" }, execute: () => ++ran });
        const call = { choices: [{ delta: { tool_calls: [{ index: 0, id: "c", function: { name: "post", arguments: "{}" } }] } }] };
        await ws.startAgent({ provider: { kind: "custom", stream: () => [call] } });
        const own = T.record(ws, ws);
        const run = await ws.sendMessage("Post.");
        const { detail: { requestId } } = await own.seen(({ type }) => type === "agent:permission-required");
        await ws[end]();
        const { outcome } = await run.result;
        await own.seen(({ type }) => type === "agent:permission-resolved");
        const late = await T.refused(() => ws.resolvePermission(requestId, "allow_once"));
        await T.turn();
        const told = own.events.filter(({ type }) => type.startsWith("agent:permission")).map(({ type, detail, status }) => [type, detail.requestId === requestId, detail.answer ?? status.lifecycle]);
        return { outcome, late: late.code, told, left: view.getSnapshot().permissions, lifecycle: ws.status().lifecycle, ran };
      }, end);
      const told = [["agent:permission-required", true, "Suspended"], ["agent:permission-resolved", true, "withdrawn"]];
      assert.deepEqual(seen, { outcome: "interrupted", late: seen.late, told, left: [], lifecycle: ending, ran: 0 });
      assert.ok(["request_not_found", "not_running"].includes(seen.late), seen.late);
    });
  }
}

function changes(on) {
  for (const [what, has, edit] of [
    ["a row was changed", "Hi there", (row) => row.replace("Hi there", "Ho there")],
    // The last line of a row with an event.
    ["an event lost its signature", '"what":"end"}', (row) => row.split("\n").slice(0, 4).join("\n")],
    ["an event got a signature that is none", '"what":"end"}', (row) => row.split("\n").with(4, "nonsense").join("\n")],
  ]) {
    on(`a session of which ${what} stays tampered, whatever else is tried with it than looking`, async (t, host) => {
      const route = await t.raw(message("Done."));
      const page = await open(t, host);
      await start(page, route.base);
      await page.evaluate(async ([has, edit]) => {
        await ws.sessions.launch({ id: "a" });
        await ws.run("Hi there.", { sessionId: "a" });
        await ws.close();
        await T.harm("shared", "a", has, (0, eval)(edit));
      }, [has, String(edit)]);
      await openIn(page, host);
      await start(page, route.base);
      const seen = await page.evaluate(async () => {
        const s = ws.sessions;
        const verdicts = [(await s.verify("a")).hmac_status];
        const codes = [];
        for (const attempt of [() => s.rename("a", "B"), () => s.prompt("a", "More."), () => ws.run("More.", { sessionId: "a" }), () => s.fork("a"), () => s.stop("a")]) {
          codes.push((await T.settle(attempt)).error?.code);
          verdicts.push((await s.status("a")).hmac_status, (await s.list({ withVerification: true })).find(({ session }) => session.id === "a").hmac_status);
        }
        return { verdicts, codes };
      });
      assert.deepEqual(seen, { verdicts: Array(11).fill("tampered"), codes: Array(5).fill("corrupt") });
      assert.equal(route.requests.length, 1, "nothing was sent");
    });
  }
}
