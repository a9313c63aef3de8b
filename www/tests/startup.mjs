// When the browser cannot give what the page needs: it says so, once, with something to do.
import assert from "node:assert/strict";
import { open, say, settled, start, useModel, withoutStorage } from "./browser.mjs";

export const tests = {
  async "no storage: the page says why, and goes on without"({ page, base }) {
    await withoutStorage(page);
    await page.goto(base);
    const failure = page.getByTestId("startup-failure");
    await failure.waitFor();
    assert.equal(await failure.getAttribute("data-code"), "storage_unavailable");
    await failure.getByRole("heading", { name: "This browser gives no storage" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-testid")), "without-storage");
    await page.keyboard.press("Enter");
    await page.locator("[data-testid=conversation-panel][data-status=stopped]").waitFor();
    assert.equal(await failure.count(), 0);
    await page.locator("[data-warning=memory]").filter({ hasText: "Nothing is stored" }).waitFor();
    await start(page);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    await page.getByTestId("warnings").getByRole("button", { name: "Dismiss" }).click();
    assert.equal(await page.locator("[data-warning]").count(), 0);
  },

  async "with storage nothing is warned of"({ page, base }) {
    await open(page, base);
    await start(page);
    assert.equal(await page.locator("[data-warning]").count(), 0);
  },

  async "storage that was lost: said at each opening, until it is dismissed"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.waitForFunction(async () => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("lodger").catch(() => null);
      return folder && !(await folder.keys().next()).done;
    });
    await page.route("**/bare", (route) => route.fulfill({ contentType: "text/html", body: '<!doctype html><link rel="icon" href="data:,">' }));
    await page.goto(new URL("/bare", base).href);
    await page.evaluate(async () => {
      for (const { name } of await indexedDB.databases()) await new Promise((done) => (indexedDB.deleteDatabase(name).onsuccess = done));
    });
    for (let opening = 0; opening < 2; opening++) {
      await page.goto(base);
      await page.locator("[data-warning=lost]").filter({ hasText: "What was stored here is gone" }).waitFor();
    }
    await page.getByTestId("warnings").getByRole("button", { name: "Dismiss" }).click();
    await start(page);
    await page.goto(base);
    await start(page);
    assert.equal(await page.locator("[data-warning]").count(), 0);
  },

  async "a module that is no wasm: the page says so, and offers no memory"({ page, base, wrongs }) {
    await page.route("**/*.wasm", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Not here</title>" }));
    await page.goto(base);
    const failure = page.getByTestId("startup-failure");
    await failure.waitFor();
    assert.equal(await failure.getAttribute("data-code"), "wasm_unavailable");
    assert.equal(await failure.getByRole("button").count(), 1);
    await failure.getByRole("button", { name: "Reload" }).waitFor();
    assert.deepEqual(wrongs, []);
  },

  async "no network: told where the model needs one, and only there"({ page, base, model, visit, context, wrongs }) {
    await open(page, base);
    // The browser still fetches the page's icon behind its load, and says on the console when that is cut off.
    await page.waitForLoadState("networkidle");
    await context.setOffline(true);
    assert.equal(await page.locator("[data-warning]").count(), 0);
    await useModel(visit, model);
    await page.locator("[data-warning=offline]").waitFor();
    await page.getByTestId("warnings").getByRole("button", { name: "Settings" }).click();
    await page.getByTestId("key").waitFor();
    await page.keyboard.press("Escape");
    // What this service needs of the module does not come, at a first try or a second. The settings are kept all the same, and it
    // comes with the network.
    assert.deepEqual([...new Set(wrongs.splice(0))], ["console: Failed to load resource: net::ERR_INTERNET_DISCONNECTED"]);
    await context.setOffline(false);
    await page.locator("[data-warning=offline]").waitFor({ state: "detached" });
    await start(page);
  },
};
