/** Statements: one row for each payout that finished in a period, or for each row of a batch. */
import { z } from 'zod';
import { ROW_OUTCOMES } from './codes.ts';
import { appName, count, metadataSchema, moneySchema, storedReason, time, timeWithOffset } from './fields.ts';
import { filter, payoutMemoSchema } from './lists.ts';
import { payoutResultSchema } from './payout.ts';

export const STATEMENT_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type StatementFormat = (typeof STATEMENT_FORMATS)[number];

export const period = {
  from: timeWithOffset().describe('The workflow ended at this time or later. ISO 8601 with an offset'),
  to: timeWithOffset().describe('The workflow ended before this time. ISO 8601 with an offset'),
  app: appName.optional(),
};

const { apps, idPrefix } = filter.shape;
export const statementFilterSchema = z
  .strictObject({ ...period, apps, idPrefix })
  .refine(({ from, to }) => Date.parse(from) < Date.parse(to), {
    path: ['to'],
    message: 'must be after from',
  });
export type StatementFilter = z.input<typeof statementFilterSchema>;

const { clientId, payerId, openId, beneficiary, accountEnd, batch, instructedAmount } =
  payoutMemoSchema.shape;
const { orderId, debits, splits } = payoutResultSchema.shape;
const sum = (description: string) => moneySchema.exactOptional().describe(description);

export const statementRowSchema = z.strictObject({
  app: z.string(),
  partnerOrderId: z.string(),
  orderId,
  clientId,
  payerId,
  openId,
  beneficiary,
  accountEnd,
  batch: batch.describe('The batch that started the payout: absent in a row that joined an earlier one'),
  startedAt: time
    .exactOptional()
    .describe('When the payout started; of the latest run if another program started it'),
  endedAt: time.exactOptional().describe('When the workflow ended. Absent while the payout is open'),
  outcome: z.enum(ROW_OUTCOMES).exactOptional().describe('Absent while the payout is open'),
  reason: storedReason.exactOptional(),
  instructedAmount,
  pay: sum('What the payer pays, by the quote; absent unless the payout was paid'),
  rate: z.string().exactOptional().describe('The exchange rate of that quote'),
  fee: sum('The fee of that quote'),
  received: sum('Without returned money; absent if nothing is left'),
  failed: sum('The splits that failed'),
  returned: sum('The splits that were returned, before or after the payout ended'),
  metadata: metadataSchema.exactOptional(),
  unreadable: z
    .literal(true)
    .exactOptional()
    .describe("The result can't be read: the row has no amounts, and sums don't include it"),
  debits,
  splits,
  laterReturns: z
    .array(z.strictObject({ distributeId: z.string(), target: moneySchema, seenAt: time }))
    .describe('Of the returned splits, those that a follow-up has found since'),
});
export type StatementRow = z.output<typeof statementRowSchema>;

/** Proves that a statement is complete: an interrupted one has no end. */
export const statementEndSchema = z.strictObject({
  payouts: count.describe('The rows of the statement'),
  unreadable: count.describe("Rows whose result can't be read"),
  isFinal: z
    .boolean()
    .describe('False if rows may follow: the period ended less than a minute ago, or the batch is open'),
});
export type StatementEnd = z.output<typeof statementEndSchema>;

export const statementSchema = z.strictObject({
  payouts: z.array(statementRowSchema).describe('One row per payout'),
  end: statementEndSchema.describe('Without it, the statement is not complete'),
});

export interface Statement {
  rows: AsyncIterable<StatementRow>;
  isFinal: boolean;
}
