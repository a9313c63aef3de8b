// Rows that are read one by one, because the browser cannot read all of them: it has lost the bytes of a large one.
//
// Promises: what can be read is read, and what cannot be is the empty text, which is no row. A connection that is lost loses no
// row: that is thrown, as by `idb.js`, to which transactions and keys are left.

/**
 * Gives what reads the rows of a range. A row that cannot be read may take its transaction with it, then the rest is read in
 * the next one.
 * @param {() => IDBTransaction} begin
 * @param {(error: DOMException) => [kind: string, why?: string]} trouble
 */
export const apart = (begin, trouble) => async (store, range, count) => {
  const keys = await new Promise((resolve, reject) => one(store.getAllKeys(range, count), resolve, reject));
  const rows = keys.map(() => "");
  let open = [...keys.keys()];
  while (open.length) {
    const left = [];
    let why;
    const read = (at) =>
      new Promise((resolve, reject) =>
        one(store.get(keys[at]), (row) => resolve((rows[at] = row ?? "")), (error) => {
          const told = trouble(error);
          if (error.name === "AbortError") {
            left.push(at);
            why = error.message;
          } else if (told[0] === "lost") return reject(told);
          resolve();
        }),
      );
    await Promise.all(open.map(read));
    if (left.length === open.length) throw ["lost", why];
    open = left;
    if (open.length) store = begin().objectStore(store.name);
  }
  return rows;
};

function one(request, resolve, reject) {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => {
    event.preventDefault();
    reject(request.error);
  };
}
