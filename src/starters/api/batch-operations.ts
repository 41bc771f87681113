/** Many payouts at once. */
import { z } from 'zod';
import type { Caller } from '../../config/callers.ts';
import { batchId, checkRows } from '../../contract/payout-batch.ts';
import { appName } from '../../contract/payout-request.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../domain/batch.ts';
import { PHASES } from '../../domain/payout.ts';
import { demandAmount, demandApplication } from './callers.ts';
import type { Engine } from './engine.ts';
import { noBody, nothing, type Operation, ofApp, operation } from './operation.ts';
import { badFields } from './problem.ts';

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

const found = z.strictObject({ state: batchState });

/** One document says everything; with NDJSON, whose body is the rows alone, the address says which batch. */
const named = z.strictObject({ app: appName.optional(), batchId: batchId.optional() });
const document = z.strictObject({
  app: appName.default('default'),
  batchId,
  payouts: z.array(z.unknown()).min(1).describe('PayoutRequests; app may be left out'),
});

export function batchOperations(engine: Engine): Operation[] {
  return [start(engine), look(engine)];
}

function start({ batches }: Engine): Operation {
  return operation(
    {
      method: 'POST',
      path: '/v1/payout-batches',
      verb: 'batch',
      summary: 'Start a batch, or go on with it: the same rows again are the same batch',
      answer: { status: 202, description: 'All rows are in', schema: found },
      problems: { 409: 'the batch has been started with other rows, or by somebody else' },
      ndjson: true,
    },
    { params: nothing, query: named, body: document },
    async ({ caller, body: batch }) => {
      demandApplication(caller, batch.app);
      demandRows(caller, batch.app, batch.payouts);
      return { state: await batches.start({ ...batch, startedBy: caller.name }) };
    },
  );
}

function demandRows(caller: Caller, app: string, payouts: readonly unknown[]): void {
  const rows = checkRows(app, payouts);
  if (!rows.ok) throw badFields(rows.errors);
  for (const [at, { instructedAmount }] of rows.value.entries())
    demandAmount(caller, instructedAmount, `row ${at}: `);
}

function look({ batches, soon }: Engine): Operation {
  return operation(
    {
      method: 'GET',
      path: '/v1/payout-batches/{batchId}',
      verb: 'read',
      summary: 'How far a batch is',
      answer: { status: 200, description: 'Its counts', schema: found },
      problems: { 404: 'no such batch' },
    },
    { params: z.strictObject({ batchId }), query: ofApp, body: noBody },
    async ({ caller, params, query }) => {
      demandApplication(caller, query.app);
      return { state: await soon(() => batches.state({ ...params, ...query })) };
    },
  );
}
