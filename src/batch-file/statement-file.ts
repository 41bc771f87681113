/** Writes a statement as CSV, NDJSON or JSON, while its rows are read. The last record says that it is complete. */
import { z } from 'zod';
import { moneySchema } from '../contract/fields.ts';
import { totalsByCurrency } from '../contract/money.ts';
import {
  type Statement,
  type StatementEnd,
  type StatementFormat,
  type StatementRow,
  statementEndSchema,
  statementRowSchema,
} from '../contract/statement.ts';

export const CONTENT_TYPES: Readonly<Record<StatementFormat, string>> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
};

interface Writer {
  head: string;
  row(row: StatementRow, at: number): string;
  end(end: StatementEnd): string;
}

/** `details`: CSV has them, too. Throws what the rows throw: then the text has no end. */
export async function* statementText(
  format: StatementFormat,
  { rows, isFinal }: Statement,
  details = false,
): AsyncGenerator<string> {
  const writer = WRITERS[format === 'csv' && details ? 'detailedCsv' : format];
  const end = { payouts: 0, unreadable: 0, isFinal };
  yield writer.head;
  for await (const row of rows) {
    yield writer.row(row, end.payouts);
    end.payouts += 1;
    if (row.unreadable) end.unreadable += 1;
  }
  yield writer.end(end);
}

const { debits, splits, laterReturns } = statementRowSchema.shape;
/** Each of their elements is a record below that of its payout. */
const LISTS = { debits, splits, laterReturns };
type ListName = keyof typeof LISTS;
const LIST_NAMES = ['debits', 'splits', 'laterReturns'] as const satisfies ListName[];

/** Of the returned money, the sum of what came back after the end: books may have been closed before. */
const LATER = 'laterReturned';

/** By them, the records of a payout are matched. */
const IDS = ['app', 'partnerOrderId', 'orderId', 'clientId', 'payerId', 'openId', 'batch', 'endedAt'];

const ROW_PATHS = pathsOf(statementRowSchema);
const END_PATHS = pathsOf(statementEndSchema, 'end.');

/** In the order in which accountants read them; what matches records follows. */
const FIELDS = [
  ...['endedAt', 'partnerOrderId', 'beneficiary', 'accountEnd', 'instructedAmount', 'pay', 'fee'],
  ...['received', 'failed', 'returned', LATER, 'outcome', 'reason', 'batch', 'metadata'],
  ...['orderId', 'rate', 'app', 'clientId', 'payerId', 'openId', 'startedAt', 'unreadable'],
];
const COLUMNS = [
  ...FIELDS.flatMap((name) =>
    [...ROW_PATHS, ...pathsOf(moneySchema, `${LATER}.`)].filter((path) => path.split('.')[0] === name),
  ),
  ...END_PATHS,
];

/** Every amount has a column of its own, so that the sum of a column counts nothing twice. */
const DETAILED_COLUMNS = [
  'record',
  ...ROW_PATHS,
  ...LIST_NAMES.flatMap((name) => pathsOf(LISTS[name].element, `${name}.`)),
  ...END_PATHS,
];

const WRITERS: Readonly<Record<StatementFormat | 'detailedCsv', Writer>> = {
  json: {
    head: '{"payouts":[',
    row: (row, at) => `${at === 0 ? '' : ','}\n${JSON.stringify(row)}`,
    end: (end) => `\n],"end":${JSON.stringify(end)}}\n`,
  },
  ndjson: {
    head: '',
    row: (row) => `${JSON.stringify(row)}\n`,
    end: (end) => `${JSON.stringify({ end })}\n`,
  },
  csv: {
    head: headOf(COLUMNS),
    row: (row) => csvRecord(COLUMNS, [...cellsOf(row), ...laterCells(row)]),
    end: (end) => csvRecord(COLUMNS, endCells(end)),
  },
  detailedCsv: {
    head: headOf(DETAILED_COLUMNS),
    row: (row) => {
      const cells = cellsOf(row);
      const ids = cells.filter(([column]) => IDS.includes(column));
      const below = LIST_NAMES.flatMap((name) =>
        row[name].map((element): Cell[] => [['record', name], ...ids, ...cellsOf(element, `${name}.`)]),
      );
      const records: Cell[][] = [[['record', 'payout'], ...cells], ...below];
      return records.map((record) => csvRecord(DETAILED_COLUMNS, record)).join('');
    },
    end: (end) => csvRecord(DETAILED_COLUMNS, [['record', 'end'], ...endCells(end)]),
  },
};

function pathsOf(schema: z.core.$ZodType, prefix = ''): string[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) => {
    const type = field instanceof z.ZodExactOptional ? field.unwrap() : field;
    if (type instanceof z.ZodArray) return [];
    return type instanceof z.ZodObject ? pathsOf(type, `${prefix}${name}.`) : [prefix + name];
  });
}

type Cell = [column: string, text: string];

function cellsOf(record: object, prefix = ''): Cell[] {
  return Object.entries(record).flatMap(([name, value]: [string, unknown]): Cell[] => {
    const column = prefix + name;
    if (Array.isArray(value)) return [];
    if (typeof value !== 'object' || value === null) return [[column, String(value)]];
    return name === 'metadata' ? [[column, JSON.stringify(value)]] : cellsOf(value, `${column}.`);
  });
}

/** In words too, where people see it: in a column without amounts. */
function endCells(end: StatementEnd): Cell[] {
  const { payouts, unreadable, isFinal } = end;
  const words = [
    `End of the statement: ${payouts} ${payouts === 1 ? 'payout' : 'payouts'}`,
    unreadable > 0 && `${unreadable} without amounts`,
    !isFinal && 'more may follow',
  ];
  return [['endedAt', words.filter(Boolean).join('; ')], ...cellsOf(end, 'end.')];
}

/** A payout's splits have one currency. If they had several, nobody should sum them up. */
function laterCells({ laterReturns }: StatementRow): Cell[] {
  const sums = totalsByCurrency(laterReturns.map(({ target }) => target));
  if (sums.length === 0) return [];
  return [
    [`${LATER}.currency`, sums.map(({ currency }) => currency).join(' ')],
    [`${LATER}.amount`, sums.map(({ amount }) => amount).join(' ')],
  ];
}

/** Without the mark, spreadsheets misread texts that are not ASCII. */
function headOf(columns: readonly string[]): string {
  return `\uFEFF${columns.join(',')}\r\n`;
}

function csvRecord(columns: readonly string[], cells: readonly Cell[]): string {
  const texts = new Map(cells);
  return `${columns.map((column) => quoted(withoutFormula(texts.get(column) ?? ''))).join(',')}\r\n`;
}

/** RFC 4180. A spreadsheet with another separator splits what is not quoted. */
function quoted(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Where a spreadsheet may see the beginning of a cell, other than that of a number: also after another separator or a line
 * break, which a program may take for the end of a cell.
 */
const FORMULA =
  /(^|[;\t\r\n])(?![+-]?\d+(?:\.\d+)?(?:$|[;\t\r\n]))(?=[\s"]*'*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;

/**
 * An apostrophe makes it text. Removing one apostrophe from before each formula restores the text: what already had
 * apostrophes there gets another one.
 */
function withoutFormula(text: string): string {
  return text.replace(FORMULA, "$1'");
}
