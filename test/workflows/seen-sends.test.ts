/** A decision in review that names the sends that the person has seen. */
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { preparation } from '../../src/activities/shared/preparation.ts';
import type { ProviderActivities } from '../../src/activities/shared/types.ts';
import { workerConfig } from '../../src/config/config.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import type { PayoutState } from '../../src/domain/payout.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { cli } from '../support/cli.ts';
import { createsOf } from '../support/ledger.ts';
import { NO_POLLS, PayoutWorld } from '../support/payout-world.ts';

const by = 'olga';
/** The confirmation window is over when the first answer comes. */
const NO_WINDOW = { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '3s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' };
const isReviewed = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';
const isStale = { cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/^sends: .* 2 /) } };

describe('H103 a decision that names the sends', () => {
  let world: PayoutWorld;
  beforeAll(async () => {
    world = await PayoutWorld.start({ env: NO_WINDOW });
  });
  afterAll(() => world.stop());

  test('counts once: repeated after the next send, it sends nothing and ends nothing', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    expect(await world.until(ref, isReviewed)).toMatchObject({ sends: 1 });
    const { partnerOrderId } = ref;
    const fault = { kind: 'drop-before' } as const;
    world.simulator.control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault });
    await world.payouts.resolve(ref, { by, created: false, then: 'retry', sends: 1 });
    await world.until(ref, ({ phase, sends }) => phase === 'NEEDS_REVIEW' && sends === 2);
    const flags = (then: string, who: string) => ['--by', who, '--not-created', then, '--sends', '1'];
    const resolve = (...decision: string[]) =>
      cli(world.workerEnvironment, ['resolve', partnerOrderId, ...decision]);
    // The same decision of the same person only returns the state.
    const repeated = { by, created: false, then: 'retry', sends: 1 } as const;
    expect(await world.payouts.resolve(ref, repeated)).toMatchObject({ phase: 'NEEDS_REVIEW', sends: 2 });
    expect((await resolve(...flags('retry', by))).code).toBe(0);
    for (const other of [{ by: 'piet' }, { then: 'end' }] as const) {
      const refused = world.payouts.resolve(ref, { ...repeated, ...other });
      await expect(refused).rejects.toMatchObject(isStale);
    }
    expect((await resolve(...flags('retry', 'piet'))).code).toBe(4);
    expect((await resolve(...flags('end', by))).code).toBe(4);
    expect(await world.payouts.poll(ref)).toMatchObject({ phase: 'NEEDS_REVIEW', sends: 2 });
    expect(createsOf(world, ref)).toHaveLength(2);
    const shown = await cli(world.workerEnvironment, ['status', partnerOrderId]);
    expect(shown.stdout).toMatch(/creates sent +2/);
    await world.payouts.resolve(ref, { by, created: false, then: 'end', sends: 2 });
    expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
  });
});

describe('H6 a create that an earlier attempt of its activity may have sent', () => {
  let world: PayoutWorld;
  let stopWorkers: () => Promise<unknown>;

  /** Workers whose provider quotes, knows no order, and does not say whether the create was sent. */
  beforeAll(async () => {
    world = await PayoutWorld.start({ idle: true, env: NO_WINDOW });
    const config = workerConfig(world.workerEnvironment);
    const money = (currency: string, amount: string) => ({ currency, amount });
    const provider: Partial<ProviderActivities> = {
      quoteForClient: async (_caller, _clientId, { originCurrency, targetCurrency, instructedAmount }) => {
        const [pay, fee] = [money(originCurrency, '14.00'), money(originCurrency, '0.10')];
        const terms = { lockRateId: 'lock', exchangeRate: '7.14', pay, fee, target: instructedAmount };
        const quote = { ...terms, originCurrency, targetCurrency, available: pay };
        return { kind: 'quote', quote, sentAtMs: Date.now(), answeredWithinMs: 1 };
      },
      createPayout: async () => ({ kind: 'not-sent', cause: 'may-have-been-sent' }),
      confirmOrder: async () => ({ exists: false, mayRepeat: false, earlierSend: false, runId: '' }),
    };
    const common = { connection: world.native, namespace: world.namespace };
    const workers = [
      await Worker.create({
        ...{ ...common, taskQueue: PAYOUTS_TASK_QUEUE },
        workflowBundle: { codePath: inject('workflowBundle') },
        activities: { ...preparation(config, PROCESS_SURROUNDINGS.clock) },
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

  test('counts as a send', async () => {
    expect(await world.until(await world.pay('success'), isReviewed)).toMatchObject({ sends: 1 });
  });
});
