// Long rows, pressed: what the browser's own compression makes of a text.
//
// Promises: a text comes back as it was. What cannot be pressed here stays a text, and bytes that are damaged come back as
// the empty text, which is no row. Leaves to others: which rows are long (`src/journal/pack.rs`), and where they lie.

const FORMAT = "deflate-raw";

const through = (body, stream) => new Response(new Blob([body]).stream().pipeThrough(stream));

/** @returns {Promise<string | Uint8Array>} */
export async function pressed(text) {
  if (!globalThis.CompressionStream) return text;
  return new Uint8Array(await through(text, new CompressionStream(FORMAT)).arrayBuffer());
}

/** @param {string | Uint8Array} row what is neither stays what it is: nobody has written it */
export async function unpressed(row) {
  if (!(row instanceof Uint8Array)) return row;
  return through(row, new DecompressionStream(FORMAT)).text().catch(() => "");
}
