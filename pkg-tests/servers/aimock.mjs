// `@copilotkit/aimock` with answers in a row: an independent model server that knows every wire by itself.
import { createServer } from "@copilotkit/aimock";

/**
 * A server that gives these turns one after the other: a text, `{ tool, args, text? }`, a list of such calls, or an error
 * as aimock has it. `slow`: `{ ttft, tps }`, its time to the first token in ms and its tokens a second.
 */
export async function aimock(turns, { slow } = {}) {
  let next = 0;
  const response = () => {
    const turn = turns[Math.min(next++, turns.length - 1)];
    if (typeof turn === "string") return { content: turn };
    if (turn.error) return turn;
    const toolCalls = [].concat(turn).map(({ tool, args }) => ({ name: tool, arguments: JSON.stringify(args ?? {}) }));
    return { toolCalls, ...(turn.text && { content: turn.text }) };
  };
  const { server, url, journal } = await createServer([{ match: { predicate: () => true }, response, ...(slow && { streamingProfile: slow }) }], { port: 0, logLevel: "silent", chunkSize: 6 });
  return {
    base: url,
    get requests() { return journal.getAll().filter((r) => r.method === "POST"); },
    /** Cuts each connection where its stream stands. */
    cut() { server.closeAllConnections(); },
    async close() { server.closeAllConnections(); await new Promise((done) => server.close(done)); },
  };
}
