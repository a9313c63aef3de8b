// webpack finds the module, its parts and the worker by itself. By their own names, the page can ask for them early. Its argument
// is where the scripts are, if that is not beside the page.
import fs from "node:fs";
import webpack from "webpack";

const output = { filename: "main.js", assetModuleFilename: "[name][ext]", publicPath: process.argv[2] ?? "auto" };
webpack({ mode: "production", context: import.meta.dirname, entry: "./main.js", output, performance: { hints: false } }, (error, stats) => {
  if (error ?? stats.hasErrors()) throw error ?? new Error(stats.toString());
  fs.copyFileSync("index.html", "dist/index.html");
});
