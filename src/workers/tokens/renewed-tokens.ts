/**
 * The access tokens that this process's calls use: in memory only, shared by all callers, fed by token calls that
 * run here and fetched from the renewal workflow otherwise. A call waits for a token only when there is none.
 */
import type { CurrentGrant, TokenOwner } from '../../domain/token-record.ts';
import { fingerprint, type TokenSeal } from '../../encryption/token-seal.ts';
import type { TokenKind, TokenSource } from '../../payments/index.ts';
import type { Surroundings } from '../../surroundings/surroundings.ts';

/** The part of the renewals that this needs; a test can stand in for Temporal. */
export interface GrantSource {
  /** `rejected`: the fingerprint of a token that the provider did not accept. */
  grant(owner: TokenOwner, rejected?: string): Promise<CurrentGrant>;
}

interface Held {
  token: string;
  /** On the monotonic clock: past it the token is not used any more. */
  uselessAtMs: number;
  /** A newer one should be there by then: it is fetched behind the back of whoever asks. */
  staleAtMs: number;
}

/** Clocks may differ by this much; for a token that lives shorter, only by a part of its whole lifetime. */
const CLOCKS_DIFFER_MS = 600_000;
const CLOCKS_DIFFER_PART = 1 / 12;
/** A token that is fed here is renewed by the workflow, at the latest when this part of its life is over. */
const STALE_PART = 0.55;
/**
 * A renewal takes its time, and each look is an update in the renewal's history: the next token is looked for this
 * part of the lifetime after it was due, and then as often again.
 */
const LOOK_EVERY_PART = 0.05;
/** After a look that failed. */
const LOOK_AGAIN_MS = 1_000;

export class RenewedTokens implements TokenSource {
  private readonly place: { environment: string; app: string };
  private readonly source: GrantSource;
  private readonly seal: TokenSeal;
  private readonly surroundings: Surroundings;
  private readonly held = new Map<string, Held>();
  private readonly loading = new Map<string, Promise<Held>>();
  private readonly rejections = new Map<string, string>();

  constructor(
    place: { environment: string; app: string },
    source: GrantSource,
    seal: TokenSeal,
    surroundings: Surroundings,
  ) {
    this.place = place;
    this.source = source;
    this.seal = seal;
    this.surroundings = surroundings;
  }

  /** Rejects when there is no token to be had: the call is then not sent. */
  async token({ kind, openId }: { kind: TokenKind; openId?: string }): Promise<string> {
    const owner = this.ownerOf(kind, openId);
    const held = this.held.get(keyOf(owner));
    const now = this.surroundings.clock.nowMs();
    if (!held || now >= held.uselessAtMs) return (await this.load(owner)).token;
    if (now >= held.staleAtMs)
      void this.load(owner).catch(() => {
        held.staleAtMs = this.surroundings.clock.nowMs() + LOOK_AGAIN_MS;
      });
    return held.token;
  }

  /** The provider did not accept this token: the next call waits for another. */
  rejected(kind: TokenKind, openId: string | undefined, token: string): void {
    const key = keyOf(this.ownerOf(kind, openId));
    if (this.held.get(key)?.token !== token) return;
    this.held.delete(key);
    this.rejections.set(key, fingerprint(token));
  }

  /** A renewal that ran in this process has just got it. */
  feed(owner: TokenOwner, token: string, livesMs: number): void {
    const now = this.surroundings.clock.nowMs();
    const uselessAtMs = now + livesMs - marginMs(livesMs);
    this.keep(owner, { token, uselessAtMs, staleAtMs: now + livesMs * STALE_PART });
  }

  /** One fetch in flight for a token, however many ask. */
  private load(owner: TokenOwner): Promise<Held> {
    const key = keyOf(owner);
    const running = this.loading.get(key);
    if (running) return running;
    const load = this.fetch(owner).finally(() => this.loading.delete(key));
    this.loading.set(key, load);
    return load;
  }

  private async fetch(owner: TokenOwner): Promise<Held> {
    const key = keyOf(owner);
    const rejected = this.rejections.get(key);
    const { access, livesMs, expiresAtMs, renewsAtMs } = await this.source.grant(owner, rejected);
    const token = this.seal.open(access, owner, 'access');
    // It was rejected while this answer was on its way.
    const since = this.rejections.get(key);
    if (since !== rejected && since === fingerprint(token)) return this.fetch(owner);
    this.rejections.delete(key);
    const { clock, random } = this.surroundings;
    const [now, today] = [clock.nowMs(), clock.wallMs()];
    const held = {
      token,
      uselessAtMs: now + expiresAtMs - today - marginMs(livesMs),
      // Spread, because all processes are told the same time.
      staleAtMs: now + Math.max(renewsAtMs - today, 0) + livesMs * LOOK_EVERY_PART * (1 + random.number()),
    };
    // One that has run out already is not kept: the next call asks again.
    if (held.uselessAtMs <= now) throw new Error('the token at hand has expired; its renewal is under way');
    this.keep(owner, held);
    return held;
  }

  /** An answer that was overtaken by a newer token must not put the older one back. */
  private keep(owner: TokenOwner, held: Held): void {
    const key = keyOf(owner);
    const known = this.held.get(key);
    if (known?.token === held.token) known.staleAtMs = held.staleAtMs;
    else if (!known || known.uselessAtMs < held.uselessAtMs) this.held.set(key, held);
    // The answer is older than what is known; it must not be looked for at every call.
    else known.staleAtMs = Math.max(known.staleAtMs, this.surroundings.clock.nowMs() + LOOK_AGAIN_MS);
  }

  private ownerOf(kind: TokenKind, openId: string | undefined): TokenOwner {
    if (kind === 'application') return this.place;
    if (openId === undefined) throw new Error('a user token needs an openId');
    return { ...this.place, openId };
  }
}

/** From the lifetime at issue: a part of what is left would shrink with every look. */
function marginMs(livesMs: number): number {
  return Math.min(CLOCKS_DIFFER_MS, livesMs * CLOCKS_DIFFER_PART);
}

function keyOf({ openId }: TokenOwner): string {
  return openId === undefined ? 'application' : `user:${openId}`;
}
