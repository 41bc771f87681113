import { ConfigError } from '../../src/config/environment.ts';

/** What is wrong with a configuration; empty if it can be read. */
export function configProblems(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
