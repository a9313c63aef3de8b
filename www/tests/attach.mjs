// Files that go with a message: attached by choice, paste and drop, taken away, sent, shown again after a reload.
import assert from "node:assert/strict";
import { open, running, say, settled, start, useModel } from "./browser.mjs";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const dot = { name: "dot.png", mimeType: "image/png", buffer: PNG };
const notes = { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("# Notes\nThe key is under the mat.\n") };
const chips = (page) => page.getByTestId("attachment");
const attach = (page, ...files) => page.getByTestId("attach-input").setInputFiles(files);

/** Puts files into an event, as the browser does for a paste or a drop. */
const bring = (page, target, type) =>
  page.locator(target).evaluate((element, [type, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(bytes)], `${type}.png`, { type: "image/png" }));
    const event = type === "paste" ? new ClipboardEvent(type, { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true });
    element.dispatchEvent(event);
    return event.defaultPrevented;
  }, [type, [...PNG]]);

/** Asks about a picture and a text, and waits for the answer. */
async function asksAboutFiles({ page, base, model, visit }) {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  await attach(page, dot, notes);
  await say(page, "What is this?");
  await page.getByTestId("assistant-message").waitFor();
  await settled(page);
}

export const tests = {
  async "chosen, pasted and dropped files are shown, and can be taken away by keyboard"({ page, base }) {
    await open(page, base);
    await start(page);
    assert.equal(await page.getByTestId("send").isDisabled(), true);
    await attach(page, dot, notes);
    assert.equal(await bring(page, "[data-testid=composer]", "paste"), true);
    assert.equal(await bring(page, "[data-testid=conversation-panel]", "drop"), true);
    assert.deepEqual(await chips(page).locator(".attachment-name").allTextContents(), ["dot.png", "notes.md", "paste.png", "drop.png"]);
    assert.equal(await chips(page).nth(1).locator(".attachment-size").textContent(), "34 B");
    assert.equal(await page.getByTestId("send").isDisabled(), false, "files alone can be sent");
    await page.getByRole("button", { name: "Remove notes.md" }).focus();
    await page.keyboard.press("Enter");
    assert.equal(await chips(page).count(), 3);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Remove paste.png");
    for (let left = 3; left > 0; left -= 1) await page.getByRole("button", { name: /^Remove / }).last().press("Enter");
    assert.equal(await page.getByTestId("attachments").isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
    assert.equal(await page.getByTestId("send").isDisabled(), true);
  },

  async "the button opens the browser's dialog"({ page, base }) {
    await open(page, base);
    await start(page);
    const dialog = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).press("Enter");
    await (await dialog).setFiles([dot]);
    await chips(page).waitFor();
  },

  async "text that was copied with its picture is pasted as text"({ page, base }) {
    await open(page, base);
    await start(page);
    const taken = await page.getByTestId("composer").evaluate((element) => {
      const data = new DataTransfer();
      data.setData("text/plain", "cells");
      data.items.add(new File(["x"], "cells.png", { type: "image/png" }));
      const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
      element.dispatchEvent(event);
      return event.defaultPrevented;
    });
    assert.equal(taken, false);
    assert.equal(await chips(page).count(), 0);
  },

  async "what is sent reaches the model, is shown in the conversation, and again after a reload"(t) {
    const { page, model } = t;
    await asksAboutFiles(t);
    assert.equal(await chips(page).count(), 0);
    const sent = model.bodies.at(-1).messages[0].content;
    assert.deepEqual(sent.map(({ type }) => type), ["image", "document", "text"]);
    assert.equal(sent[0].source.data, PNG.toString("base64"));
    assert.equal(sent[1].source.data, notes.buffer.toString());
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      const said = page.getByTestId("user-message");
      const picture = said.getByTestId("sent-picture").locator("img");
      await picture.waitFor();
      await page.waitForFunction(() => document.querySelector("[data-testid=sent-picture] img").naturalWidth === 1);
      assert.equal(await picture.getAttribute("alt"), "Attached image: dot.png");
      const download = page.waitForEvent("download");
      await said.getByRole("button", { name: "Save notes.md" }).click();
      const saved = await download;
      assert.equal(saved.suggestedFilename(), "notes.md");
    }
  },

  async "a file that the browser has lost: the conversation goes on, and the chip says so"(t) {
    const { page, model } = t;
    await asksAboutFiles(t);
    await page.evaluate(() => new Promise((resolve, reject) => {
      const request = indexedDB.open("lodger:notes");
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const transaction = request.result.transaction("files", "readwrite");
        transaction.objectStore("files").clear();
        transaction.oncomplete = () => resolve(request.result.close());
      };
    }));
    await say(page, "And now?");
    await page.locator("[data-testid=problem][data-code=file_not_found]").waitFor();
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    const sent = model.bodies.at(-1).messages[0].content;
    assert.deepEqual(sent.map(({ type }) => type), ["text", "text", "text"]);
    assert.match(sent[0].text, /dot\.png.* was lost/);
    for (const reload of [false, true]) {
      if (reload) await page.reload();
      const gone = page.getByTestId("user-message").first().getByTestId("gone-file");
      await gone.nth(1).waitFor();
      assert.deepEqual(await gone.allTextContents(), ["dot.pngnot there any more", "notes.mdnot there any more"]);
    }
  },

  async "what the model does not take is refused in words, and nothing is lost"({ page, base }) {
    await open(page, base);
    await start(page);
    await attach(page, { name: "archive.zip", mimeType: "application/zip", buffer: Buffer.from([80, 75, 3, 4, 0, 255]) });
    await say(page, "Read it");
    const problem = page.locator("[data-testid=problem][data-code=unsupported_file]");
    await problem.waitFor();
    assert.match(await problem.textContent(), /archive\.zip/);
    assert.equal(await page.getByTestId("composer").inputValue(), "Read it");
    assert.equal(await chips(page).count(), 1);
    assert.equal(await page.getByTestId("user-message").count(), 0);
    await page.getByRole("button", { name: "Remove archive.zip" }).click();
    await page.getByTestId("composer").press("Enter");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    assert.equal(await problem.count(), 0);
  },

  async "clearing the conversation lets pictures go"({ page, base, model, visit }) {
    await page.addInitScript(() => {
      const { createObjectURL, revokeObjectURL } = URL;
      window.urls = new Set();
      URL.createObjectURL = (blob) => { const url = createObjectURL.call(URL, blob); window.urls.add(url); return url; };
      URL.revokeObjectURL = (url) => { window.urls.delete(url); revokeObjectURL.call(URL, url); };
    });
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await attach(page, dot);
    await say(page, "Look");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    await page.waitForFunction(() => document.querySelector("[data-testid=sent-picture] img")?.naturalWidth === 1);
    assert.equal(await page.evaluate(() => window.urls.size), 1, "the chip's is gone, the picture's is there");
    await page.evaluate(async () => {
      const { openWorkspace } = await import("/lodger/index.js");
      await (await openWorkspace("notes")).clearConversation();
    });
    await page.getByTestId("user-message").waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => window.urls.size), 0);
    await running(page);
  },
};
