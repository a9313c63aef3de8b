import assert from "node:assert/strict";
import { test } from "node:test";
import { offline, pageIn, pagesIn } from "../providers/offline.js";
import { converse, Pages, slugOf, TOOLS } from "./workspace.js";

const names = (calls) => calls.map(([name]) => name);

test("what it does not know it refuses, and says what it knows", () => {
  for (const [given, message] of [[{ delay: 3 }, /no member "delay"/], [7, /must be an object/], [{ delayMs: "fast" }, /delayMs must be a number/], [{ delayMs: -1 }, /delayMs must be/]]) {
    assert.throws(() => offline(given), (error) => message.test(error.message) && error.code === "invalid_config" && error.hint === "It knows: delayMs.", JSON.stringify(given));
  }
  for (const given of [undefined, {}, { delayMs: 0 }, { delayMs: undefined }]) assert.equal(offline(given).model, "offline");
});

// ---------------------------------------------------------------- the wording of the seeds

// Twice, with other pages and other texts: what it says must change with them.
for (const [creature, lore, text] of [["dragons", "Dragon Lore", "Dragons breathe fire and hoard treasure."], ["griffins", "Griffin Notes", "Griffins guard gold in high nests."]]) {
  test(`what pages mention ${creature}?`, async () => {
    const pages = new Pages([{ title: lore, content: text }, { title: "Cooking", content: "Soup." }]);
    const { text: said, calls } = await converse(pages, `What pages mention ${creature}?`);
    assert.deepEqual(calls, [["search_pages", { query: creature.slice(0, -1) }]]); // the singular finds both
    assert.match(said, new RegExp(lore));
    assert.ok(said.includes(text.slice(0, 20)), said);
    assert.ok(!said.includes("Cooking"));
  });
}

for (const [topic, titles] of [["history", ["History of Rome", "History of Greece", "History of Egypt"]], ["baking", ["Baking Bread", "Baking Cakes"]]]) {
  test(`list all pages about ${topic}`, async () => {
    const pages = new Pages([...titles.map((title) => ({ title, content: `All about it: ${title}.` })), { title: "Other" }]);
    const { text, calls } = await converse(pages, `List all pages about ${topic}.`);
    assert.deepEqual(calls, [["search_pages", { query: topic }]]);
    for (const title of titles) assert.ok(text.includes(title), text);
    assert.doesNotMatch(text, /[{}]|Other/);
  });
}

test("a slug that does not exist", async () => {
  for (const [asked, slug] of [["Get the page with slug ‘this-page-does-not-exist-xyz-404’.", "this-page-does-not-exist-xyz-404"], ["get the page with slug nothing-here", "nothing-here"], ["Read the page with the slug 'x-y'", "x-y"]]) {
    const { text, calls } = await converse(new Pages([]), asked);
    assert.deepEqual(calls, [["read_page", { slug }]]);
    assert.ok(text.includes(slug) && /could not/.test(text), text);
  }
  const { text } = await converse(new Pages([{ title: "Is Here", content: "Yes, it is." }]), "Get the page with slug 'is-here'.");
  assert.match(text, /Is Here.*Yes, it is\./s);
});

test("which tools, and how many", async () => {
  const { text, calls } = await converse(new Pages([]), "What tools do you have access to?");
  assert.deepEqual(calls, []);
  for (const { function: { name } } of TOOLS) assert.ok(text.includes(`${name}: Does ${name}.\n`) || text.endsWith(`${name}: Does ${name}.`), name);
  assert.match((await converse(new Pages([]), "How many tools do you have available?")).text, /^I have 12 tools: search_pages, .*delete_page\.$/);
  assert.match((await converse(new Pages([]), "How many tools do you have available?", { tools: TOOLS.slice(0, 1) })).text, /^I have 1 tool: search_pages\.$/);
  assert.match((await converse(new Pages([]), "How many tools do you have?", { tools: [] })).text, /no tools/);
});

