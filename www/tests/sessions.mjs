// Sessions with names: launched, changed, left and found again, each with its own conversation, draft and place.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { kept, open, running, save, say, settled, start, streaming, tamper, titled, useModel, workspace } from "./browser.mjs";
import { another } from "./tabs.mjs";

/** A session of this name, launched as a person does. */
export async function launchSession(page, name) {
  await page.getByTestId("new-session").click();
  await page.getByTestId("session-name").fill(name);
  await page.getByTestId("session-name").press("Enter");
  await shows(page, name);
}

/** Waits until the conversation of this session is shown, and not that of "Dragons 2" for "Dragons". */
export function shows(page, name) {
  return page.getByTestId("conversation-name").filter({ hasText: new RegExp(`^${name}$`) }).waitFor();
}

/** The row of a session. */
export const row = (page, name) => page.getByTestId("session-row").filter({ has: page.locator(".session-name", { hasText: new RegExp(`^${name}$`) }) });

/** Shows a session by its row. */
export async function choose(page, name) {
  await row(page, name).getByTestId("open-session").click();
  await shows(page, name === "Main conversation" ? "Conversation" : name);
}

const names = (page) => page.locator(".session-row .session-name").allTextContents();
const top = (page) => page.getByRole("log").evaluate((log) => log.scrollTop);

/** An agent with the test's model, and a session. */
async function begin({ page, base, model, visit }, name = "Dragons") {
  await open(page, base);
  await useModel(visit, model);
  await start(page);
  await launchSession(page, name);
}

/** One answer in the session that is shown. */
async function answered(page, text = "Hello") {
  const answers = page.getByTestId("assistant-message");
  const before = await answers.count();
  await say(page, text);
  await answers.nth(before).waitFor();
  await settled(page);
}

/** A session whose page went away while it was answered; the agent is not started again. */
async function lost(t) {
  const { page, model, visit } = t;
  await begin(t);
  await say(page, "this one is held");
  await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
  await kept(page);
  await page.reload();
  await shows(page, "Dragons");
  await useModel(visit, model);
}

/** A session with a message that cannot be read any more; it is shown, and the agent is not started again. */
export async function damaged(t) {
  const { page } = t;
  await begin(t);
  await answered(page, "The first message");
  await answered(page, "The second message");
  await tamper(page, "entries", "The second message", "The worst message");
  await page.reload();
  await shows(page, "Dragons");
  await note(page).waitFor();
}

/** What is said of a damaged session, and offered, in its conversation. */
const note = (page) => page.getByTestId("session-damaged");

/** The names of the buttons in view. */
const offered = (within) => within.locator("button:visible").evaluateAll((buttons) => buttons.map((button) => button.getAttribute("aria-label")));

