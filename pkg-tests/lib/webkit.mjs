// WebKitGTK, driven by WebDriver: its MiniBrowser on a display of its own, with a session for each test.
//
// Offers of a page what the suites use: `evaluate(code, argument)`, `goto`, `reload`, `close`, `waitForFunction`. A
// driver takes one command after the other, so no command waits in it. A page keeps what its code comes to, and is asked.
// WebDriver tells nothing of errors and of the console: `WATCH` collects them, as the first script of a page. A page that
// crashes ends the driver's session, so no test here does that.
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import { setTimeout as pause } from "node:timers/promises";

const present = (path) => path && fs.existsSync(path);
const DRIVER = [process.env.WEBKIT, "/usr/bin/WebKitWebDriver"].find(present);
const DISPLAY = "/usr/bin/Xvfb";
// A guard against hanging, no measure of speed: no command waits for what a page does.
const SILENT_MS = 60_000;
// One session in about fifty never begins, on a busy machine. The next one does.
const BEGIN_MS = 40_000;
const TRIES = 3;
/** Beside the library, in a folder that has the name of the machine. */
const BROWSER = fs.readdirSync("/usr/lib").map((folder) => `/usr/lib/${folder}/webkit2gtk-4.1/MiniBrowser`).find(present);
export const webkit = present(DISPLAY) && BROWSER && DRIVER;

/** Collects what goes wrong in a page, and what its console says. */
export function WATCH() {
  const errors = [];
  const log = [];
  globalThis.watched = () => [errors.splice(0), log.splice(0)];
  const shown = (error) => (error instanceof Error ? `${error.name}: ${error.message}\n${error.stack}` : String(error));
  addEventListener("error", (event) => event instanceof ErrorEvent && errors.push(shown(event.error ?? event.message)));
  addEventListener("unhandledrejection", ({ reason }) => errors.push(shown(reason)));
  for (const type of ["debug", "info", "log", "warn", "error"]) {
    const say = console[type];
    console[type] = (...words) => { log.push([type, words.map(shown).join(" ")]); say.apply(console, words); };
  }
}

/** Begins the code of a test in a page, which keeps under this name what it comes to. */
const begun = (code) => `
  const [name, given] = arguments;
  const work = (globalThis.works ??= new Map());
  work.set(name, undefined);
  const written = (value) => JSON.stringify(value, (_, part) => part === undefined || Number.isNaN(part) || part === Infinity ? { "\\0": String(part) } : part);
  const failed = (error) => work.set(name, { error: error instanceof Error ? [error.name, error.message, error.stack] : ["Error", String(error), ""] });
  const argument = given === null ? undefined : JSON.parse(given);
  (async () => (${code}\n)(argument))().then((value) => work.set(name, { value: written(value) })).catch(failed);`;
const LOOK = `
  const [name] = arguments;
  const come = globalThis.works?.get(name);
  if (come) works.delete(name);
  return [!!globalThis.works, come ?? null, globalThis.watched?.() ?? [[], []]];`;
const KEPT = { undefined, NaN, Infinity };
/** `undefined` in an object has to be put there by hand: a reviver that gives it deletes the member. */
function read(value) {
  if (typeof value !== "object" || value === null) return value;
  if ("\0" in value) return KEPT[value["\0"]];
  for (const [key, part] of Object.entries(value)) value[key] = read(part);
  return value;
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** A server that gives what this one gives, with `WATCH` before all scripts of its documents. */
export async function watched(base) {
  const server = http.createServer(async (request, response) => {
    if (request.url === "/watch.js") return response.writeHead(200, { "content-type": "text/javascript" }).end(`(${WATCH})();`);
    const answer = await fetch(new URL(request.url, base));
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !["content-length", "content-encoding", "transfer-encoding", "connection"].includes(name)));
    const body = Buffer.from(await answer.arrayBuffer());
    const document = headers["content-type"]?.startsWith("text/html");
    response.writeHead(answer.status, headers).end(document ? String(body).replace(/<script/, `<script src="/watch.js"></script>$&`) : body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, close() { server.closeAllConnections(); return new Promise((done) => server.close(done)); } };
}

/** The driver on a display of its own. `session()` begins a browser with fresh storage. */
export async function launchWebKit() {
  const screen = spawn(DISPLAY, ["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"], { stdio: ["ignore", "pipe", "ignore"] });
  const number = await new Promise((done, failed) => { screen.stdout.once("data", (text) => done(String(text).trim())); screen.once("exit", () => failed(new Error("Xvfb does not run"))); });
  const port = await freePort();
  // Its sandbox needs rights that a container has not.
  const env = { ...process.env, DISPLAY: `:${number}`, GDK_BACKEND: "x11", WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1" };
  const driver = spawn(DRIVER, [`--port=${port}`], { env, stdio: "ignore" });
  const end = () => { driver.kill(); screen.kill(); };
  process.once("exit", end);

  async function command(method, path, body) {
    const signal = AbortSignal.timeout(path === "/session" ? BEGIN_MS : SILENT_MS);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, signal, body: body && JSON.stringify(body) }).catch((error) => {
      throw Object.assign(new Error(`the driver says nothing to ${method} ${path}: ${error.message}`), { silent: error.name === "TimeoutError" });
    });
    const { value } = await response.json();
    if (!response.ok) throw Object.assign(new Error(`${value.error}: ${value.message}`), { code: value.error });
    return value;
  }
  for (let n = 0; ; n++) {
    try { await command("GET", "/status"); break; } catch (error) { if (n === 100) throw error; await pause(50); }
  }

  return {
    async session() {
      const options = { binary: BROWSER, args: ["--automation"] };
      const begin = () => command("POST", "/session", { capabilities: { alwaysMatch: { unhandledPromptBehavior: "accept", "webkitgtk:browserOptions": options } } });
      for (let tries = 1; ; tries++) {
        try {
          const { sessionId } = await begin();
          return new Session((method, path, body) => command(method, `/session/${sessionId}${path}`, body));
        } catch (error) {
          if (!error.silent || tries === TRIES) throw error;
        }
      }
    },
    async close() {
      process.off("exit", end);
      end();
    },
  };
}

