import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withLock } from '../../scripts/setup/lock.mjs';
import { PATIENT } from '../support/patience.ts';
import { temporaryFolder } from './fakes.ts';

describe('file lock', () => {
  test('sections under the same lock never overlap', async () => {
    const file = join(temporaryFolder(), 'lock');
    let inside = 0;
    let most = 0;
    const once = () =>
      withLock(file, { pollMs: 1 }, async () => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
      });
    await Promise.all(Array.from({ length: 8 }, once));
    expect(most).toBe(1);
    expect(existsSync(file)).toBe(false);
  });

  test('a failure releases the lock', async () => {
    const file = join(temporaryFolder(), 'lock');
    await expect(withLock(file, {}, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await withLock(file, {}, async () => 'done')).toBe('done');
  });

  test('the lock of a dead process is taken over', async () => {
    const file = join(temporaryFolder(), 'lock');
    const { pid } = spawnSync(process.execPath, ['--version']);
    writeFileSync(file, `${pid}@${hostname()}`);
    expect(await withLock(file, { pollMs: 1 }, async () => 'done')).toBe('done');
  });

  test('a waiting process prints one message', async () => {
    const file = join(temporaryFolder(), 'lock');
    const told: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = withLock(file, {}, () => held);
    const second = withLock(file, { pollMs: 1, onWait: (holder) => told.push(holder) }, async () => {});
    await expect.poll(() => told, PATIENT).toHaveLength(1);
    release();
    await Promise.all([first, second]);
    expect(told).toEqual([`${process.pid}@${hostname()}`]);
  });
});
