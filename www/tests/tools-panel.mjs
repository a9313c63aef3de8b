// The tools panel: what there is, who may use it, a form for each, and rules that count.
import assert from "node:assert/strict";
import { open, save, say, settled, start, useModel, workspace } from "./browser.mjs";
import { rule } from "./permission.mjs";

export const tests = {
  async "all twelve are listed, with capability, source and schema"({ page, base }) {
    await open(page, base);
    await panel(page);
    assert.equal(await page.getByTestId("tools-count").innerText(), "12");
    const tools = await page.locator("[data-tool]").evaluateAll((all) => all.map((tool) => tool.dataset.tool));
    assert.deepEqual([tools.length, tools[0], tools.at(-1)], [12, "search_pages", "delete_page"]);
    const tool = await opened(page, "delete_page");
    assert.match(await tool.locator(".tool-facts").innerText(), /Workspace[\s\S]*PagesDelete/);
    await tool.getByText("Schema of its arguments").click();
    assert.deepEqual(JSON.parse(await tool.locator(".exact-arguments").innerText()).required, ["slug"]);
  },

  async "one runs by hand, without an agent; bad arguments are told"({ page, base }) {
    await open(page, base);
    await page.getByTestId("load-samples").click();
    await page.locator("[role=treeitem][data-slug=large-page]").waitFor({ state: "attached" });
    await panel(page);
    const tool = await opened(page, "search_pages");
    await tool.getByLabel("query").fill("dragon");
    await tool.getByTestId("run-tool").click();
    await tool.getByTestId("tool-result").getByText("Dragon Lore").first().waitFor();
    for (const [limit, told] of [["99", /limit.*50/s], ["many", /limit/]]) {
      await tool.getByLabel("limit").fill(limit);
      await tool.getByTestId("run-tool").click();
      await tool.getByTestId("tool-error").filter({ hasText: told }).waitFor();
    }
    await tool.getByLabel("limit").fill("1");
    await tool.getByTestId("run-tool").click();
    await tool.getByTestId("tool-result").waitFor();
  },

  async "what changes a page by hand shows in the tree; what is asked about leads to its question"({ page, base }) {
    await open(page, base);
    await start(page);
    await panel(page);
    const create = await opened(page, "create_page");
    await create.getByLabel("title").fill("By hand");
    await create.getByTestId("run-tool").click();
    await page.locator("[role=treeitem][data-slug=by-hand]").waitFor();
    const remove = await opened(page, "delete_page");
    await remove.getByLabel("slug").fill("by-hand");
    await remove.getByTestId("run-tool").click();
    await remove.getByTestId("tool-asks").getByRole("button").click();
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-testid") === "permission-card");
    await page.locator("[data-testid=permission-allow_once][aria-disabled=false]").click();
    await remove.getByTestId("tool-result").waitFor();
    await page.locator("[role=treeitem][data-slug=by-hand]").waitFor({ state: "detached" });
  },

  async "a form from any schema: what is written arrives as it was meant"({ page, base }) {
    await open(page, base);
    await workspace(page);
    await page.evaluate(() => {
      const properties = { text: { type: "string" }, empty: { type: "string" }, count: { type: "integer" }, part: { type: "number" }, yes: { type: "boolean" }, colour: { enum: ["red", 3] }, list: { type: "array", items: { type: "string" } }, thing: { type: "object" }, place: { type: ["string", "null"] }, gone: { type: "string" } };
      ws.tools.register({ name: "take", description: "Takes.", inputSchema: { type: "object", properties, required: ["text", "empty", "place"] }, execute: (args) => void (window.taken = args) });
      ws.tools.register({ name: "take_any", description: "Takes.", inputSchema: { type: "object" }, execute: (args) => void (window.taken = args) });
    });
    await panel(page);
    assert.equal(await page.getByTestId("tools-count").innerText(), "14");
    const tool = await opened(page, "take");
    for (const [label, value] of [["text", "42"], ["count", "7"], ["part", "0.5"], ["list", '["a"]'], ["thing", '{"b": 1}']]) await tool.getByLabel(label).fill(value);
    await tool.getByLabel("yes").selectOption("false");
    await tool.getByLabel("colour").selectOption("3");
    await tool.getByTestId("run-tool").click();
    await tool.getByTestId("tool-result").waitFor();
    assert.deepEqual(await page.evaluate(() => window.taken), { text: "42", empty: "", count: 7, part: 0.5, yes: false, colour: 3, list: ["a"], thing: { b: 1 }, place: null });
    await tool.getByLabel("list").fill("a, b");
    await tool.getByTestId("run-tool").click();
    await tool.getByTestId("tool-error").filter({ hasText: "“list” is no JSON" }).waitFor();
    const any = await opened(page, "take_any");
    await any.getByLabel("Arguments, as JSON").fill('{"x": [1]}');
    await any.getByTestId("run-tool").click();
    await any.getByTestId("tool-result").waitFor();
    assert.deepEqual(await page.evaluate(() => window.taken), { x: [1] });
  },

  async "a rule counts at once, for the agent that runs, and is kept"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await rule(page, "search_pages", "deny");
    await say(page, 'call search_pages {"query":"dragon"}');
    await page.getByTestId("assistant-message").filter({ hasText: "That is done." }).waitFor();
    await settled(page);
    assert.match(await page.locator("[data-testid=tool-card][data-state=denied] .tool-line").innerText(), /not allowed here/);
    await page.locator("[data-tool=search_pages]").getByTestId("tool-rule").selectOption("ask");
    await say(page, 'call search_pages {"query":"rome"}');
    await page.getByTestId("permission-card").waitFor();
    await page.reload();
    await panel(page);
    assert.equal(await page.locator("[data-tool=search_pages]").getByTestId("tool-rule").inputValue(), "ask");
    await page.getByTestId("rules-later").waitFor();
  },

  async "a tool or an error whose name every object has is told like any other"({ page, base }) {
    await open(page, base);
    await start(page);
    await workspace(page);
    await page.evaluate(() => {
      ws.tools.register({ name: "constructor", description: "Does.", inputSchema: { type: "object" }, execute: () => "done" });
      Object.getPrototypeOf(ws).configureAgent = async () => {
        throw { code: "constructor", message: "it broke", retryable: false };
      };
    });
    await panel(page);
    const tool = page.locator("[data-tool=constructor]");
    await tool.getByTestId("tool-rule").selectOption("ask");
    assert.equal(await tool.getByRole("alert").innerText(), "Error: it broke.");
    assert.equal(await tool.getByTestId("tool-rule").inputValue(), "");
    assert.equal(await tool.getByTestId("tool-rule").evaluate((field) => field.selectedIndex), 0);
  },

  async "a Researcher has only what reads; what is not held is marked; both are kept"({ page, base }) {
    await open(page, base);
    await start(page);
    await settings(page, async (dialog) => dialog.getByTestId("process-type").selectOption("Researcher"));
    await panel(page);
    const states = () => page.locator("[data-tool]").evaluateAll((all) => all.filter((tool) => tool.dataset.available === "false").map((tool) => tool.dataset.tool));
    const writers = ["create_page", "update_page_content", "update_page_metadata", "move_page", "rename_page", "delete_page"];
    await page.locator("[data-tool=create_page][data-available=false]").waitFor();
    assert.deepEqual((await states()).sort(), [...writers].sort());
    const tool = await opened(page, "create_page");
    assert.match(await tool.innerText(), /\[UNAVAILABLE: a Researcher only reads\]/);
    await settings(page, async (dialog) => {
      await dialog.getByTestId("process-type").selectOption("");
      await dialog.getByLabel("PagesWrite").uncheck();
    });
    await tool.getByText("[UNAVAILABLE: Requires PagesWrite capability]").waitFor();
    assert.deepEqual((await states()).sort(), writers.filter((name) => !["move_page", "delete_page"].includes(name)).sort());
    await tool.getByLabel("title").fill("x");
    await tool.getByTestId("run-tool").click();
    await tool.getByTestId("tool-error").filter({ hasText: "requires the PagesWrite capability" }).waitFor();
    await say(page, 'Create a page titled "Test".');
    await page.getByTestId("assistant-message").filter({ hasText: "Requires PagesWrite capability" }).waitFor();
    await settled(page);

    await page.reload();
    await page.getByTestId("start-agent").click();
    await page.locator("[data-lifecycle=Running]").waitFor();
    await panel(page);
    await page.locator("[data-tool=create_page][data-available=false]").waitFor();
    await settings(page, async (dialog) => dialog.getByLabel("PagesWrite").check());
    await page.locator("[data-tool=create_page][data-available=true]").waitFor();
  },

  async "a page that is chosen takes the panel's place"({ page, base }) {
    await open(page, base);
    await start(page);
    await panel(page);
    await page.getByRole("treeitem", { name: "Dragon Lore" }).click();
    await page.getByTestId("page-title").filter({ hasText: "Dragon Lore" }).waitFor();
    assert.equal(await page.getByTestId("tools-panel").isVisible(), false);
  },
};

async function panel(page) {
  await page.getByTestId("open-tools").click();
  await page.getByTestId("tools-panel").waitFor();
}

/** A tool, unfolded. */
async function opened(page, name) {
  const tool = page.locator(`[data-tool=${name}]`);
  await tool.locator("summary").first().click();
  await tool.getByTestId("run-tool").waitFor();
  return tool;
}

async function settings(page, change) {
  await page.getByTestId("open-settings").click();
  const dialog = page.getByTestId("settings");
  await dialog.getByTestId("process-type").waitFor();
  await change(dialog);
  await save(page);
}
