/** What a command prints: its output or its failure, as one JSON document or as text. Loads Temporal's client only when needed. */
import { PayoutsError } from '../../client/errors.ts';
import { ERRORS, type ErrorCode, EXIT } from '../../contract/errors.ts';
import { type FieldError, fieldName } from '../../contract/failures.ts';

export interface Output {
  json: unknown;
  text: string;
  exitCode?: number;
  /** The command has printed its output itself. */
  isPrinted?: boolean;
  /** For standard error, beside `text`. */
  hint?: string | undefined;
}

/** Thrown for an invalid command line or file, and for a change that nobody confirms. Nothing was changed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code: 'USAGE' | 'NOT_CONFIRMED';

  constructor(message: string, code: UsageError['code'] = 'USAGE') {
    super(message);
    this.code = code;
  }
}

export interface Failure {
  code: ErrorCode;
  message: string;
  fields?: FieldError[];
}

export function print(output: Output, json: boolean): void {
  process.exitCode = output.exitCode ?? EXIT.ok;
  if (output.isPrinted) return;
  process.stdout.write(json ? `${JSON.stringify(output.json, null, 2)}\n` : `${output.text}\n`);
  if (!json && output.hint !== undefined) process.stderr.write(`${output.hint}\n`);
}

export async function printFailure(error: unknown, json: boolean): Promise<void> {
  const failure = await failureOf(error);
  const fields = (failure.fields ?? []).map((field) => `  ${fieldName(field)} ${field.message}\n`);
  process.exitCode = exitCodeOf(failure);
  if (json) process.stdout.write(`${JSON.stringify({ error: failure }, null, 2)}\n`);
  else process.stderr.write(`${failure.message}\n${fields.join('')}`);
}

export function exitCodeOf({ code }: Pick<Failure, 'code'>): number {
  return EXIT[ERRORS[code].exit];
}

export async function failureOf(error: unknown): Promise<Failure> {
  const known = await knownError(error);
  if (known instanceof UsageError) return { code: known.code, message: known.message };
  if (!(known instanceof PayoutsError))
    return { code: 'UNEXPECTED', message: error instanceof Error ? error.message : 'unexpected error' };
  const { code, message, fields } = known;
  if (fields.length > 0) return { code, message: 'the request is invalid', fields };
  if (code !== 'TEMPORAL_UNAVAILABLE') return { code, message };
  return { code, message: `${message.replace(/\.$/, '')}. Run payouts doctor: it says what does not work` };
}

async function knownError(error: unknown): Promise<unknown> {
  if (error instanceof UsageError || error instanceof PayoutsError) return error;
  return (await import('../../client/translated.ts')).translatedError(error);
}

/**
 * Ends the process when the reader of its output has closed it, as `| head` does. By then the command has done its work, or
 * only shows something: its exit code, if it has one, stays.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit();
    });
}
