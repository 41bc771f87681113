/**
 * `batch FILE` starts a batch. The same command again continues it, or shows its progress. `batch list`, `status` and
 * `cancel` are for existing batches.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '@commander-js/extra-typings';
import type { Batches } from '../../client/batches.ts';
import type { BatchRef, CheckedBatch } from '../../client/checked-batch.ts';
import type { BatchResult, BatchState } from '../../contract/batch.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../contract/codes.ts';
import type { BatchFilter } from '../../contract/lists.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { APP, command, confirmed, ID, long, quick, STARTED_BY, YES } from './command.ts';
import { collect, listOutput, type Page, paged } from './lists.ts';
import { EXIT, type Output } from './output.ts';
import type { Session } from './session.ts';
import { colors, facts, grid } from './text.ts';

const WATCH_INTERVAL_MS = 1_000;

export function batchCommands(program: Command): void {
  const batch = program
    .command('batch')
    .description(
      'pay all rows of FILE: CSV, NDJSON or a JSON array; its subcommands are for existing batches',
    )
    .argument('<file>')
    .addOption(APP)
    .addOption(YES)
    .option('--batch-id <id>', 'the id of the batch; by default derived from the rows')
    .addOption(STARTED_BY)
    .option('--watch', 'show the progress and wait for the end')
    .action(
      long(async (file, options) => {
        const { checkedBatch } = await import('../../client/checked-batch.ts');
        const { paymentText, withPayouts } = await import('./files.ts');
        const checked = await withPayouts(file, (payouts) =>
          checkedBatch({ app: options.app, batchId: 'unnamed', payouts, lines: payouts.lines }),
        );
        return confirmed(options, paymentText(checked.rows), (session) => pay(session, checked, options));
      }),
    );
  command(batch, 'status', 'show the state of a batch')
    .addArgument(ID)
    .action(
      quick((batchId, { app }) => async ({ batches }) => {
        const ref = { app, batchId };
        return batchOutput(ref, await batches.state(ref));
      }),
    );
  command(batch, 'cancel', 'stop starting rows of a batch; payouts that were already started continue')
    .addArgument(ID)
    .addOption(YES)
    .action(
      long((batchId, { app, yes }) =>
        confirmed({ yes }, `cancel batch ${batchId}`, async ({ batches }) => {
          const ref = { app, batchId };
          return batchOutput(ref, await batches.cancelOpen(ref));
        }),
      ),
    );
  paged(batch.command('list'))
    .description('list batches')
    .option('--open', 'only open batches')
    .action(
      long(
        ({ limit, cursor, ...filter }) =>
          (session) =>
            list(session, filter, { limit, cursor }),
      ),
    );
}

interface BatchOptions {
  app: string;
  batchId?: string | undefined;
  watch?: true | undefined;
  by?: string | undefined;
}

async function pay(
  { batches, withDeadline }: Session,
  checked: Pick<CheckedBatch, 'rows' | 'lines'>,
  options: BatchOptions,
): Promise<Output> {
  const { showProgress } = await import('./progress.ts');
  const { rows, lines } = checked;
  const ref = { app: options.app, batchId: options.batchId ?? (await idOf(rows)) };
  const bar = showProgress(progressLine);
  try {
    const state = await batches.start({ ...ref, payouts: rows, lines, startedBy: options.by }, bar.show);
    if (!options.watch) return batchOutput(ref, state, checked);
    await watch(batches, ref, bar.show, withDeadline);
  } finally {
    bar.end();
  }
  const result = await batches.result(ref);
  const isPaid = result.outcomes.SUCCESS === result.count;
  return { ...batchOutput(ref, result, checked), exitCode: isPaid ? EXIT.ok : EXIT.notPaid };
}

async function list({ batches, withDeadline }: Session, filter: BatchFilter, page: Page): Promise<Output> {
  const found = await collect(page, async (request) => {
    const next = await withDeadline(() => batches.listPage(filter, request));
    return { rows: next.batches, nextCursor: next.nextCursor };
  });
  const cells = found.rows.map((row) => [
    row.batchId,
    row.app,
    row.startedAt,
    row.endedAt ?? '',
    row.workflow,
  ]);
  const text =
    cells.length === 0 ? 'no batches' : grid(['batch', 'app', 'started', 'ended', 'workflow'], cells);
  return listOutput('batches', page, found, text);
}

async function watch(
  batches: Batches,
  ref: BatchRef,
  show: (state: BatchState) => void,
  withDeadline: Session['withDeadline'],
): Promise<void> {
  const { changeDetector } = await import('../../temporal/queries.ts');
  const hasChanged = changeDetector(batches.handle(ref));
  for (; ; await sleep(WATCH_INTERVAL_MS)) {
    if (!(await withDeadline(hasChanged))) continue;
    const state = await withDeadline(() => batches.state(ref));
    show(state);
    if (state.phase === 'DONE') return;
  }
}

/** Derived from the rows, so that the same file is the same batch. */
async function idOf(rows: readonly CheckedPayoutRequest[]): Promise<string> {
  const { rowsDigest } = await import('../../contract/batch.ts');
  return createHash('sha256').update(rowsDigest(rows)).digest('hex').slice(0, 16);
}

function batchOutput(
  ref: BatchRef,
  result: BatchResult & Partial<BatchState>,
  { rows, lines = [] }: Pick<CheckedBatch, 'rows' | 'lines'> = { rows: [] },
): Output {
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
