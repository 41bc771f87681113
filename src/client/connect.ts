/** Connects to Temporal and creates the objects of the client library. */
import type { Client, ConnectionOptions } from '@temporalio/client';
import { clientConfig } from '../config/client-config.ts';
import type { ListedPayout, PayoutFilter } from '../contract/lists.ts';
import { connectClient } from '../temporal/connection.ts';
import { Batches } from './batches.ts';
import { Events } from './events.ts';
import { Pauses } from './leases.ts';
import { Payouts } from './payouts.ts';
import { ProviderReads } from './reads.ts';
import { ReceivingAccounts } from './receiving-accounts.ts';
import { translated, translatedError } from './translated.ts';

export interface PayoutsOptions {
  /** Temporal's connection options. Default: `TEMPORAL_ADDRESS`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`, … */
  connection?: ConnectionOptions | undefined;
  /** Default `TEMPORAL_NAMESPACE`. */
  namespace?: string | undefined;
  /** `keyId:base64(32 bytes)[,keyId:…]` or `file:PATH`. The first key encrypts. Default `PAYOUTS_ENCRYPTION_KEYS`. */
  encryptionKeys?: string | undefined;
  /** In the same form: payouts are found by hashes under these keys. Default `PAYOUTS_SEARCH_KEYS`. */
  searchKeys?: string | undefined;
  /** Recorded with each start. A worker of another environment refuses the start. Default `PAYMENTS_ENVIRONMENT`. */
  environment?: 'test' | 'sandbox' | 'production' | undefined;
}

export interface PayoutsConnection {
  payouts: Payouts;
  batches: Batches;
  /** Opens receiving accounts. Their balance and detail are in `reads`. */
  receivingAccounts: ReceivingAccounts;
  /** The events of payouts, and their endpoints. */
  events: Events;
  /** Stops the create calls of an application, and shows which are stopped. */
  pauses: Pauses;
  /** Quotes and accounts. A worker queries the provider. */
  reads: ProviderReads;
  /** The same as `payouts.list`. */
  list(filter?: PayoutFilter): AsyncGenerator<ListedPayout>;
  /** Temporal's own client, for everything else. */
  client: Client;
  close(): Promise<void>;
}

/** The reads of programs wait behind all payouts, as those of the API's callers do. */
const PROGRAMS = 'programs';

/**
 * Every call of the returned objects throws `PayoutsError`; only `client` throws the errors of Temporal's client. Throws
 * `PayoutsError` if Temporal cannot be reached, and `ConfigError` if a variable is invalid or a required key is missing.
 */
export async function connectPayouts(options: PayoutsOptions = {}): Promise<PayoutsConnection> {
  const { encryptionKeys, searchKeys } = options;
  const variables = {
    ...process.env,
    ...(encryptionKeys !== undefined && { PAYOUTS_ENCRYPTION_KEYS: encryptionKeys }),
    ...(searchKeys !== undefined && { PAYOUTS_SEARCH_KEYS: searchKeys }),
    ...(options.environment !== undefined && { PAYMENTS_ENVIRONMENT: options.environment }),
  };
  const config = clientConfig(variables);
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies, keys } = config;
  const { client, connection } = await connectClient({
    connection: options.connection,
    namespace: options.namespace,
    environment: variables,
  }).catch((error: unknown) => {
    throw translatedError(error);
  });
  const starter = { client, environment, targetCurrencies };
  const payouts = translated(new Payouts({ ...starter, searchKeys: keys.search }));
  return {
    payouts,
    batches: translated(new Batches(starter)),
    receivingAccounts: translated(new ReceivingAccounts(starter)),
    events: translated(new Events(starter)),
    pauses: translated(new Pauses(starter)),
    reads: translated(new ProviderReads(client, PROGRAMS)),
    list: (filter) => payouts.list(filter),
    client,
    close: () => connection.close(),
  };
}
