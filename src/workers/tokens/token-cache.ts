/**
 * The access tokens of this process's calls, only in memory. Token calls that run in this process fill the cache;
 * otherwise it fetches tokens from the renewal workflow. A call waits only if there is no usable token.
 */
import { SharedReads } from '../../client/shared-reads.ts';
import type { TokenOwner } from '../../contract/tokens.ts';
import { fingerprint, type TokenSeal } from '../../encryption/key-ring.ts';
import type { TokenKind, TokenRequest, TokenSource } from '../../payments/index.ts';
import { type Runtime, sleep } from '../../runtime/runtime.ts';
import type { TokenRenewals } from './token-renewals.ts';

interface TokenCacheParts {
  /** The application. */
  place: TokenOwner;
  source: Pick<TokenRenewals, 'grant'>;
  seal: TokenSeal;
  runtime: Runtime;
}

/** Times are on the monotonic clock. */
interface CachedToken {
  token: string;
  /** When this process got it. */
  sinceMs: number;
  expiresAtMs: number;
  /** From then on, the next call fetches a newer token in the background. */
  refetchAtMs: number;
  /** When the workflow renews it, or earlier. */
  renewsAtMs: number;
  /** When the workflow was last asked for it. */
  askedAtMs: number;
}

/** A token is not used for this long before its expiry or, if it is short-lived, in this part of its lifetime. */
const MARGIN_MS = 600_000;
const MARGIN_RATIO = 1 / 12;
/** The workflow renews a token before this part of its lifetime is over. */
const REFETCH_RATIO = 0.55;
/** After a token was due for renewal, the part of its lifetime between two fetches. Each one adds to the history. */
const REFETCH_PAUSE_RATIO = 0.05;
const RETRY_MS = 1_000;
/** No renewal is before this part of the lifetime. */
const RENEWS_AFTER_RATIO = 0.2;
/** A call that creates something is on its way at most this long before the renewal. */
const RENEWAL_LEAD_MS = 1_000;
/** A renewal that takes longer has failed, as a rule, and the token is still valid. */
const RENEWAL_LIMIT_MS = 5_000;
const RENEWAL_PAUSE_MS = 300;

export class TokenCache implements TokenSource {
  private readonly parts: TokenCacheParts;
  private readonly tokens = new Map<string, CachedToken>();
  private readonly loads: SharedReads<CachedToken>;
  /** The fingerprints of the rejected tokens. */
  private readonly rejections = new Map<string, string>();

  constructor(parts: TokenCacheParts) {
    this.parts = parts;
    this.loads = new SharedReads({ freshMs: 0, clock: parts.runtime.clock });
  }

  /** Rejects if there is no token. The call is then not sent. */
  async token({ kind, openId, creates = false }: TokenRequest): Promise<string> {
    const owner = this.ownerOf(kind, openId);
    if (creates) await this.untilRenewed(owner);
    const cached = this.tokens.get(keyOf(owner));
    const { now } = this;
    if (!cached || now >= cached.expiresAtMs) return (await this.load(owner)).token;
    if (now >= cached.refetchAtMs)
      void this.load(owner).catch(() => {
        cached.refetchAtMs = this.now + RETRY_MS;
      });
    return cached.token;
  }

  /**
   * Waits for a renewal that is due. With the renewal, the provider may revoke the token that this process knows: a create
   * call with it would have an unknown outcome.
   */
  private async untilRenewed(owner: TokenOwner): Promise<void> {
    const { clock } = this.parts.runtime;
    for (let pauseMs = 0; ; pauseMs = RENEWAL_PAUSE_MS) {
      const { renewsAtMs, askedAtMs } = this.tokens.get(keyOf(owner)) ?? (await this.load(owner));
      if (this.now < renewsAtMs - RENEWAL_LEAD_MS || askedAtMs >= renewsAtMs + RENEWAL_LIMIT_MS) return;
      if (pauseMs > 0) await sleep(clock, pauseMs);
      await this.load(owner);
    }
  }

