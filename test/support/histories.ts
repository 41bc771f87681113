/** The corpus of histories that running workflows may have written: each must replay for ever. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { inject } from 'vitest';

export const HISTORIES = join(import.meta.dirname, '../histories');

/** Rejects with the SDK's `DeterminismViolationError` when today's code would have decided otherwise. */
export async function replays(history: History): Promise<void> {
  const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? 'unknown';
  await Worker.runReplayHistory(
    { workflowBundle: { codePath: inject('workflowBundle') } },
    history,
    workflowId,
  );
}

/** `RECORD_HISTORIES=2 npx vitest run …` adds a generation to the corpus, and never rewrites one. */
export function record(name: string, history: History): void {
  const generation = process.env['RECORD_HISTORIES'];
  const file = join(HISTORIES, `v${generation}-${name}.json`);
  if (!generation || existsSync(file)) return;
  mkdirSync(HISTORIES, { recursive: true });
  writeFileSync(file, historyToJSON(history));
}
