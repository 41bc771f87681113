/** One call from nothing to everything that another service does with payouts. */
import type { Client, ConnectionOptions } from '@temporalio/client';
import { clientConfig } from '../config/client-config.ts';
import { connectClient } from '../temporal/connection.ts';
import { Batches } from './batches.ts';
import { type ListedPayout, listPayouts, type PayoutFilter } from './payout-list.ts';
import { Payouts } from './payouts.ts';
import { ServiceReads } from './reads.ts';
import { ReceivingAccounts } from './receiving-accounts.ts';

export interface PayoutsOptions {
  /** Temporal's own options; what is absent is read from `TEMPORAL_ADDRESS`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`, … */
  connection?: ConnectionOptions | undefined;
  /** Default `TEMPORAL_NAMESPACE`. */
  namespace?: string | undefined;
  /** `keyId:base64(32 bytes)[,keyId:…]`, the first encrypts, or `file:PATH`. Default `PAYOUTS_ENCRYPTION_KEYS`. */
  encryptionKeys?: string | undefined;
  /** Recorded with each start: a worker of another environment refuses it. Default `PAYMENTS_ENVIRONMENT`. */
  environment?: 'test' | 'sandbox' | 'production' | undefined;
}

export interface PayoutsConnection {
  payouts: Payouts;
  batches: Batches;
  /** Opens accounts that receive; their balance and detail are in `reads`. */
  receivingAccounts: ReceivingAccounts;
  /** Quotes and accounts; a worker asks the payments service. */
  reads: ServiceReads;
  /** The newest first, as Temporal's visibility knows them. */
  list(filter?: PayoutFilter): AsyncGenerator<ListedPayout>;
  /** Temporal's own client, for what is not here. */
  client: Client;
  close(): Promise<void>;
}

/** Throws when the engine cannot be reached, and `ConfigError` without keys. */
export async function connectPayouts(options: PayoutsOptions = {}): Promise<PayoutsConnection> {
  const { encryptionKeys: keys, environment = clientConfig(process.env).PAYMENTS_ENVIRONMENT } = options;
  const { client, connection } = await connectClient({
    connection: options.connection,
    namespace: options.namespace,
    environment: { ...process.env, ...(keys !== undefined && { PAYOUTS_ENCRYPTION_KEYS: keys }) },
  });
  return {
    payouts: new Payouts({ client, environment }),
    batches: new Batches({ client, environment }),
    receivingAccounts: new ReceivingAccounts({ client, environment }),
    reads: new ServiceReads(client),
    list: (filter) => listPayouts(client, filter),
    client,
    close: () => connection.close(),
  };
}
