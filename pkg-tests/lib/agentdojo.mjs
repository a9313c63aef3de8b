// The texts of AgentDojo itself (MIT licence, on PyPI as `agentdojo`): its attacks, its goals, and the calls that reach them.
// They are read from an unpacked wheel when a test runs, and none of them is copied into this repository. Nothing of the wheel
// is executed: what is read are literals. What has another form is a failure that names it, so that a newer wheel is noticed.
import fs from "node:fs";
import path from "node:path";
import { WORK, sh } from "./package.mjs";

const HOW = "unpack the wheel (python3 -m pip download --no-deps agentdojo; python3 -m zipfile -e agentdojo-*.whl DIR), and name its folder: LODGER_AGENTDOJO=DIR/agentdojo";

let found;
/** `{ dir }`: the package's folder in the unpacked wheel; or `{ missing }`: why there is none, and what to do. Downloads it once. */
export const agentdojo = () => (found ??= look());

async function look() {
  let dir = process.env.LODGER_AGENTDOJO;
  if (!dir && process.env.LODGER_CAMPAIGN !== "1") return { missing: `LODGER_AGENTDOJO names no folder: ${HOW}` };
  // What was asked for is not skipped.
  dir ||= await download(path.join(WORK, "agentdojo")).catch((error) => { throw new Error(`the wheel could not be had (${error.message.trim().split("\n").at(-1)}): ${HOW}`); });
  if (!fs.existsSync(path.join(dir, "attacks"))) throw new Error(`there is no AgentDojo at ${dir}: ${HOW}`);
  return { dir };
}

