/** `PAYOUTS_APPROVALS_FILE`: which payouts require an approval. Workers enforce it, whoever starts a payout. */
import { z } from 'zod';
import { amount, appName, currency } from '../contract/payout-request.ts';
import { type ApprovalPolicy, NO_APPROVAL_POLICY } from '../domain/approval-policy.ts';
import type { Environment, Read } from './environment.ts';
import { readJsonFile } from './json-file.ts';
import { optionalText } from './values.ts';

const FILE = 'PAYOUTS_APPROVALS_FILE';

export const approvalsShape = {
  [FILE]: optionalText(
    'A JSON file of the amounts above which a payout requires an approval: see [PAYOUTS_APPROVALS_FILE](#payouts_approvals_file). Give all workers the same. Without it, only the request decides.',
    'path',
  ),
};

const limits = z.record(currency(), amount);
const callerName = z.string().min(1).max(128);

export const approvalsFile = z.strictObject({
  applications: z.record(appName, limits).default({}).meta({
    description:
      'By the name of the application: the largest `instructedAmount` without an approval, by its currency. A currency that is not listed always requires one. An application that is not listed requires none.',
    valueType: 'object: application to object: currency to amount',
  }),
  callers: z.record(callerName, limits).default({}).meta({
    description:
      'The same, by the name of the caller who starts the payout: `name` in `PAYOUTS_API_KEYS_FILE`, or `--by` on the command line.',
    valueType: 'object: caller to object: currency to amount',
  }),
});

/** Refuses names that no application of this worker has: they are typing errors. */
export function readApprovals(
  environment: Environment,
  applications: ReadonlyMap<string, unknown> | undefined,
): Read<ApprovalPolicy> {
  const { [FILE]: path } = environment;
  if (!path) return { ok: true, value: NO_APPROVAL_POLICY };
  const file = readJsonFile(FILE, path, approvalsFile);
  if (!file.ok) return file;
  const unknown = Object.keys(file.value.applications).filter((name) => applications?.has(name) === false);
  if (unknown.length > 0)
    return { ok: false, problems: unknown.map((name) => `${FILE}: applications.${name} is not configured`) };
  return {
    ok: true,
    value: {
      applications: new Map(Object.entries(file.value.applications)),
      callers: new Map(Object.entries(file.value.callers)),
    },
  };
}
