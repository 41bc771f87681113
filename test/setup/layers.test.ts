import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
/** Each folder may import from those before it, types included. */
const LAYERS = [
  ...[
    'contract',
    'domain',
    'runtime',
    'observability',
    'pages',
    'encryption',
    'payments',
    'webhooks',
    'config',
    'temporal',
  ],
  ...['client', 'service', 'nexus', 'activities', 'workflows', 'workers', 'codec-server', 'desk', 'starters'],
];
/** The API server serves the desk, which shares its keys, limits and audit trail. */
const levelOf = (layer: string) => LAYERS.indexOf(layer === 'desk' ? 'starters' : layer);
const IMPORTED = /^(?:import|export)\s[^;]*?from '(\.[^']+)'|import\('(\.[^']+)'\)/gm;

/** The project files that each file imports. */
const imports = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, importsOf(file)]),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(IMPORTED)].map(([, from, lazy]) => join(dirname(file), from ?? lazy ?? ''));
}

function layerOf(file: string): string {
  const [layer = ''] = file.split('/');
  return layer;
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

describe('imports of src', () => {
  test('every imported file exists', () => {
    const missing = [...imports].flatMap(([file, all]) =>
      all.filter((one) => !imports.has(one)).map((one) => `${file}: ${one}`),
    );
    expect(missing.filter((one) => !one.endsWith('/package.json'))).toEqual([]);
    expect(imports.size).toBeGreaterThan(200);
  });

  test('every folder belongs to a layer', () => {
    expect([...new Set([...imports.keys()].map(layerOf))].sort()).toEqual([...LAYERS].sort());
  });

  test('no import goes up', () => {
    const up = [...imports].flatMap(([file, all]) =>
      all
        .filter((one) => levelOf(layerOf(one)) > levelOf(layerOf(file)))
        .map((one) => `${file} imports ${relative('.', one)}`),
    );
    expect(up).toEqual([]);
  });

  test('there are no cycles', () => {
    expect(cycle()).toBeUndefined();
  });
});
