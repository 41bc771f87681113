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
  app: appName.describe(
    'The application whose credentials the provider sees: 1 to 32 lowercase letters, digits and hyphens',
  ),
  openId: z.string().optional().describe('The user for whom the application acts, if user tokens are used'),
  clientId: z.string().min(1).describe('The `client_id` of the trade queries. At most 64 characters'),
  partnerOrderId: z
    .string()
    .min(1)
    .describe("The caller's own id of the payout, unique within its application"),
  payerId: z.string().min(1).describe('The payer at the provider. At most 64 characters'),
  orderId: z.string().optional(),
  outcome: outcome.describe('How it ended. Absent before the end'),
  splits: splits.describe('The payments into which the provider divided the order'),
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
  distributeId: z.string().describe("The provider's id of the split"),
  target: moneySchema.describe('What the beneficiary receives, in the target currency'),
  refundReason: z.string().exactOptional().describe("The provider's reason of the return"),
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
  partnerOrderId: z.string().describe("The caller's own id of the payout, unique within its application"),
  outcome: z.enum(OUTCOMES).describe('as the payout reported it'),
  changed: z
    .boolean()
    .describe("the provider's answer differs from the reported result; means nothing if notChecked is set"),
  returned: z.array(returned).describe('The splits whose amounts were returned after the end'),
  returnedSums: sums,
  differences: z.array(difference).describe('What differs from the result that the payout reported'),
  notChecked: difference.exactOptional().describe('the last check got no answer'),
  checks: count.describe('how many checks got an answer'),
  lastCheckedAt: time.exactOptional(),
});
export type FollowUpResult = z.output<typeof followUpResultSchema>;

/** What a follow-up has found, in its memo: lists and the daily report read it without a query to each follow-up. */
export const followUpChanges = z.object({
  returned: z
    .array(stored(returned.omit({ refundReason: true })))
    .describe('The splits whose amounts were returned after the end'),
  differences: z
    .array(stored(difference.omit({ message: true })))
    .describe('What differs from the result that the payout reported'),
  notChecked: difference.pick({ seenAt: true }).optional(),
});
export type FollowUpChanges = z.output<typeof followUpChanges>;

/** By the age of their workflow, when the report was made. */
const open = z.strictObject({
  underAnHour: count.describe('Open for less than an hour'),
  underADay: count.describe('Open for an hour or longer, and less than a day'),
  underAWeek: count.describe('Open for a day or longer, and less than a week'),
  older: count.describe('Open for a week or longer'),
  needingAttention: count.describe('The open payouts that a person should look at'),
});

/** The payouts of one application that ended on the day of the report. */
const app = z.strictObject({
  app: z
    .string()
    .describe(
      'The application whose credentials the provider sees: 1 to 32 lowercase letters, digits and hyphens',
    ),
  outcomes: z
    .strictObject({ SUCCESS: count, PARTIAL_SUCCESS: count, FAILED: count, NOT_CREATED: count })
    .describe('The ended rows by outcome'),
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
  app: z
    .string()
    .describe(
      'The application whose credentials the provider sees: 1 to 32 lowercase letters, digits and hyphens',
    ),
  partnerOrderId: z.string().describe("The caller's own id of the payout, unique within its application"),
  returned: sums.describe('The splits whose amounts were returned after the end'),
  differences: z.array(z.string()).describe('attention codes'),
});
export type ChangedPayout = z.output<typeof change>;

/** What the parts of a report have, of which each reads some payouts. */
const reportPart = z.strictObject({
  apps: z.array(app).describe('Each application with payouts that ended on this day, or that are open'),
  changes: z.array(change).describe('The payouts that were found changed after their end'),
  totalChanges: count.describe('The number of such payouts, also of those that are not listed'),
  appsMissingFrom: z
    .string()
    .exactOptional()
    .describe(
      'the report would be too large: applications with this name, and those whose names sort after it, are missing',
    ),
});
export type ReportPart = z.output<typeof reportPart>;

export const dailyReportSchema = z.strictObject({
  environment: z.string().describe('The environment of the provider: test, sandbox or production'),
  day: z.string().describe('YYYY-MM-DD, UTC'),
  generatedAt: time,
  ...reportPart.shape,
});
export type DailyReport = z.output<typeof dailyReportSchema>;
