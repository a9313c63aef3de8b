// The engines of models in the page, as the pages of the documents import them: each says one sentence. Bundled in place of the packages.
import { FakeWllama } from "../../js/test/fake-wllama.js";

/** `@wllama/wllama`. */
export class Wllama extends FakeWllama {
  constructor() {
    super({ answers: [["Hello from ", "a small model."]] });
  }
}

/** `@mlc-ai/web-llm`. */
export async function CreateMLCEngine(model) {
  async function* create() {
    for (const content of ["Hello from ", `${model}.`]) yield { choices: [{ index: 0, delta: { content }, finish_reason: null }] };
    yield { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  }
  return { interruptGenerate() {}, chat: { completions: { create: async () => create() } } };
}
