// The language model in the page, where the server gives one (`cargo xtask demo --local-model` says so in the document's head).
//
// Decides: where its files lie, and that it is one for the page. A change of the settings loads nothing anew. Leaves to
// others: running it (`lodger/wllama`, loaded with the first message), and saying how far it is (`onProgress`).
import type { CustomProvider, ModelCatalog } from "lodger";
import type { WllamaEngine } from "lodger/wllama";
import { letPass } from "./workers.ts";

const folder = document.querySelector<HTMLMetaElement>('meta[name="local-model"]')?.content;

/** Whether there is one. */
export const hasLocalModel = folder !== undefined;
/** What it is called. */
export const LOCAL_MODEL = "SmolLM2 135M";
const ID = "SmolLM2-135M";
/** What is known of it: a limit in dollars is no reason against a model that costs nothing. */
export const LOCAL_FACTS: ModelCatalog = { custom: { [ID]: { price: [0, 0] } } };

let provider: Promise<CustomProvider> | undefined;

async function make(onProgress: (part: number) => void): Promise<CustomProvider> {
  // The engine makes its worker from a text.
  letPass(`blob:${location.origin}/`);
  const { wllama } = await import("lodger/wllama");
  const file = (name: string): string => new URL(folder + name, document.baseURI).href;
  const engine = async (): Promise<WllamaEngine> => {
    const { Wllama } = (await import(file("wllama.js"))) as { Wllama: new (paths: object, config: object) => WllamaEngine };
    return new Wllama({ default: file("wllama.wasm") }, { suppressNativeLog: true, logger: { ...console, debug: () => undefined } });
  };
  return wllama({ engine, model: file("model.gguf"), contextTokens: 2048, onProgress: ({ loaded, total }) => onProgress(total ? loaded / total : 0) });
}

/** The model as a provider; `onProgress` hears how much of it is there, from 0 to 1. */
export function localModel(onProgress: (part: number) => void): CustomProvider {
  return {
    kind: "custom",
    model: ID,
    async *stream(request, context) {
      provider ??= make(onProgress);
      yield* (await provider).stream(request, context);
    },
  };
}
