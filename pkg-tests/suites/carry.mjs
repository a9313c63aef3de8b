// Sessions in files: taken from one browser to another, run again, forked, read by people, and what is no such file.
import assert from "node:assert/strict";
import { search } from "../lib/secrets.mjs";
import { onBothHosts } from "../lib/tabs.mjs";
import { plain } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

const ANN = { subject: "ann", issuer: "https://login.example" };
const BEA = { subject: "bea" };

export default function (test) {
  onBothHosts(test, first, made, busy);
  along(test);
  people(test);
  page(test);
  replays(test);
  forks(test);
  hostile(test);
  secrecy(test);
  large(test);
}

const begin = (page, { base, operator = ANN, name = "desk", host = "page" } = {}) => page.evaluate(async ([base, operator, name, host]) => {
  globalThis.ws = await lodger.openWorkspace(name, { operator, host });
  globalThis.s = ws.sessions;
  globalThis.code = (promise) => promise.then(() => null, ({ code, message }) => ({ code, message }));
  globalThis.says = async (id, input) => T.plain(await ws.wait((await s.prompt(id, input)).runId));
  globalThis.textsOf = async (sessionId) => (await ws.history({ sessionId })).map((m) => m.parts.at(-1)?.text);
  globalThis.linesOf = async (blob) => (await blob.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  // A PNG that is larger than a line of a file.
  globalThis.png = () => new File([Uint8Array.of(0x89, 80, 78, 71, 13, 10, 26, 10), new Uint8Array(1_500_001).map((_, at) => (at * 7919) >> 3)], "a.png", { type: "image/png" });
  globalThis.hashOf = async (blob) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()))].join();
  if (base) await ws.startAgent({ provider: T.anthropic(base) });
}, [base, operator, name, host]);

/** A tab with a session "docs" that has worked: a file, a tool call, two answers. */
const worked = (t, ...more) => workedOn(t, "page", ...more);
async function workedOn(t, host, ...more) {
  const route = await t.raw(message("A dot."), message({ tool: "get_weather", args: { city: "Bern" } }), message("18 degrees."), ...more);
  const page = await t.tab();
  await begin(page, { base: route.base, host });
  await page.evaluate(async () => {
    T.weather(ws);
    await s.launch({ id: "docs", displayName: "Docs bot" });
    await says("docs", { text: "What is it?", files: [png()] });
    await says("docs", "And the weather?");
  });
  return { page, route };
}

export function first(on) {
  on("a file of the first session comes into a workspace where no agent ever ran, under an id of its own", async (t, host) => {
    const route = await t.raw(message("There."), message("Mine."), message("More."));
    const page = await t.tab();
    await begin(page, { base: route.base, host });
    const seen = await page.evaluate(async ([base, host]) => {
      await ws.run("Hello.");
      const file = await s.export("default");
      await lodger.deleteWorkspace("desk");
      globalThis.ws = await lodger.openWorkspace("fresh", { operator: { subject: "ann", issuer: "https://login.example" }, host });
      globalThis.s = ws.sessions;
      const ids = [(await s.import(file)).id, (await s.import(file)).id];
      const before = await textsOf("default");
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("Who am I?");
      await says("default-2", "Go on.");
      return T.plain({ ids, before, own: await textsOf("default"), copy: await textsOf("default-2"), other: await textsOf("default-3"), verified: (await s.verify("default-2")).hmac_status });
    }, [route.base, host]);
    assert.deepEqual(seen, { ids: ["default-2", "default-3"], before: [], own: ["Who am I?", "Mine."], copy: ["Hello.", "There.", "Go on.", "More."], other: ["Hello.", "There."], verified: "unverifiable" });
  });
}

