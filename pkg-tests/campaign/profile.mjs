// Damages to the files of a profile, while no browser runs on it: bits of LevelDB's files and of stored bytes are flipped, files
// are cut, overwritten or gone. The next browser opens the workspace, or it is told why not; what is shown otherwise is told.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { flipBit, profile } from "../lib/profile.mjs";
import { faultsOf, movement } from "./damage.mjs";
import { drawer } from "./draw.mjs";
import { judgeShown } from "./shown.mjs";
import { world } from "./world.mjs";

/** How many damages are done to copies of one profile. */
const EACH = 5;
const KINDS = ["flip", "flip", "flip", "flip", "cut", "zeros", "gone"];
const ZEROS = 512;
const BALLAST_KB = 5_000;

/** `count` profiles, from this number on; `each`: how many damages to each, until it is `enough()`. */
export function profiles(test, { seed, count, first = 1, each = EACH, counts, enough }) {
  for (let number = first; number < first + count; number++) {
    test(`profile/${number}`, async (t) => {
      t.note(`seed ${seed}`);
      const kept = profile(t);
      const ids = await kept.life((page) => page.evaluate(async (kb) => {
        const ids = await build();
        // What is so much more than the browser keeps in its log goes into tables, and the workspace before it.
        const db = await new Promise((resolve) => { const request = indexedDB.open("ballast"); request.onupgradeneeded = () => request.result.createObjectStore("rows"); request.onsuccess = () => resolve(request.result); });
        const tx = db.transaction("rows", "readwrite");
        for (let n = 0; n < kb; n++) tx.objectStore("rows").put(Array.from({ length: 100 }, () => Math.random().toString(36)).join(""), n);
        await T.done(tx);
        db.close();
        return ids;
      }, BALLAST_KB), world);
      const lookAtIt = () => kept.life((page) => page.evaluate((ids) => look(ids), ids), world);
      const whole = await lookAtIt();
      const moving = movement(whole, await lookAtIt());
      const empty = await kept.life((page) => page.evaluate((ids) => nothing(ids), ids), world);
      const faults = [];
      for (let n = 1; n <= each && (n === 1 || !enough()); n++) {
        const draw = drawer(seed, "profile", `${number}.${n}`);
        const copy = profile(t, `${kept.dir}-${n}`);
        fs.cpSync(kept.dir, copy.dir, { recursive: true });
        const done = harmFile(copy, draw, whole);
        t.at = done.what;
        const life = () => copy.life(async (page) => ({ seen: await page.evaluate((ids) => look(ids), ids), after: await page.evaluate((ids) => ask(ids), ids) }), world);
        let { seen, after } = await life();
        // Where it could be opened and not be read, the next browser has to know what it is.
        if (done.under && !seen.opened.error && after.started.error) ({ seen, after } = await life());
        counts.add("damages to files", done.table);
        faults.push(...faultsOf(judgeShown({ whole, empty, moving, seen, after, done }), done, `${number}.${n}`, counts));
      }
      assert.deepEqual(faults, []);
    }, { hangMs: 300_000 });
  }
}

/** Damages a file as it is drawn. What that can have touched is what `harm` says of rows, or anything. */
function harmFile({ files }, draw, whole) {
  const kindOf = (file) => (file.includes(".blob") ? "blob" : /\.(log|ldb)$/.exec(file)?.[1] ?? /^[A-Z]+/.exec(path.basename(file))?.[0] ?? "other");
  const all = files().filter((file) => !["LOG", "LOCK"].includes(kindOf(file)));
  const table = draw.of([...new Set(all.map(kindOf))]);
  const file = draw.of(all.filter((file) => kindOf(file) === table));
  const bytes = fs.readFileSync(file);
  const at = draw(bytes.length);
  const kind = draw.of(KINDS);
  if (kind === "flip") flipBit(file, at, 1 << draw(8));
  else if (kind === "cut") fs.truncateSync(file, at);
  else if (kind === "zeros") fs.writeFileSync(file, Buffer.from(bytes).fill(0, at, Math.min(bytes.length, at + ZEROS)));
  else fs.rmSync(file);
  const reach = table === "blob" ? valueIn(bytes, whole) : { under: true };
  return { table: `file ${table}`, kind, what: `${path.basename(file)} ${kind} at ${at} of ${bytes.length}`, rows: {}, sessions: [], checkpoints: [], pages: [], files: [], ...reach };
}

/** What a file with one value has: the bytes of a message's file, or a row that is long. */
function valueIn(bytes, { shown }) {
  const file = Object.keys(shown).filter((what) => what.startsWith("files: ")).findIndex((what) => shown[what].value === bytes.toString());
  if (file >= 0) return { files: [file] };
  const long = shown["long: journal"].value.filter((entry) => / characters, /.test(JSON.stringify(entry)));
  return { sessions: ["long"], rows: { long: [[long[0].seq, long.at(-1).seq]] } };
}
