/** The output of the demo: progress while it runs, then one row for each payout. */
import Table from 'cli-table3';
import pc from 'picocolors';
import type { PayoutPhase } from '../src/contract/codes.ts';
import type { Money } from '../src/contract/money.ts';
import type { PayoutResult } from '../src/contract/payout.ts';

export interface Row {
  name: string;
  result: PayoutResult;
  /** Differences from the expected result; empty if there are none. */
  differences: string[];
  link: string;
}

/** Prints a line for each phase that a payout enters, readable on a terminal and in a log. */
export class Progress {
  private readonly begun = performance.now();
  private readonly phases = new Map<string, PayoutPhase>();
  private readonly total: number;

  constructor(total: number) {
    this.total = total;
  }

  saw(name: string, phase: PayoutPhase, sentence: string): void {
    if (this.phases.get(name) === phase) return;
    this.phases.set(name, phase);
    const seconds = ((performance.now() - this.begun) / 1_000).toFixed(1).padStart(5);
    const done = [...this.phases.values()].filter((known) => known === 'DONE').length;
    console.log(
      `${pc.dim(`${seconds} s  ${done}/${this.total}`)}  ${name.padEnd(22)} ${color(phase)}  ${pc.dim(sentence)}`,
    );
  }
}

export function table(rows: readonly Row[]): string {
  const head = ['payout', 'outcome', 'quoted', 'received', 'failed', 'splits', 'learned by', ''];
  const drawn = new Table({ head, style: { head: [], border: [] } });
  for (const { name, result, differences } of rows)
    drawn.push([
      name,
      result.outcome + (result.reason ? `\n${result.reason.code}` : ''),
      amount(result.orderId === undefined ? undefined : result.quote?.pay),
      amount(result.received),
      amount(result.failed),
      result.splits.map((split) => (split.status === 'SUCCESS' ? '✓' : '✗')).join('') || '–',
      result.learnedBy ?? '–',
      differences.length === 0 ? pc.green('as expected') : pc.red(differences.join('\n')),
    ]);
  return drawn.toString();
}

function amount(money: Money | undefined): string {
  return money ? `${money.amount} ${money.currency}` : '–';
}

function color(phase: PayoutPhase): string {
  const text = phase.padEnd(17);
  if (phase === 'DONE') return pc.green(text);
  return phase === 'RECONCILING' || phase === 'NEEDS_REVIEW' || phase === 'AWAITING_APPROVAL'
    ? pc.yellow(text)
    : text;
}
