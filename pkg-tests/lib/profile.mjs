// A browser's profile on the disk, which outlives the browsers that run on it: they end in order, or are killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { chromium } from "playwright-core";
import { FLAGS, program } from "./browser.mjs";
import { cutRecord, endsCut } from "./leveldb.mjs";

/** A profile that is deleted after the test. `dir`: where it lies. */
export function profile(t, dir = fs.mkdtempSync(path.join(os.tmpdir(), "lodger-profile-"))) {
  t.after(() => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const within = (...parts) => path.join(dir, "Default", ...parts);
  /** A test page in this browser. */
  const pageOf = async (context, init) => {
    const page = await context.newPage();
    page.on("console", (line) => t.log.push(`[page ${line.type()}] ${line.text()}`));
    if (init) await page.addInitScript(init);
    await page.goto(`${t.env.site.url}/blank.html`);
    await t.ready(page);
    return page;
  };
  /** Each file with bytes in the databases that lie there. */
  const files = () => {
    const databases = within("IndexedDB");
    if (!fs.existsSync(databases)) return [];
    const all = fs.readdirSync(databases, { recursive: true, withFileTypes: true });
    return all.filter((file) => file.isFile()).map((file) => path.join(file.parentPath, file.name)).filter((file) => fs.statSync(file).size > 0).sort();
  };
  /** Those of LevelDB whose names this fits. */
  const named = (name) => files().filter((file) => path.dirname(file).endsWith(".leveldb") && name.test(path.basename(file)));
  return {
    dir,
    files,
    /** What a page does in a life of the browser, which then ends. `init`: what each page runs first. */
    async life(work, init) {
      const browser = await chromium.launchPersistentContext(dir, { executablePath: program(), args: FLAGS });
      try {
        return await work(await pageOf(browser, init), () => pageOf(browser, init));
      } finally {
        await browser.close();
      }
    },
    /** A life that ends when it is killed, with all of its processes. */
    async doomed() {
      const child = spawn(program(), [...FLAGS, "--headless=new", "--remote-debugging-port=0", `--user-data-dir=${dir}`, "about:blank"], { detached: true, stdio: ["ignore", "ignore", "pipe"] });
      const gone = once(child, "exit");
      const kill = async () => {
        try { process.kill(-child.pid, "SIGKILL"); } catch { /* it is gone */ }
        await gone;
      };
      t.after(kill);
      const url = await new Promise((resolve, reject) => {
        readline.createInterface(child.stderr).on("line", (line) => { const [, found] = /DevTools listening on (\S+)/.exec(line) ?? []; if (found) resolve(found); });
        child.once("exit", () => reject(new Error("the browser did not start")));
      });
      const browser = await chromium.connectOverCDP(url);
      const [context] = browser.contexts();
      return { page: (init) => pageOf(context, init), kill };
    },
    /** Flips a bit in the middle of each file of LevelDB whose name this fits. */
    flip(name) {
      const full = named(name);
      if (!full.length) throw new Error(`no file ${name}`);
      for (const file of full) flipBit(file, fs.statSync(file).size >> 1, 4);
    },
    /** Whether a browser that was killed has left a record that is cut. */
    isCut: () => named(/\.log$|^MANIFEST/).some((file) => endsCut(fs.readFileSync(file))),
    /** Leaves one in the log that is written. */
    cut() {
      const log = named(/\.log$/).at(-1);
      fs.appendFileSync(log, cutRecord(fs.statSync(log).size));
    },
    remove(folder) {
      if (!fs.existsSync(within(folder))) throw new Error(`no folder ${folder}`);
      fs.rmSync(within(folder), { recursive: true });
    },
  };
}

/** Flips these bits of a byte of a file. */
export function flipBit(file, at, bits) {
  const bytes = fs.readFileSync(file);
  bytes[at] ^= bits;
  fs.writeFileSync(file, bytes);
}
