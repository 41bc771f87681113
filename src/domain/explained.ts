/** A public code in words. Documents and schemas are written from tables of these. */
export interface Explained {
  meaning: string;
  /** What to do about it. */
  action: string;
}

/** The codes of a table, in its order. */
export function codesOf<Code extends string>(table: Readonly<Record<Code, unknown>>): Code[] {
  return Object.keys(table).filter((code): code is Code => code in table);
}
