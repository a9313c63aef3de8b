// What is on another origin than the page: its worker, and why something does not come from there.
//
// A browser starts no worker whose script another origin has. It starts one from a text of the page's own, which imports
// that script. Comes when it is needed, as most packages are on the page's own origin.

import { failure } from "../protocol/error.js";

/** How long another origin is asked why, in milliseconds. */
const ASK_MS = 10_000;

/**
 * The worker, made from a text if its script is on another origin. Long because each way in which that fails has its own words.
 *
 * @param {() => Worker} makeWorker
 */
export async function workerOf(makeWorker) {
  const [address, { type } = {}] = askedFor(makeWorker);
  const { href, origin } = new URL(address, document.baseURI);
  if (!isElsewhere(href, origin)) return made(makeWorker, "the address of worker.js");
  const script = JSON.stringify(href);
  const come = type === "module" ? `import(${script}).then(()=>postMessage(""),lost)` : `try{importScripts(${script});postMessage("")}catch(e){lost(e)}`;
  const text = `let d="";addEventListener("securitypolicyviolation",e=>d=e.effectiveDirective);const lost=e=>setTimeout(()=>postMessage([e.message,d]));${come}`;
  const own = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const refused = refusals();
  try {
    const worker = made(() => new Worker(own, { type }), "an address of blob:");
    const lost = await new Promise((said) => {
      worker.onmessage = ({ data }) => said(data);
      worker.onerror = (event) => {
        event.preventDefault();
        said([event.message]);
      };
    });
    if (!lost) return worker;
    worker.terminate();
    const [message = "it does not load", inside] = lost;
    const outside = await refused();
    if (inside) throw unreadable(`the page's Content Security Policy does not allow the worker to import ${href}`, `Add ${origin} to ${inside}.`);
    if (outside) throw unreadable(`the page's Content Security Policy does not allow the worker that imports ${href}`, `Add blob: to ${outside}, or open the workspace with host: "page".`);
    throw (await unreachable(href)) ?? unreadable(message);
  } finally {
    URL.revokeObjectURL(own);
  }
}

/** The extension of a browser has an origin that not every browser tells alike, and always its own worker. */
const isElsewhere = (href, origin) => href.startsWith("http") && origin !== globalThis.origin;

function made(makeWorker, what) {
  try {
    return makeWorker();
  } catch ({ message }) {
    throw failure("wasm_unavailable", `The worker of lodger cannot be made: ${message}.`, `Where the page requires Trusted Types, its default policy must let ${what} pass in createScriptURL. Or open the workspace with host: "page".`);
  }
}

/** With what the browser was asked for a worker. Bundlers know its script only where it is written beside `new Worker`. */
function askedFor(makeWorker) {
  const { Worker } = globalThis;
  let asked;
  globalThis.Worker = function (...given) {
    asked = given;
  };
  try {
    makeWorker();
  } finally {
    globalThis.Worker = Worker;
  }
  return asked;
}

/**
 * Why a browser says no more than that this could not be fetched; nothing where no more is known.
 * @param {unknown} source
 */
export async function unreachable(source) {
  if (!globalThis.origin || !(typeof source === "string" || source instanceof URL)) return undefined;
  const { href, origin } = new URL(source, globalThis.document?.baseURI);
  if (!isElsewhere(href, origin)) return undefined;
  const refused = refusals();
  const ask = (mode) => fetch(href, { mode, signal: AbortSignal.timeout(ASK_MS) }).catch(() => {});
  const answer = await ask("cors");
  const directive = await refused();
  if (directive) return unreadable(`the page's Content Security Policy does not allow to fetch ${href}`, `Add ${origin} to ${directive}.`);
  if (answer) return answer.ok ? undefined : unreadable(`${href} answered ${answer.status}`);
  if (!(await ask("no-cors"))) return undefined;
  return unreadable(`its server lets no page of ${globalThis.origin} read ${href}`, `It must answer with Access-Control-Allow-Origin.`);
}

const unreadable = (why, hint) => failure("wasm_unavailable", `A part of lodger is not available: ${why}.`, hint);

/** Begins to listen for what a policy refuses; gives what tells the directive that did, once. */
function refusals() {
  let directive;
  const hear = (event) => void (directive ??= event.effectiveDirective);
  addEventListener("securitypolicyviolation", hear);
  return async () => {
    // Browsers tell in a task of its own.
    await new Promise(inOneTask);
    removeEventListener("securitypolicyviolation", hear);
    return directive;
  };
}

/** As in `env.js`. What this module had from there would become a file of its own of each first load. */
function inOneTask(callback) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  port2.postMessage(null);
}
