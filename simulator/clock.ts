/** Two clocks: one that only goes forward, for every limit and lifetime; one that people read. */
export function monotonicMs(): number {
  return performance.now();
}

export function wallMs(): number {
  return Date.now();
}

export function isoTime(atWallMs: number): string {
  return new Date(atWallMs).toISOString();
}

/** Timers that the simulator can drop all at once: they never keep the process alive. */
export class Timers {
  readonly #open = new Set<NodeJS.Timeout>();

  after(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#open.delete(timer);
      act();
    }, delayMs);
    timer.unref();
    this.#open.add(timer);
  }

  clear(): void {
    for (const timer of this.#open) clearTimeout(timer);
    this.#open.clear();
  }
}

/** Waits without keeping the process alive; an early end is `signal`'s business. */
export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs).unref();
  });
}
