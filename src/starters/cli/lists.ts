/** `list`: payouts by phase, outcome, application or attention flag, with the reasons of flags. And pages of any list. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { AttentionCode, AttentionOf } from '../../contract/attention-codes.ts';
import { OUTCOMES, PHASES } from '../../contract/codes.ts';
import { payoutOf, payoutOfFollowUp } from '../../contract/ids.ts';
import type { ListedPayout, PageRequest, PayoutFilter } from '../../contract/lists.ts';
import {
  describeFailingWorkflow,
  type FailingWorkflow,
  WORKFLOW_TASK_FAILS,
} from '../../domain/reconciliation.ts';
import { followUpReasons } from '../../domain/reconciliation-follow-up.ts';
import { inParallel } from '../../runtime/runtime.ts';
import { ANY_APP, LIMIT, long, time } from './command.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { colors, grid, pausedText, wrap } from './text.ts';

const HEAD = ['payout', 'app', 'phase', 'outcome', 'attention', 'order', 'started', 'workflow'];
const MAX_CONCURRENT_QUERIES = 20;
const MAX_PAGE_SIZE = 100;

export function listCommand(program: Command): void {
  paged(program.command('list'))
    .description('list payouts by phase, outcome, attention flag or time')
    .addOption(new Option('--phase <phase>', 'such as PROCESSING').choices(PHASES))
    .addOption(new Option('--outcome <outcome>', 'such as FAILED').choices(OUTCOMES))
    .option('--attention', 'only payouts with the attention flag')
    .option('--client-id <id>', 'only payouts of this client')
    .action(
      long(
        ({ limit, cursor, ...filter }) =>
          (session) =>
            list(session, filter, { limit, cursor }),
      ),
    );
}

/** Adds the options that every list has. */
export function paged(command: Command) {
  return command
    .addOption(ANY_APP)
    .option('--created-from <time>', 'created at this time or day (UTC) or later', time)
    .option('--created-to <time>', 'created before this time or day (UTC)', time)
    .addOption(LIMIT)
    .option('--cursor [cursor]', 'the next page after this cursor; without a cursor, the first page');
}

/** Which rows of a list to show. */
export interface Page {
  limit: number;
  /** True: the first page. If set, JSON has the cursor of the next page. */
  cursor?: string | true | undefined;
}

interface Rows<Row> {
  rows: Row[];
  nextCursor?: string | undefined;
}

/** The rows of `page`, which may need several requests. */
export async function collect<Row>(
  { limit, cursor }: Page,
  request: (page: PageRequest) => Promise<Rows<Row>>,
): Promise<Rows<Row>> {
  const rows: Row[] = [];
  for (let from = cursor === true ? undefined : cursor; ; ) {
    const next = await request({ limit: Math.min(limit - rows.length, MAX_PAGE_SIZE), cursor: from });
    rows.push(...next.rows);
    from = next.nextCursor;
    if (from === undefined) return { rows };
    if (rows.length >= limit) return { rows, nextCursor: from };
  }
}

/** `name`: the key of the rows in JSON, as in the responses of the API server. */
export function listOutput(
  name: string,
  { cursor }: Page,
  { rows, nextCursor }: Rows<object>,
  text: string,
): Output {
  const page = { [name]: rows, ...(nextCursor !== undefined && { nextCursor }) };
  return {
    json: cursor === undefined ? rows : page,
    text,
    hint: nextCursor && `more: repeat the command with --cursor ${nextCursor}`,
  };
}

/** `reasons` is undefined if no worker responds. */
interface FlaggedRow {
  row: ListedPayout;
  reasons: AttentionOf<AttentionCode>[] | undefined;
}

async function list(session: Session, filter: PayoutFilter, page: Page): Promise<Output> {
  const { rows, nextCursor } = await collect(page, async (request) => {
    const found = await session.withDeadline(() => session.payouts.listPage(filter, request));
    return { rows: found.payouts, nextCursor: found.nextCursor };
  });
  const pauses = await pauseLines(session, filter.app);
  const output = (shown: object[], text: string) =>
    listOutput('payouts', page, { rows: shown, nextCursor }, [text, ...pauses].join('\n'));
  if (!filter.attention) return output(rows, table(HEAD, rows.map(cells)));
  const flagged = await flaggedRows(session, rows, filter, typeof page.cursor !== 'string');
  return output(
    flagged.map(({ row, reasons }) => ({ ...row, reasons: reasons ?? null })),
    table(
      [...HEAD, 'reasons'],
      flagged.map((one) => [...cells(one.row), colors.yellow(reasonsText(one))]),
    ),
  );
}

/** Why payouts wait, below the list. */
async function pauseLines(session: Session, app: string | undefined): Promise<string[]> {
  try {
    const known = await session.withDeadline(() => session.pauses.list());
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
  const { partnerOrderId, app, phase, outcome, needsAttention, orderId, startedAt, workflow } = row;
  return [partnerOrderId, app, phase, outcome, needsAttention ? 'yes' : '', orderId, startedAt, workflow];
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
    const followUp = await session.followUpOf(row);
    return followUp && followUpReasons(followUp);
  } catch (error) {
    const { WorkflowStuckError } = await import('../../temporal/client-errors.ts');
    if (error instanceof WorkflowStuckError) return [{ code: WORKFLOW_TASK_FAILS, message: error.message }];
    return undefined;
  }
}

/** The stuck workflows of `app`, or of all applications, and those that belong to no payout. */
async function stuckRows(
  { client, environment = 'test', withDeadline }: Session,
  app: string | undefined,
): Promise<FlaggedRow[]> {
  const { knownFailingWorkflows } = await import('../../temporal/failing-workflows.ts');
  const failing = await withDeadline(() => knownFailingWorkflows(client, environment));
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
