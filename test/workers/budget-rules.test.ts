import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Fence } from '../../src/workers/budget/fence.ts';
import { AdaptiveMargin } from '../../src/workers/budget/margin.ts';
import { predecessor } from '../../src/workers/budget/predecessor.ts';
import { SendWindow } from '../../src/workers/budget/send-window.ts';
import type { GatedCall } from '../../src/workers/budget/turns.ts';
import { mostInOneSecond, openBudget, send } from '../support/budget.ts';

describe('H37 the gate of a call budget', () => {
  test('a token call goes before the creates that wait, a create before the rest', async () => {
    const budget = openBudget(10);
    await send(budget);
    const gone: string[] = [];
    const operations: GatedCall['operation'][] = ['tradeResult', 'quote', 'createPayout', 'applicationToken'];
    await Promise.all(
      operations.map(async (operation) => {
        await send(budget, operation);
        gone.push(operation);
      }),
    );
    expect(gone).toEqual(['applicationToken', 'createPayout', 'tradeResult', 'quote']);
  });

  test('nothing leaves while the lease does not count, and the next call leaves when it does again', async () => {
    let counts = false;
    const budget = openBudget(20, { counts: () => counts });
    let gone = false;
    const waits = send(budget).then(() => {
      gone = true;
    });
    await sleep(200);
    expect(gone).toBe(false);
    counts = true;
    await waits;
  });

  test('a call that has passed is not written once the lease has run out', async () => {
    let counts = true;
    const budget = openBudget(20, { counts: () => counts });
    const call = { operation: 'createPayout' } as const;
    await budget.pass(call);
    counts = false;
    expect(budget.mayWrite(call)).toBe(false);
  });

  test('no call is written twice', async () => {
    const budget = openBudget(20);
    const call = { operation: 'createPayout' } as const;
    await budget.pass(call);
    expect([budget.mayWrite(call), budget.mayWrite(call)]).toEqual([true, false]);
  });

  test('the end of a term refuses whoever waits, at once', async () => {
    const budget = openBudget(1);
    await send(budget);
    const waits = send(budget);
    const refused = expect(waits).rejects.toThrow('moved');
    expect(budget.close().sendAgesMs.length).toBe(1);
    await refused;
    await expect(send(budget)).rejects.toThrow('does not own');
  });

  test("the next owner counts the last owner's sends", async () => {
    const sendAgesMs = Array.from({ length: 20 }, (_, at) => 50 * at);
    const budget = openBudget(20, { before: { sendAgesMs, marginMs: 20 } });
    const began = performance.now();
    await send(budget);
    // The oldest was sent 950 ms before.
    expect(performance.now() - began).toBeGreaterThan(65);
  });

  test('an owner is silent for as long as it has to be', async () => {
    const budget = openBudget(20, { silentMs: 300 });
    const began = performance.now();
    await send(budget);
    expect(performance.now() - began).toBeGreaterThanOrEqual(299);
  });

  test('a 429 stops everybody for a window, and for longer where the service says so', async () => {
    const budget = openBudget(20);
    const began = performance.now();
    budget.limited(undefined);
    await send(budget);
    expect(performance.now() - began).toBeGreaterThan(1_000);
    budget.limited(2_000);
    await send(budget);
    expect(performance.now() - began).toBeGreaterThan(3_000);
  });

  test('a connection that takes its time cannot push calls together', async () => {
    const budget = openBudget(20);
    const written: number[] = [];
    await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        const call = { operation: 'tradeResult' } as const;
        const own = { ...call };
        await budget.pass(own);
        if (at % 7 === 0) await sleep(180);
        if (budget.mayWrite(own)) written.push(performance.now());
      }),
    );
    expect(written.length).toBe(60);
    expect(mostInOneSecond(written)).toBeLessThanOrEqual(20);
  });

  test('the rate of a new term counts from its beginning', async () => {
    const budget = openBudget(2);
    budget.close();
    budget.open({ callsPerSecond: 100, counts: () => true, silentMs: 0 });
    const began = performance.now();
    for (let call = 0; call < 10; call += 1) await send(budget);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(budget.callsPerSecond).toBe(100);
  });
});

describe('H37 the parts of a call budget', () => {
  test('a window never holds more than the limit, whenever pending calls leave', () => {
    const window = new SendWindow();
    for (let at = 0; at < 3; at += 1) window.begin();
    expect(window.msUntilRoom(0, 3, 1_000)).toBe(Number.POSITIVE_INFINITY);
    window.sent(100);
    expect(window.msUntilRoom(100, 3, 1_000)).toBe(1_000);
    window.dropped();
    expect(window.msUntilRoom(100, 3, 1_000)).toBe(0);
  });

  test('the margin widens on a 429, shrinks slowly, and keeps its bounds', () => {
    const margin = new AdaptiveMargin(0);
    expect(margin.valueMs(0)).toBe(30);
    margin.widen(0);
    expect(margin.valueMs(0)).toBe(45);
    expect(margin.valueMs(3_000_000)).toBe(35);
    for (let times = 0; times < 10; times += 1) margin.widen(3_000_000);
    expect(margin.valueMs(3_000_000)).toBe(60);
    expect(margin.valueMs(100_000_000)).toBe(15);
  });

  test('what nobody has complained about is given up soon', () => {
    const margin = new AdaptiveMargin(0);
    expect(margin.valueMs(20_000)).toBe(25);
    expect(margin.valueMs(400_000)).toBe(15);
  });

  test('a jitter that is known is always kept, and a 429 widens it all the same', () => {
    const margin = new AdaptiveMargin(0, 80);
    expect(margin.valueMs(0)).toBe(90);
    expect(margin.valueMs(100_000_000)).toBe(90);
    margin.widen(100_000_000);
    expect(margin.valueMs(100_000_000)).toBe(105);
  });

  test('the margin follows how late timers are', () => {
    const margin = new AdaptiveMargin(0);
    for (let times = 0; times < 100; times += 1) margin.late(8);
    expect(margin.valueMs(0)).toBeCloseTo(46, 0);
    for (let times = 0; times < 100; times += 1) margin.late(0);
    expect(margin.valueMs(0)).toBeCloseTo(30, 0);
  });

  test('a lease counts from the sending of its last acknowledged renewal, and never after it was lost', () => {
    const fence = new Fence();
    expect(fence.counts()).toBe(false);
    fence.renewed(performance.now() - 1_400, Date.now());
    expect(fence.counts()).toBe(false);
    fence.renewed(performance.now(), Date.now() - 1_400);
    expect(fence.counts()).toBe(false);
    fence.renewed(performance.now(), Date.now());
    expect(fence.counts()).toBe(true);
    fence.lose();
    fence.renewed(performance.now(), Date.now());
    expect(fence.counts()).toBe(false);
  });

  test('only an owner that ended in good order is believed; after any other, one window is silent', () => {
    const released = { sendAgesMs: [1, 2], marginMs: 30 };
    expect(predecessor(released, 1, undefined)).toEqual({ silentMs: 0, released });
    expect(predecessor(released, 2, { marginMs: 30 })).toEqual({ silentMs: 860, learnedMarginMs: 30 });
    expect(predecessor(released, 2, 'nonsense')).toEqual({ silentMs: 860, learnedMarginMs: undefined });
    expect(predecessor('nobody', 1, undefined).silentMs).toBe(1_060);
    expect(predecessor('unknown', 1, undefined).silentMs).toBeGreaterThan(2_300);
  });
});
