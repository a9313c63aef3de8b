// What a model writes stays text, whatever it writes. (That no policy was violated and no other host asked is checked
// after every test.)
import assert from "node:assert/strict";
import { open, say, settled, start, useModel } from "./browser.mjs";

export const tests = {
  async "the page is served under the policy it promises"({ page, base, wrongs }) {
    const response = await page.goto(base);
    const policy = response.headers()["content-security-policy"] ?? "";
    for (const part of ["script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "require-trusted-types-for 'script'", "object-src 'none'", "base-uri 'none'"]) assert.ok(policy.includes(part), part);
    // The policy is in force: a string is no HTML here.
    const refused = await page.evaluate(() => {
      try {
        document.createElement("div").innerHTML = "<b>x</b>";
        return false;
      } catch {
        return true;
      }
    });
    assert.equal(refused, true);
    await page.getByTestId("composer").waitFor();
    // What was provoked is no wrong.
    await page.waitForFunction(() => window.violations.length > 0);
    await page.evaluate(() => (window.violations.length = 0));
    wrongs.length = 0;
  },

  async "scripts, handlers, foreign pictures and odd links come to nothing"({ page, base, model, visit }) {
    await open(page, base);
    await useModel(visit, model);
    await start(page);
    await say(page, "everything markdown");
    const answer = page.getByTestId("assistant-message");
    await answer.filter({ hasText: "The end." }).waitFor();
    await settled(page);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await answer.locator("img, script, iframe, style, [onerror], [style]").count(), 0);
    const links = await answer.locator("a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    assert.ok(links.every((href) => href === null || /^(https?:|mailto:|#\/)/.test(href)), links.join());
    await answer.getByText("Image not loaded: secret").waitFor();
    for (const link of await answer.locator("a[target=_blank]").all()) assert.match((await link.getAttribute("rel")) ?? "", /noopener/);
  },

  async "the same holds for pages"({ page, base }) {
    await open(page, base);
    await start(page);
    await page.getByRole("treeitem", { name: "Chapter 1" }).click();
    await page.getByTestId("edit-page").click();
    await page.getByTestId("page-editor").fill(`<img src=x onerror="window.hacked=1"> ![x](https://example.org/x.png) [j](javascript:window.hacked=2)\n\n<details><summary>more</summary>inside</details>`);
    await page.getByTestId("save-page").click();
    await page.locator(".page-text").getByText("Image not loaded: x").waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator(".page-text img").count(), 0);
  },

  async "what stands between raw tags of code reaches the page as text"({ page, base }) {
    await open(page, base);
    await start(page);
    const text = page.locator(".page-text");
    // Of a tag that does not end no rule of Markdown knows, but a browser's parser does.
    await writePage(page, "<code>one <svg/onload=window.hacked=1// two</code> and <kbd>a < b & c &copy; d</kbd> end");
    await text.getByText("end").waitFor();
    assert.equal(await text.locator("code").textContent(), "one <svg/onload=window.hacked=1// two");
    assert.equal(await text.locator("kbd").textContent(), "a < b & c © d");
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  },

  async "what is nested deeper than anybody writes stays text"({ page, base }) {
    await open(page, base);
    await start(page);
    const text = page.locator(".page-text");
    // A page draws this much at once.
    for (const [deep, tag] of [[">".repeat(20_000), "blockquote"], ["> ".repeat(9_000), "blockquote"], ["1. ".repeat(6_000), "ol"], ["- ".repeat(9_000) + "x", "ul"], ["*a **b ".repeat(100) + "c** d*".repeat(100), "em"]]) {
      await writePage(page, `begun\n\n${deep}\n\nended`);
      await text.getByText("ended", { exact: true }).waitFor();
      await text.getByText("begun", { exact: true }).waitFor();
      const depth = await text.locator(tag).count();
      assert.ok(depth > 5 && depth <= 32, `${tag} ${depth}`);
      // What is deeper is there, as it was written.
      assert.ok(((await text.textContent()) ?? "").length > deep.replaceAll(/\s/g, "").length / 3, tag);
    }
  },

  async "a block with more marks than anybody writes stays text"({ page, base }) {
    await open(page, base);
    await start(page);
    const text = page.locator(".page-text");
    // What is text was not looked through: the lexer would find emphasis in each of the first three.
    for (const many of ["*a_".repeat(5_400), "*a* ".repeat(4_000), `${"**a_b~~".repeat(2_200)} *c*`, "![".repeat(8_000), `${"![".repeat(2_500)}${"](b)".repeat(2_500)}`]) {
      await writePage(page, `begun *well*\n\n${many}\n\n${"- " + many}\n\n*ended*`);
      await text.getByText("ended", { exact: true }).waitFor();
      await text.getByText("begun", { exact: false }).first().waitFor();
      assert.deepEqual(await text.locator("em, strong, del").allTextContents(), ["well", "ended"], many.slice(0, 8));
      assert.equal(await text.locator("a, .blocked-image").count(), 0, many.slice(0, 8));
      assert.equal(((await text.textContent()) ?? "").split(many.trim()).length, 3, "it is there as it was written");
    }
    // What anybody writes is none of that.
    await writePage(page, `begun\n\n${"Some *words* of **prose** with `code`. ".repeat(50)}\n\nended`);
    await text.getByText("ended", { exact: true }).waitFor();
    assert.equal(await text.locator("em").count(), 50);
  },

  async "comments are left out, and one that does not end is shown"({ page, base }) {
    await open(page, base);
    await start(page);
    const text = page.locator(".page-text");
    await writePage(page, "a <b>b</b> <!-- hidden --> c\n\n<!-- one --><!-- two -->seen\n\nended");
    await text.getByText("ended", { exact: true }).waitFor();
    assert.equal(/hidden|one|two/.test((await text.textContent()) ?? ""), false);
    await writePage(page, "<!--".repeat(8_000));
    await text.getByText("<!--").first().waitFor();
    assert.equal(((await text.textContent()) ?? "").trim(), "<!--".repeat(8_000));
  },
};

/** Writes one page anew, and waits until it is shown. */
async function writePage(page, words) {
  if (!(await page.getByTestId("edit-page").isVisible())) await page.getByRole("treeitem", { name: "Chapter 1" }).click();
  await page.getByTestId("edit-page").click();
  await page.getByTestId("page-editor").fill(words);
  await page.getByTestId("save-page").click();
}
