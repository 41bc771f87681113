/**
 * The account check, shared by the payouts of one client: a good answer serves for a short time, and whoever asks at
 * the same time waits for the same one. A refusal always rests on an answer that was asked for just then.
 */
import { accountProblem } from '../../domain/account-check.ts';
import type { ClientAccounts } from '../../domain/provider-records.ts';
import type { Clock } from '../../surroundings/surroundings.ts';

type Answer = ClientAccounts | null;

/** An account that is closed meanwhile is refused by the service itself. */
const GOOD_FOR_MS = 300_000;
/** Clients that are remembered; the oldest is forgotten first. */
const MOST_CLIENTS = 10_000;

export class RecentAccounts {
  private readonly clock: Clock;
  private readonly known = new Map<string, { accounts: Answer; untilMs: number }>();
  private readonly asking = new Map<string, Promise<Answer>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** `currency`: usable accounts in it are all that the asker wants to know of. */
  async usable(client: string, currency: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.known.get(client);
    if (known && this.clock.nowMs() < known.untilMs && isUsable(known.accounts, currency))
      return known.accounts;
    const running = this.asking.get(client);
    if (running) {
      const shared = await running;
      return isUsable(shared, currency) ? shared : this.fresh(client, ask);
    }
    return this.fresh(client, ask);
  }

  private async fresh(client: string, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = ask();
    this.asking.set(client, answer);
    try {
      const accounts = await answer;
      this.remember(client, accounts);
      return accounts;
    } finally {
      if (this.asking.get(client) === answer) this.asking.delete(client);
    }
  }

  private remember(client: string, accounts: Answer): void {
    this.known.delete(client);
    this.known.set(client, { accounts, untilMs: this.clock.nowMs() + GOOD_FOR_MS });
    const [oldest] = this.known.keys();
    if (this.known.size > MOST_CLIENTS && oldest !== undefined) this.known.delete(oldest);
  }
}

function isUsable(accounts: Answer, currency: string): boolean {
  return accountProblem(accounts, currency) === undefined;
}
