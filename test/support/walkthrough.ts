/** A page of instructions as data: what its reader types, reads, writes into files and opens in a browser, in order. */

export type Step = Command | WrittenFile | SetLines | OpenedPage;

export interface Command {
  kind: 'command';
  command: string;
  /** What the page says that it prints. */
  output: readonly string[];
  /** Typed in a terminal that stays occupied by the program. */
  inNewTerminal: boolean;
}

/** The reader saves the block under this name. */
export interface WrittenFile {
  kind: 'file';
  path: string;
  content: string;
}

/** The reader sets these lines of a file that is there. */
export interface SetLines {
  kind: 'lines';
  path: string;
  lines: readonly string[];
}

export interface OpenedPage {
  kind: 'open';
  url: string;
}

const FENCE = /^```(\w*) ?(\S*)$/;
const PROMPT = '$ ';

/** Throws at a code block that tells a reader nothing to do. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  const lines = markdown.split('\n');
  let text: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line);
    if (!fence) {
      // The paragraph before a block says where it is typed.
      if (line !== '') text = lines[at - 1] === '' ? [line] : [...text, line];
      for (const [, url = ''] of line.matchAll(/\bOpen `(http[^`]+)`/g)) steps.push({ kind: 'open', url });
      continue;
    }
    const end = lines.indexOf('```', at + 1);
    const [, language = '', path = ''] = fence;
    steps.push(...blockSteps(language, path, lines.slice(at + 1, end), text.join(' ')));
    at = end;
  }
  return steps;
}

function blockSteps(language: string, path: string, lines: readonly string[], before: string): Step[] {
  if (language === 'console' && path === '') return commands(lines, /\bIn a new terminal\b/.test(before));
  if (language === 'ini' && path !== '') return [{ kind: 'lines', path, lines }];
  if (path !== '') return [{ kind: 'file', path, content: `${lines.join('\n')}\n` }];
  throw new Error(`a block that is neither typed nor saved: ${lines.join('\n')}`);
}

function commands(lines: readonly string[], inNewTerminal: boolean): Command[] {
  if (!lines[0]?.startsWith(PROMPT)) throw new Error(`a block without a command: ${lines.join('\n')}`);
  const starts = lines.flatMap((line, at) => (line.startsWith(PROMPT) ? [at] : []));
  return starts.map((start, nth) => ({
    kind: 'command',
    command: (lines[start] ?? '').slice(PROMPT.length),
    output: lines.slice(start + 1, starts[nth + 1]),
    inNewTerminal,
  }));
}

/** The page leaves out what this stands for: anything in its line, or any lines where it is a line. */
const OMITTED = '…';

/** Whether the output is what the page shows. Both are already without what varies. */
export function showsAs(shown: readonly string[], output: readonly string[]): boolean {
  const lines = shown.map((line) =>
    line === OMITTED ? '(?:.*\\n)*?' : `${line.split(OMITTED).map(escaped).join('.*')}\\n`,
  );
  return new RegExp(`^${lines.join('')}$`).test(output.map((line) => `${line}\n`).join(''));
}

/** The same for a program that goes on: its lines come in this order, among those of its log. */
export function showsAmong(shown: readonly string[], output: readonly string[]): boolean {
  return showsAs([OMITTED, ...shown.flatMap((line) => [line, OMITTED])], output);
}

/** Replaces every key by its value in one pass. A number is a key only where it stands alone. */
export function replaced(text: string, values: ReadonlyMap<string, string>): string {
  const keys = [...values.keys()].sort((one, two) => two.length - one.length);
  const any = keys.map((key) => (/^\d+$/.test(key) ? `(?<!\\d)${key}(?!\\d)` : escaped(key)));
  return text.replace(new RegExp(any.join('|'), 'g'), (key) => values.get(key) ?? key);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
