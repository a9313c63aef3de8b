// Sessions in files, on the page's side: loaded with the first export, import or replay.
//
// Decides nothing about what is in a file (`src/session/carry` does): it splits lines and puts pages together, and writes
// transcripts for people. Promises: of a file of any size no more than a few megabytes are held at a time, except a line
// that is longer. What does not come in whole is taken back. Leaves to others: whether a file is what it says.

import { failure, late, onlyKnown } from "../protocol/error.js";

/** How long a line may be: what `src/session/carry` takes. */
const LINE = 32 * 2 ** 20;
/** How much goes to the host at a time, in characters. */
const BATCH = 2 ** 20;
/** How many bytes of a file stand in a line. Whole threes, so that pieces join. */
const PIECE = 3 * 2 ** 18;
/** How many messages are asked for at a time. */
const PAGE = 100;

const FORMATS = { journal, markdown, json, html: page };

/** @returns {Promise<Blob>} */
export async function exportSession(workspace, command, id, options = {}) {
  onlyKnown(options, ["format"], "The options of export", "invalid_arguments");
  const { format = "journal" } = options;
  if (!Object.hasOwn(FORMATS, format)) throw failure("invalid_arguments", `export: there is no format "${format}".`, `There are: ${Object.keys(FORMATS).join(", ")}.`);
  return FORMATS[format](workspace, command, id);
}

// ---------------------------------------------------------------- out

async function journal(workspace, command, id) {
  // The browser keeps the parts of a Blob out of the page's memory.
  const parts = [];
  const add = (text) => parts.push(new Blob([text]));
  let page = await command("sessions.export", { id });
  const files = [...new Set(page.files)];
  add(page.lines);
  while (page.next) {
    page = await command("sessions.export", { id, from: page.next, last: page.last, hash: page.hash });
    add(page.lines);
  }
  for (const file of files) {
    const blob = await workspace.file(file).catch(lost);
    if (blob.gone) {
      add(`${JSON.stringify({ file, gone: blob.gone })}\n`);
      continue;
    }
    add(`${JSON.stringify({ file, mediaType: blob.type, size: blob.size })}\n`);
    for (let at = 0; at < blob.size; at += PIECE) add(`{"bytes":"${base64(new Uint8Array(await blob.slice(at, at + PIECE).arrayBuffer()))}"}\n`);
  }
  add(`${JSON.stringify({ end: { rows: page.last, files: files.length, hash: page.hash } })}\n`);
  return new Blob(parts, { type: "application/x-ndjson" });
}

/** What stands in the place of bytes that are not there. */
function lost(error) {
  if (error?.code !== "file_not_found") throw error;
  return { gone: error.message };
}

// ---------------------------------------------------------------- in

// workspace -> the end of what it reads now: its host reads one file at a time
const busy = new WeakMap();

function inTurn(workspace, work) {
  const before = busy.get(workspace);
  const done = (before ?? Promise.resolve()).then(work);
  const over = done.catch(() => {});
  busy.set(workspace, over);
  return done;
}

export function importSession(workspace, command, file) {
  checkFile(file, "import");
  return inTurn(workspace, async () => {
    await read(command, "sessions.import", file);
    await command("sessions.admit");
    try {
      return await write((step, args, files) => command("sessions.import", { step, ...args }, files), file);
    } catch (error) {
      await command("sessions.import", { step: "cancel" }).catch(() => {}); // what it failed with is told
      throw error;
    }
  });
}

export function replaySession(workspace, command, file) {
  checkFile(file, "replay");
  return inTurn(workspace, () => read(command, "sessions.replay", file));
}

function checkFile(file, what) {
  if (typeof file?.stream !== "function") throw failure("invalid_arguments", `${what} needs a Blob or a File.`);
}

/** Gives the whole file to the host, which says what is wrong with it. */
async function read(command, name, file) {
  await command(name, { step: "begin" });
  for await (const lines of batches(file)) if (await command(name, { step: "lines", lines: lines.join("\n") })) break;
  return command(name, { step: "check" });
}

/** Gives it once more, to be written. */
async function write(step, file) {
  let coming;
  const whole = async () => {
    if (coming) await step("file", {}, [new Blob(coming.pieces, { type: coming.type })]);
    coming = undefined;
  };
  for await (const lines of batches(file)) {
    const rows = lines.filter((line) => line.startsWith('{"row"'));
    if (rows.length) await step("rows", { lines: rows.join("\n") });
    for (const line of lines) {
      if (line.startsWith('{"file"')) {
        await whole();
        const { mediaType: type, gone } = JSON.parse(line);
        if (gone === undefined) coming = { type, pieces: [] };
      } else if (line.startsWith('{"bytes"')) coming?.pieces.push(new Blob([bytesOf(JSON.parse(line).bytes)]));
    }
  }
  await whole();
  return step("done");
}

// `host/bytes.js` has the same; but what this module shared with the main one would be one more request for every page.
function base64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
const bytesOf = (text) => Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

