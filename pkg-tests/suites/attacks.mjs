// Attacks that once went through, each in a page and in a worker. `firefox.mjs` has the same ones, and those of `limits.mjs` and of the
// tabs of `keys.mjs`.
import assert from "node:assert/strict";
import { search } from "../lib/secrets.mjs";
import { onBothHosts, open, openIn, start, STOPPED } from "../lib/tabs.mjs";
import { plain, stream } from "../servers/raw.mjs";
import { errorBody, event, message } from "../servers/sse.mjs";

export default function (test) {
  onBothHosts(test, attacks);
}

export function attacks(on) {
  patterns(on);
  escapes(on);
  questions(on);
  changes(on);
  forgeries(on);
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
    const calls = [slashed, coded].flatMap((text) => [{ tool: "say", json: `{"text":"${text}","body":${JSON.stringify(`{"k":"${text}"}`)}}` }, { tool: "fail", json: `{"${text}":"${text}"}` }, { tool: "print", args: {} }]);
    const route = await t.raw(message(calls), message("Done."), plain(400, errorBody("invalid_request_error", "?").replace("?", coded)), plain(400, errorBody("invalid_request_error", "?").replace("?", slashed)));
    const page = await open(t, host);
    await page.evaluate(([key, ...written]) => {
      const register = (name, execute) => ws.tools.register({ name, description: "d", readOnly: true, inputSchema: { type: "object" }, execute });
      globalThis.ran = 0;
      register("say", () => { ran++; return { text: key, inner: JSON.stringify({ [key]: key }), written: written.map((text) => ({ k: text, [text]: 1 })) }; });
      register("print", () => { ran++; return written.map((text) => `{"k":"${text}"}`).join("\n"); });
      register("fail", () => { ran++; throw new Error(`cannot ${JSON.stringify(key)}, ${written.join(", ")}`); });
    }, [key, slashed, coded]);
    await start(page, route.base, { provider: { kind: "anthropic", apiKey: key, baseUrl: route.base } });
    const { codes, places } = await page.evaluate(async () => {
      const codes = [];
      for (const text of ["Go", "And?", "And now?"]) codes.push((await T.settle(() => ws.run(text))).error?.code);
      await ws.close();
      const entries = (await T.dump("shared")).entries.map(([, row]) => (typeof row === "string" ? row : String.fromCharCode(...row)));
      return { codes, places: { entries: entries.join("\n"), events: JSON.stringify(rec.events), view: JSON.stringify(view.getSnapshot()) } };
    });
    assert.deepEqual([codes, await page.evaluate(() => ran)], [[undefined, "invalid_request", "invalid_request"], 6]);
    places.requests = route.requests.slice(1).map(({ text }) => text).join("\n");
    for (const [place, text] of Object.entries(places)) assert.match(text, /REDACTED/, `${place} says that something was there`);
    // What a text says may stand in it with an escape more, and a key in that with two.
    for (const [place, text] of Object.entries(places)) for (let deep = 1; deep < 4; deep++) places[`${place}, read ${deep} times`] = text.replaceAll("\\".repeat(2 ** deep), "\\");
    assert.deepEqual(search({ key }, places), []);
  });

  on("of a key that a provider quotes in an error without its middle, parts of twelve characters and more are nowhere", async (t, host) => {
    const [whole, long, exact, short] = ["sk-ant-7Hq2Vx9LmT4wZc8RkP3jYd6N", "sk-ant-7Hq2Vx9LmT", "T4wZc8RkP3jY", "c8RkP3jYd6N"];
    const said = `This key is no good: ${long}***${exact}***${short}`;
    const fault = (status) => plain(status, errorBody("invalid_request_error", said));
    const route = await t.raw(fault(400), fault(401), stream(message("Half").slice(0, 3), event({ type: "error", error: { type: "invalid_request_error", message: said } })));
    const page = await open(t, host);
    await start(page, route.base, { provider: { kind: "anthropic", apiKey: whole, baseUrl: route.base } });
    const { errors, places } = await page.evaluate(async () => {
      const errors = [];
      for (const text of ["One", "Two", "Three"]) errors.push((await (await ws.sendMessage(text)).result).error);
      const places = { results: JSON.stringify(errors), history: JSON.stringify(await ws.history()), journal: JSON.stringify(await ws.sessions.journal("default")), events: JSON.stringify(rec.events), view: JSON.stringify(view.getSnapshot()), file: await (await ws.sessions.export("default")).text() };
      await ws.close();
      places.rows = Object.values(await T.dump("shared")).flat().map(([, row]) => (typeof row === "string" ? row : "")).join("\n");
      return { errors, places };
    });
    assert.deepEqual(errors.map(({ code }) => code), ["invalid_request", "auth", "invalid_request"]);
    for (const [place, text] of Object.entries(places)) {
      // Less than that may be anything, and shows that the words came here.
      assert.ok(text.includes(`This key is no good: [REDACTED]***[REDACTED]***${short}`), `${place}: ${text}`);
      for (let at = 0; at + 12 <= whole.length; at++) assert.ok(!text.includes(whole.slice(at, at + 12)), `${place} has ${whole.slice(at, at + 12)}`);
    }
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

/** What somebody does to the row with the end of a run. Its last line is the signature of the event that it is, and which key has made it. */
const END = '"what":"end"}';
const signed = (edit) => [END, `(row) => { const lines = row.split("\\n"); const [digits, key] = lines[4].split(" "); return (${edit})(lines, digits, key).join("\\n"); }`];
/** The same in a session that came in a file, to whose end it was done here. */
const inFile = (edit) => [...signed(edit), "a file"];
const CHANGES = [
  ["a row was changed", "Hi there", '(row) => row.replace("Hi there", "Ho there")'],
  ["an event lost its signature", ...signed("(lines) => lines.slice(0, 4)")],
  ["an event got a signature that is none", ...signed('(lines) => lines.with(4, "nonsense")')],
  ["an event got an empty signature", ...signed('(lines) => lines.with(4, "")')],
  ["an event got a signature of another text", ...signed('(lines, digits, key) => lines.with(4, `${digits.replace(/./g, (digit) => (digit === "0" ? "1" : "0"))} ${key}`)')],
  ["an event got the signature of a key that nobody here has", ...signed('(lines, digits, key) => lines.with(4, `${digits} ${key.replace(/./g, (digit) => (digit === "0" ? "1" : "0"))}`)')],
  ["an event that was made here lost its signature, and the rest came in a file,", ...inFile("(lines) => lines.slice(0, 4)")],
  ["an event that was made here got an empty signature, and the rest came in a file,", ...inFile('(lines) => lines.with(4, "")')],
  ["an event that was made here got a signature that is none, and the rest came in a file,", ...inFile('(lines) => lines.with(4, "nonsense")')],
];
/** What a session is worth that was launched, or that came so. */
const worth = (from) => (from ? "unverifiable" : "verified");

/** A page with sessions that have worked, the first one of which is `a`. In each was then done what its place in the list says; the agent runs again. */
async function changed(t, host, route, edits) {
  const page = await open(t, host);
  await start(page, route.base);
  const was = await page.evaluate(async (edits) => {
    globalThis.ids = edits.map((_, at) => String.fromCharCode(97 + at));
    const was = [];
    for (const [at, id] of ids.entries()) {
      if (edits[at][2]) await ws.sessions.import(await T.elsewhere(id));
      else await ws.sessions.launch({ id });
      await ws.run("Hi there.", { sessionId: id });
      was.push((await ws.sessions.verify(id)).hmac_status);
    }
    await ws.close();
    for (const [at, [has, edit]] of edits.entries()) {
      await T.harm("shared", ids[at], has, (row) => {
        const harmed = (0, eval)(edit)(row);
        if (harmed === row) throw new Error(`this changes nothing: ${row}`);
        return harmed;
      });
    }
    return was;
  }, edits);
  assert.deepEqual(was, edits.map(([, , from]) => worth(from)), "before that it is what was written");
  await openIn(page, host);
  await start(page, route.base);
  await page.evaluate(() => {
    globalThis.s = ws.sessions;
    globalThis.verdictOf = async (id) => (await s.list({ withVerification: true })).find(({ session }) => session.id === id)?.hmac_status ?? "not listed";
  });
  return page;
}

function changes(on) {
  for (const [what, ...edit] of CHANGES) {
    on(`a session of which ${what} stays tampered, whatever else is tried with it than looking; it is salvaged and removed`, async (t, host) => {
      const route = await t.raw(message("Done."), message("Again."));
      const page = await changed(t, host, route, [edit]);
      const seen = await page.evaluate(async () => {
        const verdicts = [(await s.verify("a")).hmac_status];
        const codes = [];
        for (const attempt of [
          () => s.rename("a", "B"), () => s.prompt("a", "More."), () => ws.run("More.", { sessionId: "a" }), () => s.fork("a"), () => s.stop("a"),
          () => ws.clearConversation("a"), () => s.archive("a"), () => s.restart("a"), () => s.bench("a"), () => ws.regenerate(undefined, { sessionId: "a" }),
        ]) {
          codes.push((await T.settle(attempt)).error?.code);
          verdicts.push((await s.status("a")).hmac_status, await verdictOf("a"));
        }
        return { verdicts, codes };
      });
      assert.deepEqual(seen, { verdicts: Array(21).fill("tampered"), codes: Array(10).fill("corrupt") });
      assert.equal(route.requests.length, 1, "nothing was sent");
      const out = await page.evaluate(async () => {
        const looks = [(await ws.history({ sessionId: "a" })).length, (await s.journal("a")).length].map((count) => count > 0);
        looks.push((await (await s.export("a")).text()).includes("Done."));
        const { id } = await s.salvage("a");
        const verdicts = [await verdictOf("a"), (await s.verify("a")).hmac_status];
        const { text } = await ws.run("More.", { sessionId: id });
        await s.remove("a");
        return { looks, verdicts, salvaged: [id, text, await verdictOf(id)], removed: [await verdictOf("a"), (await T.refused(() => s.status("a"))).code] };
      });
      assert.deepEqual(out, { looks: [true, true, true], verdicts: ["tampered", "tampered"], salvaged: ["a-2", "Again.", worth(edit[2])], removed: ["not listed", "session_not_found"] });
    });
  }

  on("a session whose rows are again what was written stays tampered until all of them are read", async (t, host) => {
    const route = await t.raw(message("Done."), message("Again."));
    const page = await changed(t, host, route, [CHANGES[0].slice(1)]);
    const found = await page.evaluate(async () => {
      const found = (await s.verify("a")).hmac_status;
      await ws.close();
      await T.harm("shared", "a", "Ho there", (row) => row.replace("Ho there", "Hi there"));
      return found;
    });
    await openIn(page, host);
    await start(page, route.base);
    const seen = await page.evaluate(async () => {
      const tried = async () => (await T.settle(() => ws.run("More.", { sessionId: "a" }))).error?.code ?? "done";
      return [await tried(), (await ws.sessions.verify("a")).hmac_status, await tried()];
    });
    assert.deepEqual([found, ...seen], ["tampered", "corrupt", "verified", "done"]);
  });

  on("a session that was changed takes no prompt, also where nobody has asked what it is", async (t, host) => {
    const route = await t.raw(() => message("Done."));
    const page = await changed(t, host, route, CHANGES.map(([, ...edit]) => edit));
    const seen = await page.evaluate(async () => {
      const seen = [];
      for (const id of ids) seen.push([(await T.settle(() => s.prompt(id, "More."))).error?.code, await verdictOf(id), (await s.verify(id)).hmac_status]);
      await s.launch({ id: "whole" });
      return { seen, whole: (await ws.run("Hi.", { sessionId: "whole" })).outcome };
    });
    assert.deepEqual(seen, { seen: CHANGES.map(() => ["corrupt", "tampered", "tampered"]), whole: "completed" });
    assert.equal(route.requests.length, CHANGES.length + 1, "nothing was sent for them");
  });

  on("the status of a session that was changed says so, and so do lists from then on", async (t, host) => {
    const route = await t.raw(() => message("Done."));
    const page = await changed(t, host, route, CHANGES.map(([, ...edit]) => edit));
    const seen = await page.evaluate(async () => {
      const statuses = [];
      for (const id of ids) statuses.push((await s.status(id)).hmac_status);
      return { statuses, listed: (await s.list({ withVerification: true })).map(({ session, hmac_status }) => `${session.id} ${hmac_status}`).sort() };
    });
    assert.deepEqual(seen, { statuses: CHANGES.map(() => "tampered"), listed: CHANGES.map((_, at) => `${String.fromCharCode(97 + at)} tampered`).concat("default verified").sort() });
  });
}

/** In the page, without an agent: the answer of session `a` says something else, no event is signed, and what needs no key is made anew. */
const forge = async ([id, signature]) => {
  const digest = async (text) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const { entries, heads } = await T.dump("shared");
  const own = entries.filter(([key]) => key[0] === id && typeof key[1] === "number" && key.length === 2).sort(([a], [b]) => a[1] - b[1]);
  let [before, was] = ["", ""];
  for (const [key, row] of own) {
    const [header, content, , hash] = row.split("\n");
    const said = content.replaceAll("Done.", "FORGED.");
    const sum = await digest(said);
    [was, before] = [hash, await digest([before, header, sum].join("\n"))];
    await T.put("shared", "entries", key, [header, said, sum, before].join("\n"));
  }
  const [key, head] = heads.find(([key]) => key[0] === id);
  const text = head.split("\n")[0].replaceAll("Done.", "FORGED.").replaceAll(was, before);
  if (!text.includes(before)) throw new Error(`its head does not say where it ends: ${head}`);
  await T.put("shared", "heads", key, signature === undefined ? text : `${text}\n${signature}`);
};

function forgeries(on) {
  for (const [what, signature] of [["none", undefined], ["one of an unknown key", `${"ab".repeat(32)} 99999999`]]) {
    on(`a forged session without signatures, whose head has ${what}, is tampered with, and nothing of it is sent`, async (t, host) => {
      const route = await t.raw(() => message("Done."));
      const page = await changed(t, host, route, []);
      const seen = await page.evaluate(async ([forge, signature]) => {
        await s.launch({ id: "a" });
        await ws.run("Hi there.", { sessionId: "a" });
        await ws.close();
        await (0, eval)(forge)(["a", signature]);
      }, [forge.toString(), signature]);
      assert.equal(seen, undefined);
      await openIn(page, host);
      const before = route.requests.length;
      const refused = await page.evaluate(async () => {
        const verdicts = async () => [(await ws.sessions.list({ withVerification: true })).find(({ session }) => session.id === "a").hmac_status, (await ws.sessions.status("a")).hmac_status];
        const all = await verdicts();
        const codes = [];
        for (const attempt of [() => ws.sessions.rename("a", "B"), () => ws.sessions.fork("a"), () => ws.sessions.archive("a")]) codes.push((await T.settle(attempt)).error?.code);
        return { verdicts: [...all, ...(await verdicts()), (await ws.sessions.verify("a")).hmac_status], codes };
      });
      await start(page, route.base);
      const prompted = await page.evaluate(async () => (await T.settle(() => ws.run("More.", { sessionId: "a" }))).error?.code);
      assert.deepEqual({ ...refused, prompted }, { verdicts: Array(5).fill("tampered"), codes: Array(3).fill("corrupt"), prompted: "corrupt" });
      assert.equal(route.requests.length, before, "nothing was sent");
    });
  }

  on("a workspace whose key is lost locks nobody out: its sessions are unverifiable, and go on", async (t, host) => {
    const route = await t.raw(() => message("Done."));
    const page = await changed(t, host, route, []);
    await page.evaluate(async () => {
      await s.launch({ id: "a" });
      await ws.run("Hi there.", { sessionId: "a" });
      await ws.close();
      const db = await T.database("shared");
      const tx = db.transaction("vault", "readwrite");
      tx.objectStore("vault").delete(1);
      await T.done(tx);
      db.close();
    });
    for (const outcome of ["unverifiable", "unverifiable"]) {
      await openIn(page, host);
      await start(page, route.base);
      const seen = await page.evaluate(async () => {
        const { hmac_status } = await ws.sessions.status("a");
        const { outcome } = await ws.run("More.", { sessionId: "a" });
        const { id } = await ws.sessions.fork("a");
        await ws.sessions.launch({ id: `new${Math.random()}` });
        await ws.close();
        return { hmac_status, outcome, forked: typeof id };
      });
      assert.deepEqual(seen, { hmac_status: outcome, outcome: "completed", forked: "string" });
    }
  });
}
