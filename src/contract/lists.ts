/** The filters and the pages of lists of payouts and batches. */
import { z } from 'zod';
import { batchId } from './batch.ts';
import { OUTCOMES, PHASES } from './codes.ts';
import {
  appName,
  identifier,
  looseText,
  metadataSchema,
  moneySchema,
  text,
  timeWithOffset,
} from './fields.ts';
import { normalizeAmount } from './money.ts';
import { MAX_METADATA_PAIRS } from './payout-request.ts';

const time = (description: string) => timeWithOffset().optional().describe(description);

export const filter = z.strictObject({
  app: appName.optional(),
  /** Any of these applications. */
  apps: z.array(appName).min(1).optional(),
  /** How the `partnerOrderId` or the `batchId` begins: letters, digits, dots, hyphens and underscores. */
  idPrefix: z
    .string()
    .regex(/^[\w.-]+$/)
    .optional(),
  createdFrom: time('Created at this time or later. ISO 8601 with an offset'),
  createdTo: time('Created before this time. ISO 8601 with an offset'),
});

/** By hashes of these, because Temporal must not know them. */
const searched = z.strictObject({
  clientId: identifier().optional().describe('Only payouts of this client'),
  payerId: identifier().optional().describe('Only payouts of this payer'),
  batch: batchId.optional().describe('Only payouts that this batch started'),
  amount: z
    .string()
    .regex(/^\d{1,16}(\.\d{1,2})? [A-Z]{3}$/, {
      error: 'must be an amount and its currency, such as "100.00 CNY"',
      abort: true,
    })
    .transform((text) => `${normalizeAmount(text.slice(0, -4))}${text.slice(-4)}`)
    .optional()
    .describe('The exact instructedAmount and its currency, such as `100.00 CNY`'),
  beneficiary: text().optional().describe("The whole name on the beneficiary's account; case doesn't matter"),
  beneficiaryWords: text()
    .regex(/[\p{L}\p{M}\p{N}]/u, 'must contain a word')
    .optional()
    .describe("Words of the name on the beneficiary's account, all of them; case and order don't matter"),
  account: text().optional().describe("The whole number of the beneficiary's account"),
  accountEnd: z
    .string()
    .regex(/^[0-9A-Za-z]{4}$/, 'must be four letters or digits')
    .optional()
    .describe("The last four letters or digits of the beneficiary's account number"),
  metadata: z
    .array(looseText(1_000).regex(/^[^=]+=/, 'must be KEY=VALUE'))
    .max(MAX_METADATA_PAIRS)
    .optional()
    .describe('Pairs of the metadata, each as `KEY=VALUE`'),
});
export type Searched = z.output<typeof searched>;
export const SEARCHED = searched.keyof().options;

export const payoutFilterSchema = filter.extend({
  phase: z.enum(PHASES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  attention: z.boolean().optional().describe('Only payouts with the attention flag, and flagged follow-ups'),
  endedFrom: time('Finished at this time or later. ISO 8601 with an offset'),
  endedTo: time('Finished before this time. ISO 8601 with an offset'),
  ...searched.shape,
});
export type PayoutFilter = z.input<typeof payoutFilterSchema>;

export const batchFilterSchema = filter.extend({
  open: z.boolean().optional().describe('true: only open batches; false: only finished batches'),
});
export type BatchFilter = z.input<typeof batchFilterSchema>;

export const MAX_PAGE_SIZE = 100;
export const DEFAULT_PAGE_SIZE = 50;

/** `limit`: 1 to 100, by default 50. `cursor`: the `nextCursor` of a page with the same filter. */
export const pageRequestSchema = z.strictObject({
  limit: z.int().min(1).max(MAX_PAGE_SIZE).default(DEFAULT_PAGE_SIZE),
  cursor: z.string().optional(),
});
export type PageRequest = z.input<typeof pageRequestSchema>;

const startedAt = z.string().describe('ISO 8601: the start; of the latest run if another program started it');
const workflow = z.string().describe("Temporal's status of the workflow: RUNNING, COMPLETED, FAILED, …");
const nextCursor = z
  .string()
  .exactOptional()
  .describe('The cursor of the next page; absent on the last page');

/** What the memo of a payout tells a list. Absent if another program started the payout without it. */
export const payoutMemoSchema = z.object({
  clientId: z.string().exactOptional(),
  payerId: z.string().exactOptional(),
  openId: z.string().exactOptional().describe('Absent without a user'),
  instructedAmount: moneySchema.exactOptional(),
  beneficiary: z.string().exactOptional().describe("The name on the beneficiary's account"),
  accountEnd: z
    .string()
    .exactOptional()
    .describe("The last four characters of the beneficiary's account number"),
  metadata: metadataSchema.exactOptional(),
  received: moneySchema
    .exactOptional()
    .describe('What the beneficiary received, without returned money. Absent while the payout is open'),
  failed: moneySchema.exactOptional().describe('What failed, if anything did'),
  startedBy: z.string().exactOptional().describe('The caller who started the payout'),
  batch: z.string().exactOptional().describe('The batch that started the payout'),
});
export type PayoutMemo = z.output<typeof payoutMemoSchema>;

/** By the last update of the search attributes; texts are empty if never set. */
const listedPayout = z.strictObject({
  partnerOrderId: z.string(),
  app: z.string(),
  phase: z.string().meta({
    description: 'FOLLOW_UP: the follow-up of a finished payout',
    examples: [...PHASES, 'FOLLOW_UP', ''],
  }),
  outcome: z.string().meta({ description: 'Empty while the payout is open', examples: [...OUTCOMES, ''] }),
  needsAttention: z.boolean(),
  orderId: z.string().describe('Empty without an order'),
  auditStatus: z.string().describe('Empty while the provider reports none'),
  startedAt,
  workflow,
  ...payoutMemoSchema.shape,
  returned: moneySchema
    .exactOptional()
    .describe('What came back of the money that had arrived, before or after the payout finished'),
});

export type ListedPayout = z.output<typeof listedPayout>;

/** A page may be empty and still have a `nextCursor`. */
export const payoutPageSchema = z.strictObject({
  payouts: z
    .array(listedPayout)
    .describe('Open payouts first, newest first; then finished payouts, most recently finished first'),
  nextCursor,
});
export type PayoutPage = z.output<typeof payoutPageSchema>;

const listedBatch = z.strictObject({
  batchId: z.string(),
  app: z.string(),
  startedAt,
  endedAt: z.string().exactOptional().describe('ISO 8601. Absent while the batch is open'),
  workflow,
});
export type ListedBatch = z.output<typeof listedBatch>;

export const batchPageSchema = z.strictObject({
  batches: z
    .array(listedBatch)
    .describe('Open batches first, newest first; then finished batches, most recently finished first'),
  nextCursor,
});
export type BatchPage = z.output<typeof batchPageSchema>;
