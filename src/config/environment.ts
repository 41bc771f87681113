/** The variables of a process, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;
