/**
 * Who waits in the gate, and who goes next: the application token, then urgent refreshes, then creates, then the rest;
 * each in order.
 */
import type { CallGate } from '../../payments/index.ts';

export type GatedCall = Parameters<CallGate['pass']>[0];

export interface Turn {
  call: GatedCall;
  go(): void;
  refuse(reason: unknown): void;
}

const RANKS = 4;

/** Without a token nothing else can be sent, and a create has a lock that runs out. */
const RANK: Partial<Record<GatedCall['operation'], number>> = {
  applicationToken: 0,
  refreshUserToken: 1,
  createPayout: 2,
};

/** They have queues and slots of their own. */
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

  /** Those that were fetched from the application's own queue. */
  get fetched(): number {
    return this.lines.reduce((sum, line) => sum + line.filter(({ call }) => !isTokenCall(call)).length, 0);
  }

  add(turn: Turn): void {
    this.lines[rankOf(turn.call)]?.push(turn);
  }

  next(): Turn | undefined {
    return this.lines.find((line) => line.length > 0)?.shift();
  }

  leave(turn: Turn): void {
    for (const line of this.lines) {
      const at = line.indexOf(turn);
      if (at >= 0) line.splice(at, 1);
    }
  }

  /** Takes out those whose deadline is no later than this. */
  takeDueBy(ms: number): Turn[] {
    const due = this.lines.flat().filter(({ call }) => call.deadline !== undefined && call.deadline <= ms);
    for (const turn of due) this.leave(turn);
    return due;
  }

  takeAll(): Turn[] {
    return this.lines.flatMap((line) => line.splice(0));
  }
}
