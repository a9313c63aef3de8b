// A conversation as one HTML file.
import { test } from "node:test";
import assert from "node:assert/strict";
import { html } from "../client/html.js";

test("the file shows where the conversation was made shorter for the model, and nothing in it is a tag", async () => {
  const answer = (compactions) => ({ id: "a", role: "assistant", status: "complete", createdAt: 0, parts: [{ type: "text", text: "Yes." }], compactions });
  const of = async (compactions) => (await html({ session: { id: "s" }, messages: [answer(compactions)] }, undefined, undefined)).text();
  const marked = await of([
    { at: 1, kind: "results", reason: "window", until: "m" },
    { at: 2, kind: "summary", reason: "asked", until: "m", summary: "Ann wants <b>blue</b>." },
  ]);
  assert.match(marked, /old results of tools/);
  assert.match(marked, /<details><summary>[^<]*summary[^<]*<\/summary><div[^>]*>Ann wants &#60;b&#62;blue&#60;\/b&#62;\.<\/div>/);
  assert.ok(marked.indexOf("old results of tools") < marked.indexOf("Ann wants"), "in their order");
  assert.ok(marked.indexOf("Ann wants") < marked.indexOf("Yes."), "they stand first, as in the view");
  const plain = await of(undefined);
  assert.doesNotMatch(plain, /<summary>|old results/);
});
