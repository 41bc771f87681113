/** The file of the CLI: which payouts require an approval. */
import { z } from 'zod';
import { amount, appName, currency } from '../contract/fields.ts';
import type { Read } from './environment.ts';
import { readJsonFile } from './json-file.ts';

const limits = z.record(currency(), amount);
const callerName = z.string().min(1).max(128);

export const approvalsFile = z.strictObject({
  applications: z.record(appName, limits).default({}).meta({
    description:
      "By the name of the application: the largest `instructedAmount` without an approval, by its currency. A currency that isn't listed always requires one. An application that isn't listed requires none.",
    valueType: 'object: application to object: currency to amount',
  }),
  callers: z.record(callerName, limits).default({}).meta({
    description:
      'The same, by the name of the caller who starts the payout: `name` in `PAYOUTS_API_KEYS_FILE`, or `--by` on the command line.',
    valueType: 'object: caller to object: currency to amount',
  }),
});

export type ApprovalsFile = z.output<typeof approvalsFile>;

export function readApprovals(path: string): Read<ApprovalsFile> {
  return readJsonFile('--approvals', path, approvalsFile);
}
