/** The record of one token: the application's or one user's. Its secrets are sealed, and nothing here unseals them. */

import type { AttentionOf, TokenAttentionCode } from '../contract/attention-codes.ts';
import { compact } from '../contract/compact.ts';
import type { Grant, TokenOwner, TokenState } from '../contract/tokens.ts';
import { EventLog } from './events.ts';
import { isoTime } from './time.ts';

/** A grant with its absolute times, in Unix milliseconds on Temporal's clock. */
export interface HeldGrant extends Grant {
  expiresAtMs: number;
  renewsAtMs: number;
}

/** The state of a renewal workflow. It survives continue-as-new. */
export class TokenRecord {
  held?: HeldGrant | undefined;
  /** The number of grants. It changes with each new grant, so waiters notice it. */
  generation = 0;
  /** `obtainedAtMs` of the newest handover. Handovers are retried and may arrive out of order. */
  handedOverAtMs?: number | undefined;
  /** The provider refused the refresh token, or there is none: the user must authorize again. */
  needsAuthorization = false;
  /** A refresh was abandoned before its outcome was known. It may have used up the refresh token. */
  triedBefore?: boolean | undefined;
  /** The provider refused the application token; the next attempt isn't before this time. */
  nextTryAtMs?: number | undefined;
  /** How many new tokens in a row the provider rejected. */
  rejectedInARow = 0;
  attention: AttentionOf<TokenAttentionCode>[] = [];
  log = new EventLog();
}

/**
 * The fraction of an access token's lifetime after which it is renewed. During the rest, the provider may be
 * unavailable without effect: 90 minutes for an application token, 15 days for a user token.
 */
const RENEW_AFTER = { application: 0.25, user: 0.5 } as const;

/** Renewals are spread by this fraction of their wait, so that tokens issued together don't renew together. */
const JITTER = 0.1;

/** A renewal is late after this fraction of the time between its due time and the expiry. */
const LATE_AFTER = 0.5;

/** A refresh is urgent when only this fraction of the access token's lifetime remains. */
const URGENT_FRACTION = 0.05;

/** A refresh token expires soon when only this fraction of its lifetime remains. */
const EXPIRES_SOON_FRACTION = 1 / 6;

/** After this many rejected tokens in a row, renewals pause, so that a provider that accepts no token isn't flooded. */
const REJECTED_BEFORE_PAUSE = 2;
const PAUSE_FRACTION = 0.02;
const MAX_REJECTION_PAUSE_MS = 30_000;

/** Until this time, a rejected token isn't replaced, because the tokens before it were rejected too. */
export function pausedUntilMs({ held, rejectedInARow }: TokenRecord): number | undefined {
  if (!held || rejectedInARow < REJECTED_BEFORE_PAUSE) return undefined;
  return held.obtainedAtMs + Math.min(MAX_REJECTION_PAUSE_MS, held.lifetimeMs * PAUSE_FRACTION);
}

export function tokenKind(owner: TokenOwner): 'application' | 'user' {
  return owner.openId === undefined ? 'application' : 'user';
}

/** `chance`, in [0, 1), spreads the renewal. */
export function toHeldGrant(owner: TokenOwner, grant: Grant, chance: number): HeldGrant {
  const { obtainedAtMs, lifetimeMs } = grant;
  const wait = lifetimeMs * RENEW_AFTER[tokenKind(owner)] * (1 + JITTER * (chance - 0.5));
  return { ...grant, expiresAtMs: obtainedAtMs + lifetimeMs, renewsAtMs: obtainedAtMs + Math.round(wait) };
}

/** When a renewal that hasn't succeeded sets the attention flag. */
export function lateAtMs({ renewsAtMs, expiresAtMs }: HeldGrant): number {
  return renewsAtMs + (expiresAtMs - renewsAtMs) * LATE_AFTER;
}

/** From this time on, a refresh is served before create calls; until then, after them. */
export function urgentAtMs({ expiresAtMs, lifetimeMs }: HeldGrant): number {
  return expiresAtMs - lifetimeMs * URGENT_FRACTION;
}

function refreshExpiresAtMs({ obtainedAtMs, refreshLifetimeMs }: HeldGrant): number | undefined {
  return refreshLifetimeMs === undefined ? undefined : obtainedAtMs + refreshLifetimeMs;
}

/** From this time on, the refresh token expires soon. */
export function refreshEndsSoonAtMs(held: HeldGrant): number | undefined {
  const end = refreshExpiresAtMs(held);
  return end === undefined ? undefined : end - (held.refreshLifetimeMs ?? 0) * EXPIRES_SOON_FRACTION;
}

export function tokenState(owner: TokenOwner, record: TokenRecord, nowMs: number): TokenState {
  const { held, attention, needsAuthorization } = record;
  const refreshEndMs = held && refreshExpiresAtMs(held);
  return {
    app: owner.app,
    kind: tokenKind(owner),
    ...compact({ openId: owner.openId }),
    sentence: sentenceOf(record, nowMs),
    ...(held && {
      obtainedAt: isoTime(held.obtainedAtMs),
      expiresAt: isoTime(held.expiresAtMs),
      renewsAt: isoTime(held.renewsAtMs),
    }),
    ...(refreshEndMs !== undefined && { refreshExpiresAt: isoTime(refreshEndMs) }),
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
      ? "Valid, but it can't be renewed. The user must authorize again."
      : 'The user must authorize.';
  if (!held) return 'The first token is being fetched.';
  return usable ? 'Valid; renewed automatically.' : "Expired; the renewal hasn't succeeded yet.";
}
