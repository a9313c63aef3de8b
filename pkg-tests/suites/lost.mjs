// A browser that drops what was stored: bytes of a profile are damaged or taken away between two lives of a browser. Then
// whatever else deletes a database. After each the loss is told, everything works on from there, and nothing is told twice.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { noMarkers, opened, used } from "../lib/lost.mjs";
import { profile } from "../lib/profile.mjs";

const HOSTS = ["page", "worker"];

export default function (test) {
  profiles(test);
  deletions(test);
  rejected(test);
}

// ------------------------------------------------------------------ profiles

function profiles(test) {
  const onProfile = (title, damage, { since = true } = {}) => test(`${title}: the loss is told, and everything works on from there`, async (t) => {
    const browser = profile(t);
    await browser.life((page) => used(page));
    await damage(browser);
    await browser.life(async (page) => {
      const seen = await opened(page);
      assert.equal(seen.pages, 0, "it is empty");
      assert.deepEqual(seen.notices.map(({ kind }) => kind), ["storage_lost"]);
      assert.deepEqual(seen.onTarget, seen.notices);
      const [{ workspace, lost, error }] = seen.notices;
      assert.deepEqual([workspace, error.code, error.retryable], ["shop", "storage_lost", false]);
      assert.deepEqual(seen.lost, lost);
      assert.ok(lost.at > 0 && (since ? lost.since <= lost.at : lost.since === undefined), JSON.stringify(lost));
      const { provider } = await page.evaluate(async () => {
        await ws.pages.create({ title: "New" });
        await ws.startAgent({ provider: scriptedModel(["Here."]) });
        return { provider: (await ws.run("Hello?")).text };
      });
      assert.equal(provider, "Here.");
      await page.reload();
      await t.ready(page);
      const again = await opened(page);
      assert.deepEqual([again.pages, again.lost, again.notices.length], [1, lost, 1], "who missed it hears it now");
    });
    await browser.life(async (page) => {
      const later = await opened(page);
      assert.deepEqual([later.pages, later.history, later.notices.length], [1, ["Hello?", "Here."], 1]);
      await page.evaluate(async () => (await ws.storage()).lost.acknowledge());
      await page.reload();
      await t.ready(page);
      const over = await opened(page);
      assert.deepEqual([over.pages, over.lost, over.notices], [1, null, []], "nobody is told any more");
    });
  }, { hangMs: 180_000 });

  onProfile("a flipped bit in the log", (browser) => browser.flip(/\.log$/));
  onProfile("a flipped bit in the manifest", (browser) => browser.flip(/^MANIFEST/));
  onProfile("databases that are gone, where the browser says nothing", (browser) => browser.remove("IndexedDB"));
  // What Chromium makes of its own log (`lib/leveldb.mjs`). The day this fails it has learned better, and the documents can promise more.
  onProfile("a record that a kill has cut, behind which the next browser has written on", async (browser) => {
    browser.cut();
    await browser.life((page) => used(page, { name: "other" }));
  });
  onProfile("a flipped bit, where no marker is left", (browser) => {
    browser.flip(/\.log$/);
    browser.remove("File System");
  }, { since: false });

  test("a record that a kill has cut loses nothing that came before, as long as that browser lives", async (t) => {
    const browser = profile(t);
    await browser.life((page) => used(page));
    browser.cut();
    await browser.life(async (page) => {
      const seen = await opened(page);
      assert.deepEqual([seen.pages, seen.lost, seen.notices], [1, null, []]);
      await page.evaluate(() => ws.pages.create({ title: "New" }));
      const again = await opened(page);
      assert.deepEqual([again.pages, again.lost], [2, null]);
    });
  }, { hangMs: 120_000 });

  test("what a browser can neither open nor drops is refused, not opened empty", async (t) => {
    const browser = profile(t);
    await browser.life((page) => used(page));
    browser.flip(/^CURRENT$/);
    await browser.life(async (page) => {
      const error = await page.evaluate(() => T.refused(lodger.openWorkspace("shop")));
      assert.equal(error.code, "storage_unavailable");
    });
  }, { hangMs: 120_000 });

  test("after a damage, a workspace that never stored anything is not told as lost", async (t) => {
    const browser = profile(t);
    await browser.life(async (page) => {
      await used(page);
      await page.evaluate(async () => (await lodger.openWorkspace("unused")).close());
    });
    browser.flip(/\.log$/);
    await browser.life(async (page) => {
      const first = await opened(page, { name: "unused" });
      assert.deepEqual([first.lost, first.notices], [null, []]);
      assert.equal((await opened(page)).notices.length, 1, "the other one is");
    });
  }, { hangMs: 120_000 });

  test("a workspace deleted before a damage is not told as lost", async (t) => {
    const browser = profile(t);
    await browser.life(async (page) => {
      await used(page);
      await page.evaluate(() => lodger.deleteWorkspace("shop"));
      await used(page, { name: "other" });
    });
    browser.remove("IndexedDB");
    await browser.life(async (page) => {
      const seen = await opened(page);
      assert.deepEqual([seen.lost, seen.notices], [null, []]);
      assert.equal((await opened(page, { name: "other" })).notices.length, 1);
    });
  }, { hangMs: 120_000 });
}

