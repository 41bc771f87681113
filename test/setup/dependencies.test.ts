import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { missingPlatformPackages, unhashed } from '../../scripts/complete-lock.ts';
import { checkNode, dependenciesMatch } from '../../scripts/setup/dependencies.mjs';
import { temporaryFolder } from './fakes.ts';

const LOCKED = {
  '': { name: 'project' },
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/b': { version: '2.0.0', integrity: 'sha512-b', dev: true },
  'node_modules/other-os': { version: '1.0.0', integrity: 'sha512-o', optional: true },
};
const { 'node_modules/other-os': _, '': __, ...INSTALLED } = LOCKED;

function project(installed: object | undefined): string {
  const root = temporaryFolder();
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: LOCKED }));
  if (installed === undefined) return root;
  mkdirSync(join(root, 'node_modules'));
  writeFileSync(join(root, 'node_modules', '.package-lock.json'), JSON.stringify({ packages: installed }));
  return root;
}

describe('installed npm packages', () => {
  test("are complete when everything except other platforms' packages matches the lock file", () => {
    expect(dependenciesMatch(project(INSTALLED))).toBe(true);
  });

  test.each([
    ['nothing was installed', undefined],
    ['a package is missing', { ...INSTALLED, 'node_modules/a': undefined }],
    ['a version differs', { ...INSTALLED, 'node_modules/a': { version: '1.0.1', integrity: 'sha512-a' } }],
    ['a content differs', { ...INSTALLED, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-x' } }],
  ])('are incomplete when %s', (_what, installed) => {
    expect(dependenciesMatch(project(installed))).toBe(false);
  });

  test('may lack development dependencies in a production image', () => {
    const root = project({ 'node_modules/a': LOCKED['node_modules/a'] });
    expect(dependenciesMatch(root, true)).toBe(true);
    expect(dependenciesMatch(root, false)).toBe(false);
  });
});

describe('the lock file', () => {
  const read = () => JSON.parse(readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'));

  test('contains the packages of every platform, which npm ci requires (run scripts/complete-lock.ts)', () => {
    expect(Object.keys(missingPlatformPackages(read().packages))).toEqual([]);
  });

  test('H284 has a hash for the content of every package, those of other platforms included', () => {
    const { packages } = read();
    expect(unhashed(packages)).toEqual([]);
    for (const entry of [
      { version: '1.0.0' },
      { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
    ])
      expect(unhashed({ '': {}, 'node_modules/a': entry })).toEqual([['node_modules/a', entry]]);
  });

  test('a missing package of another platform is found', () => {
    const parent = { version: '1.0.0', dev: true, optionalDependencies: { '@x/cli-darwin-arm64': '1.0.0' } };
    expect(missingPlatformPackages({ 'node_modules/x': parent })).toEqual({
      'node_modules/@x/cli-darwin-arm64': {
        version: '1.0.0',
        cpu: ['arm64'],
        dev: true,
        optional: true,
        os: ['darwin'],
      },
    });
  });

  test('names no registry of the machine where it was written', () => {
    expect(JSON.stringify(read())).not.toContain('"resolved"');
  });
});

describe('the required Node version', () => {
  test.each(['20.19.0', '20.20.2', '22.12.0', '24.11.1', '25.0.0'])('accepts %s', (version) => {
    expect(() => checkNode(version)).not.toThrow();
  });

  test.each(['18.20.8', '20.18.3', '21.7.3', '22.11.0', '23.11.1'])('rejects %s with advice', (version) => {
    expect(() => checkNode(version)).toThrow(
      `needs Node 20.19+, 22.12+, or 24 and newer; this is Node ${version}`,
    );
  });
});
