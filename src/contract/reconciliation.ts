/** What follow-ups and daily reports know and return. */
import { z } from 'zod';
import { FOLLOW_UP_ATTENTION } from './attention-codes.ts';
import { OUTCOMES } from './codes.ts';
import { appName, attention, count, moneySchema, stored, time } from './fields.ts';
import { storedResultSchema } from './payout.ts';

/** 31 December 9999. */
const MAX_TIME_MS = 253_402_300_799_999;
const { outcome, splits, metadata } = storedResultSchema.shape;

/** An ended payout as its own result reported it: all that the workflow reads, because it does not check the request again. */
export const followUpRequestSchema = z.object({
  environment: z.string().optional().describe('absent if neither memo nor history of the payout names it'),
  app: appName,
  openId: z.string().optional(),
  clientId: z.string().min(1),
  partnerOrderId: z.string().min(1),
  payerId: z.string().min(1),
  orderId: z.string().optional(),
  outcome,
  splits,
  endedAtMs: z
    .number()
    .min(0)
    .max(MAX_TIME_MS)
    .describe("when the payout's workflow ended; the checks are scheduled from here. Unix milliseconds"),
  metadata,
});
export type FollowUpRequest = z.output<typeof followUpRequestSchema>;

const sums = z.array(moneySchema).describe('one sum per currency');
const seenAt = time.describe('when a check first found it. ISO 8601');

const returned = z.strictObject({
  distributeId: z.string(),
  target: moneySchema,
  refundReason: z.string().exactOptional(),
  inResult: z.boolean().describe("the payout's own result already says so"),
  seenAt,
});
export type ReturnedPayment = z.output<typeof returned>;

const flag = attention(FOLLOW_UP_ATTENTION);
export type FollowUpAttention = z.output<typeof flag>;

/** A difference between the reported result and what the provider says now. */
const difference = flag.extend({ seenAt });
export type Difference = z.output<typeof difference>;

export const followUpResultSchema = z.strictObject({
  partnerOrderId: z.string(),
  outcome: z.enum(OUTCOMES).describe('as the payout reported it'),
  changed: z
    .boolean()
    .describe("the provider's answer differs from the reported result; means nothing if notChecked is set"),
  returned: z.array(returned),
  returnedSums: sums,
  differences: z.array(difference),
  notChecked: difference.exactOptional().describe('the last check got no answer'),
  checks: count.describe('how many checks got an answer'),
  lastCheckedAt: time.exactOptional(),
});
export type FollowUpResult = z.output<typeof followUpResultSchema>;

/** What a follow-up has found, in its memo: lists and the daily report read it without a query to each follow-up. */
export const followUpChanges = z.object({
  returned: z.array(stored(returned.omit({ refundReason: true }))),
  differences: z.array(stored(difference.omit({ message: true }))),
  notChecked: difference.pick({ seenAt: true }).optional(),
});
export type FollowUpChanges = z.output<typeof followUpChanges>;

/** By the age of their workflow, when the report was made. */
const open = z.strictObject({
  underAnHour: count,
  underADay: count,
  underAWeek: count,
  older: count,
  needingAttention: count,
});

/** The payouts of one application that ended on the day of the report. */
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
export type AppReport = z.output<typeof app>;

/** A payout for which a follow-up found that what the provider says differs from the reported result. */
const change = z.strictObject({
  app: z.string(),
  partnerOrderId: z.string(),
  returned: sums,
  differences: z.array(z.string()).describe('attention codes'),
});
export type ChangedPayout = z.output<typeof change>;

/** What the parts of a report have, of which each reads some payouts. */
const reportPart = z.strictObject({
  apps: z.array(app),
  changes: z.array(change),
  totalChanges: count,
  appsMissingFrom: z
    .string()
    .exactOptional()
    .describe(
      'the report would be too large: applications with this name, and those whose names sort after it, are missing',
    ),
});
export type ReportPart = z.output<typeof reportPart>;

export const dailyReportSchema = z.strictObject({
  environment: z.string(),
  day: z.string().describe('YYYY-MM-DD, UTC'),
  generatedAt: time,
  ...reportPart.shape,
});
export type DailyReport = z.output<typeof dailyReportSchema>;
