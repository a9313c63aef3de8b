// The packed package: packs it as it would be published, installs it into an empty project, and says where its entries
// are. Every suite uses this installed copy, so that a file missing from `files` or `exports` fails here.
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import fs from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const run = promisify(execFile);
export const ROOT = path.resolve(fileURLToPath(new URL("..", import.meta.url)));
export const WORK = path.join(ROOT, ".work");

/** Runs a program, with what it printed in the error if it fails. */
export async function sh(command, args, options = {}) {
  try {
    const { stdout, stderr } = await run(command, args, { maxBuffer: 1 << 26, ...options });
    return stdout + stderr;
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")} failed (${error.code}):\n${error.stdout ?? ""}${error.stderr ?? error.message}`);
  }
}

/** Runs a script in this directory that builds an app for its users, and ends. */
export const builds = (cwd, script) => sh(process.execPath, script, { cwd, env: { ...process.env, NODE_ENV: "production" }, timeout: 90_000 });

export const environment = (mode) => ({ ...process.env, NODE_ENV: mode, NEXT_TELEMETRY_DISABLED: "1" });

/** A program that serves an app in this directory until the test is over; gives the address that it prints. */
export async function served(t, cwd, [command, ...args], mode) {
  const server = spawn(command, args, { cwd, env: environment(mode), detached: true });
  // Next works in a child of its own.
  t.after(() => new Promise((done) => { server.once("exit", done); process.kill(-server.pid, "SIGKILL"); }));
  let said = "";
  return new Promise((found, lost) => {
    const hear = (chunk) => {
      said += chunk.toString().replace(/\x1b\[[\d;]*m/g, "");
      const at = /https?:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (at) found(at[0]);
    };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    server.once("exit", () => lost(new Error(`it ended: ${said}`)));
  });
}

/** Packs (unless it is a .tgz already) and installs; gives `{ dir, tgz, manifest, entry }`. */
export async function installPackage(source) {
  await fs.rm(WORK, { recursive: true, force: true });
  await fs.mkdir(path.join(WORK, "installed"), { recursive: true });
  const where = path.resolve(source);
  if (!(await exists(where))) throw new Error(`there is no package at ${where}: build it first (cargo xtask build), or name it with --package`);
  let tgz = where;
  if (!where.endsWith(".tgz")) {
    const printed = await sh("npm", ["pack", where, "--json", "--silent", "--pack-destination", WORK], { cwd: WORK });
    const packed = Object.values(JSON.parse(printed.slice(printed.search(/[[{]/))));
    tgz = path.join(WORK, packed[0].filename.replace("@", "").replace("/", "-"));
  }
  const project = path.join(WORK, "installed");
  await fs.writeFile(path.join(project, "package.json"), JSON.stringify({ name: "installed", private: true }));
  await sh("npm", ["install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", tgz], { cwd: project });
  const dir = path.join(project, "node_modules", "lodger");
  const manifest = JSON.parse(await fs.readFile(path.join(dir, "package.json"), "utf8"));
  return { dir, tgz, manifest, entry: (name = ".", conditions = ["browser", "import", "default"]) => resolve(manifest.exports[name], conditions) };
}

/**
 * The package's modules as they were written, by their paths in `js/`: from its source maps where it is bundled, else its files.
 * Only the tests that put a MessageChannel between client and host need them.
 */
export async function modules(pkg) {
  const found = new Map();
  for await (const file of files(pkg.dir)) {
    if (file.endsWith(".js")) found.set(path.basename(file), await fs.readFile(file, "utf8"));
  }
  for await (const file of files(pkg.dir)) {
    if (!file.endsWith(".js.map")) continue;
    const { sources, sourcesContent } = JSON.parse(await fs.readFile(file, "utf8"));
    sources.forEach((source, i) => { if (sourcesContent?.[i]) found.set(source.replace(/^(\.\.\/)*js\//, ""), sourcesContent[i]); });
  }
  return found;
}

/** A copy of `consumers/<name>`, or of these folders in one, with the package in its own `node_modules`, as an app has it. */
export async function consumer(pkg, name, folders = [name]) {
  const dir = path.join(WORK, "consumers", name);
  await fs.rm(dir, { recursive: true, force: true });
  for (const folder of folders) await fs.cp(path.join(ROOT, "consumers", folder), dir, { recursive: true });
  await fs.cp(pkg.dir, path.join(dir, "node_modules", "lodger"), { recursive: true });
  return dir;
}

/** The first target of an `exports` entry under these conditions, in the order of the entry, as the resolvers do. */
function resolve(target, conditions) {
  if (typeof target === "string") return target.replace(/^\.\//, "");
  if (Array.isArray(target)) return target.map((t) => resolve(t, conditions)).find(Boolean);
  for (const [condition, inner] of Object.entries(target ?? {})) {
    if (condition === "default" || conditions.includes(condition)) {
      const found = resolve(inner, conditions);
      if (found) return found;
    }
  }
  return undefined;
}

export async function* files(dir) {
  for (const item of await fs.readdir(dir, { withFileTypes: true })) {
    const full = path.join(dir, item.name);
    if (item.isDirectory()) yield* files(full);
    else yield full;
  }
}

export const exists = (file) => fs.access(file).then(() => true, () => false);
