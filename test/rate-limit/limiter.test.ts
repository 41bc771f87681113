import { describe, expect, test } from 'vitest';
import { GatePausedError, GateTooLateError } from '../../src/payments/index.ts';
import type { GatedCall } from '../../src/payments/options.ts';
import { sleep } from '../../src/runtime/runtime.ts';
import { CALL_TIMEOUT_MS, mostInOneSecond, openLimiter, send, TERM } from '../support/rate-limit.ts';

const call = (over: Partial<GatedCall> = {}): GatedCall => ({ operation: 'createPayout', ...over });

describe('H37 turns', () => {
  test('never more than the limit in any sliding second, however many calls wait', async () => {
    const { limiter, clock } = openLimiter(100);
    const times: number[] = [];
    const one = async () => {
      await send(limiter);
      times.push(clock.nowMs());
    };
    const took = await clock.until(Promise.all(Array.from({ length: 350 }, one)));
    expect(times.length).toBe(350);
    expect(mostInOneSecond(times)).toBeLessThanOrEqual(100);
    // And nearly as many as the limit allows: 350 of 100 a second.
    expect(took).toBeLessThan(3_700);
  });

  test('spaces calls evenly instead of in bursts', async () => {
    const { limiter, clock } = openLimiter(20);
    const times: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      await clock.until(send(limiter));
      times.push(clock.nowMs());
    }
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(35);
  });

  test('order: token calls, then creates, then the rest', async () => {
    const { limiter, clock } = openLimiter(10);
    await clock.until(send(limiter));
    const gone: string[] = [];
    const operations: GatedCall['operation'][] = ['tradeResult', 'quote', 'createPayout', 'applicationToken'];
    const sends = operations.map(async (operation) => {
      await send(limiter, operation);
      gone.push(operation);
    });
    await clock.until(Promise.all(sends));
    expect(gone).toEqual(['applicationToken', 'createPayout', 'tradeResult', 'quote']);
  });

  test('a call that is too late does not delay the next one', async () => {
    const { limiter, clock } = openLimiter(1);
    await clock.until(send(limiter));
    const deadline = clock.nowMs() + 100;
    const gone = expect(send(limiter, 'tradeResult', { deadline })).rejects.toThrow();
    const next = send(limiter);
    await clock.until(gone);
    expect(await clock.until(next)).toBeLessThan(1_100);
  });

  test('the rate of a new term counts from its start', async () => {
    const { limiter, clock } = openLimiter(2);
    limiter.close();
    limiter.open({ ...TERM, callsPerSecond: 100 });
    const ten = Promise.all(Array.from({ length: 10 }, () => send(limiter)));
    expect(await clock.until(ten)).toBeLessThan(150);
    expect(limiter.callsPerSecond).toBe(100);
  });
});

describe('H37 the lease counts at the time of writing', () => {
  test('writes nothing while the lease does not count, and resumes when it does', async () => {
    let counts = false;
    const { limiter, clock } = openLimiter(20, { isValid: () => counts });
    let gone = false;
    const waits = send(limiter).then(() => {
      gone = true;
    });
    await clock.advance(10_000);
    expect(gone).toBe(false);
    counts = true;
    await clock.until(waits);
  });

  test('does not write a call that had its turn before the lease expired', async () => {
    let counts = true;
    const { limiter, clock } = openLimiter(20, { isValid: () => counts });
    const create = call();
    await clock.until(limiter.pass(create));
    counts = false;
    expect(limiter.mayWrite(create)).toBe(false);
  });

  test('does not write a call that had its turn in an earlier term', async () => {
    const { limiter, clock } = openLimiter(20);
    const create = call();
    await clock.until(limiter.pass(create));
    limiter.close();
    limiter.open(TERM);
    expect(limiter.mayWrite(create)).toBe(false);
  });

  test('writes no call twice', async () => {
    const { limiter, clock } = openLimiter(20);
    const create = call();
    await clock.until(limiter.pass(create));
    expect([limiter.mayWrite(create), limiter.mayWrite(create)]).toEqual([true, false]);
  });

  test('the end of a term rejects waiting calls immediately', async () => {
    const { limiter, clock } = openLimiter(1);
    await clock.until(send(limiter));
    const refused = expect(send(limiter)).rejects.toThrow('moved');
    expect(limiter.close().sendAgesMs.length).toBe(1);
    await refused;
    await expect(send(limiter)).rejects.toThrow('does not own');
  });
});

