import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { clientFor, failureOf } from '../payments/support/client.ts';
import { callOf, successBody } from '../payments/support/samples.ts';
import { answers, startServer } from '../payments/support/server.ts';
import { realLimiter, TERM } from '../support/rate-limit.ts';

/** The work between a call's turn and its first byte takes time, in which conditions may change. */
describe('H37 H60 between the turn of a call and its first byte', () => {
  async function createWith(
    happens: () => Promise<void>,
    { isValid = () => true, deadline }: { isValid?: () => boolean; deadline?: number } = {},
  ) {
    const server = await startServer(answers(200, successBody('createPayout')));
    const limiter = realLimiter(20, { isValid });
    const client = clientFor(server.origin, { gate: limiter });
    const order = callOf(client, 'createPayout', {
      beforeSend: happens,
      ...(deadline !== undefined && { deadline }),
    });
    return { server, limiter, order };
  }

  test('the lease expires: nothing is written', async () => {
    let counts = true;
    const { server, order } = await createWith(
      async () => {
        counts = false;
      },
      { isValid: () => counts },
    );
    expect(await failureOf(order)).toMatchObject({ code: 'NOT_SENT', reason: 'gate' });
    expect(server.seen).toHaveLength(0);
  });

  test('the lease moves away and returns: nothing is written in a later term', async () => {
    const limiter = realLimiter(20);
    const server = await startServer(answers(200, successBody('createPayout')));
    const beforeSend = async () => {
      limiter.close();
      limiter.open(TERM);
    };
    const order = callOf(clientFor(server.origin, { gate: limiter }), 'createPayout', { beforeSend });
    expect(await failureOf(order)).toMatchObject({ code: 'NOT_SENT', reason: 'gate' });
    expect(server.seen).toHaveLength(0);
  });

  test('the deadline passes: the call ends without waiting further, and nothing is written', async () => {
    const never = new Promise<void>(() => undefined);
    const { server, order } = await createWith(() => never, { deadline: performance.now() + 300 });
    expect(await failureOf(order)).toMatchObject({ code: 'NOT_SENT', reason: 'deadline' });
    expect(server.seen).toHaveLength(0);
  });

  test('the caller withdraws: nothing is written, and the place is free again', async () => {
    const { server, limiter, order } = await createWith(() => Promise.reject(new Error('no')));
    expect(await failureOf(order)).toMatchObject({ code: 'NOT_SENT', reason: 'before-send' });
    expect(server.seen).toHaveLength(0);
    expect(limiter.close().sendAgesMs).toEqual([]);
  });

  test('no obstacle: the call is written, and counts from then', async () => {
    const order: string[] = [];
    const { server, order: created } = await createWith(async () => {
      order.push('claimed');
      await sleep(20);
      order.push(`written ${server.seen.length}`);
    });
    expect(await created).toMatchObject({ orderId: 'O-1' });
    expect(order).toEqual(['claimed', 'written 0']);
    expect(server.seen).toHaveLength(1);
  });
});

test('H60 a create whose turn cannot come in time fails immediately as not sent, because of its deadline', async () => {
  const server = await startServer(answers(200, successBody('createPayout')));
  const limiter = realLimiter(20);
  limiter.limited(45_000);
  const client = clientFor(server.origin, { gate: limiter });
  const order = callOf(client, 'createPayout', { deadline: performance.now() + 22_500 });
  expect(await failureOf(order)).toMatchObject({
    code: 'NOT_SENT',
    reason: 'deadline',
    mayHaveTakenEffect: false,
  });
  expect([server.seen.length, server.connections()]).toEqual([0, 0]);
});