// ------------------------------------------------------------------ deletions

function deletions(test) {
  for (const host of HOSTS) {
    test(`a database that something else deletes is lost, one that lodger deletes is not [${host}]`, async (t) => {
      const page = await t.tab();
      await used(page, { host });
      await page.evaluate(() => T.dropDatabase("shop"));
      const seen = await opened(page, { host });
      assert.deepEqual([seen.pages, seen.notices.length, seen.onTarget.length], [0, 1, 1]);
      assert.deepEqual(seen.lost, seen.notices[0].lost);
      await page.evaluate(() => lodger.deleteWorkspace("shop"));
      assert.equal(await noMarkers(page), true);
      const fresh = await opened(page, { host });
      assert.deepEqual([fresh.lost, fresh.notices], [null, []]);
      // Also while it is used, here and in another tab.
      await used(page, { host });
      const other = await t.tab();
      await opened(other, { host });
      await other.evaluate(() => lodger.deleteWorkspace("shop"));
      for (const tab of [page, other]) {
        const after = await opened(tab, { host });
        assert.deepEqual([after.pages, after.lost, after.notices], [0, null, []]);
      }
    });

    test(`keys alone are missed as well [${host}]`, async (t) => {
      const page = await t.tab();
      await page.evaluate(async (host) => {
        const ws = await lodger.openWorkspace("shop", { host });
        await ws.keys.set("anthropic", "sk-ant-0123456789abcdef");
        await ws.close();
      }, host);
      const whole = await opened(page, { host });
      assert.deepEqual([whole.lost, whole.notices], [null, []]);
      await page.evaluate(() => T.dropDatabase("shop"));
      const seen = await opened(page, { host });
      assert.deepEqual([seen.notices.length, seen.lost], [1, seen.notices[0]?.lost]);
    });

    for (const scope of ["workspace", "account"]) {
      test(`memories alone are missed as well, of the ${scope} [${host}]`, async (t) => {
        const page = await t.tab();
        await page.evaluate(async ([host, scope]) => {
          const ws = await lodger.openWorkspace("shop", { host, operator: { subject: "ann" } });
          await ws.memory.add({ text: "The blue vase.", scope });
          while (!(await T.markers()).length) await T.turn();
          await ws.close();
        }, [host, scope]);
        const whole = await opened(page, { host });
        assert.deepEqual([whole.lost, whole.notices], [null, []]);
        await page.evaluate(() => T.dropDatabase("shop"));
        const seen = await opened(page, { host });
        assert.deepEqual([seen.notices.length, seen.lost], [1, seen.notices[0]?.lost]);
      });
    }

    test(`two tabs that open a lost workspace at once both tell it, and neither overwrites the other [${host}]`, async (t) => {
      const page = await t.tab();
      await used(page, { host });
      await page.evaluate(() => T.dropDatabase("shop"));
      const tabs = [page, await t.tab()];
      const both = await Promise.all(tabs.map((tab) => opened(tab, { host })));
      for (const { notices, lost } of both) {
        assert.deepEqual(notices.map(({ kind }) => kind), ["storage_lost"]);
        assert.deepEqual(lost, both[0].lost, "what the first has seen");
      }
      await Promise.all(tabs.map((tab, n) => tab.evaluate((n) => ws.pages.create({ title: `Page ${n}` }), n)));
      assert.equal(await page.evaluate(async () => (await ws.pages.tree()).length), 2);
      // A third, which opens while another holds the agent.
      await page.evaluate(() => ws.startAgent({ provider: scriptedModel([]) }));
      const third = await opened(await t.tab(), { host });
      assert.deepEqual([third.pages, third.notices.length], [2, 1]);
      await tabs[1].evaluate(async () => (await ws.storage()).lost.acknowledge());
      assert.equal(await page.evaluate(async () => (await ws.storage()).lost ?? null), null, "in every tab");
    });
  }

  test("a loss is told also where its words do not come", async (t) => {
    const page = await t.tab();
    await used(page);
    await page.evaluate(() => T.dropDatabase("shop"));
    const { dir } = t.env.pkg;
    const words = fs.readdirSync(dir).filter((file) => file.endsWith(".js") && fs.readFileSync(path.join(dir, file), "utf8").includes("had stored is gone"));
    assert.equal(words.length, 1);
    t.allowError(/./);
    await page.route(`**/${words[0]}`, (route) => route.abort("internetdisconnected"));
    const { notices, lost } = await opened(page);
    assert.deepEqual(notices, [{ workspace: "shop", kind: "storage_lost", lost }]);
  });

  test("where only the row of the format is gone nothing is told as lost, and the next commit brings it back", async (t) => {
    const page = await t.tab();
    await used(page);
    await page.evaluate(async () => {
      const db = await T.database("shop");
      const tx = db.transaction("meta", "readwrite");
      tx.objectStore("meta").clear();
      await T.done(tx);
      db.close();
    });
    const seen = await opened(page, { onStorageLost: "reject" });
    assert.deepEqual([seen.pages, seen.lost, seen.notices], [1, null, []]);
    const meta = await page.evaluate(async () => {
      await ws.pages.create({ title: "New" });
      return (await T.dump("shop")).meta.map(([[key]]) => key);
    });
    assert.ok(meta.includes("format"), `${meta}`);
  });

  test("a workspace that was opened and stored nothing, or lies in memory, has no marker", async (t) => {
    const page = await t.tab();
    const seen = await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("shop");
      await ws.pages.tree();
      await ws.close();
      await T.dropDatabase("shop");
      const memory = await lodger.openWorkspace("m", { storage: "memory" });
      await memory.pages.create({ title: "T" });
      return { lost: (await memory.storage()).lost ?? null };
    });
    assert.equal(seen.lost, null);
    assert.equal(await noMarkers(page), true);
    assert.deepEqual((await opened(page)).notices, []);
  });

  test("where there is no private file system, nothing is told and nothing fails", async (t) => {
    const none = () => { StorageManager.prototype.getDirectory = async () => { throw new DOMException("no", "SecurityError"); }; };
    const page = await t.tab({ init: none });
    await page.evaluate(async () => {
      const ws = await lodger.openWorkspace("shop");
      await ws.pages.create({ title: "T" });
      await ws.close();
      await T.dropDatabase("shop");
    });
    const seen = await opened(page);
    assert.deepEqual([seen.pages, seen.lost, seen.notices], [0, null, []]);
    await page.evaluate(async () => { await ws.close(); await lodger.deleteWorkspace("shop"); });
  });
}

