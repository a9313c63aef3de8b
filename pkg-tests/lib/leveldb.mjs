// The logs of LevelDB, in which Chromium keeps what IndexedDB has stored: its `.log` files and its manifests.
//
// A log has blocks, and these have records: a header with a sum, a length and a type, then as many bytes. Chromium writes the
// header and the bytes one after the other, and hands each to the system at once. So a browser that is killed between them
// leaves a record that is cut. The next one skips that and writes on behind it, and the one after that finds the log damaged
// and drops every database of the origin (https://github.com/google/leveldb/issues/1287).

const BLOCK = 32_768;
const HEADER = 7;
const [FULL, FIRST, , LAST] = [1, 2, 3, 4];

/** Whether a log ends in the middle of a record. Those before are taken to be whole. */
export function endsCut(log) {
  let open = false;
  for (let at = 0; at < log.length;) {
    const left = BLOCK - (at % BLOCK);
    // Where no header has room, the next block begins.
    if (left < HEADER) { at += left; continue; }
    if (at + HEADER > log.length) return true;
    const type = log[at + 6];
    at += HEADER + log.readUInt16LE(at + 4);
    if (at > log.length) return true;
    if (type === FIRST) open = true;
    else if (type === FULL || type === LAST) open = false;
  }
  return open;
}

/** What a log of this length gets from a browser that is killed once it has written the header of a record. */
export function cutRecord(length) {
  const left = BLOCK - (length % BLOCK);
  const filler = left > HEADER ? 0 : left;
  const header = Buffer.alloc(HEADER);
  header.writeUInt16LE(Math.min(100, (filler ? BLOCK : left) - HEADER), 4);
  header[6] = FULL;
  return Buffer.concat([Buffer.alloc(filler), header]);
}
