// The model of the campaign, on any wire: it answers by what it reads, so that it does not matter how often it is asked.
//
// A message says itself what its run does: `Job j3: charge look+page`. Calls that a plus joins come in one answer. A call
// names its place in the job (`j3.0`), and so does its effect: what is done twice is seen, also where a model has asked for it twice.
import { pause, stream } from "../servers/raw.mjs";
import { sumsUp } from "../servers/wires/index.mjs";

const JOB = /Job (\w+): ?([\w+ ]*)/;

/** What each step calls. A delegate's task is a job of its own. */
export const CALLS = {
  charge: (key) => ({ tool: "charge", args: { key } }),
  post: (key) => ({ tool: "post", args: { key } }),
  look: (key) => ({ tool: "look", args: { key } }),
  page: (key) => ({ tool: "create_page", args: { title: key, content: `Written for ${key}.` } }),
  delegate: (key) => ({ tool: "delegate", args: { process: "Worker", task: `Job ${delegated(key)}: look charge` } }),
};
/** The job of the delegate that this call begins. */
export const delegated = (key) => key.replace(".", "d");

/** A job as a message, and its calls in the order in which they are made. */
export const job = (id, steps) => ({ id, text: `Job ${id}: ${steps.join(" ")}`, keys: steps.flatMap((step) => step.split("+")).map((name, n) => ({ name, key: `${id}.${n}` })) });

const textOf = (content) => (typeof content === "string" ? content : Array.isArray(content) ? content.map((part) => part.text ?? "").join("\n") : "");
const isCall = (part) => part.type === "tool_use";

/** The last job in a request of any wire, and how many calls were made for it. */
export function reading(body) {
  let found;
  for (const item of body.messages ?? body.input ?? []) {
    const said = (item.role === "user" || item.type === "user_input") && JOB.exec(textOf(item.content));
    if (said) found = { id: said[1], steps: said[2].split(" ").filter(Boolean), calls: 0 };
    else if (found) found.calls += (item.tool_calls?.length ?? 0) + (item.type === "function_call" ? 1 : 0) + (Array.isArray(item.content) ? item.content.filter(isCall).length : 0);
  }
  return found;
}

/** What a summary says: the jobs that it was made of, so that one that was removed is found in it. */
const summary = (body) => ["The story so far.", ...[...new Set(JSON.stringify(body).match(/Job \w+(?=:| is done)/g))].map((job) => `${job} is done.`)].join(" ");

/** How a job ends that went to its end. */
export const ending = (id) => `Job ${id} is done, and that is all there is to say.`;

/** The script of a route: thinks, calls the next step's tools, or ends the job. `slow`: how long it waits between pieces. */
export function model(row, slow) {
  let count = 0;
  const said = (blocks) => stream(row.wire.answer(blocks).flatMap((piece) => [piece, pause(slow)]));
  return (body) => {
    if (sumsUp(body)) return said([summary(body)]);
    const { id, steps, calls } = reading(body);
    let at = 0;
    const step = steps.find((names) => { if (at >= calls) return true; at += names.split("+").length; return false; });
    count++;
    const blocks = [{ thinking: `Thought ${count} about ${id}.`, seal: `seal${count}of${id}` }];
    if (step) blocks.push(`Step ${at} of ${id}.`, ...step.split("+").map((name, n) => ({ ...CALLS[name](`${id}.${at + n}`), id: row.id(100 * count + n) })));
    else blocks.push(ending(id));
    return said(blocks);
  };
}
