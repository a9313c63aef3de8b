// The bytes of files: as a page gives them, and as requests have them.
//
// Decides what type a file really is, and its id, a hash of bytes and type. The type goes by how its bytes begin, else
// by what it says; what says nothing useful and is text is text. Promises: what was given is read whole before anything
// is said of it, so that a file that changes or goes away later does no harm. What is stored is given back only where it
// is what its id says. No more than a piece of a file is held as text at a time, and the page can do something else
// between two. Leaves to others: what is refused, and where files are kept.

/** How much is written as base64 in one go, in bytes: a few milliseconds' work. Whole threes, so that pieces join. */
const PIECE = 3 * 2 ** 18;
/** Nobody looks whether something larger is text. */
const LONGEST_TEXT = 2 ** 22;

const SIGNS = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["application/pdf", /^%PDF-/],
];
const TEXT = /^text\/|[/+](json|xml|x-ndjson|sql|toml)$|(script|yaml|x-sh)$/;
const UNKNOWN = "application/octet-stream";

const typeOf = (blob) => blob.type.split(";")[0].trim().toLowerCase() || UNKNOWN;
const nameOf = ({ name }) => (typeof name === "string" ? name.replace(/\p{Surrogate}/gu, "\ufffd") : undefined);

function isText(bytes) {
  if (bytes.length > LONGEST_TEXT || bytes.includes(0)) return false;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes) !== undefined;
  } catch {
    return false;
  }
}

function truly(said, bytes) {
  const begin = String.fromCharCode(...bytes.subarray(0, 16));
  const [type] = SIGNS.find(([, sign]) => sign.test(begin)) ?? [];
  if (type) return type;
  if (TEXT.test(said)) return said;
  if (isText(bytes)) return "text/plain";
  // It says that it is something of which it does not look.
  return SIGNS.some(([type]) => type === said) ? UNKNOWN : said;
}

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

async function idOf(bytes, type) {
  // Outside of secure contexts nothing outlives the page: there the same file is kept once for each time it is sent.
  if (!globalThis.crypto?.subtle) return `file_${hex(crypto.getRandomValues(new Uint8Array(20)))}`;
  const digest = async (bytes) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  return `file_${(await digest(utf8(`${type} ${await digest(bytes)}`))).slice(0, 40)}`;
}

/** What can be said of them before they are read: the JSON text of `{ mediaType, size, name? }[]`. */
export const described = (blobs) => JSON.stringify(blobs.map((blob) => ({ mediaType: typeOf(blob), size: blob.size, name: nameOf(blob) })));

/**
 * Reads them. Gives the JSON text of `{ id, mediaType, size, name? }[]` and then a Blob each, of that type. What is
 * thrown is a text.
 * @param {Blob[]} blobs
 */
export async function taken(blobs) {
  const files = [];
  const copies = [];
  for (const blob of blobs) {
    const name = nameOf(blob);
    let bytes;
    try {
      bytes = new Uint8Array(await blob.arrayBuffer());
    } catch (error) {
      throw `${name ? `"${name}"` : "a file"} cannot be read: ${error?.message ?? error}`;
    }
    const mediaType = truly(typeOf(blob), bytes);
    copies.push(new Blob([bytes], { type: mediaType }));
    files.push({ id: await idOf(bytes, mediaType), mediaType, size: bytes.length, name });
  }
  return [JSON.stringify(files), ...copies];
}

/** What a file says that is text. @param {Blob} blob */
export const textOf = (blob) => blob.text();

function base64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** As a database keeps it that stores no Blob. */
export const inBytes = async (blob) => ({ type: blob.type, size: blob.size, bytes: await blob.arrayBuffer() });

/** What is stored under this id, if it has the bytes and the type that the id was made of. */
export const whole = async (kept, id) => {
  const blob = kept?.bytes instanceof ArrayBuffer ? new Blob([kept.bytes], { type: kept.type }) : kept;
  const read = async () => blob?.arrayBuffer?.();
  // What cannot be read counts as lost for good: a browser that was short of memory is asked once more.
  const bytes = await read().catch(read).catch(() => {});
  return bytes && (await idOf(new Uint8Array(bytes), blob.type)) === id ? blob : undefined;
};

/**
 * A request's body, with its files in their places.
 * @param {(string | [blob: Blob, asText: boolean])[]} pieces
 * @param {boolean} whole as one text; else a Blob, whose pieces the browser keeps out of the page's memory
 */
export async function filled(pieces, whole) {
  const body = [];
  const add = (text) => body.push(whole ? text : new Blob([text]));
  for (const piece of pieces) {
    if (typeof piece === "string") add(piece);
    else {
      const [blob, asText] = piece;
      if (asText) add(JSON.stringify(await blob.text()).slice(1, -1));
      else for (let at = 0; at < blob.size; at += PIECE) add(base64(new Uint8Array(await blob.slice(at, at + PIECE).arrayBuffer())));
    }
  }
  return whole ? body.join("") : new Blob(body);
}
