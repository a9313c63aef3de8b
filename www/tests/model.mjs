// A model API of our own: speaks the Messages stream over HTTP and says what a test asks it to say.
//
// Decides: the answer, by the last thing the person wrote. Nothing here waits by a clock that a test depends on. An
// answer that must not end is released by the test (`release`), so "in the middle" is a fact and not a moment.
import { createServer } from "node:http";

const WORDS = "The harbour lies quiet under the morning and the ledger is open at a page that nobody has read for years ".split(/(?<= )/);

/** Starts it; `address` is the base URL. */
export async function startModel() {
  const state = { requests: 0, lists: 0, calls: [], bodies: [], held: [], released: false, still: [] };
  let stands;
  const asleep = new Promise((done) => (stands = done));
  const server = createServer((request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "*", "access-control-expose-headers": "*" };
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    if (request.url === "/still") {
      state.still.push(() => response.writeHead(200, cors).end());
      return stands();
    }
    if (request.method === "GET") {
      const good = /sk-ant-test-key-7431/.test(request.headers["x-api-key"] ?? request.headers.authorization ?? "");
      state.lists += 1;
      if (!good) return fail(response, cors, 401, "authentication_error", "invalid x-api-key");
      response.writeHead(200, { ...cors, "content-type": "application/json" });
      return response.end(JSON.stringify({ data: [{ type: "model", id: "claude-sonnet-4-6", display_name: "Claude Sonnet 4.6" }, { type: "model", id: "claude-from-the-list" }], has_more: false }));
    }
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      state.requests += 1;
      state.calls.push({ path: request.url, key: request.headers["x-api-key"] ?? request.headers.authorization });
      state.bodies.push(JSON.parse(body));
      if (/chat\/completions$/.test(request.url)) return chat(JSON.parse(body), response, cors);
      void answer(JSON.parse(body), response, cors, state);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    /** The bodies of all calls. */
    get bodies() {
      return state.bodies;
    },
    /** Path and key of all calls. */
    get calls() {
      return state.calls;
    },
    /** How often its models were asked for. */
    get lists() {
      return state.lists;
    },
    /** How many calls were made. */
    get requests() {
      return state.requests;
    },
    /** Lets every held answer go on to its end, also one that is about to be held. */
    release() {
      state.released = true;
      for (const go of state.held.splice(0)) go();
    },
    /** Makes a page stand still, as one does whose script hangs; resolves, once it does, with what wakes it. */
    async hang(page) {
      const over = page.evaluate((address) => {
        const request = new XMLHttpRequest();
        request.open("GET", `${address}/still`, false);
        request.send();
      }, this.address);
      await Promise.race([asleep, over]);
      return () => {
        for (const wake of state.still.splice(0)) wake();
        return over;
      };
    },
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}

/** OpenAI's Chat Completions: always one sentence. */
function chat({ model }, response, cors) {
  response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
  const chunk = (more) => response.write(`data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", model, choices: [], ...more })}\n\n`);
  chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "Said by chat." }, finish_reason: null }] });
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  chunk({ usage: { prompt_tokens: 1200, completion_tokens: 30, total_tokens: 1230 } });
  response.end("data: [DONE]\n\n");
}

/** An answer that is none. */
function fail(response, cors, status, type, message, headers = {}) {
  response.writeHead(status, { ...cors, ...headers, "content-type": "application/json", "request-id": "req_test_7" });
  response.end(JSON.stringify({ type: "error", error: { type, message } }));
}

