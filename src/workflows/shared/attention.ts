/** Attention flags: at most one of each code. The Temporal UI lists and filters workflows by them. */
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

interface Flag<Code extends string> {
  code: Code;
  message: string;
}

/** A run whose record holds attention flags. */
export abstract class FlaggedRun<Code extends string> {
  abstract readonly record: { attention: Flag<Code>[] };

  flag(code: Code, message: string): void {
    this.unflag(code);
    this.record.attention.push({ code, message });
  }

  unflag(...codes: Code[]): void {
    this.record.attention = this.record.attention.filter(({ code }) => !codes.includes(code));
  }
}

/** For the details that the Temporal UI shows, one line per flag. */
export function flagLines(flags: readonly Flag<string>[]): string[] {
  return flags.map(({ code, message }) => `⚠ ${code}: ${message}`);
}

/** Each upsert costs a history event, so only a change is written. */
export function showNeedsAttention(needsAttention: boolean): void {
  const isShown = workflowInfo().searchAttributes['PayoutNeedsAttention']?.[0] === true;
  if (needsAttention !== isShown) upsertSearchAttributes({ PayoutNeedsAttention: [needsAttention] });
}
