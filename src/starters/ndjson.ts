/** The lines of an NDJSON document that are not blank, numbered from 1. */
export function ndjsonLines(bytes: Buffer): { number: number; bytes: Buffer }[] {
  const lines: { number: number; bytes: Buffer }[] = [];
  for (let [from, number] = [0, 1]; from < bytes.length; number += 1) {
    const end = bytes.indexOf('\n', from);
    const to = end === -1 ? bytes.length : end;
    const line = bytes.subarray(from, to);
    if (line.toString('utf8').trim() !== '') lines.push({ number, bytes: line });
    from = to + 1;
  }
  return lines;
}
