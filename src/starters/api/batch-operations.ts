/** Starts and reads batches. */
import { z } from 'zod';
import type { Batches } from '../../client/batches.ts';
import { type BatchRef, type CheckedBatch, inSlices, type NewBatch } from '../../client/checked-batch.ts';
import type { Caller } from '../../config/callers.ts';
import { batchId, batchStateSchema } from '../../contract/batch.ts';
import { rowName } from '../../contract/failures.ts';
import { appName, stored } from '../../contract/fields.ts';
import { isScoped, starterName } from '../../domain/permissions.ts';
import { cancelBatch } from '../batches.ts';
import { requirePayout } from './callers.ts';
import type { Clients } from './clients.ts';
import { withinDailyLimits } from './daily-limits.ts';
import { appQuery, empty, fileForm, noBody, type Operation, operation } from './operation.ts';
import { Problem } from './problem.ts';
import { wait } from './waits.ts';

export const stateBody = z.object({ state: stored(batchStateSchema) });

const identity = { app: appName.default('default'), batchId };
const batchBody = z
  .strictObject({
    ...identity,
    payouts: z.array(z.unknown()).min(1).describe('Objects of the schema PayoutRequest; app is optional'),
  })
  .transform((batch): NewBatch => batch);
const batchFile = fileForm(z.strictObject(identity), (batch, payouts) => ({
  ...batch,
  payouts,
  lines: payouts.lines,
}));

export function batchOperations(clients: Clients): Operation[] {
  const { batches, waits, withTemporalDeadline } = clients;
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
      { params: empty, query: empty, body: batchBody, file: batchFile },
      async ({ caller, body: batch }) => {
        const checked = await batches.check(batch);
        await requireRows(caller, checked);
        const state = await withinDailyLimits(clients, caller, checked.rows, {
          find: () => batches.findComplete(checked, starterName(caller)),
          start: () => batches.startChecked(checked, starterName(caller)),
        });
        return { state };
      },
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/payout-batches/{batchId}',
        ...{ verb: 'read', waits: true },
        summary: 'Get the progress of a batch',
        response: { status: 200, description: 'The state of the batch', schema: stateBody },
        problems: { 404: 'no such batch' },
      },
      { params: z.strictObject({ batchId }), query: appQuery.extend({ wait }), body: noBody },
      async ({ caller, gone, params, query: { app, wait: waitMs } }) => {
        const ref = { ...params, app };
        await requireOwnBatch(batches, ref, caller);
        await waits.until(waitMs, gone, (options) => batches.untilEnd(ref, options));
        return { state: await withTemporalDeadline(() => batches.state(ref)) };
      },
    ),
    operation(
      {
        method: 'POST',
        path: '/v1/payout-batches/{batchId}/cancel',
        verb: 'cancel',
        summary: 'Stop starting rows of a batch. Payouts that were already started continue',
        response: { status: 202, description: 'The batch stops; its state', schema: stateBody },
        problems: { 404: 'no such batch', 409: 'the batch has ended' },
      },
      { params: z.strictObject({ batchId }), query: appQuery, body: noBody },
      async ({ caller, params, query }) => {
        const ref = { ...params, ...query };
        await requireOwnBatch(batches, ref, caller);
        return { state: await cancelBatch(batches, ref, withTemporalDeadline) };
      },
    ),
  ];
}

/** Throws a 403 for the first row that the key does not include. */
export async function requireRows(caller: Caller, { rows, lines }: CheckedBatch): Promise<void> {
  let row = 0;
  for await (const request of inSlices(rows)) {
    requirePayout(caller, request, `${rowName(row, lines)}: `);
    row += 1;
  }
}

/** Rows may belong to any client, and the state does not name them. */
async function requireOwnBatch(batches: Batches, ref: BatchRef, caller: Caller): Promise<void> {
  if (isScoped(caller) && (await batches.startedBy(ref)) !== starterName(caller))
    throw new Problem('batch-not-allowed', 'another caller started the batch');
}