class Session {
  pages = [];
  #command;
  #before = Promise.resolve();
  #first = true;
  constructor(command) { this.#command = command; }

  /** One command, or several that belong together, after those before it. */
  #alone(work) {
    const done = this.#before.then(() => work(this.#command));
    this.#before = done.catch(() => {});
    return done;
  }

  /** In this window. */
  in(handle, work) {
    return this.#alone(async (command) => { await command("POST", "/window", { handle }); return work(command); });
  }

  /** A window, not a tab of one: tabs behind another have their timers once a second. */
  async page({ hidden = false, errors, log } = {}) {
    const handle = await this.#alone(async (command) => {
      if (this.#first) { this.#first = false; return command("GET", "/window"); }
      return (await command("POST", "/window/new", { type: hidden ? "tab" : "window" })).handle;
    });
    const page = new Page(this, handle, errors, log);
    this.pages.push(page);
    return page;
  }

  close() { return this.#alone((command) => command("DELETE", "")); }
}

class Page {
  #session;
  #handle;
  #name = 0;
  constructor(session, handle, errors, log) { this.#session = session; this.#handle = handle; this.errors = errors; this.log = log; }

  #script(script, args) { return this.#session.in(this.#handle, (command) => command("POST", "/execute/sync", { script, args })); }

  /** What has been collected since, and what the work has come to that has this name. */
  async #look(name) {
    const [there, come, [errors, log]] = await this.#script(LOOK, [name]);
    this.errors.push(...errors);
    this.log.push(...log.map(([type, text]) => `[page ${type}] ${text}`));
    return [there, come];
  }
  look() { return this.#look(-1); }

  async evaluate(code, argument) {
    const name = this.#name++;
    await this.#script(begun(code), [name, argument === undefined ? null : JSON.stringify(argument)]);
    for (let wait = 2; ; wait = Math.min(wait * 2, 32)) {
      const [there, come] = await this.#look(name);
      if (come?.error) { const [kind, message, stack] = come.error; throw Object.assign(new Error(`${kind}: ${message}`), { stack: `${kind}: ${message}\n${stack}` }); }
      if (come) return read(JSON.parse(come.value));
      if (!there) throw new Error("the page has gone elsewhere");
      await pause(wait);
    }
  }

  async waitForFunction(code, argument, { timeout = 30_000 } = {}) {
    for (const end = Date.now() + timeout; !(await this.evaluate(code, argument)); await pause(20)) if (Date.now() > end) throw new Error(`never: ${code}`);
  }

  waitForTimeout(ms) { return pause(ms); }

  async #away(method, path, body) {
    await this.look();
    await this.#session.in(this.#handle, (command) => command(method, path, body));
  }
  goto(url) { return this.#away("POST", "/url", { url }); }
  reload() { return this.#away("POST", "/refresh", {}); }
  async close() {
    await this.#away("DELETE", "/window");
    this.#session.pages.splice(this.#session.pages.indexOf(this), 1);
  }

  // ------------------------------------------------------------ as a person

  /** The element that this selector finds, once it is there. */
  async #element(selector, timeout = 30_000) {
    await this.waitForFunction((selector) => !!document.querySelector(selector), selector, { timeout });
    return (command) => command("POST", "/element", { using: "css selector", value: selector }).then((found) => Object.values(found)[0]);
  }
  async click(selector) {
    const find = await this.#element(selector);
    await this.#session.in(this.#handle, async (command) => command("POST", `/element/${await find(command)}/click`, {}));
  }
  async type(selector, text) {
    const find = await this.#element(selector);
    await this.#session.in(this.#handle, async (command) => command("POST", `/element/${await find(command)}/value`, { text }));
  }
}

/** A test whose tabs are in WebKitGTK, all in one session; skipped where there is none. */
export const inWebKit = (body) => async (t) => {
  if (!webkit) return t.note("skipped: there is no WebKitGTK; install Debian's packages `webkit2gtk-driver` and `xvfb`, or name the driver in the environment variable WEBKIT");
  const launched = (t.env.puppets ??= new Map());
  if (!launched.has("webkit")) launched.set("webkit", await launchWebKit());
  const session = await launched.get("webkit").session();
  t.after(() => session.close());
  t.tab = async ({ path = "/blank.html", init = "", wait = true, hidden } = {}) => {
    const page = await session.page({ hidden, errors: t.errors, log: t.log });
    await page.goto(t.env.site.url + t.env.site.before(path, `(${WATCH})();(${typeof init === "function" ? init : `() => { ${init} }`})();`));
    if (wait) await t.ready(page);
    return page;
  };
  try {
    await body(t);
  } finally {
    for (const page of session.pages) await page.look();
  }
};
