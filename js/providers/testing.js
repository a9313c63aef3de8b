// `lodger/testing`: a model that says what a test tells it to.
//
// Promises: what a script cannot mean is refused when the model is made. A delay ends with the run. Leaves to others: what a
// chunk means (`src/model/openai_chat.rs`), and what follows from an error (`src/run`).

const chunk = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });

/** What else the parts of a kind may have. */
const MORE = { tool: ["args"], error: ["message"] };

/** What each kind of part is told by, and what its value has to be. */
const PARTS = {
  thinking: (value) => typeof value === "string",
  tool: (value) => typeof value === "string",
  delay: (value) => Number.isFinite(value) && value >= 0,
  error: (value) => typeof value === "string" || value instanceof Error,
  broken: (value) => value === true,
};

export function scriptedModel(turns) {
  if (!Array.isArray(turns)) throw new Error('scriptedModel takes a list of turns, as in scriptedModel(["Hello."])');
  const scripts = turns.map((turn, n) => (Array.isArray(turn) ? turn : [turn]).map((part) => [kindOf(part, n + 1), part]));
  const requests = [];
  const provider = {
    kind: "custom",
    model: "scripted",
    async *stream(request, { signal } = {}) {
      const n = requests.push(request);
      const script = scripts[n - 1];
      if (!script) {
        throw new Error(`scriptedModel was asked ${n} times and has ${turns.length} turns: add a turn, or look in requests for why it was asked again`);
      }
      let calls = 0;
      for (const [kind, part] of script) {
        // In words, so that a page that only works with whole texts is found out.
        if (kind === "text") for (const content of words(part)) yield chunk({ content });
        else if (kind === "thinking") for (const reasoning_content of words(part.thinking)) yield chunk({ reasoning_content });
        else if (kind === "delay") await wait(part.delay, signal);
        else if (kind === "error") throw part.error instanceof Error ? part.error : Object.assign(new Error(part.message ?? `the script says ${part.error}`), { code: part.error });
        else if (kind === "broken") throw Object.assign(new Error("the script breaks the stream here"), { code: "stream_broken" });
        else {
          const call = { index: calls, id: `scripted_${n}${calls ? `_${calls}` : ""}`, type: "function", function: { name: part.tool, arguments: JSON.stringify(part.args ?? {}) } };
          calls++;
          yield chunk({ tool_calls: [call] });
        }
      }
      yield chunk({}, calls ? "tool_calls" : "stop");
    },
  };
  // Not a setting: what is copied or sent as configuration leaves it out.
  return Object.defineProperty(provider, "requests", { value: requests });
}

function kindOf(part, turn) {
  if (typeof part === "string") return "text";
  const kinds = Object.keys(PARTS).filter((kind) => part?.[kind] !== undefined);
  if (kinds.length === 1 && PARTS[kinds[0]](part[kinds[0]])) {
    const [kind] = kinds;
    const strange = Object.keys(part).find((name) => name !== kind && !MORE[kind]?.includes(name));
    if (strange === undefined) return kind;
    const knows = MORE[kind] ? `: beside it stands ${MORE[kind].join(", ")}` : ", and nothing stands beside it";
    throw new Error(`scriptedModel: turn ${turn} has "${strange}" in a part of the kind "${kind}"${knows}`);
  }
  throw new Error(`scriptedModel: turn ${turn} must be a text, { thinking }, { tool, args? }, { delay }, { error, message? } or { broken: true }, or a list of these`);
}

const words = (text) => text.match(/\S+\s*|\s+/g) ?? [];

const wait = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
