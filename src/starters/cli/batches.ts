/**
 * `batch FILE`: starts a batch. The same command again continues it, or shows its progress. `batch list`, `status` and
 * `cancel`: existing batches.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Batches } from '../../client/batches.ts';
import type { BatchRef, CheckedBatch } from '../../client/checked-batch.ts';
import { type BatchResult, type BatchState, rowsDigest } from '../../contract/batch.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../contract/codes.ts';
import type { BatchFilter } from '../../contract/lists.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { changeDetector } from '../../temporal/queries.ts';
import { type Answer, EXIT } from './answer.ts';
import type { Page } from './options.ts';
import { collect, listAnswer } from './pages.ts';
import { showProgress } from './progress.ts';
import type { Session } from './session.ts';
import { colors, facts, grid } from './text.ts';

const WATCH_INTERVAL_MS = 1_000;

export interface BatchOptions {
  app: string;
  batchId?: string;
  watch?: true;
  by?: string;
}

export async function batch(
  session: Session,
  checked: Pick<CheckedBatch, 'rows' | 'lines'>,
  options: BatchOptions,
): Promise<Answer> {
  const { rows } = checked;
  const ref = { app: options.app, batchId: options.batchId ?? idOf(rows) };
  const batches = batchesOf(session);
  const bar = showProgress(progressLine);
  try {
    const state = await batches.start({ ...ref, payouts: rows, startedBy: options.by }, bar.show);
    if (!options.watch) return answer(ref, state, checked);
    await watch(session, batches, ref, bar.show);
  } finally {
    bar.end();
  }
  const result = await batches.result(ref);
  const isPaid = result.outcomes.SUCCESS === result.count;
  return { ...answer(ref, result, checked), exitCode: isPaid ? EXIT.ok : EXIT.notPaid };
}

export async function list(session: Session, filter: BatchFilter, page: Page): Promise<Answer> {
  const { rows, nextCursor } = await collect(page, async (request) => {
    const found = await session.withDeadline(() => batchesOf(session).listPage(filter, request));
    const { batches, ...rest } = found;
    return { rows: batches, ...rest };
  });
  const cells = rows.map((row) => [row.batchId, row.app, row.startedAt, row.endedAt ?? '', row.workflow]);
  const text =
    rows.length === 0 ? 'no batches' : grid(['batch', 'app', 'started', 'ended', 'workflow'], cells);
  return listAnswer('batches', page, rows, text, nextCursor);
}

export async function status(session: Session, ref: BatchRef): Promise<Answer> {
  const { withDeadline } = session;
  return answer(ref, await withDeadline(() => batchesOf(session).state(ref)));
}

/** Stops starting rows. Refused if the batch has ended. */
export async function cancel(session: Session, ref: BatchRef): Promise<Answer> {
  return answer(ref, await batchesOf(session).cancelOpen(ref));
}

function batchesOf({ client, environment, targetCurrencies, withDeadline }: Session): Batches {
  return new Batches({ client, environment, targetCurrencies, withDeadline });
}

async function watch(
  { withDeadline }: Session,
  batches: Batches,
  ref: BatchRef,
  show: (state: BatchState) => void,
): Promise<void> {
  const hasChanged = changeDetector(batches.handle(ref));
  for (; ; await sleep(WATCH_INTERVAL_MS)) {
    if (!(await withDeadline(hasChanged))) continue;
    const state = await withDeadline(() => batches.state(ref));
    show(state);
    if (state.phase === 'DONE') return;
  }
}

/** Derived from the rows, so that the same file is the same batch. */
function idOf(rows: readonly CheckedPayoutRequest[]): string {
  return createHash('sha256').update(rowsDigest(rows)).digest('hex').slice(0, 16);
}

function answer(
  ref: BatchRef,
  result: BatchResult & Partial<BatchState>,
  { rows, lines = [] }: Pick<CheckedBatch, 'rows' | 'lines'> = { rows: [] },
): Answer {
  const counts = ROW_OUTCOMES.flatMap((outcome): [string, string][] =>
    result.outcomes[outcome] > 0 ? [[outcome, String(result.outcomes[outcome])]] : [],
  );
  const listed = LISTED_OUTCOMES.flatMap((outcome) =>
    result.rows[outcome].map((row) => [String(lines[row] ?? row), rows[row]?.partnerOrderId ?? '', outcome]),
  );
  const text = facts([
    ['batch', ref.batchId],
    ['rows', String(result.count)],
    ['started', String(result.started)],
    ['joined', String(result.joined)],
    ['done', String(result.done)],
    ...counts,
    ['need attention', result.needingAttention > 0 ? String(result.needingAttention) : undefined],
    ['state', result.sentence],
    ['next step', result.nextStep],
  ]);
  return {
    json: result,
    text:
      listed.length > 0
        ? `${text}\n${grid([rows.length > 0 ? 'line' : 'row, from 0', 'payout', 'outcome'], listed)}`
        : text,
  };
}

const BAR_WIDTH = 30;
export function progressLine(state: BatchState): string {
  const { phase, count, added, started, joined, done, rejected, needingAttention } = state;
  const many = phase === 'RECEIVING' ? added : done;
  const full = Math.floor((BAR_WIDTH * many) / count);
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
  const parts = [
    phase === 'RECEIVING' ? `${added} of ${count} rows sent` : `${done} of ${count} rows ended`,
    phase !== 'RECEIVING' && `${started + joined - done + rejected} open`,
    rejected > 0 && colors.red(`${rejected} rejected`),
    needingAttention > 0 && colors.yellow(`${needingAttention} need attention`),
  ];
  return `${colors.green(bar)} ${parts.filter((part) => typeof part === 'string').join(', ')}`;
}
