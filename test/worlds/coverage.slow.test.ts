import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, test } from 'vitest';
import { HAZARDS } from '../../worlds/coverage/hazards.ts';
import { Tally } from '../../worlds/coverage/tally.ts';
import { runSeed } from '../../worlds/payouts/run-seed.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

const ROWS = readFileSync(join(import.meta.dirname, '../../docs/hazards.md'), 'utf8');

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test('every counted hazard is a row of docs/hazards.md', () => {
  for (const id of Object.keys(HAZARDS)) expect(ROWS).toMatch(new RegExp(`^\\| ${id} `, 'm'));
});

test('worlds report the faults and hazards that they met', async () => {
  const { faults, hazards } = await runSeed(workflows, 1, { coverage: true });
  expect(faults).toEqual(expect.arrayContaining([expect.stringMatching(/^order: /)]));
  expect(hazards.length).toBeGreaterThan(0);
});

test('counts faults by world, and pairs of faults when one world met both', () => {
  const tally = new Tally();
  tally.add({ faults: ['kill', 'freeze'], hazards: ['H1'] });
  tally.add({ faults: ['kill', 'restore'], hazards: ['H1', 'H53'] });
  const [counted, never, faults, pairs] = tally.summaryLines();
  expect(counted).toMatch(/H53 1, H1 2$/);
  expect(never).toContain('H52');
  expect(faults).toMatch(/^3 faults; .*kill 2/);
  expect(pairs).toMatch(/^2 of 3 pairs/);
});
