/** What a verb says, and how it is printed: one JSON document, or text for a person. */

import { InvalidPayoutRequestError } from '../../client/invalid-request.ts';
import type { FieldError } from '../../contract/payout-request.ts';

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
}

/** Thrown by a verb for what is wrong with how it was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly fields: FieldError[];
  constructor(message: string, fields: FieldError[] = []) {
    super(message);
    this.fields = fields;
  }
}

export interface Failure {
  code: string;
  message: string;
  fields?: FieldError[];
  exitCode: number;
}

export function print(answer: Answer, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(answer.json, null, 2)}\n` : `${answer.text}\n`);
  process.exitCode = answer.exitCode ?? EXIT.ok;
}

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

export function bad(code: string, message: string, fields: FieldError[] = []): Failure {
  return { code, message, ...(fields.length > 0 && { fields }), exitCode: EXIT.badInput };
}
