// One build by Vite, in a process of its own: `node vite-build.mjs DIR BASE [PLUGIN[#EXPORT]]`. `lib/vite.mjs` starts it.
import { build } from "vite";

const [root, base, plugin] = process.argv.slice(2);
const [from, name = "default"] = (plugin ?? "").split("#");
const plugins = from ? [(await import(from))[name]()] : [];
await build({ root, base, configFile: false, logLevel: "error", plugins });
