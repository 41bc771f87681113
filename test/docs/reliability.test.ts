import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  appendToLog,
  readLog,
  type Worlds,
  withoutOverlaps,
  worldsSchema,
} from '../../scripts/campaign-log.ts';
import { RELIABILITY_PAGE, reliabilityPage } from '../../worlds/write-reliability.ts';

const page = readFileSync(RELIABILITY_PAGE, 'utf8');

test('docs/reliability.md equals the output of npm run generate', () => {
  expect(page).toBe(reliabilityPage(page));
});

test('worlds of several campaigns add up, and overlapping seeds of the same code count once', () => {
  const logs = mkdtempSync(join(tmpdir(), 'payouts-campaigns-'));
  onTestFinished(() => rmSync(logs, { recursive: true }));
  const file = join(logs, 'worlds.json');
  const entries = [
    worlds('a', 'x', { from: 1, seeds: 100 }),
    worlds('a', 'x', { from: 51, seeds: 1_000, failedSeeds: [60] }),
    worlds('b', 'y', { from: 1, seeds: 100 }),
    worlds('b', 'y', { from: 101, seeds: 100 }),
  ];
  for (const entry of entries) appendToLog(file, worldsSchema, entry);
  expect(readLog(file, worldsSchema)).toEqual(entries);
  expect(withoutOverlaps(entries)).toEqual(entries.slice(1));
  const text = reliabilityPage(page, logs).replaceAll(/ +/g, ' ');
  expect(text).toContain('| all | 1,200 | 1 |');
  expect(text).toContain('| newest product code | 200 | 0 |');
  expect(text).toContain('| `aaaaaaaa`, 2027-01-01, 51–1050 | 1,000 | 1 |');
  expect(text).toContain('| `bbbbbbbb`, 2027-01-01, 1–200 | 200 | 0 |');
  expect(text).toContain('| `aaaaaaaa` | 60 |');
  expect(text).toContain('### Chaos\n\nNo campaign is recorded.');
});

function worlds(letter: string, product: string, more: Partial<Worlds>): Worlds {
  const hash = letter.repeat(40);
  return {
    ...{ commit: hash, trees: { src: hash }, product, date: '2027-01-01', node: 'v24.0.0' },
    ...{ from: 1, seeds: 1, wallSeconds: 1, failedSeeds: [], outcomes: {}, payouts: 1, runs: 1 },
    ...{ processFaults: 0, faultsHit: 0, calls: 0, activations: 0, replays: 0, events: 0 },
    ...{ virtualHours: 0, cpuSeconds: 0 },
    ...more,
  };
}
