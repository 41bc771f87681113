/** The waiting calls by rank: the application token, urgent refreshes, creates, all others; each in order. */
import type { CallGate } from '../../payments/index.ts';

export type GatedCall = Parameters<CallGate['pass']>[0];

export interface Turn {
  call: GatedCall;
  go(): void;
  refuse(reason: unknown): void;
}

const RANKS = 4;

/** Without a token, nothing can be sent; a create has a lock that expires. */
const RANK: Partial<Record<GatedCall['operation'], number>> = {
  applicationToken: 0,
  refreshUserToken: 1,
  createPayout: 2,
};

/** Token calls have their own queues and slots. */
const TOKEN_CALLS: readonly GatedCall['operation'][] = [
  'applicationToken',
  'refreshUserToken',
  'exchangeCode',
];

export function isTokenCall({ operation }: GatedCall): boolean {
  return TOKEN_CALLS.includes(operation);
}

function rankOf({ operation, background }: GatedCall): number {
  return background ? RANKS - 1 : (RANK[operation] ?? RANKS - 1);
}

export class Turns {
  private readonly lines: Turn[][] = Array.from({ length: RANKS }, () => []);

  get size(): number {
    return this.lines.reduce((sum, line) => sum + line.length, 0);
  }

  /** The number of calls that are not token calls. */
  get fetched(): number {
    return this.lines.reduce((sum, line) => sum + line.filter(({ call }) => !isTokenCall(call)).length, 0);
  }

  add(turn: Turn): void {
    this.lines[rankOf(turn.call)]?.push(turn);
  }

  next(): Turn | undefined {
    return this.lines.find((line) => line.length > 0)?.shift();
  }

  remove(turn: Turn): void {
    for (const line of this.lines) {
      const at = line.indexOf(turn);
      if (at >= 0) line.splice(at, 1);
    }
  }

  /** Removes and returns the calls with a deadline at or before `ms`. */
  takeDueBy(ms: number): Turn[] {
    const due = this.lines.flat().filter(({ call }) => call.deadline !== undefined && call.deadline <= ms);
    for (const turn of due) this.remove(turn);
    return due;
  }

  takeAll(): Turn[] {
    return this.lines.flatMap((line) => line.splice(0));
  }
}