test("create a page", async () => {
  for (const [asked, args] of [
    ["Create a page titled ‘Test Page’.", { title: "Test Page" }],
    ['Create a page titled "Ideas" with the text "Buy milk. Then rest."', { title: "Ideas", content: "Buy milk. Then rest." }],
    ["Please make a new page called Shopping list saying: eggs and flour", { title: "Shopping list", content: "eggs and flour" }],
    ["create a page named Notes", { title: "Notes" }],
    ['Add a page "A" under "Home"', { title: "A", parent_slug: "home" }],
    ['Create a page titled "Long" with the text:\n\nFirst.\n\nSecond.', { title: "Long", content: "First.\n\nSecond." }],
  ]) {
    const pages = new Pages([{ title: "Home" }]);
    const { text, calls } = await converse(pages, asked);
    assert.deepEqual(calls.at(-1), ["create_page", args], asked);
    assert.ok(text.startsWith("Done") && text.includes(args.title), text);
    assert.equal(pages.pages.length, 2);
  }
  assert.match((await converse(new Pages([]), "Create a page.")).text, /called/);
  assert.match((await converse(new Pages([]), 'Create a page titled "X"', { run: () => "Error: the slug 'x' is taken" })).text, /could not create “X”: Error: the slug 'x' is taken/);
});

for (const [titles, asked] of [[["Chapter 1", "Chapter 2", "Chapter 3"], "Read the content of all three chapter pages and summarize them together."], [["Lesson 10", "Lesson 9", "Lesson 8"], "Summarize the three lesson pages, please."]]) {
  test(`several pages read and put together: ${asked}`, async () => {
    const pages = new Pages([...titles.map((title, i) => ({ title, content: `It begins with number ${i}${title.length}. Then more.` })), { title: "Chapterless lesson-free", content: "A chapter? No. A lesson? No." }]);
    const { text, calls } = await converse(pages, asked);
    assert.equal(names(calls)[0], "search_pages");
    assert.deepEqual(calls.slice(1).map(([name, { slug }]) => [name, slug]).sort(), titles.map((title) => ["read_page", slugOf(title)]).sort());
    titles.forEach((title, i) => assert.ok(text.includes(title) && text.includes(`number ${i}${title.length}.`), text));
    assert.match(text, /Together, these 3 pages/);
  });
}

test("pages by their titles, and pages about something, summarized", async () => {
  const pages = new Pages([{ title: "Red Fox", content: "A fox is red." }, { title: "Blue Whale", content: "A whale is blue." }, { title: "Green Frog", content: "A frog is green." }]);
  const two = await converse(pages, "Read 'Red Fox' and 'Green Frog' and compare them");
  assert.deepEqual(two.calls.slice(2), [["read_page", { slug: "red-fox" }], ["read_page", { slug: "green-frog" }]]);
  assert.ok(!two.text.includes("Whale"));
  const all = await converse(pages, "Read all pages and summarize them.");
  assert.deepEqual(names(all.calls), ["get_page_tree", "read_page", "read_page", "read_page"]);
  const about = await converse(pages, "Summarize all pages about whales.");
  assert.deepEqual(about.calls.at(-1), ["read_page", { slug: "blue-whale" }]);
});

test("move a page", async () => {
  for (const [asked, child, parent] of [
    ["Move the page ‘Chapter 1’ to be a child of ‘Chapter 2’.", "Chapter 1", "chapter-2"],
    ["Move 'Zebra' under 'Animals'", "Zebra", "animals"],
    ["move page Zebra to Animals", "Zebra", "animals"],
    ["Make 'Zebra' a child of 'Animals'.", "Zebra", "animals"],
    ["Move the page 'Zebra' to the top level", "Zebra", null],
  ]) {
    const pages = new Pages([{ title: "Chapter 1" }, { title: "Chapter 2" }, { title: "Zebra", parent: "chapter-1" }, { title: "Animals" }]);
    const { text, calls } = await converse(pages, asked);
    assert.deepEqual(calls.at(-1), ["move_page", { slug: slugOf(child), parent_slug: parent }], asked);
    assert.ok(text.includes(child) && /^Done/.test(text), text);
    assert.equal(pages.pages.find(({ title }) => title === child).parent, parent);
  }
  const { text, calls } = await converse(new Pages([{ title: "Chapter 2" }]), "Move the page 'Chapter 9' under 'Chapter 2'.");
  assert.match(text, /no page called “Chapter 9”.*“Chapter 2”/);
  assert.ok(!names(calls).includes("move_page"));
});

