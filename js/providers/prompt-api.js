// `lodger/prompt-api`: the browser's own model, by the Prompt API (`LanguageModel`), which exists in a page only.
//
// Decides: how a chat request becomes a session of that API, and what its errors mean. Promises: the browser runs no
// tool. A call is the model's JSON (`constrained.js`), and goes the way of every call. Each session is destroyed. A
// conversation that does not fit is an error, where the browser would drop its oldest turns in silence. Leaves to
// others: which model it is, and where it is kept.
//
// The older forms of the API that browsers had are understood: chunks that repeat what came before, `quotaoverflow`.

import { asked, failure, replied, turns, unlessAborted } from "./constrained.js";

const NONE = "This browser has no built-in model here: `LanguageModel` is there in the windows of Chrome and Edge on the desktop, over https or on localhost. Take another provider.";

/** What the browser's sessions are made for. */
const forLanguages = (languages) =>
  languages ? { expectedInputs: [{ type: "text", languages }], expectedOutputs: [{ type: "text", languages }] } : {};

export async function availability({ languages } = {}) {
  return (await globalThis.LanguageModel?.availability(forLanguages(languages))) ?? "unavailable";
}

export function promptApi({ languages, onProgress } = {}) {
  const turn = turns();

  async function session(options) {
    const { LanguageModel } = globalThis;
    if (!LanguageModel) throw failure("not_found", NONE);
    const known = forLanguages(languages);
    const state = await LanguageModel.availability(known);
    if (state === "unavailable") {
      throw failure("not_found", `The browser has no model for this on this machine: too little disk or memory, an unknown language${languages ? ` (${languages})` : ""}, or a policy. Take another provider.`);
    }
    if (state === "downloadable" && globalThis.navigator?.userActivation?.isActive === false) throw failure("permission", PRESS);
    const monitor = (watch) => watch.addEventListener("downloadprogress", ({ loaded, total }) => onProgress?.({ loaded, total: total || 1 }));
    return LanguageModel.create({ ...known, ...options, monitor });
  }

  async function load() {
    try {
      (await session({})).destroy();
    } catch (error) {
      throw failed(error);
    }
  }

  async function* stream(request, { signal }) {
    let end;
    try {
      end = await turn(signal);
      const plain = asked(request);
      if (plain.schema) yield* replied((schema) => pieces(plain.messages, schema, signal), plain);
      else yield* pieces(plain.messages, plain.form, signal);
    } catch (error) {
      if (!signal.aborted) throw failed(error);
    } finally {
      end?.();
    }
  }

  /** What the browser's model says, held to a schema where there is one. */
  async function* pieces(messages, schema, signal) {
    // The browser answers what is asked last; what came before is how the session begins.
    const asks = messages.at(-1)?.role === "user";
    const model = await session({ initialPrompts: asks ? messages.slice(0, -1) : messages, signal });
    try {
      let overflow = false;
      for (const type of ["contextoverflow", "quotaoverflow"]) model.addEventListener(type, () => (overflow = true));
      const constraint = schema ? { responseConstraint: schema, omitResponseConstraintInput: true } : {};
      const answer = model.promptStreaming(asks ? messages.at(-1).content : "Go on.", { ...constraint, signal });
      yield* deltas(answer, signal, () => {
        if (overflow) throw failure("context_length", TOO_LONG);
      });
    } finally {
      model.destroy();
    }
  }

  // Not a setting: what is copied or sent as configuration leaves it out.
  return Object.defineProperty({ kind: "custom", model: "browser", stream }, "load", { value: load });
}

/** What is new in each chunk. `check` may throw before the first one is told. */
async function* deltas(stream, signal, check) {
  const reader = stream.getReader();
  let all = "";
  let repeats; // whether a chunk holds all that came before it: the second one tells
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal);
      if (all === "") check();
      if (done) return;
      if (all !== "") repeats ??= value.length > all.length && value.startsWith(all);
      const piece = repeats && value.startsWith(all) ? value.slice(all.length) : value;
      all += piece;
      if (piece) yield piece;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

const PRESS = "The browser has to download its model first, and does so only right after a click or a key press. Call the provider's load() in a button's handler, then send again.";
const TOO_LONG = "The conversation is longer than the context of the browser's model. Clear it, give fewer tools, or take another provider.";

/** What is thrown by the browser's own names. */
function failed(error) {
  if (error?.name === "LodgerError") return error;
  const said = String(error?.message ?? error).replace(/[.\s]+$/, "");
  switch (error?.name) {
    case "QuotaExceededError":
      return failure("context_length", TOO_LONG);
    case "NotAllowedError":
      return failure("permission", `The browser does not allow its model here (${said}): the page may lack a click before the download, or the policy \`language-model\` in a frame. ${PRESS}`);
    case "NotReadableError":
      return failure("refused", `The browser held its model's answer back: ${said}.`);
    case "NotSupportedError":
    case "TypeError":
      return failure("invalid_request", `The browser's model does not take this: ${said}. Give fewer or simpler tools, or another language.`);
    case "SyntaxError":
      return failure("protocol", `The browser's model could not keep to the form of an answer: ${said}. Send again, or give fewer tools.`);
    case "NetworkError":
      return failure("network", `The browser could not download its model: ${said}. Go online and send again.`);
    default:
      return failure("server", `The browser's model failed: ${said}.`);
  }
}
