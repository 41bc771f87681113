/** Thrown at start-up: `problems` has one line for each bad key. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`the environment is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** A part of the configuration, or what is wrong with it: all parts are read before anything is said. */
export type Read<T> = { ok: true; value: T } | { ok: false; problems: string[] };
