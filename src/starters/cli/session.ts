/** Runs one verb: connects to Temporal, runs it, prints its answer or its failure, and disconnects. */
import type { Client } from '@temporalio/client';
import { Payouts } from '../../client/payouts.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { clientConfig } from '../../config/client-config.ts';
import { connectClient } from '../../temporal/connection.ts';
import { type Answer, print } from './answer.ts';
import { printFailure } from './print-failure.ts';

/** Long enough for a worker that has to call the provider. */
const TIMEOUT_MS = 30_000;

export interface Session {
  client: Client;
  namespace: string;
  address: string;
  environment: string | undefined;
  payouts: Payouts;
  reads: ProviderReads;
  receivingAccounts: ReceivingAccounts;
  /** For every call except the wait for a result. */
  withDeadline<T>(call: () => Promise<T>): Promise<T>;
}

/** `onConnectionFailure` answers if there is no connection, for a verb that diagnoses it. */
export async function inSession(
  json: boolean,
  verb: (session: Session) => Promise<Answer>,
  onConnectionFailure?: (error: unknown) => Answer,
): Promise<void> {
  let close: (() => Promise<void>) | undefined;
  try {
    const { PAYMENTS_ENVIRONMENT: environment } = clientConfig(process.env);
    const { connection, client, namespace, address } = await connectClient();
    close = () => connection.close();
    const session: Session = {
      client,
      namespace,
      address,
      environment,
      payouts: new Payouts({ client, environment }),
      reads: new ProviderReads(client),
      receivingAccounts: new ReceivingAccounts({ client, environment }),
      withDeadline: (call) => connection.withDeadline(Date.now() + TIMEOUT_MS, call),
    };
    print(await verb(session), json);
  } catch (error) {
    if (onConnectionFailure && close === undefined) print(onConnectionFailure(error), json);
    else await printFailure(error, json);
  } finally {
    await close?.();
  }
}
