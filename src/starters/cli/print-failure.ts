/** Prints why a command failed. */
import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import { fieldName } from '../../contract/failures.ts';
import { type Failure, invalidInput, UsageError } from './output.ts';

export async function printFailure(error: unknown, json: boolean): Promise<void> {
  const { exitCode, ...failure } = inputFailure(error) ?? (await temporalFailure(error));
  const fields = (failure.fields ?? []).map((field) => `  ${fieldName(field)} ${field.message}\n`);
  process.exitCode = exitCode;
  if (json) process.stdout.write(`${JSON.stringify({ error: failure }, null, 2)}\n`);
  else process.stderr.write(`${failure.message}\n${fields.join('')}`);
}

function inputFailure(error: unknown): Failure | undefined {
  if (error instanceof UsageError) return invalidInput('USAGE', error.message);
  if (error instanceof InvalidPayoutRequestError)
    return invalidInput('INVALID_PAYOUT_REQUEST', 'the request is invalid', error.fields);
  return undefined;
}

/** Loads Temporal's client, which invalid input does not need. */
async function temporalFailure(error: unknown): Promise<Failure> {
  const { failureOf } = await import('./failures.ts');
  return failureOf(error);
}
