/** What follow-ups and daily reports return. */

import { z } from 'zod';
import {
  type AttentionOf,
  codesOf,
  FOLLOW_UP_ATTENTION,
  type FollowUpAttentionCode,
} from './attention-codes.ts';
import { OUTCOMES, type PayoutOutcome } from './codes.ts';
import { moneyAnswer } from './fields.ts';
import type { Money } from './money.ts';
import type { Same, Split } from './payout.ts';
import type { Metadata } from './payout-request.ts';

/** An ended payout as its own result reported it. */
export interface FollowUpRequest {
  /** Absent if neither memo nor history names the environment of the payout. */
  environment?: string | undefined;
  app: string;
  openId?: string | undefined;
  clientId: string;
  partnerOrderId: string;
  payerId: string;
  orderId?: string | undefined;
  outcome: PayoutOutcome;
  splits: Split[];
  /** When the payout's workflow ended; the checks are scheduled from here. Unix milliseconds. */
  endedAtMs: number;
  /** Of the payout's request, for events. */
  metadata?: Metadata | undefined;
}

/** A split whose money was returned. */
export interface ReturnedPayment {
  distributeId: string;
  target: Money;
  refundReason?: string;
  /** The money was returned before the payout ended, and the payout's own result says so. */
  inResult: boolean;
  /** When a check first found it. ISO 8601. */
  seenAt: string;
}

export type Attention = AttentionOf<FollowUpAttentionCode>;

/** A difference between the reported result and the provider's current answer. */
export interface Difference extends Attention {
  /** When a check first found it. ISO 8601. */
  seenAt: string;
}

export interface FollowUpResult {
  partnerOrderId: string;
  /** As the payout reported it. The follow-up never changes it. */
  outcome: PayoutOutcome;
  /** The provider's answer differs from the reported result. Means nothing if `notChecked` is set. */
  changed: boolean;
  returned: ReturnedPayment[];
  /** The sums of the returned money, one per currency. */
  returnedSums: Money[];
  /** All other differences. */
  differences: Difference[];
  /** The last check got no answer, so changes since `lastCheckedAt` are unknown. */
  notChecked?: Difference;
  /** Checks that got an answer. */
  checks: number;
  lastCheckedAt?: string;
}

export const followUpChanges = z.object({
  returned: z.array(
    z.object({ distributeId: z.string(), target: moneyAnswer, inResult: z.boolean(), seenAt: z.string() }),
  ),
  differences: z.array(z.object({ code: z.string(), seenAt: z.string() })),
  notChecked: z.object({ seenAt: z.string() }).optional(),
});

export type FollowUpChanges = z.output<typeof followUpChanges>;

export interface AppReport {
  app: string;
  /** Payouts that ended on that day. */
  outcomes: Record<PayoutOutcome, number>;
  /** Payouts that ended on that day with an attention flag. */
  endedFlagged: number;
  /** Payouts that ended on that day and whose result could not be read. The sums do not include them. */
  unreadable: number;
  /** Sums of the splits that succeeded and were not returned, and of those that failed, one per currency. */
  received: Money[];
  failed: Money[];
  /**
   * Money returned before a payout ended on that day, and returns that a follow-up found on that day. One sum per
   * currency.
   */
  returned: Money[];
  /** Payouts for which a follow-up found on that day that the provider's answer differs from the reported result. */
  changed: number;
  /** Payouts whose follow-up checks have failed since that day. */
  notChecked: number;
  open: OpenPayoutsByAge;
}

/** Open payouts when the report was made, by the age of their workflow. */
interface OpenPayoutsByAge {
  underAnHour: number;
  underADay: number;
  underAWeek: number;
  older: number;
  /** Open payouts that wait for a person. */
  needingAttention: number;
}

/** A payout for which a follow-up found that the provider's answer differs from the reported result. */
export interface ChangedPayout {
  app: string;
  partnerOrderId: string;
  returned: Money[];
  /** Attention codes. */
  differences: string[];
}

export interface ReportPart {
  apps: AppReport[];
  changes: ChangedPayout[];
  /** The total number of changes. `changes` lists at most 1,000 of them. */
  totalChanges: number;
  /** The report would be too large: applications with this name, and those whose names sort after it, are missing. */
  appsMissingFrom?: string;
}

export interface DailyReport extends ReportPart {
  environment: string;
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** ISO 8601. */
  generatedAt: string;
}

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
