/** The messages of the rate-limit lease. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CallsPerSecondChange, RateLimitState } from '../domain/rate-limit-lease.ts';

/** Takes effect with a clean handover, about half a second later. Returns the new state. */
export const setCallsPerSecondUpdate = defineUpdate<RateLimitState, [CallsPerSecondChange]>(
  'setCallsPerSecond',
);
export const rateLimitQuery = defineQuery<RateLimitState>('state');
/** From an owner whose configuration names the application differently: operators find the lease by that name. */
export const appRenamedSignal = defineSignal<[app: string]>('appRenamed');
