/** What is known of one token: the application's own, or one user's. Secrets are sealed; nothing here opens them. */
import type { AttentionOf, TokenAttentionCode } from './attention-codes.ts';

/** Whose token. Without `openId` it is the application's own. */
export interface TokenOwner {
  environment: string;
  app: string;
  openId?: string | undefined;
}

/** What the provider gave, sealed. Lifetimes are milliseconds from when it was asked for. */
export interface Grant {
  access: string;
  /** Tells this access token from others without showing it. */
  fingerprint: string;
  livesMs: number;
  refresh?: string | undefined;
  refreshLivesMs?: number | undefined;
  /** Set on a grant that another run of this renewal obtained: Unix milliseconds of Temporal's clock. */
  obtainedAtMs?: number | undefined;
}

/** A grant with the times that count, as Unix milliseconds of Temporal's clock. */
export interface HeldGrant extends Grant {
  obtainedAtMs: number;
  expiresAtMs: number;
  renewsAtMs: number;
}

/** Everything that survives continue-as-new. */
export interface TokenRecord {
  held?: HeldGrant | undefined;
  /** Counts grants: whoever waits for a new one sees it change. */
  generation: number;
  /** The fingerprint of the last grant that a handover brought: handovers are repeated until Temporal has them. */
  handedOver?: string | undefined;
  /** The refresh token bought nothing, or there is none: only the user can go on. */
  needsAuthorization: boolean;
  /** A refresh was given up before its outcome was known: it may have used up the refresh token. */
  triedBefore?: boolean | undefined;
  /** The application token was refused: not before then again. */
  nextTryAtMs?: number | undefined;
  /** Fresh tokens in a row that the provider did not accept. */
  rejectedInARow: number;
  attention: AttentionOf<TokenAttentionCode>[];
}

/** What workers ask for. */
export interface CurrentGrant {
  access: string;
  /** From issue to expiry. A margin is a share of this, never of what is left. */
  livesMs: number;
  expiresAtMs: number;
  renewsAtMs: number;
}

/** What `state` answers: for people, without any secret. */
export interface TokenState {
  app: string;
  kind: 'application' | 'user';
  openId?: string;
  sentence: string;
  obtainedAt?: string;
  expiresAt?: string;
  renewsAt?: string;
  refreshExpiresAt?: string;
  renewals: number;
  needsAuthorization: boolean;
  needsAttention: boolean;
  reasons: AttentionOf<TokenAttentionCode>[];
}

/**
 * The part of an access token's life after which it is renewed. What is left is how long the service may be
 * away without anybody noticing: 90 minutes of an application token's two hours, half a user token's month.
 */
const RENEW_AFTER = { application: 0.25, user: 0.5 } as const;
/** Renewals spread by this part of their wait, so that tokens that began together do not renew together. */
const JITTER = 0.1;
/** When this part of the time between renewal and expiry is gone, somebody should look. */
const LATE_AFTER = 0.5;
/** A refresh is urgent when only this part of the access token's lifetime is left. */
const URGENT_PART = 0.05;
/** A refresh token is nearing its end when only this part of its life is left. */
const NEAR_ITS_END = 1 / 6;

/** After the second fresh token in a row was rejected: a provider that accepts none is not asked on and on. */
const REJECTED_BEFORE_PAUSE = 2;
const PAUSE_PART = 0.02;
const LONGEST_PAUSE_MS = 30_000;

/** Until then a token that was rejected is not replaced: the ones before it fared no better. */
export function pausedUntilMs({ held, rejectedInARow }: TokenRecord): number | undefined {
  if (!held || rejectedInARow < REJECTED_BEFORE_PAUSE) return undefined;
  return held.obtainedAtMs + Math.min(LONGEST_PAUSE_MS, held.livesMs * PAUSE_PART);
}

export function newTokenRecord(): TokenRecord {
  return { generation: 0, needsAuthorization: false, rejectedInARow: 0, attention: [] };
}

export function kindOf(owner: TokenOwner): 'application' | 'user' {
  return owner.openId === undefined ? 'application' : 'user';
}

/** `chance` in [0, 1) spreads the renewal. */
export function heldFrom(owner: TokenOwner, grant: Grant, askedAtMs: number, chance: number): HeldGrant {
  const wait = grant.livesMs * RENEW_AFTER[kindOf(owner)] * (1 + JITTER * (chance - 0.5));
  return {
    ...grant,
    obtainedAtMs: askedAtMs,
    expiresAtMs: askedAtMs + grant.livesMs,
    renewsAtMs: askedAtMs + Math.round(wait),
  };
}

/** When a renewal that has not come about deserves a look. */
export function lateAtMs({ renewsAtMs, expiresAtMs }: HeldGrant): number {
  return renewsAtMs + (expiresAtMs - renewsAtMs) * LATE_AFTER;
}

/** From then on a refresh goes ahead of the creates; until then it waits behind them. */
export function urgentAtMs({ expiresAtMs, livesMs }: HeldGrant): number {
  return expiresAtMs - livesMs * URGENT_PART;
}

export function refreshExpiresAtMs({ obtainedAtMs, refreshLivesMs }: HeldGrant): number | undefined {
  return refreshLivesMs === undefined ? undefined : obtainedAtMs + refreshLivesMs;
}

/** From then on the refresh token is nearing its end. */
export function refreshEndsSoonAtMs(held: HeldGrant): number | undefined {
  const end = refreshExpiresAtMs(held);
  return end === undefined ? undefined : end - (held.refreshLivesMs ?? 0) * NEAR_ITS_END;
}

export function tokenState(owner: TokenOwner, record: TokenRecord, nowMs: number): TokenState {
  const { held, attention, needsAuthorization } = record;
  const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  const refreshEnd = held && iso(refreshExpiresAtMs(held));
  return {
    app: owner.app,
    kind: kindOf(owner),
    ...(owner.openId !== undefined && { openId: owner.openId }),
    sentence: sentenceOf(record, nowMs),
    ...(held && {
      obtainedAt: new Date(held.obtainedAtMs).toISOString(),
      expiresAt: new Date(held.expiresAtMs).toISOString(),
      renewsAt: new Date(held.renewsAtMs).toISOString(),
    }),
    ...(refreshEnd !== undefined && { refreshExpiresAt: refreshEnd }),
    renewals: record.generation,
    needsAuthorization,
    needsAttention: attention.length > 0,
    reasons: attention,
  };
}

function sentenceOf({ held, needsAuthorization }: TokenRecord, nowMs: number): string {
  const usable = held !== undefined && held.expiresAtMs > nowMs;
  if (needsAuthorization)
    return usable
      ? 'Valid for now, but only the user can renew it: authorize again.'
      : 'The user must authorize.';
  if (!held) return 'The first token is being fetched.';
  return usable ? 'Valid; renewed by itself.' : 'Expired; its renewal has not come about yet.';
}
