// The record of a session and its journal as a timeline: what happened, in which order, how long it took. The way
// from the journal to the chat and back.
import assert from "node:assert/strict";
import { open, say, settled, start, useModel, workspace } from "./browser.mjs";
import { launchSession, shows } from "./sessions.mjs";

const words = (page) => page.locator(".entry-word").allTextContents();
/** The entries that are called so. */
export const entry = (page, word) => page.getByTestId("journal-entry").filter({ has: page.locator(".entry-word", { hasText: new RegExp(`^${word}$`) }) });

/** A session with one answer that used tools, and its journal. */
async function begin({ page, base, model, visit }, text = "use tools") {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  await launchSession(page, "Dragons");
  await say(page, text);
  await page.getByTestId("assistant-message").waitFor();
  await settled(page);
  await page.getByTestId("open-journal").click();
  await entry(page, "run completed").waitFor();
}

/** Only the entries of this kind. */
const only = (page, kind) => page.locator(`.chip[data-kind=${kind}]`).click();

export const tests = {
  async "entries in their order, with what they used up and how long they took"(t) {
    const { page } = t;
    await begin(t);
    await page.getByTestId("journal-entry").first().focus();
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.activeElement?.closest("[aria-posinset='1']"));
    for (const kind of ["prompt", "model", "tool"]) await only(page, kind);
    await page.waitForFunction(() => document.querySelectorAll(".entry-row").length === 10);
    assert.deepEqual(await words(page), ["you", "model asked", "model answered", "tool runs", "tool runs", "tool done", "tool failed", "model asked", "model answered", "run completed"]);
    const answer = entry(page, "model answered").first();
    assert.match(await answer.locator(".entry-used").textContent(), /10 → 40/);
    assert.match(await answer.locator(".entry-ms").textContent(), /m?s$/);
    assert.match(await answer.locator(".entry-text").textContent(), /I look\. → search_pages, read_page/);
    assert.equal(await page.locator(".entry-row.bad").count(), 1);
  },

  async "the record says how the session stands, and that nobody has changed it"(t) {
    const { page } = t;
    await begin(t);
    await page.locator("[data-testid=verdict][data-verdict=verified]").waitFor();
    assert.equal((await page.getByTestId("verdict").textContent()).trim(), "Verified");
    await page.locator("[data-testid=session-status][data-status=idle]").waitFor();
    await page.getByTestId("session-facts").locator("summary").click();
    assert.match(await page.getByTestId("session-facts").innerText(), /Operator\s+local/);
    await page.getByTestId("stop-session").click();
    await page.getByTestId("way-on").filter({ hasText: "This session is stopped." }).waitFor();
    await entry(page, "stop").first().waitFor();
    await page.getByTestId("session-go-on").click();
    await page.getByTestId("way-on").waitFor({ state: "detached" });
  },

  async "an entry lights up in the chat, whole with its hash; and a message leads to its entries"(t) {
    const { page } = t;
    await begin(t);
    await only(page, "tool");
    await entry(page, "tool failed").click();
    const details = page.getByTestId("entry-details");
    await details.waitFor();
    await page.locator("[data-testid=tool-card][data-marked][data-state=failed]").waitFor();
    const raw = JSON.parse(await page.getByTestId("entry-raw").textContent());
    assert.equal(raw.type, "returned");
    assert.match(raw.hash, /^[\w+/]{43}$/);
    assert.equal(await page.getByTestId("entry-hash").textContent(), raw.hash);
    await page.keyboard.press("Escape");
    await details.waitFor({ state: "detached" });
    assert.equal(await page.locator("[data-marked]").count(), 0);

    await page.getByTestId("open-journal").click();
    await page.getByTestId("user-message").hover();
    await page.getByTestId("user-message").getByRole("button", { name: "Show in the journal" }).click();
    await page.locator("[data-testid=entry-details]").filter({ hasText: "prompt" }).waitFor();
    await page.locator("[data-testid=user-message][data-marked]").waitFor();
    assert.ok((await page.locator(".entry-row.of-run").count()) > 5);
  },

  async "an entry of an answer that was replaced shows that version, and one of what stands leads back"(t) {
    const { page } = t;
    await begin(t, "First");
    const chosen = async (text) => {
      await page.getByTestId("journal-entry").filter({ hasText: text }).first().click();
      await page.locator("[data-testid=entry-details]").filter({ hasText: text }).waitFor();
    };
    const marked = (text) => page.locator("[data-testid=user-message][data-marked]").filter({ hasText: text }).waitFor();
    const number = (role, text) => page.getByTestId(`${role}-message`).getByTestId("version-count").filter({ hasText: text }).waitFor();
    // The answer is made again twice, then the message is edited.
    for (const count of ["2/2", "3/3"]) {
      await page.getByTestId("assistant-message").hover();
      await page.getByTestId("assistant-message").getByRole("button", { name: "Answer again" }).click();
      await number("assistant", count);
      await settled(page);
    }
    await page.getByTestId("user-message").hover();
    await page.getByRole("button", { name: "Edit your message" }).click();
    await page.getByTestId("edit-text").fill("Said better");
    await page.getByTestId("edit-text").press("Control+Enter");
    await number("user", "2/2");
    await settled(page);
    await page.waitForFunction(() => document.querySelectorAll(".entry-row").length > 0);
    await only(page, "model");
    const answers = entry(page, "model answered");
    await page.waitForFunction(() => [...document.querySelectorAll(".entry-word")].filter((word) => word.textContent === "model answered").length === 4);
    for (const [at, count] of [[1, "2/3"], [0, "1/3"], [2, "3/3"]]) {
      await answers.nth(at).click();
      await page.getByTestId("looks-back").waitFor();
      await number("assistant", count);
      await page.locator("[data-testid=assistant-message][data-marked]").waitFor();
    }
    await answers.nth(3).click();
    await page.getByTestId("looks-back").waitFor({ state: "detached" });
    await page.locator("[data-testid=assistant-message][data-marked]").waitFor();
    await only(page, "model");
    await only(page, "prompt");
    await chosen("First");
    await marked("First");
    await page.getByTestId("looks-back").waitFor();
    await chosen("Said better");
    await marked("Said better");
    assert.equal(await page.getByTestId("looks-back").count(), 0);
  },

  async "permissions and retries are kinds of their own; the filter and the search find them"(t) {
    const { page } = t;
    await begin(t, "busy once");
    await say(page, 'call delete_page {"slug":"chapter-1"}');
    await page.locator("[data-testid=permission-deny][aria-disabled=false]").click();
    await settled(page);
    await only(page, "permission");
    await entry(page, "denied").waitFor();
    assert.deepEqual(await words(page), ["you are asked", "denied"]);
    assert.match(await entry(page, "you are asked").textContent(), /delete_page \(destructive\)/);
    assert.match(await entry(page, "denied").locator(".entry-ms").textContent(), /m?s$/);
    await only(page, "permission");
    await only(page, "retry");
    await entry(page, "model failed").waitFor();
    assert.deepEqual(await words(page), ["model failed", "waits", "asks again"]);
    assert.match(await entry(page, "model failed").textContent(), /Overloaded/);
    await only(page, "retry");
    await page.getByTestId("journal-search").fill("destructive delete_page");
    await page.waitForFunction(() => document.querySelectorAll(".entry-row").length === 1);
    await page.getByTestId("journal-search").fill("no such thing");
    await page.getByText("No entry matches.").waitFor();
  },

  async "it follows what happens, and another session has another journal"(t) {
    const { page } = t;
    await begin(t);
    const before = Number(await page.getByTestId("journal-count").textContent());
    await say(page, "Hello");
    await page.getByTestId("assistant-message").nth(1).waitFor();
    await settled(page);
    await page.waitForFunction((before) => Number(document.querySelector("[data-testid=journal-count]").textContent) > before, before);
    await entry(page, "run completed").last().waitFor();
    await launchSession(page, "Another");
    await page.getByTestId("journal-title").filter({ hasText: "Another" }).waitFor();
    await page.waitForFunction(() => Number(document.querySelector("[data-testid=journal-count]").textContent) < 8);
    await entry(page, "launch").first().waitFor();
  },

  async "a reload keeps it open, in this tab"(t) {
    const { page, context, base, visit } = t;
    await begin(t);
    await page.reload();
    await page.getByTestId("journal-title").filter({ hasText: "Dragons" }).waitFor();
    await entry(page, "run completed").waitFor();
    const other = await context.newPage();
    visit.watch(other);
    await open(other, base);
    assert.equal(await other.getByTestId("journal").isVisible(), false);
    await page.getByRole("button", { name: "Close the journal" }).click();
    await page.reload();
    await page.getByTestId("conversation-panel").waitFor();
    assert.equal(await page.getByTestId("journal").isVisible(), false);
  },

  async "a thousand entries: those in view are in the document, and the end is where it opens"({ page, base }) {
    await open(page, base);
    await start(page);
    await launchSession(page, "Long");
    await workspace(page);
    await page.evaluate(async () => {
      const { offline } = await import("/lodger/offline.js");
      await ws.configureAgent({ provider: offline({ delayMs: 0 }) });
      const { id } = (await ws.sessions.list()).find(({ display_name }) => display_name === "Long");
      for (let i = 0; i < 200; i += 1) await ws.wait((await ws.sessions.prompt(id, `Hello ${i}`)).runId);
    });
    await page.getByTestId("open-journal").click();
    await page.waitForFunction(() => Number(document.querySelector("[data-testid=journal-count]").textContent.replace(",", "")) > 1_000);
    await entry(page, "run completed").last().waitFor();
    assert.ok((await page.getByTestId("journal-entry").count()) < 60);
    await page.getByTestId("journal-entry").last().focus();
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.activeElement?.closest("[aria-posinset='1']"));
  },

  async "a long journal whose beginning was cleared is read once, to its end"({ page, base }) {
    await open(page, base);
    await start(page);
    await launchSession(page, "Cleared");
    await workspace(page);
    await page.evaluate(async () => {
      const { offline } = await import("/lodger/offline.js");
      await ws.configureAgent({ provider: offline({ delayMs: 0 }) });
      const { id } = (await ws.sessions.list()).find(({ display_name }) => display_name === "Cleared");
      for (let i = 0; i < 110; i += 1) await ws.wait((await ws.sessions.prompt(id, `Hello ${i}`)).runId);
      await ws.clearConversation(id);
      await ws.wait((await ws.sessions.prompt(id, "Anew")).runId);
    });
    await page.getByTestId("open-journal").click();
    const read = page.getByTestId("journal").getByRole("status").filter({ hasText: /^\d+ entries$/ });
    await read.waitFor({ state: "attached" });
    assert.ok(Number.parseInt(await read.textContent(), 10) > 500);
    // What is shown while it is cleared loses its words.
    await page.getByTestId("journal-search").fill("Anew");
    await entry(page, "you").waitFor();
    await page.evaluate(async () => {
      const { id } = (await ws.sessions.list()).find(({ display_name }) => display_name === "Cleared");
      await ws.clearConversation(id);
      await ws.wait((await ws.sessions.prompt(id, "At last")).runId);
    });
    await page.getByText("No entry matches.").waitFor();
  },

  "on a phone the entry leads to the chat by its button": {
    visitor: { width: 360, height: 740 },
    async run({ page, base }) {
      await open(page, base);
      await start(page);
      await say(page, "What pages mention dragons?");
      await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
      await settled(page);
      await page.getByRole("button", { name: "Journal", exact: true }).click();
      await entry(page, "tool done").click();
      await page.getByTestId("entry-chat").click();
      await page.locator("[data-testid=tool-card][data-marked]").waitFor();
      await shows(page, "Conversation");
    },
  },
};
