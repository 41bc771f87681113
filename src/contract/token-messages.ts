/** What a token's renewal is told and asked. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CurrentGrant, Grant, TokenState } from '../domain/token-record.ts';

export interface GrantRequest {
  /** The fingerprint of a token that the provider did not accept: the answer is the grant after it. */
  rejected?: string | undefined;
}

/**
 * For workers: the grant to use now, sealed. An update and not a query, because a workflow task leaves a dead worker
 * after timeouts that we set; how long a query waits for it is up to the server. Null when none came within a few seconds.
 */
export const grantUpdate = defineUpdate<CurrentGrant | null, [GrantRequest]>('grant');
/** For people: renews now. An update, because the person waits for the outcome. */
export const renewUpdate = defineUpdate<TokenState>('renew');
/** A signal: the user has authorized, and the tokens must not get lost whatever the renewal is doing. */
export const authorizedSignal = defineSignal<[Grant]>('authorized');
export const tokenStateQuery = defineQuery<TokenState>('state');
