/** A reader of a page of instructions who knows nothing else, and does every step of it by a real shell, in a fresh clone. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { findTemporalCli } from '../../scripts/setup/temporal-cli.ts';
import type { Environment } from '../../src/config/environment.ts';
import { eventually } from './eventually.ts';
import { Terminal } from './terminal.ts';
import { type Command, replaced, type Step, showsAmong, showsAs } from './walkthrough.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What a page prints in one form and a machine in another, with what stands for both. */
const VARIES: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'RUN'],
  [/\bPO[0-9a-f]{32}\b/g, 'ORDER'],
  [/\b[0-9a-f]{64}\b/g, 'SHA256'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\?link=[\w.-]+/g, '?link=LINK'],
  [/\bidentity \d+@\S+/g, 'identity PROCESS'],
  // Versions of the Temporal CLI differ in it.
  [/^Temporal (?=UI:)/gm, ''],
  [/\bserver \d+(?:\.\d+)+/g, 'server VERSION'],
  // Columns are as wide as what stands in them.
  [/ {2,}/g, ' '],
];
/** npm's own lines, which the page says that it leaves out. */
const NPM = /^> /;

export interface ReaderOptions {
  /** What the reader replaces. More may be added when it is printed. */
  values: Map<string, string>;
  /** Like `VARIES`. */
  varies?: readonly (readonly [RegExp, string])[];
  environment?: Environment;
  /** By a part of a command: what the reader types while it waits. */
  typed?: ReadonlyMap<string, string>;
  /** By a part of a command: what happens before it. */
  meanwhile?: ReadonlyMap<string, () => unknown>;
  /** Parts of commands that the page tells the reader to repeat. */
  repeated: readonly string[];
  /** What the reader copies from an output to where the page has it. */
  copied?: RegExp;
  /** Opens an address in a browser. */
  open(url: string): Promise<void>;
}

export class Reader {
  readonly folder: string;
  readonly terminals: Terminal[] = [];
  private readonly options: ReaderOptions;
  private environment: Environment = {};

  /** `folder`: an empty one. */
  constructor(options: ReaderOptions, folder = mkdtempSync(join(tmpdir(), 'payouts-reader-'))) {
    this.options = options;
    this.folder = folder;
  }

  /** A clone in which nobody has worked yet, and a user without any settings. */
  async begin(): Promise<void> {
    const [home, bin, clone] = ['home', 'bin', 'clone'].map((name) => join(this.folder, name));
    for (const path of [home, bin, clone]) mkdirSync(path ?? '');
    for (const name of readdirSync(ROOT))
      if (!['.env', '.git', '.quickstart'].includes(name))
        symlinkSync(join(ROOT, name), join(clone ?? '', name));
    symlinkSync(await findTemporalCli(), join(bin ?? '', 'temporal'));
    this.environment = {
      PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: home,
      TMPDIR: tmpdir(),
      npm_config_update_notifier: 'false',
      ...this.options.environment,
    };
  }

  async end(): Promise<void> {
    // In the opposite order: Temporal last.
    for (const terminal of this.terminals.reverse()) await terminal.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  inClone(path: string): string {
    return join(this.folder, 'clone', path);
  }

  async perform(step: Step): Promise<void> {
    if (step.kind === 'file') writeFileSync(this.inClone(step.path), this.own(step.content));
    else if (step.kind === 'lines') this.setLines(step.path, step.lines);
    else if (step.kind === 'open') await this.options.open(this.own(step.url));
    else if (step.inNewTerminal) await this.occupy(step);
    else await this.type(step);
  }

  private own(text: string): string {
    return replaced(text, this.options.values);
  }

  /** Without what varies, and without empty lines. */
  private comparable(text: string): string[] {
    const varies = [...(this.options.varies ?? []), ...VARIES];
    return varies
      .reduce((all, [what, name]) => all.replace(what, name), text)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !NPM.test(line));
  }

  private shown({ output }: Command): string[] {
    return this.comparable(this.own(output.join('\n')));
  }

  private setLines(path: string, lines: readonly string[]): void {
    let text = readFileSync(this.inClone(path), 'utf8');
    for (const line of lines) {
      const [name = ''] = line.split('=');
      const all = new RegExp(`^#?${name}=.*$`, 'gm');
      expect(text.match(all), `lines of ${path} that set ${name}`).toHaveLength(1);
      text = text.replace(all, () => this.own(line));
    }
    writeFileSync(this.inClone(path), text);
  }

  private async type(step: Command): Promise<void> {
    const { typed = new Map(), meanwhile = new Map(), repeated } = this.options;
    const [first = this.openTerminal()] = this.terminals;
    const expected = this.shown(step);
    await forCommand(step, meanwhile)?.();
    const ran = await eventually(async () => {
      const { status, output } = await first.run(this.own(step.command), forCommand(step, typed));
      const lines = this.comparable(output);
      const isRepeated = repeated.some((part) => step.command.includes(part));
      return isRepeated && !showsAs(expected, lines) ? undefined : { status, output, lines };
    });
    const failure = `$ ${step.command}\n${ran.output}`;
    if (!showsAs(expected, ran.lines)) expect(ran.lines, failure).toEqual(expected);
    expect(ran.status, failure).toBe(0);
    this.copyPrinted(step.output.join('\n'), ran.output);
  }

  private copyPrinted(shown: string, printed: string): void {
    const { copied, values } = this.options;
    const [onPage] = copied?.exec(shown) ?? [];
    const [own] = copied?.exec(printed) ?? [];
    if (onPage && own) values.set(onPage, own);
  }

  /** A program that stays in the foreground of its terminal. */
  private async occupy(step: Command): Promise<void> {
    // What is typed elsewhere goes into the first terminal.
    if (this.terminals.length === 0) this.openTerminal();
    const terminal = this.openTerminal();
    const expected = this.shown(step);
    terminal.start(this.own(step.command));
    await eventually(() => {
      const lines = this.comparable(terminal.output);
      if (showsAmong(expected, lines)) return true;
      if (terminal.isIdle) expect(lines, `$ ${step.command}`).toEqual(expected);
      return undefined;
    });
    expect(terminal.isIdle, terminal.output).toBe(false);
  }

  private openTerminal(): Terminal {
    const terminal = new Terminal(this.inClone('.'), this.environment);
    this.terminals.push(terminal);
    return terminal;
  }
}

function forCommand<T>({ command }: Command, table: ReadonlyMap<string, T>): T | undefined {
  return [...table].find(([part]) => command.includes(part))?.[1];
}
