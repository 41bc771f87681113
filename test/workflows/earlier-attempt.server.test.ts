/** A create activity that cannot tell whether an earlier attempt has sent, on the real server: workers with activities of their own. */
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { preparation } from '../../src/activities/shared/preparation.ts';
import type { ProviderActivities } from '../../src/activities/shared/provider-activities.ts';
import { workerConfig } from '../../src/config/config.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { FIXED_LOOKS, NEVER_RESET } from '../support/fixed-looks.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { NO_POLLS } from '../support/test-world.ts';

/** The confirmation window is over when the first answer comes. */
const NO_WINDOW = { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '3s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' };

describe('H6 a create that an earlier attempt of its activity may have sent', () => {
  let world: PayoutWorld;
  let stopWorkers: () => Promise<unknown>;

  /** Workers whose provider quotes, knows no order, and does not say whether the create was sent. */
  beforeAll(async () => {
    world = await PayoutWorld.start({ idle: true, env: NO_WINDOW });
    const config = workerConfig(world.workerEnvironment);
    const money = (currency: string, amount: string) => ({ currency, amount });
    const prepared = preparation(config, FIXED_LOOKS, NEVER_RESET, PROCESS_RUNTIME);
    const provider: Partial<ProviderActivities> = {
      beginPayout: async (...start) => {
        const begun = await prepared.preparePayout(...start);
        const { originCurrency, targetCurrency, instructedAmount } = begun.request;
        const [pay, fee] = [money(originCurrency, '14.00'), money(originCurrency, '0.10')];
        const terms = { lockRateId: 'lock', exchangeRate: '7.14', pay, fee, target: instructedAmount };
        const quote = { ...terms, originCurrency, targetCurrency, available: pay };
        return {
          prepared: begun,
          quote: { kind: 'quote', quote, sentAtMs: Date.now(), answeredWithinMs: 1 },
        };
      },
      createPayout: async () => ({ kind: 'not-sent', cause: 'may-have-been-sent' }),
      confirmOrder: async () => ({
        exists: false,
        isPairKnown: true,
        mayRepeat: false,
        earlierSend: false,
        hasOutcome: false,
        runId: '',
      }),
    };
    const common = { connection: world.native, namespace: world.namespace };
    const workers = [
      await Worker.create({
        ...{ ...common, taskQueue: PAYOUTS_TASK_QUEUE },
        workflowBundle: { codePath: inject('workflowBundle') },
        activities: prepared,
      }),
      await Worker.create({ ...common, taskQueue: apiTaskQueue('test', 'default'), activities: provider }),
    ];
    const done = Promise.all(workers.map((worker) => worker.run()));
    stopWorkers = () => {
      for (const worker of workers) worker.shutdown();
      return done;
    };
  });
  afterAll(async () => {
    await stopWorkers();
    await world.stop();
  });

  test('H322 counts as a send, and the evidence does not say that this one was sent', async () => {
    const ref = await world.pay('success');
    expect(await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW')).toMatchObject({ sends: 1 });
    const { steps } = await world.payouts.timeline(ref);
    const [sent] = steps.filter(({ isEvidence }) => isEvidence);
    expect(sent).toMatchObject({ what: 'Order not sent', detail: 'An earlier attempt may have sent it.' });
  });
});
