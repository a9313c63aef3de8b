// What a tool says in the content blocks of MCP: text, images and other files.
//
// Decides whether a result is one of those, and what becomes of each block. Promises: a block is not lost. What is text goes to
// the model as text, bytes become files, and an error is thrown. Leaves to others: who takes the files.

/** How many characters of base64 are decoded in one go: whole fours. */
const PIECE = 2 ** 16;

const is = (value, ...names) => names.every((name) => typeof value?.[name] === "string");
/** The blocks that there are, and what makes each one. */
const BLOCKS = {
  text: (block) => is(block, "text"),
  image: (block) => is(block, "data", "mimeType"),
  audio: (block) => is(block, "data", "mimeType"),
  resource: ({ resource }) => is(resource, "uri") && (is(resource, "text") || is(resource, "blob")),
  resource_link: (block) => is(block, "uri"),
};

function isContent({ content, structuredContent, isError }) {
  const known = (block) => Object.hasOwn(BLOCKS, block?.type) && BLOCKS[block.type](block);
  return content.every(known) && (content.length > 0 || structuredContent !== undefined || isError === true);
}

/**
 * What such a result says; anything else as it is.
 * @param {{ content: unknown[] }} result
 * @param {Blob[]} files those of it are added
 */
export function said(result, files) {
  if (!isContent(result)) return result;
  const texts = [];
  for (const [at, block] of result.content.entries()) {
    const file = (base64, type, name) => files.push(fileOf(base64, type, name, `result.content[${at}]`));
    const { resource = block } = block;
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "resource_link") texts.push(`${block.title ?? block.name ?? "A resource"}: ${block.uri}`);
    else if (resource.data !== undefined) file(resource.data, resource.mimeType);
    else if (resource.blob !== undefined) file(resource.blob, resource.mimeType, nameIn(resource.uri));
    else texts.push(`${resource.uri}:\n${resource.text}`);
  }
  const text = texts.join("\n\n");
  if (result.isError) throw new Error(text || "the tool has failed, and did not say why");
  return text || result.structuredContent;
}

function fileOf(base64, type = "", name, at) {
  const pieces = [];
  try {
    for (let from = 0; from < base64.length; from += PIECE) pieces.push(Uint8Array.from(atob(base64.slice(from, from + PIECE)), (c) => c.charCodeAt(0)));
  } catch {
    throw Object.assign(new TypeError(`${at} is no base64`), { code: "tool_failed" });
  }
  return name ? new File(pieces, name, { type }) : new Blob(pieces, { type });
}

/** The last part of an address, if it is a name. */
function nameIn(uri) {
  const [last] = uri.split(/[?#]/)[0].split("/").slice(-1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
