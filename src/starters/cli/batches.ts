/**
 * `batch FILE` starts a batch. The same command again continues it, or shows its progress. `batch list`, `status` and
 * `cancel` are for existing batches.
 */
import { createHash } from 'node:crypto';
import type { Command } from '@commander-js/extra-typings';
import type { CheckedBatch } from '../../client/checked-batch.ts';
import type { BatchResult, BatchState } from '../../contract/batch.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../contract/codes.ts';
import { EXIT } from '../../contract/errors.ts';
import type { BatchFilter } from '../../contract/lists.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { PROCESS_RUNTIME } from '../../runtime/process.ts';
import { command, ID, long, quick, STARTED_BY, YES } from './command.ts';
import { collect, listOutput, type Page, paged } from './lists.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { batchResultsCommand } from './statement.ts';
import { colors, facts, lines as linesOf, money, table } from './text.ts';

export function batchCommands(program: Command): void {
  const batch = command(
    program,
    'batch',
    'pay all rows of FILE: CSV, NDJSON or a JSON array; its subcommands are for existing batches',
  )
    .argument('<file>')
    .addOption(YES)
    .option('--batch-id <id>', 'the ID of the batch; by default derived from the rows')
    .addOption(STARTED_BY)
    .option('--watch', 'show the progress until the batch finishes')
    .option('--dry-run', 'show what the rows add up to, beside the balances; start nothing')
    .action(
      long(async (file, options) => {
        const { checkedBatch } = await import('../../client/checked-batch.ts');
        const { paymentText, withPayouts } = await import('./files.ts');
        const checked = await withPayouts(file, (payouts) =>
          checkedBatch({ app: options.app, batchId: 'unnamed', payouts, lines: payouts.lines }),
        );
        if (options.dryRun) return (session) => funds(session, checked.rows);
        return { change: paymentText(checked.rows), work: (session) => pay(session, checked, options) };
      }),
    );
  command(batch, 'status', 'show the state of a batch')
    .addArgument(ID)
    .action(
      quick((batchId, { app }) => async ({ batches }) => {
        return batchOutput(batchId, await batches.state({ app, batchId }));
      }),
    );
  command(batch, 'cancel', 'stop starting rows of a batch; payouts that were already started continue')
    .addArgument(ID)
    .addOption(YES)
    .action(
      long((batchId, { app }) => ({
        change: `cancel batch ${batchId}`,
        work: async ({ batches }) => batchOutput(batchId, await batches.cancelOpen({ app, batchId })),
      })),
    );
  batchResultsCommand(batch);
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
  const { showProgress, statesOf } = await import('./progress.ts');
  const { rows, lines } = checked;
  const batchId = options.batchId ?? (await idOf(rows));
  const ref = { app: options.app, batchId };
  const bar = showProgress(progressLine);
  try {
    const state = await batches.start({ ...ref, payouts: rows, lines, startedBy: options.by }, bar.show);
    if (!options.watch) return batchOutput(batchId, state, checked);
    for await (const watched of statesOf(batches, ref, withDeadline)) bar.show(watched);
  } finally {
    bar.end();
  }
  const result = await batches.result(ref);
  const isPaid = result.outcomes.SUCCESS === result.count;
  return { ...batchOutput(batchId, result, checked), exitCode: isPaid ? EXIT.ok : EXIT.notPaid };
}

async function funds(
  { reads, withDeadline }: Session,
  rows: readonly CheckedPayoutRequest[],
): Promise<Output> {
  const { fundsOf, shortfalls } = await import('../../client/funds.ts');
  const { clock } = PROCESS_RUNTIME;
  const payers = await fundsOf(rows, (row) => withDeadline(() => reads.quote(row)), clock);
  const text = table(payers, {
    payer: ({ payerId }) => payerId,
    payouts: ({ payouts }) => payouts,
    total: ({ total }) => money(total),
    available: ({ quote }) => (quote?.available ? money(quote.available) : 'cannot be read now'),
    'quoted now': ({ quote }) => quote && `${money(quote.target)} for ${money(quote.pay)}`,
  });
  const missing = shortfalls(payers).map(({ payerId, available, needed }) =>
    colors.red(
      `payer ${payerId} has ${money(available)}; these rows need about ${needed.amount} ${needed.currency}.`,
    ),
  );
  return { json: { payers }, text: linesOf(text, ...missing, 'Nothing was started.') };
}

async function list({ batches }: Session, filter: BatchFilter, page: Page): Promise<Output> {
  const found = await collect('batches', page, (request) => batches.listPage(filter, request));
  const text = table(
    found.rows,
    {
      batch: ({ batchId }) => batchId,
      app: ({ app }) => app,
      started: ({ startedAt }) => startedAt,
      ended: ({ endedAt }) => endedAt,
      workflow: ({ workflow }) => workflow,
    },
    'no batches',
  );
  return listOutput('batches', page, found, text);
}

/** Derived from the rows, so that the same file is the same batch. */
async function idOf(rows: readonly CheckedPayoutRequest[]): Promise<string> {
  const { rowsDigest } = await import('../../contract/batch.ts');
  return createHash('sha256').update(rowsDigest(rows)).digest('hex').slice(0, 16);
}

function batchOutput(
  batchId: string,
  result: BatchResult & Partial<BatchState>,
  { rows, lines = [] }: Pick<CheckedBatch, 'rows' | 'lines'> = { rows: [] },
): Output {
  const { count, started, joined, outcomes, needingAttention } = result;
  const counts = ROW_OUTCOMES.map((outcome) => [outcome, outcomes[outcome] || undefined] as const);
  const listed = LISTED_OUTCOMES.flatMap((outcome) => result.rows[outcome].map((at) => ({ at, outcome })));
  const text = linesOf(
    facts({
      batch: batchId,
      rows: count,
      started,
      joined,
      done: finishedIn(result),
      ...Object.fromEntries(counts),
      'need attention': needingAttention || undefined,
      state: result.sentence,
      'next step': result.nextStep,
    }),
    table(listed, {
      [rows.length > 0 ? 'line' : 'row']: ({ at }) => lines[at] ?? at + 1,
      payout: ({ at }) => rows[at]?.partnerOrderId,
      outcome: ({ outcome }) => outcome,
    }),
  );
  return { json: result, text };
}

/** Without the rows that a canceled batch has never started. */
function finishedIn({ done, outcomes }: BatchResult): number {
  return done - outcomes.notStarted;
}

const BAR_WIDTH = 30;
export function progressLine(state: BatchState): string {
  const { phase, count, added, started, joined, rejected, needingAttention } = state;
  const done = finishedIn(state);
  const many = phase === 'RECEIVING' ? added : done;
  const full = Math.floor((BAR_WIDTH * many) / count);
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)}`;
  const parts = [
    phase === 'RECEIVING' ? `${added} of ${count} rows sent` : `${done} of ${count} rows finished`,
    phase !== 'RECEIVING' && `${started + joined - done + rejected} open`,
    rejected > 0 && colors.red(`${rejected} rejected`),
    needingAttention > 0 && colors.yellow(`${needingAttention} need attention`),
  ];
  return `${colors.green(bar)} ${parts.filter((part) => typeof part === 'string').join(', ')}`;
}
