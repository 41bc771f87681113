/** The calls that wait for their turn, the most urgent ones first. */
import type { GatedCall } from '../../payments/options.ts';

export interface Turn {
  call: GatedCall;
  go(): void;
  refuse(reason: unknown): void;
}

/** Without a token, nothing can be sent; the order of a create call has a lock that expires. */
const RANK: Partial<Record<GatedCall['operation'], number>> = {
  applicationToken: 0,
  refreshUserToken: 1,
  createPayout: 2,
};

const LAST_RANK = 3;

function rankOf({ operation, background }: GatedCall): number {
  return background ? LAST_RANK : (RANK[operation] ?? LAST_RANK);
}

/** Token calls have their own queues and slots. */
const TOKEN_CALLS: readonly GatedCall['operation'][] = [
  'applicationToken',
  'refreshUserToken',
  'exchangeCode',
];

export function isTokenCall({ operation }: GatedCall): boolean {
  return TOKEN_CALLS.includes(operation);
}

/** The waiting calls by rank: the application token, urgent refreshes, create calls, all others; each in order. */
export class Turns {
  private waiting: Turn[] = [];

  get size(): number {
    return this.waiting.length;
  }

  /** The number of calls that are not token calls. */
  get fetched(): number {
    return this.waiting.filter(({ call }) => !isTokenCall(call)).length;
  }

  add(turn: Turn): void {
    const rank = rankOf(turn.call);
    const at = this.waiting.findLastIndex(({ call }) => rankOf(call) <= rank) + 1;
    this.waiting.splice(at, 0, turn);
  }

  next(): Turn | undefined {
    return this.waiting.shift();
  }

  remove(turn: Turn): void {
    this.waiting = this.waiting.filter((one) => one !== turn);
  }

  /** The calls with a deadline at or before `ms`. */
  dueBy(ms: number): Turn[] {
    return this.waiting.filter(({ call }) => call.deadline !== undefined && call.deadline <= ms);
  }

  takeAll(): Turn[] {
    return this.waiting.splice(0);
  }
}
