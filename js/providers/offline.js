// `lodger/offline`: the model that is always there.
//
// It reads a request as a language model would (what was asked, which tools there are, what they have said). It answers
// as one would: with words, with tool calls, then with prose made from their results. It is a list of patterns and says
// so. Promises: every fact it states comes from the request. The same request gives the same answer. An abort stops it
// at the next word. Leaves to others: running the tools.
//
// Each answer is worked out anew from the start: a rule asks for what it needs by `tool(…)`. That gives the result if
// the conversation has it, and else ends the turn with that call. So a rule reads like a straight story.

const WHO =
  "I am the offline model that comes with Lodger: a rule-based stand-in, not a language model. " +
  "I recognise some ways of asking, use the tools I am given, and tell what they say.";
/** What can be asked, each with the tool that it takes. */
const ASK = [
  ["search_pages", "What pages mention dragons?"],
  ["get_page_tree", "List all pages."],
  ["read_page", 'Read the page "…", or summarize all pages about …'],
  ["create_page", 'Create a page titled "…" with the text "…"'],
  ["move_page", 'Move the page "…" under "…"'],
  ["rename_page", 'Rename "…" to "…"'],
  ["delete_page", 'Delete the page "…"'],
  ["get_backlinks", 'What links to "…"?'],
];
/** How many tools of the page the help shows. */
const MAX_SHOWN = 5;

/** How long a question may be, its quotes apart: patterns take their time. Characters. */
const MAX_ASKED = 2000;
/** How many pages are read for one question. */
const MAX_READ = 10;
/** How much of a page is quoted whole, and of a longer one. Characters. */
const QUOTE = 700;
const GIST = 260;

export function offline(options = {}) {
  const { delayMs = 0, ...strange } = isOptions(options) ? options : refuse("The options of offline() must be an object.");
  const [member] = Object.keys(strange);
  if (member !== undefined) refuse(`The options of offline() have no member "${member}" in this version.`);
  if (!(Number.isFinite(delayMs) && delayMs >= 0)) refuse("delayMs must be a number of milliseconds, 0 or more.");
  return {
    kind: "custom",
    model: "offline",
    async *stream(request, { signal }) {
      const { text, calls } = answer(request);
      for (const content of text.match(/\S+\s*|\s+/g) ?? []) {
        if (signal.aborted) return;
        yield { choices: [{ index: 0, delta: { content }, finish_reason: null }] };
        if (delayMs > 0) await pause(delayMs, signal);
      }
      if (signal.aborted) return;
      if (calls.length) yield { choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: null }] };
      yield { choices: [{ index: 0, delta: {}, finish_reason: calls.length ? "tool_calls" : "stop" }] };
    },
  };
}

