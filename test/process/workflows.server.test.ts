/** The workflows of GitHub: actionlint knows their schema, their expressions, and the inputs of most of their actions. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findActionlint } from '../../scripts/setup/go-programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, '.github/workflows');

/** Without shellcheck, which not every machine has. */
async function problemsOf(workflow: string): Promise<string> {
  const options = { cwd: ROOT, input: workflow, encoding: 'utf8' } as const;
  const { stdout, stderr } = spawnSync(await findActionlint(), ['-shellcheck=', '-oneline', '-'], options);
  return stdout + stderr;
}

test.each(readdirSync(FOLDER))('%s is valid, and names the version of each action', async (file) => {
  const workflow = readFileSync(join(FOLDER, file), 'utf8');
  expect(await problemsOf(workflow)).toBe('');
  const used = [...workflow.matchAll(/uses: (?!\.\/)(\S+)/g)].map(([, action]) => action);
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w/-]+@(v\d+|[\da-f]{40})$/);
});

test('a misspelled input and an unknown output are found', async () => {
  const workflow = readFileSync(join(FOLDER, 'release.yml'), 'utf8');
  expect(await problemsOf(workflow.replace('sbom: true', 'sbomm: true'))).toContain('"sbomm"');
  expect(await problemsOf(workflow.replace('outputs.digest', 'outputs.digst'))).toContain('"digst"');
});
