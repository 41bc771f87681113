import { describe, expect, test } from 'vitest';
import { GateTooLateError } from '../../src/payments/index.ts';
import type { GatedCall } from '../../src/workers/rate-limit/turns.ts';
import { mostInOneSecond, openLimiter, send } from '../support/rate-limit.ts';

const call = (over: Partial<GatedCall> = {}): GatedCall => ({ operation: 'createPayout', ...over });

describe('H37 turns', () => {
  test('never more than the limit go in any sliding second, however many ask at once', async () => {
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

  test('calls are spaced evenly instead of leaving in a burst', async () => {
    const { limiter, clock } = openLimiter(20);
    const times: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      await clock.until(send(limiter));
      times.push(clock.nowMs());
    }
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(35);
  });

  test('a token call goes before the creates that wait, a create before the rest', async () => {
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

  test('a call that gives up while it waits does not hold up the next', async () => {
    const { limiter, clock } = openLimiter(1);
    await clock.until(send(limiter));
    const leaving = new AbortController();
    const gone = expect(send(limiter, 'tradeResult', { signal: leaving.signal })).rejects.toThrow();
    const next = send(limiter);
    leaving.abort();
    await gone;
    expect(await clock.until(next)).toBeLessThan(1_100);
  });

  test('the rate of a new term counts from its beginning', async () => {
    const { limiter, clock } = openLimiter(2);
    limiter.close();
    limiter.open({ callsPerSecond: 100, isValid: () => true, silentMs: 0 });
    const ten = Promise.all(Array.from({ length: 10 }, () => send(limiter)));
    expect(await clock.until(ten)).toBeLessThan(150);
    expect(limiter.callsPerSecond).toBe(100);
  });
});

describe('H37 the lease counts at the moment of writing', () => {
  test('nothing leaves while the lease does not count, and the next call leaves when it does again', async () => {
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

  test('a call that had its turn is not written once the lease has run out', async () => {
    let counts = true;
    const { limiter, clock } = openLimiter(20, { isValid: () => counts });
    const create = call();
    await clock.until(limiter.pass(create));
    counts = false;
    expect(limiter.mayWrite(create)).toBe(false);
  });

  test('a call that had its turn in an earlier term is not written in a later one', async () => {
    const { limiter, clock } = openLimiter(20);
    const create = call();
    await clock.until(limiter.pass(create));
    limiter.close();
    limiter.open({ callsPerSecond: 20, isValid: () => true, silentMs: 0 });
    expect(limiter.mayWrite(create)).toBe(false);
  });

  test('no call is written twice', async () => {
    const { limiter, clock } = openLimiter(20);
    const create = call();
    await clock.until(limiter.pass(create));
    expect([limiter.mayWrite(create), limiter.mayWrite(create)]).toEqual([true, false]);
  });

  test('the end of a term refuses whoever waits, at once', async () => {
    const { limiter, clock } = openLimiter(1);
    await clock.until(send(limiter));
    const refused = expect(send(limiter)).rejects.toThrow('moved');
    expect(limiter.close().sendAgesMs.length).toBe(1);
    await refused;
    await expect(send(limiter)).rejects.toThrow('does not own');
  });
});

describe('H37 the beginning of a term', () => {
  test("the next owner counts the last owner's sends", async () => {
    const sendAgesMs = Array.from({ length: 20 }, (_, at) => 50 * at);
    const { limiter, clock } = openLimiter(20, { before: { sendAgesMs, marginMs: 20 } });
    // The oldest was sent 950 ms before.
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(70);
  });

  test('a call that nothing proves to have arrived counts for the next owner as if it arrived just now', async () => {
    const { limiter, clock } = openLimiter(20);
    const silent = call();
    await clock.until(limiter.pass(silent));
    limiter.mayWrite(silent);
    await clock.advance(800);
    expect(limiter.close().sendAgesMs).toEqual([0]);
  });

  test('an owner is silent for as long as it has to be, and says when it is alone', async () => {
    const { limiter, clock } = openLimiter(20, { silentMs: 300 });
    expect(limiter.heartbeat().alone).toBe(false);
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(300);
    expect(limiter.heartbeat().alone).toBe(true);
  });
});

describe('H37 a 429', () => {
  test('stops everybody for a window, and for longer where the provider says so', async () => {
    const { limiter, clock } = openLimiter(20);
    limiter.limited(undefined);
    expect(await clock.until(send(limiter))).toBeGreaterThan(1_000);
    limiter.limited(2_000);
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(2_000);
  });
});

describe('H60 a call that waits for its turn knows its deadline', () => {
  test('it fails at once when a pause lasts beyond its deadline, and holds up nobody', async () => {
    const { limiter, clock } = openLimiter(20);
    limiter.limited(45_000);
    const deadline = clock.nowMs() + 22_500;
    const began = clock.nowMs();
    await expect(limiter.pass(call({ deadline }))).rejects.toBeInstanceOf(GateTooLateError);
    expect(clock.nowMs()).toBe(began);
    expect(await clock.until(send(limiter))).toBeGreaterThanOrEqual(45_000);
  });

  test('one that waits already fails as soon as the pause is known', async () => {
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

  test('where the end of the wait is not known, it fails at its deadline', async () => {
    const { limiter, clock } = openLimiter(20, { isValid: () => false });
    const waits = limiter.pass(call({ deadline: clock.nowMs() + 2_500 }));
    const refused = expect(waits).rejects.toBeInstanceOf(GateTooLateError);
    await clock.advance(2_500);
    await refused;
  });
});

describe('whether calls reach the provider', () => {
  /** A call that has its turn and then comes to this. */
  async function comesTo(
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

  test('a silence counts from the beginning of its first call, and any answer ends it', async () => {
    const parts = openLimiter(20);
    const { limiter } = parts;
    await comesTo(parts, 'answered', 50);
    expect(limiter.reached).toBe(true);
    for (const end of ['unreachable', 'unanswered'] as const) await comesTo(parts, end, 4_000);
    expect(limiter.unreachedMs).toBe(0);
    await comesTo(parts, 'unreachable', 4_000);
    expect(limiter.unreachedMs).toBeGreaterThanOrEqual(12_000);
    await comesTo(parts, 'answered', 50);
    expect(limiter.unreachedMs).toBe(0);
  });

  test('calls that we withheld prove nothing', async () => {
    const parts = openLimiter(20);
    for (let count = 0; count < 5; count += 1) await comesTo(parts, 'not-sent', 4_000);
    expect(parts.limiter.unreachedMs).toBe(0);
  });

  test('each term begins anew', async () => {
    const parts = openLimiter(20);
    for (let count = 0; count < 3; count += 1) await comesTo(parts, 'unreachable', 4_000);
    parts.limiter.close();
    parts.limiter.open({ callsPerSecond: 20, isValid: () => true, silentMs: 0 });
    expect([parts.limiter.unreachedMs, parts.limiter.reached]).toEqual([0, false]);
  });
});
