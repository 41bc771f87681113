/** Concurrent requests of one kind, of which no caller can take the others' share. */
import { unavailable } from './problem.ts';

export class Shares {
  private readonly refusal: string;
  /** By caller, without those that have none. */
  private readonly taken = new Map<string, number>();
  private free: number;

  /** `refusal`: the detail of the 503. */
  constructor(places: number, refusal: string) {
    this.refusal = refusal;
    this.free = places;
  }

  /**
   * Rejects with a 503 without calling `call` if no place is free, or if the caller has as many as are free: alone, it can
   * take half of all places, and the next caller half of the rest.
   */
  async run<T>(caller: string, call: () => Promise<T>): Promise<T> {
    const own = this.taken.get(caller) ?? 0;
    if (own >= this.free) throw unavailable('too-many-waiting', this.refusal);
    this.take(caller, 1);
    try {
      return await call();
    } finally {
      this.take(caller, -1);
    }
  }

  private take(caller: string, places: number): void {
    this.free -= places;
    const own = (this.taken.get(caller) ?? 0) + places;
    if (own === 0) this.taken.delete(caller);
    else this.taken.set(caller, own);
  }
}