function along(test) {
  test("a session goes out, its workspace is deleted, and it comes in again with all that it was", async (t) => {
    const { page, route } = await worked(t, message("Again."));
    const seen = await page.evaluate(async () => {
      const file = await s.export("docs");
      const before = { texts: await textsOf("docs"), receipts: await s.receipts("docs"), handoffs: await s.handoffs("docs"), events: await s.events("docs"), journal: await s.journal("docs") };
      await lodger.deleteWorkspace("desk");
      globalThis.file = file;
      return T.plain({ before, lines: (await linesOf(file)).map((line) => Object.keys(line)[0]), type: file.type });
    });
    assert.equal(seen.type, "application/x-ndjson");
    assert.deepEqual([seen.lines[0], seen.lines.at(-1)], ["lodger", "end"]);
    assert.deepEqual(seen.lines.filter((kind) => ["file", "bytes"].includes(kind)), ["file", "bytes", "bytes"]);
    await begin(page, { operator: BEA });
    const cold = await page.evaluate(async () => {
      const before = await s.list();
      const state = await s.import(file);
      const part = (await ws.history({ sessionId: "docs" }))[0].parts[0];
      return T.plain({ before, state, texts: await textsOf("docs"), same: (await hashOf(await ws.file(part.fileId))) === (await hashOf(png())), receipts: await s.receipts("docs"), handoffs: await s.handoffs("docs"), events: await s.events("docs"), journal: await s.journal("docs"), status: await s.status("docs"), list: (await s.list()).map((one) => one.id) });
    });
    assert.deepEqual(cold.before, []);
    assert.deepEqual([cold.state.id, cold.state.operator_subject, cold.state.display_name, cold.state.status], ["docs", "bea", "Docs bot", "idle"]);
    assert.deepEqual([cold.list, cold.same, cold.texts], [["docs"], true, seen.before.texts]);
    assert.deepEqual([cold.receipts, cold.handoffs], [seen.before.receipts, seen.before.handoffs]);
    assert.deepEqual(cold.journal.slice(0, seen.before.journal.length), seen.before.journal);
    // The old key is gone with its workspace: what it has signed, nobody can judge.
    assert.equal(cold.status.hmac_status, "unverifiable");
    assert.deepEqual(cold.events.slice(0, -1).map((e) => e.receipt_hmac), seen.before.events.map((e) => e.receipt_hmac), "rows keep their signatures");
    assert.deepEqual([cold.events.at(-1).event_type, cold.events.at(-1).metadata.from_session_id], ["imported", "docs"]);
    const warm = await page.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base) });
      const waited = await says("docs", "Once more.");
      return T.plain({ waited, status: await s.status("docs"), texts: await textsOf("docs") });
    }, route.base);
    assert.deepEqual([warm.waited.outcome, warm.status.hmac_status, warm.texts.at(-1)], ["completed", "unverifiable", "Again."]);
    const { messages } = route.requests.at(-1).json;
    assert.deepEqual(messages.map((m) => m.role), ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    assert.equal(messages[0].content[0].type, "image", "the model is sent the file");
  });

  test("where its id is taken it gets a number, and what this key has signed is verified", async (t) => {
    const { page } = await worked(t);
    const seen = await page.evaluate(async () => {
      const file = await s.export("docs");
      const [second, third] = await Promise.all([s.import(file), ws.invoke("session_import", { file: await ws.invoke("session_export", { id: "docs" }) })]);
      await ws.stopAgent();
      const fourth = await s.import(new File([file], "docs.lodger.jsonl"));
      const verified = await Promise.all(["docs-2", "docs-3", "docs-4"].map(async (id) => (await s.status(id)).hmac_status));
      return T.plain({ ids: [second.id, third.id, fourth.id], verified, texts: await textsOf("docs-4"), list: (await s.list()).map((one) => one.id).sort() });
    });
    assert.deepEqual(seen.ids, ["docs-2", "docs-3", "docs-4"]);
    assert.deepEqual(seen.verified, ["verified", "verified", "verified"]);
    assert.deepEqual([seen.texts.at(-1), seen.list], ["18 degrees.", ["default", "docs", "docs-2", "docs-3", "docs-4"]]);
  });

  test("what one workspace in memory has signed is unverifiable in another", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const [one, other] = await Promise.all(["one", "other"].map((name) => lodger.openWorkspace(name, { storage: "memory", target: null })));
      await one.startAgent({ provider: { kind: "custom", stream: async function* () {} } });
      await one.sessions.launch({ id: "docs" });
      await one.stopAgent();
      const file = await one.sessions.export("docs");
      const statuses = [];
      for (const ws of [one, other]) {
        const { id } = await ws.sessions.import(file);
        statuses.push([id, (await ws.sessions.status(id)).hmac_status]);
      }
      return T.plain(statuses);
    });
    assert.deepEqual(seen, [["docs-2", "verified"], ["docs", "unverifiable"]]);
  });

  test("a page that goes away while a session comes in leaves nothing of it", async (t) => {
    const { page, route } = await worked(t);
    await page.evaluate(async () => { globalThis.text = await (await s.export("docs")).text(); await ws.stopAgent(); });
    const text = await page.evaluate(() => text);
    const other = await t.tab();
    await begin(other, { operator: BEA, name: "there" });
    // The second reading of the file never ends.
    await other.evaluate((text) => new Promise((resolve) => {
      const file = new Blob([text]);
      let reads = 0;
      const stream = file.stream.bind(file);
      file.stream = () => {
        if (++reads === 1) return stream();
        const rows = text.split("\n").slice(0, 8).join("\n") + "\n";
        return new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode(rows + " ".repeat(2 ** 20))), pull: () => { resolve(); return new Promise(() => {}); } });
      };
      s.import(file);
    }), text);
    await other.reload();
    await t.ready(other);
    await begin(other, { operator: BEA, name: "there", base: route.base });
    const seen = await other.evaluate(async (text) => T.plain({ list: (await s.list()).map((one) => one.id), gone: (await code(s.status("docs"))).code, state: await s.import(new Blob([text])) }), text);
    assert.deepEqual([seen.list, seen.gone, seen.state.id], [["default"], "session_not_found", "docs"]);
  });
}

