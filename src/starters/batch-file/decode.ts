/** Decodes a file as a whole, before anything parses it: no parser sees bytes whose characters are a guess. */
import { isUtf8 } from 'node:buffer';
import { BatchFileError } from './file-row.ts';

const UTF_8_MARK = Buffer.from('efbbbf', 'hex');
const UTF_16_MARKS = [
  ['utf-16le', Buffer.from('fffe', 'hex')],
  ['utf-16be', Buffer.from('feff', 'hex')],
] as const;

const startsWith = (bytes: Buffer, mark: Buffer) => bytes.subarray(0, mark.length).equals(mark);

/** The same text in UTF-8 without a byte order mark. Throws `BatchFileError` unless the text is certain. */
export function decoded(bytes: Buffer): Buffer {
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
