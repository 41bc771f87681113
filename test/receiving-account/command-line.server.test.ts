import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { accountsOf, openedFor, openingRequest, untilOpening } from '../support/openings.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let folder: string;
const run = (...args: string[]) => cli(world.workerEnvironment, ['account', ...args]);

beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '10s' } });
  folder = mkdtempSync(join(tmpdir(), 'payouts-accounts-'));
});

afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

function file(content: unknown): string {
  const path = join(folder, 'request.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe('on the command line', () => {
  test('opens and shows an account; exits 2 for bad input, 4 for another body, 3 for an unknown request', async () => {
    const request = openingRequest();
    const opened = await run('open', file(request), '--wait', '--by', 'olga', '--json');
    expect(opened.code).toBe(0);
    const [accountId = ''] = await openedFor(world, request);
    expect(opened.json()).toMatchObject({ outcome: 'OPENED', accountId });
    const [again, other, bad, balance, detail, unknown] = await Promise.all([
      run('status', request.requestId),
      run('status', 'no-such-request'),
      cli(
        world.workerEnvironment,
        ['account', 'open', '-', '--json'],
        JSON.stringify({ ...request, currency: 1 }),
      ),
      run('balance', '--payer-id', request.payerId, '--currency', 'USD', '--json'),
      run('detail', accountId),
      run('detail', 'RA-nobody', '--json'),
    ]);
    expect(again.stdout).toContain(accountId);
    expect(other.code).toBe(3);
    expect(bad.code).toBe(2);
    expect(bad.json()).toMatchObject({ error: { fields: [{ path: 'currency' }] } });
    expect(balance.json()).toEqual({ balance: { currency: 'USD', amount: '0.00' }, accountIds: [accountId] });
    expect(detail.stdout).toContain(request.payerId);
    expect(unknown.code).toBe(3);
    expect((await run('open', file({ ...request, currency: 'EUR' }))).code).toBe(4);
    expect((await run('--client-id', 'client-1')).stdout).toContain('AVAIL_ACCOUNT');
  });

  test('after a lost answer, shows the candidate account, and resolve takes it', async () => {
    const request = openingRequest();
    const fault = { operation: 'receivingAccountCreate', times: 1, fault: { kind: 'drop-after' } } as const;
    world.simulator.control.addFault(fault);
    await run('open', file(request));
    const accountId = await eventually(async () => (await openedFor(world, request))[0]);
    const accounts = accountsOf(world);
    await untilOpening(accounts, request, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect((await run('status', request.requestId)).stdout).toContain(accountId);
    expect((await run('resolve', request.requestId, '--by', 'olga')).code).toBe(2);
    const taken = await run('resolve', request.requestId, '--by', 'olga', '--created', accountId, '--json');
    expect(taken.json()).toMatchObject({
      phase: 'DONE',
      outcome: 'OPENED',
      accountId,
      learnedBy: 'operator',
    });
  });
});