function people(test) {
  test("transcripts for people: Markdown and JSON", async (t) => {
    const { page } = await worked(t);
    const seen = await page.evaluate(async () => {
      const [markdown, json] = await Promise.all(["markdown", "json"].map((format) => s.export("docs", { format })));
      return T.plain({ types: [markdown.type, json.type], markdown: await markdown.text(), json: JSON.parse(await json.text()), wrong: [await code(s.export("docs", { format: "pdf" })), await code(s.export("docs", { fromat: "json" })), await code(s.export("nobody"))] });
    });
    assert.deepEqual(seen.types, ["text/markdown", "application/json"]);
    for (const words of ["# Docs bot", "- Operator: ann", "## Person", "What is it?", "File: a.png (image/png, 1500009 bytes)", "## Assistant", "A dot.", "Tool call: get\\_weather (completed)", "18 °C in Bern", "18 degrees."]) {
      assert.ok(seen.markdown.includes(words), `${words} in ${seen.markdown}`);
    }
    assert.deepEqual([seen.json.session.id, seen.json.messages.length], ["docs", 4]);
    assert.deepEqual(seen.wrong.map(({ code }) => code), ["invalid_arguments", "invalid_arguments", "session_not_found"]);
  });
}

/** What would run or call out in a page that took it for markup. */
const MARKUP = `</title><script>globalThis.ran = 1</script><img src=x onerror="globalThis.ran = 2"><iframe src="javascript:parent.ran = 3"></iframe><svg onload="globalThis.ran = 4"><a href="javascript:globalThis.ran = 5">go</a>`;

