// Looking for a secret in texts and bytes, in the forms in which it may have been written down.
//
// A form is found anywhere in a text. A part of a key counts too: code that cuts or masks a key must not leave ten
// characters of it.

const PART = 10;
const latin1 = (text) => Buffer.from(text, "utf8").toString("latin1");
const escaped = (text) => [...text].map((sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** What stays the same of a text's base64 wherever the text stands in what was encoded. */
function base64(text) {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.from("x".repeat(before) + text).toString("base64").replace(/=+$/, "");
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + Buffer.byteLength(text)) * 8) / 6);
    return whole.slice(first, last);
  });
}

/** Form -> texts, one of which is there if the secret is. */
export function formsOf(secret) {
  const hex = Buffer.from(secret).toString("hex");
  const json = JSON.stringify(secret).slice(1, -1);
  const sixtyfour = base64(secret);
  return {
    plain: [...Array(secret.length - PART + 1)].map((_, at) => secret.slice(at, at + PART)),
    reversed: [[...secret].reverse().join("")],
    base64: sixtyfour,
    base64url: sixtyfour.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
    hex: [hex, hex.toUpperCase(), hex.replace(/..(?=.)/g, "$& "), hex.replace(/..(?=.)/g, "$&:")],
    url: [encodeURIComponent(secret), encodeURIComponent(secret).toLowerCase(), hex.replace(/../g, "%$&"), hex.toUpperCase().replace(/../g, "%$&")],
    json: [json, JSON.stringify(json).slice(1, -1), json.replaceAll("/", "\\/"), escaped(secret), escaped(secret).toUpperCase().replaceAll("\\U", "\\u")],
    bytes: [[...Buffer.from(secret)].join(","), [...Buffer.from(secret)].join(", ")],
    utf16: [Buffer.from(secret, "utf16le").toString("latin1"), Buffer.from(secret, "utf16le").swap16().toString("latin1")],
    html: [secret.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")],
  };
}

/**
 * Which secrets are where: `["name of the secret, its form: place", …]`.
 * @param {Record<string, string>} secrets name -> secret
 * @param {Record<string, string>} places name -> everything that is there, as a text (bytes as Latin-1)
 */
export function search(secrets, places) {
  const found = [];
  for (const [name, secret] of Object.entries(secrets)) {
    for (const [form, texts] of Object.entries(formsOf(secret))) {
      for (const [place, text] of Object.entries(places)) {
        const bytes = latin1(text);
        const has = (text) => places[place].includes(text) || bytes.includes(text);
        if (texts.some(has)) found.push(`${name}, ${form}: ${place}`);
      }
    }
  }
  return found;
}
