/** What follow-ups and daily reports answer, as schemas for other languages. The types in `src/domain` rule. */
import { z } from 'zod';
import type { DailyReport } from '../domain/daily-report.ts';
import type { FollowUpResult } from '../domain/follow-up.ts';
import { OUTCOMES } from '../domain/payout.ts';
import { moneyAnswer } from './payout-answers.ts';
import type { Same } from './same.ts';

const time = z.string().describe('ISO 8601');
const count = z.int().min(0);
const sums = z.array(moneyAnswer).describe('one for each currency');

export const followUpResultSchema = z.strictObject({
  partnerOrderId: z.string(),
  outcome: z.enum(OUTCOMES).describe('as the payout reported it'),
  changed: z.boolean(),
  returned: z.array(
    z.strictObject({
      distributeId: z.string(),
      target: moneyAnswer,
      refundReason: z.string().exactOptional(),
      seenAt: time,
    }),
  ),
  returnedSums: sums,
  differences: z.array(z.strictObject({ code: z.string(), message: z.string(), seenAt: time })),
  looks: count,
  lastLookedAt: time.exactOptional(),
});

const open = z.strictObject({
  underAnHour: count,
  underADay: count,
  underAWeek: count,
  older: count,
  needingAttention: count,
});

const app = z.strictObject({
  app: z.string(),
  outcomes: z.strictObject({ SUCCESS: count, PARTIAL_SUCCESS: count, FAILED: count, NOT_CREATED: count }),
  endedFlagged: count.describe('ended, and still flagged'),
  unreadable: count.describe('results that could not be read; the sums lack them'),
  received: sums,
  failed: sums,
  returned: sums,
  changed: count.describe('found to be not as reported'),
  open: open.describe('when the report was made'),
});

export const dailyReportSchema = z.strictObject({
  environment: z.string(),
  day: z.string().describe('YYYY-MM-DD, UTC'),
  madeAt: time,
  apps: z.array(app),
  changes: z.array(
    z.strictObject({
      app: z.string(),
      partnerOrderId: z.string(),
      returned: sums,
      differences: z.array(z.string()).describe('codes'),
    }),
  ),
  changesInAll: count,
});

const inStep: [
  Same<z.output<typeof followUpResultSchema>, FollowUpResult>,
  Same<z.output<typeof dailyReportSchema>, DailyReport>,
] = [true, true];
void inStep;
