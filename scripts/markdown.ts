/** Markdown, with tables as the formatter of this project writes them. */

/** The columns from `numbersFrom` on are aligned to the right. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  numbersFrom = head.length,
): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_title, at) => Math.max(3, ...cells.map((row) => lengthOf(row[at] ?? ''))));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, at) => pad(row[at] ?? '', width, at >= numbersFrom)).join(' | ')} |`;
  const rule = widths.map((width, at) =>
    at < numbersFrom ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const [first = [], ...others] = cells;
  return [line(first), line(rule), ...others.map(line)].join('\n');
}

export function code(text: string | number): string {
  return `\`${text}\``;
}

/** The fragment by which GitHub links to a heading. */
export function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** The anchor of every heading of a document. */
export function anchorsOf(document: string): string[] {
  return [...document.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title));
}

function pad(text: string, width: number, isNumber: boolean): string {
  const space = ' '.repeat(width - lengthOf(text));
  return isNumber ? space + text : text + space;
}

function lengthOf(text: string): number {
  return [...text].length;
}
