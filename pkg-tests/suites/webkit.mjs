// In WebKitGTK: the scenarios of the agent lifecycle, sessions, keys, files, broken connections and several tabs, as other
// suites show them in Chromium. What WebKitGTK lacks, and what is done then.
import assert from "node:assert/strict";
import { opened } from "../lib/lost.mjs";
import { follows, holds, onBothHosts, open, openIn, some, start } from "../lib/tabs.mjs";
import { inWebKit } from "../lib/webkit.mjs";
import { message } from "../servers/sse.mjs";
import files from "./files.mjs";
import { takeOver, viewer } from "./firefox.mjs";
import { betweenTabs, theVault } from "./keys.mjs";
import { commands, lost } from "./scenarios-001.mjs";
import scenarios from "./scenarios-000.mjs";
import { records } from "./sessions.mjs";
import { takeOvers, viewers } from "./tabs.mjs";
import { faults } from "./wires.mjs";

// They share a driver.
export const together = true;

export default function (test) {
  const on = (title, body, options) => test(title, inWebKit(body), options);
  scenarios(on);
  some(on, commands, "launch, prompt", "two sessions", "sessions are there after a reload");
  some(on, lost, "a second tab sees", "a run that its page left", "a provider that refuses");
  some(on, theVault, "a key in the vault serves", "what another tab has set", "deleteWorkspace leaves");
  some(on, files, "sent, reloaded, read again");
  some(on, faults, "a chunk that is cut in mid-stream: the run itself", "reset in mid-stream: the run itself", "cut inside a tool's arguments");
  onBothHosts(on, records, viewer, takeOver, betweenTabs, behind, storage);
  for (const host of ["page", "worker"]) {
    const here = (title, body, options) => on(`${title} [${host}]`, (t) => body(t, host), options);
    some(here, viewers, "a run that a tab joins", "a tool of a viewer");
    some(here, takeOvers, "a standby goes on when the holder is gone by navigation", "a tab that follows a holder that is gone");
  }
}

function behind(on) {
  on("a holder in a tab behind another answers what that one asks", async (t, host) => {
    const route = await t.raw(message("From behind."));
    const b = await open(t, host);
    const a = await openIn(await t.tab({ hidden: true }), host);
    assert.equal(await a.evaluate(() => document.visibilityState), "hidden");
    await start(a, route.base);
    await follows(b);
    assert.equal(await b.evaluate(async () => (await ws.run("Who answers?")).text), "From behind.");
    assert.deepEqual([await holds(a), await holds(b)], [true, false]);
    assert.deepEqual(route.violations, []);
  });
}

function storage(on) {
  on("what the browser does not tell of its storage is none, and fails nothing", async (t, host) => {
    const page = await t.tab();
    const seen = await page.evaluate(async (host) => {
      const ws = await lodger.openWorkspace("shop", { host });
      await ws.pages.create({ title: "Old" });
      const { kind, bytes, quota, persisted, persist, lost } = await ws.storage();
      const told = [typeof bytes, typeof quota, persisted, await persist(), lost];
      await ws.close();
      await T.dropDatabase("shop");
      return { lacks: !navigator.storage, kind, told, bytes, quota };
    }, host);
    assert.deepEqual([seen.kind, seen.told], ["indexeddb", ["number", "number", false, false, undefined]]);
    if (seen.lacks) assert.deepEqual([seen.bytes, seen.quota], [0, 0]);
    t.note(seen.lacks ? "there is no navigator.storage" : "there is a navigator.storage");
    // Without a marker a loss is not told: the driver's browser has no private file system in any version.
    const after = await opened(page, { host });
    assert.deepEqual([after.pages, after.lost, after.notices], [0, null, []]);
    await page.evaluate(async () => { await ws.close(); await lodger.deleteWorkspace("shop"); });
  });
}
