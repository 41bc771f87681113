import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './fakes.ts';

const RUN = join(import.meta.dirname, '../../scripts/run.mjs');

test('offline, without Go and without a binary, the demo lists the alternatives and exits 1', () => {
  const folder = temporaryFolder();
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, 'demo/main.ts'], {
    encoding: 'utf8',
    // A proxy without a listener simulates a network without a route.
    env: {
      PATH: join(folder, 'empty'),
      HOME: folder,
      DURABLE_PAYOUTS_CACHE: join(folder, 'cache'),
      HTTPS_PROXY: 'http://127.0.0.1:1',
      https_proxy: 'http://127.0.0.1:1',
    },
  });
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toContain('No Temporal CLI was found, and none could be installed');
  expect(stderr).not.toContain('    at ');
});
