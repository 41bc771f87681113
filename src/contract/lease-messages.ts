/** How others talk to the rate-limit lease. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CallsPerSecondChange, RateLimitState } from '../domain/rate-limit-lease.ts';

/** Takes effect with a clean handover, about half a second later; answers what counts from then on. */
export const setCallsPerSecondUpdate = defineUpdate<RateLimitState, [CallsPerSecondChange]>(
  'setCallsPerSecond',
);
export const rateLimitQuery = defineQuery<RateLimitState>('state');
/** From an owner whose configuration has another name for the application: people look for the lease by that name. */
export const servedAsSignal = defineSignal<[app: string]>('servedAs');
