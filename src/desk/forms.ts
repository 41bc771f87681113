/** Reads the forms of the desk. */
import type { FastifyInstance } from 'fastify';
import { Problem } from '../service/problem.ts';

/** The fields of a form by name. */
export type Fields = Readonly<Record<string, string>>;

const MAX_FORM_BYTES = 16 * 1024;

export function acceptForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    async (_request: unknown, body: unknown) => fieldsOf(new URLSearchParams(String(body))),
  );
}

/** Throws a 400 for a repeated field, which a program between us may read differently. */
function fieldsOf(form: URLSearchParams): Fields {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of form) {
    if (name in fields) throw new Problem('ambiguous-request', 'a field of the form is repeated');
    fields[name] = value;
  }
  return { ...fields };
}

/** The fields that a form or a query has filled in, of those that it may have. */
export function filledIn<Name extends string>(
  fields: unknown,
  ...names: readonly Name[]
): Partial<Record<Name, string>> {
  const filled: Partial<Record<Name, string>> = {};
  if (typeof fields !== 'object' || fields === null) return filled;
  const known = new Map<string, unknown>(Object.entries(fields));
  for (const name of names) {
    const value = known.get(name);
    if (typeof value !== 'string' || value.trim() === '') continue;
    // Browsers send line breaks as CR LF. Ids and notes of the API have none.
    filled[name] = value.trim().replace(/\s*[\r\n]+\s*/g, ' ');
  }
  return filled;
}
