// How many bytes each session takes.
//
// Promises: what is counted is what lies there. Pressed rows count as they are pressed, keys and texts in UTF-8, files whole.
// No more than some hundred rows are in memory at once. A session that was removed is not told. Tasks are no sessions, and are counted
// together, under no name. Leaves to others: the connection (`idb.js`).

const AT_ONCE = 256;
const utf8 = new TextEncoder();

const text = (value) => utf8.encode(value).length;
// A value that Lodger has not written counts as nothing: neither text nor bytes.
const bytesOf = (value) => (typeof value === "string" ? text(value) : (value?.byteLength ?? value?.size ?? 0));

/**
 * @param {(table: string, range: IDBKeyRange | undefined, count: number) => Promise<[keys: any[], values: any[]]>} ask
 * @returns {Promise<[id: string, bytes: number][]>}
 */
export async function sizes(ask) {
  const [sizes, owners, hidden, tasks] = [new Map(), new Map(), new Set(), new Set()];
  for (const table of ["heads", "entries", "drafts", "files"]) {
    for (let keys, range; keys === undefined || keys.length === AT_ONCE; range = IDBKeyRange.lowerBound(keys.at(-1), true)) {
      let values;
      [keys, values] = await ask(table, range, AT_ONCE);
      if (!keys.length) break;
      keys.forEach((key, at) => {
        const id = table === "files" ? owners.get(key[0]) : key[0];
        if (table === "heads") {
          const head = parsed(values[at]);
          for (const file of head.files ?? []) owners.set(file, id);
          if (head.removed !== undefined) hidden.add(id);
          else if (head.once) tasks.add(id);
        }
        if (id === undefined) return;
        const own = table === "files" ? 0 : key.reduce((sum, part) => sum + text(String(part)), 0);
        const name = tasks.has(id) ? "" : id;
        sizes.set(name, (sizes.get(name) ?? 0) + own + bytesOf(values[at]));
      });
    }
  }
  return [...sizes].filter(([id]) => !hidden.has(id));
}

/** A head, without its signatures; one that is damaged says nothing. */
function parsed(row) {
  try {
    return JSON.parse(row.split("\n", 1)[0]) ?? {};
  } catch {
    return {};
  }
}
