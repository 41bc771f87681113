/** The messages of the opening of a receiving account. */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { ReceivingAccountState } from '../domain/receiving-account.ts';

/** The argument of `resolve`: a person's decision about an account of unknown existence. */
export type OpeningResolution =
  | { by: string; created: true; accountId: string }
  | { by: string; created: false; then: 'end' | 'retry' };

export const openingStateQuery = defineQuery<ReceivingAccountState>('state');
export const resolveOpeningUpdate = defineUpdate<ReceivingAccountState, [OpeningResolution]>('resolve');
