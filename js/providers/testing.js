// `lodger/testing`: a model that says what a test tells it to.

const chunk = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });

export function scriptedModel(turns) {
  const requests = [];
  const provider = {
    kind: "custom",
    model: "scripted",
    async *stream(request) {
      const n = requests.push(request);
      const turn = turns[n - 1];
      if (turn === undefined) {
        throw new Error(`scriptedModel was asked ${n} times and has ${turns.length} turns: add a turn, or look in requests for why it was asked again`);
      }
      if (typeof turn === "string") {
        // In words, so that a page that only works with whole texts is found out.
        for (const content of turn.match(/\S+\s*|\s+/g) ?? []) yield chunk({ content });
        yield chunk({}, "stop");
        return;
      }
      if (typeof turn?.tool !== "string") {
        throw new Error(`scriptedModel: turn ${n} must be a text or { tool, args? }`);
      }
      const call = { index: 0, id: `scripted_${n}`, type: "function", function: { name: turn.tool, arguments: JSON.stringify(turn.args ?? {}) } };
      yield chunk({ tool_calls: [call] });
      yield chunk({}, "tool_calls");
    },
  };
  // Not a setting: what is copied or sent as configuration leaves it out.
  return Object.defineProperty(provider, "requests", { value: requests });
}
