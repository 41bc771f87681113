/** What a quote needs: a usable account of the client, and the meaning of a refusal. */
import type { Reason } from '../../contract/payout.ts';
import type { ClientAccounts, Quote, QuoteMeaning } from '../../contract/provider-records.ts';
import { accountProblem } from '../../domain/payout-quote.ts';
import type { QuoteSent } from '../../domain/time.ts';
import { hasCode, type PaymentsError } from '../../payments/index.ts';
import type { Clock } from '../../runtime/runtime.ts';

type Accounts = ClientAccounts | null;

/** The provider refuses an account that was closed since. */
const VALID_MS = 300_000;
/** Beyond it, the oldest entry is removed. */
const MAX_CLIENTS = 10_000;

/** Caches usable account checks, and shares concurrent ones. An unusable answer is always fresh. */
export class RecentAccounts {
  private readonly clock: Clock;
  private readonly known = new Map<string, { accounts: Accounts; untilMs: number }>();
  private readonly pending = new Map<string, Promise<Accounts>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** An answer is usable if it shows a usable account in `currency`. */
  async usable(client: string, currency: string, request: () => Promise<Accounts>): Promise<Accounts> {
    const known = this.known.get(client);
    if (known && this.clock.nowMs() < known.untilMs && isUsable(known.accounts, currency))
      return known.accounts;
    const running = this.pending.get(client);
    if (running) {
      const shared = await running;
      if (isUsable(shared, currency)) return shared;
    }
    return this.fresh(client, request);
  }

  private async fresh(client: string, request: () => Promise<Accounts>): Promise<Accounts> {
    const answer = request();
    this.pending.set(client, answer);
    try {
      const accounts = await answer;
      this.remember(client, accounts);
      return accounts;
    } finally {
      if (this.pending.get(client) === answer) this.pending.delete(client);
    }
  }

  private remember(client: string, accounts: Accounts): void {
    this.known.delete(client);
    this.known.set(client, { accounts, untilMs: this.clock.nowMs() + VALID_MS });
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_CLIENTS && oldest !== undefined) this.known.delete(oldest);
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

export type QuoteAnswer =
  | ({ kind: 'quote'; quote: Quote } & QuoteSent)
  | { kind: 'account-problem'; problem: Reason }
  /** The provider refused the account check or the quote. Without a meaning, it may accept the same request later. */
  | { kind: 'refused'; meaning?: QuoteMeaning; message: string };

/**
 * What it means that the provider refuses an account check or a quote. Throws any other error: the activity is retried while the
 * provider does not serve calls.
 */
export function refusedQuote(
  error: unknown,
  quoteCodes: ReadonlyMap<string, QuoteMeaning>,
): QuoteAnswer & { kind: 'refused' } {
  // Our own check.
  if (hasCode(error, 'INVALID_REQUEST'))
    return { kind: 'refused', meaning: 'refused', message: error.message };
  if (!hasCode(error, ...REFUSALS)) throw error;
  const { serviceCode = '', httpStatus } = error;
  const meaning = quoteCodes.get(serviceCode) ?? quoteCodes.get(`http:${httpStatus}`);
  return { kind: 'refused', ...(meaning && { meaning }), message: inItsWords(error) };
}

function inItsWords(refusal: PaymentsError): string {
  const words = refusal.providerMessage();
  return words === undefined ? refusal.message : `${refusal.message}: ${words}`;
}