test("a large page: it says that it saw a part", async () => {
  for (const title of ["Large Page", "Big Book"]) {
    const pages = new Pages([{ title, content: "All work and no play. ".repeat(25_000) }]);
    const { text, calls } = await converse(pages, `Read the content of ‘${title}.’`);
    assert.deepEqual(calls.at(-1), ["read_page", { slug: slugOf(title) }]);
    assert.ok(text.includes(title) && text.includes("All work and no play."), text);
    assert.match(text, /only a part.*bytes are left out/s);
    assert.ok(text.length < 1500);
  }
});

test("the questions of the lifecycle: what is in the workspace", async () => {
  const pages = new Pages([{ title: "Home" }, { title: "Inside", parent: "home" }]);
  for (const asked of ["What is in my workspace?", "List all pages", "Show me the page tree", "What pages are there?"]) {
    const { text, calls } = await converse(pages, asked);
    assert.deepEqual(calls, [["get_page_tree", {}]], asked);
    assert.match(text, /2 pages:\n- Home\n {2}- Inside/);
  }
  assert.match((await converse(new Pages([]), "List all pages")).text, /no pages yet/);
});

// ---------------------------------------------------------------- more of what it can do

test("read, rename, change, delete, links", async () => {
  const pages = () => new Pages([{ title: "What's New?", content: "See [[Home]] and [[Nowhere]]. It is short." }, { title: "Home", content: "The start." }]);
  assert.match((await converse(pages(), "Read “What's New?”")).text, /It is short\./);
  assert.match((await converse(pages(), "show me the page home")).text, /“Home” says:\n\nThe start\./);
  assert.match((await converse(pages(), "What does Home say?")).text, /The start\./);
  const renamed = pages();
  assert.match((await converse(renamed, "Rename 'Home' to 'Start here'")).text, /“Home” is now called “Start here”/);
  assert.equal(renamed.pages[1].title, "Start here");
  assert.match((await converse(pages(), "Rename 'Home' to 'X'")).text, /Links to it were changed in 2 pages\.$/);
  const changed = pages();
  await converse(changed, "Replace the text of 'Home' with 'The end.'");
  assert.equal(changed.pages[1].content, "The end.");
  const deleted = pages();
  assert.match((await converse(deleted, "delete the page Home")).text, /“Home” is deleted/);
  assert.equal(deleted.pages.length, 1);
  assert.match((await converse(pages(), "What links to 'Home'?")).text, /link to “Home”:\n- What's New\?/);
  assert.match((await converse(pages(), "What does “What's New?” link to?")).text, /links to:\n- Home\n- Nowhere, which does not exist$/);
  assert.match((await converse(pages(), "Which pages link to “What's New?”")).text, /No page links/);
  assert.deepEqual((await converse(pages(), "Show me the versions of 'Home'")).calls.at(-1), ["read_page_history", { slug: "home" }]);
});

test("a plural is looked for by its singular, and nothing found is said", async () => {
  const pages = new Pages([{ title: "Fox", content: "One fox." }]);
  const { calls, text } = await converse(pages, "Which pages are about foxes?");
  assert.deepEqual(calls.map(([, { query }]) => query), ["fox"]);
  assert.match(text, /“Fox”/);
  assert.match((await converse(pages, "Find pages about foxes", { run: () => "invalid arguments for search_pages: odd" })).text, /did not work.*: invalid arguments/);
  assert.match((await converse(pages, "Find pages about submarines")).text, /no page about “submarines”/);
});

test("any tool, by its name and JSON", async () => {
  const tools = [{ type: "function", function: { name: "add_to_cart", description: "Adds.", parameters: { required: ["id"] } } }];
  const called = await converse(null, 'Use add_to_cart {"id": "book-1", "note": "gift"}', { tools, run: (name, args) => `${name} got ${args.id} as ${args.note}` });
  assert.deepEqual(called.calls, [["add_to_cart", { id: "book-1", note: "gift" }]]);
  assert.equal(called.text, "The tool add_to_cart says: add_to_cart got book-1 as gift");
  assert.match((await converse(null, "add_to_cart please", { tools })).text, /add_to_cart \{"id":"…"\}/);
  assert.match((await converse(null, "add_to_cart {id}", { tools })).text, /not valid JSON: \{id\}/);
});

test("a tool that is missing or not available is named", async () => {
  assert.match((await converse(null, "What pages mention dragons?", { tools: [] })).text, /tool search_pages, which I do not have/);
  const tools = structuredClone(TOOLS);
  tools.find((tool) => tool.function.name === "create_page").function.description += " [UNAVAILABLE: Requires PagesWrite capability]";
  const { text, calls } = await converse(null, "Create a page titled ‘Test Page’.", { tools });
  assert.deepEqual(calls, []);
  assert.match(text, /create_page is not available to me\. Requires PagesWrite capability\./);
});

test("what was not allowed is not told as done", async () => {
  for (const refusal of ["the person did not allow this call; it was not run: not on Sundays", "delete_page is not allowed here; it was not run (go on without it, and say so)", "a Researcher only reads, and delete_page changes something", "the page closed while this call ran, so its outcome is unknown"]) {
    const home = new Pages([{ title: "Home" }]);
    const { text } = await converse(home, "delete the page Home", { run: (name, args) => (name === "delete_page" ? refusal : home.run(name, args)) });
    assert.ok(text.startsWith("I could not delete “Home”: ") && text.includes(refusal), text);
  }
});

test("it says what it is, and what it can do when it understands nothing", async () => {
  for (const asked of ["Who are you?", "Are you a language model?", "Hello", "Hello, are you there?", "xyzzy plugh", "Explain monads.", "Which model is this?", ""]) {
    const { text, calls } = await converse(null, asked);
    assert.deepEqual(calls, [], asked);
    assert.match(text, /rule-based stand-in, not a language model/, asked);
  }
  assert.match((await converse(null, "xyzzy plugh")).text, /You can ask me/);
});

test("its help names what the tools at hand can do, and calls as they are typed", async () => {
  const help = async (tools) => (await converse(null, "help", { tools })).text.split("\n").filter((line) => line.startsWith("- "));
  assert.deepEqual(await help([]), ["- What tools do you have?"]);
  const properties = {
    id: { type: "string" }, litres: { type: "number", minimum: 5 }, count: { type: "integer" }, fast: { type: "boolean" }, to: { enum: ["home", "shop"] },
    tags: { type: "array", items: { type: "string" } }, at: { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] }, maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
  };
  const own = { type: "function", function: { name: "fill", description: "Fills.", parameters: { type: "object", properties, required: Object.keys(properties) } } };
  const line = '- fill {"id":"…","litres":5,"count":1,"fast":true,"to":"home","tags":["…"],"at":{"lat":1},"maybe":1}';
  assert.deepEqual(await help([own]), [line, "- What tools do you have?"]);
  // The example is a call that the schema takes.
  const { calls } = await converse(null, line.slice(2), { tools: [own], run: () => "ok" });
  assert.deepEqual(calls, [["fill", JSON.parse(line.slice("- fill ".length))]]);
  const all = await help(TOOLS);
  assert.ok(all.includes("- What pages mention dragons?") && all.includes("- What tools do you have?"), all.join("\n"));
  assert.deepEqual(all.filter((line) => /_/.test(line)), []);
});