// ------------------------------------------------------------------ rejected

function rejected(test) {
  for (const host of HOSTS) {
    test(`onStorageLost: "reject" rejects, and opening without it works [${host}]`, async (t) => {
      const page = await t.tab();
      await used(page, { host });
      await page.evaluate(() => T.dropDatabase("shop"));
      const refused = () => page.evaluate((host) => T.refused(lodger.openWorkspace("shop", { host, onStorageLost: "reject" })), host);
      for (const error of [await refused(), await refused()]) {
        assert.deepEqual([error.name, error.code, error.retryable], ["LodgerError", "storage_lost", false]);
        assert.match(error.hint, /onStorageLost/);
      }
      const seen = await opened(page, { host });
      assert.deepEqual([seen.pages, seen.notices.length], [0, 1]);
      await page.evaluate(async () => { await ws.pages.create({ title: "New" }); await ws.close(); });
      const again = await opened(page, { host, onStorageLost: "reject" });
      assert.deepEqual([again.pages, again.notices.length], [1, 1], "there is something to open");
    });

    test(`onStorageLost: "reject" opens what is whole, new or used [${host}]`, async (t) => {
      const page = await t.tab();
      for (const pages of [0, 1]) {
        const seen = await opened(page, { host, onStorageLost: "reject" });
        assert.deepEqual([seen.pages, seen.lost, seen.notices], [pages, null, []]);
        await page.evaluate(() => ws.pages.create({ title: "T" }));
      }
    });
  }
}
