/** Attention flags: at most one of each code. The Temporal UI lists and filters workflows by them. */
import { type SearchAttributes, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

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

export function showAttention(flags: readonly Pick<Flag<string>, 'code'>[]): void {
  const changes = attentionChanges(flags);
  if (Object.keys(changes).length > 0) upsertSearchAttributes(changes);
}

/**
 * The search attributes to write. Each write costs a history event, so only changes are written. Absent means no and
 * none: most workflows never need attention.
 */
export function attentionChanges(flags: readonly Pick<Flag<string>, 'code'>[]): SearchAttributes {
  const { searchAttributes: shown } = workflowInfo();
  const needsAttention = flags.length > 0;
  // A flag that is raised again moves to the end of the list. The set of codes stays the same.
  const codes = [...new Set(flags.map(({ code }) => code))].sort();
  return {
    ...((shown['PayoutNeedsAttention']?.[0] === true) !== needsAttention && {
      PayoutNeedsAttention: [needsAttention],
    }),
    ...((shown['PayoutReasons'] ?? []).join() !== codes.join() && { PayoutReasons: codes }),
  };
}