const isOptions = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** An error as those of the package, which this module imports nothing of. */
function refuse(message) {
  throw Object.assign(new Error(message), { name: "LodgerError", code: "invalid_config", retryable: false, hint: "It knows: delayMs." });
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

// ---------------------------------------------------------------- one answer

/** Ends a turn: these tools are wanted first. */
class Wanted {
  constructor(calls, text) {
    this.calls = calls;
    this.text = text;
  }
}

/** Ends an answer: this is all there is to say. */
class Said {
  constructor(text) {
    this.text = text;
  }
}

function answer(request) {
  const context = read(request);
  try {
    return { text: reply(context), calls: [] };
  } catch (outcome) {
    if (outcome instanceof Said) return { text: outcome.text, calls: [] };
    if (!(outcome instanceof Wanted)) throw outcome;
    const calls = outcome.calls.map(([name, args], index) => ({
      index,
      id: `offline_${context.used + index + 1}`,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }));
    return { text: outcome.text, calls };
  }
}

const textOf = ({ content }) =>
  typeof content === "string" ? content : Array.isArray(content) ? content.map((part) => part.text ?? "").join("\n\n") : "";

/** What the request says: the question, the tools, and what they have answered to it. */
function read({ messages = [], tools = [] }) {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const results = new Map(); // id -> text
  for (const message of messages.slice(at + 1)) {
    if (message.role === "tool") results.set(message.tool_call_id, unframed(textOf(message)));
  }
  const done = new Map(); // call -> text
  for (const { tool_calls } of messages.slice(at + 1)) {
    for (const { id, function: f } of tool_calls ?? []) done.set(key(f.name, parsed(f.arguments)), results.get(id) ?? "");
  }
  const used = messages.reduce((n, { tool_calls }) => n + (tool_calls?.length ?? 0), 0);
  const whole = at < 0 ? "" : textOf(messages[at]).trim();
  // What follows the first paragraph is context, unless that one clearly goes on.
  const [first] = whole.split(/\n\s*\n/, 1);
  const asked = /:$/.test(first) || first.split(/["“”]/).length % 2 === 0 ? whole : first;
  return { asked, done, used, tools: tools.map((tool) => tool.function ?? tool) };
}

const parsed = (json) => {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
};
const key = (name, args) => JSON.stringify([name, Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1))]);

/** A result without the fence around it: a first and a last line that carry the same mark. */
function unframed(text) {
  const lines = text.trim().split("\n");
  const [, mark] = lines.at(-1).match(/^<\/\w+ (\S{8,})>$/) ?? [];
  if (lines.length > 2 && mark && lines[0].startsWith("<") && lines[0].includes(mark)) return lines.slice(1, -1).join("\n").trim();
  return text.trim();
}

// ---------------------------------------------------------------- rules

function reply(context) {
  const { masked, open } = mask(context.asked);
  if (masked.length > MAX_ASKED) return `That is more than I can follow: I read questions of up to ${MAX_ASKED} characters. A long text belongs in quotes.`;
  for (const [pattern, rule] of RULES) {
    const match = masked.match(pattern);
    if (!match) continue;
    const named = Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, text]) => [name, text && open(text, name === "content")]));
    const said = rule(tools(context), named, { masked, open });
    if (said !== undefined) return said;
  }
  return `I did not understand that. ${WHO}\n\n${help(context.tools)}`;
}

/** Quoted texts become one character each, so that no pattern looks into them; `open` gives them back. */
function mask(text) {
  const quotes = [];
  const masked = text.replace(/“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|‘((?:[^’]|’(?=\p{L}))+)’|"([^"]+)"|`([^`]+)`|(?<![\p{L}\p{N}])'((?:[^']|'(?=\p{L}))+)'/gu, (...match) => {
    quotes.push(match.slice(1, 8).find((group) => group !== undefined));
    return String.fromCharCode(0xe000 + quotes.length - 1);
  });
  /** A name loses the punctuation of its sentence, which some put inside the quotes; a text keeps it. */
  const open = (piece, isText = false) => {
    const found = [...piece].map((c) => quotes[c.charCodeAt(0) - 0xe000]).find((quote) => quote !== undefined);
    const whole = (found ?? piece).trim();
    return isText ? whole : whole.replace(found === undefined ? /[\s.,;:!?]+$/ : /[.,]$/, "");
  };
  return { masked, open };
}

const QUOTED = "[\\ue000-\\uf8ff]";
const rule = (source, act) => [new RegExp(source.replaceAll("§", QUOTED), "isu"), act];

// A page as people name it: quoted, or all up to the next word of the pattern.
const PAGE = (name) => `(?:the\\s+)?(?:page\\s+)?(?:(?:titled|called|named)\\s+)?(?<${name}>§|.+?)`;
const END = "\\s*(?:page)?[\\s.!?]*$";
const UNDER = "(?:(?:to\\s+be(?:come)?|as)\\s+(?:a\\s+)?(?:child|sub-?page)\\s+of|to\\s+be\\s+under|under(?:neath)?|below|beneath|into|inside)";

