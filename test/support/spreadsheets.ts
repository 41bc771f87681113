/** Batch files as spreadsheets write them. */

export interface Sheet {
  separator?: string;
  lineBreak?: string;
}

/** The fields of a request by path. */
export function leavesOf(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, string][] =>
    typeof inner === 'object' && inner !== null
      ? leavesOf(inner, `${path}${name}.`)
      : [[`${path}${name}`, String(inner)]],
  );
}

/** Cells are quoted where they must be. The columns are those of the first row. */
export function sheetOf(
  rows: readonly object[],
  { separator = ',', lineBreak = '\r\n' }: Sheet = {},
): string {
  const [first = {}] = rows;
  const columns = leavesOf(first).map(([name]) => name);
  const lines = rows.map((row) => {
    const cells = new Map(leavesOf(row));
    return columns.map((name) => quoted(cells.get(name) ?? '', separator));
  });
  return [columns, ...lines].map((cells) => `${cells.join(separator)}${lineBreak}`).join('');
}

function quoted(text: string, separator: string): string {
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
