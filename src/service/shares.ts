/** Places for concurrent requests of one kind, or their bytes, of which no caller can take the others' share. */
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

  /** Calls `call` with one place taken. Rejects as `take` does. */
  async run<T>(caller: string, call: () => Promise<T>): Promise<T> {
    const giveBack = this.take(caller, 1);
    try {
      return await call();
    } finally {
      giveBack();
    }
  }

  /**
   * Throws a 503 if the caller would have more places than are left: alone, it can take half of all places, and the next
   * caller half of the rest. Returns a function that gives them back.
   */
  take(caller: string, places: number): () => void {
    const own = this.taken.get(caller) ?? 0;
    if (own + places > this.free) throw unavailable('too-many-waiting', this.refusal);
    this.add(caller, places);
    return () => this.add(caller, -places);
  }

  private add(caller: string, places: number): void {
    this.free -= places;
    const own = (this.taken.get(caller) ?? 0) + places;
    if (own === 0) this.taken.delete(caller);
    else this.taken.set(caller, own);
  }
}
