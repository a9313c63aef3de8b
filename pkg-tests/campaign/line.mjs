// What a conversation has to be after each of its changes.
//
// Decides which messages it shows and in which order, and which versions can be looked at. It says what is gone for good, and by
// which words the model is instructed. Promises: a change makes a new `Line`, the old one stays. So a test that does not know
// whether a change was stored keeps both.
// Leaves to others: what was really shown (`Conversation`). Messages are named by the ids of their jobs.

/** Of all changes, each as often as it is drawn. */
export const CHANGES = ["edit", "edit", "edit", "switch", "switch", "switch", "remove", "remove", "regenerate", "regenerate", "configure", "configure", "compact", "compact", "archive", "archive", "clear"];

export class Line {
  /** The messages, in their order. */
  shown = [];
  /** By a message that has left for another version of it: the conversation as it was with that. */
  away = new Map();
  /** What was removed or cleared. */
  gone = new Set();
  /** By a message: how often it was answered anew. */
  anew = new Map();
  /** The first version of each message that is another's version. */
  roots = new Map();
  words = "You keep a shop.";

  #with(more) {
    return Object.assign(new Line(), this, more);
  }

  root(id) { return this.roots.get(id) ?? id; }

  /** A message at its end. */
  sent(id) { return this.shown.includes(id) ? this : this.#with({ shown: [...this.shown, id] }); }

  /** The versions of messages that are shown, each with the conversation as it was with it. */
  versions() {
    const stands = (id, line) => {
      const at = line.indexOf(id);
      return line.slice(0, at).every((other, n) => other === this.shown[n]) && this.shown[at] !== undefined && this.root(this.shown[at]) === this.root(id);
    };
    return [...this.away].filter(([id, line]) => !this.shown.includes(id) && stands(id, line));
  }

  /** What this change makes of it. */
  changed({ act, of, id, words }) {
    return {
      edit: () => this.#leaves(this.shown.indexOf(of)).#with({ shown: [...this.shown.slice(0, this.shown.indexOf(of)), id], roots: new Map(this.roots).set(id, this.root(of)) }),
      switch: () => {
        const line = this.away.get(of);
        return this.#leaves(line.indexOf(of)).#with({ shown: line });
      },
      remove: () => this.#without(of),
      clear: () => this.#with({ shown: [], away: new Map(), anew: new Map(), gone: new Set([...this.gone, ...this.shown, ...[...this.away.values()].flat()]) }),
      regenerate: () => this.#with({ anew: new Map(this.anew).set(this.shown.at(-1), (this.anew.get(this.shown.at(-1)) ?? 0) + 1) }),
      configure: () => this.#with({ words }),
      archive: () => this,
      // What shows stays whole.
      compact: () => this,
    }[act]();
  }

  /** From this place on all leaves, and can be looked at by its first message. */
  #leaves(at) { return this.#with({ away: new Map(this.away).set(this.shown[at], this.shown) }); }

  /** A message goes with its other versions. What followed these alone is looked at by nobody here, and is not asked for. */
  #without(of) {
    const versions = new Set([of, ...[...this.roots.keys(), ...this.roots.values()].filter((id) => this.root(id) === this.root(of))]);
    const kept = (line) => line.filter((id) => id !== of);
    const away = [...this.away].filter(([id, line]) => id !== of && line.every((other) => other === of || !versions.has(other)));
    return this.#with({ shown: kept(this.shown), away: new Map(away.map(([id, line]) => [id, kept(line)])), gone: new Set([...this.gone, ...versions]) });
  }

  /** What differs from what is shown: a sentence, or undefined. `isNew(id)`: whether it may be there though nobody has heard that it is. */
  fault(ids, answers, isNew) {
    const lost = this.shown.find((id) => !ids.includes(id));
    if (lost) return `accepted, and lost: ${lost}`;
    const more = ids.find((id) => !this.shown.includes(id) && !isNew(id));
    if (more) return `${more} is shown, and ${this.gone.has(more) ? "was removed" : "has left"}`;
    const known = ids.filter((id) => this.shown.includes(id));
    if (known.join() !== this.shown.join()) return `in another order: ${known} and not ${this.shown}`;
    const wrong = [...answers].find(([id, versions]) => versions !== 1 + (this.anew.get(id) ?? 0));
    return wrong && `the answer to ${wrong[0]} has ${wrong[1]} versions and not ${1 + (this.anew.get(wrong[0]) ?? 0)}`;
  }
}
