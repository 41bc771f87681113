/** Receiving accounts for tests: requests, and the simulator's record of the opened accounts. */

import { ProviderReads } from '../../src/client/reads.ts';
import { type ReceivingAccountRef, ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import type { ReceivingAccountRequest, ReceivingAccountState } from '../../src/contract/receiving-account.ts';
import { eventually } from './eventually.ts';

import { newPartnerOrderId, type TestWorld } from './test-world.ts';

/** Each has its own payer, so that no list contains another's account. */
export function openingRequest(over: Partial<ReceivingAccountRequest> = {}): ReceivingAccountRequest {
  const number = newPartnerOrderId();
  return { requestId: `r-${number}`, payerId: number, currency: 'USD', usages: ['a-market'], ...over };
}

export function accountsOf(world: TestWorld): ReceivingAccounts {
  return new ReceivingAccounts({ client: world.client, environment: 'test', clock: world.clock });
}

/** The payer's accounts according to the provider. */
export async function openedFor(
  world: TestWorld,
  { payerId, currency }: ReceivingAccountRequest,
): Promise<string[]> {
  const { accountIds } = await new ProviderReads(world.client).receivingBalance('default', payerId, currency);
  return accountIds;
}

/** How many requests to open an account have arrived, with any result. */
export function sendsSeen(world: TestWorld): number {
  return world.simulator.control.calls({ operation: 'receivingAccountCreate' }).length;
}

export async function untilOpening(
  accounts: ReceivingAccounts,
  ref: ReceivingAccountRef,
  wanted: (state: ReceivingAccountState) => boolean,
): Promise<ReceivingAccountState> {
  return eventually(async () => {
    const state = await accounts.state(ref);
    if (wanted(state)) return state;
    if (state.phase === 'DONE') throw new Error(`it has ended otherwise: ${JSON.stringify(state)}`);
    return undefined;
  });
}
