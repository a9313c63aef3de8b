// The pictures of the README: node tests/screenshots.mjs --base http://127.0.0.1:4173
// (empty, streaming, tool card, a question, tools, sessions with a journal, dark, narrow), into screenshots/.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, open, save, say, settled, start, visitor } from "./browser.mjs";
import { entry } from "./journal.mjs";
import { rule } from "./permission.mjs";
import { launchSession } from "./sessions.mjs";

const at = process.argv.indexOf("--base");
const base = at < 0 ? process.env.LODGER_DEMO_URL : process.argv[at + 1];
if (!base) {
  console.error("usage: node tests/screenshots.mjs --base http://127.0.0.1:PORT");
  process.exit(2);
}
const folder = fileURLToPath(new URL("../screenshots/", import.meta.url));
mkdirSync(folder, { recursive: true });

const answered = async ({ page }) => {
  await start(page);
  await say(page, "What pages mention dragons?");
  await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
  await settled(page);
};
const chapters = async ({ page }) => {
  await start(page);
  await say(page, "Read the content of all three chapter pages and summarize them together.");
  await page.getByTestId("assistant-message").filter({ hasText: "Chapter 3" }).waitFor();
  await settled(page);
};

/** Some sessions, each with its own story. */
const sessions = async ({ page }) => {
  await start(page);
  await launchSession(page, "Old chapters");
  await say(page, "Read the content of all three chapter pages and summarize them together.");
  await page.getByTestId("assistant-message").filter({ hasText: "Chapter 3" }).waitFor();
  await settled(page);
  await say(page, "exit");
  await page.getByTestId("session-still").waitFor();
  await launchSession(page, "Tidying up");
  await say(page, 'Delete the page "Chapter 1".');
  await page.getByTestId("permission-card").waitFor();
  await launchSession(page, "Dragons");
  await say(page, "What pages mention dragons?");
  await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
  await settled(page);
};
const journal = async (t) => {
  await sessions(t);
  await t.page.locator("[data-action=show-journal]").locator("visible=true").click();
  await entry(t.page, "tool done").click();
  await t.page.getByTestId("entry-details").waitFor();
};

const PICTURES = {
  empty: { async reach() {} },
  streaming: {
    async reach({ page }) {
      await start(page);
      // Slow enough to be caught in the middle: a page that stands still shows no streaming.
      await page.getByTestId("open-settings").click();
      await page.getByLabel("Pause between words").fill("150");
      await save(page);
      await say(page, "Read the content of all three chapter pages and summarize them together.");
      await page.locator(".is-open").filter({ hasText: "lighthouse" }).waitFor();
    },
  },
  "tool-card": {
    async reach(t) {
      await answered(t);
      await t.page.locator("[data-testid=tool-card] > summary").first().click();
      await t.page.getByRole("log").evaluate((log) => (log.scrollTop = 0));
    },
  },
  permission: {
    async reach({ page }) {
      await start(page);
      await rule(page, "update_page_content", "ask");
      await page.getByTestId("open-tools").click();
      await say(page, 'Change the text of the page "Dragon Lore" to "Dragons breathe fire and hoard treasure. They are patient."');
      await page.locator("[data-testid=permission-card] .diff").waitFor();
      await page.locator("[data-testid=permission-deny][aria-disabled=false]").waitFor();
    },
  },
  tools: {
    async reach({ page }) {
      await start(page);
      await rule(page, "create_page", "ask");
      const tool = page.locator("[data-tool=search_pages]");
      await tool.locator("summary").first().click();
      await tool.getByLabel("query").fill("dragon");
      await tool.getByTestId("run-tool").click();
      await tool.getByTestId("tool-result").waitFor();
    },
  },
  sessions: { reach: journal },
  "sessions-dark": { colorScheme: "dark", reach: journal },
  "sessions-narrow": {
    width: 390,
    height: 800,
    async reach(t) {
      const { page } = t;
      await start(page);
      for (const name of ["Old chapters", "Dragons"]) {
        await page.getByTestId("open-sessions").click();
        await launchSession(page, name);
        await page.getByTestId("drawer").waitFor({ state: "hidden" });
        await say(page, "What pages mention dragons?");
        await page.getByTestId("assistant-message").filter({ hasText: "Dragon Lore" }).waitFor();
        await settled(page);
      }
      await page.getByTestId("open-sessions").click();
    },
  },
  dark: { colorScheme: "dark", reach: chapters },
  narrow: { width: 390, height: 800, reach: chapters },
};

const only = process.argv[process.argv.indexOf("--only") + 1] ?? "";
const browser = await launch();
for (const [name, { reach, ...options }] of Object.entries(PICTURES)) {
  if (process.argv.includes("--only") && !name.includes(only)) continue;
  const visit = await visitor(browser, base, { width: 1280, height: 800, ...options, deviceScaleFactor: 1 });
  await open(visit.page, base);
  await reach(visit);
  await visit.page.mouse.move(0, 0);
  await visit.page.screenshot({ path: `${folder}${name}.png`, animations: "disabled" });
  console.log(`screenshots/${name}.png`);
  await visit.context.close();
}
await browser.close();
