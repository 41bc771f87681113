/** What a verb says, and how it is printed: one JSON document, or text for a person. */
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

export function bad(code: string, message: string, fields: FieldError[] = []): Failure {
  return { code, message, ...(fields.length > 0 && { fields }), exitCode: EXIT.badInput };
}
