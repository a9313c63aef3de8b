// A full disk: a workspace works until there is no room, is told so, and goes on when there is. Where mounting is allowed, the
// profile lies on a small disk that is filled; else the browser is told how much it may store.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { profile } from "../lib/profile.mjs";
import { WIRES } from "../servers/wires/index.mjs";
import { Conversation, init } from "./conversation.mjs";
import { drawer } from "./draw.mjs";
import { tally } from "./kills.mjs";

const SIZE = 96 << 20;
const KB = 1 << 10;

/** `count` disks, from this number on: by turns small ones, where they can be mounted, and the browser's quota. */
export function disk(test, { seed, count, first = 1, counts }) {
  for (let number = first; number < first + count; number++) {
    const way = number % 2 && mountable() ? "a small disk" : "the browser's quota";
    const host = ["page", "worker"][(number >> 1) % 2];
    test(`disk/${number} ${way} [${host}]`, async (t) => {
      t.note(`seed ${seed}`);
      const draw = drawer(seed, "disk", number);
      const small = way === "a small disk" ? mounted(t) : undefined;
      const kept = profile(t, small?.dir);
      const conversation = await new Conversation(t, { draw, row: WIRES[number % WIRES.length], host }).ready();
      t.at = "the start of its browser";
      await kept.life(async (page) => {
        t.at = "its first messages";
        await conversation.open(page);
        const room = small ?? await quota(page, t.env.site.url);
        await page.evaluate((steps) => shop.send(steps), conversation.next());
        const left = (200 + draw(800)) * KB;
        await room.leave(left);
        t.at = `the filling, of ${Math.round(left / KB)} KB`;
        const full = await conversation.fill(page, 40 + draw(60));
        t.note(`${Math.round(left / KB)} KB left: ${JSON.stringify(full)}`);
        // Of a disk that is full to its last block Chromium says no more than that the database cannot be opened; or it says nothing, and
        // does not end a write.
        assert.ok(["quota_exceeded", ...(small ? ["storage_unavailable", "storage_failed"] : [])].includes(full.code), `told by ${JSON.stringify(full)}`);
        t.at = "what comes after it";
        await room.free();
        await conversation.restart(page);
        await conversation.settle(page);
        await conversation.finish(page);
      }, init());
      counts.add("full disks", way);
      tally(conversation, counts);
    }, { hangMs: 300_000 });
  }
}

/** A disk of its own, which is unmounted after the test. */
function mounted(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "lodger-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", dir]);
  t.after(() => { execFileSync("umount", ["--lazy", dir]); fs.rmSync(dir, { recursive: true, force: true }); });
  const filler = path.join(dir, "filler");
  return {
    dir: path.join(dir, "profile"),
    leave(bytes) {
      const { bavail, bsize } = fs.statfsSync(dir);
      fs.writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
    },
    free: () => fs.rmSync(filler),
  };
}

let allowed;
function mountable() {
  if (allowed !== undefined) return allowed;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "lodger-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", dir], { stdio: "ignore" });
    execFileSync("umount", [dir]);
    allowed = true;
  } catch {
    allowed = false;
  }
  fs.rmdirSync(dir);
  return allowed;
}

/** What the browser lets this origin store. */
async function quota(page, origin) {
  const cdp = await page.context().newCDPSession(page);
  const set = (quotaSize) => cdp.send("Storage.overrideQuotaForOrigin", { origin, ...(quotaSize && { quotaSize }) });
  return {
    async leave(bytes) { await set((await page.evaluate(async () => (await navigator.storage.estimate()).usage)) + bytes); },
    free: () => set(),
  };
}
