// `lodger/wllama`: any GGUF, in the page, by llama.cpp (npm `@wllama/wllama`).
//
// Decides when the engine is made and the model loaded, at the first message or by `load()`. Decides whether the
// model's own template takes the tools or the answer is held to JSON (`constrained.js`), and what an engine's error
// means. Promises: one answer at a time, in the order of the calls. An abort ends the wait at once, and nobody else's
// turn begins before the engine has let go. A load goes on when who waited for it has left. Leaves to others: making
// the engine, so that this module imports nothing of it.

import { asked, failure, replied, textOf, turns, unlessAborted } from "./constrained.js";

/** The context that is asked for, in tokens. Memory and the time of a first answer grow with it. */
const CONTEXT = 4096;
/** The longest answer, in tokens, when the agent's configuration sets none: a small model may not find an end. */
const LONGEST = 1024;

export function wllama({ engine: given, model, name = "wllama", contextTokens = CONTEXT, loadOptions = {}, onProgress } = {}) {
  if (!given) throw failure("invalid_config", "wllama() needs `engine`: a Wllama of @wllama/wllama, or a function that makes one.");
  let engine;
  let loading;
  const turn = turns();

  /** The engine with its model in it. What failed is tried again the next time. */
  const ready = () => {
    if (engine?.isModelLoaded()) return Promise.resolve(engine);
    loading ??= load().finally(() => (loading = undefined));
    return loading;
  };

  async function load() {
    try {
      engine ??= typeof given === "function" ? await given() : given;
    } catch (error) {
      throw failure("not_configured", `The function \`engine\` of wllama() failed: ${error?.message ?? error}. It must give a Wllama.`);
    }
    if (engine.isModelLoaded()) return engine;
    if (!model) throw failure("invalid_config", "wllama() needs `model`, the address of a GGUF file or its Blobs, as its engine has none loaded.");
    // A single sequence: the next request finds the beginning of its prompt worked out.
    const options = { n_ctx: contextTokens, n_parallel: 1, jinja: true, ...loadOptions };
    try {
      if (typeof model === "string" || model instanceof URL) {
        const progressCallback = ({ loaded, total }) => onProgress?.({ loaded, total });
        await engine.loadModelFromUrl(new URL(model, globalThis.location?.href).href, { ...options, progressCallback });
      } else {
        await engine.loadModel(Array.isArray(model) ? model : [model], options);
      }
    } catch (error) {
      // Half a module takes no second model.
      await engine.exit().catch(() => {});
      throw notLoaded(error, model);
    }
    return engine;
  }

  async function* stream(request, { signal }) {
    let end;
    const stop = new AbortController();
    const abort = () => stop.abort(signal.reason);
    signal.addEventListener("abort", abort);
    try {
      end = await turn(signal);
      const engine = await unlessAborted(ready(), signal);
      const native = /\btools\b/.test(engine.getChatTemplate() ?? "");
      const { model: _, messages, tools, response_format: __, ...settings } = request;
      const base = { max_tokens: LONGEST, ...settings, stream: true, abortSignal: stop.signal };
      const plain = asked(request);
      const seen = { reason: "stop", timings: [] };
      const ask = (more) => pieces(engine, { ...base, ...more }, stop, seen);
      const plainly = (message) => (Array.isArray(message.content) ? { ...message, content: textOf(message) } : message);
      const held = (schema) => ({ response_format: { type: "json_schema", json_schema: { name: "reply", schema } } });
      const form = plain.form && held(plain.form);
      // A grammar for the answer would keep the model from its own form of a call: both then are JSON of ours.
      if (native && !(plain.schema && form)) yield* ask({ messages: messages.map(plainly), ...(tools?.length ? { tools, tool_choice: "auto" } : form) });
      else if (!plain.schema) yield* ask({ messages: plain.messages, ...form });
      else yield* replied((schema) => texts(ask({ messages: plain.messages, ...held(schema) })), plain, () => seen.reason);
      if (seen.timings.length) yield { choices: [], usage: usageOf(seen.timings) };
    } catch (error) {
      if (!signal.aborted) throw answerFailed(error, contextTokens);
    } finally {
      signal.removeEventListener("abort", abort);
      end?.();
    }
  }

  const provider = { kind: "custom", model: name, stream };
  // Not a setting: what is copied or sent as configuration leaves it out.
  return Object.defineProperty(provider, "load", { value: async () => void (await ready()) });
}

/** The engine's chunks. A reader that leaves in the middle stops the engine, which is free when this has ended. */
async function* pieces(engine, ask, stop, seen) {
  const chunks = (await engine.createChatCompletion(ask))[Symbol.asyncIterator]();
  const next = () => chunks.next().catch((error) => ((over = true), Promise.reject(error)));
  let over = false;
  let timings;
  try {
    for (;;) {
      const { done, value } = await next();
      over = done;
      if (done) return;
      timings = value.timings ?? timings;
      seen.reason = value.choices?.[0]?.finish_reason ?? seen.reason;
      yield value;
    }
  } finally {
    if (timings) seen.timings.push(timings);
    // It says so by an error.
    if (!over) stop.abort();
    while (!over) await next().then(({ done }) => (over = done), () => {});
  }
}

async function* texts(chunks) {
  for await (const { choices } of chunks) {
    const text = choices?.[0]?.delta?.content;
    if (text) yield text;
  }
}

/** llama.cpp gives times where a server gives usage; a model may have been asked twice. */
function usageOf(timings) {
  const sum = (count) => timings.reduce((all, one) => all + count(one), 0);
  return {
    prompt_tokens: sum(({ cache_n, prompt_n }) => cache_n + prompt_n),
    completion_tokens: sum(({ predicted_n }) => predicted_n),
    prompt_tokens_details: { cached_tokens: sum(({ cache_n }) => cache_n) },
  };
}

const words = (error) => String(error?.message ?? error).replace(/[.\s]+$/, "");

function notLoaded(error, model) {
  const what = typeof model === "string" || model instanceof URL ? `The model ${model}` : "The model";
  const said = `${what} could not be loaded: ${words(error)}.`;
  if (/HTTP 40[134]|\b404\b/.test(said)) return failure("not_found", `${said} Look at the address.`);
  if (error?.name === "TypeError" && /fetch|network/i.test(said)) return failure("network", `${said} Network or CORS: its server must allow this page.`);
  if (/memory|alloc|out of bounds/i.test(said)) return failure("server", `${said} It does not fit: take a smaller model, or fewer contextTokens.`);
  return failure("invalid_config", `${said} It must be a GGUF file, and the address of the engine's wasm must be right.`);
}

function answerFailed(error, contextTokens) {
  if (error?.name === "LodgerError") return error;
  const said = words(error);
  if (/context|n_ctx|kv.?cache/i.test(said)) {
    return failure("context_length", `The conversation is longer than the model's context (${contextTokens} tokens): ${said}. Clear it, give fewer tools, or set a larger contextTokens.`);
  }
  return failure("server", `The model in the page failed: ${said}.`);
}
