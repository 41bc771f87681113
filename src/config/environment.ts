/** Reads the variables of a process. A problem names the variable and never its value, which may be a secret. */
import type { z } from 'zod';
import { checkBody } from '../contract/fields.ts';

/** The variables of a process, as `process.env` has them. */
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

/** A part of the configuration, or its problems. All parts are read before any problem is thrown. */
export type Read<T> = { ok: true; value: T } | { ok: false; problems: string[] };

export function readVariables<T>(schema: z.ZodType<T>, environment: Environment): Read<T> {
  const checked = checkBody(schema, withoutEmpty(environment));
  if (checked.ok) return checked;
  return { ok: false, problems: checked.errors.map(({ path, message }) => `${path}: ${message}`) };
}

/** The problems of all parts, each once. */
export function problemsOf(...parts: readonly Read<unknown>[]): string[] {
  return [...new Set(parts.flatMap((part) => (part.ok ? [] : part.problems)))];
}

/** Throws `ConfigError`. */
export function orThrow<T>(part: Read<T>): T {
  if (part.ok) return part.value;
  throw new ConfigError(part.problems);
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
