/** The messages of a follow-up. The signal is the payout's own: a late notification, and no more than a hint. */
import { defineQuery } from '@temporalio/workflow';
import type { FollowUpResult } from '../domain/follow-up.ts';

/** What it knows so far. */
export const changesQuery = defineQuery<FollowUpResult>('changes');
