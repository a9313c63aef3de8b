// Models in the page, with the libraries' own types: what the README shows, checked and never run.
import { CreateMLCEngine, type MLCEngine } from "@mlc-ai/web-llm";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "@mlc-ai/web-llm/lib/openai_api_protocols";
import { Wllama } from "@wllama/wllama/esm/index.js";
import type { CustomProvider, Provider } from "lodger";
import { availability, promptApi } from "lodger/prompt-api";
import { wllama } from "lodger/wllama";

const paths = { default: "/wllama.wasm" };
const gguf = wllama({ engine: async () => new (await import("@wllama/wllama/esm/index.js")).Wllama(paths), model: new URL("https://models.test/a.gguf"), contextTokens: 2048, loadOptions: { n_threads: 1 }, onProgress: ({ loaded, total }) => loaded / total });
const given = wllama({ engine: new Wllama(paths), model: [new Blob()], name: "mine" });
const browser = promptApi({ languages: ["en"] });

let engine: Promise<MLCEngine> | undefined;
const webllm: CustomProvider = {
  kind: "custom", model: "Llama-3.2-1B-Instruct-q4f16_1-MLC",
  async *stream({ model, messages, tools }, { signal }) {
    const chat = await (engine ??= CreateMLCEngine(model));
    signal.addEventListener("abort", () => chat.interruptGenerate());
    yield* await chat.chat.completions.create({ messages: messages as ChatCompletionMessageParam[], stream: true, ...(tools.length ? { tools: tools as ChatCompletionTool[] } : {}) });
  },
};

export async function use(): Promise<Provider[]> {
  await gguf.load();
  if ((await availability({ languages: ["en"] })) === "downloadable") await browser.load();
  // @ts-expect-error an engine is needed
  wllama({ model: "/a.gguf" });
  // @ts-expect-error what an engine has to have
  wllama({ engine: {} });
  // @ts-expect-error an option that is none
  promptApi({ temperature: 0 });
  return [gguf, given, browser, webllm];
}
