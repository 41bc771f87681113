/** Runs one verb: connects to Temporal, runs it, prints its answer or its failure, and disconnects. */
import type { Client } from '@temporalio/client';
import { Payouts } from '../../client/payouts.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { withProfile } from '../../config/cli-config.ts';
import { clientConfig } from '../../config/client-config.ts';
import type { Environment } from '../../config/environment.ts';
import { PROCESS_SURROUNDINGS } from '../../runtime/process.ts';
import { boundedCalls, connectClient } from '../../temporal/connection.ts';
import { type Answer, print, UsageError } from './answer.ts';
import { printFailure } from './print-failure.ts';

/** Long enough for a worker that has to call the provider. */
const TIMEOUT_MS = 30_000;
/** A wait for a result consists of calls that Temporal answers after about twenty seconds if nothing has happened. */
const LONGEST_CALL_MS = 60_000;

export interface Session {
  client: Client;
  namespace: string;
  address: string;
  environment: string | undefined;
  targetCurrencies: readonly string[];
  /** The variables of this process or of the profile. */
  variables: Environment;
  payouts: Payouts;
  reads: ProviderReads;
  receivingAccounts: ReceivingAccounts;
  /** For every call except the wait for a result. */
  withDeadline<T>(call: () => Promise<T>): Promise<T>;
}

export interface SessionOptions {
  json: boolean;
  profile: string | undefined;
}

export type OnConnectionFailure = (error: unknown, variables: Environment) => Answer;

/** `onConnectionFailure` answers if there is no connection, for a verb that diagnoses it. */
export async function inSession(
  { json, profile }: SessionOptions,
  verb: (session: Session) => Promise<Answer>,
  onConnectionFailure?: OnConnectionFailure,
): Promise<void> {
  let variables: Environment | undefined;
  let close: (() => Promise<void>) | undefined;
  try {
    variables = variablesOf(profile);
    const config = clientConfig(variables);
    const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = config;
    const { connection, client, namespace, address } = await connectClient({
      environment: variables,
      connection: { interceptors: [boundedCalls(PROCESS_SURROUNDINGS.clock, LONGEST_CALL_MS)] },
    });
    close = () => connection.close();
    const session: Session = {
      client,
      namespace,
      address,
      environment,
      targetCurrencies,
      variables,
      payouts: new Payouts({ client, environment, targetCurrencies }),
      reads: new ProviderReads(client),
      receivingAccounts: new ReceivingAccounts({ client, environment }),
      withDeadline: (call) => connection.withDeadline(Date.now() + TIMEOUT_MS, call),
    };
    print(await verb(session), json);
  } catch (error) {
    if (onConnectionFailure && variables && close === undefined)
      print(onConnectionFailure(error, variables), json);
    else await printFailure(error, json);
  } finally {
    await close?.();
  }
}

function variablesOf(profile: string | undefined): Environment {
  const read = withProfile(process.env, profile);
  if (read.ok) return read.value;
  throw new UsageError(read.problems.join('\n'));
}