export const tests = {
  async "a session that is launched while the list is read is shown and stays; one that is removed meanwhile is gone"({ page, base }) {
    await open(page, base);
    await start(page);
    await launchSession(page, "Old");
    await workspace(page);
    // A list that takes its time; another code's session has it read.
    await page.evaluate(async () => {
      const { sessions } = ws;
      const list = sessions.list;
      sessions.list = async (options) => {
        const listed = await list(options);
        window.listing = true;
        await new Promise((go) => (window.release = go));
        sessions.list = list;
        return listed;
      };
      const { id } = await sessions.launch({ displayName: "Other" });
      await ws.wait((await sessions.prompt(id, "Hello")).runId);
    });
    await page.waitForFunction(() => window.listing);
    await page.getByTestId("open-session").filter({ hasText: "Old" }).waitFor();
    await launchSession(page, "New");
    await row(page, "Old").getByTestId("open-session").focus();
    await page.keyboard.press("Delete");
    await row(page, "Old").waitFor({ state: "detached" });
    await page.evaluate(() => window.release());
    await row(page, "Other").waitFor();
    assert.deepEqual((await names(page)).sort(), ["Main conversation", "New", "Other"]);
    await shows(page, "New");
  },

  async "launch with a name: the session is shown, empty, and answers"({ page, base }) {
    await open(page, base);
    await start(page);
    await launchSession(page, "Dragons of the north");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "message");
    assert.equal(await page.getByTestId("user-message").count(), 0);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    const mine = row(page, "Dragons of the north");
    await mine.locator(".session-status", { hasText: "idle" }).waitFor();
    await mine.locator(".session-line", { hasText: "2 pages match" }).waitFor();
    assert.match(await mine.locator(".session-facts").textContent(), /local/);
    assert.equal(await mine.getByTestId("open-session").getAttribute("aria-current"), "true");
    assert.deepEqual(await names(page), ["Dragons of the north", "Main conversation"]);
  },

  async "a name that is refused stays to be mended, and says why"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByTestId("new-session").click();
    await page.getByTestId("session-name").fill("turned \u202e around");
    await page.getByTestId("session-name").press("Enter");
    await page.getByTestId("sessions-problem").waitFor();
    assert.equal(await page.getByTestId("session-name").inputValue(), "turned \u202e around");
    await page.getByTestId("session-name").press("Escape");
    assert.equal(await page.getByTestId("session-name").count(), 0);
  },

  async "renamed in place: Enter takes it, Escape does not; F2 begins"({ page, base }) {
    await open(page, base);
    await start(page);
    await launchSession(page, "First name");
    await row(page, "First name").getByTestId("open-session").focus();
    await page.keyboard.press("F2");
    await page.getByTestId("session-name-field").fill("Not this");
    await page.keyboard.press("Escape");
    assert.equal(await row(page, "First name").count(), 1);
    await page.getByRole("button", { name: "Rename First name" }).click();
    await page.getByTestId("session-name-field").fill("Second name");
    await page.keyboard.press("Enter");
    await row(page, "Second name").waitFor();
    await shows(page, "Second name");
  },

  async "each session has its own conversation, draft and place; a reload keeps them"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "100 KB please");
    await page.getByTestId("assistant-message").filter({ hasText: "Section 20" }).waitFor();
    await settled(page);
    await page.getByRole("heading", { name: "Section 60", exact: true }).evaluate((h) => h.scrollIntoView({ block: "start" }));
    await page.getByRole("log").hover();
    await page.mouse.wheel(0, -40);
    await page.getByTestId("composer").fill("half a thought about dragons");
    const read = await top(page);
    assert.ok(read > 1000);

    await choose(page, "Main conversation");
    assert.equal(await page.getByTestId("user-message").count(), 0);
    assert.equal(await page.getByTestId("composer").inputValue(), "");
    await page.getByTestId("composer").fill("another thought");
    await choose(page, "Dragons");
    assert.equal(await page.getByTestId("composer").inputValue(), "half a thought about dragons");
    await near(page, read);

    await page.reload();
    await shows(page, "Dragons");
    assert.equal(await page.getByTestId("composer").inputValue(), "half a thought about dragons");
    await near(page, read);
    await choose(page, "Main conversation");
    assert.equal(await page.getByTestId("composer").inputValue(), "another thought");
  },

  async "two answer at the same time; the one that is not shown is marked until it is looked at"(t) {
    const { page, model } = t;
    await begin(t, "One");
    await say(page, "held: the first");
    await streaming(page);
    await launchSession(page, "Two");
    await say(page, "held: the second");
    await streaming(page);
    assert.equal(await row(page, "One").getAttribute("data-mood"), "works");
    assert.equal(await page.getByTestId("user-message").count(), 1);
    model.release();
    await settled(page);
    await row(page, "One").and(page.locator("[data-mood=unseen]")).waitFor();
    await page.reload();
    await row(page, "One").and(page.locator("[data-mood=unseen]")).waitFor();
    assert.equal((await names(page))[0], "One");
    await choose(page, "One");
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    await row(page, "One").and(page.locator("[data-mood=idle]")).waitFor();
  },

  async "a question in another session comes first, in the title too, and Alt+Shift+P leads there"(t) {
    const { page } = t;
    await begin(t, "Asking");
    await say(page, 'call delete_page {"slug":"chapter-1"}');
    await page.getByTestId("permission-card").waitFor();
    await choose(page, "Main conversation");
    assert.equal(await page.getByTestId("permission-card").locator("visible=true").count(), 0);
    await row(page, "Asking").locator(".session-status").filter({ hasText: /^needs you$/ }).waitFor();
    assert.deepEqual((await names(page))[0], "Asking");
    await titled(page, "● Your answer is needed · Lodger");
    await page.keyboard.press("Alt+Shift+P");
    await shows(page, "Asking");
    await page.locator("[data-testid=permission-deny][aria-disabled=false]").click();
    await settled(page);
    await row(page, "Asking").locator(".session-status", { hasText: "idle" }).waitFor();
    await titled(page, "Lodger");
  },

  async "an exit word ends the session, Restart takes it up again"(t) {
    const { page } = t;
    await begin(t);
    await answered(page);
    await say(page, "/exit");
    const note = page.getByTestId("session-still").filter({ hasText: "This session is stopped." });
    await note.waitFor();
    assert.equal(await page.getByTestId("user-message").count(), 1);
    await note.getByRole("button", { name: "Restart" }).click();
    await note.waitFor({ state: "detached" });
    await answered(page, "Again");
    assert.equal(await page.getByTestId("user-message").count(), 2);
  },

  async "a refused key fails the session, with what is recommended and the button for it"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "refuse the key");
    const note = page.getByTestId("session-still");
    await note.filter({ hasText: "does not take the key" }).waitFor();
    assert.match(await note.innerText(), /Recommended: reauthenticate provider credentials, then resume\./);
    await row(page, "Dragons").locator(".session-status").filter({ hasText: /^key refused$/ }).waitFor();
    await note.getByRole("button", { name: "Resume" }).click();
    await note.waitFor({ state: "detached" });
    await answered(page, "Hello again");
  },

  async "a session that was lost in the middle of a run is reconnected, and goes on"(t) {
    const { page, model } = t;
    await lost(t);
    const note = page.getByTestId("session-still");
    await note.filter({ hasText: "The page that worked on it went away." }).waitFor();
    assert.match(await note.innerText(), /Recommended: reconnect session process, then resume\./);
    assert.equal(await row(page, "Dragons").getAttribute("data-mood"), "failed");
    // That starts the agent, too.
    await note.getByRole("button", { name: "Reconnect" }).click();
    await streaming(page);
    model.release();
    await settled(page);
    await row(page, "Dragons").locator(".session-status", { hasText: "idle" }).waitFor();
    assert.equal(await page.getByTestId("assistant-message").count(), 1);
    assert.equal(await page.getByTestId("user-message").count(), 1);
  },

  async "one that stands still says what is needed: one button, the other ways in a menu, and the text stays"(t) {
    const { page, model } = t;
    await lost(t);
    // With the agent there it is the same.
    await choose(page, "Main conversation");
    await page.getByTestId("start-agent").click();
    await running(page);
    await choose(page, "Dragons");
    const note = page.getByTestId("session-still");
    await note.waitFor();
    await page.getByTestId("open-journal").click();
    await page.getByTestId("way-on").waitFor();
    const ways = page.getByRole("button", { name: /Continue|Reconnect|Resume|Restart|Try again|Edit message|Regenerate/ });
    assert.deepEqual(await ways.allInnerTexts(), ["Reconnect"]);
    const composer = page.getByTestId("composer");
    assert.equal(await composer.getAttribute("placeholder"), "Reconnect this session first");
    await say(page, "Something else");
    await page.locator(".composer-hint").filter({ hasText: "Reconnect this session first. Your text stays here" }).waitFor();
    assert.equal(await composer.inputValue(), "Something else");
    assert.equal(await page.getByTestId("problem").count(), 0);
    await note.getByText("Other ways on").click();
    assert.deepEqual(await note.locator("details button").allInnerTexts(), ["Resume, and leave the answer for later", "Restart, with the conversation it had"]);
    await note.getByRole("button", { name: "Resume" }).click();
    await note.waitFor({ state: "detached" });
    assert.equal(await composer.getAttribute("placeholder"), "Ask about your pages");
    // The answer waits, and is continued now.
    await page.getByTestId("system-message").filter({ hasText: "Continue it, or write something else." }).getByRole("button", { name: "Continue" }).click();
    await streaming(page);
    model.release();
    await settled(page);
    assert.equal(await page.getByTestId("user-message").count(), 1);
    assert.equal(await composer.inputValue(), "Something else");
  },

  async "before the agent starts nobody is said to hold what a page has left"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "this one is held");
    await streaming(page);
    await row(page, "Dragons").locator(".session-facts", { hasText: "held here" }).waitFor();
    await page.reload();
    await shows(page, "Dragons");
    await row(page, "Dragons").locator(".session-facts", { hasText: "local" }).waitFor();
    assert.doesNotMatch(await row(page, "Dragons").locator(".session-facts").textContent(), /another tab|held here/);
  },

  async "what another tab works on is held by it; when that tab goes away this one holds it, and goes on"(t) {
    const { page, base, context, visit, model } = t;
    await begin(t);
    await say(page, "this one is held");
    await streaming(page);
    const other = await context.newPage();
    visit.watch(other);
    await open(other, base);
    const held = (by) => row(other, "Dragons").locator(".session-facts", { hasText: `held ${by}` }).waitFor();
    await held("by another tab");
    assert.equal(await row(other, "Dragons").getAttribute("data-status"), "running");
    assert.equal(await other.getByTestId("session-still").count(), 0);
    await other.locator("[data-testid=elsewhere][data-stands-by=true]").waitFor();
    await page.close();
    await held("here");
    assert.equal(await row(other, "Dragons").getAttribute("data-status"), "running");
    assert.equal(await other.getByTestId("session-still").count(), 0);
    await choose(other, "Dragons");
    await streaming(other);
    model.release();
    await settled(other);
    assert.equal(await other.getByTestId("user-message").count(), 1);
    assert.equal(await other.getByTestId("assistant-message").count(), 1);
    await row(other, "Dragons").locator(".session-status", { hasText: "idle" }).waitFor();
    assert.doesNotMatch(await row(other, "Dragons").locator(".session-facts").textContent(), /held/);
  },

  async "one that stands still asks for the key that went with the page"({ page, base }) {
    await open(page, base);
    await start(page);
    await launchSession(page, "Dragons");
    await say(page, "/exit");
    const note = page.getByTestId("session-still");
    await note.waitFor();
    await page.reload();
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Anthropic", { exact: false }).check();
    await page.getByTestId("key").fill("sk-ant-test-key-7431");
    await save(page);
    await page.reload();
    await note.filter({ hasText: "The key was kept in memory only" }).waitFor();
    await note.getByRole("button", { name: "Open settings" }).waitFor();
  },

  async "a fork has a name of its own, and so has a fork of the main conversation"(t) {
    const { page } = t;
    await begin(t);
    await answered(page);
    await page.getByTestId("open-journal").click();
    await page.getByTestId("fork").click();
    await shows(page, "Dragons 2");
    await row(page, "Dragons").waitFor();
    await choose(page, "Dragons");
    await page.getByTestId("fork").click();
    await shows(page, "Dragons 3");
    await choose(page, "Main conversation");
    await page.getByTestId("fork").click();
    await shows(page, "Main conversation 2");
    assert.deepEqual((await names(page)).sort(), ["Dragons", "Dragons 2", "Dragons 3", "Main conversation", "Main conversation 2"]);
  },

  async "beside a stopped session it is the agent that runs"(t) {
    const { page } = t;
    await begin(t);
    await say(page, "/exit");
    await page.getByTestId("session-still").waitFor();
    assert.equal(await page.locator(".agent-of").innerText(), "Agent\nRunning");
  },

  async "a damaged session is named in the list by a sign and a word, above the others, and nothing is offered there that would be refused"(t) {
    const { page } = t;
    await begin(t);
    await answered(page);
    await launchSession(page, "Whole");
    await answered(page);
    await tamper(page, "heads", '"display_name":"Dragons"', '"display_name":"Wagons"');
    await page.reload();
    await row(page, "Wagons").locator(".session-status", { hasText: /^damaged$/ }).waitFor();
    assert.equal(await row(page, "Wagons").locator(".session-mark [data-icon=alert]").count(), 1);
    assert.deepEqual(await names(page), ["Wagons", "Whole", "Main conversation"]);
    assert.equal(await page.locator("[data-mood=damaged]").count(), 1);
    await row(page, "Wagons").hover();
    assert.deepEqual(await offered(row(page, "Wagons").locator(".session-tools")), ["Remove Wagons"]);
    await row(page, "Wagons").getByTestId("open-session").focus();
    await page.keyboard.press("F2");
    assert.equal(await page.getByTestId("session-name-field").count(), 0);
    assert.equal(await page.getByTestId("session-damaged").count(), 0);
  },

  async "what can be read of a damaged conversation is made whole in its place, and goes on, in both tabs"(t) {
    const { page } = t;
    await damaged(t);
    const other = await another(t);
    await note(other).waitFor();
    await page.getByText("Something that was said here cannot be read any more").waitFor();
    assert.deepEqual(await note(page).getByRole("button").allInnerTexts(), ["Make it whole", "Save its file", "Remove it"]);
    // Neither of these would be taken.
    assert.equal(await page.getByRole("button", { name: "Clear conversation" }).count(), 0);
    assert.equal(await page.locator("[data-action=edit-message]").locator("visible=true").count(), 0);
    await note(page).getByRole("button", { name: "Make it whole" }).click();
    await page.getByText("“Dragons” goes on with what can still be read.").waitFor();
    for (const tab of [page, other]) {
      await note(tab).waitFor({ state: "detached" });
      await tab.locator("[data-mood=damaged]").waitFor({ state: "detached" });
    }
    await page.getByTestId("system-message").waitFor({ state: "detached" });
    await page.getByTestId("user-message").first().filter({ hasText: "The first message" }).waitFor();
    assert.deepEqual((await names(page)).sort(), ["Dragons", "Main conversation"]);
    // The button that was pressed is gone.
    await page.waitForFunction(() => document.activeElement.id === "message");
    await start(page);
    await answered(page, "And now?");
    await other.getByText("And now?").waitFor();
    await other.getByTestId("system-message").waitFor({ state: "detached" });
    await page.reload();
    await shows(page, "Dragons");
    await page.getByText("And now?").waitFor();
    await row(page, "Dragons").locator(".session-status", { hasText: /^idle$/ }).waitFor();
    assert.equal(await note(page).count(), 0);
  },

  async "a damaged conversation says why it sends nothing and keeps the text, is saved as it is, and removed once that is confirmed"(t) {
    const { page } = t;
    await damaged(t);
    await page.locator("[data-testid=composer][placeholder='This conversation is damaged']").waitFor();
    await say(page, "Are you there?");
    await page.locator(".composer-hint").filter({ hasText: "This conversation is damaged. Your text stays here" }).waitFor();
    assert.equal(await page.getByTestId("composer").inputValue(), "Are you there?");
    assert.equal(await page.getByTestId("problem").count(), 0);
    const [download] = await Promise.all([page.waitForEvent("download"), note(page).getByRole("button", { name: "Save its file" }).click()]);
    assert.equal(download.suggestedFilename(), "Dragons.jsonl");
    const text = readFileSync(await download.path(), "utf8");
    assert.match(text, /^\{"damaged":/m);
    assert.match(text, /The worst message/);
    await page.getByTestId("open-journal").click();
    await page.locator("[data-testid=journal] [data-verdict=tampered]").filter({ hasText: "Not as written" }).waitFor();
    assert.deepEqual(await page.locator(".journal-actions button").allInnerTexts(), ["Journal", "Markdown", "JSON", "Remove"]);
    const ask = page.getByTestId("ask");
    await note(page).getByRole("button", { name: "Remove it" }).click();
    await ask.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await row(page, "Dragons").count(), 1);
    await note(page).getByRole("button", { name: "Remove it" }).click();
    await ask.filter({ hasText: "for good" }).getByRole("button", { name: "Remove" }).click();
    await shows(page, "Conversation");
    await row(page, "Dragons").waitFor({ state: "detached" });
    const toast = page.locator(".toast").filter({ hasText: "“Dragons” is removed." });
    await toast.waitFor();
    assert.equal(await toast.getByRole("button", { name: "Undo" }).count(), 0);
  },

  async "a whole copy of a damaged conversation is made beside it"(t) {
    const { page } = t;
    await damaged(t);
    await note(page).getByText("Other ways on").click();
    await note(page).getByRole("button", { name: "Make a whole copy, and keep this one" }).click();
    await shows(page, "Dragons 2");
    await note(page).waitFor({ state: "detached" });
    await page.getByText("The first message").waitFor();
    await row(page, "Dragons").locator(".session-status", { hasText: /^damaged$/ }).waitFor();
  },

  async "where nothing of a conversation can be read, it can be removed and nothing else"(t) {
    const { page } = t;
    await begin(t);
    await answered(page);
    const id = await row(page, "Dragons").getAttribute("data-session");
    // Its rows are those of the first session.
    await page.evaluate(async (id) => {
      const result = (request) => new Promise((go, no) => Object.assign(request, { onsuccess: () => go(request.result), onerror: no }));
      const db = await result(indexedDB.open("lodger:notes"));
      const transaction = db.transaction(["entries", "heads"], "readwrite");
      for (const table of ["entries", "heads"]) {
        const store = transaction.objectStore(table);
        const [keys, rows] = await Promise.all([result(store.getAllKeys()), result(store.getAll())]);
        for (const key of keys) if (key[0] === id) store.delete(key);
        for (const [at, key] of keys.entries()) if (key[0] === "default") store.put(rows[at], [id, ...key.slice(1)]);
      }
      await new Promise((go) => (transaction.oncomplete = go));
      db.close();
    }, id);
    await page.reload();
    await page.getByText("Nothing of it can be read").waitFor();
    assert.deepEqual(await note(page).getByRole("button").allInnerTexts(), ["Remove it"]);
    await note(page).getByRole("button", { name: "Remove it" }).click();
    await page.getByTestId("ask").getByRole("button", { name: "Remove" }).click();
    await page.locator(`[data-session=${id}]`).waitFor({ state: "detached" });
    await shows(page, "Conversation");
  },

  async "the first conversation, damaged, is begun anew"(t) {
    const { page, base, model, visit } = t;
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await answered(page, "The first message");
    await tamper(page, "entries", "The first message", "The worst message");
    await page.reload();
    await note(page).waitFor();
    assert.deepEqual(await note(page).getByRole("button").allInnerTexts(), ["Make it whole", "Save its file", "Begin anew"]);
    await row(page, "Main conversation").locator(".session-status", { hasText: /^damaged$/ }).waitFor();
    await note(page).getByRole("button", { name: "Begin anew" }).click();
    await page.getByTestId("ask").filter({ hasText: "so is the record of what was done in it" }).getByRole("button", { name: "Begin anew" }).click();
    await note(page).waitFor({ state: "detached" });
    await page.locator("[data-mood=damaged]").waitFor({ state: "detached" });
    await start(page);
    await answered(page, "Anew");
    assert.equal(await page.getByTestId("user-message").count(), 1);
  },

  async "one that is found damaged when the agent starts is named, also while another is shown"(t) {
    const { page } = t;
    await lost(t);
    await choose(page, "Main conversation");
    await tamper(page, "entries", "this one is held", "this one is healed");
    await page.reload();
    await row(page, "Dragons").waitFor();
    assert.equal(await page.locator("[data-mood=damaged]").count(), 0);
    await useModel(t.visit, t.model);
    await start(page);
    await page.locator(".toast").filter({ hasText: "“Dragons” is damaged. Open it to see what can be done." }).waitFor();
    await row(page, "Dragons").locator(".session-status", { hasText: /^damaged$/ }).waitFor();
    assert.equal(await page.getByTestId("problem").count(), 0);
    await choose(page, "Dragons");
    await note(page).getByRole("button", { name: "Make it whole" }).click();
    await note(page).waitFor({ state: "detached" });
    await answered(page, "And now?");
  },

  async "a journal whose rows were changed is found out when its session is shown, and stays so"(t) {
    const { page } = t;
    await begin(t);
    await answered(page, "The first message");
    for (let i = 0; i < 3; i += 1) await answered(page, "100 KB please");
    await choose(page, "Main conversation");
    await tamper(page, "entries", "The first message", "The worst message");
    await page.reload();
    await row(page, "Dragons").waitFor();
    // A list judges records alone.
    assert.equal(await page.locator("[data-mood=damaged]").count(), 0);
    await choose(page, "Dragons");
    await row(page, "Dragons").and(page.locator("[data-mood=damaged]")).waitFor();
    await note(page).getByText("Other ways on").click();
    await note(page).getByRole("button", { name: "Show its journal" }).click();
    // What is whole is shown, and where it is not.
    await page.getByTestId("journal-search").fill("damaged");
    await page.locator(".journal-list").getByText("damaged").first().waitFor();
    assert.equal(await page.getByTestId("journal-problem").count(), 0);
    assert.equal(await page.getByText("The worst message").count(), 0);
    await launchSession(page, "Another");
    await running(page);
    assert.equal(await row(page, "Dragons").getAttribute("data-mood"), "damaged");
  },

  async "removed, and brought back in time; the focus stays in the list"(t) {
    const { page } = t;
    await begin(t, "Keep me");
    await answered(page);
    await launchSession(page, "Gone");
    await row(page, "Keep me").getByTestId("open-session").focus();
    await page.keyboard.press("Delete");
    await row(page, "Keep me").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.closest(".session-row"));
    await page.locator(".toast").filter({ hasText: "“Keep me” is removed." }).getByRole("button", { name: "Undo" }).click();
    await shows(page, "Keep me");
    await row(page, "Keep me").waitFor();
    await page.getByTestId("assistant-message").waitFor();
    assert.equal(await page.getByTestId("user-message").count(), 1);
    // The one that is shown leads to the main conversation when it goes.
    await page.getByRole("button", { name: "Remove Keep me" }).click();
    await shows(page, "Conversation");
    assert.equal(await row(page, "Main conversation").getByRole("button", { name: /^Remove/ }).count(), 0);
  },

  async "archived by its row: it lies behind all others and reads as before, and its next message brings it back"(t) {
    const { page, model, visit } = t;
    await begin(t, "Old plan");
    await say(page, "held: the first");
    await streaming(page);
    const archive = page.getByRole("button", { name: "Archive Old plan" });
    assert.equal(await archive.count(), 0, "what works is not put away");
    model.release();
    await settled(page);
    await launchSession(page, "Other");
    await archive.focus();
    await page.keyboard.press("Enter");
    await page.locator(".toast").filter({ hasText: "“Old plan” is archived. Write in it to bring it back." }).waitFor();
    const lies = async () => {
      await row(page, "Old plan").and(page.locator("[data-mood=archived]")).waitFor();
      assert.equal(await row(page, "Old plan").locator(".session-status").textContent(), "archived");
      assert.equal((await names(page)).at(-1), "Old plan");
      assert.equal(await archive.count(), 0);
    };
    await lies();
    assert.equal(await row(page, "Old plan").getByTestId("open-session").evaluate((open) => open === document.activeElement), true);
    await page.reload();
    await lies();
    await choose(page, "Old plan");
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
    await lies();
    await useModel(visit, model);
    await page.getByTestId("start-agent").click();
    await running(page);
    await lies();
    await answered(page, "And now?");
    await row(page, "Old plan").and(page.locator("[data-mood=idle]")).waitFor();
    assert.equal(await page.getByTestId("user-message").count(), 2);
    await page.reload();
    await row(page, "Old plan").and(page.locator("[data-mood=idle]")).waitFor();
    await archive.waitFor();
  },

  async "hundreds: those in view are in the document, search finds the others, keys go through them"({ page, base }) {
    await open(page, base);
    await start(page);
    await workspace(page);
    await page.evaluate(async () => {
      const said = (role, text) => ({ role, parts: [{ type: "text", text }] });
      await ws.sessions.launch({ id: "deep", displayName: "Deep down", messages: [said("user", "And then?"), said("assistant", "The dragon slept.")] });
      for (let i = 0; i < 149; i += 1) await ws.sessions.launch({ id: `s${i}`, displayName: `Session number ${i}` });
    });
    await page.reload();
    await page.getByTestId("sessions-count").filter({ hasText: "151" }).waitFor();
    assert.ok((await page.getByTestId("session-row").count()) < 40);
    const first = page.getByTestId("open-session").first();
    await first.focus();
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.activeElement?.closest("[aria-posinset='151']"));
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.activeElement?.closest("[aria-posinset='1']"));
    assert.equal(await page.locator(".sessions-list button[tabindex='0'][data-stop]").count(), 1);
    await page.getByTestId("session-search").fill("number 77");
    await page.waitForFunction(() => document.querySelectorAll(".session-row").length === 1);
    await page.keyboard.press("Enter");
    await shows(page, "Session number 77");
    // What was said last counts too, also where nobody has looked yet.
    await page.getByTestId("session-search").fill("dragon");
    await row(page, "Deep down").waitFor();
    assert.deepEqual(await names(page), ["Deep down"]);
    await page.getByTestId("session-search").fill("");
    await page.keyboard.press("Alt+ArrowDown");
    await page.waitForFunction(() => !document.querySelector("[data-testid=conversation-name]").textContent.includes("number 77"));
  },

  "on a phone the list is a drawer, that a choice closes": {
    visitor: { width: 360, height: 740 },
    async run({ page, base }) {
      await open(page, base);
      await start(page);
      await page.getByTestId("open-sessions").click();
      await page.getByTestId("drawer").getByTestId("new-session").click();
      await page.getByTestId("session-name").fill("Pocket");
      await page.getByTestId("session-name").press("Enter");
      await page.getByTestId("drawer").waitFor({ state: "hidden" });
      await shows(page, "Pocket");
      await page.getByTestId("open-sessions").click();
      await page.keyboard.press("Escape");
      await page.getByTestId("drawer").waitFor({ state: "hidden" });
      assert.equal(await page.evaluate(() => document.activeElement?.dataset.testid), "open-sessions");
      await page.getByTestId("open-sessions").click();
      await row(page, "Main conversation").getByTestId("open-session").click();
      await page.getByTestId("drawer").waitFor({ state: "hidden" });
      await shows(page, "Conversation");
    },
  },
};

/** Waits until the reader is where they were, give or take a line that was laid out anew. */
function near(page, place) {
  return page.waitForFunction((place) => Math.abs(document.querySelector("[role=log]").scrollTop - place) < 60, place);
}
