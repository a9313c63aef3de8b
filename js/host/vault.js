// The cipher of the vault and the signatures of rows, and where their keys are kept.
//
// AES-GCM with a fresh IV for each text; the name that a text is kept under is authenticated with it, so that no text
// passes for another. The key is made here, cannot be exported, and lies in the workspace's own database, where it goes
// when that is deleted. It keeps texts from who reads the disk or a backup, not from a script of this origin. Leaves to
// others: the rows (`src/browser/vault.rs`).

// The object store in the database (`idb.js` makes it). In it the key of the vault has the place 0, the one
// that signs 1.
export const STORE = "vault";

export const bytes = (text) => new TextEncoder().encode(text);
const cipher = (name, iv) => ({ name: "AES-GCM", iv, additionalData: bytes(name) });

/** Whether this page has a cipher: it must be a secure context. */
export const hasCipher = () => !!globalThis.crypto?.subtle;

export const makeKey = () => crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);

export const makeSigningKey = () => crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
export const hex = (buffer) => {
  let digits = "";
  for (const byte of new Uint8Array(buffer)) digits += DIGITS[byte];
  return digits;
};
const mac = async (key, said) => hex(await crypto.subtle.sign("HMAC", key, said));

/** What keys are called that have signed here. */
const names = new WeakMap();

/**
 * The signatures of texts in UTF-8 as lines, each with which key has made it: the key cannot be told by anything else.
 * @param {CryptoKey} key
 * @param {Uint8Array[]} texts
 */
export async function signatures(key, texts) {
  if (!names.has(key)) names.set(key, (await mac(key, bytes("lodger"))).slice(0, 8));
  const name = names.get(key);
  return (await Promise.all(texts.map(async (text) => `${await mac(key, text)} ${name}`))).join("\n");
}

/**
 * The key of this database in a place, if there is one. With `made` that becomes its key if it has none, in one transaction: of two
 * tabs one wins.
 * @param {IDBDatabase} database
 */
export function vaultKey(database, made, place = 0) {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, made ? "readwrite" : "readonly", { durability: "strict" });
    const store = transaction.objectStore(STORE);
    let key, failure;
    store.get(place).onsuccess = ({ target }) => {
      key = target.result;
      if (key || !made) return;
      try {
        store.put((key = made), place);
      } catch (error) {
        // Some browsers keep no keys in private windows.
        failure = error;
        transaction.abort();
      }
    };
    transaction.oncomplete = () => resolve(key);
    transaction.onabort = () => reject(failure ?? transaction.error);
  });
}

/** @param {CryptoKey} key */
export async function seal(key, name, text) {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = await crypto.subtle.encrypt(cipher(name, iv), key, bytes(text));
  return btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed)));
}

/** @param {CryptoKey} key */
export async function unseal(key, name, row) {
  const all = Uint8Array.from(atob(row), (sign) => sign.charCodeAt(0));
  const text = await crypto.subtle.decrypt(cipher(name, all.subarray(0, 12)), key, all.subarray(12));
  return new TextDecoder().decode(text);
}