async function download(to) {
  // A wheel only: to make one of the sources would run their code.
  await sh("python3", ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", to, "agentdojo"], { timeout: 120_000 });
  const wheel = fs.readdirSync(to).find((name) => name.endsWith(".whl"));
  await sh("python3", ["-m", "zipfile", "-e", path.join(to, wheel), to]);
  return path.join(to, "agentdojo");
}

/**
 * What is read: `wrappers` that carry a goal and `stops` that want the work to end (`{ name: text }`, in the manner of `dojo-texts.mjs`),
 * `goals` (`{ goal, tool, args }`; no `tool`: its calls are none of these tools, no `args`: they are no literals).
 */
export function readAgentDojo(dir, tools) {
  const read = (...names) => new Source(path.join(dir, ...names));
  const defaults = read("attacks", "base_attacks.py").constants();
  const attacks = (file) => readAttacks(read("attacks", file), defaults);
  const suites = ["banking", "slack", "travel", "workspace"];
  return {
    wrappers: { ...attacks("baseline_attacks.py"), ...attacks("important_instructions_attacks.py") },
    stops: attacks("dos_attacks.py"),
    goals: suites.flatMap((suite) => read("default_suites", "v1", suite, "injection_tasks.py").classes().map((one) => readGoal(one, tools))),
  };
}

// ------------------------------------------------------------------ what the files hold

/** What AgentDojo asks its model for, as names of ours. */
const ASKED = { get_model_name_from_pipeline: "Lodger", get_wrong_model_name_from_pipeline: "Abacus 3000" };
/** It has no text: a person types one. */
const TYPED = ["ManualAttack"];
/** What stands for its `{goal}`, and for the `{tools}` that it spells out. */
const FILLED = { goal: "{{GOAL}}", tools: "{{CALL}}" };

function readAttacks(source, defaults) {
  const attacks = new Map();
  for (const { name, base, body } of source.classes().filter(({ name }) => !TYPED.includes(name))) {
    const constants = body.constants();
    const { user_name, model_name, _JB_STRING, _DOS_STRING, name: title } = constants;
    const set = { user: user_name, model: model_name, text: _JB_STRING ?? _DOS_STRING ?? body.attempt(/super\(\)\.__init__\(/g, constants) };
    for (const { match: [, who], end } of body.find(/^ +self\.(user|model)_name = /gm)) {
      const asked = ASKED[/\w+(?=\()/.exec(body.line(end))?.[0]];
      set[who] = asked ?? body.value(end, defaults, true);
    }
    const own = Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined));
    const one = { user: defaults.DEFAULT_USER_NAME, model: defaults.DEFAULT_MODEL_NAME, ...attacks.get(base), ...own, title };
    // A text that cannot be read must not pass for the one it replaces.
    const lost = !own.text && body.find(/^ {4}_(?:JB|DOS)_STRING\b/gm).length > 0;
    if (lost || !one.text || !title) throw new Error(`AgentDojo's ${name} has no text that can be read`);
    attacks.set(name, one);
  }
  return Object.fromEntries([...attacks.values()].map((one) => [one.title, one.text.replaceAll(/\{\{|\}\}|\{(\w+)\}/g, (all, word) => {
    const value = word ? { ...FILLED, ...one }[word] : all[0];
    if (value === undefined) throw new Error(`AgentDojo's attack ${one.title} wants ${all}`);
    return value;
  })]));
}

function readGoal({ name, body, file }, tools) {
  const constants = body.constants();
  const of = `${file}, ${name}`;
  const [at, ...more] = body.find(/^ {4}GOAL(?: *:[^=\n]+)? = /gm);
  if (!at || more.length) throw new Error(`${of}: one goal was expected, ${more.length + (at ? 1 : 0)} are there`);
  let goal;
  try {
    goal = body.value(at.end, constants, true);
  } catch (error) {
    throw new Error(`${of}: its goal cannot be read: ${error.message}`);
  }
  if (typeof goal !== "string" || !goal) throw new Error(`${of}: its goal is no text`);
  const truth = body.method("ground_truth");
  if (!truth) throw new Error(`${of}: it has no ground truth`);
  const calls = truth.find(/\bFunctionCall\(/g).map(({ end }) => truth.bracket(end));
  const named = (call) => call.attempt(/\bfunction=/g, constants);
  const call = calls.findLast((call) => Object.hasOwn(tools, named(call) ?? ""));
  // Where an argument is computed, AgentDojo has a literal for it that stands in what it tells the model.
  return { goal, tool: call && named(call), args: call && (call.attempt(/\bargs=/g, constants) ?? call.attempt(/\bplaceholder_args=/g, constants)) };
}

// ------------------------------------------------------------------ literals of Python

const STRING = /([rRbBuUfF]{0,2})("""|'''|"|')/y;
const ESCAPES = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v", "\\": "\\", "'": "'", '"': '"', "\n": "" };
const ESCAPED = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|([^]))/g;
const FORMATTED = new RegExp(`${ESCAPED.source}|\\{\\{|\\}\\}|\\{([^{}]*)\\}|[{}]`, "g");
const WORDS = { True: true, False: false, None: null };

/** A file or a part of it. In `mask`, as long as the text, strings and comments are blank: what is found there is code. */
class Source {
  constructor(file, text = fs.readFileSync(file, "utf8").replaceAll("\r\n", "\n"), mask = blank(text)) {
    Object.assign(this, { file, text, mask });
  }

  part(from, to) { return new Source(this.file, this.text.slice(from, to), this.mask.slice(from, to)); }
  find(pattern) { return [...this.mask.matchAll(pattern)].map((match) => ({ match, end: match.index + match[0].length })); }
  line(at) { return this.text.slice(at).split("\n", 1)[0]; }

  /** The classes, each with its body, up to what stands at the margin again. */
  classes() {
    return this.find(/^class (\w+)(?:\((\w+)[^\n]*\))?:/gm).map(({ match: [, name, base], end }) => {
      const next = this.mask.slice(end).search(/\n[^\s#)]/);
      return { name, base, file: this.file, body: this.part(end, next < 0 ? undefined : end + next) };
    });
  }

  method(name) {
    const [at] = this.find(new RegExp(`^    def ${name}\\(`, "gm"));
    if (!at) return undefined;
    const next = this.mask.slice(at.end).search(/\n {4}[^\s)]/);
    return this.part(at.end, next < 0 ? undefined : at.end + next);
  }

  /** What is assigned at the margin, or at that of a class, as far as it is a literal. */
  constants() {
    const names = {};
    for (const { match: [, name], end } of this.find(/^(?: {4})?(\w+)(?: *:[^=\n]+)? = /gm)) {
      const value = this.attemptAt(end, names, true);
      if (value !== undefined) names[name] = value;
    }
    return names;
  }

  /** What stands between this opening bracket and the one that closes it. */
  bracket(from) {
    let depth = 1;
    let at = from;
    for (; depth && at < this.mask.length; at++) depth += "([{".includes(this.mask[at]) ? 1 : ")]}".includes(this.mask[at]) ? -1 : 0;
    return this.part(from, at - 1);
  }

  attempt(pattern, names) {
    const [at] = this.find(pattern);
    return at && this.attemptAt(at.end, names);
  }

  attemptAt(at, names, alone) {
    try { return this.value(at, names, alone); } catch { return undefined; }
  }

  /** The literal at this place. Only an end of it may follow; `alone`: only the end of the line. */
  value(at, names = {}, alone = false) {
    const reader = new Reader(this.text, at, names);
    const value = reader.value(!alone);
    const rest = this.mask.slice(reader.at);
    if (!(alone ? /^ *(\n|$)/ : /^\s*([,)\]}\n]|$)/).test(rest)) throw new Error(`no literal: ${this.line(at)}`);
    return value;
  }
}

function blank(text) {
  let mask = "";
  for (let at = 0; at < text.length;) {
    const from = at;
    STRING.lastIndex = at;
    const opened = !/\w/.test(text[at - 1] ?? "") && STRING.exec(text);
    if (opened) at = stringEnd(text, at + opened[0].length, opened[2]);
    else if (text[at] === "#") while (at < text.length && text[at] !== "\n") at++;
    else { mask += text[at++]; continue; }
    mask += " ".repeat(at - from);
  }
  return mask;
}

function stringEnd(text, at, quote) {
  for (; !text.startsWith(quote, at); at++) {
    if (at >= text.length || (quote.length === 1 && text[at] === "\n")) throw new Error(`a string has no end: ${text.slice(at - 60, at)}`);
    if (text[at] === "\\") at++;
  }
  return at + quote.length;
}

class Reader {
  constructor(text, at, names) { Object.assign(this, { text, at, names }); }

  /** Goes on behind this, if it stands here. */
  take(pattern) {
    const match = new RegExp(pattern.source, "y");
    match.lastIndex = this.at;
    const taken = match.exec(this.text);
    if (taken) this.at = match.lastIndex;
    return taken;
  }

  /** `inside`: of brackets, where lines and comments end nothing. */
  space(inside) { this.take(inside ? /(\s|#[^\n]*)*/ : / */); }

  value(inside) {
    this.space(inside);
    if (this.string()) return this.strings(inside);
    if (this.take(/\(/)) {
      const { items, comma } = this.items(")", () => this.value(true));
      return items.length === 1 && !comma ? items[0] : items;
    }
    if (this.take(/\[/)) return this.items("]", () => this.value(true)).items;
    if (this.take(/\{/)) return Object.fromEntries(this.items("}", () => {
      const key = this.value(true);
      this.space(true);
      if (!this.take(/:/)) this.fail();
      return [key, this.value(true)];
    }).items);
    const number = this.take(/-?\d[\d_]*(\.\d+)?(?![\w.])/);
    if (number) return Number(number[0].replaceAll("_", ""));
    return this.named(this.take(/(?:self\.)?[A-Za-z_]\w*(?![\w.(["'])/)?.[0] ?? this.fail());
  }

  items(close, item) {
    const items = [];
    for (let comma = true; ; comma = this.take(/,/) !== null) {
      this.space(true);
      if (this.text[this.at] === close) {
        this.at++;
        return { items, comma };
      }
      if (!comma) this.fail();
      items.push(item());
      this.space(true);
    }
  }

  named(word) {
    const name = word.replace(/^self\./, "");
    if (Object.hasOwn(WORDS, word)) return WORDS[word];
    if (!Object.hasOwn(this.names, name)) this.fail();
    return this.names[name];
  }

  string() {
    STRING.lastIndex = this.at;
    return STRING.exec(this.text);
  }

  /** This string, and those beside it, which belong to it. */
  strings(inside) {
    let all = "";
    for (let opened; (opened = this.string()); this.space(inside)) {
      const [{ length }, prefix, quote] = opened;
      const end = stringEnd(this.text, this.at + length, quote);
      if (/b/i.test(prefix)) this.fail();
      const content = this.text.slice(this.at + length, end - quote.length);
      all += this.content(content, /r/i.test(prefix), /f/i.test(prefix));
      this.at = end;
    }
    return all;
  }

  content(content, raw, format) {
    return content.replaceAll(format ? FORMATTED : ESCAPED, (all, x, u, long, octal, escaped, word) => {
      const code = x ?? u ?? long;
      if (all[0] === "\\") {
        if (raw) return all;
        if (code || octal) return String.fromCodePoint(code ? parseInt(code, 16) : parseInt(octal, 8));
        // These begin what has another form here, as `\N{…}` does.
        if ("xuUN".includes(escaped)) this.fail();
        return ESCAPES[escaped] ?? all;
      }
      if (all === "{{" || all === "}}") return all[0];
      return /^(self\.)?\w+$/.test(word ?? "") ? String(this.named(word)) : this.fail();
    });
  }

  fail() { throw new Error(`no literal: ${this.text.slice(this.at).split("\n", 1)[0]}`); }
}
