/** A batch as a file holds it: a JSON array, or NDJSON with one payout a line. */
import { UsageError } from './answer.ts';
import { jsonIn } from './files.ts';

export function batchRows(bytes: Buffer, file: string): unknown[] {
  const lines = linesOf(bytes);
  const [first] = lines;
  if (first === undefined) throw new UsageError(`${file} holds no payouts`);
  if (first.text.startsWith('[')) return array(bytes, file);
  return lines.map((line) => jsonIn(line.bytes, `line ${line.number} of ${file}`));
}

interface Line {
  number: number;
  bytes: Buffer;
  text: string;
}

/** Those that are not empty. */
function linesOf(bytes: Buffer): Line[] {
  const lines: Line[] = [];
  for (let [from, number] = [0, 1]; from < bytes.length; number += 1) {
    const end = bytes.indexOf('\n', from);
    const to = end === -1 ? bytes.length : end;
    const line = bytes.subarray(from, to);
    const text = line.toString('utf8').trim();
    if (text !== '') lines.push({ number, bytes: line, text });
    from = to + 1;
  }
  return lines;
}

function array(bytes: Buffer, file: string): unknown[] {
  const parsed = jsonIn(bytes, file);
  if (!Array.isArray(parsed))
    throw new UsageError(`${file} is neither a JSON array nor one JSON object a line`);
  return parsed;
}
