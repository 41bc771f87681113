/** Tokens: the application's and those of users. */
import { z } from 'zod';
import type { AttentionOf, TokenAttentionCode } from './attention-codes.ts';

/** The owner of a token. Without `openId`, it is the application. */
export interface TokenOwner {
  environment: string;
  app: string;
  openId?: string | undefined;
}

/** The tokens that the provider issued, sealed. Lifetimes are milliseconds from `obtainedAtMs`. */
export const grantSchema = z.object({
  access: z.string(),
  /** Identifies the access token without revealing it. */
  fingerprint: z.string(),
  lifetimeMs: z.number(),
  refresh: z.string().optional(),
  refreshLifetimeMs: z.number().optional(),
  /**
   * When the request for the tokens began, so that they never expire earlier than computed. Unix milliseconds on
   * Temporal's clock. Set by the activity: a time that a signal handler reads may differ in a replay.
   */
  obtainedAtMs: z.number(),
});
export type Grant = z.output<typeof grantSchema>;

/** The grant as workers receive it. Times are Unix milliseconds on Temporal's clock. */
export interface CurrentGrant {
  access: string;
  /** The whole lifetime, from issue to expiry. Margins are fractions of it, not of the remaining lifetime. */
  lifetimeMs: number;
  expiresAtMs: number;
  renewsAtMs: number;
  /** When the renewal returned it. */
  grantedAtMs: number;
}

/** The result of the query `state`: without secrets. */
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
 * `NOT_STORED`: the provider issued tokens, but Temporal didn't accept them. `UNCERTAIN`: the result at the provider is
 * unknown.
 */
export const AUTHORIZATION_OUTCOMES = [
  'GRANTED',
  'DENIED',
  'EXPIRED',
  'REFUSED',
  'UNAVAILABLE',
  'UNCERTAIN',
  'NOT_STORED',
] as const;

/** How a user's attempt to authorize the application ended. */
export interface AuthorizationOutcome {
  outcome: (typeof AUTHORIZATION_OUTCOMES)[number];
  /** The text of the page. */
  sentence: string;
  openId?: string;
}
