/** The corpus of histories that running workflows may have written: each must always replay. */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import { type History, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { inject } from 'vitest';

export const HISTORIES = join(import.meta.dirname, '../histories');
const DIGESTS = join(HISTORIES, 'SHA256SUMS');

/** Rejects with the SDK's `DeterminismViolationError` when today's code gives other commands. */
export async function replays(
  history: History,
  codePath = inject('workflowBundle'),
  dataConverter?: DataConverter,
): Promise<void> {
  const workflowId = history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? 'unknown';
  const replay = before.then(() =>
    Worker.runReplayHistory(
      { workflowBundle: { codePath }, ...(dataConverter && { dataConverter }) },
      history,
      workflowId,
    ),
  );
  before = replay.catch(() => undefined);
  await replay;
}

/** One replay at a time: the last worker of a process to end shuts down the SDK's runtime under one that starts. */
let before: Promise<void> = Promise.resolve();

/** `RECORD_HISTORIES=2 npx vitest run …` adds a generation to the corpus, and never rewrites one. */
export function record(name: string, history: History): void {
  const generation = process.env['RECORD_HISTORIES'];
  const file = `v${generation}-${name}.json`;
  if (!generation || existsSync(join(HISTORIES, file))) return;
  writeFileSync(join(HISTORIES, file), historyToJSON(history));
  appendFileSync(DIGESTS, `${digestOf(file)}  ${file}\n`);
}

export function recordedHistories(): string[] {
  return readdirSync(HISTORIES).filter((name) => name.endsWith('.json'));
}

/** In the format of `sha256sum`, for each file as recorded: rewriting a file requires a change here. */
export function recordedDigests(): Record<string, string> {
  const lines = readFileSync(DIGESTS, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

export function digestOf(file: string): string {
  return createHash('sha256')
    .update(readFileSync(join(HISTORIES, file)))
    .digest('hex');
}
