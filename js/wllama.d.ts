import type { CustomProvider } from "./index.js";

/** What is used of a `Wllama` of npm `@wllama/wllama` 3.8 or newer. */
export interface WllamaEngine {
  isModelLoaded(): boolean;
  /** The model's Jinja template, if the file has one. A template that knows `tools` gets them in the model's own form. */
  getChatTemplate(): string | null;
  loadModelFromUrl(url: string, options: object): Promise<void>;
  loadModel(files: Blob[], options: object): Promise<void>;
  createChatCompletion(options: any): Promise<any>;
  exit(): Promise<void>;
}

export interface WllamaOptions {
  /**
   * The engine, or a function that makes it when it is first needed:
   * `async () => new (await import("@wllama/wllama/esm/index.js")).Wllama({ default: wasmUrl })`, where `wasmUrl` is the address of the
   * package's `esm/wasm/wllama.wasm`. Two providers must not share one.
   */
  engine: WllamaEngine | (() => WllamaEngine | Promise<WllamaEngine>);
  /** The address of a GGUF file (of the first one, if it is split), kept by the browser once it is loaded; or the files. Not needed where the engine has a model loaded. */
  model?: string | URL | Blob | Blob[];
  /** The model's name in the conversation. Default `wllama`, which is known to cost nothing: of another, `AgentConfig.models` says so. */
  name?: string;
  /** How much the model reads and writes at most, in tokens. Memory grows with it. Default 4096. */
  contextTokens?: number;
  /** More of the engine's load options (`n_gpu_layers`, `n_threads`, …). */
  loadOptions?: object;
  /** Told in bytes while the file comes, also when it comes from the browser's own cache. `total` is 0 where the server does not say. */
  onProgress?(progress: { loaded: number; total: number }): void;
}

/**
 * A model in the page: any GGUF, run by llama.cpp compiled to WebAssembly, on the GPU where there is WebGPU. Nothing is
 * imported or loaded before the first message or `load()`. A model whose template has tools gets them so; any other is told
 * them in a few lines and answers in JSON that it is held to, one call at a time.
 *
 * The answer is as long as `maxOutputTokens` lets it, 1024 tokens by default. The engine's settings (`top_k`, …) go by
 * `providerOptions`. The page's policy needs `script-src 'wasm-unsafe-eval'` and `worker-src blob:`; where Trusted Types
 * are required, a `default` policy that lets `blob:` script URLs pass.
 *
 * Errors: `not_configured` (no engine), `not_found`, `network`, `invalid_config` (the model cannot be loaded),
 * `context_length`, `server`.
 */
export function wllama(options: WllamaOptions): CustomProvider & {
  /** Loads the model now; else the first message does. A load that failed is tried again by the next call. */
  readonly load: () => Promise<void>;
};
