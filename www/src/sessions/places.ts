// Where the browser keeps what belongs to a session and is none of its record. That is what was being written, where it
// was being read, which one was shown, which one has something new.
//
// Decides the names, and what lives as long as the tab and what longer. Promises: a browser that stores nothing is no
// error. Leaves to others: what is kept.

/** The session that a workspace has by itself: its places are called by the workspace alone. */
export const MAIN = "default";

/** Where something of a session is kept. */
export function placeOf(what: string, workspace: string, session: string): string {
  return `lodger-workbench.${what}.${workspace}${session === MAIN ? "" : `/${session}`}`;
}

/** What is kept there; empty: nothing. */
export function kept(place: string, storage: () => Storage = () => localStorage): string {
  try {
    return storage().getItem(place) ?? "";
  } catch {
    return "";
  }
}

/** Keeps a text there; an empty one is forgotten. */
export function keep(place: string, text: string, storage: () => Storage = () => localStorage): void {
  try {
    if (text) storage().setItem(place, text);
    else storage().removeItem(place);
  } catch {
    // Without storage it lives as long as the page.
  }
}

/** What is kept with the tab only. */
export const tab = (): Storage => sessionStorage;

/** Which sessions have something new that nobody has seen, in any tab. */
export class Unseen {
  readonly #place: string;
  #ids = new Set<string>();

  /** `changed`: another tab has seen one, or not. */
  constructor(workspace: string, changed: () => void) {
    this.#place = `lodger-workbench.unseen.${workspace}`;
    this.#read();
    addEventListener("storage", ({ key }) => {
      if (key !== this.#place) return;
      this.#read();
      changed();
    });
  }

  #read(): void {
    this.#ids = new Set(kept(this.#place).split("\n").filter(Boolean));
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Whether that was news. */
  set(id: string, unseen: boolean): boolean {
    if (this.#ids.has(id) === unseen) return false;
    if (unseen) this.#ids.add(id);
    else this.#ids.delete(id);
    keep(this.#place, [...this.#ids].join("\n"));
    return true;
  }
}

/** The session that this tab shows, or that was shown last in this browser. */
export class Chosen {
  readonly #place: string;

  constructor(workspace: string) {
    this.#place = `lodger-workbench.session.${workspace}`;
  }

  get id(): string {
    return kept(this.#place, tab) || kept(this.#place) || MAIN;
  }

  set id(id: string) {
    keep(this.#place, id, tab);
    keep(this.#place, id);
  }
}

/** Where a conversation is read: the message at the top of the view, and how far above it that begins. */
export interface Reading {
  message: string;
  above: number;
}

/** Where each conversation is read, until the tab goes. A reader at its end has no place: the end is followed. */
export class Readings {
  constructor(private readonly workspace: string) {}

  of(session: string): Reading | null {
    try {
      const { message, above } = JSON.parse(kept(placeOf("reading", this.workspace, session), tab)) as Partial<Reading>;
      return message && typeof above === "number" ? { message, above } : null;
    } catch {
      return null;
    }
  }

  keep(session: string, reading: Reading | null): void {
    keep(placeOf("reading", this.workspace, session), reading ? JSON.stringify(reading) : "", tab);
  }
}