describe('H37 the start of a term', () => {
  test('the next owner counts the sends of the previous one', async () => {
    const sendAgesMs = Array.from({ length: 20 }, (_, at) => 50 * at);
    const { limiter, clock } = openLimiter(20, { sendAgesMs, unprovenForMs: [], marginMs: 20 });
    // The oldest was sent 950 ms earlier.
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(70);
  });

  test('a call without proof of arrival keeps its place under the next owner until a later call is answered', async () => {
    const { limiter, clock } = openLimiter(1);
    const silent = call();
    await clock.until(limiter.pass(silent));
    limiter.mayWrite(silent);
    await clock.advance(800);
    const before = limiter.close();
    expect(before).toMatchObject({ sendAgesMs: [], unprovenForMs: [CALL_TIMEOUT_MS - 800] });
    // The provider stalls: both calls would count at the same moment, when it resumes.
    const next = openLimiter(1, before);
    const waiting = send(next.limiter);
    const sentAfterMs = await next.clock.until(waiting);
    expect(sentAfterMs).toBeGreaterThan(CALL_TIMEOUT_MS - 800 + 1_000);
    expect(sentAfterMs).toBeLessThan(CALL_TIMEOUT_MS + 2_000);
  });

  test('an owner hands over room for calls, however slow the answers are', async () => {
    const { limiter, clock } = openLimiter(20);
    const answered = async () => {
      const one = call();
      await limiter.pass(one).catch(() => undefined);
      if (!limiter.mayWrite(one)) return;
      await sleep(clock, 3_000);
      limiter.finished(one, 'answered');
    };
    for (let count = 0; count < 1_000; count += 1) void answered();
    await clock.advance(20_000);
    await clock.until(limiter.drain());
    const next = openLimiter(20, limiter.close());
    expect(await next.clock.until(send(next.limiter))).toBeLessThan(100);
  });

  test('an owner waits no longer than a window for its last answers', async () => {
    const { limiter, clock } = openLimiter(2);
    const silent = [call(), call()];
    for (const one of silent) {
      await clock.until(limiter.pass(one));
      limiter.mayWrite(one);
    }
    const refused = limiter.pass(call());
    const waited = clock.until(limiter.drain());
    await expect(refused).rejects.toThrow('the lease has moved');
    expect(await waited).toBeLessThanOrEqual(1_000);
    expect(limiter.close().unprovenForMs).toHaveLength(2);
  });

  test('an owner after a crash keeps the places of calls that may still arrive, beyond its silence', async () => {
    const { limiter, clock } = openLimiter(1, { silentMs: 1_200, unprovenForMs: [5_000] });
    const sentAfterMs = await clock.until(send(limiter));
    expect(sentAfterMs).toBeGreaterThan(6_000);
    expect(sentAfterMs).toBeLessThan(7_500);
  });

  test('the answer to a call of the next owner proves that the unproven calls have arrived', async () => {
    const before = { sendAgesMs: [], unprovenForMs: [CALL_TIMEOUT_MS, CALL_TIMEOUT_MS], marginMs: 20 };
    const { limiter, clock } = openLimiter(3, before);
    // There is room for one call, which is answered at once.
    await clock.until(send(limiter));
    expect(await clock.until(send(limiter))).toBeLessThan(2_000);
  });

  test('a process that takes its own lease back counts its calls once', async () => {
    const { limiter, clock } = openLimiter(20);
    const silent = Array.from({ length: 12 }, () => call());
    for (const one of silent) {
      await clock.until(limiter.pass(one));
      limiter.mayWrite(one);
    }
    const before = limiter.close();
    limiter.open({ ...TERM, ...before });
    // Twelve of twenty places are taken.
    const waiting = Array.from({ length: 8 }, () => clock.until(limiter.pass(call())));
    for (const sentAfterMs of await Promise.all(waiting)) expect(sentAfterMs).toBeLessThan(500);
  });

  test('an owner stays silent as long as required, and reports when it is alone', async () => {
    const { limiter, clock } = openLimiter(20, { silentMs: 300 });
    expect(limiter.heartbeat().alone).toBe(false);
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(300);
    expect(limiter.heartbeat().alone).toBe(true);
  });
});

