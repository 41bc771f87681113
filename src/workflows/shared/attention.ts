/** Attention flags: at most one of each code. The Temporal UI lists and filters workflows by them. */
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';

interface Flag<Code extends string> {
  code: Code;
  message: string;
}

export function withFlag<Code extends string>(
  flags: readonly Flag<Code>[],
  code: Code,
  message: string,
): Flag<Code>[] {
  return [...withoutFlag(flags, code), { code, message }];
}

export function withoutFlag<Code extends string>(
  flags: readonly Flag<Code>[],
  ...codes: readonly Code[]
): Flag<Code>[] {
  return flags.filter((flag) => !codes.includes(flag.code));
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
