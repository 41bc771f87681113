/** Follow-ups of payouts, and daily reports. */
import { z } from 'zod';
import { FOLLOW_UP_ATTENTION } from './attention-codes.ts';
import { OUTCOMES } from './codes.ts';
import { appName, attention, count, moneySchema, stored, time } from './fields.ts';
import { payoutResultSchema } from './payout.ts';

/** 31 December 9999. */
const MAX_TIME_MS = 253_402_300_799_999;
const { outcome, splits, metadata } = payoutResultSchema.shape;

/** A finished payout as its own result reported it: all that the workflow reads, because it doesn't check the request again. */
export const followUpRequestSchema = z.object({
  /** Absent if neither memo nor history of the payout names it. */
  environment: z.string().optional(),
  app: appName,
  openId: z.string().optional(),
  clientId: z.string().min(1),
  partnerOrderId: z.string().min(1),
  payerId: z.string().min(1),
  orderId: z.string().optional(),
  outcome,
  splits: stored(splits),
  /** When the payout's workflow ended; the checks are scheduled from here. Unix milliseconds. */
  endedAtMs: z.number().min(0).max(MAX_TIME_MS),
  metadata,
});
export type FollowUpRequest = z.output<typeof followUpRequestSchema>;

const sums = z.array(moneySchema).describe('One sum per currency');
const seenAt = time.describe('When a check first found it. ISO 8601');

const returned = z.strictObject({
  distributeId: z.string(),
  target: moneySchema,
  refundReason: z.string().exactOptional(),
  inResult: z.boolean().describe("Whether the payout's own result already says so"),
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
  outcome: z.enum(OUTCOMES).describe('As the payout reported it'),
  changed: z.boolean().describe('Whether the provider contradicts the result now. Ignore it with notChecked'),
  returned: z.array(returned),
  returnedSums: sums,
  differences: z.array(difference),
  notChecked: difference.exactOptional().describe('The last check got no response'),
  checks: count.describe('How many checks got a response'),
  lastCheckedAt: time.exactOptional(),
});
export type FollowUpResult = z.output<typeof followUpResultSchema>;

/** The findings of a follow-up, in its memo: lists and the daily report read it without a query to each follow-up. */
export const followUpChanges = z.object({
  returned: z.array(stored(returned.omit({ refundReason: true }))),
  differences: z.array(stored(difference.omit({ message: true }))),
  notChecked: difference.pick({ seenAt: true }).optional(),
});
export type FollowUpChanges = z.output<typeof followUpChanges>;

/** By the age of their workflow, when the report was made. */
const open = z.strictObject({
  underAnHour: count.describe('Open for less than an hour'),
  underADay: count.describe('Open for an hour or longer, and less than a day'),
  underAWeek: count.describe('Open for a day or longer, and less than a week'),
  older: count.describe('Open for a week or longer'),
  needingAttention: count.describe('Open payouts with an attention flag'),
});

/** The payouts of one application that finished on the day of the report. */
const app = z.strictObject({
  app: z.string(),
  outcomes: z
    .strictObject({ SUCCESS: count, PARTIAL_SUCCESS: count, FAILED: count, NOT_CREATED: count })
    .describe('Finished payouts by outcome'),
  endedFlagged: count.describe('Finished with an attention flag'),
  unreadable: count.describe("Results that couldn't be read; the sums don't include them"),
  received: sums.describe('Without returned money, one sum per currency'),
  failed: sums,
  returned: sums.describe('Returned money, one sum per currency'),
  changed: count.describe('Found to differ from the reported result'),
  notChecked: count.describe('Follow-up checks that got no response'),
  open: open.describe('When the report was made'),
});
export type AppReport = z.output<typeof app>;

/** A payout for which a follow-up found that what the provider says differs from the reported result. */
const change = z.strictObject({
  app: z.string(),
  partnerOrderId: z.string(),
  returned: sums,
  differences: z.array(z.string()).describe('Attention codes'),
});
export type ChangedPayout = z.output<typeof change>;

/** The fields of a report. Each part of it reads some payouts. */
const reportPart = z.strictObject({
  apps: z.array(app).describe('Each application with payouts that finished on this day, or that are open'),
  changes: z.array(change).describe('Payouts that were found changed after they finished'),
  totalChanges: count.describe("The number of such payouts, including those that aren't listed"),
  appsMissingFrom: z.string().exactOptional().describe('Too large: omits applications from this name on'),
});
export type ReportPart = z.output<typeof reportPart>;

export const dailyReportSchema = z.strictObject({
  environment: z.string().describe('test, sandbox or production'),
  day: z.string().describe('YYYY-MM-DD, UTC'),
  generatedAt: time,
  ...reportPart.shape,
});
export type DailyReport = z.output<typeof dailyReportSchema>;
