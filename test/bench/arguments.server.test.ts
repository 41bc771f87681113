import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

test('rejects an unknown part and an invalid size before anything starts', () => {
  for (const args of [
    ['--only', 'budgets'],
    ['--scale', 'big'],
  ]) {
    const program = ['--import', 'tsx', join(ROOT, 'bench/main.ts')];
    const { status } = spawnSync(process.execPath, [...program, ...args], { cwd: ROOT, stdio: 'ignore' });
    expect(status).toBe(1);
  }
});
