/** The benchmark itself at a small size: three applications in three processes, and load on the API server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { figuresSchema, figuresText } from '../../bench/figures.ts';
import { tables } from '../../bench/plots/table.ts';

const ROOT = join(import.meta.dirname, '../..');
const about = { measuredAt: '2026-01-01T00:00:00.000Z', node: 'v20', engine: 'e', machine: 'm', scale: 1 };
const waiting = { openPayouts: 1, workerRss: 2, workerRssAfterResume: 3, resumeAll: 4, resumeWorkerReady: 5 };

/** It starts nine processes, which alone takes long on a busy machine. */
const LIMIT_MS = 900_000;

const running: ChildProcess[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payouts-bench-test-'));
});
afterEach(async () => {
  for (const one of running.splice(0)) {
    if (one.exitCode !== null) continue;
    one.kill('SIGTERM');
    await once(one, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

function bench(...args: string[]) {
  const one = spawn(process.execPath, ['--import', 'tsx', join(ROOT, 'bench/main.ts'), ...args], {
    cwd: ROOT,
    env: process.env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  running.push(one);
  return one;
}

test(
  'a small benchmark pays everything once, and keeps the figures of parts that it did not measure',
  async () => {
    const file = join(folder, 'figures.json');
    writeFileSync(file, figuresText({ waiting: { ...about, ...waiting, settings: {} } }));
    const [code] = await once(bench('--only', 'apps', '--scale', '0.1', '--json', file), 'exit');
    expect(code).toBe(0);
    const figures = figuresSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    const { apps } = figures;
    if (!apps) throw new Error('the part was not written');
    expect(Object.keys(apps.utilisation)).toEqual(['north', 'east', 'south']);
    // The number depends on the machine: arrivals are counted, and several may be late at the same time.
    expect(Object.keys(apps.answered429)).toEqual(Object.keys(apps.utilisation));
    expect(Object.keys(apps.maxCallsInAnySecond)).toEqual(Object.keys(apps.utilisation));
    expect(apps).toMatchObject({ paidOnce: 30, paidTwice: 0, scale: 0.1, node: process.version });
    expect(apps.engine).toMatch(/dev server [\d.]+, SQLite file/);
    expect(figures.waiting).toMatchObject(waiting);
  },
  LIMIT_MS,
);

test(
  'a small load test measures the API server alone and beside a flood, which gets nothing',
  async () => {
    const file = join(folder, 'figures.json');
    const [code] = await once(bench('--only', 'api', '--scale', '0.02', '--json', file), 'exit');
    expect(code).toBe(0);
    const { api } = figuresSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    if (!api) throw new Error('the part was not written');
    for (const one of [api.starts, api.reads, api.notifications])
      for (const run of [one, one.flooded, one.ratio]) {
        expect(run.perSecond).toBeGreaterThan(0);
        expect(run.p99).toBeGreaterThan(0);
        expect(run.rss).toBeGreaterThan(0);
      }
    expect(api.settings).toMatchObject({ payouts: 20, rounds: 1 });
    // 429 only if the machine sends junk faster than the limits.
    expect(['400,401', '400,401,429']).toContain(Object.keys(api.junkAnswers).join());
    expect(tables({ api })).toContain('GET');
  },
  LIMIT_MS,
);
