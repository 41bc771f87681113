/** Events ordered by time. Events at the same time run in the order in which they were planned. */
export interface PlannedEvent {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
  canceled: boolean;
}

export class EventQueue {
  private readonly heap: PlannedEvent[] = [];
  private planned = 0;

  plan(at: number, callback: () => void): PlannedEvent {
    const event: PlannedEvent = { at, order: this.planned++, callback, canceled: false };
    this.heap.push(event);
    let index = this.heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfEarlier(index, parent)) break;
      index = parent;
    }
    return event;
  }

  /** The time of the next event that is not canceled. */
  nextAt(): number | undefined {
    while (this.heap[0]?.canceled) this.pop();
    return this.heap[0]?.at;
  }

  /** Removes and returns the next event that is not canceled. */
  next(): PlannedEvent | undefined {
    for (let event = this.pop(); event; event = this.pop()) if (!event.canceled) return event;
    return undefined;
  }

  private pop(): PlannedEvent | undefined {
    const [first] = this.heap;
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return first;
    this.heap[0] = last;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const child = this.isEarlier(left + 1, left) ? left + 1 : left;
      if (!this.swapIfEarlier(child, index)) return first;
      index = child;
    }
  }

  private isEarlier(one: number, other: number): boolean {
    const [a, b] = [this.heap[one], this.heap[other]];
    return a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order));
  }

  private swapIfEarlier(one: number, other: number): boolean {
    const [a, b] = [this.heap[one], this.heap[other]];
    if (a === undefined || b === undefined || !this.isEarlier(one, other)) return false;
    this.heap[one] = b;
    this.heap[other] = a;
    return true;
  }
}
