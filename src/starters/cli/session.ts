/** Runs a command: connects to Temporal, asks for confirmation where needed, prints the output or the failure, and disconnects. */
import { createInterface } from 'node:readline/promises';
import type { Client } from '@temporalio/client';
import { Allowances } from '../../client/allowances.ts';
import { Batches } from '../../client/batches.ts';
import { Events } from '../../client/events.ts';
import { followUpResultOf } from '../../client/follow-ups.ts';
import { Leases, Pauses } from '../../client/leases.ts';
import { type PayoutRef, Payouts } from '../../client/payouts.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { SharedSettingsOf } from '../../client/shared-settings.ts';
import { Tokens } from '../../client/tokens.ts';
import { clientConfig } from '../../config/client-config.ts';
import type { SearchKeys } from '../../encryption/search-keys.ts';
import { PROCESS_RUNTIME } from '../../runtime/process.ts';
import { connectClient } from '../../temporal/connection.ts';
import { requireWorker, whileWorkerRuns } from '../../temporal/worker-watch.ts';
import { type Output, print, printFailure, UsageError } from './output.ts';

/** Long enough for a worker that has to call the provider. */
const TIMEOUT_MS = 30_000;
/** Every other environment, and none, may be production. */
const HARMLESS: readonly (string | undefined)[] = ['test', 'sandbox'];
const { clock } = PROCESS_RUNTIME;

interface Target {
  client: Client;
  namespace: string;
  address: string;
  environment?: string | undefined;
  targetCurrencies?: readonly string[] | undefined;
  searchKeys?: SearchKeys | undefined;
  /** The output is JSON. */
  json: boolean;
}

export type Session = ReturnType<typeof sessionOf>;

export function sessionOf(target: Target) {
  const { client, environment } = target;
  /** Gives a call its own half minute, in a command that makes many. */
  const withDeadline = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + TIMEOUT_MS, call);
  return {
    ...target,
    withDeadline,
    /** Throws `NoWorkerError`. */
    requireWorker: () => requireWorker(client, clock),
    /** The result of `call`. Throws `NoWorkerError`. `signal` ends the call. */
    whileWorkerRuns: <T>(call: () => Promise<T>, signal?: AbortSignal) =>
      whileWorkerRuns(client, clock, call, signal),
    payouts: new Payouts(target),
    batches: new Batches({ ...target, withDeadline }),
    receivingAccounts: new ReceivingAccounts(target),
    reads: new ProviderReads(client),
    tokens: new Tokens(client),
    events: new Events(target),
    pauses: new Pauses(target),
    leases: new Leases(client, environment),
    allowances: new Allowances(client, environment, clock),
    sharedSettings: new SharedSettingsOf(client, environment),
    /** What the follow-up has found so far. Undefined if the payout has none, or Temporal no longer keeps it. */
    followUpOf: ({ app = 'default', partnerOrderId }: PayoutRef) =>
      withDeadline(() => followUpResultOf(client, { app, partnerOrderId })),
  };
}

export type Work = (session: Session) => Promise<Output>;

/** Work that an operator confirms first in production. */
export interface Change {
  /** Completes `About to …`. */
  change: string;
  work: Work;
}

export type OnConnectionFailure = (error: unknown) => Output | Promise<Output>;

interface SessionOptions {
  json: boolean;
  /** The work has half a minute. */
  isQuick?: boolean;
  /** The output if there is no connection, for a command that diagnoses it. */
  onConnectionFailure?: OnConnectionFailure | undefined;
}

export async function inSession(
  step: Work | Change,
  { json, isQuick, onConnectionFailure }: SessionOptions,
): Promise<void> {
  let close: (() => Promise<void>) | undefined;
  try {
    const {
      PAYMENTS_ENVIRONMENT: environment,
      PAYMENTS_TARGET_CURRENCIES: targetCurrencies,
      keys,
    } = clientConfig(process.env);
    const { connection, ...connected } = await connectClient();
    close = () => connection.close();
    const session = sessionOf({ ...connected, environment, targetCurrencies, searchKeys: keys.search, json });
    const { change, work } = typeof step === 'function' ? { work: step } : step;
    if (change !== undefined) await confirm(session, change);
    print(await (isQuick ? session.withDeadline(() => work(session)) : work(session)), json);
  } catch (error) {
    if (onConnectionFailure && close === undefined) print(await onConnectionFailure(error), json);
    else await printFailure(error, json);
  } finally {
    await close?.();
  }
}

/** Throws `UsageError` if there is no terminal to ask on, and unless the answer is yes. */
async function confirm({ environment, address, namespace }: Session, change: string): Promise<void> {
  if (HARMLESS.includes(environment)) return;
  const where = environment ?? 'an environment that PAYMENTS_ENVIRONMENT does not name';
  const about = `About to ${change} in ${where}, through ${namespace} at ${address}.`;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`${about} There is no terminal to confirm this on: add --yes`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${about}\nContinue? [y/N] `), closed]);
    if (!/^y(es)?$/i.test(answer.trim()))
      throw new UsageError('not confirmed; nothing was done', 'NOT_CONFIRMED');
  } finally {
    terminal.close();
  }
}
