/** Starts and reads batches. */
import { z } from 'zod';
import { type CheckedBatch, checkedBatch, inSlices } from '../../client/checked-batch.ts';
import type { Caller } from '../../config/callers.ts';
import { batchId } from '../../contract/payout-batch.ts';
import { appName } from '../../contract/payout-request.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../domain/batch.ts';
import { PHASES } from '../../domain/payout.ts';
import { requireAmount } from './callers.ts';
import type { Clients } from './clients.ts';
import { appQuery, empty, ndjsonForm, noBody, type Operation, operation } from './operation.ts';

const count = z.int().min(0);

const batchState = z.strictObject({
  ...{ app: z.string(), batchId: z.string(), count },
  phase: z.enum(['RECEIVING', 'PAYING', 'DONE']),
  ...{ sentence: z.string(), nextStep: z.string(), cancelled: z.boolean() },
  ...{ added: count, started: count, joined: count, done: count, bad: count, needingAttention: count },
  missing: z.array(z.strictObject({ offset: count, count })),
  phases: z.partialRecord(z.enum(PHASES), count),
  outcomes: z.record(z.enum(ROW_OUTCOMES), count),
  rows: z.record(z.enum(LISTED_OUTCOMES), z.array(count)),
});

const stateBody = z.strictObject({ state: batchState });

const identity = { app: appName.default('default'), batchId };
const batchBody = z.strictObject({
  ...identity,
  payouts: z
    .array(z.unknown())
    .min(1)
    .describe('Objects of the schema PayoutRequest; app is optional')
    .transform((rows): Iterable<unknown> | AsyncIterable<unknown> => rows),
});
const batchNdjson = ndjsonForm(z.strictObject(identity), (batch, payouts) => ({ ...batch, payouts }));

export function batchOperations({ batches, withTemporalDeadline }: Clients): Operation[] {
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/payout-batches',
        verb: 'batch',
        summary: 'Start a batch, or continue it by sending the same rows again',
        response: { status: 202, description: 'All rows were added', schema: stateBody },
        problems: { 409: 'the batch was started with other rows or by another caller' },
      },
      { params: empty, query: empty, body: batchBody, ndjson: batchNdjson },
      async ({ caller, body: batch }) => {
        const checked = await checkedBatch(batch);
        await requireAmounts(caller, checked);
        return { state: await batches.startChecked(checked, caller.name) };
      },
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/payout-batches/{batchId}',
        verb: 'read',
        summary: 'Get the progress of a batch',
        response: { status: 200, description: 'The state of the batch', schema: stateBody },
        problems: { 404: 'no such batch' },
      },
      { params: z.strictObject({ batchId }), query: appQuery, body: noBody },
      async ({ params, query }) => ({
        state: await withTemporalDeadline(() => batches.state({ ...params, ...query })),
      }),
    ),
  ];
}

async function requireAmounts(caller: Caller, { rows }: CheckedBatch): Promise<void> {
  let row = 0;
  for await (const { instructedAmount } of inSlices(rows)) {
    requireAmount(caller, instructedAmount, `row ${row}: `);
    row += 1;
  }
}
