/** The client in virtual time: no socket, no real timer, and the same guarantees as in `send-once.test.ts`. */
import { describe, expect, test } from 'vitest';
import type { CallEvent, PaymentsClientOptions } from '../../src/payments/options.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { clientFor, failureOf } from './support/client.ts';
import { type InProcessOptions, InProcessTransport } from './support/in-process.ts';
import { callOf, successBody } from './support/samples.ts';

const random = { number: () => 0.5, bytes: (length: number) => Buffer.alloc(length), uuid: () => 'id-1' };

function setUp(provider: InProcessOptions = {}, options: Partial<PaymentsClientOptions> = {}) {
  const clock = new FakeClock();
  const transports: InProcessTransport[] = [];
  const client = clientFor('https://provider.example', {
    runtime: { clock, random },
    transport: (wanted) => {
      const transport = new InProcessTransport(wanted, { body: successBody('createPayout'), ...provider });
      transports.push(transport);
      return transport;
    },
    ...options,
  });
  const written = () => transports.flatMap(({ seen }) => seen).length;
  return { clock, client, written, transports };
}

/** The error of a call, and the time it took by the clock. */
async function failed(clock: FakeClock, call: Promise<unknown>) {
  const error = failureOf(call);
  const tookMs = await clock.until(error);
  return { error: await error, tookMs };
}

describe('a provider that answers in-process', () => {
  test('gets the same requests as over a socket, with the injected clock and randomness', async () => {
    const events: CallEvent[] = [];
    const timestamps: number[] = [];
    const signer = {
      sign: ({ timestamp }: { timestamp: number }) => {
        timestamps.push(timestamp);
        return {};
      },
    };
    const { clock, client, transports } = setUp(
      { connectsAfterMs: 5, answersAfterMs: 70, body: successBody('tradeResult') },
      { onCall: (event) => events.push(event), signer },
    );
    const beganMs = clock.wallMs();
    const call = callOf(client, 'tradeResult');
    expect(await clock.until(call)).toBe(75);
    expect(transports[0]?.seen[0]?.headers['x-request-id']).toBe('id-1');
    expect(events).toMatchObject([{ requestId: 'id-1', durationMs: 75, outcome: 'OK' }]);
    expect(timestamps).toEqual([beganMs]);
  });

  test('H1 and never answers: the create has an unknown outcome after the total timeout', async () => {
    const { clock, client, written } = setUp({ answersAfterMs: 1_000_000 });
    const { error, tookMs } = await failed(clock, callOf(client, 'createPayout'));
    expect([error.code, error.mayHaveTakenEffect, tookMs, written()]).toEqual(['AMBIGUOUS', true, 60_000, 1]);
  });

  test('leaves no timers', async () => {
    const { clock, client } = setUp();
    const deadline = clock.nowMs() + 1_000;
    await clock.until(callOf(client, 'createPayout', { deadline, beforeSend: async () => undefined }));
    expect(clock.timersSet).toBe(0);
  });
});

describe('H37 late or unwanted requests are not written', () => {
  test.each([
    ['a millisecond before the deadline', 101, 1],
    ['at the deadline', 100, 0],
    ['after the deadline', 99, 0],
  ])('to a connection that is established %s', async (_when, deadlineMs, times) => {
    const { clock, client, written } = setUp({ connectsAfterMs: 100 });
    const call = callOf(client, 'createPayout', { deadline: clock.nowMs() + deadlineMs });
    if (times === 1) await clock.until(call);
    else expect((await failed(clock, call)).error).toMatchObject({ code: 'NOT_SENT', reason: 'deadline' });
    expect(written()).toBe(times);
  });

  test('a beforeSend that hangs ends at the deadline', async () => {
    const { clock, client, written } = setUp();
    const beforeSend = () => new Promise<void>(() => undefined);
    const { error, tookMs } = await failed(
      clock,
      callOf(client, 'createPayout', { deadline: clock.nowMs() + 300, beforeSend }),
    );
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'deadline' });
    expect([tookMs, written()]).toEqual([300, 0]);
  });

  test('the gate decides once the connection is established, and not before', async () => {
    const asked: number[] = [];
    const clockOf: FakeClock[] = [];
    const gate = {
      pass: async () => undefined,
      mayWrite: () => {
        asked.push(clockOf[0]?.nowMs() ?? 0);
        return false;
      },
    };
    const { clock, client, written } = setUp({ connectsAfterMs: 40 }, { gate });
    clockOf.push(clock);
    const connectedMs = clock.nowMs() + 40;
    const { error } = await failed(clock, callOf(client, 'createPayout'));
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'gate' });
    expect([asked, written()]).toEqual([[connectedMs], 0]);
  });

  test('a closed client sends nothing', async () => {
    const { clock, client, written } = setUp();
    await client.close();
    const { error } = await failed(clock, callOf(client, 'createPayout'));
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'closed' });
    expect(written()).toBe(0);
  });
});
