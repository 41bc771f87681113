/**
 * Lists payouts and batches from Temporal's visibility store: one page per request. It takes one call to Temporal, and with
 * `clientId` one more for each payout of the page.
 */
import { z } from 'zod';
import { OUTCOMES, PHASES } from '../../contract/codes.ts';
import { appName, identifier, timeWithOffset } from '../../contract/fields.ts';
import type { Service } from '../../service/service.ts';
import { empty, noBody, type Operation, operation } from './operation.ts';

const flag = <const Value extends string>(...values: [Value, ...Value[]]) =>
  z.enum(values).transform((value) => value === 'true');

const time = (description: string) => timeWithOffset().optional().describe(description);

const listQuery = z.strictObject({
  app: appName.optional().describe('absent: every application of the key'),
  createdFrom: time('created at this time or later. ISO 8601 with an offset'),
  createdTo: time('created before this time. ISO 8601 with an offset'),
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be an integer from 1 to 100')
    .transform(Number)
    .optional()
    .describe('the maximum number of rows, 1 to 100; 50 if absent'),
  cursor: z.string().max(4_096).optional().describe('nextCursor of a page with the same filters'),
});

export const payoutQuery = listQuery.extend({
  phase: z.enum(PHASES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  attention: flag('true').optional().describe('only payouts with the attention flag, and flagged follow-ups'),
  clientId: identifier()
    .optional()
    .describe('only payouts of this client. A page may be empty and still have a nextCursor'),
});

const batchQuery = listQuery.extend({
  open: flag('true', 'false').optional().describe('true: only open batches; false: only ended batches'),
});

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

const payoutPage = z.strictObject({
  payouts: z
    .array(
      z.strictObject({
        partnerOrderId: z.string(),
        app: z.string(),
        phase: z.enum([...PHASES, 'FOLLOW_UP', '']).describe('FOLLOW_UP: the follow-up of an ended payout'),
        outcome: z.enum([...OUTCOMES, '']).describe('empty while the payout is open'),
        needsAttention: z.boolean(),
        orderId: z.string().describe('empty without an order'),
        auditStatus: z.string().describe('empty while the provider reports none'),
        startedAt,
        workflow,
      }),
    )
    .describe('open payouts first, the newest first; then ended payouts, the last to end first'),
  nextCursor,
});

const batchPage = z.strictObject({
  batches: z
    .array(
      z.strictObject({
        ...{ batchId: z.string(), app: z.string(), startedAt },
        endedAt: z.string().exactOptional().describe('ISO 8601; absent while the batch is open'),
        workflow,
      }),
    )
    .describe('open batches first, the newest first; then ended batches, the last to end first'),
  nextCursor,
});

export function listOperations(service: Service): Operation[] {
  return [
    operation(
      {
        method: 'GET',
        path: '/v1/payouts',
        ...{ verb: 'read', everyApplication: true },
        summary: 'List payouts',
        response: { status: 200, description: 'A page; it may lag by some seconds', schema: payoutPage },
      },
      { params: empty, query: payoutQuery, body: noBody },
      ({ caller, query }) => service.listPayouts(caller, query),
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/payout-batches',
        ...{ verb: 'read', everyApplication: true },
        summary: 'List batches',
        response: { status: 200, description: 'A page; it may lag by some seconds', schema: batchPage },
      },
      { params: empty, query: batchQuery, body: noBody },
      ({ caller, query }) => service.listBatches(caller, query),
    ),
  ];
}
