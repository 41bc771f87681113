/** What each peer is: a worker program, and a front that starts payouts, takes notifications, and lists ended payouts. */
import type { Payout } from './provider.ts';

export interface Ended {
  id: string;
  /** The order's final status, or `ERROR` if the tool gave up. */
  outcome: string;
  atMs: number;
}

export interface Front {
  start(payout: Payout): Promise<void>;
  /** The provider says that the order has ended. */
  notify(id: string): Promise<void>;
  ended(): Promise<Ended[]>;
}

export interface Peer {
  /** Resolves when the worker is ready; it then works until its process ends. */
  work(): Promise<void>;
  front(): Promise<Front>;
}
