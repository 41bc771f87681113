import { beforeEach, describe, expect, test } from 'vitest';
import { RecentAccounts } from '../../src/activities/receiving-account/recent-accounts.ts';
import type { ClientAccounts } from '../../src/domain/provider-records.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { freshNumber, PayoutWorld } from '../support/payout-world.ts';

const zero = { currency: 'USD', amount: '0.00' };

function account(status: string): ClientAccounts {
  const accounts = [{ accountType: 'AVAIL_ACCOUNT', available: zero, frozen: zero, currency: 'USD', status }];
  return { clientId: 'one', accounts };
}

describe('H17 the account check is shared for a short time, and only while it is good news', () => {
  let clock: FakeClock;
  let asked: number;
  let status: string;
  let recent: RecentAccounts;
  const ask = async () => {
    asked += 1;
    return account(status);
  };
  const check = (client = 'one', currency = 'USD') => recent.usable(client, currency, ask);

  beforeEach(() => {
    clock = new FakeClock();
    [asked, status, recent] = [0, 'NORMAL', new RecentAccounts(clock)];
  });

  test('who asks at the same time waits for the same answer', async () => {
    await Promise.all(Array.from({ length: 50 }, () => check()));
    expect(asked).toBe(1);
  });

  test('an answer serves for five minutes, and no longer', async () => {
    await check();
    await clock.advance(299_900);
    await check();
    expect(asked).toBe(1);
    await clock.advance(200);
    await check();
    expect(asked).toBe(2);
  });

  test('a refusal rests on an answer of its own', async () => {
    status = 'ABNORMAL';
    await check();
    status = 'NORMAL';
    expect((await check())?.accounts[0]?.status).toBe('NORMAL');
    expect(asked).toBe(2);
  });

  test('another client, or a currency without a usable account, is asked about', async () => {
    await check();
    await check('two');
    await check('one', 'EUR');
    expect(asked).toBe(3);
  });

  test('a question that failed is nobody’s answer', async () => {
    const failing = recent.usable('one', 'USD', () => Promise.reject(new Error('no answer')));
    await expect(failing).rejects.toThrow('no answer');
    await check();
    expect(asked).toBe(1);
  });
});

test('payouts of one client that begin together cost one account query', async () => {
  const world = await PayoutWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '30s' } });
  try {
    const refs = await Promise.all(
      Array.from({ length: 10 }, () => world.pay('success final=0s', { clientId: 'together' })),
    );
    for (const ref of refs) expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const asked = world.simulator.control.calls().filter(({ operation }) => operation === 'accountQuery');
    expect(asked.length).toBe(1);
    const other = await world.pay('success final=0s', { clientId: freshNumber() });
    expect((await world.payouts.result(other)).outcome).toBe('SUCCESS');
  } finally {
    await world.stop();
  }
});
