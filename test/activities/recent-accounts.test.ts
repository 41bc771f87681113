import { beforeEach, describe, expect, test } from 'vitest';
import { RecentAccounts } from '../../src/activities/payout/quote-payout.ts';
import type { ClientAccounts } from '../../src/contract/provider-records.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const zero = { currency: 'USD', amount: '0.00' };

function account(status: string): ClientAccounts {
  const accounts = [{ accountType: 'AVAIL_ACCOUNT', available: zero, frozen: zero, currency: 'USD', status }];
  return { clientId: 'one', accounts };
}

describe('H17 account check: shared for a short time, and only while the account is usable', () => {
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

  test('shares one query between concurrent checks', async () => {
    await Promise.all(Array.from({ length: 50 }, () => check()));
    expect(asked).toBe(1);
  });

  test('reuses an answer for five minutes', async () => {
    await check();
    await clock.advance(299_900);
    await check();
    expect(asked).toBe(1);
    await clock.advance(200);
    await check();
    expect(asked).toBe(2);
  });

  test('queries again after a refusal', async () => {
    status = 'ABNORMAL';
    await check();
    status = 'NORMAL';
    expect((await check())?.accounts[0]?.status).toBe('NORMAL');
    expect(asked).toBe(2);
  });

  test('queries for another client, and for a currency without a usable account', async () => {
    await check();
    await check('two');
    await check('one', 'EUR');
    expect(asked).toBe(3);
  });

  test('does not reuse a failed query', async () => {
    const failing = recent.usable('one', 'USD', () => Promise.reject(new Error('no answer')));
    await expect(failing).rejects.toThrow('no answer');
    await check();
    expect(asked).toBe(1);
  });
});

test('concurrent payouts of one client cost one account query', async () => {
  const world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '30s' } });
  try {
    const refs = await Promise.all(
      Array.from({ length: 10 }, () => world.pay('success final=0s', { clientId: 'together' })),
    );
    for (const ref of refs) expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    const asked = world.simulator.control.calls().filter(({ operation }) => operation === 'accountQuery');
    expect(asked.length).toBe(1);
    const other = await world.pay('success final=0s', { clientId: newPartnerOrderId() });
    expect((await world.payouts.result(other)).outcome).toBe('SUCCESS');
  } finally {
    await world.stop();
  }
});
