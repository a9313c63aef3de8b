// A model call's request and answer, told as they come.
//
// Decides nothing. Promises: the head is told first, then each piece, then the end or a failure. Nothing is told after
// an abort, or once nobody wants more. What is told crosses into the module as two numbers and bytes, because objects
// cost more there than the request. Leaves to others: what is asked (`src/browser/fetch.rs`), and what an answer means.

/** What is told where it is not a head: that is told by its status. */
const PIECE = -1;
const END = -2;
const FAILED = -3;
const UNMADE = -4;

const NOTHING = new Uint8Array();
const bytesOf = (text) => new TextEncoder().encode(text);

/**
 * @param {(call: number, what: number, bytes: Uint8Array) => boolean} heard whether more is wanted. With a head come its
 *   headers as JSON, unless it is a good one, whose headers nobody reads; with `UNMADE` what is wrong with the request
 * @param {number} call
 * @param {AbortSignal} signal
 * @param {string | Request} asked `{ url, method, headers, credentials? }` as JSON, or the whole request
 * @param {Uint8Array | string | Blob} [body] bytes are the module's own memory, and hold until this returns
 */
export function send(heard, call, signal, asked, body) {
  const { url, ...rest } = typeof asked === "string" ? JSON.parse(asked) : { url: asked };
  // A fetch that followed a redirect would take the key along: browsers take `authorization` away on the way, and nothing else.
  const init = { ...rest, signal, redirect: "manual" };
  const tell = (what, bytes) => !signal.aborted && heard(call, what, bytes || NOTHING);
  const begun = ({ status, headers, reader }) => {
    const next = ({ done, value }) => {
      if (done) tell(END);
      else if (tell(PIECE, value)) read();
      else reader.cancel().catch(() => {});
    };
    const read = () => void reader.read().then(next, () => tell(FAILED));
    if (tell(status, headers)) reader ? read() : tell(END);
  };
  answer(url, init, body).then(begun, () => {
    const wrong = url !== asked && fault(url, init);
    tell(wrong ? UNMADE : FAILED, wrong && bytesOf(wrong));
  });
}

/** A page may have put something else in the place of `fetch`: what it gives is looked at here, where that may throw. */
async function answer(url, init, body) {
  const response = await fetch(url, { ...init, body: isOurs(body) && !copies(fetch) ? body.slice() : body });
  const headers = response.ok ? NOTHING : bytesOf(JSON.stringify([...response.headers]));
  return { status: response.status, headers, reader: response.body?.getReader() };
}

const isOurs = (body) => body instanceof Uint8Array;

/** Whether it is the browser's, which copies bytes before it returns. A page's own may look at them later. */
const copies = (fetch) => /^function fetch\(\) \{\s+\[native code\]\s+\}$/.test(Function.prototype.toString.call(fetch));

/** What is wrong with a request that cannot be made. */
function fault(url, init) {
  try {
    new Request(url, init);
  } catch (error) {
    return String(error);
  }
}
