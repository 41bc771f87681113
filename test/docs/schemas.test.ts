import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SCHEMAS_FOLDER, schemaFiles } from '../../scripts/write-schemas.ts';

test('schemas/ equals the output of npm run generate', () => {
  const fresh = schemaFiles();
  expect(readdirSync(SCHEMAS_FOLDER).sort()).toEqual(Object.keys(fresh).sort());
  for (const [name, schema] of Object.entries(fresh)) {
    const written: unknown = JSON.parse(readFileSync(join(SCHEMAS_FOLDER, name), 'utf8'));
    expect(written).toEqual(JSON.parse(JSON.stringify(schema)));
  }
});
