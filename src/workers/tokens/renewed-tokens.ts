/**
 * The access tokens that this process's calls use: in memory only, shared by all callers, fed by renewals that
 * run here and fetched from the renewal workflow otherwise. A call waits for a token only when there is none.
 */
import type { CurrentGrant, TokenOwner } from '../../domain/token-record.ts';
import { fingerprint, type TokenSeal } from '../../encryption/token-seal.ts';
import type { TokenKind, TokenSource } from '../../payments/index.ts';

/** The part of the renewals that this needs; a test can stand in for Temporal. */
export interface GrantSource {
  current(owner: TokenOwner): Promise<CurrentGrant>;
  renewed(owner: TokenOwner, rejected: string): Promise<CurrentGrant>;
}

interface Held {
  token: string;
  /** On the monotonic clock: past it the token is not used any more. */
  uselessAtMs: number;
  /** A newer one should be there by then: it is fetched behind the back of whoever asks. */
  staleAtMs: number;
}

/** Clocks may differ by this much; of a token that lives shorter, only a part of its life. */
const CLOCKS_DIFFER_MS = 600_000;
const CLOCKS_DIFFER_PART = 1 / 12;
/** A token that is fed here is renewed by the workflow, at the latest when this part of its life is over. */
const STALE_PART = 0.55;

export class RenewedTokens implements TokenSource {
  private readonly place: { environment: string; app: string };
  private readonly source: GrantSource;
  private readonly seal: TokenSeal;
  private readonly held = new Map<string, Held>();
  private readonly loading = new Map<string, Promise<Held>>();
  private readonly rejections = new Map<string, string>();

  constructor(place: { environment: string; app: string }, source: GrantSource, seal: TokenSeal) {
    this.place = place;
    this.source = source;
    this.seal = seal;
  }

  /** Rejects when there is no token to be had: the call is then not sent. */
  async token({ kind, openId }: { kind: TokenKind; openId?: string }): Promise<string> {
    const owner = this.ownerOf(kind, openId);
    const held = this.held.get(keyOf(owner));
    const now = performance.now();
    if (!held || now >= held.uselessAtMs) return (await this.load(owner)).token;
    if (now >= held.staleAtMs) void this.load(owner).catch(() => undefined);
    return held.token;
  }

  /** The service did not accept this token: the next call waits for another. */
  rejected(kind: TokenKind, openId: string | undefined, token: string): void {
    const key = keyOf(this.ownerOf(kind, openId));
    if (this.held.get(key)?.token !== token) return;
    this.held.delete(key);
    this.rejections.set(key, fingerprint(token));
  }

  /** A renewal that ran in this process has just got it. */
  feed(owner: TokenOwner, token: string, livesMs: number): void {
    const now = performance.now();
    this.keep(owner, { token, uselessAtMs: now + usable(livesMs), staleAtMs: now + livesMs * STALE_PART });
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
    const grant = rejected ? await this.source.renewed(owner, rejected) : await this.source.current(owner);
    this.rejections.delete(key);
    const token = this.seal.open(grant.access, owner, 'access');
    const left = grant.expiresAtMs - Date.now();
    const now = performance.now();
    const untilRenewal = grant.renewsAtMs - Date.now();
    const held = {
      token,
      uselessAtMs: now + usable(left),
      staleAtMs: now + Math.max(untilRenewal, left / 4),
    };
    // One that has run out already is not kept: the next call asks again.
    if (held.uselessAtMs <= now) throw new Error('the token at hand has expired; its renewal is under way');
    this.keep(owner, held);
    return held;
  }

  /** An answer that was overtaken by a newer token must not put the older one back. */
  private keep(owner: TokenOwner, held: Held): void {
    const known = this.held.get(keyOf(owner));
    if (!known || known.uselessAtMs < held.uselessAtMs) this.held.set(keyOf(owner), held);
  }

  private ownerOf(kind: TokenKind, openId: string | undefined): TokenOwner {
    if (kind === 'application') return this.place;
    if (openId === undefined) throw new Error('a user token needs an openId');
    return { ...this.place, openId };
  }
}

function usable(livesMs: number): number {
  return livesMs - Math.min(CLOCKS_DIFFER_MS, livesMs * CLOCKS_DIFFER_PART);
}

function keyOf({ openId }: TokenOwner): string {
  return openId === undefined ? 'application' : `user:${openId}`;
}
