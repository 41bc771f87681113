/**
 * `CLOCK_CAMPAIGN_SECONDS=120 npx vitest run test/process/kills-and-queries.full.test.ts` runs the whole campaign, and repeats it
 * without the stale-clock guard: then workflows get stuck.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { bundleOptions } from '../../src/workers/workflow-bundle.ts';
import { campaign } from '../support/clock/campaign.ts';

const WHOLE = process.env['CLOCK_CAMPAIGN_SECONDS'];
const killForMs = Number(WHOLE ?? 30) * 1_000;
const payouts = WHOLE ? 24 : 12;
const limitMs = killForMs + 600_000;

test(
  'H52 workers are killed while every workflow is queried twice a second: no task fails, all replay, all end',
  async () => {
    const report = await campaign({ codePath: inject('workflowBundle'), killForMs, payouts });
    console.log(report);
    const { outcomes, workflows, failedTasks, notReplaying, wronglyPaid, givenUp, kills } = report;
    expect({ outcomes, failedTasks, notReplaying, wronglyPaid, givenUp }).toEqual({
      outcomes: { SUCCESS: payouts + 8 },
      failedTasks: {},
      notReplaying: [],
      wronglyPaid: [],
      givenUp: 0,
    });
    expect(kills).toBeGreaterThan(1);
    const types = ['payout', 'payoutBatch', 'payoutFollowUp', 'tokenRenewal', 'rateLimitLease'];
    expect(Object.keys(workflows)).toEqual(expect.arrayContaining(types));
  },
  limitMs,
);

test.runIf(WHOLE)(
  'H52 the same without the stale-clock guard gives histories that do not replay',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'payouts-unguarded-'));
    const codePath = join(folder, 'workflows.js');
    const logger = new DefaultLogger('WARN');
    const { code } = await bundleWorkflowCode({ ...bundleOptions(), workflowInterceptorModules: [], logger });
    writeFileSync(codePath, code);
    try {
      const report = await campaign({ codePath, killForMs, payouts });
      console.log(report);
      expect(report.notReplaying.length).toBeGreaterThan(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  limitMs,
);