  /** The next call waits for another token. */
  rejected(kind: TokenKind, openId: string | undefined, token: string): void {
    const key = keyOf(this.ownerOf(kind, openId));
    if (this.tokens.get(key)?.token !== token) return;
    this.tokens.delete(key);
    this.rejections.set(key, fingerprint(token));
  }

  /** Adds a token that this process has just received. */
  put(owner: TokenOwner, token: string, lifetimeMs: number): void {
    const { now } = this;
    this.keep(owner, {
      token,
      sinceMs: now,
      expiresAtMs: now + lifetimeMs - marginMs(lifetimeMs),
      refetchAtMs: now + lifetimeMs * REFETCH_RATIO,
      renewsAtMs: now + lifetimeMs * RENEWS_AFTER_RATIO,
      askedAtMs: now,
    });
  }

  /** How long this process has had the application's token. Undefined without one. */
  get ageMs(): number | undefined {
    const cached = this.tokens.get(keyOf(this.parts.place));
    return cached && this.now - cached.sinceMs;
  }

  private get now(): number {
    return this.parts.runtime.clock.nowMs();
  }

  private load(owner: TokenOwner): Promise<CachedToken> {
    return this.loads.read(keyOf(owner), () => this.fetch(owner));
  }

  private async fetch(owner: TokenOwner): Promise<CachedToken> {
    const key = keyOf(owner);
    const rejected = this.rejections.get(key);
    const { source, seal, runtime } = this.parts;
    // The grant's times are on Temporal's clock, so only the time that remains counts: from the request, to be safe.
    const { now } = this;
    const grant = await source.grant(owner, rejected);
    const { lifetimeMs, grantedAtMs } = grant;
    const token = seal.open(grant.access, owner, 'access');
    // The provider may have rejected it during the fetch.
    const latest = this.rejections.get(key);
    if (latest !== rejected && latest === fingerprint(token)) return this.fetch(owner);
    this.rejections.delete(key);
    const renewsAtMs = now + grant.renewsAtMs - grantedAtMs;
    const fetched = {
      token,
      sinceMs: now,
      expiresAtMs: now + grant.expiresAtMs - grantedAtMs - marginMs(lifetimeMs),
      // Spread, because all processes receive the same time.
      refetchAtMs:
        Math.max(renewsAtMs, now) + lifetimeMs * REFETCH_PAUSE_RATIO * (1 + runtime.random.number()),
      renewsAtMs,
      askedAtMs: now,
    };
    if (fetched.expiresAtMs <= this.now)
      throw new Error('the token has expired, and its renewal is in progress');
    this.keep(owner, fetched);
    return fetched;
  }

  /** Never replaces a token by an older one that arrived later. */
  private keep(owner: TokenOwner, token: CachedToken): void {
    const key = keyOf(owner);
    const cached = this.tokens.get(key);
    if (cached?.token === token.token)
      this.tokens.set(key, { ...token, sinceMs: cached.sinceMs, expiresAtMs: cached.expiresAtMs });
    else if (!cached || cached.expiresAtMs < token.expiresAtMs) this.tokens.set(key, token);
    else {
      // Not every call should fetch it again.
      cached.refetchAtMs = Math.max(cached.refetchAtMs, this.now + RETRY_MS);
      cached.askedAtMs = token.askedAtMs;
    }
  }

  private ownerOf(kind: TokenKind, openId: string | undefined): TokenOwner {
    if (kind === 'application') return this.parts.place;
    if (openId === undefined) throw new Error('a user token needs an openId');
    return { ...this.parts.place, openId };
  }
}

/** From the whole lifetime: a part of the remaining lifetime would shrink with every fetch. */
function marginMs(lifetimeMs: number): number {
  return Math.min(MARGIN_MS, lifetimeMs * MARGIN_RATIO);
}

function keyOf({ openId }: TokenOwner): string {
  return openId === undefined ? 'application' : `user:${openId}`;
}
