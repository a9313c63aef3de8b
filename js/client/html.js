// A conversation as one HTML file: loaded with the first export of that kind.
//
// Promises: nothing in the file runs or is fetched, whatever was said. Words are text, and files lie in it as data. Leaves to others:
// what is in the conversation (`session-files.js`).

/** What a browser shows as a picture, and no script can be in. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];
/** Bytes of a file at a time. Whole threes, so that pieces join. */
const PIECE = 3 * 2 ** 18;

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:0 auto;max-width:46rem;padding:1.5rem 1rem}h1{font-size:1.4rem}h2{font-size:.8rem;font-weight:600;opacity:.7;margin:0 0 .25rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;font-size:.85rem;opacity:.8}dd{margin:0}article{margin:1rem 0;padding:.7rem .9rem;border-radius:.6rem;border:1px solid #8884}.user{background:#8882}.text{white-space:pre-wrap;overflow-wrap:anywhere}pre{overflow:auto;padding:.6rem;border-radius:.4rem;background:#8882;font-size:.85rem}details{margin:.4rem 0;font-size:.9rem}summary{cursor:pointer}img{max-width:100%;border-radius:.4rem}.note{color:#b40;font-size:.9rem}@media(prefers-color-scheme:dark){.note{color:#f96}}`;

const escaped = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * @param {{ session: object, messages: object[] }} told
 * @param {(fileId: string) => Promise<Blob & { gone?: string }>} file
 * @param {(bytes: Uint8Array) => string} base64
 * @returns {Promise<Blob>}
 */
export async function html({ session, messages }, file, base64) {
  // The browser keeps the parts of a Blob out of the page's memory.
  const parts = [];
  const add = (text) => parts.push(new Blob([text]));
  const title = escaped(session.display_name ?? session.title ?? session.id);
  const facts = [["Model", session.model_id ?? session.provider_id], ["Started", session.started_at], ["Last activity", session.last_activity_at]].filter(([, fact]) => fact);
  add(`<!doctype html>\n<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"><title>${title}</title><style>${STYLE}</style></head>\n<body><main><h1 dir="auto">${title}</h1><dl>${facts.map(([name, fact]) => `<dt>${name}</dt><dd>${escaped(fact)}</dd>`).join("")}</dl>\n`);
  for (const message of messages) {
    const { role, status, createdAt, damaged, error } = message;
    const at = new Date(createdAt).toISOString();
    const who = role === "user" ? "Person" : role === "assistant" ? "Assistant" : "Gap";
    add(`<article class="${role === "user" ? "user" : "answer"}"><h2>${who}${status === "complete" ? "" : ` (${escaped(status)})`}, <time datetime="${at}">${at.slice(0, 16).replace("T", " ")} UTC</time></h2>\n`);
    for (const mark of message.compactions ?? []) add(shortened(mark));
    for (const part of message.parts) {
      if (part.type !== "file") add(written(part));
      for (const one of part.type === "file" ? [part] : (part.files ?? [])) parts.push(...(await attached(one, await file(one.fileId), base64)));
    }
    if (status === "damaged") add(note(`Entries ${damaged.from} to ${damaged.to} of the journal are lost: ${damaged.why}.`));
    else if (damaged) add(note(`It ends early: ${damaged.why}.`));
    if (error) add(note(error.message));
    add("</article>\n");
  }
  add("</main></body></html>\n");
  return new Blob(parts, { type: "text/html" });
}

const note = (text) => `<p class="note" dir="auto">${escaped(text)}</p>\n`;
const value = (given) => `<pre>${escaped(typeof given === "string" ? given : JSON.stringify(given, null, 2))}</pre>`;
const folded = (title, inside) => `<details><summary>${escaped(title)}</summary>${inside}</details>\n`;

/** Where the conversation was made shorter for the model. */
function shortened({ kind, summary }) {
  if (kind === "results") return `<p class="note">From here on the model was sent what stands for old results of tools.</p>\n`;
  return folded("From here on the model was sent a summary of what was said before", words(summary));
}

function written(part) {
  if (part.type === "text") return words(part.text);
  if (part.type === "thinking") return folded("Thinking", words(part.text));
  // No link: what was said decides nothing that this file opens.
  if (part.type === "source") return words(`Source: ${part.title} (${part.url})`);
  const said = part.error ? note(part.error.message) : "result" in part ? value(part.result) : "";
  return folded(`${part.tool} (${part.status})`, value(part.arguments) + said);
}

/** A text as it was written; what it fences stands in blocks. */
function words(text) {
  const pieces = text.split(/^ {0,3}```[^\n`]*\n([\s\S]*?)^ {0,3}```[ \t]*$\n?/m);
  return pieces.map((piece, at) => (at % 2 ? `<pre>${escaped(piece)}</pre>\n` : piece.trim() ? `<div class="text" dir="auto">${escaped(piece.trim())}</div>\n` : "")).join("");
}

/** A file, with its bytes: a picture is shown, everything else can be saved. */
async function attached({ filename, fileId, mediaType, size }, blob, base64) {
  const name = escaped(filename ?? fileId);
  if (blob.gone) return [new Blob([note(`${filename ?? fileId} (${size} bytes) is lost.`)])];
  const shown = PICTURES.includes(mediaType);
  const type = shown ? mediaType : "application/octet-stream";
  const pieces = [new Blob([`<p>${shown ? `<img alt="${name}" src="` : `<a download="${name}" href="`}data:${type};base64,`])];
  for (let at = 0; at < blob.size; at += PIECE) pieces.push(new Blob([base64(new Uint8Array(await blob.slice(at, at + PIECE).arrayBuffer()))]));
  pieces.push(new Blob([shown ? '"></p>\n' : `">${name}</a> (${size} bytes)</p>\n`]));
  return pieces;
}
