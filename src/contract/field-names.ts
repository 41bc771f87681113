/** How messages name rows and fields. A separate module, so that it loads no schemas. */
import type { FieldError } from './payout-request.ts';

/** A row in a message: by its line in the file, or by its place in the list of payouts. */
export function rowName(at: number, lines: readonly number[] = []): string {
  return lines[at] === undefined ? `payouts[${at}]` : `line ${lines[at]}`;
}

/** The name of a field in a message. The row of a file is named by its line. */
export function fieldName({ path, line }: Pick<FieldError, 'path' | 'line'>): string {
  return line === undefined ? path : `line ${line}: ${path.replace(/^\d+\.?/, '')}`.trimEnd();
}
