/** What a token's renewal is told and asked. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CurrentGrant, Grant, TokenState } from '../domain/token-record.ts';

export interface RenewRequest {
  /** The fingerprint of a token that the service did not accept: renewed only if it is still the current one. */
  rejected?: string | undefined;
}

/** An update, for whoever asks waits for the new token. However many ask at once, it is renewed once. */
export const renewUpdate = defineUpdate<TokenState, [RenewRequest]>('renew');
/** A signal: the user has authorized, and the tokens must not get lost whatever the renewal is doing. */
export const authorizedSignal = defineSignal<[Grant]>('authorized');
export const tokenStateQuery = defineQuery<TokenState>('state');
/** For workers; sealed. */
export const currentGrantQuery = defineQuery<CurrentGrant | null>('grant');
