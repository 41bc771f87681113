import { beforeEach, describe, expect, test } from 'vitest';
import type { CurrentGrant } from '../../src/contract/tokens.ts';
import { TokenSeal } from '../../src/encryption/key-ring.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { TokenCache } from '../../src/workers/tokens/token-cache.ts';
import type { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { clientFor } from '../payments/support/client.ts';
import { startServer } from '../payments/support/server.ts';
import { FakeClock } from '../support/fake-clock.ts';

const PLACE = { environment: 'test', app: 'default' };
const MINUTE = 60_000;
const LIFETIME_MS = 120 * MINUTE;

let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock();
});

/** A renewal that grants one token and never another. */
class Renewal implements Pick<TokenRenewals, 'grant'> {
  readonly asked: (string | undefined)[] = [];
  protected readonly issuedAtMs: number;
  private readonly lifetimeMs: number;
  /** How far Temporal's clock is ahead of the clock of this process. */
  private readonly aheadMs: number;

  constructor(lifetimeMs: number, aheadMs = 0) {
    this.lifetimeMs = lifetimeMs;
    this.aheadMs = aheadMs;
    this.issuedAtMs = this.temporalMs();
  }

  private temporalMs(): number {
    return clock.wallMs() + this.aheadMs;
  }

  async grant(_owner: unknown, rejected?: string): Promise<CurrentGrant> {
    this.asked.push(rejected);
    return {
      access: seal.seal('at-1', PLACE, 'access'),
      lifetimeMs: this.lifetimeMs,
      expiresAtMs: this.issuedAtMs + this.lifetimeMs,
      renewsAtMs: this.issuedAtMs + this.lifetimeMs / 4,
      grantedAtMs: this.temporalMs(),
    };
  }
}

const { random } = PROCESS_RUNTIME;
const seal = new TokenSeal(undefined, random);
const held = (source: Pick<TokenRenewals, 'grant'>) =>
  new TokenCache({ place: PLACE, source, seal, runtime: { clock, random } });

describe('a token whose renewal fails', () => {
  test('H44 is used until ten minutes before its expiry, however often it was fetched', async () => {
    const tokens = held(new Renewal(LIFETIME_MS));
    for (let minute = 0; minute < 110; minute += 1) {
      expect(await tokens.token({ kind: 'application' })).toBe('at-1');
      await clock.advance(MINUTE);
    }
    await expect(tokens.token({ kind: 'application' })).rejects.toThrow('expired');
    // A process that starts late keeps the same margin.
    await expect(held(new Renewal(LIFETIME_MS)).token({ kind: 'application' })).resolves.toBe('at-1');
  });

  test('H44 a process that fetches it shortly before its expiry keeps the same margin', async () => {
    const renewal = new Renewal(LIFETIME_MS);
    await clock.advance(111 * MINUTE);
    await expect(held(renewal).token({ kind: 'application' })).rejects.toThrow('expired');
  });

  test.each([-12, 12])("H44 Temporal's clock, %i hours off, changes none of that", async (hours) => {
    const renewal = new Renewal(LIFETIME_MS, hours * 60 * MINUTE);
    await clock.advance(109 * MINUTE);
    const tokens = held(renewal);
    await expect(tokens.token({ kind: 'application' })).resolves.toBe('at-1');
    await clock.advance(MINUTE);
    await expect(tokens.token({ kind: 'application' })).rejects.toThrow('expired');
  });

  test('is fetched again a few times, and not by every call', async () => {
    const renewal = new Renewal(LIFETIME_MS);
    const tokens = held(renewal);
    for (let second = 0; second < 109 * 60; second += 1) {
      await tokens.token({ kind: 'application' });
      await clock.advance(1_000);
    }
    expect(renewal.asked.length).toBeLessThan(20);
  });
});

describe('H265 a provider that revokes a token with its renewal', () => {
  const RENEWED_MS = LIFETIME_MS / 4;
  /** Renews its token when that is due: the workflow knows the new one after `tookMs`. */
  class Renewing extends Renewal {
    private readonly tookMs: number;
    constructor(tookMs: number) {
      super(LIFETIME_MS);
      this.tookMs = tookMs;
    }
    override async grant(owner: unknown, rejected?: string): Promise<CurrentGrant> {
      const first = await super.grant(owner, rejected);
      if (clock.wallMs() < this.issuedAtMs + RENEWED_MS + this.tookMs) return first;
      const access = seal.seal('at-2', PLACE, 'access');
      const later = (ms: number) => ms + RENEWED_MS;
      return { ...first, access, expiresAtMs: later(first.expiresAtMs), renewsAtMs: later(first.renewsAtMs) };
    }
  }
  const create = { kind: 'application', creates: true } as const;

  test.each([-900, 0, 300])('a create call %i ms after the renewal waits for the new token', async (ms) => {
    const tokens = held(new Renewing(800));
    await tokens.token(create);
    await clock.advance(RENEWED_MS + ms);
    const token = tokens.token(create);
    expect(await tokens.token({ kind: 'application' })).toBe('at-1');
    expect(await clock.until(token)).toBeLessThanOrEqual(800 - ms + 300);
    expect(await token).toBe('at-2');
  });

  test('after a renewal that takes longer, it goes out with the token that is there', async () => {
    const renewal = new Renewing(60_000);
    const tokens = held(renewal);
    await tokens.token(create);
    await clock.advance(RENEWED_MS);
    expect(await clock.until(tokens.token(create))).toBeLessThanOrEqual(5_300);
    const asked = renewal.asked.length;
    for (let call = 0; call < 100; call += 1) expect(await tokens.token(create)).toBe('at-1');
    expect(renewal.asked.length).toBe(asked);
  });

  test('the process that renewed it asks once when the next renewal is', async () => {
    const renewal = new Renewing(800);
    const tokens = held(renewal);
    tokens.put(PLACE, 'at-1', LIFETIME_MS);
    for (let minute = 0; minute < 29; minute += 1) {
      expect(await tokens.token(create)).toBe('at-1');
      await clock.advance(MINUTE);
    }
    expect(renewal.asked.length).toBe(1);
  });
});

describe('H44 what invalidates a token', () => {
  const query = { clientId: 'c', partnerOrderId: 'p' } as const;
  const answered = async (status: number, code: string) => {
    const server = await startServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code, message: 'no' }));
    });
    const renewal = new Renewal(LIFETIME_MS);
    const tokens = held(renewal);
    const client = clientFor(server.origin, { tokens });
    for (let i = 0; i < 2; i += 1) await client.tradeResult(query).catch(() => undefined);
    return renewal.asked.map((rejected) => rejected !== undefined);
  };

  test.each<[number, string]>([
    [403, '403'],
    [403, 'FORBIDDEN'],
    [403, '900002'],
    [200, '403'],
  ])('HTTP %i with code %s forbids a call, and all calls keep the token', async (status, code) => {
    expect(await answered(status, code)).toEqual([false]);
  });

  test.each<[number, string]>([
    [401, '401'],
    [401, '900000'],
    [200, '401'],
    [403, '401'],
  ])('HTTP %i with code %s replaces that very token', async (status, code) => {
    expect(await answered(status, code)).toEqual([false, true]);
  });

  test('rejecting a token that is no longer in use replaces nothing', async () => {
    const renewal = new Renewal(LIFETIME_MS);
    const tokens = held(renewal);
    await tokens.token({ kind: 'application' });
    tokens.rejected('application', undefined, 'at-0');
    tokens.rejected('user', 'somebody', 'at-1');
    await tokens.token({ kind: 'application' });
    expect(renewal.asked).toEqual([undefined]);
  });
});
