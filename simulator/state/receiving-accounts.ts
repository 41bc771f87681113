/** Receiving accounts by payer and currency, each with one virtual account. */
import { newId } from '../ids.ts';

export interface ReceivingAccount {
  accountId: string;
  payerId: string;
  currency: string;
  bankLocation: string;
  createdAt: string;
}

export class ReceivingAccounts {
  readonly #byId = new Map<string, ReceivingAccount>();

  open(payerId: string, currency: string, bankLocation: string, createdAt: string): ReceivingAccount {
    const accountId = newId('RA');
    const account = { accountId, payerId, currency, bankLocation, createdAt };
    this.#byId.set(accountId, account);
    return account;
  }

  of(payerId: string, currency: string): ReceivingAccount[] {
    return [...this.#byId.values()].filter(
      (account) => account.payerId === payerId && account.currency === currency,
    );
  }

  find(accountId: string): ReceivingAccount | undefined {
    return this.#byId.get(accountId);
  }

  reset(): void {
    this.#byId.clear();
  }
}
