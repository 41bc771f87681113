/** What the routes do their work with, and how long Temporal may take to answer. */
import type { Client } from '@temporalio/client';
import { Batches } from '../../client/batches.ts';
import { Payouts } from '../../client/payouts.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { ReadSlots } from '../../client/shared-reads.ts';

const TEMPORAL_ANSWERS_WITHIN_MS = 10_000;
/** A worker has to ask the payments service first, in its turn. */
const SERVICE_ANSWERS_WITHIN_MS = 30_000;

/**
 * However many callers look, and however often: a worker is asked ten questions at a time, and about one workflow at most
 * once a second. A caller who steers a payout here sees the change at once.
 */
const STATUS_READS = { inFlight: 10, waiting: 500, waitMs: 5_000 };
const FRESH_MS = 1_000;

export interface Engine {
  payouts: Payouts;
  batches: Batches;
  reads: ProviderReads;
  receivingAccounts: ReceivingAccounts;
  /** Fails what takes longer than Temporal and a worker should. */
  soon<T>(work: () => Promise<T>): Promise<T>;
  /** The same for what goes on to the payments service. */
  patiently<T>(work: () => Promise<T>): Promise<T>;
}

export function engineOf(client: Client, environment: string): Engine {
  const within =
    (ms: number) =>
    <T>(work: () => Promise<T>): Promise<T> =>
      client.withDeadline(Date.now() + ms, work);
  const soon = within(TEMPORAL_ANSWERS_WITHIN_MS);
  const reads = { slots: new ReadSlots(STATUS_READS), freshMs: FRESH_MS };
  return {
    payouts: new Payouts({ client, environment, reads }),
    batches: new Batches({ client, environment, withDeadline: soon, reads }),
    reads: new ProviderReads(client),
    receivingAccounts: new ReceivingAccounts({ client, environment, reads }),
    soon,
    patiently: within(SERVICE_ANSWERS_WITHIN_MS),
  };
}
