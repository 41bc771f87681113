/** Markdown, with tables as the formatter of this project writes them. */

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_title, at) => Math.max(3, ...cells.map((row) => lengthOf(row[at] ?? ''))));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, at) => pad(row[at] ?? '', width)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join('\n');
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

function pad(text: string, width: number): string {
  return text + ' '.repeat(width - lengthOf(text));
}

function lengthOf(text: string): number {
  return [...text].length;
}
