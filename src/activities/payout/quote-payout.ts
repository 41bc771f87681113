/** What a quote needs: a usable account of the client, and the meaning of a refusal. */
import type { Reason } from '../../contract/payout.ts';
import type { ClientAccounts, Quote, QuoteMeaning } from '../../contract/provider-records.ts';
import { accountProblem } from '../../domain/payout-quote.ts';
import type { QuoteSent } from '../../domain/time.ts';
import { hasCode, PaymentsError } from '../../payments/index.ts';
import type { Clock } from '../../runtime/runtime.ts';

type Accounts = ClientAccounts | null;

/** If the account was closed since, the provider refuses the create call. */
const VALID_MS = 300_000;
/** Beyond it, the oldest entry is removed. */
const MAX_CLIENTS = 10_000;

/** Shares account checks, those in progress too. Shares no unusable result. */
export class RecentAccounts {
  private readonly clock: Clock;
  private readonly checks = new Map<string, { accounts: Promise<Accounts>; untilMs: number }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** A result is usable if it shows a usable account in `currency`. */
  async usable(client: string, currency: string, request: () => Promise<Accounts>): Promise<Accounts> {
    const known = this.checks.get(client);
    if (known && this.clock.nowMs() < known.untilMs) {
      const accounts = await known.accounts;
      if (isUsable(accounts, currency)) return accounts;
    }
    return this.fresh(client, request());
  }

  private async fresh(client: string, accounts: Promise<Accounts>): Promise<Accounts> {
    const check = { accounts, untilMs: this.clock.nowMs() + VALID_MS };
    this.checks.delete(client);
    this.checks.set(client, check);
    const [oldest] = this.checks.keys();
    if (this.checks.size > MAX_CLIENTS && oldest !== undefined) this.checks.delete(oldest);
    try {
      return await accounts;
    } catch (error) {
      if (this.checks.get(client) === check) this.checks.delete(client);
      throw error;
    }
  }
}

function isUsable(accounts: Accounts, currency: string): boolean {
  return accountProblem(accounts, currency) === undefined;
}

/** The provider has responded, and the same request may get the same response forever. */
const REFUSALS = [
  'REFUSED',
  'ILLEGAL_PARAMETER',
  'ORDER_NOT_EXIST',
  'UNAUTHORIZED',
  'MALFORMED_ANSWER',
] as const;

export type QuoteResult =
  | ({ kind: 'quote'; quote: Quote } & QuoteSent)
  | { kind: 'account-problem'; problem: Reason }
  /** The provider refused the account check or the quote. Without a meaning, it may accept the same request later. */
  | { kind: 'refused'; meaning?: QuoteMeaning; message: string };

/** The meaning of a refused account check or quote. Throws other errors: the activity is retried until calls are served. */
export function refusedQuote(
  error: unknown,
  quoteCodes: ReadonlyMap<string, QuoteMeaning>,
): QuoteResult & { kind: 'refused' } {
  // Our own check.
  if (hasCode(error, 'INVALID_REQUEST'))
    return { kind: 'refused', meaning: 'refused', message: error.message };
  if (!(error instanceof PaymentsError)) throw error;
  const { serviceCode = '', httpStatus } = error;
  const meaning = quoteCodes.get(serviceCode) ?? quoteCodes.get(`http:${httpStatus}`);
  if (meaning === undefined && !hasCode(error, ...REFUSALS)) throw error;
  const words = error.providerMessage();
  const message = words === undefined ? error.message : `${error.message}: ${words}`;
  return { kind: 'refused', ...(meaning && { meaning }), message };
}
