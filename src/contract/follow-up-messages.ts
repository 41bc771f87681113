/** The query of a follow-up. Its signal is the payout's `notification` signal: a late notification, which is a hint. */
import { defineQuery } from '@temporalio/workflow';
import type { FollowUpResult } from '../domain/follow-up.ts';

/** The result so far. */
export const changesQuery = defineQuery<FollowUpResult>('changes');
