/** Reads the files of arguments: payouts, the request of a receiving account, a policy of approvals. Everything in a file is validated before anything is done. */
import { readFileSync } from 'node:fs';
import { BatchFile } from '../../batch-file/batch-file.ts';
import { BatchFileError } from '../../batch-file/rows.ts';
import { InvalidPayoutRequestError, requireValid } from '../../client/errors.ts';
import { type ApprovalsFile, approvalsFile } from '../../config/callers.ts';
import { ConfigError } from '../../config/environment.ts';
import { jsonFile } from '../../config/json-file.ts';
import { repeatCheck } from '../../contract/failures.ts';
import { type CheckResult, checkBody } from '../../contract/fields.ts';
import { totalsByCurrency } from '../../contract/money.ts';
import { type CheckedPayoutRequest, payoutRequestSchema } from '../../contract/payout-request.ts';
import {
  type CheckedReceivingAccountRequest,
  checkReceivingAccount,
} from '../../contract/receiving-account.ts';
import { isJsonObject, NotJsonError, readPlainJson } from '../../payments/exact-json.ts';
import { UsageError } from './output.ts';

/** `-` is standard input. */
function readBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch {
    throw new UsageError(`${file} cannot be read`);
  }
}

export function readJson(file: string): unknown {
  const bytes = readBytes(file);
  try {
    return readPlainJson(bytes);
  } catch (error) {
    if (error instanceof NotJsonError) throw new UsageError(`${file} is invalid: ${error.message}`);
    throw error;
  }
}

/** Calls `read` with the payouts in a file. Throws `UsageError` if the file cannot be read as a whole. */
export async function withPayouts<T>(
  file: string,
  read: (payouts: BatchFile) => Promise<T>,
  format?: 'json',
): Promise<T> {
  try {
    return await read(new BatchFile(readBytes(file), format));
  } catch (error) {
    if (error instanceof BatchFileError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/** `app`: see `checkedIn`. Throws `InvalidPayoutRequestError` for the first invalid payout. */
export async function checkedRequests(payouts: BatchFile, app?: string): Promise<CheckedPayoutRequest[]> {
  const bodies: unknown[] = [];
  for await (const body of payouts) bodies.push(body);
  const findRepeated = repeatCheck(payouts.lines);
  return bodies.map((body, row) => {
    const read = checkedIn(app, body, (inApp) => checkBody(payoutRequestSchema, inApp));
    // The second payment of a person who means two would join the first one (H376).
    const repeated = read.ok && findRepeated(`${read.value.app}/${read.value.partnerOrderId}`, row);
    const checked: CheckResult<CheckedPayoutRequest> = repeated ? { ok: false, errors: [repeated] } : read;
    if (checked.ok) return checked.value;
    const { [row]: line } = payouts.lines;
    throw new InvalidPayoutRequestError(
      bodies.length === 1
        ? checked.errors
        : checked.errors.map(({ path, message }) => ({
            path: `${row}.${path}`,
            message,
            ...(line !== undefined && { line }),
          })),
    );
  });
}

/** The payouts of a JSON file: one, or a list. */
export async function requestsOf(file: string, app?: string): Promise<CheckedPayoutRequest[]> {
  return withPayouts(file, (payouts) => checkedRequests(payouts, app), 'json');
}

export function openingOf(file: string, app?: string): CheckedReceivingAccountRequest {
  return requireValid(checkedIn(app, readJson(file), checkReceivingAccount));
}

/** Checks a request in the application of `--app`. A request that names another one is refused. */
function checkedIn<T extends { app: string }>(
  app: string | undefined,
  body: unknown,
  check: (body: unknown) => CheckResult<T>,
): CheckResult<T> {
  if (app === undefined || !isJsonObject(body)) return check(body);
  const checked = check({ app, ...body });
  if (!checked.ok || checked.value.app === app) return checked;
  return { ok: false, errors: [{ path: 'app', message: `is ${checked.value.app}, and --app is ${app}` }] };
}

/** The policy of `settings --approvals`. Workers enforce it, whoever starts a payout. */
export function approvalsOf(path: string): ApprovalsFile {
  try {
    return jsonFile('--approvals', path, approvalsFile);
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.problems.join('\n')) : error;
  }
}

/** `pay 3 payouts (4800.00 CNY, 20.00 USD)`. */
export function paymentText(requests: readonly CheckedPayoutRequest[]): string {
  const totals = totalsByCurrency(requests.map(({ instructedAmount }) => instructedAmount));
  const sums = totals.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');
  return `pay ${requests.length} ${requests.length === 1 ? 'payout' : 'payouts'} (${sums})`;
}
