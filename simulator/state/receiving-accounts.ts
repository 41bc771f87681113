/** Receiving accounts by payer and currency, each with one virtual account. */
import { isoTime, newId, type Runtime } from '../runtime.ts';

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
