// Looking up in a table by a name that comes from outside: of a model, a tool, a stored record, a service.

/** The member of this name, if the table has it itself: every object knows `constructor` and `toString` by birth. */
export function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
