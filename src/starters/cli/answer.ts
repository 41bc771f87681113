/** The answer of a verb, printed as one JSON document or as text. */
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

export interface Answer {
  json: unknown;
  text: string;
  exitCode?: number;
  /** The verb has printed its answer itself. */
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

export function print(answer: Answer, json: boolean): void {
  process.exitCode = answer.exitCode ?? EXIT.ok;
  if (answer.isPrinted) return;
  process.stdout.write(json ? `${JSON.stringify(answer.json, null, 2)}\n` : `${answer.text}\n`);
  if (!json && answer.hint !== undefined) process.stderr.write(`${answer.hint}\n`);
}

export function invalidInput(code: string, message: string, fields: FieldError[] = []): Failure {
  return { code, message, ...(fields.length > 0 && { fields }), exitCode: EXIT.badInput };
}
