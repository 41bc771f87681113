/** What a caller reads about a field that has the wrong type or is absent, in the words of the documentation. */
import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

/** For the schema's own `error`: an absent field is reported as required. */
export const unlessAbsent =
  (message: string) =>
  ({ input }: { input?: unknown }): string | undefined =>
    input === undefined ? undefined : message;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

const UNITS: Readonly<Record<string, string>> = {
  string: ' characters long',
  array: ' elements long',
};

/** The error map of every check of a request. The messages of a schema take precedence. */
export function plainMessage(issue: Issue): string {
  if (issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return typeMessage(issue.expected, issue.input);
    case 'invalid_value':
      return `must be ${listed(issue.values.map(String))}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    case 'invalid_format':
      return 'has the wrong format';
    default:
      return 'is not one of the documented forms';
  }
}

function typeMessage(expected: string, input: unknown): string {
  if (expected === 'undefined') return 'must be absent';
  if (expected === 'string' && Array.isArray(input)) return 'must be one text, not several';
  return `must be ${TYPES[expected] ?? expected}`;
}

/** `A, B or C`. */
function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${last}` : last;
}
