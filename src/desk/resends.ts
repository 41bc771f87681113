/** Sending many events again takes longer than a browser should wait: the page shows how it goes. */
import { type Clock, sleep } from '../runtime/runtime.ts';

/** On this server, since its start. Others show none. */
export type Resend = { kind: 'running' } | { kind: 'sent'; events: number } | { kind: 'failed' };

const PATIENCE_MS = 1_500;

export class Resends {
  readonly #clock: Clock;
  readonly #last = new Map<string, Resend>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(endpoint: string): Resend | undefined {
    return this.#last.get(endpoint);
  }

  /** Waits for a short time only. Throws what `send` throws in this time. One that is running is not begun again. */
  async begin(endpoint: string, send: () => Promise<{ events: number }>): Promise<Resend> {
    if (this.of(endpoint)?.kind === 'running') return { kind: 'running' };
    this.#last.set(endpoint, { kind: 'running' });
    const sending = send().then(
      ({ events }): Resend => this.#ended(endpoint, { kind: 'sent', events }),
      (error: unknown) => {
        this.#ended(endpoint, { kind: 'failed' });
        throw error;
      },
    );
    const settled = new AbortController();
    const late = sleep(this.#clock, PATIENCE_MS, settled.signal).then((): Resend => ({ kind: 'running' }));
    return Promise.race([sending, late]).finally(() => settled.abort());
  }

  #ended(endpoint: string, resend: Resend): Resend {
    this.#last.set(endpoint, resend);
    return resend;
  }
}