/** The lines of a file, so many at a time that they are about a megabyte. */
async function* batches(file) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = file.stream().getReader();
  let lines = [];
  let size = 0;
  let count = 0;
  let open = [];
  let length = 0;
  const close = () => {
    lines.push(open.join(""));
    size += length;
    count++;
    open = [];
    length = 0;
  };
  try {
    for (let done = false; !done; ) {
      let text;
      try {
        const { done: over, value } = await reader.read();
        done = over;
        text = over ? decoder.decode() : decoder.decode(value, { stream: true });
      } catch (error) {
        throw corrupt(count + 1, `it cannot be read (${error?.message ?? error})`);
      }
      for (const [at, piece] of text.split("\n").entries()) {
        if (at) close();
        open.push(piece);
        length += piece.length;
        if (length > LINE) throw corrupt(count + 1, "it is too long");
      }
      if (done && length) close();
      if (lines.length && (done || size >= BATCH)) {
        yield lines;
        lines = [];
        size = 0;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const corrupt = (line, what) => failure("corrupt", `line ${line}: ${what}`, "the file was changed or cut off: export the session again");

// ---------------------------------------------------------------- for people

async function told(workspace, id) {
  const { session } = await workspace.sessions.status(id);
  const pages = [];
  for (let before; ; ) {
    const page = await workspace.history({ sessionId: id, limit: PAGE, before });
    pages.unshift(page);
    // A gap has no message before it that could be asked for.
    const said = page.filter((message) => message.status !== "damaged");
    if (said.length < PAGE) return { session, messages: await marked(workspace, pages.flat()) };
    before = said[0].id;
  }
}

/** The messages with a mark on each file whose bytes are not there: no request may have noticed it yet. */
async function marked(workspace, messages) {
  const files = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "file" ? part : (part.files ?? []))));
  for (const id of new Set(files.map(({ fileId }) => fileId))) {
    const { gone } = await workspace.file(id).catch(lost);
    if (gone) for (const file of files) if (file.fileId === id) file.gone = true;
  }
  return messages;
}

async function json(workspace, command, id) {
  return new Blob([JSON.stringify(await told(workspace, id), null, 2), "\n"], { type: "application/json" });
}

async function page(workspace, command, id) {
  const { html } = await late(import("./html.js"));
  return html(await told(workspace, id), (file) => workspace.file(file).catch(lost), base64);
}

async function markdown(workspace, command, id) {
  const { session, messages } = await told(workspace, id);
  const facts = [["Session", session.id], ["Status", session.status], ["Operator", session.operator_subject], ["Model", session.model_id ?? session.provider_id], ["Started", session.started_at], ["Last activity", session.last_activity_at]];
  const lines = [`# ${inLine(session.display_name ?? session.title ?? session.id)}`, "", ...facts.filter(([, fact]) => fact).map(([name, fact]) => `- ${name}: ${inLine(fact)}`), ""];
  for (const message of messages) {
    const who = message.role === "user" ? "Person" : message.role === "assistant" ? "Assistant" : "Gap";
    const how = message.status === "complete" ? "" : ` (${message.status})`;
    lines.push(`## ${who}${how}, ${new Date(message.createdAt).toISOString()}`, "");
    for (const { kind, summary } of message.compactions ?? []) {
      if (kind === "results") lines.push("*From here on the model was sent what stands for old results of tools.*", "");
      else lines.push("*From here on the model was sent this summary of what was said before:*", "", ...summary.split("\n").map((line) => `> ${line}`), "");
    }
    for (const part of message.parts) lines.push(...written(part), "");
    if (message.status === "damaged") lines.push(`Entries ${message.damaged.from} to ${message.damaged.to} of the journal are lost: ${inLine(message.damaged.why)}.`, "");
    else if (message.damaged) lines.push(`It ends early: ${inLine(message.damaged.why)}.`, "");
    if (message.error) lines.push(`Error: ${inLine(message.error.message)}`, "");
  }
  return new Blob([lines.join("\n")], { type: "text/markdown" });
}

function written(part) {
  switch (part.type) {
    case "text":
      return said(part.text);
    case "thinking":
      return ["Thinking:", "", ...said(part.text)];
    case "file":
      return [`File: ${inLine(part.filename ?? part.fileId)} (${inLine(part.mediaType)}, ${part.size} bytes${part.gone ? ", lost" : ""})`];
    case "source":
      return [`Source: ${inLine(part.title)} (${inLine(part.url)})`];
    case "tool-call":
      return [`Tool call: ${inLine(part.tool)} (${part.status})`, "", ...fenced(part.arguments), ...(part.error ? ["", `Error: ${inLine(part.error.message)}`] : "result" in part ? ["", ...fenced(part.result)] : []), ...(part.files ?? []).flatMap((file) => ["", ...written(file)])];
    default:
      return fenced(part);
  }
}

const inLine = (text) => String(text).replace(/\s+/g, " ").replace(/[\\`*_[\]<>#|]/g, "\\$&");

/** Words of a conversation, set off so that none of them can be taken for the transcript's own. HTML could end a quote. */
const said = (text) => (/<[a-z/!?]/i.test(text) ? fenced(text) : text.split(/\r\n?|\n/).map((line) => (line ? `> ${line}` : ">")));

/** A value in a block that it cannot end. */
function fenced(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return [`${fence}${typeof value === "string" ? "" : "json"}`, text, fence];
}
