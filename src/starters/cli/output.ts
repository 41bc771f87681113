/** What a command prints: its output, as one JSON document or as text. */
import type { FieldError } from '../../contract/failures.ts';

/** Stable: scripts rely on them. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  badInput: 2,
  notFound: 3,
  refused: 4,
  notPaid: 5,
  doctorFoundProblems: 6,
} as const;

export interface Output {
  json: unknown;
  text: string;
  exitCode?: number;
  /** The command has printed its output itself. */
  isPrinted?: boolean;
  /** For standard error, beside `text`. */
  hint?: string | undefined;
}

/** Thrown for an invalid command line or file. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Thrown if a person does not confirm a change. Nothing was changed. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmedError';
}

export interface Failure {
  code: string;
  message: string;
  fields?: FieldError[];
  exitCode: number;
}

export function print(output: Output, json: boolean): void {
  process.exitCode = output.exitCode ?? EXIT.ok;
  if (output.isPrinted) return;
  process.stdout.write(json ? `${JSON.stringify(output.json, null, 2)}\n` : `${output.text}\n`);
  if (!json && output.hint !== undefined) process.stderr.write(`${output.hint}\n`);
}

export function invalidInput(code: string, message: string, fields: FieldError[] = []): Failure {
  return { code, message, ...(fields.length > 0 && { fields }), exitCode: EXIT.badInput };
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
