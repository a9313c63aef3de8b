// @vitest-environment jsdom
// An app's own test of its page, in jsdom: events arrive at `document`, the view draws.
import { expect, test } from "vitest";
import { openWorkspace } from "lodger";
import { scriptedModel } from "lodger/testing";

test("a page in jsdom", async () => {
  document.body.innerHTML = "<ul></ul>";
  const ws = await openWorkspace("jsdom", { storage: "memory" });
  const seen = [];
  document.addEventListener("agent:session-completed", (event) => seen.push(event.detail.text));
  ws.view().subscribe((s) => document.querySelector("ul").replaceChildren(...s.messages.map((m) => Object.assign(document.createElement("li"), { textContent: m.parts[0]?.text ?? "" }))));
  await ws.startAgent({ provider: scriptedModel(["Hello from the model."]) });
  await ws.run("Hello");
  await Promise.resolve();
  expect(seen).toEqual(["Hello from the model."]);
  expect([...document.querySelectorAll("li")].map((li) => li.textContent)).toEqual(["Hello", "Hello from the model."]);
  await ws.close();
});
