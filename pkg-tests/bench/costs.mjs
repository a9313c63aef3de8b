// What a long conversation, memory and values while they come cost, in tokens and dollars: the figures of `docs/guides/`. It runs the
// packed package in Node before a server that counts four bytes as a token, and that keeps beginnings of requests in a cache as Anthropic does.
// `node bench/costs.mjs [--package DIR|TGZ]`
import { createHash } from "node:crypto";
import http from "node:http";
import path from "node:path";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { installPackage, ROOT } from "../lib/package.mjs";
import { message } from "../servers/sse.mjs";

const { values } = parseArgs({ options: { package: { type: "string", default: path.join(ROOT, "..", "pkg") } } });
const pkg = await installPackage(values.package);
const { openWorkspace } = await import(pathToFileURL(path.join(pkg.dir, pkg.entry(".", ["node", "import", "default"]))));
const { default: models } = await import(pathToFileURL(path.join(pkg.dir, pkg.entry("./models.json"))), { with: { type: "json" } });

/** It has a window of 200,000 tokens, and answers with 64,000 at the most. */
const MODEL = "claude-haiku-4-5";
const [input, output, read, write] = models.anthropic[MODEL].price;
/** In bytes: what a person asks, what is answered, and a summary. */
const [ASKED, ANSWERED, SUMMED_UP] = [400, 2_000, 8_000];

const prose = (bytes, n) => `${n}: ${"so it goes on ".repeat(bytes)}`.slice(0, bytes);

const asked = [];
const cache = new Set();
const server = http.createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  const body = JSON.parse(text);
  // What a request says, part by part; a beginning that was sent before is in the cache.
  const parts = [JSON.stringify([body.tools, body.system]), ...body.messages.map((message) => JSON.stringify(message))];
  const hash = createHash("sha256");
  let [bytes, cached, name] = [0, 0];
  for (const [n, part] of parts.entries()) {
    bytes += Buffer.byteLength(part);
    name = hash.update(part).copy().digest("hex");
    if (cache.has(name)) cached = bytes;
    if (n === 0) cache.add(name);
  }
  cache.add(name);
  const sumsUp = text.includes("You sum up a conversation");
  const answer = prose(sumsUp ? SUMMED_UP : ANSWERED, asked.length);
  const usage = { input_tokens: 0, cache_read_input_tokens: Math.round(cached / 4), cache_creation_input_tokens: Math.round((bytes - cached) / 4), output_tokens: Math.round(answer.length / 4) };
  asked.push({ sumsUp, body, usage, dollars: (usage.cache_read_input_tokens * read + usage.cache_creation_input_tokens * write + usage.output_tokens * output) / 1e6 });
  const events = message({ text: answer, pieces: [answer] }).join("").replace(/"usage":\{[^}]*\}/g, () => `"usage":${JSON.stringify(usage)}`);
  response.writeHead(200, { "content-type": "text/event-stream" }).end(events);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const provider = { kind: "anthropic", model: MODEL, apiKey: "k0123456789", baseUrl: `http://127.0.0.1:${server.address().port}` };

const opened = async (name, more) => {
  const ws = await openWorkspace(name, { pageTools: false, storage: "memory" });
  await ws.startAgent({ provider, ...more });
  return ws;
};
const sent = ({ usage }) => usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
const dollars = (sum) => `$${sum.toFixed(4)}`;
const costs = (list) => dollars(list.reduce((sum, { dollars }) => sum + dollars, 0));

{
  const ws = await opened("long");
  let last = 0;
  for (let n = 0, made = 0; made < 4; n++) {
    await ws.run(prose(ASKED, n));
    const { compactions } = ws.view().getSnapshot().context;
    if (compactions === made) continue;
    made = compactions;
    const at = asked.findLastIndex(({ sumsUp }) => sumsUp);
    const [before, summary, after] = asked.slice(at - 1, at + 2);
    console.log(`summary ${made}, after ${at - last - 1} messages, which cost ${costs(asked.slice(last + 1, at))}; the last of them sent ${sent(before)} tokens, and cost ${dollars(before.dollars)}`);
    console.log(`  sent ${sent(summary)} tokens, of them from the cache ${summary.usage.cache_read_input_tokens}; at most ${summary.body.max_tokens} may be written, ${summary.usage.output_tokens} were: ${dollars(summary.dollars)}`);
    console.log(`  the next request: ${sent(after)} tokens, of them from the cache ${after.usage.cache_read_input_tokens}: ${dollars(after.dollars)}`);
    last = at;
  }
  const between = asked.slice(1).filter((one, n) => !one.sumsUp && !asked[n].sumsUp);
  console.log(`of the ${between.length} other requests, not from the cache: at most ${Math.max(...between.map(({ usage }) => usage.cache_creation_input_tokens))} tokens`);
  await ws.close();
}

{
  const without = await opened("without");
  await without.run("What do I like?");
  const bare = asked.at(-1);
  const ws = await opened("memory", { memory: true });
  await ws.run("What do I like?");
  const tools = asked.at(-1);
  console.log(`memory: its tools are ${JSON.stringify(tools.body.tools).length / 4} tokens, with what the system prompt says of results ${sent(tools) - sent(bare)}`);
  for (const bytes of [100, 1_000]) {
    await ws.clearConversation();
    for (const { id } of await ws.memory.list()) await ws.memory.remove(id);
    for (let n = 0; n < 30; n++) await ws.memory.add({ text: prose(bytes, n) });
    for (let n = 0; n < 4; n++) {
      await ws.run("What do I like?");
      const { usage, body } = asked.at(-1);
      const [, told] = body.messages.at(-1).content;
      console.log(`  of 30 with ${bytes} bytes, message ${n + 1} tells ${(await ws.history()).at(-2).memories?.length ?? 0}: ${Math.round((told?.text.length ?? 0) / 4)} tokens; from the cache ${usage.cache_read_input_tokens}, not from it ${usage.cache_creation_input_tokens}`);
    }
  }
  await without.close();
  await ws.close();
}
server.close();
