import { beforeAll, expect, inject, test } from 'vitest';
import { PayoutWorld } from '../../simulation/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../simulation/sdk.ts';
import { ReceivingAccounts } from '../../src/starters/receiving-accounts.ts';

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test('H137 an opening in review that was canceled meanwhile is still resolved by the account that is there', async () => {
  const there = new PayoutWorld({ workflows, seed: 1 });
  const { world, client, provider } = there;
  const accounts = new ReceivingAccounts({ client, environment: 'test' });
  const request = { requestId: 'ra-1', payerId: 'payer-1', currency: 'USD' };
  const fault = { kind: 'drop-after' } as const;
  provider.control.addFault({ operation: 'receivingAccountCreate', times: 1, fault });
  await world.finish(accounts.open(request));
  await world.run({ withinMs: 60_000 });
  expect((await world.finish(accounts.state(request))).phase).toBe('NEEDS_REVIEW');
  await world.finish(accounts.handle(request).cancel());
  await world.run({ withinMs: 1_000 });
  const [account] = provider.control.ledger().receivingAccounts;
  const accountId = account?.accountId ?? '';
  const resolved = accounts.resolve(request, { by: 'olga', created: true, accountId });
  expect(await world.finish(resolved)).toMatchObject({ phase: 'DONE', outcome: 'OPENED', accountId });
  expect(world.violations).toEqual([]);
});
