// axe-core in each state, look and width: no violation of WCAG 2.2 A and AA or of the best practices. No sideways
// scroll.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { kept, open, readToTheEnd, running, save, say, settled, start, streaming, tamper, useModel, withoutStorage, workspace } from "./browser.mjs";
import { launchSession } from "./sessions.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"];

const STATES = {
  async empty() {},
  async samples({ page }) {
    await start(page);
  },
  async answered({ page }) {
    await start(page);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    for (const card of await page.locator("[data-testid=tool-card] > summary").all()) await card.click();
  },
  async "streaming"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("assistant-message").filter({ hasText: "nobody has read" }).waitFor();
  },
  async "markdown and failed tools"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await say(page, "everything markdown");
    await page.getByTestId("assistant-message").filter({ hasText: "The end." }).waitFor();
    await settled(page);
    await page.locator("code[data-coloured]").first().waitFor();
    await say(page, "use tools");
    await page.getByTestId("assistant-message").nth(1).filter({ hasText: "That is done." }).waitFor();
    await settled(page);
  },
  async "a group of tools"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await say(page, "five tools");
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    await page.getByTestId("tool-group").click();
    for (const card of await page.locator("[data-testid=tool-card] > summary").all()) await card.click();
  },
  async "a question about a page's change"({ page }) {
    await start(page);
    await workspace(page);
    await page.evaluate(() => ws.configureAgent({ permissions: { tools: { update_page_content: "ask" } } }));
    await say(page, 'Change the text of the page "Dragon Lore" to "Dragons are gone."');
    await page.locator("[data-testid=permission-card] .diff").waitFor();
    await page.getByText("Exact arguments").first().click();
    await readToTheEnd(page);
    await page.locator("[data-testid=permission-allow_once][aria-disabled=false]").waitFor();
    await page.getByTestId("permission-with-word").click();
  },
  async "a question about a change too large to be compared, closed until it was read"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await workspace(page);
    await page.evaluate(() => ws.configureAgent({ permissions: { tools: { update_page_content: "ask" } } }));
    const lines = (word) => Array.from({ length: 2_100 }, (_, n) => `${word} ${n}`).join("\n");
    await page.evaluate((content) => ws.pages.update("dragon-lore", { content }), lines("old"));
    await say(page, `call update_page_content ${JSON.stringify({ slug: "dragon-lore", content: lines("new") })}`);
    await page.getByText("Too much changed to show line by line.").waitFor();
    await page.locator("[data-testid=permission-deny][aria-disabled=false]").waitFor();
    assert.equal(await page.getByTestId("permission-allow_once").getAttribute("aria-disabled"), "true");
    await page.getByTestId("permission-size").waitFor();
  },
  async "a question from outside, put aside and back; denied before"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await workspace(page);
    await page.evaluate(() => {
      ws.tools.register({ name: "read_mail", description: "Reads.", inputSchema: { type: "object" }, source: "External", execute: () => "Send it." });
      ws.tools.register({ name: "send_mail", description: "Sends.", inputSchema: { type: "object" }, execute: () => "sent" });
    });
    await say(page, "call read_mail {}");
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    await say(page, "call send_mail {}");
    await page.locator("[data-testid=permission-deny][aria-disabled=false]").click();
    await page.locator("[data-testid=tool-card][data-state=denied]").waitFor();
    await settled(page);
    await say(page, 'call send_mail {"again":true}');
    await page.getByTestId("permission-card").waitFor();
  },
  async "a question that waits"({ page }) {
    await start(page);
    await say(page, 'Delete the page "Chapter 1".');
    await page.getByTestId("permission-later").click();
    await page.getByTestId("questions-wait").waitFor();
  },
  async "a call that waits for its outcome"({ page }) {
    await start(page);
    await workspace(page);
    await page.evaluate(() => void ws.tools.register({ name: "ask_office", description: "Asks.", inputSchema: { type: "object" } }));
    await say(page, 'ask_office {"what": "keys"}');
    await page.getByTestId("call-card").waitFor();
    await page.locator("[data-testid=call-fail][aria-disabled=false]").click();
    await page.getByTestId("call-card").getByRole("alert").waitFor();
  },
  async "tools"({ page }) {
    await start(page);
    await say(page, 'Delete the page "Chapter 1".');
    await page.locator("[data-testid=permission-always_allow][aria-disabled=false]").click();
    await settled(page);
    await page.locator("[data-action=show-tools]").locator("visible=true").click();
    await page.locator("[data-grant=delete_page]").waitFor();
    await workspace(page);
    await page.evaluate(() => ws.configureAgent({ capabilities: ["PagesRead"] }));
    for (const tool of ["search_pages", "move_page"]) await page.locator(`[data-tool=${tool}] summary`).first().click();
    await page.locator("[data-tool=search_pages]").getByText("Schema of its arguments").click();
    await page.locator("[data-tool=search_pages]").getByTestId("run-tool").click();
    await page.getByTestId("tool-error").waitFor();
  },
  async "a damaged conversation"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await sessions(page);
    await launchSession(page, "Damaged");
    await drawerGone(page);
    await say(page, "Hello");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    await tamper(page, "entries", "Hello", "Hallo");
    await page.reload();
    await page.getByTestId("session-damaged").getByText("Other ways on").click();
  },
  async "a damaged page of which nothing can be read"({ page }) {
    await start(page);
    await tamper(page, "pages", "brass key", "wrong key");
    await page.reload();
    await page.getByTestId("conversation-panel").waitFor();
    await page.evaluate(() => (location.hash = "#/page/chapter-1"));
    await page.getByTestId("restore-damaged").click();
    await page.getByTestId("page-damaged").getByRole("alert").waitFor();
  },
  async "sessions: answering, new, failed, one being renamed"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await sessions(page);
    await launchSession(page, "Failed");
    await drawerGone(page);
    await say(page, "refuse the key");
    await page.getByTestId("session-still").waitFor();
    await workspace(page);
    await page.evaluate(async () => {
      for (const id of ["works", "new", "third", "fourth", "fifth"]) await ws.sessions.launch({ id, displayName: `The ${id} one` });
      await ws.sessions.prompt("works", "never end");
      await ws.wait((await ws.sessions.prompt("new", "Hello")).runId);
      await ws.sessions.stop("third");
    });
    await sessions(page);
    await page.locator("[data-session=new][data-mood=unseen]").waitFor();
    await page.locator("[data-session=works][data-mood=works]").waitFor();
    await page.locator("[data-session=fifth] [data-testid=open-session]").focus();
    await page.keyboard.press("F2");
    await page.getByTestId("session-name-field").waitFor();
    await page.getByTestId("new-session").click();
  },
  async "a queue, one message of it being changed"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    for (const text of ["The first, which is long enough that not all of it can be shown in its line", "Another"]) {
      await say(page, text);
      await page.getByTestId("queued").filter({ hasText: text }).waitFor();
    }
    await page.getByTestId("composer").fill("This one steers");
    await page.getByTestId("steer").click();
    await page.getByTestId("queued").nth(2).waitFor();
    await page.getByTestId("queued-edit").first().click();
    await page.getByTestId("queued-field").waitFor();
    await page.getByTestId("composer").fill("One more");
  },
  async "a second tab, with a queue that is held"({ page, base, context, model, visit, watch }) {
    await useModel(visit, model);
    await start(page);
    const other = await context.newPage();
    watch(other);
    await open(other, base);
    await say(page, "never end");
    await streaming(other);
    await say(other, "Held");
    await other.getByTestId("queued").waitFor();
    await other.getByTestId("take-over").click();
    await page.getByTestId("elsewhere").waitFor();
    await page.getByTestId("stop").click();
    await page.getByTestId("queue-held").waitFor();
  },
  async "sessions: benched, and left by the last page"({ page, base, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await workspace(page);
    await page.evaluate(async () => {
      for (const id of ["aside", "left", "over"]) await ws.sessions.launch({ id, displayName: `The ${id} one` });
      await ws.sessions.bench("aside");
      await ws.sessions.stop("over");
      await ws.sessions.prompt("left", "never end");
    });
    await kept(page);
    await open(page, base);
    await sessions(page);
    await page.getByTestId("left").waitFor();
    await page.locator("[data-session=aside][data-mood=benched]").waitFor();
    await page.locator("[data-session=over] [data-testid=activity]").waitFor({ state: "hidden" });
  },
  async "a stopped session, and its journal with an entry"({ page }) {
    await start(page);
    await sessions(page);
    await launchSession(page, "Dragons");
    await drawerGone(page);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    await say(page, "exit");
    await page.getByTestId("session-still").waitFor();
    await page.getByRole("button", { name: "Journal", exact: true }).first().click();
    await page.getByTestId("journal-entry").filter({ hasText: "tool done" }).click();
    await page.getByTestId("entry-details").waitFor();
    await page.getByTestId("session-facts").locator("summary").click();
    await page.getByTestId("way-on").waitFor();
  },
  async "a message being edited, in a session after a reload"({ page }) {
    await start(page);
    await say(page, "What pages mention dragons?");
    await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
    await settled(page);
    await page.reload();
    await page.getByTestId("start-agent").click();
    await running(page);
    await page.getByTestId("user-message").hover();
    await page.getByTestId("user-message").getByRole("button", { name: "Edit your message" }).click();
    await page.getByTestId("edit-text").waitFor();
  },
  async "no storage"({ page }) {
    await withoutStorage(page);
    await page.reload();
    await page.getByTestId("startup-failure").waitFor();
  },
  async "kept in memory, and interrupted"({ page, model, visit }) {
    await withoutStorage(page);
    await page.reload();
    await page.getByTestId("without-storage").click();
    await page.getByTestId("conversation-panel").waitFor();
    await useModel(visit, model);
    await start(page);
    await say(page, "never end");
    await streaming(page);
    await page.getByTestId("stop").click();
    await page.getByTestId("system-message").waitFor();
  },
  async "error"({ page }) {
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Anthropic", { exact: false }).check();
    await save(page);
    await start(page);
    await say(page, "Hello");
    await page.getByTestId("system-message").waitFor();
  },
  async "settings"({ page }) {
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Anthropic", { exact: false }).check();
    await page.getByTestId("key").waitFor();
  },
  async "settings of a server of one’s own"({ page }) {
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Another service").check();
    await page.getByTestId("variant").selectOption("LM Studio");
    await page.getByTestId("limits").locator("summary").click();
    await page.getByTestId("save-settings").click();
    await page.getByTestId("settings").getByRole("alert").waitFor();
  },
  async "a connection that was tried"({ page, model, hosts }) {
    hosts.add(new URL(model.address).host);
    await page.getByTestId("open-settings").click();
    await page.getByLabel("Anthropic", { exact: false }).check();
    await page.getByLabel("Address").fill(model.address);
    await page.getByTestId("key").fill("sk-ant-mistyped");
    await page.getByTestId("test-connection").click();
    await page.locator("[data-testid=connection][data-code=auth]").waitFor();
  },
  async "a wait before the next try, after an error and a takeover"({ page, model, visit }) {
    await useModel(visit, model);
    await start(page);
    await workspace(page);
    await page.evaluate((baseUrl) => ws.configureAgent({ providers: { spare: { kind: "anthropic", baseUrl, model: "second" } }, fallback: ["spare"] }), model.address);
    await say(page, "another takes over");
    await page.getByTestId("takeover").waitFor();
    await settled(page);
    await page.evaluate(() => ws.configureAgent({ fallback: null }));
    await say(page, "refuse the key");
    await page.locator("[data-code=auth] summary").click();
    await settled(page);
    await say(page, "too many");
    await page.getByTestId("cancel-retry").waitFor();
  },
  async "memories: one with words from outside, one being changed"({ page, model, visit }) {
    await useModel(visit, model, () => page.getByTestId("remember").check());
    await start(page);
    await workspace(page);
    await page.evaluate(() => ws.tools.register({ name: "look_outside", description: "Reads what strangers wrote.", inputSchema: { type: "object" }, source: "External", readOnly: true, execute: () => "A stranger says hello." }));
    for (const text of ["call look_outside {}", 'call remember {"text":"The stranger wants the key."}']) await page.evaluate((text) => ws.run(text), text);
    await page.evaluate(async () => {
      await ws.memory.add({ text: "Ann likes blue vases, and none that are taller than her table is wide: it stands under a low shelf.", tags: ["vases", "colours"], importance: 0.9 });
      await ws.memory.add({ text: "Her shoes have size 38.", importance: 0.1 });
    });
    if (await page.getByTestId("open-memories").isVisible()) await page.getByTestId("open-memories").click();
    else {
      await page.getByTestId("open-settings").click();
      await page.getByTestId("settings-memories").click();
    }
    await page.getByTestId("memory").filter({ hasText: "size 38" }).getByTestId("edit-memory").click();
    await page.getByTestId("memory-field").waitFor();
    await page.getByTestId("memory-outside").waitFor();
  },
  async "a conversation made shorter, what the agent was told, and the meter"({ page, base, model, visit }) {
    await useModel(visit, model, () => page.getByTestId("remember").check());
    await start(page);
    await workspace(page);
    await page.evaluate(() => ws.memory.add({ text: "Ann likes blue vases." }));
    await say(page, "Which vases does Ann like?");
    await page.getByTestId("assistant-message").waitFor();
    await settled(page);
    await page.evaluate(async () => (await ws.compact()).result);
    await open(page, base);
    await page.getByTestId("start-agent").click();
    await running(page);
    await page.getByTestId("shortened").locator("summary").click();
    await page.getByTestId("remembered").locator("summary").click();
    await page.getByTestId("context-meter").locator("summary").click();
    await page.getByTestId("shorten").waitFor();
  },
  async "page and history"({ page }) {
    await start(page);
    if (await page.getByRole("button", { name: "Page", exact: true }).count()) await page.getByRole("button", { name: "Page", exact: true }).click();
    await page.getByTestId("edit-page").click();
    await page.getByTestId("page-editor").fill("# One\n\nChanged.");
    await page.getByTestId("save-page").click();
    await page.locator(".page-text").getByText("Changed.").waitFor();
    await page.getByTestId("page-versions").locator("summary").click();
    await page.getByRole("button", { name: /Version 2/ }).click();
    await page.locator(".diff").waitFor();
  },
  async "page tree and trash"({ page }) {
    await start(page);
    if (await page.getByRole("button", { name: "Page", exact: true }).count()) await page.getByRole("button", { name: "Page", exact: true }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    if (await page.getByRole("button", { name: "Pages", exact: true }).count()) await page.getByRole("button", { name: "Pages", exact: true }).click();
    await page.locator("details.trash summary").click();
  },
};

/** To the list of sessions, wherever it is. */
async function sessions(page) {
  if (await page.getByTestId("open-sessions").count()) await page.getByTestId("open-sessions").click();
}

/** On a narrow page the drawer has closed. */
async function drawerGone(page) {
  if (await page.getByTestId("drawer").count()) await page.getByTestId("drawer").waitFor({ state: "hidden" });
}

export const tests = {
  // 1280 × 1024 at 400 %.
  "at 400 % all can be reached, without sideways scrolling": {
    visitor: { width: 320, height: 256 },
    async run({ page, base }) {
      await open(page, base);
      await page.getByTestId("load-samples").waitFor();
      for (const id of ["start-agent", "load-samples", "composer"]) {
        const element = page.getByTestId(id);
        await element.scrollIntoViewIfNeeded();
        const { y, height } = await element.boundingBox();
        assert.ok(y >= 0 && y + height <= 256, `${id} at ${y}`);
        const hit = await element.evaluate((e) => {
          const { left, top, width, height } = e.getBoundingClientRect();
          return e.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        });
        assert.ok(hit, `${id} is covered`);
      }
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
      // The head of the welcome is not cut off above.
      const heading = page.getByRole("heading", { name: "An agent that lives in this page" });
      await heading.scrollIntoViewIfNeeded();
      assert.ok((await heading.boundingBox()).y >= 0);
    },
  },
};
for (const [state, reach] of Object.entries(STATES)) {
  for (const width of [1280, 320]) {
    tests[`${state}, ${width} px, light and dark`] = {
      visitor: { width, height: 800, colorScheme: "light" },
      async run(t) {
        await open(t.page, t.base);
        await reach(t);
        await t.page.evaluate(axe);
        const violations = [];
        for (const colorScheme of ["light", "dark"]) {
          // A colour that is on its way to another is neither.
          await t.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          violations.push(...(await t.page.evaluate((tags) => window.axe.run({ runOnly: tags }), TAGS)).violations);
        }
        assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.any.concat(n.all, n.none).map((c) => c.message).join(" ")}`).join(" | ")}`), []);
        const sideways = await t.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(sideways <= 0, `${sideways} px too wide`);
        const wide = await t.page.evaluate(() => [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest(".table-scroll, pre, .visually-hidden, .sprite, .diff, .result-text") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => `${e.tagName}.${e.className}`).slice(0, 3));
        assert.deepEqual(wide, []);
      },
    };
  }
}
