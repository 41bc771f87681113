import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SetupError } from '../../scripts/setup/process.mjs';
import { findTemporalCli } from '../../scripts/setup/temporal-cli.ts';
import { CLI_VERSION_OUTPUT, fakeProgram, listener, temporaryFolder } from './fakes.ts';

/** The three places where a CLI may already be, in order of preference. */
function places() {
  const folder = temporaryFolder();
  const env = { PATH: `${folder}/path:/usr/bin:/bin`, DURABLE_PAYOUTS_CACHE: `${folder}/cache` };
  const onPath = `${folder}/path/temporal`;
  const inCache = `${folder}/cache/bin/temporal`;
  return { named: `${folder}/named`, onPath, inCache, env: { ...env, TEMPORAL_CLI_PATH: `${folder}/named` } };
}

const never = () => Promise.reject(new Error('nothing was to be fetched'));

describe('a Temporal CLI that is already there', () => {
  test('TEMPORAL_CLI_PATH takes precedence', async () => {
    const { env, named, onPath, inCache } = places();
    for (const path of [named, onPath, inCache]) fakeProgram(path, CLI_VERSION_OUTPUT);
    expect(await findTemporalCli({ env, sources: [never] })).toBe(named);
  });

  test('PATH takes precedence over the cache folder', async () => {
    const { env, onPath, inCache } = places();
    for (const path of [onPath, inCache]) fakeProgram(path, CLI_VERSION_OUTPUT);
    const unnamed = { ...env, TEMPORAL_CLI_PATH: undefined };
    expect(await findTemporalCli({ env: unnamed, sources: [never] })).toBe(onPath);
  });

  test('the cache folder takes precedence over downloads and builds', async () => {
    const { env, inCache } = places();
    fakeProgram(inCache, CLI_VERSION_OUTPUT);
    const { said, say } = listener();
    expect(await findTemporalCli({ env, say, sources: [never] })).toBe(inCache);
    expect(said.join('\n')).toContain('from TEMPORAL_CLI_PATH): no such program');
  });

  test.each([
    ['that fails', CLI_VERSION_OUTPUT, 3, '--version ended with code 3'],
    ['that is another program', 'hello', 0, 'it is not the Temporal CLI'],
    [
      'whose server does not support priorities',
      'temporal version 1.0.0 (Server 1.24.2)',
      0,
      'older than 1.28',
    ],
  ])('skips a program %s, with a message', async (_what, says, code, note) => {
    const { env, named, onPath } = places();
    fakeProgram(named, says, code);
    fakeProgram(onPath, CLI_VERSION_OUTPUT);
    const { said, say } = listener();
    expect(await findTemporalCli({ env, say, sources: [never] })).toBe(onPath);
    expect(said).toEqual([expect.stringContaining(note)]);
  });
});

describe('a Temporal CLI that has to be obtained', () => {
  test('tries sources in order, and caches the result of the first one that works', async () => {
    const { env, inCache } = places();
    const asked: string[] = [];
    const sources = [
      async () => void asked.push('gives nothing'),
      async (folder: string) => {
        asked.push('gives junk');
        return fakeProgram(join(folder, 'x'), 'junk');
      },
      async (folder: string) => {
        asked.push('gives it');
        return fakeProgram(join(folder, 'y'), CLI_VERSION_OUTPUT);
      },
      never,
    ].map((source) => async (folder: string) => (await source(folder)) ?? undefined);
    const { say } = listener();
    expect(await findTemporalCli({ env, say, sources })).toBe(inCache);
    expect(asked).toEqual(['gives nothing', 'gives junk', 'gives it']);
    expect(await findTemporalCli({ env, say, sources: [never] })).toBe(inCache);
    // No partial file is left beside it.
    expect(readdirSync(join(inCache, '..'))).toEqual(['temporal']);
  });

  test('concurrent commands obtain it once', async () => {
    const { env, inCache } = places();
    let made = 0;
    const source = async (folder: string) => {
      made += 1;
      return fakeProgram(join(folder, 'temporal'), CLI_VERSION_OUTPUT);
    };
    const { say } = listener();
    const found = await Promise.all(
      Array.from({ length: 4 }, () => findTemporalCli({ env, say, sources: [source] })),
    );
    expect(found).toEqual(Array.from({ length: 4 }, () => inCache));
    expect(made).toBe(1);
  });

  test('lists every alternative in one message when no source works', async () => {
    const { env, inCache } = places();
    const { say } = listener();
    const failure = await findTemporalCli({ env, say, sources: [async () => undefined] }).catch(
      (e: unknown) => e,
    );
    expect(failure).toBeInstanceOf(SetupError);
    for (const way of ['TEMPORAL_CLI_PATH', 'PATH', inCache, 'Go', 'TEMPORAL_ADDRESS'])
      expect(String(failure)).toContain(way);
    expect(existsSync(inCache)).toBe(false);
  });
});
