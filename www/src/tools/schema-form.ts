// A form made from a JSON Schema, and the arguments that were written into it.
//
// Decides: which field stands for which property. What has no simple field is written as JSON. Promises: the arguments
// go out as they were written. Whether they fit is the harness's to say, and the form never says it first. An empty
// field is an absent property. A required text is sent though empty. A required one that may be null is null.
import { html, nothing, type TemplateResult } from "lit";

type Schema = Record<string, unknown>;

/** A property that a person can fill in. */
export interface Field {
  name: string;
  kind: "text" | "number" | "choice" | "json";
  about: string;
  required: boolean;
  nullable: boolean;
  /** The values of a choice, as JSON. */
  choices: string[];
  /** What is there if it is left out, as JSON. */
  initial: string;
}

/** The fields of a schema, the required ones first; null: its arguments are written as one JSON object. */
export function fieldsOf(schema: object): Field[] | null {
  const { properties, required, ...rest } = schema as Schema;
  if (["$ref", "allOf", "anyOf", "oneOf", "patternProperties"].some((keyword) => keyword in rest)) return null;
  if (typeof properties !== "object" || properties === null) return rest["additionalProperties"] === false ? [] : null;
  const needed = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, property]) => field(name, (property ?? {}) as Schema, needed.includes(name)));
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

function field(name: string, property: Schema, required: boolean): Field {
  const types = [property["type"]].flat().filter((type): type is string => typeof type === "string");
  const nullable = types.includes("null");
  const [type, more] = types.filter((t) => t !== "null");
  const values = Array.isArray(property["enum"]) ? property["enum"] : "const" in property ? [property["const"]] : type === "boolean" && !more ? [true, false] : null;
  const kind = values ? "choice" : more || !type ? "json" : type === "string" ? "text" : type === "integer" || type === "number" ? "number" : "json";
  return {
    name,
    kind,
    required,
    nullable,
    about: typeof property["description"] === "string" ? property["description"] : "",
    choices: (values ?? []).map((value) => JSON.stringify(value)),
    initial: "default" in property ? JSON.stringify(property["default"]) : "",
  };
}

/** The fields as they are drawn; `id` sets the forms of one page apart. */
export function formOf(fields: Field[] | null, id: string): TemplateResult | TemplateResult[] {
  if (!fields) return html`<div class="field"><label for=${id}>Arguments, as JSON</label><textarea id=${id} name="*" rows="3" class="code" spellcheck="false" placeholder="{}"></textarea></div>`;
  return fields.map((f) => {
    const at = `${id}-${f.name}`;
    const about = `${at}-about`;
    const described = f.about ? about : nothing;
    return html`<div class="field">
      <label for=${at}><code>${f.name}</code>${f.required ? html` <span class="muted">required</span>` : nothing}${f.kind === "json" ? html` <span class="muted">JSON</span>` : nothing}</label>
      ${f.kind === "choice"
        ? html`<select id=${at} name=${f.name} aria-describedby=${described}><option value="">${f.nullable && f.required ? "null" : "—"}</option>${f.choices.map((c) => html`<option value=${c}>${c.replace(/^"(.*)"$/s, "$1")}</option>`)}</select>`
        : f.kind === "number"
          ? html`<input id=${at} name=${f.name} type="text" inputmode="decimal" autocomplete="off" placeholder=${f.initial} aria-describedby=${described} />`
          : html`<textarea id=${at} name=${f.name} rows="1" class=${f.kind === "json" ? "code" : ""} placeholder=${f.nullable && f.required ? "empty: null" : f.initial} aria-describedby=${described}></textarea>`}
      ${f.about ? html`<p class="about" id=${about}>${f.about}</p>` : nothing}
    </div>`;
  });
}

/** What was written, as arguments; or what is no JSON. */
export function argumentsOf(fields: Field[] | null, written: FormData): { args: Record<string, unknown> } | { wrong: string } {
  const text = (name: string) => String(written.get(name) ?? "");
  if (!fields) {
    const value = parsed(text("*").trim() || "{}");
    if (value === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return { wrong: "The arguments are no JSON object." };
    return { args: value as Record<string, unknown> };
  }
  const args: [string, unknown][] = [];
  for (const { name, kind, required, nullable } of fields) {
    const value = text(name);
    if (value === "") {
      if (required && nullable) args.push([name, null]);
      else if (required && kind === "text") args.push([name, ""]);
    } else if (kind === "text") args.push([name, value]);
    // What is no number is sent as the text it is, so that the answer is the one a model would get.
    else if (kind === "number") args.push([name, parsed(value) ?? value]);
    else {
      const json = parsed(value);
      if (json === undefined) return { wrong: `“${name}” is no JSON: texts stand in quotes.` };
      args.push([name, json]);
    }
  }
  return { args: Object.fromEntries(args) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
