/** A simulation can reproduce only code that reads time and randomness in one place. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const OWN = 'src/runtime/process.ts';

/** What a worker process loads and does not run in the workflow sandbox, which has its own clock. */
const SANDBOXED = /^src\/(workflows|domain)\//;

/** Files that may read the process's time nevertheless. */
const ALLOWED = new Map([
  [OWN, 'is the one place'],
  ['src/client/checked-batch.ts', 'lets the process do other work between the rows of a batch'],
  ['src/client/steering.ts', 'limits a wait for an end, which no worker makes'],
]);
/** Where a process is assembled, or a library that callers construct themselves. */
const ASSEMBLERS = [
  ...['src/workers/main.ts', 'src/temporal/connection.ts'],
  ...['src/client/events.ts', 'src/client/shared-reads.ts', 'src/client/steering.ts'],
];

const FOLDERS = ['activities', 'encryption', 'observability', 'payments', 'runtime', 'temporal', 'workers'];
const listed = FOLDERS.flatMap((folder) => filesIn(join('src', folder)));
const loaded = [...new Set([...listed, ...loadedBy('src/workers/main.ts')])]
  .filter((file) => !SANDBOXED.test(file))
  .sort();

test('the checked files are those of a worker process', () => {
  for (const file of [
    'src/activities/payout/create-payout.ts',
    'src/payments/http-transport.ts',
    'src/temporal/decisive-run.ts',
    'src/workers/rate-limit/limiter.ts',
    'src/workers/tokens/token-renewals.ts',
  ])
    expect(loaded).toContain(file);
  for (const file of ALLOWED.keys()) expect(loaded).toContain(file);
});

describe('reads no clock, timer or randomness directly:', () => {
  test.each(loaded.filter((file) => !ALLOWED.has(file)))('%s', (file) => {
    expect(readsOf(textOf(file))).toEqual([]);
  });

  test.each([...ALLOWED])('%s is an exception: it %s', (file) => {
    expect(readsOf(textOf(file))).not.toEqual([]);
  });

  test.each([
    'const now = Date.now();',
    'const now = new Date();',
    'const now = Date();',
    'const started = performance.now();',
    "import { performance } from 'node:perf_hooks';",
    "import { setTimeout as sleep } from 'node:timers/promises';",
    "import { setTimeout } from 'timers';",
    'const timer = setTimeout(run, 10);',
    'setImmediate(run);',
    'const timer = setInterval(run, 10);',
    'globalThis.setTimeout(run, 10);',
    'const spread = Math.random();',
    'const { random } = Math;',
    'const { now } = Date;',
    "import { activityInfo, sleep } from '@temporalio/activity';",
    'const call = AbortSignal.timeout(10);',
    "import { createHash, randomUUID } from 'node:crypto';",
    "import {\n  createHash,\n  randomBytes,\n} from 'node:crypto';",
    "import * as crypto from 'node:crypto';",
    'const id = crypto.randomUUID();',
    'const bytes = crypto.getRandomValues(new Uint8Array(12));',
    'const started = process.hrtime.bigint();',
    'const up = process.uptime();',
  ])('finds the read in %j', (text) => expect(readsOf(text)).not.toEqual([]));

  test.each([
    'const at = new Date(closedAfterMs).toISOString();',
    'const at = Date.parse(text);',
    'const now = clock.nowMs();',
    'const spread = random.number();',
    '/** On the clock of `performance.now()`. */',
    '// Better than setTimeout(run, 10).',
    "import { createCipheriv, createHash } from 'node:crypto';",
    'const stop = clock.after(10, run);',
  ])('finds nothing in %j', (text) => expect(readsOf(text)).toEqual([]));
});

test('only code that assembles a process uses the process runtime', () => {
  expect(loaded.filter((file) => valuesFrom(file).includes(OWN))).toEqual([...ASSEMBLERS].sort());
});

describe('the simulator, which a simulation also runs,', () => {
  const own = 'simulator/runtime.ts';
  const files = filesIn('simulator');

  test('imports nothing from src', () => {
    expect(files.flatMap(valuesFrom).filter((file) => file.startsWith('src/'))).toEqual([]);
  });

  test('uses the process runtime only where it is assembled', () => {
    const taking = files.filter((file) => textOf(file).includes('PROCESS_RUNTIME'));
    expect(taking.sort()).toEqual([own, 'simulator/start.ts']);
    expect(readsOf(textOf(own))).not.toEqual([]);
  });

  test.each(files.filter((file) => file !== own))('reads no clock, timer or randomness in %s', (file) => {
    expect(readsOf(textOf(file))).toEqual([]);
  });
});

test('workflow code cannot import the runtime of its worker', () => {
  const sandboxed = [...loadedBy('src/workflows/index.ts')];
  expect(sandboxed).toContain('src/workflows/payout/run.ts');
  expect(sandboxed.filter((file) => file.startsWith('src/runtime/'))).toEqual([]);
});

const READS = [
  /\bDate\.now\b/,
  /\bnew Date\(\s*\)/,
  /(?<!new )(?<![\w.])Date\(/,
  /\bperformance\b/,
  /\bset(Timeout|Interval|Immediate)\b/,
  /['"](node:)?(timers|timers\/promises|perf_hooks)['"]/,
  /\bAbortSignal\.timeout\b/,
  /\bMath\.random\b|\} = (Math|Date)\b/,
  /\bsleep\b[^;]* from '@temporalio\/activity'/,
  /\brandom(UUID|Bytes|Int|Fill|FillSync)\b/,
  /\bgetRandomValues\b/,
  /\bimport (\* as )?\w+ from ['"](node:)?crypto['"]/,
  /\bprocess\.(hrtime|uptime)\b/,
];

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

/** The patterns that match outside of comments. */
function readsOf(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');
  return READS.filter((pattern) => pattern.test(code)).map(({ source }) => source);
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The project files from which this one imports values. */
function valuesFrom(file: string): string[] {
  const imports = textOf(file).matchAll(/^(?:import|export) (?!type\b)(?:[^;]*? from )?'(\.[^']+)';/gms);
  return [...imports].map(([, from = '']) => relative(ROOT, normalize(join(ROOT, dirname(file), from))));
}

function loadedBy(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const one of valuesFrom(file)) loadedBy(one, found);
  return found;
}
