// An MCP server by the official SDK, for pages of other origins: a tool that only reads and gives a picture, and one that says
// nothing of what it does.
import http from "node:http";
import { Readable } from "node:stream";

const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-expose-headers": "*" };
/** The smallest PNG there is. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/** Starts one. It ends with this test. `calls`: what its tools were asked; `versions`: of the protocol, by the clients. */
export async function mcp(t) {
  const [{ McpServer, createMcpHandler }, { z }] = await Promise.all([import("@modelcontextprotocol/server"), import("zod")]);
  const [calls, versions] = [[], new Set()];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "orders", version: "1.0.0" });
    server.registerTool("draw_chart", { description: "Draws a chart.", inputSchema: z.object({ of: z.string() }), annotations: { readOnlyHint: true, openWorldHint: false } }, async ({ of }) => {
      calls.push(`draw_chart ${of}`);
      return { content: [{ type: "text", text: `the ${of} of 2026` }, { type: "image", data: DOT, mimeType: "image/png" }] };
    });
    server.registerTool("cancel_order", { title: "Cancel the order", description: "Cancels an order.", inputSchema: z.object({ id: z.string() }) }, async ({ id }) => {
      calls.push(`cancel_order ${id}`);
      return { isError: id === "none", content: [{ type: "text", text: id === "none" ? "there is no such order" : `order ${id} is cancelled` }] };
    });
    return server;
  });
  const server = http.createServer(async (request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, CORS).end();
    if (request.headers["mcp-protocol-version"]) versions.add(request.headers["mcp-protocol-version"]);
    const body = request.method === "POST" ? Readable.toWeb(request) : undefined;
    const answer = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, { method: request.method, headers: request.headers, body, duplex: "half" }));
    response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...CORS });
    if (answer.body) Readable.fromWeb(answer.body).pipe(response);
    else response.end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(async () => { await handler.close(); server.closeAllConnections(); await new Promise((done) => server.close(done)); });
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, calls, versions };
}
