/** The clients that routes use, and the deadlines of their calls. */
import type { Client } from '@temporalio/client';
import { Allowances } from '../../client/allowances.ts';
import { Authorizations } from '../../client/authorizations.ts';
import { Batches } from '../../client/batches.ts';
import { Pauses } from '../../client/pauses.ts';
import { Payouts } from '../../client/payouts.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { ReadSlots } from '../../client/shared-reads.ts';
import type { ApiConfig } from '../../config/api-config.ts';
import { PROCESS_SURROUNDINGS } from '../../runtime/process.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { Waits } from './waits.ts';

const TEMPORAL_TIMEOUT_MS = 10_000;
/** A worker calls the provider first, within the rate limit. */
const PROVIDER_TIMEOUT_MS = 30_000;

/** Workers serve at most ten status queries of this process at a time, and one workflow at most one per second. */
const STATUS_READS = { inFlight: 10, waiting: 500, waitMs: 5_000 };
const FRESH_MS = 1_000;

type WithDeadline = <T>(call: () => Promise<T>) => Promise<T>;

type ClientSettings = Pick<
  ApiConfig,
  'PAYMENTS_ENVIRONMENT' | 'PAYMENTS_TARGET_CURRENCIES' | 'keys' | 'authorizesUsers'
>;

export interface Clients {
  payouts: Payouts;
  batches: Batches;
  allowances: Allowances;
  pauses: Pauses;
  reads: ProviderReads;
  receivingAccounts: ReceivingAccounts;
  /** Undefined if this server authorizes no users. */
  authorizations: Authorizations | undefined;
  waits: Waits;
  /** For calls that Temporal and a worker answer. */
  withTemporalDeadline: WithDeadline;
  /** For calls that need the provider. */
  withProviderDeadline: WithDeadline;
}

export function clientsOf(
  client: Client,
  { keys, authorizesUsers, ...settings }: ClientSettings,
  clock: Clock = PROCESS_SURROUNDINGS.clock,
): Clients {
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = settings;
  const within =
    (ms: number): WithDeadline =>
    (call) =>
      client.withDeadline(Date.now() + ms, call);
  const withTemporalDeadline = within(TEMPORAL_TIMEOUT_MS);
  const reads = { slots: new ReadSlots(STATUS_READS, clock), freshMs: FRESH_MS, clock };
  return {
    payouts: new Payouts({ client, environment, targetCurrencies, reads }),
    batches: new Batches({
      ...{ client, environment, targetCurrencies, reads },
      withDeadline: withTemporalDeadline,
    }),
    allowances: new Allowances(client, environment, PROCESS_SURROUNDINGS.clock),
    pauses: new Pauses({ client, environment }),
    reads: new ProviderReads(client),
    receivingAccounts: new ReceivingAccounts({ client, environment, reads }),
    authorizations: authorizesUsers
      ? new Authorizations({ client, environment, keys: keys.authorizations })
      : undefined,
    waits: new Waits(),
    withTemporalDeadline,
    withProviderDeadline: within(PROVIDER_TIMEOUT_MS),
  };
}
