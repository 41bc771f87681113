import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** Each folder may import from those before it, types included. */
const LAYERS = [
  'deploy',
  ...[
    'src/contract',
    'src/domain',
    'src/runtime',
    'src/observability',
    'src/pages',
    'src/encryption',
    'src/payments',
    'src/webhooks',
    'src/config',
    'src/temporal',
    'src/client',
    'src/service',
    'src/nexus',
    'src/activities',
    'src/workflows',
    'src/workers',
    'src/codec-server',
    'src/batch-file',
    'src/http',
    'src/desk',
    'src/starters',
  ],
  ...['simulator', 'scripts', 'worlds', 'bench', 'chaos', 'fuzz', 'demo', 'examples', 'test/support', 'test'],
];
const IMPORTED = /^(?:import|export)\s[^;]*?from '(\.[^']+)'|import\('(\.[^']+)'\)|^import '(\.[^']+)'/gm;

/** The files that each file of the repository imports. */
const imports = new Map(
  [...new Set(LAYERS.map((layer) => layer.split('/')[0] ?? ''))]
    .flatMap((top) =>
      readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' }).map((file) => join(top, file)),
    )
    .filter((file) => /\.m?ts$|\.mjs$/.test(file) && !file.includes('node_modules'))
    .map((file) => [file, importsOf(file)]),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(IMPORTED)].map(([, from, lazy, bare]) =>
    join(dirname(file), from ?? lazy ?? bare ?? ''),
  );
}

/** The innermost layer of the file; -1 if it has none. */
function layerOf(file: string): number {
  const [top = '', folder = ''] = file.split('/');
  const inner = LAYERS.indexOf(`${top}/${folder}`);
  return inner >= 0 ? inner : LAYERS.indexOf(top);
}

/** The files of a cycle in import order; undefined if there is none. */
function cycle(): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) return path.slice(path.indexOf(file));
    if (done.has(file)) return undefined;
    path.push(file);
    for (const next of imports.get(file) ?? []) {
      const found = visit(next);
      if (found) return found;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const found = visit(file);
    if (found) return found;
  }
  return undefined;
}

describe('imports of the repository', () => {
  test('every imported file exists', () => {
    const missing = [...imports].flatMap(([file, all]) =>
      all.filter((one) => !imports.has(one)).map((one) => `${file}: ${one}`),
    );
    expect(missing.filter((one) => !one.endsWith('package.json'))).toEqual([]);
    expect(imports.size).toBeGreaterThan(800);
  });

  test('every file belongs to a layer, and every layer has files', () => {
    expect([...imports.keys()].filter((file) => layerOf(file) === -1)).toEqual([]);
    expect(LAYERS.filter((_, layer) => ![...imports.keys()].some((file) => layerOf(file) === layer))).toEqual(
      [],
    );
  });

  test('no import goes up', () => {
    const up = [...imports].flatMap(([file, all]) =>
      all.filter((one) => layerOf(one) > layerOf(file)).map((one) => `${file} imports ${one}`),
    );
    expect(up).toEqual([]);
  });

  test('there are no cycles', () => {
    expect(cycle()).toBeUndefined();
  });
});
