/** The activities of batches: they check the rows, start their payouts and wait for changes. */
import { ApplicationFailure, activityInfo, cancellationSignal } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { Payouts } from '../../client/payouts.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { batchRequestSchema, checkRows, rowKeys, rowsDigest } from '../../contract/batch.ts';
import { checkBody } from '../../contract/fields.ts';
import { payoutBatchWorkflowId } from '../../contract/ids.ts';
import { targetErrors } from '../../contract/payout-request.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { eventTypesOf } from '../events/publish-events.ts';
import { onlyHere, withHeartbeats } from '../shared/execution.ts';
import { retryIn } from '../shared/failures.ts';
import { invalid, notHere, otherId, refuse, userMissing } from '../shared/invalid.ts';
import type { BatchActivities, BatchChecks, RowChange, WatchPayouts } from './batch-types.ts';
import { cancelPayouts } from './cancel-payouts.ts';
import { findPayouts, startPayouts } from './start-payouts.ts';
import { described, type Lookup, movedPayouts } from './watch-payouts.ts';

const MIN_WAIT_MS = 400;
const MAX_WAIT_MS = 15_000;
const GROWTH = 1.6;
/** After this many looks, about 8 s, any change is enough. */
const PATIENCE_LOOKS = 6;
/** About every ten minutes, after the waits have grown. */
const DESCRIBE_EVERY_LOOKS = 20;

export function batchActivities(
  config: WorkerConfig,
  client: Client,
  clock: Clock,
): BatchChecks & BatchActivities {
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = config.env;
  const here = onlyHere(environment, clock);
  const payouts = new Payouts({ client, environment, targetCurrencies, clock });
  return {
    ...batchChecks(config),
    startPayouts: (rows) => here(rows, () => startPayouts(payouts, rows, cancellationSignal())),
    findPayouts: (rows) => here(rows, () => findPayouts(payouts, rows)),
    cancelPayouts: (rows) => here(rows, () => cancelPayouts(payouts, rows)),
    watchPayouts: (look) =>
      withHeartbeats(clock, () => enoughChanges({ client, clock }, look, activityInfo().attempt)),
  };
}

function batchChecks(config: WorkerConfig): BatchChecks {
  const { env } = config;
  return {
    async prepareBatch(request, { workflowId, environment }) {
      const batch = checkBody(batchRequestSchema, request);
      if (!batch.ok) throw invalid(batch.errors);
      const { app, batchId } = batch.value;
      refuse([
        ...notHere(config, app, environment),
        ...otherId('batchId', workflowId, payoutBatchWorkflowId(app, batchId)),
      ]);
      return {
        request: batch.value,
        window: env.PAYOUTS_BATCH_WINDOW,
        environment: env.PAYMENTS_ENVIRONMENT,
        ...eventTypesOf(config, app),
      };
    },
    async checkRows(app, offset, payouts) {
      const rows = checkRows(app, payouts, offset);
      if (!rows.ok) return rows;
      const errors = rows.value.flatMap((row, at) =>
        [...userMissing(config, row.openId), ...targetErrors(row, env.PAYMENTS_TARGET_CURRENCIES)].map(
          (error) => ({ ...error, path: `${offset + at}.${error.path}` }),
        ),
      );
      if (errors.length > 0) return { ok: false, errors };
      return { ok: true, digest: rowsDigest(rows.value), keys: rowKeys(rows.value) };
    },
  };
}

async function enoughChanges(
  lookup: Lookup,
  { app, open, minChanges }: WatchPayouts,
  looks: number,
): Promise<RowChange[]> {
  const look = looks % DESCRIBE_EVERY_LOOKS === 0 ? described : movedPayouts;
  const changes = await look(lookup, app, open);
  if (changes.length >= minChanges || (changes.length > 0 && looks >= PATIENCE_LOOKS)) return changes;
  const waitMs = Math.min(MIN_WAIT_MS * GROWTH ** Math.min(looks, PATIENCE_LOOKS * 2), MAX_WAIT_MS);
  const message = 'too little has changed yet';
  throw ApplicationFailure.create({ type: 'NOTHING_CHANGED', message, ...retryIn(waitMs) });
}
