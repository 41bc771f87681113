/** The systemd unit: systemd itself reads it, and finds nothing that it doesn't restrict. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workerShape } from '../../src/config/config.ts';
import { temporaryFolder } from '../setup/fakes.ts';

const TEXT = readFileSync(join(import.meta.dirname, '../../deploy/systemd/payouts@.service'), 'utf8');
const isAvailable = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!isAvailable) console.warn('skipped: there is no systemd-analyze');

function analyzed(unit: string, ...args: string[]): { status: number | null; output: string } {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'payouts@.service'), unit);
  const file = join(folder, 'payouts@worker.service');
  const { status, stdout, stderr } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

test.skipIf(!isAvailable)('systemd accepts the unit, and no misspelled line', () => {
  // The program is not installed here.
  const unit = TEXT.replace(/(?<=^ExecStart=)\S+/m, process.execPath);
  expect(analyzed(unit, 'verify')).toEqual({ status: 0, output: '' });
  expect(analyzed(unit.replace('ProtectSystem', 'ProtectSytem'), 'verify').output).toContain('ProtectSytem');
});

test.skipIf(!isAvailable)('its exposure is low: at most 2 of 10', () => {
  const security = ['security', '--offline=true', '--threshold=20'];
  expect(analyzed(TEXT, ...security)).toMatchObject({ status: 0 });
  expect(analyzed(TEXT.replace(/^(Protect|Restrict).*\n/gm, ''), ...security).status).not.toBe(0);
});

test('a stop takes longer than a drain', () => {
  const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(TEXT) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(workerShape.PAYOUTS_DRAIN.parse(undefined));
});
