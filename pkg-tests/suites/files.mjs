// Files that a person sends, and that tools give: they are stored once, with what they came with, and every wire gets their exact bytes.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { crasher } from "../lib/crash.mjs";
import { plain, stream } from "../servers/raw.mjs";
import { errorBody, message } from "../servers/sse.mjs";

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
const decoded = (base64) => {
  const bytes = Buffer.from(base64, "base64");
  assert.equal(bytes.toString("base64"), base64, "base64 as it should be");
  return hash(bytes);
};
const ofUrl = (url, type) => {
  const [head, data] = url.split(",");
  assert.equal(head, `data:${type};base64`);
  return decoded(data);
};

/** In the page: samples, the same each time. `T.hash` is of a Blob's bytes. */
const SAMPLES = `{
  const noise = (n, seed) => Uint8Array.from({ length: n }, (_, i) => (seed = (seed * 1103515245 + 12345) % 2147483648) >> 16);
  globalThis.samples = () => ({
    // More than a piece of base64, and no whole threes.
    png: new File([Uint8Array.of(0x89, 80, 78, 71, 13, 10, 26, 10), noise(2_000_003, 7)], "Größe “1”.png", { type: "image/png" }),
    pdf: new File(["%PDF-1.7\\n", noise(70_001, 3)], "report.pdf", { type: "application/pdf" }),
    csv: new File(['a,"b"\\n\\\\1,é😀\\u0001\\n'], "data.csv", { type: "text/csv" }),
    code: new File(["fn main() {}\\n"], "main.ts", { type: "video/mp2t" }),
  });
  globalThis.hashOf = async (blob) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()))].map((b) => b.toString(16).padStart(2, "0")).join("");
}`;

/** In the page: an agent that notes what it is told of lost files, what takes one away, and which ones a file of a session lacks. */
const LOSSES = `{
  globalThis.begin = async (base, host) => {
    T.host = host;
    globalThis.told = [];
    const ws = await T.open("w");
    ws.addEventListener("agent:notice", ({ detail: { kind, sessionId, files, error } }) => kind === "files" && told.push({ sessionId, files, code: error.code }));
    await ws.startAgent({ provider: T.anthropic(base) });
    return ws;
  };
  globalThis.lose = async (kind) => {
    const [key, blob] = (await T.dump("w")).files.find(([, blob]) => blob.type === "image/png");
    const bytes = new Uint8Array(await blob.arrayBuffer());
    bytes[1000] ^= 1;
    const value = { changed: new Blob([bytes], { type: blob.type }), cut: blob.slice(0, 1000, blob.type), "of another type": blob.slice(0, blob.size, "image/jpeg"), "no bytes": "text" }[kind];
    const db = await T.database("w");
    const tx = db.transaction("files", "readwrite");
    if (value) tx.objectStore("files").put(value, key); else tx.objectStore("files").delete(key);
    await T.done(tx);
    db.close();
    return key[0];
  };
  globalThis.notes = async (file) => (await file.text()).split("\\n").filter((line) => line.startsWith('{"file"')).map((line) => JSON.parse(line)).filter(({ gone }) => gone).map(({ file }) => file);
}`;

