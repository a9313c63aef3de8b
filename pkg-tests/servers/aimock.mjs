// `@copilotkit/aimock` with answers in a row: an independent model server that knows every wire by itself.
import { LLMock } from "@copilotkit/aimock";

/**
 * A server that gives these turns one after the other: a text, `{ tool, args, text? }`, a list of such calls, or an error
 * as aimock has it. `slow`: `{ ttft, tps }`, its time to the first token in ms and its tokens a second. `cut`: after how
 * many chunks of a text the connection is cut.
 */
export async function aimock(turns, { slow, cut } = {}) {
  const mock = new LLMock({ port: 0, logLevel: "silent", chunkSize: 6 });
  let next = 0;
  mock.on({ predicate: () => true }, () => {
    const turn = turns[Math.min(next++, turns.length - 1)];
    if (typeof turn === "string") return { content: turn };
    if (turn.error) return turn;
    const toolCalls = [].concat(turn).map(({ tool, args }) => ({ name: tool, arguments: JSON.stringify(args ?? {}) }));
    return { toolCalls, ...(turn.text && { content: turn.text }) };
  }, { ...(slow && { streamingProfile: slow }), ...(cut && { truncateAfterChunks: cut }) });
  await mock.start();
  return { base: mock.url, get requests() { return mock.getRequests().filter((r) => r.method === "POST"); }, close: () => mock.stop() };
}