function page(test) {
  test("a conversation as a page of HTML shows what was said, and runs and fetches nothing", async (t) => {
    const route = await t.raw(message(MARKUP), message(`\`\`\`js\n${MARKUP}\n\`\`\``));
    const tab = await t.tab();
    await begin(tab, { base: route.base });
    const html = await tab.evaluate(async (markup) => {
      await s.launch({ id: "docs", displayName: "A <b>name</b>" });
      const canvas = new OffscreenCanvas(2, 3);
      canvas.getContext("2d").fillRect(0, 0, 2, 3);
      const dot = await canvas.convertToBlob({ type: "image/png" });
      await says("docs", { text: markup, files: [new File([dot], "dot.png", { type: "image/png" }), new File([markup], 'x" onclick="ran = 6.html', { type: "text/html" })] });
      await says("docs", "And in a block?");
      return (await s.export("docs", { format: "html" })).text();
    }, MARKUP);
    const at = t.env.site.serve("/shared-conversation.html", html, {});
    const shown = await t.tab({ path: "/blank.html", wait: false });
    await shown.goto("about:blank");
    const asked = [];
    shown.on("request", (request) => { if (!request.url().startsWith("data:")) asked.push(new URL(request.url()).pathname); });
    await shown.goto(t.env.site.url + at);
    await shown.waitForLoadState("networkidle");
    const seen = await shown.evaluate(() => {
      for (const link of document.querySelectorAll("a:not([download])")) link.click();
      return { ran: globalThis.ran ?? null, title: document.title, heading: document.querySelector("h1").textContent, texts: [...document.querySelectorAll(".text, article > pre")].map((one) => one.textContent.trim()), live: document.querySelectorAll("script, iframe, svg, [onerror], [onload], [onclick]").length, picture: document.querySelector("img").naturalWidth > 0 && document.querySelector("img").src.slice(0, 15), links: [...document.querySelectorAll("a")].map((link) => [link.download, link.href.slice(0, 37)]) };
    });
    assert.deepEqual(seen, {
      ran: null, title: "A <b>name</b>", heading: "A <b>name</b>", texts: [MARKUP, MARKUP, "And in a block?", MARKUP], live: 0, picture: "data:image/png;", links: [['x" onclick="ran = 6.html', "data:application/octet-stream;base64,"]],
    });
    assert.deepEqual(asked.filter((path) => path !== "/favicon.ico"), ["/shared-conversation.html"]);
  });
}

function replays(test) {
  test("a file is run again: the same, or the first difference", async (t) => {
    const { page } = await worked(t);
    const seen = await page.evaluate(async () => {
      const file = await s.export("docs");
      const same = await s.replay(file);
      await s.import(file);
      const copy = await s.replay(await s.export("docs-2"));
      // A journal that somebody has written: its hashes are right, and nobody has decided so.
      const text = await file.text();
      const hash = async (text) => btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))))).slice(0, 43);
      let before = "";
      const forged = [];
      for (const line of text.trimEnd().split("\n")) {
        if (!line.startsWith('{"row"')) { forged.push(line); continue; }
        const [, row, entry] = /^\{"row":(.*?),"entry":(.*),"contentHash":/.exec(line);
        const content = entry.replace('"outcome":"completed"', '"outcome":"failed"');
        const contentHash = await hash(content);
        before = await hash(`${before}\n${row}\n${contentHash}`);
        forged.push(`{"row":${row},"entry":${content},"contentHash":"${contentHash}","hash":"${before}"}`);
      }
      const other = await s.replay(new Blob([forged.join("\n")]));
      return T.plain({ same, copy, other, list: (await s.list()).length });
    });
    assert.equal(seen.same.same, true);
    assert.match(seen.same.package, /^\d+\.\d+\.\d+$/);
    assert.equal(seen.copy.same, true);
    assert.equal(seen.other.same, false);
    const { stored, made, seq } = seen.other.firstDifference;
    assert.deepEqual([stored.entry.outcome, made.entry.outcome, stored.row.kind, stored.row.seq], ["failed", "completed", "ended", seq]);
    assert.equal(seen.list, 3);
  });
}

