/** A batch as a file holds it: a JSON array, or NDJSON with one payout a line. */
import { UsageError } from './answer.ts';

export function batchRows(text: string, file: string): unknown[] {
  const trimmed = text.trim();
  if (trimmed === '') throw new UsageError(`${file} holds no payouts`);
  if (trimmed.startsWith('[')) return array(trimmed, file);
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, at) => (line === '' ? [] : [oneLine(line, at + 1, file)]));
}

function array(text: string, file: string): unknown[] {
  const parsed = parse(text);
  if (!Array.isArray(parsed))
    throw new UsageError(`${file} is neither a JSON array nor one JSON object a line`);
  return parsed;
}

function oneLine(line: string, number: number, file: string): unknown {
  const parsed = parse(line);
  if (parsed === undefined) throw new UsageError(`line ${number} of ${file} is not JSON`);
  return parsed;
}

/** JSON has no undefined, so it stands for what is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
