import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

test('the command of docs/temporal-cloud.md registers the search attributes of the workers', () => {
  const registered = [...read('docs/temporal-cloud.md').matchAll(/--sa "(\w+)=(\w+)"/g)];
  expect(Object.fromEntries(registered.map(([, name, type]) => [name, type]))).toEqual(SEARCH_ATTRIBUTES);
});

test('the Terraform example registers the same', () => {
  const given = [...read('deploy/temporal-cloud/main.tf').matchAll(/^ {4}(Payout\w+)\s+= "(\w+)"$/gm)];
  const types: Record<string, string> = {
    Keyword: 'keyword',
    Bool: 'bool',
    KeywordList: 'keyword_list',
    Datetime: 'datetime',
  };
  const expected = Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, types[type]]);
  expect(Object.fromEntries(given.map(([, name, type]) => [name, type]))).toEqual(
    Object.fromEntries(expected),
  );
});
