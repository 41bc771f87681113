/** An append-only log that drops its oldest entries, so that memory stays bounded in long runs. */
export class RingLog<Entry> {
  readonly #capacity: number;
  #entries: Entry[] = [];
  #dropped = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    // Trim rarely and in bulk: shifting an array of this size for every entry costs far more.
    if (this.#entries.length < this.#capacity * 1.25) return;
    const surplus = this.#entries.length - this.#capacity;
    this.#entries = this.#entries.slice(surplus);
    this.#dropped += surplus;
  }

  list(): readonly Entry[] {
    return this.#entries;
  }

  /** How many entries were ever added. */
  get total(): number {
    return this.#dropped + this.#entries.length;
  }

  clear(): void {
    this.#entries = [];
    this.#dropped = 0;
  }
}
