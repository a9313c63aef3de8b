// Where the parts of the module are that arrive when they are needed (`src/rooms.rs` has them all).
//
// Written out so that bundlers find the files. The build puts its number into their names: a part fits its own build only.

export const ROOMS = {
  anthropic: () => new URL("./rooms/anthropic.wasm", import.meta.url),
  chat: () => new URL("./rooms/chat.wasm", import.meta.url),
  ollama: () => new URL("./rooms/ollama.wasm", import.meta.url),
  responses: () => new URL("./rooms/responses.wasm", import.meta.url),
  gemini: () => new URL("./rooms/gemini.wasm", import.meta.url),
  pages: () => new URL("./rooms/pages.wasm", import.meta.url),
  upkeep: () => new URL("./rooms/upkeep.wasm", import.meta.url),
  carry: () => new URL("./rooms/carry.wasm", import.meta.url),
  schema: () => new URL("./rooms/schema.wasm", import.meta.url),
  more: () => new URL("./rooms/more.wasm", import.meta.url),
  compaction: () => new URL("./rooms/compaction.wasm", import.meta.url),
  memory: () => new URL("./rooms/memory.wasm", import.meta.url),
  past: () => new URL("./rooms/past.wasm", import.meta.url),
  volatile: () => new URL("./rooms/volatile.wasm", import.meta.url),
};
