// The key: where it is, where it is not.
import assert from "node:assert/strict";
import { open, save, say, settled, start, useModel } from "./browser.mjs";

const KEY = "sk-ant-test-key-7431";

export const tests = {
  async "the key is masked, in no document, in no storage, and goes when forgotten"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    assert.equal(await leaks(page), "");
    await page.getByTestId("open-settings").click();
    const field = page.getByTestId("key");
    await field.waitFor();
    assert.equal(await field.getAttribute("type"), "password");
    assert.equal(await field.getAttribute("autocomplete"), "new-password");
    assert.equal(await field.inputValue(), "");
    await page.getByText("••••7431").first().waitFor();
    assert.match(await page.locator("#key-about").innerText(), /memory only and sent to 127\.0\.0\.1/);
    await page.getByTestId("forget-key").click();
    await page.getByText("••••7431").first().waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.reload();
    await page.getByTestId("composer").waitFor();
    assert.equal(await leaks(page), "");
  },

  async "an address that is none is refused in the form"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Anthropic", { exact: false }).check();
    await page.getByLabel("Address").evaluate((field) => {
      field.type = "text";
      field.value = "not an address";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.getByTestId("save-settings").click();
    await page.getByTestId("settings").getByRole("alert").waitFor();
  },

  async "what was chosen is there after a reload"({ page, base }) {
    await open(page, base);
    await page.getByTestId("open-settings").click();
    await page.getByTestId("settings").getByLabel("Look").selectOption("dark");
    await page.getByLabel("Anthropic", { exact: false }).check();
    await page.getByLabel("Model", { exact: true }).fill("claude-test");
    await save(page);
    await page.reload();
    await page.getByTestId("composer").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.locator(".destination").getByText("claude-test").waitFor();
  },
};

/** Every place of the page where the key must not be. */
async function leaks(page) {
  return page.evaluate(async (key) => {
    const places = { html: document.documentElement.outerHTML, local: JSON.stringify(localStorage), session: JSON.stringify(sessionStorage), values: [...document.querySelectorAll("input, textarea")].map((f) => f.value).join() };
    for (const { name } of await indexedDB.databases()) {
      const db = await new Promise((done, no) => Object.assign(indexedDB.open(name), { onsuccess: (e) => done(e.target.result), onerror: no }));
      for (const store of db.objectStoreNames) {
        const rows = await new Promise((done) => (db.transaction(store).objectStore(store).getAll().onsuccess = (e) => done(e.target.result)));
        places[`${name}/${store}`] = JSON.stringify(rows);
      }
      db.close();
    }
    return Object.entries(places).filter(([, text]) => text.includes(key)).map(([place]) => place).join();
  }, KEY);
}