const CSV = 'a,"b"\n\\1,é😀\u0001\n';
const sse = (...events) => stream(events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`));
const chatAnswer = () => sse({ choices: [{ index: 0, delta: { content: "Seen." } }] }, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }, "[DONE]");
const responsesAnswer = () => sse(
  { type: "response.created", response: { id: "r", model: "m" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "message", role: "assistant", content: [] } },
  { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Seen." },
  { type: "response.output_item.done", output_index: 0, item: { type: "message", role: "assistant", content: [{ type: "output_text", text: "Seen." }] } },
  { type: "response.completed", response: { id: "r", model: "m", status: "completed", output: [], usage: { input_tokens: 1, output_tokens: 1 } } },
);
const geminiAnswer = () => sse(
  { event_type: "interaction.created", interaction: { id: "", model: "m" } },
  { event_type: "step.start", index: 0, step: { type: "model_output" } },
  { event_type: "step.delta", index: 0, delta: { type: "text", text: "Seen." } },
  { event_type: "interaction.completed", interaction: { id: "", model: "m", status: "completed" } },
);
const ollamaAnswer = () => ({ status: 200, headers: { "content-type": "application/x-ndjson" }, body: [`${JSON.stringify({ model: "m", message: { role: "assistant", content: "Seen." }, done: false })}\n`, `${JSON.stringify({ model: "m", message: { role: "assistant", content: "" }, done: true, done_reason: "stop" })}\n`] });

/** Each wire: its answer, what it takes, and what must have come. */
const WIRES = {
  anthropic: {
    answer: () => message("Seen."), more: {},
    look: ({ messages: [{ content }] }, is) => {
      assert.deepEqual(content.map(({ type }) => type), ["image", "document", "document", "text"]);
      assert.deepEqual([content[0].source.media_type, decoded(content[0].source.data)], ["image/png", is.png]);
      assert.deepEqual([content[1].source.media_type, decoded(content[1].source.data), content[1].title], ["application/pdf", is.pdf, "report.pdf"]);
      assert.deepEqual([content[2].source, content[2].title], [{ type: "text", media_type: "text/plain", data: CSV }, "data.csv"]);
    },
  },
  openai: {
    answer: chatAnswer, more: { model: "m" },
    look: ({ messages }, is) => {
      const { content } = messages.find(({ role }) => role === "user");
      assert.equal(ofUrl(content[0].image_url.url, "image/png"), is.png);
      assert.deepEqual([ofUrl(content[1].file.file_data, "application/pdf"), content[1].file.filename], [is.pdf, "report.pdf"]);
      assert.ok(content[2].text.endsWith(CSV) && content[2].text.includes('"data.csv"'));
      assert.equal(content[3].text, "Look.");
    },
  },
  "openai-responses": {
    answer: responsesAnswer, more: { model: "m" },
    look: ({ input: [{ content }] }, is) => {
      assert.equal(ofUrl(content[0].image_url, "image/png"), is.png);
      assert.deepEqual([ofUrl(content[1].file_data, "application/pdf"), content[1].filename], [is.pdf, "report.pdf"]);
      assert.ok(content[2].text.endsWith(CSV));
      assert.equal(content[3].text, "Look.");
    },
  },
  gemini: {
    answer: geminiAnswer, more: { model: "m" },
    look: ({ input: [{ content }] }, is) => {
      assert.deepEqual([content[0].type, content[0].mime_type, decoded(content[0].data)], ["image", "image/png", is.png]);
      assert.deepEqual([content[1].type, content[1].mime_type, decoded(content[1].data)], ["document", "application/pdf", is.pdf]);
      assert.ok(content[2].text.endsWith(CSV));
      assert.equal(content[3].text, "Look.");
    },
  },
  ollama: {
    answer: ollamaAnswer, more: { model: "m" }, noPdf: true,
    look: ({ messages }, is) => {
      const { content, images } = messages.find(({ role }) => role === "user");
      assert.deepEqual(images.map(decoded), [is.png]);
      assert.ok(content.includes(CSV) && content.endsWith("Look."));
    },
  },
};

export default function (test) {
  for (const [kind, { answer, more, look, noPdf }] of Object.entries(WIRES)) {
    for (const way of ["fetch", "own fetch"]) {
      test(`${kind}, by ${way === "fetch" ? "fetch" : "the page's own fetch"}: the server gets exactly these bytes`, async (t) => {
        const route = await t.raw(answer);
        route.everything = true;
        const page = await t.tab({ init: SAMPLES });
        const seen = await page.evaluate(async ([base, kind, more, noPdf, own]) => {
          const ws = await lodger.openWorkspace("w");
          const bodies = [];
          const mine = (url, init) => (bodies.push(typeof init.body), fetch(url, init));
          await ws.startAgent({ provider: { kind, ...(kind === "ollama" ? {} : { apiKey: "sk-test-0123" }), baseUrl: base, ...more, ...(own && { fetch: mine }) } });
          const { png, pdf, csv } = samples();
          const { outcome, text, error } = await ws.run({ text: "Look.", files: noPdf ? [png, csv] : [png, pdf, csv] });
          return { outcome, text, error, bodies, is: { png: await hashOf(png), pdf: await hashOf(pdf) } };
        }, [route.base, kind, more, noPdf, way !== "fetch"]);
        assert.deepEqual([seen.outcome, seen.text], ["completed", "Seen."], JSON.stringify(seen.error));
        assert.equal(route.requests.length, 1);
        const { json, text, headers } = route.requests[0];
        look(json, seen.is);
        assert.equal(headers["content-type"], "application/json");
        assert.equal(text.includes("\u0001"), false, "no mark is left");
        if (way !== "fetch") assert.deepEqual(seen.bodies, ["string"]);
      });
    }
  }

  for (const host of ["page", "worker"]) {
    test(`sent, reloaded, read again: the history and ws.file, the host in a ${host}`, async (t) => {
      const route = await t.raw(() => message("Seen."));
      const page = await t.tab({ init: SAMPLES });
      const first = await page.evaluate(async ([base, host]) => {
        T.host = host;
        const ws = await T.open("w");
        await ws.startAgent({ provider: T.anthropic(base) });
        const { png, csv, code } = samples();
        await (await ws.sendMessage({ text: "", files: [png, csv] })).result;
        await (await ws.sendMessage({ text: "again", files: [png, code] })).result;
        return { is: await hashOf(png), size: png.size, live: ws.view().getSnapshot().messages[0]?.parts };
      }, [route.base, host]);
      await page.reload();
      await t.ready(page);
      const seen = await page.evaluate(async (host) => {
        T.host = host;
        const ws = await T.open("w");
        const history = await ws.history();
        const [png, csv] = history[0].parts;
        const files = await Promise.all([png, csv, history[2].parts[1]].map(({ fileId }) => ws.file(fileId)));
        const rows = (await T.dump("w")).files;
        return { parts: history.filter(({ role }) => role === "user").map(({ parts }) => parts), hash: await hashOf(files[0]), types: files.map(({ type }) => type), csv: await files[1].text(), keys: rows.map(([key]) => key), none: await T.refused(ws.file("file_0")), bad: await T.refused(ws.file(7)) };
      }, host);
      const [one, two] = seen.parts;
      assert.deepEqual(one[0], { type: "file", fileId: one[0].fileId, mediaType: "image/png", size: first.size, filename: "Größe “1”.png" });
      assert.deepEqual(one.map(({ type }) => type), ["file", "file"]);
      assert.deepEqual(two.map(({ type }) => type), ["file", "file", "text"]);
      assert.equal(two[0].fileId, one[0].fileId, "the same file has the same id");
      assert.deepEqual(seen.types, ["image/png", "text/csv", "text/plain"], "what says to be a video and is text is text");
      assert.equal(seen.hash, first.is);
      assert.equal(seen.csv, CSV);
      assert.equal(seen.keys.length, 3, "the same file is stored once");
      assert.equal(seen.none.code, "file_not_found");
      assert.equal(seen.bad.code, "invalid_arguments");
      assert.deepEqual(route.violations, []);
      // A conversation that goes on sends them again.
      assert.equal(route.requests[1].json.messages.flatMap(({ content }) => content).filter(({ type }) => type === "image").length, 2);
    });
  }

  for (const host of ["page", "worker"]) {
    test(`what a tool gives is a file that the model sees and the page has, also after a reload, the host in a ${host}`, async (t) => {
      const route = await t.raw(message({ tool: "draw", id: "toolu_1" }), message("Seen."), message("Again."));
      const page = await t.tab({ init: SAMPLES });
      const first = await page.evaluate(async ([base, host]) => {
        T.host = host;
        const ws = await T.open("w");
        const { png, pdf, csv } = samples();
        const told = new Promise((resolve) => ws.addEventListener("agent:tool-call", ({ detail }) => detail.status === "completed" && resolve(detail)));
        await ws.tools.register({ name: "draw", description: "Draws.", inputSchema: { type: "object" }, execute: () => ({ title: "Sales", drawn: [png, pdf], data: csv }) });
        await ws.startAgent({ provider: T.anthropic(base) });
        const { text } = await ws.run("Draw.");
        const [, { parts: [part] }] = await ws.history();
        return T.plain({ text, part, told: (await told).files, is: [await hashOf(png), await hashOf(pdf)], size: png.size });
      }, [route.base, host]);
      assert.equal(first.text, "Seen.");
      const [{ content: [result] }] = route.requests[1].json.messages.slice(-1);
      assert.deepEqual(result.content.map(({ type }) => type), ["text", "image", "document"]);
      assert.deepEqual(result.content.slice(1).map(({ source }) => decoded(source.data)), first.is);
      const stand = { file: 0, name: "Größe “1”.png", mediaType: "image/png", size: first.size };
      assert.ok(result.content[0].text.includes(JSON.stringify(stand)), result.content[0].text);
      assert.ok(result.content[0].text.includes(`The file "data.csv" (text/csv):\n${CSV}`), "what is text is in the result");
      assert.deepEqual(first.part.files.map(({ mediaType, filename }) => [mediaType, filename]), [["image/png", "Größe “1”.png"], ["application/pdf", "report.pdf"], ["text/csv", "data.csv"]]);
      assert.deepEqual(first.told, first.part.files);
      await page.reload();
      await t.ready(page);
      const again = await page.evaluate(async ([base, host]) => {
        T.host = host;
        const ws = await T.open("w");
        await ws.startAgent({ provider: T.anthropic(base) });
        await ws.run("And now?");
        const [, { parts: [part] }] = await ws.history();
        const [png, pdf, csv] = await Promise.all(part.files.map(({ fileId }) => ws.file(fileId)));
        const html = await (await ws.sessions.export("default", { format: "html" })).text();
        const markdown = await (await ws.sessions.export("default", { format: "markdown" })).text();
        return T.plain({ part, is: [await hashOf(png), await hashOf(pdf)], csv: await csv.text(), html, markdown });
      }, [route.base, host]);
      assert.deepEqual(again.part, first.part);
      assert.deepEqual(again.is, first.is);
      assert.equal(again.csv, CSV);
      assert.deepEqual(route.requests[2].json.messages.flatMap(({ content }) => content).find(({ type }) => type === "tool_result"), result);
      assert.ok(again.markdown.includes("report.pdf"), "the page of text names it");
      assert.ok(again.html.includes("data:image/png;base64,") && again.html.includes("report.pdf"), "the page shows it");
      assert.deepEqual(route.violations, []);
    });
  }

  test("results in the content blocks of MCP are text, files and errors", async (t) => {
    const png = `${Buffer.from([0x89, 80, 78, 71, 13, 10, 26, 10, 1, 2, 3]).toString("base64")}`;
    const results = {
      image: { content: [{ type: "text", text: "A dot." }, { type: "image", data: png, mimeType: "image/png" }], structuredContent: { dots: 1 } },
      resource: { content: [{ type: "resource", resource: { uri: "file:///notes/a%20b.md", mimeType: "text/markdown", text: "# Hi" } }, { type: "resource", resource: { uri: "file:///dot.png?x", mimeType: "image/png", blob: png } }, { type: "resource_link", uri: "https://example.com/x", name: "X" }] },
      structured: { content: [], structuredContent: { dots: 2 } },
      failed: { content: [{ type: "text", text: "no ink" }], isError: true },
      own: { content: [{ type: "paragraph", text: "ours" }] },
      broken: { content: [{ type: "image", data: "§", mimeType: "image/png" }] },
    };
    const route = await t.raw((body) => {
      const { content } = body.messages.at(-1);
      return Array.isArray(content) && content[0].type === "tool_result" ? message("Seen.") : message({ tool: "draw", id: `toolu_${body.messages.length}` });
    });
    const page = await t.tab();
    const seen = await page.evaluate(async ([base, results]) => {
      const ws = await T.open("w");
      let next;
      await ws.tools.register({ name: "draw", description: "Draws.", inputSchema: { type: "object" }, execute: () => results[next] });
      await ws.startAgent({ provider: T.anthropic(base) });
      const parts = {};
      for (next of Object.keys(results)) {
        await ws.run(`Draw ${next}.`);
        parts[next] = (await ws.history()).at(-1).parts[0];
      }
      return T.plain(parts);
    }, [route.base, results]);
    const { image, resource, structured, failed, own, broken } = seen;
    assert.deepEqual([image.result, image.files.map(({ mediaType, size }) => [mediaType, size])], ["A dot.", [["image/png", 11]]]);
    assert.equal(resource.result, "file:///notes/a%20b.md:\n# Hi\n\nX: https://example.com/x");
    assert.deepEqual(resource.files.map(({ filename }) => filename), ["dot.png"]);
    assert.deepEqual([structured.result, structured.files], [{ dots: 2 }, undefined]);
    assert.deepEqual([failed.status, failed.error.code], ["failed", "tool_failed"]);
    assert.match(failed.error.message, /no ink/);
    assert.deepEqual(own.result, results.own, "other blocks are a value like any other");
    assert.match(broken.error.message, /result\.content\[0\] is no base64/);
  });

  test("files of a tool that runs in a viewer come to the holder, and what is too large fails the call", async (t) => {
    const route = await t.raw(message({ tool: "draw", id: "toolu_1" }), message("Seen."), message({ tool: "draw", id: "toolu_2" }), message("Too large."), message("x"));
    const [holder, viewer] = [await t.tab({ init: SAMPLES }), await t.tab({ init: SAMPLES })];
    await holder.evaluate(async (base) => {
      globalThis.ws = await T.open("w");
      await ws.startAgent({ provider: T.anthropic(base) });
    }, route.base);
    const seen = await viewer.evaluate(async () => {
      const ws = await T.open("w");
      const { png } = samples();
      const large = new Blob([png, new Uint8Array(4_000_000)], { type: "image/png" });
      const gives = [png, large];
      await ws.tools.register({ name: "draw", description: "Draws.", inputSchema: { type: "object" }, execute: () => gives.shift() });
      await ws.run("Draw.");
      await ws.run("Draw a large one.");
      const [, small, , failed] = (await ws.history()).map(({ parts }) => parts[0]);
      gives.push(png);
      const own = await T.refused(ws.tools.execute("draw", {}));
      return T.plain({ small, failed, own, same: (await hashOf(await ws.file(small.files[0].fileId))) === (await hashOf(png)) });
    });
    assert.equal(seen.same, true);
    assert.match(seen.small.result, /returned no text/);
    assert.deepEqual([seen.failed.status, seen.failed.error.code], ["failed", "file_too_large"]);
    assert.deepEqual([seen.own.code, /only a run keeps/.test(seen.own.message)], ["tool_failed", true]);
  });

  for (const [kind, host] of [["gone", "page"], ["gone", "worker"], ["changed", "page"], ["cut", "page"], ["of another type", "page"], ["no bytes", "page"]]) {
    test(`a file whose row is ${kind}, the host in a ${host}: the conversation goes on, and everybody is told`, async (t) => {
      const route = await t.raw(() => message("Seen."));
      const page = await t.tab({ init: SAMPLES + LOSSES });
      await page.evaluate(async ([base, host]) => {
        const ws = await begin(base, host);
        const { png, csv } = samples();
        await ws.run({ text: "look", files: [png, csv] });
        await ws.close();
      }, [route.base, host]);
      const id = await page.evaluate((kind) => lose(kind), kind);
      await page.reload();
      await t.ready(page);
      // Before anybody has asked a model: nothing is written, and what is missed is told.
      const before = await page.evaluate(async ([host, id]) => {
        T.host = host;
        const ws = await T.open("w");
        const file = await ws.sessions.export("default");
        const seen = { gone: (await ws.history())[0].parts[0].gone, refused: await T.refused(ws.file(id)), notes: await notes(file), rows: (await ws.sessions.journal("default")).length, taken: await T.refused(ws.sessions.import(file)), markdown: await (await ws.sessions.export("default", { format: "markdown" })).text(),
          json: JSON.parse(await (await ws.sessions.export("default", { format: "json" })).text()).messages[0].parts.filter(({ type }) => type === "file").map(({ gone }) => gone ?? false) };
        await ws.close();
        return T.plain({ ...seen, hint: [seen.refused.hint, seen.taken.hint] });
      }, [host, id]);
      assert.deepEqual([before.gone, before.refused.code, before.notes], [undefined, "file_not_found", [id]]);
      assert.match(before.hint[0], /send it with a new message/);
      assert.match(before.markdown, /bytes, lost\)/, "nobody has asked a model since");
      assert.deepEqual(before.json, [true, false]);
      assert.equal(before.taken.code, "corrupt");
      assert.match(before.hint[1], /send a message in the session/);
      assert.equal(route.requests.length, 1);
      const seen = await page.evaluate(async ([base, host, id]) => {
        const ws = await begin(base, host);
        const view = ws.view();
        const seen = new Promise((resolve) => view.subscribe(({ messages: [first] }) => first?.parts[0].gone && resolve(first.parts)));
        const { outcome, text } = await ws.run("and now?");
        await ws.run("and then?");
        const live = await seen;
        const file = await ws.sessions.export("default");
        const copy = await ws.sessions.import(file);
        const fork = await ws.sessions.fork("default", { at: (await ws.sessions.journal("default")).at(-1).seq });
        const first = async (sessionId) => (await ws.history({ sessionId }))[0].parts.map(({ gone }) => gone ?? false);
        for (const sessionId of [copy.id, fork.id]) await ws.run("still there?", { sessionId });
        const journal = await ws.sessions.journal("default");
        return T.plain({
          outcome, text, told, live: live.map(({ gone }) => gone ?? false), notes: await notes(file), first: [await first("default"), await first(copy.id), await first(fork.id)],
          refused: (await T.refused(ws.file(id))).code, entries: journal.filter(({ type }) => type === "files_gone"), rows: journal.length,
          same: (await ws.sessions.replay(file)).same, verified: (await ws.sessions.verify("default")).hmac_status, markdown: await (await ws.sessions.export("default", { format: "markdown" })).text(),
        });
      }, [route.base, host, id]);
      assert.deepEqual([seen.outcome, seen.text], ["completed", "Seen."]);
      assert.equal(route.requests.length, 5, "no request is made in vain");
      for (const { json } of route.requests.slice(1)) {
        const said = JSON.stringify(json.messages[0]);
        assert.ok(/Größe.*was attached here; it was lost since/.test(said) && !said.includes('"image"') && said.includes("data.csv"), said.slice(0, 400));
      }
      assert.deepEqual(seen.told, [{ sessionId: "default", files: [id], code: "file_not_found" }], "once");
      assert.deepEqual(seen.live, [true, false, false]);
      assert.deepEqual(seen.first, [[true, false, false], [true, false, false], [true, false, false]]);
      assert.deepEqual([seen.refused, seen.notes, seen.same, seen.verified], ["file_not_found", [id], true, "verified"]);
      assert.equal(seen.entries.length, 1);
      assert.match(seen.markdown, /bytes, lost\)/);
      await page.reload();
      await t.ready(page);
      const after = await page.evaluate(async ([base, host, id]) => {
        const ws = await begin(base, host);
        const shown = (await ws.history())[0].parts[0].gone;
        await ws.run({ text: "here it is", files: [samples().png] });
        return { shown, again: (await ws.history())[0].parts[0].gone ?? false, size: (await ws.file(id)).size, told };
      }, [route.base, host, id]);
      assert.deepEqual([after.shown, after.again, after.told], [true, false, []]);
      assert.equal(route.requests.at(-1).json.messages.flatMap(({ content }) => content).filter(({ type }) => type === "image").length, 2, "it is sent again, wherever it stands");
      assert.deepEqual(route.violations, []);
    });
  }

  test("clearConversation erases the bytes, deleteWorkspace the rest", async (t) => {
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: scriptedModel(["Seen.", "Seen."]) });
      const { png, csv } = samples();
      await ws.run({ text: "look", files: [png, csv] });
      const [{ parts: [{ fileId }] }] = await ws.history();
      const before = (await T.dump("w")).files.length;
      await ws.clearConversation();
      const after = (await T.dump("w")).files.length;
      const gone = await T.refused(ws.file(fileId));
      await ws.run({ text: "look", files: [png] });
      await ws.stopAgent();
      await ws.clearConversation();
      const stopped = (await T.dump("w")).files.length;
      await lodger.deleteWorkspace("w");
      return { before, after, gone, stopped, databases: (await indexedDB.databases()).map(({ name }) => name) };
    });
    assert.deepEqual([seen.before, seen.after, seen.stopped], [2, 0, 0]);
    assert.equal(seen.gone.code, "file_not_found");
    assert.equal(seen.databases.includes("lodger:w"), false);
  });

  test("a workspace in memory keeps them as long as it is open", async (t) => {
    const route = await t.raw(() => message("Seen."));
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w", { storage: "memory" });
      await ws.startAgent({ provider: T.anthropic(base) });
      const { png } = samples();
      const before = (await ws.storage()).bytes;
      await ws.run({ text: "look", files: [png] });
      const grown = (await ws.storage()).bytes - before;
      const [{ parts: [{ fileId }] }] = await ws.history();
      const same = (await hashOf(await ws.file(fileId))) === (await hashOf(png));
      await ws.clearConversation();
      return { same, grown, gone: await T.refused(ws.file(fileId)) };
    }, route.base);
    assert.equal(seen.same, true);
    assert.ok(seen.grown > 2_000_000, String(seen.grown));
    assert.equal(seen.gone.code, "file_not_found");
    assert.deepEqual(route.violations, []);
  });

  test("a crash leaves the message with its bytes, or neither", async (t) => {
    for (const stage of ["sent", "accepted"]) {
      const route = await t.raw(() => message("Seen."));
      const page = await t.tab({ init: SAMPLES });
      await page.evaluate(async ([base, stage]) => {
        const ws = await lodger.openWorkspace(`w-${stage}`);
        await ws.startAgent({ provider: T.anthropic(base) });
        const accepted = ws.sendMessage({ text: "look", files: [samples().png] });
        if (stage === "accepted") await accepted;
      }, [route.base, stage]);
      await (await crasher(t, page))();
      const next = await t.tab({ init: SAMPLES });
      const seen = await next.evaluate(async (stage) => {
        const ws = await lodger.openWorkspace(`w-${stage}`);
        const messages = await ws.history();
        const rows = (await T.dump(`w-${stage}`)).files;
        const part = messages[0]?.parts[0];
        return { messages: messages.length, rows: rows.length, same: part && (await hashOf(await ws.file(part.fileId))) === (await hashOf(samples().png)) };
      }, stage);
      assert.equal(seen.messages > 0, seen.rows > 0, JSON.stringify(seen));
      if (stage === "accepted") assert.equal(seen.rows, 1);
      if (seen.rows) assert.equal(seen.same, true);
      t.note(`${stage}: ${seen.rows ? "both" : "neither"}`);
    }
  });

  // Chromium tells no page how much room there is (it always says ten gigabytes), so only the commit finds out.
  test("no room: nothing of the message is stored, and the agent can be started again", async (t) => {
    const route = await t.raw(() => message("Seen."));
    const page = await t.tab({ init: SAMPLES });
    const cdp = await (await t.context()).newCDPSession(page);
    await cdp.send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url, quotaSize: 1_000_000 });
    const seen = await page.evaluate(async (base) => {
      globalThis.ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("First.");
      const error = await T.refused(ws.sendMessage({ text: "look", files: [samples().png] }));
      return { error, status: ws.status(), rows: (await T.dump("w")).files.length };
    }, route.base);
    await cdp.send("Storage.overrideQuotaForOrigin", { origin: t.env.site.url });
    assert.equal(seen.error.code, "quota_exceeded");
    assert.equal(typeof seen.status.lifecycle.Error, "string");
    assert.equal(seen.rows, 0);
    const after = await page.evaluate(async (base) => {
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run({ text: "look", files: [samples().png] });
      return { said: (await ws.history()).map((m) => T.textOf(m)), rows: (await T.dump("w")).files.length };
    }, route.base);
    assert.deepEqual(after, { said: ["First.", "Seen.", "look", "Seen."], rows: 1 });
    assert.deepEqual(route.violations, []);
  });

  test("what cannot be sent is refused by a code, before anything is stored", async (t) => {
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const early = await T.refused(ws.sendMessage({ text: "x", files: [samples().csv] }));
      await ws.startAgent({ provider: { kind: "openai-compatible", preset: "groq", apiKey: "sk-test-0123", model: "openai/gpt-oss-20b" } });
      const { png, pdf, csv } = samples();
      const refused = (files, text = "x") => T.refused(ws.sendMessage({ text, files }));
      const broken = new File(["x"], "gone.txt", { type: "text/plain" });
      broken.arrayBuffer = () => Promise.reject(new DOMException("The file could not be read", "NotReadableError"));
      const huge = new File([new Uint8Array(24 * 1024 * 1024)], "huge.bin");
      const errors = {
        "no array": await refused(png), "text": await refused(["x"]), "an object": await refused([{ size: 3, type: "image/png" }]), "bytes": await refused([new Uint8Array(3)]),
        empty: await refused([new File([], "empty.txt")]), unreadable: await refused([broken]), "too large": await refused([huge]),
        "too many": await refused(Array.from({ length: 21 }, (_, i) => new File([`${i}`], `${i}.txt`))),
        zip: await refused([new File([Uint8Array.of(80, 75, 3, 4, 0, 255)], "a.zip", { type: "application/zip" })]),
        "no image at all": await refused([new File([Uint8Array.of(1, 0, 255)], "a.png", { type: "image/png" })]),
        "an image for a model that sees none": await refused([png]), "a PDF for one that reads none": await refused([pdf]),
        offline: await (async () => { await ws.configureAgent({ provider: offline() }); return refused([png]); })(),
        "long text": await refused([new File(["x".repeat(1024 * 1024 + 1)], "long.txt")]), "a large image": await refused([new File([Uint8Array.of(0x89, 80, 78, 71, 13, 10), new Uint8Array(4_000_000)], "large.png")]),
      };
      const nothing = await T.refused(ws.sendMessage({ text: " ", files: [] }));
      return { early, errors, nothing, rows: (await T.dump("w")).files.length, messages: (await ws.history()).length, lifecycle: ws.status().lifecycle };
    });
    const codes = Object.fromEntries(Object.entries(seen.errors).map(([name, { code }]) => [name, code]));
    assert.deepEqual(codes, {
      "no array": "invalid_arguments", text: "invalid_arguments", "an object": "invalid_arguments", bytes: "invalid_arguments", empty: "invalid_arguments", unreadable: "invalid_arguments",
      "too large": "file_too_large", "too many": "file_too_large", zip: "unsupported_file", "no image at all": "unsupported_file",
      "an image for a model that sees none": "unsupported_file", "a PDF for one that reads none": "unsupported_file", offline: "unsupported_file", "long text": "file_too_large", "a large image": "file_too_large",
    });
    for (const error of Object.values(seen.errors)) assert.ok(error.name === "LodgerError" && error.message.length > 10 && !/undefined|\[object/.test(error.message), error.message);
    assert.match(seen.errors.unreadable.message, /gone\.txt/);
    assert.match(seen.errors["an image for a model that sees none"].message, /openai\/gpt-oss-20b takes no images/);
    assert.equal(seen.early.code, "not_running");
    assert.equal(seen.nothing.code, "empty_message");
    assert.deepEqual([seen.rows, seen.messages, seen.lifecycle], [0, 0, "Running"]);
  });

  test("a provider that cannot read a file does not end the conversation", async (t) => {
    const route = await t.raw(plain(400, errorBody("invalid_request_error", "Could not process image")), () => message("Well."));
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async (base) => {
      const ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      const failed = await (await ws.sendMessage({ text: "look", files: [samples().png] })).result;
      return { code: failed.error.code, text: (await ws.run("never mind")).text };
    }, route.base);
    assert.deepEqual(seen, { code: "invalid_request", text: "Well." });
    const said = JSON.stringify(route.requests[1].json.messages);
    assert.ok(/was attached here/.test(said) && !/"image"/.test(said), said.slice(0, 300));
  });

  test("a model of the page's own gets parts; interrupting while they are read is an interrupt", async (t) => {
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const model = scriptedModel(["Seen.", "Again."]);
      await ws.startAgent({ provider: model });
      const { png, pdf, csv } = samples();
      await ws.run({ text: "look", files: [png, pdf, csv] });
      const { content } = model.requests[0].messages.find(({ role }) => role === "user");
      const run = await ws.sendMessage({ text: "again", files: [png] });
      ws.interrupt();
      const { outcome } = await run.result;
      return { types: content.map(({ type }) => type), text: content[2].text, image: content[0].image_url.url.slice(0, 32), outcome };
    });
    assert.deepEqual(seen.types, ["image_url", "file", "text", "text"]);
    assert.ok(seen.text.endsWith(CSV) && seen.image.startsWith("data:image/png;base64,iVBORw0K"));
    assert.equal(seen.outcome, "interrupted");
  });

  test("an interrupt while files are read refuses the message, and nothing of it is stored", async (t) => {
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("w");
      const model = scriptedModel(["Seen."]);
      await ws.startAgent({ provider: model });
      // A file that is read as soon as the test says so.
      const held = (text) => {
        const file = new File([text], "held.txt", { type: "text/plain" });
        let release;
        const released = new Promise((resolve) => (release = resolve));
        file.arrayBuffer = () => released.then(() => Blob.prototype.arrayBuffer.call(file));
        return { file, release };
      };
      const stops = { interrupt: () => ws.interrupt(), clearConversation: () => ws.clearConversation(), stopAgent: () => ws.stopAgent() };
      const errors = {};
      for (const [name, stop] of Object.entries(stops)) {
        const { file, release } = held(name);
        const refused = T.refused(ws.sendMessage({ text: name, files: [file] }));
        await stop();
        errors[name] = await refused; // told before the file is read
        release();
      }
      await ws.startAgent({ provider: model });
      const kept = held("kept");
      const sent = ws.sendMessage({ text: "kept", files: [kept.file] });
      ws.interrupt({ runId: "run_of_another" });
      kept.release();
      const { outcome } = await (await sent).result;
      const said = (await ws.history()).map((m) => T.textOf(m));
      const rows = (await T.dump("w")).files.length;
      const last = held("close");
      const refused = T.refused(ws.sendMessage({ text: "close", files: [last.file] }));
      await ws.close();
      errors.close = await refused;
      last.release();
      return { errors, outcome, said, rows, requests: model.requests.length };
    });
    for (const [name, error] of Object.entries(seen.errors)) assert.deepEqual([error.code, error.message], ["aborted", "the message was interrupted before it was sent"], name);
    assert.deepEqual(Object.keys(seen.errors), ["interrupt", "clearConversation", "stopAgent", "close"]);
    assert.deepEqual([seen.outcome, seen.said, seen.rows, seen.requests], ["completed", ["kept", "Seen."], 1, 1]);
  });

  test("a database of the version before is upgraded, and nothing in it is lost", async (t) => {
    const route = await t.raw(() => message("Seen."));
    const page = await t.tab({ init: SAMPLES });
    const seen = await page.evaluate(async (base) => {
      let ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run("before");
      await ws.close();
      // The same rows in a database as the version before made it.
      const rows = await T.dump("w");
      delete rows.files;
      await lodger.deleteWorkspace("w");
      const old = await new Promise((resolve, reject) => {
        const request = indexedDB.open("lodger:w", 2);
        request.onupgradeneeded = () => Object.keys(rows).forEach((table) => request.result.createObjectStore(table));
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
      const tx = old.transaction(Object.keys(rows), "readwrite");
      for (const [table, list] of Object.entries(rows)) for (const [key, value] of list) tx.objectStore(table).put(value, key);
      await T.done(tx);
      old.close();
      ws = await lodger.openWorkspace("w");
      await ws.startAgent({ provider: T.anthropic(base) });
      await ws.run({ text: "look", files: [samples().csv] });
      return { said: (await ws.history()).map((m) => T.textOf(m)), rows: (await T.dump("w")).files.length };
    }, route.base);
    assert.deepEqual(seen, { said: ["before", "Seen.", "look", "Seen."], rows: 1 });
  });
}