export function busy(on) {
  on("a file that would keep its reader busy is corrupt when it is run again, and all goes on", async (t, host) => {
    const page = await t.tab();
    const seen = await page.evaluate(async (host) => {
      const ws = await lodger.openWorkspace("busy", { host, pageTools: false, limits: { callsPerAnswer: 2_000 } });
      // Each row needs a look at all calls of its answer, and at the tools, to decide what comes next.
      for (let n = 0; n < 640; n++) ws.tools.register({ name: `tool_${n}`, description: "d", inputSchema: { type: "object", required: ["to"] }, execute: () => "never" });
      let count;
      async function* stream({ messages }) {
        if (messages.at(-1).role === "tool") yield "Done.";
        else yield { choices: [{ delta: { tool_calls: Array.from({ length: count }, (_, index) => ({ index, id: `call_${index}`, function: { name: "tool_0", arguments: "{}" } })) } }] };
      }
      await ws.startAgent({ provider: { kind: "custom", stream } });
      const file = async (id, calls) => {
        count = calls;
        await ws.sessions.launch({ id });
        await ws.run("Go", { sessionId: id });
        return ws.sessions.export(id);
      };
      const [common, hostile] = [await file("common", 100), await file("hostile", 1_200)];
      const before = await T.settle(() => ws.sessions.replay(common));
      // Two at once, with another command between them.
      const all = [T.settle(() => ws.sessions.replay(hostile)), ws.sessions.list(), T.settle(() => ws.sessions.replay(hostile))];
      const [first, list, second] = await Promise.all(all);
      const error = await T.refused(() => ws.sessions.replay(hostile));
      count = 1;
      return T.plain({ before, first, list: list.length, second, error, after: await T.settle(() => ws.sessions.replay(common)), text: (await ws.run("Still there?", { sessionId: "hostile" })).text });
    }, host);
    assert.deepEqual([seen.before.value?.same, seen.after.value?.same, seen.list, seen.text], [true, true, 3, "Done."]);
    assert.deepEqual([seen.first.error?.code, seen.second.error?.code, seen.error.code], Array(3).fill("corrupt"));
    assert.match(seen.error.message, /^line \d+: it is more work to read than a session can be$/);
    assert.match(seen.error.hint, /busy/);
  });
}

function forks(test) {
  test("a fork begins at an entry and goes its own way; only its owner forks a session", async (t) => {
    const { page, route } = await worked(t, message("Elsewhere."));
    const seen = await page.evaluate(async () => {
      const before = await s.journal("docs");
      const at = before.find((entry) => entry.type === "ended").seq;
      const state = await s.fork("docs", { at });
      const texts = await textsOf(state.id);
      await says(state.id, "Another way.");
      const whole = await ws.invoke("session_fork", { id: "docs" });
      const wrong = [await code(s.fork("docs", { at: 0 })), await code(s.fork("docs", { at: before.length + 1 })), await code(s.fork("nobody")), await code(s.fork("docs", { provider: "none" }))];
      const after = await s.journal("docs");
      await ws.stopAgent();
      const cold = await s.fork("docs", { at: 3 });
      await ws.setOperator({ subject: "bob" });
      const refused = await code(s.fork("docs"));
      return T.plain({ state, texts, own: await textsOf(state.id), whole: whole.id, original: await textsOf("docs"), wrong, same: JSON.stringify(before) === JSON.stringify(after), cold: cold.id, refused, status: (await s.status(state.id)).hmac_status });
    });
    assert.deepEqual([seen.state.id, seen.whole, seen.cold], ["docs-2", "docs-3", "docs-4"]);
    assert.deepEqual([seen.texts, seen.own.slice(-2)], [["What is it?", "A dot."], ["Another way.", "Elsewhere."]]);
    assert.deepEqual([seen.original.at(-1), seen.same, seen.status], ["18 degrees.", true, "verified"]);
    assert.deepEqual(seen.wrong.map(({ code }) => code), ["invalid_arguments", "invalid_arguments", "session_not_found", "invalid_config"]);
    assert.equal(seen.refused.code, "permission_denied");
    assert.deepEqual(route.requests.at(-1).json.messages.map((m) => m.role), ["user", "assistant", "user"]);
  });

  test("an answer that failed is gone on with where it is asked for: in a fork, or where its run began", async (t) => {
    const { page, route } = await worked(t, plain(400, errorBody("invalid_request_error", "no")), message("In the fork."), message("Where it began."));
    const seen = await page.evaluate(async (base) => {
      const { runId } = await s.prompt("docs", "On.");
      await ws.wait(runId);
      const fork = await s.fork("docs");
      // The original is not at hand any more; its fork is.
      await ws.stopAgent();
      await ws.startAgent({ provider: T.anthropic(base) });
      await s.rename(fork.id, "Mine");
      const results = [];
      for (const target of [{ sessionId: fork.id }, runId]) results.push((await (await ws.resume(target)).result).text);
      const wrong = [await code(ws.resume({ sessionId: fork.id, runId })), await code(ws.resume({ sessionId: "nobody" })), await code(ws.resume({ session: fork.id }))];
      const last = async (id) => (await textsOf(id)).at(-1);
      return T.plain({ results, texts: [await last(fork.id), await last("docs")], wrong: wrong.map(({ code }) => code) });
    }, route.base);
    assert.deepEqual(seen.results, ["In the fork.", "Where it began."]);
    assert.deepEqual(seen.texts, seen.results);
    assert.deepEqual(seen.wrong, ["nothing_to_resume", "session_not_found", "invalid_arguments"]);
  });
}

