/** Reads the variables of a process. A problem names the variable and never its value, which may be a secret. */
import type { z } from 'zod';
import { checkBody } from '../contract/fields.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown at startup: `problems` has one line for each bad variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`the environment is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Throws `ConfigError`. */
export function readVariables<T>(schema: z.ZodType<T>, environment: Environment): T {
  const checked = checkBody(schema, withoutEmpty(environment));
  if (checked.ok) return checked.value;
  throw new ConfigError(checked.errors.map(({ path, message }) => `${path}: ${message}`));
}

/** Reads the parts of a configuration. All of them are read before the problems of any are thrown. */
export class Parts {
  readonly #problems = new Set<string>();

  /** Undefined if the part has problems. */
  read<T>(part: () => T): T | undefined {
    try {
      return part();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.report(error.problems);
      return undefined;
    }
  }

  report(problems: readonly string[]): void {
    for (const problem of problems) this.#problems.add(problem);
  }

  /** The parts that were read. Throws `ConfigError` with the problems of all, each once. */
  complete<T extends object>(parts: T): { [Name in keyof T]: Exclude<T[Name], undefined> };
  complete(parts: object): object {
    if (this.#problems.size > 0) throw new ConfigError([...this.#problems]);
    return parts;
  }
}

/** Treats an empty variable as absent, because shells and compose files write it so. */
export function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}

/** Every other environment, and none, has the rules of production. */
export function isTest(environment: Environment): boolean {
  return environment['PAYMENTS_ENVIRONMENT'] === 'test';
}

export function isLoopback(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
