/** The filters and the pages of lists of payouts and batches. */
import { z } from 'zod';
import { OUTCOMES, PHASES } from './codes.ts';
import { appName, identifier, timeWithOffset } from './fields.ts';

const time = (description: string) => timeWithOffset().optional().describe(description);

const filter = z.strictObject({
  app: appName.optional(),
  /** Any of these applications. */
  apps: z.array(appName).min(1).optional(),
  createdFrom: time('created at this time or later. ISO 8601 with an offset'),
  createdTo: time('created before this time. ISO 8601 with an offset'),
});

export const payoutFilterSchema = filter.extend({
  phase: z.enum(PHASES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  attention: z.boolean().optional().describe('only payouts with the attention flag, and flagged follow-ups'),
  // Temporal does not store it readably, so the request of every payout of a page is read.
  clientId: identifier()
    .optional()
    .describe('only payouts of this client. A page may be empty and still have a nextCursor'),
});
export type PayoutFilter = z.input<typeof payoutFilterSchema>;

export const batchFilterSchema = filter.extend({
  open: z.boolean().optional().describe('true: only open batches; false: only ended batches'),
});
export type BatchFilter = z.input<typeof batchFilterSchema>;

/** `limit`: 1 to 100, by default 50. `cursor`: the `nextCursor` of a page with the same filter. */
export const pageRequestSchema = z.strictObject({
  limit: z
    .int('must be an integer')
    .min(1, 'must be from 1 to 100')
    .max(100, 'must be from 1 to 100')
    .default(50),
  cursor: z.string().optional(),
});
export type PageRequest = z.input<typeof pageRequestSchema>;

const startedAt = z
  .string()
  .describe(
    'ISO 8601: the creation; after continue-as-new or a repeated start, the start of the latest run of the workflow',
  );
const workflow = z.string().describe("Temporal's status of the workflow: RUNNING, COMPLETED, FAILED, …");
const nextCursor = z
  .string()
  .exactOptional()
  .describe('the cursor of the next page; absent on the last page');

/** As of the last update of the search attributes; texts are empty if never set. */
const listedPayout = z.strictObject({
  partnerOrderId: z.string(),
  app: z.string(),
  phase: z.enum([...PHASES, 'FOLLOW_UP', '']).describe('FOLLOW_UP: the follow-up of an ended payout'),
  outcome: z.enum([...OUTCOMES, '']).describe('empty while the payout is open'),
  needsAttention: z.boolean(),
  orderId: z.string().describe('empty without an order'),
  auditStatus: z.string().describe('empty while the provider reports none'),
  startedAt,
  workflow,
});

/** A later version may add phases and outcomes. */
export type ListedPayout = Omit<z.output<typeof listedPayout>, 'phase' | 'outcome'> & {
  phase: string;
  outcome: string;
};

/** A page may be empty and still have a `nextCursor`. */
export const payoutPageSchema = z.strictObject({
  payouts: z
    .array(listedPayout)
    .describe('open payouts first, the newest first; then ended payouts, the last to end first'),
  nextCursor,
});
export interface PayoutPage {
  payouts: ListedPayout[];
  nextCursor?: string;
}

const listedBatch = z.strictObject({
  batchId: z.string(),
  app: z.string(),
  startedAt,
  endedAt: z.string().exactOptional().describe('ISO 8601; absent while the batch is open'),
  workflow,
});
export type ListedBatch = z.output<typeof listedBatch>;

export const batchPageSchema = z.strictObject({
  batches: z
    .array(listedBatch)
    .describe('open batches first, the newest first; then ended batches, the last to end first'),
  nextCursor,
});
export type BatchPage = z.output<typeof batchPageSchema>;