function hostile(test) {
  test("what is no whole file is a clear error, names its line and leaves nothing", async (t) => {
    const { page } = await worked(t);
    const seen = await page.evaluate(async () => {
      const text = await (await s.export("docs")).text();
      const lines = text.trimEnd().split("\n");
      const cut = (count) => lines.slice(0, count).join("\n");
      const files = {
        empty: "", words: "hello", html: "<!doctype html>", json: "{}", binary: Uint8Array.of(0xff, 0xfe, 0xfd),
        newer: text.replace('"v":1', '"v":99'), word: text.replace("A dot.", "A dog."), status: text.replace('"status":"idle"', '"status":"stopped"'),
        deep: `${lines[0]}\n${"[".repeat(500_000)}`, proto: `${lines[0]}\n{"__proto__":{"file":"x"}}`, long: new Blob([lines[0], "\n", ...Array(34).fill(new Blob([" ".repeat(2 ** 20)]))]),
        bytes: text.replace('{"bytes":"iVBO', '{"bytes":"iVBP'), more: text + lines[1], twice: text + text,
      };
      const told = {};
      for (const [name, file] of Object.entries(files)) told[name] = await code(s.import(file instanceof Blob ? file : new Blob([file])));
      const truncated = new Set();
      for (let count = 1; count < lines.length; count++) truncated.add((await code(s.import(new Blob([cut(count)])))).code);
      const middle = await code(s.import(new Blob([text.slice(0, text.length >> 1)])));
      const wrong = [await code(s.import("text")), await code(s.replay()), await code(s.replay(new Blob([cut(5)])))];
      return T.plain({ told, truncated: [...truncated], middle, wrong, list: (await s.list()).map((one) => one.id), clean: {}.file === undefined });
    });
    const codes = Object.fromEntries(Object.entries(seen.told).map(([name, error]) => [name, error?.code]));
    const no = "invalid_arguments";
    assert.deepEqual(codes, { empty: no, words: no, html: no, json: no, binary: "corrupt", newer: "newer_version", word: "corrupt", status: "corrupt", deep: "corrupt", proto: "corrupt", long: "corrupt", bytes: "corrupt", more: "corrupt", twice: "corrupt" });
    for (const [name, { message }] of Object.entries(seen.told)) assert.match(message, /^line \d+: /, name);
    assert.deepEqual([seen.truncated, seen.middle.code], [["corrupt"], "corrupt"]);
    assert.deepEqual(seen.wrong.map(({ code }) => code), [no, no, "corrupt"]);
    assert.deepEqual([seen.list, seen.clean], [["docs", "default"], true]);
  });
}

