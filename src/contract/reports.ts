/**
 * Schemas of the results of follow-ups and daily reports, for other languages. The types in `src/domain` are the
 * source.
 */
import { z } from 'zod';
import { codesOf, FOLLOW_UP_ATTENTION } from '../domain/attention-codes.ts';
import type { DailyReport } from '../domain/daily-report.ts';
import type { FollowUpResult } from '../domain/follow-up.ts';
import { OUTCOMES } from '../domain/payout.ts';
import { moneyAnswer, type Same } from './payout-answers.ts';

const time = z.string().describe('ISO 8601');
const count = z.int().min(0);
const sums = z.array(moneyAnswer).describe('one sum per currency');

const difference = z.strictObject({
  code: z.enum(codesOf(FOLLOW_UP_ATTENTION)),
  message: z.string(),
  seenAt: time,
});

export const followUpResultSchema = z.strictObject({
  partnerOrderId: z.string(),
  outcome: z.enum(OUTCOMES).describe('as the payout reported it'),
  changed: z
    .boolean()
    .describe("the provider's answer differs from the reported result; means nothing if notChecked is set"),
  returned: z.array(
    z.strictObject({
      distributeId: z.string(),
      target: moneyAnswer,
      refundReason: z.string().exactOptional(),
      inResult: z.boolean().describe("the payout's own result already says so"),
      seenAt: time,
    }),
  ),
  returnedSums: sums,
  differences: z.array(difference),
  notChecked: difference.exactOptional().describe('the last check got no answer'),
  checks: count,
  lastCheckedAt: time.exactOptional(),
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
  endedFlagged: count.describe('ended with an attention flag'),
  unreadable: count.describe('results that could not be read; the sums do not include them'),
  received: sums.describe('without returned money, one sum per currency'),
  failed: sums,
  returned: sums.describe('returned money, one sum per currency'),
  changed: count.describe('found to differ from the reported result'),
  notChecked: count.describe('follow-up checks that got no answer'),
  open: open.describe('when the report was made'),
});

export const dailyReportSchema = z.strictObject({
  environment: z.string(),
  day: z.string().describe('YYYY-MM-DD, UTC'),
  generatedAt: time,
  apps: z.array(app),
  changes: z.array(
    z.strictObject({
      app: z.string(),
      partnerOrderId: z.string(),
      returned: sums,
      differences: z.array(z.string()).describe('attention codes'),
    }),
  ),
  totalChanges: count,
  appsMissingFrom: z
    .string()
    .exactOptional()
    .describe(
      'the report would be too large: applications with this name, and those whose names sort after it, are missing',
    ),
});

const matches: [
  Same<z.output<typeof followUpResultSchema>, FollowUpResult>,
  Same<z.output<typeof dailyReportSchema>, DailyReport>,
] = [true, true];
void matches;
