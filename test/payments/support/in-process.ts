/** A provider that answers without a network, on the test's clock. */
import {
  type Exchange,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from '../../../src/payments/index.ts';
import { sleep } from '../../../src/runtime/runtime.ts';

export interface InProcessOptions {
  /** From the request to an established connection. */
  connectsAfterMs?: number;
  /** From the first byte to the answer. */
  answersAfterMs?: number;
  body?: string;
}

export class InProcessTransport implements Transport {
  /** The requests that were written. */
  readonly seen: WireRequest[] = [];
  private readonly options: TransportOptions;
  private readonly provider: InProcessOptions;
  private closed = false;

  constructor(options: TransportOptions, provider: InProcessOptions) {
    this.options = options;
    this.provider = provider;
  }

  exchange(request: WireRequest): Promise<Exchange> {
    const { clock } = this.options;
    const { connectsAfterMs = 0, answersAfterMs = 0, body = '{}' } = this.provider;
    return runAttempt(request, this.options, async ({ signal, mayWrite }) => {
      if (this.closed) throw Object.assign(new Error('closed'), { code: 'CLOSED' });
      await sleep(clock, connectsAfterMs, signal);
      if (!mayWrite()) throw new Error('withheld');
      this.seen.push(request);
      await sleep(clock, answersAfterMs, signal);
      return { kind: 'response', status: 200, body: Buffer.from(body) };
    });
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
