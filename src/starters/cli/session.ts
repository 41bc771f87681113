/** Runs a command: connects to Temporal, asks a person where needed, prints the output or the failure, and disconnects. */
import { createInterface } from 'node:readline/promises';
import type { Client } from '@temporalio/client';
import { followUpResultOf } from '../../client/acknowledgements.ts';
import { Allowances } from '../../client/allowances.ts';
import { Batches } from '../../client/batches.ts';
import { Events } from '../../client/events.ts';
import { Pauses } from '../../client/pauses.ts';
import { type PayoutRef, Payouts } from '../../client/payouts.ts';
import { RateLimits } from '../../client/rate-limits.ts';
import { ProviderReads } from '../../client/reads.ts';
import { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import { SharedSettingsOf } from '../../client/shared-settings.ts';
import { Tokens } from '../../client/tokens.ts';
import { clientConfig } from '../../config/client-config.ts';
import { PROCESS_RUNTIME } from '../../runtime/process.ts';
import { boundedCalls, connectClient } from '../../temporal/connection.ts';
import { NotConfirmedError, type Output, print, UsageError } from './output.ts';
import { printFailure } from './print-failure.ts';

/** Long enough for a worker that has to call the provider. */
const TIMEOUT_MS = 30_000;
/** A wait for a result consists of calls that Temporal answers after about twenty seconds if nothing has happened. */
const LONGEST_CALL_MS = 60_000;
/** Every other environment, and none, may be production. */
const HARMLESS: readonly (string | undefined)[] = ['test', 'sandbox'];
const { clock } = PROCESS_RUNTIME;

interface Target {
  client: Client;
  namespace: string;
  address: string;
  environment?: string | undefined;
  targetCurrencies?: readonly string[] | undefined;
  json?: boolean;
}

export class Session {
  readonly client: Client;
  readonly namespace: string;
  readonly address: string;
  readonly environment: string | undefined;
  /** The output is JSON. */
  readonly json: boolean;
  readonly #targetCurrencies: readonly string[] | undefined;

  constructor({ client, namespace, address, environment, targetCurrencies, json = false }: Target) {
    this.client = client;
    this.namespace = namespace;
    this.address = address;
    this.environment = environment;
    this.json = json;
    this.#targetCurrencies = targetCurrencies;
  }

  /** Gives a call its own half minute, in a command that makes many. */
  readonly withDeadline = <T>(call: () => Promise<T>): Promise<T> =>
    this.client.withDeadline(Date.now() + TIMEOUT_MS, call);

  get payouts(): Payouts {
    return new Payouts(this.#starter);
  }

  get batches(): Batches {
    return new Batches({ ...this.#starter, withDeadline: this.withDeadline });
  }

  get receivingAccounts(): ReceivingAccounts {
    return new ReceivingAccounts(this.#starter);
  }

  get reads(): ProviderReads {
    return new ProviderReads(this.client);
  }

  get tokens(): Tokens {
    return new Tokens(this.client);
  }

  get events(): Events {
    return new Events(this.#named);
  }

  get pauses(): Pauses {
    return new Pauses(this.#named);
  }

  get rateLimits(): RateLimits {
    return new RateLimits(this.client, this.#named.environment);
  }

  get allowances(): Allowances {
    return new Allowances(this.client, this.#named.environment, clock);
  }

  get sharedSettings(): SharedSettingsOf {
    return new SharedSettingsOf(this.client, this.#named.environment);
  }

  /** The result of the follow-up so far. Undefined if the payout has none, or Temporal no longer keeps it. */
  followUpOf({ app = 'default', partnerOrderId }: PayoutRef) {
    return this.withDeadline(() => followUpResultOf(this.client, { app, partnerOrderId }));
  }

  get #starter() {
    const { client, environment } = this;
    return { client, environment, targetCurrencies: this.#targetCurrencies };
  }

  get #named() {
    const { client, environment } = this;
    if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT is missing');
    return { client, environment };
  }
}

/** What a command does after it is connected. */
export type Work = (session: Session) => Promise<Output>;

/** Work that a person confirms first in production. */
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
  /** Answers if there is no connection, for a command that diagnoses it. */
  onConnectionFailure?: OnConnectionFailure | undefined;
}

export async function inSession(
  step: Work | Change,
  { json, isQuick, onConnectionFailure }: SessionOptions,
): Promise<void> {
  let close: (() => Promise<void>) | undefined;
  try {
    const { PAYMENTS_ENVIRONMENT, PAYMENTS_TARGET_CURRENCIES } = clientConfig(process.env);
    const { connection, ...connected } = await connectClient({
      connection: { interceptors: [boundedCalls(clock, LONGEST_CALL_MS)] },
    });
    close = () => connection.close();
    const session = new Session({
      ...connected,
      environment: PAYMENTS_ENVIRONMENT,
      targetCurrencies: PAYMENTS_TARGET_CURRENCIES,
      json,
    });
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

/** Throws `UsageError` if there is no terminal to ask on, and `NotConfirmedError` unless the answer is yes. */
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
    if (!/^y(es)?$/i.test(answer.trim())) throw new NotConfirmedError('not confirmed; nothing was done');
  } finally {
    terminal.close();
  }
}
