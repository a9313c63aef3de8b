import assert from "node:assert/strict";
import { test } from "node:test";
import { described, filled, inBytes, taken, whole } from "../host/bytes.js";

const bytes = (...all) => Uint8Array.from(all.flatMap((part) => (typeof part === "string" ? [...Buffer.from(part, "latin1")] : [part])));
const type = async (content, said = "", name = "x") => JSON.parse((await taken([new File([content], name, { type: said })]))[0])[0].mediaType;

test("what a file is goes by how it begins, then by what it says, then by whether it is text", async () => {
  assert.equal(await type(bytes("\x89PNG\r\n\x1a\n"), "image/jpeg"), "image/png");
  assert.equal(await type(bytes("\xff\xd8\xff\xe0")), "image/jpeg");
  assert.equal(await type(bytes("GIF89a..")), "image/gif");
  assert.equal(await type(bytes("RIFF\n\x00\x00\x00WEBPVP8 ")), "image/webp");
  assert.equal(await type(bytes("%PDF-1.4\n\xff"), "text/plain"), "application/pdf");
  assert.equal(await type("a;b\n", "Text/CSV; charset=utf-8"), "text/csv");
  assert.equal(await type("{}", "application/geo+json"), "application/geo+json");
  assert.equal(await type("let a: number;", "video/mp2t"), "text/plain");
  assert.equal(await type("größe"), "text/plain");
  // In another encoding it is still what it says.
  assert.equal(await type(bytes("gr\xf6\xdfe"), "text/plain"), "text/plain");
  assert.equal(await type(bytes("gr\xf6\xdfe")), "application/octet-stream");
  assert.equal(await type(bytes("PK\x03\x04\x00\xff"), "application/zip"), "application/zip");
  assert.equal(await type(bytes("\x00\x01"), "image/png"), "application/octet-stream");
});

test("the id is of bytes and type, the name is no part of it", async () => {
  const read = async (...files) => JSON.parse((await taken(files))[0]);
  const [a, b, c, d] = await read(new File(["a,b"], "1.csv", { type: "text/csv" }), new File(["a,b"], "2.csv", { type: "text/csv" }), new File(["a,b"], "1.csv", { type: "text/plain" }), new File(["a,c"], "1.csv", { type: "text/csv" }));
  assert.equal(a.id, b.id);
  assert.equal(new Set([a.id, c.id, d.id]).size, 3);
  assert.match(a.id, /^file_[0-9a-f]{40}$/);
  assert.deepEqual([a.name, b.name, a.size], ["1.csv", "2.csv", 3]);
  const [nameless] = await read(new Blob(["x"]));
  assert.deepEqual(Object.keys(nameless).sort(), ["id", "mediaType", "size"]);
  const [odd] = await read(new File(["x"], "a\ud800b"));
  assert.equal(odd.name, "a\ufffdb");
});

test("what is stored is given only where it is what its id says", async () => {
  const [text, blob] = await taken([new File(["a,b"], "1.csv", { type: "text/csv" })]);
  const [{ id }] = JSON.parse(text);
  assert.equal(await whole(blob, id), blob);
  const unreadable = Object.assign(new Blob(["a,b"], { type: "text/csv" }), { arrayBuffer: () => Promise.reject(new Error("moved")) });
  for (const other of [undefined, null, "a,b", {}, new ArrayBuffer(3), new Blob(["a,c"], { type: "text/csv" }), new Blob(["a,b"]), unreadable]) assert.equal(await whole(other, id), undefined);
  assert.equal(await whole(blob, `${id}0`), undefined);
  let tries = 0;
  const once = { type: "text/csv", arrayBuffer: async () => { if (tries++ === 0) throw new Error("not now"); return blob.arrayBuffer(); } };
  assert.equal(await whole(once, id), once);
});

test("what a database keeps as bytes, because it stores no Blob, is given as a Blob again", async () => {
  const [text, blob] = await taken([new File(["a,b"], "1.csv", { type: "text/csv" })]);
  const [{ id }] = JSON.parse(text);
  const kept = structuredClone(await inBytes(blob));
  assert.equal(kept.size, 3, "its row is counted as a Blob's");
  const given = await whole(kept, id);
  assert.ok(given instanceof Blob);
  assert.deepEqual([given.type, await given.text()], ["text/csv", "a,b"]);
  for (const other of [{ ...kept, type: "text/plain" }, { ...kept, bytes: new ArrayBuffer(3) }, { ...kept, bytes: "a,b" }]) assert.equal(await whole(other, id), undefined);
});

test("they are described before they are read, and one that cannot be read is named", async () => {
  const never = Object.assign(new File(["x"], "gone.txt", { type: "text/plain" }), { arrayBuffer: () => Promise.reject(new Error("moved")) });
  assert.deepEqual(JSON.parse(described([never, new Blob([])])), [{ mediaType: "text/plain", size: 1, name: "gone.txt" }, { mediaType: "application/octet-stream", size: 0 }]);
  await assert.rejects(taken([never]), (why) => /"gone\.txt" cannot be read: moved/.test(why));
});

test("a body has its files in their places, as a text and as a Blob, with either way to write base64", async () => {
  // Over the border of two pieces, and no whole threes.
  const large = Uint8Array.from({ length: 3 * 2 ** 18 + 100_001 }, (_, i) => (i * 7919) >> 3);
  const text = 'say "hi"\n\\\u0001 é😀';
  const pieces = ['{"a":"', [new Blob([large]), false], '","b":"', [new Blob([text]), true], '","c":"', [new Blob([]), false], '"}'];
  const native = Uint8Array.prototype.toBase64;
  for (const own of [undefined, function () { return Buffer.from(this).toString("base64"); }]) {
    if (own) Uint8Array.prototype.toBase64 = own;
    else delete Uint8Array.prototype.toBase64;
    try {
      const whole = await filled(pieces, true);
      const body = await filled(pieces, false);
      assert.equal(typeof whole, "string");
      assert.ok(body instanceof Blob);
      assert.equal(await body.text(), whole);
      const { a, b, c } = JSON.parse(whole);
      assert.ok(Buffer.from(a, "base64").equals(Buffer.from(large)));
      assert.deepEqual([b, c], [text, ""]);
    } finally {
      if (native) Uint8Array.prototype.toBase64 = native;
      else delete Uint8Array.prototype.toBase64;
    }
  }
});