test("a question may quote a long text, but not be one", async () => {
  const content = "Long. ".repeat(50_000).trim();
  const pages = new Pages([]);
  assert.match((await converse(pages, `Create a page titled "Long" with the text "${content}"`)).text, /^Done/);
  assert.equal(pages.pages[0].content, content);
  assert.match((await converse(pages, "what page links to move ".repeat(100_000))).text, /more than I can follow/);
});

test("only the last question counts, and its context is not part of it", async () => {
  const pages = new Pages([{ title: "Dragon Lore", content: "Dragons breathe fire." }, { title: "Cats", content: "Cats sleep." }]);
  const first = await converse(pages, "What pages mention dragons?");
  const second = await converse(pages, "What pages mention cats?\n\nThe reader is on the page Home.", { before: first.messages });
  assert.deepEqual(second.calls, [["search_pages", { query: "cat" }]]);
  assert.match(second.text, /“Cats”/);
  const ids = second.messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "call ids are unique in the conversation");
});

test("a result inside a fence is read without it", async () => {
  const pages = new Pages([{ title: "Dragon Lore", content: "Dragons breathe fire." }]);
  const run = (...call) => `<result source="Workspace" KPN7w3mx/Tg+>\n${pages.run(...call)}\n</result KPN7w3mx/Tg+>`;
  assert.match((await converse(pages, "Read 'Dragon Lore'", { run })).text, /^“Dragon Lore” says:\n\nDragons breathe fire\.$/);
});

