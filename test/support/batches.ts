/** Batches for tests: rows by scenario, and the simulator's record of each. */

import { Batches } from '../../src/client/batches.ts';
import type { BatchRef } from '../../src/client/checked-batch.ts';
import type { BatchState } from '../../src/contract/batch.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { eventually } from './eventually.ts';
import { payoutRequest } from './requests.ts';
import { newPartnerOrderId, type TestWorld } from './test-world.ts';

export function batchesOf(world: TestWorld): Batches {
  return new Batches({ client: world.client, environment: 'test', clock: world.clock });
}

export function rowsOf(...scenarios: string[]): PayoutRequest[] {
  return scenarios.map((scenario) => payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}` }));
}

export function manyRows(count: number, scenario = 'success'): PayoutRequest[] {
  return rowsOf(...Array.from({ length: count }, () => scenario));
}

export async function untilBatch(
  batches: Batches,
  ref: BatchRef,
  wanted: (state: BatchState) => boolean,
): Promise<BatchState> {
  return eventually(async () => {
    const state = await batches.state(ref);
    return wanted(state) ? state : undefined;
  });
}

/** Debits of each row, by the simulator's ledger. */
export function debitsByRow(world: TestWorld, rows: readonly PayoutRequest[]): number[] {
  return rows.map(({ partnerOrderId }) => world.simulator.control.ledgerOf(partnerOrderId).debits);
}
