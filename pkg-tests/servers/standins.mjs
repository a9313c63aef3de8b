// Who answers where the pages of the documents ask: model APIs, a proxy, an MCP server, and the package on another origin.
//
// Each has the address that the pages name, so nothing leaves this machine. A model says its name. Its server refuses what its
// wire refuses (`wires/`), and each key that is not its provider's or that ends in `-old`.
import path from "node:path";
import { mcp } from "./mcp.mjs";
import { chat } from "./wires/chat.mjs";
import { WIRES } from "./wires/index.mjs";
import { parse } from "./wires/words.mjs";

const wireOf = (name) => WIRES.find((row) => row.name === name).wire;
/** Where each model API is, how it speaks, how its keys begin, and which models it lists. */
const APIS = [
  { at: "https://api.anthropic.com", wire: wireOf("anthropic"), keys: "sk-ant-", models: ["claude-sonnet-4-6"] },
  { at: "https://api.openai.com/v1", wire: wireOf("openai"), keys: "sk-", models: ["gpt-5.4", "gpt-5.4-mini"] },
  { at: "https://api.groq.com/openai/v1", wire: chat({ ids: /^[a-zA-Z0-9_-]{1,40}$/ }), keys: "gsk_", models: ["openai/gpt-oss-120b"] },
];
/** What a model says that may search the web. */
const FOUND = [{ searched: "opening hours", found: { url: "https://shop.example/hours", title: "Opening hours", cited: "open till six" }, says: "They are open till six." }];
const CORS = { "access-control-allow-origin": "*" };

/** What this API says to a request. */
function answer({ wire, keys, models }, record) {
  const { "x-api-key": own, authorization } = record.headers;
  const key = own ?? authorization?.replace(/^Bearer /, "") ?? "";
  const said = (status, body, type = "application/json") => ({ status, body, headers: { ...CORS, "content-type": type } });
  if (!key.startsWith(keys) || key.endsWith("-old")) return said(...wire.failures.auth);
  if (record.path.endsWith("/models")) return said(200, JSON.stringify({ object: "list", data: models.map((id) => ({ id })) }));
  const faults = wire.check(record, []);
  if (faults.length) return said(400, wire.refusal(faults.join("; ")));
  const searches = record.json.tools?.some(({ name }) => name === "web_search");
  return said(200, wire.answer(searches ? FOUND : `Hello from ${record.json.model}.`).join(""), wire.type);
}

/** From here on they answer in the tabs of this test. */
export async function standIns(t) {
  const context = await t.context();
  const { pkg, site } = t.env;
  const asked = async (route) => {
    const request = route.request();
    const text = request.postData() ?? "";
    return { path: new URL(request.url()).pathname, headers: await request.allHeaders(), text, json: parse(text) };
  };
  for (const api of APIS) await context.route(({ href }) => href.startsWith(`${api.at}/`), async (route) => route.fulfill(answer(api, await asked(route))));
  // The proxy has the key that its visitors have not.
  await context.route(`${site.url}/llm/**`, async (route) => {
    const record = await asked(route);
    const api = APIS.find(({ wire }) => record.path.endsWith(wire.path));
    if (!api) return route.fulfill({ status: 404 });
    record.headers.authorization = `Bearer ${api.keys}of-the-proxy`;
    await route.fulfill(answer(api, record));
  });
  const tokens = ["sk-ant-old", "sk-ant-new"];
  await context.route(`${site.url}/token`, (route) => route.fulfill({ body: tokens.length > 1 ? tokens.shift() : tokens[0] }));
  let server;
  await context.route("https://example.com/mcp", async (route) => {
    const { url } = await (server ??= mcp(t));
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  await context.route("https://cdn.example.com/lodger/**", (route) => route.fulfill({ path: path.join(pkg.dir, new URL(route.request().url()).pathname.slice("/lodger/".length)), headers: CORS }));
}
