/** Decodes a batch file, and reads the rows of NDJSON and of a JSON array. Rejects what two parsers may read differently. */
import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { NotJsonError, readPlainJson } from '../payments/exact-json.ts';

export interface FileRow {
  /** Where the row begins, from 1. */
  line: number;
  /** A payout request, not yet validated. */
  row: unknown;
}

/** Thrown for a file that cannot be read as a whole. The message quotes nothing of the file. */
export class BatchFileError extends Error {
  override readonly name = 'BatchFileError';
}

const UTF_8_MARK = Buffer.from('efbbbf', 'hex');
const UTF_16_MARKS = [
  ['utf-16le', Buffer.from('fffe', 'hex')],
  ['utf-16be', Buffer.from('feff', 'hex')],
] as const;

/** The packed form of today, and the older one. */
const WORKBOOK_MARKS = ['504b0304', 'd0cf11e0'].map((mark) => Buffer.from(mark, 'hex'));

const startsWith = (bytes: Buffer, mark: Buffer) => bytes.subarray(0, mark.length).equals(mark);

/**
 * Decodes a file as a whole, before anything parses it: no parser sees bytes whose characters are a guess. Returns the same
 * text in UTF-8 without a byte order mark. Throws `BatchFileError` unless the text is certain.
 */
export function decoded(bytes: Buffer): Buffer {
  if (WORKBOOK_MARKS.some((mark) => startsWith(bytes, mark)))
    throw new BatchFileError('this is an Excel workbook. Save it as CSV UTF-8');
  const [utf16] = UTF_16_MARKS.find(([, mark]) => startsWith(bytes, mark)) ?? [];
  const text = utf16 ? fromUtf16(bytes, utf16) : bytes;
  // UTF-16 and UTF-32 without their mark are full of zero bytes, which no text has.
  if (text === undefined || !isUtf8(text) || text.includes(0))
    throw new BatchFileError(
      'the encoding of the file is not UTF-8, so its characters are not certain: save it as "CSV UTF-8", or as UTF-8 text, and send it again',
    );
  return startsWith(text, UTF_8_MARK) ? text.subarray(UTF_8_MARK.length) : text;
}

function fromUtf16(bytes: Buffer, encoding: 'utf-16le' | 'utf-16be'): Buffer | undefined {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes), 'utf8');
  } catch {
    return undefined;
  }
}

/** The same as for the body of a payout. A line is parsed as a whole. */
export const MAX_ROW_BYTES = 64 * 1024;
const LIMITS = { maxDepth: 16 };
/** The part that is read before the process does other work. */
const SLICE = { lines: 10_000, bytes: 256 * 1024 };

export async function* ndjsonRows(text: Buffer): AsyncGenerator<FileRow> {
  let slice = { ...SLICE };
  for (let [from, line] = [0, 1]; from < text.length; line += 1) {
    const end = text.indexOf('\n', from);
    const bytes = text.subarray(from, end === -1 ? text.length : end);
    from += bytes.length + 1;
    if (bytes.length > MAX_ROW_BYTES) throw new BatchFileError(`line ${line} is invalid: it exceeds 64 KiB`);
    // Only the white space of JSON: a line of other blanks is an invalid row.
    if (!/^[ \t\r]*$/.test(bytes.toString('latin1'))) yield { line, row: parsed(bytes, `line ${line}`) };
    slice = { lines: slice.lines - 1, bytes: slice.bytes - bytes.length };
    if (slice.lines > 0 && slice.bytes > 0) continue;
    slice = { ...SLICE };
    await setImmediate();
  }
}

/** The elements of an array; anything else is one row. */
export function jsonRows(text: Buffer): FileRow[] {
  const value = parsed(text, 'the file');
  if (!Array.isArray(value)) return [{ line: 1, row: value }];
  const lines = elementLines(text.toString('latin1'));
  return value.map((row: unknown, at) => ({ line: lines[at] ?? 1, row }));
}

function parsed(bytes: Buffer, what: string): unknown {
  try {
    return readPlainJson(bytes, LIMITS);
  } catch (error) {
    if (error instanceof NotJsonError) throw new BatchFileError(`${what} is invalid: ${error.message}`);
    throw error;
  }
}

/** The lines at which the elements of a valid array begin. Strings are skipped as a whole. */
function elementLines(text: string): number[] {
  const lines: number[] = [];
  let [depth, line, isAwaited] = [0, 1, false];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},\n]|[^\s[\]{},"]+/g)) {
    if (token === '\n') {
      line += 1;
      continue;
    }
    if (isAwaited && token !== ']') lines.push(line);
    isAwaited = depth === 0 || (depth === 1 && token === ',');
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
  }
  return lines;
}