async function answer({ model, messages, system }, response, cors, state) {
  const blocks = messages.flatMap(({ role, content }) => (typeof content === "string" ? [{ role, type: "text", text: content }] : content.map((b) => ({ role, ...b }))));
  const asked = blocks.filter((b) => b.role === "user" && b.type === "text").at(-1)?.text ?? "";
  const results = messages.at(-1).content instanceof Array && messages.at(-1).content.some((b) => b.type === "tool_result");

  if (/refuse the key/.test(asked)) return fail(response, cors, 401, "authentication_error", "invalid x-api-key");
  if (/too many/.test(asked)) return fail(response, cors, 429, "rate_limit_error", "Number of requests has exceeded your limit", { "retry-after": "60" });
  if (/busy once/.test(asked) && !state.busy) {
    state.busy = true;
    return fail(response, cors, 529, "overloaded_error", "Overloaded", { "retry-after-ms": "1" });
  }
  if (/another takes over/.test(asked) && model !== "second") return fail(response, cors, 529, "overloaded_error", "Overloaded", { "x-should-retry": "false" });
  if (/no credit/.test(asked)) return fail(response, cors, 400, "invalid_request_error", "Your credit balance is too low to access the API");
  if (/too long/.test(asked)) return fail(response, cors, 400, "invalid_request_error", "prompt is too long: 1000001 tokens > 1000000 maximum");
  response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
  const stream = new Stream(response);
  stream.begin(model);
  // What it sums up has the words that begin the other answers: the summary comes before them.
  if (/You sum up a conversation/.test(JSON.stringify(system ?? ""))) {
    await stream.text(["## What was said\n\n", "They spoke of **the harbour**."], /slowly/.test(JSON.stringify(messages)) ? () => hold(state) : undefined);
  } else if (/break off/.test(asked)) {
    // The run asks again by itself, so that a person sees an error only when each of its tries has broken off.
    const breaks = /each try/.test(asked) ? 3 : 1;
    state.broken = (state.broken ?? 0) + 1;
    await stream.text([state.broken > breaks ? "This time it holds." : "This is only half"]);
    if (state.broken <= breaks) return response.end();
  } else if (/think/.test(asked)) {
    await stream.block({ type: "thinking", thinking: "", signature: "" }, WORDS.map((thinking) => ({ type: "thinking_delta", thinking })).concat({ type: "signature_delta", signature: "c2lnbmVk" }));
    await stream.text(["I have ", "thought ", "about it."]);
  } else if (/search the web/.test(asked)) {
    const [url, title] = ["https://shop.example/hours", "Opening hours"];
    await stream.block({ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }, [{ type: "input_json_delta", partial_json: '{"query":"hours"}' }]);
    if (/slowly/.test(asked)) await hold(state);
    await stream.block({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url, title, encrypted_content: "c2VhbGVk" }] }, []);
    const cited = (cited_text, more) => ({ type: "citations_delta", citation: { type: "web_search_result_location", url, title, cited_text, encrypted_index: "c2VhbGVk", ...more } });
    await stream.block({ type: "text", text: "" }, [cited("open till six"), { type: "text_delta", text: "They are open till six." }]);
    await stream.block({ type: "text", text: "" }, [cited("closed on Sunday"), cited("no", { url: "javascript:alert(1)" }), { type: "text_delta", text: " Not on Sunday." }]);
  } else if (/use tools/.test(asked) && !results) {
    await stream.text(["I look."]);
    await stream.tool("search_pages", { query: "dragon" });
    await stream.tool("read_page", { slug: "this-page-does-not-exist-xyz-404" });
    return stream.end("tool_use");
  } else if (/five tools/.test(asked) && !results) {
    for (const slug of ["chapter-1", "no-such-page"]) await stream.tool("read_page", { slug });
    if (/slowly/.test(asked)) await hold(state);
    await stream.tool("read_page", { slug: "chapter-2" });
    for (const query of ["dragon", "key"]) await stream.tool("search_pages", { query });
    return stream.end("tool_use");
  } else if (/^call /m.test(asked) && !results) {
    if (/slowly/.test(asked)) await hold(state);
    for (const [, tool, args] of asked.matchAll(/^call (\w+) (.*)$/gm)) await stream.tool(tool, JSON.parse(args));
    return stream.end("tool_use");
  } else if (/change the page/.test(asked) && !results) {
    await stream.tool("update_page_content", { slug: "dragon-lore", content: "The agent wrote this." });
    return stream.end("tool_use");
  } else if (/use tools|five tools|change the page|^call /m.test(asked)) await stream.text(["That ", "is ", "done."]);
  else if (/held in a (list|quote|code)/.test(asked)) {
    const text = { list: "A list:\n\n- one\n- two", quote: "> said", code: "```js\nlet a = 1;" }[/held in a (\w+)/.exec(asked)[1]];
    await stream.text(cut(text, 4), () => hold(state));
  } else if (/never end|held/.test(asked)) {
    await stream.text(/100 KB/.test(asked) ? cut(long(), 250) : WORDS, () => hold(state));
  } else if (/everything markdown/.test(asked)) await stream.text(cut(MARKDOWN, 3));
  else if (/100 KB/.test(asked)) {
    if (/later/.test(asked)) await stream.text(["In a moment. "], () => hold(state));
    await stream.text(cut(long(), /crumbs/.test(asked) ? 5 : 250));
  } else await stream.text(WORDS);
  stream.end("end_turn");
}

