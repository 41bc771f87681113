import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readme } from '../../scripts/pack-client.ts';
import { projectRoot } from '../../scripts/setup/process.mjs';

test("the links of the client package's README lead to files of the repository", () => {
  const links = [...readme().matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path]) => path ?? '');
  expect(links).toContain('docs/http.md');
  expect(links.filter((path) => !existsSync(join(projectRoot, path)))).toEqual([]);
});
