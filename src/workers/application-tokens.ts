/** The application token of one application, held in memory only and shared by all calls of this process. */
import type { TokenSource } from '../payments/index.ts';
import type { ApplicationToken } from '../payments/types.ts';

/** Renewed when this part of its life is over, long before a clock that runs wrong could matter. */
const RENEW_AFTER = 0.5;

interface Held {
  value: string;
  renewAtMs: number;
  expiresAtMs: number;
}

export class ApplicationTokens implements TokenSource {
  private readonly fetch: () => Promise<ApplicationToken>;
  private held: Held | undefined;
  private fetching: Promise<Held> | undefined;

  constructor(fetch: () => Promise<ApplicationToken>) {
    this.fetch = fetch;
  }

  /** Throws whatever the token call threw, when no token that is still valid is at hand. */
  async token({ kind }: { kind: 'application' | 'user' }): Promise<string> {
    if (kind === 'user') throw new Error('this worker holds no user tokens');
    const { held } = this;
    if (!held || performance.now() >= held.expiresAtMs) return (await this.renew()).value;
    // Still good: renew behind the back of whoever asks, and go on with the old one should that fail.
    if (performance.now() >= held.renewAtMs) void this.renew().catch(() => undefined);
    return held.value;
  }

  /** The service called this token invalid: the next call gets a new one. */
  rejected(_kind: 'application' | 'user', _openId: string | undefined, token: string): void {
    if (this.held?.value === token) this.held = undefined;
  }

  /** One renewal in flight, however many ask. */
  private renew(): Promise<Held> {
    this.fetching ??= this.fetchNow().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async fetchNow(): Promise<Held> {
    const askedAt = performance.now();
    const { accessToken, expiresInSeconds } = await this.fetch();
    const life = expiresInSeconds * 1_000;
    this.held = { value: accessToken, renewAtMs: askedAt + life * RENEW_AFTER, expiresAtMs: askedAt + life };
    return this.held;
  }
}
