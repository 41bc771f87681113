/** Caches usable account checks, and shares concurrent ones. An unusable answer is always fresh. */

import type { ClientAccounts } from '../../contract/provider-records.ts';
import { accountProblem } from '../../domain/payout-quote.ts';
import type { Clock } from '../../runtime/runtime.ts';

type Answer = ClientAccounts | null;

/** The provider refuses an account that was closed since. */
const VALID_MS = 300_000;
/** Beyond it, the oldest entry is removed. */
const MAX_CLIENTS = 10_000;

export class RecentAccounts {
  private readonly clock: Clock;
  private readonly known = new Map<string, { accounts: Answer; untilMs: number }>();
  private readonly pending = new Map<string, Promise<Answer>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** An answer is usable if it shows a usable account in `currency`. */
  async usable(client: string, currency: string, request: () => Promise<Answer>): Promise<Answer> {
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

  private async fresh(client: string, request: () => Promise<Answer>): Promise<Answer> {
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

  private remember(client: string, accounts: Answer): void {
    this.known.delete(client);
    this.known.set(client, { accounts, untilMs: this.clock.nowMs() + VALID_MS });
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_CLIENTS && oldest !== undefined) this.known.delete(oldest);
  }
}

function isUsable(accounts: Answer, currency: string): boolean {
  return accountProblem(accounts, currency) === undefined;
}
