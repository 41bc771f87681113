/** Attention flags: at most one of each code. The Temporal UI lists and filters workflows by them. */
import {
  log,
  metricMeter,
  type SearchAttributes,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { count, logEvent } from '../../domain/telemetry.ts';

interface Flag<Code extends string> {
  code: Code;
  message: string;
}

/** A flag that is raised again moves to the end of the list. */
export function flagged<Code extends string>(flags: Flag<Code>[], code: Code, message: string): Flag<Code>[] {
  return [...unflagged(flags, code), { code, message }];
}

export function unflagged<Code extends string>(flags: Flag<Code>[], ...codes: Code[]): Flag<Code>[] {
  return flags.filter(({ code }) => !codes.includes(code));
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
 * The search attributes to write, of which the log tells. Each write costs a history event, so only changes are written.
 * Absent means no and none: most workflows never need attention.
 */
export function attentionChanges(flags: readonly Pick<Flag<string>, 'code'>[]): SearchAttributes {
  const { searchAttributes: shown } = workflowInfo();
  const needsAttention = flags.length > 0;
  // A flag that moves within the list leaves the set of codes the same.
  const codes = [...new Set(flags.map(({ code }) => code))].sort();
  const shownCodes = (shown['PayoutReasons'] ?? []).map(String);
  if (shownCodes.join() !== codes.join()) noteAttention(shownCodes, codes);
  return {
    ...((shown['PayoutNeedsAttention']?.[0] === true) !== needsAttention && {
      PayoutNeedsAttention: [needsAttention],
    }),
    ...(shownCodes.join() !== codes.join() && { PayoutReasons: codes }),
  };
}

function noteAttention(before: readonly string[], now: readonly string[]): void {
  const app = String(workflowInfo().searchAttributes['PayoutApp']?.[0] ?? '') || undefined;
  const raised = now.filter((code) => !before.includes(code));
  for (const code of raised) count(metricMeter, 'payouts_attention_raised', { app: app ?? 'none', code });
  if (raised.length > 0) logEvent(log, 'attention.raised', { app, codes: raised });
  else logEvent(log, 'attention.cleared', { app, codes: before.filter((code) => !now.includes(code)) });
}
