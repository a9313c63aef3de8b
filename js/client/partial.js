// Values while they come: as much of a JSON text as is there makes a value.
//
// Decides what a text that is not whole stands for. What is open is closed. A number, a literal or a name that is not whole yet is not
// there. Promises: the work is that of the new text, however long the whole is, because the value grows in place. Where it is `shown`,
// what is open is copied once before it grows. Whole, it is what `JSON.parse` gives. A text that is no JSON keeps what was there before
// its fault. Leaves to others: whether the value fits its schema, which is judged once it is whole.

const ESCAPED = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const LITERALS = { true: true, false: false, null: null };
const BLANK = /[ \t\r\n]/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
// What ends a piece of a text within quotes.
const STOPS = /["\\]/g;

/** Reads one JSON text, piece by piece. */
export class PartialJson {
  /** What the text stands for so far; undefined: nothing yet. */
  value;
  /** How many members all copies of what was open have had. */
  copied = 0;
  #stack = []; // the open objects and arrays, the outermost first
  #keys = []; // beside them: the name that was read last
  #reads = "value"; // value, first (a value or a bracket that closes), name, colon, comma, text, token, nothing
  #text = "";
  #ofName = false; // the open text is a name
  #escape = ""; // what has come of an escape
  #token = "";
  #isShown = false; // what is open was shown, and stays as it is

  /** The value, which does not change any more. */
  get shown() {
    this.#isShown = true;
    return this.value;
  }

  /** More of it. */
  push(text) {
    if (this.#isShown) this.#copy();
    for (let at = 0; at < text.length && this.#reads !== "nothing"; ) at = this.#take(text, at);
  }

  /** The text is over: a number at its end is whole. */
  end() {
    if (this.#reads === "token") this.#endToken();
  }

  #take(text, at) {
    if (this.#reads === "text") return this.#takeText(text, at);
    const c = text[at];
    if (this.#reads === "token") {
      if (!/[\s,\]}]/.test(c)) {
        this.#token += c;
        return at + 1;
      }
      this.#endToken();
      return at;
    }
    if (BLANK.test(c)) return at + 1;
    this.#takeMark(c);
    return at + 1;
  }

  #takeMark(c) {
    const top = this.#stack.at(-1);
    const reads = this.#reads;
    if (reads === "colon") return void (this.#reads = c === ":" ? "value" : "nothing");
    if (reads === "comma" || reads === "first") {
      if (c === (Array.isArray(top) ? "]" : "}")) return this.#close();
      if (reads === "comma") return void (this.#reads = c !== "," || !top ? "nothing" : Array.isArray(top) ? "value" : "name");
    }
    const named = reads === "name" || (reads === "first" && !Array.isArray(top));
    if (c === '"') {
      [this.#text, this.#ofName, this.#reads] = ["", named, "text"];
      if (!named) this.#put("");
    } else if (named) this.#reads = "nothing";
    else if (c === "{" || c === "[") {
      const made = c === "{" ? {} : [];
      this.#put(made);
      this.#stack.push(made);
      this.#keys.push(undefined);
      this.#reads = "first";
    } else if (/[-\dtfn]/.test(c)) [this.#token, this.#reads] = [c, "token"];
    else this.#reads = "nothing";
  }

  #takeText(text, at) {
    if (this.#escape) return this.#takeEscape(text[at], at);
    STOPS.lastIndex = at;
    const stop = STOPS.exec(text)?.index ?? text.length;
    this.#text += text.slice(at, stop);
    if (text[stop] === "\\") this.#escape = "\\";
    if (text[stop] === '"') {
      if (this.#ofName) [this.#keys[this.#keys.length - 1], this.#reads] = [this.#text, "colon"];
      else this.#reads = "comma";
    }
    if (!this.#ofName) this.#set(this.#text);
    return stop + 1;
  }

  #takeEscape(c, at) {
    this.#escape += c;
    const letter = this.#escape[1];
    if (letter === "u" ? this.#escape.length < 6 : false) return at + 1;
    const said = letter === "u" ? /^[\da-fA-F]{4}$/.test(this.#escape.slice(2)) && String.fromCharCode(parseInt(this.#escape.slice(2), 16)) : ESCAPED[letter];
    this.#escape = "";
    if (!said) return void (this.#reads = "nothing") ?? at + 1;
    this.#text += said;
    if (!this.#ofName) this.#set(this.#text);
    return at + 1;
  }

  #endToken() {
    const token = this.#token;
    const isLiteral = Object.hasOwn(LITERALS, token);
    this.#reads = "comma";
    if (isLiteral || NUMBER.test(token)) this.#put(isLiteral ? LITERALS[token] : Number(token));
    else this.#reads = "nothing";
  }

  #close() {
    this.#stack.pop();
    this.#keys.pop();
    this.#reads = "comma";
  }

  /** A value begins. */
  #put(value) {
    const top = this.#stack.at(-1);
    if (Array.isArray(top)) top.push(value);
    else this.#set(value);
  }

  /** What is open goes on as a copy: what was shown keeps the other. */
  #copy() {
    this.#isShown = false;
    const [open, keys] = [this.#stack, this.#keys];
    [this.#stack, this.#keys] = [[], []];
    for (const [n, value] of open.entries()) {
      const copy = Array.isArray(value) ? value.slice() : { ...value };
      this.copied += Array.isArray(copy) ? copy.length : Object.keys(copy).length;
      this.#set(copy);
      this.#stack.push(copy);
      this.#keys.push(keys[n]);
    }
  }

  /** The value that was begun last is this by now. */
  #set(value) {
    const top = this.#stack.at(-1);
    if (!top) this.value = value;
    else if (Array.isArray(top)) top[top.length - 1] = value;
    // A member that is called like the prototype is a member like any other.
    else Object.defineProperty(top, this.#keys.at(-1), { value, writable: true, enumerable: true, configurable: true });
  }
}

/**
 * The arguments of calls that come, by message and place: each has what reads it, how much of it was read, and what was shown of it last.
 * More is shown as long as all copies have had fewer members than the text has letters: long lists come in steps.
 */
export class Arguments {
  #readers = new Map();

  /** Gives the calls of a message their `arguments`, from a part on. `piece`: what came last; a long text is not taken apart for each. */
  fill({ id, parts }, from, piece = "") {
    if (!this.#readers.has(id)) this.#readers.set(id, new Map());
    const readers = this.#readers.get(id);
    for (let n = from; n < parts.length; n++) {
      const { argumentsText } = parts[n];
      if (!argumentsText) continue;
      const { length } = argumentsText;
      let [json, read, shown] = readers.get(n) ?? [];
      if (!json || read > length) [json, read, shown] = [new PartialJson(), 0, undefined];
      json.push(read + piece.length === length ? piece : argumentsText.slice(read));
      if (!shown || json.copied < length) shown = json.shown;
      readers.set(n, [json, length, shown]);
      parts[n] = { ...parts[n], arguments: shown ?? {} };
    }
  }

  /** None of a message come any more. */
  delete(id) {
    this.#readers.delete(id);
  }
}

/**
 * The value of a run's answer, as it comes: what begins with the first bracket, because some models say a word before it. `wraps`: it
 * lies in an object that was put around it.
 */
export async function* values(text, wraps) {
  let json, part;
  for await (const [piece, anew] of text.pieces()) {
    // What follows a call of a tool is another answer, and so is one that is asked for again.
    if (anew || piece.part !== part) [json, part] = [undefined, piece.part];
    const from = json ? 0 : piece.text.indexOf("{");
    if (from < 0) continue;
    json ??= new PartialJson();
    json.push(piece.text.slice(from));
    const value = wraps ? json.value.value : json.value;
    if (value !== undefined) yield value;
  }
}
