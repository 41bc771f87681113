/** The client package has no JSON files, and must not contain the parser of the provider client. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { checkBody } from '../contract/fields.ts';
import { NotJsonError, readPlainJson } from '../payments/exact-json.ts';
import type { Read } from './environment.ts';

/** The content of the JSON file at `path`, which `variable` names. */
export function readJsonFile<T>(variable: string, path: string, schema: z.ZodType<T>): Read<T> {
  let content: unknown;
  try {
    content = readPlainJson(readFileSync(path));
  } catch (error) {
    const why = error instanceof NotJsonError ? `: ${error.message}` : '';
    return { ok: false, problems: [`${variable}: ${path} cannot be read as JSON${why}`] };
  }
  const checked = checkBody(schema, content);
  if (checked.ok) return checked;
  return { ok: false, problems: checked.errors.map((e) => `${variable}: ${e.path} ${e.message}`) };
}
