/** Prints why a verb failed. */
import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import type { FieldError } from '../../contract/payout-request.ts';
import { bad, type Failure, UsageError } from './answer.ts';

export async function printFailure(error: unknown, json: boolean): Promise<void> {
  const { exitCode, ...failure } = badInput(error) ?? (await afterLoading(error));
  if (json) process.stdout.write(`${JSON.stringify({ error: failure }, null, 2)}\n`);
  else process.stderr.write(`${failure.message}\n${fieldLines(failure.fields)}`);
  process.exitCode = exitCode;
}

function fieldLines(fields: FieldError[] = []): string {
  return fields.map(({ path, message }) => `  ${path} ${message}\n`).join('');
}

function badInput(error: unknown): Failure | undefined {
  if (error instanceof UsageError) return bad('USAGE', error.message, error.fields);
  if (error instanceof InvalidPayoutRequestError)
    return bad('INVALID_PAYOUT_REQUEST', 'the request is not valid', error.fields);
  return undefined;
}

/** Temporal's own errors are told by their classes, which bad input has no use for. */
async function afterLoading(error: unknown): Promise<Failure> {
  const { explain } = await import('./failures.ts');
  return explain(error);
}
