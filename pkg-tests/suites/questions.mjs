// How often a person is asked: ten ordinary scenarios, before and after text from outside had marks, as docs/questions.md has
// them. The person answers each question with "always". The earlier package of `data/packages/` gives the figures of before.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { olderTab, unpack } from "../lib/older.mjs";
import { ROOT } from "../lib/package.mjs";

const BEFORE = "0.1.0-1";
const DOCUMENT = path.join(ROOT, "..", "docs", "questions.md");

/** What the person says, and what the model calls then, one call a turn. `new`: a conversation that begins anew. */
const SCENARIOS = [
  { title: "The agent looks an order up, four times", says: Array(4).fill({ calls: [["lookup_order", { id: "7" }]] }) },
  { title: "It places three orders", says: Array(3).fill({ calls: [["place_order", { item: "chair" }]] }) },
  { title: "It reads the news and mails a summary to the same address, four times", says: Array(4).fill({ calls: [["read_news", {}], ["send_mail", { to: "me@shop.example" }]] }) },
  { title: "It reads the news and mails it to three people", says: ["ann", "ben", "cem"].map((to) => ({ calls: [["read_news", {}], ["send_mail", { to: `${to}@shop.example` }]] })) },
  { title: "It reads the news and posts, three times, by a tool that names no destination", says: Array(3).fill({ calls: [["read_news", {}], ["post", { text: "New!" }]] }) },
  { title: "It reads the news, then the mail, and posts after each", says: [{ calls: [["read_news", {}], ["post", { text: "New!" }]] }, { calls: [["read_mail", {}], ["post", { text: "New!" }]] }] },
  { title: "A person attaches a file of their own and has it mailed, twice", says: Array(2).fill({ file: true, trusted: true, calls: [["send_mail", { to: "me@shop.example" }]] }) },
  { title: "The page passes an invoice as context, and it is paid", says: [{ context: "Invoice 12: 40 EUR to DE02", calls: [["pay", { iban: "DE02" }]] }] },
  { title: "The agent researches and writes five pages", says: Array(5).fill(null).map((_, i) => ({ calls: [["read_news", {}], ["create_page", { title: `Note ${i}`, content: "What the news said." }]] })) },
  { title: "The next day it mails one of those pages", says: [{ calls: [["read_news", {}], ["create_page", { title: "Note", content: "What the news said." }]] }, { new: true, calls: [["read_page", { slug: "note" }], ["send_mail", { to: "me@shop.example" }]] }] },
];

export default function (test) {
  test("ten ordinary scenarios ask as often as the documentation says, and as before marks it says", async (t) => {
    unpack(BEFORE);
    const before = await (await olderTab(t, BEFORE)).evaluate(play, { scenarios: SCENARIOS, marks: false });
    const after = await (await t.tab()).evaluate(play, { scenarios: SCENARIOS, marks: true });
    const rows = SCENARIOS.map(({ title }, at) => [title, before[at], after[at]]);
    const table = fs.readFileSync(DOCUMENT, "utf8").split("\n").map((line) => line.match(/^\| (.+?) \| (\d+) \| (\d+) \|/)).filter(Boolean).map(([, title, one, other]) => [title, Number(one), Number(other)]);
    assert.deepEqual(table, rows);
  });
}

/** In the page: how many questions each scenario has. `marks`: the package has the words for them. */
async function play({ scenarios, marks }) {
  const counts = [];
  for (const [at, { says }] of scenarios.entries()) {
    const ws = await lodger.openWorkspace(`questions-${at}`, { storage: "memory" });
    const schema = { type: "object" };
    for (const [name, more] of Object.entries({
      lookup_order: { readOnly: true },
      place_order: { destructive: true },
      read_news: { source: "External", readOnly: true },
      read_mail: { source: "External", readOnly: true },
      send_mail: { destination: ["to"] },
      pay: { destination: ["iban"] },
      post: {},
    })) {
      const { destination, ...rest } = more;
      const inputSchema = destination ? { ...schema, properties: { [destination[0]]: { type: "string" } } } : schema;
      ws.tools.register({ name, description: "A tool.", inputSchema, execute: () => "done", ...rest, ...(marks && destination && { destination }) });
    }
    let calls = [];
    const chunk = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
    let id = 0;
    const provider = { kind: "custom", async *stream() {
      const [name, args] = calls.shift() ?? [];
      if (!name) { yield "Done."; return; }
      yield chunk({ tool_calls: [{ index: 0, id: `call_${++id}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] });
      yield chunk({}, "tool_calls");
    } };
    await ws.startAgent({ provider, capabilities: ["PagesRead", "PagesWrite"] });
    let asked = 0;
    ws.addEventListener("agent:permission-required", ({ detail }) => {
      asked++;
      void detail.respond("always_allow");
    });
    for (const said of says) {
      if (said.new) await ws.clearConversation();
      calls = [...said.calls];
      const files = said.file ? [new File(["Dear all,"], "letter.txt", { type: "text/plain" })] : undefined;
      const { outcome, error } = await ws.run({ text: "Go.", files }, { context: said.context, ...(marks && said.trusted && { trusted: true }) });
      if (outcome !== "completed" || calls.length) throw new Error(`scenario ${at}: ${outcome} ${JSON.stringify(error ?? calls)}`);
    }
    counts.push(asked);
    await ws.close();
  }
  return counts;
}
