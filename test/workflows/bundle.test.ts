import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleWorkflows } from '../../src/workers/workflow-bundle.ts';

describe('workflow code is deterministic by construction', () => {
  let modules: string[];
  let code: string;

  beforeAll(async () => {
    ({ code } = await bundleWorkflows());
    const map =
      /sourceMappingURL=data:application\/json;charset=utf-8;base64,([\w+/=]+)\s*$/.exec(code)?.[1] ?? '';
    const parsed: unknown = JSON.parse(Buffer.from(map, 'base64').toString('utf8'));
    modules = sourcesOf(parsed);
  });

  test('the bundle is the one that is looked at', () => {
    expect(modules.some((name) => name.endsWith('src/workflows/payout.ts'))).toBe(true);
    expect(modules.some((name) => name.includes('@temporalio/workflow'))).toBe(true);
  });

  test.each(['zod', 'undici', 'lossless-json', 'fastify'])('%s is not in it', (library) => {
    expect(modules.filter((name) => name.includes(`node_modules/${library}/`))).toEqual([]);
  });

  test('no activity, client, worker or starter of ours is in it', () => {
    const ours = modules.filter((name) => /\/src\/[a-z]+\//.test(name) && !name.includes('node_modules'));
    // The failure converter runs in the sandbox too; it imports nothing of ours.
    const allowed = /\/src\/(workflows\/|domain\/|encryption\/failure-converter\.ts)/;
    const elsewhere = ours.filter((name) => !allowed.test(name));
    expect(elsewhere).toEqual([]);
  });

  test('it stays small, for every cached workflow holds a copy of its state', () => {
    expect(code.length).toBeLessThan(2_500_000);
  });
});

describe('workflow and domain files import only what may be in the sandbox', () => {
  const root = join(import.meta.dirname, '../../src');
  const files = ['workflows', 'domain'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  test.each(files)('%s', (file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const values = [...text.matchAll(/^(?:import|export) (?!type\b)[^;]*? from '([^']+)';/gms)].map(
      ([, from]) => from ?? '',
    );
    const allowed = file.startsWith('domain')
      ? /^\.\/[a-z-]+\.ts$/
      : /^(@temporalio\/(workflow|common)|\.{1,2}\/.*\.ts)$/;
    expect(values.filter((from) => !allowed.test(from))).toEqual([]);
    expect(text).not.toMatch(/\bprocess\.|\brequire\(|from 'node:/);
  });
});

function sourcesOf(map: unknown): string[] {
  if (typeof map !== 'object' || map === null || !('sources' in map) || !Array.isArray(map.sources))
    return [];
  return map.sources.filter((name): name is string => typeof name === 'string');
}
