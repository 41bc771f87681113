/** What a follow-up has found, in its memo: lists and the daily report read it without a query to each follow-up. */
import { z } from 'zod';
import { moneyAnswer } from './payout-answers.ts';

export const followUpChanges = z.object({
  returned: z.array(
    z.object({ distributeId: z.string(), target: moneyAnswer, inResult: z.boolean(), seenAt: z.string() }),
  ),
  differences: z.array(z.object({ code: z.string(), seenAt: z.string() })),
  notChecked: z.object({ seenAt: z.string() }).optional(),
});
export type FollowUpChanges = z.output<typeof followUpChanges>;
