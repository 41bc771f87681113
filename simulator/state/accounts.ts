/**
 * Accounts by client or payer id. A prefix such as `poor-` sets how an account behaves; all others have the default balance.
 * Receiving accounts by payer and currency, each with one virtual account.
 */
import { type Money, parseMinor } from '../money.ts';
import { isoTime, newId, type Runtime } from '../runtime.ts';
import type { Settings } from '../settings.ts';

export interface Account {
  accountType: string;
  currency: string;
  availableMinor: bigint;
  frozenMinor: bigint;
  status: string;
}

/** Why a payer cannot pay. */
export type PayerProblem = 'not-usable' | 'insufficient';

export class Accounts {
  readonly #known = new Map<string, Account[] | null>();

  /** Null if the client has no accounts. */
  of(clientId: string, settings: Settings): Account[] | null {
    const known = this.#known.get(clientId);
    return known === undefined ? accountsByPrefix(clientId, settings) : known;
  }

  set(clientId: string, accounts: Account[] | null): void {
    this.#known.set(clientId, accounts);
  }

  available(payerId: string, currency: string, settings: Settings): Money {
    const account = payingAccount(this.of(payerId, settings), currency);
    return { currency, minor: account?.availableMinor ?? 0n };
  }

  problem(payerId: string, pay: Money, settings: Settings): PayerProblem | undefined {
    const account = payingAccount(this.of(payerId, settings), pay.currency);
    if (!account) return 'insufficient';
    if (account.status !== 'NORMAL') return 'not-usable';
    return account.availableMinor < pay.minor ? 'insufficient' : undefined;
  }

  /** Debits the payer's account; a negative amount credits it. */
  debit(payerId: string, pay: Money, settings: Settings): void {
    const accounts = this.of(payerId, settings);
    this.#known.set(payerId, accounts);
    const account = payingAccount(accounts, pay.currency);
    if (account) account.availableMinor -= pay.minor;
  }

  reset(): void {
    this.#known.clear();
  }
}

function payingAccount(accounts: Account[] | null, currency: string): Account | undefined {
  return accounts?.find((entry) => entry.accountType === 'AVAIL_ACCOUNT' && entry.currency === currency);
}

function accountsByPrefix(clientId: string, settings: Settings): Account[] | null {
  if (clientId.startsWith('unknown-')) return null;
  const balance = clientId.startsWith('poor-') ? '1.00' : settings.defaultBalance;
  return settings.originCurrencies.map((currency) => ({
    accountType: clientId.startsWith('temp-only-') ? 'TEMP_ACCOUNT' : 'AVAIL_ACCOUNT',
    currency,
    availableMinor: parseMinor(balance) ?? 0n,
    frozenMinor: 0n,
    status: statusByPrefix(clientId),
  }));
}

function statusByPrefix(clientId: string): string {
  if (clientId.startsWith('abnormal-')) return 'ABNORMAL';
  return clientId.startsWith('closed-') ? 'CLOSED' : 'NORMAL';
}

export interface ReceivingAccount {
  accountId: string;
  payerId: string;
  currency: string;
  bankLocation: string;
  createdAt: string;
}

export class ReceivingAccounts {
  readonly #byId = new Map<string, ReceivingAccount>();
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  open(payerId: string, currency: string, bankLocation: string): ReceivingAccount {
    const { clock, random } = this.#runtime;
    const accountId = newId(random, 'RA');
    const createdAt = isoTime(clock.wallMs());
    const account = { accountId, payerId, currency, bankLocation, createdAt };
    this.#byId.set(accountId, account);
    return account;
  }

  all(): ReceivingAccount[] {
    return [...this.#byId.values()];
  }

  of(payerId: string, currency: string): ReceivingAccount[] {
    return this.all().filter((account) => account.payerId === payerId && account.currency === currency);
  }

  find(accountId: string): ReceivingAccount | undefined {
    return this.#byId.get(accountId);
  }

  reset(): void {
    this.#byId.clear();
  }
}
