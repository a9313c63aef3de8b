import path from "node:path";

// Files for a server that has them in a folder: with the template's `cacheComponents`, Next writes none.
// `root`: Next itself is installed further up.
export default { output: "export", basePath: "/work/consumers/start-next/out", turbopack: { root: path.resolve("../../..") } };