const RULES = [
  rule("\\b(?:who|what)\\s+are\\s+you\\b|\\bare\\s+you\\s+(?:an?\\s+|the\\s+)?(?:real|ai|llm|gpt|chatgpt|claude|language|model|bot|human|person|robot|machine)|introduce\\s+yourself|\\b(?:what|which)\\s+(?:language\\s+)?model\\b", () => WHO),
  rule("^(?:hi|hello|hey|good\\s+(?:morning|afternoon|evening|day))\\b[^?]{0,20}$|\\bwhat\\s+(?:can|could)\\s+you\\s+do\\b|^help\\b.{0,10}$", ({ list }) => `Hello. ${WHO}\n\n${help(list)}`),
  rule("^(?:thanks|thank\\s+you)\\b.{0,30}$", () => "You are welcome."),

  rule("\\bhow\\s+many\\b.*\\btools?\\b|\\b(?:count|number\\s+of)\\b.*\\btools\\b", ({ list }) =>
    list.length ? `I have ${list.length} ${list.length === 1 ? "tool" : "tools"}: ${list.map(({ name }) => name).join(", ")}.` : "I have no tools here."),
  rule("\\b(?:what|which|list|show|name|describe|tell)\\b.*\\btools?\\b|^\\W*tools?\\W*$", ({ list }) =>
    list.length ? `I have ${list.length} ${list.length === 1 ? "tool" : "tools"}:\n${list.map(({ name, description }) => `- ${name}: ${sentence(description)}`).join("\n")}` : "I have no tools here."),
  rule("[\\w-]+", (tools, _, { masked, open }) => callByName(tools, masked, open)),

  rule(`\\brename\\s+${PAGE("page")}\\s+(?:to|as|into)\\s+(?<title>§|.+)$`, rename),
  rule(`\\b(?:change|set)\\s+the\\s+title\\s+of\\s+${PAGE("page")}\\s+(?:to|into)\\s+(?<title>§|.+)$`, rename),
  rule(`\\bmove\\s+${PAGE("page")}\\s+(?:back\\s+)?(?:to|into|at)\\s+(?:the\\s+)?(?:top|root)(?:[\\s-]*level)?[\\s.!]*$`, (tools, { page }) => move(tools, { page, parent: null })),
  rule(`\\b(?:move|put)\\s+${PAGE("page")}\\s*,?\\s+(?:${UNDER}|to)\\s+${PAGE("parent")}${END}`, move),
  rule(`\\b(?:make|turn)\\s+${PAGE("page")}\\s+(?:into\\s+)?(?:a\\s+)?(?:child|sub-?page)\\s+of\\s+${PAGE("parent")}${END}`, move),
  rule(`\\b(?:delete|remove|trash)\\s+${PAGE("page")}${END}`, remove),
  rule(`\\b(?:set|change|replace|update|overwrite)\\s+the\\s+(?:text|contents?|body)\\s+of\\s+${PAGE("page")}\\s+(?:to|with|by)\\s*:?\\s+(?<content>§|.+)$`, update),
  rule("\\b(?:create|make|add|write|start)\\b(?:\\s+(?:me|us|for\\s+me))?\\s+(?:an?\\s+|another\\s+|the\\s+)?(?:(?:new|empty|short|sub-?)\\s*)*page\\b(?<rest>.*)$", create),

  rule(`\\b(?:(?:what|which\\s+pages?|who)\\s+links?\\s+to|pages?\\s+(?:that\\s+)?link(?:ing|s)?\\s+to|backlinks\\s+(?:of|to|for))\\s+${PAGE("page")}${END}`, (tools, { page }) =>
    listOf(tools, "get_backlinks", page, (title) => [`These pages link to “${title}”:`, `No page links to “${title}”.`])),
  rule(`\\b(?:(?:what|where|which\\s+pages?)\\s+does\\s+${PAGE("page")}\\s+link\\s+to|(?:outgoing\\s+)?links\\s+(?:of|from|in|on)\\s+${PAGE("other")})${END}`, (tools, { page, other }) =>
    listOf(tools, "get_outgoing_links", page ?? other, (title) => [`“${title}” links to:`, `“${title}” links to no page.`])),
  rule(`\\b(?:(?:version|edit|change)\\s+history|versions|revisions|history)\\s+of\\s+(?:the\\s+)?page\\s+(?<page>§|.+?)${END}|\\b(?:(?:version|edit|change)\\s+history|versions|revisions)\\s+of\\s+(?<other>§|.+?)${END}`, (tools, { page, other }) => {
    const found = resolve(tools, page ?? other);
    return `The tool says about the versions of “${found.title}”:\n${ok(tools.tool("read_page_history", { slug: found.slug }))}`;
  }),

  rule("\\bslug\\b\\s*[:=]?\\s*(?:is\\s+|of\\s+)?(?<slug>§|[\\p{L}\\p{N}][\\p{L}\\p{N}_-]*)", (tools, { slug }) => tell(tools.tool("read_page", { slug }), slug)),
  rule("\\bpage\\s*tree\\b|\\btable\\s+of\\s+contents\\b", tree),
  rule("^(?=.*(?:§.*§|\\bpages\\b|\\bchapters\\b))(?=.*\\b(?:read|summari[sz]e|summary|compare|combine)\\b)", readMany),
  rule(`\\b(?:read|open|show|display|get|fetch|summari[sz]e|quote)\\b(?:\\s+me)?(?:\\s+(?:all|aloud|out))?(?:\\s+(?:the\\s+)?(?:whole\\s+|full\\s+)?(?:text|contents?|body|summary)\\s+of)?\\s+(?!all\\b|every\\b)${PAGE("page")}${END}`, readOne),
  rule(`\\bwhat(?:'s|’s|\\s+is)\\s+(?:in|on|written\\s+(?:in|on))\\s+(?:the\\s+page\\s+(?<page>§|.+?)|(?<quoted>§))${END}|\\bwhat\\s+does\\s+${PAGE("other")}\\s+say[\\s.!?]*$`, (tools, { page, quoted, other }) =>
    readOne(tools, { page: page ?? quoted ?? other })),

  rule("\\b(?:pages?|notes?|anything|something|everything|what|which)\\b.*?\\b(?:mention(?:s|ing)?|about|contain(?:s|ing)?|regarding|concerning|discuss(?:es|ing)?|cover(?:s|ing)?|talk(?:s|ing)?\\s+(?:about|of)|related\\s+to|on\\s+the\\s+topic\\s+of|on)\\s+(?:the\\s+topic\\s+)?(?<topic>§|.+?)[\\s.!?]*$", search),
  rule("\\b(?:search|look|find|query)\\b(?:\\s+(?:me|up))?(?:\\s+(?:all|the|any|in|my|workspace|pages?|notes?))*(?:\\s+(?:for|about|on|mentioning))?\\s+(?<topic>§|.+?)[\\s.!?]*$", search),
  rule("\\btell\\s+me\\s+(?:more\\s+)?about\\s+(?<topic>§|.+?)[\\s.!?]*$", search),
  rule("\\b(?:list|show|what|which|how\\s+many|see|display)\\b.*\\bpages?\\b|\\bin\\s+(?:my|this|the)\\s+workspace\\b|^all\\s+pages\\W*$", tree),
  // The name of a page and nothing else.
  rule("^\\W*(?<page>§)\\W*$", readOne),
];

