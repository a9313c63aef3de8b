// `@copilotkit/aimock` with answers in a row: an independent model server that knows the Messages API by itself.
import { LLMock } from "@copilotkit/aimock";

/**
 * A server that gives these turns one after the other: a text, or `{ tool, args, text? }`, or a list of such calls.
 * `slow`: `{ ttft, tps }`, its time to the first token in ms and its tokens a second.
 */
export async function aimock(turns, { slow } = {}) {
  const mock = new LLMock({ port: 0, logLevel: "silent", chunkSize: 6 });
  let next = 0;
  mock.on({ predicate: () => true }, () => {
    const turn = turns[Math.min(next++, turns.length - 1)];
    if (typeof turn === "string") return { content: turn };
    const toolCalls = [].concat(turn).map(({ tool, args }) => ({ name: tool, arguments: JSON.stringify(args ?? {}) }));
    return { toolCalls, ...(turn.text && { content: turn.text }) };
  }, slow && { streamingProfile: slow });
  await mock.start();
  return { base: mock.url, get requests() { return mock.getRequests().filter((r) => r.path.includes("/v1/messages")); }, close: () => mock.stop() };
}
