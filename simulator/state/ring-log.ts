/** An append-only log that forgets its oldest entries, so that a long run keeps a bounded memory. */
export class RingLog<Entry> {
  readonly #capacity: number;
  #entries: Entry[] = [];
  #forgotten = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    // Cut rarely and in bulk: shifting an array of this size at every entry would cost far more.
    if (this.#entries.length < this.#capacity * 1.25) return;
    const surplus = this.#entries.length - this.#capacity;
    this.#entries = this.#entries.slice(surplus);
    this.#forgotten += surplus;
  }

  list(): readonly Entry[] {
    return this.#entries;
  }

  /** How many entries were ever added. */
  get total(): number {
    return this.#forgotten + this.#entries.length;
  }

  clear(): void {
    this.#entries = [];
    this.#forgotten = 0;
  }
}
