import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { Notification } from '../../src/contract/workflows.ts';
import { createsOf } from '../support/ledger.ts';
import { NO_POLLS, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const hint = (over: Partial<Notification> = {}): Notification => ({
  receivedAt: new Date().toISOString(),
  ...over,
});

describe('a notification triggers a query and decides nothing', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await startWorld({ env: NO_POLLS });
  });
  afterAll(() => world.stop());

  const queries = ({ partnerOrderId }: PayoutRef) =>
    world.simulator.control
      .calls()
      .filter((call) => call.partnerOrderId === partnerOrderId && call.operation === 'queryResult').length;
  const processing = async (scenario: string) => {
    const ref = await world.pay(scenario);
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    return ref;
  };

  test('the end is learned by notification', async () => {
    const ref = await processing('success final=0s');
    await world.payouts.notify(ref, hint({ partnerOrderId: ref.partnerOrderId, status: 'SUCCESS' }));
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });
    expect(queries(ref)).toBe(1);
  });

  test('H19 a false notification changes only when the next query is made', async () => {
    const ref = await processing('stuck');
    await world.payouts.notify(ref, hint({ partnerOrderId: ref.partnerOrderId, status: 'SUCCESS' }));
    const state = await world.until(ref, ({ sentence }) => sentence.includes('PROCESSING'));
    expect(state).toMatchObject({ phase: 'PROCESSING', needsAttention: false });
    expect(state.outcome).toBeUndefined();
    expect(queries(ref)).toBe(1);
  });

  test('H29 a notification before the answer to the create is kept, and handled after it', async () => {
    const { ref, release } = await world.payHeld('before', 'success final=0s');
    await world.payouts.notify(ref, hint({ orderId: 'not-known-here-yet' }));
    release();
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });
  });

  test('H29 a notification with the start itself, before any handler has run, is not lost', async () => {
    await world.stopWorkers();
    const ref = await world.pay('success final=0s');
    await world.payouts.notify(ref, hint());
    await world.startWorkers();
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });
  });

  test('H31 H36 H38 a thousand duplicates in random order cost a bounded number of queries, one at a time', async () => {
    const ref = await processing('stuck');
    const storm = Array.from({ length: 1_000 }, (_, at) =>
      world.payouts.notify(
        ref,
        hint({ partnerOrderId: ref.partnerOrderId, status: at % 2 === 0 ? 'SUCCESS' : 'FAILED' }),
      ),
    );
    await Promise.all(storm);
    await world.until(
      ref,
      ({ lastConfirmedAt, sentence }) => lastConfirmedAt !== undefined && sentence.includes('PROCESSING'),
    );
    // The wait before a hint counts doubles from one second, so a storm of n seconds costs about log2(n) queries.
    expect(queries(ref)).toBeLessThan(10);
    expect(createsOf(world, ref).length).toBe(1);
  });

  test('a notification for another payout is ignored', async () => {
    const ref = await processing('success final=0s');
    await world.payouts.notify(ref, hint({ partnerOrderId: 'somebody-else', status: 'SUCCESS' }));
    await world.payouts.notify(ref, hint({ orderId: 'another-order' }));
    expect((await world.payouts.state(ref)).phase).toBe('PROCESSING');
    expect(queries(ref)).toBe(0);
    await world.payouts.poll(ref);
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'poll' });
  });

  test.each([
    ['text that is not JSON', [{ metadata: { encoding: bytes('json/plain') }, data: bytes('{{{') }]],
    ['no metadata', [{ data: new Uint8Array([0, 255]) }]],
    ['an unknown encoding', [{ metadata: { encoding: bytes('binary/odd') }, data: bytes('x') }]],
    [
      'two payloads, both broken',
      [{ data: bytes('x') }, { metadata: { encoding: bytes('json/plain') }, data: bytes('[') }],
    ],
    ['a number instead of an object', [{ metadata: { encoding: bytes('json/plain') }, data: bytes('7') }]],
    ['no payload at all', []],
  ])('H35 %s over the wire is a hint without content, and the payout still ends', async (_name, payloads) => {
    const ref = await processing('success final=0s');
    await world.client.workflowService.signalWorkflowExecution({
      namespace: world.namespace,
      workflowExecution: { workflowId: world.payouts.handle(ref).workflowId },
      signalName: 'notification',
      input: { payloads },
    });
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });
  });

  test('H35 invalid updates are rejected with their reason, without effect', async () => {
    const ref = await processing('success final=0s');
    const handle = world.payouts.handle(ref);
    for (const [name, args] of [
      ['cancel', [undefined]],
      ['cancel', [{ by: '' }]],
      ['approve', ['x']],
      ['resolve', [null]],
      ['resolve', [{ by: 'olga', created: 'maybe' }]],
    ] satisfies [string, [unknown]][])
      await expect(handle.executeUpdate<unknown, [unknown]>(name, { args })).rejects.toMatchObject({
        cause: { type: 'NotAcceptedNow' },
      });
    await world.payouts.poll(ref);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });
});

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
