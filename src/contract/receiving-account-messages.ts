/** What the opening of a receiving account can be told and asked; see `messages.ts` for why each is what it is. */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { ReceivingAccountState } from '../domain/receiving-account.ts';

/** What a person found out about an account that may or may not have been opened. */
export type OpeningResolution =
  | { by: string; created: true; accountId: string }
  | { by: string; created: false; then: 'end' | 'retry' };

export const openingStateQuery = defineQuery<ReceivingAccountState>('state');
export const resolveOpeningUpdate = defineUpdate<ReceivingAccountState, [OpeningResolution]>('resolve');
