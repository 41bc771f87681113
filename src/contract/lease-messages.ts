/** The messages of the rate-limit lease. */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CallsPerSecondChange, PauseRequest, RateLimitState } from '../domain/rate-limit-lease.ts';

/** Takes effect with a clean handover, about half a second later. Returns the new state. */
export const setCallsPerSecondUpdate = defineUpdate<RateLimitState, [CallsPerSecondChange]>(
  'setCallsPerSecond',
);
/**
 * No create call of the application is written later than `RENEWAL_VALID_MS` after the update has completed. A pause of a
 * paused application changes nothing.
 */
export const pauseUpdate = defineUpdate<RateLimitState, [PauseRequest]>('pause');
export const resumeUpdate = defineUpdate<RateLimitState, [Pick<PauseRequest, 'by'>]>('resume');
export const rateLimitQuery = defineQuery<RateLimitState>('state');
/** From an owner whose configuration names the application differently: operators find the lease by that name. */
export const appRenamedSignal = defineSignal<[app: string]>('appRenamed');
