/** Shows what is wrong with an uploaded file, with the values that people have to correct. */
import { BatchFile } from '../batch-file/batch-file.ts';
import type { InvalidPayoutRequestError } from '../client/errors.ts';
import type { FieldError } from '../contract/failures.ts';
import { NOT_A_FIELD } from '../contract/fields.ts';
import { isJsonObject } from '../payments/exact-json.ts';
import { headerFault, headerWarning, isOfHeader } from './file-header.ts';
import { type Html, html, table } from './html.ts';

const MAX_SHOWN = 80;
export const HIDDEN = ['receiver.bankAccountNumber', 'receiver.idCardNumber'];
/** Such as an account number in the column of another field. */
const LIKE_A_NUMBER = /\d(?:[\s-]?\d){8}/;

/** The file is read again, because errors, which are logged, have no values. */
export async function errorTable(
  bytes: Buffer,
  { fields, stopped }: InvalidPayoutRequestError,
): Promise<Html> {
  const file = new BatchFile(bytes);
  const all = fields.map((error) => ({ ...error, ...placeOf(error) }));
  const fault = headerFault(await file.columns(), all);
  // The header says once what is wrong with each row.
  const ofRows = all.filter(({ field }) => !isOfHeader(fault, field));
  const count = `${stopped ? 'at least ' : ''}${ofRows.length} ${ofRows.length === 1 ? 'error' : 'errors'}`;
  const values = await valuesOf(file, ofRows);
  const said = ofRows.length === 0 ? 'the header of the file is wrong' : `the file has ${count}`;
  return html`<p class="warning" role="alert">Nothing was started: ${said}.${stopped && ' Later rows were not checked.'}</p>
${headerWarning(fault)}${
  ofRows.length > 0 &&
  table({
    caption: 'Errors',
    head: ['Line', 'Field', 'Value', 'What is wrong'],
    rows: ofRows.map(({ line, field, message }, at) => [
      line ?? '–',
      field === '' ? 'the whole row' : field,
      values[at],
      message,
    ]),
  })
}`;
}

/** Where the field is. Errors outside of a row, such as that of the batch id, have no line. */
function placeOf({ path, line }: FieldError): { row: number; field: string } {
  const [, row = '', field = ''] = (line !== undefined && /^(\d+)\.?(.*)$/.exec(path)) || [];
  return row === '' ? { row: -1, field: path } : { row: Number(row), field };
}

type PlacedError = FieldError & { row: number; field: string };

async function valuesOf(file: BatchFile, places: readonly PlacedError[]): Promise<unknown[]> {
  const last = Math.max(...places.map(({ row }) => row));
  const rows: unknown[] = [];
  if (last >= 0)
    for await (const row of file) {
      // Nothing is kept of the others.
      rows.push(places.some((place) => place.row === rows.length) ? row : undefined);
      if (rows.length > last) break;
    }
  return places.map((error) => shownValue(rows[error.row], error.field, error));
}

function shownValue(row: unknown, field: string, error: FieldError | undefined): unknown {
  const value = field === '' ? undefined : valueAt(row, field);
  if (value === undefined) return undefined;
  if (HIDDEN.includes(field) || error?.message === NOT_A_FIELD || LIKE_A_NUMBER.test(value))
    return html`<span class="faint">hidden</span>`;
  return value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value;
}

/** Keys of metadata contain dots. */
function valueAt(row: unknown, field: string): string | undefined {
  if (!isJsonObject(row)) return undefined;
  const [name = ''] = field.split('.');
  const value = Object.hasOwn(row, field) ? row[field] : undefined;
  if (value !== undefined) return typeof value === 'object' ? undefined : String(value);
  return field === name || !Object.hasOwn(row, name)
    ? undefined
    : valueAt(row[name], field.slice(name.length + 1));
}
