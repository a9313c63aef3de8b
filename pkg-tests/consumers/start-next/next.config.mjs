import path from "node:path";

// As the template has it. `root`: Next itself is installed further up.
export default { cacheComponents: true, partialPrefetching: true, turbopack: { root: path.resolve("../../..") } };
