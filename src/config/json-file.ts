/** The client package has no JSON files, and must not contain the parser of the provider client. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { checkBody } from '../contract/fields.ts';
import { NotJsonError, readPlainJson } from '../payments/exact-json.ts';
import { ConfigError } from './environment.ts';

/** The content of the JSON file at `path`, which the variable `name` names. Throws `ConfigError`. */
export function jsonFile<T>(name: string, path: string, schema: z.ZodType<T>): T {
  let content: unknown;
  try {
    content = readPlainJson(readFileSync(path));
  } catch (error) {
    const why = error instanceof NotJsonError ? `: ${error.message}` : '';
    throw new ConfigError([`${name}: ${path} cannot be read as JSON${why}`]);
  }
  const checked = checkBody(schema, content);
  if (checked.ok) return checked.value;
  throw new ConfigError(checked.errors.map((e) => `${name}: ${e.path} ${e.message}`));
}