export function made(on) {
  on("a record that nobody here has made does not come in, however well its file adds up", async (t, host) => {
    const { page } = await workedOn(t, host);
    const seen = await page.evaluate(async () => {
      const lines = (await (await s.export("docs")).text()).trimEnd().split("\n");
      const bytes = async (text) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))];
      const hash = async (text) => btoa(String.fromCharCode(...await bytes(text))).slice(0, 43);
      const sum = async (text) => (await bytes(text)).map((byte) => byte.toString(16).padStart(2, "0")).join("");
      // A forger without the key leaves the signature of the head out, and can make every hash anew.
      const forged = async (what, change, mac = (mac) => mac, session = "docs") => {
        let before = "";
        let count = 0;
        const rows = [];
        for (const line of lines) {
          const [, row, entry, signature = ""] = /^\{"row":(.*?),"entry":(.*),"contentHash":"[^"]*","hash":"[^"]*"(,"mac":"[^"]*")?\}$/.exec(line) ?? [];
          if (!row) continue;
          const content = entry.includes(what) ? change(entry) : entry;
          const contentHash = await hash(content);
          count += Number(content !== entry || mac(signature) !== signature);
          before = await hash(`${before}\n${row}\n${contentHash}`);
          rows.push(`{"row":${row},"entry":${content},"contentHash":"${contentHash}","hash":"${before}"${mac(signature)}}`);
        }
        const last = JSON.parse(lines[0]).head.hash;
        const first = lines[0].replace('"session":"docs"', `"session":${JSON.stringify(session)}`);
        count += Number(first !== lines[0]);
        const file = [first.replace(last, before).replace(/"signatures":\[.*?\]/, '"signatures":[]'), ...rows];
        let all = "";
        for (const line of file) all = await sum(`${all}\n${line}`);
        const end = JSON.stringify({ end: { ...JSON.parse(lines.at(-1)).end, hash: all } });
        return { count, file: new Blob([[...file, ...lines.filter((line) => /^\{"(file|bytes)"/.test(line)), end].join("\n")]) };
      };
      const end = '"what":"end"';
      const event = '"what":"event"';
      const put = (name, value) => (entry) => {
        const { record, what } = JSON.parse(entry);
        const members = Object.entries({ ...record, [name]: value }).sort(([a], [b]) => (a < b ? -1 : 1));
        return JSON.stringify({ record: Object.fromEntries(members), what });
      };
      const uses = (count) => ['"usage":[', (entry) => entry.replace(/"usage":\[\d+/, `"usage":[${count}`)];
      const named = (id) => ["-", (entry) => entry, undefined, id];
      const cases = {
        usage: uses("18446744073709551615"), uncounted: uses("9007199254740992"),
        narrow: named("do\u200bcs"), turned: named("docs\u202e"), isolated: named("\u2066docs\u2069"), marked: named("\ufeffdocs"), tagged: named("docs\u{e0041}"),
        // An id that everybody sees is another's than the head says, and no more than that.
        seen: named("d\u00f6cs \u6771"),
        answers: [end, put("answers", 9)],
        chain: [end, put("self", "0".repeat(64))],
        text: [end, () => '{"record":"x","what":"end"}'],
        kind: [end, (entry) => entry.replace(end, '"what":"ende"')],
        status: [end, put("status", "exploded")],
        secret: [end, put("detail", "Bearer abcdefghijklmnop")],
        member: [event, (entry) => entry.replace(/"metadata":\{(\}?)/, (_, end) => `"metadata":{"api_key":"x"${end || ","}`)],
        prototype: ['"text":"And the', (entry) => entry.replace("{", '{"__proto__":{"x":1},')],
        signature: ["-", (entry) => entry, (mac) => mac.replace(/"mac":"\w{8}/, '"mac":"00000000')],
      };
      const rows = async () => { const { heads, entries } = await T.dump("desk"); return [heads.length, entries.length]; };
      const before = await rows();
      const told = {};
      for (const [name, of] of Object.entries(cases)) {
        const { count, file } = await forged(...of);
        told[name] = { count: count > 0, ...await code(s.import(file)) };
      }
      const list = (await s.list()).map((one) => one.id);
      const after = await rows();
      // Nothing of it was the making of the file.
      const { id } = await s.import((await forged("-", (entry) => entry)).file);
      const most = await s.import((await forged(...uses("9007199254740991"))).file);
      return T.plain({ told, list, before, after, id, status: (await s.status(id)).hmac_status, events: (await s.events(id)).length > 0, most: [most.id, most.usage.inputTokens >= 9007199254740991] });
    });
    const secret = /^line \d+: refusing to persist unredacted secret material$/;
    const [none, leads] = [/no such record is written here$/, /a short record does not lead to its last receipt$/];
    const [uncounted, hidden, head] = [/more was used up than anybody can count$/, /^line 1: no session can have this id$/, /the head in line 1 does not say what the rows say$/];
    const said = { usage: uncounted, uncounted, seen: head, narrow: hidden, turned: hidden, isolated: hidden, marked: hidden, tagged: hidden, answers: leads, chain: leads, text: none, kind: none, status: none, secret, member: secret, prototype: /a name that nobody here gives/, signature: /^stored agent session event has invalid HMAC: agent_event_/ };
    for (const [name, { code, message, count }] of Object.entries(seen.told)) {
      assert.deepEqual([count, code], [true, "corrupt"], name);
      assert.match(message, said[name], name);
    }
    assert.deepEqual([seen.list, seen.after, seen.id, seen.status, seen.events, seen.most], [["docs", "default"], seen.before, "docs-2", "unverifiable", true, ["docs-3", true]]);
  });
}

function secrecy(test) {
  test("a marked key is in no file, whatever has quoted it", async (t) => {
    const key = "sk-ant-Zq7+/\"marked\"-key-0123456789";
    const route = await t.raw(message(`You said ${key}.`), plain(401, errorBody("authentication_error", `bad key ${key}`)));
    const page = await t.tab();
    await begin(page);
    const files = await page.evaluate(async ([base, key]) => {
      await ws.startAgent({ provider: T.anthropic(base, { apiKey: key }) });
      await s.launch({ id: "a", displayName: "Mine" });
      await says("a", `My key is ${key}`);
      await says("a", "Again.");
      return Object.fromEntries(await Promise.all(["journal", "markdown", "json"].map(async (format) => [format, await (await s.export("a", { format })).text()])));
    }, [route.base, key]);
    assert.ok(files.journal.includes("[REDACTED]"), "somebody has quoted it");
    assert.deepEqual(search({ key }, files), []);
  });
}

function large(test) {
  test("a session of 30 MB goes out and comes in, a page of it at a time", async (t) => {
    const page = await t.tab();
    await begin(page);
    const seen = await page.evaluate(async () => {
      const words = "It was a dark and stormy night; the rain fell in torrents. ".repeat(35_000);
      await ws.startAgent({ provider: { kind: "custom", model: "m", async *stream() { yield words; } } });
      await s.launch({ id: "big" });
      for (let at = 0; at < 15; at++) await says("big", `Chapter ${at}.`);
      await ws.stopAgent();
      let largest = 0;
      const stringify = JSON.parse;
      JSON.parse = (text, ...more) => { largest = Math.max(largest, text.length); return stringify(text, ...more); };
      const file = await s.export("big");
      JSON.parse = stringify;
      const copy = await s.import(file);
      const replay = await s.replay(file);
      return T.plain({ size: file.size, largest, id: copy.id, same: replay.same, count: (await ws.history({ sessionId: "big-2", limit: 1 }))[0].parts[0].text.length === words.length });
    });
    t.note(`${(seen.size / 2 ** 20).toFixed(1)} MB, the largest page ${(seen.largest / 2 ** 20).toFixed(1)} MB`);
    assert.ok(seen.size > 29 * 2 ** 20);
    assert.ok(seen.largest < seen.size / 2, "a page is not the whole");
    assert.deepEqual([seen.id, seen.same, seen.count], ["big-2", true, true]);
  }, { hangMs: 180_000 });
}