// ---------------------------------------------------------------- tools

/** What a rule may use. */
function tools({ tools: list, done }) {
  const check = (name) => {
    const found = list.find((tool) => tool.name === name);
    if (!found) throw new Said(`For that I would need the tool ${name}, which I do not have here.`);
    const [, why] = found.description?.match(/\[UNAVAILABLE: ([^\]]*)\]/) ?? [];
    if (why) throw new Said(`I cannot do that: the tool ${name} is not available to me. ${why}.`);
  };
  /** The results of these calls, which are made together. */
  const all = (calls, before = "") => {
    for (const [name] of calls) check(name);
    const missing = calls.filter(([name, args]) => !done.has(key(name, args)));
    if (missing.length) throw new Wanted(missing, before);
    return calls.map(([name, args]) => done.get(key(name, args)));
  };
  return { list, has: (name) => list.some((tool) => tool.name === name), all, tool: (name, args, before) => all([[name, args]], before)[0] };
}

/** What can be asked of these tools: those for pages in words, those of the page that has them by their names. */
function help(list) {
  const has = new Set(list.map(({ name }) => name));
  const own = list.filter(({ name }) => !/_(?:pages?(?:_\w+)?|links|backlinks)$/.test(name)).slice(0, MAX_SHOWN);
  const lines = [...ASK.filter(([name]) => has.has(name)).map(([, words]) => words), ...own.map(sample), "What tools do you have?"];
  return `You can ask me, for example:\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

/** A call as a person types it: the name of a tool, and what it needs. */
function sample({ name, parameters }) {
  return parameters?.required?.length ? `${name} ${JSON.stringify(valueFor({ ...parameters, type: "object" }))}` : name;
}

/** The least that this schema takes, as far as its plain words say it. */
function valueFor(schema, depth = 4) {
  const { type, properties = {}, required = [], items, minimum = 1, minItems = 1 } = schema ?? {};
  const given = [schema?.const, schema?.default, ...(schema?.enum ?? []), ...(schema?.examples ?? [])].find((value) => value !== undefined);
  if (given !== undefined) return given;
  const inner = (schema) => (depth ? valueFor(schema, depth - 1) : "…");
  switch (Array.isArray(type) ? type[0] : type) {
    case "number":
    case "integer": return minimum;
    case "boolean": return true;
    case "array": return Array.from({ length: Math.min(minItems, 3) }, () => inner(items));
    case "object": return Object.fromEntries(required.map((member) => [member, inner(Object.hasOwn(properties, member) ? properties[member] : undefined)]));
    default: return schema?.anyOf || schema?.oneOf ? inner((schema.anyOf ?? schema.oneOf)[0]) : "…";
  }
}

/** `add_to_cart {"id": "x"}`: any tool, by its name and JSON. */
function callByName(tools, masked, open) {
  const found = tools.list.find(({ name }) => new RegExp(`(?<![\\w-])${name.replace(/[^\w-]/g, "")}(?![\\w-])`).test(masked));
  if (!found) return undefined;
  const { name, parameters = {} } = found;
  const restored = [...masked].map((c) => (c >= "\ue000" && c <= "\uf8ff" ? JSON.stringify(open(c)) : c)).join("");
  const json = restored.match(/\{[\s\S]*\}/)?.[0];
  const needed = parameters.required ?? [];
  if (!json && needed.length) return `To use ${name} I need its arguments as JSON. Write, for example: ${sample(found)}`;
  let args = {};
  try {
    if (json) args = JSON.parse(json);
  } catch {
    return `The arguments for ${name} are not valid JSON: ${json}`;
  }
  return `The tool ${name} says: ${tools.tool(name, args)}`;
}

// ---------------------------------------------------------------- what the rules do

function search(tools, { topic }) {
  const words = topic.replace(/^(?:the|my|our|some|any|a|an)\s+/i, "");
  const hits = find(tools, words);
  if (!hits.length) return `I found no page about “${words}”. I can list all pages, if you like.`;
  if (hits.length === 1) return `One page matches “${words}”: “${hits[0].title}”.${hits[0].snippet ? ` It says: ${hits[0].snippet}` : ""}`;
  return `${hits.length} pages match “${words}”:\n${hits.map(({ title, snippet }) => `- ${title}${snippet ? `: ${snippet}` : ""}`).join("\n")}`;
}

/** The pages that match; a plural is looked for by its singular, of which it is the beginning. */
function find(tools, words) {
  const single = words.replace(/(?<=\p{L}{2})(?:(?<=s|x|z|ch|sh)es|s)$/u, "");
  return pagesIn(ok(tools.tool("search_pages", { query: single })));
}

function tree(tools) {
  const text = ok(tools.tool("get_page_tree", {}));
  const pages = pagesIn(text);
  if (!pages.length) return `There are no pages yet. I can create one: ask me to create a page titled "…".`;
  return `There ${pages.length === 1 ? "is one page" : `are ${pages.length} pages`}:\n${pages.map(({ title, depth }) => `${"  ".repeat(depth)}- ${title}`).join("\n")}`;
}

function readOne(tools, { page }) {
  const { slug, title } = resolve(tools, page);
  return tell(tools.tool("read_page", { slug }), title);
}

function readMany(tools, _, { masked, open }) {
  const quoted = [...masked].filter((c) => c >= "\ue000" && c <= "\uf8ff");
  let pages;
  if (quoted.length > 1) {
    pages = resolveAll(tools, quoted.map(open));
  } else {
    const [, count, kind] = masked.match(/\b(?:all|every|each|both|the|these)?\s*(?:of\s+)?(?:the|these|my|our)?\s*(\d+|two|three|four|five|six|seven|eight|nine|ten)?\s*((?:[\p{L}\p{N}-]+\s+){0,2}?)(?:pages|chapters)\b/iu) ?? [];
    const about = masked.match(/\b(?:pages|chapters)\s+(?:about|on|of|mentioning|called|named)\s+(.+?)(?:\s*,?\s+(?:and|then)\b.*)?[\s.!?]*$/isu)?.[1];
    const filler = /^(?:all|every|each|both|the|these|those|of|my|our|content|contents|read|summari[sz]e|compare|combine)$/i;
    const before = (kind ?? "").trim().split(/\s+/).filter((word) => word && !filler.test(word)).join(" ");
    const chapters = /\bchapters\b/i.test(masked) ? "chapter" : "";
    const topic = about ? open(about) : before || chapters;
    const found = topic ? find(tools, topic) : pagesIn(ok(tools.tool("get_page_tree", {})));
    const stems = fold(topic).split(" ").map((word) => word.replace(/s$/, ""));
    const inTitle = found.filter(({ title }) => stems.every((stem) => fold(title).includes(stem)));
    const limit = ["", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"].indexOf((count ?? "-").toLowerCase());
    pages = (inTitle.length ? inTitle : found).slice(0, Math.min(MAX_READ, Number(count) || (limit > 1 ? limit : MAX_READ)));
    pages.sort((a, b) => a.title.localeCompare(b.title, "en", { numeric: true }));
    if (!pages.length) return topic ? `I found no pages about “${topic}”.` : "There are no pages to read.";
  }
  const texts = tools.all(pages.map(({ slug }) => ["read_page", { slug }]), `I read ${pages.length === 1 ? "it" : `these ${pages.length} pages`}: ${pages.map(({ title }) => title).join(", ")}. `);
  const lines = texts.map((text, i) => {
    if (failed(text)) return `- ${pages[i].title}: could not be read (${text})`;
    const page = pageIn(text, pages[i].title);
    return `- ${page.title}: ${gist(page.body, GIST) || "(it is empty)"}`;
  });
  return `Together, ${texts.length === 1 ? "this page says" : `these ${texts.length} pages say`}:\n${lines.join("\n")}\n\nI put their beginnings side by side; as a rule-based stand-in I cannot weigh what matters.`;
}

function tell(text, name) {
  if (failed(text)) return `I could not read “${name}”: ${text}\n\nI can search for it, or list all pages, if you like.`;
  const { title, body, cut, size } = pageIn(text, name);
  if (!body) return `“${title}” is empty.`;
  if (!cut && body.length <= QUOTE) return `“${title}” says:\n\n${body}`;
  const begins = `“${title}” begins: ${gist(body, GIST)}\n\n`;
  const whole = size ? ` of ${size} characters` : "";
  return cut ? `${begins}I was given only a part${whole}: ${cut}` : `${begins}That is the beginning${whole || ` of ${body.length} characters`}.`;
}

function create(tools, { rest }, { masked, open }) {
  const at = masked.search(/\bpage\b/i);
  const tail = rest === undefined ? "" : masked.slice(at + 4);
  const pick = (source) => tail.match(new RegExp(source.replaceAll("§", QUOTED), "isu"))?.groups;
  const content = pick("\\b(?:(?:with|and|whose|has)\\s+(?:the\\s+|its\\s+|this\\s+)?(?:text|contents?|body|words?)(?:\\s+is)?|(?:and\\s+)?(?:saying|that\\s+says|containing|which\\s+says))\\s*:?\\s*(?<it>§|.+)$")?.it ?? pick("§\\s*(?::|with|and)\\s*(?<it>§)")?.it;
  const parent = pick(`\\b(?:${UNDER}|in)\\s+(?:the\\s+)?(?:page\\s+)?(?<it>§)`)?.it;
  const stop = "(?=\\s*,?\\s+(?:with|saying|that\\s+says|containing|which\\s+says|whose|under|below|inside|beneath)\\b|[\\s.!?]*$)";
  const title = pick("\\b(?:titled|called|named|(?:with|and)\\s+the\\s+title|about)\\s*:?\\s*(?<it>§|.+?)" + stop)?.it ?? pick("^\\W*(?<it>§)")?.it ?? pick("^\\s*:?\\s*(?<it>[^\\s].*?)" + stop)?.it;
  if (!title || !open(title)) return 'What shall the page be called? Say: create a page titled "…".';
  const args = { title: open(title) };
  if (content) args.content = open(content, true);
  if (parent) args.parent_slug = resolve(tools, open(parent)).slug;
  const text = tools.tool("create_page", args);
  if (failed(text)) return `I could not create “${args.title}”: ${text}`;
  return `Done: I created the page “${args.title}”${parent ? ` under “${open(parent)}”` : ""}.${also(text)}`;
}

function move(tools, { page, parent }) {
  const [from, to] = parent === null ? resolveAll(tools, [page]) : resolveAll(tools, [page, parent]);
  const text = tools.tool("move_page", { slug: from.slug, parent_slug: to?.slug ?? null });
  if (failed(text)) return `I could not move “${from.title}”: ${text}`;
  return `Done: “${from.title}” is now ${to ? `a child of “${to.title}”` : "at the top level"}.${also(text)}`;
}

function rename(tools, { page, title }) {
  const found = resolve(tools, page);
  const text = tools.tool("rename_page", { slug: found.slug, title });
  return failed(text) ? `I could not rename “${found.title}”: ${text}` : `Done: “${found.title}” is now called “${title}”.${also(text)}`;
}

function remove(tools, { page }) {
  const found = resolve(tools, page);
  const text = tools.tool("delete_page", { slug: found.slug });
  return failed(text) ? `I could not delete “${found.title}”: ${text}` : `Done: “${found.title}” is deleted.${also(text)}`;
}

function update(tools, { page, content }) {
  const found = resolve(tools, page);
  const text = tools.tool("update_page_content", { slug: found.slug, content });
  return failed(text) ? `I could not change “${found.title}”: ${text}` : `Done: “${found.title}” has its new text.${also(text)}`;
}

function listOf(tools, tool, name, words) {
  const { slug, title } = resolve(tools, name);
  // Links to pages that do not exist have no slug, but are told all the same.
  const lines = ok(tools.tool(tool, { slug })).split("\n").filter((line) => /^\s*(?:[-*•]|\d+[.)])\s/.test(line));
  const [some, none] = words(title);
  return lines.length ? `${some}\n${lines.map((line) => `- ${line.match(LINE)?.groups.title ?? line.replace(/^\W+/, "").replace('"', "")}`).join("\n")}` : none;
}

// ---------------------------------------------------------------- pages by name

const fold = (text) => text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
const isSlug = (text) => /^[\p{Ll}\p{N}]+(?:-[\p{Ll}\p{N}]+)+$/u.test(text);

/** The page that people mean by a title, or by a slug. */
const resolve = (tools, name) => resolveAll(tools, [name])[0];

function resolveAll(tools, names) {
  const titles = names.filter((name) => !isSlug(name));
  const finder = tools.has("search_pages") ? (query) => ["search_pages", { query }] : () => ["get_page_tree", {}];
  const texts = tools.all(titles.map(finder)).map(ok);
  return names.map((name) => {
    if (isSlug(name)) return { slug: name, title: name };
    const pages = pagesIn(texts[titles.indexOf(name)]);
    const found = pages.find(({ title }) => fold(title) === fold(name)) ?? pages.find(({ slug }) => slug === name);
    if (found) return found;
    const near = pages.slice(0, 3).map(({ title }) => `“${title}”`).join(", ");
    throw new Said(`I found no page called “${name}”.${near ? ` The nearest: ${near}.` : ""} I can list all pages, if you like.`);
  });
}

// ---------------------------------------------------------------- reading results

/** Whether a result tells of a failure. It has no flag for that, so how it begins must do. */
const failed = (text) =>
  /^(?:(?:error|failed|invalid|missing|unknown|denied)\b|there is no (?:page|tool)\b|no (?:page has|tool is|such)\b|(?:the|a|this) (?:page|tool|title|slug|call|result)\b[^\n]{0,200}\b(?:not|cannot|already|trash|denied|interrupted|long|must|failed|unknown)\b|(?:the person (?:did not allow|interrupted)|a \w+ only reads, and|[\w-]+ is (?:not allowed here|unavailable))\b)/i.test(text);

function ok(text) {
  if (failed(text)) throw new Said(`That did not work. The tool says: ${text}`);
  return text;
}

/** What a tool adds to "done", if it adds anything. */
function also(text) {
  const [, slug] = text.match(/^Created .*\(slug: ([^\s()]+)\)/s) ?? [];
  if (slug) return ` Its slug is ${slug}.`;
  const more = text.match(/(?:Links to it|The (?:\d+ )?pages? below) [^"]*$/)?.[0];
  if (more) return ` ${more}`;
  return /^(?:moved|renamed|changed|done|ok|null|true)\b/i.test(text) ? "" : ` The tool says: ${gist(text, GIST)}`;
}

const sentence = (text = "") => text.trim().match(/^[\s\S]*?[.!?](?=\s|$)/)?.[0] ?? text.trim();

/** The beginning of a text: whole sentences, as far as they fit. */
function gist(text, most) {
  const flat = text.replace(/^#+\s+.*$/gm, "").replace(/\s+/g, " ").trim();
  if (flat.length <= most) return flat;
  const sentences = flat.slice(0, most).match(/^.*[.!?](?=\s|$)/s)?.[0];
  return sentences ?? `${flat.slice(0, most).replace(/\s+\S*$/, "")}…`;
}

/** The pages that a result names, in its order: from JSON, or from lines that hold a title and a slug. */
export function pagesIn(text) {
  const pages = [];
  const collect = (value, depth) => {
    if (Array.isArray(value)) value.forEach((item) => collect(item, depth));
    else if (value && typeof value === "object") {
      const is = typeof value.title === "string" && typeof value.slug === "string";
      if (is) pages.push({ title: value.title, slug: value.slug, snippet: value.snippet ?? "", depth });
      for (const inner of Object.values(value)) collect(inner, depth + (is ? 1 : 0));
    }
  };
  if (/^[[{]/.test(text)) {
    try {
      collect(JSON.parse(text), 0);
      return pages;
    } catch {
      // Lines, then; or JSON that was cut.
    }
  }
  let numbered = false;
  for (const line of text.split("\n")) {
    const { indent, marker, title, slug, rest } = line.match(LINE)?.groups ?? {};
    // Below a numbered page, an indented line is its snippet, even if it looks like another page.
    if (title && !(numbered && (indent || marker === "-"))) {
      if (/\d/.test(marker)) numbered = true;
      pages.push({ title: title.trim(), slug, snippet: rest.replace(/^[\s:,;.–—-]+/, "").trim(), depth: Math.floor(indent.length / 2) });
    } else if (pages.length && /^\s+\S/.test(line)) {
      const last = pages.at(-1);
      last.snippet = `${last.snippet} ${line.trim()}`.trim();
    }
  }
  return pages;
}
// `1. "Dragon Lore" (slug: dragon-lore)`, and what is like it: the title may hold quotes and brackets itself.
const LINE = /^(?<indent>\s*)(?<marker>[-*•]|\d+[.)])\s+["“'*]*(?<title>\S.*?)["”'*]*\s+[(\[]\s*(?:slug\s*[:=]?\s*)?`?(?<slug>[\p{Ll}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lo}\p{N}]+)*)`?[)\]](?<rest>(?!.*\(slug: ).*)$/u;

/** A page as `read_page` tells of it: a heading and what is known of it, an empty line, the text. Or as JSON. */
export function pageIn(text, name) {
  const marker = text.match(/\n\s*\[([^\]\n]*\b(?:cut|truncated|left out)\b[^\]\n]*)\]\s*$/i);
  const whole = marker ? text.slice(0, marker.index) : text;
  const cut = marker?.[1] ?? "";
  if (whole.startsWith("{")) {
    const { title, content } = parsed(whole);
    if (typeof content === "string") return { title: title ?? name, body: content.trim(), cut };
  }
  const [, title, facts, body] = whole.match(/^# ([^\n]+)((?:\n[^\n]+)*)(?:\n\n([\s\S]*))?$/) ?? [];
  if (title === undefined) return { title: name, body: whole.trim(), cut };
  return { title: title.trim(), body: /\b0 characters\b/.test(facts) ? "" : (body ?? "").trim(), cut, size: facts.match(/\b(\d+) characters\b/)?.[1] };
}
