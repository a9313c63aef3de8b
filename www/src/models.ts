// What is known of models: window, limit, price. The figures are the package's (`lodger/models.json`).
//
// Decides how they are told. Promises: an unknown model is no error, there is just nothing to tell. The file is read
// when it is first asked for, and nobody waits for it. Leaves to others: what an answer did cost (`Usage.cost`, from
// the package).
import type { ModelCatalog, ModelFacts, Usage } from "lodger";
import { own } from "./own.ts";
import { Changing } from "./shell/changing.ts";

/** The catalog, which comes a little after it is first asked for. */
export class Models extends Changing {
  #catalog: ModelCatalog | null = null;
  #asked = false;

  /** What is known of a service's model, by the rules that the package's `ModelCatalog` tells. */
  facts(service: string, model: string): ModelFacts | undefined {
    const catalog = this.#read();
    if (!catalog || !model) return undefined;
    if (model.endsWith(":free")) return { ...this.facts(service, model.slice(0, -":free".length)), price: [0, 0] };
    const own = service.split("/").reverse().map((name) => find(catalog, name, model)).find(Boolean);
    const [vendor = "", ...rest] = model.split("/");
    return own ?? (rest.length ? find(catalog, vendor, rest.join("/")) : undefined);
  }

  /** The models of a service that are known by name. */
  names(service: string): string[] {
    const catalog = this.#read();
    if (!catalog) return [];
    const known = service.split("/").reverse().map((name) => models(catalog, name)).find(Boolean);
    return Object.keys(known ?? {}).flatMap((ids) => ids.split(" "));
  }

  #read(): ModelCatalog | null {
    // Without a network it would only fail.
    if (!this.#asked && navigator.onLine) {
      this.#asked = true;
      void this.#load();
    }
    return this.#catalog;
  }

  async #load(): Promise<void> {
    try {
      const answer = await fetch(new URL("lodger/models.json", document.baseURI));
      if (!answer.ok) return;
      this.#catalog = (await answer.json()) as ModelCatalog;
      this.changed();
    } catch {
      // Without it prices and windows are not told; asked again when the page is opened again.
    }
  }
}

function models(catalog: ModelCatalog, provider: string): Readonly<Record<string, ModelFacts>> | undefined {
  const entry = own(catalog, provider);
  const known = typeof entry === "string" ? own(catalog, entry) : entry;
  return typeof known === "object" ? known : undefined;
}

function find(catalog: ModelCatalog, provider: string, id: string): ModelFacts | undefined {
  const all = Object.entries(models(catalog, provider) ?? {});
  const plain = (name: string): string => name.replaceAll(".", "-");
  const by = (name: string) => all.find(([ids]) => ids.split(" ").some((one) => plain(one) === plain(name)))?.[1];
  return by(id) ?? by(id.replace(/-(latest|\d{8}|\d{4}-\d\d-\d\d)$/, ""));
}

/** Window and price of a model as one line; empty where nothing is known. `short`: without what seldom counts. */
export function describe({ context, output, price, long, ends }: ModelFacts, short = false): string {
  const window = context ? `Window ${tokens(context)} tokens${output && !short ? `, ${tokens(output)} of them for an answer` : ""}` : "";
  const [input, answer] = price ?? [];
  const cost = input === undefined || answer === undefined ? "" : input + answer === 0 ? "free" : `${dollars(input)} in, ${dollars(answer)} out per million`;
  const more = long?.[0] && cost && !short ? `more beyond ${tokens(long[0])}` : "";
  return [window, cost, more, ends ? `retired on ${ends}` : ""].filter(Boolean).join(" · ");
}

/** Tokens and cost as one line. */
export function spent({ inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, cost }: Usage): string {
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  return [`${tokens(input)} tokens in${cacheReadTokens ? ` (${tokens(cacheReadTokens)} from the cache)` : ""}`, `${tokens(outputTokens)} out`, cost === undefined ? "" : dollars(cost)].filter(Boolean).join(" · ");
}

/** The sum. It has no cost where one of its parts has none: it would be too low. */
export function sum(parts: readonly Usage[]): Usage | null {
  const [first, ...rest] = parts;
  if (!first) return null;
  const total: Usage = { ...first };
  for (const part of rest) {
    for (const name of ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const) if (part[name] !== undefined) total[name] = (total[name] ?? 0) + part[name];
    if (total.cost === undefined || part.cost === undefined) delete total.cost;
    else total.cost += part.cost;
  }
  return total;
}

/** A number of tokens, short: 950, 12.4k, 1M. */
export function tokens(n: number): string {
  for (const [size, unit] of [[1e6, "M"], [1e3, "k"]] as const) if (n >= size * 0.9995) return `${Number((n / size).toPrecision(3))}${unit}`;
  return String(n);
}

/** An amount, to the cent, and what is less than ten cents to two digits. */
export function dollars(n: number): string {
  if (n === 0) return "$0";
  if (n >= 0.0995) return `$${Number.isInteger(n) ? n : n.toFixed(2)}`;
  return n < 0.00001 ? "under $0.00001" : `$${Number(n.toPrecision(2)).toFixed(8).replace(/0+$/, "")}`;
}