// ---------------------------------------------------------------- how it streams

const chunks = async (model, signal, content = "Who are you?") => {
  const out = [];
  for await (const { choices: [choice] } of model.stream({ messages: [{ role: "user", content }], tools: TOOLS }, { signal })) out.push(choice);
  return out;
};

test("in words, the same each time, with one finish", async () => {
  const model = offline();
  const { signal } = new AbortController();
  const first = await chunks(model, signal);
  assert.ok(first.length > 20);
  assert.deepEqual(await chunks(model, signal), first);
  assert.deepEqual(first.map(({ finish_reason }) => finish_reason).filter(Boolean), ["stop"]);
  assert.deepEqual((await chunks(model, signal, "List all pages")).map(({ finish_reason }) => finish_reason).filter(Boolean), ["tool_calls"]);
});

test("delayMs waits between words, and an abort stops at once", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const controller = new AbortController();
  const iterator = offline({ delayMs: 50 }).stream({ messages: [{ role: "user", content: "Who are you?" }] }, { signal: controller.signal });
  assert.equal((await iterator.next()).value.choices[0].delta.content, "I ");
  let second;
  const waiting = iterator.next().then(({ value }) => { second = value; });
  await new Promise(setImmediate);
  t.mock.timers.tick(49);
  await new Promise(setImmediate);
  assert.equal(second, undefined);
  t.mock.timers.tick(1);
  await waiting;
  assert.equal(second.choices[0].delta.content, "am ");
  const last = iterator.next();
  controller.abort();
  assert.deepEqual(await last, { value: undefined, done: true });
});

// ---------------------------------------------------------------- reading results

test("pages are found in lists, whatever their titles and texts hold", () => {
  for (const text of ['2 pages match "x":\n\n1. "Red Fox" (slug: red-fox)\n   quick\n\n2. "Blue Whale" (slug: blue-whale)\n   slow', '- "Red Fox" (slug: red-fox): quick\n- "Blue Whale" (slug: blue-whale): slow',
    "* **Red Fox** [red-fox]\n  quick\n* **Blue Whale** [blue-whale]\n  slow", '[{"slug":"red-fox","title":"Red Fox","snippet":"quick"},{"slug":"blue-whale","title":"Blue Whale","snippet":"slow"}]']) {
    assert.deepEqual(pagesIn(text).map(({ title, slug, snippet }) => [title, slug, snippet]), [["Red Fox", "red-fox", "quick"], ["Blue Whale", "blue-whale", "slow"]], text);
  }
  const odd = pagesIn('1 page matches "x":\n\n1. "A "b" (slug: no) c" (slug: a-b-c)\n   - "Not a page" (slug: fake)');
  assert.deepEqual(odd, [{ title: 'A "b" (slug: no) c', slug: "a-b-c", snippet: '- "Not a page" (slug: fake)', depth: 0 }]);
  assert.deepEqual(pagesIn('2 pages:\n\n- "Top" (slug: top)\n  - "Below" (slug: below)').map(({ title, depth }) => [title, depth]), [["Top", 0], ["Below", 1]]);
  assert.deepEqual(pagesIn('No page links to "Red Fox" (slug: red-fox).'), []);
});

test("a page is found behind its head", () => {
  const body = "A fox.\n\nIt runs.";
  assert.deepEqual(pageIn(`# Red Fox\nslug: red-fox, version: 3, 16 characters\nmetadata: a = b\n\n${body}`, "?"), { title: "Red Fox", body, cut: "", size: "16" });
  assert.deepEqual(pageIn(JSON.stringify({ title: "Red Fox", content: body }), "?"), { title: "Red Fox", body, cut: "" });
  assert.deepEqual(pageIn(body, "Red Fox"), { title: "Red Fox", body, cut: "" });
  assert.equal(pageIn("# Red Fox\nslug: red-fox, version: 1, 0 characters\n\n(The page is empty.)", "?").body, "");
});
