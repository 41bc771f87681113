import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ProviderReads } from '../../src/client/reads.ts';
import type { ProbeFinding } from '../../src/domain/open-points.ts';
import { OPEN_POINTS } from '../../src/domain/open-points.ts';
import { PayoutWorld } from '../support/payout-world.ts';

describe('doctor asks the service, through a worker, which open points hold', () => {
  let world: PayoutWorld;
  let reads: ProviderReads;
  beforeAll(async () => {
    world = await PayoutWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '20s' } });
    reads = new ProviderReads(world.client);
  });
  afterAll(() => world.stop());

  const verdict = (findings: ProbeFinding[], id: string) => findings.find((one) => one.id === id)?.verdict;
  const probe = async (question = {}) => (await reads.probe('default', question)).findings;

  test('every point of the register has a finding', async () => {
    expect((await probe()).map(({ id }) => id)).toEqual(OPEN_POINTS.map(({ id }) => id));
  });

  test('a service as we take it to be: what can be told holds, and nothing is created', async () => {
    const ref = await world.pay('success');
    await world.payouts.result(ref);
    const before = world.simulator.control.ledger().orders.length;
    const findings = await probe({
      clientId: 'client-1',
      partnerOrderId: ref.partnerOrderId,
      payerId: 'payer-1',
    });
    const held = findings.filter((one) => one.verdict === 'holds').map(({ id }) => id);
    expect(held).toEqual([
      'gateway-token',
      'trade-token',
      'signature',
      'unknown-order',
      'partner-number',
      'timestamps',
      'audit-status',
      'lock-field',
      'quote-lock',
    ]);
    expect(findings.some((one) => one.verdict === 'does not hold')).toBe(false);
    expect(world.simulator.control.ledger().orders).toHaveLength(before);
  });

  test('a service that wants the user token for trades: that point does not hold', async () => {
    world.simulator.control.changeSettings({ tradeToken: 'user' });
    const findings = await probe();
    world.simulator.control.changeSettings({ tradeToken: 'any' });
    expect(verdict(findings, 'trade-token')).toBe('does not hold');
    expect(verdict(findings, 'gateway-token')).toBe('holds');
  });

  test('a service that wants a signature: that point does not hold', async () => {
    world.simulator.control.changeSettings({ signatureSecret: 'not ours' });
    const findings = await probe();
    world.simulator.control.changeSettings({ signatureSecret: '' });
    expect(verdict(findings, 'signature')).toBe('does not hold');
  });

  test('an order number that the service does not know as ours: that point does not hold', async () => {
    const findings = await probe({ clientId: 'client-1', partnerOrderId: 'never-created' });
    expect(verdict(findings, 'partner-number')).toBe('does not hold');
    expect(verdict(findings, 'timestamps')).toBe('not probed');
  });

  test('a service that is away decides nothing', async () => {
    const { id } = world.simulator.control.addFault({
      operation: 'queryResult',
      fault: { kind: 'status', status: 503 },
    });
    const findings = await probe();
    world.simulator.control.removeFault(id);
    expect(verdict(findings, 'trade-token')).toBe('not probed');
    expect(verdict(findings, 'unknown-order')).toBe('not probed');
  });
});
