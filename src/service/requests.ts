/** The ids and decisions that a caller sends, over HTTP and from the desk. */
import { z } from 'zod';
import { batchId } from '../contract/batch.ts';
import { TOLERANCE, TOLERANCE_RULE } from '../contract/codes.ts';
import { appName, checkBody, ownId, text, timeWithOffset } from '../contract/fields.ts';
import { batchFilterSchema, payoutFilterSchema } from '../contract/lists.ts';
import { accountId } from '../contract/receiving-account.ts';
import { period, STATEMENT_FORMATS } from '../contract/statement.ts';
import { MAX_REASON_LENGTH } from '../domain/rate-limit.ts';
import { invalidFields } from './problem.ts';

const app = appName.default('default');
export const payoutId = z.strictObject({ app, partnerOrderId: ownId() });
export const batchRef = z.strictObject({ app, batchId });
export const endpointRef = z.strictObject({ app, endpoint: z.string().regex(/^[a-z0-9-]{1,32}$/) });
export type EndpointId = z.output<typeof endpointRef>;
export const openingId = z.strictObject({ app, requestId: ownId() });
export type PayoutId = z.output<typeof payoutId>;
export type BatchId = z.output<typeof batchRef>;
export type OpeningId = z.output<typeof openingId>;

const seenSends = z
  .int()
  .min(0)
  .optional()
  .describe('sends of the state that was read: the decision is not accepted after another send');

const refusal = z.strictObject({
  note: text().optional(),
  lockRateId: text(128)
    .optional()
    .describe('quote.lockRateId of the state that was read: the decision applies only to that quote'),
});
const approval = refusal.extend({
  tolerance: z
    .string()
    .regex(TOLERANCE, TOLERANCE_RULE)
    .optional()
    .describe(
      'by how many percent more than in the quote that was read the payer may pay, and the fee may be, in a later quote. Without it, a later quote that is worse is approved again',
    ),
});
const resolution = z.discriminatedUnion('created', [
  z.strictObject({
    created: z.literal(true),
    orderId: text(128),
    tradeOrderId: text(128)
      .optional()
      .describe('one of the reviewedOrderIds: the trade queries have this number for the order'),
  }),
  z.strictObject({
    created: z.literal(false),
    then: z.enum(['end', 'retry']),
    sends: seenSends,
    reviewedOrderIds: z
      .array(text(128))
      .optional()
      .describe('reviewedOrderIds of the state that was read: none of these orders belongs to this payout'),
  }),
]);

export const decisionBodies = {
  approve: approval.optional(),
  refuse: refusal.optional(),
  cancel: z.strictObject({ reason: text().optional() }).optional(),
  resolve: resolution,
  acknowledge: z
    .strictObject({
      note: text().optional(),
      readAt: timeWithOffset()
        .optional()
        .describe('a time before the flags were read: not accepted if the follow-up has found more since'),
    })
    .optional(),
  poll: z.undefined(),
};
export type DecisionVerb = keyof typeof decisionBodies;
export const DECISION_VERBS = ['approve', 'refuse', 'cancel', 'resolve', 'acknowledge', 'poll'] as const;

export const openingResolution = z.discriminatedUnion('created', [
  z.strictObject({ created: z.literal(true), accountId: accountId() }),
  z.strictObject({
    created: z.literal(false),
    then: z.enum(['end', 'retry']),
    sends: seenSends,
    candidates: z
      .array(accountId())
      .optional()
      .describe('candidates of the state that was read: the decision is not accepted if there are others'),
  }),
]);

export const pauseReason = z.strictObject({ reason: text(MAX_REASON_LENGTH).optional() }).optional();

const flag = <const Value extends string>(...values: [Value, ...Value[]]) =>
  z
    .enum(values)
    .transform((value) => value === 'true')
    .optional();

const listQuery = {
  app: appName.optional().describe('absent: every application of the key'),
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be an integer from 1 to 100')
    .transform(Number)
    .optional()
    .describe('the maximum number of rows, 1 to 100; 50 if absent'),
  cursor: z.string().max(4_096).optional().describe('nextCursor of a page with the same filters'),
};

const INCLUDED = ['request', 'timeline'] as const;
export type Included = (typeof INCLUDED)[number];

export const include = z
  .string()
  .regex(
    /^(request|timeline)(,(request|timeline))*$/,
    'must be request, timeline or both, separated by a comma',
  )
  .transform((text) => INCLUDED.filter((one) => text.split(',').includes(one)))
  .optional()
  .describe('also returns the request and who started it, and the timeline: `request,timeline`');

export const payoutQuery = payoutFilterSchema.omit({ apps: true, idPrefix: true }).extend({
  ...listQuery,
  metadata: z
    .preprocess((given) => (typeof given === 'string' ? [given] : given), payoutFilterSchema.shape.metadata)
    .describe('a pair of the metadata as `KEY=VALUE`; several: each of them'),
  attention: flag('true').describe('only payouts with the attention flag, and flagged follow-ups'),
});
export const batchQuery = batchFilterSchema.omit({ apps: true, idPrefix: true }).extend({
  ...listQuery,
  open: flag('true', 'false').describe('true: only open batches; false: only finished batches'),
});

const format = z.enum(STATEMENT_FORMATS).default('json').describe('csv is for spreadsheets');
const details = flag('true').describe(
  'true: csv also has the debits, splits and later returns of each payout',
);
export const statementQuery = z.strictObject({
  ...period,
  app: listQuery.app,
  format,
  details,
});
export const resultsQuery = z.strictObject({ app, format, details });

/** Throws a 400 that names every invalid field. */
export function valid<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const checked = checkBody(schema, value);
  if (checked.ok) return checked.value;
  throw invalidFields(checked.errors);
}