/** Until the test says `release`. */
function hold(state) {
  return new Promise((go) => (state.released ? go() : state.held.push(go)));
}

class Stream {
  #index = 0;
  constructor(response) {
    this.response = response;
  }
  send(event) {
    return new Promise((go) => {
      if (this.response.destroyed) return go();
      this.response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`, () => setImmediate(go));
    });
  }
  begin(model) {
    void this.send({ type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 10, output_tokens: 1 } } });
  }
  async block(content_block, deltas, before) {
    const index = this.#index++;
    await this.send({ type: "content_block_start", index, content_block });
    for (const delta of deltas) await this.send({ type: "content_block_delta", index, delta });
    await before?.();
    await this.send({ type: "content_block_stop", index });
  }
  text(pieces, before) {
    return this.block({ type: "text", text: "" }, pieces.map((text) => ({ type: "text_delta", text })), before);
  }
  tool(name, input) {
    const id = `toolu_${Math.random().toString(36).slice(2)}`;
    return this.block({ type: "tool_use", id, name, input: {} }, [{ type: "input_json_delta", partial_json: JSON.stringify(input) }]);
  }
  async end(stop_reason) {
    await this.send({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 40 } });
    await this.send({ type: "message_stop" });
    this.response.end();
  }
}

function cut(text, size) {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}

/** One of everything, and some of what must not come through. */
export const MARKDOWN = `# First

A paragraph with **bold**, *emphasis*, \`code\`, ~~gone~~, a [link](https://example.org/a) and a page: [[Dragon Lore]].

### Third

- one
- two
  - under two

1. first
2. second

> Quoted **strongly**.

\`\`\`rust
fn add(a: u32, b: u32) -> u32 { a + b } // the sum
\`\`\`

| name | value |
|---|---:|
| a | 1 |

- [ ] open
- [x] done

![secret](https://example.org/picture.png?leak=1)

<img src=x onerror="window.hacked = 1"><script>window.hacked = 2</script>

[bad](javascript:window.hacked=3) and [data](data:text/html,hacked).

The end.
`;

/** How many sections the long answer has; together a little more than 100 KB. */
export const SECTIONS = 215;

function long() {
  return Array.from({ length: SECTIONS }, (_, i) => section(i)).join("");
}

function section(i) {
  return `## Section ${i}\n\nSome **bold** text with \`code\`, a [link](https://example.org/${i}) and *emphasis* that goes on for a while, so that paragraphs are as long as they usually are.\n\n- item one of ${i}\n- item two with **bold**\n- item three\n\n\`\`\`js\nconst x${i} = ${i}; // a line\nfunction f${i}() { return x${i} * 2; }\n\`\`\`\n\n| a | b | a column with a longer head |\n|---|---|---|\n| ${i} | ${i * 2} | what stands in the long column |\n\n`;
}
