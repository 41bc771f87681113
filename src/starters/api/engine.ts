/** What the routes do their work with, and how long Temporal may take to answer. */
import type { Client } from '@temporalio/client';
import { Batches } from '../batches.ts';
import { Payouts } from '../payouts.ts';
import { ServiceReads } from '../reads.ts';
import { ReceivingAccounts } from '../receiving-accounts.ts';

const TEMPORAL_ANSWERS_WITHIN_MS = 10_000;
/** A worker has to ask the payments service first, in its turn. */
const SERVICE_ANSWERS_WITHIN_MS = 30_000;

export interface Engine {
  payouts: Payouts;
  batches: Batches;
  reads: ServiceReads;
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
  return {
    payouts: new Payouts({ client, environment }),
    batches: new Batches({ client, environment, soon }),
    reads: new ServiceReads(client),
    receivingAccounts: new ReceivingAccounts({ client, environment }),
    soon,
    patiently: within(SERVICE_ANSWERS_WITHIN_MS),
  };
}
