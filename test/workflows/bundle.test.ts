import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleWorkflows } from '../../src/workers/workflow-bundle.ts';

describe('workflow code is deterministic by construction', () => {
  let modules: string[];
  let code: string;

  beforeAll(async () => {
    const bundle = await bundleWorkflows();
    const [comment = '', map = ''] =
      /\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,([\w+/=]+)\s*$/.exec(bundle.code) ??
      [];
    // The map has the comments of the sources, and the path of the checkout for each of them.
    code = bundle.code.slice(0, bundle.code.length - comment.length);
    const parsed: unknown = JSON.parse(Buffer.from(map, 'base64').toString('utf8'));
    modules = sourcesOf(parsed);
  });

  test('the bundle is the inspected one', () => {
    expect(modules.some((name) => name.endsWith('src/workflows/payout/payout.ts'))).toBe(true);
    expect(modules.some((name) => name.includes('@temporalio/workflow'))).toBe(true);
  });

  test.each(['zod', 'undici', 'lossless-json', 'fastify'])('does not contain %s', (library) => {
    expect(modules.filter((name) => name.includes(`node_modules/${library}/`))).toEqual([]);
  });

  test('contains no activity, client, worker or starter', () => {
    const ours = modules.filter((name) => /\/src\/[a-z]+\//.test(name) && !name.includes('node_modules'));
    // The failure converter runs in the sandbox too, and imports no other file of ours.
    const allowed =
      /\/src\/(workflows\/|domain\/|contract\/(attention-codes|codes|compact|failures|ids|memo|money|workflows)\.ts|encryption\/failure-converter\.ts|observability\/trace\.ts)/;
    const elsewhere = ours.filter((name) => !allowed.test(name));
    expect(elsewhere).toEqual([]);
  });

  test('stays small, because every worker loads it at startup', () => {
    expect(code.length).toBeLessThan(1_200_000);
  });

  test('workflows share their modules, which would otherwise take a hundred KiB each', () => {
    const [, preloaded = ''] = /function preloadModules\(\) \{([^}]*)\}/.exec(code) ?? [];
    expect(preloaded).toContain('src/workflows/index.ts');
  });
});

describe('workflow and domain files import only sandboxed code', () => {
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
      ? /^\.(\.\/contract)?\/[a-z-]+\.ts$/
      : /^(@temporalio\/(workflow|common)|\.{1,2}\/.*\.ts)$/;
    expect(values.filter((from) => !allowed.test(from))).toEqual([]);
    expect(text).not.toMatch(/from 'node:/);
  });

  test.each(files)('%s uses no global that only Node has', (file) => {
    expect(nodeGlobalsIn(readFileSync(join(root, file), 'utf8'))).toEqual([]);
  });

  test.each([
    ['setTimeout(run, 10);', 'setTimeout'],
    ['const id = crypto.randomUUID();', 'crypto'],
    ['const url = new URL(text);', 'URL'],
    ["console.log('done');", 'console'],
  ])('finds the global in %j', (text, name) => expect(nodeGlobalsIn(text)).toEqual([name]));

  test.each(files)('H157 %s calls no local activity', (file) => {
    expect(readFileSync(join(root, file), 'utf8')).not.toMatch(/local_?activit/i);
  });

  test.each(files)('%s keeps no state that one workflow could leave to another', (file) => {
    expect(keptBy(readFileSync(join(root, file), 'utf8'))).toEqual([]);
  });

  test.each([
    'let last = 0;',
    'export let last = 0;',
    'const SEEN = new Map<string, string>();',
    'const WORDS = /a/g;',
    "const KNOWN: string[] = [];\nfunction f() {\n  KNOWN.push('a');\n}",
    'export const COUNT = { calls: 0 };\nfunction f() {\n  COUNT.calls += 1;\n}',
    'const LAST: string[] = [];\nfunction f() {\n  LAST[0] = 1;\n}',
    'class Life {\n  static last = 0;\n}',
  ])('finds the state in %j', (text) => expect(keptBy(text)).toHaveLength(1));
});

/** A fresh context has the globals of the language only. */
const LANGUAGE: unknown = runInNewContext('Object.getOwnPropertyNames(globalThis)');
const NODE_ONLY = [...Object.getOwnPropertyNames(globalThis), 'require'].filter(
  (name) => name === 'console' || (Array.isArray(LANGUAGE) && !LANGUAGE.includes(name)),
);

function nodeGlobalsIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '').replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
  return NODE_ONLY.filter((name) => new RegExp(`(?<![.\\w$])${name}(?=[.(])`).test(code));
}

/** Workflows of a process share their modules: returns what could change in them. */
function keptBy(text: string): string[] {
  const variables = text.match(/^(export )?(let|var) .*$|^ {2}static (?!readonly\b).* = .*$/gm) ?? [];
  const containers =
    text.match(/^(export )?const \w+[^=\n]*= (new (Weak)?(Map|Set)\b.*|\/.*\/[a-z]*[gy][a-z]*;)$/gm) ?? [];
  const names = [...text.matchAll(/^(?:export )?const (\w+)/gm)].map(([, name = '']) => name);
  const changed = names.filter((name) =>
    new RegExp(
      `\\b${name}(\\.\\w+|\\[[^\\]]*\\])+ *(=[^=>]|[-+*/|&?]{1,2}=|\\+\\+|--)|` +
        `\\b${name}(\\.\\w+)*\\.(push|pop|shift|unshift|splice|sort|reverse|fill|set|add|delete|clear)\\(`,
    ).test(text),
  );
  return [...variables, ...containers, ...changed];
}

function sourcesOf(map: unknown): string[] {
  if (typeof map !== 'object' || map === null || !('sources' in map) || !Array.isArray(map.sources))
    return [];
  return map.sources.filter((name): name is string => typeof name === 'string');
}
