// What `lodger/wllama` uses of npm `@wllama/wllama` 3.8, as it behaves: chunks of OpenAI's shape with llama.cpp's timings
// in the last one. An abort becomes an error at the next step, and a module takes no second model.

export class FakeWllama {
  asked = [];
  loads = [];
  exits = 0;
  running = 0;
  #loaded = false;
  #broken = false;

  /** `answers`: for each request its pieces of text, or chunks, or an error at that place. */
  constructor({ template = null, answers = [], loading } = {}) {
    Object.assign(this, { template, answers, loading });
  }

  isModelLoaded() { return this.#loaded; }
  getChatTemplate() { return this.template; }

  async loadModelFromUrl(url, options) {
    this.loads.push({ url, options });
    options.progressCallback({ loaded: 1, total: 2, more: "of its own" });
    await this.#load();
    options.progressCallback({ loaded: 2, total: 2 });
  }

  async loadModel(blobs, options) {
    this.loads.push({ blobs, options });
    await this.#load();
  }

  async #load() {
    if (this.#broken) throw new Error("Module is already initialized");
    this.#broken = true;
    await this.loading?.();
    this.#loaded = true;
  }

  async exit() {
    this.exits++;
    this.#loaded = this.#broken = false;
  }

  async createChatCompletion(options) {
    const answer = this.answers[this.asked.push(options) - 1];
    const self = this;
    async function* run() {
      self.running++;
      try {
        yield { choices: [{ index: 0, delta: { role: "assistant", content: null }, finish_reason: null }] };
        for (const piece of answer) {
          if (options.abortSignal.aborted) throw Object.assign(new Error("Operation aborted"), { name: "AbortError" });
          if (piece instanceof Error) throw piece;
          if (piece instanceof Promise) await Promise.race([piece, new Promise((done) => options.abortSignal.addEventListener("abort", done))]);
          else if (typeof piece === "string") yield { choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] };
          else yield piece;
        }
        const timings = { cache_n: 3, prompt_n: 4, predicted_n: 5 };
        if (!answer.cut) yield { choices: [{ index: 0, delta: {}, finish_reason: answer.reason ?? "stop" }], timings };
      } finally {
        self.running--;
      }
    }
    // The engine works whether or not somebody reads: what came is waiting.
    return run();
  }
}
