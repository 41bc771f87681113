/** One call of the command line: connects, runs the verb, prints its answer or its failure, and disconnects. */
import type { Client } from '@temporalio/client';
import { Payouts } from '../../client/payouts.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { clientConfig } from '../../config/client-config.ts';
import { connectClient } from '../../temporal/connection.ts';
import { type Answer, print } from './answer.ts';
import { printFailure } from './print-failure.ts';

/** A query or an update that no worker answers within this time fails, instead of hanging. */
const NO_WORKER_ANSWERS_MS = 30_000;

export interface Session {
  client: Client;
  namespace: string;
  address: string;
  environment: string | undefined;
  payouts: Payouts;
  reads: ProviderReads;
  receivingAccounts: ReceivingAccounts;
  /** Fails what takes too long; for everything but waiting for a result. */
  soon<T>(work: () => Promise<T>): Promise<T>;
}

/** `failed` answers instead where there was no connection, for a verb that has more to say about it. */
export async function inSession(
  json: boolean,
  verb: (session: Session) => Promise<Answer>,
  failed?: (error: unknown) => Answer,
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
      soon: (work) => connection.withDeadline(Date.now() + NO_WORKER_ANSWERS_MS, work),
    };
    print(await verb(session), json);
  } catch (error) {
    if (failed && close === undefined) print(failed(error), json);
    else await printFailure(error, json);
  } finally {
    await close?.();
  }
}
