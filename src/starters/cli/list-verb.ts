/** `list`: finds payouts by phase, outcome, application or attention flag, and shows the reasons of flags. */

import { followUpResultOf } from '../../client/acknowledgements.ts';
import { Pauses } from '../../client/pauses.ts';
import type { AttentionCode, AttentionOf } from '../../contract/attention-codes.ts';
import { payoutOf, payoutOfFollowUp } from '../../contract/ids.ts';
import type { ListedPayout, PayoutFilter } from '../../contract/lists.ts';
import {
  describeFailingWorkflow,
  type FailingWorkflow,
  WORKFLOW_TASK_FAILS,
} from '../../domain/reconciliation.ts';
import { followUpReasons } from '../../domain/reconciliation-follow-up.ts';
import { inParallel } from '../../runtime/runtime.ts';
import { knownFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { WorkflowStuckError } from '../../temporal/queries.ts';
import type { Answer } from './answer.ts';
import type { Page } from './options.ts';
import { collect, listAnswer } from './pages.ts';
import type { Session } from './session.ts';
import { colors, grid, pausedText, wrap } from './text.ts';

const HEAD = ['payout', 'app', 'phase', 'outcome', 'attention', 'order', 'started', 'workflow'];
const MAX_CONCURRENT_QUERIES = 20;

/** `reasons` is undefined if no worker responds. */
interface FlaggedRow {
  row: ListedPayout;
  reasons: AttentionOf<AttentionCode>[] | undefined;
}

export async function list(session: Session, filter: PayoutFilter, page: Page): Promise<Answer> {
  const { rows, nextCursor } = await collect(page, async (request) => {
    const { payouts, ...rest } = await session.withDeadline(() => session.payouts.listPage(filter, request));
    return { rows: payouts, ...rest };
  });
  const pauses = await pauseLines(session, filter.app);
  const answer = (json: readonly object[], text: string) =>
    listAnswer('payouts', page, json, [text, ...pauses].join('\n'), nextCursor);
  if (!filter.attention) return answer(rows, table(HEAD, rows.map(cells)));
  const flagged = await flaggedRows(session, rows, filter, page.cursor === undefined);
  return answer(
    flagged.map(({ row, reasons }) => ({ ...row, reasons: reasons ?? null })),
    table(
      [...HEAD, 'reasons'],
      flagged.map((one) => [...cells(one.row), colors.yellow(reasonsText(one))]),
    ),
  );
}

/** Why payouts wait, below the list. */
async function pauseLines({ client, environment, withDeadline }: Session, app: string | undefined) {
  try {
    const known = await withDeadline(() => new Pauses({ client, environment }).list());
    return known
      .filter((one) => app === undefined || one.app === app)
      .flatMap((one) => pausedText(one) ?? [])
      .map(colors.yellow);
  } catch {
    return [colors.yellow('whether an application is paused could not be read')];
  }
}

function table(head: readonly string[], rows: readonly string[][]): string {
  return rows.length === 0 ? 'no payouts' : grid(head, rows);
}

function cells(row: ListedPayout): string[] {
  const attention = row.needsAttention ? 'yes' : '';
  return [
    ...[row.partnerOrderId, row.app, row.phase, row.outcome, attention],
    ...[row.orderId, row.startedAt, row.workflow],
  ];
}

function reasonsText({ reasons }: FlaggedRow): string {
  if (reasons === undefined) return 'no worker responds';
  return reasons.map(({ code, message }) => wrap(`${code}: ${message}`)).join('\n');
}

/**
 * Adds reasons to `rows` and, on the first page, stuck workflows unless the filter selects a phase, an outcome or a client.
 */
async function flaggedRows(
  session: Session,
  rows: readonly ListedPayout[],
  { phase, outcome, clientId, app }: PayoutFilter,
  isFirstPage: boolean,
): Promise<FlaggedRow[]> {
  const isAnyStuck = phase === undefined && outcome === undefined && clientId === undefined;
  const stuck = isAnyStuck ? await stuckRows(session, app) : [];
  const stuckRowOf = (row: ListedPayout) => stuck.find((one) => isSameWorkflow(one.row, row));
  const flagged = await inParallel(
    rows,
    async (row): Promise<FlaggedRow> => ({
      row,
      reasons: stuckRowOf(row)?.reasons ?? (await reasonsOf(session, row)),
    }),
    MAX_CONCURRENT_QUERIES,
  );
  const others = stuck.filter((one) => isFirstPage && !rows.some((row) => isSameWorkflow(one.row, row)));
  return [...flagged, ...others];
}

async function reasonsOf(session: Session, row: ListedPayout): Promise<FlaggedRow['reasons']> {
  try {
    if (row.phase !== 'FOLLOW_UP')
      return (await session.withDeadline(() => session.payouts.state(row))).reasons;
    const followUp = await session.withDeadline(() => followUpResultOf(session.client, row));
    return followUp && followUpReasons(followUp);
  } catch (error) {
    if (error instanceof WorkflowStuckError) return [{ code: WORKFLOW_TASK_FAILS, message: error.message }];
    return undefined;
  }
}

/** The stuck workflows of `app`, or of all applications, and those that belong to no payout. */
async function stuckRows(
  { client, environment, withDeadline }: Session,
  app: string | undefined,
): Promise<FlaggedRow[]> {
  const failing = await withDeadline(() => knownFailingWorkflows(client, environment ?? 'test'));
  const rows = (failing ?? []).map(stuckRow);
  return rows.filter(({ row }) => app === undefined || row.app === '' || row.app === app);
}

function isSameWorkflow(one: ListedPayout, other: ListedPayout): boolean {
  const isFollowUp = ({ phase }: ListedPayout) => phase === 'FOLLOW_UP';
  return (
    one.partnerOrderId === other.partnerOrderId &&
    one.app === other.app &&
    isFollowUp(one) === isFollowUp(other)
  );
}

function stuckRow(one: FailingWorkflow): FlaggedRow {
  const { workflowId, type } = one;
  const payout = payoutOf(workflowId) ?? payoutOfFollowUp(workflowId);
  const row = {
    partnerOrderId: payout?.partnerOrderId ?? workflowId,
    app: payout?.app ?? '',
    phase: type === 'payoutFollowUp' ? 'FOLLOW_UP' : '',
    outcome: '',
    needsAttention: true,
    orderId: '',
    auditStatus: '',
    startedAt: '',
    workflow: 'RUNNING',
  };
  const message = `${workflowId}: ${describeFailingWorkflow(one)}`;
  return { row, reasons: [{ code: WORKFLOW_TASK_FAILS, message }] };
}
