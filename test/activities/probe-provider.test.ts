import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SettingsChange } from '../../simulator/index.ts';
import { ProviderReads } from '../../src/client/reads.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../src/contract/open-points.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

describe('doctor probes the open points through a worker', () => {
  let world: VirtualWorld;
  let reads: ProviderReads;
  beforeAll(async () => {
    world = await VirtualWorld.start({
      env: { PAYMENTS_CALL_TIMEOUT: '20s' },
      settings: { clientOfPayer: { 'payer-1': 'client-1' } },
    });
    reads = new ProviderReads(world.client);
  });
  afterAll(() => world.stop());

  const verdict = (findings: ProbeFinding[], id: string) => findings.find((one) => one.id === id)?.verdict;
  const probe = async (question = {}) => (await reads.probe('default', question)).findings;

  test('reports a finding for every open point', async () => {
    expect((await probe()).map(({ id }) => id)).toEqual(OPEN_POINTS.map(({ id }) => id));
  });

  test('confirms the assumptions of a provider that matches them, and creates nothing', async () => {
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
      'trade-order-id',
      'client-of-payer',
      'echo',
      'timestamps',
      'audit-status',
      'lock-field',
      'quote-lock',
      'rate-direction',
      'target-currency',
    ]);
    expect(findings.some((one) => one.verdict === 'does not hold')).toBe(false);
    expect(world.simulator.control.ledger().orders).toHaveLength(before);
  });

  test.each<[string, SettingsChange, string, string]>([
    ['H233 trade queries have ids of their own', { tradeOrderId: 'own' }, 'trade-order-id', 'does not hold'],
    ['H234 ids are written in another way', { echo: 'normalized' }, 'echo', 'does not hold'],
    ['H234 the beneficiary is masked', { echo: 'masked' }, 'echo', 'holds'],
    ['H235 trade queries ignore the client', { clientOfPayer: {} }, 'client-of-payer', 'does not hold'],
  ])('reports that %s', async (_what, settings, id, expected) => {
    const ref = await world.pay('success');
    await world.payouts.result(ref);
    const { control } = world.simulator;
    control.changeSettings(settings);
    const findings = await probe({ clientId: 'client-1', ...ref });
    control.changeSettings({
      tradeOrderId: 'same',
      echo: 'exact',
      clientOfPayer: { 'payer-1': 'client-1' },
    });
    expect(verdict(findings, id)).toBe(expected);
  });

  test('reports that trade queries require the user token', async () => {
    world.simulator.control.changeSettings({ tradeToken: 'user' });
    const findings = await probe();
    world.simulator.control.changeSettings({ tradeToken: 'any' });
    expect(verdict(findings, 'trade-token')).toBe('does not hold');
    expect(verdict(findings, 'gateway-token')).toBe('holds');
  });

  test('reports that trade queries require a signature', async () => {
    world.simulator.control.changeSettings({ signatureSecret: 'not ours' });
    const findings = await probe();
    world.simulator.control.changeSettings({ signatureSecret: '' });
    expect(verdict(findings, 'signature')).toBe('does not hold');
  });

  test('reports that the provider does not find orders by our partnerOrderId', async () => {
    const findings = await probe({ clientId: 'client-1', partnerOrderId: 'never-created' });
    expect(verdict(findings, 'partner-number')).toBe('does not hold');
    expect(verdict(findings, 'timestamps')).toBe('not probed');
  });

  test('reaches no verdict while the provider is unavailable', async () => {
    const { id } = world.simulator.control.addFault({
      operation: 'queryResult',
      fault: { kind: 'status', status: 503 },
    });
    const findings = await probe();
    world.simulator.control.removeFault(id);
    expect(verdict(findings, 'trade-token')).toBe('not probed');
    expect(verdict(findings, 'unknown-order')).toBe('not probed');
  });

  test('says which findings are missing because the rate limit is used up', async () => {
    expect((await reads.probe('default', {})).limited).toBeUndefined();
    const { id } = world.simulator.control.addFault({
      operation: 'queryResult',
      fault: { kind: 'status', status: 429 },
    });
    const { findings, limited } = await reads.probe('default', {});
    world.simulator.control.removeFault(id);
    expect(limited).toEqual(['trade-token', 'signature', 'unknown-order']);
    for (const point of limited ?? []) expect(verdict(findings, point)).toBe('not probed');
  });
});
