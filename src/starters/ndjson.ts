export interface NdjsonLine {
  /** From 1. */
  number: number;
  bytes: Buffer;
}

/** Only the white space of JSON: a line of other blanks is an invalid row. */
const isBlank = (line: Buffer) => /^[ \t\r]*$/.test(line.toString('latin1'));

/** Yields the lines that are not blank one by one, so that a reader stops at the first invalid row. */
export function* ndjsonLines(bytes: Buffer): Generator<NdjsonLine> {
  for (let [from, number] = [0, 1]; from < bytes.length; number += 1) {
    const end = bytes.indexOf('\n', from);
    const to = end === -1 ? bytes.length : end;
    const line = bytes.subarray(from, to);
    if (!isBlank(line)) yield { number, bytes: line };
    from = to + 1;
  }
}
