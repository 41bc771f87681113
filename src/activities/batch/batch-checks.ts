/** Decides what of a batch is bad input, before any of it is started. */
import type { WorkerConfig } from '../../config/config.ts';
import { payoutBatchWorkflowId } from '../../contract/ids.ts';
import { batchRequestSchema, checkRows, rowKeys, rowsDigest } from '../../contract/payout-batch.ts';
import { checkBody } from '../../contract/payout-request.ts';
import { otherEnvironment, userMissing } from '../payout/prepare-payout.ts';
import { invalid, NOT_CONFIGURED } from '../shared/invalid.ts';
import type { BatchChecks } from './batch-types.ts';

export function batchChecks({ env, applications }: WorkerConfig): BatchChecks {
  return {
    async prepareBatch(request, start) {
      const batch = checkBody(batchRequestSchema, request);
      if (!batch.ok) throw invalid(batch.errors);
      const { app, batchId } = batch.value;
      const problems = otherEnvironment(env, start.environment);
      if (!applications.has(app)) problems.push(NOT_CONFIGURED);
      const expected = payoutBatchWorkflowId(app, batchId);
      if (start.workflowId !== expected)
        problems.push({ path: 'batchId', message: `must be started under the workflow id ${expected}` });
      if (problems.length > 0) throw invalid(problems);
      return {
        request: batch.value,
        window: env.PAYOUTS_BATCH_WINDOW,
        environment: env.PAYMENTS_ENVIRONMENT,
      };
    },
    async checkRows(app, offset, payouts) {
      const rows = checkRows(app, payouts, offset);
      if (!rows.ok) return rows;
      const errors = rows.value.flatMap((row, at) =>
        userMissing(env, row).map((error) => ({ ...error, path: `${offset + at}.${error.path}` })),
      );
      if (errors.length > 0) return { ok: false, errors };
      return { ok: true, digest: rowsDigest(rows.value), keys: rowKeys(rows.value) };
    },
  };
}
