/** The corpus of histories that running workflows may have written: each must always replay. */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { DataConverter } from '@temporalio/common';
import { type History, historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { inject } from 'vitest';

export const HISTORIES = join(import.meta.dirname, '../histories');
const SUMS = 'SHA256SUMS';
const DIGESTS = join(HISTORIES, SUMS);

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

/** Replays all of them in one worker. Returns those that do not replay, with the reason. */
export async function differing(
  histories: readonly { workflowId: string; history: History }[],
): Promise<string[]> {
  const options = { workflowBundle: { codePath: inject('workflowBundle') }, replayName: 'corpus' };
  const found: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories))
    if (error) found.push(`${workflowId}: ${error.message}`);
  return found;
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

export function recordedFiles(): string[] {
  return readdirSync(HISTORIES).filter((name) => name !== SUMS);
}

/** The histories of the corpus, each with its file in place of a workflow id. */
export function recordedHistories(): { workflowId: string; history: History }[] {
  return recordedFiles().flatMap((file) => {
    const bytes = readFileSync(join(HISTORIES, file));
    if (file.endsWith('.json')) return { workflowId: file, history: historyOf(bytes.toString()) };
    if (!file.endsWith('.ndjson.gz')) return [];
    const lines = gunzipSync(bytes).toString().split('\n');
    return lines.map((line, at) => ({ workflowId: `${file}:${at + 1}`, history: historyOf(line) }));
  });
}

function historyOf(text: string): History {
  return historyFromJSON(JSON.parse(text));
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