describe('H37 a 429', () => {
  test('pauses all calls for a window, and for longer if the provider says so', async () => {
    const { limiter, clock } = openLimiter(20);
    limiter.limited(undefined);
    expect(await clock.until(send(limiter))).toBeGreaterThan(1_000);
    limiter.limited(2_000);
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(2_000);
  });
});

describe('H60 a call that waits for its turn has a deadline', () => {
  test('it fails immediately when a pause outlasts its deadline, and blocks no other call', async () => {
    const { limiter, clock } = openLimiter(20);
    limiter.limited(45_000);
    const deadline = clock.nowMs() + 22_500;
    const began = clock.nowMs();
    await expect(limiter.pass(call({ deadline }))).rejects.toBeInstanceOf(GateTooLateError);
    expect(clock.nowMs()).toBe(began);
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(45_000);
  });

  test('a waiting call fails as soon as such a pause is known', async () => {
    let counts = false;
    const { limiter, clock } = openLimiter(20, { isValid: () => counts });
    const short = limiter.pass(call({ deadline: clock.nowMs() + 22_500 }));
    const long = limiter.pass(call({ deadline: clock.nowMs() + 60_000 }));
    const refused = expect(short).rejects.toBeInstanceOf(GateTooLateError);
    await clock.advance(100);
    limiter.limited(45_000);
    await refused;
    counts = true;
    await clock.until(long);
  });

  test('it fails at its deadline when the end of the wait is unknown', async () => {
    const { limiter, clock } = openLimiter(20, { isValid: () => false });
    const waits = limiter.pass(call({ deadline: clock.nowMs() + 2_500 }));
    const refused = expect(waits).rejects.toBeInstanceOf(GateTooLateError);
    await clock.advance(2_500);
    await refused;
  });
});

describe('H210 a paused term', () => {
  test.each(['createPayout', 'openReceivingAccount'] as const)(
    'refuses %s, before it gets a turn',
    async (operation) => {
      const { limiter } = openLimiter(20, { isPaused: true });
      await expect(limiter.pass(call({ operation }))).rejects.toBeInstanceOf(GatePausedError);
    },
  );

  test.each(['quote', 'tradeResult', 'applicationToken'] as const)('sends %s', async (operation) => {
    const { limiter, clock } = openLimiter(20, { isPaused: true });
    const sent = send(limiter, operation);
    await clock.until(sent);
    expect(await sent).toBe(true);
  });

  test('writes no create that got its turn in the term before', async () => {
    const { limiter, clock } = openLimiter(20);
    const create = call();
    await clock.until(limiter.pass(create));
    limiter.close();
    limiter.open({ ...TERM, isPaused: true });
    expect(limiter.mayWrite(create)).toBe(false);
  });
});

describe('whether calls reach the provider', () => {
  /** A call that gets its turn and then ends in this way. */
  async function endsAs(
    { limiter, clock }: ReturnType<typeof openLimiter>,
    end: 'answered' | 'unanswered' | 'unreachable' | 'not-sent',
    afterMs: number,
  ): Promise<void> {
    const one = call();
    await clock.until(limiter.pass(one));
    if (end === 'answered' || end === 'unanswered') limiter.mayWrite(one);
    await clock.advance(afterMs);
    limiter.finished(one, end);
  }

  test('a silence counts from the start of its first call, and any answer ends it', async () => {
    const parts = openLimiter(20);
    const { limiter } = parts;
    await endsAs(parts, 'answered', 50);
    expect(limiter.reached).toBe(true);
    for (const end of ['unreachable', 'unanswered'] as const) await endsAs(parts, end, 4_000);
    expect(limiter.unreachedMs).toBe(0);
    await endsAs(parts, 'unreachable', 4_000);
    expect(limiter.unreachedMs).toBeGreaterThanOrEqual(12_000);
    await endsAs(parts, 'answered', 50);
    expect(limiter.unreachedMs).toBe(0);
  });

  test('calls that we withheld prove nothing', async () => {
    const parts = openLimiter(20);
    for (let count = 0; count < 5; count += 1) await endsAs(parts, 'not-sent', 4_000);
    expect(parts.limiter.unreachedMs).toBe(0);
  });

  test('each term starts afresh', async () => {
    const parts = openLimiter(20);
    for (let count = 0; count < 3; count += 1) await endsAs(parts, 'unreachable', 4_000);
    parts.limiter.close();
    parts.limiter.open(TERM);
    expect([parts.limiter.unreachedMs, parts.limiter.reached]).toEqual([0, false]);
  });
});
