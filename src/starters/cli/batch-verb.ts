/** `batch FILE`: many payouts at once. The same command again goes on where it was, or shows how far it is. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Batches } from '../../client/batches.ts';
import type { BatchRef } from '../../client/checked-batch.ts';
import { rowsDigest } from '../../contract/payout-batch.ts';
import { type BatchResult, type BatchState, LISTED_OUTCOMES, ROW_OUTCOMES } from '../../domain/batch.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import { changeDetector } from '../../temporal/queries.ts';
import { type Answer, EXIT } from './answer.ts';
import { showProgress } from './progress.ts';
import type { Session } from './session.ts';
import { facts, grid } from './text.ts';

const LOOK_EVERY_MS = 1_000;

export interface BatchOptions {
  app: string;
  batchId?: string;
  watch?: true;
  by?: string;
}

export async function batch(
  session: Session,
  rows: readonly CheckedPayoutRequest[],
  options: BatchOptions,
): Promise<Answer> {
  // Which batch it is depends on the rows, so that the same file is the same batch.
  const ref = { app: options.app, batchId: options.batchId ?? nameOf(rows) };
  const { client, environment, soon } = session;
  const batches = new Batches({ client, environment, withDeadline: soon });
  const bar = showProgress();
  try {
    const state = await batches.start({ ...ref, payouts: rows, startedBy: options.by }, bar.show);
    if (!options.watch) return answer(ref, state, rows);
    await untilEnd(session, batches, ref, bar.show);
  } finally {
    bar.end();
  }
  const result = await batches.result(ref);
  return { ...answer(ref, result, rows), exitCode: allPaid(result) ? EXIT.ok : EXIT.notPaid };
}

async function untilEnd(
  { soon }: Session,
  batches: Batches,
  ref: BatchRef,
  show: (state: BatchState) => void,
): Promise<void> {
  const hasNews = changeDetector(batches.handle(ref));
  for (; ; await sleep(LOOK_EVERY_MS)) {
    if (!(await soon(hasNews))) continue;
    const state = await soon(() => batches.state(ref));
    show(state);
    if (state.phase === 'DONE') return;
  }
}

function nameOf(rows: readonly CheckedPayoutRequest[]): string {
  return createHash('sha256').update(rowsDigest(rows)).digest('hex').slice(0, 16);
}

function allPaid({ count, outcomes }: BatchResult): boolean {
  return outcomes.SUCCESS === count;
}

function answer(
  ref: BatchRef,
  result: BatchResult & Partial<BatchState>,
  rows: readonly CheckedPayoutRequest[],
): Answer {
  const counts = ROW_OUTCOMES.flatMap((end): [string, string][] =>
    result.outcomes[end] > 0 ? [[end, String(result.outcomes[end])]] : [],
  );
  const told = LISTED_OUTCOMES.flatMap((end) =>
    result.rows[end].map((row) => [String(row), rows[row]?.partnerOrderId ?? '', end]),
  );
  const text = facts([
    ['batch', ref.batchId],
    ['rows', String(result.count)],
    ['started', String(result.started)],
    ['joined', String(result.joined)],
    ['done', String(result.done)],
    ...counts,
    ['need a person', result.needingAttention > 0 ? String(result.needingAttention) : undefined],
    ['state', result.sentence],
    ['next', result.nextStep],
  ]);
  return {
    json: result,
    text: told.length > 0 ? `${text}\n${grid(['row', 'payout', 'ended as'], told)}` : text,
  };
}
