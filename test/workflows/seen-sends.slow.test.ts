/** A decision in review that names the sends that the person has seen. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutState } from '../../src/contract/payout.ts';
import { cli } from '../support/cli.ts';
import { createsOf } from '../support/ledger.ts';
import { NO_POLLS, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const by = 'olga';
/** The confirmation window is over when the first answer comes. */
const NO_WINDOW = { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '3s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' };
const isReviewed = ({ phase }: PayoutState) => phase === 'NEEDS_REVIEW';
const isStale = { cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/^sends: .* 2 /) } };

describe('H103 a decision that names the sends', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await startWorld({ env: NO_WINDOW });
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
    expect(shown.stdout).toMatch(/create calls sent +2/);
    await world.payouts.resolve(ref, { by, created: false, then: 'end', sends: 2 });
    expect((await world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
  });
});
