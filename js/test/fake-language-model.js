// The browser's `LanguageModel` as its specification has it: availability by options, a download that needs a press,
// and sessions with a window of tokens (here words). They drop their oldest turns and tell so; their chunks are deltas.

const named = (name, message, more) => Object.assign(new DOMException(message, name), more);
const textOf = (content) => (typeof content === "string" ? content : content.map(({ value }) => value).join(" "));
const size = (prompts) => prompts.reduce((sum, { content }) => sum + textOf(content).split(/\s+/).length, 0);

/** `answers`: for each prompt its chunks; an error or a promise among them throws or waits there. */
export function fakeLanguageModel({ answers = [], state = "available", languages = ["en"], window = 1000, cumulative = false, download } = {}) {
  const log = { state, created: [], prompts: [], live: 0 };

  class LanguageModel extends EventTarget {
    #dead = new AbortController();
    #initial;
    constructor(initial) {
      super();
      this.#initial = initial;
      log.live++;
    }

    static async availability({ expectedInputs = [], expectedOutputs = [] } = {}) {
      const wanted = [...expectedInputs, ...expectedOutputs].flatMap((part) => part.languages ?? []);
      return wanted.every((tag) => languages.includes(tag)) ? log.state : "unavailable";
    }

    static async create(options = {}) {
      const { initialPrompts = [], monitor, signal, tools } = options;
      log.created.push(options);
      if (tools) throw new TypeError("the browser would run these");
      signal?.throwIfAborted();
      initialPrompts.forEach(({ role }, at) => {
        if (role === "system" && at > 0) throw new TypeError("a system prompt stands first");
      });
      if ((await LanguageModel.availability(options)) === "unavailable") throw named("NotSupportedError", "not here");
      if (log.state === "downloadable" && !globalThis.navigator?.userActivation?.isActive) throw named("NotAllowedError", "Requires a user gesture");
      if (log.state !== "available") {
        const watch = new EventTarget();
        monitor?.(watch);
        for (const loaded of [0, 0.5, 1]) watch.dispatchEvent(Object.assign(new Event("downloadprogress"), { loaded, total: 1 }));
        await download?.();
        log.state = "available";
      }
      if (size(initialPrompts) > window) throw named("QuotaExceededError", "The input is too large.", { requested: size(initialPrompts), quota: window });
      return new LanguageModel(initialPrompts);
    }

    promptStreaming(input, options = {}) {
      const chunks = answers[log.prompts.push({ input, ...options }) - 1];
      const asked = typeof input === "string" ? [{ role: "user", content: input }] : input;
      const signal = AbortSignal.any([this.#dead.signal, ...(options.signal ? [options.signal] : [])]);
      const self = this;
      let all = "";
      let at = 0;
      return new ReadableStream({
        start(controller) {
          signal.addEventListener("abort", () => controller.error(signal.reason));
          if (size(asked) > window) controller.error(named("QuotaExceededError", "The input is too large.", { requested: size(asked), quota: window }));
          else if (size(self.#initial) + size(asked) > window) self.dispatchEvent(new Event("contextoverflow"));
        },
        async pull(controller) {
          const next = chunks[at++];
          if (next instanceof Error) controller.error(next);
          else if (next instanceof Promise) await next;
          else if (next === undefined) controller.close();
          else controller.enqueue(cumulative ? (all += next) : next);
        },
      });
    }

    destroy() {
      log.live--;
      this.#dead.abort(named("AbortError", "The session was destroyed."));
    }
  }
  return { LanguageModel, log };
}
