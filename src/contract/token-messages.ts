/** The messages of a token's renewal. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CurrentGrant, Grant, TokenState } from '../domain/token-record.ts';

export interface GrantRequest {
  /** The fingerprint of a token that the provider rejected. The result is the next grant. */
  rejected?: string | undefined;
}

/**
 * For workers: the current grant, sealed. An update rather than a query, because our own timeouts decide how soon a
 * workflow task leaves a crashed worker, while the server decides how long a query waits. Null if there is no grant
 * within a few seconds.
 */
export const grantUpdate = defineUpdate<CurrentGrant | null, [GrantRequest]>('grant');
/** For people: renews the token now. */
export const renewUpdate = defineUpdate<TokenState>('renew');
/** The tokens of a new user authorization. A signal, so that they are kept whatever the renewal is doing. */
export const authorizedSignal = defineSignal<[Grant]>('authorized');
export const tokenStateQuery = defineQuery<TokenState>('state');
